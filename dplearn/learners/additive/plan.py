"""The plan of a fit of an additive model: public values, the shares of the budget, and the noise.

>>> from dplearn.learners.additive.losses import LogisticLoss
>>> from dplearn.domains import Categories, IntegerRange, Product
>>> from types import SimpleNamespace
>>> from dplearn.estimator.recipe import FitFacts
>>> domain = Product([IntegerRange(0, 99), Categories(["north", "south"])])
>>> params = SimpleNamespace(cost=ApproxDP(1, "1e-6"), finest=9, steps=None, bins=BINS,
...                          bits=None, interactions="auto")
>>> plan = additive_plan(params, FitFacts(10_000, 2, 2), lambda plan: LogisticLoss(Fraction(1, 2)), domain)
>>> plan.noise, plan.n_steps, plan.level, plan.resolution, plan.n_joint
('gaussian', 16, 5, 1025.1, 48)
>>> [float(share) for share in plan.shares]
[0.02, 0.1, 0.32, 0.04, 0.04, 0.0, 0.48]
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.learners.additive.cells import Column, column_of, line_rows
from dplearn.learners.additive.losses import RESIDUAL_BITS, Loss
from dplearn.learners.additive.queries import pair_norm, residual_norm
from dplearn.learners.linear import BALANCED, MOST_COLUMNS, LogisticPlan, logistic_plan, moment_weights
from dplearn.learners.linear import FINEST as FINEST_LOGISTIC
from dplearn.learners.linear import can_be_drawn as logistic_can_be_drawn
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import ALPHA, SizedPlan, hidden, records_needed
from dplearn.privacy.shares import GAUSSIAN, gaussian_budget
from dplearn.queries import VectorQuery
from dplearn.queries.noise import can_be_drawn, first_drawn, noise_of, norm_order

#: What a fit learns.
ADDITIVE, LINEAR, MEAN = "additive", "linear", "mean"
#: Rows are integers of norm at most 2**9, and residuals times shortening factors have 11 bits after the
#: binary point.
FINEST = 9
#: The bins of a histogram of residuals, each the root of 1/2 of the one before, in magnitude.
BINS = 24
# The shares of the budget for the masses, the shapes, the correlations and the pairs of columns. Those for
# the distribution of the target and for the spread of residuals are the loss's, and steps have the rest.
_MASSES, _SHAPES, _CORRELATIONS, _PAIRS = (Fraction(percent, 100) for percent in (10, 32, 4, 4))
# Where shapes are straight lines, the first sums show more of labels than steps do: with these shares the
# area under the ROC curve was greater by .02 on 17 tables of 300 and of 1,500 records, at the same accuracy.
_LINE_MASSES, _LINE_SHAPES = Fraction(12, 100), Fraction(50, 100)
# The share for the target of a regression is this over the squared resolution and the number of columns, if
# that is more than the loss's: the noise in the mean is then .12 of half the range. The second is the most.
_CLEAR_MEAN, _MOST_TARGET = 100, 0.9
_LINEAR_MASSES = Fraction(5, 100)  # where all other queries are those of logistic regression
# These are used below a resolution of so many times the number of labels, but not above the second one.
_LINEAR_BELOW, _MOST_LINEAR = 5, 100
_STEPS = {1: 4, 2: 16}  # shares of epsilon add up linearly, shares of rho or of the records in quadrature
# The resolutions from which on shapes may be more flexible than straight lines: a flexible shape has longer
# rows, of which a straight effect is a smaller part. Laplace noise is in the counts of cells, whose number
# does not depend on the level: there the marginal likelihood alone chooses among the first levels.
_FLEXIBLE_FROM = (30, 60, 250, 500, 1000)
_LEVEL_OF_COUNTS = 2
# The resolution from which on residuals of labels are not clipped, and wide ranges have finer cells.
_CLEAR = 2000
# From there on there are fewer steps, which are longer: every step passes over all records.
_CLEAR_STEPS, _CLEAR_RATE = {1: 4, 2: 8}, 0.6
_MOST_CORRELATED = 256  # columns
_MOST_PAIRS = 1 << 17  # numbers of pairs, times outputs
_MOST_NUMBERS = 1 << 21  # the most numbers in an answer
_FEATURES, _MOST_SQUARED = 600, 1 << 27  # of columns with several; the most numbers in all matrices of a kind
_LEAST_EPSILON = Fraction(1, 10**20)  # of other noise: computations with variances then fit floats
_UNIT_BITS = 10
# Joint features: by default they are used from so many times the least resolution on; the most in all, for
# each column, and times the number of outputs.
_JOINT_FROM, _MOST_JOINT, _JOINT_COLUMN, _JOINT_OUTPUTS = 2, 128, 24, 1024
# Fewer where noise would hide most of them, which is so many times the resolution divided by the columns, and
# of more records than about 800,000, since the features of all records are held in memory; but 32 at least.
_CLEAR_JOINT, _JOINT_NUMBERS, _FEW_JOINT = 2, 100_000_000, 32
_LEVELS = 9  # of scores, by magnitude, in the last query of logistic regression


@dataclass(frozen=True)
class Bits:
    """The bits of the integers in the queries."""

    rows: int  # rows are shortened to a norm of 2**rows
    factors: int  # after the binary point of a residual times a shortening factor
    masses: int  # the norm of a row in the query for the masses is at most 2**masses in each column
    moments: int  # rows of normal scores are shortened to a norm of 2**moments
    pairs: int  # after the binary point of a residual that multiplies products of normal scores
    targets: int  # the greatest target of a regression is 2**targets in the first query

    @classmethod
    def of(cls, finest: int, fewer: int) -> "Bits":
        """Return the bits of numbers, without half of `fewer` of the rows, and the other half of factors."""
        half = fewer // 2
        return cls(
            finest - half,
            finest + 2 - (fewer - half),
            max(0, min(7, finest) - half),
            max(0, min(7, finest) - half),
            max(0, min(6, finest) - half),
            max(0, min(10, finest + 2) - half),
        )


class Shares(NamedTuple):
    """The shares of the budget: of each query, of each of two for the spread, and of all steps together."""

    target: Fraction
    masses: Fraction
    shapes: Fraction
    correlations: Fraction
    pairs: Fraction
    spread: Fraction
    steps: Fraction


@dataclass(frozen=True)
class AdditivePlan(SizedPlan):
    """The plan of a fit of `AdditiveClassifier` or `AdditiveRegressor`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    noise : {"laplace", "gaussian"}
        The noise.
    n_steps : int
        The number of gradient steps after the first shapes.
    n_queries : int
        The number of queries, all sequential.
    resolution : float
        The ratio of signal and noise: about the number of records, divided by the standard deviation of the
        noise in the count of a cell if one query for the cells of all columns had the whole budget. Below
        `least_resolution` the fit is noise-dominated, and it warns.
    level : int
        The flexibility of the most flexible shapes that a fit considers, by the resolution: 0 (straight
        lines) to 5.
    model : {"additive", "linear", "mean"}
        What is learned; the others only unless `interactions` is True. "linear": logistic regression of
        straight lines and effects of categories, of one output of three labels or more below a resolution of
        five times the number of labels, at most 100, with Gaussian noise and at most 4,095 numbers and
        categories; `deviation` is that of the sums of labels, and `step_deviation` is equal to it. "mean": a
        regression at a resolution below 12 predicts the noisy mean of the target, with Laplace noise and no
        delta; `step_deviation` is that of the mean, as a share of half the range, and `deviation` is
        infinite.
    n_joint : int
        The most joint features, for interactions; 0: the model is a sum of effects of single columns.
    deviation : float
        The standard deviation of the noise in a number of the query for the shapes, in units of the norm of a
        row times the greatest target.
    step_deviation : float
        The same for the mean of all steps, in units of the norm of a row.
    beta : float
        The argument of `plan`; nothing else depends on it.
    n_outputs : int
        The number of labels of a record. `resolution` and `level` are then those of a fit of one of them with
        an equal share of the budget.
    """

    guarantee: ApproxDP
    noise: str
    n_steps: int
    n_queries: int
    resolution: float
    level: int
    model: str
    n_joint: int
    deviation: float
    step_deviation: float
    beta: float = 0.05
    n_outputs: int = 1
    columns: tuple[Column, ...] = hidden(())
    loss: Any = hidden()
    domain: Any = hidden()
    public: Any = hidden()
    target: Any = hidden()  # the range of the target of a regression
    class_weight: Any = hidden()  # None, "balanced" or a dict from labels to weights
    bits: Any = hidden()
    n_bins: int = hidden(BINS)  # of the histograms of residuals

    error_name = "deviation"
    _accounting = GAUSSIAN

    @property
    def n_needed(self) -> int | None:
        """A number of records for which `deviation` is at most 0.005; None if 10**10 do not suffice."""
        return records_needed(self.replan, lambda plan: plan.deviation <= ALPHA / 10)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if the shapes are noise-dominated; a function of public numbers."""
        n = self.public.n_samples
        # A private number of records is estimated first, and a fit warns afterwards.
        if n is None or not self.noise_dominated:
            return ()
        if self.model == MEAN:
            return (
                f"n_samples is {n}: noise would hide the effects of {len(self.columns)} columns, so the model"
                " is the noisy mean of the target; use more records or a larger epsilon; the `resolution` is"
                f" {self.resolution:g}, from {self.loss.mean_below} on there are effects, and it should be at"
                f" least {self.least_resolution}; plan(n_samples, n_features=...) reports it"
                " without data",
            )
        delta = ", or a delta such as 1e-6" if self.noise == "laplace" else ""
        return (
            f"n_samples is {n}: noise is larger than the signal for {len(self.columns)} columns; use more"
            f" records or a larger epsilon{delta}; the `resolution` is {self.resolution:g}, and should be at"
            f" least {self.least_resolution}; plan(n_samples, n_features=...) reports it without data",
        )

    @property
    def noise_dominated(self) -> bool:
        """Whether the noise is larger than the signal of most tables."""
        return self.resolution < self.least_resolution

    @property
    def least_resolution(self) -> int:
        """The resolution below which a fit warns."""
        return int(self.loss.least_resolution)

    @property
    def order(self) -> int:
        """The order of the norm of rows: 1 for Laplace noise, 2 for all other noise."""
        return norm_order(self.noise)

    @property
    def clear(self) -> bool:
        """Whether noise is so small that residuals of labels are not clipped, and cells are finer."""
        return self.resolution >= _CLEAR

    @property
    def rate(self) -> float:
        """The size of a step, as a share of Newton's."""
        return float(max(self.loss.rate, _CLEAR_RATE) if self.clear else self.loss.rate)

    @property
    def correlated(self) -> bool:
        """Whether the correlations of the columns are queried."""
        return self.order == 2 and 2 <= len(self.columns) <= _MOST_CORRELATED

    @property
    def narrows(self) -> bool:
        """Whether the spread of residuals is queried: once before the steps, and once after them."""
        return bool(self.loss.spread_share)

    @property
    def paired(self) -> bool:
        """Whether pairs of columns are queried for interactions."""
        d = len(self.columns)
        return self.n_joint > 0 and self.loss.n_outputs * d * (d - 1) // 2 <= _MOST_PAIRS

    @property
    def shares(self) -> "Shares":
        """The shares of the budget; a query for all outputs together has one share.

        In a linear model the queries of logistic regression have that of the steps.
        """
        none = Fraction(0)
        if self.model == MEAN:
            return Shares(Fraction(1), *[none] * 6)
        if self.model == LINEAR:
            target = self.loss.base_share if self.class_weight == BALANCED else none
            return Shares(target, _LINEAR_MASSES, none, none, none, none, 1 - target - _LINEAR_MASSES)
        target = self._target_share
        kept = (1 - target) / (1 - self.loss.base_share)  # of the other shares
        lines = self.noise == "gaussian" and self.level == 0 and self.loss.line_shares
        masses, shapes = (_LINE_MASSES, _LINE_SHAPES) if lines else (_MASSES, _SHAPES)
        correlations = _CORRELATIONS if self.correlated else Fraction(0)
        pairs = _PAIRS if self.paired else Fraction(0)
        others = masses, shapes, correlations, pairs, self.loss.spread_share
        masses, shapes, correlations, pairs, spread = (kept * share for share in others)
        steps = 1 - target - masses - shapes - correlations - pairs - 2 * spread
        return Shares(target, masses, shapes, correlations, pairs, spread, steps)

    @property
    def _target_share(self) -> Fraction:
        """The share for the target: so large a one that the noise in the mean of numbers hides no effects."""
        share: Fraction = self.loss.base_share
        if not self.narrows or self.noise != "gaussian":
            return share
        wanted = _CLEAR_MEAN / max(self.resolution**2 * len(self.columns), 1.0)
        return max(share, Fraction(math.ceil(100 * min(wanted, _MOST_TARGET)), 100))

    @property
    def logistic(self) -> LogisticPlan | None:
        """The plan of the queries of logistic regression, for the columns of this plan, which is linear."""
        n_numbers = sum(line_rows(column).shape[1] for column in self.columns)
        share, n_samples = self.shares.steps, self.public.n_samples
        return linear_plan(self.guarantee, share, n_samples, n_numbers, self.loss.n_outputs)

    @property
    def step_share(self) -> Fraction:
        """The share of each step; with equal shares, the sampler makes its tables for one variance only."""
        return self.shares.steps / max(1, self.n_steps)

    def of_output(self, loss: Loss, reach: int) -> "AdditivePlan":
        """Return the plan as that of one output, whose residuals are queried with the noise of `reach`."""
        if self.n_outputs == 1:
            return self
        less = reach / self.loss.reach
        return replace(self, loss=loss, n_outputs=1, step_deviation=less * self.step_deviation)


