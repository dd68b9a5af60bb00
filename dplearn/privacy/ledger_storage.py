"""The records of a ledger, as exact JSON: in the memory of one process, or in a SQLite file for many.

**Memory.** Copies and pickles of a ledger carry a token, not the account: in the process that opened it, all
of them reach one account; in another process, none.

**File.** Row 0 stores the privacy filter and the ledger's identity, row -1 the number of entries, each other
row one entry, with a digest of all rows up to it, which detects damage but no malice. A charge is durable
before it returns. Every operation opens the file anew and never creates it, so that a deleted or replaced
file does not begin a second budget.

**Locks.** One thread of one process uses the file at a time. Closing any descriptor drops SQLite's own locks
on POSIX systems, so `flock` locks the whole file as long as a connection is open. A system without `flock`,
such as Windows, is refused.
"""

import errno
import hashlib
import json
import os
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_FLOOR
from functools import lru_cache
from html import escape
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TypeVar

from dplearn._version import __version__
from dplearn._writing import aligned
from dplearn.privacy.guarantees import Guarantee, amounts, decimals, with_amounts
from dplearn.privacy.privacy_filter import LedgerError, PrivacyFilter

_FORMAT = "dplearn.ReleaseRecord"
_JSON_VERSION = 1
_LAST = 12  # releases in the text of a ledger
_HEADINGS = ("", "time (UTC)", "release")


