"""Cases of ensembles: the whole fit and predict over four shards of two records each.

Six of the eight records take every value of the universe, fewer where a student is trained for each outcome,
where there are many of them, and in the small cases that every change can afford; the others stand still. A
shard that holds one label votes for that label; otherwise its teacher votes for the label of its greatest
record, or of its least, as the query asks.
"""

import pickle
import warnings
from fractions import Fraction
from functools import lru_cache, partial
from itertools import cycle, islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from dplearn.audit.case import AuditCase
from dplearn.audit.enumeration import Rows
from dplearn.audit.faults import FaultyDice
from dplearn.chance.dice import Dice
from dplearn.ensembles.answers import QueriesExhaustedError
from dplearn.ensembles.public_data import PublicData
from dplearn.learners import (
    KnowledgeTransferClassifier,
    SoftLabelAggregateClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.privacy import ApproxDP, OneTimeState

__all__ = ["ENSEMBLE_CASES", "LONG_CASES", "Extreme", "Spread", "ensemble_case", "transfer_case"]

_QUERIES = np.array([[1], [-1]])


class Extreme(ClassifierMixin, BaseEstimator):
    """Answer a query above 0 with the label of the greatest record, any other with that of the least."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        """Remember two labels.

        Parameters
        ----------
        X : ndarray of shape (n_samples, 1)
            Numbers.
        y : ndarray of shape (n_samples,)
            Labels.
        """
        self.greatest_, self.least_ = y[X[:, 0].argmax()], y[X[:, 0].argmin()]
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return one of the two labels for each query.

        Parameters
        ----------
        X : ndarray of shape (n_queries, 1)
            Numbers.
        """
        answers: NDArray[Any] = np.where(X[:, 0] > 0, self.greatest_, self.least_)
        return answers


class Spread(Extreme):
    """Score a query above 0 by the greatest record, any other by the least.

    Parameters
    ----------
    scores : tuple of float
        Of each record of the universe. As they are, the greatest of two records can be brought from score 0
        to score 1 by one replacement that leaves both labels in the shard.
    """

    def __init__(self, scores: tuple[float, ...] = (0.5, 0.0, 1.0)):
        self.scores = scores

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        """Remember two records.

        Parameters
        ----------
        X : ndarray of shape (n_samples, 1)
            Numbers.
        y : ndarray of shape (n_samples,)
            Labels.
        """
        self.classes_, self.ends_ = np.unique(y), (X.min(), X.max())
        return self

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the score for the last of the labels, and what is left for the first.

        Parameters
        ----------
        X : ndarray of shape (n_queries, 1)
            Numbers.
        """
        scores = np.where(X[:, 0] > 0, *(self.scores[int(end)] for end in reversed(self.ends_)))
        likely = np.zeros((len(X), self.classes_.size))
        likely[:, 0], likely[:, -1] = 1 - scores, scores
        return likely


def ensemble_case(
    name: str,
    model: Any,
    labels: str,
    claim: ApproxDP,
    *,
    free: int,
    method: str = "predict",
    **options: Any,
) -> AuditCase:
    """Return a case of fitting an ensemble of four teachers, and of all that it answers.

    Fitting draws nothing, which the dice it is given make sure of: so it is done once for each dataset, and
    what it leaves, private state included, answers anew for each outcome.

    Parameters
    ----------
    name : str
        Of the case.
    model : SubsampleAggregateClassifier
        Is built anew for each dataset, with these parameters.
    labels : str
        Of the records 0, 1, 2, ... of the universe, a letter each.
    claim : ApproxDP
        The model's guarantee, and what a tape leaves out.
    free : int
        How many records take every value.
    method : str, default="predict"
        By which queries are asked.
    **options : object
        As for `AuditCase`.
    """
    universe = list(enumerate(labels))
    queries = _QUERIES[: model.max_queries]

    @lru_cache(maxsize=1)
    def taught(rows: Rows) -> tuple[Any, bytes, list[str]]:
        fitted = type(model)(**model.get_params(deep=False))
        X, y = (list(column) for column in zip(*rows, *islice(cycle(universe[:2]), 8 - free), strict=True))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted._fit(np.array(X)[:, None], np.array(y), _NO_DICE)
        with fitted._one_time_state.use() as ensemble:
            return fitted, pickle.dumps(ensemble), [str(warning.message) for warning in caught]

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        fitted, state, said = taught(rows)
        ensemble = pickle.loads(state)  # noqa: S301 - our own
        ensemble.aggregator.attach(dice)
        fitted._one_time_state = OneTimeState(ensemble)
        try:
            answers = getattr(fitted, method)(queries)
        except QueriesExhaustedError as stopped:
            answers = stopped.released
        return str(answers.tolist()), (answers, fitted, said)

    return AuditCase(name, fit, universe, free, claim, **_OPTIONS | options)


def transfer_case(
    name: str, model: Any, labels: str, claim: ApproxDP, *, free: int, **options: Any
) -> AuditCase:
    """Return a case of a whole transfer from four teachers: all that the student answers, and the student.

    Parameters
    ----------
    name, model, labels, claim, free, **options
        As for `ensemble_case`. Where the model protects labels, a record is a label and features stand still.
    """
    by_label = model.protects == "labels"
    universe = list(labels) if by_label else list(enumerate(labels))
    extra = {} if by_label else {"X_public": PublicData(_QUERIES)}

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        fitted = type(model)(**model.get_params(deep=False))
        records = (*rows, *islice(cycle(universe[:2]), 8 - len(rows)))
        X, y = (range(len(records)), records) if by_label else zip(*records, strict=True)
        fitted._fit(np.array(X)[:, None], np.array(y), dice, **extra)
        answers = fitted.predict(_QUERIES)
        return str(answers.tolist()), (answers, fitted)

    return AuditCase(name, fit, universe, free, claim, **_OPTIONS | options)


_NO_DICE = FaultyDice(None, at=0, error=AssertionError("fitting an ensemble draws nothing"))
# Which draws are made depends on released answers, and votes asked about are ends of draws in mechanisms:
# they are replayed.
_OPTIONS: dict[str, Any] = {"rules": None, "tail_bits": 24}
_DELTA, _LEFT_OUT = Fraction(1, 20), Fraction(1, 1 << 16)


def _case(
    make: Any, name: str, model: Any, labels: str, epsilon: int, free: int, **parameters: Any
) -> AuditCase:
    chosen: dict[str, Any] = {
        "n_teachers": 4,
        "classes": sorted(set(labels)),
        "epsilon": epsilon,
        "delta": float(_DELTA),
        "random_state": 0,  # the public seed, which cuts the shards: an audit brings its own dice
    }
    claim = ApproxDP(epsilon, _DELTA + _LEFT_OUT, protects=parameters.get("protects", "examples"))
    case: AuditCase = make(name, model(**chosen | parameters), labels, claim, free=free)
    return case


_ensemble = partial(
    _case, ensemble_case, model=SubsampleAggregateClassifier, estimator=Extreme(), abstain_label="none"
)
_stable = partial(_ensemble, aggregation="sparse_vector")
_soft = partial(
    _case,
    partial(ensemble_case, method="predict_proba"),
    model=SoftLabelAggregateClassifier,
    estimator=Spread(),
)
_bins = partial(_soft, aggregation="sparse_vector")
_transfer = partial(
    _case,
    transfer_case,
    model=KnowledgeTransferClassifier,
    estimator=Extreme(),
    aggregation="sparse_vector",
    max_queries=2,
    max_abstentions=1,
)

#: Too many outcomes even for a night in which all the others run: three labels where every count is noisy.
LONG_CASES = tuple(
    _ensemble(
        f"{aggregation}_of_three_labels",
        labels="abc",
        epsilon=16,
        free=6,
        max_queries=1,
        aggregation=aggregation,
    )
    for aggregation in ("gnmax", "confident_gnmax", "lnmax")
)


def _both(make: Any, name: str, free: int, fewer: int, **parameters: Any) -> tuple[AuditCase, AuditCase]:
    """Return a case, and a small one with fewer free records."""
    return make(name, free=free, **parameters), make(f"small_{name}", free=fewer, **parameters)


ENSEMBLE_CASES = (
    *_both(
        _stable, "ensemble_sparse_vector", 6, 4, labels="aba", epsilon=8, max_queries=2, max_abstentions=1
    ),
    *_both(
        _stable, "ensemble_three_labels", 6, 4, labels="abc", epsilon=12, max_queries=2, max_abstentions=2
    ),
    *_both(_ensemble, "ensemble_gnmax", 6, 4, labels="aba", epsilon=12, max_queries=1, aggregation="gnmax"),
    *_both(
        _ensemble,
        "ensemble_confident_gnmax",
        6,
        4,
        labels="aba",
        epsilon=16,
        max_queries=1,
        aggregation="confident_gnmax",
    ),
    *_both(_ensemble, "ensemble_lnmax", 6, 4, labels="aba", epsilon=16, max_queries=1, aggregation="lnmax"),
    *_both(
        _bins, "soft_labels", 6, 4, labels="aba", epsilon=12, max_queries=2, max_abstentions=1, bin_width=0.5
    ),
    *_both(
        _bins,
        "soft_labels_of_three",
        4,
        3,
        labels="abc",
        epsilon=12,
        max_queries=1,
        max_abstentions=1,
        bin_width=0.5,
    ),
    *_both(_soft, "soft_means", 4, 2, labels="aba", epsilon=8, max_queries=1, aggregation="mean"),
    *_both(_transfer, "transfer", 4, 3, labels="aba", epsilon=12),
    _transfer("transfer_of_labels", free=6, labels="ab", epsilon=12, protects="labels"),
)
