"""Private model selection: differentially private parameter search and accuracy scores."""

from dplearn.model_selection.plan import SearchPlan
from dplearn.model_selection.score import PrivateScore, private_score
from dplearn.model_selection.search import PrivateSearchCV

__all__ = ["PrivateScore", "PrivateSearchCV", "SearchPlan", "private_score"]
