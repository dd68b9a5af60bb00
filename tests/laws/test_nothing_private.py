"""Nothing that can be printed, saved, looked at or raised holds a value of the table."""

import io
import pickle
import struct
import traceback
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from dplearn import ExponentialMechanismClassifier, PrivateLabelsClassifier
from dplearn.chance import SystemDice
from dplearn.domains import Categories, Floats, Hashed, IntegerRange, Product
from dplearn.mechanisms import AboveThreshold, sparse_vector
from dplearn.preprocessing import CellEncoder
from dplearn.privacy import ApproxDP, LedgerError, OneTimeState, PrivacyLedger

# What is pickled here is looked at, and not meant to predict.
pytestmark = pytest.mark.filterwarnings("ignore:n_(teachers|samples) is", "ignore:a pickle of")

SECRET = 987654.321987  # on no grid of cuts, so that no released cut can equal it
SECRET_TEXT = "canary-9f3b"


def traces(*secrets):
    """Every form in which a value of the table may turn up in text or bytes."""
    for secret in secrets:
        yield str(secret).encode()
        if isinstance(secret, float):
            yield struct.pack("<d", secret)
            yield struct.pack(">d", secret)
            yield str(int(secret)).encode()


def shown_by(estimator):
    """Everything an estimator says about itself, as bytes."""
    file = io.BytesIO()
    joblib.dump(estimator, file)
    texts = [repr(estimator), str(estimator), estimator._repr_html_(), repr(estimator.get_params())]
    texts += [repr(vars(estimator)), repr(sorted(vars(estimator).items()))]
    if guarantee := getattr(estimator, "guarantee_", None):
        texts += [repr(guarantee), guarantee.to_json(), guarantee.sentence(), guarantee._repr_html_()]
    if ledger := estimator.ledger:
        texts += [repr(ledger), str(ledger), ledger._repr_html_(), ledger.to_json(), repr(ledger.history())]
    return [pickle.dumps(estimator), file.getvalue(), *(text.encode() for text in texts)]


def assert_untold(shown, *secrets):
    for given in shown:
        for trace in traces(*secrets):
            assert trace not in given


def error_of(action):
    """The whole text of what an action raises, notes and causes included."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises((Exception, LedgerError)) as raised:
            action()
    # The lines of a traceback hold code and no values.
    return ["".join(traceback.format_exception(raised.value)).encode(), repr(caught).encode()]


@pytest.fixture
def secretive(iris):
    """The table with one record that holds the secret in every column."""
    X, y = iris
    X = X.copy()
    X[7] = SECRET
    return X, y


def test_a_fitted_estimator_tells_no_value_and_one_that_is_left_behind_is_found(
    one_a_class, classifier, secretive, budget
):
    fitted = clone(classifier).set_params(ledger=budget(1)).fit(*secretive)
    if not isinstance(
        classifier, PrivateLabelsClassifier
    ):  # its classifier may hold features, which are public
        assert_untold(shown_by(fitted), SECRET)
    assert_untold(error_of(lambda: fitted.predict(secretive[0][:, :2])), SECRET)
    for left_behind in (SECRET, secretive[0], {"row": [SECRET]}):
        fitted.row_ = left_behind
        with pytest.raises(AssertionError):
            assert_untold(shown_by(fitted), SECRET)


def test_no_error_of_fit_tells_a_value(one_a_class, classifier, secretive, budget):
    X, y = secretive
    text = np.array([SECRET_TEXT, *["setosa"] * (len(y) - 1)], dtype=object)
    bad = X.copy()
    bad[3, 0] = np.inf
    spent = budget(1)
    clone(classifier).set_params(ledger=spent).fit(X, y)

    def learner(**parameters):
        return clone(classifier).set_params(**parameters)

    refuses_gaps = not get_tags(classifier).input_tags.allow_nan  # else a shard with one learns less
    for action in (
        *([lambda: learner().fit(bad, y)] if refuses_gaps else []),
        lambda: learner().fit(X, y[:-1]),
        lambda: learner().fit(X[:0], y[:0]),
        lambda: learner(classes=["setosa", "virginica"]).fit(X, text),
        lambda: learner(ledger=spent).fit(X, y),
        lambda: learner(epsilon=-1).fit(X, y),
        lambda: learner(domain=IntegerRange(0, 9), concept_class="stumps").fit(X, y),
    ):
        assert_untold(error_of(action), SECRET, SECRET_TEXT)
    unfitted = learner()
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


@pytest.mark.parametrize(
    "as_table", [pd.DataFrame, lambda table: list(map(list, zip(*table.values(), strict=True)))]
)
def test_text_of_any_column_is_told_nowhere(as_table):
    n = 60
    table = {
        "wage": [SECRET] + [float(i) for i in range(1, n)],
        "job": [SECRET_TEXT] + ["clerk"] * (n - 1),
        "town": [SECRET_TEXT] + ["Ulm", "Bonn", "Kiel"] * ((n - 1) // 3) + ["Ulm"] * ((n - 1) % 3),
    }
    domain = Product([Floats(), Categories(["clerk"], other=True), Hashed(64)])
    y = ["yes", "no"] * (n // 2)
    fitted = ExponentialMechanismClassifier(
        epsilon=5.0, domain=domain, classes=["no", "yes"], ledger=PrivacyLedger(10)
    ).fit(as_table(table), y)
    assert_untold(shown_by(fitted), SECRET, SECRET_TEXT)
    narrow = ExponentialMechanismClassifier(domain=[Floats(), Categories(["clerk"]), Categories(["Ulm"])])
    assert_untold(error_of(lambda: narrow.fit(as_table(table), y)), SECRET, SECRET_TEXT)


def test_an_encoder_of_cells_keeps_no_cell():
    encoder = CellEncoder()
    encoder.fit(pd.DataFrame({"job": [SECRET_TEXT, "clerk"], "wage": [SECRET, 1.0]}))
    shown = [pickle.dumps(encoder), repr(encoder).encode(), repr(vars(encoder)).encode()]
    assert_untold(shown, SECRET, SECRET_TEXT)


def test_a_sparse_vector_tells_neither_values_nor_its_noisy_threshold(monkeypatch):
    kept, hold = [], OneTimeState
    monkeypatch.setattr(sparse_vector, "OneTimeState", lambda state: kept.append(state) or hold(state))
    vector = AboveThreshold(10**6, privacy=ApproxDP(1), dice=SystemDice())
    secret = kept[0].noisy_threshold()
    assert not vector.ask(987654)
    given = [repr(vector), str(vector), repr(vars(vector)), *error_of_pickling(vector)]
    assert_untold([text.encode() for text in given], secret, 987654)


def error_of_pickling(held):
    for save in (pickle.dumps, lambda vector: joblib.dump(vector, io.BytesIO())):
        with pytest.raises(TypeError) as refused:
            save(held)
        yield "".join(traceback.format_exception(refused.value))
