"""Private scores: the noise, both intervals, and what is refused."""

from ast import literal_eval
from collections import deque
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from dplearn import ExponentialMechanismClassifier, PrivacyLedger, SubsampleAggregateClassifier
from dplearn.audit import exact_distribution
from dplearn.audit.cases.search import score_recipe
from dplearn.domains import DomainError
from dplearn.fit.execute import begin
from dplearn.fit.relation import GROUPS, PARTS, PARTS_OF_GROUPS
from dplearn.model_selection import private_score
from dplearn.model_selection.metrics import PrivateScorer, measure_of
from dplearn.model_selection.tables import ErrorCount
from dplearn.privacy import ApproxDP

NO = DummyClassifier(strategy="constant", constant=0).fit([[0]] * 2, [0, 1])


def errors_and_n(model, X, y):
    found = begin(score_recipe(model, ErrorCount(), ApproxDP(1)), X, y).table
    [[errors]] = found.sums(lambda counted: [counted.counts])
    return int(errors), len(found)


def labels(ones, n):
    return np.arange(n) < ones


@pytest.mark.parametrize("errors", [0, 1, 5, 9, 10])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 2])
def test_the_interval_of_the_records_fails_no_more_often_than_beta_exactly(errors, epsilon):
    beta = Fraction(1, 10)
    measure = measure_of(PrivateScorer("accuracy"), ())
    score = begin(
        score_recipe(NO, measure.statistic, ApproxDP(epsilon)), np.zeros((10, 1)), labels(errors, 10)
    )

    def release(dice):
        return str(measure.bounds(score.run(dice), beta, False)), None

    distribution = exact_distribution(release)
    failing = sum(
        mass
        for seen, mass in distribution.masses.items()
        if not (lambda low, high: low <= 1 - errors / 10 <= high)(*literal_eval(seen[1][0]))
    )
    assert failing <= beta * distribution.total


def test_the_interval_of_the_population_holds_the_truth_about_as_often_as_it_says():
    generator = np.random.default_rng(0)
    X = np.zeros((300, 1))
    missed = 0
    for seed in range(200):
        y = generator.random(300) < 0.2
        low, high = private_score(NO, X, y, epsilon=0.3, beta=0.2, random_state=seed).interval
        missed += not low <= 0.8 <= high
    assert missed <= 40  # 40 are allowed, and the bounds are not tight


def test_the_score_is_near_the_truth_and_says_what_it_costs():
    X, y = np.zeros((10_000, 1)), labels(2_500, 10_000)
    ledger = PrivacyLedger(epsilon=1)
    score = private_score(NO, X, y, epsilon=0.5, ledger=ledger)
    assert abs(score.value - 0.75) < 0.01
    assert score.records_interval[0] <= score.value <= score.records_interval[1]
    assert score.interval[0] < score.records_interval[0]
    assert score.interval[1] > score.records_interval[1]
    assert ledger.spent().epsilon == score.guarantee.epsilon == Fraction(1, 2)


def test_labels_may_be_strings_and_a_model_of_ours_may_be_scored():
    X = np.arange(2000.0)[:, None]
    y = np.where(X[:, 0] < 900, "low", "high")
    model = ExponentialMechanismClassifier(epsilon=5.0, random_state=0).fit(X, y)
    assert private_score(model, X, y, epsilon=5.0, random_state=0).value > 0.95
    assert private_score(model, X, np.arange(2000), epsilon=5.0, random_state=0).value < 0.05


def test_what_answers_from_a_budget_is_refused():
    with pytest.raises(TypeError, match="predictions spend a budget"):
        private_score(SubsampleAggregateClassifier(), np.zeros((3, 1)), [0, 1, 1])
    with pytest.raises(TypeError, match="estimator must have a method predict"):
        private_score("model", np.zeros((3, 1)), [0, 1, 1])


def test_a_regressor_is_refused_before_anything_is_spent():
    ledger = PrivacyLedger(1)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="must be a classifier, got the regressor LinearRegression"):
        private_score(LinearRegression().fit(X, y), X, y, ledger=ledger)
    assert ledger.history() == []


