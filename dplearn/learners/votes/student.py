"""Train a student on released answers or scores; post-processing, at no cost.

From answers (`teach`), the student learns each row once with every label whose noisy count exceeds the row's
mean, weighted by the excess: the sum of weights over rows is a nearly unbiased estimate for the votes.

From scores (`teach_scores`), a regressor learns the mean of unclipped scores; clipped ones would bias its
predictions. A classifier that takes weights learns each row with every label, weighted by the label's score
plus a margin, so large that few weights are negative and clipped at 0; the margin is subtracted from its
predictions. One that takes no weights learns the answers, or the labels with the greatest scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from dplearn.learners.votes.aggregators import Answers
from dplearn.learners.votes.standard import standard_estimator
from dplearn.table import plain, rows_of

Floats = NDArray[np.float64]

#: The share of weights that are clipped when scores are noisy. Clipping none needs a margin as wide as the
#: greatest noise; a forest, whose bootstrap samples separate the labels of a row, would then learn little
#: but the margin.
_CLIPPED = 0.05

_STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)
_FOLDS = 5
_STEPS = 200

#: Regularisation of the intercepts. Without it the loss has no minimum if the mean score is outside 0..1.
_PULL = 0.01


def teach(student: Any, X: Any, answers: Answers, classes: NDArray[Any]) -> Any:
    """Return a student fitted to the answered first rows of X; without two labels, it always predicts one."""
    rows = np.flatnonzero(answers.codes >= 0)
    codes, weights = answers.codes[rows], np.ones(rows.size)
    if takes_weights(student):
        excess = (answers.counts - answers.counts.mean(axis=1, keepdims=True)).clip(min=0)
        rows, codes = np.nonzero(excess)
        weights = excess[rows, codes] * np.count_nonzero(answers.codes >= 0) / max(excess.sum(), 1)
    if len(np.unique(codes)) < 2:
        only = classes[codes[:1]] if codes.size else classes[:1]
        return DummyClassifier(strategy="constant", constant=only).fit(np.zeros((1, 1)), only)
    return fit_weighted(clone(student), plain(rows_of(X, rows)), classes[codes], weights)


def takes_weights(student: Any) -> bool:
    """Return True if the student, or the last step of a pipeline, takes `sample_weight`."""
    learned = student.steps[-1][1] if isinstance(student, Pipeline) else student
    return bool(has_fit_parameter(learned, "sample_weight"))


def fit_weighted(student: Any, X: Any, y: NDArray[Any], weights: NDArray[np.float64]) -> Any:
    """Fit a student, with weights if it takes them; a pipeline passes them to its last step."""
    if not takes_weights(student):
        return student.fit(X, y)
    step = f"{student.steps[-1][0]}__" if isinstance(student, Pipeline) else ""
    # With metadata routing every step that accepts weights, even a scaler, would need a request for them.
    with config_context(enable_metadata_routing=False):
        return student.fit(X, y, **{f"{step}sample_weight": weights})


@dataclass(frozen=True, eq=False)
class SoftStudent:
    """A student fitted to released scores; its predictions cost no privacy."""

    classes_: NDArray[Any]
    model: Any  # a fitted classifier, or regressor of scores
    margin: float = 0.0  # of a classifier's weights

    @property
    def models(self) -> Sequence[Any]:
        """The fitted models that it consists of; none if its scores are constant."""
        alone = [] if isinstance(self.model, DummyRegressor) else [self.model]
        return self.model.estimators_ if isinstance(self.model, MultiOutputRegressor) else alone

    def _scores(self, X: Any) -> Floats:
        """Return scores: one column for two labels, or one column a label."""
        if is_regressor(self.model):
            predicted = np.asarray(self.model.predict(X))
            return predicted.reshape(len(predicted), -1)
        if not hasattr(self.model, "predict_proba"):
            return np.equal(self.model.predict(X)[:, None], self.classes_).astype(np.float64)
        known = self.model.predict_proba(X)
        scores = np.zeros((len(known), len(self.classes_)))
        scores[:, np.searchsorted(self.classes_, self.model.classes_)] = known
        return scores * (1 + len(self.classes_) * self.margin) - self.margin

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of all labels; costs no privacy."""
        scores = np.clip(self._scores(X), 0, 1)
        if scores.shape[1] == 1:
            return np.hstack([1 - scores, scores])
        scores[scores.sum(axis=1) == 0] = 1
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the greatest probability for each row, of shape (n,); costs no privacy."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def teach_scores(student: Any, X: Any, scores: Floats, classes: NDArray[Any]) -> SoftStudent:
    """Return a student fitted to the first rows of X, those with released scores; a nan is an abstention."""
    rows = np.flatnonzero(~np.isnan(scores).any(axis=1))
    scores = scores[rows]
    if not rows.size:
        return SoftStudent(classes, _constant(np.full(len(classes), 1 / len(classes))))
    if is_regressor(student):
        learns, targets = student.steps[-1][1] if isinstance(student, Pipeline) else student, scores
        if scores.shape[1] == 1:
            targets = scores[:, 0]
        elif not get_tags(learns).target_tags.multi_output:
            student = MultiOutputRegressor(student)
        return SoftStudent(classes, clone(student).fit(plain(rows_of(X, rows)), targets))
    shares, margin = _shares(scores), 0.0
    if takes_weights(student):
        margin = max(0.0, -float(np.quantile(shares, _CLIPPED)))
        weights = (shares.T + margin).clip(min=0) / (1 + len(classes) * margin)
    else:
        weights = (shares.argmax(axis=1) == np.arange(len(classes))[:, None]).astype(np.float64)
    codes, places = np.nonzero(weights > 0)
    if len(np.unique(codes)) < 2:
        return SoftStudent(classes, _constant(scores.mean(axis=0)))
    X = plain(rows_of(X, rows[places]))
    return SoftStudent(
        classes, fit_weighted(clone(student), X, classes[codes], weights[codes, places]), margin
    )


