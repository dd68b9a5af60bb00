"""Audit cases of the parity learner: its fit on records of one to three bits, with every label."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import cycle, islice, product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, Rule, coin_within
from dplearn.learners import ParityClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "parity_case"]


def parity_case(
    name: str,
    model: ParityClassifier,
    n_features: int,
    n: int,
    *,
    free: int | None = None,
    n_outputs: int = 1,
    required: Required,
    staged: bool = True,
) -> AuditCase:
    universe = list(product((0, 1), repeat=n_features + n_outputs))
    units = np.eye(n_features, n_features + n_outputs, dtype=int)
    still = list(islice(cycle(map(tuple, units.tolist())), n - (n if free is None else free)))
    claim = ApproxDP(model.epsilon, model.delta)

    def table(rows: Rows) -> tuple[Any, Any]:
        X, y = np.split(np.array([*still, *rows]), [n_features], axis=1)
        return X, y if n_outputs > 1 else y[:, 0]

    how: dict[str, Any] = {"staged": staged, "required": required, "rules": _MAY_DIFFER[model.method](claim)}
    return fit_case(name, model, table, _shown, universe, n if free is None else free, claim=claim, **how)


def _shown(fitted: ParityClassifier) -> tuple[str, Any]:
    shown = "none" if fitted.abstained_ else f"{fitted.parity_.tolist()} + {fitted.intercept_}"
    return shown, fitted


#: What may differ between neighbours in a replay. The candidates of "elimination" are released by their own
#: mechanism: neighbours may have others, or none, and all that is drawn after them follows.
_MAY_DIFFER: dict[str, Callable[[ApproxDP], Mapping[str, Rule] | None]] = {
    "agnostic": lambda _: RULES,
    "elimination": lambda _: None,
    "stable": lambda claim: {**RULES, "bernoulli": coin_within(claim)},
}


def _model(method: str, classes: Sequence[Any] = (0, 1), **parameters: Any) -> ParityClassifier:
    chosen: dict[str, Any] = {"epsilon": 1.0, "binarize": None, "random_state": 0}
    return ParityClassifier(method=method, classes=classes, **chosen | parameters)


_DELTA = Fraction(1, 20)

CASES = (
    parity_case(
        "parity_elimination",
        _model("elimination", n_parts=2, test_size=1),
        1,
        3,
        required=Required(29, 0.999999),
    ),
    parity_case(
        "parity_elimination_of_two_bits",
        _model("elimination", n_parts=1, test_size=1),
        2,
        2,
        required=Required(8, 0.999999),
    ),
    parity_case(
        "parity_elimination_of_three_bits",
        _model("elimination", n_parts=1, test_size=0),
        3,
        2,
        free=1,
        required=Required(16, 0.999999),
    ),
    parity_case(
        "parity_stable", _model("stable", delta=_DELTA, n_parts=4), 1, 4, required=Required(12, 0.89)
    ),
    parity_case(
        "parity_stable_of_two_bits",
        _model("stable", delta=_DELTA, n_parts=4),
        2,
        8,
        free=2,
        required=Required(3, 0.89),
    ),
    parity_case(
        "parity_stable_of_three_bits",
        _model("stable", delta=_DELTA, n_parts=3),
        3,
        9,
        free=2,
        required=Required(3, 0.89),
    ),
    parity_case(
        "parity_stable_labels",
        _model("stable", delta=_DELTA, n_parts=4),
        1,
        4,
        free=2,
        n_outputs=2,
        staged=False,
        required=Required(2, 0.999999),
    ),
    parity_case("parity_agnostic", _model("agnostic", fit_intercept=True), 2, 2, required=Required(33, 0.6)),
)
