"""The four learners of teachers: hard votes and scores, asked online or learned by a student.

What they share is tested once, over a table of the four classes and their aggregations.
"""

import copy
import pickle
import traceback
import warnings
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import bsr_matrix, csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_classification
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC

from dplearn import (
    KnowledgeTransferClassifier,
    PrivacyLedger,
    PublicData,
    QueriesExhaustedError,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.audit import FaultyDice, fitted_with
from dplearn.chance import SystemDice
from dplearn.kernels import FIXED_POINT_ONE
from dplearn.learners.votes import AGGREGATIONS, SOFT_AGGREGATIONS
from dplearn.learners.votes.online import n_bins_of, probabilities_of
from dplearn.privacy import OneTimeState

X, Y = make_classification(1500, n_features=6, class_sep=2.0, flip_y=0.0, random_state=1)  # public
PUBLIC, TRUE = X[1000:], Y[1000:]
IRIS, SPECIES = load_iris(return_X_y=True)
EXACT = {"epsilon": 1e12}  # hardly any noise
NEVER = {"n_teachers": 2, "epsilon": 1.0, "max_queries": 50, "max_abstentions": 50}  # two are never stable
HOPELESS = pytest.mark.filterwarnings("ignore:n_teachers is")

HARD, SOFT = SubsampleAggregateClassifier, SoftLabelAggregateClassifier
TAUGHT, SOFTLY_TAUGHT = KnowledgeTransferClassifier, SoftLabelTransferClassifier
ONLINE, STUDENTS = (HARD, SOFT), (TAUGHT, SOFTLY_TAUGHT)
OF = {HARD: AGGREGATIONS, TAUGHT: AGGREGATIONS, SOFT: SOFT_AGGREGATIONS, SOFTLY_TAUGHT: SOFT_AGGREGATIONS}
EVERY = [(kind, aggregation) for kind, names in OF.items() for aggregation in names]
each_online = pytest.mark.parametrize(
    ("kind", "aggregation"), [each for each in EVERY if each[0] in ONLINE], ids=lambda each: str(each)[-20:]
)
both_online = pytest.mark.parametrize("kind", ONLINE, ids=lambda kind: kind.__name__)


def learner(kind, estimator=None, **parameters):
    given = {"epsilon": 50.0, "classes": [0, 1], "aggregation": "sparse_vector"} | parameters
    if kind in STUDENTS:
        given = {
            "student": GaussianNB() if kind is TAUGHT else make_pipeline(StandardScaler(), Ridge())
        } | given
    return kind(GaussianNB() if estimator is None else estimator, **given)


def fitted(model, rows=X, y=Y, public=PUBLIC):
    """A fit, of a student with public rows if it needs them."""
    more = {"X_public": PublicData(public)} if isinstance(model, STUDENTS) else {}
    return model.fit(rows, y, **more)


def answers(model):
    return [model.predict, model.predict_proba]


class Share(ClassifierMixin, BaseEstimator):
    """Finds each label as likely as it is in the shard, or as one that is so many labels before it."""

    def __init__(self, likely=None):
        self.likely = likely

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.likely_ = counts / counts.sum() if self.likely is None else np.array(self.likely)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.likely_.argmax()])

    def predict_proba(self, X):
        k = len(self.likely_)
        return self.likely_[(np.arange(k) - X[:, :1].astype(int)) % k]


@pytest.mark.parametrize(("kind", "aggregation"), EVERY, ids=lambda each: str(each)[-20:])
def test_at_a_large_epsilon_it_answers_as_well_as_its_teachers(kind, aggregation):
    model = learner(kind, aggregation=aggregation, max_queries=600, n_teachers=40)
    model = fitted(model.set_params(**{"abstain_label": -1} if kind is HARD else {}), X[:1000], Y[:1000])
    assert model.guarantee_.epsilon == 50
    labels = model.predict(PUBLIC[:200])
    answered = labels != -1
    assert answered.mean() > 0.8
    assert (labels == TRUE[:200])[answered].mean() > 0.94
    if kind in STUDENTS:
        assert 0 < model.n_answered_ <= model.n_asked_ == 500
        again = pickle.loads(pickle.dumps(model))
        assert (again.predict(PUBLIC) == model.predict(PUBLIC)).all()
    if kind is not HARD:
        likely = model.predict_proba(PUBLIC[:200])
        assert likely.shape == (200, 2)
        assert abs(likely.sum(axis=1) - 1).max() < 1e-9
        assert (likely.argmax(axis=1) == TRUE[:200]).mean() > 0.94


