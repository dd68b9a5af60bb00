"""Searches, shares, groups, kept results, bounds and rows, against what going through all cases finds."""

import gc
import math
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix
from scipy.special import betainc
from scipy.stats import binom

from dplearn.kernels import (
    between,
    confidence_bounds,
    first,
    float_blocks,
    group_counts,
    grouping,
    kept_results,
    least,
    lowest,
    nearest_shares,
    nth_equal,
    row_blocks,
    simplex,
    success_bounds,
    unit_rows,
)
from dplearn.kernels import rows as module
from dplearn.table import InMemory, Table, grouping_of

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)


@repeatable
@given(st.integers(-50, 50), st.integers(0, 100), st.integers(0, 100))
def test_the_first_integer_at_which_a_condition_holds_is_found(low, length, place):
    begin = low + min(place, length)
    assert first(lambda n: n >= begin, low, low + length) == begin
    assert least(lambda n: n >= begin * 10**4, 7) == max(7, begin * 10**4)


@repeatable
@given(st.integers(-50, 50), st.integers(0, 10**5), st.integers(0, 10**5), st.floats(0.1, 10))
def test_the_lowest_point_of_a_valley_is_found(low, length, place, slope):
    bottom = low + min(place, length)
    found = lowest(
        lambda n: np.where(n < bottom, slope * (bottom - n), (n - bottom) / slope), low, low + length
    )
    assert found == bottom
    assert lowest(lambda n: np.zeros(len(n)), 3, 10) == 3  # the first of equals


@pytest.mark.parametrize("guess", [None, 1e-9, 40.0, 77.25, 1e9])
@pytest.mark.parametrize("rising", [True, False])
def test_a_guess_spares_computations_and_changes_no_answer(guess, rising):
    asked, true = [], lambda x: (x < 77.25) == rising
    answer = between(
        lambda x: asked.append(x) or true(x), *((0, math.inf) if rising else (math.inf, 0)), guess
    )
    places = [Fraction(k, 8) for k in (*range(1, 1000, 7), *range(999, 0, -11))]
    assert [answer(x) for x in places] == [true(x) for x in places]
    assert len(asked) == 2 if guess == 77.25 else len(asked) < len(places)
    assert lowest(lambda n: np.where(n < 99_990, np.inf, n), 0, 10**5) == 99_990
    for high in (10**18, 10**20):  # beyond exact floats
        assert 0 < lowest(lambda n, high=high: abs(n - 0.3 * high), 0, high) < high


@pytest.mark.parametrize("seed", range(5))
def test_no_other_shares_are_nearer(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, 6)
    nearest = nearest_shares(values)
    assert (nearest >= 0).all()
    assert nearest.sum() == pytest.approx(1)
    others = rng.dirichlet(np.full(6, 0.3), 500)
    assert ((others - values) ** 2).sum(axis=1).min() >= ((nearest - values) ** 2).sum()
    assert nearest_shares(nearest) == pytest.approx(nearest)
    assert nearest_shares(values + 9) == pytest.approx(nearest)
    assert nearest_shares(np.array([-1e30])).tolist() == [1.0]


@pytest.mark.parametrize("scale", [1e20, 1e100, 1e300, 1e-300, 0.0])
def test_numbers_of_any_magnitude_have_nearest_shares(scale):
    values = scale * np.array([1.0, -1.0, 0.5])
    assert nearest_shares(values).sum() == pytest.approx(1)
    assert nearest_shares(-np.abs(values)).sum() == pytest.approx(1)
    if scale > 1:
        assert nearest_shares(values).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(3))
def test_fitted_shares_have_nearly_the_least_distance_of_images(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(8, 4))
    image = rng.dirichlet(np.ones(8)) @ rows + 0.1 * rng.normal(size=4)
    found = simplex.fitted_shares(rows, image)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    # By convexity half of the squared distance exceeds the least one by at most this gap.
    slopes = rows @ (found @ rows - image)
    assert found @ slopes - slopes.min() < 1e-3
    equal = np.full(8, 1 / 8)
    slopes = rows @ (equal @ rows - image)
    assert equal @ slopes - slopes.min() > 1e-2  # the start is no solution


