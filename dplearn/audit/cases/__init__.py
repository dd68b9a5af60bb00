"""Audit cases of all mechanisms and learners on small universes, with frozen exact output distributions.

Each module holds the cases of one family in `CASES`, and fits that are too large to enumerate in `REPLAYS`.
`python -m dplearn.audit.cases [NAME ...]` writes new distributions, and the diff shows the change.
"""

import importlib
import pkgutil

from dplearn.audit.case import AuditCase
from dplearn.audit.cases.ensembles import LONG_CASES
from dplearn.audit.cases.mechanisms import MECHANISM_FITS
from dplearn.audit.traced import CONTROL, TRACED

__all__ = ["CASES", "CONTROL", "LONG_CASES", "MECHANISM_FITS", "REPLAYS", "TRACED"]


def _found(kind: str) -> dict[str, AuditCase]:
    """Return the cases of a kind of all modules of this package, by name."""
    cases: dict[str, AuditCase] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        if module.name != f"{__name__}.__main__":  # it freezes cases, and has none
            for case in getattr(importlib.import_module(module.name), kind, ()):
                if case.name in cases:
                    raise ValueError(f"two cases are named {case.name!r}, one of them in {module.name}")
                cases[case.name] = case
    return cases


#: All cases, by name.
CASES: dict[str, AuditCase] = _found("CASES")

#: Fits that are too large to enumerate, by name; they are replayed on neighbours.
REPLAYS: dict[str, AuditCase] = _found("REPLAYS")
