"""Private tables in consecutive parts, which are read again in each pass over the records.

A sum over records is the sum over parts of the sums over their records. So a table that does not fit into
memory is summed part by part, by the code that sums a table in memory, and the result is the same for every
division into parts. In a pass, each part is the input of one task. Tasks make no draw: a part may be read
again, for example if a worker of a cluster is lost, and then has the same sums.

>>> import numpy as np
>>> from dplearn.records.rows import Examples
>>> table = np.arange(6.0).reshape(3, 2)
>>> source = InTurn(lambda: [(table[:2], np.array([0, 1])), (table[2:], np.array([1]))])
>>> records = PartedRecords(source, Examples, lengths=(2, 1))
>>> len(records), [total.tolist() for total in records.sums(lambda part: [part.X.sum(axis=0)])]
(3, [[6.0, 9.0]])
>>> doubled = records.then(lambda part: Examples(2 * part.X, part.y))
>>> doubled[np.array([2, 0])].X.tolist()
[[8.0, 10.0], [0.0, 2.0]]
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.float_errors import float_errors_ignored
from dplearn.records.part_digests import digest_of
from dplearn.records.pass_progress import counted
from dplearn.records.rows import SummedRecords, count_of, joined, taken

__all__ = [
    "PARTS",
    "InTurn",
    "Mapped",
    "PartedRecords",
    "PartsChangedError",
    "PartsUnreadableError",
    "Result",
    "Source",
    "Task",
    "added",
    "assuming_parts",
    "mapped",
    "nothing",
    "reading",
    "summed",
    "unreadable",
]

#: The assumption of a guarantee about a table in parts.
PARTS = (
    "the number of parts, their lengths, and the part and place of each record are public and do not depend"
    " on values; a part has the same records each time it is read"
)

Function = Callable[[Any, Any], Any]  # of X and y of a part


def assuming_parts(plan: Any) -> Any:
    """Return a plan whose guarantee also assumes what reading a table in parts does.

    Parameters
    ----------
    plan : Plan
        Of a fit or a release; has a `guarantee`.
    """
    guarantee = plan.guarantee
    return replace(plan, guarantee=replace(guarantee, assumes=(*guarantee.assumes, PARTS)))


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
    " over the parts. A frequent cause is a column without a declared type, as in read_csv(..., dtype=...)"
)

#: Errors about names, modules and files, which keep their type.
_PUBLIC: tuple[type[Exception], ...] = (NameError, ImportError, FileNotFoundError, PermissionError)


def unreadable(error: BaseException) -> Exception:
    """Return the error that is raised instead of one of code of others that reads parts.

    Parameters
    ----------
    error : BaseException
        Private. Only whether it is about names, modules or files is used.
    """
    return next((each for each in _PUBLIC if isinstance(error, each)), PartsUnreadableError)(_UNREADABLE)


def reading(read: Callable[[], Any]) -> Any:
    """Return the result of code of others that reads parts.

    Parameters
    ----------
    read : callable
        Without arguments.

    Raises
    ------
    PartsUnreadableError, NameError, ImportError, FileNotFoundError, PermissionError
        If it raises an error; the new one has no context.
    """
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

    Attributes
    ----------
    function : callable
        Maps X and y of a part to a value.
    """

    function: Function

    def __call__(self, X: Any, y: Any) -> "Result":
        """Return the value for a part, or the error that the function raised."""
        with float_errors_ignored():  # in the threads and processes of a cluster too
            try:
                return Result(self.function(X, y))
            except Exception as error:
                return Result(error=_without_variables(error))