def test_an_error_of_the_model_shows_no_record_and_spends_nothing():
    ledger = PrivacyLedger(epsilon=1)
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(DomainError, match="does not predict one label each") as caught:
        private_score(model, np.array([["secret"], ["x"]], dtype=object), [0, 1], ledger=ledger)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None  # which would quote it
    assert not ledger.history()


def test_no_record_of_a_list_changes_how_the_others_are_read():
    base = 2**53  # as floats, these and their neighbours are one number
    public = np.array([[base + 1], [base + 3], [base + 5], [base + 7]] * 5)
    labels = [0, 1, 0, 1] * 5
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0))
    model.fit(public, labels)
    X, y = [[base + 1 + 2 * (i % 4)] for i in range(40)], [i % 2 for i in range(40)]
    assert errors_and_n(model, X, y) == (0, 40)
    for listed in (list, deque, tuple):
        changed = listed([[0.5], *X[1:]])
        assert errors_and_n(model, changed, y)[0] <= 1


def test_a_list_of_texts_is_given_as_it_is():
    texts = ["good day", "bad day"] * 10
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 0] * 10)
    assert errors_and_n(model, texts, [1, 0] * 10) == (0, 20)


def test_no_records_are_refused_before_anything_is_spent():
    ledger = PrivacyLedger(epsilon=1)
    with pytest.raises(ValueError, match="at least one record"):
        private_score(NO, np.zeros((0, 1)), [], ledger=ledger)
    assert not ledger.history()


@pytest.mark.parametrize("parameters", [{"epsilon": 0}, {"beta": 0}, {"beta": 1}, {"ledger": 3}])
def test_parameters_that_are_not_as_described_are_refused(parameters):
    with pytest.raises((TypeError, ValueError), match=next(iter(parameters))):
        private_score(NO, np.zeros((3, 1)), [0, 1, 1], **parameters)


def test_a_record_counts_once_whatever_shape_predictions_have():
    model = MultiOutputClassifier(LogisticRegression()).fit([[0.0], [10.0]] * 20, [[0], [1]] * 20)
    X, y = np.zeros((200, 1)), np.zeros(200, dtype=int)
    assert errors_and_n(model, X, y) == (0, 200)
    assert errors_and_n(model, X, np.arange(200) == 7) == (1, 200)
    assert errors_and_n(model, X, [*[0] * 199, "odd"]) == (1, 200)
    assert errors_and_n(model, X, [*[0] * 198, None, 0.0]) == (1, 200)


def test_an_ensemble_within_a_pipeline_is_refused_too_fitted_or_not():
    X, y = np.arange(3000.0)[:, None] % 100, np.arange(3000) % 2
    ensemble = SubsampleAggregateClassifier(n_teachers=5, epsilon=1e4, max_queries=10)
    unfitted = make_pipeline(FunctionTransformer(), ensemble)
    fitted = clone(unfitted).fit(X, y)
    for model in (unfitted, fitted, FrozenEstimator(fitted), VotingClassifier([("a", unfitted)])):
        with pytest.raises(TypeError, match="predictions spend a budget"):
            private_score(model, X, y)


def test_a_warning_about_a_record_is_not_heard():
    encoder = OneHotEncoder(handle_unknown="ignore", drop="first")
    model = make_pipeline(encoder, LogisticRegression()).fit([["a"], ["b"]], [0, 1])
    private_score(model, np.array([["a"], ["zz"]], dtype=object), [0, 1])


def test_what_is_public_of_a_mismatch_is_named():
    with pytest.raises(NotFittedError):
        private_score(LogisticRegression(), [[0.0], [1.0]], [0, 1])
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="must have the 1 columns that the classifier was fitted on, got 2"):
        private_score(model, np.zeros((2, 2)), [0, 1])
    with pytest.raises(ValueError, match="equal numbers of records, got 2 and 3"):
        private_score(model, np.zeros((2, 1)), [0, 1, 1])


@pytest.mark.parametrize("random_state", ["x", 1.5, object()], ids=["text", "float", "object"])
def test_a_random_state_of_another_type_is_refused_before_the_charge(random_state):
    X, y = load_breast_cancer(return_X_y=True)
    model = ExponentialMechanismClassifier(epsilon=5.0, random_state=0).fit(X, y)
    ledger = PrivacyLedger(1, allow_reproducible=True)
    with pytest.raises(TypeError):
        private_score(model, X, y, epsilon=1.0, ledger=ledger, random_state=random_state)
    assert ledger.history() == []


