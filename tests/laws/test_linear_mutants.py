"""Deliberate mistakes in linear regression: on two neighbouring tables each moves the released moments
further than the noise is for, or breaks the enumerated claim, and the original does not."""

import math

import numpy as np
import pytest

from dplearn import LinearRegressor
from dplearn.audit.cases.linear_regression import LINEAR_REPLAYS, UNIVERSE
from dplearn.audit.fits import ready
from dplearn.learners.linear import regression
from dplearn.learners.linear.regression import target_moments_query
from dplearn.queries import LabelledRows, VectorQuery
from dplearn.table.targets import STEPS, TargetRange
from tests.changed import with_recipe
from tests.laws.oracle_mistakes import parts_that_the_data_scale

#: Two longer rows; the last number is the target.
LONG = ((100.0, 1.0, 1.0), (1.0, -100.0, -1.0))
#: Two rows as long as can be, whose inner product, targets included, is nearly 0.
ORTHOGONAL = ((1.0, 0.0, 1.0), (0.0, 1.0, -1.0))
#: Two rows of many numbers just above half a step, with opposite signs in half of the columns.
HALVES = ((0.51,) * 40 + (1.0,), (0.51,) * 20 + (-0.51,) * 20 + (-1.0,))


def share_moved(pair, *, made=LinearRegressor, delta=1e-6, bits=6):
    """Return by what share of the bound that noise is scaled to the moments of two tables differ."""
    totals = []
    for rows in pair:
        learner = made(target_range=(-1, 1), epsilon=1.0, delta=delta)
        learner._finest = bits
        table = np.array(rows if isinstance(rows[0], tuple) else [rows])
        fit = ready(learner, table[:, :-1], table[:, -1])
        query = target_moments_query(fit.plan)
        totals.append(query.total(fit.summary).astype(object))
    move = totals[0] - totals[1]
    if fit.plan.order == 1:
        return float(np.abs(move).sum() / query.l1)
    return math.sqrt((move**2).sum() / query.squared_l2)


@pytest.mark.parametrize("case", LINEAR_REPLAYS, ids=lambda case: case.name)
def test_larger_fits_draw_as_the_proof_says(case):
    assert not case.replay(seeds=1)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("pair", [LONG, ORTHOGONAL, HALVES], ids=["long", "orthogonal", "halves"])
@pytest.mark.parametrize("bits", [0, 6])
def test_no_witness_moves_the_moments_further_than_the_noise_is_for(pair, delta, bits):
    assert share_moved(pair, delta=delta, bits=bits) <= 1


def test_noise_for_an_added_record_where_one_is_replaced_is_too_small(monkeypatch):
    assert 0.95 < share_moved(ORTHOGONAL) <= 1
    right = VectorQuery.__init__

    def half(self, *given, **known):
        right(self, *given, **known)
        self.squared_l2 //= 2

    monkeypatch.setattr(VectorQuery, "__init__", half)
    assert share_moved(ORTHOGONAL) > 1.3


def test_half_of_the_l1_sensitivity_is_too_small(monkeypatch):
    pair, known = (UNIVERSE[3], UNIVERSE[4]), {"delta": 0, "bits": 0}
    right = VectorQuery.__init__

    def half(self, *given, **more):
        right(self, *given, **more)
        self.l1 //= 2

    assert share_moved(pair, **known) == pytest.approx(5 / 6)  # the exact epsilon of the enumerated case
    monkeypatch.setattr(VectorQuery, "__init__", half)
    assert share_moved(pair, **known) > 1.6


def test_a_constant_that_is_left_out_of_the_length_moves_them_too_far(monkeypatch):
    right = regression._shortened

    def apart(columns, targets, plan):
        rows = right(columns, targets, plan)
        rows[:, -2], rows[:, -1] = plan.steps, targets
        return rows

    monkeypatch.setattr(regression, "_shortened", apart)
    assert share_moved(LONG) > 1.1


def test_lengths_that_are_taken_before_rounding_move_them_too_far(monkeypatch):
    right = regression.norm_powers

    def before(rows, order):
        return 0.0 * right(rows, order) if (rows == np.rint(rows)).all() else right(rows, order)

    monkeypatch.setattr(regression, "norm_powers", before)
    assert share_moved(HALVES, bits=0) > 1.1


def test_a_target_beyond_its_range_moves_them_too_far(monkeypatch):
    def unbounded(self, numbers):
        return np.rint(numbers * STEPS).astype(np.int64)

    monkeypatch.setattr(TargetRange, "encode", unbounded)
    assert share_moved(((0.5, 0.5, 3.0), (0.5, 0.5, 0.0))) > 1.1


def test_a_range_of_the_target_that_is_taken_from_the_data_moves_them_too_far():
    def of_data(own):
        def encoded(self, X, y, reader):
            target = TargetRange.of((min(y) - 1e-3, max(y) + 1e-3), clip=True)
            return own(self.given(target=target), X, y, reader)

        return encoded

    RangeFromData = with_recipe(LinearRegressor, encoded=of_data)
    many = ((0.2, 0.1, 0.01),) * 30
    pair = ((*many, (0.0, 0.0, 1.0)), (*many, (0.0, 0.0, -1.0)))
    assert share_moved(pair) <= 1
    assert share_moved(pair, made=RangeFromData) > 2


def test_a_length_that_the_longest_row_sets_moves_them_too_far():
    def of_data(own):
        def summarize(self, rows, plan):
            longest = np.abs(rows.X).max()
            return own(self, LabelledRows(rows.X / longest, rows.y), plan)

        return summarize

    LengthFromData = with_recipe(LinearRegressor, summarize=of_data)
    many = ((0.5, 0.5, 1.0),) * 30
    pair = ((*many, (0.5, 0.5, 1.0)), (*many, (50.0, 0.5, 1.0)))
    assert share_moved(pair) <= 1
    assert share_moved(pair, made=LengthFromData) > 2


@pytest.mark.parametrize(
    ("delta", "weight", "pair"), [(1e-6, 7, ORTHOGONAL), (0, 2, ((1e9, 0.0, 0.0), (0.0, 1e9, 0.0)))]
)
def test_one_weight_for_all_products_with_the_norm_for_two_moves_them_too_far(
    monkeypatch, delta, weight, pair
):
    right = regression._weights
    assert share_moved(pair, delta=delta) <= 1
    monkeypatch.setattr(regression, "_weights", lambda plan: np.full_like(right(plan), weight))
    assert share_moved(pair, delta=delta) > 1.01


def test_a_row_that_is_summed_twice_moves_them_too_far():
    def twice(own):
        return lambda self, rows, plan: np.vstack([own(self, rows, plan)] * 2)

    Twice = with_recipe(LinearRegressor, summarize=twice)
    assert share_moved(LONG, made=Twice) > 1.1


def test_noise_that_the_data_scale_breaks_replay(monkeypatch):
    case = LINEAR_REPLAYS[1]
    parts_that_the_data_scale(monkeypatch)
    assert case.with_fit(case.fit).replay(seeds=1)
