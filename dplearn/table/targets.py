"""Read labels, one or several of a record, and targets of regression; no error shows a private one."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from dplearn._validation import check_bool, check_number, shown
from dplearn._writing import first_of
from dplearn.domains import DomainError, Schema
from dplearn.domains.cells import (
    as_cells,
    as_numbers,
    cell_type,
    column_type,
    frame_column,
    holds_times,
    in_units,
    is_frame,
    is_missing,
    is_number,
    is_row,
    is_text,
    object_array,
)
from dplearn.domains.numbers import Floats
from dplearn.kernels import ignores_float_errors
from dplearn.table.features import COMPLEX, refuse_complex

_LABELLED = "drop records without a label if their number may be public, or make 'missing' one of the labels"
_ONE_KIND = f"y must hold labels that are all strings or all numbers, and none missing; {_LABELLED}"
#: The end of a message about several labels of a record.
_SEVERAL = (
    "; PrivateMultiOutputClassifier fits a classifier to each of several labels of a record, from a table in"
    " memory, and AdditiveClassifier takes several labels, from parts too"
)
#: The end of a message about a type of numbers where the declared classes are texts.
_ENCODED = (
    "; y has a type of numbers: a meta-estimator such as OneVsRestClassifier gives its learners the labels 0,"
    " 1 and so on, so declare those within it, classes=[0, 1]"
)
_NO_NAN = f"Input y contains NaN or infinity; {_LABELLED}"
_PLAIN_NUMBERS = {int, bool, float}
_PLAIN = {*_PLAIN_NUMBERS, str}
_NO_LABEL = object()  # stands for a label that has no value
_LISTED = 20  # classes in a message


def read_labels(y: Any, n: int, classes: Sequence[Hashable] | None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted label set, those in `classes` or in y, and the place of each record's label in it."""
    labels = label_cells(y, n)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(_NO_NAN)
    if classes is None:
        return _found_labels(labels)
    public = check_classes(classes)
    codes = places_of(public, labels)
    if (codes < 0).any():
        numbers = isinstance(public[0], str) and getattr(_type_of(y), "kind", "") in ("i", "u", "f", "b")
        encoded = _ENCODED if numbers else ""
        raise DomainError(f"y holds a label that is not among the declared classes{_listed(public)}{encoded}")
    return public, codes


def _listed(classes: NDArray[Any]) -> str:
    """Return the declared classes, or the first of many, as the end of a message; shows no label of y."""
    if len(classes) == 1:
        return ", which are one label only"
    return f" ({first_of(classes.tolist(), _LISTED)}); a missing label counts as such"


def check_known_labels(classes: NDArray[Any]) -> None:
    """Refuse labels that scikit-learn's models do not take: objects that are no texts, and fractions."""
    if classes.dtype.kind == "f" and (classes % 1 != 0).any():
        raise ValueError(
            "classes must be texts or whole numbers for a classifier of scikit-learn, got fractions: their"
            " texts, y.astype(str), are such"
        )
    if classes.dtype == object and not isinstance(classes[0], str):
        raise ValueError(
            f"y must hold texts or numbers of a type of numpy for a model of scikit-learn, got"
            f" {type(classes[0]).__name__}; y.astype(float) or y.astype(str) are such"
        )


def check_several_labels(classes: NDArray[Any]) -> None:
    """Refuse a single label, from which nothing is learned."""
    if len(classes) < 2:
        raise ValueError(
            f"classes must hold at least 2 labels, got {len(classes)} class; classes=[...] declares all"
            " that can occur"
        )


def labels_assumed(classes: Sequence[Any] | None) -> str:
    """Return the assumption about labels: they are among the declared ones, or their set is public."""
    if classes is None:
        return "the set of labels, and their type, is public"
    return "labels are among the declared classes"


def declared_classes(classes: Sequence[Any] | None, domain: Any) -> Sequence[Any] | None:
    """Return the declared labels: `classes` if given, else those of a schema, else None."""
    return domain.labels if classes is None and isinstance(domain, Schema) else classes


def check_two_labels(classes: NDArray[Any], learned: str) -> None:
    """Raise scikit-learn's error unless there are two labels, which what is `learned` needs; any, if ""."""
    if learned and len(classes) != 2:
        raise ValueError(
            f"Only binary classification is supported: {learned} needs 2 classes, got"
            f" {len(classes)} class" + ("es" if len(classes) != 1 else "; classes=[...] declares both")
        )


def check_pairs(sets: Sequence[NDArray[Any]], learned: str) -> None:
    """Raise an error unless every output has two labels, as `check_two_labels` does."""
    for classes in sets:
        check_two_labels(classes, learned)


