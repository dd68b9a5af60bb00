"""Linear models by statistical queries: logistic regression of labels, linear regression of a number.

How data flow: the declared domain turns each record into a row of numbers (`columns.py`).
`StatisticalQueryLogisticRegression` scales rows to one norm and asks a few rounds of queries, each a sum of
integer vectors whose norm is bounded (`logistic_queries.py`, with the plan). Their answers give a metric, the
gradient steps, class weights and a calibration, and so a model (`logistic_steps.py`). Of a wide table, a
first query selects columns (`columns.py`). The classifier, its fit, and the noise and steps that its plan
allows are in `logistic.py`. `LinearRegressor` asks one query, for the second moments of columns and target,
and computes coefficients and their covariance from the answer; all of it is in `regression.py`.
"""

from dplearn.learners.linear.columns import kept_columns, mass_query, sparse_rows
from dplearn.learners.linear.logistic import (
    MOST_COLUMNS,
    StatisticalQueryLogisticRegression,
    can_be_drawn,
    logistic_plan,
)
from dplearn.learners.linear.logistic_queries import (
    FINEST,
    WEIGHT_UNITS,
    LogisticPlan,
    Mapped,
    label_parts,
    moment_weights,
    products_query,
    score_queries,
)
from dplearn.learners.linear.logistic_steps import (
    BALANCED,
    check_class_weight,
    check_weighted_classes,
    learn_logistic,
    released_weights,
    take_steps,
)
from dplearn.learners.linear.regression import LinearPlan, LinearRegressor, target_moments_query

__all__ = [
    "BALANCED",
    "FINEST",
    "MOST_COLUMNS",
    "WEIGHT_UNITS",
    "LinearPlan",
    "LinearRegressor",
    "LogisticPlan",
    "Mapped",
    "StatisticalQueryLogisticRegression",
    "can_be_drawn",
    "check_class_weight",
    "check_weighted_classes",
    "kept_columns",
    "label_parts",
    "learn_logistic",
    "logistic_plan",
    "mass_query",
    "moment_weights",
    "products_query",
    "released_weights",
    "score_queries",
    "sparse_rows",
    "take_steps",
    "target_moments_query",
]
