"""Queries: declared bounds hold for all values of a function, and sensitivities hold for totals."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.queries import HistogramQuery, MeanQuery, StatisticalQuery, VectorQuery, on_grid

WILD = [-(1 << 60), -7, -1, 0, 1, 2, 3, 9, 1 << 60]


def itself(records):
    return records


def corner(records):
    return np.eye(3, dtype=int)[records] * 4


def vectors(size, most=3):
    """All vectors of integers up to `most` and some that are far too long, as records."""
    near = product(range(-most, most + 1), repeat=size)
    return [*map(np.array, near), np.full(size, 1 << 40), np.array([1 << 59] + [0] * (size - 1))]


#: Queries, all records that matter, and whether the declared sensitivities are attained by them.
QUERIES = [
    (MeanQuery(itself, low=-3, high=5), WILD, True),
    (MeanQuery(itself, low=2, high=9), WILD, True),
    (MeanQuery(itself, low=-7, high=-1), WILD, True),
    (HistogramQuery(itself, categories=2), WILD, True),
    (HistogramQuery(itself, categories=4), WILD, True),
    *((VectorQuery(itself, size=1, norm=norm), vectors(1), True) for norm in (1, 2, 3)),
    *((VectorQuery(itself, size=2, norm=norm), vectors(2), False) for norm in (1, 2, 3)),
    (VectorQuery(itself, size=4, norm=2), vectors(4, 1), True),
    (VectorQuery(corner, size=3, norm=4, l1=8, squared_l2=32, added_l1=4), [0, 1, 2], True),
]


def subclasses(kind):
    """A class and its subclasses in the package; other tests may define some in the same process."""
    own = (each for each in kind.__subclasses__() if each.__module__.startswith("dplearn."))
    return {kind}.union(*map(subclasses, own))


@pytest.mark.parametrize(("query", "universe", "attained"), QUERIES, ids=lambda each: repr(each)[:40])
def test_no_replaced_added_or_removed_record_moves_totals_by_more_than_is_declared(query, universe, attained):
    shape = (0, *np.shape(universe[0]))
    none = query.total(np.zeros(shape, dtype=int))
    totals = np.array([query.total(np.array([record])) for record in universe])
    base = query.total(np.array([universe[1]] * 3))
    assert (query.total(np.array([universe[1]] * 3 + [universe[0]])) == base + totals[0]).all()
    replaced = (totals[:, None] - totals).reshape(-1, query.size)
    for moves, l1, squared_l2 in (
        (replaced, query.l1, query.squared_l2),
        (totals - none, query.added_l1, query.added_squared_l2),
    ):
        worst = abs(moves).sum(axis=1).max(), (moves**2).sum(axis=1).max()
        assert worst[0] <= l1
        assert worst[1] <= squared_l2
        assert worst[0] == l1 or not attained
        assert worst[1] == squared_l2  # the norm is attained in each of these
    assert totals.min() >= query.low
    assert totals.max() <= query.high


def test_every_class_of_queries_has_its_sensitivities_compared():
    assert {type(query) for query, *_ in QUERIES} == subclasses(StatisticalQuery) - {StatisticalQuery}


def test_sensitivities_that_follow_from_others_and_values_beyond_the_bounds():
    # 10 sqrt(2) and 5 sqrt(2), 8 sqrt(3): rounded up.
    assert (VectorQuery(None, size=2, norm=5).l1, VectorQuery(None, size=2, norm=5).added_l1) == (15, 8)
    assert VectorQuery(corner, size=3, norm=4, l1=8).squared_l2 == 64
    assert VectorQuery(corner, size=3, norm=4, squared_l2=32).l1 == 14
    assert MeanQuery(itself, low=-3, high=5).inputs(np.array(WILD)).tolist() == [-3, -3, -1, 0, 1, 2, 3, 5, 5]
    assert HistogramQuery(itself, categories=4).total(np.array(WILD)).tolist() == [4, 1, 1, 3]
    rows = np.multiply.outer(np.array(WILD), [1, 1, 1, 1])  # -1, 0 and 1 are kept
    assert VectorQuery(itself, size=4, norm=2).total(rows).tolist() == [0, 0, 0, 0]
    assert VectorQuery(itself, size=4, norm=2).total(rows[[4, 4, 3, 7]]).tolist() == [2, 2, 2, 2]


def test_a_given_total_function_is_used():
    rows = np.random.default_rng(0).integers(-2, 3, (50, 3))
    slow = VectorQuery(lambda records: records, size=3, norm=9)
    quick = VectorQuery(lambda records: records, size=3, norm=9, total=lambda records: records.sum(axis=0))
    assert slow.total(rows).tolist() == quick.total(rows).tolist()


def test_the_grid_rounds_towards_zero_and_lengthens_nothing():
    rows = np.full((1, 44), 0.15)
    assert np.linalg.norm(on_grid(lambda records: records, 10)(rows)) / 10 < np.linalg.norm(rows) < 1
    seen = on_grid(lambda records: records, 10)(np.array([0.19, -0.19, np.nan, np.inf, -np.inf]))
    assert seen.tolist() == [1, -1, 0, 1 << 62, -(1 << 62)]


@pytest.mark.parametrize("library", [pd.Series, pl.Series, list, np.array])
def test_numbers_of_any_size_and_yes_and_no_may_be_in_series_and_lists(library):
    ages = np.array([30, 61])
    assert MeanQuery(library, low=0, high=60).inputs(ages).tolist() == [30, 60]
    old = [
        lambda ages: library([age > 60 for age in ages]),
        lambda ages: library([int(age > 60) for age in ages]),
    ]
    for each in old:
        assert MeanQuery(each, low=0, high=1).inputs(ages).tolist() == [0, 1]
        assert HistogramQuery(each, categories=2).total(ages).tolist() == [1, 1]
    numbers = MeanQuery(lambda rows: [2**70, -1, 5][: len(rows)], low=0, high=9)
    assert numbers.inputs([0, 0, 0]).tolist() == [9, 0, 5]
    categories = HistogramQuery(lambda rows: [2**64, -1, 1][: len(rows)], categories=3)
    assert categories.inputs([0, 0, 0]).tolist() == [2, 0, 1]


def test_invalid_values_of_a_function_are_refused_and_not_shown():
    wrong = [lambda ages: ages / 2, lambda ages: ages[:, None], lambda ages: 3, lambda ages: None]
    wrong += [lambda ages: pd.DataFrame({0: ages, 1: ages})]  # whose names would be counted
    wrong += [lambda ages: ["old"] * len(ages), lambda ages: ages.astype(object)]
    for function in wrong:
        for query in (MeanQuery(function, low=0, high=9), HistogramQuery(function, categories=2)):
            with pytest.raises(TypeError) as caught:
                query.total(np.array([31, 41]))
            assert str(caught.value) == (
                "a query's function must return one integer, or yes or no, for each record, in one dimension;"
                " for decimals see on_grid"
            )
    for rows in ([[0.5, 1]] * 2, [[1, 2, 3]] * 2, [1, 2], [[1], [1, 2]]):
        with pytest.raises(
            TypeError, match=r"must return integers of shape \(n, 2\); for decimals see on_grid"
        ):
            VectorQuery(lambda records, rows=rows: rows, size=2, norm=9).total(np.zeros(2))
