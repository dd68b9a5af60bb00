"""Private release of the frequent keys of a column with noisy counts, without a list of possible keys."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplearn._documented import documented_by
from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.domains import DomainError, KeyCounts, read_keys
from dplearn.domains.cells import counts_by_key, factor_of, holds_times, is_frame
from dplearn.domains.factors import Factor
from dplearn.fit import N_IS_PUBLIC, Facts
from dplearn.kernels import laplace_quantile
from dplearn.mechanisms.stable_histogram import (
    stable_histogram,
    stable_histogram_ratio,
    stable_histogram_threshold,
)
from dplearn.privacy import MOST_RECORDS, ApproxDP, PrivacyLedger
from dplearn.privacy.plan import ResultTable
from dplearn.releases.release import UNKNOWN_COUNT, ColumnRelease, Released, ReleasePlan, few_records
from dplearn.table import Table

#: The precondition on keys, as listed in a guarantee.
KEYS = "each record has one key: missing, text, bytes, a whole number, or a tuple of these"


@dataclass(frozen=True)
class StableCounts(Released, ResultTable):
    """The result of `stable_counts`: the frequent keys and their noisy counts.

    Attributes
    ----------
    counts : dict
        Released. Maps keys to noisy counts, greatest count first; keys of equal count in sorted order. The
        key None is a missing value.
    plan : ReleasePlan
        Public. The plan, as `stable_counts_plan` describes it; no noisy count below its `threshold` is
        released.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    """

    counts: dict[Hashable, int]
    plan: ReleasePlan

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        return ("key", "count"), self.most_common()

    def most_common(self, k: int | None = None) -> list[tuple[Hashable, int]]:
        """Return the `k` keys with the greatest noisy counts, and these counts.

        Parameters
        ----------
        k : int, optional
            At least 0; all keys by default.

        Returns
        -------
        list of tuples (key, int)
        """
        return list(self.counts.items())[: None if k is None else check_count("k", k)]

    def error(self, beta: float = 0.05, *, n_keys: int = 1) -> int:
        """Return a bound on the noise of a count.

        Parameters
        ----------
        beta : float, default=0.05
            Probability that the bound fails, in (0, 1).
        n_keys : int, default=1
            Number of keys, chosen independently of the release (or of all records), for which the bound
            holds.

        Returns
        -------
        int
            With probability at least 1 - beta the noise of all these counts is at most this in magnitude; a
            key that is not released has a count below the plan's `threshold` plus this.
        """
        return _error(self.guarantee, beta, n_keys)


@documented_by(ColumnRelease)
def stable_counts(
    keys: Any,
    *,
    epsilon: float = 1.0,
    delta: float,
    groups: Any = None,
    neighbors: str = "replace_one",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> StableCounts:
    """Release the frequent keys of private records and their noisy counts, for any set of possible keys.

    Parameters
    ----------
    keys : series, array, or list of shape (n,), or parts of a series or array
        Private. One key a record (not counts of keys): text, bytes, whole numbers, or tuples of these, such
        as `list(zip(df.sex, df.race))` for pairs. Missing values of any kind are the key None; whole floats
        are read as integers, True as 1. Parts: a Dask series, or a function that returns series or arrays.
    epsilon : float, default=1.0
        Privacy budget of the release; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float
        ... A key of a single record is released with probability at most delta.

    Raises
    ------
    DomainError
        If a key is of another type; the message shows no key, and nothing is spent.

    Warns
    -----
    UserWarning
        If there are so few records that no key can be released, for neighbors="replace_one".

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; for "add_remove", for one
    added or removed record.

    **Accuracy.** See `StableCounts.error`. A key with a count of at least the plan's `threshold` + t is
    released unless its noise is below -t.

    **Source.** As for `dplearn.mechanisms.stable_histogram`.

    Examples
    --------
    >>> from dplearn.releases import stable_counts
    >>> codes = ["J45"] * 400 + ["E11"] * 250 + [None] * 90 + ["E84"] * 2
    >>> found = stable_counts(codes, epsilon=1.0, delta=1e-6, random_state=0)
    >>> found.most_common()
    [('J45', 397), ('E11', 249), (None, 91)]
    >>> found.plan.threshold, found.error(beta=0.05)
    (28, 6)
    """
    return _StableCounts(epsilon, delta, random_state, neighbors).run_on(keys, None, ledger, groups)


@documented_by(stable_counts, ColumnRelease)
def stable_counts_plan(
    n_samples: int | None,
    *,
    epsilon: float = 1.0,
    delta: float,
    neighbors: str = "replace_one",
    beta: float = 0.05,
    n_keys: int = 1,
) -> ReleasePlan:
    """Return the plan of `stable_counts`: the threshold and bounds on the noise, without data.

    Parameters
    ----------
    n_samples : int or None
        Number of records, at least 1. None, for "add_remove": unknown.
    n_keys : int, default=1
        Number of keys, chosen independently of the release, for which `error` and `n_needed` hold together.

    Returns
    -------
        With the guarantee, n_samples (None if it is private), beta and n_keys; `threshold`, the least noisy
        count that is released; `error`, which the noise of n_keys counts does not exceed with probability at
        least 1 - beta; and `n_needed`: n_keys keys of this many records each are all released with it.

    Examples
    --------
    >>> from dplearn.releases import stable_counts_plan
    >>> print(stable_counts_plan(742, delta=1e-6))
    StableCountsPlan
      guarantee  epsilon 1, delta 1e-06
      advantage  0.462118  (of an attacker on one record, at most: see `risk`)
      n_samples  742
      threshold  28
      error      6  (of a count)
      n_needed   33  (records of a key, for its release)
      beta       0.05
      n_keys     1
    """
    return _StableCounts(epsilon, delta, neighbors=neighbors).plan(Facts(n_samples), beta=beta, n_keys=n_keys)


class _StableCounts(ColumnRelease[StableCounts]):
    """The recipe of `stable_counts`."""

    takes = "keys"
    most_records = MOST_RECORDS  # audits use fewer

    def __init__(self, epsilon: Any, delta: Any, random_state: Any = None, neighbors: str = "replace_one"):
        cost = ApproxDP(
            check_number("epsilon", epsilon, above=0),
            check_number("delta", delta, above=0, below=1),
            neighbors,
            assumes=(N_IS_PUBLIC, KEYS),
        )
        super().__init__("stable_counts", cost, (str(cost.epsilon), str(cost.delta)), random_state)

    def read(self, X: Any, y: Any) -> tuple[Facts, Factor]:  # noqa: ARG002 - there is none
        keys = read_column_of_keys(X)
        return Facts(len(keys)), keys

    def plan(self, facts: Facts, *, beta: Any = 0.05, n_keys: Any = 1) -> ReleasePlan:
        failure, together = check_number("beta", beta, above=0, below=1), check_count("n_keys", n_keys, low=1)
        n, threshold = self.count(facts), stable_histogram_threshold(self.cost)
        # A key of count c is not released if its noise is below threshold - c: P[Z >= c - threshold + 1].
        enough = threshold - 1 + laplace_quantile(stable_histogram_ratio(self.cost), failure / together)
        none = few_records(
            n,
            f"no key can be released, because released counts are at least {threshold}",
            "spend more epsilon or delta",
            subset=UNKNOWN_COUNT,
        )
        return self.stated(
            n,
            threshold=threshold,
            error=_error(self.cost, failure, together),
            n_needed=enough,
            beta=float(failure),
            n_keys=together,
            notes={"error": "of a count", "n_needed": "records of a key, for its release"},
            warns=(none,) if n is not None and n < threshold else (),
        )

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> StableCounts:
        [counts] = table.sums(_key_counts)
        found = stable_histogram(counts, privacy=plan.guarantee, dice=dice, most_records=self.most_records)
        falling = sorted(found.items(), key=lambda item: -item[1])  # stable: equal counts stay sorted by key
        return StableCounts(counts_by_key(falling), plan)


def _key_counts(keys: Factor) -> list[KeyCounts]:
    return [KeyCounts.counted(keys.counts())]


def _error(guarantee: ApproxDP, beta: Any, n_keys: Any) -> int:
    """Return the least t such that the noise of several counts exceeds t with probability at most beta."""
    share = check_number("beta", beta, above=0, below=1) / check_count("n_keys", n_keys, low=1)
    # P[abs(Z) >= t + 1] is twice P[Z >= t + 1].
    return laplace_quantile(stable_histogram_ratio(guarantee), share / 2) - 1


def read_column_of_keys(keys: Any) -> Factor:
    """Return the keys as a factor of values of built-in types other than float."""
    if isinstance(keys, np.ndarray) or hasattr(keys, "dtype"):
        _check_array(keys)
    elif not isinstance(keys, (list, tuple)):
        pairs = "; list(zip(df.sex, df.race)) counts pairs" if is_frame(keys) else ""
        raise TypeError(f"keys must be a series, an array or a list, got {type(keys).__name__}{pairs}")
    if not len(keys):
        raise ValueError("keys must have shape (n,), n at least 1, got shape (0,)")
    cells = factor_of(keys)
    found = cells.with_levels(read_keys(cells.levels.tolist()))
    if any(_has_fraction(key) for key, _ in found.counts()):
        raise DomainError("a key is a number that is not whole; round it, or turn it into text, first")
    return found


def _check_array(keys: Any) -> None:
    shape, kind = tuple(keys.shape), getattr(keys.dtype, "kind", "O")
    if len(shape) != 1:
        raise ValueError(f"keys must have shape (n,), got shape {shape}")
    if kind in "cV" or holds_times(keys.dtype):
        raise TypeError(
            f"keys must be text, bytes or whole numbers, got dtype {keys.dtype}: turn them into text first,"
            " such as d.astype(str) or d.dt.strftime('%Y-%m')"
        )


def _has_fraction(key: Hashable) -> bool:
    return any(map(_has_fraction, key)) if isinstance(key, tuple) else isinstance(key, float)
