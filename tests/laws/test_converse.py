"""On one fixed data set a pure learner returns all that it returns on others, exp(epsilon n) times as rarely.

So the law on a fixed data set is a representation of the class: every hypothesis that is accurate for some
concept and distribution has probability at least exp(-epsilon n) times that with n records of it.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn import ExponentialMechanismClassifier, ThresholdClassifier, learners
from dplearn.audit import StagedFit, WholeFit, distribution_on, refitted
from dplearn.audit.cases import CASES
from dplearn.domains import IntegerRange
from dplearn.kernels import at_most_exp
from dplearn.theory import representation_value
from tests.laws.test_enumeration import LIKE_OTHERS, ONE_PAIR

EPSILON = Fraction(1)
SLOW = {"additive", "linear", "logistic", *ONE_PAIR, *LIKE_OTHERS}


LEARNERS = {*learners.__all__, "PrivateSearchCV", "PrivateTunedThresholdClassifier"}
PURE = [
    name
    for name, case in CASES.items()
    if not case.claim.delta
    and (case.claim.neighbors, case.claim.protects) == ("replace_one", "examples")
    and LEARNERS & set(case.verifies)
]


def test_there_are_pure_learners_of_many_kinds():
    assert len({CASES[name].verifies for name in PURE}) >= 10


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in SLOW else name for name in PURE]
)
def test_no_outcome_is_more_probable_on_other_data_than_its_records_cost(name):
    case = CASES[name]
    laws = [
        distribution_on(case.fit, (record,) * case.n, case.tail_bits)
        for record in (case.universe[0], case.universe[-1])
    ]
    dummy, other = laws
    for seen in other.masses:
        fixed = dummy.probability(seen) + dummy.left_out
        assert at_most_exp(other.probability(seen) / fixed, case.n * Fraction(case.claim.epsilon))


def hypotheses_of(model, n):
    """The exact law of the labels that a fit predicts for the values 0..3, on each table of n records."""

    def split(rows):
        X, y = zip(*rows, strict=True)
        return np.array(X)[:, None], np.array(y)

    def shown(fitted):
        return str(fitted.predict(np.arange(4)[:, None]).tolist()), None

    fit = StagedFit(WholeFit(refitted(model), split, shown))

    def law(rows):
        found = distribution_on(fit, rows)
        return {seen[1][0]: found.probability(seen) for seen in found.masses}

    return law


def distributions_of_points():
    """All distributions over four values in quarters."""
    return [
        tuple(Fraction(c, 4) for c in counts) for counts in product(range(5), repeat=4) if sum(counts) == 4
    ]


MODELS = [
    ExponentialMechanismClassifier(
        "thresholds", epsilon=1.0, domain=IntegerRange(0, 3), classes=[0, 1], random_state=0
    ),
    ExponentialMechanismClassifier(
        "stumps", method="permute_and_flip", domain=IntegerRange(0, 3), classes=[0, 1], random_state=0
    ),
    ThresholdClassifier(domain=IntegerRange(0, 3), classes=[0, 1], random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=["exponential", "permute_and_flip", "threshold"])
@pytest.mark.parametrize(
    "n", [1, 2, pytest.param(3, marks=pytest.mark.nightly), pytest.param(4, marks=pytest.mark.nightly)]
)
def test_thresholds_on_four_values_are_represented_by_the_law_on_any_data(model, n):
    law, alpha = hypotheses_of(model, n), Fraction(1, 4)
    hypotheses = {h: str(list(h)) for h in product((0, 1), repeat=4)}
    concepts = [tuple(int(x >= cut) for x in range(4)) for cut in range(4)]
    fixed = law(((0, 0),) * n)
    worst = Fraction(1)
    for f in concepts:
        samples = {points: law(tuple((x, f[x]) for x in points)) for points in product(range(4), repeat=n)}
        found_good = {}  # by the good hypotheses: the probability of one of them, for each sample
        for chances in distributions_of_points():
            good = tuple(
                name
                for h, name in hypotheses.items()
                if sum(c for c, a, b in zip(chances, h, f, strict=True) if a != b) <= alpha
            )
            if good not in found_good:
                found_good[good] = {
                    points: sum(found.get(name, 0) for name in good) for points, found in samples.items()
                }
            success = sum(
                math.prod(chances[x] for x in points) * probability
                for points, probability in found_good[good].items()
                if all(chances[x] for x in points)
            )
            drawn = sum(fixed.get(name, 0) for name in good)
            assert drawn > 0
            assert at_most_exp(success / drawn, n * EPSILON)
            worst = min(worst, success)
    # So no such learner succeeds with more than exp(epsilon n) times the value of representations.
    value = representation_value(concepts, alpha).upper
    assert at_most_exp(worst / value, n * EPSILON)
