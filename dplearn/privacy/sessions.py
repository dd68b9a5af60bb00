"""One user of a ledger's file at a time, whatever threads, processes and names of the file there are.

SQLite's own locks belong to a process, on POSIX systems, and closing any descriptor of the file drops them: a
thread that only reads the file would do. So `flock` locks the file as a whole besides, for as long as a
connection is open. Where there is none (Windows), SQLite's locks have no such gap.
"""

import errno
import os
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TypeVar

from dplearn.privacy.errors import LedgerError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["connected", "in_session", "publish"]

T = TypeVar("T")
_PAUSE = 0.001
_LOCKED = "is locked by another process or thread"
_READ_ONLY = "cannot be written to"
_GONE = "does not exist (any more)"
_WHY = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOTADB: "is not a ledger",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
}
_WHY_NOT_REACHED = {
    errno.ENOENT: _GONE,
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
}
# On Linux the two kinds of locks do not see each other, and SQLite's keep other programs out. On the BSDs and
# macOS they do: there SQLite would wait for this library's own lock, and takes none.
_VFS = "" if sys.platform == "linux" or fcntl is None else "&vfs=unix-none"

# Held while a connection is open. A fork waits for it, for SQLite's state must not be copied in the middle of
# a use. These are methods of C, which no interrupt leaves half done; a fork whose wait was interrupted goes
# on without the lock, and what it then has not got it cannot release.
_GATE = threading.RLock()
_HELD: set[IO[bytes]] = set()  # the files that are, or wait to be, locked


class _State:
    connected = False  # a connection is open
    user: int | None = None  # the thread that it is open for
    lost = False  # one was when this process was forked


def _after_in_child() -> None:
    _State.lost = _State.lost or _State.connected
    for file in _HELD:  # or the parent's lock would last until the child ends
        file.close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_GATE.acquire,
        after_in_parent=_GATE.release,
        after_in_child=_GATE._at_fork_reinit,  # type: ignore[attr-defined]
    )
    os.register_at_fork(after_in_child=_after_in_child)


class _Busy(Exception):  # noqa: N818 - it is caught below
    """The file is locked now."""


def in_session(file: Path, timeout: float, work: Callable[[sqlite3.Connection], T]) -> T:
    """Return what `work` does with the file, alone; committed when this returns, or it did not happen.

    Parameters
    ----------
    file : Path
        It must exist.
    timeout : float
        Seconds to wait for others.
    work : callable
        May be called again when another program's lock got in between.

    Raises
    ------
    LedgerError
        If the file cannot be used.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            return _attempt(file, work)
        except _Busy:
            if time.monotonic() >= end:
                raise LedgerError(f"{file} {_LOCKED}, for more than {timeout:g} seconds") from None
        time.sleep(_PAUSE)  # with nothing held, so that other files and forks need not wait


def _check_not_lost(file: Path) -> None:
    if _State.lost:
        raise LedgerError(
            f"{file} cannot be used: this process was forked while a ledger was in use; start a new one"
        )


def _attempt(file: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    _check_not_lost(file)
    if _State.user == threading.get_ident():  # closing this use's descriptor would drop the other's locks
        raise LedgerError(f"{file} cannot be used in the middle of another use of a ledger in this thread")
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise LedgerError(f"{file} is not a file")
        return _locked(file, lambda held: _sole(file, held, work))
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the rest is detail
        why = _WHY.get(code, f"cannot be used: {error}")
        if why == _LOCKED:
            raise _Busy from None
        raise LedgerError(f"{file} {why}") from None
    except OSError as error:
        why = _WHY_NOT_REACHED.get(error.errno or 0, f"cannot be used: {error.strerror or error}")
        raise LedgerError(f"{file} {why}") from None


def _locked(file: Path, work: Callable[[IO[bytes] | None], T]) -> T:
    """Return what `work` does while nobody else has the file."""
    if fcntl is None:
        with _GATE:
            return work(None)
    with file.open("r+b", buffering=0) as held:
        _HELD.add(held)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with _GATE:
                return work(held)
        except BlockingIOError:
            raise _Busy from None
        finally:
            with _GATE:  # closing it while another thread is connected would drop that one's locks
                if not held.closed:  # it is in a child that was forked meanwhile
                    fcntl.flock(held, fcntl.LOCK_UN)  # a child that does not know of it may have a copy
                    held.close()
                _HELD.discard(held)


def _sole(file: Path, held: IO[bytes] | None, work: Callable[[sqlite3.Connection], T]) -> T:
    """Do the work if what is locked is the file of that name, and has no other."""

    def checked(db: sqlite3.Connection) -> T:
        if held is not None:
            status = os.fstat(held.fileno())
            if status.st_nlink > 1:
                raise LedgerError(f"{file} has a second name, a hard link, which must be removed")
            if not os.path.samestat(status, file.stat()):
                raise _Busy  # it was replaced in this moment
        return work(db)

    return connected(file, checked)


def connected(file: Path, work: Callable[[sqlite3.Connection], T], mode: str = "rw") -> T:
    """Return what `work` does with a connection to the file, and commit."""
    _check_not_lost(file)
    with _GATE:
        _State.connected, _State.user = True, threading.get_ident()
        try:
            return _committed(file, mode, work)
        finally:
            _State.connected, _State.user = False, None


def _committed(file: Path, mode: str, work: Callable[[sqlite3.Connection], T]) -> T:
    db = sqlite3.connect(f"{file.as_uri()}?mode={mode}{_VFS}", uri=True, timeout=0, isolation_level=None)
    try:
        _make_durable(db)
        result = work(db)
        _check_not_lost(file)  # the fork may have been made in the work
        if db.in_transaction:
            db.execute("COMMIT")
        return result
    finally:
        if _State.lost:
            _ABANDONED.append(db)
        else:
            db.close()  # which undoes what is not committed


_ABANDONED: list[Any] = []  # closing it in a child would undo what its parent is doing


def _make_durable(db: sqlite3.Connection) -> None:
    """Have each commit on the disk, in the one file, before it is answered."""
    db.execute("PRAGMA synchronous = EXTRA")
    db.execute("PRAGMA fullfsync = ON")  # some systems' fsync stops at the drive's own cache
    if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
        raise sqlite3.OperationalError("its journal cannot be a file")


def publish(draft: Path, file: Path) -> None:
    """Rename a file, unless there is one of that name.

    Raises
    ------
    FileExistsError
        If there is.
    OSError
        If it cannot be renamed.
    """

    def rename(_: IO[bytes] | None) -> None:
        try:
            os.link(draft, file)  # which, unlike a renaming, refuses to replace a file
        finally:
            draft.unlink()  # while it has two names it is locked
        _sync(file.parent)

    _locked(draft, rename)


def _sync(folder: Path) -> None:
    """Write a folder's list of names to the disk, where the system has a way."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
