"""Mutants: computations with a deliberate mistake, which the audit must detect."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dplearn.audit.case import AuditCase

__all__ = ["Mutant", "how_caught"]


@dataclass(frozen=True)
class Mutant:
    """A computation with one deliberate mistake.

    Attributes
    ----------
    mistake : str
        Description of the mistake.
    case : AuditCase
        The case of the correct computation.
    fit : callable
        `fit(rows, dice)`, which replaces the computation of the case.
    """

    mistake: str
    case: AuditCase
    fit: Callable[..., Any]


def how_caught(mutant: Mutant) -> list[str]:
    """Return every way in which the audit detects a mutant; empty if it survives.

    Parameters
    ----------
    mutant : Mutant
        It is detected if some pair of neighbours exceeds the claim, replay finds a difference that the rules
        forbid, or the exact output distributions differ from the frozen ones.

    Returns
    -------
    list of str
    """
    case = mutant.case.with_fit(mutant.fit)
    ways = []
    try:
        report = case.run()
        if not report.keeps(case.claim):
            ways.append(f"exceeds the claim: epsilon {report.epsilon:.4g}")
        if case.digest() != mutant.case.frozen()["digest"]:
            ways.append("differs from the frozen distribution")
    except RuntimeError as error:
        ways.append(f"violates replay: {error}")
    ways += [f"violates replay: {found}" for found in case.replay()[:1]]
    return ways
