"""
Trace who was in the data
=========================

Labels can be drawn so that the outputs of a fit show whose labels it saw: the words of a fingerprinting code.
The first figure compares codes: how long must they be until somebody is traced? The second turns tracing into
an audit of one fit. Noise that suffices for one output does not suffice for many, and one fit shows it;
noise that is shared by all outputs stays below its claim. This is also why private agnostic learners, and
private learners of thresholds, need more records for more labels. The third figure plays the game with one
number instead of many labels.
"""

# %%
# A coalition of 10 users makes a word of k labels: the majority of its labels in each output. Two more users
# have codewords that nobody uses: they are innocent. ``UniformCode`` is compatible with any two concepts that
# differ at one point, ``ThresholdCode`` with thresholds. Both accuse by exact p-values: innocents are accused
# in at most 1 % of runs.
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from dplearn import ApproxDP
from dplearn.audit import (
    BonehShawCode,
    InteriorPointCode,
    TardosCode,
    ThresholdCode,
    UniformCode,
    trace_outputs,
)
from dplearn.chance import SeededDice
from dplearn.kernels import decay_ratio
from dplearn.mechanisms import interior_point_code

USERS, MEMBERS, RUNS = 12, 10, 20
dice = SeededDice(0)


def majority(rows):
    """Return the majority of the labels of each output."""
    return (2 * rows.sum(axis=0, dtype=int) > len(rows)).astype(int)


def traced(kind, k):
    """Return the share of runs in which members, and in which innocents, are accused."""
    runs = []
    for _ in range(RUNS):
        code = kind.drawn(USERS, k, dice=dice)
        accused = code.accused(majority(code.words[:MEMBERS]))
        runs.append(((accused < MEMBERS).any(), (accused >= MEMBERS).any()))
    return np.mean(runs, axis=0)


lengths = {UniformCode: [50, 100, 200, 400, 800], ThresholdCode: [25, 50, 100, 200, 400]}
published = {
    "Tardos": TardosCode.length(USERS),
    "Boneh and Shaw": (USERS - 1) * BonehShawCode.repetitions(USERS),
}
figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
for kind, sizes in lengths.items():
    shares = np.array([traced(kind, k) for k in sizes])
    (line,) = axes.plot(sizes, shares[:, 0], "o-", label=f"{kind.__name__}: a member")
    axes.plot(sizes, shares[:, 1], "x:", color=line.get_color(), label=f"{kind.__name__}: an innocent")
for (name, length), style in zip(published.items(), ("--", "-."), strict=True):
    axes.axvline(length, color="#777777", linestyle=style, label=f"published length: {name}")
axes.set(xscale="log", xlabel="outputs k", ylabel="share of runs that accuse")
axes.grid(alpha=0.3)
axes.legend()
plt.show()


# %%
# The published codes hold for every word that keeps to the labels that all members share. A shorter code for
# accurate words is enough here: a learner wants to be accurate. The rarer label of each output is not what a
# learner predicts, and it escapes ``UniformCode``.
def rarer(rows):
    """Return the rarer label of each output, if both occur."""
    ones = rows.sum(axis=0, dtype=int)
    return np.where(ones == 0, 0, np.where(ones == len(rows), 1, 2 * ones <= len(rows)))


for kind in lengths:
    code = kind.drawn(USERS, 800, dice=dice)
    print(kind.__name__, len(code.accused(rarer(code.words[:MEMBERS]))), "accused by the rarer labels")

# %%
# Now a private learner makes the word. At one point, an agnostic learner of any two concepts predicts the
# majority, of noisy counts; a learner of thresholds selects a threshold of few errors. Each record has two
# candidates for its labels, and a secret coin chooses: too many right guesses of coins refute the claim.
# With epsilon 1 for all outputs, counts have noise of scale k; with epsilon 1 for each, of scale 1.
CLAIM, N = ApproxDP(1), 60


def counts(share):
    """Return majorities of noisy counts, with this share of epsilon for each of k outputs."""

    def fit_predict(_, Y):
        n, k = Y.shape
        return 2 * (Y.sum(axis=0) + dice.discrete_laplace(decay_ratio(share(k)), size=k)) > n

    return fit_predict


def thresholds(share):
    """Return a threshold for each output by the exponential mechanism on its errors."""

    def fit_predict(X, Y):
        n, k = Y.shape
        below = np.vstack([np.zeros(k, dtype=int), Y.cumsum(axis=0)])
        errors = np.arange(n + 1)[:, None] + below[-1] - 2 * below
        ratio = decay_ratio(share(k) / 2)
        chosen = [dice.power_weighted(ratio, column, [1] * (n + 1)) for column in errors.T.tolist()]
        return np.array(chosen) >= X

    return fit_predict


SHARES = {"epsilon for each": lambda _: Fraction(1), "epsilon / k for each": lambda k: Fraction(1, k)}
SIZES = [30, 100, 300, 1000, 3000]
figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
axes.axhline(1, color="#333333", linestyle=":", label="claimed")
for code, learner, marker in (("fair", counts, "o"), ("thresholds", thresholds, "s")):
    for (words, share), line in zip(SHARES.items(), ("-", "--"), strict=True):
        bounds = [
            trace_outputs(learner(share), N, k, code=code, claim=CLAIM, n_guesses=N, dice=dice).epsilon
            for k in SIZES
        ]
        axes.plot(SIZES, bounds, marker + line, label=f"{learner.__name__}: {words}")
axes.set(xscale="log", xlabel="outputs k", ylabel="lower bound on epsilon, from one fit")
axes.grid(alpha=0.3)
axes.legend()
plt.show()

# %%
# The report of one of these fits:
forgetful = counts(SHARES["epsilon for each"])
report = trace_outputs(forgetful, N, 3000, code="fair", claim=CLAIM, n_guesses=N, dice=dice)
print(report)

# %%
# One number can show who was in the data, too. Each user holds a number, and a coalition answers with any
# number from the least to the greatest of its own: an interior point. ``InteriorPointCode`` accuses somebody
# for each such answer, here of two users with 30^40 possible numbers.
code = InteriorPointCode.drawn(2, 40, [30], dice=dice)
answers = {"the first": code.words[0], "the second": code.words[1], "the mean": sum(code.words) // 2}
for name, answer in answers.items():
    print(f"{name}: user {code.accused(answer)[0]} is accused")

# %%
# So a private method cannot often find interior points of such data: it would be traced. The bound holds for
# every method, and the exponential mechanism stays far below it. It has to choose among 30^40 numbers, most
# of which are outside. More users need a tower of powers: with bases 8 and 64, three users have 2^24576.
EPSILONS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256]


def inside(epsilon, runs=200):
    """Return the share of codes for which the exponential mechanism returns an interior point."""
    found = 0
    for _ in range(runs):
        words = InteriorPointCode.drawn(2, 40, [30], dice=dice).words
        point = interior_point_code(words, code.size, privacy=ApproxDP(epsilon), dice=dice)
        found += min(words) <= point <= max(words)
    return found / runs


figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
axes.plot(EPSILONS, [inside(epsilon) for epsilon in EPSILONS], "o-", label="exponential mechanism")
axes.plot(
    EPSILONS,
    [code.success_bound(epsilon=epsilon) for epsilon in EPSILONS],
    "k:",
    label="every private method, at most",
)
axes.set(xscale="log", xlabel="epsilon", ylabel="share of codes with an interior point")
axes.grid(alpha=0.3)
axes.legend()
plt.show()
