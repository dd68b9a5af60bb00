"""Additive models of private labels and public features, by one release of sums of labels.

Labels meet the likelihood of a logistic model only in the sums, over the records of each label, of rows of
features. So these sums are the only release, with all of the budget. All else is a function of public
features, or post-processing: Newton's method finds weights whose expected sums are near the released ones,
given the noise, the sampling error, and priors, whose variances maximise the marginal likelihood.

Rows consist of the main directions of each column's kernel, with equal mean squares for all columns, and of a
constant; long rows are shortened. Where the noise is small enough, there are interactions: products of the
directions of two columns, on a smaller scale.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator

from dplearn.chance import PublicStream
from dplearn.domains import Product
from dplearn.learners.additive.cells import Column, column_by_masses, kernel
from dplearn.learners.additive.estimators import AdditiveClassifier
from dplearn.learners.additive.model import AdditiveModel, Interactions
from dplearn.learners.additive.queries import WEIGHT_BITS, Rows, slices_of
from dplearn.learners.bins import stacked, summed, with_unknown
from dplearn.privacy import ApproxDP
from dplearn.queries import Answer, LabelledRows, VectorQuery
from dplearn.releases.learned_schema import public_schema
from dplearn.table.features import read_features
from dplearn.table.table import Columns

# First set by a look at Adult, which a benchmark reports on; levels 0, 2 and 4 were then compared on six
# tables of 457 to 3,950 records that none reports on, where they differ by about .01 of AUC on the mean.
_CELLS = 64  # of a column of numbers
_LEVEL = 4  # of the kernels
_FEATURES, _LEAST_FEATURES, _MOST_FEATURES = 500, 2, 24  # of all columns, and of one
_SMALL = 2e-3  # directions of a kernel below this share of the greatest are left out
# Products of directions of two columns: the most, of all pairs and of one; their mean squares, as a share of
# those of all columns; the most pairs of cells of two columns; and the least number of records, over the
# noise in a sum of such products. The variance of a pair's weights is as if so many of them were like all. On
# three tables of six to nine columns that no benchmark reports on, at epsilon .5 and 1, the area under the
# curve was .34 to .00 higher than without products; with more noise it was up to .01 lower.
_PRODUCTS, _MOST_PRODUCTS, _OF_PRODUCTS, _PAIRED_CELLS, _RESOLVED = 300, 24, 0.3, 1 << 13, 150
_LIKE_ALL = 10
_CONSTANT = 0.3  # as a share of the norm to which rows are shortened
_SHORTENED = 0.1  # the share of rows that are shortened
_BITS = 12  # of the norm of a row
_SEEN = 6000  # records that show the curvature
_ROUNDS, _PRIOR_ROUNDS = 8, 4  # of Newton's method, and in each of the variances of the priors
_FIRST, _LEAST, _MOST = 0.3, 1e-4, 30.0  # variances of the priors: the first, the least and the greatest
_WIDE = 1e4  # the prior variance of the weight of the constant
_FAR = 3.0  # the most that a step changes a margin
_DAMPED = 0.7  # the size of a step for several labels, whose margins move together
_RAREST = 0.005  # the least share of a label in the first weights

Floats64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Products:
    """Products of directions of two columns: joint features, which are looked up by the cells of both."""

    pairs: tuple[tuple[int, int], ...]
    tables: Sequence[Floats64]  # of each pair, of shape (cells of one times cells of the other, products)
    sizes: tuple[int, ...]  # the numbers of cells of all columns

    @classmethod
    def among(
        cls, tables: Sequence[Floats64], masses: Sequence[Floats64], n: int, deviation: float
    ) -> "Products":
        """Return the products of the greatest mean square of each pair; none if too many, or if noise would
        hide them.
        """
        sizes = tuple(len(table) for table in tables)
        squares = [mass @ table**2 for table, mass in zip(tables, masses, strict=True)]
        pairs = [
            (i, j)
            for i, j in combinations(range(len(tables)), 2)
            if sizes[i] * sizes[j] <= _PAIRED_CELLS and len(squares[i]) and len(squares[j])
        ]
        norm = math.sqrt(len(tables) * (1 + _OF_PRODUCTS))
        resolved = math.sqrt(_share(sizes, pairs)) * n >= _RESOLVED * deviation * norm
        if not pairs or len(pairs) > _PRODUCTS or not resolved:
            return cls((), (), sizes)
        most, found = min(_PRODUCTS // len(pairs), _MOST_PRODUCTS), []
        for i, j in pairs:
            greatest = np.argsort(-np.outer(squares[i], squares[j]), axis=None)[:most]
            first, second = np.unravel_index(greatest, (len(squares[i]), len(squares[j])))
            found.append((tables[i][:, None, first] * tables[j][None, :, second]).reshape(-1, len(first)))
        return cls(tuple(pairs), found, sizes)

    @property
    def size(self) -> int:
        """The number of features."""
        return sum(table.shape[1] for table in self.tables)

    @property
    def share(self) -> float:
        """The mean square of a pair, where that of each column is 1."""
        return _share(self.sizes, self.pairs)

    def codes(self, cells: NDArray[Any]) -> NDArray[np.int16]:
        """Return the cell of each record in each pair's table, of shape (n, pairs)."""
        found = np.empty((len(cells), len(self.pairs)), dtype=np.int16, order="F")
        for place, (i, j) in enumerate(self.pairs):
            one, other = cells[:, i], cells[:, j]
            known = (one < self.sizes[i]) & (other < self.sizes[j])
            found[:, place] = np.where(known, one * self.sizes[j] + other, self.sizes[i] * self.sizes[j])
        return found

    def of(self, cells: NDArray[Any]) -> Floats64:
        """Return the features of records."""
        pairs = zip(self.tables, self.codes(cells).T, strict=True)
        return np.concatenate([with_unknown(table)[places] for table, places in pairs], axis=1)

    def margins(self, cells: NDArray[Any], weights: NDArray[np.float64]) -> Floats64:
        """Return the features of records times weights of shape (size, k)."""
        slices = slices_of([table.shape[1] for table in self.tables])
        effects = [table @ weights[here] for table, here in zip(self.tables, slices, strict=True)]
        return summed(np.zeros(weights.shape[1]), effects, self.codes(cells).T)


