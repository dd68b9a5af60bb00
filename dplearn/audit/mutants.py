"""Deliberate mistakes: a verification that does not notice them verifies nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dplearn.audit.case import AuditCase

__all__ = ["Mutant", "how_caught"]


@dataclass(frozen=True)
class Mutant:
    """A computation with one mistake put in.

    Attributes
    ----------
    mistake : str
        What is wrong with it, in words.
    case : AuditCase
        What it is a mutant of.
    fit : callable
        `fit(rows, dice)`, to be run in place of the case's own; same form.
    """

    mistake: str
    case: AuditCase
    fit: Callable[..., Any]


def how_caught(mutant: Mutant) -> list[str]:
    """Return every way in which verification notices a mutant; empty if it survives.

    Parameters
    ----------
    mutant : Mutant
        Caught means: some pair of neighbours exceeds the claim, replay finds a difference that the proof
        does not allow, or the exact distributions differ from the frozen ones.
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
