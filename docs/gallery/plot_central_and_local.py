"""
Who is trusted: central and local
=================================

The same algorithm, naive Bayes by questions about averages, asked in two ways. In the central model
somebody holds all records and publishes noisy averages. In the local model nobody holds them: each
person answers one question with a randomised report. Not having to trust anybody takes many more
records.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.naive_bayes import BernoulliNB

from dplearn import StatisticalQueryNaiveBayes
from dplearn.domains import Bits

images, digits = load_digits(return_X_y=True)
half = images.reshape(-1, 8, 8)[:, 2:6, 2:6].reshape(len(images), 16) > 7  # 16 pixels of the middle
y = (digits >= 5).astype(int)

# %%
# There are 1,797 images; more people are drawn from them, with one pixel in ten flipped, as if each had
# been scanned again.
generator = np.random.default_rng(0)


def people(n):
    """Return n records: images, each with pixels of its own flipped."""
    rows = generator.integers(0, len(half), n)
    return (half[rows] ^ (generator.random((n, 16)) < 0.1)).astype(int), y[rows]


X_test, y_test = people(5_000)
sizes = [300, 1_000, 3_000, 10_000, 30_000, 100_000]
samples = {n: people(n) for n in sizes}
figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
plain = [BernoulliNB().fit(*samples[n]).score(X_test, y_test) for n in sizes]
axes.plot(sizes, plain, color="#333333", linestyle=":", label="not private")
for trusted in ("central", "local"):
    scores = []
    for n in sizes:
        fits = (
            StatisticalQueryNaiveBayes(
                epsilon=1.0, trust_model=trusted, domain=Bits(), classes=[0, 1], random_state=seed
            ).fit(*samples[n])
            for seed in range(3)
        )
        scores.append(np.mean([fit.score(X_test, y_test) for fit in fits]))
    axes.plot(sizes, scores, marker="o", label=f"{trusted}, epsilon 1")
axes.set(xscale="log", xlabel="records", ylabel="accuracy", ylim=(0.45, 0.85))
axes.grid(alpha=0.3)
axes.legend()
plt.show()
