"""The point classifier: what it learns, from what input, what it refuses, and what it shows."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from dplearn import PrivacyLedger
from dplearn.domains import DomainError
from dplearn.domains.keys import read_keys, spelled
from dplearn.learners.point import PointClassifier
from dplearn.preprocessing import CellEncoder
from dplearn.privacy import BudgetExceededError

METHODS = {"stability": {"delta": 1e-6}, "hashing": {}}


def learner(method, /, **parameters):
    chosen = {"method": method, "epsilon": 2.0, "classes": [0, 1], "random_state": 0}
    return PointClassifier(**chosen | METHODS[method] | parameters)


def data(key="J45", n=600):
    cells = [key if i % 3 == 0 else f"other {i}" for i in range(n)]
    return cells, [int(i % 3 == 0) for i in range(n)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("key", ["J45", 7, 7.5, None, b"x", True, 10**30])
def test_each_method_finds_the_key(method, key):
    cells, y = data(key)
    fitted = learner(method).fit([[cell] for cell in cells], y)
    assert not fitted.abstained_
    assert fitted.method_ == method
    assert fitted.score([[cell] for cell in cells], y) > 0.98
    assert fitted.predict([[key], ["never seen"]]).tolist() == [1, 0]
    if method == "stability":
        assert fitted.point_ == key
        assert fitted.hash_ is None
        assert fitted.guarantee_.delta == Fraction(1, 10**6)
    else:
        assert fitted.point_ == fitted.hash_.bucket(spelled(read_keys([key])[0]))
        assert fitted.guarantee_.delta == 0


HOLDERS = {
    "lists": lambda cells: [[cell] for cell in cells],
    "objects": lambda cells: np.array(cells, dtype=object)[:, None],
    "texts": lambda cells: np.array(cells)[:, None],
    "pandas": lambda cells: pd.DataFrame({"code": cells}),
    "categorical": lambda cells: pd.DataFrame({"code": pd.Categorical(cells)}),
    "polars": lambda cells: pl.DataFrame({"code": cells}),
}


@pytest.mark.parametrize("method", METHODS)
def test_any_holder_gives_the_same_rule(method):
    cells, y = data()
    rules = {repr(learner(method).fit(hold(cells), y).point_) for hold in HOLDERS.values()}
    assert len(rules) == 1


@pytest.mark.parametrize("method", METHODS)
def test_whole_numbers_in_float_columns_with_gaps_are_the_same_keys(method):
    cells = [7 if i % 3 == 0 else i + 100 for i in range(600)]
    y = [int(cell == 7) for cell in cells]
    with_gap = pd.DataFrame({"code": [*cells[:-1], None]})
    assert with_gap["code"].dtype == float
    fitted = learner(method).fit(with_gap, y)
    assert [fitted.predict(pd.DataFrame({"code": [key]})).tolist() for key in (7, 7.0, "7")] == [
        [1],
        [1],
        [0],
    ]


@pytest.mark.parametrize("method", METHODS)
def test_a_row_of_several_columns_is_a_key(method):
    cells, y = data()
    X = pd.DataFrame({"code": cells, "year": [2020 + (i % 3 != 0) for i in range(600)]})
    fitted = learner(method).fit(X, y)
    found = fitted.predict(pd.DataFrame({"code": ["J45", "J45"], "year": [2020, 2021]}))
    assert found.tolist() == [1, 0]
    assert "(code, year)" in repr(fitted.concept_)


def test_the_second_label_sorted_is_the_points():
    cells, y = data()
    fitted = learner("stability", classes=["yes", "no"]).fit(
        [[cell] for cell in cells], np.array(["no", "yes"])[y]
    )
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert repr(fitted.concept_) == "'yes' if x0 == 'J45', else 'no'"
    assert fitted.predict_proba([["J45"], ["E11"]]).tolist() == [[0, 1], [1, 0]]


def test_where_no_key_leads_it_abstains_and_predicts_the_first_label():
    X = [["a"], ["b"]] * 200
    fitted = learner("stability").fit(X, [1] * 400)
    assert fitted.abstained_
    assert fitted.point_ is None
    assert repr(fitted.concept_) == "0 always"
    assert fitted.predict(X).sum() == 0


def test_negatives_at_a_frequent_key_outvote_its_positives():
    X = [["common"]] * 300 + [["true"]] * 60
    y = [1] * 100 + [0] * 200 + [1] * 60
    for method in METHODS:
        assert learner(method).fit(X, y).predict([["common"], ["true"]]).tolist() == [0, 1]


def test_auto_goes_by_delta():
    cells, y = data()
    X = [[cell] for cell in cells]
    assert learner("stability", method="auto").fit(X, y).method_ == "stability"
    assert learner("hashing", method="auto").fit(X, y).method_ == "hashing"
    assert learner("hashing", delta=1e-6).fit(X, y).guarantee_.delta == 0


def test_the_hash_is_a_matter_of_the_seed_alone():
    cells, y = data()
    one = learner("hashing").fit([[cell] for cell in cells], y)
    other = learner("hashing").fit([[cell] for cell in cells[::-1]], y)
    assert one.hash_ == other.hash_ != learner("hashing", random_state=1).fit([["a"], ["b"]], [0, 1]).hash_
    fresh = [learner("hashing", random_state=None).fit([["a"], ["b"]], [0, 1]).hash_ for _ in range(2)]
    assert fresh[0] != fresh[1]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"method": "stability", "delta": 0}, "delta"),
        ({"method": "magic"}, "method"),
        ({"alpha": 1}, "alpha"),
        ({"beta": 0}, "beta"),
        ({"n_buckets": 6}, "power of two"),
        ({"n_buckets": 1 << 25}, "power of two"),
        ({"n_buckets": "many"}, "n_buckets"),
        ({"classes": [0, 1, 2]}, "2 classes"),
        ({"epsilon": 1e-9, "delta": 1e-6, "method": "stability"}, "epsilon"),
    ],
)
def test_parameters_are_refused_before_anything_is_read(parameters, words):
    with pytest.raises((TypeError, ValueError), match=words):
        learner("hashing", **parameters).fit(object(), object())


def test_keys_of_other_types_are_refused_unseen_and_unpaid():
    ledger = PrivacyLedger(2, 1e-6, allow_reproducible=True)
    for X in ([["a"], [{"secret": 1}]], pd.DataFrame({"t": pd.to_datetime(["2020-01-01", None])})):
        with pytest.raises((DomainError, TypeError)) as refused:
            learner("stability", ledger=ledger).fit(X, [0, 1])
        assert "secret" not in str(refused.value)
        assert "2020" not in str(refused.value)
    assert ledger.history() == []


def test_the_ledger_is_charged_by_every_fit_of_every_copy():
    ledger = PrivacyLedger(4, 2e-6, allow_reproducible=True)
    model = learner("stability", ledger=ledger)
    for each in (model, clone(model)):
        each.fit([["a"], ["b"]], [0, 1])
    assert ledger.spent().epsilon == 4
    with pytest.raises(BudgetExceededError):
        clone(model).fit(object(), object())


def test_nothing_of_the_data_is_kept():
    cells, y = data()
    fitted = learner("stability").fit([[cell] for cell in cells], y)
    assert b"other" not in pickle.dumps(fitted)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict([["J45"]]).tolist() == [1]


def test_a_plan_is_what_the_fit_promises():
    for method in METHODS:
        model = learner(method)
        plan = model.plan(500)
        fitted = model.fit([["a"], ["b"]], [0, 1])
        assert (plan.guarantee.epsilon, plan.guarantee.delta) == (2, fitted.guarantee_.delta)
        assert plan.method == fitted.method_
        assert plan.failure <= 0.05 or plan.n_needed > 500
        assert model.plan(plan.n_needed).failure <= 0.05


def test_long_keys_and_integers_of_many_digits_are_shown_in_short():
    for key, words in (("x" * 500, "..."), (10**5000, "too many digits")):
        cells, y = data(key)
        assert words in repr(learner("stability").fit([[cell] for cell in cells], y).concept_)


def test_it_stands_behind_an_encoder_of_cells():
    cells, y = data()
    X = [[cell] for cell in cells]
    fitted = make_pipeline(CellEncoder(buckets=4096), learner("stability")).fit(X, y)
    assert fitted.score(X, y) > 0.95


@pytest.mark.parametrize(
    "X",
    [
        np.array([["2020-01-01"], ["NaT"]], dtype="M8[D]"),
        np.array([["20200-01-01"], ["2020-01-01"]], dtype="M8[s]"),
        np.array([[5], [7]], dtype="m8[ns]"),
        pl.DataFrame({"when": pl.Series([1, 2**31 - 1], dtype=pl.Int32).cast(pl.Date)}),
        pd.DataFrame({"when": pd.to_datetime(["2020-01-01", None])}),
    ],
    ids=["days", "seconds", "durations", "polars", "pandas"],
)
def test_dates_and_times_are_refused_by_their_type_whatever_they_are(X):
    with pytest.raises(TypeError, match="X must hold text, bytes or numbers, got dtype"):
        PointClassifier(delta=0.5, epsilon=50, classes=[0, 1]).fit(X, [1, 1])


def test_a_plan_promises_what_the_fit_does():
    for classes in (None, ["a", "b"]):
        learner = PointClassifier(delta=1e-6, classes=classes)
        fitted = learner.fit([["k"]] * 40 + [["l"]] * 60, ["b"] * 40 + ["a"] * 60)
        assert learner.plan(100).guarantee == fitted.guarantee_
        assert len(fitted.guarantee_.assumes) == 4


def test_a_method_that_needs_a_delta_says_that_it_is_the_one():
    with pytest.raises(
        ValueError, match="delta with method='stability' must be a finite number above 0, got 0"
    ):
        PointClassifier(method="stability").plan(100)
