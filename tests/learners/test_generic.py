"""The generic learner as its users meet it."""

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplearn import ExponentialMechanismClassifier, PrivacyLedger
from dplearn.concepts import Conjunctions, DecisionStumps, FiniteClass, Thresholds
from dplearn.domains import Bits, Categories, DomainError, Floats, Grid, IntegerRange, Product, Schema
from dplearn.preprocessing import CellEncoder

MECHANISMS = ["exponential", "permute_and_flip"]


def best_stump_errors(X, y, classifier):
    """The fewest training errors in the learner's class, found without privacy."""
    columns = classifier.domain_.encode(X)
    stumps = DecisionStumps(classifier.domain_, len(classifier.classes_))
    return stumps.error_profile(columns, np.searchsorted(classifier.classes_, y)).groups()[0][0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_at_a_large_epsilon_it_finds_a_best_stump(load, mechanism):
    X, y = load(return_X_y=True)
    fitted = ExponentialMechanismClassifier(epsilon=500, mechanism=mechanism).fit(X, y)
    # exp(-250) for one error more: about 10**40 times as improbable as all stumps are many.
    assert (fitted.predict(X) != y).sum() == best_stump_errors(X, y, fitted)


def test_at_epsilon_1_breast_cancer_is_within_5_points_of_the_best_stump():
    X, y = load_breast_cancer(return_X_y=True)
    gaps = []
    for seed in range(20):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        private = ExponentialMechanismClassifier(epsilon=1).fit(X_train, y_train)
        best = ExponentialMechanismClassifier(epsilon=500).fit(X_train, y_train)
        gaps.append(best.score(X_test, y_test) - private.score(X_test, y_test))
    assert np.mean(gaps) < 0.05


def test_string_labels_come_back_as_strings():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    fitted = ExponentialMechanismClassifier(epsilon=100).fit(X, names)
    assert set(fitted.predict(X)) < set(names)
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]


def test_declared_classes_may_be_absent_from_the_data_and_are_not_assumed():
    fitted = ExponentialMechanismClassifier(classes=["a", "b", "c"]).fit([[0.0], [1.0]], ["a", "b"])
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert "the set of labels, and their type, is public" not in fitted.guarantee_.assumes
    undeclared = ExponentialMechanismClassifier().fit([[0.0], [1.0]], ["a", "b"])
    assert "the set of labels, and their type, is public" in undeclared.guarantee_.assumes


def test_a_label_outside_the_declared_classes_is_refused_without_being_shown():
    with pytest.raises(
        DomainError,
        match=r"y holds a label that is not among the declared classes, which are one label only$",
    ):
        ExponentialMechanismClassifier(classes=["a"]).fit([[0.0], [1.0]], ["a", "secret"])


def test_predict_proba_is_certain_of_the_prediction():
    X, y = load_iris(return_X_y=True)
    fitted = ExponentialMechanismClassifier().fit(X, y)
    proba = fitted.predict_proba(X)
    assert proba.shape == (150, 3)
    assert set(np.unique(proba)) == {0.0, 1.0}
    assert (fitted.classes_[proba.argmax(axis=1)] == fitted.predict(X)).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda table: pl.DataFrame(table)], ids=["pandas", "polars"])
def test_data_frames_give_names_to_the_rule(frame):
    rng = np.random.default_rng(0)  # public data
    x = rng.normal(size=300)
    table = frame({"noise": rng.normal(size=300), "signal": x})
    fitted = ExponentialMechanismClassifier(epsilon=50).fit(table, np.where(x > 0, "up", "down"))
    assert "signal" in repr(fitted.concept_)
    assert fitted.score(table, np.where(x > 0, "up", "down")) > 0.95


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda table: pl.DataFrame(table)], ids=["pandas", "polars"])
def test_a_schema_reads_mixed_columns_by_name(frame):
    schema = Schema(
        {
            "job": Categories(["clerk", "farmer", None]),
            "age": IntegerRange(0, 120),
            "wage": Floats(missing=True),
        },
        labels=["no", "yes"],
    )
    job = ["farmer", "clerk", None] * 100
    table = {"age": list(range(20, 80)) * 5, "wage": [1.5, None, 2.0] * 100, "job": job, "ignored": [0] * 300}
    y = ["yes" if j == "farmer" else "no" for j in job]
    fitted = ExponentialMechanismClassifier(epsilon=50, domain=schema).fit(frame(table), y)
    assert repr(fitted.concept_) == "'yes' if job == 'farmer', else 'no'"
    assert fitted.score(frame(table), y) == 1
    unseen = frame({"age": [300], "wage": [None], "job": ["astronaut"], "ignored": [1]})
    assert fitted.predict(unseen).tolist() == ["no"]


