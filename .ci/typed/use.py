"""A program as users write it: type checkers must find nothing in it."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import dplearn
from dplearn import AdditiveClassifier, ApproxDP, LinearRegressor, PrivacyLedger, ThresholdClassifier
from dplearn.domains import Grid, Schema
from dplearn.learners import AdditivePlan
from dplearn.model_selection import PrivateSearchCV
from dplearn.releases import median

X = np.arange(200.0).reshape(100, 2)
y = np.repeat([0, 1], 50)

schema = Schema({"age": Grid(0, 120), "hours": Grid(0, 99)}, labels=[0, 1])
ledger = PrivacyLedger(epsilon=2, path=None)
model = AdditiveClassifier(epsilon=1.0, domain=schema, ledger=ledger).fit(X, y)
same: AdditiveClassifier = model
guarantee: ApproxDP = model.guarantee_
epsilon: Fraction = guarantee.for_group(2).epsilon
plan: AdditivePlan = model.plan(1000)
left = ledger.remaining()
assert isinstance(left, ApproxDP)
rest: float = float(left.epsilon)
version: str = dplearn.__version__
predicted: NDArray[np.float64] = LinearRegressor(epsilon=1).fit(X, X[:, 0]).predict(X)
search = PrivateSearchCV(ThresholdClassifier(), {"epsilon": [0.1, 1.0]})
middle = median(X[:, 0], domain=Grid(0, 200), epsilon=1).value
