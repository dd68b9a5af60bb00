"""The point classifier: what it learns, from what input, for several labels, sets of keys and prefixes."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import get_tags

from dplearn import PointClassifier, PrivacyLedger
from dplearn.domains import read_keys, spelled

METHODS = {"stability": {"delta": 1e-6}, "hashing": {}}
KEYS = ["J45", 7, 7.5, None, b"x", True, 10**30]


def learner(method, /, **parameters):
    chosen = {"method": method, "epsilon": 2.0, "classes": [0, 1], "random_state": 0}
    return PointClassifier(**chosen | METHODS[method] | parameters)


def data(key="J45", n=600):
    return [[key] if i % 3 == 0 else [f"other {i}"] for i in range(n)], [int(i % 3 == 0) for i in range(n)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("key", KEYS)
def test_each_method_finds_the_key(method, key):
    X, y = data(key)
    fitted = learner(method).fit(X, y)
    assert not fitted.abstained_
    assert fitted.method_ == method
    assert fitted.score(X, y) > 0.98
    assert fitted.predict([[key], ["never seen"]]).tolist() == [1, 0]
    if method == "stability":
        assert fitted.point_ == key
        assert fitted.hash_ is None
        assert fitted.guarantee_.delta == Fraction(1, 10**6)
    else:
        assert fitted.point_ == fitted.hash_.bucket(spelled(read_keys([key])[0]))
        assert fitted.guarantee_.delta == 0


@pytest.mark.parametrize("method", METHODS)
def test_whole_numbers_in_float_columns_with_gaps_are_the_same_keys(method):
    cells = [7 if i % 3 == 0 else i + 100 for i in range(600)]
    with_gap = pd.DataFrame({"code": [*cells[:-1], None]})
    assert with_gap["code"].dtype == float
    fitted = learner(method).fit(with_gap, [int(cell == 7) for cell in cells])
    found = [fitted.predict(pd.DataFrame({"code": [key]})).tolist() for key in (7, 7.0, "7")]
    assert found == [[1], [1], [0]]


@pytest.mark.parametrize("method", METHODS)
def test_a_row_of_several_columns_is_a_key(method):
    cells, y = data()
    X = pd.DataFrame({"code": np.ravel(cells), "year": [2020 + (i % 3 != 0) for i in range(600)]})
    fitted = learner(method).fit(X, y)
    found = fitted.predict(pd.DataFrame({"code": ["J45", "J45"], "year": [2020, 2021]}))
    assert found.tolist() == [1, 0]
    assert "(code, year)" in repr(fitted.concept_)


def test_where_no_key_leads_it_abstains_unless_the_second_label_is_more_frequent():
    X = [["a"], ["b"]] * 200
    for y, point, abstained in (([1] * 160 + [0] * 240, None, True), ([1] * 400, (), False)):
        fitted = learner("stability").fit(X, y)
        assert (fitted.point_, fitted.abstained_) == (point, abstained)
        assert repr(fitted.concept_) == f"{y[-1]} always"
        assert set(fitted.predict(X)) == {y[-1]}


def test_auto_goes_by_delta_and_hashing_spends_none():
    X, y = data()
    assert learner("stability", method="auto").fit(X, y).method_ == "stability"
    assert learner("hashing", method="auto").fit(X, y).method_ == "hashing"
    assert learner("hashing", delta=1e-6).fit(X, y).guarantee_.delta == 0


def test_long_keys_and_integers_of_many_digits_are_shown_in_short():
    for key, words in (("x" * 500, "..."), (10**5000, "too many digits")):
        assert words in repr(learner("stability").fit(*data(key)).concept_)


# --- Several labels ---


def many_labels(n=2000, k=5):
    """Records at k + 1 keys; output j is 1 at key j alone, and output 0 shares its key with the last."""
    places = np.random.default_rng(0).integers(0, k + 1, n)
    Y = (places[:, None] == [0, *range(1, k - 1), 0]).astype(int)
    return [[f"site {place}"] for place in places], Y


def test_a_key_is_learned_for_each_output():
    X, Y = many_labels()
    fitted = learner("stability").fit(X, Y)
    assert fitted.point_ == ["site 0", "site 1", "site 2", "site 3", "site 0"]
    assert fitted.abstained_.tolist() == [False] * 5
    assert repr(fitted.concept_[1]) == "1 if x0 == 'site 1', else 0"
    assert fitted.hash_ is None
    assert (fitted.predict(X) == Y).all()
    assert fitted.predict([["never seen"]]).tolist() == [[0] * 5]
    assert fitted.score(X, Y) == 1
    assert (np.array([each[:, 1] for each in fitted.predict_proba(X)]).T == Y).all()
    for k in (1, 4):
        with pytest.raises(ValueError, match=f"y must have 5 outputs, got {k}"):
            fitted.score(X, Y[:, :k])
    assert fitted.score(X[:2], [Y[0], 1 - Y[1]], sample_weight=[3, 1]) == 0.75


def test_several_labels_cost_what_one_costs():
    X, Y = many_labels(k=40)
    ledger = PrivacyLedger(2, 1e-6, allow_reproducible=True)
    several = learner("stability", ledger=ledger).fit(X, Y)
    assert several.guarantee_ == learner("stability").fit(X, Y[:, 0]).guarantee_
    assert ledger.spent().epsilon == 2
    assert several.score(X, Y) == 1


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


@pytest.mark.parametrize(
    ("parameters", "many"),
    [
        ({"delta": "0.01", "method": "stability"}, True),
        ({"delta": 1e-6}, True),
        ({"delta": 1e-6, "method": "hashing"}, False),
        ({"delta": 1e-6, "prefixes": True}, False),
        ({"delta": 1e-6, "n_keys": 2}, False),
        ({"delta": "nothing"}, False),
        ({}, False),
    ],
)
def test_several_labels_are_announced_where_there_is_a_delta(parameters, many):
    tags = get_tags(PointClassifier(**parameters))
    assert tags.target_tags.multi_output == tags.classifier_tags.multi_label == many


# --- Prefixes of rows, and sets of keys. ---

OF_SEVERAL = {"prefixes": {"prefixes": True}, "sets": {"n_keys": 3}}
LEVELS = {
    0: lambda X: np.ones(len(X), dtype=bool),
    1: lambda X: X["country"].isna(),
    2: lambda X: (X["country"] == "at") & (X["region"] == 3),
    3: lambda X: (X["country"] == "at") & (X["region"] == 3) & X["town"].isin(["7"]),
}


def places(n=900, seed=0):
    """Return rows of country, region and town, with gaps and several types of cells."""
    rng = np.random.default_rng(seed)
    country = rng.choice(np.array(["at", "ch", None], dtype=object), n)
    region, town = rng.integers(0, 5, n), rng.integers(0, 8, n)
    return pd.DataFrame({"country": country, "region": region, "town": town.astype(str)})


def several(kind, **parameters):
    chosen = {"epsilon": 4.0, "classes": [0, 1], "random_state": 0}
    return PointClassifier(**chosen | OF_SEVERAL[kind] | parameters)


@pytest.mark.parametrize("level", LEVELS)
def test_the_prefix_of_each_length_is_found(level):
    X = places(6000 if level == 3 else 900)
    y = np.where(LEVELS[level](X), 1, 0)
    fitted = several("prefixes", alpha=0.006 if level == 3 else 0.1, delta=1e-6).fit(X, y)
    assert fitted.method_ == "hashing"
    assert fitted.guarantee_.delta == 0
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


@pytest.mark.parametrize("key", KEYS)
def test_a_set_of_keys_of_any_type_is_found(key):
    X = [[(key, "second", f"other {i}", -i)[i % 4]] for i in range(1200)]
    y = [int(i % 4 < 2) for i in range(1200)]
    fitted = several("sets", delta=1e-6).fit(X, y)
    assert fitted.guarantee_.delta == 0
    assert fitted.score(X, y) > 0.98
    assert fitted.predict([[key], ["second"], ["never seen"]]).tolist() == [1, 1, 0]
    wanted = {fitted.hash_.bucket(spelled(each)) for each in read_keys([key, "second"])}
    assert wanted <= {*fitted.point_}
    assert list(fitted.point_) == sorted({*fitted.point_})
    assert f" of {1 << fitted.hash_.bits}, else 0" in repr(fitted.concept_)


def test_a_plan_is_what_the_fit_takes():
    X = places(400)
    y = np.where(LEVELS[1](X), 1, 0)
    sets, prefixes = several("sets"), several("prefixes")
    plan = sets.plan(400)
    assert plan.class_size == 1 + plan.n_buckets * (5 + plan.n_buckets**2) // 6
    assert sets.fit(X, y).hash_.bits == plan.n_buckets.bit_length() - 1
    assert (plan.n_keys, plan.prefixes, plan.method) == (3, False, "hashing")
    plan = prefixes.plan(400, n_features=3)
    assert plan.class_size == 3 * plan.n_buckets + 2
    assert prefixes.fit(X, y).hash_.bits == plan.n_buckets.bit_length() - 1
    for model, of_table in (
        (sets, {}),
        (prefixes, {"n_features": 3}),
        (learner("stability"), {}),
        (learner("stability"), {"n_outputs": 5}),
        (learner("hashing"), {}),
    ):
        needed = model.plan(1, **of_table).n_needed
        failures = [model.plan(n, **of_table).failure for n in (needed, needed - 1)]
        assert failures[0] <= 0.05
        assert failures[0] < failures[1]
