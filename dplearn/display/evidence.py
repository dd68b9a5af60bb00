"""The audit cases that verify each class, and their frozen results; read from files, no case is imported.

>>> evidence = evidence_of("PrivateMinMaxClipper")
>>> evidence.whole, [check.name for check in checks_of(evidence)]
(True, ['min_max_clipper', 'searching_min_max_clipper', 'first_reaching'])
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple


class Evidence(NamedTuple):
    """The audit cases of a class, and whether some of them enumerate a whole fit, not its mechanisms only."""

    cases: tuple[str, ...]
    whole: bool = True
    note: str = ""


class Check(NamedTuple):
    """The claim of a case and its frozen result; `exact` is the largest epsilon at that delta."""

    name: str
    claimed: float
    delta: float
    exact: str
    n_datasets: int
    n_pairs: int


#: What is to be said of some classes besides what their cases say, by their names.
_NOTES: Mapping[str, str] = {
    "CellEncoder": "It learns nothing from any value, so there is nothing to enumerate.",
    "PrivateSearchCV": "The searches that are enumerated fit a tiny learner of their own, and best_of_runs is"
    " what one way of searching is made of.",
    "SoftLabelTransferClassifier": "The student sees public rows and released scores only, and adds nothing"
    " to what is spent.",
}


@cache
def _read(name: str) -> Any:
    # Of the whole package: `resources.files("dplearn.audit")` would import it.
    return json.loads(resources.files("dplearn").joinpath("audit", name).read_text(encoding="utf-8"))


def names_of_cases() -> list[str]:
    """Return the names of all cases, as in `python -m dplearn audit NAME`."""
    return list(_read("verified.json")["cases"])


@cache
def recorded_evidence() -> Mapping[str, Evidence]:
    """Return the evidence of all classes and functions that have some, by name."""
    verified = _read("verified.json")["verified"]
    nothing: dict[str, Any] = {"cases": (), "whole": True}
    found = {name: verified.get(name, nothing) for name in sorted({*verified, *_NOTES})}
    return {
        name: Evidence(tuple(each["cases"]), each["whole"], _NOTES.get(name, ""))
        for name, each in found.items()
    }


def evidence_of(name: str) -> Evidence | None:
    """Return the evidence for the class of this name; None if none is recorded."""
    return recorded_evidence().get(name)


def checks_of(evidence: Evidence) -> list[Check]:
    """Return the claims and the frozen results of the cases."""
    cases, frozen = _read("verified.json")["cases"], _read("frozen.json")
    return [
        Check(name=name, exact=frozen[name]["epsilon"], n_pairs=frozen[name]["n_pairs"], **cases[name])
        for name in evidence.cases
    ]
