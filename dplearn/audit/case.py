"""Audit cases: a computation, a universe of records, its claim and evidence; planted mistakes, too."""

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from itertools import cycle, islice, product
from typing import Any, NamedTuple

from dplearn._validation import check_count
from dplearn.audit.enumeration import (
    OutputDistribution,
    Places,
    PrivacyReport,
    enumerate_distributions,
    report_on,
)
from dplearn.audit.fits import Fit, Rows, StagedFit, WholeFit, refitted
from dplearn.audit.replay import RULES, Rule, replay_privacy
from dplearn.chance import SeededDice
from dplearn.chance.dice import Dice
from dplearn.privacy import ApproxDP


class Required(NamedTuple):
    """The evidence that a case must give at least; with less, its universe does not exercise the code."""

    n_distributions: int = 1  # distinct output distributions
    # exact epsilon over the claim; below 1 if the universe lacks the worst data, or the bound is not
    # attained; the module of the case explains which
    tightness: float = 0.0


NOTHING_REQUIRED = Required()


@dataclass(frozen=True)
class AuditCase:
    """A computation, a universe of records to enumerate, and the claimed guarantee."""

    name: str  # the NAME in `python -m dplearn audit NAME`
    fit: Fit  # `fit(rows, dice)`: a short text that identifies the outcome, and all published values
    universe: Sequence[Hashable]  # the possible records
    n: int  # records; if the claim's neighbours are "add_remove", of the greater of two neighbours
    claim: ApproxDP
    ordered: bool = True  # whether the output distribution may depend on the order of the records
    # infinite supports are enumerated up to 2**-tail_bits; the claim's delta covers the rest
    tail_bits: int = 40
    # of a replay; None if the sequence of draws itself may depend on private data
    rules: Mapping[str, Rule] | None = field(default_factory=lambda: RULES)
    verifies: tuple[str, ...] = ()  # classes and functions that run completely, from data to published values
    # classes that contain the computation, such as learners that use a mechanism
    part_of: tuple[str, ...] = ()
    required: Required = NOTHING_REQUIRED

    def with_fit(self, fit: Fit) -> "AuditCase":
        """Return the same case for another computation."""
        return replace(self, fit=fit)

    @cached_property
    def distributions(self) -> dict[Places, OutputDistribution]:
        """The exact output distribution of every dataset; keys are the records' indices in the universe."""
        found: dict[Places, OutputDistribution] = {}
        for size in self.sizes:
            found |= enumerate_distributions(
                self.fit, self.universe, size, ordered=self.ordered, tail_bits=self.tail_bits
            )
        return found

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of records of the datasets."""
        return (self.n,) if self.claim.neighbors == "replace_one" else (self.n, self.n - 1)

    def run(self) -> PrivacyReport:
        """Return the exact worst epsilon over all pairs of neighbours."""
        return report_on(
            self.distributions,
            self.universe,
            self.n,
            delta=self.claim.delta,
            neighbors=self.claim.neighbors,
            ordered=self.ordered,
        )

    def digest(self) -> str:
        """Return a hash of all distributions: every dataset, every outcome and its probability."""
        lines = sorted(
            f"{rows!r} {label_of(seen)} {mass}/{distribution.total}"
            for rows, distribution in self.distributions.items()
            for seen, mass in distribution.masses.items()
        )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def replay(self, seeds: int = 3) -> list[str]:
        """Replay recorded runs on neighbours in every position; return the forbidden differences."""
        found: list[str] = []
        if self.rules is None:
            return found
        for first, last in self._neighbors():
            for seed in range(seeds):
                report = replay_privacy(
                    self.fit, first, last, rules=self.rules, runs=1, dice=SeededDice(seed, self.name)
                )
                found += report.violations if report.n_draws else ["no draw was recorded"]
        return found

    def _neighbors(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """Yield neighbours that differ in each place: in the record there, or in whether there is one."""
        records = cycle(self.universe)
        for place, record in product(range(self.n), self.universe):
            first = tuple(islice(records, self.n))
            next(records)  # the next dataset starts with another record
            if self.claim.neighbors == "replace_one":
                yield first, (*first[:place], record, *first[place + 1 :])
            else:
                removed = (*first[:place], *first[place + 1 :])
                yield first, removed
                yield removed, first

    def frozen(self) -> dict[str, Any]:
        """Return the frozen report: digest, epsilon, numbers of distributions and of pairs."""
        text = resources.files("dplearn.audit").joinpath("frozen.json").read_text(encoding="utf-8")
        return json.loads(text)[self.name]


def fit_case(
    name: str,
    model: Any,
    table: Callable[[Rows], tuple[Any, Any]],
    shown: Callable[[Any], tuple[str, Any]],
    universe: Sequence[Hashable],
    n: int,
    *,
    claim: ApproxDP | None = None,  # by default the model's epsilon
    staged: bool = True,
    constants: Mapping[str, Any] | None = None,  # of the class, which are others in a case
    public: Mapping[str, Any] | None = None,
    **options: Any,
) -> AuditCase:
    """Return a case of the fit of a model; unless it is staged, the whole fit runs on each path."""
    whole = WholeFit(refitted(model, **constants or {}), table, shown, public or {})
    fit = StagedFit(whole) if staged else whole
    claim = ApproxDP(model.epsilon) if claim is None else claim
    return AuditCase(name, fit, universe, n, claim, **{"verifies": (type(model).__name__,)} | options)


def label_of(seen: Any) -> str:
    """Return the text that identifies an outcome: the first part of a result, or an error."""
    # Such a text has rounded numbers, since the last bits of a logarithm depend on the processor.
    if isinstance(seen, tuple) and seen[0] == "warned":
        _, given, result = seen
        return f"{given!r} {label_of(result)}"
    named = isinstance(seen, tuple) and seen[0] == "tuple" and isinstance(seen[1][0], str)
    return seen[1][0] if named else repr(seen)


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


class FaultyDice:
    """Dice that delegate draws to other dice, and raise an error at one of them.

    Parameters
    ----------
    dice : Dice or None
        Source of the outcomes; None if every draw fails.
    at : int, optional
        Index of the draw that fails, from 0; by default no draw fails.
    error : BaseException, default=KeyboardInterrupt()
        The error that is raised instead of returning the outcome.
    drawn : bool, default=False
        Whether the outcome is drawn, and discarded, before the error is raised.

    Attributes
    ----------
    n_draws : int
        Number of outcomes drawn so far.

    Examples
    --------
    >>> from dplearn.audit import FaultyDice
    >>> from dplearn.chance import EnumeratingDice
    >>> dice = FaultyDice(EnumeratingDice(), at=1, error=OSError("no entropy"))
    >>> dice.below(6)
    0
    >>> dice.below(6)
    Traceback (most recent call last):
        ...
    OSError: no entropy
    >>> dice.n_draws
    1
    """

    def __init__(
        self,
        dice: Dice | None,
        at: int | None = None,
        error: BaseException | None = None,
        *,
        drawn: bool = False,
    ):
        self._dice = dice
        self._at = None if at is None else check_count("at", at)
        self._error = KeyboardInterrupt() if error is None else error
        self._drawn = drawn
        self.n_draws = 0

    def __getattr__(self, primitive: str) -> Any:
        if primitive.startswith("_"):
            raise AttributeError(primitive)

        def draw(*arguments: Any, **named: Any) -> Any:
            failing = self.n_draws == self._at
            if failing and not self._drawn:
                raise self._error
            outcome = getattr(self._dice, primitive)(*arguments, **named)
            self.n_draws += 1
            if failing:
                raise self._error
            return outcome

        return draw
