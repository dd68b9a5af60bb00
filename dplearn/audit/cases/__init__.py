"""What is verified: each mechanism and learner over a small universe, and its frozen exact distribution.

Each module here holds the cases of one family, as `CASES`; a new module is found by being there. The frozen
distributions ship with the package, so that anyone can run the code they installed over every outcome and
compare. `python -m dplearn.audit.cases [NAME ...]` writes them anew, a deliberate act that a diff shows.

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