@both_online
def test_texts_are_labels_in_the_order_of_classes(kind):
    names = np.array(["b", "a", "c"])[SPECIES]
    given = {"n_teachers": 9, "max_queries": 300, "aggregation": "gnmax" if kind is HARD else "mean"}
    model = learner(kind, classes=["c", "a", "b"], **given, **EXACT).fit(IRIS, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(IRIS) == names).mean() > 0.8
    if kind is SOFT:
        likely = model.predict_proba(IRIS)
        assert abs(likely.sum(axis=1) - 1).max() < 1e-9
        assert likely.min() >= 0
        assert (model.classes_[likely.argmax(axis=1)] == names).mean() > 0.8


def test_few_answers_are_warned_of_unless_their_number_is_given():
    X, y = np.zeros((400, 1)), np.arange(400) % 2
    with pytest.warns(UserWarning, match="max_queries='auto' is 1 with .*, such as AdditiveClassifier"):
        model = SubsampleAggregateClassifier(Share(), classes=[0, 1]).fit(X, y)
    assert model.remaining_queries_ == 1
    assert not model.set_params(max_queries=1).plan(400).warnings
    assert not model.set_params(max_queries="auto").plan(40_000).warnings


def test_scores_become_probabilities():
    nan = float("nan")
    two = np.array([[0.25], [nan], [-3.0], [7.0]])
    assert probabilities_of(two, 2, None).tolist() == [[0.75, 0.25], [0.5, 0.5], [1, 0], [0, 1]]
    many = np.array([[0.5, 0.5, 1.0], [nan, 1 / 3, 1 / 3], [-1.0, -2.0, 0.0], [0.0, nan, 5.0]])
    expected = [[0.25, 0.25, 0.5], [1 / 3] * 3, [1 / 3] * 3, [0, 0.25, 0.75]]
    assert abs(probabilities_of(many, 3, None) - expected).max() < 1e-15
    assert probabilities_of(many, 3, 0)[3].tolist() == [0, 0, 1]
    assert np.isnan(probabilities_of(many, 3, nan)).all(axis=1).tolist() == [False, True, False, True]
    assert probabilities_of(np.zeros((0, 1)), 2, None).shape == (0, 2)


@HOPELESS
@both_online
def test_an_abstention_gets_a_label_from_the_public_stream_whatever_the_records_are(kind):
    model = learner(kind, random_state=0, **NEVER).fit(X, Y)
    first, second = model.predict(X[:20]), model.predict(X[:20])
    assert set(first) == {0, 1}
    assert (first != second).any()
    more = {"abstain_score": 1.0} if kind is SOFT else {}
    again = learner(kind, random_state=0, **NEVER, **more).fit(X[::-1], 1 - Y[::-1])
    assert again.predict(X[:20]).tolist() == first.tolist()


@HOPELESS
def test_an_abstention_has_the_abstain_label_or_the_abstain_score():
    texts = np.array(["no", "yes"])[Y]
    for label, dtype in (("none", "U"), (-1, "O"), (None, "U")):
        model = learner(HARD, abstain_label=label, classes=["no", "yes"], **NEVER).fit(X, texts)
        found = model.predict(X[:5])
        assert found.dtype.kind == dtype
        assert set(found) <= ({label} if label is not None else {"no", "yes"})
    assert (model.predict_proba(X[:5]) == 0.5).all()
    certain = learner(HARD, max_queries=50).fit(X, Y)
    assert (certain.predict_proba(X[:20]) == np.eye(2)[certain.predict(X[:20])]).all()
    assert certain.remaining_queries_ == 10
    quarters = (0.25, Fraction(1, 4), Decimal("0.25"), np.float32(0.25))
    for score in (None, 0, 1, *quarters, float("nan"), np.float64("nan"), np.float32("nan")):
        likely = learner(SOFT, abstain_score=score, **NEVER).fit(X, Y).predict_proba(X[:3])
        expected = 0.5 if score is None else float(score)
        assert likely.dtype == np.float64
        np.testing.assert_array_equal(likely, [[1 - expected, expected]] * 3)


