"""Passes over the parts of a table: each part is the input of one task, here or in the workers of a cluster.

Tasks make no draw: a part may be read again, and then has the same value. Their errors are results, since a
cluster would log an error, which might show a value. All parts have the same types, and in each pass the same
records.

>>> parts = InTurn(lambda: [([31, 42], "no"), ([57], "yes")])
>>> parts.total(lambda number: Task(lambda X, y: [sum(X)])).found()
[130]
"""

import hashlib
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse import issparse

from dplearn._progress import watched
from dplearn.domains.cells import columns_read_once, is_frame, read_column
from dplearn.domains.factors import Factor, Gapped
from dplearn.kernels import float_errors_ignored


class PartsChangedError(RuntimeError):
    """Raised if there are other parts, or parts of other lengths or records, than in the first pass."""

    def __init__(self) -> None:
        super().__init__(
            "X must have the same parts each time it is read, but their records, their number or their"
            " lengths have changed; read them in a fixed order, without shuffling or sampling, from a table"
            " that is not written to meanwhile"
        )

    def __reduce__(self) -> Any:  # a worker of a cluster returns it
        return type(self), ()


class PartsUnreadableError(RuntimeError):
    """Raised if code that reads the parts raises an error, whose text and type might show a value."""


_UNREADABLE = (
    "X must have parts that can be read, but their reader raised an error, which is not shown, since it might"
    " show a value; to see it, read all parts once without dplearn, by frame.compute() for Dask, or by a loop"
    " over the parts. {}"
)
_CAUSES = (
    "A frequent cause is a column without a declared type, as in read_csv(..., dtype=...)",
    "A file that it opens does not exist, seen from the working directory",
)
#: Errors about names, modules and files, which keep their type.
_PUBLIC: tuple[type[Exception], ...] = (NameError, ImportError, FileNotFoundError, PermissionError)


def unreadable(error: BaseException) -> Exception:
    """Return the error that is raised instead of one of code of others that reads parts; it depends only on
    whether that one is about names, modules or files.
    """
    kind = next((each for each in _PUBLIC if isinstance(error, each)), PartsUnreadableError)
    return kind(_UNREADABLE.format(_CAUSES[kind is FileNotFoundError]))


def without_text(read: Callable[[], Any]) -> Any:
    """Return the result of code of others that reads parts; its error is raised as `unreadable`."""
    try:
        return read()
    except (KeyboardInterrupt, SystemExit) as stop:
        found: BaseException = type(stop)()  # a new one: that of the reader may quote a value
    except BaseException as error:  # compiled readers raise errors that are no `Exception`
        found = unreadable(error)
    raise found


@dataclass(frozen=True)
class Task:
    """A function of one part, as a task that raises no error.

    An error would make a cluster log its text, and in some versions the arguments of the task: the part.
    The function is the same object for all parts of a pass, so that a cluster sends it once. Its arguments
    are the part's own ones, X and y.
    """

    function: Callable[..., Any]
    own: tuple[Any, ...] = ()

    def __call__(self, X: Any, y: Any, read: Callable[[Any, Any], tuple[Any, Any]] | None = None) -> "Result":
        """Return the value for a part, or the error that the function, or `read` before it, raised."""
        # In the threads and processes of a cluster too.
        with float_errors_ignored(), columns_read_once():
            try:
                given = (X, y) if read is None else read(X, y)
                return Result(self.function(*self.own, *given))
            except Exception as error:
                return Result(error=_without_variables(error))


