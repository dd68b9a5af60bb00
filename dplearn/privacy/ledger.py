"""The privacy ledger: a budget that each release is charged to before its noise is drawn."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any, Self

from dplearn._validation import Named, check_bool, check_number, shown
from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP, decimals
from dplearn.privacy.ledger_storage import (
    Account,
    Entry,
    FileAccount,
    MemoryAccount,
    ReleaseRecord,
    as_html,
    as_text,
    new_record,
    open_file,
)
from dplearn.privacy.privacy_filter import BudgetExceededError, LedgerError, PrivacyFilter
from dplearn.privacy.unrepeatable import MARK, Unrepeatable, refuse_cache, without_mark

_JSON_VERSION = 1
_LONGEST_WAIT = 10**6
_DEFAULTS = {"neighbors": "replace_one", "protects": "examples", "allow_reproducible": False}


class PrivacyLedger(Named):
    """A privacy budget for all releases about one table.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        The greatest epsilon of all releases together. A float stands for its shortest decimal: ten fits at
        0.1 exhaust 1.0.
    delta : int, float, str, Decimal or Fraction, default=0.0
        The greatest delta of all releases together.
    path : str or path-like, optional
        A SQLite file that stores the account, for use by many processes and across crashes. A missing file is
        created; an existing one must have been created for the same budget. None: the memory of this process.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        The neighbours of the budget. If they are "replace_one", a release for "add_remove" is charged for
        distance 2. If they are "add_remove", a release for "replace_one" is refused: it implies no guarantee.
    protects : {"groups", "examples", "labels"}, default="examples"
        What is protected: all rows of a group, such as a person, a row, or the label of a row. Releases that
        protect more are charged too, such as ones of groups where it is "examples".
    allow_reproducible : bool, default=False
        Whether fits with `random_state` set, whose noise can be subtracted, are accepted, for tests.
    timeout : float, default=60
        Seconds to wait for other processes that use the file.

    Attributes
    ----------
    budget : Guarantee
        The greatest total cost.
    path : str or None
        The absolute path of the file.

    Raises
    ------
    LedgerError
        If the file cannot be used, or was made for another budget.

    Notes
    -----
    **Privacy.** All charged releases together have the guarantee `budget`, also if an analyst chooses each
    release after seeing the earlier ones: the pairs (epsilon, delta) add, or the rhos of a budget of
    `of_rho`; see `dplearn.privacy.privacy_filter.PrivacyFilter`.

    **Assumes.** Every release about the table is charged to this ledger before its noise is drawn; a charge
    is never refunded. Persons who can write the file, or restore an old copy of it, are trusted.

    Copies of a ledger (`copy`, `deepcopy`, scikit-learn's `clone`, a pickle) share one account.

    Examples
    --------
    >>> from dplearn.privacy import PrivacyLedger
    >>> from dplearn.privacy.guarantees import ApproxDP
    >>> ledger = PrivacyLedger(epsilon=0.3)
    >>> for _ in range(3):
    ...     _ = ledger.charge(ApproxDP(0.1), estimator="a histogram")
    >>> ledger.remaining().epsilon, ledger.can_afford(ApproxDP(0.1))
    (Fraction(0, 1), False)
    """

    def __init__(
        self,
        epsilon: Any,
        delta: Any = 0.0,
        path: str | os.PathLike[str] | None = None,
        *,
        neighbors: str = "replace_one",
        protects: str = "examples",
        allow_reproducible: bool = False,
        timeout: float = 60,
    ):
        rule = _filter(ApproxDP(epsilon, delta, neighbors, protects), allow_reproducible)
        self._set_up(rule, path, timeout)

    @classmethod
    def of_rho(
        cls,
        rho: Any,
        path: str | os.PathLike[str] | None = None,
        *,
        neighbors: str = "replace_one",
        protects: str = "examples",
        allow_reproducible: bool = False,
        timeout: float = 60,
    ) -> Self:
        """Return a ledger whose budget is in zero-concentrated differential privacy.

        Parameters
        ----------
        rho : int, float, str, Decimal or Fraction
            The greatest rho of all releases together. A release with a pure epsilon costs epsilon^2 / 2.
        path, neighbors, protects, allow_reproducible, timeout
            As for the class.
        """
        ledger = cls.__new__(cls)
        rule = _filter(ZeroConcentratedDP(rho, neighbors, protects), allow_reproducible)
        ledger._set_up(rule, path, timeout)
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, timeout: float = 60) -> Self:
        """Return the ledger in an existing file, with the budget stored in it.

        Parameters
        ----------
        path : str or path-like
            The file.
        timeout : float, default=60
            Seconds to wait for other processes that use the file.
        """
        ledger = cls.__new__(cls)
        account, rule = open_file(_check_path(path), None, _check_timeout(timeout))
        ledger._filter, ledger._account = rule, account
        return ledger

    def _set_up(self, rule: PrivacyFilter, path: str | os.PathLike[str] | None, timeout: float) -> None:
        timeout = _check_timeout(timeout)
        self._filter = rule
        self._account: Account = (
            MemoryAccount.open(rule.nothing)
            if path is None
            else open_file(_check_path(path), rule, timeout)[0]
        )

    @property
    def budget(self) -> Guarantee:
        """The greatest total cost of all releases."""
        return self._filter.budget

    @property
    def path(self) -> str | None:
        """The absolute path of the account's file; None for an account in memory."""
        return self._account.path if isinstance(self._account, FileAccount) else None

    def charge(self, guarantee: Guarantee, *, estimator: str = "") -> ReleaseRecord:
        """Charge a release; after the call the charge is durable, and the noise may be drawn.

        Parameters
        ----------
        guarantee : ApproxDP or ZeroConcentratedDP
            The guarantee of the release.
        estimator : str, default=""
            The name of the estimator or function, for the record.

        Returns
        -------
        ReleaseRecord
            The record of the charge.

        Raises
        ------
        BudgetExceededError
            If the cost exceeds the remaining budget. Nothing is charged.
        LedgerError
            If the release cannot be charged to this ledger, or the ledger cannot be reached. Nothing is
            charged, except perhaps after a disk failure during the write; nothing must be released.
        """
        if not isinstance(estimator, str):
            raise TypeError(f"estimator must be a string, got {estimator!r}")
        cost = self._filter.cost(guarantee)

        def draft(spent: Guarantee, number: int) -> Entry:
            total = self._filter.after(spent, cost)
            return Entry(new_record(number, estimator, guarantee, cost), total)

        return self._account.append(draft).record

    def require(self, guarantee: Guarantee) -> None:
        """Raise the error that `charge` would raise now, without a charge; a later charge may still fail."""
        self._filter.after(self._account.spent(), self._filter.cost(guarantee))

    def can_afford(self, guarantee: Guarantee) -> bool:
        """Return True if the remaining budget covers `guarantee` now.

        Raises
        ------
        LedgerError, TypeError
            If this ledger can never charge `guarantee`.
        """
        try:
            self.require(guarantee)
        except BudgetExceededError:
            return False
        return True

    def spent(self) -> Guarantee:
        """Return the guarantee of all releases so far together, with all their assumptions."""
        return _together(self._account.entries(), self._filter.nothing)

    def remaining(self) -> Guarantee:
        """Return the remaining budget, with exact numbers that are displayed rounded down."""
        return self._filter.left(self._account.spent()).left_over()

    def history(self) -> list[ReleaseRecord]:
        """Return the records of all releases, in the order of their charges."""
        return [entry.record for entry in self._account.entries()]

    def to_json(self) -> str:
        """Return the budget, the total and all records as a JSON text, which cannot restore a ledger."""
        entries = self._account.entries()
        head = {"format": "dplearn.PrivacyLedger", "version": _JSON_VERSION}
        body = {
            "spent": json.loads(_together(entries, self._filter.nothing).to_json()),
            "releases": [entry.record.to_dict() for entry in entries],
        }
        return json.dumps(head | json.loads(self._filter.to_json()) | body, indent=2)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, with the spent cost, so that a cache's key changes with a charge."""
        try:
            spent: Any = repr(self._account.spent())
        except LedgerError:
            spent = Unrepeatable()
        return vars(self) | {MARK: spent}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(without_mark(state))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        """Return one line of the settings; it does not read the account, so it never fails."""
        name = "PrivacyLedger" if isinstance(self.budget, ApproxDP) else "PrivacyLedger.of_rho"
        parts = [f"{number}={value}" for number, value in decimals(self.budget).items()]
        parts += [] if self.path is None else [f"path={self.path!r}"]
        chosen = {
            "neighbors": self.budget.neighbors,
            "protects": self.budget.protects,
            "allow_reproducible": self._filter.allow_reproducible,
        }
        parts += [f"{key}={value!r}" for key, value in chosen.items() if value != _DEFAULTS[key]]
        return f"{name}({', '.join(parts)})"

    def __str__(self) -> str:
        try:
            return as_text(self._filter, self._account.entries())
        except LedgerError as error:
            return f"{self!r}: {error}"

    def _repr_html_(self) -> str:
        try:
            return as_html(self._filter, self._account.entries())
        except LedgerError as error:
            return f"<p>{escape(f'{self!r}: {error}')}</p>"


def open_account(
    ledger: PrivacyLedger | None, cost: Guarantee | None, *, name: str
) -> Callable[[Guarantee], None]:
    """Check that a ledger can pay for a release, and return a function that charges it.

    Parameters
    ----------
    ledger : PrivacyLedger or None
        The ledger to charge. None: the charge does nothing.
    cost : Guarantee or None
        The guarantee of the release, if its parameters determine it: the remaining budget is checked now.
        None: it depends on the data, and the budget is checked at the charge.
    name : str
        The name of the estimator or function, for the ledger's history.

    Returns
    -------
    callable
        Charges a guarantee. After the call the privacy is spent, even if the release fails.

    Raises
    ------
    TypeError
        If `ledger` has another type, or a cache of joblib is the caller.
    BudgetExceededError
        If `cost` exceeds the remaining budget; nothing is spent.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
    >>> ledger = PrivacyLedger(epsilon=1)
    >>> charge = open_account(ledger, ApproxDP(0.5), name="a histogram")
    >>> charge(ApproxDP(0.5))
    >>> ledger.remaining().epsilon
    Fraction(1, 2)
    """
    refuse_cache(name)
    if not isinstance(ledger, PrivacyLedger | None):
        raise TypeError(f"ledger must be None or a PrivacyLedger, got {shown(ledger)}{_advice(ledger)}")
    if ledger is None:
        return lambda _: None
    if cost is not None:
        ledger.require(cost)

    def charge(guarantee: Guarantee) -> None:
        ledger.charge(guarantee, estimator=name)

    return charge


def _together(entries: list[Entry], nothing: Guarantee) -> Guarantee:
    """Return the guarantee of all releases together: the total cost under all their assumptions."""
    guarantees = [entry.record.guarantee for entry in entries]
    return replace(
        entries[-1].spent if entries else nothing,
        assumes=tuple(text for each in guarantees for text in each.assumes),
        reproducible=any(each.reproducible for each in guarantees),
    )


def _filter(budget: Guarantee, allow_reproducible: bool) -> PrivacyFilter:
    return PrivacyFilter(budget, check_bool("allow_reproducible", allow_reproducible))


def _check_timeout(timeout: Any) -> float:
    return float(check_number("timeout", timeout, low=0, high=_LONGEST_WAIT))


def _check_path(path: Any) -> str | os.PathLike[str]:
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str) or path == "":
        raise TypeError(f"path must be None, a nonempty string or a path, got {path!r}")
    return path


def _advice(ledger: Any) -> str:
    """Return how to open the ledger of a file, if `ledger` is a path; else an empty text."""
    if not isinstance(ledger, (str, os.PathLike)):
        return ""
    return ": PrivacyLedger.open(path) opens the one in a file, PrivacyLedger(epsilon, path=path) makes one"