@HOPELESS
@both_online
def test_the_error_after_the_last_abstention_contains_what_was_released(kind):
    for ask in range(2):
        model = learner(kind, **NEVER | {"max_abstentions": 3}).fit(X, Y)
        with pytest.raises(QueriesExhaustedError, match=r"max_abstentions=3 is used up at row 3") as caught:
            answers(model)[ask](X[:20])
        assert caught.value.released.shape == ((3, 2) if ask else (3,))
        assert (model.remaining_queries_, model.remaining_abstentions_) == (0, 0)
        with pytest.raises(QueriesExhaustedError, match="at most the 0 queries"):
            answers(model)[ask](X[:1])
        carried = pickle.loads(pickle.dumps(caught.value))
        assert carried.released.tolist() == caught.value.released.tolist()
    model = learner(kind, **NEVER | {"max_abstentions": 3}).fit(X, Y)
    assert len(answers(model)[-1](X[:3])) == 3  # a stop at the last row is no error, and the next call is
    with pytest.raises(QueriesExhaustedError):
        model.predict(X[:1])


def test_one_over_an_integer_makes_as_many_bins_however_it_is_written_and_other_widths_are_taken_down():
    for b in [*range(2, 60), 100, 333, 1000, 2047, 2048]:
        for width in (1 / b, Fraction(1, b), np.float64(1 / b), np.float32(1 / b), Decimal(1) / b):
            assert n_bins_of(width, 1) == b
    for width, b in ((0.3, 4), (0.4, 3), (0.06, 17), (0.49, 3), (0.0006, 1667)):
        assert n_bins_of(width, 1) == b
        assert 1 / b <= width


@pytest.mark.parametrize("aggregation", SOFT_AGGREGATIONS)
def test_bad_abstain_scores_are_named_before_anything_is_spent(aggregation):
    dice = FaultyDice(SystemDice())
    model = learner(SOFT, aggregation=aggregation, max_queries=100, n_teachers=5, **EXACT)
    model = fitted_with(model, X, Y, dice=dice)
    for score in ("0.5", "half", -0.1, 1.1, float("inf"), True, [0.5]):
        for ask in answers(model.set_params(abstain_score=score)):
            with pytest.raises((TypeError, ValueError), match="abstain_score"):
                ask(X[:3])
    for ask in answers(model.set_params(abstain_score=None)):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            ask(X[:0])
    assert (dice.n_draws, model.remaining_queries_) == (0, 100)


class Noting(GaussianNB):
    """Counts how often any of them is asked."""

    asked = 0

    def predict_proba(self, X):
        Noting.asked += 1
        return super().predict_proba(X)

    def predict(self, X):
        Noting.asked += 1
        return super().predict(X)


@each_online
def test_a_batch_larger_than_the_queries_left_is_refused_before_the_first_draw_and_prediction(
    kind, aggregation
):
    dice = FaultyDice(SystemDice())
    model = learner(kind, Noting(), aggregation=aggregation, max_queries=10, n_teachers=40)
    model = fitted_with(model, X, Y, dice=dice)
    model.predict(X[:7])
    assert Noting.asked
    left, drawn = model.remaining_queries_, dice.n_draws
    assert left >= 3
    Noting.asked = 0
    for ask in answers(model):
        with pytest.raises(
            QueriesExhaustedError, match=f"at most the {left} queries that are left, got 11"
        ) as no:
            ask(X[:11])
        assert no.value.released.size == 0
    assert (model.remaining_queries_, dice.n_draws, Noting.asked) == (left, drawn, 0)
    twins = [copy.copy(model), copy.deepcopy(model)]  # which share what is left
    twins[0].predict(X[:2])
    assert len({each.remaining_queries_ for each in (model, *twins)}) == 1
    assert model.remaining_queries_ < left
    with pytest.raises(QueriesExhaustedError):
        twins[1].predict(X[:left])


