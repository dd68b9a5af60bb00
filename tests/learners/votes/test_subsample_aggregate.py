"""Tests of subsample-and-aggregate: answers, cost, and isolation of teachers."""

import copy
import pickle
import traceback
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import bsr_matrix, csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dplearn import (
    ApproxDP,
    BudgetExceededError,
    PrivacyLedger,
    QueriesExhaustedError,
    SubsampleAggregateClassifier,
)
from dplearn.audit import FaultyDice, fitted_with
from dplearn.chance import SystemDice
from dplearn.kernels.votes import tally
from dplearn.learners.votes.aggregators import AGGREGATIONS, Ballot
from dplearn.privacy import OneTimeState

X, Y = make_classification(2000, n_features=6, class_sep=2.0, flip_y=0.0, random_state=1)  # public
HOPELESS = pytest.mark.filterwarnings("ignore:n_teachers is 2")
PLENTY = {"epsilon": 50.0, "classes": [0, 1]}
BY_AGREEMENT = {"aggregation": "sparse_vector"}  # most tests are of aggregations that abstain and stop


def learner(estimator=None, **parameters):
    estimator = GaussianNB() if estimator is None else estimator
    return SubsampleAggregateClassifier(estimator, **BY_AGREEMENT | PLENTY | parameters)


@pytest.mark.first_by_day
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_at_a_large_epsilon_it_answers_as_well_as_its_teachers(aggregation):
    model = learner(aggregation=aggregation, max_queries=500, abstain_label=-1).fit(X[:1500], Y[:1500])
    answers = model.predict(X[1500:])
    answered = answers >= 0
    assert answered.mean() > 0.8
    assert (answers == Y[1500:])[answered].mean() > 0.95
    assert model.guarantee_.epsilon == 50


def imbalanced(share, n=6400, seed=0):
    """Two clusters that overlap a little, of which the second has a share of all records."""
    generator = np.random.default_rng(seed)
    y = np.where(generator.random(n) < share, "rare", "common")
    return generator.normal(size=(n, 2)) + 2.5 * (y == "rare")[:, None], y


@pytest.mark.nightly
@pytest.mark.parametrize(("share", "least"), [(0.02, None), (0.5, 0.93)])
@pytest.mark.parametrize(
    "how",
    [
        {"aggregation": "gnmax", "max_queries": 400},
        pytest.param({"aggregation": "confident_gnmax", "max_queries": 400}, marks=pytest.mark.nightly),
    ],
)
def test_shards_with_one_label_vote_and_answers_are_no_worse_than_the_majority(share, least, how):
    X, y = imbalanced(share)
    model = SubsampleAggregateClassifier(
        GaussianNB(), n_teachers=600, epsilon=3.0, classes=["common", "rare"], abstain_label="none", **how
    ).fit(X[:6000], y[:6000])
    answers = model.predict(X[6000:])
    answered = answers != "none"
    assert answered.mean() > 0.8
    majority = (y[6000:] == "common")[answered].mean()
    assert (answers == y[6000:])[answered].mean() > (majority - 0.02 if least is None else least)


@pytest.mark.nightly
def test_an_estimator_that_needs_several_records_of_a_label_is_no_worse_than_the_majority_either():
    X, y = imbalanced(0.03, n=2400)
    folds = CalibratedClassifierCV(GaussianNB(), cv=2)  # fails on shards with one record of a label
    model = SubsampleAggregateClassifier(
        folds, n_teachers=115, epsilon=3.0, classes=["common", "rare"], max_queries=100
    ).fit(X[:2300], y[:2300])
    assert (model.predict(X[2300:]) == y[2300:]).mean() > (y[2300:] == "common").mean() - 0.03


@pytest.mark.nightly
def test_by_default_all_rows_of_the_plan_are_answered_however_little_teachers_agree():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(5000, 2)), generator.integers(0, 2, 5000)
    model = SubsampleAggregateClassifier(GaussianNB(), epsilon=3.0, classes=[0, 1], abstain_label=-1).fit(
        X, y
    )
    plan = model.plan(5000)
    assert (plan.aggregation, plan.least_decided) == ("gnmax", 0)
    assert 100 < plan.max_queries == model.remaining_queries_
    assert plan.least_lead <= 2 / 3 * plan.n_teachers
    answers = model.predict(X[: plan.max_queries])
    assert answers.size == plan.max_queries
    assert (answers >= 0).all()


