"""Tables of bounded integers that metrics are computed from: sums over records of a function of one record.

>>> from sklearn.dummy import DummyClassifier
>>> model = DummyClassifier(strategy="constant", constant=1).fit([[0]] * 2, [0, 1])
>>> statistic = ConfusionCounts((0, 1))
>>> statistic.of(model, np.zeros((3, 1)), np.array([0, 1, 1])).reshape(statistic.shape).tolist()
[[0, 1], [0, 2]]
>>> statistic.l1  # a replaced record leaves one cell and enters another
2
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn.domains import DomainError
from dplearn.ensembles.isolation import alone, attempt
from dplearn.kernels.float_errors import ignores_float_errors
from dplearn.table.targets import labels_assumed, read_labels, read_numbers

Counts = NDArray[np.int64]
Floats64 = NDArray[np.float64]

_CLASSES = labels_assumed(())
_CLIPPED = "the target range is public; targets and predictions outside it are moved to its nearest end"


class Statistic(ABC):
    """A table of integers, summed over records; the function of one record is bounded by public numbers."""

    shape: tuple[int, ...]
    # The greatest sum of absolute, and of squared, differences of the table for one replaced record.
    l1: int
    squared_l2: int
    # The least and the greatest contribution of one record to a cell.
    low: int = 0
    high: int = 1
    assumes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        """Return the sums over some records, flattened; errors show no record."""

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @property
    def first(self) -> int:
        """The greatest difference of the first cell between neighbours."""
        return self.high - self.low


@dataclass(frozen=True)
class ErrorCount(Statistic):
    """The number of wrong predictions. Labels may be any."""

    shape: ClassVar[tuple[int, ...]] = (1,)  # type: ignore[misc]
    l1: ClassVar[int] = 1  # type: ignore[misc]
    squared_l2: ClassVar[int] = 1  # type: ignore[misc]

    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        """Return the number of wrong predictions."""
        return np.array([errors_of(estimator, rows, y)])


@dataclass(frozen=True)
class ConfusionCounts(Statistic):
    """The confusion matrix: rows are true labels, columns predictions, as in scikit-learn."""

    labels: tuple[Any, ...]
    l1: ClassVar[int] = 2  # type: ignore[misc]
    squared_l2: ClassVar[int] = 2  # type: ignore[misc]
    assumes: ClassVar[tuple[str, ...]] = (_CLASSES,)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of labels, twice."""
        return (len(self.labels), len(self.labels))

    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        """Return the confusion matrix, row by row."""
        true = _codes(y, self.labels)
        predicted: Any = None
        answers = _answers(estimator, "predict", rows, len(y), "one label of `labels` each", kind=None)
        if answers.shape in (y.shape, (*y.shape, 1)):
            with suppress(ValueError, TypeError):
                predicted = _codes(answers.ravel(), self.labels)
        if predicted is None:
            raise _refusal("predict one of the declared labels")
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
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of binned labels, 2, number of bins."""
        return (len(self.places), 2, len(self.edges) + 1)

    @property
    def l1(self) -> int:  # type: ignore[override]
        """Two for each binned label."""
        return 2 * len(self.places)

    @property
    def squared_l2(self) -> int:  # type: ignore[override]
        """Two for each binned label."""
        return 2 * len(self.places)

    @ignores_float_errors
    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        """Return the counts by binned label, by "has it", and by bin."""
        true, n_bins = _codes(y, self.labels), self.shape[2]
        scores = _scores(estimator, self.method, rows, self.labels, len(y))
        tables = []
        for place in self.places:
            bins = np.searchsorted(self.edges, scores[:, place], side="right")  # NaN is the highest
            tables.append(np.bincount((true == place) * n_bins + bins, minlength=2 * n_bins))
        return np.concatenate(tables)


@dataclass(frozen=True)
class LossSum(Statistic):
    """The sum of log losses, each in steps of 1 / `steps` of the greatest."""

    labels: tuple[Any, ...]
    least: float  # a lower probability of a record's label counts as this one
    steps: int = 1 << 16
    shape: ClassVar[tuple[int, ...]] = (1,)  # type: ignore[misc]
    assumes: ClassVar[tuple[str, ...]] = (_CLASSES,)

    @property
    def l1(self) -> int:  # type: ignore[override]
        """All steps."""
        return self.steps

    @property
    def squared_l2(self) -> int:  # type: ignore[override]
        """All steps, squared."""
        return self.steps**2

    @property
    def high(self) -> int:  # type: ignore[override]
        """All steps."""
        return self.steps

    @ignores_float_errors
    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        """Return the sum."""
        true = _codes(y, self.labels)
        likely = _scores(estimator, "predict_proba", rows, self.labels, len(y))[np.arange(len(y)), true]
        shares = np.log(np.fmax(likely, self.least)) / math.log(self.least)  # NaN counts as the least
        return np.array([np.rint(shares * self.steps).clip(0, self.steps).astype(np.int64).sum()])


@dataclass(frozen=True)
class TargetSums(Statistic):
    """Sums of functions of targets and predictions, both moved into a range of width R with the middle M.

    Notes
    -----
    **Privacy.** The squared error moves by at most s = `steps`. The code c of (y - M) / R is an integer with
    abs(c) <= s / 2, and its square is q = floor(c^2 / s). If c moves by d to c', then abs(c + c') <= s - d,
    so c^2 / s moves by at most d (s - d) / s, q by less than 1 more, and both together by less than
    2 d - d^2 / s + 1 <= s + 1: by at most s, as they are integers.
    """

    low_end: float
    high_end: float
    kind: str  # "absolute": errors / R; "squared": / R^2; "r2": these, and (y - M) / R and its square
    steps: int = 1 << 20  # a multiple of 4; cells are in steps of 1 / `steps`
    assumes: ClassVar[tuple[str, ...]] = (_CLIPPED,)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of sums."""
        return (3,) if self.kind == "r2" else (1,)

    @property
    def l1(self) -> int:  # type: ignore[override]
        """All steps; twice as many with the sums of targets."""
        return self.steps * (2 if self.kind == "r2" else 1)

    @property
    def squared_l2(self) -> int:  # type: ignore[override]
        """The squares of these: the sums of targets move by at most all steps together."""
        return self.steps**2 * (2 if self.kind == "r2" else 1)

    @property
    def low(self) -> int:  # type: ignore[override]
        """Less than 0 only for the centred target."""
        return -self.steps // 2 if self.kind == "r2" else 0

    @property
    def high(self) -> int:  # type: ignore[override]
        """All steps."""
        return self.steps

    @property
    def first(self) -> int:
        """All steps: an error is not negative."""
        return self.steps

    @ignores_float_errors
    def of(self, estimator: Any, rows: Any, y: NDArray[Any]) -> Counts:
        """Return the sums."""
        true = self._shares(read_numbers(y, len(y)))
        answers = _answers(estimator, "predict", rows, len(y), "one number each")
        predicted: Any = None
        if answers.shape in (y.shape, (*y.shape, 1)):
            with suppress(ValueError, TypeError):
                predicted = self._shares(np.nan_to_num(answers.ravel().astype(np.float64)))
        if predicted is None:
            raise _refusal("predict one number each")
        cells = _CELLS[self.kind](true, predicted, self.steps)
        return np.array([each.sum() for each in cells])

    def _shares(self, numbers: Floats64) -> Floats64:
        """Return (number - M) / R, in [-1/2, 1/2]."""
        half = (self.high_end - self.low_end) / 2
        shares = (numbers - (self.low_end + half)) / half / 2
        return np.asarray(shares.clip(-0.5, 0.5))


