"""Replay of runs on neighbouring data: a check that the arguments of draws differ only as the proof allows.

Enumeration computes epsilon on small universes. Replay checks, on data of any size, an assumption of the
proof: that neighbours make the same draws in the same order, with arguments that differ by at most the
claimed sensitivity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dplearn._validation import check_count
from dplearn.audit.distributions import Run, observe
from dplearn.audit.rules import RULES, SELECTIONS, Rule
from dplearn.chance import Draw, ReplayDice, SeededDice
from dplearn.chance.dice import Dice


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
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

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

    Returns
    -------
    ReplayReport

    Notes
    -----
    Replay compares the arguments of draws only. It assumes the proof's statements about their outcomes and
    the processing of the outcomes. Each draw is checked separately: ten releases of one count, each with the
    whole budget, are not a violation; enumeration detects them.

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
