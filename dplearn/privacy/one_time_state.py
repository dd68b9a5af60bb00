"""One-time state: private state for queries after a fit, which only one object in one process can use."""

import errno
import hashlib
import os
import pickle
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, Self, TypeVar
from weakref import WeakKeyDictionary

from dplearn.privacy.ledger_storage import process_identity, sync_names

State = TypeVar("State")
_HEADER = b"dplearn private state, version 1\n"


class OneTimeState(Generic[State]):
    """Private state for one user at a time, which cannot be duplicated.

    Two copies of a sparse vector would give twice as many answers as were charged. So a copy of the object
    (`copy`, `deepcopy`, `clone` of an estimator that has one) is the object itself, pickling is refused, and
    in a forked child it is closed. `export` moves the state to a file, and `load` from it to a new object.

    Parameters
    ----------
    state : object
        The private state. Keep no other reference to it.

    Notes
    -----
    **Privacy.** The state does not appear in `vars`, `repr`, `get_params`, HTML, pickles or tracebacks. The
    object does not protect against a debugger in this process, code that enumerates the garbage collector's
    objects, or access to the process's memory. Do not fork inside `use`.

    Examples
    --------
    >>> from dplearn.privacy import OneTimeState
    >>> kept = OneTimeState([3, 1, 2])
    >>> kept
    <OneTimeState>
    >>> with kept.use() as votes:
    ...     max(votes)
    3
    """

    __slots__ = ("__weakref__",)

    def __init__(self, state: State):
        _KEPT[self] = Kept(state)

    @contextmanager
    def use(self) -> Iterator[State]:
        """Return a context manager that gives the state to one thread; other threads wait.

        Raises
        ------
        RuntimeError
            If the object is closed, or this thread is using it already.
        """
        with _KEPT[self].opened() as kept:
            yield kept.state.content

    @property
    def closed(self) -> bool:
        """True if the state was exported or closed, or belongs to the parent of this forked process."""
        kept = _KEPT[self]
        return kept.why_closed != "" or kept.owner != process_identity()

    def close(self) -> None:
        """Delete the state; on a closed object, do nothing.

        Raises
        ------
        RuntimeError
            If this thread is using the state.
        """
        if not self.closed:
            with _KEPT[self].locked() as kept:
                kept.why_closed = kept.why_closed or "it was closed"
                kept.state = _Sealed(None)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a new file with access for its owner only, and close this object.

        Parameters
        ----------
        path : str or path-like
            A file that does not exist. It will contain private data; `load` reads and deletes it.

        Raises
        ------
        RuntimeError
            If the object is closed, or this thread is using the state.
        OSError
            If the file exists or cannot be written, or the system has no permissions of POSIX, which keep
            other users from it (Windows); the object stays open.

        Notes
        -----
        A process that is killed during the export may leave a second name of the file, which begins with
        ".state-"; `load` then refuses both names until one is removed.
        """
        target = Path(path)
        if sys.platform == "win32":
            raise OSError(
                errno.ENOTSUP,
                f"private state cannot be exported on this system, {sys.platform}: a file that only its owner"
                " can read needs the permissions of POSIX",
                str(target),
            )
        draft = target.with_name(f".state-{os.urandom(8).hex()}")
        with _KEPT[self].opened() as kept:
            try:
                _write(draft, _Sealed(pickle.dumps(kept.state.content)))
                # Closed before the file appears: this object and one that loads the file are never both open.
                kept.why_closed = f"it was exported to {str(target)!r}"
                try:
                    os.link(draft, target)  # unlike a rename, a link never replaces a file
                except OSError:
                    if draft.lstat().st_nlink == 1:  # else the link exists, despite the file system's error
                        kept.why_closed = ""
                        raise
                kept.state = _Sealed(None)
            finally:
                with suppress(FileNotFoundError):
                    draft.unlink()
        with suppress(OSError):  # the export is complete in any case
            sync_names(target.parent)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return a one-time state from a file of `export`, and delete the file.

        One process gets the state. An earlier copy of the file cannot be detected.

        Parameters
        ----------
        path : str or path-like
            A file of `export`. It contains a pickle: load only files from a trusted source.

        Raises
        ------
        FileNotFoundError
            If there is no such file, or it was loaded already.
        ValueError
            If it is not a file of `export`, or has a second name (a hard link), under which it could be
            loaded again; the file is kept.
        """
        source = Path(path).resolve()  # the file itself must be deleted, not a symbolic link to it
        read_state(source)
        claimed = source.with_name(f".state-{os.urandom(8).hex()}")
        try:
            source.rename(claimed)  # atomic: of two concurrent loads, one fails here
        except FileNotFoundError:
            raise _gone(source) from None
        try:
            _refuse_other_names(claimed, source)
            pickled = read_state(claimed)
            state = _Sealed(pickle.loads(pickled.content))  # noqa: S301 - documented: trusted sources only
            sync_names(claimed.parent)  # before the deletion, so that an error here keeps the file
        except BaseException:
            os.link(claimed, source)
            claimed.unlink()
            raise
        claimed.unlink()
        sync_names(claimed.parent)  # before any answer: a power failure must not restore the file
        return cls(state.content)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "private state is not pickled: two copies would give more answers than were charged; move it with"
            " OneTimeState.export(path), which closes this object, and OneTimeState.load(path)"
        )

    def __repr__(self) -> str:
        return "<OneTimeState>"


class _Sealed:
    """A wrapper of a private value, whose `repr` in a traceback does not show the value."""

    __slots__ = ("content",)

    def __init__(self, content: Any):
        self.content = content

    def __repr__(self) -> str:
        return "<sealed>"


class Kept:
    """The private content of a one-time state: state, owner process and lock."""

    def __init__(self, state: Any):
        self.state = _Sealed(state)
        self.owner = process_identity()
        self.lock = threading.RLock()
        self.in_use = False
        self.why_closed = ""

    def __repr__(self) -> str:
        return "<content of a one-time state>"

    @contextmanager
    def locked(self) -> Iterator[Self]:
        """Admit one thread of the owner process at a time; a nested use raises RuntimeError."""
        if self.owner != process_identity():
            # Checked before the lock: in a forked child, the lock's copy may be held by a thread of the
            # parent.
            raise RuntimeError("this private state belongs to the process that this one was forked from")
        with self.lock:
            if self.in_use:
                raise RuntimeError("this private state is in use by this thread: end that use first")
            yield self

    @contextmanager
    def opened(self) -> Iterator[Self]:
        """Admit one thread, unless the object is closed."""
        with self.locked():
            if self.why_closed:
                raise RuntimeError(f"this private state cannot be used any more: {self.why_closed}")
            try:
                self.in_use = True  # inside the try: an interrupt just after it must reset it
                yield self
            finally:
                self.in_use = False


# The content is no attribute of the object, so that tools that inspect attributes do not find it.
_KEPT: WeakKeyDictionary[OneTimeState[Any], Kept] = WeakKeyDictionary()


def _write(path: Path, pickled: _Sealed) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_HEADER + hashlib.sha256(pickled.content).digest() + pickled.content)
        file.flush()
        os.fsync(file.fileno())


def read_state(path: Path) -> _Sealed:
    """Return the pickle in a file of `export`; raise ValueError if the file is not one or is damaged."""
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
    """Raise ValueError if the file has a second name, under which it would remain after a removal."""
    status = claimed.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise ValueError(
            f"{source}: private state that has {status.st_nlink} names (links), under each of which it could"
            " be loaded; remove the others (a name that begins with .state- comes from an export or a load"
            " that was killed)"
        )


def _gone(path: Path) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "no private state to load, or it was loaded already", str(path))
