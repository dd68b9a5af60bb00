"""The refinement of the first shapes to a joint model, by noisy gradient steps.

The first shapes are effects of single columns; where columns are correlated, their sum counts effects twice.
The features of the joint model are, for each column, the first shape and the main directions of its posterior
covariance; and for interactions, smooth functions of all columns. Noisy sums of residual times features are
gradients of the loss. Each step moves the weights by a gradient times a preconditioner: the second moments of
synthetic records, drawn from the released masses and correlations. All gradients together are a measurement
of the weights, with known noise, from which the posterior mean is the result.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from dplearn.learners.additive_columns import kernel
from dplearn.learners.additive_joint import JointBasis, JointFeatures
from dplearn.learners.additive_losses import MARGIN_BITS, RESIDUAL_BITS, Base, SquaredLoss
from dplearn.learners.additive_plan import AdditivePlan
from dplearn.learners.additive_queries import Block, Rows, moment_query, pair_query
from dplearn.learners.additive_shapes import (
    Shape,
    ask_masses,
    ask_residuals,
    ask_shapes,
    synthetic_cells,
)
from dplearn.learners.logistic_queries import moment_weights
from dplearn.queries import Examples, HistogramQuery, Oracle

__all__ = ["AdditiveModel", "Interactions", "learn_additive", "summed"]

Floats64 = NDArray[np.float64]
Integers = NDArray[np.int64]

# Normal scores and correlations
_EXTREME = 2.5  # the greatest normal score
_LEAST_WEIGHT = 1 / 4  # of a column, as a share of the greatest
_LEAST_PAIRED = 0.1  # the same where interactions were found, for columns without any
_LEAST_VARIANCE = 0.05
_LEAST_EIGENVALUE = 0.02
# Features
_KEPT = 0.6  # the prior weight of a shape
_SPREAD = 0.4  # the prior standard deviation of the weight of a shape
_REST = 0.1  # the prior variance of what the first shape has missed, as a share of its posterior covariance
_LINES = 0.2  # for flexible shapes, the part of a stiff kernel that is added to this covariance
_FLEXIBLE = 4  # the level from which on it is added
_SMALL = 3e-3  # eigenvalues below this share of the greatest are dropped
_MOST_FEATURES = 600
_LEAST_ENERGY = 1e-12
_AMPLITUDE = math.sqrt(3.0)  # of joint features
_SPLIT = 1e-3  # the ridge of the split of joint features, as a share of the mean square of other features
_HIDDEN = 0.2  # joint features with a smaller signal, in standard deviations of the noise, are left out
# Steps
_CONSTANT = 0.5
_LENGTH = 0.85  # the norm to which rows are shortened, in root mean squares
_SYNTHETIC, _CELLS = 3000, 200_000  # the most synthetic records, and the most of their cells
_FLOOR = 0.01  # added to the second moments, as a share of the squared norm of a row
_WARM = 0.25  # the share of the steps before the first that counts
_PRIORS = (0.1, 0.3, 1.0, 3.0)  # variances of the weights
_JOINT_PRIORS = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # those of joint features; 0: no interactions
_PENALTY = 0.1  # the log-likelihood falls by this times the log-variance
_TINY = 1e-9
_GREATEST = 1e6  # margins beyond are clipped
_AT_ONCE = 1 << 12  # records whose joint features are held as floats
_FINER = 8  # bits of the weight of a joint feature beyond those of a margin
_HEAVIEST = 1 << 28  # the greatest such weight: sums over at most 2**9 features are exact in floats
# Spread of residuals
_UNCLEAR = 0.05  # noise in a share of records from which on the histogram is ignored
_WIDTH = 1.5  # the clip of the steps, in root mean squares


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A released additive model.

    Attributes
    ----------
    intercept : ndarray of shape (k,)
        Released. The mean margins.
    effects, deviations : list of ndarray of shape (cells, k)
        Released. For each column the effects of its cells on the margins, with mean 0, and their posterior
        standard deviations.
    masses : list of ndarray of shape (cells,)
        Released. The shares of records in the cells.
    base : Base
        Released. The loss, and the unit of the margins.
    joint : Interactions or None
        Released. The part of the margins that depends on several columns together, if any was found.
    spread : float
        Released. The root mean square of residuals of a regression, in the unit of the margins.
    """

    intercept: Floats64
    effects: list[Floats64]
    deviations: list[Floats64]
    masses: list[Floats64]
    base: Base
    joint: "Interactions | None" = None
    spread: float = 0.0


