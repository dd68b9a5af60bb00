"""Cases of conjunctions: the whole fit of either model, whose warning of too few records is public."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase
from dplearn.audit.enumeration import Rows
from dplearn.audit.naive_bayes_cases import REPLACED
from dplearn.audit.rules import RULES
from dplearn.chance.dice import Dice
from dplearn.domains import Bits, Domain, IntegerRange
from dplearn.learners.conjunction import ConjunctionClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CONJUNCTION_CASES", "conjunction_case"]


def conjunction_case(
    name: str, values: Sequence[int], universe: Sequence[Hashable], n: int, **parameters: Any
) -> AuditCase:
    """Return a case of the whole fit of a conjunction.

    Parameters
    ----------
    name : str
        Of the case.
    values : sequence of int
        How many values each column has; 2 are bits, others make two bins.
    universe : sequence of tuple of int
        Records: a value of each column, and a label.
    n : int
        Number of records.
    **parameters
        Of the classifier.
    """
    domain: list[Domain] = [Bits(None) if size == 2 else IntegerRange(0, size - 1) for size in values]
    chosen: dict[str, Any] = {"domain": domain, "n_bins": 2, "classes": (0, 1), "random_state": 0}
    model = ConjunctionClassifier(**chosen | parameters)

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        fitted = ConjunctionClassifier(**model.get_params(deep=False))
        X, y = np.array([row[:-1] for row in rows]), np.array([row[-1] for row in rows])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted._fit(X, y, dice)
        return repr(fitted.concept_), (fitted, [str(warning.message) for warning in caught])

    local = model.trust_model == "local"
    rules = RULES if local else REPLACED
    return AuditCase(name, fit, universe, n, ApproxDP(model.epsilon), ordered=local, rules=rules)


_VALUES = [(0, 0), (0, 1), (1, 1), (2, 1)]  # the second and the third are in one bin
_PAIRS = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1)]

CONJUNCTION_CASES = (
    conjunction_case("conjunction", [3], _VALUES, 2, epsilon=4.0),
    conjunction_case("conjunction_of_two_columns", [2, 2], _PAIRS, 1, epsilon=16.0),
    conjunction_case("local_conjunction", [3], _VALUES, 2, trust_model="local", epsilon=2.0),
)
