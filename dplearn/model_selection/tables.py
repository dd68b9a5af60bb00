"""Private tables of bounded integers that metrics are computed from: a `Statistic` sums a function of one
record with public bounds, `TableNoise` is the noise for its sensitivity, a `NoisyTable` is released.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.domains import DomainError
from dplearn.estimator.isolation import alone, attempt
from dplearn.kernels import decay_rate, ignores_float_errors
from dplearn.mechanisms import gaussian_sums, laplace_counts
from dplearn.privacy import ApproxDP, GaussianSums
from dplearn.privacy.gaussian_dp import sums_sigma2
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.shares import gaussian_budget
from dplearn.queries.noise import LaplaceNoise
from dplearn.table.targets import labels_assumed, read_labels, read_numbers

Counts = NDArray[np.int64]
Floats64 = NDArray[np.float64]

_CLASSES = labels_assumed(())
_CLIPPED = "the target range is public; targets and predictions outside it are moved to its nearest end"
#: The arguments of the moment generating function among which a bound is chosen, as shares of the greatest.
_SHARES = np.concatenate([np.geomspace(1e-4, 0.1, 60), np.linspace(0.1, 0.999, 240)[1:]])
_MARGIN = 1 + 1e-9  # for rounding errors
_UNDERFLOW = -700.0


class Statistic(ABC):
    """A table of integers, summed over records; the function of one record is bounded by public numbers."""

    assumes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        """Return the sums over some records, flattened; errors show no record."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table."""
        return (1,)

    @property
    def steps(self) -> int:
        """The greatest contribution of one record to a cell."""
        return 1

    @property
    def low(self) -> int:
        """The least contribution of one record to a cell."""
        return 0

    @property
    def high(self) -> int:
        """The greatest contribution of one record to a cell."""
        return self.steps

    @property
    def moved(self) -> int:
        """The number of cells, or of groups of them, that one replaced record moves by `steps` at most."""
        return 1

    @property
    def l1(self) -> int:
        """The greatest sum of absolute differences of the table between neighbours."""
        return self.moved * self.steps

    @property
    def squared_l2(self) -> int:
        """The greatest sum of squared differences of the table between neighbours."""
        return self.moved * self.steps**2

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    def noise(self, privacy: ApproxDP, *, tables: int = 1, tests: int = 1) -> "TableNoise":
        """Return the noise of so many tables, released as one, with each record so many times in each."""
        return TableNoise.of(
            privacy, l1=tables * tests * self.l1, squared_l2=tables * tests**2 * self.squared_l2
        )


@dataclass(frozen=True)
class ErrorCount(Statistic):
    """The number of wrong predictions. Labels may be any."""

    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        errors: int | None = alone(lambda: count_errors(estimator.predict(rows), y))
        if errors is None:
            raise DomainError(
                "X holds records for which the classifier does not predict one label each (its own message is"
                " hidden because it might quote records); try its predict on made-up records"
            )
        return np.array([errors])


@dataclass(frozen=True)
class ConfusionCounts(Statistic):
    """The confusion matrix, row by row: rows are true labels, columns predictions, as in scikit-learn."""

    labels: tuple[Any, ...]
    assumes: ClassVar[tuple[str, ...]] = (_CLASSES,)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.labels), len(self.labels))

    @property
    def moved(self) -> int:
        return 2  # a replaced record leaves one cell and enters another

    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        true = _codes(y, self.labels)
        answers = _answers(estimator, "predict", rows, len(y), "one label of `labels` each", kind=None)
        read = partial(_codes, labels=self.labels)
        predicted = _one_each(answers, y, read, "predict one of the declared labels")
        k = len(self.labels)
        return np.bincount(true * k + predicted, minlength=k * k)


@dataclass(frozen=True)
class BinnedScores(Statistic):
    """For each of some labels, counts of records by "has the label or not" and by the bin of its score."""

    labels: tuple[Any, ...]
    places: tuple[int, ...]  # of the binned labels in `labels`, one table each
    edges: tuple[float, ...]  # increasing; a score of at least edges[i] is in bin i + 1 or higher
    method: str  # "predict_proba", or "decision_function": that of the second of two labels
    assumes: ClassVar[tuple[str, ...]] = (_CLASSES,)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.places), 2, len(self.edges) + 1)

    @property
    def moved(self) -> int:
        return 2 * len(self.places)

    @ignores_float_errors
    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        true, n_bins = _codes(y, self.labels), self.shape[2]
        scores = _scores(estimator, self.method, rows, self.labels, len(y))
        tables = []
        for place in self.places:
            bins = np.searchsorted(self.edges, scores[:, place], side="right")  # NaN is the highest
            tables.append(np.bincount((true == place) * n_bins + bins, minlength=2 * n_bins))
        return np.concatenate(tables)


