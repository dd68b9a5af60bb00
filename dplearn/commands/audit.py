"""The command `audit`: enumerate the installed code on small universes, and print the exact epsilons; or with
`--trace` fit each learner of several labels once, and print lower bounds on epsilon.
"""

import argparse
import sys
from collections.abc import Collection
from difflib import get_close_matches

from dplearn.audit.traced import CONTROL, TRACED
from dplearn.commands.options import FLAG, Refusal, add_options
from dplearn.display.described import names_of_cases

_FEW = 8  # the greatest number of cases listed in a message
_WHAT = """Run the installed code over every outcome of every dataset of a small universe; all cases take
about a quarter of an hour. The exit status is 1 if a claim is broken or the exact distributions are not the
frozen ones. With --trace: fit each learner of several labels once to labels that identify records, and bound
its epsilon from below; the last line is a control that must be refuted, and the exit status is 1 if it is
not, or if a claim is."""


def add_audit(parser: argparse.ArgumentParser) -> None:
    parser.description = _WHAT
    trace = f"trace learners of several labels instead; NAME is then one of {', '.join(TRACED)}"
    add_options(
        parser,
        ("names", "NAME", f"which (default all): {', '.join(names_of_cases())}", {"nargs": "*"}),
        ("--trace", None, trace, FLAG),
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print one line for each case or learner; return 1 if one fails."""
    known: Collection[str] = TRACED if options.trace else names_of_cases()
    for name in options.names:
        if name not in known:
            raise Refusal(_unknown(name, "learner" if options.trace else "case", list(known)))
    return _traced(options.names) if options.trace else _enumerated(options.names)


def _traced(names: list[str]) -> int:
    """Print one line for each learner; return 1 if one is refuted, or the control is not."""
    failures = 0
    sys.stdout.write(f"{'':<52} {'claimed':>8} {'at least':>8} {'right guesses':>14} {'labels':>7}\n")
    for learner in [*(TRACED[name] for name in names or TRACED), CONTROL]:
        report = learner.trace()
        is_control = learner is CONTROL
        verdict = "refuted" if report.refuted else "not refuted"
        if is_control:
            verdict += ", as it must be" if report.refuted else ", but it must be: these traces show nothing"
        sys.stdout.write(
            f"{learner.what:<52} {float(learner.claim.epsilon):>8g} {report.epsilon:>8.4f}"
            f" {f'{report.n_right} of {report.n_guesses}':>14} {report.k:>7}  {verdict}\n"
        )
        sys.stdout.flush()
        failures += report.refuted != is_control
    return int(failures > 0)


def _enumerated(names: list[str]) -> int:
    """Print one line for each case; return 1 if a claim fails or a distribution is not the frozen one."""
    from dplearn.audit.cases import CASES  # seconds of imports, which no other command needs

    failures = 0
    sys.stdout.write(
        f"{'':<30} {'claimed':>8} {'exact':>8} {'datasets':>9} {'pairs':>7} {'distributions':>5}\n"
    )
    for name in names or CASES:
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


def _unknown(name: str, kind: str, known: list[str]) -> str:
    """Return the message for an unknown name, with similar known names, or all of them."""
    near = [each for each in known if name and each.startswith(name)]
    near += [each for each in known if name and name in each and each not in near]
    near = near or get_close_matches(name, known)
    if near:
        listed = ", ".join(near[:_FEW]) + (f" or {len(near) - _FEW} others" if len(near) > _FEW else "")
        return f"NAME must be a {kind}, got {name!r}; did you mean {listed}?"
    return f"NAME must be a {kind}, got {name!r}; {kind}s are {', '.join(known)}"
