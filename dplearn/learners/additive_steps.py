"""The refinement of the first shapes to a joint model, by noisy gradient steps.

The first shapes are effects of single columns; where columns are correlated, their sum counts effects twice.
The features of the joint model are, for each column, the first shape and the main directions of its posterior
covariance. Noisy sums of residual times features are gradients of the loss. Each step moves the weights by a
gradient times a preconditioner: the second moments of synthetic records, drawn from the released masses and
correlations. All gradients together are a measurement of the weights, with known noise, from which the
posterior mean is the result.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from dplearn.learners.additive_columns import kernel
from dplearn.learners.additive_losses import MARGIN_BITS, RESIDUAL_BITS, Base, SquaredLoss
from dplearn.learners.additive_plan import AdditivePlan
from dplearn.learners.additive_queries import OFF, ON, Rows, moment_query
from dplearn.learners.additive_shapes import (
    Shape,
    ask_masses,
    ask_residuals,
    ask_shapes,
    synthetic_cells,
)
from dplearn.queries import Examples, HistogramQuery, Oracle

__all__ = ["AdditiveModel", "learn_additive"]

Floats64 = NDArray[np.float64]
Integers = NDArray[np.int64]

# Normal scores and correlations
_EXTREME = 2.5  # the greatest normal score
_LEAST_WEIGHT = 1 / 4  # of a column, as a share of the greatest
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
# Steps
_CONSTANT = 0.5
_LENGTH = 0.85  # the norm to which rows are shortened, in root mean squares
_SYNTHETIC, _CELLS = 3000, 200_000  # the most synthetic records, and the most of their cells
_FLOOR = 0.01  # added to the second moments, as a share of the squared norm of a row
_RATE = 0.35  # of a step, as a share of Newton's
_WARM = 0.25  # the share of the steps before the first that counts
_PRIORS = (0.1, 0.3, 1.0, 3.0)  # variances of the weights
_PENALTY = 0.1  # the log-likelihood falls by this times the log-variance
_TINY = 1e-9
_GREATEST = 1e6  # margins beyond are clipped
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
    spread : float
        Released. The root mean square of residuals of a regression, in the unit of the margins.
    """

    intercept: Floats64
    effects: list[Floats64]
    deviations: list[Floats64]
    masses: list[Floats64]
    base: Base
    spread: float = 0.0


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
    base = plan.loss.base(oracle.ask(plan.loss.base_query(), plan.shares[0])[0])
    masses, variance = ask_masses(oracle, plan)
    shapes = ask_shapes(oracle, plan, base, masses, variance)
    if plan.narrows:
        base, shapes = _narrowed(oracle, plan, base, shapes)
    copula = _ask_correlations(oracle, plan, masses, shapes)
    model = _refined(oracle, plan, base, shapes, copula)
    if not plan.narrows:
        return model
    spread = _ask_spread(oracle, plan, base, _margins(model.effects, model.intercept))
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
    scaled = [
        Shape(shape.effects * wider, shape.covariance * wider**2, shape.doubt * wider**2) for shape in shapes
    ]
    return replace(narrow, unit=base.unit * wider**2), scaled


def _ask_spread(
    oracle: Oracle, plan: AdditivePlan, base: Base, margins: Callable[[Examples], Integers]
) -> float:
    """Return the root mean square of residuals, from a histogram of their magnitudes."""
    size = plan.n_bins
    edges = np.floor((1 << RESIDUAL_BITS) * 2.0 ** (-np.arange(size - 1)[::-1] / 2))
    middles = 2.0 ** (-np.arange(size)[::-1] / 2 + 0.25)

    def magnitude(records: Examples) -> Integers:
        return np.digitize(np.abs(base.loss.residuals(margins(records), records.y))[:, 0], edges, right=True)

    answer = oracle.ask(HistogramQuery(magnitude, categories=size), plan.shares[4])[0]
    noise = math.sqrt(answer.noise_variance)
    seen = np.where(answer.means > 2 * noise, answer.means, 0.0)
    if noise > _UNCLEAR or not seen.any():
        return 1.0
    return math.sqrt(float(seen @ np.minimum(middles, 1.0) ** 2) / float(seen.sum()))


