"""Newton steps with noisy gradients, and with an estimate of the curvature that is corrected on the way.

A step adds to the weights a noisy gradient, of minus the loss, times the inverse of an estimate of the
curvature, the second derivatives of the loss. The estimate comes from synthetic records, and can be too small
in some direction: then steps pass the minimum, and may diverge. But two gradients, one before and one after a
step, show the true curvature along this step. If they show, beyond what noise explains, that the step has
passed the minimum, the estimate is corrected along the step (a rank-one secant update). If they show a
smaller curvature than expected, steps are not made longer, because clipped residuals have the same effect.
All of this is post-processing of noisy gradients.

>>> import numpy as np
>>> true, estimate = np.diag([100.0, 1.0]), np.eye(2)
>>> step = np.array([[1.0], [0.0]])
>>> correction = secant([estimate], step, true @ step, rate=0.5, bias=0.0, variance=0.0)
>>> correction.ratio, correction.applied([estimate])[0].tolist()
(16.0, [[16.0, 0.0], [0.0, 1.0]])
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.additive_losses import Base
from dplearn.learners.additive_margins import margins_of_rows
from dplearn.learners.additive_outputs import outputs_query, slices_of
from dplearn.learners.additive_plan import AdditivePlan
from dplearn.learners.additive_queries import Block, Rows
from dplearn.learners.additive_shapes import ask_residuals
from dplearn.queries import Oracle

__all__ = ["Path", "Secant", "Start", "newton_steps", "secant"]

Floats64 = NDArray[np.float64]

_MOST = 16.0  # the greatest ratio of curvatures in one correction
_SURE = 3.0  # standard deviations of noise that are subtracted from a ratio
_WARM = 0.25  # the share of the steps that are left out of the measurement, the first ones
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Secant:
    """A correction of curvatures along one step.

    Attributes
    ----------
    ratio : float
        Released. The curvature along the step that the gradients show beyond noise, divided by the estimate
        of it; 1 unless they show that the step has passed the minimum.
    images : list of ndarray of shape (size,)
        Released. For each margin, the estimated curvature times the step.
    squares : list of float
        Released. For each margin, the inner product of the step and its image.
    """

    ratio: float
    images: list[Floats64]
    squares: list[float]

    @property
    def scales(self) -> list[float]:
        """The number that multiplies the outer product of each image."""
        return [(self.ratio - 1) / square if square > _TINY else 0.0 for square in self.squares]

    def applied(self, curvatures: Sequence[Floats64]) -> list[Floats64]:
        """Return the curvatures after this correction; those that were positive definite remain so."""
        if self.ratio == 1:
            return list(curvatures)
        terms = zip(curvatures, self.images, self.scales, strict=True)
        return [each + scale * np.outer(image, image) for each, image, scale in terms]

    def inverted(self, inverses: Sequence[Floats64]) -> list[Floats64]:
        """Return the inverses of matrices after the correction that `applied` adds, given those before it."""
        if self.ratio == 1:
            return list(inverses)
        found = []
        for inverse, image, scale in zip(inverses, self.images, self.scales, strict=True):
            moved = inverse @ image
            found.append(inverse - np.outer(moved, image @ inverse) * (scale / (1 + scale * (image @ moved))))
        return found


def secant(
    curvatures: Sequence[Floats64],
    step: Floats64,
    change: Floats64,
    *,
    rate: float,
    bias: float,
    variance: float,
) -> Secant:
    """Return the correction of curvatures along a step, given how the step changed the gradient.

    Parameters
    ----------
    curvatures : sequence of ndarray of shape (size, size)
        Released. An estimate of the second derivatives for each margin.
    step : ndarray of shape (size, k)
        Released. By how much the weights of each margin moved.
    change : ndarray of shape (size, k)
        Released. The noisy gradient before the step minus that after it.
    rate : float
        The size of a step, as a share of the full Newton step. A step has passed the minimum if the ratio of
        the true curvature to the estimated one is above 1 / rate.
    bias : float
        The expectation of the inner product of step and change if there were no curvature. It is not 0,
        because the step follows the noise of the gradient before it.
    variance : float
        The variance of the noise in each number of `change`.
    """
    images = [curvature @ each for curvature, each in zip(curvatures, step.T, strict=True)]
    squares = [float(each @ image) for each, image in zip(step.T, images, strict=True)]
    expected = sum(squares)
    if expected <= _TINY:
        return Secant(1.0, images, squares)
    seen = (float((step * change).sum()) - bias) / expected
    noise = math.sqrt(variance * float((step**2).sum())) / expected
    ratio = min(seen - _SURE * noise, _MOST)
    return Secant(ratio if ratio * rate > 1 else 1.0, images, squares)


@dataclass(frozen=True, eq=False)
class Path:
    """The steps that were taken.

    Attributes
    ----------
    points : list of ndarray of shape (size, k)
        Released. The weights before each step.
    gradients : list of ndarray of shape (size, k)
        Released. The noisy gradient at each of these points.
    biases : list of float
        Released. As for `secant`, for each step.
    rate : float
        As for `secant`.
    variance : float
        The variance of the noise in each number of a gradient.
    """

    points: list[Floats64]
    gradients: list[Floats64]
    biases: list[float]
    rate: float
    variance: float

    def secant(self, curvatures: Sequence[Floats64], last: int) -> Secant:
        """Return the correction of curvatures along the step to the point of index `last`."""
        step = self.points[last] - self.points[last - 1]
        change = self.gradients[last - 1] - self.gradients[last]
        bias, variance = self.biases[last - 1], 2 * self.variance
        return secant(curvatures, step, change, rate=self.rate, bias=bias, variance=variance)

    def learned(self, curvatures: Sequence[Floats64]) -> list[Floats64]:
        """Return curvatures with the corrections along all steps."""
        found = list(curvatures)
        for last in range(1, len(self.points)):
            found = self.secant(found, last).applied(found)
        return found

    def measured(self, curvatures: Sequence[Floats64]) -> tuple[Floats64, float]:
        """Return the mean of gradient plus curvature times weights, and the variance of its noise.

        The mean is over all steps but the first quarter. If the loss is quadratic and has these curvatures,
        it is, but for noise, the curvature times the weights at the minimum.
        """
        first = int(_WARM * len(self.points))
        counted = len(self.points) - first
        total = np.sum(self.gradients[first:], axis=0)
        weights = np.sum(self.points[first:], axis=0)
        moved = np.stack([h @ w for h, w in zip(curvatures, weights.T, strict=True)], axis=1)
        return (total + moved) / counted, self.variance / counted


@dataclass(frozen=True, eq=False)
class Start:
    """The steps of one output before the first one.

    Attributes
    ----------
    base : Base
        Released. The distribution of the targets.
    rows : Rows
        Released. The features of records.
    weights : ndarray of shape (size, k)
        Released. The first weights, which are the means of the prior.
    priors : ndarray of shape (size,)
        Released. Prior variances of the weights.
    curvatures : sequence of ndarray of shape (size, size)
        Released. For each margin, a positive definite estimate of the second derivatives.
    """

    base: Base
    rows: Rows
    weights: Floats64
    priors: Floats64
    curvatures: Sequence[Floats64]


def newton_steps(oracle: Oracle, plan: AdditivePlan, base: Base, starts: Sequence[Start]) -> list[Path]:
    """Take all steps, those of all outputs together, and return the path of each output.

    Let P be the prior variances and H the curvature. Let u be the variance of the noise in one gradient, and
    v that in the mean of all gradients. A step moves the weights by the rate times
    (H + (1 + (v + c u) / H) / P)^-1 (gradient - (1 + v / H) / P (weights - start)), where to divide by H or P
    is to multiply by the inverse matrix. The caution c keeps the noise of single steps out of the weights:
    without it, noise would make residuals so large that they are clipped, and the true curvature would be
    less than H.

    Parameters
    ----------
    oracle : Oracle
        An oracle over `LabelledRows`, whose X holds the cells of the columns.
    plan : AdditivePlan
        The plan of the fit.
    base : Base
        Released. The distribution of the targets of all outputs.
    starts : sequence of Start
        Released. One for each output.
    """
    paths = [_Steps(plan, start) for start in starts]
    for _ in range(plan.n_steps):
        for path, (mean, noise) in zip(paths, _ask_gradients(oracle, plan, base, paths), strict=True):
            path.move(mean, noise)
    return [path.path for path in paths]


class _Steps:
    """The steps of one output so far, and its weights."""

    def __init__(self, plan: AdditivePlan, start: Start):
        self._plan, self._start = plan, start
        self.weights, self.rows = start.weights, start.rows
        self._curvatures = start.curvatures
        self.path = Path([], [], [], plan.rate, 0.0)
        self._inverses: list[Floats64] = []
        self._ridges: list[Floats64] = []

    def move(self, mean: Floats64, noise: float) -> None:
        """Move the weights, given the mean gradient and the variance of its noise."""
        plan, start, n = self._plan, self._start, self._plan.public.n_samples
        variance, step = noise * n**2, len(self.path.points)
        self.path.points.append(self.weights)
        self.path.gradients.append(mean * n)
        self.path = replace(self.path, variance=variance)
        if step:
            correction = self.path.secant(self._curvatures, step)
            self._curvatures = correction.applied(self._curvatures)
            self._inverses = correction.inverted(self._inverses)
        else:
            for each in self._curvatures:
                noise_ridge = variance * np.linalg.inv(each) / start.priors
                ridge = np.diag(1 / start.priors) + noise_ridge / plan.n_steps
                self._ridges.append(ridge)
                self._inverses.append(np.linalg.inv(each + ridge + start.base.loss.caution * noise_ridge))
        apart = (self.weights - start.weights).T
        pulled = [ridge @ each for ridge, each in zip(self._ridges, apart, strict=True)]
        beyond = self.path.gradients[-1] - np.stack(pulled, axis=1)
        moved = [inverse @ each for inverse, each in zip(self._inverses, beyond.T, strict=True)]
        self.weights = self.weights + plan.rate * np.stack(moved, axis=1)
        traces = sum(float(inverse.trace()) for inverse in self._inverses)
        self.path.biases.append(plan.rate * variance * traces)


def _ask_gradients(
    oracle: Oracle, plan: AdditivePlan, base: Base, paths: Sequence[_Steps]
) -> list[tuple[Floats64, float]]:
    """Return the noisy mean gradient of each output, of shape (size, k), and the variance of its noise."""
    margins = [margins_of_rows(path.rows, path.weights) for path in paths]
    if len(paths) == 1:
        rows, own = paths[0].rows, margins[0]

        def residuals_of(block: Block) -> NDArray[np.int64]:
            return base.loss.residuals(own(block), block.y)

        return [ask_residuals(oracle, plan, rows, residuals_of, base.loss.reach, plan.step_share)]

    def residuals(blocks: Sequence[Block]) -> NDArray[np.int64]:
        found = [each(block) for each, block in zip(margins, blocks, strict=True)]
        return base.loss.residuals(np.concatenate(found, axis=1), blocks[0].y)

    rows_of = [path.rows for path in paths]
    sizes = [path.weights.shape[1] for path in paths]
    query = outputs_query(rows_of, residuals, sizes, reach=base.loss.reach, bits=plan.bits.factors)
    answer = oracle.ask(query, plan.step_share)[0]
    ends = slices_of([rows.size * size for rows, size in zip(rows_of, sizes, strict=True)])
    return [
        (answer.means[here].reshape(rows.size, size) * rows.width, answer.noise_variance * rows.width**2)
        for here, rows, size in zip(ends, rows_of, sizes, strict=True)
    ]
