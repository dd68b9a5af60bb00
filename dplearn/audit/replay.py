"""Replay of runs on neighbouring data: a check that the arguments of draws differ only as the proof allows.

It checks on data of any size what a proof assumes: that neighbours make the same draws in the same order,
with arguments that differ by at most the claimed sensitivity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any

from dplearn._validation import check_count
from dplearn.audit.enumeration import Run, observe
from dplearn.chance import Draw, ReplayDice, SeededDice
from dplearn.chance.dice import Dice
from dplearn.kernels import at_most_exp
from dplearn.privacy import ApproxDP

Rule = Callable[[tuple[Any, ...], tuple[Any, ...]], bool]

#: Primitives that select a group; a uniform draw from the selected group, of any size, may follow.
SELECTIONS = ("power_weighted", "permute_and_flip")


def equal_arguments(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    return mine == theirs


def groups_within(sensitivity: int) -> Rule:
    """Return the rule for a selection in which each candidate's cost moves by at most `sensitivity`."""
    # Such a matching of the candidates exists exactly if the sorted costs differ by at most s at every rank:
    # for every c, both ways, the candidates with cost <= c are at most those with cost <= c + s on the
    # neighbour.
    return partial(_matched, sensitivity)


def _matched(by: int, mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    same_rest = mine[0] == theirs[0] and sum(mine[2]) == sum(theirs[2])
    return same_rest and _dominated(by, mine, theirs) and _dominated(by, theirs, mine)


def _dominated(by: int, mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    at_most = dict(zip(*_cumulated(theirs), strict=True))
    bounds = sorted(at_most)
    for cost, number in zip(*_cumulated(mine), strict=True):
        reached = [bound for bound in bounds if bound <= cost + by]
        if number > (at_most[reached[-1]] if reached else 0):
            return False
    return True


def _cumulated(arguments: tuple[Any, ...]) -> tuple[list[int], list[int]]:
    _, costs, multiplicities = arguments
    pairs = sorted(zip(costs, multiplicities, strict=True))
    return [cost for cost, _ in pairs], list(accumulate(number for _, number in pairs))


def moved_by(sensitivity: int) -> Rule:
    """Return the rule for noise on counts that together move by at most `sensitivity`.

    The noise of a count that is published within low..high lies between low - count and high - count. So both
    ends of a draw move by the negative of the count's difference, and those of all draws by at most
    `sensitivity` in sum.

    Parameters
    ----------
    sensitivity : int
        The greatest change of all counts together, in the L1 norm, at least 0.

    Returns
    -------
    callable
        A value of the mapping `rules` of `replay_privacy`.

    Examples
    --------
    >>> from dplearn.audit import moved_by
    >>> rule = moved_by(1)
    >>> rule((0.5, -3, 7), (0.5, -4, 6)), rule((0.5, -3, 7), (0.5, -5, 5))
    (True, False)
    """
    return partial(_ends_moved, lambda move: sum(map(abs, move)) <= sensitivity)


def each_moved_by(sensitivity: int) -> Rule:
    """Return the rule for draws made together, in which each end moves by at most `sensitivity`.

    Parameters
    ----------
    sensitivity : int
        The greatest change of an end, at least 0.

    Returns
    -------
    callable
        A value of the mapping `rules` of `replay_privacy`.

    Examples
    --------
    >>> from dplearn.audit import each_moved_by
    >>> rule = each_moved_by(1)
    >>> rule((0.5, -3, 7), (0.5, -4, 6)), rule((0.5, -3, 7), (0.5, -5, 5))
    (True, False)
    """
    return partial(_ends_moved, lambda move: max(map(abs, move), default=0) <= sensitivity)


def coin_within(privacy: ApproxDP) -> Rule:
    """Return the rule for a coin with a private bias, whose privacy cost is `privacy`.

    Parameters
    ----------
    privacy : ApproxDP
        The guarantee of the coin: of both outcomes, for both orders of the neighbours.

    Returns
    -------
    callable
        A value of the mapping `rules` of `replay_privacy`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.audit import coin_within
    >>> from dplearn.privacy import ApproxDP
    >>> rule = coin_within(ApproxDP(1))
    >>> rule((Fraction(1, 2),), (Fraction(3, 4),)), rule((Fraction(1, 2),), (Fraction(9, 10),))
    (True, False)
    """

    def allowed(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
        p, q = mine[0], theirs[0]
        return all(_within(a, b, privacy) for a, b in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)))

    return allowed


def _within(p: Fraction, q: Fraction, privacy: ApproxDP) -> bool:
    """Return whether p <= exp(epsilon) q + delta."""
    excess = p - privacy.delta
    return excess <= 0 or (q > 0 and at_most_exp(excess / q, privacy.epsilon))


def _ends_moved(
    allowed: Callable[[tuple[int, ...]], bool], mine: tuple[Any, ...], theirs: tuple[Any, ...]
) -> bool:
    if mine[0] != theirs[0] or mine[3:] != theirs[3:]:
        return False
    # An end that is infinite in one run only, or two ends that move differently, give two entries.
    moves = {_moves(a, b) for a, b in zip(mine[1:3], theirs[1:3], strict=True)} - {None}
    # A scalar end applies to each of several draws.
    draws = (mine[3] if len(mine) > 3 else None) or 1
    spread = [move * draws if len(move) == 1 else move for move in moves if move is not None]
    return len(set(spread)) <= 1 and all(map(allowed, spread))


def _moves(mine: Any, theirs: Any) -> tuple[int, ...] | None:
    """Return the difference of an end, or of an array of ends; None if it is infinite in both runs."""
    if mine is None and theirs is None:
        return None
    if mine is None or theirs is None or isinstance(mine, tuple) != isinstance(theirs, tuple):
        return (1 << 64,)
    if isinstance(mine, tuple):
        return tuple(b - a for a, b in zip(mine, theirs, strict=True))
    return (theirs - mine,)


#: The default rule of each primitive.
RULES: Mapping[str, Rule] = {
    "below": equal_arguments,
    "bernoulli": equal_arguments,
    "power_weighted": groups_within(1),
    "permute_and_flip": groups_within(1),
    "discrete_laplace": moved_by(1),
    "geometric": moved_by(1),
    "discrete_gaussian": equal_arguments,
}


def replay_violations(run: Run, neighbour: Run, dice: Dice, rules: Mapping[str, Rule] = RULES) -> list[str]:
    """Record `run`, replay it on a neighbour, and list the differences that the rules forbid.

    Parameters
    ----------
    run, neighbour : callable
        Take dice; the same computation on two neighbouring datasets.
    dice : Dice
        Source of the recorded outcomes.
    rules : mapping of primitive to rule, default=RULES
        A rule takes the arguments of both draws and returns whether the proof allows the difference.

    Returns
    -------
    list of str
        Empty if the neighbour makes the same draws with allowed arguments.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.audit import RULES, replay_violations
    >>> from dplearn.chance import SeededDice
    >>> count = lambda n: lambda dice: n + dice.discrete_laplace(Fraction(1, 2), -n, 9 - n)
    >>> replay_violations(count(2), count(3), SeededDice(0), RULES)
    []
    >>> len(replay_violations(count(2), count(7), SeededDice(0), RULES))
    1
    """
    first = ReplayDice(dice)
    observe(run, first)
    again = ReplayDice.replaying(first.trace)
    observe(neighbour, again)
    violations = []
    if again.refused or len(first.trace) != len(again.trace):
        more = " and more" if again.refused else ""
        violations.append(f"{len(first.trace)} draws against {len(again.trace)}{more} on the neighbour")
    pairs = list(zip(first.trace, again.trace, strict=False))
    for place, (mine, theirs) in enumerate(pairs):
        before = pairs[place - 1] if place else None
        if not _allowed(mine, theirs, rules) and not _within_selected(before, (mine, theirs)):
            violations.append(f"draw {place}, {mine.primitive}: {mine.arguments} against {theirs.arguments}")
    return violations


def _allowed(mine: Draw, theirs: Draw, rules: Mapping[str, Rule]) -> bool:
    return mine.primitive == theirs.primitive and rules[mine.primitive](mine.arguments, theirs.arguments)


def _within_selected(before: tuple[Draw, Draw] | None, pair: tuple[Draw, Draw]) -> bool:
    """Return whether both draw uniformly from the groups that they selected just before, of any sizes."""
    return before is not None and all(
        selection.primitive in SELECTIONS
        and draw.primitive == "below"
        and draw.arguments == (selection.arguments[2][selection.outcome],)
        for selection, draw in zip(before, pair, strict=True)
    )


@dataclass(frozen=True)
class ReplayReport:
    """The result of `replay_privacy`.

    Attributes
    ----------
    violations : tuple of str
        Differences that the rules forbid. The texts contain the arguments of both draws, which depend on the
        records: use replay with public or synthetic data only.
    n_draws : int
        Number of draws recorded in all runs. If it is 0, replay has checked nothing.
    n_runs : int
        Number of runs recorded and replayed.
    """

    violations: tuple[str, ...]
    n_draws: int
    n_runs: int

    @property
    def kept(self) -> bool:
        """Whether there are no violations."""
        return not self.violations


def replay_privacy(
    fit: Callable[[Any, Any], Any],
    rows: Any,
    neighbour: Any,
    *,
    rules: Mapping[str, Rule] = RULES,
    runs: int = 3,
    dice: Dice | None = None,
) -> ReplayReport:
    """Record runs of `fit`, replay each on a neighbour, and report the differences that the rules forbid.

    Parameters
    ----------
    fit : callable
        `fit(rows, dice)`, as for `enumerate_privacy`; for an estimator, with rows (X, y),
        `lambda rows, dice: fitted_with(estimator, *rows, dice=dice)`.
    rows, neighbour : object
        Two neighbouring datasets of any size, passed to `fit` unchanged. Outcomes are recorded on `rows`, so
        replay the pair in both directions.
    rules : mapping of primitive to rule, default=RULES
        The allowed differences for each primitive. A rule takes the arguments of both draws.
    runs : int, default=3
        Number of runs. Later draws may depend on earlier outcomes, so more runs cover more draws.
    dice : Dice, optional
        Source of chance for all runs; run i has `SeededDice(i)` unless given.

    Notes
    -----
    It assumes the proof's statements about outcomes and their processing. Each draw is checked separately:
    ten releases of one count, each with the whole budget, are not a violation; enumeration detects them.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.audit import replay_privacy
    >>> ratio = Fraction(1, 2)
    >>> def count(rows, dice):  # published within 0..9; the noise lies within the ends less the count
    ...     return sum(rows) + dice.discrete_laplace(ratio, -sum(rows), 9 - sum(rows))
    >>> replay_privacy(count, (0, 1, 1), (1, 1, 1)).kept
    True
    >>> replay_privacy(lambda rows, dice: 2 * count(rows, dice), (0, 1, 1), (1, 1, 1)).n_draws
    3
    >>> replay_privacy(count, (0, 1, 1), (5, 1, 1)).kept  # not a count, so rows move it by more than 1
    False
    """
    runs = check_count("runs", runs, low=1)
    recorded = [ReplayDice(SeededDice(run) if dice is None else dice) for run in range(runs)]
    violations = [
        f"run {run}: {found}"
        for run, source in enumerate(recorded)
        for found in replay_violations(partial(fit, rows), partial(fit, neighbour), source, rules)
    ]
    return ReplayReport(tuple(violations), sum(len(source.trace) for source in recorded), runs)
