"""What is verified: each mechanism and learner over a small universe, and its frozen exact law.

The frozen laws ship with the package, so that anyone can run the code they installed over every outcome and
compare. Writing them anew (`python -m dplearn.audit.cases`) is a deliberate act that a diff shows.
"""

import hashlib
import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dplearn.audit.enumeration import Places, PrivacyReport, Rows, enumerate_laws, report_on
from dplearn.audit.laws import Law
from dplearn.audit.replay import replay_violations
from dplearn.chance import SeededDice
from dplearn.chance.dice import Dice
from dplearn.domains import IntegerRange
from dplearn.learners import ExponentialMechanismClassifier
from dplearn.mechanisms import exponential_mechanism, permute_and_flip
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "AuditCase", "learner_case", "mechanism_case"]


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
    """

    name: str
    fit: Callable[[Rows, Dice], tuple[str, Any]]
    universe: Sequence[Hashable]
    n: int
    claim: ApproxDP
    ordered: bool = True

    def with_fit(self, fit: Callable[[Rows, Dice], tuple[str, Any]]) -> "AuditCase":
        """Return the same case for another computation."""
        return replace(self, fit=fit)

    @cached_property
    def laws(self) -> dict[Places, Law]:
        """The exact law of every dataset, which is named by its records' places in the universe."""
        return enumerate_laws(self.fit, self.universe, self.n, ordered=self.ordered)

    def run(self) -> PrivacyReport:
        """Return the exact worst epsilon over all pairs of neighbours."""
        return report_on(self.laws, self.universe, self.n, delta=self.claim.delta, ordered=self.ordered)

    def digest(self) -> str:
        """Return a hash of all laws: every dataset, what can be released, and with what probability."""
        lines = sorted(
            f"{rows!r} {_label(seen)} {mass}/{law.total}"
            for rows, law in self.laws.items()
            for seen, mass in law.masses.items()
        )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def replay(self, seeds: int = 3) -> list[str]:
        """Replay recorded runs on neighbours in every position; return what the proof does not allow."""
        found = []
        for rows in product(self.universe, repeat=2):
            first, last = (rows[0],) * self.n, (*(rows[0],) * (self.n - 1), rows[1])
            for seed in range(seeds):
                found += replay_violations(
                    partial(self.fit, first), partial(self.fit, last), SeededDice(seed, self.name)
                )
        return found

    def frozen(self) -> dict[str, Any]:
        """Return what was found when the case was frozen: digest, epsilon, numbers of laws and pairs."""
        text = resources.files("dplearn.audit").joinpath("frozen.json").read_text(encoding="utf-8")
        record: dict[str, Any] = json.loads(text)[self.name]
        return record


def _label(seen: Any) -> str:
    """Return the text that names an outcome; an exception or a warning stands for itself."""
    named = isinstance(seen, tuple) and seen[0] == "tuple" and isinstance(seen[1][0], str)
    return seen[1][0] if named else repr(seen)


def mechanism_case(name: str, mechanism: Callable[..., int], *, candidates: int, n: int) -> AuditCase:
    """Return a case in which every record approves of any subset of the candidates."""
    claim = ApproxDP(1)

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        qualities = np.array(rows, dtype=np.int64).sum(axis=0)
        chosen = mechanism(qualities, privacy=claim, dice=dice)
        return str(chosen), chosen

    return AuditCase(name, fit, list(product((0, 1), repeat=candidates)), n, claim, ordered=False)


def learner_case(name: str, estimator: Any, *, values: int, labels: Sequence[str], n: int) -> AuditCase:
    """Return a case of the whole fit of a classifier on one column of small integers."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        fitted = estimator.__class__(**estimator.get_params(deep=False))
        X, y = (list(column) for column in zip(*rows, strict=True))
        fitted._fit(np.array(X)[:, None], np.array(y), dice)
        return repr(fitted.concept_), fitted

    claim = ApproxDP(estimator.epsilon)
    return AuditCase(name, fit, list(product(range(values), labels)), n, claim)


def _stumps(values: int, labels: Sequence[str], **parameters: Any) -> ExponentialMechanismClassifier:
    return ExponentialMechanismClassifier(
        "stumps", domain=IntegerRange(0, values - 1), classes=list(labels), **parameters
    )


_YES_NO = ("no", "yes")
_THREE = ("a", "b", "c")

#: All cases, by name.
CASES: dict[str, AuditCase] = {
    case.name: case
    for case in (
        mechanism_case("exponential_mechanism", exponential_mechanism, candidates=3, n=7),
        mechanism_case("permute_and_flip", permute_and_flip, candidates=3, n=4),
        learner_case(
            "exponential_classifier",
            _stumps(4, _YES_NO, epsilon=1.0),
            values=4,
            labels=_YES_NO,
            n=4,
        ),
        learner_case(
            "permute_and_flip_classifier",
            _stumps(3, _YES_NO, epsilon=1.0, mechanism="permute_and_flip"),
            values=3,
            labels=_YES_NO,
            n=4,
        ),
        learner_case(
            "small_classifier",
            _stumps(2, _YES_NO, epsilon=1.0),
            values=2,
            labels=_YES_NO,
            n=3,
        ),
        learner_case(
            "three_label_classifier",
            _stumps(2, _THREE, epsilon=2.0),
            values=2,
            labels=_THREE,
            n=3,
        ),
    )
}


def freeze_all(path: Path) -> None:
    """Run every case and write what was found."""
    record = {}
    for name, case in CASES.items():
        report = case.run()
        record[name] = {
            "digest": case.digest(),
            "epsilon": f"{report.epsilon:.6f}",
            "n_laws": report.n_laws,
            "n_pairs": report.n_pairs,
            "n_outcomes": report.n_outcomes,
        }
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    freeze_all(Path(__file__).with_name("frozen.json"))
