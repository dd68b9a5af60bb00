"""Fit logistic regression, naive Bayes, ridge regression and their preprocessing to a stack of shards.

All shards of a stack have the same number of rows, and no slice of an array depends on another slice: every
operation is elementwise, a sum along an axis within a slice, or a product or solution of each slice's own
matrices. The shapes do not depend on the rows. So each fit is a function of its own shard, bit for bit.

The fits are those of scikit-learn to rounding, and those of logistic regression within its `tol`: both end
where no entry of the gradient exceeds it. A fit for which this is not certain is marked invalid: the
estimator is then fitted to this shard by itself. Whether a fit is valid depends on its own shard only.

>>> rows = np.array([[[0.0], [1.0], [4.0], [5.0]], [[0.0], [2.0], [np.nan], [6.0]]])
>>> stack = Stack(rows, np.array([[0, 0, 1, 1]] * 2), n_labels=2)
>>> fitted = fit_naive_bayes({"var_smoothing": 0.0}, stack)
>>> fitted.by_label["theta_"][0].tolist(), fitted.valid.tolist()
([[0.5], [4.5]], [True, False])
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels.float_errors import ignores_float_errors

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Parameters = Mapping[str, Any]
Loss = Callable[[Floats], tuple[Floats, Floats]]

NO_LABEL = -1  # the code of a row that fills up a shard

_EPS = float(np.finfo(np.float64).eps)
_MEMORY = 10  # pairs of steps and changes of the gradient
_DECREASE = 1e-4  # of the loss, as a share of what its slope promises
_LEAST_PROGRESS = 64 * _EPS  # scikit-learn's; relative to the loss
_MOST_TRIALS = 200  # of a descent; with more, separate fits are as fast
_LARGEST = 1e100  # of cells: squares and their sums are finite
_TINY = 1e-200  # a smaller variance may have underflowed
_DOUBT = 16.0  # times the bound at which scikit-learn takes a column for constant
_LEAST_VARIANCE = 1e-20  # of naive Bayes, relative to the squares of the cells
_LOST = 1e-7  # of the spread of a column, or of what a ridge makes negligible
_CONDITION = 1e10  # of ridge regression: solvers agree to some 1e-6 at least


@dataclass(frozen=True)
class Stack:
    """Shards with equally many rows."""

    rows: Floats  # of shape (k, m, d)
    codes: NDArray[np.int64]  # of shape (k, m); negative if a label is not one of the labels
    n_labels: int
    own: Floats | None = None  # 0 for copies of a first row that fill up a shard, which have no label; else 1

    @cached_property
    def lengths(self) -> Floats:
        """The number of rows of each shard, of shape (k, 1); 1 if there are none."""
        if self.own is None:
            return np.full((len(self.rows), 1), float(self.rows.shape[1]))
        return np.asarray(np.maximum(self.own.sum(axis=1, keepdims=True), 1))

    def masked(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return numbers for each row, of shape (k, m, ...), with 0 for rows that fill up a shard."""
        if self.own is None:
            return numbers
        return np.asarray(numbers * self.own.reshape(*self.own.shape, *[1] * (numbers.ndim - 2)))

    def summed(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the sums over the rows of each shard, of shape (k, ...)."""
        return np.asarray(self.masked(numbers).sum(axis=1))

    @cached_property
    def indicators(self) -> Floats:
        """1 for each row's label, of shape (k, m, n_labels)."""
        return np.asarray(self.codes[:, :, None] == np.arange(self.n_labels), dtype=np.float64)

    @cached_property
    def present(self) -> Booleans:
        """Whether a label occurs in a shard, of shape (k, n_labels)."""
        return np.asarray(self.indicators.any(axis=1))

    @property
    def labelled(self) -> Booleans:
        """Whether a shard has two labels or more, and no unknown one, of shape (k,)."""
        known = self.codes >= 0 if self.own is None else (self.codes >= 0) | (self.own == 0)
        return np.asarray(known.all(axis=1) & (self.present.sum(axis=1) >= 2))

    @cached_property
    def reach(self) -> Floats:
        """The greatest absolute value of each shard, of shape (k,); NaN if there is a NaN."""
        return np.asarray(np.maximum(self.rows.max(axis=(1, 2)), -self.rows.min(axis=(1, 2))))

    @property
    def moderate(self) -> Booleans:
        """Whether a shard has only finite numbers of moderate size, of shape (k,)."""
        return np.asarray(self.reach <= _LARGEST)


@dataclass(frozen=True)
class Fitted:
    """The fitted attributes of an estimator for each shard of a stack."""

    valid: Booleans  # whether the attributes of a shard are those that scikit-learn would compute
    by_teacher: dict[str, NDArray[Any]]
    by_label: dict[str, NDArray[Any]] = field(default_factory=dict)  # a row a label, or decision function
    rows: Any = None  # those of `by_label` that each shard's estimator has, of shape (k, r)


def impute(parameters: Parameters, stack: Stack) -> tuple[Stack, Fitted]:  # noqa: ARG001
    """Return the stack with each column's mean in place of NaN; a column without numbers is invalid."""
    missing = np.isnan(stack.rows)
    counts = stack.summed(~missing)
    means = stack.summed(np.where(missing, 0, stack.rows)) / counts
    rows = np.where(missing, means[:, None], stack.rows)
    return replace(stack, rows=rows), Fitted(np.asarray((counts > 0).all(axis=1)), {"statistics_": means})


def scale(parameters: Parameters, stack: Stack) -> tuple[Stack, Fitted]:
    """Return the stack with columns divided by their standard deviations, and perhaps centred.

    A column with a variance near the bound below which scikit-learn takes it for constant is invalid.
    """
    m = stack.lengths
    means = stack.summed(stack.rows) / m
    deviations = stack.masked(stack.rows - means[:, None])
    variances = ((deviations**2).sum(axis=1) - deviations.sum(axis=1) ** 2 / m) / m
    bound = m * _EPS * variances + (m * means * _EPS) ** 2
    constant = variances <= bound
    clear = (_DOUBT * variances <= bound) | (variances > _DOUBT * bound)
    same = stack.rows.max(axis=1) == stack.rows.min(axis=1)
    certain = same | (clear & (variances > _TINY))
    scales = np.where(constant, 1, np.sqrt(variances))
    rows = stack.rows
    if parameters["with_mean"]:
        rows = rows - means[:, None]
    if parameters["with_std"]:
        rows = rows / scales[:, None]
    seen = m[:, 0].astype(np.int64)
    known = {"mean_": means, "var_": variances, "scale_": scales, "n_samples_seen_": seen}
    return replace(stack, rows=rows), Fitted(certain.all(axis=1) & stack.moderate, known)


def fit_logistic(parameters: Parameters, stack: Stack) -> Fitted:
    """Return logistic regressions by L-BFGS, multinomial where three labels or more are present."""
    d = stack.rows.shape[2]
    free = _decisions(stack)
    loss = _binary_loss if stack.n_labels == 2 else _multinomial_loss
    functions = free.shape[1]
    points, n_iter, converged = minimise(
        loss(stack, free, 1 / (parameters["C"] * stack.lengths), bool(parameters["fit_intercept"])),
        np.zeros((len(stack.rows), functions * (d + 1))),
        tol=parameters["tol"],
        most=min(parameters["max_iter"], _MOST_TRIALS),
    )
    weights = points.reshape(-1, functions, d + 1)
    return Fitted(
        converged & stack.moderate,
        {"n_iter_": n_iter[:, None].astype(np.int32)},
        {"coef_": weights[:, :, :d], "intercept_": weights[:, :, d]},
        free,
    )


def fit_naive_bayes(parameters: Parameters, stack: Stack) -> Fitted:
    """Return Gaussian naive Bayes models; a variance that is nearly 0 is invalid."""
    rows, present, indicators = stack.rows, stack.present, stack.indicators
    across, counts = indicators.transpose(0, 2, 1), indicators.sum(axis=1)
    known = present[:, :, None]
    means = np.where(known, across @ rows / counts[:, :, None], 0)
    squares = indicators @ means
    np.square(np.subtract(rows, squares, out=squares), out=squares)  # in place: memory takes most of the time
    within = np.where(known, across @ squares / counts[:, :, None], 0)
    shares = counts / counts.sum(axis=1, keepdims=True)
    centres = shares[:, None] @ means
    total = (shares[:, None] @ (within + (means - centres) ** 2))[:, 0]
    added = parameters["var_smoothing"] * total.max(axis=1)
    variances = within + added[:, None, None]
    least = np.where(known, variances, np.inf).min(axis=(1, 2))
    certain = least > _LEAST_VARIANCE * stack.reach**2
    return Fitted(
        certain & stack.moderate,
        {"epsilon_": added},
        {
            "theta_": means,
            "var_": variances,
            "class_count_": counts,
            "class_prior_": shares,
        },
        present,
    )


def fit_ridge(parameters: Parameters, stack: Stack) -> Fitted:
    """Return ridge regressions of -1 and 1 for each label; an ill-conditioned shard is invalid."""
    rows, alpha = stack.rows, parameters["alpha"]
    m, d = rows.shape[1:]
    targets = 2 * stack.indicators[:, :, -_n_decisions(stack) :] - 1
    row_means, target_means = np.zeros((len(rows), 1, d)), np.zeros((len(rows), 1, targets.shape[2]))
    if parameters["fit_intercept"]:
        n = stack.lengths[:, :, None]
        row_means, target_means = stack.summed(rows)[:, None] / n, stack.summed(targets)[:, None] / n
    rows, targets = stack.masked(rows - row_means), stack.masked(targets - target_means)
    across = rows.transpose(0, 2, 1)
    matrices = across @ rows if d <= m else rows @ across
    moments = across @ targets if d <= m else targets
    size = np.trace(matrices, axis1=1, axis2=2)
    certain = stack.moderate & (size <= _CONDITION * alpha) & (alpha > _TINY)
    # Far from 0, cells of little spread lose most of their digits when they are centred.
    lost = _EPS * abs(stack.rows).max(axis=1)
    spread = np.sqrt(np.square(rows).sum(axis=1) / stack.lengths)
    certain &= (lost <= _LOST * np.maximum(spread, np.sqrt(alpha / stack.lengths))).all(axis=1)
    # A valid matrix has eigenvalues of at least alpha, 1e-10 of its size: no pivot is 0, and nothing raises.
    identity = np.eye(matrices.shape[1])
    matrices = np.where(certain[:, None, None], matrices + alpha * identity, identity)
    solved = np.linalg.solve(matrices, np.where(certain[:, None, None], moments, 0))
    weights = (solved if d <= m else across @ solved).transpose(0, 2, 1)
    intercepts = target_means[:, 0] - (weights @ row_means.transpose(0, 2, 1))[:, :, 0]
    return Fitted(certain, {}, {"coef_": weights, "intercept_": intercepts}, _decisions(stack))


def _n_decisions(stack: Stack) -> int:
    """Return the number of decision functions of a stack: one for two labels, else one for each label."""
    return 1 if stack.n_labels == 2 else stack.n_labels


def _decisions(stack: Stack) -> Booleans:
    """Return which decision functions each shard has: one if two labels are present, that of the second."""
    present = stack.present[:, -_n_decisions(stack) :]
    last = np.cumsum(stack.present, axis=1)[:, -_n_decisions(stack) :] == 2
    return np.where(stack.present.sum(axis=1, keepdims=True) == 2, present & last, present)


def _binary_loss(stack: Stack, free: Booleans, strength: Floats, intercept: bool) -> Any:  # noqa: ARG001
    """Return the mean logistic loss of two labels, and its gradient, for coefficients and an intercept."""
    rows, targets = stack.rows, stack.indicators[:, :, 1]
    across = rows.transpose(0, 2, 1)
    m, d = stack.lengths, rows.shape[2]

    def loss(points: Floats) -> tuple[Floats, Floats]:
        weights, offsets = points[:, :d], points[:, d:]
        heights = (rows @ weights[:, :, None])[:, :, 0] + offsets
        small = np.exp(-abs(heights))
        costs = np.log1p(small) + np.maximum(heights, 0) - targets * heights
        errors = stack.masked((np.where(heights >= 0, 1, small) / (1 + small) - targets) / m)
        slopes = np.empty_like(points)
        slopes[:, :d] = (across @ errors[:, :, None])[:, :, 0] + strength * weights
        slopes[:, d] = errors.sum(axis=1) if intercept else 0
        return stack.summed(costs) / m[:, 0] + strength[:, 0] / 2 * np.vecdot(weights, weights), slopes

    return loss


def _multinomial_loss(stack: Stack, free: Booleans, strength: Floats, intercept: bool) -> Any:
    """Return the mean multinomial loss and its gradient, for coefficients and an intercept of each label.

    A label that is absent from a shard has the logit minus infinity there. If two labels are present, the
    first has the logit 0 and no coefficients, as in scikit-learn's loss of two labels.
    """
    rows, indicators = stack.rows, stack.indicators
    across = rows.transpose(0, 2, 1)
    m, d = stack.lengths, rows.shape[2]
    base = np.where(stack.present, 0, -np.inf)[:, None]
    labels = stack.codes.clip(0)[:, :, None]
    shape = (len(rows), stack.n_labels, d + 1)

    def loss(points: Floats) -> tuple[Floats, Floats]:
        weights = points.reshape(shape)
        heights = rows @ weights[:, :, :d].transpose(0, 2, 1) + weights[:, None, :, d] + base
        top = heights.max(axis=2, keepdims=True)
        likely = np.exp(heights - top)
        total = likely.sum(axis=2, keepdims=True)
        costs = np.log(total) + top - np.take_along_axis(heights, labels, axis=2)
        errors = stack.masked(np.where(free[:, None], likely / total - indicators, 0) / m[:, :, None])
        slopes = np.empty_like(weights)
        slopes[:, :, :d] = (across @ errors).transpose(0, 2, 1) + strength[:, :, None] * weights[:, :, :d]
        slopes[:, :, d] = errors.sum(axis=1) if intercept else 0
        own = weights[:, :, :d].reshape(len(rows), -1)
        values = stack.summed(costs[:, :, 0]) / m[:, 0] + strength[:, 0] / 2 * np.vecdot(own, own)
        return values, slopes.reshape(points.shape)

    return loss


@ignores_float_errors
def minimise(
    loss: Loss, start: Floats, *, tol: float, most: int
) -> tuple[Floats, NDArray[np.int64], Booleans]:
    """Return the last points of a stack of convex functions, the steps to them, and whether they are minima.

    L-BFGS in lock step, with halved steps. Every function ends where scikit-learn's solver would: where no
    entry of its gradient exceeds `tol`, or where a step changes next to nothing. It is evaluated up to `most`
    times. A finished row stays in the arrays, and `where` keeps its values.
    """
    points, (values, slopes) = start, loss(start)
    k, p = points.shape
    moves, changes, inverses = np.zeros((_MEMORY, k, p)), np.zeros((_MEMORY, k, p)), np.zeros((_MEMORY, k))
    scales, steps, n_iter = 1 / np.sqrt(np.vecdot(slopes, slopes)), np.ones(k), np.zeros(k, dtype=np.int64)
    directions, converged = -scales[:, None] * slopes, _flat(slopes, tol)
    for trial in range(most):
        trials = points + steps[:, None] * directions
        there, their_slopes = loss(trials)
        found = ~converged & (values - there >= -_DECREASE * steps * np.vecdot(slopes, directions))
        row, place = found[:, None], trial % _MEMORY
        # A pair of zeros, of a row without a step, adds nothing to its directions.
        moves[place], changes[place] = np.where(row, [trials - points, their_slopes - slopes], 0)
        curvature = np.vecdot(moves[place], changes[place])
        inverses[place] = np.where(curvature > 0, 1 / curvature, 0)
        lengths = np.vecdot(changes[place], changes[place])
        scales = np.where(curvature > 0, curvature / lengths, scales)
        still = (abs(values - there) <= _LEAST_PROGRESS * np.maximum(values, 1)) & (found | (steps == 1))
        points, slopes = np.where(row, [trials, their_slopes], [points, slopes])
        values, steps, n_iter = np.where(found, there, values), np.where(found, 1, steps / 2), n_iter + found
        converged |= still | (found & _flat(slopes, tol))
        if converged.all():
            break
        latest = [(place - back) % _MEMORY for back in range(min(trial + 1, _MEMORY))]
        pairs = [(moves[each], changes[each], inverses[each]) for each in latest]
        directions = np.where(row, _quasi_newton(slopes, pairs, scales), directions)
    return points, n_iter, converged


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


def _flat(slopes: Floats, tol: float) -> Booleans:
    """Return whether no entry of a gradient exceeds the tolerance."""
    return np.asarray(abs(slopes).max(axis=1) <= tol)
