"""Linear models by statistical queries: logistic regression of labels, linear regression of a number.

How data flow: the declared domain turns each record into a row of numbers (`columns.py`), where a first query
may select columns of a wide table. `StatisticalQueryLogisticRegression` (`logistic.py`) scales rows to one
norm and asks a few rounds of queries, sums of integer vectors of bounded norm (`logistic_queries.py`); the
answers give a metric, gradient steps, class weights and a calibration (`logistic_steps.py`).
`LinearRegressor` asks one query, for second moments, and computes coefficients from the answer
(`regression.py`).
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
