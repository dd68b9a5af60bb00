"""The command `ledger`: create a privacy ledger, or show its records."""

import argparse
import sys
from pathlib import Path

from dplearn.commands.options import FLAG, PATH, Refusal, add_options, public
from dplearn.privacy import PrivacyLedger

_WHAT = """Show a ledger: its budget, its charges and the remaining budget. With --create, make one; fit then
charges it with --ledger. A ledger contains nothing private, but write access to the file allows charges to be
undone."""


def add_ledger(parser: argparse.ArgumentParser) -> None:
    parser.description = _WHAT
    add_options(
        parser,
        ("file", None, "the ledger's file", PATH),
        ("--create", None, "make it; it must not exist", FLAG),
        ("--epsilon", "E", "with --create: the budget for all fits together"),
        ("--delta", "D", "with --create: the same for delta (default 0)"),
        ("--rho", "R", "with --create, in place of epsilon and delta"),
        ("--protects", "WHAT", "with --create: examples (default), groups, or labels"),
        ("--json", None, "print the records as JSON", FLAG),
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print a ledger, after creating it if --create is given."""
    for name in () if options.create else ("epsilon", "delta", "rho", "protects"):
        if getattr(options, name) is not None:
            raise Refusal(f"--{name} goes with --create: a ledger's budget does not change")
    ledger = _create(options) if options.create else opened(options.file)
    sys.stdout.write(f"{ledger.to_json() if options.json else ledger}\n")


def opened(file: Path) -> PrivacyLedger:
    """Return the ledger in a file; if there is none, tell the command that makes one."""
    if not file.exists():
        make = f"python -m dplearn ledger {file} --create --epsilon E --delta D"
        raise Refusal(f"{file} does not exist; this makes a ledger: {make}")
    return PrivacyLedger.open(file)


def _create(options: argparse.Namespace) -> PrivacyLedger:
    if (options.epsilon is None) == (options.rho is None) or (options.rho and options.delta):
        raise Refusal("--create needs --epsilon, with --delta or without, or --rho alone")
    if options.file.exists():
        raise Refusal(f"{options.file} exists; without --create it is shown")
    protects = options.protects or "examples"
    with public():
        if options.rho is not None:
            return PrivacyLedger.of_rho(options.rho, options.file, protects=protects)
        return PrivacyLedger(options.epsilon, options.delta or 0, options.file, protects=protects)
