"""All queries in their order, and the steps from the first shapes to a model of all columns.

The first shapes are effects of single columns; where columns are correlated, their sum counts effects twice.
Noisy sums of residual times features of the whole model are gradients. A step moves the weights by a gradient
times the inverse of an estimate of the curvature: the second moments of synthetic records, drawn from the
released masses and correlations. All gradients after the first steps together measure the weights, with known
noise, and the posterior mean is the result.

Where that curvature is too small, steps could diverge. Two gradients, before and after a step, show the true
one along it: if the step has passed the minimum, beyond what noise explains, the estimate is corrected along
the step (a rank-one secant update). Steps are never made longer, because clipped residuals, too, seem to make
the curvature smaller. All of this is post-processing of noisy gradients.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from dplearn._progress import watched
from dplearn.learners.additive.cells import Column, line_rows
from dplearn.learners.additive.losses import Base
from dplearn.learners.additive.model import (
    AdditiveModel,
    Features,
    feature_rows,
    features_of,
    joint_basis,
    model_of,
    rows_of_features,
)
from dplearn.learners.additive.plan import LINEAR, MEAN, AdditivePlan
from dplearn.learners.additive.queries import Rows, ask_gradients, margins_of, slices_of
from dplearn.learners.additive.start import (
    Copula,
    Shape,
    across,
    ask_correlations,
    ask_masses,
    ask_pairs,
    ask_shapes,
    ask_spread,
    narrowed,
    of_output,
)
from dplearn.learners.linear import LogisticPlan, learn_logistic
from dplearn.queries import LabelledRows, Oracle

_SYNTHETIC, _CELLS = 6000, 400_000  # the most synthetic records, and the most of their cells
# Added to the second moments, as a share of the squared norm of a row: for the steps, and for the result.
_FLOOR, _LOWER = 0.003, 0.001
_TINY = 1e-9
# If the loss shrinks, the greatest factor of the prior variances of joint features: with it these explain
# about what is left of the variance of the target. Steps with much noise can look like larger effects.
_MOST_JOINT = 1.0
_LEAST_PRIOR = 0.1  # the least factor of the prior variances of other features, unless the loss shrinks
# If the loss shrinks, the prior standard deviation of a factor of the weights of all first shapes together:
# where shapes are noise, the steps do not show it of one of them, but of their sum. Where noise dominates,
# the first sums have determined this factor.
_TOGETHER = 0.5
# If the loss shrinks, the result is at most so many times as far from the start as the farthest step was.
# Beyond, only synthetic records show the curvature, and too little of it where noise hides correlations.
_BEYOND_STEPS = 2.0
_MOST = 16.0  # the greatest ratio of curvatures in one correction
_SURE = 3.0  # standard deviations of noise that are subtracted from a ratio
_WARM = 0.25  # the share of the steps that are left out of the measurement, the first ones
_NOTHING = 1e-12
_PRIORS = (0.03, 0.1, 0.3, 1.0, 3.0)  # factors of the prior variances of weights
# The same for joint features; 0: no interactions.
_JOINT_PRIORS = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_PENALTY = 0.1  # the log-likelihood falls by this times the log-variance
_SAMPLED = 0.2  # of the sampling error: the priors are narrower than some effects
_BLOCK = 1 << 14  # records whose numbers are held as floats

Integers = NDArray[np.int64]
Floats64 = NDArray[np.float64]


def learn_additive(oracle: Oracle, plan: AdditivePlan) -> list[AdditiveModel]:
    """Learn the additive model of each output, from rows of cells and codes, with all of the budget."""
    if plan.model == MEAN:
        return [_constant(plan, plan.loss.ask_base(oracle, plan.shares.target))]
    if plan.model == LINEAR and (logistic := plan.logistic):
        target = plan.shares.target
        shares = plan.loss.ask_base(oracle, target) if target else None
        masses, _ = ask_masses(oracle, plan)
        model = learn_linear(oracle, plan.columns, masses, logistic, plan.shares.steps)
        return [replace(model, base=shares)]
    base = plan.loss.ask_base(oracle, plan.shares.target)
    masses, variance = ask_masses(oracle, plan)
    shapes = ask_shapes(oracle, plan, base, masses, variance)
    if plan.narrows:
        base, shapes[0] = narrowed(oracle, plan, base, shapes[0], masses)
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
    spread = ask_spread(oracle, plan, base, margins, joint.features if joint else None)
    return [replace(model, spread=spread)]


def _constant(plan: AdditivePlan, base: Base) -> AdditiveModel:
    """Return the model without effects, in which cells have equal masses: none were asked for."""
    effects = [np.zeros((column.size, len(base.margins))) for column in plan.columns]
    masses = [np.full(column.size, 1 / column.size) for column in plan.columns]
    spread = min(math.sqrt(float(base.variance[0])), 1.0)
    return AdditiveModel(base.margins, effects, effects, masses, base, spread=spread)


def _refined(
    oracle: Oracle,
    plan: AdditivePlan,
    base: Base,
    shapes: Sequence[Sequence[Shape]],
    copulas: Sequence[Copula],
) -> list[AdditiveModel]:
    """Return the model of each output after steps that all of them take together."""
    cells = copulas[0].drawn(max(500, min(_SYNTHETIC, _CELLS // len(plan.columns))))
    plans = [plan.of_output(output.loss, base.loss.reach) for output in base.outputs]
    starts = [
        _start(own, output, each, copula, cells)
        for own, output, each, copula in zip(plans, base.outputs, shapes, copulas, strict=True)
    ]
    paths = newton_steps(oracle, plan, base, starts)
    return [_model(own, path) for own, path in zip(plans, paths, strict=True)]


@dataclass(frozen=True, eq=False)
class Start:
    """The released features of one output, the prior of their weights, and an estimate of the curvature."""

    base: Base
    copula: Copula
    features: Features
    rows: Rows
    synthetic: Floats64  # the rows of synthetic records, of shape (n, size)
    weights: Floats64  # the first ones, which are the means of the prior, of shape (size, k)
    seen: list[Floats64]  # for each margin, the second derivatives that synthetic records show
    floor: float  # the squared norm of a row, times the number of records

    def curvatures(self, share: float) -> list[Floats64]:
        """Return the second derivatives plus a share of the floor: positive definite."""
        floor = self.floor * np.eye(self.rows.size)
        return [
            seen + least * share * floor
            for seen, least in zip(self.seen, self.base.step_curvature, strict=True)
        ]


def _start(plan: AdditivePlan, base: Base, shapes: Sequence[Shape], copula: Copula, cells: Integers) -> Start:
    """Return the start of one output, given its shapes and the cells of synthetic records."""
    joint = joint_basis(plan, base, copula, cells)
    energies = (joint.values(cells) ** 2).mean(axis=0) if joint else None
    features = features_of(plan, base, shapes, copula.masses, joint, energies)
    rows = rows_of_features(plan, features, cells)
    synthetic = feature_rows(rows, cells)
    weights = np.zeros((rows.size, len(base.margins)))
    for here, start in zip(rows.slices, features.starts, strict=True):
        weights[here][: len(start)] = start
    weights[-1] = base.margins / (rows.constant * rows.unit)
    seen = along_start(plan, base, _curvatures(plan, base, rows, synthetic), weights)
    floor = plan.public.n_samples * rows.width**2
    return Start(base, copula, features, rows, synthetic, weights, seen, floor)


def newton_steps(oracle: Oracle, plan: AdditivePlan, base: Base, starts: Sequence[Start]) -> list["Path"]:
    """Take all steps, those of all outputs together, and return the path of each output."""
    paths = [Path(start, plan.public.n_samples, plan.n_steps, plan.rate) for start in starts]
    bits, share = plan.bits.factors, plan.step_share
    for _ in watched(range(plan.n_steps), "Taking steps"):
        points = [(path.start.rows, path.weights) for path in paths]
        gradients = ask_gradients(oracle, base.loss, points, bits=bits, share=share)
        for path, (mean, noise) in zip(paths, gradients, strict=True):
            path.move(mean, noise)
    return paths


@dataclass(eq=False)
class Path:
    """The steps of one output so far, and the weights that they have led to."""

    start: Start
    n_samples: int
    n_steps: int
    rate: float  # the size of a step, as a share of the full Newton step
    points: list[Floats64] = field(default_factory=list)  # the weights before each step, of shape (size, k)
    gradients: list[Floats64] = field(default_factory=list)  # the noisy gradient at each of these points
    biases: list[float] = field(default_factory=list)  # as for `secant`, for each step
    variance: float = 0.0  # of the noise in each number of a gradient

    def __post_init__(self) -> None:
        self.weights, self._curvatures = self.start.weights, self.start.curvatures(_FLOOR)
        self._inverses: list[Floats64] = []
        self._ridges: list[Floats64] = []

    def move(self, mean: Floats64, noise: float) -> None:
        """Move the weights, given the mean gradient and the variance of its noise.

        Let P be the prior variances, H the curvature, u the noise variance of one gradient, and v that of the
        mean of all. A step moves the weights by the rate times (H + (1 + (v + c u) / H) / P)^-1 (gradient -
        (1 + v / H) / P (weights - start)), where to divide by H or P is to multiply by the inverse matrix.
        The caution c keeps the noise of single steps out of the weights, where it would make residuals so
        large that they are clipped.
        """
        start, priors = self.start, self.start.features.priors
        self.points.append(self.weights)
        self.gradients.append(mean * self.n_samples)
        self.variance = variance = noise * self.n_samples**2
        if len(self.points) > 1:
            correction = self._secant(self._curvatures, len(self.points) - 1)
            self._curvatures = correction.applied(self._curvatures)
            self._inverses = correction.inverted(self._inverses)
        else:
            # Each margin's curvature is a multiple of the first one's.
            shares = start.base.step_curvature[0] / start.base.step_curvature
            inverse, known = np.linalg.inv(self._curvatures[0]), {}
            for each, share in zip(self._curvatures, shares.tolist(), strict=True):
                if share not in known:
                    noise_ridge = (variance * share) * inverse / priors
                    ridge = np.diag(1 / priors) + noise_ridge / self.n_steps
                    total = each + ridge + start.base.loss.caution * noise_ridge
                    known[share] = ridge, np.linalg.inv(total)
                self._ridges.append(known[share][0])
                self._inverses.append(known[share][1])
        apart = (self.weights - start.weights).T
        pulled = [ridge @ each for ridge, each in zip(self._ridges, apart, strict=True)]
        beyond = self.gradients[-1] - np.stack(pulled, axis=1)
        moved = [inverse @ each for inverse, each in zip(self._inverses, beyond.T, strict=True)]
        self.weights = self.weights + self.rate * np.stack(moved, axis=1)
        traces = sum(float(inverse.trace()) for inverse in self._inverses)
        self.biases.append(self.rate * variance * traces)

    def _secant(self, curvatures: Sequence[Floats64], last: int) -> "Secant":
        """Return the correction of curvatures along the step to the point of index `last`."""
        step = self.points[last] - self.points[last - 1]
        change = self.gradients[last - 1] - self.gradients[last]
        bias, variance = self.biases[last - 1], 2 * self.variance
        return secant(curvatures, step, change, rate=self.rate, bias=bias, variance=variance)

    def learned(self, curvatures: Sequence[Floats64]) -> list[Floats64]:
        """Return curvatures with the corrections along all steps."""
        found = list(curvatures)
        for last in range(1, len(self.points)):
            found = self._secant(found, last).applied(found)
        return found

    def measured(self, curvatures: Sequence[Floats64]) -> tuple[Floats64, float]:
        """Return the mean of gradient plus curvature times weights over all steps but the first quarter, and
        the variance of its noise; of a quadratic loss, it is the curvature times the weights at the minimum.
        """
        first = int(_WARM * len(self.points))
        counted = len(self.points) - first
        total = np.sum(self.gradients[first:], axis=0)
        weights = np.sum(self.points[first:], axis=0)
        moved = np.stack([h @ w for h, w in zip(curvatures, weights.T, strict=True)], axis=1)
        return (total + moved) / counted, self.variance / counted


def _model(plan: AdditivePlan, path: Path) -> AdditiveModel:
    """Return the model of one output after the steps."""
    start = path.start
    base, features, rows, weights = start.base, start.features, start.rows, start.weights
    shrinks, dominated = base.loss.shrinks, plan.noise_dominated
    common = _TOGETHER * np.append(weights[:-1, 0], 0.0) if shrinks and not dominated else None
    # Of cells without records a floor would make noise look like effects.
    lower = path.learned(start.curvatures(_LOWER))
    measured, variance = path.measured(lower)
    found, posterior, last = dict[int, tuple[Floats64, Floats64]](), None, -1
    for out in np.argsort(base.curvature, kind="stable").tolist():
        numbers = base.curvature, base.variance, base.step_curvature
        alike = all(each[out] == each[last] for each in numbers) and (lower[out] == lower[last]).all()
        if posterior is None or not alike:
            sampling = float(base.variance[out] / base.curvature[out])
            most_joint, least = (_MOST_JOINT, 0.0) if shrinks else (math.inf, _LEAST_PRIOR)
            posterior = WeightPosterior(
                lower[out], variance, rows.joint_slice, features.priors, sampling, most_joint, least, common
            )
            covariances = dict[bytes, Floats64]()
        last = out  # margins of equal shares are next to each other
        mean, priors = posterior.weights(measured[:, out], weights[:, out])
        if shrinks and len(path.points) > 1:
            points = [point[:, out] for point in path.points]
            mean = near_steps(mean, points, start.curvatures(_FLOOR)[out])
        # The floor is no measurement; the first sums have shown no more than their posterior covariance.
        priors = np.where(features.others, features.priors / features.missed, priors)
        if priors.tobytes() not in covariances:
            covariances[priors.tobytes()] = covariance_of_weights(start.seen[out], priors, variance, common)
        found[out] = mean, covariances[priors.tobytes()]
    weights_of = [found[out] for out in range(len(lower))]
    return model_of(rows, base, start.copula, weights_of, features.omitted, start.synthetic)


def near_steps(weights: Floats64, points: Sequence[Floats64], curvature: Floats64) -> Floats64:
    """Return weights, moved towards the first point if they are much farther from it than the others."""
    first = points[0]
    far = max(float((point - first) @ curvature @ (point - first)) for point in points)
    own = float((weights - first) @ curvature @ (weights - first))
    share = min(1.0, _BEYOND_STEPS * math.sqrt(far / max(own, _TINY)))
    return np.asarray(first + share * (weights - first))


def along_start(
    plan: AdditivePlan, base: Base, curvatures: list[Floats64], weights: Floats64
) -> list[Floats64]:
    """Return the curvatures, made larger along the start if residuals have shown that they are: noise hides
    correlations of many columns, and steps would diverge along a sum of correlated effects.
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


