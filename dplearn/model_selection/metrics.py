"""Metrics of scikit-learn as functions of a private table: which statistic, what value, what interval.

>>> sorted(METRICS)[:4]
['accuracy', 'balanced_accuracy', 'f1', 'f1_macro']
>>> measure_of(PrivateScorer("f1"), (0, 1)).statistic
ConfusionCounts(labels=(0, 1))
>>> measure_of(PrivateScorer("f1"), ("a", "b", "c"))
Traceback (most recent call last):
    ...
ValueError: scoring='f1' needs two labels, got 3; for more, choose 'f1_macro', 'f1_micro' or 'f1_weighted'
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit

from dplearn._validation import check_count, check_number, shown
from dplearn._writing import brief
from dplearn.model_selection import measures
from dplearn.model_selection.measures import Measure
from dplearn.table.targets import TargetRange

_FARTHEST = 7.0  # the log-odds of the outermost of the default bins: about 1/1000
_MOST_BINS = 1000


@dataclass(frozen=True)
class PrivateScorer:
    """A metric and its public parameters, for `scoring=` of `private_score` and `PrivateSearchCV`.

    A name alone stands for `PrivateScorer(name)`. Names and conventions are those of scikit-learn's scorers:
    greater values are better, so that losses and errors are negative.

    Parameters
    ----------
    name : str
        "accuracy", "balanced_accuracy", "roc_auc", "roc_auc_ovr", "neg_log_loss"; "f1", "precision" and
        "recall", also with "_macro", "_micro" or "_weighted"; for regressors "r2",
        "neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error".
    labels : sequence, optional
        Public. All labels that a record may have or that may be predicted. None: `classes_` of the estimator.
        Not used for "accuracy", nor for "recall_weighted" and the "_micro" averages, which are equal to it: a
        record whose label is missing, or is not one that can be predicted, counts as an error there.
    pos_label : label, optional
        Public. The positive label of "f1", "precision" and "recall": None is 1 if the labels are 0 and 1, or
        -1 and 1. Of "roc_auc": None is the greater label.
    bins : int or array-like of float, default=30
        Public. For "roc_auc" and "roc_auc_ovr", scores are counted in bins: so many, or those between given
        increasing edges. So many bins of probabilities are equally wide in log-odds from -7 to 7, and of
        decision values equally wide on `score_range`. More bins have more noise.
    score_range : pair of float, optional
        Public. The range on which decision values are binned, for classifiers without `predict_proba`; values
        outside it are in the outermost bins.
    target_range : pair of float, optional
        Public. For regressors: targets and predictions outside it count as its nearest end. None: the
        `target_range` of the estimator, or of the candidates of a search.
    least_probability : float, default=0.001
        Public. For "neg_log_loss": a lower probability of a record's label counts as this one, so that a loss
        is at most -ln(least_probability). (In scikit-learn it is about 2e-16.)

    Examples
    --------
    >>> from dplearn import StatisticalQueryNaiveBayes
    >>> from dplearn.model_selection import PrivateScorer, PrivateSearchCV
    >>> recall = PrivateScorer("recall", pos_label="ill", labels=["ill", "well"])
    >>> learner = StatisticalQueryNaiveBayes(classes=["ill", "well"])
    >>> search = PrivateSearchCV(learner, {"n_bins": [4, 16]}, scoring=recall)
    """

    name: str
    labels: Any = None
    pos_label: Any = None
    bins: Any = 30
    score_range: Any = None
    target_range: Any = None
    least_probability: Any = 0.001

    @classmethod
    def of(cls, scoring: Any) -> "PrivateScorer":
        """Return the scorer that a parameter `scoring` stands for.

        Parameters
        ----------
        scoring : None, str or PrivateScorer
            None is "accuracy".
        """
        scorer = scoring if isinstance(scoring, cls) else cls("accuracy" if scoring is None else scoring)
        if not isinstance(scorer.name, str) or scorer.name not in METRICS:
            raise ValueError(
                f"scoring must be None, a PrivateScorer or one of {', '.join(METRICS)}, got {shown(scoring)}"
            )
        return scorer

    @property
    def regression(self) -> bool:
        """Whether the metric is one of regressors."""
        return METRICS[self.name].regression

    @property
    def any_labels(self) -> bool:
        """Whether the metric needs no list of labels."""
        return METRICS[self.name].any_labels


@dataclass(frozen=True)
class Metric:
    """An entry of the registry: the measure for given labels, and what it needs."""

    measure: Callable[[PrivateScorer, tuple[Any, ...], str], Measure]
    regression: bool = False
    any_labels: bool = False  # needs no list of labels
    method: str = "predict"  # "scores": `predict_proba` or, with a public range, `decision_function`
    # The value falls with the first cell of its table, and the other cells do not depend on predictions: of
    # two estimators the one with the smaller first cell is the better.
    falls: bool = False


def measure_of(scorer: PrivateScorer, labels: tuple[Any, ...], estimator: Any = None) -> Measure:
    """Return the measure of a scorer, after a check of its public parameters.

    Scores come from `predict_proba` if `estimator` has it, or is None.
    """
    metric = METRICS[scorer.name]
    method = "predict"
    if metric.method == "scores":
        method = _score_method(scorer, estimator)
    elif metric.method != "predict" and estimator is not None and not hasattr(estimator, metric.method):
        raise TypeError(
            f"scoring={scorer.name!r} needs an estimator with a method {metric.method}, got"
            f" {type(estimator).__name__}"
        )
    if not labels and not metric.any_labels:
        raise ValueError(
            f"scoring={scorer.name!r} needs the public labels: pass PrivateScorer({scorer.name!r},"
            " labels=[...]), because the estimator has no attribute classes_ with one list of labels"
        )
    return metric.measure(scorer, labels, method)


def _score_method(scorer: PrivateScorer, estimator: Any) -> str:
    if estimator is None or hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if scorer.score_range is None or not hasattr(estimator, "decision_function"):
        raise TypeError(
            f"scoring={scorer.name!r} needs an estimator with a method predict_proba, whose range is public,"
            " or decision_function and a public PrivateScorer(..., score_range=(low, high)), got"
            f" {type(estimator).__name__}"
        )
    return "decision_function"


def _log_loss(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    least = float(check_number("least_probability", scorer.least_probability, above=0, below=1))
    return measures.log_loss(labels, least)


def _of_targets(
    make: Callable[[TargetRange], Measure],
    scorer: PrivateScorer,
    labels: tuple[Any, ...],  # noqa: ARG001
    method: str,  # noqa: ARG001
) -> Measure:
    if scorer.target_range is None:
        raise ValueError(
            f"scoring={scorer.name!r} needs public bounds on the target: pass PrivateScorer({scorer.name!r},"
            " target_range=(low, high))"
        )
    return make(TargetRange.of(scorer.target_range, clip=True))


def _of_one_label(ratio: str, scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    others = [f"{ratio}_{average}" for average in ("macro", "micro", "weighted")]
    return measures.one_label(ratio, labels, _positive(scorer, labels, others=others))


def _of_all_labels(make: Callable[[tuple[Any, ...]], Measure]) -> Metric:
    return Metric(lambda scorer, labels, method: make(labels))  # noqa: ARG005


def _positive(scorer: PrivateScorer, labels: tuple[Any, ...], *, others: Sequence[str]) -> int:
    """Return the position of the positive label, by scikit-learn's convention."""
    if len(labels) != 2:
        names = ", ".join(map(repr, others[:-1])) + (" or " if others[:-1] else "") + repr(others[-1])
        raise ValueError(
            f"scoring={scorer.name!r} needs two labels, got {len(labels)}; for more, choose {names}"
        )
    if scorer.pos_label is None:
        if set(labels) in ({0, 1}, {-1, 1}):
            return 1
        raise ValueError(
            f"scoring={scorer.name!r} needs PrivateScorer(..., pos_label=), one of {list(labels)}: it is 1 by"
            " default only for the labels 0 and 1, or -1 and 1"
        )
    if scorer.pos_label not in labels:
        raise ValueError(f"pos_label must be None or one of {list(labels)}, got {shown(scorer.pos_label)}")
    return labels.index(scorer.pos_label)