@each_online
def test_a_fault_at_a_draw_loses_queries_and_never_gains_any(kind, aggregation):
    for at in range(4):
        model = learner(kind, aggregation=aggregation, max_queries=10, n_teachers=10)
        model = fitted_with(model, X[:300], Y[:300], dice=FaultyDice(SystemDice(), at=at, drawn=True))
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
@each_online
def test_rows_that_appear_between_counting_and_answering_are_never_answered(kind, aggregation):
    frame = pd.DataFrame(X[:300])
    model = learner(kind, aggregation=aggregation, n_teachers=20, max_queries=5).fit(frame, Y[:300])
    for patience in (1, 2, 3, 4, 5, 6, 7):
        Growing.asked, Growing.patience = 0, patience
        with suppress(QueriesExhaustedError, ValueError):
            assert len(model.predict(Growing(frame))) <= 5
        assert model.remaining_queries_ >= 0


#: A student's sizes with a sparse vector take longest, and are looked at in `test_sizes` too.
LATE = [(kind, "sparse_vector") for kind in STUDENTS]


@pytest.mark.filterwarnings("ignore:n_teachers is", "ignore:max_queries is")
@pytest.mark.parametrize(
    ("kind", "aggregation"),
    [pytest.param(*each, marks=[pytest.mark.nightly] * (each in LATE)) for each in EVERY],
    ids=lambda each: str(each)[-20:],
)
def test_a_plan_needs_no_data_and_matches_the_fit(kind, aggregation):
    model = learner(kind, aggregation=aggregation, epsilon=3.0, max_queries=12)
    plan = model.plan(500, **{"n_rows": 500} if kind in STUDENTS else {})
    for labels in (np.arange(500) % 2, Y[:500]):
        fitted(model, X[:500], labels)
        assert model.n_teachers_ == plan.n_teachers
        if kind in STUDENTS:
            assert 0 < model.n_asked_ <= plan.max_queries
            break
        assert model.remaining_queries_ == plan.max_queries
        assert model.max_abstentions_ == plan.max_abstentions
        assert kind is not SOFT or model.bin_width_ == plan.bin_width


