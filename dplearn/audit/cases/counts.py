"""Audit cases of naive Bayes and conjunctions, in both trust models, with more values than bins."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, Rule, moved_by
from dplearn.domains import Bits, Domain, IntegerRange
from dplearn.learners.counts.conjunction import ConjunctionClassifier
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes

__all__ = ["CASES", "REPLACED", "split", "tables_shown"]


def _case(
    name: str,
    kind: type[Any],
    values: Sequence[int],
    universe: Sequence[Hashable],
    n: int,
    required: Required,
    *,
    staged: bool = True,
    **parameters: Any,
) -> AuditCase:
    """Return a case of the fit of a learner on columns of at most two bins, and two classes."""
    domain: list[Domain] = [Bits(None) if size == 2 else IntegerRange(0, size - 1) for size in values]
    chosen: dict[str, Any] = {"domain": domain, "n_bins": 2, "classes": (0, 1), "random_state": 0}
    model = kind(**chosen | parameters)
    local = model.trust_model == "local"
    how: dict[str, Any] = {"ordered": local, "rules": RULES if local else REPLACED, "staged": staged}
    shown = _rule_shown if kind is ConjunctionClassifier else tables_shown
    return fit_case(name, model, split, shown, universe, n, required=required, **how)


def split(rows: Rows) -> tuple[Any, Any]:
    """Return the columns and the labels of records of both."""
    return np.array([row[:-1] for row in rows]), np.array([row[-1] for row in rows])


def tables_shown(fitted: StatisticalQueryNaiveBayes) -> tuple[str, Any]:
    tables = [np.round(table, 6).tolist() for table in (fitted.log_prior_, *fitted.log_ratios_)]
    return str(tables), fitted


def _rule_shown(fitted: ConjunctionClassifier) -> tuple[str, Any]:
    return repr(fitted.concept_), fitted


#: A replaced record leaves one cell of a column's counts and enters another.
REPLACED: Mapping[str, Rule] = {**RULES, "discrete_laplace": moved_by(2)}

_BAYES, _RULE = StatisticalQueryNaiveBayes, ConjunctionClassifier
_LOCAL: dict[str, Any] = {"trust_model": "local"}
_VALUES = list(product(range(3), (0, 1)))  # of each class, two are in one bin
_PAIRS = [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]  # the second column has one value
_SOME_VALUES = [(0, 0), (0, 1), (1, 1), (2, 1)]  # the second and the third are in one bin
_SOME_PAIRS = [(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1)]

CASES = (
    _case("naive_bayes", _BAYES, [3], _VALUES, 1, Required(4, 0.999), staged=False),
    _case("naive_bayes_of_two_records", _BAYES, [2], [(0, 0), (1, 1)], 2, Required(3, 0.999)),
    _case("naive_bayes_of_two_columns", _BAYES, [2, 1], _PAIRS, 1, Required(4, 0.999), epsilon=2.0),
    _case("local_naive_bayes", _BAYES, [3], _VALUES, 1, Required(4, 0.999), **_LOCAL),
    _case("local_naive_bayes_of_two_columns", _BAYES, [2, 1], _PAIRS, 2, Required(8, 0.999), **_LOCAL),
    _case("conjunction", _RULE, [3], _SOME_VALUES, 2, Required(6, 0.9), epsilon=4.0, staged=False),
    _case("conjunction_of_two_columns", _RULE, [2, 2], _SOME_PAIRS, 1, Required(4, 0.9), epsilon=16.0),
    _case("local_conjunction", _RULE, [3], _SOME_VALUES, 2, Required(6, 0.999), epsilon=2.0, **_LOCAL),
)
