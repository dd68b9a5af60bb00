"""Fits and releases: one conductor, `execute`, reads a table, plans, charges the ledger and runs a recipe."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
