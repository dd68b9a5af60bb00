"""Fits that learn from the answers to queries alone."""

from fractions import Fraction
from typing import Any

from dplearn.chance.dice import Dice
from dplearn.estimator.fit_recipe import FitRecipe
from dplearn.fit.private_count import counted_warnings
from dplearn.privacy.unknown_count import COUNT_SHARE
from dplearn.queries.central_oracle import CentralOracle
from dplearn.queries.factories import oracle_for
from dplearn.queries.oracle import Oracle

__all__ = ["QueryFit"]


class QueryFit(FitRecipe):
    """Base of fits with `learn(oracle, plan)`; their plans have `noise`.

    Where the number of records is private, the outcome has `count`, a released estimate of it. If
    `counts_records`, it is estimated first, and the estimate plans the fit.
    """

    def run(self, summary: Any, plan: Any, dice: Dice) -> Any:
        plan_of = getattr(plan, "for_count", None)
        oracle = oracle_for(
            plan.noise,
            summary,
            privacy=plan.guarantee,
            dice=dice,
            stream=plan.public.stream,
            count_share=COUNT_SHARE if plan_of else Fraction(0),
            most_records=self.most_records,
        )
        if not plan_of:
            return self.learn(oracle, plan)
        assert isinstance(oracle, CentralOracle)  # local learners refuse a private number of records
        found = plan_of(oracle.count())
        return self.learn(oracle.map(lambda rows: self.summarize(rows, found)), found)

    def learn(self, oracle: Oracle, plan: Any) -> Any:
        """Return the outcome, a function of the answers alone."""
        raise NotImplementedError

    def publish(self, learner: Any, facts: Any, outcome: Any, plan: Any) -> None:
        super().publish(learner, facts, outcome, plan)
        if facts.n_samples is None:
            learner.noisy_count_ = outcome.count

    def told(self, learner: Any, plan: Any) -> tuple[str, ...]:
        return counted_warnings(plan, learner.noisy_count_) if getattr(plan, "for_count", None) else ()
