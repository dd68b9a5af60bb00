"""The point classifier: what it learns, from what input, what it refuses, and what it shows."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from dplearn import PrivacyLedger
from dplearn.audit import FaultyDice
from dplearn.chance import SystemDice
from dplearn.domains import DomainError
from dplearn.domains.keys import read_keys, spelled
from dplearn.learners.rules.point import PointClassifier
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


# --- Several labels ---


def many_labels(n=2000, k=5):
    """Records at k + 1 keys; output j is 1 at key j alone, and output 0 shares its key with the last."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, k + 1, n)
    Y = (places[:, None] == [0, *range(1, k - 1), 0]).astype(int)
    return [[f"site {place}"] for place in places], Y


def test_a_key_is_learned_for_each_output():
    X, Y = many_labels()
    fitted = learner("stability").fit(X, Y)
    assert fitted.point_ == ["site 0", "site 1", "site 2", "site 3", "site 0"]
    assert fitted.abstained_.tolist() == [False] * 5
    assert [labels.tolist() for labels in fitted.classes_] == [[0, 1]] * 5
    assert repr(fitted.concept_[1]) == "1 if x0 == 'site 1', else 0"
    assert fitted.hash_ is None
    assert (fitted.predict(X) == Y).all()
    assert fitted.predict([["never seen"]]).tolist() == [[0] * 5]
    assert fitted.score(X, Y) == 1
    likely = fitted.predict_proba(X)
    assert [each.shape for each in likely] == [(2000, 2)] * 5
    assert (np.array([each[:, 1] for each in likely]).T == Y).all()


def test_several_labels_cost_what_one_costs():
    X, Y = many_labels(k=40)
    ledger = PrivacyLedger(2, 1e-6, allow_reproducible=True)
    several = learner("stability", ledger=ledger).fit(X, Y)
    assert several.guarantee_ == learner("stability").fit(X, Y[:, 0]).guarantee_
    assert ledger.spent().epsilon == 2
    assert several.score(X, Y) == 1


@pytest.mark.parametrize(
    "holder",
    [np.ndarray.tolist, lambda Y: pd.DataFrame(Y).rename(columns=str), lambda Y: pl.DataFrame(Y)],
    ids=["list", "pandas", "polars"],
)
def test_several_labels_are_read_from_lists_and_frames(holder):
    X, Y = many_labels()
    fitted = learner("stability").fit(X, holder(Y))
    assert fitted.point_ == learner("stability").fit(X, Y).point_
    assert fitted.score(X, holder(Y)) == 1


def test_labels_of_each_output_have_their_own_names():
    X, Y = many_labels(k=2)
    named = np.column_stack([np.array(["no", "yes"])[Y[:, 0]], np.array(["-", "fever"])[Y[:, 1]]])
    declared = [["yes", "no"], ["fever", "-"]]
    fitted = learner("stability", classes=declared).fit(X, named)
    assert [labels.tolist() for labels in fitted.classes_] == [["no", "yes"], ["-", "fever"]]
    assert (fitted.predict(X) == named).all()
    mixed = [[str(a), int(b)] for a, b in zip(named[:, 0], Y[:, 1], strict=True)]
    of_both = learner("stability", classes=None).fit(X, mixed)
    assert of_both.predict(X[:1]).dtype == object
    assert of_both.score(X, mixed) == of_both.score(X, pd.DataFrame(mixed)) == 1


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("method", METHODS)
def test_a_column_of_labels_is_one_label(method):
    cells, y = data()
    X = [[cell] for cell in cells]
    alone = learner(method).fit(X, y)
    for column in (np.array(y)[:, None], [[label] for label in y], pd.DataFrame({"y": y})):
        fitted = learner(method).fit(X, column)
        assert fitted.point_ == alone.point_
        assert fitted.abstained_ is False
        assert fitted.classes_.tolist() == [0, 1]
        assert fitted.predict(X).shape == (600,)


