"""Where a ledger in memory keeps its account: in the process that opened it, whatever copies are made.

An account is found by a token. Copies and pickles of a ledger carry the token and not the account, so in the
process that opened it they all reach the same one, and in any other process none.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from dplearn.privacy.errors import LedgerError
from dplearn.privacy.guarantees import Guarantee
from dplearn.privacy.process import process_identity
from dplearn.privacy.records import ReleaseRecord

__all__ = ["Account", "Draft", "Entry", "MemoryAccount"]

ELSEWHERE = "this ledger lives in the memory of another process; give it a path=... to share it"


@dataclass(frozen=True)
class Entry:
    """A release, and what is spent with it."""

    record: ReleaseRecord
    spent: Guarantee


#: From what is spent and the next number to the next entry; it may refuse by raising.
Draft = Callable[[Guarantee, int], Entry]


class Account(Protocol):
    """Keeps entries, once written for good, in order."""

    def append(self, draft: Draft) -> Entry:
        """Write the entry that `draft` makes of the last one; no other is written in between."""

    def entries(self) -> list[Entry]:
        """Return all entries, checked as far as can be."""

    def spent(self) -> Guarantee:
        """Return what is spent."""


@dataclass
class _Book:
    """The account itself."""

    owner: object
    nothing: Guarantee
    entries: list[Entry] = field(default_factory=list)
    lock: Any = field(default_factory=threading.RLock)
    charging: bool = False

    def spent(self) -> Guarantee:
        return self.entries[-1].spent if self.entries else self.nothing


# Never emptied: a pickle may bring back a ledger of which no object is left, and it must find its account.
_BOOKS: dict[str, _Book] = {}


@dataclass(frozen=True)
class MemoryAccount:
    """An account in the memory of the process that opened it, safe for threads.

    Attributes
    ----------
    token : str
        What it is found by.
    """

    token: str

    @classmethod
    def open(cls, nothing: Guarantee) -> "MemoryAccount":
        """Return a new account; `nothing` is what no release costs."""
        account = cls(os.urandom(16).hex())
        _BOOKS[account.token] = _Book(process_identity(), nothing)
        return account

    def append(self, draft: Draft) -> Entry:
        """Write the entry that `draft` makes."""
        book = self._book()
        with book.lock:
            if book.charging:  # by this thread, in which the handler of a signal now charges
                raise LedgerError("this ledger is in the middle of another charge of the same thread")
            book.charging = True
            try:
                entry = draft(book.spent(), len(book.entries) + 1)
                book.entries.append(entry)
            finally:
                book.charging = False
        return entry

    def entries(self) -> list[Entry]:
        """Return all entries."""
        return list(self._book().entries)

    def spent(self) -> Guarantee:
        """Return what is spent."""
        return self._book().spent()

    def _book(self) -> _Book:
        book = _BOOKS.get(self.token)
        # A forked child has a copy of the book, and of a lock that a thread it does not have may hold.
        if book is None or book.owner != process_identity():
            raise LedgerError(ELSEWHERE)
        return book
