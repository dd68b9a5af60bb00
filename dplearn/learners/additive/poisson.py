"""Poisson regression of counts: a margin is the logarithm of the expected count.

Residuals are count minus expected count, in clipped integers; the expected count is looked up by the margin.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.additive.losses import (
    MARGIN_BITS,
    RESIDUAL_BITS,
    UNCLIPPED,
    Base,
    Floats64,
    Integers,
    NumberLoss,
    Units,
    in_scales,
)
from dplearn.queries import Answer
from dplearn.table.targets import CLOSEST, STEPS, TargetRange

_COARSER = 4  # a count is looked up in steps of 2**(_COARSER - MARGIN_BITS) of the margin
_LAST = 16 << (MARGIN_BITS - _COARSER)  # of these steps, on both sides of 0
_MOST = 1 << 40  # the greatest expected count, in units of a residual
_LEAST_MEAN = 1e-3  # as a share of half the range of counts


class PoissonLoss(NumberLoss):
    """The Poisson loss of a count; `mean` is the expected count of a margin of 0, in steps of a target."""

    name = "poisson"
    deviations, width = 3.0, 3.0  # counts are skew
    shrinks = True

    def __init__(self, mean: int = STEPS, scale: int = STEPS, bits: int = 10):
        super().__init__(scale, bits)
        self.mean = mean
        margins = (np.arange(-_LAST, _LAST + 1) + 0.5) * 2.0 ** (_COARSER - MARGIN_BITS)
        counts = (1 << RESIDUAL_BITS) * (mean / scale) * np.exp(margins)
        self._counts = np.rint(counts.clip(0, _MOST)).astype(np.int64)

    @classmethod
    def ranged(cls, target: TargetRange) -> TargetRange:
        """Return the range from 0: an end that is not 0 is refused, but where targets are clipped."""
        if not target.clip and target.low != 0:
            raise ValueError(
                "target_range must be a pair (0, high) for loss='poisson', which is of counts, got"
                f" ({target.low:g}, {target.high:g}); with clip_target=True smaller targets count as 0"
            )
        return TargetRange(0.0, target.high if target.high >= CLOSEST else 1.0, target.clip)

    def base(self, answers: Sequence[Answer]) -> Base:
        [answer] = answers
        noise = math.sqrt(answer.noise_variance)
        middle = float(answer.means[0].clip(-1.0, 1.0))
        mean = min(max(1 + middle, noise, _LEAST_MEAN), 2.0)
        square = float(answer.means[1]) - middle**2 + noise  # too wide a spread clips less
        spread, scale = self._spread_and_scale(square, noise)
        return type(self)(round(mean * STEPS), scale)._base(spread)

    def narrowed(self, base: Base, spread: float, product: float) -> tuple[Base, float]:  # noqa: ARG002
        """Return the base in the unit of the spread of residuals; margins remain as they are."""
        scale = self._narrow_scale(spread)
        return type(self)(self.mean, scale)._base(spread * self.scale / scale), 1.0

    def _base(self, spread: float) -> Base:
        one = np.ones(1)
        curvature = self.mean / self.scale * one
        return Base(self, 0 * one, curvature, spread**2 * one, UNCLIPPED * curvature, 0 * one)

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        expected = self._counts[(margins >> _COARSER).clip(-_LAST, _LAST) + _LAST]
        apart = in_scales(y, -STEPS, self.scale)[:, None] - expected
        return np.asarray(apart.clip(-self.reach, self.reach))

    def units(self, target: TargetRange) -> Units:
        return Units(1.0, math.log(target.half * self.mean / STEPS), target.half * self.scale / STEPS)

    @staticmethod
    def predicted(sums: Floats64) -> Floats64:
        return np.asarray(np.exp(sums))
