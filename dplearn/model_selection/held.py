"""Detection of estimators that contain an online ensemble, whose predictions spend a budget.

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
    """Return whether predictions of an estimator may depend on earlier queries, through a spent budget."""
    return any(isinstance(each, OnlineEnsembleClassifier) for each in held_by(estimator))
