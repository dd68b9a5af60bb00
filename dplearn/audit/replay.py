"""Replay a run on neighbouring data: the arguments of every draw may differ only as the proof allows.

Enumeration reads epsilon off small universes; replay checks, on data of any size, the step that the proof
rests on: that the same draws are made, in the same order, with arguments no further apart than the claimed
sensitivity.
"""

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from dplearn.audit.laws import Run, observe
from dplearn.chance import Draw, ReplayDice
from dplearn.chance.dice import Dice

__all__ = ["RULES", "Rule", "replay_violations"]

Rule = Callable[[tuple[Any, ...], tuple[Any, ...]], bool]


def equal_arguments(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """Allow no difference."""
    return mine == theirs


def any_size(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """Allow any: the draw is uniform within the group that the draw before it selected."""
    return len(mine) == len(theirs)


def groups_within_one(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    """Allow each candidate's cost to differ by 1.

    Some matching of the candidates moves none by more than 1 exactly if the sorted costs move by at most 1
    at every rank: at most c candidates cost <= c in one where they cost <= c + 1 in the other.
    """
    same_rest = mine[0] == theirs[0] and sum(mine[2]) == sum(theirs[2])
    return same_rest and _dominated(mine, theirs) and _dominated(theirs, mine)


def _dominated(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    at_most = dict(zip(*_cumulated(theirs), strict=True))
    bounds = sorted(at_most)
    for cost, number in zip(*_cumulated(mine), strict=True):
        reached = [bound for bound in bounds if bound <= cost + 1]
        if number > (at_most[reached[-1]] if reached else 0):
            return False
    return True


def _cumulated(arguments: tuple[Any, ...]) -> tuple[list[int], list[int]]:
    _, costs, multiplicities = arguments
    pairs = sorted(zip(costs, multiplicities, strict=True))
    return [cost for cost, _ in pairs], list(accumulate(number for _, number in pairs))


def moved_by(sensitivity: int) -> Rule:
    """Return the rule for noise on counts that together move by at most `sensitivity`.

    The noise of a count that is published within low..high lies between low - count and high - count; a
    noisy test of a count asks whether the noise reaches a bar less the count. So ends move as counts do:
    both ends of a draw by the same amount, and all draws' by `sensitivity` in sum.
    """

    def allowed(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
        if mine[0] != theirs[0] or mine[3:] != theirs[3:]:
            return False
        moves = {_moves(a, b) for a, b in zip(mine[1:3], theirs[1:3], strict=True)} - {None}
        # An end that is open in one run only, or ends that move apart, leave two entries.
        return len(moves) <= 1 and all(sum(map(abs, move)) <= sensitivity for move in moves if move is not None)

    return allowed


def _moves(mine: Any, theirs: Any) -> tuple[int, ...] | None:
    """Return how far an end, or an array of ends, has moved; None where it is open in both runs."""
    if mine is None and theirs is None:
        return None
    if mine is None or theirs is None or isinstance(mine, tuple) != isinstance(theirs, tuple):
        return (1 << 64,)
    if isinstance(mine, tuple):
        return tuple(b - a for a, b in zip(mine, theirs, strict=True))
    return (theirs - mine,)


#: What may differ between neighbours for each primitive, unless a caller says otherwise.
RULES: Mapping[str, Rule] = {
    "below": any_size,
    "bernoulli": equal_arguments,
    "power_weighted": groups_within_one,
    "permute_and_flip": groups_within_one,
    "discrete_laplace": moved_by(1),
    "geometric": moved_by(1),
    "discrete_gaussian": equal_arguments,
}


def replay_violations(run: Run, neighbour: Run, dice: Dice, rules: Mapping[str, Rule] = RULES) -> list[str]:
    """Record `run`, replay it on a neighbour, and list what differs beyond the rules.

    Parameters
    ----------
    run, neighbour : callable
        Take dice; the same computation on two neighbouring datasets.
    dice : Dice
        Where the recorded outcomes come from.
    rules : mapping of primitive to rule, default=RULES
        A rule gets the arguments of both draws and says whether the proof allows them.

    Returns
    -------
    list of str
        Empty if the neighbour makes the same draws with allowed arguments.
    """
    first = ReplayDice(dice)
    observe(run, first)
    again = ReplayDice.replaying(first.trace)
    seen = observe(neighbour, again)
    violations = []
    # A draw that was not recorded ends the neighbour's run with an IndexError, before it is in the trace.
    stopped = isinstance(seen, tuple) and seen[:2] == ("raised", "IndexError")
    if stopped or len(first.trace) != len(again.trace):
        violations.append(f"{len(first.trace)} draws against {len(again.trace)} on the neighbour")
    for place, (mine, theirs) in enumerate(zip(first.trace, again.trace, strict=False)):
        if not _allowed(mine, theirs, rules):
            violations.append(f"draw {place}, {mine.primitive}: {mine.arguments} against {theirs.arguments}")
    return violations


def _allowed(mine: Draw, theirs: Draw, rules: Mapping[str, Rule]) -> bool:
    return mine.primitive == theirs.primitive and rules[mine.primitive](mine.arguments, theirs.arguments)