def test_shares_of_several_images_are_those_of_each():
    rng = np.random.default_rng(0)
    rows, images = rng.normal(size=(8, 4)), rng.normal(size=(2, 3, 4))
    assert nearest_shares(images) == pytest.approx(np.apply_along_axis(nearest_shares, 2, images))
    found = simplex.fitted_shares(rows, images)
    for place in np.ndindex(2, 3):
        assert found[place] == pytest.approx(simplex.fitted_shares(rows, images[place]), abs=1e-9)


TYPES = ["u1", "u2", "u4", "i1", "i2", "i4", "i8"]


def agrees_with_unique(values) -> bool:
    distinct, counts = np.unique(values, return_counts=True)
    found = group_counts(values)
    assert grouping.distinct_values(values).tolist() == distinct.tolist()
    assert {type(number) for number in [*found[0], *found[1]]} == {int}
    return found == (distinct.tolist(), counts.tolist())


@repeatable
@given(st.sampled_from(TYPES).flatmap(lambda name: arrays(name, st.integers(1, 40))), st.integers(0, 3))
def test_counts_and_places_are_those_of_numpy_over_the_whole_range_of_every_type(values, width):
    assert agrees_with_unique(values)
    for base in (-(2**63), 0, 2**63 - 1 - 2**width):  # values repeat anywhere in 64 bits
        assert agrees_with_unique((values & (2**width - 1)).astype(np.int64) + base)
    for far in (2**22 - 1, 2**22, 2**22 + 1, 2**40):  # on both sides of the widest dense range
        assert agrees_with_unique(np.array([-7, -7 + far, -7, 3]))
    # Was (dplearn/kernels/grouping.py, group_counts): uint64 values of 2**63 and more wrapped.
    for few in ([3, 2**64 - 1], [2**64 - 1, 2**64 - 3, 2**64 - 1], [2**63, 2**63 - 1]):
        assert agrees_with_unique(np.array(few, dtype=np.uint64))
    value = int(values[-1])
    places = np.flatnonzero(values == value).tolist()
    assert [nth_equal(values, value, index) for index in range(len(places))] == places
    with pytest.raises(IndexError, match="fewer elements"):
        nth_equal(values, value, len(places))


def test_places_are_counted_across_blocks():
    many, places = np.zeros(3 * 2**20, dtype=np.uint8), [2**20 - 1, 2**20, 2**21 + 5, 3 * 2**20 - 1]
    many[places] = 7
    assert [nth_equal(many, 7, index) for index in range(4)] == places


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [2**15 - 1, 2**15, 2**15 + 1, 100_000])
def test_counts_are_those_of_unique_over_several_blocks(dtype, n):
    assert agrees_with_unique((np.arange(n) * 7919 % 101 - 20 * (dtype[0] == "i")).astype(dtype))


def test_counts_do_not_change_the_values_and_read_any_layout():
    values = np.arange(20, dtype=np.int64)[::-3] % 4
    before = values.copy()
    assert agrees_with_unique(values)
    assert agrees_with_unique(values.astype(">i4"))
    assert agrees_with_unique(np.repeat([5, 9, 1], 2**15))  # later blocks hold larger and smaller values
    assert (values == before).all()


class Numbers(list):
    """A list that weak references can refer to."""


def doubled(numbers):
    return [2 * number for number in numbers]


