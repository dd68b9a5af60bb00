"""Audit cases of ensembles for added records: each record draws its shard by itself, in secret.

Tables of n records are compared with those of n - 1. With one teacher a case attains what noise on one
changed vote attains; with two, the draws mix the cuts. Teachers are trained once for each cut of a table.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required
from dplearn.audit.cases.ensembles import Extreme, Spread
from dplearn.audit.fits import Ready, Rows, TableFit, ready, refitted
from dplearn.chance.dice import Dice
from dplearn.estimator.public_data import PublicData
from dplearn.learners import (
    KnowledgeTransferClassifier,
    SoftLabelAggregateClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.learners.votes.aggregators import Ballot
from dplearn.learners.votes.online import Ensemble, OnlineFit
from dplearn.learners.votes.recipe import AggregationPlan, VotesFacts, VotesFit
from dplearn.learners.votes.transfer import TransferFit
from dplearn.privacy import ApproxDP
from dplearn.privacy.unknown_count import ADDED

__all__ = ["CASES", "DrawnFit", "drawn_case"]

_QUERIES = np.array([[1]])
_DELTA, _LEFT_OUT = Fraction(1, 20), Fraction(1, 1 << 16)


class _Taught(list[Any]):
    """Teachers of one cut, with their counted votes once they have been asked."""

    votes: Any = None


class _AskedOnce(Ensemble):
    """An ensemble whose teachers are asked once for each cut of a table."""

    def _votes(self, queries: Any) -> Any:
        assert isinstance(self.teachers, _Taught)
        if self.teachers.votes is None:
            self.teachers.votes = super()._votes(queries)
        return self.teachers.votes


class _OncePerCut(VotesFit):
    """A fit that trains the teachers of each cut of a table once, and not on each path."""

    def _trained(self, train: Any, cut: dict[str, Any], plan: AggregationPlan, **how: Any) -> Any:
        seen, key = vars(self).setdefault("seen", {}), str([shard.tolist() for shard in cut["shards"]])
        if key not in seen:
            taught = super()._trained(train, cut, plan, **how)
            seen[key] = _Taught(taught) if isinstance(taught, list) else taught
        return seen[key]


class _Online(_OncePerCut, OnlineFit):
    """Teachers that are trained and asked once for each cut of a table."""

    _ensemble = _AskedOnce


class _Counted(_Online):
    """The fit of as many teachers as there are records, by their noisy number."""

    def _sizes(self, facts: VotesFacts) -> Ballot:
        return Ballot(self.cost, facts.n_labels, min(facts.n_samples, 2), self.max_queries)


class _Transferred(_OncePerCut, TransferFit):
    pass


@dataclass(frozen=True)
class DrawnFit(TableFit):
    """The fit of an ensemble for added records, and its answer to a query or its student's prediction."""

    make: Callable[[], Any]
    # With an `_OncePerCut`, all that makes no draw is done once a table, and teachers are trained and asked
    # once a cut. False: `fit` and `predict` run on each path.
    once: bool = True

    def on(self, rows: Rows) -> Callable[[Dice], tuple[str, Any]]:
        X, y = (np.array(column) for column in zip(*rows, strict=True))
        more = {"X_public": PublicData(_QUERIES)} if self.make().needs_public_rows else {}

        @cache
        def before() -> Ready:
            return ready(self.make(), X[:, None], y, **more)

        def run(dice: Dice) -> tuple[str, Any]:
            if not self.once:
                learner = self.make()
                learner._fit(X[:, None], y, dice, **more)
                answers = learner.predict(_QUERIES).tolist()
                return str(answers), (answers, learner)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                learner = before().run(dice)
            return _released(learner, (*map(str, before().warnings), *(str(each.message) for each in caught)))

        return run