def label_cells(
    y: Any,
    n: int | None = None,
    *,
    what: str = "labels",
    several: str = _SEVERAL,
    any_cells: bool = False,
) -> NDArray[Any]:
    """Return the labels, or targets, of n records as a one-dimensional array of unconverted cells; with
    `any_cells`, a row of several cells or a complex number becomes an object that equals no label.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if is_frame(y) and y.shape[1] != 1:
        raise ValueError(
            f"y must have one column of {what}, got a data frame of {y.shape[1]} columns{several}"
        )
    cells = frame_column(y, 0) if is_frame(y) else as_cells(y)
    if cells.ndim == 2 and cells.shape[1] > 1:
        raise ValueError(f"y should be a 1d array, got an array of {cells.shape[1]} columns instead{several}")
    listed = cells.ravel().tolist() if cells.dtype == object else []
    if not set(map(type, listed)) <= _PLAIN:
        listed = [_bare(label) for label in listed]
        if any_cells:
            listed = [_NO_LABEL if is_row(label) or isinstance(label, COMPLEX) else label for label in listed]
        if any(map(is_row, listed)):
            raise ValueError(f"y must hold one {what[:-1]} for each record, got a row of several{several}")
        cells = object_array(listed).reshape(cells.shape)
    if cells.dtype.kind in "cO":
        refuse_complex(cells.dtype, *set(map(type, listed)))
    if holds_times(cells.dtype):
        raise ValueError("y must hold labels that are texts or numbers, got times; y.astype(str) are texts")
    labels: NDArray[Any] = column_or_1d(cells, warn=True)
    if n not in (None, len(labels)):
        raise ValueError(f"X and y must have equal numbers of samples, got {n} and {len(labels)}")
    return labels


def _bare(label: Any) -> Any:
    """Return the label in a row of one column or in an array of size 1; None for a missing label."""
    try:
        if isinstance(label, np.ndarray) and label.size == 1:
            label = label.ravel().tolist()[0]
        elif is_row(label) and len(label) == 1:
            label = label[0]
        return None if is_missing(label) else label
    except Exception:  # an arbitrary cell may raise any error
        return _NO_LABEL


def _found_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels that occur, sorted, and each record's index; the set and its type count as public.
    Labels of mixed kinds or such as NaN are refused: the set would reveal their number and order.
    """
    labels = labels.astype(object) if labels.dtype.kind == "T" else labels  # StringDType
    if labels.dtype.kind == "O":
        listed = labels.tolist()
        kinds = set(map(type, listed))
        if kinds == {str}:
            public = object_array(sorted(set(listed)))
            return public, places_of(public, labels)
        plain = kinds <= _PLAIN_NUMBERS and not any(label != label for label in listed)  # NaN differs
        texts = all(isinstance(label, str) for label in listed)
        if not plain and not texts and not all(map(_is_label_number, listed)):
            raise ValueError(_ONE_KIND)
        common = np.asarray(listed)
        labels = common if common.ndim == 1 and common.dtype.kind in "iufb" else labels
    if labels.dtype.kind == "S":
        raise ValueError("y must hold texts or numbers, got bytes; y.astype(str) are texts")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(_NO_NAN)
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        raise ValueError(
            "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects"
            " discrete classes, on a regression target with continuous values."
        )
    return _unique(labels)


def _is_label_number(label: Any) -> bool:
    """Return True for a number other than NaN; a comparison of decimal's signaling NaN would raise."""
    return is_number(label) and not is_missing(label) and not (isinstance(label, Decimal) and label.is_nan())