@dataclass(frozen=True)
class ReleaseRecord:
    """The record of one release charged to a ledger.

    Attributes
    ----------
    number : int
        The number of the release in the ledger, from 1.
    time : datetime
        The time of the charge, in UTC.
    estimator : str
        The name of the estimator or function, as given by the caller.
    guarantee : Guarantee
        The guarantee of the release, as charged.
    cost : Guarantee
        Its cost, in the kind of the ledger's budget and for the ledger's neighbours.
    version : str
        The version of dplearn.
    """

    number: int
    time: datetime
    estimator: str
    guarantee: Guarantee
    cost: Guarantee
    version: str

    def to_json(self) -> str:
        """Return the record as a JSON text with exact numbers, to store with a release."""
        return json.dumps(self.to_dict(), indent=2)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as a dict."""
        return {
            "format": _FORMAT,
            "version": _JSON_VERSION,
            "number": self.number,
            "time": self.time.isoformat(),
            "estimator": self.estimator,
            "guarantee": json.loads(self.guarantee.to_json()),
            "cost": json.loads(self.cost.to_json()),
            "dplearn": self.version,
        }

    @classmethod
    def from_json(cls, text: str) -> "ReleaseRecord":
        """Return the record from a text of `to_json`.

        Raises
        ------
        ValueError
            If `text` is not such a record, or has an unknown version.
        """
        record = json.loads(text)
        if not isinstance(record, dict) or record.get("format") != _FORMAT:
            raise ValueError(f"not a {_FORMAT} record")
        if record.get("version") != _JSON_VERSION or isinstance(record["version"], bool):
            raise ValueError(f"version must be {_JSON_VERSION}, got {record.get('version')!r}")
        try:
            return cls._from_dict(record)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not a {_FORMAT} record: {error}") from None

    @classmethod
    def _from_dict(cls, record: dict[str, Any]) -> "ReleaseRecord":
        number, estimator, version = record["number"], record["estimator"], record["dplearn"]
        if type(number) is not int or not isinstance(estimator, str) or not isinstance(version, str):
            raise TypeError("number must be an integer, estimator and dplearn strings")
        return cls(
            number,
            datetime.fromisoformat(record["time"]).astimezone(UTC),
            estimator,
            _guarantee(json.dumps(record["guarantee"])),
            _guarantee(json.dumps(record["cost"])),
            version,
        )


@dataclass(frozen=True)
class Entry:
    """The record of a release, and the total cost up to it."""

    record: ReleaseRecord
    spent: Guarantee


def new_record(number: int, estimator: str, guarantee: Guarantee, cost: Guarantee) -> ReleaseRecord:
    """Return the record of a release charged now, by this version."""
    now = datetime.now(UTC).replace(microsecond=0)
    return ReleaseRecord(number, now, estimator, guarantee, cost, __version__)


def as_text(rule: PrivacyFilter, entries: list[Entry]) -> str:
    return "\n".join([f"A privacy ledger of {rule.describe()}", *aligned(_rows(rule, entries))])


def as_html(rule: PrivacyFilter, entries: list[Entry]) -> str:
    """Return the table of a ledger as HTML, with all text escaped."""
    head, *rows = _rows(rule, entries)
    caption = escape(f"A privacy ledger of {rule.describe()}")
    lines = [_html_row("th", head), *(_html_row("td", row) for row in rows)]
    return f"<table><caption>{caption}</caption>{''.join(lines)}</table>"


@lru_cache(maxsize=64)  # most records of a ledger have equal guarantees
def _guarantee(text: str) -> Guarantee:
    return Guarantee.from_json(text)


def _html_row(tag: str, cells: list[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _rows(rule: PrivacyFilter, entries: list[Entry]) -> list[list[str]]:
    """Return the headings, the rows of the last releases, and those of the spent and the remaining budget."""
    spent = entries[-1].spent if entries else rule.nothing
    rows = [[*_HEADINGS, *decimals(rule.budget)]]
    if (more := len(entries) - _LAST) > 0:
        rows.append(["", "", f"... {more:,} earlier releases", *[""] * (len(rows[0]) - len(_HEADINGS))])
    for entry in entries[-_LAST:]:
        record = entry.record
        time = f"{record.time:%Y-%m-%d %H:%M:%S}"
        rows.append([str(record.number), time, _one_line(record.estimator), *_numbers(record.cost)])
    rows.append(["", "", "spent", *_numbers(spent)])
    rows.append(["", "", "remaining", *decimals(rule.left(spent), ROUND_FLOOR).values()])
    return rows


def _numbers(guarantee: Guarantee) -> list[str]:
    return list(decimals(guarantee).values())


def _one_line(text: str) -> str:
    """Return a name in one line, so that it cannot look like another row."""
    return text if text.isprintable() else repr(text)


fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, WebAssembly
    fcntl = None


T = TypeVar("T")
#: Maps the total cost and the number of the next entry to the next entry; it may raise an error to refuse.
Draft = Callable[[Guarantee, int], Entry]

_ELSEWHERE = "this ledger lives in the memory of another process; give it a path=... to share it"

_APPLICATION_ID = 0x64704C67
_SCHEMA_VERSION = 1
_TABLE = "CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT NOT NULL, digest TEXT NOT NULL)"
_INSERT = "INSERT OR REPLACE INTO entries VALUES (?, ?, ?)"
_SELECT = "SELECT number, text, digest FROM entries"
_END = -1  # the row of the number of entries

_PAUSE = 0.001
_LOCKED = "is locked by another process or thread"
_READ_ONLY = "cannot be written to"
_GONE = "does not exist (any more)"
_NO_LOCKS = (
    "needs file locks (fcntl), which this system, {platform}, does not have: leave path=None, for a budget in"
    " the memory of one process, or charge it on Linux"
)
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
# On Linux the two kinds of locks are independent, and SQLite's locks exclude other programs. On the BSDs and
# macOS they are not: SQLite would wait for this library's own lock, so it takes none.
_VFS = "" if sys.platform == "linux" else "&vfs=unix-none"


@dataclass(frozen=True)
class MemoryAccount:
    """A thread-safe account in the memory of the process that opened it."""

    token: str  # the key of the account in this process

    @classmethod
    def open(cls, nothing: Guarantee) -> "MemoryAccount":
        """Return a new account; `nothing` is the total cost of no releases."""
        account = cls(os.urandom(16).hex())
        BOOKS[account.token] = _Book(process_identity(), nothing)
        return account

    def append(self, draft: Draft) -> Entry:
        book = self._book()
        with book.lock:
            if book.charging:  # by this thread: a signal handler charges during a charge
                raise LedgerError("this ledger is in the middle of another charge of the same thread")
            book.charging = True
            try:
                entry = draft(book.spent(), len(book.entries) + 1)
                book.entries.append(entry)
            finally:
                book.charging = False
        return entry

    def entries(self) -> list[Entry]:
        return list(self._book().entries)

    def spent(self) -> Guarantee:
        return self._book().spent()

    def _book(self) -> "_Book":
        book = BOOKS.get(self.token)
        # A forked child has a copy of the book and of its lock, which a thread of the parent may hold.
        if book is None or book.owner != process_identity():
            raise LedgerError(_ELSEWHERE)
        return book


@dataclass(frozen=True)
class FileAccount:
    """An account in an existing file, safe for threads, forks and processes."""

    path: str  # absolute
    identity: str  # a random number that tells this ledger from another at the same path
    timeout: float  # seconds to wait for another process

    def append(self, draft: Draft) -> Entry:
        """Write the entry that `draft` makes to the disk, and return it."""

        def work(db: sqlite3.Connection) -> Entry:
            rule, _ = self._head(db)
            db.execute("BEGIN IMMEDIATE")  # no other connection can write until the commit
            number, spent, digest = self._last(db, rule)
            entry = draft(spent, number + 1)
            _write(db, number + 1, _text(entry), digest)
            return entry

        return _in_session(Path(self.path), self.timeout, work)

    def entries(self) -> list[Entry]:
        """Return all entries, after a check of the digest of every row."""
        return [_entry(text, self.path) for text in self.check()]

    def check(self) -> list[str]:
        """Return the texts of all entries, after a check of the digest of every row."""

        def work(db: sqlite3.Connection) -> tuple[str, list[Any], Any]:
            _, digest = self._head(db)
            db.execute("BEGIN")
            return digest, db.execute(f"{_SELECT} WHERE number > 0 ORDER BY number").fetchall(), _end(db)

        digest, rows, end = _in_session(Path(self.path), self.timeout, work)
        texts = self._checked(digest, rows, first=1)
        self._check_end(len(rows), rows[-1][2] if rows else digest, end)
        return texts

    def spent(self) -> Guarantee:
        return _in_session(Path(self.path), self.timeout, lambda db: self._last(db, self._head(db)[0])[1])

    def _head(self, db: sqlite3.Connection) -> tuple[PrivacyFilter, str]:
        """Return the filter and the digest of row 0, if the file is still the same ledger."""
        rule, identity, digest = _head(db, Path(self.path))
        if identity != self.identity:
            raise LedgerError(f"{self.path}: another ledger has taken the place of the one opened")
        return rule, digest

    def _last(self, db: sqlite3.Connection, rule: PrivacyFilter) -> tuple[int, Guarantee, str]:
        """Return the last number, the total cost and the last digest."""
        rows = db.execute(f"{_SELECT} WHERE number >= 0 ORDER BY number DESC LIMIT 2").fetchall()
        number, text, digest = rows[0]
        spent = rule.nothing
        if number:
            before = rows[1][2]
            self._checked(before, [(number, text, digest)], first=number)
            spent = _entry(text, self.path).spent
        self._check_end(number, digest, _end(db))
        return number, spent, digest

    def _check_end(self, number: int, digest: str, end: Any) -> None:
        """Raise LedgerError if the last entries are missing."""
        if end is None or end[1:] != (str(number), _digest(digest, str(number))):
            raise LedgerError(f"{self.path} is damaged at its end")

    def _checked(self, digest: str, rows: list[Any], *, first: int) -> list[str]:
        """Return the texts of rows after a row with `digest`; raise LedgerError if one is damaged."""
        for place, (number, text, after) in enumerate(rows, start=first):
            if number != place or after != _digest(digest, text):
                raise LedgerError(f"{self.path} is damaged at entry {place}")
            digest = after
        return [text for _, text, _ in rows]


Account = MemoryAccount | FileAccount


def open_file(
    path: str | os.PathLike[str], rule: PrivacyFilter | None, timeout: float
) -> tuple["FileAccount", PrivacyFilter]:
    """Return the account of a file and its privacy filter, which is `rule` or, for None, that of the file."""
    # The path is resolved now, with its links, so that a later `chdir` has no effect.
    try:
        file = Path(path).resolve()
        if file.is_symlink():  # since Python 3.13 a loop of links is no error of `resolve`
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        absent = not file.exists()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a null byte, no access
        why = getattr(error, "strerror", None) or error
        raise LedgerError(f"{str(path)!r} cannot be a ledger: {why}") from None
    _check_locks(file)
    if rule is not None and absent:
        create(file, rule)
    kept, identity, _ = _in_session(file, timeout, lambda db: _head(db, file))
    if rule is not None and rule != kept:
        raise LedgerError(
            f"{file} was opened for {kept.describe()}, and now for {rule.describe()};"
            " PrivacyLedger.open takes what it was opened for"
        )
    account = FileAccount(str(file), identity, timeout)
    account.check()
    return account, kept


def process_identity() -> object:
    """Return a value that is constant in one process and different in a forked child."""
    # The process number alone is not enough: systems reuse numbers, and containers repeat them.
    return os.getpid(), _this  # the number detects forks outside Python


@dataclass
class _Book:
    """The content of an account in memory."""

    owner: object
    nothing: Guarantee
    entries: list[Entry] = field(default_factory=list)
    lock: Any = field(default_factory=threading.RLock)
    charging: bool = False

    def spent(self) -> Guarantee:
        return self.entries[-1].spent if self.entries else self.nothing


# Accounts are never removed: a pickle may restore a ledger without a live object, and must find its account.
BOOKS: dict[str, _Book] = {}


_this = object()  # compared by identity alone


def _renew() -> None:
    global _this
    _this = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def _head(db: sqlite3.Connection, file: Path) -> tuple[PrivacyFilter, str, str]:
    """Return the filter, the identity and the digest of row 0, if this release can read the ledger."""
    found = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    if found[0] != _APPLICATION_ID:
        raise LedgerError(f"{file} is not a ledger")
    if found[1] != _SCHEMA_VERSION:
        raise LedgerError(f"{file} is a ledger of version {found[1]}; this release reads {_SCHEMA_VERSION}")
    row = db.execute(f"{_SELECT} WHERE number = 0").fetchone()
    if row is None or row[2] != _digest("", row[1]):
        raise LedgerError(f"{file} is damaged at its head")
    with _understood(file):
        return PrivacyFilter.from_json(row[1]), json.loads(row[1])["identity"], row[2]


def create(file: Path, rule: PrivacyFilter) -> None:
    """Make the file under another name and rename it: no process reads half of it, and only one makes it."""
    for end in ("-journal", "-wal"):  # SQLite would apply an old one to the new file
        # If the file exists by now, another process has made it and uses it.
        if Path(f"{file}{end}").exists() and not file.exists():
            raise LedgerError(
                f"{file} is gone, but its {file.name}{end} is there: put it back, or remove both"
            )
    draft = file.with_name(f".ledger-{os.urandom(8).hex()}")
    try:
        _connected(draft, lambda db: _fill(db, rule), mode="rwc")
        with suppress(FileExistsError):  # another process was first, and its file counts
            _publish(draft, file)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"{file} cannot be made: {getattr(error, 'strerror', None) or error}") from None
    finally:
        for end in ("", "-journal"):
            with suppress(OSError):
                Path(f"{draft}{end}").unlink()


def _fill(db: sqlite3.Connection, rule: PrivacyFilter) -> None:
    text = json.dumps(json.loads(rule.to_json()) | {"identity": os.urandom(16).hex()})
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    db.execute(_TABLE)
    _write(db, 0, text, "")


def _write(db: sqlite3.Connection, number: int, text: str, before: str) -> None:
    """Write the next row, after one with the digest `before`, and the row of the number of entries."""
    digest = _digest(before, text)
    db.execute(_INSERT, (number, text, digest))
    db.execute(_INSERT, (_END, str(number), _digest(digest, str(number))))


def _end(db: sqlite3.Connection) -> Any:
    return db.execute(f"{_SELECT} WHERE number = {_END}").fetchone()


@contextmanager
def _understood(path: str | Path) -> Iterator[None]:
    """Turn an error in reading a row with a correct digest into a LedgerError."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError):
        raise LedgerError(f"{path} holds what this release cannot read") from None


