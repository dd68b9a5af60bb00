"""
Audit a mechanism of one's own
==============================

Randomised response: each person tells the truth with some probability and lies otherwise.
``enumerate_privacy`` runs the code over every outcome of every small dataset and reads off its exact
epsilon. The second version has a mistake that is easily made: what is not truthful is a fair coin, not a
lie, so half of the noise is missing and the claim fails. The third forgets the last person, and promises
nothing at all.
"""

# %%
# A mechanism takes rows and dice, and returns all that is published.
from fractions import Fraction
from math import log

import matplotlib.pyplot as plt

from dplearn.audit import enumerate_privacy


def honest(truth):
    """Return randomised response that tells the truth with this probability."""
    return lambda rows, dice: tuple(row if dice.bernoulli(truth) else 1 - row for row in rows)


def by_coin(truth):
    """Return the version that lies half as often as was meant."""

    def release(rows, dice):
        return tuple(row if dice.bernoulli(truth) else dice.below(2) for row in rows)

    return release


def forgetful(truth):
    """Return the version that sends the last row as it is."""

    def release(rows, dice):
        return (*(row if dice.bernoulli(truth) else 1 - row for row in rows[:-1]), rows[-1])

    return release


# %%
# The claim is ln(truth / lie). What lies above the line is a broken promise.
truths = [Fraction(k, 20) for k in range(11, 20)]
claims = [log(truth / (1 - truth)) for truth in truths]


def exact(version, truth):
    """Return the exact epsilon of a version, on all datasets of two bits."""
    return float(enumerate_privacy(version(truth), universe=[0, 1], n=2).epsilon)


figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
axes.plot(claims, claims, color="#333333", linestyle=":", label="claimed")
axes.plot(claims, [exact(honest, truth) for truth in truths], "o", label="truth or lie: as claimed")
axes.plot(claims, [exact(by_coin, truth) for truth in truths], "s", label="truth or coin: exceeds it")
axes.set(xlabel="claimed epsilon", ylabel="exact epsilon")
axes.grid(alpha=0.3)
axes.legend()
plt.show()

# %%
# And the forgetful one:
found = enumerate_privacy(forgetful(Fraction(3, 4)), universe=[0, 1], n=2)
print(found.epsilon, found.pair)
