"""Train and ask a batch of teachers by array programs, if estimator and table permit it.

This is for logistic regression by L-BFGS, Gaussian naive Bayes and the ridge classifier, each with or without
an imputer of means and a standard scaler before it, on arrays of numbers; all other parameters must have
their default values. The choice depends on public values alone: the estimator, the types of the table and the
labels; and so do the shards of a batch (`equal_runs`, `blocks_of`). No slice of an array depends on another
slice: every operation is elementwise, a sum along an axis within a slice, or a product or solution of each
slice's own matrices, of public shapes. So each fit is a function of its own shard, bit for bit.

The fits are those of scikit-learn to rounding, and of logistic regression within its `tol`: both end where no
entry of the gradient exceeds it. A fit for which this is not certain is invalid: the estimator is then fitted
to this shard by itself. All these teachers are linear in the columns of the queries, naive Bayes also in
their squares. So the scores of a stack are one product of arrays. Where rounding could change an answer, the
teacher itself is asked: the answers are those of the teachers one by one, however the products are rounded.

>>> from sklearn.naive_bayes import GaussianNB
>>> rows = np.array([[[0.0], [1.0], [4.0], [5.0]], [[0.0], [2.0], [5.0], [6.0]]])
>>> labels = np.array([["no", "no", "yes", "yes"]] * 2)
>>> training = batched_training(GaussianNB(), rows[0], np.array(["no", "yes"]), n_shards=8)
>>> fits = training.fits(rows, labels)
>>> teachers = [fits.teacher(i) for i in range(2)]
>>> [teacher.theta_.tolist() for teacher in teachers]
[[[0.5], [4.5]], [[1.0], [5.5]]]
>>> asked = BatchedAsking(np.array([[-1.0], [2.7], [9.0]]), Labels(np.array(["no", "yes"])))
>>> asked.answers(teachers).answers[:, :, 0].tolist()
[[0, 1, 1], [0, 0, 1]]
>>> [(block.slots, block.length, block.members) for block in blocks_of([3, 5, 40, 4], base=4, n_features=2)]
[(range(0, 4), 4, [0, 3]), (range(0, 4), 8, [1]), (range(2, 3), 40, [2])]
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dplearn.estimator.isolation import attempt, isolated_turn, muted_output
from dplearn.kernels import FIXED_POINT_ONE, blocks, float_errors_ignored, ignores_float_errors
from dplearn.learners.votes.aggregators import NO_VOTE
from dplearn.learners.votes.asked import Asked, Labels, Scores, places_of  # noqa: F401 - the doctest's

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Parameters = Mapping[str, Any]
Loss = Callable[[Floats], tuple[Floats, Floats]]

_CELLS = 1 << 17  # of a batch: a megabyte, so that it stays in a processor's cache
_MOST = 128  # teachers in a batch
_FEWEST = 4  # teachers in a full batch; with fewer, the array program is slower than separate fits
FEWEST_SHARDS = 8  # of a table; with fewer, the fits to public rows take too long
_LENGTHS = 4  # the base, and its double, fourfold and eightfold; longer shards take as long by themselves
_NO_LABEL = -1  # the code of a row that fills up a shard

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

_ROUNDING = 1e-12  # more than the relative error of a sum of some thousand products
SCORES = 1 << 19  # of all teachers of a stack for a block of queries: four megabytes

_NUMBER = (bool, int, float, np.bool_, np.integer, np.floating, type(None))


def equal_runs(lengths: Sequence[int], n_features: int) -> list[tuple[int, int]]:
    """Return the runs of shards with equally many rows: the index of the first, and that after the last.

    A run has no more cells than fit into a processor's cache; a run of one shard is trained by itself.
    """
    runs, start = [], 0
    while start < len(lengths):
        most = _block_size(lengths[start], n_features)
        end = start + 1
        while end < min(start + most, len(lengths)) and lengths[end] == lengths[start]:
            end += 1
        together = _is_small(lengths[start], n_features)
        runs += [(start, end)] if together else [(each, each + 1) for each in range(start, end)]
        start = end
    return runs


def _is_small(length: int, n_features: int) -> bool:
    """Return whether an array program is faster than a fit of the estimator, for a shard of this length."""
    return length > 1 and length * n_features * _FEWEST <= _CELLS


def _block_size(length: int, n_features: int) -> int:
    """Return the greatest number of shards of a length in one array program."""
    return min(_CELLS // max(length * n_features, 1), _MOST)


@dataclass(frozen=True)
class Block:
    """Shards that are trained by one array program; only the `members` among the `slots` are."""

    slots: range  # public
    length: int  # public, if the block is padded; 0: without an array program, of one member
    members: list[int]
    padded: bool = False  # whether places are filled up; else all members have the length

    @property
    def places(self) -> list[int]:
        """The places of the members in the block."""
        return [member - self.slots.start for member in self.members]

    def filled(
        self, rows: Sequence[NDArray[Any]], labels: Sequence[NDArray[Any]]
    ) -> tuple[NDArray[Any], NDArray[Any], Floats | None]:
        """Return rows and labels of the members in their places; if padded, 1 for each row of a shard.

        A place is filled up with copies of its first row; that of a shard that is no member stays empty.
        """
        if not self.padded:
            return np.stack(rows), np.stack(labels), None
        shape = len(self.slots), self.length
        cells = np.zeros((*shape, rows[0].shape[1]), dtype=rows[0].dtype)
        codes, own = np.full(shape, labels[0][0], dtype=labels[0].dtype), np.zeros(shape)
        for place, mine, known in zip(self.places, rows, labels, strict=True):
            n = len(mine)
            cells[place, :n], cells[place, n:] = mine, mine[0]
            codes[place, :n], own[place, :n] = known, 1
        return cells, codes, own


def blocks_of(lengths: Sequence[int], base: int, n_features: int) -> list[Block]:
    """Return the blocks in which consecutive shards of private lengths are trained.

    Which shards have equally many rows must not change how another shard's program rounds. So each shard has
    a public place, filled up to a public length, at least `base`. A shard that is shorter than half of this
    length, or longer than it, leaves its place empty, and is trained in a block of another length, or by
    itself: which one depends on its own length alone. A block without members is left out.
    """
    found, others = [], set(range(len(lengths)))
    for length in (base << power for power in range(_LENGTHS)):
        if not _is_small(length, n_features):
            continue
        size, least = _block_size(length, n_features), 2 if length == base else length // 2 + 1
        for start in range(0, len(lengths), size):
            slots = range(start, min(start + size, len(lengths)))
            members = [each for each in slots if least <= lengths[each] <= length]
            others -= set(members)
            if members:
                found.append(Block(slots, length, members, padded=True))
    for each in sorted(others):
        length = lengths[each] if _is_small(lengths[each], n_features) else 0
        found.append(Block(range(each, each + 1), length, [each]))
    return found


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


def scale_numbers(parameters: Parameters, stack: Stack) -> tuple[Stack, Fitted]:
    """Return the stack with its first columns scaled."""
    n, (k, _, d) = parameters["n_numbers"], stack.rows.shape
    known, certain, rows = {"mean_": np.zeros((k, d)), "scale_": np.ones((k, d))}, stack.moderate, stack.rows
    if n:
        scaled, fitted = scale({"with_mean": True, "with_std": True}, replace(stack, rows=rows[:, :, :n]))
        certain, rows = certain & fitted.valid, np.concatenate([scaled.rows, rows[:, :, n:]], axis=2)
        for name, numbers in known.items():
            numbers[:, :n] = fitted.by_teacher[name]
    return replace(stack, rows=rows), Fitted(certain, known)


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
    directions, converged = -scales[:, None] * slopes, flat(slopes, tol)
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
        converged |= still | (found & flat(slopes, tol))
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


def flat(slopes: Floats, tol: float) -> Booleans:
    """Return whether no entry of a gradient exceeds the tolerance."""
    return np.asarray(abs(slopes).max(axis=1) <= tol)


#: The classes of scikit-learn that are known, by name: the module, and the parameters that may differ from
#: their defaults.
_KNOWN: dict[str, tuple[str, frozenset[str]]] = {
    "Pipeline": ("sklearn.pipeline", frozenset({"steps"})),
    "SimpleImputer": ("sklearn.impute", frozenset({"keep_empty_features", "copy"})),
    "StandardScaler": ("sklearn.preprocessing", frozenset({"with_mean", "with_std", "copy"})),
    "NumberScaler": ("dplearn.learners.votes.standard", frozenset({"n_numbers"})),
    "LogisticRegression": (
        "sklearn.linear_model",
        frozenset({"C", "tol", "max_iter", "fit_intercept", "random_state", "n_jobs", "verbose"}),
    ),
    "GaussianNB": ("sklearn.naive_bayes", frozenset({"var_smoothing"})),
    "RidgeClassifier": (
        "sklearn.linear_model",
        frozenset({"alpha", "fit_intercept", "random_state", "copy_X"}),
    ),
}
_TRANSFORMERS: dict[str, Callable[[Parameters, Stack], tuple[Stack, Fitted]]]
_TRANSFORMERS = {"SimpleImputer": impute, "StandardScaler": scale, "NumberScaler": scale_numbers}
MODELS: dict[str, Callable[[Parameters, Stack], Fitted]] = {
    "LogisticRegression": fit_logistic,
    "GaussianNB": fit_naive_bayes,
    "RidgeClassifier": fit_ridge,
}


def _name_of(thing: Any) -> str:
    """Return the name of a known class if an object is of exactly this class, which is not imported."""
    name = type(thing).__name__
    module = sys.modules.get(_KNOWN[name][0]) if name in _KNOWN else None
    return name if type(thing) is getattr(module, name, None) else ""


def _is_plain(step: Any, among: Collection[str]) -> bool:
    """Return whether a step is of one of some classes, and its parameters permit an array program."""
    name = _name_of(step)
    if name not in among:
        return False
    parameters, defaults = step.get_params(deep=False), type(step)().get_params(deep=False)
    return all(
        isinstance(value, _NUMBER) if each in _KNOWN[name][1] else _same(value, defaults[each])
        for each, value in parameters.items()
    )


def batched_training(
    estimator: Any, table: Any, classes: NDArray[Any] | None, n_shards: int
) -> "BatchedTraining | None":
    """Return the training of batches of teachers, or None if each teacher is trained by itself."""
    *before, model = _steps(estimator) if _is_plain_pipeline(estimator) else [estimator]
    known = all(_is_plain(step, _TRANSFORMERS) for step in before) and _is_plain(model, MODELS)
    if n_shards < FEWEST_SHARDS or not known or not _has_numbers(table) or not _are_labels(classes):
        return None
    assert classes is not None

    def fitted(labels: NDArray[Any]) -> Any:
        rows = np.zeros((2 * len(labels), table.shape[1]), dtype=table.dtype)
        rows[:, 0] = np.arange(len(rows)) % 2
        return clone(estimator).fit(rows, np.repeat(labels, 2))

    with muted_output(), isolated_turn():
        # Of private attributes, which differ between versions, a teacher has those of a fit to public rows.
        numbers = sorted({2, len(classes)})
        patterns = attempt(lambda: [fitted(classes[:n]) for n in numbers], lambda _: None)
    return None if patterns is None else BatchedTraining(patterns, classes)


@dataclass(frozen=True)
class BatchedTraining:
    """The training of teachers on shards with equally many rows."""

    patterns: list[Any]  # fitted to public rows, with two labels, and with all labels if there are more
    classes: NDArray[Any]

    def fits(
        self, rows: NDArray[Any], labels: NDArray[Any], own: NDArray[np.float64] | None = None
    ) -> "BatchedFits":
        """Fit the estimator to each shard; `own` is 0 for copies of a first row that fill up a shard."""
        codes = places_of(labels.ravel(), self.classes).reshape(labels.shape)
        if own is not None:
            codes = np.where(own > 0, codes, _NO_LABEL)
        with float_errors_ignored():
            stack = Stack(np.ascontiguousarray(rows, dtype=np.float64), codes, len(self.classes), own)
            fitted = self._fitted(stack)
        valid = stack.labelled & np.all([each.valid for each in fitted], axis=0)
        return BatchedFits(self, fitted, valid, stack.present)

    def _fitted(self, stack: Stack) -> list[Fitted]:
        """Return the fitted attributes of each step."""
        (*before, model), results = _steps(self.patterns[0]), list[Fitted]()
        for step in before:
            stack, fitted = _TRANSFORMERS[_name_of(step)](step.get_params(), stack)
            results.append(fitted)
        return [*results, MODELS[_name_of(model)](model.get_params(), stack)]


@dataclass(frozen=True)
class BatchedFits:
    """The fits to a batch of shards, as arrays; an estimator is made of one where somebody asks for it."""

    training: BatchedTraining
    fitted: list[Fitted]
    valid: NDArray[np.bool_]  # of others, scikit-learn might compute other attributes
    present: NDArray[np.bool_]  # of shape (k, n_labels)

    def teacher(self, i: int) -> Any:
        """Return the estimator fitted to the i-th shard, or None if it must be fitted by itself."""
        if not self.valid[i]:
            return None
        pattern = self.training.patterns[0 if self.present[i].sum() == 2 else -1]
        steps = [_with_attributes(*each, i) for each in zip(_steps(pattern), self.fitted, strict=True)]
        _set_classes(steps[-1], self.training.classes[self.present[i]])
        if len(steps) == 1 and not hasattr(pattern, "steps"):
            return steps[0]
        teacher = _shallow(pattern)
        teacher.steps = [(name, own) for (name, _), own in zip(pattern.steps, steps, strict=True)]
        return teacher


def _with_attributes(pattern: Any, fitted: Fitted, i: int) -> Any:
    """Return a copy of a step of the pattern with one shard's attributes, where the pattern has any."""
    own, before = _shallow(pattern), vars(pattern)
    for name, entries in fitted.by_teacher.items():
        if before.get(name) is not None:
            setattr(own, name, _like(before[name], entries[i]))
    for name, entries in fitted.by_label.items():
        setattr(own, name, _like(before[name], entries[i][fitted.rows[i]]))
    return own


