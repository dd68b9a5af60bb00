"""The joint distribution of cells, as far as it is released, and which pairs of columns interact.

Cells have normal scores under the released masses. Two queries are for products of two scores. Their means
are the correlations of columns, from which synthetic records are drawn. The means of residual times product
show interactions. A column with large effects or strong interactions has a large weight in joint features.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dplearn.learners.additive_losses import Base
from dplearn.learners.additive_margins import margins_of
from dplearn.learners.additive_plan import AdditivePlan
from dplearn.learners.additive_queries import Rows, moment_query, pair_query
from dplearn.learners.additive_shapes import Shape, across, synthetic_cells
from dplearn.learners.linear import moment_weights
from dplearn.queries import Oracle

__all__ = ["Copula", "ask_correlations", "ask_pairs", "of_output"]

Floats64 = NDArray[np.float64]
Integers = NDArray[np.int64]

_EXTREME = 2.5  # the greatest normal score
_LEAST_WEIGHT = 1 / 4  # of a column, as a share of the greatest
_LEAST_PAIRED = 0.1  # the same where interactions were found, for columns without any
_LEAST_VARIANCE = 0.05
_LEAST_EIGENVALUE = 0.02
_LEAST_KEPT = 0.3  # of the squares of scores, after shortening
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Copula:
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


def ask_correlations(
    oracle: Oracle, plan: AdditivePlan, masses: list[Floats64], shapes: Sequence[Shape]
) -> Copula:
    """Query the correlations of normal scores, for labels of columns weighted by the energy of their shapes.

    For numbers all columns have one weight: one with a small effect alone may have a large one among others,
    and wrong correlations make joint features of records longer than those of synthetic ones.
    """
    orders = [
        np.arange(column.size)
        if column.ordered
        else np.argsort(_main_effects(plan, mass, shape), kind="stable")
        for column, mass, shape in zip(plan.columns, masses, shapes, strict=True)
    ]
    d = len(masses)
    if not plan.correlated:
        return Copula(masses, orders, np.eye(d), [], np.ones(d), np.zeros((d, d)))
    scores = [_normal_scores(mass, order) for mass, order in zip(masses, orders, strict=True)]
    weights = np.ones(d) if plan.narrows else np.maximum(_sizes(masses, shapes), _LEAST_WEIGHT)
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
    # Records that are far out in several columns are shortened, which makes all products smaller alike.
    kept = np.clip(np.average(np.diag(found), weights=weights**2), _LEAST_KEPT, 1.0)
    found, noise = found / kept, noise / kept
    if plan.narrows:
        found = _without_noise(found, np.sqrt(np.diag(noise))).clip(-0.99, 0.99)
    else:
        found = (found**3 / (found**2 + noise**2)).clip(-0.99, 0.99)  # shrunk where it is mostly noise
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)
    found = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(found))
    found = found / np.outer(scale, scale)
    return Copula(masses, orders, found, scores, weights, np.zeros((d, d)))


def _without_noise(found: Floats64, units: Floats64) -> Floats64:
    """Return correlations off the diagonal without noise of standard deviation units[i] * units[j].

    Noise can hide each correlation of many columns that share a factor, but not the factor. The eigenvalues
    of d x d noise of variance 1 are within 2 sqrt(d) of 0. Those within become 0, and the others what has the
    least expected squared error.
    """
    scaled = found / np.outer(units, units)
    np.fill_diagonal(scaled, 0.0)
    values, vectors = np.linalg.eigh(scaled)
    sizes = np.sign(values) * np.sqrt(np.maximum(values**2 - 4 * len(values), 0.0))
    return np.asarray((vectors * sizes) @ vectors.T * np.outer(units, units))


def ask_pairs(
    oracle: Oracle, plan: AdditivePlan, base: Base, shapes: Sequence[Sequence[Shape]], copula: Copula
) -> list[Copula]:
    """Query residuals times products of normal scores, and give interacting columns larger weights.

    Without interactions, residuals are not correlated with products of scores. Each output has weights of its
    own.
    """
    d, k, n = len(copula.scores), plan.loss.n_outputs, plan.public.n_samples
    tables = [score[:, None] for score in copula.scores]
    rows = Rows.of(tables, constant=0.0, length=math.sqrt(d), bits=plan.bits.moments)
    margins = margins_of([shape.kept * shape.effects for shape in across(shapes)], base.margins)
    query = pair_query(
        rows,
        lambda block: base.loss.residuals(margins(block), block.y),
        n_outputs=k,
        reach=base.loss.reach,
        bits=plan.bits.pairs,
    )
    answer = oracle.ask(query, plan.shares.pairs)[0]
    found = answer.means.reshape(k, -1) * rows.width**2
    copulas, start = [], 0
    for output, own in zip(base.outputs, shapes, strict=True):
        stop = start + len(output.margins)
        variances = answer.noise_variance * rows.width**4 + output.variance[:, None] / n
        copulas.append(_paired(of_output(copula, own), own, found[start:stop], variances))
        start = stop
    return copulas


def of_output(copula: Copula, shapes: Sequence[Shape]) -> Copula:
    """Return the copula with the weights of columns that the shapes of one output give them."""
    return replace(copula, weights=np.maximum(_sizes(copula.masses, shapes), _LEAST_WEIGHT))


def _paired(copula: Copula, shapes: Sequence[Shape], found: Floats64, variances: Floats64) -> Copula:
    """Return the copula with weights for the pairs of columns that the residuals of one output show."""
    d = len(copula.scores)
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


def _main_effects(plan: AdditivePlan, mass: Floats64, shape: Shape) -> Floats64:
    """Return an effect of each category: on the last margin, or of several outputs their main direction."""
    if plan.n_outputs == 1:
        return shape.effects[:, -1]
    _, _, directions = np.linalg.svd(np.sqrt(mass)[:, None] * shape.effects, full_matrices=False)
    return np.asarray(shape.effects @ directions[0])


def _sizes(masses: Sequence[Floats64], shapes: Sequence[Shape]) -> Floats64:
    """Return the root mean square of the effects of each column, as a share of the greatest."""
    squares = [float((mass @ shape.effects**2).sum()) for mass, shape in zip(masses, shapes, strict=True)]
    return np.asarray(np.sqrt(np.array(squares) / max(*squares, _TINY)))


def _normal_scores(mass: Floats64, order: NDArray[np.intp]) -> Floats64:
    """Return a normal score for each cell, standardised."""
    ordered, scores = mass[order], np.empty(len(mass))
    middles = (np.cumsum(ordered) - ordered / 2).clip(_TINY, 1 - _TINY)
    scores[order] = ndtri(middles).clip(-_EXTREME, _EXTREME)
    scores -= mass @ scores
    return np.asarray(scores / max(math.sqrt(float(mass @ scores**2)), 0.3))
