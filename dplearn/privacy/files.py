"""A ledger's account in a SQLite file, safe for threads, forks and processes, and durable before it answers.

One row an entry; row 0 holds the terms and the ledger's identity. Each row carries a digest of all rows up to
it, so that damage is noticed; it keeps no one out who can write the file. Every operation opens the file
anew and never creates it, so that one that was deleted or replaced does not begin a second budget.
"""

import hashlib
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplearn.privacy.accounts import Draft, Entry
from dplearn.privacy.errors import LedgerError
from dplearn.privacy.guarantees import Guarantee
from dplearn.privacy.records import ReleaseRecord
from dplearn.privacy.terms import Terms, amounts, with_amounts

__all__ = ["FileAccount", "open_file"]

_APPLICATION_ID = 0x64704C67
_SCHEMA_VERSION = 1
_TABLE = "CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT NOT NULL, digest TEXT NOT NULL)"
_INSERT = "INSERT INTO entries VALUES (?, ?, ?)"
_SELECT = "SELECT number, text, digest FROM entries"
_LOCKED = "is locked by another process"
_WHY = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_PROTOCOL: _LOCKED,
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_NOTADB: "is not a ledger",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_READONLY: "cannot be written to",
    sqlite3.SQLITE_PERM: "cannot be written to",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
}

# SQLite's own records of locks belong to a process. Copied into a child while a connection is open, they
# would make it take its parent's locks for its own; so no thread forks while another is in here.
_NO_FORK = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_NO_FORK.acquire, after_in_parent=_NO_FORK.release, after_in_child=_NO_FORK.release
    )


def open_file(
    path: str | os.PathLike[str], terms: Terms | None, timeout: float
) -> tuple["FileAccount", Terms]:
    """Return the account in a file, and its terms.

    Parameters
    ----------
    path : str or path-like
        Links are followed and a relative path is settled now, so that a later `chdir` changes nothing.
    terms : Terms or None
        The file is made if it does not exist, and must have these terms if it does. None takes what it has.
    timeout : float
        Seconds to wait for another process.

    Raises
    ------
    LedgerError
        If the file is no ledger, has other terms, is damaged, or cannot be opened or made.
    """
    try:
        file = Path(path).resolve()
        absent = not file.exists()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a null byte, no way there
        why = getattr(error, "strerror", None) or error
        raise LedgerError(f"{str(path)!r} cannot be a ledger: {why}") from None
    if terms is not None and absent:
        _create(file, terms)
    with _opened(file, timeout) as db:
        head = _head(db, file)
    if terms is not None and terms != head.terms:
        raise LedgerError(
            f"{file} was opened for {head.terms.describe()}, and now for {terms.describe()};"
            " PrivacyLedger.open takes what it was opened for"
        )
    account = FileAccount(str(file), head.identity, timeout)
    account.entries()  # which reads and checks every row
    return account, head.terms


@dataclass(frozen=True)
class FileAccount:
    """An account in a file that exists.

    Attributes
    ----------
    path : str
        Absolute.
    identity : str
        What tells this ledger from another that has taken its place.
    timeout : float
        Seconds to wait for another process.
    """

    path: str
    identity: str
    timeout: float

    def append(self, draft: Draft) -> Entry:
        """Write the entry that `draft` makes; when this returns it is on the disk."""
        with self._session() as (db, head):
            db.execute("BEGIN IMMEDIATE")  # from here to the commit nobody else writes
            number, spent, digest = self._last(db, head)
            entry = draft(spent, number + 1)
            text = _text(entry)
            db.execute(_INSERT, (number + 1, text, _digest(digest, text)))
            db.execute("COMMIT")
        return entry

    def entries(self) -> list[Entry]:
        """Return all entries, the digest of every row checked."""
        with self._session() as (db, head):
            rows = db.execute(f"{_SELECT} WHERE number > 0 ORDER BY number").fetchall()
        return self._checked(head.digest, rows, first=1)

    def spent(self) -> Guarantee:
        """Return what is spent."""
        with self._session() as (db, head):
            return self._last(db, head)[1]

    @contextmanager
    def _session(self) -> Iterator[tuple[sqlite3.Connection, "_Head"]]:
        """Open the file, if it is still the ledger that it was."""
        with _opened(Path(self.path), self.timeout) as db:
            head = _head(db, Path(self.path))
            if head.identity != self.identity:
                raise LedgerError(f"{self.path}: another ledger has taken the place of the one opened")
            yield db, head

    def _last(self, db: sqlite3.Connection, head: "_Head") -> tuple[int, Guarantee, str]:
        """Return the last number, what is spent, and the last digest."""
        rows = db.execute(f"{_SELECT} ORDER BY number DESC LIMIT 2").fetchall()
        if len(rows) == 1:
            return 0, head.terms.nothing, head.digest
        (number, text, digest), (_, _, before) = rows
        entry = self._checked(before, [(number, text, digest)], first=number)[0]
        return number, entry.spent, digest

    def _checked(self, digest: str, rows: list[Any], *, first: int) -> list[Entry]:
        """Return the entries in rows that follow a row with `digest`."""
        entries = []
        for place, (number, text, after) in enumerate(rows, start=first):
            if number != place or after != _digest(digest, text):
                raise LedgerError(f"{self.path} is damaged at entry {place}")
            entries.append(_entry(text, self.path))
            digest = after
        return entries