def _shallow(thing: Any) -> Any:
    """Return a shallow copy; `copy` takes ten times as long for estimators, since it checks versions."""
    own = object.__new__(type(thing))
    vars(own).update(vars(thing))
    return own


def _like(before: Any, value: NDArray[Any]) -> Any:
    """Return a value as a scalar of the same type, or as an array with as many axes."""
    if np.ndim(before) == 0:
        return type(before)(value.ravel()[0])
    # Of two labels, some versions drop the axis of the labels.
    return np.array(value) if value.ndim == np.ndim(before) else np.reshape(value, np.shape(before))


def _set_classes(model: Any, classes: NDArray[Any]) -> None:
    if hasattr(model, "_label_binarizer"):
        model._label_binarizer = _shallow(model._label_binarizer)
        model._label_binarizer.classes_ = classes
    if "classes_" in vars(model):
        model.classes_ = classes


def _steps(estimator: Any) -> list[Any]:
    return [step for _, step in estimator.steps] if hasattr(estimator, "steps") else [estimator]


def _is_plain_pipeline(estimator: Any) -> bool:
    if _name_of(estimator) != "Pipeline" or not estimator.steps:
        return False
    parameters = estimator.get_params(deep=False)
    return all(not value for name, value in parameters.items() if name != "steps")