def test_a_column_missing_from_the_frame_is_named():
    schema = Schema({"a": IntegerRange(0, 1), "b": IntegerRange(0, 1)})
    with pytest.raises(ValueError, match="'b' is missing"):
        ExponentialMechanismClassifier(domain=schema).fit(pd.DataFrame({"a": [0, 1]}), [0, 1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_values_are_refused(value):
    with pytest.raises(ValueError, match=r"NaN|infinity|outside the declared domain"):
        ExponentialMechanismClassifier().fit([[0.0], [value]], [0, 1])


@pytest.mark.parametrize(
    "domain", [Floats(missing=True), IntegerRange(0, 9, missing=True), Grid(0, 9, missing=True)], ids=repr
)
def test_missing_values_are_data_where_the_domain_says_so(domain):
    X = np.array([[np.nan], [1.0]] * 100)
    y = np.array(["gone", "here"] * 100)
    fitted = ExponentialMechanismClassifier(epsilon=50, domain=domain).fit(X, y)
    assert fitted.predict([[np.nan], [5e9]]).tolist() == ["gone", "here"]


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_input_is_refused_clearly(kind):
    with pytest.raises(TypeError, match="dense data is required"):
        ExponentialMechanismClassifier().fit(kind(np.eye(4)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    "X", [[["37", "secret"]], np.array([[1, "secret"]], dtype=object)], ids=["list", "array"]
)
def test_text_in_a_numeric_table_is_refused_without_being_shown(X):
    with pytest.raises(ValueError, match="X holds a value that is not a number") as caught:
        ExponentialMechanismClassifier().fit(X, [1])
    assert "secret" not in str(caught.value)
    # Nothing that an error tracker would read along.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number above 0, got 0"),
        ({"epsilon": -1.0}, "epsilon must be a finite number above 0, got -1.0"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number above 0, got nan"),
        (
            {"mechanism": "softmax"},
            "mechanism must be one of 'exponential', 'permute_and_flip', got 'softmax'",
        ),
        ({"concept_class": "forest"}, "concept_class must be one of"),
        ({"classes": [0, 0]}, "classes must be distinct, at least one, all strings or all numbers, got"),
        ({"domain": [IntegerRange(0, 1)] * 3}, "domain must describe 1 columns, as X has, got 3"),
        ({"concept_class": FiniteClass([[0, 1]], 3)}, "as many labels as there are classes"),
        ({"concept_class": FiniteClass([[0, 1]]), "domain": Grid(0, 1)}, "domain must be None"),
    ],
)
def test_bad_parameters_are_named_with_constraint_and_value(parameters, message):
    with pytest.raises(ValueError, match=message):
        ExponentialMechanismClassifier(**parameters).fit([[0], [1]], [0, 1])


def test_bad_random_state_is_named():
    with pytest.raises(TypeError, match="random_state must be None, an integer or a numpy random generator"):
        ExponentialMechanismClassifier(random_state="seed").fit([[0], [1]], [0, 1])


def test_an_unfitted_learner_says_so():
    with pytest.raises(NotFittedError):
        ExponentialMechanismClassifier().predict([[0]])


def test_thresholds_look_at_one_column_and_bits_are_binarised():
    X = np.array([[0.2, 9.0], [0.4, -3.0], [0.6, 5.0], [0.8, 1.0]] * 50)
    y = X[:, 0] > 0.5
    thresholds = ExponentialMechanismClassifier("thresholds", epsilon=50).fit(X, y)
    assert thresholds.score(X, y) == 1
    negative = X[:, 1] <= 0
    conjunctions = ExponentialMechanismClassifier("conjunctions", epsilon=50).fit(X, negative)
    assert repr(conjunctions.concept_) in (
        "True if x1 <= 0, else False",
        "True if x0 > 0 and x1 <= 0, else False",
    )


@pytest.mark.parametrize(
    "concept_class",
    [
        Thresholds(Product([IntegerRange(0, 3), IntegerRange(0, 1)]), feature=0),
        Conjunctions(2, max_literals=1, binarize=1.5),
        FiniteClass([lambda X: (X[:, 0] > 1).astype(int), lambda X: np.zeros(len(X), dtype=int)]),
    ],
    ids=["thresholds", "conjunctions", "functions"],
)
def test_instances_of_concept_classes_state_their_domain(concept_class):
    X, y = np.array([[0, 1], [1, 0], [2, 1], [3, 0]] * 40), np.array([0, 0, 1, 1] * 40)
    learner = ExponentialMechanismClassifier(concept_class, epsilon=50)
    fitted = clone(learner).fit(X, y)
    assert fitted.score(X, y) == 1
    assert fitted.domain_.assumes <= fitted.guarantee_.assumes or not fitted.domain_.assumes


def test_a_table_of_predictions_is_a_concept_class():
    fitted = ExponentialMechanismClassifier(FiniteClass([[0, 0, 1], [1, 0, 0]]), epsilon=50).fit(
        np.array([[0], [1], [2]] * 30), [0, 0, 1] * 30
    )
    assert fitted.concept_.concept.position == 0
    assert fitted.predict([[2], [0]]).tolist() == [1, 0]


def test_numbers_outside_a_grid_are_refused_in_fit_and_moved_in_predict():
    learner = ExponentialMechanismClassifier(domain=Grid(0, 1, 11), epsilon=50)
    X, y = np.linspace(0, 1, 101)[:, None], np.linspace(0, 1, 101) > 0.45
    with pytest.raises(DomainError, match="column 'x0', a value lies outside the declared domain Grid"):
        learner.fit(X * 2, y)
    assert learner.fit(X, y).predict([[-7.0], [7.0]]).tolist() == [False, True]


def test_the_guarantee_is_known_before_the_data():
    learner = ExponentialMechanismClassifier(
        epsilon=0.3, domain=Grid(0, 1), classes=[0, 1], mechanism="permute_and_flip"
    )
    plan = learner.plan(100, n_features=2)
    assert plan.guarantee == learner.fit([[0, 1], [1, 0]], [0, 1]).guarantee_
    assert plan.class_size == 2 * 256 * 4
    assert plan.mechanism == "permute_and_flip"


def test_a_plan_needs_what_only_data_would_tell():
    with pytest.raises(ValueError, match="n_features must be given"):
        ExponentialMechanismClassifier(classes=[0, 1]).plan(100)
    with pytest.raises(ValueError, match="n_labels must be given"):
        ExponentialMechanismClassifier().plan(100, n_features=3)
    assert ExponentialMechanismClassifier(Conjunctions(4)).plan(100).class_size == Conjunctions(4).size


def test_the_plans_training_error_holds():
    X, y = load_breast_cancer(return_X_y=True)
    learner = ExponentialMechanismClassifier(epsilon=1, classes=[0, 1])
    plan = learner.plan(len(y), n_features=30, beta=0.1)
    fitted = [clone(learner).fit(X, y) for _ in range(40)]
    best = best_stump_errors(X, y, fitted[0]) / len(y)
    missed = sum(np.mean(f.predict(X) != y) > best + plan.excess_error for f in fitted)
    # P[Binomial(40, 0.1) > 20] < 10**-9.
    assert missed <= 20


def test_it_works_in_a_pipeline_a_grid_search_and_a_pickle():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), ExponentialMechanismClassifier(epsilon=10))
    search = GridSearchCV(pipeline, {"exponentialmechanismclassifier__epsilon": [1, 10.0]}, cv=3).fit(X, y)
    assert cross_val_score(pipeline, X, y, cv=3).shape == (3,)
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (copy.predict(X) == search.predict(X)).all()