def places_of(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each label in the sorted classes, -1 for others."""
    if (
        labels.dtype.kind in "iufb" and classes.dtype == labels.dtype
    ):  # compared without a conversion, in little memory
        nearest = np.searchsorted(classes, labels)
        np.minimum(nearest, len(classes) - 1, out=nearest)
        nearest[classes[nearest] != labels] = -1
        return nearest
    place = {label: code for code, label in enumerate(classes.tolist())}
    if labels.dtype.kind not in "iufb":
        return _looked_up(place, labels)
    found, inverse = _unique(labels)
    return _looked_up(place, found)[inverse]  # each distinct number is looked up once


def _looked_up(place: dict[Any, int], labels: NDArray[Any]) -> NDArray[np.intp]:
    listed = labels.tolist()
    if set(map(type, listed)) <= _PLAIN:  # these can be hashed and compared
        return np.fromiter(map(place.get, listed, repeat(-1)), np.intp, len(listed))
    return np.array([_place(place, label) for label in listed], dtype=np.intp)


def _place(place: dict[Any, int], label: Any) -> int:
    if isinstance(label, bytes):  # no class is bytes, and `python -b` warns of comparing them with text
        return -1
    try:
        return place.get(label, -1)
    except Exception:  # a value that cannot be hashed or compared is no label
        return -1


def check_classes(classes: Sequence[Hashable]) -> NDArray[Any]:
    """Return the declared label set, sorted, if its labels are distinct and all strings or all numbers."""
    if isinstance(classes, Mapping):
        raise TypeError(
            "classes must be a sequence of labels, or of label sets in the order of the columns of y, got a"
            " mapping"
        )
    labels = list(classes) if isinstance(classes, Iterable) and not isinstance(classes, str) else []
    texts = sum(isinstance(label, str) for label in labels)
    numbers = sum(isinstance(label, (float, np.floating)) or _is_label_number(label) for label in labels)
    if not labels or len(labels) not in (texts, numbers) or len(set(labels)) < len(labels):
        raise ValueError(
            "classes must be a list of distinct labels, at least one, all strings or all numbers, got"
            f" {shown(classes)}"
        )
    public = _unique(np.asarray(labels))[0]
    kept = set(public.tolist()) == set(labels) and len(public) == len(labels)
    if not kept or (public.dtype.kind == "f" and not np.isfinite(public).all()):
        raise ValueError(
            f"classes must be finite, and keep their values in one numpy type, got {shown(classes)}"
        )
    return public


def _unique(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    with suppress(TypeError):  # of labels that cannot be compared
        found, inverse = np.unique(labels, return_inverse=True)
        return found, inverse.astype(np.intp).ravel()
    raise ValueError(_ONE_KIND)


@dataclass(frozen=True, repr=False)  # a traceback could show the repr
class Outputs:
    """The labels of a table."""

    classes: list[NDArray[Any]]  # public: the sorted label set of each output
    codes: NDArray[np.intp]  # private: of shape (n, n_outputs)
    many: bool  # public: whether y has two dimensions


def n_outputs_of(y: Any) -> int:
    """Return the number of labels per record, in the first row of a list; `read_outputs` refuses others."""
    if is_frame(y) or (isinstance(y, np.ndarray) and y.ndim == 2):
        return int(y.shape[1])
    row = y[0] if isinstance(y, Sequence) and not isinstance(y, (str, bytes)) and len(y) else None
    return np.size(row) if isinstance(row, (list, tuple, np.ndarray)) else 1


def read_outputs(y: Any, n: int, classes: Sequence[Any] | None) -> Outputs:
    k = n_outputs_of(y)
    known: list[Any] = [None] * max(1, k) if classes is None else sets_of_outputs(classes, max(1, k))
    if k < 2:
        label_set, codes = read_labels(y, n, known[0])
        return Outputs([label_set], codes[:, None], many=False)
    if isinstance(y, Sequence) and any(np.size(row) != k for row in y):
        raise ValueError("rows of y must be equally long")
    read = [_read_output(output_column(y, i), n, each, i) for i, each in enumerate(known)]
    return Outputs([labels for labels, _ in read], np.column_stack([codes for _, codes in read]), many=True)


def _read_output(y: Any, n: int, classes: Any, i: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the label set and the codes of one output; an error names it."""
    refused: ValueError | None = None
    try:
        return read_labels(y, n, classes)
    except ValueError as error:
        refused = error
    kind = DomainError if isinstance(refused, DomainError) else ValueError
    raise kind(f"in output {i}, {refused}")  # not in the handler: the traceback of the cause holds cells


def declared_sets(classes: Sequence[Any]) -> list[NDArray[Any]]:
    """Return the validated declared label sets: one for each output, or one for all."""
    sets = list(classes) if isinstance(classes, Iterable) and not isinstance(classes, str) else []
    many = sets and all(isinstance(each, (list, tuple, np.ndarray)) for each in sets)
    return [check_classes(each) for each in (sets if many else [classes])]


def sets_of_outputs(classes: Sequence[Any], n_outputs: int) -> list[NDArray[Any]]:
    """Return the declared label set of each output, of which there is one for each or one for all."""
    sets = declared_sets(classes)
    if len(sets) not in (1, n_outputs):
        raise ValueError(
            f"classes must have a label set for each of {n_outputs} outputs, got {len(sets)}; n_outputs is"
            " the number of columns of y, and in a plan an argument"
        )
    return sets if len(sets) == n_outputs else sets * n_outputs


def labels_in_parts(found: Iterable[Sequence[NDArray[Any]] | None]) -> Any:
    """Return the labels that occur in parts, sorted, or those of each output, from those of each part."""
    known = [part for part in found if part is not None]
    check_equal_outputs(map(len, known))
    sets = [_united(parts) for parts in zip(*known, strict=True)]
    return sets if len(sets) > 1 else sets[0] if sets else []


def _united(parts: Sequence[NDArray[Any]]) -> list[Any]:
    kinds = {part.dtype.kind for part in parts}
    if len({"f" if kind in "iuf" else kind for kind in kinds}) > 1:
        raise ValueError("y must hold labels of one type in all parts; classes=[...] declares them")
    common = np.concatenate(parts)
    if common.dtype.kind == "f" and kinds & {"i", "u"} and (abs(common) > _LARGEST).any():
        raise ValueError(
            "y must hold integers of one type in all parts, since floats do not represent some of them;"
            " declare the type where parts are read, such as read_csv(..., dtype=...)"
        )
    plain = all(isinstance(label, (str, int, float)) for label in common.tolist())
    if not plain:
        raise ValueError(
            "y must hold texts, integers, booleans or floats if X is in parts; convert other labels, such as"
            " decimals, where parts are read"
        )
    return check_classes(np.unique(common).tolist()).tolist()


def check_equal_outputs(numbers: Iterable[int]) -> None:
    """Refuse parts whose records have different numbers of labels."""
    different = sorted(set(numbers))
    if len(different) > 1:
        raise ValueError(f"y must have the same number of outputs in all parts, got {different}")


def label_columns(classes: Sequence[NDArray[Any]], codes: NDArray[np.integer]) -> list[NDArray[Any]]:
    return [labels[column] for labels, column in zip(classes, codes.T, strict=True)]


def output_column(y: Any, i: int) -> Any:
    if is_frame(y):
        return frame_column(y, i)
    return y[:, i] if isinstance(y, np.ndarray) else [row[i] for row in y]


def joined_outputs(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the labels of several outputs as one array; an array of objects if they are of several kinds."""
    alike = len({column.dtype.kind for column in columns}) == 1
    return np.column_stack(columns if alike else [column.astype(object) for column in columns])


def share_all_right(sets: Sequence[NDArray[Any]], predicted: Any, y: Any, weights: Any = None) -> float:
    """Return the share of rows, weighted if there are weights, whose labels are all predicted correctly; a
    label that is in no set is a wrong prediction.
    """
    if (k := n_outputs_of(y)) != len(sets):
        raise ValueError(f"y must have {len(sets)} outputs, got {k}")
    given = [y] if k == 1 else [output_column(y, i) for i in range(k)]
    columns = np.reshape(predicted, (-1, k)).T
    weights = None if weights is None else _weights(weights, len(columns[0]))
    right = [_right(*each) for each in zip(sets, columns, given, strict=True)]
    return float(np.average(np.all(right, axis=0), weights=weights))


def _weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Return the weights of a score; refuse those of which no mean can be taken."""
    with suppress(TypeError, ValueError, OverflowError):
        found = np.asarray(weights, dtype=np.float64)
        if found.shape == (n,) and np.isfinite(found).all() and found.sum():
            return found
    raise ValueError(f"sample_weight must hold {n} finite numbers, one for each row, whose sum is not 0")


def _right(classes: NDArray[Any], predicted: NDArray[Any], y: Any) -> NDArray[np.bool_]:
    labels = label_cells(y, len(predicted), any_cells=True)
    texts = isinstance(classes.tolist()[0], str)
    if not any(isinstance(each, str) == texts for each in labels.tolist()):
        raise ValueError(f"y must hold {'texts' if texts else 'numbers'}, as the labels of the fit are")
    codes = places_of(classes, labels)
    return (codes >= 0) & (codes == places_of(classes, predicted))


_LARGEST = 2.0**53  # floats represent all integers up to there
#: The code of the upper bound; that of the lower bound is its negative. A step is 2**-16 of half the range.
STEPS = 1 << 16
#: Bounds are at most so great, and at least so far apart: no square of a target overflows or vanishes.
_GREATEST, CLOSEST = 1e100, 1e-100
_NOT_FINITE = (
    "Input y contains NaN, infinity or a value that is not a number, and a regressor predicts numbers; drop"
    " records without a target if their number may be public"
)
_ONE_TARGET = "; a regressor predicts one target: fit a regressor to each, with a share of the budget"


@dataclass(frozen=True)
class TargetRange:
    """The declared range of a target, low < high; with `clip` one outside is moved to the nearest bound."""

    low: float
    high: float
    clip: bool = False

    @classmethod
    def of(cls, bounds: Any, *, clip: Any = False) -> "TargetRange":
        """Return the range, given a learner's parameters `target_range` and `clip_target`."""
        pair = isinstance(bounds, (Sequence, np.ndarray)) and not isinstance(bounds, (str, bytes))
        if not pair or len(bounds) != 2:
            raise ValueError(
                "target_range must be a pair (low, high) of public bounds on y, known without looking at the"
                " data, or 'learn'; in a search, which compares fits on one range, it must be a pair; got"
                f" {shown(bounds)}"
            )
        check_bool("clip_target", clip)
        given = f"got ({shown(bounds[0])}, {shown(bounds[1])})"
        low, high = (check_number("target_range", bound) for bound in bounds)
        if low >= high:
            raise ValueError(f"target_range must be a pair (low, high) with low < high, {given}")
        if max(abs(low), abs(high)) > _GREATEST or float(high) - float(low) < CLOSEST:
            raise ValueError(
                f"target_range must be a pair (low, high) of magnitudes up to {_GREATEST:g} that are at least"
                f" {CLOSEST:g} apart, {given}"
            )
        return cls(float(low), float(high), bool(clip))

    @property
    def middle(self) -> float:
        return self.low / 2 + self.high / 2

    @property
    def half(self) -> float:
        return self.high / 2 - self.low / 2

    @property
    def assumption(self) -> str:
        """The precondition on the target, as listed in a guarantee."""
        ends = f"from {self.low} to {self.high}"
        if self.clip:
            return f"targets are numbers; they are clipped to the range {ends}"
        return f"targets are numbers {ends}"

    def too_wide(self, count: str) -> str:
        """Return the warning of a fit whose released residuals are within its noise."""
        return (
            f"{count}: the released spread of the residuals is within the noise of the fit,"
            f" which is proportional to the width of target_range=({self.low:g}, {self.high:g}), and"
            " predictions may be useless; declare a range that fits the targets, if it is known without"
            " looking at the data, with clip_target=True for the few targets beyond it, or use more records"
            " or a larger epsilon"
        )

    def decode(self, scaled: Any) -> NDArray[np.float64]:
        """Return targets, given numbers on the scale on which the range is [-1, 1]."""
        return np.asarray(self.middle + self.half * np.asarray(scaled, dtype=np.float64))

    @ignores_float_errors
    def encode(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return codes from -STEPS to STEPS; refuse numbers that lie half a step outside, unless `clip`."""
        steps = np.rint((numbers.astype(np.float64) - self.middle) / self.half * STEPS)
        codes = steps.clip(-STEPS - 1, STEPS + 1).astype(np.int64)
        if not self.clip and (np.abs(codes) > STEPS).any():
            raise DomainError(
                f"y holds a target outside target_range=({self.low}, {self.high}); clip_target=True moves"
                " such targets to the nearest bound"
            )
        return codes.clip(-STEPS, STEPS)


def read_target(y: Any, n: int, target: TargetRange) -> NDArray[np.int64]:
    """Return the code of each record's target, from -STEPS for the lower bound to STEPS for the upper one."""
    return target.encode(read_numbers(y, n))


def read_numbers(y: Any, n: int) -> NDArray[Any]:
    """Return targets as finite numbers, not compared with a range yet."""
    if holds_times(_type_of(y)):
        raise DomainError(f"y must hold numbers, got {in_units(_type_of(y))}")
    if is_text(cell_type(_type_of(y))):
        raise DomainError(
            f"y must hold numbers, got a type of text, {_type_of(y)}: a regressor predicts numbers, and a"
            " classifier labels; numbers written as text become numbers by y.astype(float)"
        )
    cells = label_cells(y, n, what="targets", several=_ONE_TARGET)
    with suppress(DomainError):  # the error below must not have one about a column of X as its context
        return as_numbers(cells, Floats())
    raise DomainError(_NOT_FINITE)


def _type_of(y: Any) -> Any:
    """Return the public type of targets; None if they have none, as in a list."""
    return column_type(y, 0) if is_frame(y) and y.shape[1] == 1 else getattr(y, "dtype", None)


def positive_code(positive: Any, classes: Sequence[Any] | NDArray[Any] | None) -> int | None:
    """Return the label code of records that satisfy the rule; None without classes."""
    if classes is None:
        return None
    if positive is None:
        return 1
    if positive not in (labels := list(classes)):
        raise ValueError(f"positive must be one of the two labels, got {positive!r}")
    return labels.index(positive)
