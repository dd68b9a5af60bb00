"""Audit cases of neighbours of which one has one record more; sums are clipped, so that outcomes are few."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required, fit_case
from dplearn.audit.cases.counts import split
from dplearn.audit.cases.linear_regression import UNIVERSE
from dplearn.audit.cases.logistic_regression import UNIVERSE as LINES
from dplearn.audit.cases.queries import MEAN, SHARES, VECTOR
from dplearn.audit.cases.unsupervised import coarse
from dplearn.audit.fits import ReleaseFit, Rows, StagedFit, TableFit, WholeFit, ready, refitted
from dplearn.audit.replay import RULES, moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import Bits, Domain, IntegerRange
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.learners.linear import LinearRegressor, StatisticalQueryLogisticRegression, target_moments_query
from dplearn.privacy import ApproxDP
from dplearn.privacy.unknown_count import ADDED
from dplearn.queries import CentralOracle, StatisticalQuery
from dplearn.queries.oracle import oracle_for
from dplearn.releases.release import Release
from dplearn.releases.stable_counts import _StableCounts

__all__ = ["CASES", "REPLAYS", "added_naive_bayes", "added_queries", "added_release"]

#: Sums are clipped to those of one record, above and below zero.
_FEW = {"_most_records": 1}


def added_queries(
    name: str,
    query: StatisticalQuery,
    universe: Sequence[int],
    claim: ApproxDP,
    moves: int,
    required: Required,
    *,
    count_share: Any = 0,
    most_records: int = 2,
) -> AuditCase:
    """Return a case of one query to a central oracle for added records, on tables of two and of one."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        oracle = CentralOracle(
            np.array(rows), privacy=claim, dice=dice, count_share=count_share, most_records=most_records
        )
        [answer] = oracle.ask(query)
        released = [(answer.n, answer.means.round(6).tolist())]
        return str(released), (repr(oracle), oracle.rounds, [(answer.noise, answer.sampling)])

    rules = {**RULES, "discrete_laplace": moved_by(moves)}
    part_of = ("CentralOracle",)
    return AuditCase(
        name, fit, universe, 2, claim, ordered=False, rules=rules, part_of=part_of, required=required
    )


def added_naive_bayes(
    name: str,
    values: Sequence[int],
    universe: Sequence[Hashable],
    *,
    required: Required,
    staged: bool = True,
    **parameters: Any,
) -> AuditCase:
    """Return a case of the fit of naive Bayes on tables of two records and of one."""
    domain: list[Domain] = [Bits(None) if size == 2 else IntegerRange(0, size - 1) for size in values]
    model = StatisticalQueryNaiveBayes(
        domain=domain, n_bins=2, classes=(0, 1), random_state=0, neighbors=ADDED, **{"delta": 0, **parameters}
    )
    claim = ApproxDP(model.epsilon, neighbors=ADDED)
    how: dict[str, Any] = {"claim": claim, "ordered": False, "required": required, "staged": staged}
    return fit_case(name, model, split, _shown, universe, 2, constants=_FEW, **how)


@dataclass(frozen=True)
class _Moments(TableFit):
    """The released moments of a fit for added records; all that makes no draw is done once a table."""

    model: LinearRegressor

    def on(self, rows: Rows) -> Callable[[Dice], Any]:
        learner = refitted(self.model, _finest=0, **_FEW)()
        table = np.array(rows)
        fit = ready(learner, table[:, :-1], table[:, -1])
        plan, query = fit.plan, target_moments_query(fit.plan)

        def run(dice: Dice) -> tuple[str, Any]:
            oracle = oracle_for(
                plan.noise,
                fit.summary,
                privacy=plan.guarantee,
                dice=dice,
                stream=plan.public.stream,
                most_records=learner._most_records,
            )
            [answer] = oracle.ask(query)
            return str((answer.n, answer.means.tolist())), (oracle.rounds, plan.warnings)

        return run


def added_fit(
    name: str,
    model: Any,
    universe: Sequence[Hashable],
    n: int,
    moves: int,
    *,
    required: Required = NOTHING_REQUIRED,
    **constants: Any,
) -> AuditCase:
    """Return a case of the fit of a learner for added records, what makes no draw runs once a table."""

    def shown(fitted: Any) -> tuple[str, Any]:
        names = ("noisy_count_", "coef_", "intercept_", "offset_", "metric_", "residual_std_")
        released = [np.round(getattr(fitted, each), 6).tolist() for each in names if hasattr(fitted, each)]
        return str(released), fitted

    return AuditCase(
        name,
        StagedFit(WholeFit(refitted(model, **constants), split, shown)),
        universe,
        n,
        ApproxDP(model.epsilon, model.delta, neighbors=ADDED),
        ordered=False,
        rules={**RULES, "discrete_laplace": moved_by(moves)},
        verifies=(type(model).__name__,),
        required=required,
    )