def test_an_output_without_a_frequent_key_abstains_alone():
    X = [[None]] * 200 + [[f"other {i}"] for i in range(400)]
    Y = [[1, 0, 0]] * 200 + [[0, i % 2, 0] for i in range(400)]
    fitted = learner("stability").fit(X, Y)
    assert fitted.point_ == [None, None, None]
    assert fitted.abstained_.tolist() == [False, True, True]
    assert fitted.predict([[None], ["other 1"]]).tolist() == [[1, 0, 0], [0, 0, 0]]


def test_of_several_keys_the_most_frequent_is_taken_and_of_equal_counts_the_first():
    X = [["b"]] * 90 + [["c"]] * 90 + [["a"]] * 30 + [["d"]] * 20
    Y = [[1, 1]] * 60 + [[1, 0]] * 30 + [[0, 1]] * 90 + [[1, 0]] * 50
    assert learner("stability", epsilon=1e5).fit(X, Y).point_ == ["b", "c"]
    tied = [["b"]] * 50 + [["a"]] * 50
    assert learner("stability", epsilon=1e5).fit(tied, [[1, 1]] * 100).point_ == ["a", "a"]


def test_more_labels_than_bits_of_a_byte_are_kept_apart():
    keys = list(range(20))
    X, Y = [[key] for key in keys for _ in range(60)], np.repeat(np.eye(20, dtype=int), 60, axis=0)
    fitted = learner("stability", epsilon=4.0).fit(X, Y)
    assert fitted.point_ == keys
    assert (fitted.predict(X) == Y).all()