def test_the_function_runs_once_for_the_same_object():
    calls = []
    kept = kept_results.KeptResults(lambda numbers: calls.append(numbers) or doubled(numbers))
    first, equal = Numbers([1, 2]), Numbers([1, 2])
    for _ in range(2):
        assert kept(first) is kept(first)
        assert kept(equal) == [2, 4]
    assert list(map(id, calls)) == [id(first), id(equal)]
    many = [Numbers([number] * 50) for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert (
            list(pool.map(kept_results.KeptResults(doubled), many * 5))
            == [doubled(each) for each in many] * 5
        )
    secret, kept = Numbers([12345]), kept_results.KeptResults(doubled)
    kept(secret)
    assert b"24690" not in pickle.dumps(kept, protocol=0)  # no pickle has a result
    assert pickle.loads(pickle.dumps(kept))(Numbers([3])) == [6]


def test_a_result_is_dropped_with_its_object():
    kept = kept_results.KeptResults(doubled)
    for number in range(100):
        assert kept(Numbers([number])) == [2 * number]
    gc.collect()
    assert kept.results == {}


def test_rows_of_groups_are_the_same_objects_in_each_sum():
    calls = []
    kept = kept_results.KeptResults(lambda rows: calls.append(1) or rows.sum())
    ids = np.repeat([0, 1, 2], [1, 2, 5])
    records = Table(InMemory(np.arange(8))).grouped(grouping_of(ids, 8, most=3, shifts=lambda n: [0] * n))
    sums = [records.sums(lambda rows: [kept(rows)]) for _ in range(3)]
    assert sums[0] == sums[1] == sums[2]
    assert len(calls) == 3  # rows that occur once, twice and three times


def test_results_are_gone_with_the_function_without_a_garbage_collection():
    rows, argument = kept_results.KeptResults(lambda _: np.zeros(3)), Numbers()
    result = weakref.ref(rows(argument))
    gc.disable()
    try:
        del rows
        assert result() is None
    finally:
        gc.enable()


BERNOULLI = (
    Fraction(1, 6),
    Fraction(-1, 30),
    Fraction(1, 42),
    Fraction(-1, 30),
    Fraction(5, 66),
    Fraction(-691, 2730),
)


def exact_tail(hits: int, n: int, p: Fraction) -> Fraction:
    """Return P[Binomial(n, p) >= hits]."""
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(hits, n + 1))


def log_factorial(n: int) -> Decimal:
    """Return ln(n!), by Stirling's series to 30 digits where n is large."""
    if n < 1000:
        return Decimal(factorial(n)).ln()
    x, pi = Decimal(n), Decimal("3.14159265358979323846264338327950288419716939937510582")
    series = sum(
        Decimal(b.numerator) / (b.denominator * 2 * k * (2 * k - 1)) / x ** (2 * k - 1)
        for k, b in enumerate(BERNOULLI, 1)
    )
    return x * x.ln() - x + (2 * pi * x).ln() / 2 + series


def summed_tail(hits: int, n: int, p: float) -> float:
    """Return P[Binomial(n, p) >= hits], summed term by term with 60 digits; for hits above the mean."""
    with localcontext() as context:
        context.prec = 60
        q = Decimal(p)
        logs = log_factorial(n) - log_factorial(hits) - log_factorial(n - hits)
        term = (logs + hits * q.ln() + (n - hits) * (1 - q).ln()).exp()
        total, k = Decimal(0), hits
        while k <= n and term >= total * Decimal(10) ** -25:
            total += term
            term *= q / (1 - q) * (n - k) / (k + 1)
            k += 1
        return float(total)


@pytest.mark.parametrize("error", ["0.25", "0.01", "1e-6", "1e-30"])
@pytest.mark.parametrize("n", [1, 2, 7, 20, pytest.param(60, marks=pytest.mark.nightly)])
def test_the_bounds_keep_the_error_exactly(n, error):
    for hits in range(n + 1):
        low, high = success_bounds(hits, n, error)
        assert 0 <= low < high <= 1
        assert hits == 0 or exact_tail(hits, n, Fraction(low)) <= Fraction(error)
        assert hits == n or exact_tail(n - hits, n, 1 - Fraction(high)) <= Fraction(error)


