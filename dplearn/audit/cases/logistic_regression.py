"""Audit cases of logistic regression on the coarsest grid: a whole fit, and each further query of a fit."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import Categories, Grid
from dplearn.estimator.recipe import FitFacts
from dplearn.learners.linear import (
    MOST_COLUMNS,
    WEIGHT_UNITS,
    LogisticPlan,
    Mapped,
    StatisticalQueryLogisticRegression,
    kept_columns,
    label_parts,
    mass_query,
    products_query,
    released_weights,
    score_queries,
    sparse_rows,
    take_steps,
)
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows

__all__ = [
    "CASES",
    "MOMENTS",
    "REPLAYS",
    "STEP",
    "UNIVERSE",
    "logistic_fit_case",
    "logistic_plan_case",
]

_LEARNER = ("StatisticalQueryLogisticRegression",)
_VISIBLE = 16  # an epsilon at which the share of a class, which has a least value, shows one record
_FAR = 1e17  # so far that nothing of a row's intercept is left
#: One column's value and a label.
UNIVERSE = ((-_FAR, 0), (-_FAR, 1), (0.0, 0), (0.0, 1), (_FAR, 0), (_FAR, 1))
#: One record of one column and one of two labels: all that the size of an answer depends on.
_SHAPE = FitFacts(1, 1, 2)
#: Plans of which all outcomes can be enumerated: with a step, and with second moments.
STEP = LogisticPlan(ApproxDP(1), "laplace", 2, second_moments=False, public=_SHAPE, bits=0, levels=0)
MOMENTS = LogisticPlan(ApproxDP(1), "laplace", 1, second_moments=True, public=_SHAPE, bits=0, levels=0)
_WIDE = ((0.0, 0.0, 0), (-2.0, 1.0, 1), (0.0, 3.0, 0), (5.0, 0.0, 1))
_WORDS = ((0.0, 3.0, 0), (0.5, 30.0, 1), (1.0, 0.0, 2), (0.0, 9.0, 1))
_ENCODED = (Grid(0, 1, 5), Categories(range(31)))
_PLAIN = ((-2.0, 0), (0.0, 1), (1.0, 2), (3.0, 1))


def _split(rows: Rows) -> tuple[Any, Any]:
    table: Any = np.array(rows)
    return table[:, :-1], table[:, -1].astype(np.intp)


def logistic_fit_case(
    name: str,
    n: int,
    universe: Any = UNIVERSE,
    bits: int = 0,
    moves: int = 2,
    *,
    most_columns: int = MOST_COLUMNS,
    required: Required = NOTHING_REQUIRED,
    **parameters: Any,
) -> AuditCase:
    """Return a case of a whole fit of rows on a grid, all of it on each path: no other one is enumerated."""
    classes = sorted({row[-1] for row in universe})
    chosen: dict[str, Any] = {"classes": classes, "delta": 0, "random_state": 0} | parameters
    model = StatisticalQueryLogisticRegression(**chosen)
    # On the coarsest grid, all scores share a bin.
    constants = {"_finest": bits, "_levels": bits, "_most_columns": most_columns}
    claim, rules = ApproxDP(model.epsilon, model.delta), {**RULES, "discrete_laplace": moved_by(moves)}
    how: dict[str, Any] = {"ordered": False, "rules": rules, "required": required, "staged": False}
    return fit_case(name, model, _split, _shown, universe, n, claim=claim, constants=constants, **how)


def _shown(fitted: StatisticalQueryLogisticRegression) -> tuple[str, Any]:
    released = (fitted.metric_, fitted.coef_, fitted.intercept_, fitted.offset_)
    columns = "" if fitted.columns_ is None else f"{fitted.columns_.tolist()} "
    return columns + str([np.round(part, 6).tolist() for part in released]), fitted


def logistic_plan_case(
    name: str, plan: LogisticPlan, universe: Any, n: int = 1, *, required: Required = NOTHING_REQUIRED
) -> AuditCase:
    """Return a case of all queries but the last, of the algorithm alone, with Laplace noise for epsilon 1."""
    claim = ApproxDP(1)

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        X, y = _split(rows)
        oracle = CentralOracle(LabelledRows(plan.rows(X), y), privacy=claim, dice=dice)
        steps = take_steps(oracle, plan)
        found = [np.round(part, 6).tolist() for part in (steps.mapped.metric, steps.weights)]
        return str(found), oracle.rounds

    rules = {**RULES, "discrete_laplace": moved_by(2 * plan.reach**2)}
    return AuditCase(
        name, fit, universe, n, claim, ordered=False, rules=rules, part_of=_LEARNER, required=required
    )


def _kept(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Ask for the masses of two columns, and keep columns."""
    shape = FitFacts(len(rows), 2, 2)
    plan = LogisticPlan(
        ApproxDP(1), "laplace", 1, second_moments=False, n_kept=1, public=shape, bits=0, levels=0
    )
    X, y = _split(rows)
    oracle = CentralOracle(LabelledRows(sparse_rows(X), y), privacy=ApproxDP(1), dice=dice)
    masses = oracle.ask(mass_query(plan))[0]
    columns = kept_columns(masses.means, threshold=0.25, most=2)
    return str([masses.means.tolist(), columns.tolist()]), oracle.rounds


