"""A closed box for private state that answers questions after a fit: one state, one process, one at a time.

>>> holder = OneTimeState([3, 1, 2])
>>> holder
<OneTimeState>
>>> with holder.use() as votes:
...     max(votes)
3
"""

import errno
import hashlib
import os
import pickle
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, Self, TypeVar
from weakref import WeakKeyDictionary

from dplearn.privacy.ledger_storage import process_identity

__all__ = ["OneTimeState"]

State = TypeVar("State")
_HEADER = b"dplearn private state, version 1\n"


class OneTimeState(Generic[State]):
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
    a pickle of what holds it shows anything, nor does a traceback that shows the variables of this module. It
    is no protection against who can run a debugger in this process, walk the garbage collector's objects, or
    read its memory. A process that forks inside `use` gives the child what that thread has in its hands: do
    not fork there.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, state: State):
        _KEPT[self] = _Kept(state)

    @contextmanager
    def use(self) -> Iterator[State]:
        """Give the state to one thread; the others wait.

        Raises
        ------
        RuntimeError
            If the holder is closed, or this thread is using it already.
        """
        with _KEPT[self].opened() as kept:
            yield kept.state.content

    @property
    def closed(self) -> bool:
        """Whether the state has left: exported, closed, or in the process that this one was forked from."""
        kept = _KEPT[self]
        return kept.why_closed != "" or kept.owner != process_identity()

    def close(self) -> None:
        """Forget the state; a second time changes nothing.

        Raises
        ------
        RuntimeError
            If this thread is using it.
        """
        if not self.closed:
            with _KEPT[self].locked() as kept:
                kept.why_closed = kept.why_closed or "it was closed"
                kept.state = _Sealed(None)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a new file, readable by its owner only, and close this holder.

        Parameters
        ----------
        path : str or path-like
            A file that does not exist. It holds private data, and is opened once, with `load`.

        Raises
        ------
        RuntimeError
            If the holder is closed, or this thread is using it.
        OSError
            If the file exists or cannot be written; the holder stays open.

        Notes
        -----
        If the process is killed on the way there may be a second name for the file, which begins with
        ".holder-"; `load` then refuses both until one is removed.
        """
        target = Path(path)
        draft = target.with_name(f".holder-{os.urandom(8).hex()}")
        with _KEPT[self].opened() as kept:
            try:
                _write(draft, _Sealed(pickle.dumps(kept.state.content)))
                # Closed first: at no moment could both this holder and one that loads the file answer.
                kept.why_closed = f"it was exported to {str(target)!r}"
                try:
                    os.link(draft, target)  # which, unlike a renaming, refuses to replace a file
                except OSError:
                    if draft.lstat().st_nlink == 1:  # else it worked, whatever a network's file system says
                        kept.why_closed = ""
                        raise
                kept.state = _Sealed(None)
            finally:
                with suppress(FileNotFoundError):
                    draft.unlink()
        with suppress(OSError):  # the state has left in any case
            _sync(target.parent)

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
            If it is not what `export` wrote, or has a second name (a hard link), under which it could be
            loaded again; the file stays.
        """
        source = Path(path).resolve()  # a symbolic link is not what has to be consumed
        _read(source)
        claimed = source.with_name(f".holder-{os.urandom(8).hex()}")
        try:
            source.rename(claimed)  # of two who try, one finds nothing to rename
        except FileNotFoundError:
            raise _gone(source) from None
        try:
            _refuse_other_names(claimed, source)
            pickled = _read(claimed)
            state = _Sealed(pickle.loads(pickled.content))  # noqa: S301 - documented: from those you trust
            _sync(claimed.parent)  # if that cannot be done, now is the time to know
        except BaseException:
            os.link(claimed, source)
            claimed.unlink()
            raise
        claimed.unlink()
        _sync(
            claimed.parent
        )  # before anything is answered: after a power cut the file must not be there again
        return cls(state.content)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "private state is not pickled, for two copies would answer more than was paid for; move it with"
            " OneTimeState.export(path), which closes this one, and OneTimeState.load(path)"
        )

    def __repr__(self) -> str:
        return "<OneTimeState>"


class _Sealed:
    """Something private in a variable: a traceback that shows variables shows none of it."""

    __slots__ = ("content",)

    def __init__(self, content: Any):
        self.content = content

    def __repr__(self) -> str:
        return "<sealed>"


class _Kept:
    """What a holder stands for."""

    def __init__(self, state: Any):
        self.state = _Sealed(state)
        self.owner = process_identity()
        self.lock = threading.RLock()
        self.in_use = False
        self.why_closed = ""

    def __repr__(self) -> str:
        return "<what a holder stands for>"

    @contextmanager
    def locked(self) -> Iterator[Self]:
        """Let one thread in, once at a time, in the process that the state belongs to."""
        if self.owner != process_identity():
            # Before the lock: a thread that was not forked may hold the copy of it.
            raise RuntimeError(
                "this private state is answered for by the process that this one was forked from"
            )
        with self.lock:
            if self.in_use:
                raise RuntimeError("this private state is in use by this thread: leave the use of it first")
            yield self

    @contextmanager
    def opened(self) -> Iterator[Self]:
        """Give access to one thread, if the state is still here."""
        with self.locked():
            if self.why_closed:
                raise RuntimeError(f"this private state cannot be used any more: {self.why_closed}")
            try:
                self.in_use = True  # inside: an interrupt just after it must not leave it so
                yield self
            finally:
                self.in_use = False


# Not on the holder itself, where everything that looks at objects would find it.
_KEPT: WeakKeyDictionary[OneTimeState[Any], _Kept] = WeakKeyDictionary()


def _write(path: Path, pickled: _Sealed) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_HEADER + hashlib.sha256(pickled.content).digest() + pickled.content)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> _Sealed:
    """Return the pickle in an export, if it is one and whole."""
    try:
        found = _Sealed(path.read_bytes())
    except FileNotFoundError:
        raise _gone(path) from None
    start = len(_HEADER) + hashlib.sha256().digest_size
    pickled = _Sealed(found.content[start:])
    if found.content[:start] != _HEADER + hashlib.sha256(pickled.content).digest():
        raise ValueError(f"{path}: not private state that this version of dplearn exported")
    return pickled


def _refuse_other_names(claimed: Path, source: Path) -> None:
    """Refuse a file that is still there, under another name, when this one is removed."""
    status = claimed.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise ValueError(
            f"{source}: private state that has {status.st_nlink} names (links), under each of which it could"
            " be loaded; remove the others (one that begins with .holder- is left by an export or a load that"
            " was killed)"
        )


def _sync(folder: Path) -> None:
    """Write a folder's list of names to the disk, where the system has a way."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
            raise
    finally:
        os.close(descriptor)


def _gone(path: Path) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "no private state to load, or it was loaded already", str(path))
