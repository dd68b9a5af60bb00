"""The exact epsilon of real code, by enumeration of all datasets of a small universe and all paths."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

from dplearn._validation import check_choice, check_count, check_number
from dplearn._writing import brief
from dplearn.audit.distributions import OutputDistribution, exact_distribution, least_exp_epsilon
from dplearn.audit.fits import Fit, Rows, run_on
from dplearn.kernels.exact import at_most_exp, log_bounds
from dplearn.privacy import ApproxDP
from dplearn.privacy.base import decimal

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

        Returns
        -------
        bool

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

    Returns
    -------
    PrivacyReport

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.audit import enumerate_privacy
    >>> report = enumerate_privacy(
    ...     lambda rows, dice: dice.bernoulli(Fraction(1 + 2 * rows[0], 4)), universe=[0, 1], n=1
    ... )
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
    """Return the exact distribution of `fit` on every dataset; parameters as in `enumerate_privacy`.

    The keys are the records' indices in the universe, because equal records, such as 1 and 1.0, may still
    give different outcomes. What makes no draw in a `TableFit` runs once a dataset.
    """
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
