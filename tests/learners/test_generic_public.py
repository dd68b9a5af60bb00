"""The generic learner with public features, or with public rows: what users see."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from dplearn import ExponentialMechanismClassifier, PrivacyLedger
from dplearn.audit.fits import ready
from dplearn.concepts import Conjunctions, FiniteClass, Parities, Thresholds
from dplearn.domains import Bits, Categories, Floats, Grid, IntegerRange, Product, Schema
from dplearn.estimator.public_data import PublicData
from dplearn.estimator.recipe import cost_of_fit
from dplearn.learners import SecretSampleClassifier
from dplearn.privacy import ApproxDP, LedgerError
from dplearn.theory import dichotomy_sample_size, public_cut_sample_size

X, Y = load_breast_cancer(return_X_y=True)
RNG = np.random.default_rng(0)  # public data
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, 400).astype(float),
        "town": RNG.choice(["north", "south", "west"], 400),
        "constant": 1.0,
    }
)
PEOPLE.loc[::7, "age"] = np.nan
ILL = np.where(PEOPLE["age"].fillna(0) > 60, "ill", "well")
SCHEMA = Schema(
    {
        "age": Floats(missing=True),
        "town": Categories(["north", "south", "west", "east"]),
        "constant": Grid(0, 10),
    },
    labels=["ill", "well"],
)


def learner(**parameters):
    return ExponentialMechanismClassifier(**{"epsilon": 1.0, "random_state": 0} | parameters)


# Labels


@pytest.mark.parametrize("method", ["exponential", "permute_and_flip"])
def test_with_labels_only_the_class_is_that_of_the_behaviours_on_x(method):
    model = learner(protects="labels", method=method, classes=[0, 1])
    plan = ready(model, X, Y).plan
    n_cuts = sum(len(np.unique(column.astype(np.float32))) - 1 for column in X.T)
    assert abs(plan.class_size - (2 * n_cuts + 2)) < 30  # the domain has more bits than float32
    assert plan.class_size <= model.plan(len(X), n_features=30).class_size == 30 * 2 * len(X) + 2
    assert plan.excess_error < learner(classes=[0, 1]).plan(len(X), n_features=30).excess_error / 2
    assert model.fit(X, Y).score(X, Y) > 0.85
    assert plan.public.n_rows is None


def test_a_ledger_of_examples_refuses_a_fit_that_protects_labels():
    ledger = PrivacyLedger(10, allow_reproducible=True)
    with pytest.raises(LedgerError, match="protects 'labels'"):
        learner(protects="labels", ledger=ledger).fit(X, Y)
    assert ledger.spent().epsilon == 0
    ledger = PrivacyLedger(10, protects="labels", allow_reproducible=True)
    learner(protects="labels", ledger=ledger).fit(X, Y)
    learner(ledger=ledger).fit(X, Y)
    assert ledger.spent().epsilon == 2


def test_at_a_large_epsilon_the_best_stump_is_found_in_both_ways():
    best = (learner(epsilon=500.0).fit(X, Y).predict(X) != Y).sum()
    assert (learner(epsilon=500.0, protects="labels").fit(X, Y).predict(X) != Y).sum() == best
    assert (learner(epsilon=500.0).fit(X, Y, X_public=PublicData(X)).predict(X) != Y).sum() == best


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_raw_table_with_gaps_text_and_a_constant_column(frame):
    table = frame(PEOPLE)
    for model, more in [
        (learner(protects="labels", domain=SCHEMA, epsilon=20.0), {}),
        (learner(domain=SCHEMA, epsilon=20.0), {"X_public": PublicData(frame(PEOPLE.head(60)))}),
    ]:
        model.fit(table, ILL, **more)
        assert model.score(table, ILL) > 0.9
        assert "age" in repr(model.concept_)
        unseen = PEOPLE.head(2).assign(age=[np.nan, 1e9], town="east")
        assert model.predict(frame(unseen)).tolist() == ["well", "ill"]


def test_texts_in_lists_and_labels_that_never_occur():
    rows = [["north", None], ["south", 3], ["north", 4]] * 20
    domain = [Categories(["north", "south", "east"]), IntegerRange(0, 9, missing=True)]
    y = ["a" if place == "north" else "b" for place, _ in rows]
    for more in ({"protects": "labels"}, {}):
        public = {} if more else {"X_public": PublicData([["south", 1], ["north", None]])}
        model = learner(domain=domain, classes=["a", "b", "c"], epsilon=20.0, **more).fit(rows, y, **public)
        assert model.score(rows, y) == 1


@pytest.mark.parametrize(
    "table", [X[:1], np.ones((5, 3)), X[:3, :1]], ids=["one row", "constant columns", "one column"]
)
def test_tables_that_no_cut_divides_have_constant_rules(table):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.arange(len(table)) % 2
        model = learner(protects="labels", classes=[0, 1]).fit(table, y)
        repr(model.concept_)
        public = learner(classes=[0, 1]).fit(table, y, X_public=PublicData(table))
        assert {*model.predict(X[:, : table.shape[1]])} | {*public.predict(table)} <= {0, 1}
    if len(np.unique(table, axis=0)) == 1:
        assert repr(model.concept_) in ("always 0", "always 1")


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        ("conjunctions", 0.8),
        ("parities", 0.8),
        (Thresholds(Product([Grid(-100, 100, outside="clip")] * 8), feature=0), 0.6),
        (Thresholds(Product([Grid(-100, 100, outside="clip")] * 8), feature=2), 0.8),
        (Conjunctions(8, 2), 0.8),
        (Parities(8, fit_intercept=True), 0.8),
        (FiniteClass([lambda rows, c=c: (rows[:, c] < 0).astype(int) for c in (0, 2, 2, 7)]), 0.8),
    ],
    ids=repr,
)
def test_each_concept_class_of_the_library_protects_labels(kind, score):
    centred = (X - np.median(X, axis=0))[:, :8]
    y = (centred[:, 2] < 0).astype(int) if kind == "parities" or isinstance(kind, Parities) else Y
    if kind == "parities":
        y = 1 - y
    model = learner(concept_class=kind, protects="labels", epsilon=20.0)
    plan = ready(model, centred, y).plan
    assert plan.class_size <= model.plan(len(X), n_features=8, n_labels=2).class_size
    fitted = model.fit(centred, y)
    assert fitted.guarantee_.protects == "labels"
    assert fitted.score(centred, y) > score


def test_of_functions_that_agree_on_x_one_counts():
    functions = [lambda rows, cut=cut: (rows[:, 0] > cut).astype(int) for cut in (0.1, 0.2, 0.3, 5)]
    model = learner(concept_class=FiniteClass(functions), protects="labels")
    plan = ready(model, [[0.0], [1.0]], [0, 1]).plan
    assert plan.class_size == 2


# Public rows


def test_public_rows_place_the_cuts_and_protect_whole_records():
    public = X[:57]
    model = learner(epsilon=2.0).fit(X[57:], Y[57:], X_public=PublicData(public))
    assert model.guarantee_.protects == "examples"
    assert "the rows in X_public are public" in model.guarantee_.assumes
    stump = model.concept_.concept
    codes = model.domain_.encode(public)
    assert stump.inner == stump.outer or stump.code in codes[stump.feature]
    assert model.score(X, Y) > 0.85
    assert "public" not in repr(vars(model).keys())


def test_the_class_depends_on_public_rows_alone():
    model = learner(classes=[0, 1])
    plans = [
        ready(model, rows, Y[: len(rows)], X_public=PublicData(X[:50])).plan
        for rows in (X[50:], X[50:60], X[50:51] * 1000)
    ]
    assert len({plan.class_size for plan in plans}) == 1
    assert plans[0].class_size <= model.plan(500, n_features=30, n_rows=50).class_size == 30 * 2 * 50 + 2


def test_columns_are_matched_by_name():
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    schema = Schema({"b": Floats(), "a": Floats()})
    model = learner(domain=schema, epsilon=20.0)
    public = PublicData(frame[["c", "a", "b"]].head(100))
    other = PublicData(frame[["b", "a"]].head(100))
    fits = [repr(model.fit(frame, Y, X_public=each).concept_) for each in (public, other)]
    assert fits[0] == fits[1]


# Plans


def test_plans_say_the_sizes_that_hold():
    labels = learner(protects="labels").plan(303, n_features=30, n_labels=2, beta=0.1)
    assert labels.n_realizable == 303 == dichotomy_sample_size(30, epsilon=1, alpha=0.1, beta=0.1)
    assert labels.n_needed == 2880
    assert labels.class_size == 60 * 303 + 2
    public = learner().plan(400, n_features=30, n_labels=2, n_rows=500, beta=0.1)
    assert public.n_realizable == 366 == public_cut_sample_size(30, 500, epsilon=1, alpha=0.1, beta=0.1)
    assert public.n_needed == 2983
    assert learner().plan(400, n_features=30, n_labels=2, beta=0.1).n_realizable == 856


def test_of_few_values_labels_need_no_more_records_than_examples():
    bits = [Bits()] * 3
    few, every = (learner(protects=each, domain=bits).plan(50, n_labels=2) for each in ("labels", "examples"))
    assert few.n_needed <= every.n_needed
    assert few.class_size == 3 * 2 * 2 + 2
    parities = learner(concept_class=Parities(5), protects="labels").plan(50)
    assert parities.class_size == 32
    assert parities.n_needed == learner(concept_class=Parities(5)).plan(50).n_needed


# Refusals


# Tables in parts


def parts(table, y=None, size=100):
    cut = [slice(i, i + size) for i in range(0, len(table), size)]
    return [table[each] for each in cut], [y[each] for each in cut]


def test_a_table_in_parts_has_the_dichotomies_of_the_whole_table():
    domain = [Grid(0, 100, 1001, outside="clip")] * 30
    model = learner(protects="labels", domain=domain, classes=[0, 1])
    whole = clone(model).fit(X, Y)
    parted = clone(model).fit(*parts(X, Y))
    assert repr(parted.concept_) == repr(whole.concept_)
    plans = [ready(model, *table).plan for table in ((X, Y), parts(X, Y))]
    assert plans[0].class_size == plans[1].class_size
    assert any("number of parts" in text for text in parted.guarantee_.assumes)


def test_parts_of_any_floats_are_refused_for_labels_and_read_with_public_cuts():
    table, y = parts(X, Y)
    with pytest.raises(ValueError, match="domain must have at most"):
        learner(protects="labels", classes=[0, 1]).fit(table, y)
    with pytest.raises(ValueError, match="domain must have at most"):
        learner(classes=[0, 1]).fit(table, y)
    public = PublicData(X[:60])
    parted = learner(classes=[0, 1]).fit(table, y, X_public=public)
    assert repr(parted.concept_) == repr(learner(classes=[0, 1]).fit(X, Y, X_public=public).concept_)


# Within other estimators


def test_a_secret_sample_of_public_features_is_refused():
    sampled = SecretSampleClassifier(
        learner(protects="labels", classes=[0, 1], random_state=None), sample_size=50
    )
    with pytest.raises(ValueError, match="protects"):
        sampled.fit(X, Y)


def test_the_cost_is_one_of_labels():
    cost = cost_of_fit(learner(protects="labels", epsilon=0.1))
    assert cost == ApproxDP(Fraction(1, 10), protects="labels", reproducible=True)
    assert replace(cost, protects="examples").implies(replace(cost, reproducible=True))
