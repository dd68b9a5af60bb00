"""Plans of logistic regression from the shape of rows, for tests of its queries and steps."""

from dplearn.estimator import FitFacts
from dplearn.learners import LogisticPlan
from dplearn.privacy import ApproxDP


def plan_of(n_columns, n_classes, *, order=2, n_steps=24, second_moments=True, **grid):
    """Return a plan for rows of `n_columns` numbers; `grid` may have `bits` and `levels`."""
    noise = {1: "laplace", 2: "gaussian"}[order]
    public = FitFacts(1000, n_columns - 1, n_classes)
    return LogisticPlan(ApproxDP(1), noise, n_steps, second_moments, public=public, **grid)
