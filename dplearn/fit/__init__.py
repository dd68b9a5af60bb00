"""Fits and releases: one conductor, `execute`, reads a table, plans, charges the ledger and runs a recipe."""

from dplearn.fit.execute import Facts, Recipe, begin
from dplearn.fit.relation import (
    GROUPS,
    N_IS_PUBLIC,
    PARTS,
    PARTS_OF_GROUPS,
    PUBLIC_ROWS,
    TABLE,
    noisy_count,
    shares_with_count,
    without_count,
)
from dplearn.fit.support import FEATURES, REFUSALS, refuse_unsupported, refuse_wrapped, supported, supports

__all__ = [
    "FEATURES",
    "GROUPS",
    "N_IS_PUBLIC",
    "PARTS",
    "PARTS_OF_GROUPS",
    "PUBLIC_ROWS",
    "REFUSALS",
    "TABLE",
    "Facts",
    "Recipe",
    "begin",
    "noisy_count",
    "refuse_unsupported",
    "refuse_wrapped",
    "shares_with_count",
    "supported",
    "supports",
    "without_count",
]
