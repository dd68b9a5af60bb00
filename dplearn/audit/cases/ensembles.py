"""Audit cases of ensembles: fit and predict with four shards of two records each.

Up to six of the eight records take every value of the universe; the others are fixed. The teacher of a shard
with one label votes for it; otherwise for the label of its greatest record (queries above 0) or of its least
one. Four teachers are too few for the greatest distances, so not all cases attain their claims.
"""

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import cycle, islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, FaultyDice, Required
from dplearn.audit.fits import Rows, StagedFit, TableFit, WholeFit, refitted, two_parts
from dplearn.chance.dice import Dice
from dplearn.estimator.public_data import PublicData
from dplearn.learners import (
    KnowledgeTransferClassifier,
    SoftLabelAggregateClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.learners.votes.aggregators import QueriesExhaustedError
from dplearn.privacy import ApproxDP, OneTimeState

__all__ = ["CASES", "LONG_CASES", "Extreme", "Spread", "ensemble_case", "transfer_case"]

_QUERIES = np.array([[1], [-1]])


class Extreme(ClassifierMixin, BaseEstimator):
    """Answer a query above 0 with the label of the greatest record, any other with that of the least."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        numbers = np.asarray(X)[:, 0]
        self.greatest_, self.least_ = y[numbers.argmax()], y[numbers.argmin()]
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.where(np.asarray(X)[:, 0] > 0, self.greatest_, self.least_)


class Spread(Extreme):
    """Score a query above 0 by the greatest record, any other by the least."""

    def __init__(self, scores: tuple[float, ...] = (0.5, 0.0, 1.0)):
        self.scores = scores

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        self.classes_, self.ends_ = np.unique(y), (X.min(), X.max())
        return self

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the score for the last of the labels, and what is left for the first."""
        scores = np.where(X[:, 0] > 0, *(self.scores[int(end)] for end in reversed(self.ends_)))
        likely = np.zeros((len(X), self.classes_.size))
        likely[:, 0], likely[:, -1] = 1 - scores, scores
        return likely


@dataclass(frozen=True)
class AnsweringFit(TableFit):
    """The fit of an ensemble, once a table, and answers from a copy of its one-time state, on each path."""

    make: Callable[[], Any]
    table: Callable[[Rows], tuple[Any, Any]]
    method: str
    queries: NDArray[Any]

    def in_two_parts(self) -> "AnsweringFit":
        return replace(self, table=lambda rows: two_parts(*self.table(rows)))

    def on(self, rows: Rows) -> Callable[[Dice], tuple[str, Any]]:
        taught: list[tuple[Any, bytes, list[str]]] = []

        def run(dice: Dice) -> tuple[str, Any]:
            if not taught:
                taught.append(self._teach(rows))
            return self._answer(*taught[0], dice)

        return run

    def _teach(self, rows: Rows) -> tuple[Any, bytes, list[str]]:
        """Return the fitted ensemble, its one-time state, and its warnings."""
        fitted = self.make()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted._fit(*self.table(rows), _NO_DICE)
        with fitted._one_time_state.use() as ensemble:
            return fitted, pickle.dumps(ensemble), [str(warning.message) for warning in caught]

    def _answer(self, fitted: Any, state: bytes, said: list[str], dice: Dice) -> tuple[str, Any]:
        ensemble = pickle.loads(state)  # noqa: S301 - our own
        ensemble.aggregator.attach(dice)
        fitted._one_time_state = OneTimeState(ensemble)
        try:
            answers = getattr(fitted, self.method)(self.queries)
        except QueriesExhaustedError as stopped:
            answers = stopped.released
        return str(answers.tolist()), (answers, fitted, said)


def ensemble_case(
    name: str,
    model: Any,
    labels: str,
    claim: ApproxDP,
    *,
    free: int,
    size: int = 8,
    method: str = "predict",
    **options: Any,
) -> AuditCase:
    """Return a case of the fit of an ensemble of four teachers and its answers to queries."""
    universe = list(enumerate(labels))
    queries = _QUERIES[: model.max_queries]

    def table(rows: Rows) -> tuple[Any, Any]:
        X, y = (list(column) for column in zip(*rows, *islice(cycle(universe[:2]), size - free), strict=True))
        return np.array(X)[:, None], np.array(y)

    fit = AnsweringFit(refitted(model), table, method, queries)
    return AuditCase(name, fit, universe, free, claim, **_OPTIONS | options)


def transfer_case(
    name: str, model: Any, labels: str, claim: ApproxDP, *, free: int, **options: Any
) -> AuditCase:
    """Return a case of a transfer from four teachers: the student and its predictions."""
    universe = list(enumerate(labels))

    def table(rows: Rows) -> tuple[Any, Any]:
        X, y = zip(*rows, *islice(cycle(universe[:2]), 8 - len(rows)), strict=True)
        return np.array(X)[:, None], np.array(y)

    whole = WholeFit(refitted(model), table, _answered, {"X_public": PublicData(_QUERIES)})
    fit = whole if name.startswith("small") else StagedFit(whole)  # each class has a whole one
    return AuditCase(name, fit, universe, free, claim, **_OPTIONS | options)


def _answered(fitted: Any) -> tuple[str, Any]:
    answers = fitted.predict(_QUERIES)
    return str(answers.tolist()), (answers, fitted)


_NO_DICE = FaultyDice(None, at=0, error=AssertionError("fitting an ensemble draws nothing"))
# Which draws are made depends on released answers, and votes asked about are ends of draws in mechanisms:
# they are replayed.
_OPTIONS: dict[str, Any] = {"rules": None, "tail_bits": 24}
_DELTA, _LEFT_OUT = Fraction(1, 20), Fraction(1, 1 << 16)


def _case(
    make: Any,
    name: str,
    model: Any,
    labels: str,
    epsilon: int,
    free: int,
    *,
    required: Required = NOTHING_REQUIRED,
    part_of: tuple[str, ...] = (),
    **parameters: Any,
) -> AuditCase:
    chosen: dict[str, Any] = {
        "n_teachers": 4,
        "classes": sorted(set(labels)),
        "epsilon": epsilon,
        "delta": float(_DELTA),
        "random_state": 0,  # the public seed, which cuts the shards: an audit brings its own dice
    }
    claim = ApproxDP(epsilon, _DELTA + _LEFT_OUT)
    evidence = {"verifies": (model.__name__,), "part_of": part_of, "required": required}
    return make(name, model(**chosen | parameters), labels, claim, free=free, **evidence)


_hard = partial(_case, model=SubsampleAggregateClassifier, estimator=Extreme(), abstain_label="none")
_ensemble = partial(_hard, ensemble_case)
_stable = partial(_ensemble, aggregation="sparse_vector")


def _votes(name: str, **parameters: Any) -> AuditCase:
    """Return a case of one answer by noisy maxima, whose name ends with the aggregation."""
    return _ensemble(name, max_queries=1, aggregation=name.partition("ensemble_")[2], **parameters)


_soft = partial(
    _case,
    partial(ensemble_case, method="predict_proba"),
    model=SoftLabelAggregateClassifier,
    estimator=Spread(),
    part_of=("SoftLabelTransferClassifier",),  # whose student sees public rows and released scores only
)
_bins = partial(_soft, aggregation="sparse_vector", bin_width=0.5)
_transfer = partial(
    _case,
    transfer_case,
    model=KnowledgeTransferClassifier,
    estimator=Extreme(),
    aggregation="sparse_vector",
    max_queries=2,
    max_abstentions=1,
)

#: Noise on the counts of three labels has many outcomes. Each of four teachers has one record, which takes
#: every value, so that all 15 votes occur.
LONG_CASES = tuple(
    _hard(
        partial(ensemble_case, size=4),
        f"{each}_of_three_labels",
        labels="abc",
        epsilon=16,
        free=4,
        max_queries=1,
        aggregation=each,
    )
    for each in ("gnmax", "confident_gnmax", "lnmax")
)

_ONE, _TWO, _ONE_OF_TWO = (
    {"max_queries": queries, "max_abstentions": most} for queries, most in ((1, 1), (2, 2), (2, 1))
)
#: A case and a small one: how they are made, free records of both, labels, epsilon, further parameters, and
#: what is required of both.
_PAIRS: tuple[tuple[str, Any, tuple[int, int], str, int, dict[str, Any], Required, Required], ...] = (
    ("ensemble_sparse_vector", _stable, (6, 4), "aba", 8, _ONE_OF_TWO, Required(19, 0.99), Required(8, 0.99)),
    ("ensemble_three_labels", _stable, (6, 4), "abc", 12, _TWO, Required(23, 0.6), Required(9, 0.45)),
    ("ensemble_gnmax", _votes, (6, 4), "aba", 12, {}, Required(5, 0.85), Required(4, 0.85)),
    ("ensemble_confident_gnmax", _votes, (6, 4), "aba", 16, {}, Required(5, 0.33), Required(4, 0.33)),
    ("ensemble_lnmax", _votes, (6, 4), "aba", 16, {}, Required(5, 0.9), Required(4, 0.9)),
    ("soft_labels", _bins, (6, 4), "aba", 12, _ONE_OF_TWO, Required(16, 0.6), Required(9, 0.45)),
    ("soft_labels_of_three", _bins, (4, 3), "abc", 12, _ONE, Required(6, 0.7), Required(5, 0.45)),
    ("soft_means", _soft, (4, 2), "aba", 8, {"max_queries": 1}, Required(3, 0.8), Required(2, 0.8)),
    ("transfer", _transfer, (4, 3), "aba", 12, {}, Required(11, 0.99), Required(7, 0.35)),
)

CASES = tuple(
    make(prefix + name, labels=labels, epsilon=epsilon, free=free, required=required, **parameters)
    for name, make, both, labels, epsilon, parameters, *needed in _PAIRS
    for prefix, free, required in zip(("", "small_"), both, needed, strict=True)
)