def standard_soft_student(X: Any) -> Pipeline:
    """Return the default student, unfitted, for tables like X; it ends in a `ScoreRegression`."""
    return Pipeline([*standard_estimator(X, C=1).steps[:-1], ("scoreregression", ScoreRegression())])


def _constant(scores: Floats) -> DummyRegressor:
    """Return a model with the same scores for every row."""
    return DummyRegressor(strategy="constant", constant=scores).fit(np.zeros((1, 1)), scores[None])


def _shares(scores: Floats) -> Floats:
    """Return scores with one column per label, shifted by the same number within a row to the sum 1."""
    if scores.shape[1] == 1:
        return np.hstack([1 - scores, scores])
    return scores + (1 - scores.sum(axis=1, keepdims=True)) / scores.shape[1]


class ScoreRegression(RegressorMixin, BaseEstimator):
    """A multinomial logistic regression on scores instead of labels.

    The loss of a row, log sum exp(z) - <s, z>, is linear in its scores, so that noise of mean zero does not
    change its expectation. `C` is the inverse strength of regularisation; None: by cross-validation.
    """

    def __init__(self, C: float | None = None):
        self.C = C

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the regression; `y` has the scores of the second of two labels, or of each label."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True, dtype=np.float64
        )
        scores = (
            np.column_stack([1 - y, y]) if y.ndim == 1 else y + (1 - y.sum(axis=1, keepdims=True)) / len(y[0])
        )
        self.C_ = _best_strength(X, scores) if self.C is None else self.C
        weights = _fitted(X, scores, self.C_, np.zeros((X.shape[1] + 1, scores.shape[1])))
        self.coef_, self.intercept_ = weights[:-1].T, weights[-1]
        self._one_column = y.ndim == 1
        return self

    def predict(self, X: Any) -> Floats:
        """Return probabilities of the second label if `y` was one-dimensional, else of each label."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        probabilities = _curve(X, np.vstack([self.coef_.T, self.intercept_]))
        return probabilities[:, 1] if self._one_column else probabilities

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


def _best_strength(X: Any, scores: Floats) -> float:
    """Return the inverse strength of regularisation with the least squared error in cross-validation."""
    errors = np.zeros(len(_STRENGTHS))
    for turn in range(_FOLDS):
        held = np.arange(len(scores)) % _FOLDS == turn
        weights = np.zeros((X.shape[1] + 1, scores.shape[1]))
        for place, strength in enumerate(_STRENGTHS):
            weights = _fitted(X[~held], scores[~held], strength, weights)
            errors[place] += ((_curve(X[held], weights) - scores[held]) ** 2).sum()
    return _STRENGTHS[int(errors.argmin())]


def _fitted(X: Any, scores: Floats, strength: float, start: Floats) -> Floats:
    """Return the coefficients, and intercepts in the last row, that minimise the penalised loss."""
    pull = np.append(np.full(X.shape[1], 1 / strength), _PULL)[:, None]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(start.shape)
        heights = _heights(X, weights)
        top = logsumexp(heights, axis=1, keepdims=True)
        error = np.exp(heights - top) - scores
        value = top.sum() - (scores * heights).sum() + (pull * weights**2).sum() / 2
        slope = np.vstack([X.T @ error, error.sum(axis=0)]) + pull * weights
        return value, slope.ravel()

    best = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return best.x.reshape(start.shape)


def _curve(X: Any, weights: Floats) -> Floats:
    return softmax(_heights(X, weights), axis=1)


def _heights(X: Any, weights: Floats) -> Floats:
    return X @ weights[:-1] + weights[-1]