_COUNTS = {**RULES, "discrete_laplace": moved_by(2)}


def _scores(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Ask for the histogram of scores and labels."""
    plan = replace(MOMENTS, levels=1)
    X, y = _split(rows)
    oracle = CentralOracle(LabelledRows(plan.rows(X), y), privacy=ApproxDP(1), dice=dice)
    weights = np.array([[-1.0, 1.0], [0.0, 0.0]])
    queries = score_queries(plan, Mapped(plan, np.eye(2)), weights, shift=0.0, reach=2.0)
    return str(oracle.ask(queries)[0].means.tolist()), oracle.rounds


def _weighted(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Ask for the numbers of records of the classes, and for the label part of the weighted gradient."""
    X, y = _split(rows)
    oracle = CentralOracle(LabelledRows(STEP.rows(X), y), privacy=ApproxDP(_VISIBLE), dice=dice)
    half = Fraction(1, 2)
    # Noise that allows the steps the weights as they are.
    weights = released_weights(oracle, {0: 0.25}, (0, 1), share=half, noise_to_signal=0.0)
    labels = products_query(STEP, Mapped(STEP, np.eye(2)), label_parts(STEP), weights.steps)
    answer = oracle.ask(labels, half)[0]
    found = (weights.shares, weights.steps, answer.means)
    return str([part.round(6).tolist() for part in found]), oracle.rounds


CASES = (
    logistic_fit_case("logistic", 1, UNIVERSE[::3], required=Required(2, 0.999)),
    logistic_plan_case("logistic_step", STEP, UNIVERSE[::4], required=Required(2, 0.63)),
    logistic_plan_case("logistic_second_moments", MOMENTS, UNIVERSE[::2], required=Required(3, 0.849)),
    AuditCase(
        "logistic_scores",
        _scores,
        UNIVERSE[:2] + UNIVERSE[4:],
        2,
        ApproxDP(1),
        rules=_COUNTS,
        part_of=_LEARNER,
        required=Required(10, 0.999),
    ),
    AuditCase(
        "logistic_class_weights",
        _weighted,
        UNIVERSE[1:3] + UNIVERSE[5:],
        1,
        ApproxDP(_VISIBLE),
        rules={**RULES, "discrete_laplace": moved_by(2 * WEIGHT_UNITS)},
        part_of=_LEARNER,
        required=Required(3, 0.8),
    ),
    AuditCase(
        "logistic_masses",
        _kept,
        ((0.0, 0.0, 0), (3.0, 0.0, 0), (0.0, -3.0, 0)),
        2,
        ApproxDP(1),
        rules=_COUNTS,
        part_of=_LEARNER,
        required=Required(6, 0.999),
    ),
)

#: Whole fits that are too large to enumerate; they are replayed on neighbours.
REPLAYS = (
    logistic_fit_case("logistic_laplace", 4, _PLAIN, bits=10, moves=1 << 22, n_steps=3),
    logistic_fit_case("logistic_wide", 4, _WIDE, bits=10, moves=1 << 22, most_columns=1),
    logistic_fit_case("logistic_wide_gaussian", 4, _WIDE, bits=10, delta=1e-6, n_steps=3, most_columns=1),
    logistic_fit_case("logistic_gaussian", 4, _PLAIN, bits=10, delta=1e-6, n_steps=8),
    # So many categories that the metric multiplies sums of rows, and no row.
    logistic_fit_case("logistic_encoded", 4, _WORDS, bits=10, delta=1e-6, n_steps=3, domain=_ENCODED),
    logistic_fit_case(
        "logistic_weighted", 4, _PLAIN, bits=10, delta=1e-6, n_steps=3, class_weight={0: 2, 1: 1, 2: 5}
    ),
    logistic_fit_case(
        "logistic_balanced", 4, UNIVERSE, bits=10, delta=1e-6, n_steps=3, class_weight="balanced"
    ),
)