def _released(learner: Any, notes: tuple[str, ...]) -> tuple[str, Any]:
    """Return what identifies the outcome of a fit with its answer, and all that is published."""
    known = {"_one_time_state", *learner.get_params(deep=False)}
    published = {name: value for name, value in vars(learner).items() if name not in known}
    if "_one_time_state" not in vars(learner):  # a transfer
        answers = learner.predict(_QUERIES).tolist()
    else:
        with learner._one_time_state.use() as ensemble:
            released = ensemble.answer(_QUERIES)
            answers = getattr(released, "codes", released).tolist()
    return str((published.get("noisy_count_"), answers)), (answers, published, notes)


def drawn_case(
    name: str,
    kind: Any,
    labels: str,
    epsilon: int,
    n: int,
    required: Required = NOTHING_REQUIRED,
    *,
    delta: Any = _DELTA,
    once: Any = _Online,  # the recipe, or None for the whole fit on each path
    tail_bits: int = 24,
    part_of: tuple[str, ...] = (),
    **parameters: Any,
) -> AuditCase:
    """Return a case of an ensemble for added records."""
    model = kind(
        classes=sorted(set(labels)),
        epsilon=epsilon,
        delta=float(delta),
        max_queries=1,
        neighbors=ADDED,
        random_state=0,  # the public seed, which does not cut the shards: an audit brings its own dice
        **parameters,
    )
    constants = {} if once is None else {"_fit_class": once, "_most_records": 2}
    return AuditCase(
        name,
        DrawnFit(refitted(model, **constants), once is not None),
        list(enumerate(labels)),
        n,
        ApproxDP(epsilon, delta + _LEFT_OUT, neighbors=ADDED),
        ordered=False,
        rules=None,  # the number of draws of shards is that of the records, as the proof allows
        tail_bits=tail_bits,
        verifies=(kind.__name__,),
        part_of=part_of,
        required=required,
    )


_votes = partial(drawn_case, kind=SubsampleAggregateClassifier, estimator=Extreme(), abstain_label="none")
_pure = partial(_votes, aggregation="lnmax", delta=Fraction(0), labels="ab", epsilon=24)
_stable = partial(_votes, epsilon=8, aggregation="sparse_vector", max_abstentions=1)
_scores = partial(
    drawn_case,
    kind=SoftLabelAggregateClassifier,
    estimator=Spread((0.5, 1.0)),
    labels="ab",
    n=2,
    tail_bits=16,
    part_of=("SoftLabelTransferClassifier",),  # whose student sees public rows and released scores only
)

CASES = (
    _pure("added_vote", n=2, required=Required(2, 0.999), n_teachers=1, once=None),
    _pure("added_votes", n=3, required=Required(7, 0.97), n_teachers=2),
    _pure("added_counted_votes", n=2, required=Required(5, 0.97), once=_Counted),
    _votes(
        "added_gaussian_vote",
        labels="ab",
        epsilon=12,
        n=2,
        required=Required(2, 0.46),
        aggregation="gnmax",
        n_teachers=1,
    ),
    _stable("added_stable_votes", labels="aba", n=3, required=Required(11, 0.37), n_teachers=3),
    _stable("small_added_stable_votes", labels="ab", n=3, required=Required(6, 0.36), n_teachers=2),
    _scores("added_score", epsilon=8, required=Required(2, 0.86), n_teachers=1),
    _scores("added_scores", epsilon=8, required=Required(5, 0.67), n_teachers=2),
    _scores(
        "added_stable_scores",
        epsilon=12,
        required=Required(4, 0.26),
        aggregation="sparse_vector",
        bin_width=0.5,
        max_abstentions=1,
        n_teachers=2,
    ),
    drawn_case(
        "added_transfer",
        KnowledgeTransferClassifier,
        "ab",
        24,
        2,
        Required(5, 0.97),
        estimator=Extreme(),
        student=Extreme(),
        aggregation="lnmax",
        delta=Fraction(0),
        n_teachers=2,
        once=_Transferred,
    ),
)