@pytest.mark.parametrize("parameters", [{"method": "hashing", "delta": 1e-6}, {"method": "auto", "delta": 0}])
def test_hashing_takes_one_output_and_says_so_before_anything_is_charged(parameters):
    X, Y = many_labels()
    ledger = PrivacyLedger(10, 0.1)
    model = PointClassifier(ledger=ledger, **parameters)
    message = (
        "the number of outputs must be 1 with method='hashing', got 5: fit a learner for each output, or set"
        " delta above 0"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.plan(100, n_outputs=5)
    assert ledger.history() == []


@pytest.mark.parametrize(
    ("Y", "classes", "message"),
    [
        ([[0, 1], [1]], None, "rows of y must be equally long"),
        ([[0, 1], [1, 0]], [[0, 1]] * 3, "classes must have a label set for each of 2 outputs, got 3"),
        ([[0, 1], [1, 1]], None, "Only binary classification"),
        ([[0, 1], [1, 0]], [[0, 1], [0, 1, 2]], "a point function needs 2 classes, got 3 classes"),
        ([[0, 1], [1, 5]], [0, 1], "not among the declared classes"),
        ([[7, 1], [1, 0]], [0, 1], "not among the declared classes"),
        ([[0, 1], [1, np.nan]], [0, 1], "NaN|infinite|not among"),
        ([[0, 1]], [0, 1], "equal numbers of samples"),
        (np.zeros((2, 2, 2)), [0, 1], "y"),
    ],
)
def test_bad_tables_of_labels_are_refused_unpaid(Y, classes, message):
    ledger = PrivacyLedger(10, 0.1, allow_reproducible=True)
    with pytest.raises(ValueError, match=message):
        learner("stability", classes=classes, ledger=ledger).fit([["a"], ["b"]], Y)
    assert ledger.history() == []


@pytest.mark.parametrize("drawn", [False, True])
def test_an_interrupted_fit_of_several_labels_is_paid_for_and_unpublished(drawn):
    X, Y = many_labels()
    ledger = PrivacyLedger(10, 0.1)
    model = PointClassifier(delta=1e-6, classes=[0, 1], ledger=ledger)
    with pytest.raises(KeyboardInterrupt):
        model._fit(X, Y, FaultyDice(SystemDice(), 0, KeyboardInterrupt(), drawn=drawn))
    assert ledger.spent().epsilon == 1
    assert not any(hasattr(model, name) for name in ("point_", "concept_", "classes_", "guarantee_"))


def test_a_score_needs_labels_of_all_outputs():
    X, Y = many_labels()
    fitted = learner("stability").fit(X, Y)
    for k in (1, 4):
        with pytest.raises(ValueError, match=f"y must have 5 outputs, got {k}"):
            fitted.score(X, Y[:, :k])
    assert fitted.score(X[:2], [Y[0], 1 - Y[1]], sample_weight=[3, 1]) == 0.75


def test_a_plan_of_several_labels_is_what_the_fit_promises():
    X, Y = many_labels()
    model = learner("stability")
    assert model.plan(2000, n_outputs=5).guarantee.epsilon == model.fit(X, Y).guarantee_.epsilon
    few, many = (model.plan(300, n_outputs=k) for k in (1, 5))
    assert few.n_needed < many.n_needed
    assert few.failure < many.failure
    needed = many.n_needed
    assert model.plan(needed, n_outputs=5).failure <= 0.05 < model.plan(needed - 1, n_outputs=5).failure
    for wrong in (0, 1.5, "two"):
        with pytest.raises((TypeError, ValueError), match="n_outputs"):
            model.plan(300, n_outputs=wrong)


@pytest.mark.parametrize(
    ("parameters", "many"),
    [
        ({"delta": 1e-6}, True),
        ({"delta": "0.01", "method": "stability"}, True),
        ({"delta": 1e-6, "method": "hashing"}, False),
        ({"delta": "nothing"}, False),
        ({}, False),
    ],
)
def test_several_labels_are_announced_where_there_is_a_delta(parameters, many):
    tags = get_tags(PointClassifier(**parameters))
    assert tags.target_tags.multi_output == tags.classifier_tags.multi_label == many


def test_several_labels_pass_through_copies_searches_and_pickles():
    X, Y = many_labels()
    model = learner("stability", ledger=PrivacyLedger(100, 1e-3, allow_reproducible=True))
    search = GridSearchCV(clone(model), {"epsilon": [0.5, 2.0]}, cv=2).fit(X, Y)
    assert search.best_score_ == 1
    assert model.ledger.spent().epsilon == 2 * (0.5 + 2) + search.best_params_["epsilon"]
    cells, labels = [*X, ["seldom"]], [*Y.tolist(), [1] * 5]
    fitted = learner("stability").fit(cells, labels)
    written = pickle.dumps(fitted)
    assert b"seldom" not in written
    again = pickle.loads(written)
    assert (again.predict(X) == Y).all()
    assert again.point_ == fitted.point_


@pytest.mark.parametrize("n", [1, 3, 2000])
def test_float_errors_that_raise_change_nothing_of_several_labels(n):
    X, Y = many_labels()
    kept = np.seterr(all="raise")
    try:
        model = learner("stability")
        fitted = model.fit(X[:n], Y[:n])
        assert 0 <= model.plan(n, n_outputs=5).failure <= 1
        assert fitted.predict(X).shape == Y.shape
    finally:
        np.seterr(**kept)
    assert fitted.point_ == learner("stability").fit(X[:n], Y[:n]).point_


# --- Prefixes of rows, and sets of keys. ---

OF_SEVERAL = {"prefixes": {"prefixes": True}, "sets": {"n_keys": 3}}


def places(n=900, seed=0):
    """Return rows of country, region and town, with gaps and several types of cells."""
    rng = np.random.default_rng(seed)
    country = rng.choice(np.array(["at", "ch", None], dtype=object), n)
    region, town = rng.integers(0, 5, n), rng.integers(0, 30, n)
    return pd.DataFrame({"country": country, "region": region, "town": town.astype(str)})


def several(kind, **parameters):
    chosen = {"epsilon": 4.0, "classes": [0, 1], "random_state": 0}
    return PointClassifier(**chosen | OF_SEVERAL[kind] | parameters)


LEVELS = {
    0: lambda X: np.ones(len(X), dtype=bool),
    1: lambda X: X["country"].isna(),
    2: lambda X: (X["country"] == "at") & (X["region"] == 3),
    3: lambda X: (X["country"] == "at") & (X["region"] == 3) & X["town"].isin(["7"]),
}


@pytest.mark.parametrize("level", LEVELS)
def test_the_prefix_of_each_length_is_found(level):
    X = places(20_000 if level == 3 else 900)
    y = LEVELS[level](X).astype(int)
    fitted = several("prefixes", alpha=0.002 if level == 3 else 0.1).fit(X, y)
    assert fitted.method_ == "hashing"
    assert fitted.point_[0] == level
    assert fitted.score(X, y) > 0.99
    assert not fitted.abstained_
    other = places(500, seed=1)
    assert (fitted.predict(other) == LEVELS[level](other)).mean() > 0.99
    rule = repr(fitted.concept_)
    names = ("", "country", "(country, region)", "(country, region, town)")[level]
    assert rule == (
        "1 always"
        if not level
        else f"1 if {names} hashes to {fitted.point_[1]} of {1 << fitted.hash_.bits}, else 0"
    )


def test_where_every_bucket_has_first_labels_no_row_has_the_second():
    X = places()
    for kind, n_buckets in (("prefixes", 2), ("sets", 4)):
        fitted = several(kind, n_buckets=n_buckets).fit(X, [0] * len(X))
        assert fitted.abstained_
        assert fitted.point_ is None
        assert repr(fitted.concept_) == "0 always"
        assert fitted.predict(X).sum() == 0


@pytest.mark.parametrize("key", ["J45", 7, 7.5, None, b"x", True, 10**30])
def test_a_set_of_keys_of_any_type_is_found(key):
    cells = [(key, "second", f"other {i}", -i)[i % 4] for i in range(1200)]
    y = [int(i % 4 < 2) for i in range(1200)]
    fitted = several("sets").fit([[cell] for cell in cells], y)
    assert fitted.score([[cell] for cell in cells], y) > 0.98
    assert fitted.predict([[key], ["second"], ["never seen"]]).tolist() == [1, 1, 0]
    wanted = {fitted.hash_.bucket(spelled(each)) for each in read_keys([key, "second"])}
    assert wanted <= {*fitted.point_}
    assert list(fitted.point_) == sorted({*fitted.point_})
    assert "hashes to" in repr(fitted.concept_)
    assert f" of {1 << fitted.hash_.bits}, else 0" in repr(fitted.concept_)


def test_keys_of_several_columns_form_sets_too():
    X = places()
    y = ((X["country"] == "at") & X["region"].isin([1, 2])).astype(int)
    fitted = several("sets").fit(X[["country", "region"]], y)
    assert fitted.score(X[["country", "region"]], y) > 0.98


@pytest.mark.parametrize("kind", OF_SEVERAL)
def test_any_holder_of_rows_gives_the_same_rule(kind):
    X = places()
    y = LEVELS[2](X).astype(int)
    held = [X, X.astype(object).to_numpy(), X.to_numpy().tolist(), pl.from_pandas(X)]
    rules = {several(kind).fit(rows, y).point_ for rows in held}
    assert len(rules) == 1


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        (
            {"prefixes": True, "method": "stability", "delta": 1e-6},
            ValueError,
            "with prefixes=True, got 'stab",
        ),
        ({"n_keys": 2, "method": "stability", "delta": 1e-6}, ValueError, "with n_keys=2, got 'stability'"),
        ({"n_keys": 2, "prefixes": True}, ValueError, "n_keys must be 1 with prefixes=True, got 2"),
        ({"n_keys": 0}, ValueError, "n_keys must be an integer from 1 to 100, got 0"),
        ({"n_keys": 101}, ValueError, "n_keys must be an integer from 1 to 100, got 101"),
        ({"n_keys": 2.0}, TypeError, "n_keys"),
        ({"n_keys": 4, "n_buckets": 4}, ValueError, "n_keys must be below n_buckets, which is 4, got 4"),
        ({"n_keys": 8, "n_buckets": 4}, ValueError, "n_keys must be below n_buckets, which is 4, got 8"),
        ({"prefixes": "yes"}, TypeError, "prefixes must be True or False, got 'yes'"),
        ({"n_keys": 50, "alpha": 1e-4, "beta": 1e-3}, ValueError, "2\\*\\*24 buckets"),
    ],
)
def test_bad_settings_of_several_keys_are_refused_before_anything_is_read(parameters, error, words):
    ledger = PrivacyLedger(9, 0.1)
    model = PointClassifier(ledger=ledger, **parameters)
    with pytest.raises(error, match=words):
        model.fit(object(), object())
    with pytest.raises(error, match=words):
        model.plan(100)
    assert ledger.history() == []


