"""Read a table in parts: each part by the stages of the learner, all of them before anything is charged.

A table in parts is read as often as its records are summed. The first pass validates each part as `_read`
validates a table, and finds what is public: lengths, columns, and the labels where none are declared. Later
passes read the part again, with the same checks, and end with its summary. No pass makes a draw.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from dplearn.estimator.stages import Params, Public, Table
from dplearn.records.outputs import n_outputs_of, read_outputs
from dplearn.records.part_digests import digest_of
from dplearn.records.part_types import PartTypes
from dplearn.records.parts import PartedRecords, Source
from dplearn.records.reading import check_classes, read_labels
from dplearn.records.rows import SummedRecords, count_of

__all__ = ["read_parts", "summary_of"]

_EXACT = 2.0**53  # floats represent all integers up to there


def read_parts(learner: Any, source: Source, params: Params) -> Table:
    """Return a table in parts after all of them have been validated.

    Parameters
    ----------
    learner : PrivateEstimator
        Its `n_features_in_` and `feature_names_in_` are set.
    source : Source
        Private.
    params : Params
        From the learner's `_params`.

    Raises
    ------
    DomainError, TypeError, ValueError
        As for the learner's `_read` of the first part that it refuses; or if parts have other columns or
        other types of columns than the first.
    """
    if is_classifier(learner) and params.classes is None:
        params = params.given(classes=_found_labels(learner, source))
    reader = _Reader.of(learner, params)
    found = list(source.values(lambda _: reader.found))
    parts = [part for part in found if part is not None]
    if not parts:
        raise ValueError(
            "Found array with 0 sample(s) while a minimum of 1 is required: X has no part with rows"
        )
    first = parts[0]
    reader = replace(reader, types=first.types)
    for part in parts:
        reader.check(part.types)
    _check_equal_outputs(part.n_outputs for part in parts)
    lengths = [0 if part is None else part.public.n_samples for part in found]
    for name, value in first.attributes.items():
        setattr(learner, name, value)
    stream = learner._public_stream(params) if first.drew else None
    public = replace(first.public, n_samples=sum(lengths), stream=stream)
    return Table(public, PartedRecords(source, reader, lengths, [part and part.digest for part in found]))


def summary_of(learner: Any, table: Table, plan: Any) -> Any:
    """Return the learner's summary of a table in memory, or of one in parts.

    Parameters
    ----------
    learner : PrivateEstimator
        The learner.
    table : Table
        From `_read` or `read_parts`.
    plan : object
        From the learner's `_plan`.
    """
    if isinstance(table.rows, SummedRecords):
        return table.rows.then(_Summarizer(_without_ledger(learner), table.public, plan))
    return learner._summarize(table, plan)


@dataclass(frozen=True, repr=False)
class _Found:
    """The public values that a part shows.

    Attributes
    ----------
    public : Public
        As the learner found them, without a stream.
    digest : bytes
        Private. Of the encoded records.
    drew : bool
        Whether the learner makes public choices in a fit.
    types : PartTypes
        The names and types of the columns.
    n_outputs : int
        The number of labels of a record.
    attributes : dict
        The fitted attributes that reading sets.
    """

    public: Public
    digest: bytes
    drew: bool
    types: PartTypes
    n_outputs: int
    attributes: dict[str, Any]


@dataclass(frozen=True, repr=False)
class _Reader:
    """The reading of one part, without draws."""

    learner: Any
    params: Params
    types: PartTypes | None = None  # of all parts, after the first pass

    @classmethod
    def of(cls, learner: Any, params: Params) -> "_Reader":
        """Return the reader of a learner's parts; reading one uses up nothing of a random generator."""
        return cls(_without_ledger(learner), params.given(random_state=0))

    def __call__(self, X: Any, y: Any) -> Any:
        self.check(PartTypes.of(X))
        return _unfitted(self.learner)._read(X, y, self.params).rows

    def check(self, types: PartTypes) -> None:
        """Refuse a part with other columns, or other types of columns, than the first one."""
        if self.types is not None:
            self.types.check_same(types, categories=self.learner.keeps_types)

    def found(self, X: Any, y: Any) -> _Found | None:
        """Return the public values of a part; None if it has no rows."""
        if not count_of(X):
            return None
        _check_given(self.learner, y)
        reader = _unfitted(self.learner)
        table = reader._read(X, y, self.params)
        public, digest = table.public, digest_of(table.rows)
        attributes = {name: value for name, value in vars(reader).items() if name.endswith("_in_")}
        drew, types = public.stream is not None, PartTypes.of(X)
        return _Found(replace(public, stream=None), digest, drew, types, n_outputs_of(y), attributes)


@dataclass(frozen=True, repr=False)
class _Summarizer:
    """The summary of the encoded rows of one part."""

    learner: Any
    public: Public
    plan: Any

    def __call__(self, rows: Any) -> Any:
        return self.learner._summarize(Table(replace(self.public, n_samples=count_of(rows)), rows), self.plan)


def _without_ledger(learner: Any) -> Any:
    """Return an unfitted twin of a learner, without its ledger, which holds a lock and a history."""
    twin = _unfitted(learner)
    twin.ledger = None
    return twin


def _unfitted(learner: Any) -> Any:
    """Return a twin with the same parameters and settings, but without fitted attributes."""
    twin = object.__new__(type(learner))
    vars(twin).update({name: value for name, value in vars(learner).items() if not name.endswith("_")})
    return twin


def _check_given(learner: Any, y: Any) -> None:
    """Refuse parts without labels or targets where the learner requires them."""
    if y is None and (is_classifier(learner) or is_regressor(learner)):
        raise ValueError(
            "requires y to be passed, but the target y is None; for a table in parts give the name of a"
            " column of X, labels in the same parts, or a pair (X, y) as each part"
        )


def _found_labels(learner: Any, source: Source) -> Any:
    """Return the labels that occur in the parts, sorted, or those of each output; their sets are public."""

    def labels(X: Any, y: Any) -> Any:
        n = count_of(X)
        _check_given(learner, y)
        if not n:
            return None
        return read_outputs(y, n, None).classes if learner.reads_outputs else [read_labels(y, n, None)[0]]

    found = [part for part in source.values(lambda _: labels) if part is not None]
    _check_equal_outputs(map(len, found))
    sets = [_united(parts) for parts in zip(*found, strict=True)]
    return sets if len(sets) > 1 else sets[0] if sets else []


def _united(parts: Sequence[NDArray[Any]]) -> list[Any]:
    """Return the labels of all parts, sorted."""
    kinds = {part.dtype.kind for part in parts}
    if len({"f" if kind in "iuf" else kind for kind in kinds}) > 1:
        raise ValueError("y must hold labels of one type in all parts; classes=[...] declares them")
    common = np.concatenate(parts)
    if common.dtype.kind == "f" and kinds & {"i", "u"} and (abs(common) > _EXACT).any():
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
    labels: list[Any] = check_classes(np.unique(common).tolist()).tolist()
    return labels


def _check_equal_outputs(numbers: Iterable[int]) -> None:
    """Refuse parts whose records have different numbers of labels."""
    different = sorted(set(numbers))
    if len(different) > 1:
        raise ValueError(f"y must have the same number of outputs in all parts, got {different}")
