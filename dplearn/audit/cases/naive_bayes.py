"""Audit cases of naive Bayes: its fit in both trust models.

Columns have more values than bins; the output must not depend on the value within a bin.
"""

from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, Rule, moved_by
from dplearn.domains import Bits, Domain, IntegerRange
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes

__all__ = ["CASES", "REPLACED", "naive_bayes_case", "split"]


def naive_bayes_case(
    name: str,
    values: Sequence[int],
    universe: Sequence[Hashable],
    n: int,
    *,
    required: Required,
    staged: bool = True,
    **parameters: Any,
) -> AuditCase:
    """Return a case of the fit of naive Bayes on columns of at most two bins, and two classes."""
    domain: list[Domain] = [Bits(None) if size == 2 else IntegerRange(0, size - 1) for size in values]
    chosen: dict[str, Any] = {"domain": domain, "n_bins": 2, "classes": (0, 1), "random_state": 0}
    model = StatisticalQueryNaiveBayes(**chosen | parameters)
    local = model.trust_model == "local"
    how: dict[str, Any] = {"ordered": local, "rules": RULES if local else REPLACED, "staged": staged}
    return fit_case(name, model, split, _shown, universe, n, required=required, **how)


def split(rows: Rows) -> tuple[Any, Any]:
    """Return the columns and the labels of records of both."""
    return np.array([row[:-1] for row in rows]), np.array([row[-1] for row in rows])


def _shown(fitted: StatisticalQueryNaiveBayes) -> tuple[str, Any]:
    tables = [np.round(table, 6).tolist() for table in (fitted.log_prior_, *fitted.log_ratios_)]
    return str(tables), fitted


#: A replaced record leaves one cell of a column's counts and enters another.
REPLACED: Mapping[str, Rule] = {**RULES, "discrete_laplace": moved_by(2)}

_VALUES = list(product(range(3), (0, 1)))  # of each class, two are in one bin
_PAIRS = [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]  # the second column has one value

CASES = (
    naive_bayes_case("naive_bayes", [3], _VALUES, 1, staged=False, required=Required(4, 0.999)),
    naive_bayes_case("naive_bayes_of_two_records", [2], [(0, 0), (1, 1)], 2, required=Required(3, 0.999)),
    naive_bayes_case(
        "naive_bayes_of_two_columns", [2, 1], _PAIRS, 1, epsilon=2.0, required=Required(4, 0.999)
    ),
    naive_bayes_case("local_naive_bayes", [3], _VALUES, 1, trust_model="local", required=Required(4, 0.999)),
    naive_bayes_case(
        "local_naive_bayes_of_two_columns",
        [2, 1],
        _PAIRS,
        2,
        trust_model="local",
        required=Required(8, 0.999),
    ),
)
