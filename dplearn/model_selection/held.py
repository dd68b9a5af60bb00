"""What an estimator holds within: whoever judges it must know whether something inside answers from a budget.

>>> from sklearn.pipeline import make_pipeline
>>> from dplearn.learners.subsample_aggregate import SubsampleAggregateClassifier
>>> answers_from_a_budget(make_pipeline(SubsampleAggregateClassifier()))
True
"""

from typing import Any

from dplearn.learners.online import OnlineEnsembleClassifier
from dplearn.privacy.held import held_by

__all__ = ["answers_from_a_budget"]


def answers_from_a_budget(estimator: Any) -> bool:
    """Return whether an answer about one record may depend on others that were asked about before."""
    return any(isinstance(each, OnlineEnsembleClassifier) for each in held_by(estimator))