@pytest.mark.parametrize("aggregation", ["sparse_vector", "gnmax", "confident_gnmax"])
def test_noisy_answers_need_a_delta(aggregation):
    ledger = PrivacyLedger(100)
    with pytest.raises(ValueError, match="delta must be a finite number above 0"):
        learner(aggregation=aggregation, delta=0, ledger=ledger).fit(X, Y)
    assert ledger.history() == []


def test_laplace_votes_need_no_delta():
    model = learner(aggregation="lnmax", delta=0, max_queries=10).fit(X, Y)
    assert model.guarantee_ == ApproxDP(50, 0, assumes=model.guarantee_.assumes)
    assert model.predict(X[:10]).shape == (10,)


@pytest.mark.first_by_day
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_a_batch_larger_than_the_queries_left_is_refused_before_the_first_draw(aggregation):
    dice = FaultyDice(SystemDice())
    model = fitted_with(learner(aggregation=aggregation, max_queries=10), X, Y, dice=dice)
    drawn = dice.n_draws
    model.predict(X[:7])
    left, drawn = model.remaining_queries_, dice.n_draws
    with pytest.raises(
        QueriesExhaustedError, match=f"at most the {left} queries that are left, got 11"
    ) as caught:
        model.predict(X[:11])
    assert caught.value.released.size == 0
    assert (model.remaining_queries_, dice.n_draws) == (left, drawn)


@HOPELESS
def test_the_error_after_the_last_abstention_contains_the_released_answers():
    model = learner(n_teachers=2, max_abstentions=3, max_queries=50, abstain_label=-1, epsilon=1.0).fit(X, Y)
    with pytest.raises(
        QueriesExhaustedError,
        match="max_abstentions=3 is used up at row 3 of this batch",
    ) as caught:
        model.predict(X[:20])
    assert caught.value.released.tolist() == [-1, -1, -1]  # two teachers never are stable
    assert (model.remaining_queries_, model.remaining_abstentions_) == (0, 0)
    with pytest.raises(QueriesExhaustedError, match="at most the 0 queries"):
        model.predict(X[:1])
    carried = pickle.loads(pickle.dumps(caught.value))
    assert carried.released.tolist() == [-1, -1, -1]


def test_answers_and_abstentions_are_counted():
    model = learner(n_teachers=40, max_abstentions=5, max_queries=30, abstain_label=-1).fit(X, Y)
    assert (model.remaining_queries_, model.remaining_abstentions_) == (30, 5)
    answers = model.predict(X[:20])
    assert model.remaining_queries_ == 10
    assert model.remaining_abstentions_ == 5 - np.count_nonzero(answers == -1)


@HOPELESS
def test_an_abstention_gets_a_label_from_the_public_stream_or_the_abstain_label():
    unstable = {"n_teachers": 2, "max_abstentions": 50, "max_queries": 50, "epsilon": 1.0}
    model = learner(**unstable, random_state=0).fit(X, Y)
    first, second = model.predict(X[:20]), model.predict(X[:20])
    assert set(first) == {0, 1}
    assert (first != second).any()
    again = learner(**unstable, random_state=0).fit(X[::-1], 1 - Y[::-1])
    assert again.predict(X[:20]).tolist() == first.tolist()  # whatever the records are
    texts = np.array(["no", "yes"])[Y]
    for label, classes, kind in (
        ("none", ["no", "yes"], "U"),
        (-1, ["no", "yes"], "O"),
        (None, ["no", "yes"], "U"),
    ):
        answers = (
            learner(**unstable, abstain_label=label).set_params(classes=classes).fit(X, texts).predict(X[:5])
        )
        assert answers.dtype.kind == kind
        assert set(answers) <= ({label} if label is not None else {"no", "yes"})


def test_copies_share_what_is_left_and_never_answer_twice():
    model = learner(max_queries=10, aggregation="gnmax").fit(X, Y)
    twins = [copy.copy(model), copy.deepcopy(model)]
    model.predict(X[:4])
    twins[0].predict(X[:4])
    assert [each.remaining_queries_ for each in (model, *twins)] == [2, 2, 2]
    with pytest.raises(QueriesExhaustedError):
        twins[1].predict(X[:3])
    with pytest.raises(Exception, match="not fitted"):
        clone(model).predict(X[:1])


