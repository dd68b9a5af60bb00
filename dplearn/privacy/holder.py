"""A closed box for private state that answers questions after a fit: one state, one process, one at a time.

>>> holder = PrivateHolder([3, 1, 2])
>>> holder
<PrivateHolder>
>>> with holder.use() as votes:
...     max(votes)
3
"""

import errno
import hashlib
import os
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["PrivateHolder"]

State = TypeVar("State")
_HEADER = b"dplearn private state, version 1\n"


class PrivateHolder(Generic[State]):
    """Holds private state so that exactly one object in one process answers from it.

    Two copies of a sparse vector would answer twice as often as was paid for. So copies (`copy`, `deepcopy`,
    scikit-learn's `clone` of what holds it) are the holder itself, pickling is refused, and a forked child
    finds its holder closed. To move the state to another process, `export` it, which closes this holder,
    and `load` it there, which consumes the file.

    Parameters
    ----------
    state : object
        The private state. Keep no other reference to it.

    Notes
    -----
    **Privacy.** The holder has no attributes: neither `vars`, nor `repr`, nor `get_params`, nor HTML, nor
    a pickle of what holds it shows anything. It is no protection against who can run a debugger in this
    process, walk the garbage collector's objects, or read its memory.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, state: State):
        _KEPT[self] = _Kept(state, os.getpid(), threading.RLock())

    @contextmanager
    def use(self) -> Iterator[State]:
        """Give the state to one thread; the others wait.

        Raises
        ------
        RuntimeError
            If the holder is closed.
        """
        with _KEPT[self].opened() as kept:
            yield kept.state

    @property
    def closed(self) -> bool:
        """Whether the state has left: exported, closed, or in the process that this one was forked from."""
        kept = _KEPT[self]
        return kept.why_closed != "" or kept.owner != os.getpid()

    def close(self) -> None:
        """Forget the state; a second time changes nothing."""
        if not self.closed:
            with _KEPT[self].opened() as kept:
                kept.close("it was closed")

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a new file, readable by its owner only, and close this holder.

        Parameters
        ----------
        path : str or path-like
            A file that does not exist. It holds private data, and is opened once, with `load`.

        Raises
        ------
        RuntimeError
            If the holder is closed.
        OSError
            If the file exists or cannot be written; the holder stays open.
        """
        target = Path(path)
        draft = target.with_name(f".holder-{os.urandom(8).hex()}")
        with _KEPT[self].opened() as kept:
            try:
                _write(draft, pickle.dumps(kept.state))
                state = kept.close(f"it was exported to {str(target)!r}")
                # Closed first: at no moment could both this holder and one that loads the file answer.
                try:
                    os.link(draft, target)  # which, unlike a renaming, refuses to replace a file
                except OSError:
                    kept.reopen(state)
                    raise
            finally:
                with suppress(FileNotFoundError):
                    draft.unlink()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return a holder of the state in a file that `export` wrote, and consume the file.

        Of several who load one file, one gets the state; a copy made of the file before cannot be known.

        Parameters
        ----------
        path : str or path-like
            What `export` wrote. It is a pickle: load only what comes from those you trust.

        Raises
        ------
        FileNotFoundError
            If there is no such file, or it was loaded already.
        ValueError
            If it is not what `export` wrote; the file stays.
        """
        source = Path(path)
        _read(source)
        claimed = source.with_name(f".holder-{os.urandom(8).hex()}")
        try:
            source.rename(claimed)  # of two who try, one finds nothing to rename
        except FileNotFoundError:
            raise _gone(source) from None
        try:
            state = pickle.loads(_read(claimed))  # noqa: S301 - documented: only from those you trust
        except BaseException:
            os.link(claimed, source)
            claimed.unlink()
            raise
        claimed.unlink()
        return cls(state)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "private state is not pickled, for two copies would answer more than was paid for; move it with"
            " PrivateHolder.export(path), which closes this one, and PrivateHolder.load(path)"
        )

    def __repr__(self) -> str:
        return "<PrivateHolder>"


@dataclass
class _Kept:
    """What a holder stands for."""

    state: Any
    owner: int
    lock: Any
    why_closed: str = ""

    @contextmanager
    def opened(self) -> Iterator["_Kept"]:
        """Give access to one thread, if the state is still here."""
        if self.owner != os.getpid():  # before the lock: a thread that was not forked may hold the copy of it
            raise RuntimeError(
                "this private state is answered for by the process that this one was forked from"
            )
        with self.lock:
            if self.why_closed:
                raise RuntimeError(f"this private state cannot be used any more: {self.why_closed}")
            yield self

    def close(self, why: str) -> Any:
        state, self.state, self.why_closed = self.state, None, why
        return state

    def reopen(self, state: Any) -> None:
        self.state, self.why_closed = state, ""


# Not on the holder itself, where everything that looks at objects would find it.
_KEPT: WeakKeyDictionary[PrivateHolder[Any], _Kept] = WeakKeyDictionary()


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_HEADER + hashlib.sha256(content).digest() + content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> bytes:
    """Return the pickle in an export, if it is one and whole."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise _gone(path) from None
    header, rest = content[: len(_HEADER)], content[len(_HEADER) :]
    if header != _HEADER or hashlib.sha256(rest[32:]).digest() != rest[:32]:
        raise ValueError(f"{path}: not private state that this version of dplearn exported")
    return rest[32:]


def _gone(path: Path) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "no private state to load, or it was loaded already", str(path))
