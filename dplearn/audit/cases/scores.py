"""Audit cases of private scores: each kind of table that a metric is computed from, and searches by metrics.

Sums are counted in few steps, so that all outcomes can be enumerated. Searches have tables of one cell, and
differ from others only in the sensitivity. (The Gaussian case is far from its claim: most of its noise is the
variance that pays for integers.)
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.cases.groups import groups_of
from dplearn.audit.cases.search import Echo, OneChance, OneNumber, score_recipe, search_case
from dplearn.audit.fits import ReleaseFit, Rows, WholeFit
from dplearn.chance.dice import Dice
from dplearn.model_selection.candidates import SearchFacts
from dplearn.model_selection.metrics import PrivateScorer
from dplearn.model_selection.search import PrivateSearchCV, SearchFit, SearchPlan, flipped
from dplearn.model_selection.tables import (
    BinnedScores,
    ConfusionCounts,
    ErrorCount,
    LossSum,
    NoisyTable,
    Statistic,
    TargetSums,
)
from dplearn.privacy import ApproxDP

_LABELS = (0, 1)
_PAIRS = ((0, 0), (0, 1), (1, 0), (1, 1))
_SCORE = ("PrivateScore",)


def table_case(
    name: str,
    statistic: Statistic,
    universe: Sequence[Any],
    required: Required,
    *,
    n: int = 1,
    delta: Any = 0,  # above it, noise is Gaussian
) -> AuditCase:
    """Return a case in which the table of a metric is counted and released, as by `private_score`."""

    def table(rows: Rows) -> tuple[Any, Any]:
        return np.array([[said] for said, _ in rows]), np.array([label for _, label in rows])

    claim = ApproxDP(2, delta)
    make = partial(score_recipe, Echo(), statistic, claim, gaussian=bool(delta))
    fit = ReleaseFit(make, table, _shown_counts)
    return AuditCase(
        name, fit, universe, n, claim, ordered=False, rules=None, part_of=_SCORE, required=required
    )


def _shown_counts(found: NoisyTable) -> tuple[str, Any]:
    return str(found.counts.tolist()), found.counts.tolist()


def _persons(rows: Rows) -> tuple[Any, Any]:
    """Return the rows of persons, which are right (1) or wrong (0): one row of each takes part."""
    said = np.array([each for person in rows for each in person])
    return said[:, None], np.ones(len(said), dtype=int)


_OF_GROUPS = ReleaseFit(
    partial(score_recipe, Echo(), ErrorCount(), ApproxDP(1)), _persons, _shown_counts, groups_of
)


class CoarseSearch(PrivateSearchCV):
    """A search by losses that are 0, 1/2 or 1 of the greatest, so that its outcomes can be enumerated."""

    def _recipe(self, reproducible: bool) -> "CoarseSearchFit":
        return CoarseSearchFit.like(super()._recipe(reproducible))


class CoarseSearchFit(SearchFit):
    """The fit of `CoarseSearch`."""

    def plan(self, facts: SearchFacts, *, beta: Any = 0.05) -> SearchPlan:
        plan = super().plan(facts, beta=beta)
        measure: Any = plan.measure
        return replace(plan, measure=replace(measure, statistic=replace(measure.statistic, steps=2)))


#: Learners that are searched by a sum, and its metric. A target of 7 is outside the range.
_BY_SUMS: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "log_loss": (OneChance(classes=[0, 1]), PrivateScorer("neg_log_loss", least_probability=0.25), (0, 1)),
    "absolute_error": (OneNumber(target_range=(0, 1)), "neg_mean_absolute_error", (0, 7)),
}


def _by_sum(name: str, method: str) -> CoarseSearch:
    learner, scoring, _ = _BY_SUMS[name]
    return CoarseSearch(
        learner,
        {"place": [0, -1]},
        scoring=scoring,
        method=method,
        refit=False,
        cv=PredefinedSplit([-1, 0]),
        epsilon=2,
        random_state=0,
    )


def _table(rows: Rows) -> tuple[Any, Any]:
    return np.zeros((len(rows), 1)), np.array(rows)


def _found(search: PrivateSearchCV) -> tuple[str, Any]:
    shown = np.round(search.cv_results_["mean_test_score"], 3).tolist()
    return f"{search.best_index_} {shown} {search.best_estimator_.concept_}", search


@lru_cache
def _r2_plan() -> SearchPlan:
    search = CoarseSearch(
        OneNumber(target_range=(0, 1)),
        {"place": [0, -1]},
        refit=False,
        cv=PredefinedSplit([-1, 0]),
        epsilon=2,
        random_state=0,
    )
    return search.plan(2)


def _selected_by_r2(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Select one of two candidates that predict 0 and 1; only the selection is released."""
    (X, y), plan = _table(rows), _r2_plan()
    ((_, test),) = plan.public.splits
    statistic: Any = plan.measure and plan.measure.statistic
    tables = [statistic.of(Echo(), np.full_like(X[test], each), y[test]) for each in (0, 1)]
    found = flipped(tables, plan, dice)
    return str(found), found


