"""Estimators that learn from the answers to queries alone."""

from fractions import Fraction
from typing import Any

from dplearn.chance.dice import Dice
from dplearn.estimator.private_count import counted_warnings
from dplearn.estimator.stages import Read
from dplearn.privacy.unknown_count import COUNT_SHARE, MOST_RECORDS
from dplearn.queries.central_oracle import CentralOracle
from dplearn.queries.factories import oracle_for
from dplearn.queries.oracle import Oracle

__all__ = ["QueryLearner"]


class QueryLearner:
    """Mixin, before the base class, of estimators with `_learn(oracle, plan)`; their plans have `noise`.

    If `counts_records`, a private number of records is estimated first, and the estimate plans the fit.
    """

    noisy_count_: int
    _most_records = MOST_RECORDS  # where their number is private; audits use fewer
    _summarize: Any

    def _release(self, summary: Any, plan: Any, dice: Dice) -> Any:
        waits = getattr(plan, "for_count", None)
        oracle = oracle_for(
            plan.noise,
            summary,
            privacy=plan.guarantee,
            dice=dice,
            stream=plan.public.stream,
            count_share=COUNT_SHARE if waits else Fraction(0),
            most_records=self._most_records,
        )
        if not waits:
            return self._learn(oracle, plan)
        assert isinstance(oracle, CentralOracle)  # local learners refuse a private number of records
        found = waits(oracle.estimated_count())
        oracle.replace_records(lambda rows: self._summarize(Read(plan.public, rows), found))
        return self._learn(oracle, found)

    def _learn(self, oracle: Oracle, plan: Any) -> Any:
        """Return the outcome, a function of the answers alone."""
        raise NotImplementedError

    def _released_warnings(self, plan: Any) -> tuple[str, ...]:
        return counted_warnings(plan, self.noisy_count_) if getattr(plan, "for_count", None) else ()
