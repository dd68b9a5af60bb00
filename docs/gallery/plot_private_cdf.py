"""
A whole distribution, and how sure it is
========================================

20,000 incomes, released once at epsilon 0.5, over all floating-point numbers: no bounds were given and
none guessed. The band holds the distribution of the *population* at every point together with
probability .95. Medians, quartiles, intervals and made-up records can be read off as often as one likes,
for the release has been paid for.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from dplearn.releases import cdf

incomes = np.random.default_rng(0).lognormal(10, 0.5, 20_000)
distribution = cdf(incomes, epsilon=0.5, random_state=0)
print(distribution.guarantee)
print("median:", round(float(distribution.median())))

# %%
# The dotted curve is the records' own. It is drawn here because these records are nobody's.
at = np.linspace(0, 80_000, 800)
low, high = distribution.band(beta=0.05).at(at)
own = np.searchsorted(np.sort(incomes), at, side="right") / len(incomes)

figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
axes.fill_between(at, low, high, step="post", alpha=0.25, label="band, .95")
axes.step(at, distribution.cdf(at), where="post", label="released")
axes.step(at, own, where="post", color="#333333", linestyle=":", label="the records' own")
axes.set(xlabel="income", ylabel="share at most", ylim=(0, 1.02), xticks=range(0, 80_001, 20_000))
axes.grid(alpha=0.3)
axes.legend()
plt.show()