def _same(one: Any, other: Any) -> bool:
    """Return True for equal plain values; NaN, the mark of missing values, equals itself."""
    return type(one) is type(other) and (one == other or (one != one and other != other))


def _has_numbers(table: Any) -> bool:
    """Return True for arrays of float64, integers or booleans, which all fits convert to float64."""
    if type(table) is not np.ndarray or table.ndim != 2 or not table.shape[1]:
        return False
    return table.dtype == np.float64 or table.dtype.kind in "iub"


def _are_labels(classes: NDArray[Any] | None) -> bool:
    """Return True for sorted labels that every fit of scikit-learn takes for labels."""
    if classes is None or len(classes) < 2:
        return False
    if classes.dtype == object:
        return set(map(type, classes.tolist())) == {str} and classes.tolist() == sorted(set(classes.tolist()))
    whole = classes.dtype.kind in "biuU" or (
        classes.dtype.kind == "f" and (classes == np.rint(classes)).all()
    )
    return bool(whole) and np.array_equal(np.unique(classes), classes)


@dataclass(frozen=True)
class StackedAnswers:
    """The answers of a stack of teachers to a block of queries."""

    answers: NDArray[Any]  # of shape (k, n_queries, width); meaningless for unknown teachers
    known: NDArray[np.bool_]  # whether a teacher is of one of the classes above
    doubtful: NDArray[np.bool_]  # of shape (k, n_queries): whether rounding could change an answer


