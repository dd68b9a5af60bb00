"""The losses of several labels, and the query for the sums of all of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.kernels.rows import norm_powers
from dplearn.learners.additive.losses import RESIDUAL_BITS, LogisticLoss, OutputsLoss, SoftmaxLoss
from dplearn.learners.additive.queries import Rows, outputs_query, residual_query, slices_of
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows

HALF = LogisticLoss(Fraction(1, 2))
MIXED = [HALF, SoftmaxLoss(3), LogisticLoss(Fraction(1))]


def drawn(n=500, seed=0):
    rng = np.random.default_rng(seed)
    margins = rng.integers(-3 << 12, 3 << 12, (n, 5))
    return margins, np.stack([rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 2, n)], axis=1)


def test_residuals_and_targets_are_those_of_each_label_unless_they_are_shortened():
    margins, y = drawn()
    loss = OutputsLoss(MIXED)
    assert loss.n_outputs == 5
    assert loss.reach == math.ceil(math.hypot(2048, 4096, 4096))
    for part, here, codes in zip(MIXED, slices_of([1, 3, 1]), y.T, strict=True):
        own = part.residuals(margins[:, here], codes)
        assert (loss.residuals(margins, y)[:, here] == own).all()
        assert (loss.targets(y)[:, here] == part.targets(codes)).all()


@pytest.mark.parametrize("reach", [1, 777, 3000])
def test_long_residuals_are_shortened_together_to_the_reach(reach):
    margins, y = drawn()
    whole, short = OutputsLoss(MIXED), OutputsLoss(MIXED, reach=reach, target_reach=reach)
    for before, after in (
        (whole.residuals(margins, y), short.residuals(margins, y)),
        (whole.targets(y), short.targets(y)),
    ):
        assert norm_powers(after, 2).max() <= reach**2
        kept = norm_powers(before, 2) <= (0.99 * reach) ** 2
        assert (np.abs(after - before)[kept] <= np.abs(before)[kept] / 512 + 1).all()
        assert (np.sign(after) * np.sign(before) >= 0).all()


def test_norms_of_order_1_are_not_shortened():
    loss = OutputsLoss([HALF, HALF], order=1)
    assert loss.reach == 4096
    base = loss.base([answered(part) for part in loss.outputs])
    assert base.loss.reach == 4096


def answered(part, shares=(0.5, 0.5)):
    codes = np.repeat([0, 1], [round(1000 * share) for share in shares])
    oracle = CentralOracle(
        LabelledRows(np.zeros((1000, 1)), codes), privacy=ApproxDP(1000), dice=SeededDice(0)
    )
    return oracle.ask(part.base_queries())[0]


def test_the_norm_of_many_rare_labels_is_far_below_that_of_the_greatest_residuals():
    rare = answered(HALF, (0.95, 0.05))
    base = OutputsLoss([HALF] * 25).base([rare] * 25)
    assert base.loss.reach < 0.35 * 2048 * 5
    assert base.loss.target_reach < 0.3 * (1 << RESIDUAL_BITS) * 5
    assert [each.margins.tolist() for each in base.outputs] == [HALF.base([rare]).margins.tolist()] * 25
    assert base.margins.shape == base.variance.shape == (25,)


def test_the_base_of_each_label_is_that_of_its_histogram():
    rng = np.random.default_rng(0)
    y = (rng.random((20_000, 3)) < [0.1, 0.5, 0.8]).astype(np.int64)
    records = LabelledRows(np.zeros((20_000, 1)), y)
    oracle = CentralOracle(records, privacy=ApproxDP(10), dice=SeededDice(0))
    base = OutputsLoss([HALF] * 3).ask_base(oracle, Fraction(1, 2))
    shares = 1 / (1 + np.exp(-base.margins))
    assert shares == pytest.approx([0.1, 0.5, 0.8], abs=0.02)
    assert [float(each.margins[0]) for each in base.outputs] == base.margins.tolist()
    assert oracle.left == Fraction(1, 2)


def made_rows(seed, order=2, d=2):
    rng = np.random.default_rng(seed)
    tables = [rng.normal(size=(4, 1 + seed % 2)) for _ in range(d)]
    return Rows.of(tables, constant=0.5, length=1.0, bits=6, order=order)


def query_of(order=2, reach=None, parts=(HALF, HALF, HALF)):
    loss = OutputsLoss(list(parts), order, reach=reach)
    rows = [made_rows(seed, order) for seed in range(len(parts))]

    def residuals(blocks):
        margins = np.stack([block.X.sum(axis=1) * (1 << 10) for block in blocks], axis=1)
        return loss.residuals(margins.astype(np.int64), blocks[0].y)

    return outputs_query(rows, residuals, [1] * len(parts), reach=loss.reach, bits=11), rows


@pytest.mark.parametrize(("order", "reach"), [(2, None), (2, 1500), (1, None)])
def test_totals_are_sums_of_values_that_keep_the_norm(order, reach):
    query, rows = query_of(order, reach)
    rng = np.random.default_rng(0)
    records = LabelledRows(rng.integers(0, 4, (40_000, 2)).astype(np.int16), rng.integers(0, 2, (40_000, 3)))
    values = query.values(records)
    assert values.shape == (40_000, sum(each.size for each in rows))
    assert (query.total(records) == values.sum(axis=0)).all()
    norms = norm_powers(values, order)
    assert norms.max() <= query.norm**order
    assert norms.max() > (0.9 * query.norm) ** order
    if order == 1:
        assert query.l1 == 2 * query.norm


def test_the_sums_of_one_label_are_those_of_its_own_query_but_for_rounding():
    query, rows = query_of(parts=(HALF,))
    rng = np.random.default_rng(0)
    records = LabelledRows(rng.integers(0, 4, (1000, 2)).astype(np.int16), rng.integers(0, 2, (1000, 1)))
    one = residual_query(
        rows[0],
        lambda block: HALF.residuals(
            (block.X.sum(axis=1) * (1 << 10)).astype(np.int64)[:, None], block.y[:, 0]
        ),
        n_outputs=1,
        reach=HALF.reach,
        bits=11,
    )
    assert query.norm == one.norm
    longest = max(rows[0].constant, *(np.abs(table).max() for table in rows[0].tables))
    assert np.abs(query.values(records) - one.values(records)).max() <= longest  # one step of the factor


def test_places_are_consecutive():
    assert slices_of([2, 0, 1]) == [slice(0, 2), slice(2, 2), slice(2, 3)]
