"""Additive models of private labels and public features, by one release of sums of labels.

Cells, masses of cells, features and the curvature of the loss are functions of public features only: they are
exact, and cost nothing. Labels meet the likelihood of a logistic model only in the sums, over the records of
each label, of rows of features. So these sums are the only release, with all of the budget. All else is
post-processing: Newton's method finds weights whose expected sums are near the released ones, given the
noise, the sampling error, and priors of the columns' effects, whose variances maximise the marginal
likelihood.

Rows consist of the main directions of each column's kernel, with equal mean squares for all columns, and of a
constant; long rows are shortened. A changed label takes its record's row from the sums of one label and adds
it to those of another. Of two labels only the sums of the second are released.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
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
from dplearn.learners.additive.model import AdditiveModel
from dplearn.learners.additive.queries import WEIGHT_BITS, Rows
from dplearn.learners.bins import stacked, summed
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
class PublicRows:
    """The public rows of a table, and the prior of their weights."""

    domain: Product
    names: dict[str, Any]  # `n_features_in_` and `feature_names_in_`
    columns: list[Column]
    cells: NDArray[np.int16]  # of shape (n, d)
    masses: list[Floats64]  # of the cells of each column
    rows: Rows
    factors: NDArray[np.int32]  # which shorten rows, in units of 2**-WEIGHT_BITS
    units: list[float]  # for each column, the prior variance of its weights, but for a factor

    @classmethod
    def of(cls, X: Any) -> "PublicRows":
        """Return the rows of a public table: a data frame or an array of numbers."""
        domain, reader = public_schema(X), BaseEstimator()
        codes = Columns(domain.nearest(read_features(reader, X, domain=domain, reset=True)))
        columns = [
            column_by_masses(each, column, _CELLS)
            for each, column in zip(domain.domains, codes.columns, strict=True)
        ]
        cells = stacked(columns, codes)
        masses = [
            np.bincount(places, minlength=column.size)[: column.size] / len(cells)
            for places, column in zip(cells.T, columns, strict=True)
        ]
        most = min(max(_FEATURES // len(columns), _LEAST_FEATURES), _MOST_FEATURES)
        tables = [_directions(column, mass, most) for column, mass in zip(columns, masses, strict=True)]
        units = [
            max(float(mass @ (table**2).sum(axis=1)), _LEAST)
            for table, mass in zip(tables, masses, strict=True)
        ]
        tables = [table / math.sqrt(unit) for table, unit in zip(tables, units, strict=True)]
        squares = summed(np.zeros(1), [(table**2).sum(axis=1) for table in tables], cells.T)
        usual = math.sqrt(max(float(np.quantile(squares, 1 - _SHORTENED)), 1.0))
        length = usual * math.sqrt(1 + _CONSTANT**2)
        rows = Rows.of(tables, constant=_CONSTANT * usual, length=length, bits=_BITS)
        factors = rows.block(LabelledRows(cells, np.zeros(len(cells), dtype=np.int64))).weights
        return cls(domain, vars(reader), columns, cells, masses, rows, factors, units)

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
        for table, here, mass in columns:
            centred = table - mass @ table
            intercept = intercept + mass @ table @ weights[here]
            effects.append(centred @ weights[here])
            squares = np.einsum("cr,krs,cs->ck", centred, covariances[:, here, here], centred)
            deviations.append(np.sqrt(squares.clip(0.0)))
        return AdditiveModel(intercept, effects, deviations, self.masses)

    def classifier(self, model: AdditiveModel, guarantee: ApproxDP, classes: NDArray[Any]) -> Any:
        """Return a fitted classifier, which predicts by the model."""
        found = AdditiveClassifier(domain=self.domain, classes=classes.tolist(), interactions=False)
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
        found = _probabilities(summed(model.intercept, model.effects, self.cells.T))
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


def _directions(column: Column, mass: Floats64, most: int) -> Floats64:
    """Return rows of a column's cells, of mean 0, whose products are nearly those of its kernel: by its main
    eigenfunctions over the records.
    """
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

    With expected sums s(w), their derivative H, and the covariance V of sums from sampling and noise, a step
    solves (H V^-1 H + prior) w = H V^-1 (sums - s + H w).
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
                variances[here] = squares[here].mean().clip(_LEAST, _MOST)
        step = (found - weights) * (1.0 if k == 1 else _DAMPED)
        weights = weights + step * min(1.0, _FAR / max(float(np.abs(seen @ step).max()), _LEAST))
    return weights, np.asarray(covariances)