def test_mixed_text_goes_through_the_cell_encoder():
    table = pd.DataFrame({"job": ["farmer", "clerk", ""] * 100, "age": ["20", "?", "31"] * 100})
    y = ["yes" if job == "farmer" else "no" for job in table["job"]]
    encoder = CellEncoder().fit(table)
    model = make_pipeline(encoder, ExponentialMechanismClassifier(epsilon=50, domain=encoder.domain()))
    assert model.fit(table, y).score(table, y) == 1


def test_labels_and_declared_domains_raise_no_data_dependent_warning():
    learner = ExponentialMechanismClassifier(epsilon=5, domain=IntegerRange(0, 9), classes=list(range(10)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in ([0] * 30, list(range(10)) * 3):
            learner.fit(np.arange(30)[:, None] % 10, y)


def test_the_html_and_json_of_a_guarantee_travel_with_the_release():
    fitted = ExponentialMechanismClassifier(epsilon=0.1).fit([[0.0], [1.0]], [0, 1])
    assert json.loads(fitted.guarantee_.to_json())["epsilon"] == "1/10"
    assert "exp(0.1)" in fitted.guarantee_._repr_html_()


def test_bits_and_unordered_columns_mix_in_one_table():
    domain = [Bits(None), Categories([1, 2, 3]), Grid(0, 1, 5)]
    X = np.array([[0, 1, 0.5], [1, 2, 0.25], [0, 3, 1.0], [1, 2, 0.0]] * 30)
    y = (X[:, 1] == 2).astype(int)
    fitted = ExponentialMechanismClassifier(domain=domain, epsilon=50).fit(X, y)
    assert fitted.score(X, y) == 1


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["clerk", "farmer"] * 5, r"not a number; declare the columns with domain=Schema.*CellEncoder"),
        ([None, 1.0] * 5, r"missing value; fill it .*Floats\(missing=True\), or Schema.*CellEncoder"),
    ],
)
def test_a_frame_that_nobody_declared_and_that_holds_more_than_numbers_is_told_what_to_do(column, message):
    frame = pd.DataFrame({"age": range(10), "other": column})
    with pytest.raises(DomainError, match=message):
        ExponentialMechanismClassifier(classes=[0, 1]).fit(frame, [0, 1] * 5)