def additive_plan(
    params: FitRecipe,
    facts: FitFacts,
    loss_of: Callable[[AdditivePlan], Loss],
    domain: Any,
    *,
    beta: Fraction = Fraction(1, 20),
) -> AdditivePlan:
    """Return the plan of a fit; `loss_of` takes one with `order`, `clear` and `bits`."""
    plan = _without_noise(params, facts, domain, beta)
    fewer_bits = range(2 * params.finest + 1)
    tried = [params.bits] if params.bits else [Bits.of(params.finest, fewer) for fewer in fewer_bits]
    plan = replace(plan, bits=tried[0])
    plan = replace(plan, loss=loss_of(plan))
    _check_size(plan)
    if _is_mean(plan, params):
        return _mean(plan)
    if _is_linear(plan, params) and (linear := _linear(plan, tried)):
        return linear
    plan = replace(plan, n_joint=_n_joint(plan, params.interactions))
    plan = replace(plan, n_queries=3 + plan.correlated + plan.paired + 2 * plan.narrows + plan.n_steps)
    rounded = (replace(plan, bits=bits) for bits in tried)
    finest = (replace(each, loss=loss_of(each)) for each in rounded)
    return _with_noise(first_drawn(finest, _can_be_drawn, params.cost.epsilon))


def linear_plan(
    cost: ApproxDP, share: Fraction, n_samples: int, n_numbers: int, n_labels: int
) -> LogisticPlan | None:
    """Return the plan of logistic regression within a share of a budget; None if no noise can be drawn. It
    asks for mean rows, of all and of each label, and the scale of margins: with little data and many labels
    nothing else stands out.
    """
    public = FitFacts(n_samples, n_numbers, n_labels)
    for bits in range(FINEST_LOGISTIC, -1, -1):
        params: Any = SimpleNamespace(
            cost=cost,
            n_steps=1,
            class_weight=None,
            finest=bits,
            levels=_LEVELS,
            most_columns=n_numbers,
        )
        with suppress(ValueError):  # no noise can be drawn even with the whole budget
            # One step needs no second moments: on the tables of `_is_linear`, declared ranges make columns
            # similar enough, and the mean row is known much better.
            plan = replace(logistic_plan(params, public), second_moments=False)
            if logistic_can_be_drawn(plan, share):
                return plan
    return None