@dataclass(frozen=True, eq=False)
class Interactions:
    """A smooth function of all columns, beyond the best sum of effects of single columns.

    Attributes
    ----------
    features : JointFeatures
        Released. The function is a linear function of these features, minus an effect for each column.
    effects : list of ndarray of shape (cells, k)
        Released. What is subtracted for a cell of each column.
    constant : ndarray of shape (k,)
        Released. What is subtracted for all records.
    weights : ndarray of shape (size, k)
        Released. Of the features, for each margin.
    covariance : ndarray of shape (k, size, size)
        Released. The posterior covariance of the weights of each margin.
    strengths : ndarray of shape (d, d)
        Released. For each pair of columns, how much residuals were correlated with the product of their
        normal scores, in standard deviations of the noise; 0 if it was not asked for. Above about 3, the
        columns interact.
    """

    features: JointFeatures
    effects: list[Floats64]
    constant: Floats64
    weights: Floats64
    covariance: Floats64
    strengths: Floats64

    def scaled(self, unit: float) -> "Interactions":
        """Return this function times a number."""
        effects = [unit * each for each in self.effects]
        return replace(
            self,
            effects=effects,
            constant=unit * self.constant,
            weights=unit * self.weights,
            covariance=unit**2 * self.covariance,
        )

    def margins(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the part of the margins of records, of shape (n, k).

        Parameters
        ----------
        cells : ndarray of int of shape (n, d)
            A cell of each column; the number of cells for an unknown category.
        """
        linear = self._of_parts(cells, lambda features: features @ self.weights)
        return linear - summed(self.constant, self.effects, cells)

    def variances(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the variances of the linear function of the features, of shape (n, k)."""

        def of(features: Floats64) -> Floats64:
            squares = [np.einsum("ij,ij->i", features @ each, features) for each in self.covariance]
            return np.stack(squares, axis=1)

        return self._of_parts(cells, of)

    def _of_parts(self, cells: NDArray[np.integer], of: Callable[[Floats64], Floats64]) -> Floats64:
        """Return a function of the features of each record, computed for few records at once."""
        found = np.empty((len(cells), self.weights.shape[1]))
        for start in range(0, len(cells), _AT_ONCE):
            here = slice(start, start + _AT_ONCE)
            found[here] = of(self.features.of(cells[here]).astype(np.float64))
        return found


def learn_additive(oracle: Oracle, plan: AdditivePlan) -> AdditiveModel:
    """Learn an additive model.

    Parameters
    ----------
    oracle : Oracle
        For `Examples` with cells in X, and codes of labels or targets in y. All of its budget is spent.
    plan : AdditivePlan
        The plan of the fit.

    Returns
    -------
    AdditiveModel
    """
    base = plan.loss.base(oracle.ask(plan.loss.base_query(), plan.shares.target)[0])
    masses, variance = ask_masses(oracle, plan)
    shapes = ask_shapes(oracle, plan, base, masses, variance)
    if plan.narrows:
        base, shapes = _narrowed(oracle, plan, base, shapes)
    copula = _ask_correlations(oracle, plan, masses, shapes)
    if plan.paired:
        copula = _ask_pairs(oracle, plan, base, shapes, copula)
    model = _refined(oracle, plan, base, shapes, copula)
    if not plan.narrows:
        return model
    effects, joint = model.effects, model.joint
    if joint:
        effects = [mine - other for mine, other in zip(effects, joint.effects, strict=True)]
    intercept = model.intercept - joint.constant if joint else model.intercept
    margins = _margins(effects, intercept, joint.weights if joint else None)
    spread = _ask_spread(oracle, plan, base, margins, joint.features if joint else None)
    return replace(model, spread=spread)


def _narrowed(
    oracle: Oracle, plan: AdditivePlan, base: Base, shapes: Sequence[Shape]
) -> tuple[Base, list[Shape]]:
    """Return base and shapes in the unit that suits the residuals of the shapes."""
    assert isinstance(base.loss, SquaredLoss)
    effects = [_KEPT * shape.effects for shape in shapes]
    spread = _ask_spread(oracle, plan, base, _margins(effects, base.margins))
    narrow = base.loss.narrowed(spread, _WIDTH)
    assert isinstance(narrow.loss, SquaredLoss)
    wider = base.loss.scale / narrow.loss.scale
    scaled = [Shape(shape.effects * wider, shape.covariance * wider**2) for shape in shapes]
    return replace(narrow, unit=base.unit * wider**2), scaled


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

    def magnitude(records: Examples) -> Integers:
        parts = rows.block(records).parts()
        residuals = np.concatenate([base.loss.residuals(margins(part), part.y) for part in parts])
        return np.asarray(np.digitize(np.abs(residuals[:, 0]), edges, right=True))

    answer = oracle.ask(HistogramQuery(magnitude, categories=size), plan.shares.spread)[0]
    noise = math.sqrt(answer.noise_variance)
    seen = np.where(answer.means > 2 * noise, answer.means, 0.0)
    if noise > _UNCLEAR or not seen.any():
        return 1.0
    return math.sqrt(float(seen @ np.minimum(middles, 1.0) ** 2) / float(seen.sum()))


@dataclass(frozen=True, eq=False)
class _Copula:
    """The released distribution of cells: masses, correlations, and the order that these refer to.

    Correlations are those of normal scores; columns with larger effects or interactions have larger weights.
    Strengths are those of the interactions of pairs of columns, in standard deviations of noise.
    """

    masses: list[Floats64]
    orders: list[NDArray[np.intp]]
    correlations: Floats64
    scores: Sequence[Floats64]
    weights: Floats64
    strengths: Floats64

    def drawn(self, n: int) -> Integers:
        return synthetic_cells(self.masses, self.orders, self.correlations, n)


def _ask_correlations(
    oracle: Oracle, plan: AdditivePlan, masses: list[Floats64], shapes: Sequence[Shape]
) -> _Copula:
    """Query the correlations of normal scores, of columns weighted by the energy of their shapes."""
    orders = [
        np.arange(column.size) if column.ordered else np.argsort(shape.effects[:, -1], kind="stable")
        for column, shape in zip(plan.columns, shapes, strict=True)
    ]
    d = len(masses)
    if not plan.correlated:
        return _Copula(masses, orders, np.eye(d), [], np.ones(d), np.zeros((d, d)))
    scores = [_normal_scores(mass, order) for mass, order in zip(masses, orders, strict=True)]
    weights = np.maximum(_sizes(masses, shapes), _LEAST_WEIGHT)
    tables = [weight * score[:, None] for weight, score in zip(weights, scores, strict=True)]
    rows = Rows.of(tables, constant=0.0, length=float(np.linalg.norm(weights)), bits=plan.bits.moments)
    answer = oracle.ask(moment_query(rows), plan.shares.correlations)[0]
    (first, second), (on, off) = np.triu_indices(d), moment_weights(2)
    units = rows.width**2 / np.outer(weights, weights)
    variances = np.array([float(mass @ score**2) for mass, score in zip(masses, scores, strict=True)])
    units /= np.sqrt(np.outer(variances, variances)).clip(_LEAST_VARIANCE)
    found = np.zeros((d, d))
    found[first, second] = answer.means / np.where(first == second, on, off)
    found = units * (found + np.triu(found, 1).T)
    noise = units * math.sqrt(answer.noise_variance) / off
    found = (found**3 / (found**2 + noise**2)).clip(-0.99, 0.99)  # shrunk where it is mostly noise
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)
    found = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(found))
    found = found / np.outer(scale, scale)
    return _Copula(masses, orders, found, scores, weights, np.zeros((d, d)))


