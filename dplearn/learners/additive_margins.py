"""The margins of records under released effects and weights, as sums of integers."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.additive_cells import grouped
from dplearn.learners.additive_losses import MARGIN_BITS
from dplearn.learners.additive_queries import Block, Rows

__all__ = ["margins_of", "margins_of_rows"]

Floats64 = NDArray[np.float64]
Integers = NDArray[np.int64]

_GREATEST = 1e6  # margins beyond are clipped
_SMALL = 1 << 30  # below it, sums and their differences fit 32 bits
_FINER = 8  # bits of the weight of a joint feature beyond those of a margin
_HEAVIEST = 1 << 28  # the greatest such weight: sums over at most 2**9 features are exact in floats


def margins_of(
    effects: Sequence[Floats64], intercept: Floats64, joint: Floats64 | None = None
) -> Callable[[Block], Integers]:
    """Return the margins of records, as sums of integers."""
    first, bundles = _whole(intercept), grouped([len(each) for each in effects])
    tables = bundles.added([_whole(each) for each in effects])
    if sum(int(np.abs(each).max()) for each in [first, *tables]) < _SMALL:
        first, tables = first.astype(np.int32), [each.astype(np.int32) for each in tables]
    finer = 2.0 ** (MARGIN_BITS + _FINER)
    heavy = None if joint is None else np.rint(joint * finer).clip(-_HEAVIEST, _HEAVIEST)

    def margins(block: Block) -> Integers:
        total = np.full((len(block), len(first)), first, dtype=first.dtype)
        for table, codes in zip(tables, block.codes(bundles), strict=True):
            total += table.take(codes, axis=0, mode="clip")  # codes are in range; this mode is faster
        if heavy is not None and len(heavy):
            more = np.empty(total.shape, dtype=np.int64)
            for here, floats in block.joint_floats():
                more[here] = (floats @ heavy).astype(np.int64) >> _FINER
            total = total + more
        return total

    return margins


def margins_of_rows(rows: Rows, weights: Floats64) -> Callable[[Block], Integers]:
    """Return the margins of records, given weights of features."""
    tables = zip(rows.tables, rows.slices, strict=True)
    effects = [(table * rows.unit) @ weights[here] for table, here in tables]
    return margins_of(effects, weights[-1] * rows.constant * rows.unit, weights[rows.joint_slice] * rows.unit)


def _whole(values: Floats64) -> Integers:
    return np.rint(values.clip(-_GREATEST, _GREATEST) * 2.0**MARGIN_BITS).astype(np.int64)
