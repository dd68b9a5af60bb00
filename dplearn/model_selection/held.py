"""What an estimator holds within: whoever judges it must know whether something inside answers from a budget.

>>> from sklearn.pipeline import make_pipeline
>>> from dplearn.learners.subsample_aggregate import SubsampleAggregateClassifier
>>> answers_from_a_budget(make_pipeline(SubsampleAggregateClassifier()))
True
"""

from collections.abc import Iterator, Mapping
from functools import partial
from inspect import getclosurevars
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dplearn.learners.online import OnlineEnsembleClassifier

__all__ = ["answers_from_a_budget", "held_by"]


def held_by(value: Any) -> Iterator[Any]:
    """Yield an object and all that it holds: parameters, attributes, members of lists, dicts and the like.

    Parameters
    ----------
    value : object
        An estimator, or anything that may hold one.
    """
    seen: dict[int, Any] = {}
    left = [value]
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen[id(each)] = each  # which keeps it, for else another could get its place
            yield each
            left += _within(each)


def _within(each: Any) -> list[Any]:
    """Return what an object holds directly; a class or a module is nobody's own."""
    match each:
        case Mapping():
            return list(each.values())
        case list() | tuple() | set() | frozenset():
            return list(each)
        case np.ndarray():
            return each.ravel().tolist() if each.dtype == object else []
        case MethodType():
            return [each.__self__]
        case partial():
            return [each.func, *each.args, *each.keywords.values()]
        case FunctionType():
            return list(getclosurevars(each).nonlocals.values())
        case type() | ModuleType():
            return []
    parameters = each.get_params(deep=False) if isinstance(each, BaseEstimator) else {}
    return [*getattr(each, "__dict__", {}).values(), *parameters.values()]


def answers_from_a_budget(estimator: Any) -> bool:
    """Return whether an answer about one record may depend on others that were asked about before."""
    return any(isinstance(each, OnlineEnsembleClassifier) for each in held_by(estimator))