def _without_noise(params: FitRecipe, facts: FitFacts, domain: Any, beta: Fraction) -> AdditivePlan:
    """Return the plan with its columns, its level and its steps."""
    noise = "gaussian" if params.cost.delta else "laplace"
    n_outputs = getattr(facts, "n_outputs", 1)
    bare = AdditivePlan(
        params.cost, noise, 0, 0, 0.0, 0, ADDITIVE, 0, 0.0, 0.0, public=facts, n_outputs=n_outputs
    )
    bare = replace(bare, resolution=_resolution(bare, len(domain.domains)))
    distinct = {id(each): each for each in domain.domains}  # most columns of a plan have the same domain
    made = {key: column_of(each, fine=bare.clear) for key, each in distinct.items()}
    level = sum(bare.resolution >= limit for limit in _FLEXIBLE_FROM)
    return replace(
        bare,
        n_steps=params.steps or (_CLEAR_STEPS if bare.clear else _STEPS)[bare.order],
        n_bins=params.bins,
        level=max(level, _LEVEL_OF_COUNTS) if noise == "laplace" else level,
        beta=float(beta),
        columns=tuple(made[id(each)] for each in domain.domains),
        domain=domain,
        target=getattr(params, "target", None),
        class_weight=getattr(params, "class_weight", None),
    )


