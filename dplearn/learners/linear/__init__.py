"""Linear models by statistical queries: logistic regression of labels, linear regression of a number.

How data flow: the declared domain turns each record into a row of numbers (`columns.py`).
`StatisticalQueryLogisticRegression` scales rows to one norm and asks a few rounds of queries, each a sum of
integer vectors whose norm is bounded (`logistic_queries.py`, with the plan). Their answers give a metric, the
gradient steps, class weights and a calibration, and so a model (`logistic_steps.py`). Of a wide table, a
first query selects columns (`columns.py`). The classifier, its fit, and the noise and steps that its plan
allows are in `logistic.py`. `LinearRegressor` asks one query, for the second moments of columns and target,
and computes coefficients and their covariance from the answer; all of it is in `regression.py`.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
