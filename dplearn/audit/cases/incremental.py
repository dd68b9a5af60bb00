"""Audit cases of `partial_fit`: two calls of one record each, whose models are both published."""

from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.cases.counts import REPLACED, split, tables_shown
from dplearn.audit.fits import IncrementalFit, Rows, WholeFit, refitted
from dplearn.audit.replay import RULES, moved_by
from dplearn.domains import Grid, IntegerRange
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "incremental_naive_bayes"]

_RECORDS = ((0, 0), (0, 1))  # a column of one value, so that there are few outcomes; and a label


def incremental_naive_bayes(
    name: str, epsilons: tuple[Any, ...], calls: Any = None, **parameters: Any
) -> AuditCase:
    chosen: dict[str, Any] = {"domain": [IntegerRange(0, 0)], "n_bins": 2, "classes": (0, 1)}
    model = StatisticalQueryNaiveBayes(**chosen, random_state=0, **parameters)
    return AuditCase(
        name,
        IncrementalFit(WholeFit(refitted(model), split, tables_shown), epsilons, calls),
        _RECORDS,
        2,
        ApproxDP(max(epsilons)),
        rules=RULES if model.trust_model == "local" else REPLACED,
        part_of=("StatisticalQueryNaiveBayes",),
        required=Required(4, 0.999),
    )


_SCALER = PrivateStandardScaler(epsilon=1.0, delta=0, domain=Grid(-1, 1, size=3), with_std=False)


def _places(rows: Rows) -> tuple[Any, Any]:
    return np.array(rows), None


def _means(fitted: PrivateStandardScaler) -> tuple[str, Any]:
    return str(np.round(fitted.mean_, 9).tolist()), fitted


CASES = (
    incremental_naive_bayes("naive_bayes_of_two_calls", (1, 1)),
    incremental_naive_bayes("naive_bayes_of_two_epsilons", (1, 2)),
    incremental_naive_bayes("local_naive_bayes_of_two_calls", (1, 1), trust_model="local"),
    AuditCase(
        "scaler_of_two_calls",
        IncrementalFit(WholeFit(refitted(_SCALER, _finest=0, _coarsest=0), _places, _means), (1, 1)),
        ((-1.0,), (0.0,), (1.0,)),
        2,
        ApproxDP(1),
        rules={**RULES, "discrete_laplace": moved_by(2)},
        part_of=("PrivateStandardScaler",),
        required=Required(9, 0.999),
    ),
)