@dataclass(frozen=True)
class LossSum(Statistic):
    """The sum of -ln(probability of the true label), in steps of -ln(`least`) / `steps`."""

    labels: tuple[Any, ...]
    least: float  # a lower probability of a record's label counts as this one
    steps: int = 1 << 16
    assumes: ClassVar[tuple[str, ...]] = (_CLASSES,)

    @ignores_float_errors
    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        true = _codes(y, self.labels)
        likely = _scores(estimator, "predict_proba", rows, self.labels, len(y))[np.arange(len(y)), true]
        shares = np.log(np.fmax(likely, self.least)) / math.log(self.least)  # NaN counts as the least
        return np.array([_steps(shares, self.steps).sum()])


@dataclass(frozen=True)
class TargetSums(Statistic):
    """Sums of functions of targets and predictions, both moved into a range of width R with the middle M.

    **Privacy.** The squared error moves by at most s = `steps`. The code c of (y - M) / R has abs(c) <= s /
    2, and its square is q = floor(c^2 / s). If c moves by d to c', then abs(c + c') <= s - d, so c^2 / s
    moves by at most d (s - d) / s, q by less than 1 more, and both together by less than 2 d - d^2 / s + 1 <=
    s + 1: by at most s, as they are integers.
    """

    low_end: float
    high_end: float
    kind: str  # "absolute": errors / R; "squared": / R^2; "r2": these, and (y - M) / R and its square
    steps: int = 1 << 20  # a multiple of 4; cells are in steps of 1 / `steps`
    assumes: ClassVar[tuple[str, ...]] = (_CLIPPED,)

    @property
    def shape(self) -> tuple[int, ...]:
        return (3,) if self.kind == "r2" else (1,)

    @property
    def moved(self) -> int:
        return 2 if self.kind == "r2" else 1  # the sums of targets move by `steps` together

    @property
    def low(self) -> int:
        return -self.steps // 2 if self.kind == "r2" else 0  # of the centred target

    @ignores_float_errors
    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        true = self._shares(read_numbers(y, len(y)))
        answers = _answers(estimator, "predict", rows, len(y), "one number each")
        error = true - _one_each(answers, y, self._predicted, "predict one number each")
        cells = [_steps(np.abs(error) if self.kind == "absolute" else error**2, self.steps)]
        if self.kind == "r2":
            code = np.rint(true * self.steps).clip(-self.steps // 2, self.steps // 2).astype(np.int64)
            cells += [code, code**2 // self.steps]
        return np.array([each.sum() for each in cells])

    def _predicted(self, answers: NDArray[Any]) -> Floats64:
        return self._shares(np.nan_to_num(answers.astype(np.float64)))

    def _shares(self, numbers: Floats64) -> Floats64:
        half = (self.high_end - self.low_end) / 2
        shares = (numbers - (self.low_end + half)) / half / 2
        return np.asarray(shares.clip(-0.5, 0.5))


def _steps(shares: Floats64, steps: int) -> Counts:
    return np.rint(shares * steps).clip(0, steps).astype(np.int64)


def _codes(y: NDArray[Any], labels: tuple[Any, ...]) -> NDArray[np.intp]:
    return read_labels(y, len(y), labels)[1]


def _scores(estimator: Any, method: str, rows: Any, labels: tuple[Any, ...], n: int) -> Floats64:
    """Return the score of each label for each record; 0 for a label that the estimator does not know."""
    answers = _answers(estimator, method, rows, n, "a number for each label")
    found = np.zeros((n, len(labels)))
    if method == "decision_function":
        if answers.shape != (n,):
            raise _refusal("have one decision value each")
        found[:, 1], found[:, 0] = answers, -answers
        return found
    known = np.asarray(estimator.classes_).tolist()
    if answers.shape != (n, len(known)):
        raise _refusal("have one probability for each label")
    for column, label in enumerate(known):
        found[:, labels.index(label)] = answers[:, column]
    return found


def _answers(
    estimator: Any, method: str, rows: Any, n: int, wanted: str, kind: Any = np.float64
) -> NDArray[Any]:
    """Return what a method answers, as numbers or as `kind`; its errors and warnings are hidden."""
    answers: NDArray[Any] | None = alone(lambda: np.asarray(getattr(estimator, method)(rows), dtype=kind))
    if answers is None or not answers.ndim or len(answers) != n:
        raise _refusal(f"give {wanted}")
    return answers


def _one_each(
    answers: NDArray[Any], y: NDArray[Any], read: Callable[[NDArray[Any]], NDArray[Any]], what: str
) -> NDArray[Any]:
    """Return what is read from one answer for each record; `what` the estimator does not do, if none is."""
    if answers.shape in (y.shape, (*y.shape, 1)):
        with suppress(ValueError, TypeError):
            return read(answers.ravel())
    raise _refusal(what)


def _refusal(what: str) -> DomainError:
    return DomainError(
        f"X holds records for which the estimator does not {what} (its own message is hidden because it might"
        " quote records); try it on made-up records"
    )


def count_errors(predicted: Any, labels: NDArray[Any]) -> int:
    """Return the number of unequal predictions, one a record, as others would count twice."""
    cells = np.asarray(predicted, dtype=object)
    if cells.shape not in (labels.shape, (*labels.shape, 1)):
        raise ValueError(
            f"predict must return one label for each of {len(labels)} records, got another shape"
        )
    given, truth = cells.ravel(), labels.astype(object)
    return attempt(
        lambda: int(np.count_nonzero(given != truth)),
        lambda _: sum(_differ(*each) for each in zip(given, truth, strict=True)),
    )


def _differ(predicted: Any, label: Any) -> bool:
    """Return whether two labels differ, as numpy compares them; those that cannot be compared do."""
    return attempt(lambda: bool(predicted != label), lambda _: True)


@dataclass(frozen=True)
class TableNoise:
    """Noise that hides one replaced record in a table of integers, by `laplace_counts` or `gaussian_sums`.

    **Privacy.** `privacy`.

    **Assumes.** `l1` and `squared_l2` bound the differences between neighbours.

    **Accuracy.** `reach`.

    **Source.** As for these two; Chernoff (1952) and Levy's inequality for sums.
    """

    privacy: ApproxDP  # delta is 0 unless `gaussian`
    l1: int  # the greatest sum of absolute differences of the cells between neighbours
    squared_l2: int  # the greatest sum of squared differences
    gaussian: bool  # discrete Gaussian, else discrete Laplace

    @classmethod
    def of(cls, privacy: ApproxDP, *, l1: int, squared_l2: int) -> "TableNoise":
        """Return the noise of the smaller variance: Gaussian only with delta, and for many cells."""
        pure = cls(replace(privacy, delta=Fraction(0)), l1, squared_l2, gaussian=False)
        if not privacy.delta:
            return pure
        other = cls(privacy, l1, squared_l2, gaussian=True)
        return other if other.deviation < pure.deviation else pure

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in one cell."""
        return math.sqrt(self._sigma2) if self.gaussian else self._laplace.deviation

    @property
    def _laplace(self) -> LaplaceNoise:
        return LaplaceNoise(epsilon_of(self.privacy), self.l1)

    @property
    def _rate(self) -> float:
        return decay_rate(self._laplace.ratio)

    @property
    def _sigma2(self) -> float:
        return float(sums_sigma2(self.squared_l2, gaussian_budget(self.privacy)))

    def added(self, counts: Counts, *, low: int, high: int, dice: Dice) -> Counts:
        """Return the table with noise, cells clipped to public ends."""
        found: Any
        if self.gaussian:
            found = gaussian_sums(
                counts,
                privacy=GaussianSums(gaussian_budget(self.privacy)),
                dice=dice,
                squared_sensitivity=self.squared_l2,
                low=low,
                high=high,
            )
        else:
            found = laplace_counts(
                counts, privacy=self.privacy, dice=dice, sensitivity=self.l1, low=low, high=high
            )
        return np.asarray(found, dtype=np.int64)

    def reach(self, cells: int, beta: Any, *, n_cells: int, room: int) -> int:
        """Return a distance that the error of a sum of cells exceeds, upwards, with probability <= beta;
        downwards, too. By Levy's inequality all partial sums of the cells exceed it with at most 2 beta. Ends
        of noisy cells are at least `room` from true values, and beta includes that a cell reached one.
        """
        if not cells:
            return 0
        if cells == 1 and not self.gaussian:
            return int(self._laplace.tail(2 * Fraction(beta)))
        left = float(beta) - (2 * n_cells * self._beyond(room) if cells > 1 else 0.0)
        if left <= 0:
            return cells * 2 * room
        return max(0, math.ceil(self._chernoff(cells, left) * _MARGIN) - 1)

    def weighted_reach(self, weights: Floats64, beta: float, *, n_cells: int, room: int) -> Floats64:
        """Return distances that weighted sums of noise exceed, upwards, with probability <= beta each."""
        left = beta - 2 * n_cells * self._beyond(room)
        if left <= 0:
            return np.asarray(2.0 * room * weights.sum(axis=1))
        bits = math.log(1 / left)
        if self.gaussian:
            return np.asarray(np.sqrt(2 * self._sigma2 * bits * (weights**2).sum(axis=1)) * _MARGIN)
        most = np.maximum(weights.max(axis=1), 1e-300)
        least = np.full(len(weights), np.inf)
        for share in _SHARES[:: _SHARES.size // 16]:
            s = share * self._rate * weights / most[:, None]
            found = (self._log_moment(s).sum(axis=1) + bits) / (share * self._rate / most)
            least = np.minimum(least, found)
        return least * _MARGIN

    def _log_moment(self, s: Floats64) -> Floats64:
        """Return the logarithm of the moment generating function of the Laplace noise of a cell."""
        first = 2 * math.log(-math.expm1(-self._rate))
        others = np.log(-np.expm1(s - self._rate)) + np.log(-np.expm1(-s - self._rate))
        return np.asarray(first - others)

    def _beyond(self, room: int) -> float:
        """Return an upper bound on the probability that the noise of one cell is at least `room`."""
        if self.gaussian:
            return math.exp(max(-(room**2) / (2 * self._sigma2), _UNDERFLOW)) * _MARGIN
        return math.exp(max(-room * self._rate, _UNDERFLOW)) * _MARGIN

    def _chernoff(self, cells: int, beta: float) -> float:
        """Return a t with P[sum of the noise of some cells >= t] <= beta: the best Chernoff bound."""
        if self.gaussian:  # its moment generating function is at most exp(s^2 sigma2 / 2)
            return math.sqrt(2 * cells * self._sigma2 * math.log(1 / beta))
        s = _SHARES * self._rate
        return float(np.min((cells * self._log_moment(s) + math.log(1 / beta)) / s))


@dataclass(frozen=True)
class NoisyTable:
    """A released table, and what its noise was."""

    counts: Counts  # released; a count may be negative
    n: int  # the number of records that were counted
    noise: TableNoise
    statistic: Statistic

    @property
    def matrix(self) -> Counts:
        """The counts in the shape of their table."""
        return self.counts.reshape(self.statistic.shape)

    @property
    def room(self) -> int:
        """The distance of the ends of a noisy cell from any true value, if there are several cells."""
        return self.n * (self.statistic.high - self.statistic.low)

    def reach(self, cells: int, beta: Any) -> int:
        """Return the distance that the error of a sum of cells exceeds, upwards, with probability <= beta."""
        return self.noise.reach(cells, beta, n_cells=self.counts.size, room=self.room)

    def weighted_reach(self, weights: Floats64, beta: float) -> Floats64:
        """Return distances that weighted sums of the noise of cells exceed with probability <= beta each."""
        return self.noise.weighted_reach(weights, beta, n_cells=self.counts.size, room=self.room)

    def count_ends(self, noisy: Any, cells: int, beta: Any) -> tuple[int, int]:
        """Return ends of a true count, each wrong with probability at most beta, given a sum of cells."""
        return within(noisy, self.reach(cells, beta), self.n)


def within(noisy: Any, reach: int, n: int) -> tuple[int, int]:
    """Return the ends of a count from 0 to n that is not farther than `reach` from a noisy one."""
    noisy = int(noisy)
    return min(n, max(0, noisy - reach)), max(0, min(n, noisy + reach))


def noisy_table(counts: Counts, n: int, statistic: Statistic, noise: TableNoise, dice: Dice) -> NoisyTable:
    """Release a table. A single cell is clipped to its possible values; ends of several, whose sums must not
    be biased, are farther away.
    """
    room = n * (statistic.high - statistic.low) if statistic.n_cells > 1 else 0
    low, high = n * statistic.low - room, n * statistic.high + room
    return NoisyTable(noise.added(counts, low=low, high=high, dice=dice), n, noise, statistic)
