"""A ledger's account in a SQLite file, safe for threads, forks and processes, and durable before it answers.

One row an entry; row 0 holds the terms and the ledger's identity, and row -1 the number of entries. Each row
carries a digest of all rows up to it, so that damage is noticed; it keeps no one out who can write the file.
Every operation opens the file anew and never creates it, so that one that was deleted or replaced does not
begin a second budget.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dplearn.privacy.accounts import Draft, Entry
from dplearn.privacy.errors import LedgerError
from dplearn.privacy.guarantees import Guarantee
from dplearn.privacy.records import ReleaseRecord
from dplearn.privacy.sessions import connected, in_session, publish
from dplearn.privacy.terms import Terms, amounts, with_amounts

__all__ = ["FileAccount", "open_file"]

_APPLICATION_ID = 0x64704C67
_SCHEMA_VERSION = 1
_TABLE = "CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT NOT NULL, digest TEXT NOT NULL)"
_INSERT = "INSERT OR REPLACE INTO entries VALUES (?, ?, ?)"
_SELECT = "SELECT number, text, digest FROM entries"
_END = -1  # the number of the row that says how many entries there are


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
    head = in_session(file, timeout, lambda db: _head(db, file))
    if terms is not None and terms != head.terms:
        raise LedgerError(
            f"{file} was opened for {head.terms.describe()}, and now for {terms.describe()};"
            " PrivacyLedger.open takes what it was opened for"
        )
    account = FileAccount(str(file), head.identity, timeout)
    account.check()
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

        def work(db: sqlite3.Connection) -> Entry:
            head = self._head(db)
            db.execute("BEGIN IMMEDIATE")  # from here to the commit nobody else writes
            number, spent, digest = self._last(db, head)
            entry = draft(spent, number + 1)
            _write(db, number + 1, _text(entry), digest)
            return entry

        return in_session(Path(self.path), self.timeout, work)

    def entries(self) -> list[Entry]:
        """Return all entries, the digest of every row checked."""
        return [_entry(text, self.path) for text in self.check()]

    def check(self) -> list[str]:
        """Return the texts of all entries, the digest of every row checked."""

        def work(db: sqlite3.Connection) -> tuple[_Head, list[Any], Any]:
            head = self._head(db)
            db.execute("BEGIN")
            return head, db.execute(f"{_SELECT} WHERE number > 0 ORDER BY number").fetchall(), _end(db)

        head, rows, end = in_session(Path(self.path), self.timeout, work)
        texts = self._checked(head.digest, rows, first=1)
        self._check_end(len(rows), rows[-1][2] if rows else head.digest, end)
        return texts

    def spent(self) -> Guarantee:
        """Return what is spent."""
        return in_session(Path(self.path), self.timeout, lambda db: self._last(db, self._head(db))[1])

    def _head(self, db: sqlite3.Connection) -> "_Head":
        """Return row 0, if the file is still the ledger that it was."""
        head = _head(db, Path(self.path))
        if head.identity != self.identity:
            raise LedgerError(f"{self.path}: another ledger has taken the place of the one opened")
        return head

    def _last(self, db: sqlite3.Connection, head: "_Head") -> tuple[int, Guarantee, str]:
        """Return the last number, what is spent, and the last digest."""
        rows = db.execute(f"{_SELECT} WHERE number >= 0 ORDER BY number DESC LIMIT 2").fetchall()
        number, text, digest = rows[0]
        spent = head.terms.nothing
        if number:
            before = rows[1][2]
            self._checked(before, [(number, text, digest)], first=number)
            spent = _entry(text, self.path).spent
        self._check_end(number, digest, _end(db))
        return number, spent, digest

    def _check_end(self, number: int, digest: str, end: Any) -> None:
        """Refuse a file whose last entries are gone."""
        if end is None or end[1:] != (str(number), _digest(digest, str(number))):
            raise LedgerError(f"{self.path} is damaged at its end")

    def _checked(self, digest: str, rows: list[Any], *, first: int) -> list[str]:
        """Return the texts of rows that follow a row with `digest`."""
        for place, (number, text, after) in enumerate(rows, start=first):
            if number != place or after != _digest(digest, text):
                raise LedgerError(f"{self.path} is damaged at entry {place}")
            digest = after
        return [text for _, text, _ in rows]


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
    """Make the file under another name and rename it.

    So nobody ever sees half a ledger, and of two processes that make one at once, one does.
    """
    for end in ("-journal", "-wal"):  # SQLite would take it for the new file's
        # If the file is there by now, somebody else has made it, and is using it.
        if Path(f"{file}{end}").exists() and not file.exists():
            raise LedgerError(
                f"{file} is gone, but its {file.name}{end} is there: put it back, or remove both"
            )
    draft = file.with_name(f".ledger-{os.urandom(8).hex()}")
    try:
        connected(draft, lambda db: _fill(db, terms), mode="rwc")
        with suppress(FileExistsError):  # somebody else was first, and theirs counts
            publish(draft, file)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"{file} cannot be made: {getattr(error, 'strerror', None) or error}") from None
    finally:
        for end in ("", "-journal"):
            with suppress(OSError):
                Path(f"{draft}{end}").unlink()


def _fill(db: sqlite3.Connection, terms: Terms) -> None:
    text = json.dumps(json.loads(terms.to_json()) | {"identity": os.urandom(16).hex()})
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    db.execute(_TABLE)
    _write(db, 0, text, "")


def _write(db: sqlite3.Connection, number: int, text: str, before: str) -> None:
    """Write a row that follows one with the digest `before`, and that it is the last."""
    digest = _digest(before, text)
    db.execute(_INSERT, (number, text, digest))
    db.execute(_INSERT, (_END, str(number), _digest(digest, str(number))))


def _end(db: sqlite3.Connection) -> Any:
    return db.execute(f"{_SELECT} WHERE number = {_END}").fetchone()


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