def _absolute(true: Floats64, predicted: Floats64, steps: int) -> tuple[Counts, ...]:
    return (_steps(np.abs(true - predicted), steps),)


def _squared(true: Floats64, predicted: Floats64, steps: int) -> tuple[Counts, ...]:
    return (_steps((true - predicted) ** 2, steps),)


def _squared_and_target(true: Floats64, predicted: Floats64, steps: int) -> tuple[Counts, ...]:
    code = np.rint(true * steps).clip(-steps // 2, steps // 2).astype(np.int64)
    return (*_squared(true, predicted, steps), code, code**2 // steps)


_CELLS: dict[str, Callable[[Floats64, Floats64, int], tuple[Counts, ...]]] = {
    "absolute": _absolute,
    "squared": _squared,
    "r2": _squared_and_target,
}


def _steps(shares: Floats64, steps: int) -> Counts:
    found: Counts = np.rint(shares * steps).clip(0, steps).astype(np.int64)
    return found


def _codes(y: NDArray[Any], labels: tuple[Any, ...]) -> NDArray[np.intp]:
    """Return the position of each label in `labels`."""
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


def _refusal(what: str) -> DomainError:
    return DomainError(
        f"X holds records for which the estimator does not {what} (its own message is hidden because it might"
        " quote records); try it on made-up records"
    )


def errors_of(estimator: Any, rows: Any, labels: NDArray[Any]) -> int:
    """Return the number of wrong predictions; errors and warnings of `predict` are hidden."""
    errors: int | None = alone(lambda: count_errors(estimator.predict(rows), labels))
    if errors is None:
        raise DomainError(
            "X holds records for which the classifier does not predict one label each (its own message is"
            " hidden because it might quote records); try its predict on made-up records"
        )
    return errors


def count_errors(predicted: Any, labels: NDArray[Any]) -> int:
    """Return the number of positions at which predicted and true labels differ; entries may have any types.

    With more than one prediction a record, one record could count several times: a ValueError.
    """
    cells = np.asarray(predicted, dtype=object)
    if cells.shape not in (labels.shape, (*labels.shape, 1)):
        raise ValueError(
            f"predict must return one label for each of {len(labels)} records, got another shape"
        )
    given, truth = cells.ravel(), labels.astype(object)
    errors: int = attempt(
        lambda: int(np.count_nonzero(given != truth)),
        lambda _: sum(_differ(*each) for each in zip(given, truth, strict=True)),
    )
    return errors


def _differ(predicted: Any, label: Any) -> bool:
    """Return whether two labels differ, as numpy compares them; those that cannot be compared do."""
    return attempt(lambda: bool(predicted != label), lambda _: True)