@dataclass(frozen=True, repr=False)
class Result:
    """The value of a task, or its error.

    Attributes
    ----------
    value : object
        None if there is none.
    error : Exception or None
        Without a traceback.
    """

    value: Any = None
    error: Exception | None = None

    def found(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


def added(first: Result, second: Result) -> Result:
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


class Source(ABC):
    """The parts of a table, each of which can be read again."""

    @abstractmethod
    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        """Yield the result of a task for each part, in the order of the parts.

        Parameters
        ----------
        task_of : callable
            Maps the number of a part, from 0, to its task.
        """

    def total(self, task_of: Callable[[int], Task]) -> Result:
        """Return the sum of the results of a task for each part; a cluster adds them where they are."""
        total = Result()
        for result in self.run(task_of):
            total = added(total, result)
            if total.error is not None:
                break
        return total

    def values(self, function_of: Callable[[int], Function]) -> Iterator[Any]:
        """Yield the value of a function of each part; raise the first error.

        Parameters
        ----------
        function_of : callable
            Maps the number of a part to the function, which draws nothing and changes no state.
        """
        for result in self.run(lambda number: Task(function_of(number))):
            yield result.found()


class InTurn(Source):
    """Parts that this process reads one after another.

    Parameters
    ----------
    parts : callable
        Without arguments; returns an iterable of pairs of X and y, the same ones at each call.
    """

    def __init__(self, parts: Callable[[], Iterable[tuple[Any, Any]]]):
        self._parts = parts
        self._n_parts: int | None = None  # known after the first pass

    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        """Yield the result of a task for each part."""
        n_parts = 0
        for X, y in counted(self._parts(), self._n_parts):
            yield task_of(n_parts)(X, y)
            n_parts += 1
        self._n_parts = n_parts


class Mapped(Source):
    """Parts that a function makes from those of another table, each time they are read.

    Parameters
    ----------
    source : Source
        Private. The other table.
    function : callable
        Maps X and y of a part to as many rows and labels, each a function of its own row and label alone.
    """

    def __init__(self, source: Source, function: Callable[[Any, Any], tuple[Any, Any]]):
        self._source, self._function = source, function

    def run(self, task_of: Callable[[int], Task]) -> Iterator[Result]:
        """Yield the result of a task for each part."""
        return self._source.run(partial(self._task, task_of))

    def total(self, task_of: Callable[[int], Task]) -> Result:
        """Return the sum of the results."""
        return self._source.total(partial(self._task, task_of))

    def _task(self, task_of: Callable[[int], Task], number: int) -> Task:
        return Task(_After(self._function, task_of(number).function))


class PartedRecords(SummedRecords):
    """Records of which one part at a time is in memory, or one part in each worker of a cluster.

    Parameters
    ----------
    source : Source
        Private. The parts as they were given.
    encode : callable
        Maps X and y of a part to its records, each of which is a function of its own row and label alone. It
        runs in each pass, so that its checks hold whenever a part is read.
    lengths : sequence of int
        Public, unless a record is a row of a group. The number of records in each part.
    digests : sequence of (bytes or None), optional
        Private. The digest of the records of each part, with which they are compared in each pass.
    """

    def __init__(
        self,
        source: Source,
        encode: Function,
        lengths: Sequence[int],
        digests: Sequence[bytes | None] = (),
    ):
        self._source, self._encode, self._lengths = source, encode, tuple(lengths)
        self._digests = dict(enumerate(digests))
        self._order: NDArray[np.int64] | None = None
        self._functions: tuple[Callable[[Any], Any], ...] = ()

    def __len__(self) -> int:
        return sum(self._lengths)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of records in each part."""
        return self._lengths

    def ordered(self, order: NDArray[np.int64]) -> "PartedRecords":
        """Return the same records, numbered in another order.

        Parameters
        ----------
        order : ndarray of int64 of shape (n,)
            The present number of each record.
        """
        twin = copy(self)
        twin._order = order
        return twin

    def __getitem__(self, places: NDArray[np.int64]) -> Any:
        """Return the records with the given row numbers, in that order; they are in memory."""
        places = places if self._order is None else self._order[places]
        starts = np.cumsum([0, *self._lengths])
        part_of = np.searchsorted(starts, places, side="right") - 1
        order = np.argsort(part_of, kind="stable")
        wanted = [
            places[order[part_of[order] == part]] - start for part, start in enumerate(starts[:-1].tolist())
        ]
        found = self._source.values(lambda part: self._checked(part, partial(_taken, wanted[part])))
        parts = list(found)
        if len(parts) < len(self._lengths):
            raise PartsChangedError
        rows = joined([part for part in parts if part is not None])
        return taken(rows, np.argsort(order, kind="stable"))

    def then(self, function: Callable[[Any], Any]) -> "PartedRecords":
        """Return the records that a function makes from those of each part.

        Parameters
        ----------
        function : callable
            Maps records to as many records, each a function of its own record alone.
        """
        twin = copy(self)
        twin._functions = (*self._functions, function)
        return twin

    def as_source(self, given: Callable[[Any], tuple[Any, Any]]) -> Source:
        """Return the parts as a table that is read again, by another learner for example.

        Parameters
        ----------
        given : callable
            Maps the records of a part to X and y.
        """
        return _Encoded(self, given)

    def sums(self, function: Callable[[Any], Sequence[Any]]) -> list[Any]:
        """Return the sums over all parts of the numbers or arrays that a function returns, in one pass.

        Parameters
        ----------
        function : callable
            Maps the records of a part to integers or arrays of them, as many and of the same shapes for each
            part.
        """
        return self.sums_of_parts(lambda _: function)

    def sums_of_parts(self, function_of: Callable[[int], Callable[[Any], Sequence[Any]]]) -> list[Any]:
        """Return the sums over all parts of what a function of each part returns, in one pass.

        Parameters
        ----------
        function_of : callable
            Maps the number of a part, from 0, to a function as for `sums`, or to `nothing`.
        """
        functions = [function_of(part) if length else nothing for part, length in enumerate(self._lengths)]

        def task(part: int) -> Task:
            function = functions[part] if part < len(functions) else nothing
            return Task(self._checked(part, partial(_counted, function)))

        n_parts, *sums = self._source.total(task).found() or [0]
        if n_parts != sum(function is not nothing for function in functions):
            raise PartsChangedError
        return sums

    def _checked(self, number: int, function: Callable[[Any], Any]) -> Function:
        """Return the function of a part as it was given, which must have the records that it had."""
        length = self._lengths[number] if number < len(self._lengths) else None
        if not length:
            return _empty_as(length)
        return _Checked(self._encode, length, self._digests.get(number), (*self._functions, function))


class _Encoded(Mapped):
    """The parts of records, as X and y that are made from the encoded records."""

    def __init__(self, records: PartedRecords, given: Callable[[Any], tuple[Any, Any]]):
        self._source, self._records, self._given = records._source, records, given

    def total(self, task_of: Callable[[int], Task]) -> Result:
        """Return the sum of the results; the X and y that are summed were compared in an earlier pass."""
        twin = copy(self)
        twin._records = copy(self._records)
        twin._records._digests = {}
        return self._source.total(partial(twin._task, task_of))

    def _task(self, task_of: Callable[[int], Task], number: int) -> Task:
        """Return a task on a part as it was given; it has the records that it had."""
        return Task(self._records._checked(number, _After(self._given, task_of(number).function)))


@dataclass(frozen=True)
class _After:
    """The value of a function of the X and y that another function makes from a part, or from its records."""

    given: Callable[..., tuple[Any, Any]]
    function: Function

    def __call__(self, *part: Any) -> Any:
        return self.function(*self.given(*part))


@dataclass(frozen=True, repr=False)
class _Checked:
    """Encode a part, check that its records are those of the first pass, and apply functions in turn."""

    encode: Function
    length: int
    digest: bytes | None  # None: not compared
    functions: Sequence[Callable[[Any], Any]]

    def __call__(self, X: Any, y: Any) -> Any:
        records = self.encode(X, y)
        if count_of(records) != self.length or (self.digest and self.digest != digest_of(records)):
            raise PartsChangedError
        for function in self.functions:
            records = function(records)
        return records


def _empty_as(length: int | None) -> Function:
    """Return a function that checks that a part has no rows, which learners could not read."""

    def check(X: Any, y: Any) -> None:  # noqa: ARG001 - has no labels either
        if length is None or count_of(X):
            raise PartsChangedError

    return check


def nothing(records: Any) -> Sequence[Any]:  # noqa: ARG001 - no record takes part
    """Return no sums: the function of a part from which no record is summed."""
    return ()


def _counted(function: Callable[[Any], Sequence[Any]], records: Any) -> list[Any] | None:
    """Return the number of parts, 1, and the values of a function; None where nothing is summed."""
    return None if function is nothing else [1, *function(records)]


def _taken(places: NDArray[np.int64], records: Any) -> Any:
    return taken(records, places)


def mapped(records: Any, function: Callable[[Any], Any]) -> Any:
    """Return a function of records in memory, or of each part of those in parts.

    Parameters
    ----------
    records : object
        Private. Records, or a table.
    function : callable
        Maps records to as many others, each a function of its own record.
    """
    return records.then(function) if isinstance(records, SummedRecords) else function(records)


def summed(records: Any, function: Callable[[Any], Sequence[Any]]) -> Sequence[Any]:
    """Return sums over all records, in one pass.

    Parameters
    ----------
    records : object
        Private. From `as_records`.
    function : callable
        Maps records to a list of integers or arrays of them, which are sums over these records.
    """
    return records.sums(function) if isinstance(records, SummedRecords) else function(records)