def test_the_planned_error_of_bins_is_tight_for_the_teachers_in_the_bin():
    """A score just below the end of a grid step may be rounded into the previous bin."""
    for b in (2, 3, 7, 100, 2047, 2048):
        plan = learner(SOFT, bin_width=1 / b, n_teachers=9, max_abstentions=9).plan(2000)
        scores = (np.arange(FIXED_POINT_ONE) + 1 - 2.0**-20) / FIXED_POINT_ONE
        middles = (2 * (np.arange(FIXED_POINT_ONE) * b // FIXED_POINT_ONE) + 1) / (2 * b)
        assert abs(scores - middles).max() <= plan.error <= 1 / (2 * b) + 1 / FIXED_POINT_ONE


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ZeroDivisionError("always")

    def predict(self, X):
        return X

    predict_proba = predict


class Shapeless(GaussianNB):
    """A classifier with one probability in place of one for each label."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, 0]


def test_an_estimator_that_always_fails_is_warned_of_and_fails_no_fit():
    always = r"estimator fails on 64 made-up rows .* \(ZeroDivisionError: always\)"
    with pytest.warns(UserWarning, match=always):
        model = learner(HARD, Broken(), aggregation="gnmax", max_queries=5).fit(X, Y)
    assert set(model.predict(X[:5])) <= {0, 1}
    with pytest.warns(UserWarning, match="ValueError: predict_proba must return"):
        model = learner(SOFT, Shapeless(), aggregation="mean", **EXACT).fit(X, Y)
    assert abs(model.predict_proba(X[:5]) - 0.5).max() < 1 / FIXED_POINT_ONE


@pytest.mark.parametrize("kind", STUDENTS, ids=lambda kind: kind.__name__)
def test_a_student_or_its_teachers_that_cannot_learn_are_refused_before_a_charge(kind):
    ledger = PrivacyLedger(100, delta=1e-3)
    for who, given in (("student", {"student": Broken()}), ("estimator", {"estimator": Broken()})):
        with pytest.raises(ValueError, match=rf"{who} must be able to learn .* ZeroDivisionError: always"):
            fitted(learner(kind, ledger=ledger).set_params(**given))
    assert ledger.history() == []


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_estimator_that_reads_text_columns_as_numbers_is_refused_without_cost(frame):
    table = frame({"job": ["clerk", "smith"] * 50, "wage": [1.0, 2.0] * 50, "old": [True, False] * 50})
    ledger = PrivacyLedger(100, delta=1e-3)
    for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        refused = learner(HARD, estimator, aggregation="gnmax", max_queries=5, ledger=ledger)
        with pytest.raises(ValueError, match="learn from text, which X has in column 'job', but reads it"):
            refused.fit(table, [0, 1] * 50)
    assert ledger.history() == []


JOB = np.random.default_rng(1).choice(["clerk", "smith"], 600)
CELLS = np.array([[float(i % 7), job] for i, job in enumerate(JOB)], dtype=object)
FEW = {"aggregation": "gnmax", "max_queries": 5}


@HOPELESS
def test_an_estimator_for_the_texts_of_a_frame_or_for_numbers_without_types_is_only_warned_of():
    table = pd.DataFrame({"job": ["clerk", "smith"] * 50})
    known = make_pipeline(OrdinalEncoder(categories=[["clerk", "smith"]]), LogisticRegression())
    with pytest.warns(UserWarning, match="fails on 64 made-up rows .* unknown categories"):
        model = learner(HARD, known, **FEW).fit(table, [0, 1] * 50)
    assert model.predict(table[:2]).shape == (2,)
    by_place = make_pipeline(
        ColumnTransformer([("n", SimpleImputer(), [0]), ("t", OneHotEncoder(), [1])]), LogisticRegression()
    )
    by_name = make_pipeline(ColumnTransformer([("n", SimpleImputer(), ["age"])]), LogisticRegression())
    with pytest.warns(UserWarning, match="of texts .* array of objects, without column types"):
        learner(HARD, by_name, **FEW).fit(CELLS[:100], JOB[:100] == "clerk")
    with pytest.warns(UserWarning, match="of numbers .* of texts .* lists of objects"):
        learner(HARD, by_name, **FEW).fit(CELLS[:100].tolist(), JOB[:100] == "clerk")
    learner(HARD, by_place, **FEW).fit(CELLS[:100], JOB[:100] == "clerk")  # warnings are errors here


@HOPELESS
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_estimator_without_support_for_missing_values_is_warned_of_for_every_frame(frame):
    for wage in (1.0, None):
        table = frame({"wage": [wage, 2.0] * 50})
        for kind in (HARD, TAUGHT) if wage else (HARD,):  # public rows with gaps need a student for gaps
            model = learner(kind, LogisticRegression(), **FEW)
            with pytest.warns(UserWarning, match="estimator fails where values .* Add an imputer") as given:
                fitted(model, table, [0, 1] * 50, table)
            assert kind is HARD or {each.filename for each in given} == {__file__}
        learner(HARD, make_pipeline(SimpleImputer(), LogisticRegression()), **FEW).fit(table, [0, 1] * 50)
    whole = frame({"age": [1, 2] * 50, "old": [True, False] * 50})
    learner(HARD, LogisticRegression(), **FEW).fit(whole, [0, 1] * 50)  # warnings are errors here


def test_queries_hold_values_and_no_objects_that_teachers_could_share():
    model = learner(HARD, **FEW).fit(X, Y)
    cells = np.array([[object(), *X[0, 1:]]], dtype=object)
    for rows in (cells, pd.DataFrame(cells)):
        with pytest.raises(TypeError, match="X must hold numbers, texts and missing values, got object"):
            model.predict(rows)
    assert model.remaining_queries_ == 5


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
    found = []
    for blocks in ((200, 1), (1, 1)):
        given = {"aggregation": "gnmax", "n_teachers": 20, "max_queries": 1, "epsilon": 1000.0}
        model = learner(HARD, Stored(), **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(bsr_matrix(rows, blocksize=blocks), np.arange(200) % 2)
        found += model.predict(csr_matrix(np.ones((1, 2)))).tolist()
    assert found == [0, 0]


@each_online
def test_a_pickle_has_no_teachers_and_they_move_by_name_with_what_is_left(kind, aggregation, tmp_path):
    model = learner(kind, aggregation=aggregation, max_queries=10, n_teachers=20).fit(X, Y)
    model.predict(X[:4])
    with pytest.warns(UserWarning, match=r"contains no teachers.*export_teachers"):
        saved = pickle.dumps(make_pipeline(StandardScaler(), model))
    assert b"GaussianNB" in saved  # the parameter
    assert b"theta_" not in saved
    assert b"Ensemble" not in saved
    there = pickle.loads(saved)[-1]
    for twin in (copy.copy(model), copy.deepcopy(model), clone(model), pickle.loads(pickle.dumps(there))):
        assert isinstance(twin, kind)  # without a word
    assert there.guarantee_ == model.guarantee_
    assert (there.remaining_queries_, there.remaining_abstentions_) == (0, None)
    for ask in answers(there):
        with pytest.raises(RuntimeError, match="this copy has no teachers"):
            ask(X[:1])
    left = model.remaining_queries_, model.remaining_abstentions_
    model.export_teachers(tmp_path / "teachers")
    with pytest.raises(RuntimeError, match="it was exported"):
        model.predict(X[:1])
    other = SubsampleAggregateClassifier if kind is SOFT else SoftLabelAggregateClassifier
    with pytest.raises(ValueError, match=f"not the teachers of a {other.__name__}"):
        other().load_teachers(tmp_path / "teachers")
    for loaded in (pickle.loads(pickle.dumps(model)), kind(epsilon=0.1)):
        loaded.load_teachers(tmp_path / "teachers")
        assert (loaded.remaining_queries_, loaded.remaining_abstentions_) == left
        assert (loaded.guarantee_, loaded.n_features_in_) == (model.guarantee_, 6)
        assert kind is HARD or loaded.bin_width_ == model.bin_width_
        assert not (tmp_path / "teachers").exists()
        loaded.export_teachers(tmp_path / "teachers")
    assert len(loaded.load_teachers(tmp_path / "teachers").predict(X[:2])) == 2
    OneTimeState([1]).export(tmp_path / "other")
    with pytest.raises(ValueError, match=f"not the teachers of a {kind.__name__}"):
        loaded.load_teachers(tmp_path / "other")
    assert (tmp_path / "other").exists()


class Telling(GaussianNB):
    """Warns, prints and draws wherever it is packed or unpacked; one that saw a large number cannot be."""

    def fit(self, X, y):
        super().fit(X, y)
        self.held_ = (lambda: 0) if X.max() > 100 else None
        return self

    def __reduce__(self):
        self.tell()
        return (unpacked, ({**vars(self)},)) if self.held_ is None else (self.held_, ())

    def tell(self):
        warnings.warn("a teacher says so", stacklevel=1)
        print("private", np.random.random())


def unpacked(attributes):
    teacher = Telling()
    vars(teacher).update(attributes)
    teacher.tell()
    return teacher


def test_neither_packing_nor_unpacking_of_teachers_reveals_anything(tmp_path, capsys):
    rows, before = X.copy(), np.random.get_state()[1].tolist()
    rows[7] = 1000.0
    model = learner(HARD, Telling(), n_teachers=20, max_queries=10).fit(rows, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.export_teachers(tmp_path / "teachers")
        state = OneTimeState.load(tmp_path / "teachers")
    with state.use() as ensemble:
        assert sum(teacher is None for teacher in ensemble.teachers) == 1  # it casts no vote
        assert "GaussianNB" not in repr(ensemble)
    state.export(tmp_path / "again")
    there = SubsampleAggregateClassifier().load_teachers(tmp_path / "again")
    assert there.predict(X[:2]).shape == (2,)
    assert not caught
    assert capsys.readouterr() == ("", "")
    assert np.random.get_state()[1].tolist() == before


@both_online
def test_a_traceback_that_shows_variables_shows_no_teacher_and_no_vote(kind):
    model = learner(kind, max_queries=3).fit(X, Y)
    with pytest.raises(QueriesExhaustedError) as refused:
        model.predict(X[:4])
    shown = "".join(traceback.TracebackException.from_exception(refused.value, capture_locals=True).format())
    assert "teachers=[" not in shown
    assert "fixed-point scores=" not in shown


def test_a_student_has_probabilities_if_its_model_has_them_and_a_column_for_labels_without_answers():
    given = {"classes": [-1, 0, 1], "n_teachers": 20, "aggregation": "gnmax"}
    for student in (LinearSVC(), make_pipeline(StandardScaler(), LogisticRegression())):
        model = fitted(learner(TAUGHT, student=student, **given))
        assert model.score(PUBLIC, TRUE) > 0.85
        assert hasattr(model, "predict_proba") == hasattr(student, "predict_proba")
    likely = model.predict_proba(PUBLIC[:5])
    assert likely.shape == (5, 3)
    assert np.allclose(likely.sum(axis=1), 1)