def _with_noise(plan: AdditivePlan) -> AdditivePlan:
    loss, shares = plan.loss, plan.shares
    most = max(each.target_reach for each in loss.outputs)
    return replace(
        plan,
        deviation=loss.target_reach / most * _deviation(plan, loss.target_reach, shares.shapes),
        step_deviation=loss.reach / 2.0**RESIDUAL_BITS * _deviation(plan, loss.reach, shares.steps),
    )


def _resolution(plan: AdditivePlan, n_columns: int) -> float:
    """Return the mass of a column in standard deviations of the noise of a sum of rows of n_columns units."""
    unit = 1 << _UNIT_BITS
    norm = math.isqrt(n_columns * unit**2)
    most = n_columns * unit
    query = VectorQuery(len, size=n_columns, norm=norm, unit=Fraction(1, unit), l1=2 * most, added_l1=most)
    planned = _planned(plan, query, Fraction(1, plan.n_outputs))
    return round(min(math.sqrt(3 / 2) / max(planned, 1e-12), 1e9), 1)


def _is_mean(plan: AdditivePlan, params: FitRecipe) -> bool:
    """Return whether the noisy mean of a target is better than effects, from public numbers. On 27 tables of
    75 to 4,500 records at epsilons from .05 to 1.6 its mean R^2 was greater by .03 at a resolution of 8 to
    12, by .01 at 6 to 8, by .2 at 3 to 6, and by 2 below; at 12 to 16 it was less by .13.
    """
    few = plan.resolution < plan.loss.mean_below and plan.guarantee.epsilon >= _LEAST_EPSILON
    chosen = params.interactions is True or params.steps is not None
    return few and not chosen and not params.uncounted