@pytest.mark.parametrize(
    "n", [1000, 8_000_000, *[pytest.param(n, marks=pytest.mark.nightly) for n in (800_000, 10**9)]]
)
@pytest.mark.parametrize("share", [Fraction(1, 10**4), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("error", [1.25e-7, 0.01, 1e-30])
def test_many_trials_keep_the_error_and_betainc_errs_by_less_than_a_part_in_ten_million(n, share, error):
    hits = max(1, int(n * share))
    low, high = success_bounds(hits, n, error)
    tail = summed_tail(hits, n, low)
    assert (1 - 1e-5) * error < tail < error
    assert betainc(hits, n - hits + 1, low) == pytest.approx(tail, rel=1e-7, abs=0)
    assert summed_tail(n - hits, n, 1 - high) < error


def test_a_root_that_does_not_check_gives_no_bound(monkeypatch):
    monkeypatch.setattr("dplearn.kernels.confidence_bounds.betaincinv", lambda *_: 0.5)
    assert success_bounds(3, 10, "0.01") == (0, 1)
    assert (success_bounds(0, 50, "0.01")[0], success_bounds(50, 50, "0.01")[1]) == (0, 1)  # needs none


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 10), (10, 10), (20, 1000), (999, 1000)])
@pytest.mark.parametrize("error", [0.2, 1e-3, 1e-9])
def test_a_mean_beyond_a_bound_is_as_rare_as_it_says(hits, n, error):
    low, high = confidence_bounds.mean_bounds(hits / n, n, error)
    assert 0 <= low <= hits / n <= high <= 1
    assert binom.sf(hits - 1, n, low) <= error or low == 0
    assert binom.cdf(hits, n, high) <= error or high == 1
    low, high = confidence_bounds.mean_bounds(0.01, 10_000, 0.025)  # nearer than Hoeffding's simple ones
    assert max(high - 0.01, 0.01 - low) < math.sqrt(math.log(40) / 20_000) / 3
    assert (confidence_bounds.mean_bounds(-1, 10, 0.1)[0], confidence_bounds.mean_bounds(2, 10, 0.1)[1]) == (
        0,
        1,
    )


FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
TABLES = st.tuples(st.integers(0, 6), st.integers(0, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=FLOATS)
)


@given(TABLES, st.sampled_from([1, 2, 1024, 1 << 20]), st.sampled_from([1, 2]), st.booleans())
def test_no_row_is_longer_than_its_reach(rows, reach, order, intercept):
    scaled = unit_rows(rows, reach, order=order, intercept=intercept)
    assert scaled.shape == (len(rows), rows.shape[1] + intercept)
    for row in scaled.tolist():
        whole = [int(value) for value in row]
        assert whole == row
        assert sum(abs(value) ** order for value in whole) <= reach**order


@given(TABLES, st.sampled_from([1, 2]))
def test_a_row_depends_on_itself_alone(rows, order):
    together = unit_rows(rows, 1024, order=order, intercept=True)
    for place in range(len(rows)):
        alone = unit_rows(rows[place : place + 1], 1024, order=order, intercept=True)
        assert np.array_equal(together[place : place + 1], alone)


@pytest.mark.parametrize("order", [1, 2])
def test_directions_are_kept_and_lengths_are_not(order):
    rows = np.random.default_rng(0).normal(size=(200, 7))
    scaled = unit_rows(rows, 1 << 20, order=order)
    lengths = np.linalg.norm(rows, ord=order, axis=1, keepdims=True)
    assert np.abs(scaled / (1 << 20) - rows / lengths).max() < 2.0**-19
    assert np.array_equal(unit_rows(rows * 2.0**-900, 1 << 20, order=order), scaled)


