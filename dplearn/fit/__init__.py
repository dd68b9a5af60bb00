"""Fits and releases: one conductor, `execute`, reads a table, plans, charges the ledger and runs a recipe."""

from dplearn.fit.execute import Facts, Recipe, begin
from dplearn.fit.relation import N_IS_PUBLIC, PUBLIC_ROWS, TABLE, without_count
from dplearn.fit.support import refuse_unsupported, refuse_wrapped

__all__ = [
    "N_IS_PUBLIC",
    "PUBLIC_ROWS",
    "TABLE",
    "Facts",
    "Recipe",
    "begin",
    "refuse_unsupported",
    "refuse_wrapped",
    "without_count",
]