def _shown(fitted: StatisticalQueryNaiveBayes) -> tuple[str, Any]:
    tables = [np.round(table, 6).tolist() for table in (fitted.log_prior_, *fitted.log_ratios_)]
    return str((fitted.noisy_count_, tables)), fitted


def added_release(
    name: str,
    release: Release[Any],
    taken: Callable[[Rows], Any],
    shown: Callable[[Any], Any],
    universe: Sequence[Hashable],
    n: int,
    most_records: int,
    *,
    required: Required,
    verifies: tuple[str, ...],
) -> AuditCase:
    setattr(release, "most_records", most_records)  # noqa: B010 - not of every release
    fit = ReleaseFit(lambda: release, taken, lambda found: (str(shown(found)), (found, str(found.plan))))
    claim = replace(release.cost, assumes=())
    # The number of draws of learned keys is that of the keys.
    return AuditCase(
        name, fit, universe, n, claim, ordered=False, rules=None, verifies=verifies, required=required
    )


def _keyed(rows: Rows) -> tuple[list[Any], Any]:
    return [key for key, _ in rows], np.array([value for _, value in rows])


_added = partial(ApproxDP, neighbors=ADDED)

CASES = (
    added_queries("added_queries", MEAN, (-1, 0, 2), _added(2), 2, Required(9, 0.999), count_share="1/4"),
    added_queries("added_histogram", SHARES, (-1, 1, 2), _added(1), 1, Required(9, 0.999)),
    added_queries("added_vector", VECTOR, (-1, 0, 1), _added(2), 4, Required(5, 0.999), most_records=1),
    added_queries("added_gaussian", MEAN, (-1, 2), _added(4, 0.01), 2, Required(5, 0.99)),
    added_naive_bayes(
        "added_naive_bayes", [3], [(0, 0), (1, 1), (2, 0)], staged=False, required=Required(6, 0.999)
    ),
    added_naive_bayes(
        "added_naive_bayes_of_two_columns",
        [2, 1],
        [(0, 0, 0), (1, 0, 1)],
        epsilon=2.0,
        required=Required(3, 0.999),
    ),
    added_release(
        "added_stable_counts",
        _StableCounts(2, "1/20", neighbors=ADDED),
        list,
        lambda found: found.counts,
        ("a", None, 2.0),
        4,
        5,
        required=Required(25, 0.97),
        verifies=("StableCounts",),
    ),
    added_release(
        "added_groups",
        coarse(["a"], 2, neighbors=ADDED),
        _keyed,
        lambda found: (found.counts, found.sums),
        (("a", 1.0), ("a", -1.0), ("b", 1.0)),
        2,
        2,
        required=Required(6, 0.999),
        verifies=("Grouped",),
    ),
    added_release(
        "added_learned_groups",
        coarse(None, 4, "1/8", neighbors=ADDED),
        _keyed,
        lambda found: (found.counts, found.sums),
        (("a", 1.0), ("a", -1.0), ("b", 1.0)),
        3,
        3,
        required=Required(16, 0.95),
        verifies=("Grouped",),
    ),
    AuditCase(
        "added_moments",
        _Moments(LinearRegressor(target_range=(-1, 1), delta=0, random_state=0, neighbors=ADDED)),
        UNIVERSE[3:],
        2,
        ApproxDP(1, neighbors=ADDED),
        ordered=False,
        rules={**RULES, "discrete_laplace": moved_by(4)},
        part_of=("LinearRegressor",),
        required=Required(5, 0.999),
    ),
    added_fit(
        "added_logistic",
        StatisticalQueryLogisticRegression(delta=0, classes=[0, 1], random_state=0, neighbors=ADDED),
        LINES[::3],
        2,
        1,
        required=Required(3, 0.89),
        **_FEW,
        _finest=0,
        _levels=0,
    ),
)

_PLAIN = ((-2.0, 0), (0.0, 1), (1.0, 2), (3.0, 1))
_CLASSES: dict[str, Any] = {"classes": [0, 1, 2], "random_state": 0, "neighbors": ADDED}
_TARGETS: dict[str, Any] = {"target_range": (0, 2), "random_state": 0, "neighbors": ADDED}

#: Fits that are too large to enumerate; they are replayed on neighbours.
REPLAYS = (
    added_fit(
        "added_logistic_laplace", StatisticalQueryLogisticRegression(delta=0, **_CLASSES), _PLAIN, 4, 1 << 22
    ),
    added_fit(
        "added_logistic_gaussian",
        StatisticalQueryLogisticRegression(class_weight="balanced", **_CLASSES),
        _PLAIN,
        4,
        0,
    ),
    added_fit("added_linear_laplace", LinearRegressor(delta=0, **_TARGETS), _PLAIN, 4, 1 << 30),
    added_fit("added_linear_gaussian", LinearRegressor(**_TARGETS), _PLAIN, 4, 0),
)
