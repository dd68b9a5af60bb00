"""Queries: declared bounds hold for all values of a function, and sensitivities hold for totals."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.queries import HistogramQuery, MeanQuery, VectorQuery, on_grid, population

WILD = [-(1 << 60), -7, -1, 0, 1, 2, 3, 9, 1 << 60]


def worst_moves(query, universe):
    """The most by which one replaced record moves the totals: in sum, and in the sum of squares."""
    totals = [query.total(np.array([record])) for record in universe]
    moves = [a - b for a, b in product(totals, repeat=2)]
    return max(int(abs(m).sum()) for m in moves), max(int((m**2).sum()) for m in moves)


def test_numbers_beyond_the_bounds_are_moved_to_them():
    query = MeanQuery(lambda records: records, low=-3, high=5)
    assert query.inputs(np.array(WILD)).tolist() == [-3, -3, -1, 0, 1, 2, 3, 5, 5]
    assert worst_moves(query, WILD) == (query.l1, query.squared_l2) == (8, 64)


def test_categories_beyond_the_last_are_the_last():
    query = HistogramQuery(lambda records: records, categories=4)
    assert query.total(np.array(WILD)).tolist() == [4, 1, 1, 3]
    assert worst_moves(query, WILD) == (query.l1, query.squared_l2) == (2, 2)


def test_rows_longer_than_the_norm_are_zeros():
    query = VectorQuery(lambda records: np.multiply.outer(records, [1, 1, 1, 1]), size=4, norm=2)
    assert query.total(np.array(WILD)).tolist() == [0, 0, 0, 0]  # -1, 0 and 1 are kept
    assert query.total(np.array([1, 1, 0, 5])).tolist() == [2, 2, 2, 2]
    assert worst_moves(query, WILD) == (query.l1, query.squared_l2) == (8, 16)


def test_the_norm_in_one_dimension_and_in_two_is_the_least_that_holds():
    assert VectorQuery(None, size=1, norm=5).l1 == 10
    assert VectorQuery(None, size=2, norm=5).l1 == 15  # 10 sqrt(2), rounded up
    assert VectorQuery(None, size=2, norm=5).squared_l2 == 100


def test_proved_sensitivities_take_the_place_of_those_from_the_norm():
    def corner(records):
        return np.eye(3, dtype=int)[records] * 4

    query = VectorQuery(corner, size=3, norm=4, l1=8, squared_l2=32)  # two corners are orthogonal
    assert worst_moves(query, [0, 1, 2]) == (query.l1, query.squared_l2) == (8, 32)
    assert VectorQuery(corner, size=3, norm=4, l1=8).squared_l2 == 64
    assert VectorQuery(corner, size=3, norm=4, squared_l2=32).l1 == 14  # 8 sqrt(3), rounded up


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


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: MeanQuery(None, low=1, high=1),
            ValueError,
            "high must be an integer from 2 to 1099511627776, got 1",
        ),
        (lambda: MeanQuery(None, low=0.5, high=1), TypeError, "low must be an integer"),
        (lambda: MeanQuery(None, low=0, high=1, unit=0), ValueError, "unit must be a positive number, got 0"),
        (lambda: HistogramQuery(None, categories=1), ValueError, "categories must be an integer from 2"),
        (lambda: VectorQuery(None, size=0, norm=1), ValueError, "size must be an integer at least 1, got 0"),
        (lambda: VectorQuery(None, size=1, norm=0), ValueError, "norm must be an integer from 1"),
        (lambda: VectorQuery(None, size=1, norm=1, l1=0), ValueError, "l1 must be an integer at least 1"),
        (
            lambda: VectorQuery(None, size=1, norm=1, squared_l2=1.5),
            TypeError,
            "squared_l2 must be an integer",
        ),
        (lambda: on_grid(None, 0), ValueError, "steps must be an integer from 1"),
    ],
)
def test_public_parameters_are_validated(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_units_are_exact():
    assert MeanQuery(None, low=0, high=1, unit=0.1).unit == Fraction(1, 10)


def test_numbers_of_any_size_in_a_list_are_clipped_to_the_bounds():
    numbers = MeanQuery(lambda rows: [2**70, -1, 5][: len(rows)], low=0, high=9)
    assert numbers.inputs([0, 0, 0]).tolist() == [9, 0, 5]
    categories = HistogramQuery(lambda rows: [2**64, -1, 1][: len(rows)], categories=3)
    assert categories.inputs([0, 0, 0]).tolist() == [2, 0, 1]


@pytest.mark.parametrize("library", [pd.Series, pl.Series, list])
def test_numbers_and_yes_and_no_may_be_in_series_and_lists(library):
    assert MeanQuery(lambda ages: library(ages), low=0, high=60).inputs(np.array([30, 61])).tolist() == [
        30,
        60,
    ]
    old = MeanQuery(lambda ages: library([age > 60 for age in ages]), low=0, high=1)
    assert old.inputs(np.array([30, 61])).tolist() == [0, 1]


@pytest.mark.parametrize(
    "function",
    [
        lambda ages: ages / 2,
        lambda ages: ages[:, None],
        lambda ages: pd.DataFrame({0: ages, 1: ages}),  # whose names would be counted
        lambda ages: 3,
        lambda ages: ["old"] * len(ages),
        lambda ages: ages.astype(object),
        lambda ages: None,
    ],
    ids=["decimals", "column", "frame", "number", "texts", "objects", "nothing"],
)
def test_invalid_values_of_a_function_are_refused_and_not_shown(function):
    for query in (MeanQuery(function, low=0, high=9), HistogramQuery(function, categories=2)):
        with pytest.raises(TypeError) as caught:
            query.total(np.array([31, 41]))
        assert str(caught.value) == (
            "a query's function must return one integer, or yes or no, for each record, in one dimension; for"
            " decimals see on_grid"
        )


@pytest.mark.parametrize("rows", [[[0.5, 1]] * 2, [[1, 2, 3]] * 2, [1, 2], [[1], [1, 2]]], ids=str)
def test_rows_of_another_shape_or_of_decimals_are_refused(rows):
    with pytest.raises(TypeError, match=r"must return integers of shape \(n, 2\); for decimals see on_grid"):
        VectorQuery(lambda records: rows, size=2, norm=9).total(np.zeros(2))


def test_bounds_of_a_grid_are_counted_in_steps():
    weeks = on_grid(lambda days: days / 7, 1024)
    answer = population(np.array([42])).ask(MeanQuery(weeks, low=0, high=20 * 1024, unit=Fraction(1, 1024)))[
        0
    ]
    assert answer.mean == 6.0


def test_reprs_of_queries_show_public_values():
    shown = [MeanQuery(None, low=0, high=2, unit="0.5"), HistogramQuery(None, categories=3)]
    shown.append(VectorQuery(None, size=4, norm=5))
    assert [*map(repr, shown)] == [
        "MeanQuery(low=0, high=2, unit=1/2)",
        "HistogramQuery(categories=3)",
        "VectorQuery(size=4, norm=5, unit=1)",
    ]


def test_yes_and_no_count_as_one_and_zero():
    old = MeanQuery(lambda ages: ages > 60, low=0, high=1)
    assert old.total(np.array([30, 61, 90])).tolist() == [2]
    assert HistogramQuery(lambda ages: ages > 60, categories=2).total(np.array([30, 61, 90])).tolist() == [
        1,
        2,
    ]