def test_rows_with_a_whole_direction_are_as_long_as_they_may_be():
    rows = np.array([[1.0, 1, 1, 1], [0, 0, -7, 0], [3, 4, 0, 0]])
    assert np.linalg.norm(unit_rows(rows, 1000), axis=1).tolist() == [1000, 1000, 1000]
    odd = np.array([[np.nan, 2.0], [np.inf, -np.inf], [0.0, 0.0]])  # what is no number counts as 0
    assert unit_rows(odd, 8).tolist() == [[0, 8], [0, 0], [0, 0]]
    rows, image = np.array([[3, 0], [0, 2]], dtype=np.int16), np.array([[1.0, 2.0, 2.0], [0.0, 5.0, 0.0]])
    assert unit_rows(rows, 9, image=image).tolist() == [[3, 6, 6], [0, 9, 0]]  # multiplied before
    for reach, dtype in ((1, np.int16), (2**15 - 1, np.int16), (2**15, np.int32)):
        few = unit_rows(np.array([[7.0, 0.0]]), reach)
        assert (few.dtype, few.tolist()) == (dtype, [[reach, 0]])


def test_sparse_and_narrow_rows_are_the_same_rows():
    rows = np.random.default_rng(1).integers(-3, 4, (50, 6))
    dense = unit_rows(rows.astype(float), 1024, intercept=True)
    assert np.array_equal(unit_rows(csr_matrix(rows), 1024, intercept=True), dense)
    assert np.array_equal(unit_rows(rows.astype(np.float16), 1024, intercept=True), dense)


def test_rows_are_scaled_in_blocks_alike(monkeypatch):
    rows = np.random.default_rng(2).normal(size=(30, 4))
    whole = unit_rows(rows, 1024)
    monkeypatch.setattr(module, "FEWEST", 7)
    monkeypatch.setattr(module, "MOST", 7)
    assert np.array_equal(unit_rows(rows, 1024), whole)


def test_a_row_that_is_too_long_all_the_same_counts_as_zeros(monkeypatch):
    monkeypatch.setattr(np, "trunc", np.ceil)
    assert unit_rows(np.array([[1.0, 1.0], [1.0, 0.0]]), 10).tolist() == [[0, 0], [10, 0]]


@repeatable
@given(rows=st.lists(st.tuples(*[st.integers(-6, 6)] * 3), min_size=1, max_size=9), norm=st.integers(1, 9))
def test_short_rows_stay_and_long_rows_are_zeros(rows, norm):
    kept = module.kept_short(np.array(rows), 3, norm)
    for row, shown in zip(rows, kept.tolist(), strict=True):
        assert shown == (list(row) if sum(v * v for v in row) <= norm**2 else [0, 0, 0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_no_integer_is_so_large_that_its_square_passes_for_a_small_one(dtype):
    ends = np.iinfo(dtype)
    rows = np.array([[ends.max, 0], [ends.min, ends.max], [3, 4]], dtype=dtype)
    assert module.kept_short(rows, 2, 5).tolist() == [[0, 0], [0, 0], [3, 4]]


def test_the_greatest_norm_is_kept_exactly():
    norm = 1 << 30
    wide = np.zeros((2, 8), dtype=np.int64)
    wide[0, 0], wide[1, :2] = norm, (norm, 1)  # the second is longer by one part in 2**61
    assert module.kept_short(wide, 8, norm)[:, 0].tolist() == [norm, 0]
    rows = np.random.default_rng(0).integers(-3, 4, (10_000, 2))  # in several blocks
    alone = np.vstack([module.kept_short(rows[i : i + 1], 2, 3) for i in range(0, 10_000, 97)])
    assert (module.kept_short(rows, 2, 3)[::97] == alone).all()


def test_each_row_is_in_one_block_and_blocks_hold_few_numbers_unless_rows_are_long():
    for n, width in product([0, 1, 1024, 1025, 30_000], [0, 1, 20, 100_000]):
        places = [place for block in row_blocks(n, width) for place in range(block.start, block.stop)]
        assert places == list(range(n))
    assert all(20 * (block.stop - block.start) <= 1 << 16 for block in row_blocks(10_000, 20))
    assert [block.stop - block.start for block in row_blocks(2048, 1 << 18)] == [1024, 1024]
    rows = np.full((3000, 2), 1 << 10, dtype=np.int16)  # of floats, whose products are exact
    assert sum(block.T @ block for _, block in float_blocks(rows)).tolist() == [[3000 << 20] * 2] * 2
