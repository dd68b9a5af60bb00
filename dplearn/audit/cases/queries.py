"""Audit cases of statistical-query oracles, with one or two rounds of queries on a few records."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, moved_by
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.privacy import ApproxDP
from dplearn.queries import (
    CentralOracle,
    HistogramQuery,
    LocalOracle,
    MeanQuery,
    Oracle,
    StatisticalQuery,
    VectorQuery,
)

__all__ = ["CASES", "MEAN", "SHARES", "VECTOR", "OracleFactory", "local_oracle", "oracle_case"]

OracleFactory = Callable[[Any, ApproxDP, Dice], Oracle]  # records, privacy and dice to an oracle

#: Records are whole numbers, such that one replaced moves all totals by all that it may.
MEAN = MeanQuery(lambda records: records, low=-1, high=2)
SHARES = HistogramQuery(lambda records: np.clip(records, 0, 2), categories=3)
VECTOR = VectorQuery(lambda records: np.multiply.outer(records, [-1, 1, -1, 1]), size=4, norm=2)


def local_oracle(records: Any, privacy: ApproxDP, dice: Dice, randomizer: str = "bit") -> Oracle:
    """Return a local oracle whose public order is the same each time."""
    return LocalOracle(records, privacy=privacy, dice=dice, stream=PublicStream(0), randomizer=randomizer)


def _central(records: Any, privacy: ApproxDP, dice: Dice) -> Oracle:
    return CentralOracle(records, privacy=privacy, dice=dice)


def _local_laplace(records: Any, privacy: ApproxDP, dice: Dice) -> Oracle:
    return local_oracle(records, privacy, dice, randomizer="laplace")


def oracle_case(
    name: str,
    factory: OracleFactory,
    rounds: Sequence[tuple[Sequence[StatisticalQuery], Any]],
    universe: Sequence[int],
    n: int,
    claim: ApproxDP,
    moves: int,
    **options: Any,
) -> AuditCase:
    """Return a case of an oracle that is asked rounds of queries; a later one depends on the first answer."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        oracle = factory(np.array(rows), claim, dice)
        released: list[list[float]] = []
        for queries, share in rounds:
            few = bool(released) and released[0][0] < 0
            for answer in oracle.ask(queries[:1] if few else queries, share):
                released.append(answer.means.tolist())
        return str([[round(mean, 6) for mean in means] for means in released]), oracle.rounds

    rules = {**RULES, "discrete_laplace": moved_by(moves)}
    return AuditCase(name, fit, universe, n, claim, rules=rules, **options)


CASES = (
    oracle_case(
        "central_queries",
        _central,
        [([MEAN], 0.5), ([SHARES], 0.5)],
        (-1, 0, 2),
        2,
        ApproxDP(2),
        3,
        verifies=("CentralOracle",),
        required=Required(6, 0.999999),
    ),
    oracle_case(
        "central_vector",
        _central,
        [([VECTOR], None)],
        (-1, 0, 1),
        1,
        ApproxDP(2),
        8,
        verifies=("CentralOracle",),
        required=Required(3, 0.999999),
    ),
    oracle_case(
        "central_gaussian",
        _central,
        [([MEAN], None)],
        (-1, 2),
        2,
        ApproxDP(4, 0.01),
        3,
        tail_bits=24,
        verifies=("CentralOracle",),
        required=Required(3, 0.92),
    ),
    # A record for each query.
    oracle_case(
        "local_queries",
        local_oracle,
        [([MEAN], "1/2"), ([SHARES], "1/2")],
        (-1, 0, 2),
        2,
        ApproxDP(1),
        0,
        verifies=("LocalOracle",),
        required=Required(6, 0.999999),
    ),
    oracle_case(
        "local_vector",
        local_oracle,
        [([VECTOR], None)],
        (-1, 0, 1),
        1,
        ApproxDP(1),
        0,
        verifies=("LocalOracle",),
        required=Required(3, 0.99),
    ),
    oracle_case(
        "local_laplace",
        _local_laplace,
        [([MEAN], None)],
        (-1, 0, 2),
        1,
        ApproxDP(1),
        3,
        verifies=("LocalOracle",),
        required=Required(3, 0.999999),
    ),
)