_EXACT = 0.999999
_likely = partial(BinnedScores, _LABELS, edges=(), method="predict_proba")
_sums = partial(TargetSums, 0.0, 1.0, steps=4)
_LIKELY = ((0.2, 0), (0.8, 1))
_LIKELY_PAIRS = ((0.2, 0), (0.2, 1), (0.8, 0), (0.8, 1))
_LOSSES = ((0.0, 1), (0.2, 1), (1.0, 1))
_ERRORS = ((0.0, 0.0), (0.4, 1.0), (0.0, 7.0))

CASES = (
    table_case("score_confusion_matrix", ConfusionCounts(_LABELS), _PAIRS, Required(4, _EXACT)),
    table_case("score_with_gaussian_noise", _likely((1,)), _LIKELY, Required(2, 0.29), delta=Fraction(1, 20)),
    table_case("score_binned", _likely((1,), edges=(0.5,)), _LIKELY_PAIRS, Required(4, _EXACT)),
    # One bin, so that there are few cells.
    table_case("score_binned_for_each_label", _likely(_LABELS), _LIKELY, Required(2, _EXACT)),
    table_case("score_log_loss", LossSum(_LABELS, 0.01, steps=4), _LOSSES, Required(6, _EXACT), n=2),
    table_case("score_absolute_error", _sums("absolute"), _ERRORS, Required(5, _EXACT), n=2),
    table_case("score_r2", _sums("r2"), ((0.0, 0.0), (0.0, 1.0)), Required(2, _EXACT)),
    AuditCase(
        "score_of_groups",
        _OF_GROUPS,
        ((0,), (1,), (0, 0, 1)),
        3,
        ApproxDP(1),
        rules=None,
        part_of=_SCORE,
        required=Required(4, _EXACT),
    ),
    # Half of the budget of scores; the other half is spent on a table, as in `score_r2`, which has too many
    # outcomes to be enumerated together with a search.
    AuditCase(
        "selection_by_r2",
        _selected_by_r2,
        (0, 7),
        2,
        ApproxDP(1),
        rules=None,
        part_of=("PrivateSearchCV",),
        required=Required(2, 0.8),
    ),
    search_case("search_by_noisy_scores", ApproxDP(2), method="noisy_scores", required=Required(4, 0.7)),
    *(
        AuditCase(
            f"search_by_{name}_and_{method}",
            WholeFit(partial(_by_sum, name, method), _table, _found),
            _BY_SUMS[name][2],
            2,
            ApproxDP(2),
            rules=None,
            verifies=("PrivateSearchCV",),
            required=Required(4, 0.7),
        )
        for name in ("log_loss", "absolute_error")
        for method in ("permute_and_flip", "noisy_scores")
    ),
)
