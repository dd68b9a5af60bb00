"""A case: a computation, a universe small enough to run it over every outcome, its claim and its evidence."""

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from itertools import cycle, islice, product
from typing import Any, NamedTuple

from dplearn.audit.distributions import OutputDistribution
from dplearn.audit.enumeration import Places, PrivacyReport, enumerate_distributions, report_on
from dplearn.audit.fits import Fit
from dplearn.audit.replay import replay_privacy
from dplearn.audit.rules import RULES, Rule
from dplearn.chance import SeededDice
from dplearn.privacy import ApproxDP

__all__ = ["NOTHING_REQUIRED", "AuditCase", "Required"]


class Required(NamedTuple):
    """The least that a case must show: a universe that shows less does not exercise the code it is for.

    Attributes
    ----------
    n_distributions : int
        Number of distinct output distributions.
    tightness : float
        Exact epsilon over the claimed one. It stays below 1 where the universe does not hold the worst data,
        or where the claim is a bound that the mechanism does not attain: the module says which.
    """

    n_distributions: int = 1
    tightness: float = 0.0


NOTHING_REQUIRED = Required()


@dataclass(frozen=True)
class AuditCase:
    """A computation, a universe to run it over, and what it claims.

    Attributes
    ----------
    name : str
        As in `python -m dplearn audit NAME`.
    fit : callable
        `fit(rows, dice)` returns a short text that names what was released, and everything published.
    universe : sequence
        All records.
    n : int
        Number of records.
    claim : ApproxDP
        What is to be verified.
    ordered : bool
        Whether the order of records is seen.
    tail_bits : int
        How far open ends and discrete Gaussians are walked; the claim's delta has room for what is left out.
    rules : mapping of primitive to rule, or None
        What may differ between neighbours in a replay; None where which draws are made is itself private,
        as the proof allows.
    verifies : tuple of str
        Names of the classes and functions that the computation is, from data to all that is published.
    part_of : tuple of str
        Names of the classes of which the computation is a part, such as a mechanism that they are made of.
    required : Required
        The least that it must show.
    """

    name: str
    fit: Fit
    universe: Sequence[Hashable]
    n: int
    claim: ApproxDP
    ordered: bool = True
    tail_bits: int = 40
    rules: Mapping[str, Rule] | None = field(default_factory=lambda: RULES)
    verifies: tuple[str, ...] = ()
    part_of: tuple[str, ...] = ()
    required: Required = NOTHING_REQUIRED

    def with_fit(self, fit: Fit) -> "AuditCase":
        """Return the same case for another computation."""
        return replace(self, fit=fit)

    @cached_property
    def distributions(self) -> dict[Places, OutputDistribution]:
        """The exact distribution of every dataset, which is named by its records' places in the universe."""
        return enumerate_distributions(
            self.fit, self.universe, self.n, ordered=self.ordered, tail_bits=self.tail_bits
        )

    def run(self) -> PrivacyReport:
        """Return the exact worst epsilon over all pairs of neighbours."""
        return report_on(
            self.distributions, self.universe, self.n, delta=self.claim.delta, ordered=self.ordered
        )

    def digest(self) -> str:
        """Return a hash of all distributions: every dataset, every outcome and its probability."""
        lines = sorted(
            f"{rows!r} {_label(seen)} {mass}/{distribution.total}"
            for rows, distribution in self.distributions.items()
            for seen, mass in distribution.masses.items()
        )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def replay(self, seeds: int = 3) -> list[str]:
        """Replay recorded runs on neighbours in every position; return what the proof does not allow."""
        found: list[str] = []
        if self.rules is None:
            return found
        records = cycle(self.universe)
        for place, record in product(range(self.n), self.universe):
            first = tuple(islice(records, self.n))
            next(records)  # so that another record comes first each time
            last = (*first[:place], record, *first[place + 1 :])
            for seed in range(seeds):
                report = replay_privacy(
                    self.fit, first, last, rules=self.rules, runs=1, dice=SeededDice(seed, self.name)
                )
                found += report.violations if report.n_draws else ["no draw was recorded"]
        return found

    def frozen(self) -> dict[str, Any]:
        """Return the frozen report: digest, epsilon, numbers of distributions and of pairs."""
        text = resources.files("dplearn.audit").joinpath("frozen.json").read_text(encoding="utf-8")
        record: dict[str, Any] = json.loads(text)[self.name]
        return record


def _label(seen: Any) -> str:
    """Return the text that names an outcome; an exception or a warning stands for itself."""
    named = isinstance(seen, tuple) and seen[0] == "tuple" and isinstance(seen[1][0], str)
    return seen[1][0] if named else repr(seen)