@dataclass(frozen=True, repr=False)
class Result:
    """The value of a task, or its error."""

    value: Any = None
    error: Exception | None = None

    def found(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def sum_of_two(first: Result, second: Result) -> Result:
    """Return the sum of two results whose values are lists of equal lengths, or None; an error prevails."""
    for result in (first, second):
        if result.error is not None:
            return result
    if first.value is None or second.value is None:
        return second if first.value is None else first
    return Result([mine + other for mine, other in zip(first.value, second.value, strict=True)])


def _without_variables(error: Exception) -> Exception:
    """Return an error without notes and tracebacks, in which variables hold private values."""
    error.__cause__ = error.__context__ = None
    vars(error).pop("__notes__", None)
    return error.with_traceback(None)


class Parts(ABC):
    """The parts of a table, each of which can be read again."""

    @abstractmethod
    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        """Yield the result of a task for each part, in their order, from 0."""

    def kept(self, made_by: Callable[[int], Task], fits: Callable[[Any], bool]) -> "Parts | None":  # noqa: ARG002
        """Return parts whose X is what a task makes of a part, once; None if they cannot be kept, by public
        facts.
        """
        return None

    def total(self, task_of: Callable[[int], Task]) -> Result:
        """Return the sum of the results of a task for each part; a cluster adds them where they are."""
        total = Result()
        for result in self.run(task_of):
            total = sum_of_two(total, result)
            if total.error is not None:
                break
        return total


class InTurn(Parts):
    """Parts that this process reads one after another: pairs of X and y, the same ones at each call."""

    def __init__(self, parts: Callable[[], Iterable[tuple[Any, Any]]]):
        self._parts = parts
        self._n_parts: int | None = None  # known after the first pass

    def kept(self, made_by: Callable[[int], Task], fits: Callable[[Any], bool]) -> Parts:
        return Kept(self, made_by, fits)

    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        n_parts = 0
        for X, y in watched(self._parts(), "Reading parts", self._n_parts):
            yield task_of(n_parts)(X, y)
            n_parts += 1
        self._n_parts = n_parts


class Kept(Parts):
    """Parts that are made of others, in this process, and kept if they fit."""

    def __init__(self, parts: Parts, made_by: Callable[[int], Task], fits: Callable[[Any], bool]):
        self._parts, self._made_by, self._fits = parts, made_by, fits
        self._kept: list[Result] | None = None

    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        kept, fit = [], True
        for number, made in enumerate(self._kept or self._parts.run(self._made_by)):
            if fit := fit and made.error is None and self._fits(made.value):
                kept.append(made)
            yield made if made.error is not None else task_of(number)(made.value, None)
        self._kept = kept if fit else None


def computed_at_once(compute: Callable[[], Any], n_parts: int) -> Any:
    """Return what others compute of all parts of a pass."""
    return without_text(compute) if n_parts else ()


@dataclass(frozen=True)
class PartTypes:
    """What a part shows without its values; the shape is that of one record: (d,) in a table, () in a single
    column.
    """

    library: str
    shape: tuple[int, ...]
    names: tuple[Any, ...] | None
    types: tuple[Any, ...]

    @classmethod
    def of(cls, part: Any) -> "PartTypes":
        """Return the types of a data frame, an array, a series or a list."""
        shape = tuple(getattr(part, "shape", (0,))[1:])
        library = type(part).__module__.partition(".")[0]
        if is_frame(part):
            return cls(library, shape, tuple(part.columns), tuple(part.dtypes))
        return cls(library, shape, None, (getattr(part, "dtype", type(part).__name__),))

    def check_same(self, other: "PartTypes", name: str = "X", *, categories: bool = False) -> None:
        """Refuse another part with other columns or types; `categories`: whether those of categorical columns
        count.
        """
        if self.library != other.library:
            raise TypeError(
                f"{name} must have parts of one library, got parts of {self.library} and of {other.library}"
            )
        if (self.shape, self.names) != (other.shape, other.names):
            raise ValueError(f"{name} must have the same columns in each part, but {self._unlike(other)}")
        for place, (mine, theirs) in enumerate(zip(self.types, other.types, strict=True)):
            column = "" if self.names is None else f" of column {self.names[place]!r}"
            if categories and str(mine) == str(theirs) and mine != theirs:
                raise TypeError(
                    f"{name} must have the same categories in each part, but those{column} differ; make each"
                    " part's by the same pandas.CategoricalDtype([...]), or read the column as text"
                )
            if str(mine) != str(theirs):
                raise TypeError(
                    f"{name} must have the same types in each part, but the type{column} is"
                    f" {_without_values(mine)} in one and {_without_values(theirs)} in another; declare types"
                    " where parts are read, such as read_csv(..., dtype=...)"
                )

    def _unlike(self, other: "PartTypes") -> str:
        """Return how the columns of another part differ."""
        if self.names is None or other.names is None:
            return f"a record has the shape {self.shape} in one and {other.shape} in another"
        missing = [
            each for each in (*self.names, *other.names) if (each in self.names) != (each in other.names)
        ]
        if missing:
            return f"{missing[0]!r} is not in all of them"
        return "their order differs; select them by name where parts are read, such as part[names]"


def _without_values(kind: Any) -> str:
    """Return the text of a type; an Enum's without its values."""
    text = str(kind)
    return text.partition("(")[0] if text.startswith("Enum(") else text


_NARROW = {"g": "d", "G": "D"}  # long types have padding, whose bits are arbitrary


def digest_of(records: Any) -> bytes:
    """Return a digest of records, equal for equal records in every process, unless a cell is a set."""
    pickled = BytesIO()
    pickler = _Pickler(pickled, 5)
    pickler.fast = True  # without a memo, which depends on whether equal cells are one object
    with suppress(Exception):  # records with a cell that cannot be pickled are taken as equal
        pickler.dump(records)
    return hashlib.blake2b(pickled.getvalue(), digest_size=16).digest()


def _digestible(column: Any) -> Any:
    """Return a column as arrays that are equal for equal cells, in whatever order its levels are."""
    if isinstance(column, Factor):
        return column.map(lambda levels: np.array([crc32(pickle.dumps(each, 5)) for each in levels.tolist()]))
    return (column.numbers, column.gaps) if isinstance(column, Gapped) else column


class _Pickler(pickle.Pickler):
    """Pickles tables as lists of their columns, in any layout, and arrays of numbers as their CRC-32."""

    def reducer_override(self, part: Any) -> Any:
        if is_frame(part):
            return list, tuple(_digestible(read_column(part, place)) for place in range(part.shape[1]))
        if issparse(part):
            rows: Any = part.tocsr()  # type: ignore[attr-defined]
            return list, (rows.indptr, rows.indices, rows.data)
        if type(part) is not np.ndarray or part.dtype.hasobject:
            return NotImplemented
        plain = part.astype(_NARROW.get(part.dtype.char, part.dtype), copy=False)
        data: Any = np.ascontiguousarray(plain).reshape(-1).view(np.uint8)
        return list, (part.dtype.str, part.shape, crc32(data))