def can_be_stacked(queries: Any) -> bool:
    """Return True for an array of finite numbers, which every teacher of the classes above accepts."""
    if type(queries) is not np.ndarray or queries.ndim != 2 or not queries.size:
        return False
    return (queries.dtype == np.float64 or queries.dtype.kind in "iub") and bool(np.isfinite(queries).all())


class _Forms:
    """The coefficients or means of a stack of teachers, and offsets, minus infinity for unknown labels."""

    def __init__(self, k: int, d: int, n_labels: int):
        self.bayes = False  # the teachers of a stack are of one class
        self.own = np.zeros(k, dtype=bool)  # the entries of all other teachers are placeholders
        self.slopes, self.spreads = np.zeros((k, d, n_labels)), np.ones((k, d, n_labels))
        self.offsets = np.full((k, n_labels), -np.inf)
        self.shifts, self.scales = np.zeros((k, d)), np.ones((k, d))


class BatchedAsking:
    """Queries, centred and in units of their greatest distances from the centre."""

    @ignores_float_errors
    def __init__(self, queries: NDArray[Any], asked: Asked):
        self._asked = asked
        rows = np.asarray(queries, dtype=np.float64)
        self._centre = rows.mean(axis=0)
        self._reach = abs(rows - self._centre).max(axis=0)
        self._units = np.where(self._reach > 0, self._reach, 1)
        self._columns = np.ascontiguousarray(((rows - self._centre) / self._units).T)

    @ignores_float_errors
    def answers(self, teachers: Sequence[Any]) -> StackedAnswers:
        """Return the answers of a stack of teachers."""
        forms = _Forms(len(teachers), len(self._columns), len(self._asked.classes))
        for i, teacher in enumerate(teachers):
            self._place(teacher, i, forms)
        return self._answered(forms)

    def _answered(self, forms: _Forms) -> StackedAnswers:
        (k, n_labels), n = forms.offsets.shape, self._columns.shape[1]
        answers = np.full((k, n, self._asked.width), NO_VOTE, dtype=self._asked.dtype)
        doubtful = np.zeros((k, n), dtype=bool)
        if forms.own.any():
            weights, offsets, sizes = (self._bayes if forms.bayes else self._linear)(forms)
            # One product for all teachers is ten times as fast. Its rounding may differ from that of separate
            # products, but it decides no answer: where it could, the answer is doubtful.
            joined = weights.transpose(0, 2, 1).reshape(k * n_labels, -1)
            step = max(1, SCORES // (k * n_labels))
            for block in blocks(n, step):
                columns = self._columns[:, block]
                features = np.concatenate([columns**2, columns]) if forms.bayes else columns
                scores = (joined @ features).reshape(k, n_labels, -1) + offsets[:, :, None]
                given, unsure = self._encoded(scores, _ROUNDING * sizes)
                answers[forms.own, block], doubtful[forms.own, block] = given[forms.own], unsure[forms.own]
        return StackedAnswers(answers, forms.own, doubtful)

    def _encoded(self, scores: Floats, bounds: Floats) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the encoded answers, and whether an error of the scores up to a bound could change them."""
        if isinstance(self._asked, Scores):
            likely = np.exp(scores - scores.max(axis=1, keepdims=True))
            likely /= likely.sum(axis=1, keepdims=True)
            units = FIXED_POINT_ONE * likely
            nearest = np.rint(units)
            inside = (nearest > 0) & (nearest < FIXED_POINT_ONE)
            far = abs(units - nearest) > FIXED_POINT_ONE * bounds[:, None, None]
            return self._asked.encoded(np.moveaxis(likely, 1, 2)), ~(far | ~inside).all(axis=1)
        if scores.shape[1] == 2:
            leads = scores[:, 1] - scores[:, 0]
            return (leads > 0)[:, :, None], ~(abs(leads) > bounds[:, None])
        second, top = np.moveaxis(np.partition(scores, -2, axis=1)[:, -2:], 1, 0)
        return scores.argmax(axis=1)[:, :, None], ~(top - second > bounds[:, None])

    def _place(self, teacher: Any, i: int, forms: _Forms) -> None:
        """Write a teacher's attributes into its place, if it is of a known class."""
        *steps, model = _steps(teacher) if _name_of(teacher) == "Pipeline" else [teacher]
        bayes = _name_of(model) == "GaussianNB"
        if not bayes and not _is_linear(model, self._asked):
            return
        scalers = [step for step in steps if _name_of(step) in ("StandardScaler", "NumberScaler")]
        imputers = [step for step in steps if _keeps_rows(step)]
        fitted = all(getattr(step, "n_features_in_", None) == len(self._columns) for step in (*steps, model))
        places = self._places(model.classes_) if fitted else np.zeros(0, dtype=np.int64)
        strange = len(scalers) > 1 or len(scalers) + len(imputers) < len(steps)
        if strange or places.size < 2 or places.min() < 0 or (forms.own.any() and bayes != forms.bayes):
            return
        forms.own[i], forms.bayes = True, bayes
        for scaler in scalers:
            forms.shifts[i] = scaler.mean_ if scaler.with_mean else 0
            forms.scales[i] = scaler.scale_ if scaler.with_std else 1
        if bayes:
            forms.slopes[i, :, places], forms.spreads[i, :, places] = model.theta_, model.var_
            forms.offsets[i, places] = np.log(model.class_prior_)
            return
        coefficients = np.atleast_2d(model.coef_)
        own = places[-len(coefficients) :]
        forms.offsets[i, places] = 0  # of the first of two labels, which has no decision function
        forms.slopes[i, :, own], forms.offsets[i, own] = coefficients, model.intercept_

    def _places(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each label of a teacher; negative for an unknown one."""
        classes = self._asked.classes
        if labels.shape == classes.shape and labels.dtype == classes.dtype and (labels == classes).all():
            return np.arange(len(classes))
        return places_of(labels, classes)

    def _linear(self, forms: _Forms) -> tuple[Floats, Floats, Floats]:
        """Return weights, scores where all features are 0, and bounds of the sums of absolute terms."""
        weights = forms.slopes / forms.scales[:, :, None]
        offsets = forms.offsets + ((self._centre - forms.shifts)[:, None] @ weights)[:, 0]
        reach = self._reach + abs(self._centre) + abs(forms.shifts)
        known = np.where(forms.offsets == -np.inf, 0, abs(offsets))
        sizes = ((reach[:, None] @ abs(weights))[:, 0] + known).max(axis=1)
        return weights * self._units[:, None], offsets, sizes

    def _bayes(self, forms: _Forms) -> tuple[Floats, Floats, Floats]:
        """Return the same for the logarithms of joint densities, in the units of the models."""
        means = forms.shifts[:, :, None] + forms.slopes * forms.scales[:, :, None] - self._centre[:, None]
        inverses = 1 / (forms.spreads * forms.scales[:, :, None] ** 2)
        priors = forms.offsets - np.log(2 * np.pi * forms.spreads).sum(axis=1) / 2
        offsets = priors - (inverses * means**2).sum(axis=1) / 2
        units = self._units[:, None]
        weights = np.concatenate([-inverses * units**2 / 2, inverses * means * units], axis=1)
        reach = self._reach[:, None] + abs(means)
        terms = (inverses * reach * (reach + abs(self._centre)[:, None])).sum(axis=1)
        return weights, offsets, np.where(forms.offsets > -np.inf, terms + abs(priors), 0).max(axis=1)


def _keeps_rows(step: Any) -> bool:
    """Return True for an imputer that returns rows without missing values as they are."""
    if _name_of(step) != "SimpleImputer":
        return False
    plain = not step.add_indicator and step.statistics_.dtype == np.float64
    missing = step.missing_values
    return plain and missing != missing and not np.isnan(step.statistics_).any()


def _is_linear(model: Any, asked: Asked) -> bool:
    """Return True for a model whose answers follow from its decision functions alone."""
    if _name_of(model) == "RidgeClassifier":
        return not isinstance(asked, Scores)
    if _name_of(model) != "LogisticRegression":
        return False
    softmax = model.solver == "lbfgs" and getattr(model, "multi_class", "auto") in ("auto", "deprecated")
    return softmax or not isinstance(asked, Scores)
