"""The exact epsilon of real code: output distributions over all paths, for all data of a small universe."""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, count, product
from math import lcm
from typing import Any

from dplearn._validation import check_choice, check_count, check_number
from dplearn._writing import brief
from dplearn.audit.fits import Fit, Rows, run_on
from dplearn.audit.outcomes import freeze, kept_by
from dplearn.chance.dice import Dice
from dplearn.chance.enumerating import EnumeratingDice, enumerate_paths
from dplearn.kernels import at_most_exp, log_bounds
from dplearn.privacy import ApproxDP, LedgerError
from dplearn.privacy.guarantees import decimal

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
    turn : int, default=0
        Every seventh path is run twice, starting with the first if `turn` is 0, to find randomness that does
        not come from the dice; a caller of many distributions increments it.
    again : callable, optional
        The same computation, for the second runs; `run` by default.

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


Places = tuple[int, ...]  # of records in the universe


@dataclass(frozen=True, repr=False)
class PrivacyReport:
    """The result of `enumerate_privacy`: the exact epsilon, and the pair of neighbours where it is reached.

    Attributes
    ----------
    exp_epsilon : Fraction or None
        exp of the exact epsilon at `delta`; None if no epsilon is enough.
    delta : Fraction
        The delta at which epsilon is computed.
    neighbors : {"replace_one", "add_remove"}
        The relation of neighbours.
    pair : tuple of two datasets
        Neighbours that attain the exact epsilon.
    event : tuple
        Frozen outcomes of an event that attains it.
    n_datasets, n_pairs, n_distributions, n_outcomes : int
        Numbers of datasets, of unordered pairs of neighbours, of distinct output distributions and of
        distinct outcomes.
    """

    exp_epsilon: Fraction | None
    delta: Fraction
    neighbors: str
    pair: tuple[Rows, Rows]
    event: tuple[Any, ...]
    n_datasets: int
    n_pairs: int
    n_distributions: int
    n_outcomes: int

    @property
    def epsilon(self) -> float:
        """The exact epsilon, rounded up to a float; inf if no epsilon is enough."""
        if self.exp_epsilon is None:
            return math.inf
        high = log_bounds(self.exp_epsilon)[1]
        return float(high) if Fraction(float(high)) >= high else math.nextafter(float(high), math.inf)

    def __repr__(self) -> str:
        first, last = map(brief, self.pair)
        epsilon = "inf" if self.exp_epsilon is None else decimal(Fraction(self.epsilon))  # rounded up
        return (
            f"PrivacyReport(epsilon {epsilon} at delta {float(self.delta):.6g}, {self.neighbors}, on"
            f" {first} and {last}, in {brief(self.event)};"
            f" {self.n_datasets} datasets, {self.n_pairs} pairs, {self.n_distributions} distributions,"
            f" {self.n_outcomes} outcomes)"
        )

    def keeps(self, claim: ApproxDP) -> bool:
        """Return, without rounding, whether all pairs satisfy the claim.

        Parameters
        ----------
        claim : ApproxDP
            Its `delta` and `neighbors` must equal those of the report.

        Raises
        ------
        ValueError
            If they differ.
        """
        if self.delta != claim.delta:
            raise ValueError(f"the report is for delta {self.delta}, the claim for {claim.delta}")
        if self.neighbors != claim.neighbors:
            raise ValueError(f"the report is for {self.neighbors}, the claim for {claim.neighbors}")
        return self.exp_epsilon is not None and at_most_exp(self.exp_epsilon, claim.epsilon)

    def tightness(self, claim: ApproxDP) -> float:
        """Return the ratio of the exact epsilon to the claimed one."""
        return self.epsilon / float(claim.epsilon)


def enumerate_privacy(
    fit: Fit,
    universe: Sequence[Any],
    n: int,
    *,
    delta: Any = 0,
    neighbors: str = "replace_one",
    ordered: bool = True,
    tail_bits: int = 40,
) -> PrivacyReport:
    """Enumerate `fit` on every dataset and return its exact worst-case epsilon.

    Parameters
    ----------
    fit : callable
        `fit(rows, dice)` takes a tuple of n records and dice, and returns all published values. Exceptions
        and warnings count as published.
    universe : sequence
        The possible records.
    n : int
        Number of records.
    delta : number, default=0
        Delta at which epsilon is computed.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        With "add_remove", datasets of n records are compared with those of n - 1.
    ordered : bool, default=True
        False runs each multiset once, in sorted order: only for a `fit` that does not depend on the order.
    tail_bits : int, default=40
        Precision of draws with infinite support; the probability that is left out is subtracted from delta.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.audit import enumerate_privacy
    >>> coin = lambda rows, dice: dice.bernoulli(Fraction(1 + 2 * rows[0], 4))
    >>> report = enumerate_privacy(coin, universe=[0, 1], n=1)
    >>> report.exp_epsilon, report.n_distributions
    (Fraction(3, 1), 2)
    """
    n = check_count("n", n, low=1)
    delta = check_number("delta", delta, low=0, below=1)
    check_choice("neighbors", neighbors, ("replace_one", "add_remove"))
    sizes = (n,) if neighbors == "replace_one" else (n, n - 1)
    distributions: dict[Places, OutputDistribution] = {}
    for size in sizes:
        distributions |= enumerate_distributions(fit, universe, size, ordered=ordered, tail_bits=tail_bits)
    return report_on(distributions, universe, n, delta=delta, neighbors=neighbors, ordered=ordered)


