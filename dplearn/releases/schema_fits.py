"""Releases that learn their schema first: one budget for the schema and for all that is released with it.

A learner with `domain="learn"` and a synthetic table divide their budget alike. The schema and the inner
release, which has the released schema as its domain, are composed:

- Either epsilon and delta are divided, and both parts have their (epsilon, delta).
- Or both parts are zero-concentrated, the schema except for a failure of probability delta_s. The inner
  release has the budget (e, delta - delta_s), hence a rho', and the schema has the difference of
  concentrated_budget(epsilon, delta - delta_s) and rho'.
- If all noise of the inner release is Gaussian, its rho' is a mu^2 / 2, too, and the schema has a mu^2. If
  mu^2 leaves more for the inner release than rho does, it has that; the schema is as in the second case.

The inner release is adaptive: it sees the released schema. Sources: Dwork, Kenthapadi, McSherry, Mironov and
Naor (2006); Bun and Steinke (2016), Lemma 1.7 and Proposition 1.3; docs/theory/noisy_counts.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from dplearn.fit import Recipe
from dplearn.privacy import ApproxDP, Composition, Event, ZeroConcentrated, least_epsilon
from dplearn.privacy.gaussian_dp import FAILURE, MOST_NUMBERS
from dplearn.privacy.plan import Plan, hidden
from dplearn.privacy.shares import GAUSSIAN, Accounting, concentrated_budget, gaussian_budget
from dplearn.releases.learned_schema import ConcentratedPart, LearnedSchemaPlan, SchemaRelease

#: The error of a fit whose inner release would spend more than the division of the budget assumes.
OTHER_NOISE = (
    "the release with the learned schema has other noise than its plan with the narrowest schema, by which"
    " the budget is divided; nothing is published, and the budget is spent: please report this"
)

_WIDE_TAIL = 0.05  # the greatest fraction of targets beyond an end of a learned range, without a warning
_CLIPPED = (
    "n_samples is {}: up to {:.0%} of the targets at either end may lie beyond the learned target_range, and"
    " are clipped to it; declare target_range=(low, high), or domain=, which leaves y the whole share"
)


@dataclass(frozen=True)
class SchemaFit:
    """A release that learns its schema first, as far as its plan depends on it."""

    release: Callable[[ApproxDP, ConcentratedPart | None], SchemaRelease]  # from a cost to the recipe
    inner: Callable[[Any, ApproxDP], Recipe]  # from a schema and a budget
    accounting: Accounting  # of inner releases that are concentrated
    facts: Any  # with which the inner release is planned
    more: Mapping[str, Any]  # further arguments of its plan

    def inner_plan(self, release: SchemaRelease, rest: ApproxDP) -> Any:
        schema, plan = release.plan(self.facts), None
        for domain in dict.fromkeys((schema.unranged, schema.widest, schema.narrowest)):
            plan = self.inner(domain, rest).planned(self.facts, **self.more)
        return plan


@dataclass(frozen=True)
class SchemaFitPlan(Plan):
    """The plan of a fit that learns the schema first; it also has all attributes of `inner`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit, the schema included.
    schema : LearnedSchemaPlan
        The plan of the schema; its guarantee is that of the schema alone.
    rest : ApproxDP
        The budget of the inner fit. If rho is divided, both epsilons add up to more than that of `guarantee`.
    inner : object
        The plan of the inner fit with the narrowest schema that can be released, for which its noise is
        least.
    """

    guarantee: ApproxDP
    schema: LearnedSchemaPlan
    rest: ApproxDP
    inner: Any
    share: Any = hidden()
    params: Any = hidden()
    public: Any = hidden()
    release: Any = hidden()
    replan: Any = hidden()

    _computed = ("division", "n_needed")

    def __post_init__(self) -> None:
        if self.replan is not None and hasattr(self.inner, "replan"):
            object.__setattr__(self, "inner", replace(self.inner, replan=partial(_inner_plan, self.replan)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "inner" not in vars(self):  # of a copy before it has attributes
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.inner, name)

    @property
    def error_name(self) -> str | None:  # type: ignore[override]
        """That of the inner fit."""
        return getattr(self.inner, "error_name", None)

    @property
    def division(self) -> str:
        """The division of the budget between the schema and the inner fit, as a sentence."""
        share = f"{float(self.share):.3g}"
        if self.schema.is_free:
            return "nothing for the schema, which releases nothing"
        if self.release.concentrated is None:
            return f"{share} of epsilon and delta for the schema"
        return f"{share} of rho for the schema; rho adds up, epsilon is nearly proportional to its root"

    @property
    def n_needed(self) -> int | None:
        """The greater of the numbers of records that the schema and the inner fit need; None if unknown.

        The inner fit needs `inner.n_needed`, of which the documentation of its plan states the criterion.
        """
        # A search has no such number.
        inner: int | None = getattr(self.inner, "n_needed", self.schema.n_needed)
        return None if inner is None else max(self.schema.n_needed, inner)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the schema and of the inner fit; functions of public numbers."""
        inner: tuple[str, ...] = self.inner.warnings
        tail = self.schema.tail if getattr(self.params, "ranged", False) else None
        clipped = (_CLIPPED.format(self.schema.n_samples, tail),) if tail and tail > _WIDE_TAIL else ()
        told = "for the schema"
        if self.release.concentrated is not None:
            whole = f"the whole epsilon is {float(self.guarantee.epsilon):g}"
            told += f" ({float(self.share):.3g} of the sum of squares; {whole})"
        return (*(text.replace("for the schema", told) for text in self.schema.warnings), *clipped, *inner)