def _digest(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}{text}".encode()).hexdigest()  # a damaged cell may have any type


def _text(entry: Entry) -> str:
    spent = {name: str(x) for name, x in amounts(entry.spent).items()}
    return json.dumps({"record": entry.record.to_dict(), "spent": spent})


def _entry(text: str, path: str) -> Entry:
    with _understood(path):
        kept = json.loads(text)
        record = ReleaseRecord.from_json(json.dumps(kept["record"]))
        return Entry(record, with_amounts(record.cost, kept["spent"]))


# A thread holds this lock while a connection is open. A fork waits for the lock, because a fork must not copy
# SQLite's state in the middle of a use. The lock's methods are written in C, so that no interrupt leaves them
# half done. A fork continues without the lock if its wait is interrupted; its release then fails.
_GATE = threading.RLock()
_HELD: set[IO[bytes]] = set()  # files with a lock or waiting for one
_ABANDONED: list[Any] = []  # connections of the parent: closing one in a child would undo the parent's work


class _State:
    """The open connection of this process, if any."""

    connected = False
    user: int | None = None  # the thread with the open connection
    lost = False  # a connection was open when this process was forked


def _after_in_child() -> None:
    _State.lost = _State.lost or _State.connected
    for file in _HELD:  # an open copy would keep the parent's lock until the child ends
        file.close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_GATE.acquire,
        after_in_parent=_GATE.release,
        after_in_child=_GATE._at_fork_reinit,  # type: ignore[attr-defined]
    )
    os.register_at_fork(after_in_child=_after_in_child)


