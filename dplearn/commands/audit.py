"""The command `audit`: enumerate the installed code on small universes, and print the exact epsilons."""

import argparse
import sys
from difflib import get_close_matches
from typing import Any

from dplearn.audit.cases import CASES
from dplearn.commands.refusal import Refusal

__all__ = ["add_commands"]

_FEW = 8  # the greatest number of cases listed in a message
_WHAT = """Run the installed code over every outcome of every dataset of a small universe; all cases take
about a quarter of an hour. The exit status is 1 if a claim is broken or the exact distributions are not the
frozen ones."""


def add_commands(commands: Any) -> None:
    """Add the command `audit`."""
    parser = commands.add_parser(
        "audit", help="verify guarantees by running every outcome", description=_WHAT
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (default all): {', '.join(CASES)}")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print one line for each case; return 1 if a claim fails or a distribution is not the frozen one."""
    for name in options.names:
        if name not in CASES:
            raise Refusal(_unknown(name))
    failures = 0
    sys.stdout.write(
        f"{'':<30} {'claimed':>8} {'exact':>8} {'datasets':>9} {'pairs':>7} {'distributions':>5}\n"
    )
    for name in options.names or CASES:
        case = CASES[name]
        report = case.run()
        kept, same = report.keeps(case.claim), case.digest() == case.frozen()["digest"]
        verdict = "kept" if kept else "BROKEN"
        if not same:
            verdict += ", but the distributions differ from the frozen ones"
        sys.stdout.write(
            f"{name:<30} {float(case.claim.epsilon):>8g} {report.epsilon:>8.4f} {report.n_datasets:>9}"
            f" {report.n_pairs:>7} {report.n_distributions:>5}  {verdict}\n"
        )
        sys.stdout.flush()
        failures += not (kept and same)
    return int(failures > 0)


def _unknown(name: str) -> str:
    """Return the message for an unknown name, with similar names of cases, or all names."""
    near = [each for each in CASES if name and each.startswith(name)]
    near += [each for each in CASES if name and name in each and each not in near]
    near = near or get_close_matches(name, CASES)
    if near:
        listed = ", ".join(near[:_FEW]) + (f" or {len(near) - _FEW} others" if len(near) > _FEW else "")
        return f"NAME must be a case, got {name!r}; did you mean {listed}?"
    return f"NAME must be a case, got {name!r}; cases are {', '.join(CASES)}"