@dataclass(frozen=True, eq=False)
class _Copula:
    """The released distribution of cells: masses, correlations, and the order that these refer to."""

    masses: list[Floats64]
    orders: list[NDArray[np.intp]]
    correlations: Floats64

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
        return _Copula(masses, orders, np.eye(d))
    scores = [_normal_scores(mass, order) for mass, order in zip(masses, orders, strict=True)]
    energies = np.array(
        [float((mass @ shape.effects**2).sum()) for mass, shape in zip(masses, shapes, strict=True)]
    )
    weights = np.maximum(np.sqrt(energies / max(float(energies.max()), _TINY)), _LEAST_WEIGHT)
    tables = [weight * score[:, None] for weight, score in zip(weights, scores, strict=True)]
    rows = Rows.of(tables, constant=0.0, length=float(np.linalg.norm(weights)), bits=plan.bits.moments)
    answer = oracle.ask(moment_query(rows), plan.shares[3])[0]
    first, second = np.triu_indices(d)
    units = rows.width**2 / np.outer(weights, weights)
    variances = np.array([float(mass @ score**2) for mass, score in zip(masses, scores, strict=True)])
    units /= np.sqrt(np.outer(variances, variances)).clip(_LEAST_VARIANCE)
    found = np.zeros((d, d))
    found[first, second] = answer.means / np.where(first == second, ON, OFF)
    found = units * (found + np.triu(found, 1).T)
    noise = units * math.sqrt(answer.noise_variance) / OFF
    found = (found**3 / (found**2 + noise**2)).clip(-0.99, 0.99)  # shrunk where it is mostly noise
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)
    found = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(found))
    return _Copula(masses, orders, found / np.outer(scale, scale))


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
    features = _features(plan, base, shapes, copula.masses)
    cells = copula.drawn(max(500, min(_SYNTHETIC, _CELLS // len(features.tables))))
    rows = _rows_of_features(plan, base, features.tables, cells)
    synthetic = _feature_rows(rows, cells)
    weights = _start(rows, base, features.starts)
    seen = _curvatures(plan, base, rows, synthetic)
    floor = _FLOOR * plan.public.n_samples * rows.width**2 * np.eye(rows.size)
    curvatures = [each + least * floor for each, least in zip(seen, base.step_curvature, strict=True)]
    measured, variance = _steps(oracle, plan, base, rows, weights, curvatures)
    others = np.concatenate([*features.others, [False]])
    posterior = []
    for out, curvature in enumerate(curvatures):
        mean, prior = _posterior_weights(measured[:, out], curvature, weights[:, out], variance)
        # The floor is no measurement, and the first sums have shown no more than their posterior covariance.
        priors = np.where(others, 1 / _REST, prior)
        posterior.append((mean, _covariance_of_weights(seen[out], priors, variance)))
    return _model(rows, base, copula.masses, posterior, features.omitted)


@dataclass(frozen=True, eq=False)
class _Features:
    """The features of the joint model, whose weights have the prior variance 1.

    Attributes
    ----------
    tables : list of ndarray of shape (cells, r)
        For each column the features of each cell. The first are the main directions of the shape; the others,
        if the norm is L2, those of its posterior covariance.
    starts : list of ndarray of shape (first, k)
        The prior weights of the first features.
    others : list of ndarray of bool of shape (r,)
        Which features are no first ones.
    omitted : list of ndarray of shape (cells,)
        The variances of centred effects in directions that are no features, from the doubt of the shape.
    """

    tables: list[Floats64]
    starts: list[Floats64]
    others: list[NDArray[np.bool_]]
    omitted: list[Floats64]


def _features(
    plan: AdditivePlan, base: Base, shapes: Sequence[Shape], masses: Sequence[Floats64]
) -> _Features:
    tables, starts, doubts = [], [], []
    for column, shape, mass in zip(plan.columns, shapes, masses, strict=True):
        vectors, sizes, outputs = np.linalg.svd(shape.effects, full_matrices=False)
        main = sizes > _SMALL * sizes[0]
        main[0] = True
        parts = [_SPREAD * (vectors * sizes)[:, main]]
        more = np.zeros_like(shape.covariance)
        if plan.order == 2:
            if plan.level >= _FLEXIBLE:
                more = _LINES * base.unit * kernel(column, 1)
            values, vectors = np.linalg.eigh(_REST * (shape.covariance + more))
            kept = values > max(_SMALL * float(values[-1]), _TINY * base.unit)
            parts.append(vectors[:, kept] * np.sqrt(values[kept]))
        tables.append(np.concatenate(parts, axis=1))
        starts.append(_KEPT / _SPREAD * outputs[main])
        doubts.append(_centred_variances(shape.doubt + more, mass))
    energies = [mass @ (table - mass @ table) ** 2 for table, mass in zip(tables, masses, strict=True)]
    for energy, start in zip(energies, starts, strict=True):
        energy[: len(start)] = np.inf
    falling = np.sort(np.concatenate(energies))[::-1]
    # Features of cells without mass would only be noise.
    least = max(falling[min(_MOST_FEATURES, len(falling)) - 1], _TINY * base.unit)
    tables = [table[:, energy >= least] for table, energy in zip(tables, energies, strict=True)]
    others = [np.arange(table.shape[1]) >= len(start) for table, start in zip(tables, starts, strict=True)]
    omitted = []
    for table, other, mass, doubt in zip(tables, others, masses, doubts, strict=True):
        centred = table[:, other] - mass @ table[:, other]
        omitted.append(np.maximum(doubt - np.square(centred).sum(axis=1) / _REST, 0.0))
    return _Features(tables, starts, others, omitted)


def _centred_variances(covariance: Floats64, mass: Floats64) -> Floats64:
    """Return the variance of each effect minus the mean effect."""
    mixed = covariance @ mass
    return np.asarray(np.diag(covariance) - 2 * mixed + mass @ mixed)


def _rows_of_features(plan: AdditivePlan, base: Base, tables: Sequence[Floats64], cells: Integers) -> Rows:
    """Return the features as integers, and the norm to which rows are shortened."""
    constant = _CONSTANT * math.sqrt(base.unit)
    norms = sum(
        (np.abs(table) ** plan.order).sum(axis=1)[cells[:, place]] for place, table in enumerate(tables)
    )
    norms = norms + constant**plan.order
    length = _LENGTH * float(np.mean(norms)) ** (1 / plan.order)
    return Rows.of(tables, constant=constant, length=length, bits=plan.bits.rows, order=plan.order)


def _feature_rows(rows: Rows, cells: Integers) -> Floats64:
    """Return the rows of synthetic records, of shape (n, size)."""
    records = Examples(cells, np.zeros(len(cells), dtype=np.int64))
    return np.asarray(rows.of_records(records) * rows.unit, dtype=np.float64)


def _start(rows: Rows, base: Base, starts: Sequence[Floats64]) -> Floats64:
    weights, place = np.zeros((rows.size, len(base.margins))), 0
    for table, start in zip(rows.tables, starts, strict=True):
        weights[place : place + len(start)] = start
        place += table.shape[1]
    weights[-1] = base.margins / (rows.constant * rows.unit)
    return weights


def _curvatures(plan: AdditivePlan, base: Base, rows: Rows, synthetic: Floats64) -> list[Floats64]:
    """Return the second derivative of the loss, summed over all records, for each margin."""
    n = plan.public.n_samples
    norms = np.maximum((np.abs(synthetic) ** rows.order).sum(axis=1) ** (1 / rows.order), _TINY)
    short = synthetic * np.minimum(1.0, rows.width / norms)[:, None]
    moments = (n / len(synthetic)) * (short.T @ synthetic)
    moments = (moments + moments.T) / 2
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

    With prior variance 1 and noise of variance v, the weights of a step move by (H + 1 + v / H)^-1 (gradient
    - (1 + v / H) (weights - start)), times the rate. The v is that of the mean of all gradients, which gives
    the result.
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
                (np.linalg.inv(each + ridge), ridge) for each, ridge in zip(curvatures, ridges, strict=True)
            ]
        if step >= first:
            total += gradient + np.stack([h @ w for h, w in zip(curvatures, weights.T, strict=True)], axis=1)
        for out, (inverse, ridge) in enumerate(moves):
            moved = gradient[:, out] - ridge @ (weights[:, out] - start[:, out])
            weights[:, out] += _RATE * (inverse @ moved)
    counted = plan.n_steps - first
    return total / counted, variance / counted


def _residuals(base: Base, rows: Rows, weights: Floats64) -> Callable[[Examples], Integers]:
    """Return the residuals of records, given weights of features."""
    effects, place = [], 0
    for table in rows.tables:
        effects.append((table * rows.unit) @ weights[place : place + table.shape[1]])
        place += table.shape[1]
    margins = _margins(effects, weights[-1] * rows.constant * rows.unit)
    return lambda records: base.loss.residuals(margins(records), records.y)


def _margins(effects: Sequence[Floats64], intercept: Floats64) -> Callable[[Examples], Integers]:
    """Return the margins of records, as sums of integers."""
    first = _whole(intercept)
    whole = [_whole(each) for each in effects]

    def margins(records: Examples) -> Integers:
        total = np.repeat(first[None, :], len(records), axis=0)
        for each, cells in zip(whole, records.X.T, strict=True):
            total += each.take(cells, axis=0)
        return total

    return margins


def _whole(values: Floats64) -> Integers:
    return np.rint(values.clip(-_GREATEST, _GREATEST) * 2.0**MARGIN_BITS).astype(np.int64)


def _posterior_weights(
    measured: Floats64, curvature: Floats64, start: Floats64, variance: float
) -> tuple[Floats64, float]:
    """Return the posterior mean of the weights of one margin, and their prior variance.

    `measured` is curvature times weights, plus noise; the prior variance of the weights is the one of
    greatest marginal likelihood.
    """
    beyond, squared, best = measured - curvature @ start, curvature @ curvature, None
    noise = max(variance, _TINY * float(squared.trace())) * np.eye(len(start))
    for prior in _PRIORS:
        root = np.linalg.cholesky(noise + prior * squared)
        scaled = solve_triangular(root, beyond, lower=True)
        likely = (
            -0.5 * float(scaled @ scaled)
            - float(np.log(np.diag(root)).sum())
            - _PENALTY * abs(math.log(prior))
        )
        if best is None or likely > best[0]:
            best = likely, prior, root, scaled
    assert best is not None
    _, prior, root, scaled = best
    response = prior * solve_triangular(root, curvature, lower=True)
    return start + response.T @ scaled, prior


def _covariance_of_weights(curvature: Floats64, priors: Floats64, variance: float) -> Floats64:
    """Return the posterior covariance of weights of given prior variances, measured as for their mean."""
    squared = (curvature * priors) @ curvature
    noise = max(variance, _TINY * float(squared.trace()), _TINY)
    root = np.linalg.cholesky(squared + noise * np.eye(len(priors)))
    response = solve_triangular(root, curvature * priors, lower=True)
    return np.asarray(np.diag(priors) - response.T @ response)


def _model(
    rows: Rows,
    base: Base,
    masses: list[Floats64],
    posterior: Sequence[tuple[Floats64, Floats64]],
    omitted: Sequence[Floats64],
) -> AdditiveModel:
    """Return the effects of all cells, given the weights of their features; what is omitted has no effect."""
    weights = np.stack([mean for mean, _ in posterior], axis=1)
    intercept, place = weights[-1] * rows.constant * rows.unit, 0
    effects, deviations = [], []
    for table, mass, beyond in zip(rows.tables, masses, omitted, strict=True):
        features, here = table * rows.unit, slice(place, place + table.shape[1])
        place = here.stop
        centred = features - mass @ features
        intercept = intercept + mass @ features @ weights[here]
        effects.append(centred @ weights[here])
        squares = [np.einsum("ij,jk,ik->i", centred, cov[here, here], centred) for _, cov in posterior]
        deviations.append(np.sqrt(np.maximum(np.stack(squares, axis=1), 0.0) + beyond[:, None]))
    return AdditiveModel(intercept, effects, deviations, masses, base)
