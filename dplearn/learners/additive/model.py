"""The features of the whole model, and the model: linear functions of them, computed from released values.

The features of a record are, for each column, the first shape and the main directions of its posterior
covariance; and joint features: smooth functions of all columns. All have mean 0, which keeps rows short. A
feature on a larger scale is measured better, and rows are longer: the scales are those for which the sum of
the posterior variances is least. The model has the effects of the columns, and the rest of the joint features
as its interactions.

Features of a record must depend on this record alone. So all numbers of joint features after the scores are
integers, of magnitudes for which products of matrices in floats are exact.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels import blocks, nearest_shares
from dplearn.learners.additive.cells import Column, kernel
from dplearn.learners.additive.losses import Base
from dplearn.learners.additive.plan import AdditivePlan
from dplearn.learners.additive.queries import RecordFeatures, Rows
from dplearn.learners.additive.start import Copula, Shape
from dplearn.learners.bins import summed
from dplearn.queries import LabelledRows

#: The most landmarks.
LANDMARKS = 400
# Fewer for few features: so many for each feature, but not fewer than the second number.
_LANDMARKS_EACH, _FEW_LANDMARKS = 4, 128
_RIDGE = 0.2  # added to the variances of weighted scores, as a share of the greatest, before decorrelation
_SCALES = (0.25, 1.0)  # of the squared distance, in the two Gaussian functions
_SMALL = 1e-6  # directions of landmarks below this share of the greatest eigenvalue are dropped
_TINY = 1e-12
# Bits after the binary point of scores, of the matrix of the coordinates, of coordinates, squared distances
# and kernels. Distances above 2**_FAR count as 2**_FAR.
_SCORE, _TURN, _COORDINATE, _SQUARE, _KERNEL, _FAR = 10, 14, 10, 8, 14, 6
_WEIGHT = 28  # bits of a weight of a kernel: sums over at most 2**9 landmarks are below 2**52
_GREATEST = (1 << 15) - 1  # of a feature, and of a score, in their integers
# Of a coordinate, and of an entry of the matrix that turns scores into coordinates. Of 2**8 columns, sums of
# scores times entries are below 2**(15 + 10 + 14 + 8), and squared distances at most 2**(2 * 20 + 2 + 8).
_LARGEST = 1 << 10
BLOCK = 1 << 11  # records at once
CACHED = 1 << 7  # records whose kernels fit into a core's cache
_SPREAD = 0.4  # the greatest prior standard deviation of the weight of a shape
# The prior variance of what the first shape has missed, as a share of its posterior covariance: it grows with
# the resolution times the curvature, between these ends. Rare labels have little curvature.
_MISSED, _LEAST_MISSED, _MOST_MISSED = 1.2e-3, 0.2, 1.0
_LINES = 0.2  # for flexible shapes, the share of a stiff kernel that is added to this covariance
_FLEXIBLE = 4  # the level from which on it is added
_SMALL_SHARE = 3e-3  # eigenvalues below this share of the greatest are dropped
_MOST_FEATURES = 600
_AMPLITUDE = 0.8  # of joint features
_COUNTED = 0.3  # of the variance of noise in the choice of scales: priors are narrower than some effects
_CONSTANT = 0.5
# Of a regression, the least mean square of the constant, as a share of that of all other features together:
# noise in the mean moves all predictions, and hundreds of columns would leave the constant almost no share.
_LEAST_CONSTANT = 0.15
_LENGTH = 0.85  # the norm to which rows are shortened, in root mean squares
_LEAST = 1e-9
_AT_ONCE = 1 << 12  # records whose joint features are held as floats
_SPLIT = 1e-5  # the ridge of the split of joint features, as a share of the mean square of other features

Integers = NDArray[np.int64]
Floats64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Kernels:
    """The kernels between records and landmarks, in units of 2**-_KERNEL."""

    scores: Sequence[Floats64]  # of cells, in units of 2**-_SCORE; the last is that of unknown categories
    turn: Floats64  # of shape (d, d), in units of 2**-_TURN
    landmarks: Floats64  # of shape (m, d), in units of 2**-_COORDINATE

    def coordinates(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the coordinates of records, of shape (n, d)."""
        scores = np.empty(cells.T.shape)
        for each, column, found in zip(self.scores, cells.T, scores, strict=True):
            each.take(column, mode="clip", out=found)  # in range; this mode is faster
        places = np.floor((scores.T @ self.turn) * 2.0 ** (_COORDINATE - _SCORE - _TURN))
        return np.asarray(places.clip(-_LARGEST << _COORDINATE, _LARGEST << _COORDINATE))

    def of(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the kernels, of shape (n, m)."""
        found = np.empty((len(cells), len(self.landmarks)))
        for here, kernels in self.blocks(cells):
            found[here] = kernels
        return found

    def blocks(self, cells: NDArray[np.integer]) -> Iterator[tuple[slice, Floats64]]:
        """Yield places of records, and their kernels, in memory that the next ones take."""
        table, matrix, shape = _table(), self._squares, (CACHED, len(self.landmarks))
        products, indices = np.empty(shape), np.empty(shape, dtype=np.intp)
        for block in blocks(len(cells), BLOCK):
            places = self.coordinates(cells[block])
            sides = np.column_stack([places, np.einsum("ij,ij->i", places, places), np.ones(len(places))])
            for here in blocks(len(places), CACHED):
                few = sides[here]
                found, steps = products[: len(few)], indices[: len(few)]
                np.matmul(few, matrix, out=found)
                np.copyto(steps, found, casting="unsafe")  # rounds down: squares are not negative
                # Beyond the table, the kernel is its last number.
                table.take(steps, mode="clip", out=found)
                yield slice(block.start + here.start, block.start + here.stop), found

    @property
    def _squares(self) -> Floats64:
        """The matrix from coordinates, their squares and 1 to squared distances, in steps of the table. Its
        products, and so their sums, are multiples of a power of two below 2**52 of them: exact.
        """
        ends = self.landmarks.T
        terms = [-2 * ends, np.ones((1, ends.shape[1])), (ends**2).sum(axis=0, keepdims=True)]
        # Products take less time with a matrix in C order.
        return np.ascontiguousarray(np.concatenate(terms) * 2.0 ** (_SQUARE - 2 * _COORDINATE))


@dataclass(frozen=True, eq=False)
class JointFeatures:
    """Released joint features in integers."""

    kernels: _Kernels  # between records and landmarks
    weights: NDArray[np.int32]  # of the kernels in each feature, of shape (m, size)
    means: Floats64  # integers: what is subtracted from the weighted kernels
    step: float  # what weighted kernels are multiplied by; a power of two

    @property
    def size(self) -> int:
        return int(self.weights.shape[1])

    def of(self, cells: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return the features of records, each a function of its own record alone."""
        features, weights = np.empty((len(cells), self.size), dtype=np.int16), self.weights.astype(np.float64)
        for here, kernels in self.kernels.blocks(cells):
            sums = kernels @ weights - self.means
            features[here] = np.rint(sums * self.step).clip(-_GREATEST, _GREATEST)
        return features

    def margins(self, cells: NDArray[np.integer], weights: Floats64) -> Floats64:
        """Return the features, not rounded, times weights of shape (size, k); a feature is not computed."""
        total, found = self.step * (self.weights @ weights), np.empty((len(cells), weights.shape[1]))
        for here, kernels in self.kernels.blocks(cells):
            np.matmul(kernels, total, out=found[here])
        found -= self.step * (self.means @ weights)
        return found


@dataclass(frozen=True, eq=False)
class JointBasis:
    """Released joint features before rounding: principal components, over synthetic records, of linear
    functions of kernels between a record and some of these, its landmarks (Williams and Seeger 2001), in
    decorrelated weighted normal scores.
    """

    kernels: _Kernels
    weights: Floats64  # of the kernels in each feature, of shape (m, size)
    means: Floats64  # of the weighted kernels over synthetic records

    @classmethod
    def of(
        cls,
        scores: Sequence[Floats64],
        weights: Floats64,
        correlations: Floats64,
        cells: NDArray[np.integer],
        *,
        size: int,
        amplitude: float = 1.0,
    ) -> "JointBasis":
        """Return the joint features that vary most over synthetic records."""
        whole = [np.append(_limited(each * 2.0**_SCORE, _GREATEST), 0.0) for each in scores]
        none, greatest = np.zeros((1, len(scores))), float(_LARGEST << _TURN)
        turn = _turn(weights, correlations)
        places = _Kernels(whole, turn, none).coordinates(cells) * 2.0**-_COORDINATE
        turn = _limited(turn / math.sqrt(max(float(places.var(axis=0).sum()), _TINY)), greatest)
        landmarks = cells[: min(LANDMARKS, max(_FEW_LANDMARKS, _LANDMARKS_EACH * size))]
        kernels = _Kernels(whole, turn, _Kernels(whole, turn, none).coordinates(landmarks))
        values, vectors = np.linalg.eigh(kernels.of(landmarks) * 2.0**-_KERNEL)
        kept = values > max(_SMALL * float(values[-1]), _TINY)
        roots = vectors[:, kept] / np.sqrt(values[kept])
        projected = kernels.of(cells) * 2.0**-_KERNEL @ roots
        mean = projected.mean(axis=0)
        _, components = np.linalg.eigh((projected - mean).T @ (projected - mean) / len(cells))
        components = components[:, ::-1][:, :size]
        return cls(kernels, amplitude * roots @ components, amplitude * mean @ components)

    def values(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the features of synthetic records, of shape (n, size)."""
        return self.kernels.of(cells) * 2.0**-_KERNEL @ self.weights - self.means

    def scaled(self, scales: Floats64) -> "JointBasis | None":
        """Return the features times `scales`, without those of scale 0; None if no feature is left."""
        kept = scales > 0
        if not kept.any():
            return None
        return JointBasis(self.kernels, (self.weights * scales)[:, kept], (self.means * scales)[kept])

    def rounded(self, unit: float) -> JointFeatures:
        scaled = self.weights / (unit * 2.0**_KERNEL)
        _, exponent = math.frexp(max(float(np.abs(scaled).max(initial=0.0)), _TINY))
        raised = 2.0 ** (_WEIGHT - exponent)
        weights = _limited(scaled * raised, 2.0**_WEIGHT).astype(np.int32)
        return JointFeatures(self.kernels, weights, _limited(self.means / unit * raised, 2.0**51), 1 / raised)


def _turn(weights: Floats64, correlations: Floats64) -> Floats64:
    """Return the matrix from scores to coordinates: columns are weighted, then decorrelated."""
    values, vectors = np.linalg.eigh(weights[:, None] * correlations * weights[None, :])
    roots = np.sqrt(values.clip(0) + _RIDGE * max(float(values[-1]), _TINY))
    turn = weights[:, None] * ((vectors / roots) @ vectors.T)
    return _limited(turn * 2.0**_TURN, float(_LARGEST << _TURN))


def _limited(values: Floats64, greatest: float) -> Floats64:
    """Return the nearest integers within -greatest..greatest, 0 for NaN."""
    return np.asarray(np.rint(np.nan_to_num(values, nan=0.0).clip(-greatest, greatest)))


@cache
def _table() -> Floats64:
    """Return the kernel by squared distance, in steps of 2**-_SQUARE."""
    squares = np.arange((1 << (_FAR + _SQUARE)) + 1) * 2.0**-_SQUARE
    kernel = sum(np.exp(-scale * squares) for scale in _SCALES) / len(_SCALES)
    return np.asarray(np.rint(kernel * 2.0**_KERNEL))


@dataclass(frozen=True, eq=False)
class Features:
    """The features of the whole model, in the order in which a row has them."""

    tables: list[Floats64]  # for each column, of shape (cells, r): first directions of the shape, then others
    joint: JointBasis | None
    constant: float  # the last feature
    starts: list[Floats64]  # the prior weights of the first features of each column, of shape (first, k)
    priors: Floats64  # the prior variances of the weights
    others: NDArray[np.bool_]  # which features are directions of the posterior covariance of a shape
    omitted: list[Floats64]  # the variances of centred effects in directions that are no features
    missed: float  # the prior variance of what the shapes have missed, as a share of their covariance


def features_of(
    plan: AdditivePlan,
    base: Base,
    shapes: Sequence[Shape],
    masses: Sequence[Floats64],
    joint: JointBasis | None = None,
    joint_energies: Floats64 | None = None,
) -> Features:
    """Return the features, on the scales that suit the noise; without those that it would hide."""
    clear = plan.resolution * float(base.curvature.max())
    # All shapes have the same share.
    missed = math.sqrt(shapes[0].share) * min(max(_MISSED * clear, _LEAST_MISSED), _MOST_MISSED)
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
    """Return the features of one column, of weights with prior variance 1."""
    vectors, sizes, outputs = np.linalg.svd(shape.effects, full_matrices=False)
    main = sizes > _SMALL_SHARE * sizes[0]
    main[0] = True
    spread = _SPREAD * math.sqrt(shape.share)
    columns = [spread * (vectors * sizes)[:, main]]
    more = np.zeros_like(shape.covariance)
    if plan.order == 2:
        if plan.level >= _FLEXIBLE:
            more = _LINES * base.unit * kernel(column, 1)
        values, vectors = np.linalg.eigh(missed * (shape.covariance + more))
        kept = values > max(_SMALL_SHARE * float(values[-1]), _LEAST * base.unit)
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
    least = max(falling[min(_MOST_FEATURES, len(falling)) - 1], _LEAST * base.unit)
    return [np.where(energy >= least, energy, 0.0) for energy in energies]


def _scales(plan: AdditivePlan, base: Base, energies: Floats64, first: NDArray[np.bool_]) -> Floats64:
    """Return the scale of each feature; 0 for one that noise would hide; the first ones have at least that of
    the largest. A feature of mean square v on the scale 1, with a share x of a row and noise of variance u /
    x, has the posterior variance v u / (v x + u): the sum is least for shares that are the projection of -u /
    v onto the simplex.
    """
    if plan.order == 1:
        return np.ones(len(energies))
    noise = _COUNTED * (plan.step_deviation / float(base.step_curvature.max())) ** 2
    some = energies > 0
    scales = np.zeros(len(energies))
    shares = nearest_shares(-noise / energies[some])
    scales[some] = np.sqrt(shares / energies[some] * energies.sum())
    scales = np.where(first, np.maximum(scales, scales[energies.argmax()]), scales)
    if plan.narrows:
        share = _LEAST_CONSTANT * float(energies[:-1] @ scales[:-1] ** 2)
        scales[-1] = max(scales[-1], math.sqrt(share / energies[-1]))
    return scales


def _centred_variances(covariance: Floats64, mass: Floats64) -> Floats64:
    """Return the variance of each effect minus the mean effect."""
    mixed = covariance @ mass
    return np.asarray(np.diag(covariance) - 2 * mixed + mass @ mixed)


def joint_basis(plan: AdditivePlan, base: Base, copula: Copula, cells: Integers) -> JointBasis | None:
    """Return the joint features, of weights with prior variance 1; None if the plan has none."""
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
    tables, joint, order = features.tables, features.joint, plan.order
    norms = sum((np.abs(table) ** order).sum(axis=1)[cells[:, place]] for place, table in enumerate(tables))
    norms = norms + features.constant**order
    if joint:
        norms = norms + (joint.values(cells) ** 2).sum(axis=1)
    length = _LENGTH * float(np.mean(norms)) ** (1 / order)
    bits = plan.bits.rows
    rows = Rows.of(tables, constant=features.constant, length=length, bits=bits, order=order)
    return replace(rows, joint=joint.rounded(rows.unit)) if joint else rows


def feature_rows(rows: Rows, cells: Integers) -> Floats64:
    """Return the rows of synthetic records, of shape (n, size)."""
    records = LabelledRows(cells, np.zeros(len(cells), dtype=np.int64))
    return np.asarray(rows.of_records(records) * rows.unit, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A released additive model."""

    intercept: Floats64  # the mean margins, of shape (k,)
    effects: list[Floats64]  # for each column those of its cells on the margins, with mean 0, (cells, k)
    deviations: list[Floats64]  # their posterior standard deviations
    masses: list[Floats64]  # the shares of records in the cells
    # The loss, and the unit of the margins; None if the queries were those of a linear fit, unless its class
    # weights are balanced.
    base: Base | None = None
    joint: "Interactions | None" = None  # the part of the margins that depends on several columns together
    spread: float = 0.0  # the root mean square of residuals of a regression, in the unit of the residuals


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """A smooth function of all columns, beyond the best sum of effects of single ones; all is released."""

    features: RecordFeatures  # the function is linear in these, less the effects and the constant
    effects: list[Floats64]  # of each column, of shape (cells, k)
    constant: Floats64  # of shape (k,)
    weights: Floats64  # of the features, for each margin, of shape (size, k)
    roots: Floats64  # their squares are the posterior covariances of the weights, of shape (k, size, size)
    usual_deviation: Floats64  # root mean square over synthetic records, of shape (k,)
    # Of shape (d, d): how much residuals of the first shapes were correlated with the product of the normal
    # scores of two columns, in deviations of the noise; 0 if it was not asked for. Without any effect
    # of both columns it is seldom above 3. Strong effects on a label, or correlated columns with bends, can
    # exceed this without an interaction.
    strengths: Floats64

    def __repr__(self) -> str:
        return f"Interactions({self.features.size} joint features of {len(self.effects)} columns)"

    def scaled(self, unit: float) -> "Interactions":
        effects = [unit * each for each in self.effects]
        return replace(
            self,
            effects=effects,
            constant=unit * self.constant,
            weights=unit * self.weights,
            roots=unit * self.roots,
            usual_deviation=unit * self.usual_deviation,
        )

    def margins(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the part of the margins of records, of shape (n, k), given their cells, of shape (n, d)."""
        return self.features.margins(cells, self.weights) - summed(self.constant, self.effects, cells.T)

    def variances(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the variances of the linear function of the features, of shape (n, k)."""
        found = np.empty((len(cells), len(self.roots)))
        for here in blocks(len(cells), _AT_ONCE):
            features = self.features.of(cells[here]).astype(np.float64)
            found[here] = np.stack([((features @ root) ** 2).sum(axis=1) for root in self.roots], axis=1)
        return found


def model_of(
    rows: Rows,
    base: Base,
    copula: Copula,
    posterior: Sequence[tuple[Floats64, Floats64]],
    omitted: Sequence[Floats64],
    synthetic: Floats64,
) -> AdditiveModel:
    """Return the effects of all cells and the interactions, given the weights; what is omitted has no effect.
    Effects are the sum of functions of single columns nearest to the joint features over synthetic records,
    and interactions the rest.
    """
    joint = rows.joint_slice
    weights = np.stack([mean for mean, _ in posterior], axis=1)
    covariances = [covariance for _, covariance in posterior]
    moved = np.zeros_like(weights)
    if rows.joint:
        split = _split(rows, synthetic)
        moved = split @ weights[joint]
        weights = weights + moved
        covariances = [each + split @ each[joint] for each in covariances]
        covariances = [each + each[:, joint] @ split.T for each in covariances]

    intercept = weights[-1] * rows.constant * rows.unit
    effects, deviations, beyond = [], [], []
    columns = zip(rows.tables, copula.masses, rows.slices, omitted, strict=True)
    for table, mass, here, missed in columns:
        features = table * rows.unit
        centred = features - mass @ features
        intercept = intercept + mass @ features @ weights[here]
        effects.append(centred @ weights[here])
        beyond.append(features @ moved[here])
        squares = [((centred @ cov[here, here]) * centred).sum(axis=1) for cov in covariances]
        deviations.append(np.sqrt(np.maximum(np.stack(squares, axis=1), 0.0) + missed[:, None]))
    model = AdditiveModel(intercept, effects, deviations, copula.masses, base)
    if not rows.joint or not weights[joint].any():
        return model
    products = synthetic[:, joint].T @ synthetic[:, joint]
    squares = [np.vdot(products, cov[joint, joint]) for _, cov in posterior]
    joint_part = Interactions(
        features=rows.joint,
        effects=beyond,
        constant=moved[-1] * rows.constant * rows.unit,
        weights=rows.unit * weights[joint],
        roots=rows.unit * np.stack([_root(covariance[joint, joint]) for _, covariance in posterior]),
        usual_deviation=np.sqrt(np.maximum(squares, 0.0) / len(synthetic)),
        strengths=copula.strengths,
    )
    return replace(model, joint=joint_part)


def _split(rows: Rows, synthetic: Floats64) -> Floats64:
    """Return the matrix from weights of joint features to those of the nearest sum of other features."""
    joint, single = rows.joint_slice, np.r_[: rows.joint_slice.start, rows.size - 1]
    moments = synthetic[:, single].T @ synthetic
    ridge = _SPLIT * float(moments[:, single].trace()) / len(single) * np.eye(len(single))
    split = np.zeros((rows.size, joint.stop - joint.start))
    split[single] = np.linalg.solve(moments[:, single] + ridge, moments[:, joint])
    return split


def _root(covariance: Floats64) -> Floats64:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(values.clip(0))) @ vectors.T)