def _sizes(masses: Sequence[Floats64], shapes: Sequence[Shape]) -> Floats64:
    """Return the root mean square of the effects of each column, as a share of the greatest."""
    squares = [float((mass @ shape.effects**2).sum()) for mass, shape in zip(masses, shapes, strict=True)]
    return np.asarray(np.sqrt(np.array(squares) / max(*squares, _TINY)))


def _ask_pairs(
    oracle: Oracle, plan: AdditivePlan, base: Base, shapes: Sequence[Shape], copula: _Copula
) -> _Copula:
    """Query residuals times products of normal scores, and give interacting columns larger weights.

    Without interactions, residuals are not correlated with products of scores.
    """
    d, k, n = len(copula.scores), plan.loss.n_outputs, plan.public.n_samples
    tables = [score[:, None] for score in copula.scores]
    rows = Rows.of(tables, constant=0.0, length=math.sqrt(d), bits=plan.bits.moments)
    margins = _margins([_KEPT * shape.effects for shape in shapes], base.margins)
    query = pair_query(
        rows,
        lambda block: base.loss.residuals(margins(block), block.y),
        n_outputs=k,
        reach=base.loss.reach,
        bits=plan.bits.pairs,
    )
    answer = oracle.ask(query, plan.shares.pairs)[0]
    found = answer.means.reshape(k, -1) * rows.width**2
    variances = answer.noise_variance * rows.width**4 + base.variance[:, None] / n
    far = found**2 > 2 * math.log(found.size + 1) * variances  # more than the greatest of as many noises
    squares, strengths = np.zeros((d, d)), np.zeros((d, d))
    upper = np.triu_indices(d, 1)
    squares[upper] = np.where(far, found**2 - variances, 0.0).sum(axis=0)
    strengths[upper] = np.sqrt((found**2 / variances).mean(axis=0))
    shares = (squares + squares.T).sum(axis=1)
    weights = copula.weights
    if far.any():
        effects = _sizes(copula.masses, shapes)
        weights = np.maximum(np.maximum(effects, np.sqrt(shares / shares.max())), _LEAST_PAIRED)
    return replace(copula, weights=weights, strengths=strengths + strengths.T)


