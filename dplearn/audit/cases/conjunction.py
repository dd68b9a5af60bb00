"""Audit cases of the conjunction learner: its fit in both trust models."""

from collections.abc import Hashable, Sequence
from typing import Any

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.cases.naive_bayes import REPLACED, split
from dplearn.audit.replay import RULES
from dplearn.domains import Bits, Domain, IntegerRange
from dplearn.learners.counts.conjunction import ConjunctionClassifier

__all__ = ["CASES", "conjunction_case"]


def conjunction_case(
    name: str,
    values: Sequence[int],
    universe: Sequence[Hashable],
    n: int,
    *,
    required: Required,
    staged: bool = True,
    **parameters: Any,
) -> AuditCase:
    """Return a case of the fit of a conjunction."""
    domain: list[Domain] = [Bits(None) if size == 2 else IntegerRange(0, size - 1) for size in values]
    chosen: dict[str, Any] = {"domain": domain, "n_bins": 2, "classes": (0, 1), "random_state": 0}
    model = ConjunctionClassifier(**chosen | parameters)
    local = model.trust_model == "local"
    how: dict[str, Any] = {"ordered": local, "rules": RULES if local else REPLACED, "staged": staged}
    return fit_case(name, model, split, _shown, universe, n, required=required, **how)


def _shown(fitted: ConjunctionClassifier) -> tuple[str, Any]:
    return repr(fitted.concept_), fitted


_VALUES = [(0, 0), (0, 1), (1, 1), (2, 1)]  # the second and the third are in one bin
_PAIRS = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1)]

CASES = (
    conjunction_case("conjunction", [3], _VALUES, 2, epsilon=4.0, staged=False, required=Required(6, 0.9)),
    conjunction_case(
        "conjunction_of_two_columns", [2, 2], _PAIRS, 1, epsilon=16.0, required=Required(4, 0.9)
    ),
    conjunction_case(
        "local_conjunction", [3], _VALUES, 2, trust_model="local", epsilon=2.0, required=Required(6, 0.999)
    ),
)
