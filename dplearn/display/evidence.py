"""The audit cases that verify each class, and their frozen results.

>>> evidence = evidence_of("PrivateMinMaxClipper")
>>> evidence.whole, [check.name for check in checks_of(evidence)]
(True, ['min_max_clipper', 'searching_min_max_clipper', 'first_reaching'])
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import comb

__all__ = ["Check", "Evidence", "checks_of", "evidence_of", "recorded_evidence"]


@dataclass(frozen=True)
class Evidence:
    """The audit cases of a class.

    Attributes
    ----------
    cases : tuple of str
        Names, as in `python -m dplearn audit NAME`.
    whole : bool
        Whether some cases enumerate a whole fit, from the data to the release; otherwise they enumerate the
        mechanisms of the class.
    note : str
        A remark.
    """

    cases: tuple[str, ...]
    whole: bool = True
    note: str = ""


@dataclass(frozen=True)
class Check:
    """The claim of a case and its frozen result.

    Attributes
    ----------
    name : str
        The name of the case.
    claimed : float
        The claimed epsilon.
    delta : float
        The claimed delta.
    exact : str
        The largest exact epsilon at that delta, a decimal.
    n_datasets, n_pairs : int
        The number of data sets in the universe, and of pairs of neighbours that were compared.
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
    """Return the evidence for a class; None if none is recorded.

    Parameters
    ----------
    name : str
        The name of the class.
    """
    return recorded_evidence().get(name)


def checks_of(evidence: Evidence) -> list[Check]:
    """Return the claims and the frozen results of the cases.

    Parameters
    ----------
    evidence : Evidence
        Names the cases.
    """
    from dplearn.audit.cases import CASES  # takes seconds, and only a card needs it

    found = []
    for case in map(CASES.__getitem__, evidence.cases):
        frozen, values = case.frozen(), len(case.universe)
        # A case that ignores the order of records has multisets of n records as data sets.
        datasets = sum(values**n if case.ordered else comb(values + n - 1, n) for n in case.sizes)
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