@dataclass(frozen=True, eq=False)
class Secant:
    """A correction of curvatures along one step."""

    # The curvature along the step that the gradients show beyond noise, divided by the estimate of it; 1
    # unless they show that the step has passed the minimum.
    ratio: float
    images: list[Floats64]  # for each margin, the estimated curvature times the step
    squares: list[float]  # for each margin, the inner product of the step and its image

    @property
    def scales(self) -> list[float]:
        """The number that multiplies the outer product of each image."""
        return [(self.ratio - 1) / square if square > _NOTHING else 0.0 for square in self.squares]

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
    """Return the correction of curvatures along a step of a `rate` of Newton's, given how it changed the
    gradient; `bias` is the expected product of step and change without curvature.
    """
    images = [curvature @ each for curvature, each in zip(curvatures, step.T, strict=True)]
    squares = [float(each @ image) for each, image in zip(step.T, images, strict=True)]
    expected = sum(squares)
    if expected <= _NOTHING:
        return Secant(1.0, images, squares)
    seen = (float((step * change).sum()) - bias) / expected
    noise = math.sqrt(variance * float((step**2).sum())) / expected
    ratio = min(seen - _SURE * noise, _MOST)
    return Secant(ratio if ratio * rate > 1 else 1.0, images, squares)


@dataclass(frozen=True, eq=False)
class WeightPosterior:
    """The posterior of the weights of margins that share one curvature, noise and usual prior variances.

    Of a margin, curvature times weights is measured, with noise of `variance` and a sampling error of
    covariance near `sampling` times curvature. Prior variances are the usual ones times two factors of
    greatest marginal likelihood: of joint features, at most `most_joint`, and of others, at least `least`.
    Weights have in common a multiple of `common`, of prior variance 1.
    """

    curvature: Floats64
    variance: float
    joint: slice
    usual: Floats64
    sampling: float
    most_joint: float = math.inf
    least: float = 0.1
    common: Floats64 | None = None
    _roots: dict[tuple[float, float], NDArray[Any]] = field(default_factory=dict)
    _responses: dict[tuple[float, float], NDArray[Any]] = field(default_factory=dict)

    def weights(self, measured: Floats64, start: Floats64) -> tuple[Floats64, Floats64]:
        """Return the posterior mean of the weights of one margin, and their prior variances."""
        beyond = measured - self.curvature @ start
        joint = self._joint_factor(beyond)
        found = [self._fitted((each, joint), beyond) for each in _PRIORS if each >= self.least]
        _, factors, scaled = max(found, key=lambda each: each[0])
        variances = factors[0] * self.usual
        variances[self.joint] = joint * self.usual[self.joint]
        if factors not in self._responses:
            images = _images(self.curvature, variances, self.common)
            self._responses[factors] = solve_triangular(self._root(factors), images, lower=True)
        return start + self._responses[factors].T @ scaled, variances

    @cached_property
    def _covariances(self) -> tuple[Floats64, Floats64, Floats64]:
        """Of what is measured: of noise, and of other and joint features at their usual prior variances."""
        curvature, joint = self.curvature, self.joint
        squared = (curvature * self.usual) @ curvature
        of_joint = (curvature[:, joint] * self.usual[joint]) @ curvature[joint]
        noise = max(self.variance, _TINY * float(squared.trace())) * np.eye(len(self.usual))
        noise += _SAMPLED * self.sampling * curvature
        if self.common is not None:
            shared = curvature @ self.common
            noise += np.outer(shared, shared)
        return noise, squared - of_joint, of_joint

    @cached_property
    def _joint_axes(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        # Joint features add a covariance of low rank: in the axes of its image all factors are tried at once.
        noise, others, _ = self._covariances
        root = np.linalg.cholesky(noise + others)
        images = self.curvature[:, self.joint] * np.sqrt(self.usual[self.joint])
        images = solve_triangular(root, images, lower=True)
        return root, images, *np.linalg.eigh(images.T @ images)

    def _joint_factor(self, beyond: Floats64) -> float:
        root, images, seen, axes = self._joint_axes
        along = (axes.T @ (images.T @ solve_triangular(root, beyond, lower=True))) ** 2

        def likelihood(factor: float) -> float:
            total = 1 + factor * seen.clip(0.0)
            penalty = _PENALTY * abs(math.log(max(factor, _JOINT_PRIORS[1])))
            return 0.5 * float((factor * along / total - np.log(total)).sum()) - penalty

        allowed = [each for each in _JOINT_PRIORS if each <= self.most_joint]
        return max(allowed, key=likelihood) if len(seen) else 1.0

    def _root(self, factors: tuple[float, float]) -> NDArray[Any]:
        if factors not in self._roots:
            noise, others, of_joint = self._covariances
            self._roots[factors] = np.linalg.cholesky(noise + factors[0] * others + factors[1] * of_joint)
        return self._roots[factors]

    def _fitted(self, factors: tuple[float, float], beyond: Floats64) -> tuple[float, Any, Floats64]:
        """Return the log marginal likelihood but for a constant, the factors, and the white residuals."""
        root = self._root(factors)
        scaled = solve_triangular(root, beyond, lower=True)
        likely = -0.5 * float(scaled @ scaled) - float(np.log(np.diag(root)).sum())
        return likely - _PENALTY * abs(math.log(factors[0])), factors, scaled


def covariance_of_weights(
    curvature: Floats64, priors: Floats64, variance: float, common: Floats64 | None = None
) -> Floats64:
    """Return the posterior covariance of weights of given prior variances, measured as for their mean."""
    images = _images(curvature, priors, common)
    squared = images @ curvature
    noise = max(variance, _TINY * float(squared.trace()), _TINY)
    root = np.linalg.cholesky(squared + noise * np.eye(len(priors)))
    response = solve_triangular(root, images, lower=True)
    before = np.diag(priors) if common is None else np.diag(priors) + np.outer(common, common)
    return np.asarray(before - response.T @ response)


def _images(curvature: Floats64, priors: Floats64, common: Floats64 | None) -> Floats64:
    """Return the curvature times the prior covariance of the weights."""
    images = curvature * priors
    return images if common is None else images + np.outer(curvature @ common, common)


def learn_linear(
    oracle: Oracle,
    columns: Sequence[Column],
    masses: Sequence[Floats64],
    plan: LogisticPlan,
    share: Fraction,
) -> AdditiveModel:
    """Learn an additive model of straight lines and effects of categories."""
    tables = [line_rows(column) for column in columns]
    model = learn_logistic(oracle.within(share).map(partial(line_records, tables, plan)), plan)
    assert model.covariance is not None
    intercept, effects, deviations = model.offsets + model.weights[-1], [], []
    places = slices_of([table.shape[1] for table in tables])
    for table, mass, own in zip(tables, masses, places, strict=True):
        mean, covariance = mass @ table, model.covariance[own, own]
        variances = np.einsum("cr,rs,cs->c", table - mean, covariance, table - mean).clip(0.0)
        effects.append((table - mean) @ model.weights[own])
        deviations.append(np.repeat(np.sqrt(variances)[:, None], plan.n_classes, axis=1))
        intercept = intercept + mean @ model.weights[own]
    return AdditiveModel(intercept, effects, deviations, list(masses))


def line_records(tables: Sequence[Floats64], plan: LogisticPlan, records: LabelledRows) -> LabelledRows:
    """Return the rows of records, of one length, in integers; a block of records at a time."""
    blocks = [plan.rows(np.zeros((0, plan.n_numbers)))]
    for start in range(0, len(records), _BLOCK):
        cells = records.X[start : start + _BLOCK].T
        numbers = [table[each] for table, each in zip(tables, cells, strict=True)]
        blocks.append(plan.rows(np.concatenate(numbers, axis=1)))
    return LabelledRows(np.concatenate(blocks), records.y)
