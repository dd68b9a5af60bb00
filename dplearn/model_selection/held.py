"""What an estimator holds within: whoever judges it must know whether something inside answers from a budget.

>>> from sklearn.pipeline import make_pipeline
>>> from dplearn.learners.subsample_aggregate import SubsampleAggregateClassifier
>>> answers_from_a_budget(make_pipeline(SubsampleAggregateClassifier()))
True
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import BaseEstimator

from dplearn.learners.online import OnlineEnsembleClassifier

__all__ = ["answers_from_a_budget", "held_by"]


def held_by(value: Any) -> Iterator[Any]:
    """Yield an object and all that it holds: parameters, fitted attributes, members of lists and dicts.

    Parameters
    ----------
    value : object
        An estimator, or anything that may hold one.
    """
    seen: set[int] = set()
    left = [value]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseEstimator):
            left += [*vars(each).values(), *each.get_params(deep=False).values()]
        elif isinstance(each, Mapping):
            left += list(each.values())
        elif isinstance(each, (list, tuple)):
            left += list(each)


def answers_from_a_budget(estimator: Any) -> bool:
    """Return whether an answer about one record may depend on others that were asked about before."""
    return any(isinstance(each, OnlineEnsembleClassifier) for each in held_by(estimator))