@dataclass(frozen=True, eq=False)
class PublicRows:
    """The public rows of a table, and the prior of their weights."""

    domain: Product
    names: dict[str, Any]  # `n_features_in_` and `feature_names_in_`
    columns: list[Column]
    cells: NDArray[np.int16]  # of shape (n, tables): of columns, and of pairs of them
    masses: list[Floats64]  # of the cells of each table
    rows: Rows
    factors: NDArray[np.int32]  # which shorten rows, in units of 2**-WEIGHT_BITS
    units: list[float]  # for each table, the prior variance of its weights, but for a factor
    products: Products = field(default_factory=lambda: Products((), (), ()))

    @classmethod
    def of(cls, X: Any, deviation: float = math.inf) -> "PublicRows":
        """Return the rows of a public table, with interactions where the deviation of the noise is small
        enough.
        """
        domain, reader = public_schema(X), BaseEstimator()
        codes = Columns(domain.nearest(read_features(reader, X, domain=domain, reset=True)))
        columns = [
            column_by_masses(each, column, _CELLS)
            for each, column in zip(domain.domains, codes.columns, strict=True)
        ]
        cells = stacked(columns, codes)
        masses = _masses(cells, [column.size for column in columns])
        most = min(max(_FEATURES // len(columns), _LEAST_FEATURES), _MOST_FEATURES)
        tables = [_directions(column, mass, most) for column, mass in zip(columns, masses, strict=True)]
        products = Products.among(tables, masses, len(cells), deviation)
        cells = np.asfortranarray(np.hstack([cells, products.codes(cells)]))
        masses += _masses(cells[:, len(columns) :], [len(table) for table in products.tables])
        tables += products.tables
        scales = [1.0] * len(columns) + [products.share] * len(products.pairs)
        units = [
            max(float(mass @ (table**2).sum(axis=1)), _LEAST) / scale
            for table, mass, scale in zip(tables, masses, scales, strict=True)
        ]
        tables = [
            np.asarray(table / math.sqrt(unit), dtype=np.float64)
            for table, unit in zip(tables, units, strict=True)
        ]
        products = replace(products, tables=tables[len(columns) :])
        squares = summed(np.zeros(1), [(table**2).sum(axis=1) for table in tables], cells.T)
        usual = math.sqrt(max(float(np.quantile(squares, 1 - _SHORTENED)), 1.0))
        length = usual * math.sqrt(1 + _CONSTANT**2)
        rows = Rows.of(tables, constant=_CONSTANT * usual, length=length, bits=_BITS)
        factors = rows.block(LabelledRows(cells, np.zeros(len(cells), dtype=np.int64))).weights
        return cls(domain, vars(reader), columns, cells, masses, rows, factors, units, products)

    def query(self, n_labels: int) -> VectorQuery:
        """Return the query for the sums of rows by label, for the labels of the records in their order.

        **Privacy.** The bounds are the greatest of public rows times their factors. A changed label takes a
        row from the sums of one label and adds it to those of another: their distance is at most twice the L1
        norm, or in squares twice the squared norm; and once, if the sums of only one of these labels are
        asked for, as of two labels.
        """
        rows, asked = self.rows, np.arange(n_labels) if n_labels > 2 else np.array([1])
        (absolute, square), moved = (self._longest(order) for order in (1, 2)), min(len(asked), 2)

        def shortened(records: LabelledRows) -> NDArray[np.int64]:
            return np.where(records.y[:, None] == asked, self.factors[:, None], 0)

        def each(records: LabelledRows) -> NDArray[np.int64]:
            found = rows.of_records(LabelledRows(self.cells, records.y))
            return (found[:, :, None] * shortened(records)[:, None, :]).reshape(len(found), -1)

        return VectorQuery(
            each,
            size=rows.size * len(asked),
            norm=math.isqrt(square - 1) + 1,
            unit=Fraction(1, rows.reach << WEIGHT_BITS),
            total=lambda records: self._totals(shortened(records)).astype(np.int64).ravel(),
            l1=moved * absolute,
            squared_l2=moved * square,
        )

    def _longest(self, order: int) -> int:
        """Return the greatest norm of a row times its factor, to the power of its order."""
        lengths = [each.astype(np.float64) for each in self.rows.lengths(order)]
        powers = summed(np.array([float(self.rows.constant) ** order]), lengths, self.cells.T)[:, 0]
        return int((powers * self.factors.astype(np.float64) ** order).max())  # exact: below 2**53

    def model(self, answer: Answer) -> AdditiveModel:
        """Return the model: a function of public features and of the answer to the query."""
        n, rows = len(self.cells), self.rows
        sums = answer.means.reshape(rows.size, -1) * (n * rows.width)
        weights, covariances = _posterior(self, sums, answer.noise_variance * (n * rows.width) ** 2)
        tables = [table * rows.unit for table in rows.tables]
        columns = list(zip(tables, rows.slices, self.masses, strict=True))
        intercept = weights[-1] * rows.constant * rows.unit
        effects, deviations = [], []
        for table, here, mass in columns[: len(self.columns)]:
            centred = table - mass @ table
            intercept = intercept + mass @ table @ weights[here]
            effects.append(centred @ weights[here])
            squares = np.einsum("cr,krs,cs->ck", centred, covariances[:, here, here], centred)
            deviations.append(np.sqrt(squares.clip(0.0)))
        masses = self.masses[: len(self.columns)]
        joint = self._interactions(weights, covariances) if self.products.pairs else None
        return AdditiveModel(intercept, effects, deviations, masses, joint=joint)

    def _interactions(self, weights: Floats64, covariances: Floats64) -> Interactions:
        """Return the part of the model that depends on pairs of columns."""
        rows, d, k = self.rows, len(self.columns), weights.shape[1]
        slices = rows.slices[d:]
        here = slice(slices[0].start, slices[-1].stop)
        tables = [np.asarray(table * rows.unit, dtype=np.float64) for table in rows.tables[d:]]
        features, own = replace(self.products, tables=tables), covariances[:, here, here]
        strengths, squares = np.zeros((d, d)), np.zeros(k)
        for pair, table, each, mass in zip(features.pairs, tables, slices, self.masses[d:], strict=True):
            noise = np.einsum("cr,krs,cs->ck", table, covariances[:, each, each], table)
            effect, noise = (mass @ found for found in ((table @ weights[each]) ** 2, noise))
            strengths[pair] = strengths[pair[::-1]] = math.sqrt(
                float(effect.max() / max(noise.max(), 1e-300))
            )
            squares += effect
        return Interactions(
            features,
            [np.zeros((size, k)) for size in features.sizes],
            np.zeros(k),
            weights[here],
            np.linalg.cholesky(
                own + _LEAST * np.diagonal(own, axis1=1, axis2=2).mean() * np.eye(features.size)
            ),
            np.sqrt(squares),
            strengths,
        )

    def classifier(self, model: AdditiveModel, guarantee: ApproxDP, classes: NDArray[Any]) -> Any:
        """Return a fitted classifier, which predicts by the model."""
        joint = model.joint is not None
        found = AdditiveClassifier(domain=self.domain, classes=classes.tolist(), interactions=joint)
        found.set_params(epsilon=guarantee.epsilon, delta=guarantee.delta)
        plan: Any = SimpleNamespace(
            guarantee=guarantee, noise="gaussian", domain=self.domain, columns=self.columns
        )
        found._publish_model(model, plan, 1.0, 0.0)
        found.classes_, found.residual_clip_, found.class_weight_ = classes, 1.0, np.ones(len(classes))
        found.__dict__ |= self.names
        return found

    def likely(self, model: AdditiveModel) -> Floats64:
        """Return the model's probability of each label for each record, of shape (n, n_labels)."""
        cells = self.cells[:, : len(self.columns)]
        margins = summed(model.intercept, model.effects, cells.T)
        found = _probabilities(margins + model.joint.margins(cells) if model.joint else margins)
        return found if found.shape[1] > 1 else np.concatenate([1 - found, found], axis=1)

    def margins(self, weights: Floats64) -> Floats64:
        """Return the margins of all records, of shape (n, k)."""
        scaled, rows = weights * self.rows.unit, self.rows
        effects = [table @ scaled[here] for table, here in zip(rows.tables, rows.slices, strict=True)]
        return summed(rows.constant * scaled[-1], effects, self.cells.T)

    def expected(self, likely: Floats64) -> Floats64:
        """Return the sums of shortened rows times probabilities of shape (n, k), of shape (size, k)."""
        return self._totals(self.factors[:, None] * likely) * (self.rows.unit * 2.0**-WEIGHT_BITS)

    def _totals(self, factors: NDArray[np.float64] | NDArray[np.int64]) -> Floats64:
        """Return the sums of rows times factors of shape (n, k); of integers, sums below 2**53 are exact."""
        found = []
        for table, places in zip(self.rows.tables, self.cells.T, strict=True):
            size = len(table)
            counts = [np.bincount(places, weights=each, minlength=size)[:size] for each in factors.T]
            found.append(table.T @ np.stack(counts, axis=1))
        return np.concatenate([*found, self.rows.constant * factors.sum(axis=0, keepdims=True)])


def _share(sizes: Sequence[int], pairs: Sequence[Any]) -> float:
    return _OF_PRODUCTS * len(sizes) / max(len(pairs), 1)


def _masses(cells: NDArray[Any], sizes: Sequence[int]) -> list[Floats64]:
    """Return the shares of the records in the cells of each column."""
    columns = zip(cells.T, sizes, strict=True)
    return [np.bincount(places, minlength=size)[:size] / len(cells) for places, size in columns]


def _directions(column: Column, mass: Floats64, most: int) -> Floats64:
    """Return rows of a column's cells, of mean 0, by the main eigenfunctions of its kernel."""
    centre = np.eye(column.size) - mass
    covariance, roots = centre @ kernel(column, _LEVEL) @ centre.T, np.sqrt(mass)
    values, vectors = np.linalg.eigh(roots[:, None] * covariance * roots)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    kept = values > _SMALL * max(float(values[0]), _LEAST)
    return np.asarray(covariance @ (roots[:, None] * vectors[:, kept]) / np.sqrt(values[kept]))


def _probabilities(margins: Floats64) -> Floats64:
    """Return the probability of the second of two labels, or of each label."""
    return np.asarray(expit(margins) if margins.shape[1] == 1 else softmax(margins, axis=1))


def _posterior(given: PublicRows, sums: Floats64, variance: float) -> tuple[Floats64, Floats64]:
    """Return the mean of the weights, of shape (size, k), and the covariances for each margin.

    With expected sums s(w), their derivative H, and the covariance V of sums, a step solves (H V^-1 H +
    prior) w = H V^-1 (sums - s + H w).
    """
    rows, n, k = given.rows, len(given.cells), sums.shape[1]
    places = PublicStream(0, "curvature").permutation(n)[:_SEEN]
    cells, kept = given.cells[places], given.factors[places] * 2.0**-WEIGHT_BITS
    seen = rows.of_records(LabelledRows(cells, np.zeros(len(cells), dtype=np.int64))) * rows.unit
    constant = rows.constant * rows.unit
    shares = (sums[-1] / (constant * 2.0**-WEIGHT_BITS * given.factors.sum())).clip(_RAREST, 1 - _RAREST)
    weights = np.zeros((rows.size, k))
    weights[-1] = (np.log(shares / (1 - shares)) if k == 1 else np.log(shares)) / constant
    units = np.repeat(given.units, [table.shape[1] for table in rows.tables])
    slices = [here for here in rows.slices if here.start < here.stop]
    variances = np.full(len(units), _FIRST)
    joint = sum(table.shape[1] for table in rows.tables[: len(given.columns)])  # the first product
    for _ in range(_ROUNDS):
        likely = _probabilities(given.margins(weights))
        beyond = sums - given.expected(likely)
        precisions, shown = np.empty((k, rows.size, rows.size)), np.empty_like(weights)
        for label, p in enumerate(likely[places].T):
            curved = kept * p * (1 - p) * (n / len(seen))
            curvature = (seen * curved[:, None]).T @ seen
            noise = (seen * (kept * curved)[:, None]).T @ seen + variance * np.eye(rows.size)
            solved = cho_solve(cho_factor(noise), curvature)
            precisions[label] = curvature @ solved
            shown[:, label] = solved.T @ (beyond[:, label] + curvature @ weights[:, label])
        for _ in range(_PRIOR_ROUNDS):
            prior = np.append(1 / (units * variances), 1 / _WIDE)
            covariances = np.linalg.inv(precisions + np.diag(prior))
            found = (covariances @ shown.T[:, :, None])[:, :, 0].T
            squares = (found**2 + np.diagonal(covariances, axis1=1, axis2=2).T)[:-1].mean(axis=1) / units
            for here in slices:
                found_here, others = squares[here], _LIKE_ALL if here.start >= joint else 0
                total = found_here.sum() + (others * squares[joint:].mean() if others else 0.0)
                variances[here] = (total / (len(found_here) + others)).clip(_LEAST, _MOST)
        step = (found - weights) * (1.0 if k == 1 else _DAMPED)
        weights = weights + step * min(1.0, _FAR / max(float(np.abs(seen @ step).max()), _LEAST))
    return weights, np.asarray(covariances)
