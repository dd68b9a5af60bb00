"""What a fit says of rows is consistent: labels, probabilities and decisions agree, labels keep their meaning
under other names, several outputs are those of their own columns, and other labels are refused."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from dplearn import AdditiveClassifier, PrivateMultiOutputClassifier
from dplearn.privacy import PrivacyLedger
from tests.laws.conftest import FEW_VALUES, public_rows

pytestmark = pytest.mark.filterwarnings("ignore")


def answers(model, rows, among=("predict", "predict_proba", "decision_function")):
    return {name: np.asarray(getattr(model, name)(rows)) for name in among if hasattr(model, name)}


def is_asked_freely(model):
    """Whether it answers as often as it is asked, and alike."""
    return not get_tags(model).non_deterministic and not hasattr(model, "remaining_queries_")


def assert_labels_are_those_of_the_greatest(fitted, X):
    found = answers(fitted, X)
    labels, classes = found["predict"], np.asarray(fitted.classes_)
    codes = np.searchsorted(classes, labels)
    assert (classes[codes] == labels).all()
    if "predict_proba" in found:
        shares = found["predict_proba"]
        assert shares.shape == (len(X), len(classes))
        assert np.allclose(shares.sum(axis=1), 1)
        assert shares.min() >= 0
        if not hasattr(fitted, "threshold_"):  # which moves the bar of a label
            assert (shares[np.arange(len(X)), codes] >= shares.max(axis=1) - 1e-12).all()
        if hasattr(fitted, "predict_log_proba"):
            with np.errstate(divide="ignore"):
                assert np.allclose(np.exp(fitted.predict_log_proba(X)), shares)
    if "decision_function" in found:
        decided = found["decision_function"]
        decided = np.stack([-decided, decided], axis=1) if decided.ndim == 1 else decided
        assert decided.shape == (len(X), len(classes))
        assert (decided[np.arange(len(X)), codes] >= decided.max(axis=1) - 1e-9).all()


def test_labels_are_those_of_the_greatest_probability_or_decision(one_a_class, classifier, iris, fitted):
    if is_classifier(classifier) and is_asked_freely(fitted):
        assert_labels_are_those_of_the_greatest(fitted, iris[0])
        if len(fitted.classes_) > 2:  # two labels often go another way
            two = clone(classifier).fit(iris[0], iris[1] > 0)
            assert_labels_are_those_of_the_greatest(two, iris[0])


def test_rows_are_answered_one_by_one(one_a_class, classifier, iris, fitted):
    if not is_asked_freely(fitted):
        return
    X, _ = iris
    order = np.random.default_rng(0).permutation(len(X))
    for name, whole in answers(fitted, X).items():
        ask = getattr(fitted, name)
        assert np.allclose(ask(X[order]), whole[order], rtol=1e-9)
        for place in order[:3]:
            assert np.allclose(ask(X[place : place + 1]), whole[place : place + 1], rtol=1e-9)


def test_labels_keep_their_meaning_under_other_names(one_a_class, classifier, iris):
    if not is_classifier(classifier) or not is_asked_freely(classifier):
        return
    X, y = iris
    names = np.array(["alpha", "beta", "gamma"])  # sorted like the numbers, so that codes are alike
    model = clone(classifier).set_params(random_state=3)
    numbers, texts = clone(model).fit(X, y), clone(model).fit(X, names[y])
    if hasattr(numbers, "remaining_queries_"):
        return
    assert texts.classes_.tolist() == names[np.asarray(numbers.classes_)].tolist()
    assert (names[numbers.predict(X)] == texts.predict(X)).all()
    if hasattr(numbers, "predict_proba"):
        assert np.allclose(numbers.predict_proba(X), texts.predict_proba(X))


SECRET = 987_654


def test_declared_classes_are_a_list_and_no_mapping(one_a_class, classifier, iris):
    """The values of `{0: "no", 1: "yes"}` were ignored."""
    if "classes" in classifier.get_params(deep=False):
        X, y = iris
        ledger = PrivacyLedger(1e15, 0.5)
        model = clone(classifier).set_params(classes=dict.fromkeys(np.unique(y), "a name"), ledger=ledger)
        with pytest.raises(TypeError, match=r"classes must be .*, got a mapping"):
            model.fit(X, y)
        assert ledger.history() == []


def test_labels_outside_the_declared_classes_are_refused_before_any_charge(one_a_class, classifier, iris):
    if "classes" not in classifier.get_params():
        return
    X, y = iris
    wrong = y.copy()
    wrong[7] = SECRET
    given = {"protects": getattr(classifier, "protects", "examples"), "allow_reproducible": True}
    ledger = PrivacyLedger(10**15, 0.9, **given)
    model = clone(classifier).set_params(classes=np.unique(y).tolist(), ledger=ledger)
    calls = [lambda labels: model.fit(X, labels, **public_rows(model, X))]
    if model.reads_parts:
        calls.append(lambda labels: model.fit([X[:5], X[5:]], [labels[:5], labels[5:]]))
    if hasattr(model, "partial_fit"):
        calls.append(lambda labels: model.partial_fit(X, labels))
    for call in calls:
        for labels in (wrong, np.where(wrong == SECRET, f"secret {SECRET}", "0"), wrong + 0.5):
            with pytest.raises((TypeError, ValueError)) as refused:
                call(labels)
            assert str(SECRET) not in str(refused.value)
            assert ledger.history() == []
            assert not hasattr(model, "guarantee_")
    model.fit(X, y, **public_rows(model, X))
    assert len(ledger.history()) == 1


SEVERAL = [
    AdditiveClassifier(domain=FEW_VALUES, random_state=0),
    PrivateMultiOutputClassifier(AdditiveClassifier(domain=FEW_VALUES), random_state=0),
]


@pytest.mark.parametrize("model", SEVERAL, ids=lambda each: type(each).__name__)
def test_several_outputs_are_those_of_models_of_one(model):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (600, 2))
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 0] < 0], axis=1).astype(int)
    fitted = clone(model).fit(X, Y)
    found = fitted.predict(X)
    assert found.shape == Y.shape
    for place, right in enumerate(Y.T):  # each column is that of its own output
        others = [np.abs(found[:, place] - other).mean() for other in Y.T]
        assert np.argmin(others) == place, (place, others)
        assert np.abs(found[:, place] - right).mean() < 0.5
    parts = getattr(fitted, "estimators_", [])
    for place, one in enumerate(parts):
        assert (one.predict(X) == found[:, place]).all()
    if hasattr(fitted, "predict_proba"):
        for place, shares in enumerate(fitted.predict_proba(X)):
            assert (shares.argmax(axis=1) == found[:, place]).all()
    alone = fitted.predict(X[5:6])
    assert (alone == found[5:6]).all()
