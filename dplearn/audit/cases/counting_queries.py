"""Audit cases of the releases that answer counting queries; no selection attains its claim."""

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import ReleaseFit
from dplearn.audit.replay import RULES, groups_within
from dplearn.domains import IntegerRange
from dplearn.privacy import ApproxDP
from dplearn.releases.counting_queries import _MultiplicativeWeights, _SmallDatabase

__all__ = ["CASES", "query_table", "rows_of"]


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


def rows_of(found: Any) -> tuple[int, ...]:
    """Return the rows of a small database, in increasing order."""
    counts = np.rint(found.shares * found.plan.n_rows).astype(np.int64)
    return tuple(np.repeat(np.arange(len(counts)), counts).tolist())


def _shown_rows(found: Any) -> tuple[str, Any]:
    rows = rows_of(found)
    return str(rows), rows


def _small_database(name: str, domain_size: int, n: int, size: int, *, required: Required) -> AuditCase:
    queries = query_table(name, domain_size)
    return AuditCase(
        f"small_database_of_{name}",
        ReleaseFit(
            lambda: _SmallDatabase(queries, IntegerRange(0, domain_size - 1), size, 1, 0), list, _shown_rows
        ),
        range(domain_size),
        n,
        ApproxDP(1),
        ordered=False,
        rules={**RULES, "power_weighted": groups_within(size)},
        verifies=("ReleasedShares",),
        required=required,
    )


def _shown_answers(found: Any) -> tuple[str, Any]:
    return str(found.answers.round(9).tolist()), found


def _weights(
    name: str, n: int, n_rounds: int, claim: ApproxDP, *, required: Required, public: Any = None
) -> AuditCase:
    queries = query_table("thresholds", 2)[:1] if n_rounds == 1 else query_table("points", 3)

    def release() -> _MultiplicativeWeights:
        domain = IntegerRange(0, queries.shape[1] - 1)
        return _MultiplicativeWeights(queries, domain, n_rounds, claim.epsilon, claim.delta, public, 0)

    return AuditCase(
        name,
        ReleaseFit(release, list, _shown_answers),
        range(queries.shape[1]),
        n,
        claim,
        ordered=False,
        rules=RULES if n_rounds == 1 else None,  # a count is that of the query that was selected
        verifies=("ReleasedShares",),
        required=required,
    )


CASES = (
    _small_database("points", 3, 6, 2, required=Required(28, 0.74)),
    _small_database("thresholds", 4, 3, 4, required=Required(20, 0.85)),
    _small_database("parities", 4, 4, 3, required=Required(35, 0.65)),
    _small_database("all_queries", 4, 3, 3, required=Required(20, 0.69)),
    _weights("weights_of_one_round", 2, 1, ApproxDP(8), required=Required(3, 0.49)),
    _weights("weights_of_two_rounds", 2, 2, ApproxDP(8), required=Required(6, 0.6)),
    _weights("weights_from_public_values", 2, 2, ApproxDP(8), public=[0, 0, 1], required=Required(6, 0.74)),
    _weights("weights_with_delta", 1, 1, ApproxDP(16, 0.1), required=Required(2, 0.2)),
)
