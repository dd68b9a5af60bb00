"""Train logistic regressions on many shards by one array program, if estimator and table permit it.

This is for logistic regression by L-BFGS with the default intercept and penalty, perhaps after an imputer of
means and a standard scaler, on arrays of numbers. The choice, and the shapes of the program, depend on public
values alone. No slice of an array depends on another slice: every operation is elementwise, a sum along an
axis within a slice, or a product of each slice's own matrices. So each fit is a function of its own shard,
bit for bit. It ends, like scikit-learn's, where no entry of the gradient exceeds `tol`; where that is not
certain, the estimator is fitted to the shard by itself.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from dplearn.kernels import dense, ignores_float_errors
from dplearn.learners.votes.standard import NumberScaler
from dplearn.table.targets import places_of

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Loss = Callable[[Floats], tuple[Floats, Floats]]

_CELLS = 1 << 17  # of a batch: a megabyte, so that it stays in a processor's cache
_MOST = 128  # teachers in a batch
_FEWEST = 4  # teachers in a full batch; with fewer, the array program is slower than separate fits
_LENGTHS = 4  # the base, and its double, fourfold and eightfold; longer shards take as long by themselves

_EPS = float(np.finfo(np.float64).eps)
_MEMORY = 10  # pairs of steps and changes of the gradient
_DECREASE = 1e-4  # of the loss, as a share of what its slope promises
_LEAST_PROGRESS = 64 * _EPS  # scikit-learn's; relative to the loss
_MOST_TRIALS = 200  # of a descent; with more, separate fits are as fast
_LARGEST = 1e100  # of cells: squares and their sums are finite
_DOUBT = 16.0  # times the bound at which scikit-learn takes a column for constant
_ABSENT = -1e300  # the logit of a label that does not occur in a shard

#: Parameters of logistic regression that need not have their default values.
_FREE = frozenset({"C", "tol", "max_iter", "random_state", "n_jobs", "verbose"})


def shards_together(length: int, n_features: int) -> int:
    """Return how many shards of a length one array program trains; 1 if fits of the estimator are faster."""
    together = min(_CELLS // max(length * n_features, 1), _MOST)
    return together if together >= _FEWEST else 1


class OwnTeacher:
    """A teacher of our own: it draws nothing, changes no row, and runs no foreign code."""


@dataclass(frozen=True, eq=False)
class LogisticTeacher(OwnTeacher):
    """A logistic regression on the columns as they are given."""

    classes_: NDArray[Any]  # those of its shard
    weights: Floats  # of shape (n_classes, n_features)
    offsets: Floats
    fill: Floats | None  # in place of missing numbers; None: they are an error

    def _scores(self, X: Any) -> Floats:
        rows = np.asarray(dense(X), dtype=np.float64)
        if self.fill is not None:
            rows = np.where(np.isnan(rows), self.fill, rows)
        if not np.isfinite(rows).all():
            raise ValueError("X must hold finite numbers")
        return np.asarray(rows @ self.weights.T + self.offsets)

    @ignores_float_errors
    def predict(self, X: Any) -> NDArray[Any]:
        return self.classes_[self._scores(X).argmax(axis=1)]

    @ignores_float_errors
    def predict_proba(self, X: Any) -> Floats:
        return np.asarray(softmax(self._scores(X), axis=1))


def batched_training(estimator: Any, table: Any, classes: NDArray[Any] | None) -> "BatchedTraining | None":
    """Return the training of batches of teachers, or None if each teacher is trained by itself."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    *before, model = _steps(estimator)
    imputes = bool(before) and type(before[0]) is SimpleImputer
    if imputes and not _is_default(before.pop(0), {"keep_empty_features", "copy"}):
        return None
    scaler = before.pop() if before else NumberScaler(0)
    known = type(scaler) is NumberScaler or (type(scaler) is StandardScaler and _is_default(scaler, {"copy"}))
    if before or not known or type(model) is not LogisticRegression or not _is_default(model, _FREE):
        return None
    numbers = model.C, model.tol, model.max_iter
    positive = all(isinstance(each, (int, float)) and each > 0 for each in numbers)
    if not positive or not _has_numbers(table) or classes is None or len(classes) < 2:
        return None
    if type_of_target(classes) not in ("binary", "multiclass"):
        return None
    n_scaled = scaler.n_numbers if type(scaler) is NumberScaler else table.shape[1]
    return BatchedTraining(classes, imputes, n_scaled, *numbers)


