"""The features of the whole model: first shapes, what these may have missed, and joint features.

The features of a record are, for each column, the first shape and the main directions of its posterior
covariance; and for interactions, smooth functions of all columns. All are scaled so that a weight has the
prior variance 1, and made integers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.additive_columns import kernel
from dplearn.learners.additive_copula import Copula
from dplearn.learners.additive_joint import JointBasis
from dplearn.learners.additive_losses import Base
from dplearn.learners.additive_plan import AdditivePlan
from dplearn.learners.additive_queries import Rows
from dplearn.learners.additive_shapes import KEPT, Shape
from dplearn.queries import Examples

__all__ = ["Features", "feature_rows", "features_of", "joint_basis", "rows_of_features"]

Floats64 = NDArray[np.float64]
Integers = NDArray[np.int64]

_SPREAD = 0.4  # the prior standard deviation of the weight of a shape
# The prior variance of what the first shape has missed, as a share of its posterior covariance: it grows with
# the resolution times the curvature, between these ends. Rare labels have little curvature.
_MISSED, _LEAST_MISSED, _MOST_MISSED = 1.2e-3, 0.1, 1.0
_LINES = 0.2  # for flexible shapes, the part of a stiff kernel that is added to this covariance
_FLEXIBLE = 4  # the level from which on it is added
_SMALL = 3e-3  # eigenvalues below this share of the greatest are dropped
_MOST_FEATURES = 600
_AMPLITUDE = math.sqrt(3.0)  # of joint features
_HIDDEN = 0.2  # joint features with a smaller signal, in standard deviations of the noise, are left out
_CONSTANT = 0.5
_LENGTH = 0.85  # the norm to which rows are shortened, in root mean squares
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Features:
    """The features of the whole model, whose weights have the prior variance 1.

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
        The variances of centred effects in directions that are no features, from the covariance of the shape.
    missed : float
        The prior variance of what the first shapes have missed, as a share of their posterior covariance.
    """

    tables: list[Floats64]
    starts: list[Floats64]
    others: list[NDArray[np.bool_]]
    omitted: list[Floats64]
    missed: float


def features_of(
    plan: AdditivePlan, base: Base, shapes: Sequence[Shape], masses: Sequence[Floats64]
) -> Features:
    """Return the features of each column: of its first shape, and of what this may have missed.

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
    """
    clear = plan.resolution * float(base.curvature.max())
    missed = min(max(_MISSED * clear, _LEAST_MISSED), _MOST_MISSED)
    tables, starts, variances = [], [], []
    for column, shape, mass in zip(plan.columns, shapes, masses, strict=True):
        vectors, sizes, outputs = np.linalg.svd(shape.effects, full_matrices=False)
        main = sizes > _SMALL * sizes[0]
        main[0] = True
        parts = [_SPREAD * (vectors * sizes)[:, main]]
        more = np.zeros_like(shape.covariance)
        if plan.order == 2:
            if plan.level >= _FLEXIBLE:
                more = _LINES * base.unit * kernel(column, 1)
            values, vectors = np.linalg.eigh(missed * (shape.covariance + more))
            kept = values > max(_SMALL * float(values[-1]), _TINY * base.unit)
            parts.append(vectors[:, kept] * np.sqrt(values[kept]))
        tables.append(np.concatenate(parts, axis=1))
        starts.append(KEPT / _SPREAD * outputs[main])
        variances.append(_centred_variances(shape.covariance + more, mass))
    energies = [mass @ (table - mass @ table) ** 2 for table, mass in zip(tables, masses, strict=True)]
    for energy, start in zip(energies, starts, strict=True):
        energy[: len(start)] = np.inf
    falling = np.sort(np.concatenate(energies))[::-1]
    # Features of cells without mass would only be noise.
    least = max(falling[min(_MOST_FEATURES, len(falling)) - 1], _TINY * base.unit)
    tables = [table[:, energy >= least] for table, energy in zip(tables, energies, strict=True)]
    others = [np.arange(table.shape[1]) >= len(start) for table, start in zip(tables, starts, strict=True)]
    omitted = []
    for table, other, mass, variance in zip(tables, others, masses, variances, strict=True):
        centred = table[:, other] - mass @ table[:, other]
        omitted.append(np.maximum(variance - np.square(centred).sum(axis=1) / missed, 0.0))
    return Features(tables, starts, others, omitted, missed)


def _centred_variances(covariance: Floats64, mass: Floats64) -> Floats64:
    """Return the variance of each effect minus the mean effect."""
    mixed = covariance @ mass
    return np.asarray(np.diag(covariance) - 2 * mixed + mass @ mixed)


def joint_basis(plan: AdditivePlan, base: Base, copula: Copula, cells: Integers) -> JointBasis | None:
    """Return the joint features, without those that noise would hide; None if the plan has none.

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


def rows_of_features(
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


def feature_rows(rows: Rows, cells: Integers) -> Floats64:
    """Return the rows of synthetic records, of shape (n, size)."""
    records = Examples(cells, np.zeros(len(cells), dtype=np.int64))
    return np.asarray(rows.of_records(records) * rows.unit, dtype=np.float64)