def test_a_pickle_has_no_teachers_and_warns():
    model = learner().fit(X, Y)
    with pytest.warns(UserWarning, match=r"contains no teachers.*export_teachers"):
        there = pickle.loads(pickle.dumps(make_pipeline(StandardScaler(), model)))[-1]
    assert there.guarantee_ == model.guarantee_
    for twin in (copy.copy(model), copy.deepcopy(model), clone(model), pickle.loads(pickle.dumps(there))):
        assert isinstance(twin, SubsampleAggregateClassifier)  # without a word
    assert (there.remaining_queries_, there.remaining_abstentions_) == (0, None)
    with pytest.raises(RuntimeError, match="this copy has no teachers"):
        there.predict(X[:1])
    assert model.predict(X[:1]).shape == (1,)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_teachers_move_by_name_with_what_is_left(aggregation, tmp_path):
    model = learner(aggregation=aggregation, max_queries=10, n_teachers=20).fit(X, Y)
    model.predict(X[:4])
    left = model.remaining_queries_, model.remaining_abstentions_
    model.export_teachers(tmp_path / "teachers")
    there = pickle.loads(pickle.dumps(model))  # without a word: its teachers have left already
    with pytest.raises(RuntimeError, match="it was exported"):
        model.predict(X[:1])
    there.load_teachers(tmp_path / "teachers")
    assert (there.remaining_queries_, there.remaining_abstentions_) == left
    assert there.predict(X[:2]).shape == (2,)
    assert not (tmp_path / "teachers").exists()


def test_the_whole_budget_is_charged_once_by_fit_and_nothing_by_predict():
    ledger = PrivacyLedger(3, delta=1e-5)
    model = learner(epsilon=2.0, ledger=ledger).fit(X, Y)
    model.predict(X[:3])
    model.predict(X[:3])
    assert len(ledger.history()) == 1
    assert ledger.spent().epsilon == 2
    with pytest.raises(BudgetExceededError):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("delta", -1),
        ("delta", 1),
        ("aggregation", "majority"),
        ("n_teachers", 0),
        ("n_teachers", "many"),
        ("n_teachers", 2001),
        ("max_queries", 0),
        ("max_abstentions", 0.5),
        ("classes", [0]),
        ("estimator", LogisticRegression),
        ("estimator", "logistic"),
        ("estimator", StandardScaler()),
        ("ledger", 3),
    ],
)
def test_a_bad_parameter_is_named_and_nothing_is_spent(name, value):
    ledger = PrivacyLedger(100, delta=1e-3)
    with pytest.raises((TypeError, ValueError), match=name):
        learner(**{"ledger": ledger} | {name: value}).fit(X, Y) if name != "estimator" else (
            SubsampleAggregateClassifier(value, ledger=ledger, **PLENTY).fit(X, Y)
        )
    assert ledger.history() == []


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ZeroDivisionError("always")

    def predict(self, X):
        return X


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_estimator_that_reads_text_columns_as_numbers_is_refused_without_cost(frame):
    table = frame({"job": ["clerk", "smith"] * 50, "wage": [1.0, 2.0] * 50, "old": [True, False] * 50})
    ledger = PrivacyLedger(100, delta=1e-3)
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    for estimator in (LogisticRegression(), scaled):
        refused = learner(estimator, aggregation="gnmax", max_queries=5, ledger=ledger)
        with pytest.raises(ValueError, match="learn from text, which X has in column 'job', but reads it"):
            refused.fit(table, [0, 1] * 50)
    assert ledger.history() == []


@pytest.mark.filterwarnings("ignore:n_teachers is")
def test_an_estimator_for_the_texts_of_a_frame_is_only_warned_of():
    table = pd.DataFrame({"job": ["clerk", "smith"] * 50})
    known = make_pipeline(OrdinalEncoder(categories=[["clerk", "smith"]]), LogisticRegression())
    model = learner(known, aggregation="gnmax", max_queries=5)
    with pytest.warns(UserWarning, match="fails on 64 made-up rows .* unknown categories"):
        model.fit(table, [0, 1] * 50)
    assert model.predict(table[:2]).shape == (2,)


class Counting:
    """A cell that counts its accesses."""

    looks = 0

    def __float__(self):
        Counting.looks += 1
        return float(Counting.looks)


