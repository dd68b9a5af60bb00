"""Audit cases of the small database: a few records of a domain that answer all queries of a class.

It is the sanitiser with a proof for all queries, and too slow and too inaccurate to be a release of this
package (docs/theory/small_database.md). No case attains its claim, because of the normalisation of the
exponential mechanism, whose sensitivity here is the number of records that are released.

>>> from dplearn.chance import SeededDice
>>> rows = [0] * 300 + [3] * 100
>>> small_database(rows, query_table("points", 4), size=4, privacy=ApproxDP(2), dice=SeededDice(0))
(0, 0, 0, 3)
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, groups_within
from dplearn.chance.dice import Dice
from dplearn.mechanisms import exponential_mechanism
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "query_table", "small_database"]


def small_database(
    rows: Sequence[int], queries: NDArray[np.int64], *, size: int, privacy: ApproxDP, dice: Dice
) -> tuple[int, ...]:
    """Return a few records whose answers to all queries are near those of the private ones.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: a replaced record moves c(D), the count of a
    query, by at most 1, hence n c(D') - m c(D) by at most m = size, and so the greatest magnitude over the
    queries.
    The candidates are public.

    **Source.** Blum, Ligett and Roth (2008); Bun, Nissim and Stemmer (2016), Theorem 2.18.
    """
    domain_size = queries.shape[1]
    candidates = list(combinations_with_replacement(range(domain_size), size))
    counts = np.array([np.bincount(each, minlength=domain_size) for each in candidates])
    true = queries @ np.bincount(rows, minlength=domain_size)
    qualities = -np.abs(len(rows) * (counts @ queries.T) - size * true).max(axis=1)
    return candidates[exponential_mechanism(qualities, privacy=privacy, dice=dice, sensitivity=size)]


def query_table(name: str, domain_size: int) -> NDArray[np.int64]:
    """Return the queries of a class, of shape (n_queries, domain_size)."""
    values = np.arange(domain_size)
    if name == "points":
        table = values[:, None] == values
    elif name == "thresholds":
        table = values <= values[:, None]
    elif name == "parities":
        bits = [
            [value >> bit & 1 for bit in range(domain_size.bit_length() - 1)] for value in range(domain_size)
        ]
        table = np.array(bits)[1:] @ np.array(bits).T % 2
    else:
        table = np.array(list(product((0, 1), repeat=domain_size)))
    return np.asarray(table, dtype=np.int64)


def _case(name: str, domain_size: int, n: int, size: int, *, required: Required) -> AuditCase:
    claim = ApproxDP(1)

    def fit(rows: Rows, dice: Dice) -> tuple[str, tuple[int, ...]]:
        queries = query_table(name, domain_size)
        found = small_database(rows, queries, size=size, privacy=claim, dice=dice)
        return str(found), found

    return AuditCase(
        f"small_database_of_{name}",
        fit,
        range(domain_size),
        n,
        claim,
        ordered=False,
        rules={**RULES, "power_weighted": groups_within(size)},
        verifies=("exponential_mechanism",),
        required=required,
    )


CASES = (
    _case("points", 3, 6, 2, required=Required(28, 0.74)),
    _case("thresholds", 4, 3, 4, required=Required(20, 0.85)),
    _case("parities", 4, 4, 3, required=Required(35, 0.65)),
    _case("all_queries", 4, 3, 3, required=Required(20, 0.69)),
)