def _mean(plan: AdditivePlan) -> AdditivePlan:
    """Return the plan of a fit of the mean of the target alone."""
    known = replace(plan.guarantee, delta=Fraction(0))
    plan = replace(plan, model=MEAN, guarantee=known, noise="laplace", level=0, n_steps=0, n_queries=1)
    [query] = plan.loss.base_queries()
    # There are no shapes: as many records, or so great an epsilon, do not suffice for them.
    return replace(plan, deviation=math.inf, step_deviation=_planned(plan, query, Fraction(1)))


def _is_linear(plan: AdditivePlan, params: FitRecipe) -> bool:
    """Return whether logistic regression is better, from public numbers: below this limit it was more
    accurate on tables of 178 to 5,620 records and 3 to 11 labels, at epsilons from .3 to 3, of one output.
    """
    limit = min(_LINEAR_BELOW * plan.loss.n_outputs, _MOST_LINEAR)
    few = plan.noise == "gaussian" and plan.resolution < limit and params.steps is None
    many = plan.n_outputs == 1 and plan.loss.n_outputs > 1
    numbers = sum(1 + column.gap if column.ordered else column.most for column in plan.columns)
    return few and many and params.interactions is not True and numbers <= MOST_COLUMNS


def _linear(plan: AdditivePlan, tried: Sequence[Bits]) -> AdditivePlan | None:
    """Return the plan of a fit with the queries of logistic regression; None if no noise can be drawn."""
    linear = replace(plan, model=LINEAR, level=0, n_steps=0)
    budget, logistic = gaussian_budget(plan.guarantee), linear.logistic
    target = linear.shares.target
    if target and not can_be_drawn(plan.loss.base_move, budget * target):
        return None
    for bits in tried:
        if logistic and can_be_drawn(_mass_move(plan, bits), budget * linear.shares.masses):
            deviation = logistic.deviation / math.sqrt(linear.shares.steps)
            n_queries = 1 + bool(target) + logistic.n_queries
            return replace(
                linear, bits=bits, n_queries=n_queries, deviation=deviation, step_deviation=deviation
            )
    return None