def test_queries_hold_values_and_no_objects_that_teachers_could_share():
    model = learner(aggregation="gnmax", max_queries=5).fit(X, Y)
    cells = np.array([[Counting(), *X[0, 1:]]], dtype=object)
    for rows in (cells, pd.DataFrame(cells)):
        with pytest.raises(TypeError, match="X must hold numbers, texts and missing values, got Counting"):
            model.predict(rows)
    assert model.remaining_queries_ == 5


def test_too_few_teachers_for_the_noise_are_warned_of():
    with pytest.warns(
        UserWarning, match="n_teachers is 3: too few for the noise .* nearly all answers are abstentions"
    ):
        learner(n_teachers=3, epsilon=1.0).fit(X, Y)


def test_an_estimator_that_always_fails_is_warned_of_and_fails_no_fit():
    with pytest.warns(
        UserWarning, match=r"estimator fails on 64 made-up rows .* \(ZeroDivisionError: always\)"
    ):
        model = learner(Broken(), aggregation="gnmax", max_queries=5).fit(X, Y)
    assert set(model.predict(X[:5])) <= {0, 1}


def _tables():
    """The same rows in each supported container."""
    names = [f"c{i}" for i in range(X.shape[1])]
    yield "array", X
    yield "lists", X.tolist()
    yield "sparse", csr_matrix(X)
    yield "pandas", pd.DataFrame(X, columns=names)
    yield "polars", pl.DataFrame(X, schema=names)
    yield "float32", X.astype(np.float32)


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    ("kind", "rows"), list(_tables()), ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize(
    "how", [{"epsilon": 1e3, "n_teachers": 30}, pytest.param({}, marks=pytest.mark.nightly)]
)
def test_tables_of_every_kind_are_learned_with_the_standard_estimator(kind, rows, how):
    model = SubsampleAggregateClassifier(**PLENTY | how, max_queries=2000).fit(rows, Y)
    assert model.score(rows, Y) > 0.9
    assert model.n_features_in_ == 6
    assert hasattr(model, "feature_names_in_") == (kind in ("pandas", "polars"))


@pytest.mark.nightly
@pytest.mark.first_by_day
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    "how", [{"epsilon": 1e3, "n_teachers": 20}, pytest.param({"epsilon": 50.0}, marks=pytest.mark.nightly)]
)
def test_texts_and_gaps_in_a_frame_are_learned_too(frame, how):
    generator = np.random.default_rng(0)
    job = generator.choice(["clerk", "farmer", "smith"], 1000)
    wage = generator.normal(size=1000)
    wage[::7] = np.nan
    table = frame({"job": job, "wage": wage, "town": generator.choice(["Ulm", "Bonn"], 1000)})
    y = np.where(job == "clerk", "poor", "rich")
    how = how | {"max_queries": 1000, "classes": ["poor", "rich"]}
    model = SubsampleAggregateClassifier(**how).fit(table, y)
    assert model.score(table, y) > 0.95


def test_many_classes_and_strings():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    parameters = {"n_teachers": 10, "aggregation": "gnmax", "max_queries": 150, "random_state": 0}
    model = learner(classes=sorted(set(names)), **parameters).fit(X, names)
    assert model.score(X, names) > 0.85  # the share of public choices of shards with less is about 1 %
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]


def test_in_a_pipeline_a_search_and_a_cross_validation():
    ledger = PrivacyLedger(1000, delta=1e-3)
    inner = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2))
    # Trees of so few records disagree too often for a sparse vector to be sure to answer a whole fold.
    model = learner(inner, ledger=ledger, n_teachers=20, aggregation="gnmax", epsilon=100.0, max_queries=1000)
    assert cross_val_score(model, X, Y, cv=KFold(3)).mean() > 0.85
    search = GridSearchCV(model, {"n_teachers": [10, 20]}, cv=KFold(2)).fit(X, Y)
    assert len(ledger.history()) == 3 + 5
    assert search.predict(X[:3]).shape == (3,)
    assert "estimator__decisiontreeclassifier__max_depth" in model.get_params()