def _steps(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline that does nothing else, or the estimator itself."""
    if type(estimator) is not Pipeline or not estimator.steps:
        return [estimator]
    plain = not any(value for name, value in vars(estimator).items() if name != "steps")
    return [step for _, step in estimator.steps] if plain else [estimator]


def _is_default(step: Any, but: Collection[str]) -> bool:
    """Return whether all parameters of a step but some have their default values."""
    parameters, defaults = step.get_params(deep=False), type(step)().get_params(deep=False)
    return all(
        name in but
        or (type(value) is type(defaults[name]) and (value is defaults[name] or value == defaults[name]))
        for name, value in parameters.items()
    )


def _has_numbers(table: Any) -> bool:
    """Return True for arrays of float64, integers or booleans, which all fits convert to float64."""
    plain = type(table) is np.ndarray and table.ndim == 2 and table.shape[1] > 0
    return plain and (table.dtype == np.float64 or table.dtype.kind in "iub")


@dataclass(frozen=True)
class BatchedTraining:
    """The training of logistic regressions on batches of shards."""

    classes: NDArray[Any]
    imputes: bool
    n_scaled: int  # columns, the first ones
    C: float
    tol: float
    max_iter: int

    def teachers(
        self, rows: Sequence[NDArray[Any]], labels: Sequence[NDArray[Any]], base: int
    ) -> list[LogisticTeacher | None]:
        """Return the teachers of shards at public places; None for each that must be fitted by itself.

        Lengths may be private, and must not change how another shard's program rounds: so a shard is filled
        up to the least of some public lengths from `base` on, and its place in the program of another length
        is empty.
        """
        found: list[LogisticTeacher | None] = [None] * len(rows)
        least = 2
        for length in (base << power for power in range(_LENGTHS)):
            members = [i for i, own in enumerate(labels) if least <= len(own) <= length]
            if members:
                cells, codes = (
                    np.zeros((len(rows), length, rows[0].shape[1])),
                    np.full((len(rows), length), -1),
                )
                for i in members:
                    cells[i, : len(rows[i])] = rows[i]
                    codes[i, : len(rows[i])] = places_of(self.classes, labels[i])
                trained = self._trained(cells, codes)
                for i in members:
                    found[i] = trained[i]
            least = length + 1
        return found

    @ignores_float_errors
    def _trained(self, rows: Floats, codes: NDArray[np.int64]) -> list[LogisticTeacher | None]:
        """Return teachers on rows of shape (k, m, d), 0 where a place is filled up, with the code -1."""
        k, _, d = rows.shape
        own = (codes >= 0).astype(np.float64)[:, :, None]
        lengths = own.sum(axis=1).clip(min=1)
        indicators = (codes[:, None] == np.arange(len(self.classes))[:, None]).astype(np.float64)
        present = indicators.any(axis=2)
        fill = np.zeros((k, d))
        if self.imputes:
            missing = np.isnan(rows)
            fill = np.where(missing, 0, rows).sum(axis=1) / (lengths - missing.sum(axis=1))
            rows = np.where(missing, fill[:, None], rows)
        valid = (abs(rows).max(axis=(1, 2)) <= _LARGEST) & (present.sum(axis=1) >= 2)
        shifts, scales, certain = _scaling(rows, own, lengths, self.n_scaled)
        features = np.concatenate([(rows - shifts[:, None]) / scales[:, None] * own, own], axis=2)
        penalty = np.where(np.arange(d + 1) < d, 1 / (self.C * lengths), 0)
        points, minima = minimise(
            _loss(features, indicators, present, lengths, penalty),
            np.zeros((k, len(self.classes) * (d + 1))),
            valid & certain,
            tol=self.tol,
            most=min(self.max_iter, _MOST_TRIALS),
        )
        weights = points.reshape(k, len(self.classes), d + 1)
        slopes = weights[:, :, :d] / scales[:, None]
        offsets = weights[:, :, d] - (slopes @ shifts[:, :, None])[:, :, 0]
        found: list[LogisticTeacher | None] = [None] * k
        for i in np.flatnonzero(minima).tolist():
            each, mine = present[i], fill[i].copy() if self.imputes else None
            found[i] = LogisticTeacher(self.classes[each], slopes[i][each], offsets[i][each], mine)
        return found


def _scaling(rows: Floats, own: Floats, lengths: Floats, n_scaled: int) -> tuple[Floats, Floats, Booleans]:
    """Return means and deviations (0 and 1 of other columns), and whether scikit-learn surely has them."""
    means = rows.sum(axis=1) / lengths
    deviations = (rows - means[:, None]) * own
    variances = ((deviations**2).sum(axis=1) - deviations.sum(axis=1) ** 2 / lengths) / lengths
    bounds = lengths * _EPS * variances + (lengths * means * _EPS) ** 2
    among = np.arange(rows.shape[2]) < n_scaled
    sure = (_DOUBT * variances <= bounds) | (variances > _DOUBT * bounds) | ~among
    scales = np.where(among & (variances > bounds), np.sqrt(variances), 1)
    return np.where(among, means, 0), scales, np.asarray(sure.all(axis=1))


def _loss(features: Floats, indicators: Floats, present: Booleans, lengths: Floats, penalty: Floats) -> Loss:
    """Return the mean multinomial losses and their gradients, as scikit-learn's; an absent label has no
    chance.
    """
    across = np.ascontiguousarray(features.transpose(0, 2, 1))
    own, base = across[:, -1], np.where(present, 0, _ABSENT)[:, :, None]
    two = present.sum(axis=1, keepdims=True) == 2
    free = (present & ~(two & (np.cumsum(present, axis=1) == 1)))[:, :, None]

    def loss(points: Floats) -> tuple[Floats, Floats]:
        weights = points.reshape(len(points), present.shape[1], -1)
        heights = weights @ across + base
        top = heights.max(axis=1)
        likely = np.exp(heights - top[:, None])
        total = likely.sum(axis=1)
        costs = own * (np.log(total) + top) - (indicators * heights).sum(axis=1)
        penalties = penalty[:, None] * weights
        errors = (likely / total[:, None] - indicators) @ features
        slopes = np.where(free, errors / lengths[:, :, None] + penalties, 0)
        values = costs.sum(axis=1) / lengths[:, 0] + (penalties * weights).sum(axis=(1, 2)) / 2
        return values, slopes.reshape(points.shape)

    return loss


def minimise(loss: Loss, start: Floats, valid: Booleans, *, tol: float, most: int) -> tuple[Floats, Booleans]:
    """Return the last points of a stack of convex functions, those that are valid, and which are minima.

    L-BFGS in lock step, with halved steps, each ending where no entry of the gradient exceeds `tol`, or a
    step changes next to nothing, or after `most` evaluations.
    """
    points, (values, slopes) = start, loss(start)
    k, p = points.shape
    moves, changes, inverses = np.zeros((_MEMORY, k, p)), np.zeros((_MEMORY, k, p)), np.zeros((_MEMORY, k))
    scales, steps = 1 / np.sqrt(np.vecdot(slopes, slopes)), np.ones(k)
    directions, ended = -scales[:, None] * slopes, ~valid | flat(slopes, tol)
    for trial in range(most):
        trials = points + steps[:, None] * directions
        there, their_slopes = loss(trials)
        found = ~ended & (values - there >= -_DECREASE * steps * np.vecdot(slopes, directions))
        row, place = found[:, None], trial % _MEMORY
        # A pair of zeros, of a row without a step, adds nothing to its directions.
        moves[place], changes[place] = np.where(row, [trials - points, their_slopes - slopes], 0)
        curvature = np.vecdot(moves[place], changes[place])
        inverses[place] = np.where(curvature > 0, 1 / curvature, 0)
        lengths = np.vecdot(changes[place], changes[place])
        scales = np.where(curvature > 0, curvature / lengths, scales)
        still = (abs(values - there) <= _LEAST_PROGRESS * np.maximum(values, 1)) & (found | (steps == 1))
        points, slopes = np.where(row, [trials, their_slopes], [points, slopes])
        values, steps = np.where(found, there, values), np.where(found, 1, steps / 2)
        ended |= still | (found & flat(slopes, tol))
        if ended.all():
            break
        latest = [(place - back) % _MEMORY for back in range(min(trial + 1, _MEMORY))]
        pairs = [(moves[each], changes[each], inverses[each]) for each in latest]
        directions = np.where(row, _quasi_newton(slopes, pairs, scales), directions)
    return points, ended & valid


def _quasi_newton(slopes: Floats, pairs: list[tuple[Floats, Floats, Floats]], scales: Floats) -> Floats:
    """Return the direction of each row, by the two-loop recursion over its pairs, the latest first."""
    directions, weights = -slopes, []
    for move, change, inverse in pairs:
        weights.append(inverse * np.vecdot(move, directions))
        directions -= weights[-1][:, None] * change
    directions *= scales[:, None]
    for (move, change, inverse), weight in zip(reversed(pairs), reversed(weights), strict=True):
        directions += (weight - inverse * np.vecdot(change, directions))[:, None] * move
    return directions


def flat(slopes: Floats, tol: float) -> Booleans:
    """Return whether no entry of a gradient exceeds the tolerance."""
    return np.asarray(abs(slopes).max(axis=1) <= tol)