def report_on(
    distributions: dict[Places, OutputDistribution],
    universe: Sequence[Any],
    n: int,
    *,
    delta: Fraction = Fraction(0),
    neighbors: str = "replace_one",
    ordered: bool = True,
) -> PrivacyReport:
    """Return the report on the output of `enumerate_distributions`; parameters as in `enumerate_privacy`."""
    pairs = [
        (rows, neighbour)
        for rows in distributions
        if len(rows) == n
        for neighbour in (
            _replaced(rows, len(universe), ordered) if neighbors == "replace_one" else _removed(rows)
        )
    ]
    if not pairs:
        raise ValueError("universe must have at least two records, so that neighbours exist")
    return _worst_pair(distributions, pairs, delta, universe, neighbors)


def enumerate_distributions(
    fit: Fit, universe: Sequence[Any], n: int, *, ordered: bool = True, tail_bits: int = 40
) -> dict[Places, OutputDistribution]:
    """Return the exact distribution of `fit` on every dataset, by the records' indices in the universe."""
    # Equal records, such as 1 and 1.0, may still give different outcomes.
    places = range(len(universe))
    datasets = product(places, repeat=n) if ordered else combinations_with_replacement(places, n)
    cached: dict[Any, Any] = {}  # each outcome kept once, however many distributions have it
    distributions = {}
    for turn, chosen in enumerate(datasets):
        rows = tuple(universe[place] for place in chosen)
        distribution = distribution_on(fit, rows, tail_bits, turn=turn)
        distributions[chosen] = OutputDistribution(
            {cached.setdefault(seen, seen): mass for seen, mass in distribution.masses.items()},
            distribution.total,
        )
    return distributions


def distribution_on(fit: Fit, rows: Rows, tail_bits: int = 40, *, turn: int = 0) -> OutputDistribution:
    """Return the exact distribution of `fit` on one dataset."""
    # The second run of a path reads the table again: randomness from another source before the draws, or
    # state that one path leaves for the next, then gives a different outcome.
    return exact_distribution(run_on(fit, rows), tail_bits, turn=turn, again=run_on(fit, rows))


def _worst_pair(
    distributions: dict[Places, OutputDistribution],
    pairs: list[tuple[Places, Places]],
    delta: Fraction,
    universe: Sequence[Any],
    neighbors: str,
) -> PrivacyReport:
    names: dict[Any, int] = {}
    name_of = {
        rows: names.setdefault(distribution.key(), len(names)) for rows, distribution in distributions.items()
    }
    # Two pairs with the same two distributions have the same epsilon: compare each pair of distributions
    # once.
    examples: dict[tuple[int, int], tuple[Places, Places]] = {}
    for rows, neighbour in pairs:
        examples.setdefault((name_of[rows], name_of[neighbour]), (rows, neighbour))
        examples.setdefault((name_of[neighbour], name_of[rows]), (neighbour, rows))
    worst: Fraction | None = Fraction(1)
    pair, event = pairs[0], tuple[Any, ...]()
    for rows, neighbour in examples.values():
        found, attained = least_exp_epsilon(distributions[rows], distributions[neighbour], delta)
        if found is None or (worst is not None and found > worst):
            worst, pair, event = found, (rows, neighbour), attained
            if found is None:
                break
    return PrivacyReport(
        exp_epsilon=worst,
        delta=delta,
        neighbors=neighbors,
        pair=(tuple(universe[i] for i in pair[0]), tuple(universe[i] for i in pair[1])),
        event=event,
        n_datasets=len(distributions),
        n_pairs=len(pairs),
        n_distributions=len(names),
        n_outcomes=len({seen for distribution in distributions.values() for seen in distribution.masses}),
    )


def _replaced(rows: Places, size: int, ordered: bool) -> Iterator[Places]:
    """Yield the datasets with one record replaced by a later one of the universe: each pair comes once."""
    for i, place in enumerate(rows):
        if not ordered and i and rows[i - 1] == place:
            continue
        for other in range(place + 1, size):
            replaced = (*rows[:i], other, *rows[i + 1 :])
            yield replaced if ordered else tuple(sorted(replaced))


def _removed(rows: Places) -> Iterator[Places]:
    """Yield the datasets with one record removed."""
    for i in range(len(rows)):
        yield (*rows[:i], *rows[i + 1 :])