def test_sizes_do_not_depend_on_the_data():
    X, y = load_breast_cancer(return_X_y=True)
    model = learner(epsilon=3.0).fit(X, y)
    plan = learner(epsilon=3.0).plan(len(y))
    assert (model.n_teachers_, model.max_abstentions_) == (plan.n_teachers, plan.max_abstentions)
    other = learner(epsilon=3.0).fit(X[::-1] * 0, np.arange(len(y)) % 2)
    assert (other.n_teachers_, other.max_abstentions_) == (plan.n_teachers, plan.max_abstentions)


def test_a_fault_at_a_draw_loses_queries_and_never_gains_any():
    for aggregation in AGGREGATIONS:
        for at in range(3):
            model = learner(aggregation=aggregation, max_queries=10, n_teachers=10)
            model = fitted_with(model, X, Y, dice=FaultyDice(SystemDice(), at=at, drawn=True))
            before = model.remaining_queries_
            try:
                model.predict(X[:4])
            except KeyboardInterrupt:
                assert model.remaining_queries_ < before


class Growing(pd.DataFrame):
    """A frame whose length grows with each access."""

    asked = 0

    @property
    def _constructor(self):
        return Growing

    @property
    def shape(self):
        Growing.asked += 1
        return (1, 6) if Growing.asked < self.patience else super().shape


@pytest.mark.filterwarnings("ignore:estimator fails where values are missing")
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize(
    "patience", [1, 4, 7, *[pytest.param(each, marks=pytest.mark.nightly) for each in (2, 3, 5, 6)]]
)
def test_rows_that_appear_between_counting_and_answering_are_never_answered(aggregation, patience):
    frame = pd.DataFrame(X[:300])
    model = learner(aggregation=aggregation, n_teachers=20, max_queries=5).fit(frame, Y[:300])
    Growing.asked, Growing.patience = 0, patience
    with suppress(QueriesExhaustedError, ValueError):
        assert len(model.predict(Growing(frame))) <= 5
    assert model.remaining_queries_ >= 0


def test_an_aggregator_refuses_more_votes_than_are_left_before_it_draws():
    for name, kind in AGGREGATIONS.items():
        ballot = Ballot(ApproxDP(1, 1e-6), n_labels=2, n_teachers=9, max_queries=3, max_abstentions=3)
        dice = FaultyDice(SystemDice())
        with pytest.raises(ValueError, match="of at most those that are left"):
            kind(ballot).attach(dice).answer(tally(np.zeros((9, 4), dtype=int), 2))
        assert dice.n_draws == 0, name


def test_a_traceback_that_shows_variables_shows_no_teacher_and_no_vote():
    model = learner(max_queries=3).fit(X, Y)
    with pytest.raises(QueriesExhaustedError) as refused:
        model.predict(X[:4])
    shown = "".join(traceback.TracebackException.from_exception(refused.value, capture_locals=True).format())
    assert "Ensemble object" in shown
    assert "teachers=[" not in shown


def test_loaded_teachers_bring_their_own_guarantee(tmp_path):
    model = learner(max_queries=10).fit(X, Y)
    model.export_teachers(tmp_path / "teachers")
    there = SubsampleAggregateClassifier(epsilon=0.1).load_teachers(tmp_path / "teachers")
    assert (there.guarantee_, there.n_features_in_) == (model.guarantee_, 6)
    assert there.predict(X[:3]).shape == (3,)
    OneTimeState([1, 2]).export(tmp_path / "other")
    with pytest.raises(ValueError, match="not the teachers of a SubsampleAggregateClassifier"):
        there.load_teachers(tmp_path / "other")
    assert (tmp_path / "other").exists()


@pytest.mark.parametrize("aggregation", ["gnmax", "confident_gnmax", "sparse_vector"])
def test_a_budget_too_small_for_any_noise_is_refused_before_it_is_charged(aggregation):
    ledger = PrivacyLedger(1, delta=1e-3)
    tiny = {"epsilon": 1e-11, "delta": 1e-300, "max_queries": 10**9, "max_abstentions": 10**9}
    with pytest.raises(ValueError, match="epsilon"):
        learner(aggregation=aggregation, ledger=ledger, **tiny).fit(X, Y)
    with pytest.raises(ValueError, match="abstain_label must be a single label"):
        learner(abstain_label=[7, 8], ledger=ledger).fit(X, Y)
    assert ledger.history() == []


