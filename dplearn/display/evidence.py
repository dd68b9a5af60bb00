"""Which cases of the audit verify which class or function, and what they found when they were frozen.

>>> evidence = evidence_of("PrivateMinMaxClipper")
>>> evidence.whole, [check.name for check in checks_of(evidence)]
(True, ['min_max_clipper'])
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import comb

__all__ = ["Check", "Evidence", "checks_of", "evidence_of", "recorded_evidence"]


@dataclass(frozen=True)
class Evidence:
    """The cases of a class or function.

    Attributes
    ----------
    cases : tuple of str
        Names, as in `python -m dplearn audit NAME`.
    whole : bool
        Whether some of them run all of it, from the data to all that is published; else they are the
        mechanisms that it is made of.
    note : str
        What else is to be said.
    """

    cases: tuple[str, ...]
    whole: bool = True
    note: str = ""


@dataclass(frozen=True)
class Check:
    """What a case claims, and what was found when it was frozen.

    Attributes
    ----------
    name : str
        Of the case.
    claimed : float
        The epsilon that is claimed.
    delta : float
        The delta that is claimed.
    exact : str
        The exact worst epsilon at that delta, a decimal.
    n_datasets, n_pairs : int
        How many data sets there are, and how many pairs of neighbours were compared.
    """

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
def recorded_evidence() -> Mapping[str, Evidence]:
    """Return the evidence of all classes and functions that have some, by name.

    Each case of the audit says what it verifies and what it is a part of. Of a case and the small one that
    stands for it, the case alone is listed.
    """
    from dplearn.audit.cases import CASES  # seconds of imports, which only a card needs

    whole: dict[str, list[str]] = {}
    parts: dict[str, list[str]] = {}
    smaller = {f"small_{name}" for name in CASES}
    for case in CASES.values():
        for cases, names in ((whole, case.verifies), (parts, case.part_of)):
            for name in names if case.name not in smaller else ():
                cases.setdefault(name, []).append(case.name)
    found = {}
    for name in sorted({*whole, *parts, *_NOTES}):
        cases_of = (*whole.get(name, ()), *parts.get(name, ()))
        found[name] = Evidence(cases_of, name in whole or name not in parts, _NOTES.get(name, ""))
    return found


def evidence_of(name: str) -> Evidence | None:
    """Return the evidence of a class or function, None if none is recorded.

    Parameters
    ----------
    name : str
        The class's or function's name.
    """
    return recorded_evidence().get(name)


def checks_of(evidence: Evidence) -> list[Check]:
    """Return what the cases claim and what was found, from the figures that ship with the package.

    Parameters
    ----------
    evidence : Evidence
        Which cases.
    """
    from dplearn.audit.cases import CASES  # seconds of imports, which only a card needs

    found = []
    for case in map(CASES.__getitem__, evidence.cases):
        frozen, values = case.frozen(), len(case.universe)
        # Where order is not seen, data sets are multisets of n records.
        datasets = values**case.n if case.ordered else comb(values + case.n - 1, case.n)
        claim = case.claim
        found.append(
            Check(
                case.name,
                float(claim.epsilon),
                float(claim.delta),
                frozen["epsilon"],
                datasets,
                frozen["n_pairs"],
            )
        )
    return found
