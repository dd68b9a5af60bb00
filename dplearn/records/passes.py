"""Passes over the parts of a table, each of which is the input of one task.

Tasks make no draw: a part may be read again, for example if a worker of a cluster is lost, and then has the
same value. Their errors are results, since a cluster would log an error, and code of others that reads parts
might show a value in one.

>>> parts = InTurn(lambda: [([31, 42], "no"), ([57], "yes")])
>>> [result.found() for result in parts.run(lambda number: Task(lambda X, y: (number, len(X), y)))]
[(0, 2, 'no'), (1, 1, 'yes')]
>>> parts.total(lambda number: Task(lambda X, y: [sum(X)])).found()
[130]
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dplearn.core.float_errors import float_errors_ignored
from dplearn.records.pass_progress import counted

__all__ = [
    "Function",
    "InTurn",
    "Parts",
    "PartsChangedError",
    "PartsUnreadableError",
    "Result",
    "Task",
    "added",
    "reading",
    "unreadable",
]

Function = Callable[[Any, Any], Any]  # of X and y of a part


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


class Parts(ABC):
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


class InTurn(Parts):
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
