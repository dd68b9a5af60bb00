"""The parity classifier: what it learns, from what input, and what it refuses."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils import get_tags

from dplearn import ParityClassifier, PrivacyLedger
from dplearn.domains import DomainError
from dplearn.kernels.gf2 import pack
from dplearn.privacy import BudgetExceededError

METHODS = {
    "agnostic": {"epsilon": 3.0},
    "elimination": {"epsilon": 3.0},
    "stable": {"epsilon": 3.0, "delta": 1e-6},
}


def parity_data(n=3000, d=12, columns=(1, 4, 7), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d))
    return X, X[:, list(columns)].sum(axis=1) % 2


def learner(method, **parameters):
    return ParityClassifier(method=method, **METHODS[method] | {"random_state": 0} | parameters)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_each_method_finds_the_parity(method, fit_intercept):
    X, y = parity_data()
    fitted = learner(method, fit_intercept=fit_intercept).fit(X, y ^ fit_intercept)
    assert np.flatnonzero(fitted.parity_).tolist() == [1, 4, 7]
    assert fitted.intercept_ == fit_intercept
    assert not fitted.abstained_
    assert fitted.score(X, y ^ fit_intercept) == 1
    assert fitted.method_ == method
    assert fitted.guarantee_.delta == (Fraction(1, 10**6) if method == "stable" else 0)


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (0, 1), (False, True), (2.0, 7.0)])
def test_an_odd_sum_gives_the_second_label(labels):
    X, y = parity_data()
    fitted = learner("elimination", classes=labels).fit(X, np.array(labels)[y])
    assert fitted.classes_.tolist() == list(labels)
    assert (fitted.predict(X) == np.array(labels)[y]).all()
    assert fitted.predict_proba(X[:2]).tolist() == np.eye(2)[y[:2]].tolist()
    assert repr(fitted.concept_).startswith(repr(labels[1]))


def as_is(X):
    return X


@pytest.mark.parametrize(
    "holder",
    [
        as_is,
        np.ndarray.tolist,
        lambda X: X.astype(bool),
        lambda X: X.astype(np.float32),
        lambda X: X.astype(object),
        lambda X: pd.DataFrame(X, columns=[f"b{i}" for i in range(X.shape[1])]),
        lambda X: pd.DataFrame(X.astype(bool)).rename(columns=str),
        lambda X: pl.DataFrame(X, schema=[f"b{i}" for i in range(X.shape[1])]),
        sparse.csr_matrix,
        sparse.csc_array,
        lambda X: sparse.coo_matrix(X.astype(float)),
    ],
    ids=["int", "list", "bool", "float32", "object", "pandas", "pandas bool", "polars", "csr", "csc", "coo"],
)
@pytest.mark.parametrize("binarize", [None, 0.0])
def test_bits_of_every_kind_are_read_alike(holder, binarize):
    X, y = parity_data(n=2000)
    fitted = learner("elimination", binarize=binarize).fit(holder(X), y)
    assert np.flatnonzero(fitted.parity_).tolist() == [1, 4, 7]
    assert (fitted.predict(holder(X)) == y).all()


@pytest.mark.parametrize("wide", [sparse.csr_matrix, np.asarray])
def test_numbers_above_the_bar_count_as_one_zeros_that_are_not_stored_too(wide):
    X, y = parity_data(n=2000)
    fitted = learner("elimination", binarize=-0.5).fit(wide(np.where(X, 0, -1)), y)
    assert np.flatnonzero(fitted.parity_).tolist() == [1, 4, 7]


def test_blocks_of_rows_make_no_difference(monkeypatch):
    X, y = parity_data(n=500)
    whole = learner("agnostic").fit(X, y).parity_
    monkeypatch.setattr("dplearn.table.encodings._CELLS", 100)
    assert (learner("agnostic").fit(X, y).parity_ == whole).all()
    assert (learner("agnostic").fit(sparse.csr_matrix(X), y).parity_ == whole).all()


@pytest.mark.parametrize("X", [[[0, 2], [1, 0]], [[0.5, 0.0], [1.0, 0.0]]])
def test_without_a_bar_other_values_than_bits_are_refused_and_nothing_is_spent(X):
    ledger = PrivacyLedger(5)
    with pytest.raises(DomainError, match="column 'x") as caught:
        ParityClassifier(binarize=None, ledger=ledger, classes=[0, 1]).fit(X, [0, 1])
    assert "0.5" not in str(caught.value)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("cell", [np.nan, np.inf, None, "1"])
def test_cells_that_are_no_numbers_are_refused(cell):
    with pytest.raises(ValueError, match=r"NaN|outside the declared domain|not a number"):
        learner("agnostic", classes=[0, 1]).fit([[0, 1], [cell, 0]], [0, 1])


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="0 feature"):
        learner("agnostic").fit(np.empty((4, 0)), [0, 1, 0, 1])


@pytest.mark.parametrize("y", [[0, 1, 2] * 20, [1] * 60], ids=["three", "one"])
def test_other_than_two_labels_are_refused(y):
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        learner("agnostic").fit(np.eye(60, 3), y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"method": "stable"}, "'stable' needs delta above 0, got 0"),
        ({"epsilon": 0}, "epsilon must be a finite number above 0"),
        ({"alpha": 1}, "alpha must be a finite number above 0 and below 1, got 1"),
        ({"beta": 0}, "beta must be a finite number above 0 and below 1, got 0"),
        ({"n_parts": 0}, "n_parts must be an integer at least 1, got 0"),
        ({"n_parts": "many"}, "n_parts must be 'auto' or an integer at least 1, got 'many'"),
        ({"test_size": -1}, "test_size must be an integer at least 0, got -1"),
        (
            {"method": "elimination", "test_size": 60},
            "test_size must be below the number of records, 60, got 60",
        ),
        ({"binarize": "x"}, "binarize must be a finite number"),
        ({"classes": [0, 1, 2]}, "Only binary classification is supported"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(parameters, message):
    ledger = PrivacyLedger(5)
    with pytest.raises(ValueError, match=message):
        ParityClassifier(ledger=ledger, **parameters).fit(np.eye(60, 3), [0, 1] * 30)
    assert ledger.spent().epsilon == 0


def test_more_columns_than_all_parities_can_be_listed_for_are_refused_by_agnostic_alone():
    X, y = parity_data(n=9000, d=40)
    with pytest.raises(ValueError, match="'agnostic' compares all parities of at most"):
        learner("agnostic").fit(X, y)
    assert ParityClassifier(epsilon=3.0).fit(X, y).method_ == "elimination"


def test_too_few_records_are_warned_about_with_the_number_that_is_needed_and_public_numbers_alone():
    X, y = parity_data(n=60)
    needed = learner("elimination").plan(60, n_features=12).n_needed
    assert needed > 60
    with pytest.warns(UserWarning, match=rf"n_samples is 60: .* require {needed} records of 12 columns"):
        learner("elimination").fit(X, y)
    more = parity_data(n=needed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner("elimination").fit(*more)


def test_a_warning_that_is_made_an_error_costs_nothing():
    ledger = PrivacyLedger(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="n_samples is 30"):
            learner("elimination", ledger=ledger, random_state=None).fit(*parity_data(n=30))
    assert ledger.spent().epsilon == 0


def test_auto_takes_the_first_that_has_enough_records_and_spends_delta_only_if_it_needs_to():
    auto = ParityClassifier(epsilon=0.1, delta=1e-6)
    plans = [auto.plan(n, n_features=d) for n, d in ((9000, 16), (50_000, 100), (30_000, 100), (10, 100))]
    assert [plan.method for plan in plans] == ["agnostic", "elimination", "stable", "elimination"]
    assert [plan.n_needed <= plan.n_samples for plan in plans] == [True, True, True, False]
    assert [plan.guarantee.delta > 0 for plan in plans] == [False, False, True, False]


def test_auto_charges_the_ledger_for_what_it_uses():
    ledger = PrivacyLedger(3)  # no delta at all
    auto = ParityClassifier(epsilon=0.1, delta=1e-6, ledger=ledger)
    auto.fit(*parity_data())
    assert (ledger.spent().epsilon, ledger.spent().delta) == (Fraction(1, 10), 0)
    with pytest.raises(BudgetExceededError):
        auto.fit(*parity_data(n=30_000, d=100))
    assert (ledger.spent().epsilon, ledger.spent().delta) == (Fraction(1, 10), 0)


def test_a_plan_tells_what_a_fit_promises():
    X, y = parity_data()
    model = learner("stable", random_state=None)
    fitted = model.fit(X, y)
    plan = model.plan(3000, n_features=12)
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (
        fitted.guarantee_.epsilon,
        fitted.guarantee_.delta,
    )
    assert plan.failure <= plan.beta
    assert plan.n_needed <= 3000


@pytest.mark.parametrize(
    "wrap", [np.asarray, np.ndarray.tolist, sparse.csr_matrix], ids=["array", "list", "csr"]
)
def test_no_refusal_of_complex_numbers_shows_one(wrap):
    X, y = parity_data(n=60)
    for table, labels in ((wrap(X + 7.25j), y), (X, y + 7.25j), (X, (y + 7.25j).tolist())):
        for known in ([0, 1], None):
            with pytest.raises(ValueError, match=r"Complex data|a real number") as caught:
                learner("agnostic", classes=known).fit(table, labels)
            assert "7.25" not in str(caught.value)


def test_a_budget_without_delta_is_refused_before_a_value_is_looked_at():
    X, Y, _ = many_labels(n=50)
    for table in (X, np.full(X.shape, np.nan), X.tolist()):
        ledger = PrivacyLedger(10)
        with pytest.raises(BudgetExceededError):
            ParityClassifier(delta=0.01, ledger=ledger).fit(table, Y)


def test_a_plan_leaves_a_generator_alone():
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    ParityClassifier(random_state=generator).plan(100, n_features=5)
    assert generator.bit_generator.state == before


@pytest.mark.parametrize(
    ("delta", "many"), [(0.01, True), (Fraction(1, 100), True), ("0.01", True), (0, False)]
)
def test_several_labels_are_announced_where_there_is_a_delta(delta, many):
    assert get_tags(ParityClassifier(delta=delta)).target_tags.multi_output == many
    assert not get_tags(ParityClassifier(method="elimination", delta=delta)).target_tags.multi_output


@pytest.mark.parametrize("method", ["elimination", "stable"])
def test_more_parts_than_records_are_refused(method):
    with pytest.raises(ValueError, match="n_parts must be at most the number of records, 60, got 61"):
        learner(method, n_parts=61).fit(*parity_data(n=60))


def test_any_positive_epsilon_is_taken():
    X, y = parity_data(n=20)
    for epsilon in (1e-3, Fraction(10**400)):
        with pytest.warns(UserWarning, match="n_samples is 20"):
            learner("elimination", epsilon=epsilon).fit(X, y)


def test_an_empty_frame_is_refused_as_an_empty_array_is():
    X, y = parity_data(n=500)
    frame = pd.DataFrame(X).rename(columns=str)
    fitted = learner("agnostic").fit(frame, y)
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        fitted.predict(frame[:0])
    with pytest.raises(ValueError, match=r"Found array with 500 sample\(s\) and 0 feature"):
        learner("agnostic").fit(frame[[]], y)


# --- None ---


def test_where_the_mechanism_declines_the_first_label_is_predicted():
    X, _ = parity_data(n=400)
    noise = np.random.default_rng(1).integers(0, 2, 400)
    fitted = learner("elimination", classes=["a", "b"]).fit(X, np.array(["a", "b"])[noise])
    assert fitted.abstained_
    assert not fitted.parity_.any()
    assert set(fitted.predict(X)) == {"a"}
    assert repr(fitted.concept_) == "always 'a'"


def test_parts_without_a_single_solution_do_not_vote_and_a_few_that_agree_suffice():
    rng = np.random.default_rng(0)
    X, y = parity_data(n=4000)
    X[rng.random(4000) < 0.5] = 0  # half of the records are all zeros
    y[(X == 0).all(axis=1)] = 0
    fitted = learner("stable", n_parts=200).fit(X, y)
    assert np.flatnonzero(fitted.parity_).tolist() == [1, 4, 7]


def test_agnostic_learns_through_noise_that_elimination_cannot_bear():
    X, y = parity_data(n=6000)
    flipped = y ^ (np.random.default_rng(1).random(6000) < 0.2)
    assert np.flatnonzero(learner("agnostic").fit(X, flipped).parity_).tolist() == [1, 4, 7]
    assert learner("elimination").fit(X, flipped).abstained_


# --- Several labels ---


def many_labels(n=3000, d=12, k=5):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (n, d))
    parities = rng.integers(0, 2, (k, d)).astype(np.uint8)
    return X, pack(X).dot(parities.T), parities


def test_several_labels_are_learned_at_once_by_stable():
    X, Y, parities = many_labels()
    fitted = learner("stable").fit(X, Y)
    assert (fitted.parity_ == parities).all()
    assert [labels.tolist() for labels in fitted.classes_] == [[0, 1]] * 5
    assert (fitted.predict(X) == Y).all()
    assert fitted.score(X, Y) == 1
    likely = fitted.predict_proba(X)
    assert len(likely) == 5
    assert (np.array([each[:, 1] for each in likely]).T == Y).all()
    assert len(fitted.concept_) == 5


def test_the_sample_size_does_not_grow_with_the_number_of_labels():
    model = learner("stable")
    needed = {model.plan(100, n_features=30, n_outputs=k).n_needed for k in (1, 2, 1000)}
    assert len(needed) == 1


@pytest.mark.parametrize(
    "holder",
    [np.ndarray.tolist, lambda Y: pd.DataFrame(Y).rename(columns=str), lambda Y: pl.DataFrame(Y)],
    ids=["list", "pandas", "polars"],
)
def test_several_labels_are_read_from_lists_and_frames(holder):
    X, Y, parities = many_labels()
    assert (learner("stable", classes=[0, 1]).fit(X, holder(Y)).parity_ == parities).all()


def test_labels_of_each_output_have_their_own_names():
    X, Y, _ = many_labels(k=2)
    named = np.column_stack([np.array(["n", "y"])[Y[:, 0]], np.array(["+", "-"])[Y[:, 1]]])
    fitted = learner("stable", classes=[["n", "y"], ["+", "-"]]).fit(X, named)
    assert (fitted.predict(X)[:, 0] == named[:, 0]).all()
    mixed = [[str(a), int(b)] for a, b in zip(named[:, 0], Y[:, 1], strict=True)]
    of_both = learner("stable").fit(X, mixed)
    assert of_both.predict(X[:1]).dtype == object
    assert of_both.score(X, mixed) == of_both.score(X, pd.DataFrame(mixed)) == 1


@pytest.mark.parametrize("method", ["agnostic", "elimination", "auto"])
def test_several_labels_need_the_stable_method_and_a_delta(method):
    X, Y, _ = many_labels()
    with pytest.raises(ValueError, match=r"takes one label a record, got 5|needs delta above 0"):
        ParityClassifier(method=method).fit(X, Y)


@pytest.mark.parametrize(
    ("Y", "classes", "message"),
    [
        ([[0, 1], [1]], None, "rows of y must be equally long"),
        ([[0, 1], [1, 0]], [[0, 1]] * 3, "classes must have a label set for each of 2 outputs, got 3"),
        ([[0, 1], [1, 1]], None, "Only binary classification"),
        ([[0, 1], [1, 5]], [0, 1], "not among the declared classes"),
    ],
)
def test_bad_tables_of_labels_are_refused(Y, classes, message):
    with pytest.raises(ValueError, match=message):
        learner("stable", classes=classes).fit([[0, 1], [1, 1]], Y)


def test_when_it_declines_all_labels_are_the_first():
    X, Y, _ = many_labels(n=300)
    fitted = learner("stable").fit(X, np.random.default_rng(3).integers(0, 2, Y.shape))
    assert fitted.abstained_
    assert not fitted.predict(X).any()


# --- Within scikit-learn ---


def test_it_fits_into_a_pipeline_and_a_search_that_is_charged_in_full():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 6))
    y = (X[:, [0, 2]] > 0).sum(axis=1) % 2
    ledger = PrivacyLedger(100)
    search = GridSearchCV(
        make_pipeline(
            KBinsDiscretizer(2, encode="ordinal", strategy="uniform"), ParityClassifier(ledger=ledger)
        ),
        {"parityclassifier__epsilon": [1.0, 2.0], "parityclassifier__fit_intercept": [False, True]},
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.7
    assert ledger.spent().epsilon == 2 * 2 * (1 + 2) + search.best_params_["parityclassifier__epsilon"]


def test_a_pickle_and_a_clone_predict_alike():
    X, y = parity_data()
    fitted = learner("elimination").fit(X, y)
    assert (pickle.loads(pickle.dumps(fitted)).predict(X) == fitted.predict(X)).all()
    assert clone(fitted).get_params() == fitted.get_params()


def test_names_of_columns_are_in_the_rule():
    X, y = parity_data()
    frame = pd.DataFrame(X, columns=list("abcdefghijkl"))
    fitted = learner("agnostic", binarize=None).fit(frame, y)
    assert repr(fitted.concept_) == "1 if b + e + h is odd, else 0"


def test_records_sorted_by_their_labels_are_spread_over_the_parts():
    X, y = parity_data()
    order = np.lexsort((*X.T, y))
    for method in ("elimination", "stable"):
        assert np.flatnonzero(learner(method).fit(X[order], y[order]).parity_).tolist() == [1, 4, 7]


def test_a_thousand_columns_and_wide_sparse_tables_are_no_trouble():
    rng = np.random.default_rng(6)
    X = sparse.csr_matrix(rng.integers(0, 2, (4000, 300), dtype=np.int8))
    y = np.asarray(X[:, :100].sum(axis=1)).ravel() % 2
    fitted = learner("stable", epsilon=8.0).fit(X, y)
    assert np.flatnonzero(fitted.parity_).tolist() == list(range(100))