class Stored(ClassifierMixin, BaseEstimator):
    """An estimator that depends on the number of stored cells, zeros included."""

    def fit(self, X, y):
        self.label_ = int(X.nnz > 0)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.label_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def test_blocks_of_a_sparse_matrix_do_not_store_one_record_because_of_another():
    rows = np.zeros((200, 2))
    rows[0, 0] = 1
    answers = []
    for blocks in ((200, 1), (1, 1)):
        model = learner(Stored(), aggregation="gnmax", n_teachers=20, max_queries=1, epsilon=1000.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(bsr_matrix(rows, blocksize=blocks), np.arange(200) % 2)
        answers += model.predict(csr_matrix(np.ones((1, 2)))).tolist()
    assert answers == [0, 0]


class Stubborn(GaussianNB):
    """An estimator that cannot be pickled if a record was large."""

    def fit(self, X, y):
        super().fit(X, y)
        self.held_ = (lambda: 0) if X.max() > 100 else None
        return self


def test_a_failed_export_reveals_nothing_of_the_teachers(tmp_path):
    rows = X.copy()
    rows[7] = 1000.0
    model = learner(Stubborn(), max_queries=10).fit(rows, Y)
    model.export_teachers(tmp_path / "teachers")
    assert SubsampleAggregateClassifier().load_teachers(tmp_path / "teachers").predict(X[:2]).shape == (2,)


def test_a_refit_that_fails_keeps_teachers_with_their_guarantee():
    model = learner(max_queries=10).fit(X, Y)
    model.set_params(epsilon=1.0, delta=0, aggregation="gnmax")
    with pytest.raises(ValueError, match="delta"):
        model.fit(X, Y)
    assert model.guarantee_.epsilon == 50
    assert model.predict(X[:2]).shape == (2,)


def test_answers_are_labels_and_the_error_names_the_estimator_with_probabilities():
    assert not hasattr(learner(), "predict_proba")
    with pytest.raises(AttributeError, match="SoftLabelAggregateClassifier answers with probabilities"):
        learner().predict_proba(X)
    with pytest.raises(ValueError, match=r"got 1 class; classes=\[...\] declares all"):
        learner(classes=None).fit(X, 0 * Y)


JOB = np.random.default_rng(1).choice(["clerk", "smith"], 600)
CELLS = np.array([[float(i % 7), job] for i, job in enumerate(JOB)], dtype=object)


@pytest.mark.nightly
def test_cells_of_both_kinds_are_learned_with_the_standard_estimator():
    cells = CELLS.copy()
    cells[::7, 0], cells[::9, 0] = None, np.nan
    for rows in (cells, cells.tolist()):
        model = SubsampleAggregateClassifier(**PLENTY, max_queries=600).fit(rows, JOB == "clerk")
        assert model.score(rows, JOB == "clerk") > 0.95


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:n_teachers is")
def test_an_estimator_for_numbers_only_is_warned_of_where_cells_may_be_texts():
    by_place = make_pipeline(
        ColumnTransformer([("n", SimpleImputer(), [0]), ("t", OneHotEncoder(), [1])]), LogisticRegression()
    )
    by_name = make_pipeline(ColumnTransformer([("n", SimpleImputer(), ["age"])]), LogisticRegression())
    few = {"aggregation": "gnmax", "max_queries": 5}
    for estimator in (by_name, LogisticRegression()):
        with pytest.warns(UserWarning, match="of texts .* array of objects, without column types"):
            learner(estimator, **few).fit(CELLS, JOB == "clerk")
    with pytest.warns(UserWarning, match="of numbers .* of texts .* lists of objects"):
        learner(by_name, **few).fit(CELLS.tolist(), JOB == "clerk")
    learner(by_place, **few).fit(CELLS, JOB == "clerk")  # warnings are errors here
    learner(LogisticRegression(), **few).fit(X.tolist(), Y)


@pytest.mark.filterwarnings("ignore:n_teachers is")
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_estimator_without_support_for_missing_values_is_warned_of_for_every_frame(frame):
    few = {"aggregation": "gnmax", "max_queries": 5}
    for wage in (1.0, None):
        table = frame({"wage": [wage, 2.0] * 50})
        with pytest.warns(UserWarning, match="estimator fails where values are missing .* Add an imputer"):
            learner(LogisticRegression(), **few).fit(table, [0, 1] * 50)
        learner(make_pipeline(SimpleImputer(), LogisticRegression()), **few).fit(table, [0, 1] * 50)
