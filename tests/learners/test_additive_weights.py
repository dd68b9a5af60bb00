"""Class weights of additive models shift the margins, so that predictions are those of weighted labels."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score
from sklearn.utils.class_weight import compute_class_weight

from dplearn import AdditiveClassifier, PrivacyLedger, PrivateMultiOutputClassifier
from dplearn.domains import Grid
from dplearn.learners.additive.losses import (
    LogisticLoss,
    SoftmaxLoss,
    weighted,
    weights_of,
)

X, Y = make_classification(
    8000, 4, n_informative=4, n_redundant=0, weights=[0.97], class_sep=1.5, flip_y=0, random_state=0
)
X = X.clip(-5, 5)
MODEL = AdditiveClassifier(
    domain=Grid(-5, 5, 65), interactions=False, classes=[0, 1], epsilon=10, random_state=0
)


@pytest.mark.parametrize("clip", [Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("logit", [-9.0, -0.7, -0.1, 0.0, 0.3, 4.0])
def test_a_margin_has_its_logit_with_residuals_clipped_or_not(clip, logit):
    loss = LogisticLoss(clip)
    first, second = loss.probabilities(np.array([[loss.margin_of(logit)]]))[0]
    assert np.log(second / first) == pytest.approx(logit, abs=1e-9)
    assert np.isfinite([loss.margin_of(1e4), loss.margin_of(-1e4)]).all()


@pytest.mark.parametrize("loss", [LogisticLoss(Fraction(1, 2)), LogisticLoss(Fraction(1)), SoftmaxLoss(3)])
def test_the_signs_of_shifted_margins_are_those_of_weighted_labels(loss):
    k = max(2, loss.n_outputs)
    weights = np.array([0.2, 7.0, 1.5][:k])
    margins = np.random.default_rng(0).normal(0, 3, (500, loss.n_outputs))
    likely = weighted(loss.probabilities(margins), weights)
    moved = margins + loss.shift(weights)
    codes = (moved[:, 0] > 0).astype(int) if k == 2 else moved.argmax(axis=1)
    assert (likely.argmax(axis=1) == codes).all()
    assert likely.sum(axis=1) == pytest.approx(1)
    assert loss.shift(np.ones(k)).tolist() == [0.0] * loss.n_outputs


def test_balanced_weights_are_scikit_learns_of_noisy_shares():
    fitted = clone(MODEL).set_params(class_weight="balanced").fit(X, Y)
    exact = compute_class_weight("balanced", classes=np.array([0, 1]), y=Y)
    assert fitted.class_weight_ == pytest.approx(exact, rel=0.1)
    rarest = weights_of("balanced", None, np.array([0.998, 0.002]))
    assert rarest[1] == pytest.approx(250)  # no noisy share is below .002
    alone = clone(fitted).fit(X, np.zeros(len(X), dtype=int))
    assert alone.class_weight_.max() == pytest.approx(250, rel=0.01)


@pytest.mark.parametrize("class_weight", ["balanced", {1: 30}, {0: 0.1, 1: 3.0}])
def test_rare_labels_are_found_and_predictions_agree_with_probabilities(class_weight):
    plain = clone(MODEL).fit(X, Y)
    fitted = clone(MODEL).set_params(class_weight=class_weight).fit(X, Y)
    predicted = fitted.predict(X)
    assert recall_score(Y, plain.predict(X)) < 0.5
    assert recall_score(Y, predicted) > 0.6
    assert ((fitted.predict_proba(X)[:, 1] > 0.5) == predicted).all()
    assert ((fitted.decision_function(X) > 0) == predicted).all()
    assert plain.class_weight_.tolist() == [1, 1]


def test_weights_change_neither_the_plan_nor_the_effects_of_a_fit():
    plain, given = (clone(MODEL).set_params(class_weight=weight) for weight in (None, {1: 9.0}))
    assert plain.plan(8000, n_features=4) == given.plan(8000, n_features=4)
    given._context = plain._context  # the same noise
    plain.fit(X, Y)
    given.fit(X, Y)
    for one, other in zip(plain.shapes_, given.shapes_, strict=True):
        np.testing.assert_array_equal(one.effects, other.effects)
    assert given.intercept_[0] > plain.intercept_[0]
    first, second = plain.predict_proba(X).T
    assert given.predict_proba(X)[:, 1] == pytest.approx(9 * second / (9 * second + first))


def test_of_more_labels_a_linear_fit_asks_for_shares_only_if_they_are_needed():
    y = np.array(["a", "b", "c"])[np.random.default_rng(0).choice(3, 150, p=[0.9, 0.05, 0.05])]
    learner = clone(MODEL).set_params(classes=["a", "b", "c"], epsilon=1, interactions="auto")
    plans = [
        clone(learner).set_params(class_weight=weight).plan(150, n_features=4)
        for weight in (None, "balanced", {"a": 0.1})
    ]
    assert all(plan.linear and sum(plan.shares) == 1 for plan in plans)
    assert plans[1].n_queries == plans[0].n_queries + 1 == plans[2].n_queries + 1
    for weight in ("balanced", {"a": 0.1}):
        fitted = clone(learner).set_params(class_weight=weight).fit(X[:150], y)
        assert np.argmax(fitted.class_weight_) > 0
        assert (fitted.predict_proba(X).argmax(axis=1) == fitted.decision_function(X).argmax(axis=1)).all()


@pytest.mark.nightly
def test_several_outputs_have_weights_by_a_model_each():
    several = np.column_stack([Y, 1 - Y])
    weighted_each = clone(MODEL).set_params(class_weight="balanced", random_state=None)
    fitted = PrivateMultiOutputClassifier(weighted_each, epsilon=20, random_state=0).fit(X, several)
    assert recall_score(Y, fitted.predict(X)[:, 0]) > 0.5
    plain = clone(MODEL).fit(X, several)
    assert not hasattr(plain, "class_weight_")
    assert [each.class_weight_.tolist() for each in plain.estimators_] == [[1, 1]] * 2


@pytest.mark.parametrize(
    ("class_weight", "outputs", "error", "message"),
    [
        ("even", 1, ValueError, "class_weight must be None, 'balanced' or a dict from labels to weights"),
        (3, 1, TypeError, "class_weight must be None, 'balanced' or a dict from labels to weights, got 3"),
        ({1: 0}, 1, ValueError, r"class_weight\[1\] must be a finite number above 0, got 0"),
        ({"1": 2}, 1, ValueError, "class_weight must have labels of the classes as its keys, got '1'"),
        ([{1: 2}], 1, TypeError, "class_weight must be None, 'balanced' or a dict"),
        ({1: 2}, 2, ValueError, "class_weight must be None for several outputs, got {1: 2.0} and 2 outputs"),
        ("balanced", 2, ValueError, "class_weight must be None for several outputs"),
    ],
)
def test_bad_weights_are_refused_before_anything_is_spent(class_weight, outputs, error, message):
    ledger = PrivacyLedger(20, 1e-4, allow_reproducible=True)
    model = clone(MODEL).set_params(class_weight=class_weight, ledger=ledger)
    with pytest.raises(error, match=message):
        model.fit(X, Y if outputs == 1 else np.column_stack([Y, Y]))
    assert ledger.spent().epsilon == 0
