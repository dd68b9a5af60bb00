"""The noise of the second moments of linear regression, and the plan that it determines."""

import math
from dataclasses import replace
from fractions import Fraction

from dplearn.estimator.fit_recipe import FitRecipe
from dplearn.estimator.public import Public
from dplearn.learners.linear_moments import moments_query
from dplearn.learners.linear_plan import LinearPlan
from dplearn.learners.logistic_queries import moment_weights
from dplearn.privacy.shares import gaussian_budget
from dplearn.privacy.unknown_count import ADDED
from dplearn.queries.noise import LocalNoise, can_be_drawn, noise_of
from dplearn.records.design_matrix import DesignMatrix

__all__ = ["linear_plan"]

#: The noise in the mean products of columns with the target, as a Euclidean norm over all columns, from which
#: on fits were noise-dominated (R^2 below a tenth of that without privacy), on the tables of
#: `LinearPlan.reach`, by the order of the row norm.
_NOISE_DOMINATED = 0.2
_MOST_NUMBERS = 1 << 12  # the most numbers in a row
_MOST_LOCAL = 1 << 13  # the most numbers in a local query, of which a record reports one
_LARGEST = 1 << 30  # the bound on the norm of a query
_LARGEST_OF_ANY = (1 << 30) - 1  # of a number of a record, so that sums over any number of records fit


def linear_plan(
    params: FitRecipe, public: Public, design: DesignMatrix | None = None, *, beta: Fraction = Fraction(1, 20)
) -> LinearPlan:
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
    """
    noise = "local" if params.trust_model == "local" else "gaussian" if params.cost.delta else "laplace"
    plan = LinearPlan(
        params.cost, noise, beta=float(beta), design=design, target=params.target, public=public
    )
    _check_numbers(plan)
    for bits in range(params.finest, -1, -1):
        plan = replace(plan, bits=bits)
        if _can_be_drawn(plan):
            return _with_noise(plan, beta)
    raise ValueError(
        f"epsilon must be large enough for noise to be drawn, got {float(params.cost.epsilon):g}"
    )


def _can_be_drawn(plan: LinearPlan) -> bool:
    """Return whether the query takes the norm of this grid, and the sampler the noise."""
    norm = moment_weights(plan.order)[0] * plan.energy
    added = plan.guarantee.neighbors == ADDED
    if norm > _LARGEST or (added and moments_query(plan).high > _LARGEST_OF_ANY):
        return False
    moved = norm**2 if added else 2 * norm**2
    return plan.noise != "gaussian" or can_be_drawn(moved, gaussian_budget(plan.guarantee))


def _with_noise(plan: LinearPlan, beta: Fraction) -> LinearPlan:
    """Return the plan with the noise of the mean products of columns with the target."""
    query, share = moments_query(plan), Fraction(1)
    # Without a number of records, for neighbors="add_remove", the noise is that of sums.
    noise = noise_of(plan.noise, plan.guarantee, int(plan.public.n_samples or 1))
    deviation = noise.deviation(query, share)
    unit = 1 / (moment_weights(plan.order)[1] * plan.steps * plan.target_reach)
    if isinstance(noise, LocalNoise):
        tolerance = noise.bounds(query, share)[0].at(beta)
    else:
        log = math.log(2 * (plan.n_numbers - 1) / beta)
        # Laplace noise of scale s has standard deviation s sqrt(2).
        tolerance = deviation * (log / math.sqrt(2) if plan.noise == "laplace" else math.sqrt(2 * log))
    return replace(
        plan,
        deviation=deviation * unit,
        tolerance=tolerance * unit,
        noise_to_signal=deviation * unit * math.sqrt(plan.n_numbers - 1) / _NOISE_DOMINATED,
    )


def _check_numbers(plan: LinearPlan) -> None:
    if plan.n_numbers > _MOST_NUMBERS:
        raise ValueError(
            f"X must have at most {_MOST_NUMBERS - 2} numeric columns, where a column of categories or of"
            f" hashes counts once for each value, got {plan.n_numbers - 2}: declare fewer buckets, drop"
            " columns by a rule that uses no records, or project them onto fewer (GaussianRandomProjection,"
            " of sklearn.random_projection, uses only the number of columns)"
        )
    if plan.noise == "local" and plan.n_moments > _MOST_LOCAL:
        raise ValueError(
            f"trust_model='local' supports at most {_MOST_LOCAL} products of numeric columns, got"
            f" {plan.n_moments} of {plan.n_numbers - 2} columns"
        )