@dataclass(frozen=True)
class _Head:
    """What row 0 holds."""

    terms: Terms
    identity: str
    digest: str


def _head(db: sqlite3.Connection, file: Path) -> _Head:
    """Return row 0, if this is a ledger that this release can read."""
    found = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    if found[0] != _APPLICATION_ID:
        raise LedgerError(f"{file} is not a ledger")
    if found[1] != _SCHEMA_VERSION:
        raise LedgerError(f"{file} is a ledger of version {found[1]}; this release reads {_SCHEMA_VERSION}")
    row = db.execute(f"{_SELECT} WHERE number = 0").fetchone()
    if row is None or row[2] != _digest("", row[1]):
        raise LedgerError(f"{file} is damaged at its head")
    with _understood(file):
        return _Head(Terms.from_json(row[1]), json.loads(row[1])["identity"], row[2])


def _create(file: Path, terms: Terms) -> None:
    """Make the file under another name and link it into place.

    So nobody ever sees half a ledger, and of two processes that make one at once, one does.
    """
    if Path(f"{file}-wal").exists() and not file.exists():
        raise LedgerError(f"{file} is gone, but its {file.name}-wal is there: put it back, or remove both")
    draft = file.with_name(f".ledger-{os.urandom(8).hex()}")
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            _fill(db, terms)
        with suppress(FileExistsError):  # somebody else was first, and theirs counts
            os.link(draft, file)
        _sync(file.parent)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"{file} cannot be made: {getattr(error, 'strerror', None) or error}") from None
    finally:
        for end in ("", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{draft}{end}").unlink()


def _fill(db: sqlite3.Connection, terms: Terms) -> None:
    text = json.dumps(json.loads(terms.to_json()) | {"identity": os.urandom(16).hex()})
    if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise sqlite3.OperationalError("its file system cannot share memory between processes")
    _make_durable(db)
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    db.execute(_TABLE)
    db.execute(_INSERT, (0, text, _digest("", text)))
    db.execute("COMMIT")


def _sync(folder: Path) -> None:
    """Write a folder's list of names to the disk, where the system has a way."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _opened(file: Path, timeout: float) -> Iterator[sqlite3.Connection]:
    """Open the file for one operation; whatever is not committed when this ends did not happen."""
    if not _NO_FORK.acquire(timeout=timeout):
        raise LedgerError(f"{file} is in use by another thread, for more than {timeout:g} seconds")
    try:
        with _errors_of(file, timeout):
            uri = f"{file.as_uri()}?mode=rw"  # never creates
            with closing(sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)) as db:
                _make_durable(db)
                yield db
    finally:
        _NO_FORK.release()


def _make_durable(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA fullfsync = ON")  # some systems' fsync stops at the drive's own cache


@contextmanager
def _errors_of(file: Path, timeout: float) -> Iterator[None]:
    """Turn what SQLite says into a LedgerError that says what is the matter."""
    try:
        if file.exists() and not stat.S_ISREG(file.stat().st_mode):
            raise LedgerError(f"{file} is not a file")
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the rest is detail
        why = _WHY.get(code, f"cannot be used: {error}")
        if code == sqlite3.SQLITE_CANTOPEN and not file.exists():
            why = "does not exist (any more)"
        waited = f", for more than {timeout:g} seconds" if why == _LOCKED else ""
        raise LedgerError(f"{file} {why}{waited}") from None
    except OSError as error:
        raise LedgerError(f"{file} cannot be used: {error.strerror or error}") from None


@contextmanager
def _understood(path: str | Path) -> Iterator[None]:
    """Turn what goes wrong in reading a row, whose digest is right, into a LedgerError."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError):
        raise LedgerError(f"{path} holds what this release cannot read") from None


def _digest(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}{text}".encode()).hexdigest()  # whatever type a damaged cell has


def _text(entry: Entry) -> str:
    spent = {name: str(x) for name, x in amounts(entry.spent).items()}
    return json.dumps({"record": entry.record.to_dict(), "spent": spent})


def _entry(text: str, path: str) -> Entry:
    with _understood(path):
        kept = json.loads(text)
        record = ReleaseRecord.from_json(json.dumps(kept["record"]))
        return Entry(record, with_amounts(record.cost, kept["spent"]))
