"""
What a second round of questions is worth
=========================================

Half of the records show one bit of a secret each, the other half only a sum of bits. Asked twice, first
for the secret and then with it, averages find the rule. Asked once, about everything beforehand, they
cannot, however many records there are. And where no record shows a bit by itself, a parity, no number of
rounds helps (Kasiviswanathan et al., 2011).
"""

# %%
# ``masked_rows`` lays out the records as the learner expects them.
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from dplearn import MaskedParityClassifier, ParityClassifier
from dplearn.concepts.parities import masked_rows
from dplearn.queries import MeanQuery, local

warnings.filterwarnings("ignore", "n_samples is")  # few records are what is drawn
TERMS = {"epsilon": 1.0, "classes": [0, 1], "binarize": None}
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


def error(n, seed, **how):
    """Return the error of one fit on n records."""
    X, y = records(n + 2_000, seed)
    model = MaskedParityClassifier(random_state=seed, **TERMS, **how)
    return 1 - model.fit(X[:n], y[:n]).score(X[n:], y[n:])


sizes = [2**k for k in range(7, 17)]
ways = {
    "two rounds, central": {"trust_model": "central"},
    "two rounds, local": {"trust_model": "local"},
    "one round, local": {"trust_model": "local", "interactive": False},
}
figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
for name, how in ways.items():
    means = [np.mean([error(n, seed, **how) for seed in range(6)]) for n in sizes]
    axes.plot(sizes, means, marker="o", label=name)
axes.axhline(0.25, color="#333333", linestyle=":", label="the bits that are shown, and a guess")
axes.set(xscale="log", xlabel="records", ylabel="error", title=f"masked parity, {N_BITS} bits")
axes.set_ylim(-0.02, 0.55)
axes.grid(alpha=0.3)
axes.legend()
plt.show()

# %%
# A parity is that of the bits that count. Asked for the correlation of the labels with 256 parities, all
# records together find the right one while it is among them. ``ParityClassifier`` solves equations, with all
# records in one place.
N_QUERIES, N_RECORDS = 256, 20_000


def agreement(parity, rows):
    """Return, for each record, 1 where the parity is its label, which is last, and -1 elsewhere."""
    return 1 - 2 * ((rows[:, :-1] @ parity + rows[:, -1]) % 2)


def errors(n_bits, seed):
    """Return the errors of the parity found by correlations, and of the one found by equations."""
    generator = np.random.default_rng([n_bits, seed])
    X = generator.integers(0, 2, (2 * N_RECORDS, n_bits))
    right = generator.integers(0, 2, n_bits)
    y = X @ right % 2
    some = generator.choice(2**n_bits, min(N_QUERIES, 2**n_bits), replace=False)
    parities = some[:, None] >> np.arange(n_bits) & 1
    train, test = slice(N_RECORDS), slice(N_RECORDS, None)
    oracle = local(np.column_stack([X, y])[train], epsilon=1.0, random_state=seed)
    answers = oracle.ask([MeanQuery(partial(agreement, parity), low=-1, high=1) for parity in parities])
    found = parities[np.argmax([answer.mean for answer in answers])]
    model = ParityClassifier(method="elimination", random_state=seed, **TERMS).fit(X[train], y[train])
    return (X[test] @ found % 2 != y[test]).mean(), 1 - model.score(X[test], y[test])


n_bits = [4, 6, 8, 9, 10, 11, 12, 16]
means = np.array([np.mean([errors(d, seed) for seed in range(5)], axis=0) for d in n_bits])
figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
axes.plot(n_bits, means[:, 0], marker="o", label=f"{N_QUERIES} correlations, local")
axes.plot(n_bits, means[:, 1], marker="o", label="equations, central")
axes.axhline(0.5, color="#333333", linestyle=":", label="a guess")
axes.set(xlabel="bits", ylabel="error", ylim=(-0.02, 0.55), title=f"parity, {N_RECORDS:,} records")
axes.grid(alpha=0.3)
axes.legend()
plt.show()
