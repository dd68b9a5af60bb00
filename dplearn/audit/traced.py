"""The learners of this library that fit several labels of a record, as functions that `trace_outputs` traces.

>>> sorted(TRACED)[:2]
['additive', 'each_output']
>>> TRACED["points"].trace().refuted
False
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.multioutput import MultiOutputClassifier

from dplearn.audit.tracing import TraceReport, trace_outputs
from dplearn.chance.dice import Dice
from dplearn.domains import IntegerRange, Schema
from dplearn.learners import (
    AdditiveClassifier,
    ExponentialMechanismClassifier,
    ParityClassifier,
    PointClassifier,
    PrivateMultiOutputClassifier,
    StatisticalQueryNaiveBayes,
    SyntheticDataClassifier,
)
from dplearn.privacy import ApproxDP
from dplearn.releases import SyntheticTable

FitPredict = Callable[[NDArray[np.int64], NDArray[np.int64]], Any]
_LABELS = [0, 1]
_CLAIM = ApproxDP(1, "1e-6")
_AT_ONE = Schema({"x0": IntegerRange(0, 1)})
_ORDERED = IntegerRange(0, 1000)
_ROWS = 10_000  # synthetic records, of which the means of labels are taken


@dataclass(frozen=True)
class TracedLearner:
    """A learner of several labels, and the table that it is traced on."""

    what: str
    fit_predict: Callable[[ApproxDP], FitPredict]
    code: str = "fair"
    n: int = 100
    k: int = 100
    claim: ApproxDP = _CLAIM

    def trace(self, dice: Dice | None = None) -> TraceReport:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "n_samples is", UserWarning)  # few records are intended
            return trace_outputs(
                self.fit_predict(self.claim), self.n, self.k, code=self.code, claim=self.claim, dice=dice
            )


def predicted(make: Callable[[ApproxDP], Any]) -> Callable[[ApproxDP], FitPredict]:
    """Return, for each claim, the function that fits a classifier of several labels and predicts them."""

    def of_claim(claim: ApproxDP) -> FitPredict:
        def fit_predict(X: NDArray[np.int64], Y: NDArray[np.int64]) -> NDArray[np.float64]:
            model = make(claim).fit(X, Y)
            if hasattr(model, "predict_proba"):
                labels = np.stack([each[:, -1] for each in model.predict_proba(X)], axis=1)
            else:
                labels = np.asarray(model.predict(X), dtype=np.float64)
            return labels[0] if X.min() == X.max() else labels

        return fit_predict

    return of_claim


def _budget(claim: ApproxDP) -> dict[str, Any]:
    return {"epsilon": claim.epsilon, "delta": claim.delta, "classes": _LABELS}


def _each(inner: Any) -> Callable[[ApproxDP], FitPredict]:
    """Return a classifier for each output, within one budget."""
    return predicted(lambda claim: PrivateMultiOutputClassifier(inner, **_budget(claim)))


def _synthetic(claim: ApproxDP) -> FitPredict:
    """Return the means of the labels of synthetic records."""

    def fit_predict(X: NDArray[np.int64], Y: NDArray[np.int64]) -> NDArray[np.float64]:
        domain = Schema({f"x{i}": IntegerRange(0, 1) for i in range(Y.shape[1] + 1)})
        budget: dict[str, Any] = {"epsilon": claim.epsilon, "delta": claim.delta}
        table = SyntheticTable(domain=domain, degree=1, **budget)
        rows = table.fit(np.hstack([X, Y])).sample(_ROWS)
        return np.asarray(rows, dtype=np.float64)[:, 1:].mean(axis=0)

    return fit_predict


def _whole_price(claim: ApproxDP) -> Any:
    """Return scikit-learn's classifier of each output, each of which spends the whole epsilon."""
    learner = ExponentialMechanismClassifier("thresholds", domain=IntegerRange(0, 1), classes=_LABELS)
    return MultiOutputClassifier(learner.set_params(epsilon=claim.epsilon))


#: Learners by name, each with the claim (1, 1e-6).
TRACED: dict[str, TracedLearner] = {
    "each_output": TracedLearner(
        "PrivateMultiOutputClassifier, exponential mechanism",
        _each(ExponentialMechanismClassifier("thresholds", domain=IntegerRange(0, 1))),
    ),
    "each_threshold": TracedLearner(
        "PrivateMultiOutputClassifier, thresholds",
        _each(ExponentialMechanismClassifier("thresholds", domain=_ORDERED)),
        code="thresholds",
    ),
    "naive_bayes": TracedLearner(
        "PrivateMultiOutputClassifier, naive Bayes", _each(StatisticalQueryNaiveBayes(domain=_AT_ONE))
    ),
    "synthetic_classifier": TracedLearner(
        "PrivateMultiOutputClassifier, synthetic records",
        _each(SyntheticDataClassifier(DummyClassifier(), domain=_AT_ONE)),
    ),
    "additive": TracedLearner(
        "AdditiveClassifier", predicted(lambda claim: AdditiveClassifier(domain=_AT_ONE, **_budget(claim)))
    ),
    "points": TracedLearner("PointClassifier", predicted(lambda claim: PointClassifier(**_budget(claim)))),
    "parities": TracedLearner(
        "ParityClassifier", predicted(lambda claim: ParityClassifier(method="stable", **_budget(claim)))
    ),
    "synthetic_table": TracedLearner("SyntheticTable", _synthetic, k=30),
}

#: What must be refuted: k outputs, each at the whole price.
CONTROL = TracedLearner(
    "control: each of 1,500 outputs at the whole price",
    predicted(_whole_price),
    n=200,
    k=1500,
    claim=ApproxDP(1),
)