def _normal_scores(mass: Floats64, order: NDArray[np.intp]) -> Floats64:
    """Return a normal score for each cell, standardised."""
    ordered, scores = mass[order], np.empty(len(mass))
    middles = (np.cumsum(ordered) - ordered / 2).clip(_TINY, 1 - _TINY)
    scores[order] = ndtri(middles).clip(-_EXTREME, _EXTREME)
    scores -= mass @ scores
    return np.asarray(scores / max(math.sqrt(float(mass @ scores**2)), 0.3))


def _refined(
    oracle: Oracle, plan: AdditivePlan, base: Base, shapes: Sequence[Shape], copula: _Copula
) -> AdditiveModel:
    tables, starts = _features(plan, base, shapes, copula.masses)
    cells = copula.drawn(max(500, min(_SYNTHETIC, _CELLS // len(tables))))
    joint = _joint_basis(plan, base, copula, cells)
    rows = _rows_of_features(plan, base, tables, joint, cells)
    synthetic = _feature_rows(rows, cells)
    weights = _start(rows, base, starts)
    curvatures = _curvatures(plan, base, rows, synthetic)
    measured, variance = _steps(oracle, plan, base, rows, weights, curvatures)
    posterior = [
        _posterior_weights(measured[:, out], curvature, weights[:, out], variance, rows.joint_slice)
        for out, curvature in enumerate(curvatures)
    ]
    return _model(rows, base, copula, posterior, synthetic)


def _joint_basis(plan: AdditivePlan, base: Base, copula: _Copula, cells: Integers) -> JointBasis | None:
    if not plan.n_joint:
        return None
    amplitude = _AMPLITUDE * math.sqrt(base.unit)
    return JointBasis.of(
        copula.scores,
        copula.weights,
        copula.correlations,
        cells,
        size=plan.n_joint,
        least=_HIDDEN * plan.step_deviation / (float(base.curvature.max()) * amplitude),
        amplitude=amplitude,
    )


def _features(
    plan: AdditivePlan, base: Base, shapes: Sequence[Shape], masses: Sequence[Floats64]
) -> tuple[list[Floats64], list[Floats64]]:
    """Return the features of each cell of each column, and the prior weights of the first of these.

    The first features are the main directions of the shapes; the others, if the norm is L2, are those of the
    posterior covariance. A weight has the prior variance 1.
    """
    tables, starts = [], []
    for column, shape in zip(plan.columns, shapes, strict=True):
        vectors, sizes, outputs = np.linalg.svd(shape.effects, full_matrices=False)
        main = sizes > _SMALL * sizes[0]
        main[0] = True
        parts = [_SPREAD * (vectors * sizes)[:, main]]
        if plan.order == 2:
            covariance = _REST * shape.covariance
            if plan.level >= _FLEXIBLE:
                covariance = covariance + _REST * _LINES * base.unit * kernel(column, 1)
            values, vectors = np.linalg.eigh(covariance)
            kept = values > max(_SMALL * float(values[-1]), _TINY * base.unit)
            parts.append(vectors[:, kept] * np.sqrt(values[kept]))
        tables.append(np.concatenate(parts, axis=1))
        starts.append(_KEPT / _SPREAD * outputs[main])
    energies = [mass @ (table - mass @ table) ** 2 for table, mass in zip(tables, masses, strict=True)]
    for energy, start in zip(energies, starts, strict=True):
        energy[: len(start)] = np.inf
    falling = np.sort(np.concatenate(energies))[::-1]
    least = max(falling[min(_MOST_FEATURES, len(falling)) - 1], _LEAST_ENERGY)
    return [table[:, energy >= least] for table, energy in zip(tables, energies, strict=True)], starts


def _rows_of_features(
    plan: AdditivePlan, base: Base, tables: Sequence[Floats64], joint: JointBasis | None, cells: Integers
) -> Rows:
    """Return the features as integers, and the norm to which rows are shortened."""
    constant = _CONSTANT * math.sqrt(base.unit)
    norms = sum(
        (np.abs(table) ** plan.order).sum(axis=1)[cells[:, place]] for place, table in enumerate(tables)
    )
    norms = norms + constant**plan.order
    if joint:
        norms = norms + (joint.values(cells) ** 2).sum(axis=1)
    length = _LENGTH * float(np.mean(norms)) ** (1 / plan.order)
    bits, order = plan.bits.rows, plan.order
    return Rows.of(tables, constant=constant, length=length, bits=bits, order=order, joint=joint)


def _feature_rows(rows: Rows, cells: Integers) -> Floats64:
    """Return the rows of synthetic records, of shape (n, size)."""
    records = Examples(cells, np.zeros(len(cells), dtype=np.int64))
    return np.asarray(rows.of_records(records) * rows.unit, dtype=np.float64)


def _start(rows: Rows, base: Base, starts: Sequence[Floats64]) -> Floats64:
    weights = np.zeros((rows.size, len(base.margins)))
    for here, start in zip(rows.slices, starts, strict=True):
        weights[here][: len(start)] = start
    weights[-1] = base.margins / (rows.constant * rows.unit)
    return weights


def _curvatures(plan: AdditivePlan, base: Base, rows: Rows, synthetic: Floats64) -> list[Floats64]:
    """Return the second derivative of the loss, summed over all records, for each margin."""
    n, size = plan.public.n_samples, rows.size
    norms = np.maximum((np.abs(synthetic) ** rows.order).sum(axis=1) ** (1 / rows.order), _TINY)
    short = synthetic * np.minimum(1.0, rows.width / norms)[:, None]
    moments = (n / len(synthetic)) * (short.T @ synthetic)
    moments = (moments + moments.T) / 2 + _FLOOR * n * rows.width**2 * np.eye(size)
    return [curvature * moments for curvature in base.step_curvature]


def _steps(
    oracle: Oracle,
    plan: AdditivePlan,
    base: Base,
    rows: Rows,
    start: Floats64,
    curvatures: Sequence[Floats64],
) -> tuple[Floats64, float]:
    """Take all steps, and return the mean of gradient plus curvature times weights, and its variance.

    With prior variance 1, and noise of variance u in one gradient and of v in the mean of all of them, the
    weights of a step move by (H + 1 + (v + c u) / H)^-1 (gradient - (1 + v / H) (weights - start)), times the
    rate. The mean gives the result. The caution c keeps the noise of single steps out of the weights: without
    it, noise would make residuals so large that they are clipped, and the curvature less than H.
    """
    n, identity = plan.public.n_samples, np.eye(rows.size)
    weights, total, first, variance = start.copy(), np.zeros_like(start), int(_WARM * plan.n_steps), 0.0
    moves: list[tuple[Floats64, Floats64]] = []
    for step in range(plan.n_steps):
        residuals = _residuals(base, rows, weights)
        mean, noise = ask_residuals(oracle, plan, rows, residuals, base.loss.reach, plan.step_share)
        gradient, variance = mean * n, noise * n**2
        if not moves:
            ridges = [identity + variance / plan.n_steps * np.linalg.inv(each) for each in curvatures]
            moves = [
                (np.linalg.inv(each + ridge + base.loss.caution * variance * np.linalg.inv(each)), ridge)
                for each, ridge in zip(curvatures, ridges, strict=True)
            ]
        if step >= first:
            total += gradient + np.stack([h @ w for h, w in zip(curvatures, weights.T, strict=True)], axis=1)
        for out, (inverse, ridge) in enumerate(moves):
            moved = gradient[:, out] - ridge @ (weights[:, out] - start[:, out])
            weights[:, out] += base.loss.rate * (inverse @ moved)
    counted = plan.n_steps - first
    return total / counted, variance / counted


def _residuals(base: Base, rows: Rows, weights: Floats64) -> Callable[[Block], Integers]:
    """Return the residuals of records, given weights of features."""
    tables = zip(rows.tables, rows.slices, strict=True)
    effects = [(table * rows.unit) @ weights[here] for table, here in tables]
    margins = _margins(
        effects, weights[-1] * rows.constant * rows.unit, weights[rows.joint_slice] * rows.unit
    )
    return lambda block: base.loss.residuals(margins(block), block.y)


def summed(first: Floats64, tables: Sequence[Floats64], cells: NDArray[np.integer]) -> Floats64:
    """Return `first` plus the numbers of each row's cells, of shape (n, k); 0 for a value in no cell."""
    total = np.tile(first, (len(cells), 1))
    for table, places in zip(tables, cells.T, strict=True):
        total += np.pad(table.reshape(len(table), -1), ((0, 1), (0, 0)))[places]
    return total


def _margins(
    effects: Sequence[Floats64], intercept: Floats64, joint: Floats64 | None = None
) -> Callable[[Block], Integers]:
    """Return the margins of records, as sums of integers."""
    first = _whole(intercept)
    whole = [_whole(each) for each in effects]
    finer = 2.0 ** (MARGIN_BITS + _FINER)
    heavy = None if joint is None else np.rint(joint * finer).clip(-_HEAVIEST, _HEAVIEST)

    def margins(block: Block) -> Integers:
        total = np.repeat(first[None, :], len(block), axis=0)
        for each, cells in zip(whole, block.X.T, strict=True):
            total += each.take(cells, axis=0)
        if heavy is not None and len(heavy):
            total += (block.joint.astype(np.float64) @ heavy).astype(np.int64) >> _FINER
        return total

    return margins


def _whole(values: Floats64) -> Integers:
    return np.rint(values.clip(-_GREATEST, _GREATEST) * 2.0**MARGIN_BITS).astype(np.int64)


def _posterior_weights(
    measured: Floats64, curvature: Floats64, start: Floats64, variance: float, joint: slice
) -> tuple[Floats64, Floats64]:
    """Return the posterior mean and covariance of the weights of one margin.

    `measured` is curvature times weights, plus noise. The weights of joint features have one prior variance,
    and all others have another; both are those of greatest marginal likelihood.
    """
    beyond, squared = measured - curvature @ start, curvature @ curvature
    of_joint = curvature[:, joint] @ curvature[joint]
    noise = max(variance, _TINY * float(squared.trace())) * np.eye(len(start))

    def fitted(prior: float, joint_prior: float) -> tuple[float, Floats64, Floats64]:
        total = noise + prior * (squared - of_joint) + joint_prior * of_joint
        root = np.asarray(np.linalg.cholesky(total), dtype=np.float64)
        scaled = solve_triangular(root, beyond, lower=True)
        likely = -0.5 * float(scaled @ scaled) - float(np.log(np.diag(root)).sum())
        for each in (prior, max(joint_prior, _JOINT_PRIORS[1])):
            likely -= _PENALTY * abs(math.log(each))
        return likely, root, scaled

    joint_priors = _JOINT_PRIORS if joint.stop > joint.start else (1.0,)
    joint_prior = max(joint_priors, key=lambda each: fitted(1.0, each)[0])
    prior = max(_PRIORS, key=lambda each: fitted(each, joint_prior)[0])
    variances = np.full(len(start), prior)
    variances[joint] = joint_prior
    _, root, scaled = fitted(prior, joint_prior)
    response = solve_triangular(root, curvature * variances, lower=True)
    return start + response.T @ scaled, np.diag(variances) - response.T @ response


def _model(
    rows: Rows,
    base: Base,
    copula: _Copula,
    posterior: Sequence[tuple[Floats64, Floats64]],
    synthetic: Floats64,
) -> AdditiveModel:
    """Return the effects of all cells and the interactions, given the weights of their features.

    Joint features are split into the sum of effects of columns that is nearest over synthetic records, and
    the rest; so that effects are those of a column alone, and interactions have none.
    """
    joint, single = rows.joint_slice, np.r_[: rows.joint_slice.start, rows.size - 1]
    moments = synthetic[:, single].T @ synthetic
    ridge = _SPLIT * float(moments[:, single].trace()) / len(single) * np.eye(len(single))
    split = np.zeros((rows.size, rows.size))
    split[single, joint] = np.linalg.solve(moments[:, single] + ridge, moments[:, joint])
    moved = split @ np.stack([mean for mean, _ in posterior], axis=1)
    weights = moved + np.stack([mean for mean, _ in posterior], axis=1)
    both = np.eye(rows.size) + split
    covariances = [both @ covariance @ both.T for _, covariance in posterior]

    intercept = weights[-1] * rows.constant * rows.unit
    effects, deviations, beyond = [], [], []
    for table, mass, here in zip(rows.tables, copula.masses, rows.slices, strict=True):
        features = table * rows.unit
        centred = features - mass @ features
        intercept = intercept + mass @ features @ weights[here]
        effects.append(centred @ weights[here])
        beyond.append(features @ moved[here])
        squares = [np.einsum("ij,jk,ik->i", centred, cov[here, here], centred) for cov in covariances]
        deviations.append(np.sqrt(np.maximum(np.stack(squares, axis=1), 0.0)))
    model = AdditiveModel(intercept, effects, deviations, copula.masses, base)
    if not rows.joint or not weights[joint].any():
        return model
    joint_part = Interactions(
        features=rows.joint,
        effects=beyond,
        constant=moved[-1] * rows.constant * rows.unit,
        weights=rows.unit * weights[joint],
        covariance=rows.unit**2 * np.stack([cov[joint, joint] for _, cov in posterior]),
        strengths=copula.strengths,
    )
    return replace(model, joint=joint_part)