def _inner_plan(replan: Callable[[int], SchemaFitPlan], n_samples: int) -> Any:
    return replan(n_samples).inner


def schema_fit_plan(
    fit: SchemaFit,
    cost: ApproxDP,
    share: Fraction,
    assumes: Callable[[LearnedSchemaPlan, Any], Sequence[str]],
    **hidden_values: Any,
) -> SchemaFitPlan:
    release, rest, inner = _divided(fit, cost, share)
    schema = release.plan(fit.facts)
    delta = cost.delta
    if release.concentrated is None:
        delta = inner.guarantee.delta + (0 if schema.is_free else schema.guarantee.delta)
    guarantee = replace(cost, delta=delta, assumes=tuple(assumes(schema, inner)))
    return SchemaFitPlan(guarantee, schema, rest, inner, share=share, release=release, **hidden_values)


def part_of(guarantee: ApproxDP, plan: Any) -> Any:
    """Return the plan of the inner release with the guarantee of all, of which no event is known."""
    found = replace(plan, guarantee=guarantee)
    object.__setattr__(found, "_accounting", None)
    return found


def _divided(fit: SchemaFit, cost: ApproxDP, share: Fraction) -> tuple[SchemaRelease, ApproxDP, Any]:
    """Return the recipe of the schema, the budget of the inner release, and its plan."""
    part, left = (
        replace(cost, epsilon=cost.epsilon * each, delta=cost.delta * each) for each in (share, 1 - share)
    )
    accounting, basic = fit.accounting, fit.release(part, None)

    def is_free() -> bool:
        # If the whole cost is too little for a schema, which a learner has found before, so is its part.
        return any(each.plan(fit.facts).is_free for each in (fit.release(cost, None), basic))

    if cost.delta:
        # Both parts are concentrated, and their rho add up; the schema fails with probability `failure`.
        failure = cost.delta * share
        own = cost.delta - failure
        whole = concentrated_budget(ApproxDP(cost.epsilon, own))
        implied = _gaussian_epsilon if accounting is GAUSSIAN else _epsilon
        epsilon = implied((1 - share) * whole, own)
        # About share * whole. At a large delta no epsilon may be so small.
        rho = whole - accounting.budget(ApproxDP(epsilon, own)) if epsilon else Fraction(0)
        if rho > 0:
            alone = replace(cost, epsilon=_epsilon(rho, own))
            release = fit.release(alone, ConcentratedPart(rho, failure))
            schema = release.plan(fit.facts)
            if accounting is GAUSSIAN and not schema.is_free:
                epsilon = max(epsilon, _beside(schema, ApproxDP(cost.epsilon, own)))
            rest = cost if schema.is_free else replace(cost, epsilon=epsilon, delta=own)
            inner = fit.inner_plan(release, rest)
            if inner.is_concentrated and (not schema.is_free or is_free()):
                return release, rest, inner
    rest = cost if is_free() else left
    return basic, rest, fit.inner_plan(basic, rest)


# A search for the number of records needed plans many times with the same budget.
@lru_cache(maxsize=64)
def _epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    return Fraction(least_epsilon(ZeroConcentrated(rho), delta))


_gaussian_epsilon = lru_cache(maxsize=64)(GAUSSIAN.epsilon_within)


def _beside(schema: LearnedSchemaPlan, cost: ApproxDP) -> Fraction:
    """Return an epsilon of Gaussian sums that cost at most `cost` together with a schema, or 0."""
    if len(schema.columns) * schema.n_samples > MOST_NUMBERS or cost.delta <= FAILURE:
        return Fraction(0)
    event: Event = schema.parts.event
    whole = gaussian_budget(replace(cost, delta=cost.delta - event.mu2_failure))
    left = Fraction(0) if event.mu2 is None else whole - event.mu2 / 2
    epsilon = GAUSSIAN.epsilon_within(left, cost.delta) if left > 0 else left
    together = Composition([event, GAUSSIAN.event(left)]) if left > 0 else event
    return epsilon if least_epsilon(together, cost.delta, cost.epsilon) <= cost.epsilon else Fraction(0)