def test_prefixes_of_one_column_and_several_outputs_are_refused_unpaid():
    ledger = PrivacyLedger(9, 0.1)
    model = PointClassifier(prefixes=True, ledger=ledger)
    words = "X must have at least 2 columns with prefixes=True, got n_features = 1"
    with pytest.raises(ValueError, match=words):
        model.fit([["a"], ["b"]], [0, 1])
    with pytest.raises(ValueError, match=words):
        model.plan(100, n_features=1)
    with pytest.raises(ValueError, match="n_features must be given to the plan of a fit with prefixes=True"):
        model.plan(100)
    for each in (model, PointClassifier(n_keys=2, delta=1e-6, ledger=ledger)):
        with pytest.raises(ValueError, match="with method='hashing', got 2: fit a learner for each"):
            each.fit([["a", "b"], ["b", "a"]], [[0, 1], [1, 0]])
        assert not get_tags(each).target_tags.multi_output
    assert ledger.history() == []


def test_delta_is_not_spent_on_several_keys():
    X = places(60)
    for kind in OF_SEVERAL:
        assert several(kind, delta=1e-6).fit(X, LEVELS[1](X).astype(int)).guarantee_.delta == 0


def test_a_plan_of_several_keys_is_what_the_fit_takes():
    X = places(400)
    y = LEVELS[1](X).astype(int)
    sets, prefixes = several("sets"), several("prefixes")
    plan = sets.plan(400)
    assert plan.class_size == 1 + plan.n_buckets * (5 + plan.n_buckets**2) // 6
    assert sets.fit(X, y).hash_.bits == plan.n_buckets.bit_length() - 1
    assert (plan.n_keys, plan.prefixes, plan.method) == (3, False, "hashing")
    plan = prefixes.plan(400, n_features=3)
    assert plan.class_size == 3 * plan.n_buckets + 2
    assert prefixes.fit(X, y).hash_.bits == plan.n_buckets.bit_length() - 1
    assert plan.n_needed < prefixes.plan(400, n_features=30).n_needed
    for kind, d in (("sets", None), ("prefixes", 3)):
        needed = several(kind).plan(1, n_features=d).n_needed
        failures = [several(kind).plan(n, n_features=d).failure for n in (needed, needed - 1)]
        assert failures[0] <= 0.05
        assert failures[0] < failures[1]


