"""Fits and releases: one conductor, `execute`, reads a table, plans, charges the ledger and runs a recipe."""
