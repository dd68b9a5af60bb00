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
import sklearn
from scipy.sparse import bsr_matrix, csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from dplearn import (
    ApproxDP,
    KnowledgeTransferClassifier,
    LedgerError,
    PrivacyLedger,
    PublicData,
    QueriesExhaustedError,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.audit import FaultyDice, fitted_with
from dplearn.chance import SystemDice
from dplearn.kernels.votes import FIXED_POINT_ONE, fixed_point, soft_tally
from dplearn.learners.votes.aggregators import AGGREGATIONS, SOFT_AGGREGATIONS
from dplearn.learners.votes.asked import Scores
from dplearn.learners.votes.online import n_bins_of, probabilities_of
from dplearn.learners.votes.teachers import answers_of
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
each_kind = pytest.mark.parametrize("kind", OF, ids=lambda kind: kind.__name__)
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
    more = {"X_public": PublicData(public)} if getattr(model, "protects", "") == "examples" else {}
    return model.fit(rows, y, **more)


def answers(model):
    return [model.predict, *([model.predict_proba] if isinstance(model, SOFT) else [])]


def opened(model):
    """The ensemble of a model, to look into it or to change it."""
    return model._one_time_state.use()


class Share(ClassifierMixin, BaseEstimator):
    """Finds each label as likely as it is in the shard, whatever the row."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.likely_ = counts / counts.sum()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.likely_.argmax()])

    def predict_proba(self, X):
        return np.tile(self.likely_, (len(X), 1))


# The answers


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


@each_kind
def test_texts_are_labels_in_the_order_of_classes(kind):
    names = np.array(["b", "a", "c"])[SPECIES]
    aggregation = "gnmax" if kind in (HARD, TAUGHT) else "mean"
    sizes = {"n_teachers": 9, "max_queries": 300}
    model = learner(kind, classes=["c", "a", "b"], aggregation=aggregation, **sizes, **EXACT)
    fitted(model, IRIS, names, IRIS)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(IRIS) == names).mean() > 0.8
    if kind is not HARD:
        likely = model.predict_proba(IRIS)
        assert likely.shape == (150, 3)
        assert abs(likely.sum(axis=1) - 1).max() < 1e-9
        assert likely.min() >= 0
        assert (model.classes_[likely.argmax(axis=1)] == names).mean() > 0.8


def teachers_scores(model, rows):
    with opened(model) as ensemble:
        asked = Scores(ensemble.published["classes_"])
        fixed_scores = answers_of(ensemble.teachers, rows, asked)
    return fixed_scores.reshape(len(fixed_scores), len(rows), asked.width) / FIXED_POINT_ONE


def test_means_are_those_of_the_teachers_for_each_row_and_label():
    model = learner(SOFT, aggregation="mean", n_teachers=20, max_queries=50, **EXACT).fit(X, Y)
    mean = teachers_scores(model, X[:50]).mean(axis=0)[:, 0]
    assert abs(model.predict_proba(X[:50])[:, 1] - mean).max() <= 1 / FIXED_POINT_ONE
    species = learner(SOFT, aggregation="mean", n_teachers=9, classes=[0, 1, 2], max_queries=50, **EXACT)
    mean = teachers_scores(species.fit(IRIS, SPECIES), IRIS[::3]).mean(axis=0)
    assert abs(species.predict_proba(IRIS[::3]) - mean / mean.sum(axis=1, keepdims=True)).max() <= 3 / 4096


@pytest.mark.parametrize("width", [0.5, 0.1, 0.01])
def test_a_bins_midpoint_is_within_half_a_width_of_those_who_decided_it(width):
    model = learner(SOFT, bin_width=width, n_teachers=20, max_queries=100, **EXACT).fit(X, Y)
    released = model.predict_proba(X[:100])[:, [1]]
    near = abs(teachers_scores(model, X[:100])[:, :, 0].T - released) <= width / 2 + 1 / FIXED_POINT_ONE
    abstained = (released == 0.5).ravel()
    assert (near.sum(axis=1) >= 2)[~abstained].all()
    assert not abstained.all()


def test_noise_favours_no_label_whose_place_is_first():
    """Of many scores beyond 0 and 1 the greatest decides, not the first that is 1."""
    given = {"aggregation": "mean", "n_teachers": 20, "epsilon": 0.5, "max_queries": 3000}
    model = learner(SOFT, Share(), classes=[0, 1, 2], **given)
    with pytest.warns(UserWarning, match="nearly random"):
        model.fit(np.zeros((600, 1)), np.arange(600) % 3)
    counts = np.bincount(model.predict(np.zeros((3000, 1))), minlength=3)
    assert abs(counts - 1000).max() < 150  # five standard deviations


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


def test_a_shard_with_one_label_is_sure_of_it():
    rows, y = np.random.default_rng(0).normal(size=(2000, 1)), np.arange(2000) % 50 == 0
    given = {"epsilon": 1e6, "n_teachers": 200, "max_queries": 5, "classes": [False, True]}
    model = SoftLabelAggregateClassifier(GaussianNB(), **given).fit(rows, y)
    # Most shards of ten hold no positive record; where they had no score, it counted as 1/2.
    assert (model.predict_proba(rows[:5])[:, 1] < 0.15).all()


@pytest.mark.nightly
@both_online
def test_by_default_all_rows_of_the_plan_are_answered_however_little_teachers_agree(kind):
    rows, y = np.random.default_rng(0).normal(size=(5000, 2)), np.arange(5000) % 2
    more = {"abstain_label": -1} if kind is HARD else {"abstain_score": np.nan}
    model = kind(GaussianNB(), epsilon=3.0, classes=[0, 1], **more)
    plan = model.fit(rows, y).plan(5000)
    assert (plan.aggregation, plan.least_decided) == ("gnmax" if kind is HARD else "mean", 0)
    assert 50 < plan.max_queries == model.remaining_queries_
    assert plan.least_lead <= 2 / 3 * plan.n_teachers
    found = (model.predict if kind is HARD else model.predict_proba)(rows[: plan.max_queries])
    assert len(found) == plan.max_queries
    assert np.isfinite(found).all()
    assert (found >= 0).all()


# Abstentions


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
    quarters = (0.25, Fraction(1, 4), Decimal("0.25"), np.float32(0.25))
    for score in (None, 0, 1, *quarters, float("nan"), np.float64("nan"), np.float32("nan")):
        likely = learner(SOFT, abstain_score=score, **NEVER).fit(X, Y).predict_proba(X[:3])
        expected = 0.5 if score is None else float(score)
        assert likely.dtype == np.float64
        np.testing.assert_array_equal(likely, [[1 - expected, expected]] * 3)


@HOPELESS
@both_online
def test_the_error_after_the_last_abstention_contains_what_was_released(kind):
    for ask in range(1 + (kind is SOFT)):
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


@HOPELESS
def test_a_stop_inside_a_row_of_many_labels_releases_the_whole_row():
    model = learner(SOFT, **NEVER | {"max_abstentions": 4, "classes": [0, 1, 2]}).fit(IRIS, SPECIES)
    with pytest.raises(QueriesExhaustedError, match="row 2 of this batch") as caught:
        model.predict_proba(IRIS[:10])
    assert caught.value.released.tolist() == pytest.approx(np.full((2, 3), 1 / 3))


def test_answers_by_shifted_bins_cost_half_an_abstention():
    model = learner(SOFT, Share(), n_teachers=20, max_abstentions=5, **EXACT)
    model.fit(np.zeros((400, 1)), np.arange(400) % 2)
    with opened(model) as ensemble:
        for place, teacher in enumerate(ensemble.teachers):
            # Around 1/2 they are in the middle of the shifted bin; the bins on its sides have ten each.
            teacher.classes_ = np.array([0, 1])
            teacher.likely_ = np.array([0.45, 0.55])[:: 1 - 2 * (place % 2)]
    left = []
    for _ in range(4):
        assert model.predict_proba(np.zeros((1, 1))).tolist() == [[0.5, 0.5]]
        left.append(model.remaining_abstentions_)
    assert left == [5, 4, 4, 3]


# Bins


def test_one_over_an_integer_makes_as_many_bins_however_it_is_written_and_other_widths_are_taken_down():
    for b in [*range(2, 60), 100, 333, 1000, 2047, 2048]:
        for width in (1 / b, Fraction(1, b), np.float64(1 / b), np.float32(1 / b), Decimal(1) / b):
            assert n_bins_of(width, 1) == b
    for width, b in ((0.3, 4), (0.4, 3), (0.06, 17), (0.49, 3), (0.0006, 1667)):
        assert n_bins_of(width, 1) == b
        assert 1 / b <= width


def test_widths_are_settled_by_the_size_of_shards_and_never_widen_with_it():
    numbers = [n_bins_of("auto", size) for size in (1, 20, 81, 900, 10**6, 10**12)]
    assert numbers == [2, 2, 3, 10, 333, 2048]
    model = learner(SOFT, n_teachers=2, aggregation="mean", **EXACT).fit(X, Y)
    assert model.bin_width_ == model.plan(1500).bin_width == 1 / n_bins_of("auto", 750)


BAD_WIDTHS = [0, 0.51, 1 / 2049, -0.1, float("nan"), float("inf"), "0.1", "wide", True, [0.1], "auto"]
BAD_WIDTHS += [[0.1] * 2, [0.1] * 4, [[0.1]] * 3, [0.1, 0.2, 0.6], [0.1, None, 0.2], ["auto"] * 3]
BAD_WIDTHS += [[0.1, "0.1", 0.1]]


@pytest.mark.parametrize("aggregation", SOFT_AGGREGATIONS)
def test_bad_widths_and_abstain_scores_of_queries_are_named_before_anything_is_spent(aggregation):
    dice = FaultyDice(SystemDice())
    model = learner(SOFT, aggregation=aggregation, max_queries=100, n_teachers=5, **EXACT)
    model = fitted_with(model, X, Y, dice=dice)
    for width in BAD_WIDTHS:
        for ask in answers(model):
            with pytest.raises((TypeError, ValueError), match="bin_width must be"):
                ask(X[:3], bin_width=width)
    for score in ("0.5", "half", -0.1, 1.1, float("inf"), True, [0.5]):
        for ask in answers(model.set_params(abstain_score=score)):
            with pytest.raises((TypeError, ValueError), match="abstain_score"):
                ask(X[:3])
    for ask in answers(model.set_params(abstain_score=None)):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            ask(X[:0])
    assert (dice.n_draws, model.remaining_queries_) == (0, 100)


def test_each_query_may_bring_the_width_of_its_bins():
    model = learner(SOFT, Share(), n_teachers=10, max_queries=100, **EXACT)
    model.fit(np.zeros((1000, 1)), np.arange(1000) % 10 < 7)
    with opened(model) as ensemble:
        ensemble.teachers = ensemble.teachers[:1] * 10
        ensemble.teachers[0].likely_ = np.array([0.3125, 0.6875])
    for widths in (
        [0.5, 0.01, 1 / 3],
        np.array([0.5, 0.01, 1 / 3], dtype=np.float32),
        pd.Series([0.5, 0.01, 1 / 3], index=[7, 8, 9]),
        [Fraction(1, 2), Fraction(1, 100), Fraction(1, 3)],
        (0.5, Decimal("0.01"), 1 / 3),
    ):
        likely = model.predict_proba(np.zeros((3, 1)), bin_width=widths)[:, 1]
        assert likely.tolist() == pytest.approx([0.75, 0.685, 5 / 6])
        assert model.predict(np.zeros((3, 1)), bin_width=widths).tolist() == [1, 1, 1]
    for width, expected in ((np.array(0.01), 0.685), (Fraction(1, 3), 5 / 6), (np.float32(0.01), 0.685)):
        alone = model.predict_proba(np.zeros((2, 1)), width)[:, 1]
        assert alone.tolist() == pytest.approx([expected] * 2)


# The cost


@each_online
def test_a_batch_larger_than_the_queries_left_is_refused_before_the_first_draw_and_prediction(
    kind, aggregation
):
    dice = FaultyDice(SystemDice())
    model = learner(kind, aggregation=aggregation, max_queries=10, n_teachers=40)
    model = fitted_with(model, X, Y, dice=dice)
    model.predict(X[:7])
    left, drawn = model.remaining_queries_, dice.n_draws
    assert left >= 3
    with opened(model) as ensemble:
        teachers, ensemble.teachers = ensemble.teachers, None  # a query to them would fail
    for ask in answers(model):
        with pytest.raises(
            QueriesExhaustedError, match=f"at most the {left} queries that are left, got 11"
        ) as no:
            ask(X[:11])
        assert no.value.released.size == 0
    assert (model.remaining_queries_, dice.n_draws) == (left, drawn)
    with opened(model) as ensemble:
        ensemble.teachers = teachers
    twins = [copy.copy(model), copy.deepcopy(model)]  # which share what is left
    twins[0].predict(X[:2])
    assert len({each.remaining_queries_ for each in (model, *twins)}) == 1
    assert model.remaining_queries_ < left
    with pytest.raises(QueriesExhaustedError):
        twins[1].predict(X[:left])


@both_online
def test_answers_and_abstentions_are_counted(kind):
    model = learner(kind, n_teachers=40, max_abstentions=5, max_queries=30)
    model.set_params(**{"abstain_label": -1} if kind is HARD else {"abstain_score": np.nan}).fit(X, Y)
    assert (model.remaining_queries_, model.remaining_abstentions_) == (30, 5)
    found = answers(model)[-1](X[:20])
    assert model.remaining_queries_ == 10
    declined = np.count_nonzero(found == -1) if kind is HARD else np.isnan(found[:, 0]).sum()
    assert model.remaining_abstentions_ <= 5 - declined


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


# Sizes


#: A student's sizes with a sparse vector take longest, and are looked at in `test_sizes` too.
LATE = [(kind, "sparse_vector") for kind in STUDENTS]


@pytest.mark.parametrize(
    ("kind", "aggregation"),
    [pytest.param(*each, marks=pytest.mark.nightly) if each in LATE else each for each in EVERY],
    ids=lambda each: str(each)[-20:],
)
def test_a_plan_needs_no_data_and_matches_the_fit(kind, aggregation):
    model = learner(kind, aggregation=aggregation, epsilon=3.0, max_queries=12)
    plan = model.plan(500, **{"n_rows": 500} if kind in STUDENTS else {})
    tables = (X[500:0:-1] * 0, np.arange(500) % 2), (X[:500], Y[:500])
    for rows, labels in tables[: 1 if kind in STUDENTS else 2]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted(model, rows, labels)
        assert model.n_teachers_ == plan.n_teachers
        if kind in STUDENTS:
            assert 0 < model.n_asked_ <= plan.max_queries
        else:
            assert model.remaining_queries_ == plan.max_queries
            assert model.max_abstentions_ == plan.max_abstentions
        assert kind is not SOFT or model.bin_width_ == plan.bin_width
    limited = aggregation == "sparse_vector"
    assert (plan.max_abstentions is not None) == limited
    assert learner(kind, classes=None).plan(2000, n_labels=5).n_teachers > 0


@pytest.mark.parametrize(
    ("n_labels", "epsilon", "n_teachers"),
    [
        (3, 5.0, 60),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in ((2, 1.0, 100), (2, 1e4, 20_000), (2, 20.0, 100), (2, 1e6, 100), (3, 1e6, 10_000))
        ),
    ],
)
def test_means_are_as_near_as_planned(n_labels, epsilon, n_teachers):
    """With very many teachers or nearly no noise, the remaining error is rounding."""
    given = {"aggregation": "mean", "epsilon": epsilon, "n_teachers": n_teachers, "max_queries": 30}
    plan = learner(SOFT, classes=range(n_labels), **given).plan(10**6)
    aggregation = SOFT_AGGREGATIONS["mean"](plan.ballot)
    width = 1 if n_labels == 2 else n_labels
    scores = np.random.default_rng(0).dirichlet([1] * n_labels, size=(n_teachers, 1))[:, :, -width:]
    scores[:, 0] = np.where(np.arange(width) == 0, 1 - 2.0**-30, 0.0)  # where rounding is all one way
    votes = soft_tally(np.tile(fixed_point(scores).reshape(n_teachers, -1), 30), np.full(30, 2), width)
    failed = 0
    for _ in range(60):
        found = copy.deepcopy(aggregation).attach(SystemDice()).answer(votes)
        failed += abs(found - scores.mean(axis=0)).max() > plan.error
    assert failed < 11  # 3 may; so many have a probability below 1 in 2,000


def test_the_planned_error_of_bins_is_tight_for_the_teachers_in_the_bin():
    """A score just below the end of a grid step may be rounded into the previous bin."""
    for b in (2, 3, 7, 100, 2047, 2048):
        plan = learner(SOFT, bin_width=1 / b, n_teachers=9, max_abstentions=9).plan(2000)
        scores = (np.arange(FIXED_POINT_ONE) + 1 - 2.0**-20) / FIXED_POINT_ONE
        middles = (2 * (np.arange(FIXED_POINT_ONE) * b // FIXED_POINT_ONE) + 1) / (2 * b)
        assert abs(scores - middles).max() <= plan.error <= 1 / (2 * b) + 1 / FIXED_POINT_ONE


# Estimators and tables


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


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(), SVC(), SGDClassifier(), make_pipeline(StandardScaler(), LinearSVC()), GaussianNB, "bayes"],
    ids=repr,
)
def test_an_estimator_without_probabilities_is_refused_for_scores(estimator):
    for kind in (SOFT, SOFTLY_TAUGHT):
        with pytest.raises(TypeError, match="estimator must"):
            learner(kind, estimator).plan(2000)


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


NAMES = [f"c{i}" for i in range(6)]
TABLES = {
    "array": lambda X: X,
    "lists": lambda X: X.tolist(),
    "sparse": csr_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "float32": lambda X: X.astype(np.float32),
}


@pytest.mark.parametrize("table", TABLES)
@each_kind
def test_tables_of_every_kind_are_learned_with_the_standard_estimators(kind, table):
    rows, public = TABLES[table](X[:600]), TABLES[table](PUBLIC)
    model = fitted(kind(epsilon=1e3, n_teachers=10, max_queries=600, classes=[0, 1]), rows, Y[:600], public)
    assert model.score(public, TRUE) > 0.85
    assert model.n_features_in_ == 6
    assert hasattr(model, "feature_names_in_") == (table in ("pandas", "polars"))


class Counting:
    """A cell that counts its accesses."""

    looks = 0

    def __float__(self):
        Counting.looks += 1
        return float(Counting.looks)


def test_queries_hold_values_and_no_objects_that_teachers_could_share():
    model = learner(HARD, **FEW).fit(X, Y)
    cells = np.array([[Counting(), *X[0, 1:]]], dtype=object)
    for rows in (cells, pd.DataFrame(cells)):
        with pytest.raises(TypeError, match="X must hold numbers, texts and missing values, got Counting"):
            model.predict(rows)
    assert (model.remaining_queries_, Counting.looks) == (5, 0)


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


def test_hard_answers_have_no_probabilities_and_a_label_is_single():
    assert not hasattr(learner(HARD), "predict_proba")
    with pytest.raises(AttributeError, match="SoftLabelAggregateClassifier answers with probabilities"):
        learner(HARD).predict_proba(X)
    with pytest.raises(ValueError, match=r"got 1 class; classes=\[...\] declares all"):
        learner(HARD, classes=None).fit(X, 0 * Y)
    with pytest.raises(ValueError, match="abstain_label must be a single label"):
        learner(HARD, abstain_label=[7, 8]).fit(X, Y)


# Where teachers are


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
        self._tell()
        return (unpacked, ({**vars(self)},)) if self.held_ is None else (self.held_, ())

    def _tell(self):
        warnings.warn("a teacher says so", stacklevel=1)
        print("private", np.random.random())


def unpacked(attributes):
    teacher = Telling()
    vars(teacher).update(attributes)
    teacher._tell()
    return teacher


def test_neither_packing_nor_unpacking_of_teachers_reveals_anything(tmp_path, capsys):
    rows, before = X.copy(), np.random.get_state()[1].tolist()
    rows[7] = 1000.0
    model = learner(HARD, Telling(), n_teachers=20, max_queries=10).fit(rows, Y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.export_teachers(tmp_path / "teachers")
        there = SubsampleAggregateClassifier().load_teachers(tmp_path / "teachers")
    with opened(there) as ensemble:
        assert sum(teacher is None for teacher in ensemble.teachers) == 1  # it casts no vote
        assert "GaussianNB" not in repr(ensemble)
    assert there.predict(X[:2]).shape == (2,)
    assert not caught
    assert capsys.readouterr() == ("", "")
    assert np.random.get_state()[1].tolist() == before


@both_online
def test_a_traceback_that_shows_variables_shows_no_teacher_and_no_vote(kind):
    model = learner(kind, max_queries=3).fit(X, Y)
    actions = [lambda: model.predict(X[:4])]
    actions += [lambda: model.predict_proba(X[:2], bin_width=3)] if kind is SOFT else []
    for action in actions:
        with pytest.raises((QueriesExhaustedError, ValueError)) as refused:
            action()
        shown = "".join(
            traceback.TracebackException.from_exception(refused.value, capture_locals=True).format()
        )
        assert "teachers=[" not in shown
        assert "fixed-point scores=" not in shown


def test_a_refit_that_fails_keeps_teachers_with_their_guarantee():
    model = learner(HARD, max_queries=10).fit(X, Y)
    with pytest.raises(ValueError, match="delta"):
        model.set_params(epsilon=1.0, delta=0, aggregation="gnmax").fit(X, Y)
    assert model.guarantee_.epsilon == 50
    assert model.predict(X[:2]).shape == (2,)


# Students and their public rows


@pytest.mark.parametrize("kind", STUDENTS, ids=lambda kind: kind.__name__)
def test_what_is_public_is_stated_and_a_ledger_tells_labels_from_examples(kind):
    few = {"n_teachers": 9, "max_queries": 20}
    by_example = fitted(learner(kind, **few)).guarantee_
    ledger = PrivacyLedger(100, delta=1e-3, protects="labels")
    model = learner(kind, protects="labels", ledger=ledger, **few).fit(X, Y)
    assert "the rows in X_public are public" in by_example.assumes
    assert any(text.startswith("all features are public") for text in model.guarantee_.assumes)
    assert (model.guarantee_.protects, by_example.protects) == ("labels", "examples")
    assert not model.guarantee_.implies(ApproxDP(50, 1e-6))
    assert model.n_asked_ == 20
    assert not hasattr(model, "remaining_queries_")
    with pytest.raises(LedgerError, match="protects 'labels'"):
        learner(kind, protects="labels", ledger=PrivacyLedger(100, delta=1e-3)).fit(X, Y)
    with pytest.raises(ValueError, match="X_public must be None where protects='labels'"):
        learner(kind, protects="labels").fit(X, Y, X_public=PublicData(PUBLIC))


@pytest.mark.parametrize(
    ("public", "message"),
    [
        (None, "X_public must be PublicData"),
        (PUBLIC, "a search silently cuts every array that has as many rows"),
        ((PUBLIC, PUBLIC), "a tuple of 2"),
        (PublicData(PUBLIC[:, :3]), "3 features"),
        (PublicData(PUBLIC[:0]), "0 sample"),
        (PublicData(np.where(PUBLIC > 0, PUBLIC, np.nan)), "NaN"),
    ],
)
def test_public_rows_that_cannot_be_used_are_refused_before_anything_is_spent(public, message):
    ledger = PrivacyLedger(100, delta=1e-3)
    for kind in STUDENTS:
        with pytest.raises((TypeError, ValueError), match=message):
            learner(kind, ledger=ledger).fit(X, Y, X_public=public)
    assert ledger.history() == []


@pytest.mark.parametrize(
    "student",
    [
        LinearSVC(),
        pytest.param(HistGradientBoostingClassifier(max_iter=20), marks=pytest.mark.nightly),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda student: type(student).__name__,
)
@pytest.mark.parametrize("routing", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_students_of_every_kind(student, routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        model = fitted(learner(TAUGHT, student=student, n_teachers=20, aggregation="gnmax"))
        assert model.score(PUBLIC, TRUE) > 0.85
    assert hasattr(model, "predict_proba") == hasattr(student, "predict_proba")


def test_probabilities_have_a_column_for_every_class_even_one_without_answers():
    model = fitted(learner(TAUGHT, classes=[-1, 0, 1], n_teachers=20, aggregation="gnmax"))
    likely = model.predict_proba(PUBLIC[:5])
    assert likely.shape == (5, 3)
    assert np.allclose(likely.sum(axis=1), 1)


def test_in_a_search_public_rows_as_many_as_private_ones_are_not_cut_and_in_a_pipeline_they_pass_the_steps():
    ledger = PrivacyLedger(1000, delta=1e-3)
    search = GridSearchCV(learner(TAUGHT, ledger=ledger), {"n_teachers": [10, 20]}, cv=KFold(2))
    search.fit(X[:500], Y[:500], X_public=PublicData(PUBLIC))
    assert len(ledger.history()) == 5
    assert search.best_estimator_.score(PUBLIC, TRUE) > 0.8
    with sklearn.config_context(enable_metadata_routing=True):
        model = learner(TAUGHT, n_teachers=20).set_fit_request(X_public=True)
        steps = [("scale", StandardScaler()), ("model", model)]
        pipeline = Pipeline(steps, transform_input=["X_public"])
        pipeline.fit(X * 1000, Y, X_public=PublicData(PUBLIC * 1000))
        assert pipeline.score(PUBLIC * 1000, TRUE) > 0.85


@pytest.mark.nightly
@pytest.mark.parametrize("student", [None, make_pipeline(StandardScaler(), LogisticRegression())], ids=repr)
def test_a_students_probabilities_rank_and_are_calibrated_and_of_random_labels_know_nothing(student):
    rows, y = make_classification(9000, n_informative=4, n_clusters_per_class=1, flip_y=0.1, random_state=0)
    model = SoftLabelTransferClassifier(student=student, epsilon=3.0, classes=[0, 1], max_queries=300)
    for labels, knows in ((y, True), (np.random.default_rng(0).permutation(y), False)):
        fitted(model, rows[:6000], labels[:6000], rows[6000:8000])
        likely = model.predict_proba(rows[8000:])
        area = roc_auc_score(labels[8000:], likely[:, 1])
        assert area > 0.85 if knows else abs(area - 0.5) < 0.2
        assert not knows or brier_score_loss(labels[8000:], likely[:, 1]) < 0.17  # a constant has .25
        assert (model.predict(rows[8000:]) == model.classes_[likely.argmax(axis=1)]).all()
