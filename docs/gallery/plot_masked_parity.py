"""
What a second round of questions is worth
=========================================

Half of the records show one bit of a secret each, the other half only a sum of bits. Asked twice, first
for the secret and then with it, averages find the rule. Asked once, about everything beforehand, they
cannot, however many records there are (Kasiviswanathan et al., 2011).
"""

# %%
# ``masked_rows`` lays out the records as the learner expects them.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from dplearn import MaskedParityClassifier
from dplearn.learners.masked_parity import masked_rows

warnings.filterwarnings("ignore", "n_samples is")  # few records are what is drawn
N_BITS = 12


def records(n, seed):
    """Return n records of a masked parity with a secret drawn by the seed."""
    generator = np.random.default_rng(seed)
    secret = generator.integers(0, 2, N_BITS)
    bits, index, mask = (
        generator.integers(0, 2, (n, N_BITS)),
        generator.integers(0, N_BITS, n),
        generator.integers(0, 2, n),
    )
    return masked_rows(bits, index, mask), np.where(mask, secret[index], bits @ secret % 2)


def accuracy(n, seed, **how):
    """Return the accuracy of one fit on n records."""
    X, y = records(n + 2_000, seed)
    model = MaskedParityClassifier(epsilon=1.0, classes=[0, 1], binarize=None, random_state=seed, **how)
    return model.fit(X[:n], y[:n]).score(X[n:], y[n:])


sizes = [2**k for k in range(7, 17)]
ways = {
    "two rounds, central": {"model": "central"},
    "two rounds, local": {"model": "local"},
    "one round, local": {"model": "local", "interactive": False},
}
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, how in ways.items():
    means = [np.mean([accuracy(n, seed, **how) for seed in range(6)]) for n in sizes]
    axes.plot(sizes, means, marker="o", label=name)
axes.axhline(0.75, color="#333333", linestyle=":", label="the bits that are shown, and a guess")
axes.set(xscale="log", xlabel="records", ylabel="accuracy", ylim=(0.45, 1.03))
axes.grid(alpha=0.3)
axes.legend(loc="lower right")
plt.show()