def _roc_auc(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:
    chosen = replace(scorer, pos_label=labels[-1]) if scorer.pos_label is None else scorer
    place = _positive(chosen, labels, others=["roc_auc_ovr"])
    return measures.roc_auc(labels, (place,), _edges(scorer, method), method)


def _roc_auc_ovr(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:
    if method != "predict_proba":
        raise TypeError("scoring='roc_auc_ovr' needs an estimator with a method predict_proba")
    return measures.roc_auc(labels, tuple(range(len(labels))), _edges(scorer, method), method)


def _edges(scorer: PrivateScorer, method: str) -> tuple[float, ...]:
    """Return the inner edges of the bins."""
    if np.ndim(scorer.bins) == 0 and not isinstance(scorer.bins, str):
        count = check_count("bins", scorer.bins, low=2, high=_MOST_BINS)
        if method == "predict_proba":
            return tuple(expit(np.linspace(-_FARTHEST, _FARTHEST, count - 1)).tolist())
        low, high = _score_range(scorer)
        return tuple(np.linspace(low, high, count + 1)[1:-1].tolist())
    listed = [] if isinstance(scorer.bins, str) or np.ndim(scorer.bins) != 1 else list(scorer.bins)
    edges = tuple(float(check_number("bins", each)) for each in listed)
    if not 0 < len(edges) < _MOST_BINS or any(b <= a for a, b in pairwise(edges)):
        raise ValueError(
            f"bins must be a number from 2 to {_MOST_BINS}, or the increasing inner edges between so many"
            f" bins, got {brief(scorer.bins)}"
        )
    return edges


def _score_range(scorer: PrivateScorer) -> tuple[float, float]:
    pair = scorer.score_range
    if isinstance(pair, str) or np.shape(pair) != (2,):
        raise ValueError(f"score_range must be a pair (low, high), got {shown(pair)}")
    low, high = (float(check_number("score_range", each)) for each in pair)
    if not low < high:
        raise ValueError(f"score_range must be a pair with low < high, got {shown(pair)}")
    return low, high


_ERRORS = {
    "r2": measures.r2,
    "neg_mean_absolute_error": measures.absolute_error,
    "neg_mean_squared_error": measures.squared_error,
    "neg_root_mean_squared_error": measures.root_squared_error,
}
_CORRECT = Metric(lambda scorer, labels, method: measures.accuracy(), any_labels=True, falls=True)  # noqa: ARG005
#: All metrics by name.
METRICS: dict[str, Metric] = {
    "accuracy": _CORRECT,
    "balanced_accuracy": _of_all_labels(measures.balanced_accuracy),
    **{ratio: Metric(partial(_of_one_label, ratio)) for ratio in measures.RATIOS},
    **{f"{ratio}_macro": _of_all_labels(partial(measures.macro, ratio)) for ratio in measures.RATIOS},
    **{f"{ratio}_micro": _CORRECT for ratio in measures.RATIOS},
    **{
        f"{ratio}_weighted": _of_all_labels(partial(measures.weighted, ratio))
        for ratio in ("precision", "f1")
    },
    "recall_weighted": _CORRECT,
    "roc_auc": Metric(_roc_auc, method="scores"),
    "roc_auc_ovr": Metric(_roc_auc_ovr, method="scores"),
    "neg_log_loss": Metric(_log_loss, method="predict_proba", falls=True),
    **{
        name: Metric(partial(_of_targets, make), regression=True, any_labels=True, falls=True)
        for name, make in _ERRORS.items()
    },
}
