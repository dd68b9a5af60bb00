"""Conjunctions from shares: found by any oracle, and said in words."""

import numpy as np
import pytest

from dplearn.domains import Bits, Categories, Floats, Grid, IntegerRange
from dplearn.learners.bins import binned
from dplearn.learners.conjunction_rule import BinConjunction, learn_conjunction
from dplearn.queries import Examples, population

BIT = binned(Bits(None), 2)
ALL = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T


@pytest.mark.parametrize("literals", [{}, {0: 1}, {1: 0}, {0: 1, 2: 0}, {0: 0, 1: 0, 2: 1, 3: 1}])
@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("sign", [-1, 1])
def test_answers_off_by_less_than_the_bar_find_every_conjunction(literals, positive, sign):
    satisfied = np.all([ALL[:, i] == bit for i, bit in literals.items()] or [np.ones(16, bool)], axis=0)
    y = np.where(satisfied, positive, 1 - positive)
    oracle = population(Examples(ALL, y), tolerance=0.012, adversary=lambda means: means + sign)
    learned = learn_conjunction(oracle, [BIT] * 4, positive=positive, alpha=0.1, beta=0.05)
    assert (learned.predict(list(ALL.T)) == y).all()
    assert not oracle.adaptive


def test_where_no_record_is_positive_none_is_predicted():
    learned = learn_conjunction(
        population(Examples(ALL, np.zeros(16, int))), [BIT] * 4, positive=1, alpha=0.1, beta=0.05
    )
    assert not learned.predict(list(ALL.T)).any()
    assert learned.describe(list("abcd"), ["no", "yes"]) == "always 'no'"


def test_a_range_has_no_holes_and_a_list_has():
    X = np.array([[0, 0], [2, 2], [3, 3]])
    bins = binned(IntegerRange(0, 3), 4), binned(Categories(list("abcd")), 4)
    learned = learn_conjunction(
        population(Examples(X, np.ones(3, int))), bins, positive=1, alpha=0.1, beta=0.05
    )
    assert learned.allowed == ((True,) * 4, (True, False, True, True))
    assert learned.describe(["age", "town"], ["no", "yes"]) == "'yes' if town != 'b', else 'no'"


@pytest.mark.parametrize(
    "domain",
    [
        Floats(significand_bits=0, smallest=1, largest=1, missing=True),
        IntegerRange(0, 2, missing=True),
        Grid(0, 2, 3, missing=True),
    ],
    ids=repr,
)
def test_missing_values_are_no_end_of_a_range(domain):
    gap = binned(domain, 4)
    records = Examples(np.array([[0], [3]]), np.ones(2, int))
    [allowed] = learn_conjunction(population(records), [gap], positive=1, alpha=0.1, beta=0.05).allowed
    assert allowed == (True, False, False, True)


def test_a_value_without_a_bin_satisfies_no_condition():
    town = binned(Categories(list("ab")), 2)
    rule = BinConjunction((town, town), ((True, False), (True, True)), 1)
    codes = Categories(list("ab")).nearest(["a", "b", "z", "a"])
    assert rule.predict([codes, codes[::-1]]).tolist() == [1, 0, 0, 1]
    assert BinConjunction((town,), ((True, True),), 0).describe(["t"], [7, 8]) == "always 7"
