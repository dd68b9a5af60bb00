"""
Pure and approximate privacy, apart
===================================

A line modulo a prime p is the set of points (x, a x + b). With delta 1e-6, 1,627 records suffice to learn a
line, whatever p is. With delta 0, the number of records grows with log p for every learner, whatever it
publishes. From p = 2^521 - 1 on, no learner with delta 0 is as accurate with as many records. Both numbers
are computed here, and the first learner is run where it fails most.
"""

# %%
# Epsilon 1, an error of at most 0.1 with probability 0.9. Between the two lines for delta 0, it is not known
# whether a learner exists.
import matplotlib.pyplot as plt
import numpy as np

from dplearn import LineClassifier
from dplearn.theory import line_failure, line_sample_size, pure_line_lower_bound, pure_line_sample_size

EPSILON, DELTA, GOOD = 1.0, 1e-6, {"alpha": 0.1, "beta": 0.1}
BITS = (5, 13, 31, 61, 127, 521, 1279, 4423)  # 2^bits - 1 is a prime
enough = line_sample_size(epsilon=EPSILON, delta=DELTA, **GOOD)
sizes = {
    "delta 0: exponential mechanism": pure_line_sample_size,
    "delta 0: no learner with fewer": pure_line_lower_bound,
}
for bits in (13, 521):
    print(f"2^{bits} - 1:", *(f"{size(2**bits - 1, epsilon=EPSILON, **GOOD):,}" for size in sizes.values()))

# %%
# The worst records: a tenth of the probability is on two points of the line, with shares .68 and .32. The
# learner fails if it releases neither the line nor one of the points.
prime, runs, generator = 2**521 - 1, 40, np.random.default_rng(0)
slope, intercept = 3**300 % prime, 5**200 % prime
points = [[x, (slope * x + intercept) % prime] for x in (7**150, 11**140)] + [[1, 2]]


def failed(n, seed):
    """Return whether a fit of n records releases nothing."""
    kinds = generator.choice(3, n, p=[0.068, 0.032, 0.9])
    rows, labels = [points[kind] for kind in kinds], [int(kind < 2) for kind in kinds]
    learner = LineClassifier(
        prime, epsilon=EPSILON, delta=DELTA, method="stability", classes=[0, 1], random_state=seed, **GOOD
    )
    return learner.fit(rows, labels).abstained_


records = [1000, 1200, 1400, enough, 1900]
shares = [np.mean([failed(n, seed) for seed in range(runs)]) for n in records]
curve = np.linspace(900, 2000, 9).astype(int)
bounds = [line_failure(n, epsilon=EPSILON, delta=DELTA, alpha=GOOD["alpha"]) for n in curve]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for (name, size), style in zip(sizes.items(), ("-o", "--s"), strict=True):
    needed = [size(2**bits - 1, epsilon=EPSILON, **GOOD) for bits in BITS]
    left.loglog(BITS, needed, style, color="#c0392b", label=name)
left.axhline(enough, color="#1b6ca8", label="delta 1e-6: stability")
left.set(xlabel="bits of p", ylabel="records")
left.legend()
right.plot(curve, bounds, color="#1b6ca8", label="bound")
right.plot(records, shares, "o", color="#1b6ca8", label=f"{runs} fits each, p = 2^521 - 1")
right.axhline(GOOD["beta"], color="#777777", linestyle=":")
right.set(xlabel="records", ylabel="failed fits at the worst records", ylim=(-0.02, 1.02))
right.legend()
for axes in (left, right):
    axes.grid(alpha=0.3)
plt.show()