@pytest.mark.parametrize("cuts", [[0, 150], [0, 1, 1, 40, 150]], ids=len)
def test_the_score_of_parts_is_that_of_the_table(cuts):
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X[::10], y[::10])
    whole = private_score(model, X, y, epsilon=0.1, random_state=0)
    parts = [(X[start:stop], y[start:stop]) for start, stop in pairwise(cuts)]
    ledger = PrivacyLedger(0.1, allow_reproducible=True)
    parted = private_score(model, parts, None, epsilon=0.1, random_state=0, ledger=ledger)
    assert parted.value == whole.value
    assert parted.interval == whole.interval
    assert parted.n_samples == 150
    assert parted.guarantee.assumes == (*whole.guarantee.assumes, PARTS)
    assert [entry.guarantee for entry in ledger.history()] == [parted.guarantee]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            [(np.zeros((3, 4)), [0, 1, 2]), (np.zeros((3, 4), dtype=int), [0, 1, 2])],
            "the same types in each part",
        ),
        ([(np.zeros((3, 4)), [0, 1, 2]), (np.zeros((3, 3)), [0, 1, 2])], "the 4 columns"),
        ([(np.zeros((0, 4)), [])], "X has no part with rows"),
        ([(np.zeros((3, 4)), [0, 1])], "equal numbers of records, got 3 and 2"),
        (iter([]), "parts that can be read again"),
    ],
    ids=range(5),
)
def test_parts_that_are_no_table_spend_nothing(parts, message):
    model, ledger = GaussianNB().fit(*load_iris(return_X_y=True)), PrivacyLedger(1)
    with pytest.raises((TypeError, ValueError), match=message):
        private_score(model, parts, None, ledger=ledger)
    assert ledger.history() == []


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "roc_auc_ovr"])
def test_the_score_of_groups_in_parts_is_that_of_the_table(scoring):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model, persons = GaussianNB().fit(X[::10], y[::10]), np.arange(150) % 40
    how = {"scoring": scoring, "epsilon": 20, "random_state": 0}
    whole = private_score(model, X, y, groups=persons, **how)
    visits = X.assign(kind=y, person=persons)
    parts = [visits[:1], visits[1:1], visits[1:90], visits[90:]]  # no row of the second takes part
    ledger = PrivacyLedger(40, allow_reproducible=True, protects="groups")
    parted = private_score(model, parts, "kind", groups="person", ledger=ledger, **how)
    assert parted.table.counts.tolist() == whole.table.counts.tolist()
    assert (parted.value, parted.interval) == (whole.value, whole.interval)
    assert parted.n_samples == whole.n_samples == 40
    assert GROUPS in whole.guarantee.assumes
    assert parted.guarantee.assumes == (*whole.guarantee.assumes, PARTS_OF_GROUPS)
    assert [entry.guarantee for entry in ledger.history()] == [parted.guarantee]
    with pytest.raises(ValueError, match="groups must be the name of a column of X in every part, got 'who'"):
        private_score(model, parts, "kind", groups="who", ledger=ledger, **how)
    assert len(ledger.history()) == 1


def test_the_estimator_predicts_each_part_once_and_no_row_of_a_group_that_takes_no_part():
    X, y = load_iris(return_X_y=True, as_frame=True)
    seen = []

    class Watched(GaussianNB):
        def predict(self, X):
            seen.append(len(X))
            return super().predict(X)

    model = Watched().fit(X[::10], y[::10])
    visits = X.assign(kind=y, person=np.arange(150) % 100)
    private_score(model, [visits[:60], visits[60:]], "kind", groups="person", random_state=0)
    assert len(seen) == 2
    assert sum(seen) == 100


def test_labels_of_another_number_are_refused_with_groups_too():
    model, ledger = GaussianNB().fit(*load_iris(return_X_y=True)), PrivacyLedger(1)
    for n in (5, 7):
        with pytest.raises(ValueError, match=f"X and y must have equal numbers of records, got 6 and {n}"):
            private_score(model, np.zeros((6, 4)), [0] * n, groups=[0, 0, 1, 1, 2, 2], ledger=ledger)
    assert ledger.history() == []
