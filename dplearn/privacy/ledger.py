"""The ledger: a budget that every release is charged to before its noise is drawn.

>>> from dplearn.privacy.guarantees import ApproxDP
>>> ledger = PrivacyLedger(epsilon=0.3)
>>> for _ in range(3):
...     _ = ledger.charge(ApproxDP(0.1), estimator="a histogram")
>>> ledger.remaining().epsilon, ledger.can_afford(ApproxDP(0.1))
(Fraction(0, 1), False)
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any, Self

from dplearn._validation import check_number, shown
from dplearn.privacy.base import decimals
from dplearn.privacy.errors import BudgetExceededError, LedgerError
from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP
from dplearn.privacy.ledger_records import Entry, ReleaseRecord, as_html, as_text, new_record
from dplearn.privacy.ledger_storage import Account, FileAccount, MemoryAccount, open_file
from dplearn.privacy.privacy_filter import PrivacyFilter
from dplearn.privacy.unrepeatable import MARK, Unrepeatable, refuse_cache, without_mark

__all__ = ["PrivacyLedger", "open_account"]

_JSON_VERSION = 1
_LONGEST_WAIT = 10**6
_DEFAULTS = {"neighbors": "replace_one", "protects": "examples", "allow_reproducible": False}


class PrivacyLedger:
    """A budget for everything that is released about one table.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        What all releases together may cost. A float is its shortest decimal: ten fits at 0.1 fill 1.0.
    delta : int, float, str, Decimal or Fraction, default=0.0
        The same for delta.
    path : str or path-like, optional
        A SQLite file that keeps the account: for many processes, for many days, through a crash. It is made
        if it does not exist, and must have been made for the same budget if it does. Without it the account
        is kept in the memory of this process and charged in no other.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        The neighbours that are accounted for. For "replace_one" a release for "add_remove" costs two steps;
        the other way nothing is known, and it is refused.
    protects : {"examples", "labels"}, default="examples"
        What is accounted for. Where it is "labels", a release that protects whole examples counts too.
    allow_reproducible : bool, default=False
        Whether fits with `random_state` set are charged; otherwise they are refused, since noise that can be
        drawn again can be subtracted. For tests.
    timeout : float, default=60
        Seconds to wait for other processes that use the file.

    Attributes
    ----------
    budget : Guarantee
        What all releases together may cost.
    path : str or None
        The file, absolute.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    LedgerError
        If the file cannot be used, or was made for another budget.

    See Also
    --------
    of_rho : A budget in zero-concentrated differential privacy.
    open : The ledger in a file, whatever its budget.

    Notes
    -----
    **Privacy.** All releases charged together have the guarantee `budget`, also if each is chosen after
    seeing the earlier ones. The ledger is a privacy filter: (epsilon, delta) adds, or rho adds; see
    `dplearn.privacy.privacy_filter.PrivacyFilter`.

    **Assumes.** Everything released about the table is charged here, before it is drawn; a charge is never
    taken back. Whoever can write the file, or restore an old copy of it, is trusted.

    Copies of a ledger (`copy`, `deepcopy`, scikit-learn's `clone`, a pickle) are the same account, never a
    second budget.
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
            What all releases together may cost. A release that guarantees a pure epsilon costs epsilon^2 / 2.
        path, neighbors, protects, allow_reproducible, timeout
            As for the class.
        """
        ledger = cls.__new__(cls)
        rule = _filter(ZeroConcentratedDP(rho, neighbors, protects), allow_reproducible)
        ledger._set_up(rule, path, timeout)
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, timeout: float = 60) -> Self:
        """Return the ledger in a file that exists, with the budget that is stored in it.

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
        """What all releases together may cost."""
        return self._filter.budget

    @property
    def path(self) -> str | None:
        """The file that keeps the account; None if it is kept in memory."""
        return self._account.path if isinstance(self._account, FileAccount) else None

    def charge(self, guarantee: Guarantee, *, estimator: str = "") -> ReleaseRecord:
        """Charge a release; when this returns, the charge is durable and the noise may be drawn.

        Parameters
        ----------
        guarantee : ApproxDP or ZeroConcentratedDP
            What the release guarantees.
        estimator : str, default=""
            What is released, for the record.

        Raises
        ------
        BudgetExceededError
            If it does not fit into what is left. Nothing is charged.
        LedgerError
            If it cannot be charged to this ledger, or the ledger cannot be reached. Nothing is charged,
            unless the disk itself failed while writing: then it may be, and nothing must be released.
        TypeError
            If `guarantee` is not a guarantee, or `estimator` not a string.
        """
        if not isinstance(estimator, str):
            raise TypeError(f"estimator must be a string, got {estimator!r}")
        cost = self._filter.cost(guarantee)

        def draft(spent: Guarantee, number: int) -> Entry:
            total = self._filter.after(spent, cost)
            return Entry(new_record(number, estimator, guarantee, cost), total)

        return self._account.append(draft).record

    def require(self, guarantee: Guarantee) -> None:
        """Raise what `charge` would raise now; nothing is charged, and later it may be otherwise."""
        self._filter.after(self._account.spent(), self._filter.cost(guarantee))

    def can_afford(self, guarantee: Guarantee) -> bool:
        """Return True if `guarantee` fits into what is left now; what can never be charged raises."""
        try:
            self.require(guarantee)
        except BudgetExceededError:
            return False
        return True

    def spent(self) -> Guarantee:
        """Return what all releases so far guarantee together, and on what assumptions."""
        return _together(self._account.entries(), self._filter.nothing)

    def remaining(self) -> Guarantee:
        """Return what is left of the budget, exactly; shown, its numbers are rounded down."""
        return self._filter.left(self._account.spent()).left_over()

    def history(self) -> list[ReleaseRecord]:
        """Return the records of all releases, in order."""
        return [entry.record for entry in self._account.entries()]

    def to_json(self) -> str:
        """Return budget, sum and all records as a JSON text, for filing; it cannot be made a ledger again."""
        entries = self._account.entries()
        head = {"format": "dplearn.PrivacyLedger", "version": _JSON_VERSION}
        body = {
            "spent": json.loads(_together(entries, self._filter.nothing).to_json()),
            "releases": [entry.record.to_dict() for entry in entries],
        }
        return json.dumps(head | json.loads(self._filter.to_json()) | body, indent=2)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, with what is spent: a cache does not know a call again that charged."""
        try:
            spent: Any = repr(self._account.spent())
        except LedgerError:
            spent = Unrepeatable()
        return vars(self) | {MARK: spent}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a pickled state."""
        self.__dict__.update(without_mark(state))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        """Return one line; it does not look at the account, so it never fails."""
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
        The guarantee of the release, if its parameters determine it: the ledger is checked for it now. None:
        it depends on the data, and the ledger is checked when it is charged.
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
    """Return what all releases guarantee together: their sum, if all that each of them assumes holds."""
    guarantees = [entry.record.guarantee for entry in entries]
    return replace(
        entries[-1].spent if entries else nothing,
        assumes=tuple(text for each in guarantees for text in each.assumes),
        reproducible=any(each.reproducible for each in guarantees),
    )


def _filter(budget: Guarantee, allow_reproducible: bool) -> PrivacyFilter:
    if not isinstance(allow_reproducible, bool):
        raise TypeError(f"allow_reproducible must be True or False, got {allow_reproducible!r}")
    return PrivacyFilter(budget, allow_reproducible)


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