def test_so_many_labels_that_they_look_like_numbers_are_refused_unless_declared():
    X, y = np.arange(400.0)[:, None], np.arange(400) % 200
    ledger = PrivacyLedger(1)
    with pytest.raises(DomainError, match=r"y has 200 labels, 200 or more.* classes=\[...\] declares them"):
        ExponentialMechanismClassifier(ledger=ledger).fit(X, y)
    with pytest.raises(UserWarning, match="y has 200 labels: a rule names two of them"):  # errors here
        ExponentialMechanismClassifier(classes=range(200), ledger=ledger).fit(X, y)
    assert ledger.history() == []
    few = ExponentialMechanismClassifier(domain=Grid(0, 400, 4)).fit(X, y % 199)
    assert few.classes_.size == 199


def test_rules_over_bits_of_one_label_or_of_numbers_say_what_is_missing():
    frame = pd.DataFrame({"age": range(10)})
    one = ExponentialMechanismClassifier("conjunctions")
    with pytest.raises(ValueError, match=r"got 1 class; classes=\[...\] declares both"):
        one.fit(frame, [0] * 10)
    ages = ExponentialMechanismClassifier("conjunctions", domain=Schema({"age": IntegerRange(0, 9)}))
    with pytest.raises(ValueError, match=r"Bits\(binarize=40\) asks whether a number is above 40"):
        ages.fit(frame, [0, 1] * 5)


@pytest.mark.filterwarnings("error:n_samples is")
@pytest.mark.parametrize(("n", "epsilon"), [(10, 1.0), (2250, 0.001)])
def test_too_few_records_are_warned_of_before_anything_is_spent(n, epsilon):
    ledger = PrivacyLedger(1)
    learner = ExponentialMechanismClassifier(epsilon=epsilon, classes=[0, 1], ledger=ledger)
    with pytest.raises(
        UserWarning, match=f"n_samples is {n}: with epsilon {epsilon:.3g} and 2.* concepts, half"
    ):
        learner.fit(np.linspace(0, 1, n)[:, None], np.arange(n) % 2)  # warnings are errors here
    assert ledger.history() == []
    assert learner.plan(n, n_features=1).excess_error >= 0.5