def test_sets_of_keys_have_hardly_more_errors_than_the_best():
    # Negative and equal net counts, more positive keys than the set may have, and none.
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 40, 20_000)
    for share in (0.0, 0.02, 0.5, 1.0):
        y = (cells < 5).astype(int) ^ (rng.random(20_000) < share).astype(int)
        fitted = several("sets", epsilon=1.0).fit(cells[:, None], y)
        nets = np.bincount(cells, 2 * y - 1)
        least = y.sum() - np.sort(np.maximum(nets, 0))[-3:].sum()
        wrong = (fitted.predict(cells[:, None]) != y).sum()
        assert wrong <= least + 200


@pytest.mark.parametrize("kind", OF_SEVERAL)
@pytest.mark.parametrize("n", [1, 2, 400])
def test_float_errors_that_raise_change_nothing_of_several_keys(kind, n):
    X = places(n)
    y = [0, 1] * (n // 2) or [1]
    with np.errstate(all="raise"):
        fitted = several(kind, epsilon=0.01).fit(X, y)
        fitted.predict(X)
    assert fitted.point_ == several(kind, epsilon=0.01).fit(X, y).point_


def test_fits_of_several_keys_are_pickled_without_the_keys():
    X = pd.DataFrame({"a": ["seldom"] * 30 + ["often"] * 300, "b": "x"})
    y = (X["a"] == "seldom").astype(int)
    for kind in OF_SEVERAL:
        fitted = several(kind).fit(X, y)
        written = pickle.dumps(fitted)
        assert b"seldom" not in written
        assert (pickle.loads(written).predict(X) == fitted.predict(X)).all()
