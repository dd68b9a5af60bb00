"""Cases of naive Bayes: the whole fit of either model, its tables released as they are.

Columns have more values than bins, so that which value it is within a bin must not be seen.
"""

from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase
from dplearn.audit.enumeration import Rows
from dplearn.audit.rules import RULES, Rule, moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import Bits, Domain, IntegerRange
from dplearn.learners.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.privacy import ApproxDP

__all__ = ["NAIVE_BAYES_CASES", "REPLACED", "naive_bayes_case"]


def naive_bayes_case(
    name: str, values: Sequence[int], universe: Sequence[Hashable], n: int, **parameters: Any
) -> AuditCase:
    """Return a case of the whole fit of naive Bayes on columns of at most two bins, and two classes.

    Parameters
    ----------
    name : str
        Of the case.
    values : sequence of int
        How many values each column has, at most 3; 2 are bits.
    universe : sequence of tuple of int
        Records: a value of each column, and a class.
    n : int
        Number of records.
    **parameters
        Of the classifier.
    """
    domain: list[Domain] = [Bits(None) if size == 2 else IntegerRange(0, size - 1) for size in values]
    chosen: dict[str, Any] = {"domain": domain, "n_bins": 2, "classes": (0, 1), "random_state": 0}
    model = StatisticalQueryNaiveBayes(**chosen | parameters)

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        fitted = StatisticalQueryNaiveBayes(**model.get_params(deep=False))
        fitted._fit(np.array([row[:-1] for row in rows]), np.array([row[-1] for row in rows]), dice)
        tables = [np.round(table, 6).tolist() for table in (fitted.log_prior_, *fitted.log_ratios_)]
        return str(tables), fitted

    local = model.trust_model == "local"
    rules = RULES if local else REPLACED
    return AuditCase(name, fit, universe, n, ApproxDP(model.epsilon), ordered=local, rules=rules)


#: A replaced record leaves one cell of a column's counts and enters another.
REPLACED: Mapping[str, Rule] = {**RULES, "discrete_laplace": moved_by(2)}

_VALUES = list(product(range(3), (0, 1)))  # of each class, two are in one bin
_PAIRS = [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]  # the second column has one value

NAIVE_BAYES_CASES = (
    naive_bayes_case("naive_bayes", [3], _VALUES, 1),
    naive_bayes_case("naive_bayes_of_two_records", [2], [(0, 0), (1, 1)], 2),
    naive_bayes_case("naive_bayes_of_two_columns", [2, 1], _PAIRS, 1, epsilon=2.0),
    naive_bayes_case("local_naive_bayes", [3], _VALUES, 1, trust_model="local"),
    naive_bayes_case("local_naive_bayes_of_two_columns", [2, 1], _PAIRS, 2, trust_model="local"),
)