class _Busy(Exception):  # noqa: N818 - this module catches it
    """Another program, process or thread has locked the file."""


def _in_session(file: Path, timeout: float, work: Callable[[sqlite3.Connection], T]) -> T:
    """Return the result of `work`, run exclusively, possibly again, and committed as one transaction."""
    end = time.monotonic() + timeout
    while True:
        try:
            return _attempt(file, work)
        except _Busy:
            if time.monotonic() >= end:
                raise LedgerError(f"{file} {_LOCKED}, for more than {timeout:g} seconds") from None
        time.sleep(_PAUSE)  # without a lock, so that other files and forks need not wait


def _check_not_lost(file: Path) -> None:
    if _State.lost:
        raise LedgerError(
            f"{file} cannot be used: this process was forked while a ledger was in use; start a new one"
        )


def _check_locks(file: Path) -> None:
    if fcntl is None:
        raise LedgerError(f"{file}: a ledger in a file {_NO_LOCKS.format(platform=sys.platform)}")


def _attempt(file: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    _check_locks(file)  # the path may come from a pickle that another system made
    _check_not_lost(file)
    if _State.user == threading.get_ident():  # closing this descriptor would drop the locks of the outer use
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


def _locked(file: Path, work: Callable[[IO[bytes]], T]) -> T:
    """Return the result of `work`, run while the file is locked."""
    assert fcntl is not None
    with file.open("r+b", buffering=0) as held:
        _HELD.add(held)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with _GATE:
                return work(held)
        except BlockingIOError:
            raise _Busy from None
        finally:
            with _GATE:  # closing it while another thread is connected would drop that thread's locks
                if not held.closed:  # a child forked meanwhile has closed it
                    fcntl.flock(held, fcntl.LOCK_UN)  # a fork outside Python may have left an open copy
                    held.close()
                _HELD.discard(held)


def _sole(file: Path, held: IO[bytes], work: Callable[[sqlite3.Connection], T]) -> T:
    """Return the result of `work` if the locked file is the one at that path, with no second name."""

    def checked(db: sqlite3.Connection) -> T:
        status = os.fstat(held.fileno())
        if status.st_nlink > 1:
            raise LedgerError(f"{file} has a second name, a hard link, which must be removed")
        if not os.path.samestat(status, file.stat()):
            raise _Busy  # it was replaced just now
        return work(db)

    return _connected(file, checked)


def _connected(file: Path, work: Callable[[sqlite3.Connection], T], mode: str = "rw") -> T:
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
        _check_not_lost(file)  # `work` may have forked
        if db.in_transaction:
            db.execute("COMMIT")
        return result
    finally:
        if _State.lost:
            _ABANDONED.append(db)
        else:
            db.close()  # this rolls back an open transaction


def _make_durable(db: sqlite3.Connection) -> None:
    """Make each commit durable on the disk, in one file, before it returns."""
    db.execute("PRAGMA synchronous = EXTRA")
    db.execute("PRAGMA fullfsync = ON")  # on some systems fsync stops at the drive's own cache
    if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
        raise sqlite3.OperationalError("its journal cannot be a file")


def _publish(draft: Path, file: Path) -> None:
    """Rename a file, unless the new name exists."""

    def rename(_: IO[bytes]) -> None:
        try:
            os.link(draft, file)  # unlike a rename, a link never replaces a file
        finally:
            draft.unlink()  # the file is locked as long as it has two names
        with suppress(OSError):  # the file is complete in any case
            sync_names(file.parent)

    _locked(draft, rename)


def sync_names(folder: Path) -> None:
    """Write a folder's list of names to the disk, if the system supports it."""
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
