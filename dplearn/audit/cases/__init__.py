"""Audit cases of all mechanisms and learners on small universes, with frozen exact output distributions.

Each module of this package holds the cases of one family in `CASES`; new modules are found automatically. The
frozen distributions ship with the package, so that users can enumerate the installed code and compare.
`python -m dplearn.audit.cases [NAME ...]` writes new frozen distributions, and the diff shows the change.

>>> CASES["small_classifier"].verifies
('ExponentialMechanismClassifier',)
"""

import importlib
import pkgutil

from dplearn.audit.case import AuditCase

__all__ = ["CASES"]


def _found() -> dict[str, AuditCase]:
    """Return the cases of all modules of this package, by name."""
    cases: dict[str, AuditCase] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        if module.name != f"{__name__}.__main__":  # it freezes cases, and has none
            for case in importlib.import_module(module.name).CASES:
                if case.name in cases:
                    raise ValueError(f"two cases are named {case.name!r}, one of them in {module.name}")
                cases[case.name] = case
    return cases


#: All cases, by name.
CASES: dict[str, AuditCase] = _found()
