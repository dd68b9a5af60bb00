"""The refinement of the first shapes to a model of all columns, by noisy gradient steps.

The first shapes are effects of single columns; where columns are correlated, their sum counts effects twice.
The features of the whole model are, for each column, the first shape and the main directions of its posterior
covariance; and for interactions, smooth functions of all columns. Noisy sums of residual times features are
gradients of the loss. Each step moves the weights by a gradient times the inverse of an estimate of the
second derivatives: the second moments of synthetic records, drawn from the released masses and correlations.
All gradients after the first steps together are a measurement of the weights, with known noise, from which
the posterior mean is the result. The part of the smooth functions of all columns that is a sum of effects of
single columns is then moved to the shapes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.additive_copula import Copula, ask_correlations, ask_pairs, of_output
from dplearn.learners.additive_features import (
    feature_rows,
    features_of,
    joint_basis,
    rows_of_features,
)
from dplearn.learners.additive_joint import JointFeatures
from dplearn.learners.additive_linear import learn_linear
from dplearn.learners.additive_losses import RESIDUAL_BITS, Base, SquaredLoss
from dplearn.learners.additive_margins import margins_of
from dplearn.learners.additive_model import AdditiveModel
from dplearn.learners.additive_newton import Path, Secant, Start, newton_steps
from dplearn.learners.additive_plan import AdditivePlan
from dplearn.learners.additive_posterior import covariance_of_weights, model_of, posterior_weights
from dplearn.learners.additive_queries import Block, Rows
from dplearn.learners.additive_shapes import Shape, across, ask_masses, ask_shapes
from dplearn.queries import HistogramQuery, LabelledRows, Oracle

__all__ = ["learn_additive"]

Floats64 = NDArray[np.float64]
Integers = NDArray[np.int64]

_SYNTHETIC, _CELLS = 6000, 400_000  # the most synthetic records, and the most of their cells
# Added to the second moments, as a share of the squared norm of a row: for the steps, and for the result.
_FLOOR, _LOWER = 0.003, 0.001
_TINY = 1e-9
_UNCLEAR = 0.05  # noise in a share of records from which on the histogram is ignored
# Of a regression, the greatest factor of the prior variances of joint features: with it these explain about
# what is left of the variance of the target. Steps with much noise can look like larger effects.
_MOST_JOINT = 1.0
# Of the prior variances of other features, the least factor; and of a regression that noise dominates.
_LEAST_PRIOR = {False: 0.1, True: 0.03}
# Of a regression, the prior standard deviation of a factor of the weights of all first shapes together: where
# shapes are noise, the steps do not show it of one of them, but of their sum. Where noise dominates, the
# first sums have determined this factor.
_TOGETHER = 0.5
# Of a regression, the result is at most so many times as far from the start as the farthest step was. Beyond,
# only synthetic records show the curvature, and too little of it where noise hides correlations.
_BEYOND_STEPS = 2.0
_WIDTH = 1.5  # the clip of the steps, in root mean squares


def learn_additive(oracle: Oracle, plan: AdditivePlan) -> list[AdditiveModel]:
    """Learn an additive model, or one for each of several outputs.

    Parameters
    ----------
    oracle : Oracle
        For `LabelledRows` with cells in X, and codes of labels or targets in y, of shape (n, n_outputs) if
        there are several outputs. All of its budget is spent.
    plan : AdditivePlan
        The plan of the fit.

    Returns
    -------
    list of AdditiveModel
        One for each output.
    """
    if plan.linear and (logistic := plan.logistic):
        target = plan.shares.target
        shares = plan.loss.ask_base(oracle, target) if target else None
        masses, _ = ask_masses(oracle, plan)
        model = learn_linear(oracle, plan.columns, masses, logistic, plan.shares.steps)
        return [replace(model, base=shares)]
    base = plan.loss.ask_base(oracle, plan.shares.target)
    masses, variance = ask_masses(oracle, plan)
    shapes = ask_shapes(oracle, plan, base, masses, variance)
    if plan.narrows:
        base, shapes[0] = _narrowed(oracle, plan, base, shapes[0], masses)
    copula = ask_correlations(oracle, plan, masses, across(shapes))
    if plan.paired:
        copulas = ask_pairs(oracle, plan, base, shapes, copula)
    else:
        copulas = [of_output(copula, each) for each in shapes]
    models = _refined(oracle, plan, base, shapes, copulas)
    if not plan.narrows:
        return models
    [model] = models
    effects, joint = model.effects, model.joint
    if joint:
        effects = [mine - other for mine, other in zip(effects, joint.effects, strict=True)]
    intercept = model.intercept - joint.constant if joint else model.intercept
    margins = margins_of(effects, intercept, joint.weights if joint else None)
    spread = _ask_spread(oracle, plan, base, margins, joint.features if joint else None)
    return [replace(model, spread=spread)]


def _narrowed(
    oracle: Oracle, plan: AdditivePlan, base: Base, shapes: Sequence[Shape], masses: Sequence[Floats64]
) -> tuple[Base, list[Shape]]:
    """Return base and shapes in the unit that suits the residuals of the shapes, with their shares.

    The variance that one shape explains is its mean square. Of uncorrelated columns these sum to at most the
    variance of the target. Of d equal columns each explains all, and the sum of shapes is d times too large.
    So their weights have a share with which the sum is the variance at most, times the one that they have.
    Margins of labels have no such bound: there, smaller shapes were less accurate on most tables.

    The mean square of the start follows from the spread V' of its residuals. With the variance V of the
    target, the weight w and the sum E of mean squares it is V' - V + 2 w E: the mean product of target and
    shape is the mean square of the shape.

    Privacy: all of this is post-processing. Masses, shapes and V are released, and V' is by its own query.
    """
    assert isinstance(base.loss, SquaredLoss)
    explained = sum(
        float((mass @ shape.effects**2).sum()) for shape, mass in zip(shapes, masses, strict=True)
    )
    variance = float(base.variance[0])
    share = variance / max(explained, variance)
    shapes = [replace(shape, share=share * shape.share) for shape in shapes]
    effects = [shape.kept * shape.effects for shape in shapes]
    spread = _ask_spread(oracle, plan, base, margins_of(effects, base.margins))
    narrow = base.loss.narrowed(spread, _WIDTH)
    assert isinstance(narrow.loss, SquaredLoss)
    wider = base.loss.scale / narrow.loss.scale
    scaled = [
        replace(shape, effects=shape.effects * wider, covariance=shape.covariance * wider**2)
        for shape in shapes
    ]
    # A spread of 1 is a default, where noise hides it.
    started = spread**2 - variance + 2 * shapes[0].kept * explained if spread < 1 else 0.0
    return replace(narrow, unit=base.unit * wider**2, started=started * wider**2), scaled


def _ask_spread(
    oracle: Oracle,
    plan: AdditivePlan,
    base: Base,
    margins: Callable[[Block], Integers],
    joint: JointFeatures | None = None,
) -> float:
    """Return the root mean square of residuals, from a histogram of their magnitudes."""
    size = plan.n_bins
    edges = np.floor((1 << RESIDUAL_BITS) * 2.0 ** (-np.arange(size - 1)[::-1] / 2))
    middles = 2.0 ** (-np.arange(size)[::-1] / 2 + 0.25)
    rows = Rows([], 0, 1, 1.0, joint=joint)

    def magnitude(records: LabelledRows) -> Integers:
        slices = rows.block(records).slices()
        residuals = np.concatenate([base.loss.residuals(margins(each), each.y) for each in slices])
        return np.asarray(np.digitize(np.abs(residuals[:, 0]), edges, right=True))

    answer = oracle.ask(HistogramQuery(magnitude, categories=size), plan.shares.spread)[0]
    noise = math.sqrt(answer.noise_variance)
    seen = np.where(answer.means > 2 * noise, answer.means, 0.0)
    if noise > _UNCLEAR or not seen.any():
        return 1.0
    return math.sqrt(float(seen @ np.minimum(middles, 1.0) ** 2) / float(seen.sum()))


def _refined(
    oracle: Oracle,
    plan: AdditivePlan,
    base: Base,
    shapes: Sequence[Sequence[Shape]],
    copulas: Sequence[Copula],
) -> list[AdditiveModel]:
    """Return the refined model of each output."""
    cells = copulas[0].drawn(max(500, min(_SYNTHETIC, _CELLS // len(plan.columns))))
    refined = [
        _Refinement(plan.of_output(output.loss, base.loss.reach), output, own, copula, cells)
        for output, own, copula in zip(base.outputs, shapes, copulas, strict=True)
    ]
    paths = newton_steps(oracle, plan, base, [each.start for each in refined])
    return [each.model(path) for each, path in zip(refined, paths, strict=True)]


class _Refinement:
    """The features of the model of one output, and what the steps need."""

    def __init__(
        self, plan: AdditivePlan, base: Base, shapes: Sequence[Shape], copula: Copula, cells: Integers
    ):
        joint = joint_basis(plan, base, copula, cells)
        energies = (joint.values(cells) ** 2).mean(axis=0) if joint else None
        self._base, self._copula = base, copula
        self._least = _LEAST_PRIOR[base.loss.narrows and plan.noise_dominated]
        self._together = _TOGETHER if base.loss.narrows and not plan.noise_dominated else 0.0
        self._features = features_of(plan, base, shapes, copula.masses, joint, energies)
        rows = rows_of_features(plan, self._features, cells)
        self._synthetic = feature_rows(rows, cells)
        weights = _start(rows, base, self._features.starts)
        self._seen = _along_start(plan, base, _curvatures(plan, base, rows, self._synthetic), weights)
        self._floor = plan.public.n_samples * rows.width**2 * np.eye(rows.size)
        self.start = Start(base, rows, weights, self._features.priors, self._floored(_FLOOR))

    def _floored(self, share: float) -> list[Floats64]:
        """Return the curvatures plus a share of the squared norm of a row."""
        each = zip(self._seen, self._base.step_curvature, strict=True)
        return [seen + least * share * self._floor for seen, least in each]

    def model(self, path: Path) -> AdditiveModel:
        """Return the model, given the steps."""
        base, features, rows, weights = self._base, self._features, self.start.rows, self.start.weights
        common = self._together * np.append(weights[:-1, 0], 0.0)
        # Of cells without records a floor would make noise look like effects.
        lower = path.learned(self._floored(_LOWER))
        measured, variance = path.measured(lower)
        posterior = []
        for out, curvature in enumerate(lower):
            mean, priors = posterior_weights(
                measured[:, out],
                curvature,
                weights[:, out],
                variance,
                rows.joint_slice,
                features.priors,
                float(base.variance[out] / base.curvature[out]),
                _MOST_JOINT if base.loss.narrows else math.inf,
                self._least,
                common,
            )
            if base.loss.narrows and len(path.points) > 1:
                points = [point[:, out] for point in path.points]
                mean = _near_steps(mean, points, self.start.curvatures[out])
            # The floor is no measurement; the first sums have shown no more than their posterior covariance.
            priors = np.where(features.others, features.priors / features.missed, priors)
            posterior.append((mean, covariance_of_weights(self._seen[out], priors, variance, common)))
        return model_of(rows, base, self._copula, posterior, features.omitted, self._synthetic)


def _near_steps(weights: Floats64, points: Sequence[Floats64], curvature: Floats64) -> Floats64:
    """Return weights, moved towards the first point if they are much farther from it than the others."""
    first = points[0]
    far = max(float((point - first) @ curvature @ (point - first)) for point in points)
    own = float((weights - first) @ curvature @ (weights - first))
    share = min(1.0, _BEYOND_STEPS * math.sqrt(far / max(own, _TINY)))
    return np.asarray(first + share * (weights - first))


def _start(rows: Rows, base: Base, starts: Sequence[Floats64]) -> Floats64:
    weights = np.zeros((rows.size, len(base.margins)))
    for here, start in zip(rows.slices, starts, strict=True):
        weights[here][: len(start)] = start
    weights[-1] = base.margins / (rows.constant * rows.unit)
    return weights


def _along_start(
    plan: AdditivePlan, base: Base, curvatures: list[Floats64], weights: Floats64
) -> list[Floats64]:
    """Return the curvatures, made larger along the start if residuals have shown that they are.

    Noise hides correlations of many columns, and then synthetic records show too little curvature along a sum
    of correlated effects, which is the direction in which steps would diverge.
    """
    if base.started <= 0:
        return curvatures
    start, [curvature] = weights[:-1, 0], curvatures
    image = curvature[:, :-1] @ start
    square = float(start @ image[:-1])
    shown = plan.public.n_samples * float(base.step_curvature[0]) * base.started
    return Secant(max(1.0, shown / max(square, _TINY)), [image], [square]).applied(curvatures)


def _curvatures(plan: AdditivePlan, base: Base, rows: Rows, synthetic: Floats64) -> list[Floats64]:
    """Return the second derivative of the loss, summed over all records, for each margin."""
    n = plan.public.n_samples
    norms = np.maximum((np.abs(synthetic) ** rows.order).sum(axis=1) ** (1 / rows.order), _TINY)
    rooted = synthetic * np.sqrt(np.minimum(1.0, rows.width / norms))[:, None]
    moments = (n / len(synthetic)) * (rooted.T @ rooted)
    return [curvature * moments for curvature in base.step_curvature]
