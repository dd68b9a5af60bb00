"""Exact output distributions of computations, and the exact epsilon between two of them."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from math import lcm
from typing import Any

from dplearn.audit.outcomes import freeze, kept_by
from dplearn.chance.dice import Dice
from dplearn.chance.enumerating import EnumeratingDice, enumerate_paths
from dplearn.privacy import LedgerError

Run = Callable[[Dice], Any]

_AGAIN = 7  # one path in this many is run twice


@dataclass(frozen=True)
class OutputDistribution:
    """The exact output distribution of a computation.

    Attributes
    ----------
    masses : dict
        From each frozen outcome to its integer mass; its probability is mass / total.
    total : int
        Common denominator.
    """

    masses: dict[Any, int]
    total: int

    @property
    def left_out(self) -> Fraction:
        """Probability of the paths that were not enumerated; 0 if all draws have finite support."""
        return 1 - Fraction(sum(self.masses.values()), self.total)

    def probability(self, outcome: Any) -> Fraction:
        """Return the probability of a frozen outcome."""
        return Fraction(self.masses.get(outcome, 0), self.total)

    def key(self) -> Any:
        """Return a hashable value, equal for equal distributions."""
        return self.total, frozenset(self.masses.items())


def observe(run: Run, dice: Dice) -> Any:
    """Run once and return the outcome, frozen: the result or exception, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = run(dice)
        except (Exception, LedgerError) as error:
            seen = ("raised", type(error).__qualname__, str(error), *_shown_by(error))
        else:
            seen = freeze(result)  # an error of `freeze` is not an outcome: it is raised to the auditor
    given = tuple((w.category.__qualname__, str(w.message), *_shown_by(w.message)) for w in caught)
    return ("warned", given, seen) if given else seen


def _shown_by(error: Any) -> list[Any]:
    """Return the contents of an exception or a warning besides its text, and its causes and context."""
    plain = len(error.args) == 1 and type(error.args[0]) is str
    shown = [] if plain else [freeze(error.args)]
    kept = vars(error) | {name: held for name, held in kept_by(error).items() if held is not None}
    shown += [freeze(kept)] if kept else []
    causes = [cause for cause in (error.__cause__, error.__context__) if cause is not None]
    return shown + [(type(cause).__qualname__, str(cause), *_shown_by(cause)) for cause in causes]


def exact_distribution(
    run: Run, tail_bits: int = 40, *, turn: int = 0, again: Run | None = None
) -> OutputDistribution:
    """Enumerate all paths of a computation and return its exact output distribution.

    Parameters
    ----------
    run : callable
        Takes dice, uses no other randomness, and returns the published values.
    tail_bits : int, default=40
        Precision of draws with infinite support.
    turn : int, default=0
        Every seventh path is run twice, starting with the first if `turn` is 0. A caller that computes many
        distributions increments it, so that all paths are covered.
    again : callable, optional
        The same computation, for the second runs; `run` by default.

    Returns
    -------
    OutputDistribution

    Raises
    ------
    RuntimeError
        If the same path gives two different outcomes: some randomness does not come from the dice. If some
        state passes from one path to the next.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.audit import exact_distribution
    >>> exact_distribution(lambda dice: dice.bernoulli(Fraction(1, 4))).masses
    {0: 3, 1: 1}
    """
    probabilities: dict[Any, Fraction] = {}
    paths, second = count(turn), run if again is None else again

    def watched(dice: EnumeratingDice) -> Any:
        seen = observe(run, dice)
        if not next(paths) % _AGAIN and seen != observe(second, EnumeratingDice(dice.branches, tail_bits)):
            raise RuntimeError(
                "the same path gave two different outcomes: some randomness does not come from the dice"
            )
        return seen

    for seen, probability in enumerate_paths(watched, tail_bits):
        probabilities[seen] = probabilities.get(seen, Fraction(0)) + probability
    total = lcm(*(p.denominator for p in probabilities.values()))
    masses = {seen: p.numerator * (total // p.denominator) for seen, p in probabilities.items()}
    if sum(masses.values()) > total:
        raise RuntimeError(
            "probabilities sum to more than 1: some randomness does not come from the dice, or some state"
            " passes from one path to the next"
        )
    return OutputDistribution(masses, total)


def least_exp_epsilon(
    distribution: OutputDistribution, other: OutputDistribution, delta: Fraction = Fraction(0)
) -> tuple[Fraction | None, tuple[Any, ...]]:
    """Return the least exp(epsilon) for which P[E] <= exp(epsilon) P'[E] + delta holds for every event E.

    Parameters
    ----------
    distribution, other : OutputDistribution
        P and P'.
    delta : Fraction, default=0
        The probability left out of `distribution` is subtracted from it.

    Returns
    -------
    exp_epsilon : Fraction or None
        At least 1; None if no epsilon is enough.
    event : tuple
        The outcomes of an event that attains it; empty if exp_epsilon is 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.audit import exact_distribution, least_exp_epsilon
    >>> fair = exact_distribution(lambda dice: dice.bernoulli(Fraction(1, 2)))
    >>> loaded = exact_distribution(lambda dice: dice.bernoulli(Fraction(3, 4)))
    >>> least_exp_epsilon(fair, loaded)
    (Fraction(2, 1), (0,))
    >>> least_exp_epsilon(fair, loaded, delta=Fraction(1, 8))
    (Fraction(3, 2), (0,))
    """
    slack = delta - distribution.left_out
    if slack < 0:
        return None, ()
    # P[E] <= z P'[E] + slack must hold for all E. For every z the worst event E consists of the outcomes
    # whose ratio of masses exceeds z; so the least z is the greatest (P[E] - slack) / P'[E] over the events
    # below.
    worst, worst_event = Fraction(1), tuple[Any, ...]()
    mine, theirs, event = 0, 0, []
    for seen, mass, below in sorted(_paired(distribution, other), key=_falling_ratio):
        mine, theirs = mine + mass, theirs + below
        event.append(seen)
        excess = Fraction(mine, distribution.total) - slack
        if excess > 0 and not theirs:
            return None, tuple(event)
        if excess > 0 and excess * other.total / theirs > worst:
            worst, worst_event = excess * other.total / theirs, tuple(event)
    return worst, worst_event


def _paired(distribution: OutputDistribution, other: OutputDistribution) -> list[tuple[Any, int, int]]:
    return [(seen, mass, other.masses.get(seen, 0)) for seen, mass in distribution.masses.items()]


def _falling_ratio(row: tuple[Any, int, int]) -> tuple[bool, Fraction]:
    """Sort key: outcomes that are impossible under the other distribution first, then by decreasing ratio."""
    _, mass, below = row
    return (True, -Fraction(mass, below)) if below else (False, Fraction(0))