def _mass_move(plan: AdditivePlan, bits: Bits) -> int:
    """Return a bound on the squared move of the sums for the masses; rounding at most doubles a number."""
    return 8 * len(plan.columns) << (2 * bits.masses)


def _n_joint(plan: AdditivePlan, interactions: bool | str) -> int:
    """Return the most joint features, from public numbers."""
    if not plan.correlated or interactions is False:
        return 0
    if interactions == "auto" and plan.resolution < _JOINT_FROM * plan.least_resolution:
        return 0
    n_samples: int = plan.public.n_samples
    n_outputs: int = max(each.n_outputs for each in plan.loss.outputs)
    n_columns = len(plan.columns)
    clear = max(_FEW_JOINT, math.ceil(_CLEAR_JOINT * plan.resolution / n_columns))
    held = max(_FEW_JOINT, _JOINT_NUMBERS // (n_samples * plan.n_outputs))
    return min(_MOST_JOINT, clear, held, _JOINT_COLUMN * n_columns, _JOINT_OUTPUTS // n_outputs)


def _deviation(plan: AdditivePlan, reach: int, share: Fraction) -> float:
    """Return the standard deviation of a residual query, for residuals and rows of norm 1."""
    norm = residual_norm(reach, 1 << plan.bits.rows, plan.bits.factors)
    query = VectorQuery(
        len, size=len(plan.columns), norm=norm, unit=Fraction(1, norm), l1=2 * norm, added_l1=norm
    )
    return _planned(plan, query, share)


def _planned(plan: AdditivePlan, query: VectorQuery, share: Fraction) -> float:
    return noise_of(plan.noise, plan.guarantee, plan.public.n_samples).deviation(query, share)


def _can_be_drawn(plan: AdditivePlan) -> bool:
    """Return whether the noise of all queries, for replaced records, which need most, can be drawn."""
    if plan.noise != "gaussian":
        return plan.guarantee.epsilon >= _LEAST_EPSILON
    budget, bits = gaussian_budget(plan.guarantee), plan.bits
    norms = [
        residual_norm(reach, 1 << bits.rows, bits.factors)
        for reach in (plan.loss.most_target_reach, plan.loss.reach)
    ]
    moved = [
        plan.loss.base_move,
        _mass_move(plan, bits),
        4 * norms[0] ** 2,
        2 * (moment_weights(2)[0] << (2 * bits.moments)) ** 2,
        4 * pair_norm(plan.loss.reach, 1 << bits.moments, bits.pairs, max(2, len(plan.columns))) ** 2,
        2,
        4 * norms[1] ** 2,
    ]
    asked = zip(moved, (*plan.shares[:-1], plan.step_share), strict=True)
    return all(can_be_drawn(square, budget * share) for square, share in asked if share)


def _check_size(plan: AdditivePlan) -> None:
    numbers = plan.loss.n_outputs * sum(column.most for column in plan.columns)
    if numbers > _MOST_NUMBERS:
        raise ValueError(
            f"X must have at most {_MOST_NUMBERS} cells (of all columns, times labels), got {numbers}:"
            " declare fewer categories or drop columns by a rule that uses no records"
        )
    k, d = plan.loss.n_outputs, len(plan.columns)
    if k * max(d, min(numbers // k, _FEATURES)) ** 2 > _MOST_SQUARED:
        raise ValueError(
            f"X must have fewer columns, or y fewer labels, for the memory of a fit, got {d} columns and"
            f" {k} margins, one for each label, or one for two labels"
        )
