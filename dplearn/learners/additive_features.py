"""The features of the whole model: first shapes, what these may have missed, and joint features.

The features of a record are, for each column, the first shape and the main directions of its posterior
covariance; and for interactions, smooth functions of all columns. All have mean 0, which keeps rows short.
A gradient has the same noise in each number of a row, so a feature on a larger scale is measured better, and
rows are longer. The scales are those for which the sum of the posterior variances is least.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels.simplex import nearest_shares
from dplearn.learners.additive_columns import Column, kernel
from dplearn.learners.additive_copula import Copula
from dplearn.learners.additive_joint import JointBasis
from dplearn.learners.additive_losses import Base
from dplearn.learners.additive_plan import AdditivePlan
from dplearn.learners.additive_queries import Rows
from dplearn.learners.additive_shapes import Shape
from dplearn.queries import LabelledRows

__all__ = ["Features", "feature_rows", "features_of", "joint_basis", "rows_of_features"]

Floats64 = NDArray[np.float64]
Integers = NDArray[np.int64]

_SPREAD = 0.4  # the greatest prior standard deviation of the weight of a shape
# The prior variance of what the first shape has missed, as a share of its posterior covariance: it grows with
# the resolution times the curvature, between these ends. Rare labels have little curvature.
_MISSED, _LEAST_MISSED, _MOST_MISSED = 1.2e-3, 0.2, 1.0
_LINES = 0.2  # for flexible shapes, the share of a stiff kernel that is added to this covariance
_FLEXIBLE = 4  # the level from which on it is added
_SMALL = 3e-3  # eigenvalues below this share of the greatest are dropped
_MOST_FEATURES = 600
_AMPLITUDE = 0.8  # of joint features
_COUNTED = 0.3  # of the variance of noise in the choice of scales: priors are narrower than some effects
_CONSTANT = 0.5
_LENGTH = 0.85  # the norm to which rows are shortened, in root mean squares
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Features:
    """The features of the whole model, in the order in which a row has them.

    Attributes
    ----------
    tables : list of ndarray of shape (cells, r)
        For each column the features of each cell. The first are the main directions of the shape; the others,
        if the norm is L2, those of its posterior covariance.
    joint : JointBasis or None
        The joint features.
    constant : float
        The last feature.
    starts : list of ndarray of shape (first, k)
        The prior weights of the first features of each column.
    priors : ndarray of shape (size,)
        The prior variances of the weights.
    others : ndarray of bool of shape (size,)
        Which features are directions of the posterior covariance of a shape.
    omitted : list of ndarray of shape (cells,)
        The variances of centred effects in directions that are no features, from the covariance of the shape.
    missed : float
        The prior variance of what the first shapes have missed, as a share of their posterior covariance.
    """

    tables: list[Floats64]
    joint: JointBasis | None
    constant: float
    starts: list[Floats64]
    priors: Floats64
    others: NDArray[np.bool_]
    omitted: list[Floats64]
    missed: float


def features_of(
    plan: AdditivePlan,
    base: Base,
    shapes: Sequence[Shape],
    masses: Sequence[Floats64],
    joint: JointBasis | None = None,
    joint_energies: Floats64 | None = None,
) -> Features:
    """Return the features, on the scales that suit the noise; without those that it would hide.

    Parameters
    ----------
    plan : AdditivePlan
        Public. The plan of the fit.
    base : Base
        Released. The distribution of the targets.
    shapes : sequence of Shape
        Released. The first shape of each column.
    masses : sequence of ndarray of shape (cells,)
        Released. The shares of records in the cells of each column.
    joint : JointBasis, optional
        Released. The joint features, of weights with prior variance 1.
    joint_energies : ndarray of shape (size of the joint features,), optional
        Released. Their mean squares.
    """
    clear = plan.resolution * float(base.curvature.max())
    missed = min(max(_MISSED * clear, _LEAST_MISSED), _MOST_MISSED)
    tables, starts, variances = [], [], []
    for column, shape, mass in zip(plan.columns, shapes, masses, strict=True):
        table, start, variance = _of_column(plan, base, column, shape, mass, missed)
        tables.append(table)
        starts.append(start)
        variances.append(variance)
    none = np.zeros(0)
    constant, of_joint = _CONSTANT * math.sqrt(base.unit), none if joint_energies is None else joint_energies
    energies = np.concatenate([*_energies(base, tables, masses), of_joint, [constant**2]])
    first = np.concatenate(
        [*(np.arange(table.shape[1]) < len(start) for table, start in zip(tables, starts, strict=True))]
        + [np.zeros(len(of_joint), bool), [True]]
    )
    scales = _scales(plan, base, energies, first)
    ends = np.cumsum([table.shape[1] for table in tables])
    own, others = np.split(scales, ends), np.split(~first & (scales > 0), ends)
    omitted = [
        np.maximum(variance - np.square(table[:, other]).sum(axis=1) / missed, 0.0)
        for table, other, variance in zip(tables, others[:-1], variances, strict=True)
    ]
    kept = scales > 0
    columns = np.arange(len(scales)) < ends[-1]
    return Features(
        [(table * scale)[:, scale > 0] for table, scale in zip(tables, own[:-1], strict=True)],
        joint.scaled(own[-1][:-1]) if joint else None,
        constant * float(scales[-1]),
        [start / scale[: len(start), None] for start, scale in zip(starts, own[:-1], strict=True)],
        1 / scales[kept] ** 2,
        (~first & columns)[kept],
        omitted,
        missed,
    )


def _of_column(
    plan: AdditivePlan, base: Base, column: Column, shape: Shape, mass: Floats64, missed: float
) -> tuple[Floats64, Floats64, Floats64]:
    """Return the features of one column, of weights with prior variance 1.

    Returns
    -------
    table : ndarray of shape (cells, r)
        With mean 0 over the masses.
    start : ndarray of shape (first, k)
        The prior weights of the first features.
    variances : ndarray of shape (cells,)
        The variances of the centred effects.
    """
    vectors, sizes, outputs = np.linalg.svd(shape.effects, full_matrices=False)
    main = sizes > _SMALL * sizes[0]
    main[0] = True
    spread = _SPREAD * math.sqrt(shape.share)
    columns = [spread * (vectors * sizes)[:, main]]
    more = np.zeros_like(shape.covariance)
    if plan.order == 2:
        if plan.level >= _FLEXIBLE:
            more = _LINES * base.unit * kernel(column, 1)
        values, vectors = np.linalg.eigh(missed * (shape.covariance + more))
        kept = values > max(_SMALL * float(values[-1]), _TINY * base.unit)
        columns.append(vectors[:, kept] * np.sqrt(values[kept]))
    table = np.concatenate(columns, axis=1)
    return (
        table - mass @ table,
        shape.kept / spread * outputs[main],
        _centred_variances(shape.covariance + more, mass),
    )


def _energies(base: Base, tables: Sequence[Floats64], masses: Sequence[Floats64]) -> list[Floats64]:
    """Return the mean square of each feature of each column; 0 for those that would only be noise."""
    energies = [mass @ table**2 for table, mass in zip(tables, masses, strict=True)]
    falling = np.sort(np.concatenate(energies))[::-1]
    # Features of cells without mass would only be noise.
    least = max(falling[min(_MOST_FEATURES, len(falling)) - 1], _TINY * base.unit)
    return [np.where(energy >= least, energy, 0.0) for energy in energies]


def _scales(plan: AdditivePlan, base: Base, energies: Floats64, first: NDArray[np.bool_]) -> Floats64:
    """Return the scale of each feature; 0 for one that noise would hide.

    Let v be the mean square of a feature on the scale 1, where its weight has the prior variance 1, and let
    its share x of the mean square of a row be measured with noise of variance u / x. The posterior variance
    is v u / (v x + u). The sum over all features is least for shares that are the positive part of a level
    minus u / v. These are the projection of -u / v onto the simplex.

    The first features have at least the scale of the largest one: without them there would be no shape.
    """
    if plan.order == 1:
        return np.ones(len(energies))
    noise = _COUNTED * (plan.step_deviation / float(base.step_curvature.max())) ** 2
    some = energies > 0
    scales = np.zeros(len(energies))
    shares = nearest_shares(-noise / energies[some])
    scales[some] = np.sqrt(shares / energies[some] * energies.sum())
    return np.where(first, np.maximum(scales, scales[energies.argmax()]), scales)


def _centred_variances(covariance: Floats64, mass: Floats64) -> Floats64:
    """Return the variance of each effect minus the mean effect."""
    mixed = covariance @ mass
    return np.asarray(np.diag(covariance) - 2 * mixed + mass @ mixed)


def joint_basis(plan: AdditivePlan, base: Base, copula: Copula, cells: Integers) -> JointBasis | None:
    """Return the joint features, of weights with prior variance 1; None if the plan has none.

    Parameters
    ----------
    plan, base
        As for `features_of`.
    copula : Copula
        Released. The scores, weights and correlations of the columns.
    cells : ndarray of int64 of shape (n, d)
        Released. Synthetic records.
    """
    if not plan.n_joint:
        return None
    return JointBasis.of(
        copula.scores,
        copula.weights,
        copula.correlations,
        cells,
        size=plan.n_joint,
        amplitude=_AMPLITUDE * math.sqrt(base.unit),
    )


def rows_of_features(plan: AdditivePlan, features: Features, cells: Integers) -> Rows:
    """Return the features as integers, and the norm to which rows are shortened.

    Parameters
    ----------
    plan : AdditivePlan
        Public. The plan of the fit.
    features : Features
        Released.
    cells : ndarray of int64 of shape (n, d)
        Released. Synthetic records.
    """
    tables, joint, order = features.tables, features.joint, plan.order
    norms = sum((np.abs(table) ** order).sum(axis=1)[cells[:, place]] for place, table in enumerate(tables))
    norms = norms + features.constant**order
    if joint:
        norms = norms + (joint.values(cells) ** 2).sum(axis=1)
    length = _LENGTH * float(np.mean(norms)) ** (1 / order)
    bits = plan.bits.rows
    return Rows.of(tables, constant=features.constant, length=length, bits=bits, order=order, joint=joint)


def feature_rows(rows: Rows, cells: Integers) -> Floats64:
    """Return the rows of synthetic records, of shape (n, size)."""
    records = LabelledRows(cells, np.zeros(len(cells), dtype=np.int64))
    return np.asarray(rows.of_records(records) * rows.unit, dtype=np.float64)
