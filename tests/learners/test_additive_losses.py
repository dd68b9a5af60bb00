"""Residuals of additive models are exact, of bounded norm, and minus the derivatives of the losses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax

from dplearn.learners.additive.losses import (
    MARGIN_BITS,
    RESIDUAL_BITS,
    LogisticLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from dplearn.queries import Answer, LabelledRows
from dplearn.queries.answer import TailBound
from dplearn.table.targets import STEPS

ONE = 1 << RESIDUAL_BITS


def answer(*means, deviation=0.0):
    return Answer(np.array(means), 1000, TailBound(root=math.sqrt(2) * deviation), TailBound())


def wide_margins(k, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    scales = np.exp2(rng.uniform(0, 45, (n, 1)))
    return np.rint(rng.normal(0, 1, (n, k)) * scales).astype(np.int64)


RARE = np.array([0.9, 0.08, 0.02])
#: Made in the tests: with 5000 labels that takes a while.
LOSSES = {
    "logistic, clipped": (lambda: LogisticLoss(Fraction(1, 2)), 2, 2),
    "logistic": (lambda: LogisticLoss(Fraction(1)), 2, 2),
    "a rare label": (lambda: LogisticLoss(Fraction(1, 2), 0.97), 2, 2),
    "three labels": (lambda: SoftmaxLoss(3), 3, 2),
    "three labels, two rare": (lambda: SoftmaxLoss(3, shares=RARE), 3, 2),
    "three labels, two rare, L1": (lambda: SoftmaxLoss(3, order=1, shares=RARE), 3, 1),
    "three labels, L1": (lambda: SoftmaxLoss(3, order=1), 3, 1),
    "fifty labels": (lambda: SoftmaxLoss(50), 50, 2),
    "fifty labels, L1": (lambda: SoftmaxLoss(50, order=1), 50, 1),
    "5000 labels": (lambda: SoftmaxLoss(5000), 5000, 2),
    "squared": (lambda: SquaredLoss(centre=-2000, scale=7), 0, 2),
    "squared, wide": (lambda: SquaredLoss(scale=STEPS), 0, 1),
}


@pytest.mark.parametrize("name", LOSSES)
def test_no_residual_and_no_target_is_longer_than_its_reach(name):
    make, k, order = LOSSES[name]
    loss = make()
    margins = wide_margins(loss.n_outputs, n=60 if k > 1000 else 3000)
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, len(margins)) if k else rng.integers(-STEPS, STEPS + 1, len(margins))
    for found, reach in ((loss.residuals(margins, y), loss.reach), (loss.targets(y), loss.target_reach)):
        assert found.dtype == np.int64
        assert found.shape == (len(y), loss.n_outputs)
        lengths = (np.abs(found.astype(object)) ** order).sum(axis=1)
        assert max(lengths) <= reach**order
        assert max(lengths) > (0.9 * reach) ** order
    assert loss.target_reach <= loss.most_target_reach


@pytest.mark.parametrize(
    "shares", [(0.5, 0.5), (0.97, 0.03), (0.998, 0.002), (0.6, 0.3, 0.1), (0.996, 0.002, 0.002)]
)
@pytest.mark.parametrize("order", [1, 2])
def test_targets_of_the_base_have_the_released_mean_near_0(shares, order):
    k = len(shares)
    loss = LogisticLoss(Fraction(1, 2)) if k == 2 else SoftmaxLoss(k, order=order)
    base = loss.base([answer(*shares)])
    y = np.repeat(np.arange(k), np.rint(np.array(shares) * 1000).astype(int))
    means = base.loss.targets(y).mean(axis=0) / ONE
    assert means == pytest.approx(base.targets, abs=2e-4)
    assert np.abs(base.targets).max() <= 1 / ONE
    assert base.loss.target_reach <= loss.most_target_reach == base.loss.most_target_reach
    assert (base.loss.reach, base.loss.clip if k == 2 else 0) == (loss.reach, loss.clip if k == 2 else 0)


@pytest.mark.parametrize("name", LOSSES)
def test_a_residual_depends_on_its_own_record_alone(name):
    make, k, _ = LOSSES[name]
    loss = make()
    margins = wide_margins(loss.n_outputs, n=40)
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, 40) if k else rng.integers(-STEPS, STEPS + 1, 40)
    together = loss.residuals(margins, y)
    alone = [loss.residuals(margins[place : place + 1], y[place : place + 1])[0] for place in range(40)]
    assert (together == np.array(alone)).all()
    assert (loss.residuals(np.asfortranarray(margins[::-1]), y[::-1])[::-1] == together).all()


def test_residuals_of_two_labels_are_label_minus_probability():
    margins = np.linspace(-12, 12, 401)
    found = LogisticLoss(Fraction(1)).residuals(
        np.rint(margins * 2**MARGIN_BITS).astype(np.int64)[:, None], np.ones(401, dtype=np.int64)
    )
    assert found[:, 0] / ONE == pytest.approx(1 - expit(margins), abs=2e-3)
    clipped = LogisticLoss(Fraction(1, 2)).residuals(
        np.array([[-9 << MARGIN_BITS], [9 << MARGIN_BITS]]), np.array([1, 0])
    )
    assert clipped.tolist() == [[ONE // 2], [-ONE // 2]]


def test_residuals_of_several_labels_are_indicator_minus_probabilities():
    rng = np.random.default_rng(0)
    margins = rng.normal(0, 2, (200, 4))
    y = rng.integers(0, 4, 200)
    whole = np.rint(margins * 2**MARGIN_BITS).astype(np.int64)
    expected = np.eye(4)[y] - softmax(margins, axis=1)
    found = SoftmaxLoss(4, order=1).residuals(whole, y)
    assert found / ONE == pytest.approx(expected, abs=4e-3)
    length = np.linalg.norm(expected, axis=1, keepdims=True)
    shorter = SoftmaxLoss(4).residuals(whole, y)
    assert shorter / ONE == pytest.approx(expected / np.maximum(length, 1), abs=4e-3)


def test_residuals_of_numbers_are_clipped_differences():
    loss = SquaredLoss(centre=1000, scale=2000)
    margins = np.array([[0], [ONE // 2], [0], [0]])
    assert loss.residuals(margins, np.array([2000, 2000, STEPS, -STEPS])).ravel().tolist() == [
        ONE // 2,
        0,
        ONE,
        -ONE,
    ]


@pytest.mark.parametrize("p", [0.1, 0.3, 0.6, 0.95])
def test_probabilities_are_those_that_the_clipped_loss_fits(p):
    loss = LogisticLoss(Fraction(1, 2))

    def mean_loss(margin):
        """The integral of the clipped residuals."""
        grid = np.linspace(0, margin, 2001)
        slope = p * np.minimum(1 - expit(grid), 0.5) - (1 - p) * np.minimum(expit(grid), 0.5)
        return -float(np.trapezoid(slope, grid))

    best = minimize_scalar(mean_loss, bounds=(-9, 9), method="bounded").x
    assert loss.probabilities(np.array([[best]]))[0, 1] == pytest.approx(p, abs=0.01)
    plain = LogisticLoss(Fraction(1)).probabilities(np.array([[np.log(p / (1 - p))]]))
    assert plain[0].tolist() == pytest.approx([1 - p, p])


def test_probabilities_of_all_margins_sum_to_1():
    margins = np.array([[-1e300], [-50.0], [0.0], [50.0], [1e300]])
    for clip in (Fraction(1, 2), Fraction(1)):
        found = LogisticLoss(clip).probabilities(margins)
        assert found.sum(axis=1) == pytest.approx(1)
        assert (np.diff(found[:, 1]) >= 0).all()


def test_the_base_has_the_margins_of_the_released_shares():
    base = LogisticLoss(Fraction(1)).base([answer(0.8, 0.2)])
    assert expit(base.margins) == pytest.approx([0.2])
    assert base.curvature == pytest.approx([0.16])
    three = SoftmaxLoss(3).base([answer(0.5, 0.3, 0.2)])
    assert softmax(three.margins) == pytest.approx([0.5, 0.3, 0.2])


@pytest.mark.parametrize("means", [(0.0, 0.0), (-5.0, 9.0), (1e30, -1e30)])
@pytest.mark.parametrize("deviation", [0.0, 1.0, 1e20])
def test_shares_of_any_answer_have_finite_margins(means, deviation):
    base = LogisticLoss(Fraction(1, 2)).base([answer(*means, deviation=deviation)])
    assert np.isfinite(base.margins).all()
    assert (base.curvature > 0).all()


@pytest.mark.parametrize("means", [(0.0, 0.0), (-5.0, 9.0), (1e30, -1e30), (0.99, 0.0)])
@pytest.mark.parametrize("deviation", [0.0, 1e-3, 1e20])
def test_the_unit_of_any_answer_about_targets_is_finite(means, deviation):
    base = SquaredLoss().base([answer(*means, deviation=deviation)])
    assert 0 < base.unit < np.inf
    assert 1 <= base.loss.scale <= 2 * STEPS
    assert abs(base.loss.centre) <= STEPS
    assert base.loss.narrowed(base, 0.0, 0.0)[0].loss.scale == 1


def test_the_query_for_targets_asks_for_their_means_and_those_of_their_squares():
    [query] = SquaredLoss(bits=8).base_queries()
    y = np.array([STEPS, -STEPS, STEPS // 2, 0])
    records = LabelledRows(np.zeros((4, 1), np.int16), y)
    assert (query.total(records) * float(query.unit)).tolist() == [0.5, 2.25]
