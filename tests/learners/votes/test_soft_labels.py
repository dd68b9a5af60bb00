"""The ensemble answers with probabilities that teachers agree on, spends what it says, and shows no more."""

import copy
import pickle
import traceback
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from dplearn import (
    BudgetExceededError,
    PrivacyLedger,
    QueriesExhaustedError,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.audit import FaultyDice, fitted_with
from dplearn.chance import SystemDice
from dplearn.kernels.votes import FIXED_POINT_ONE, fixed_point, soft_tally
from dplearn.learners.votes.aggregators import SOFT_AGGREGATIONS
from dplearn.learners.votes.asked import Scores
from dplearn.learners.votes.online import n_bins_of, probabilities_of
from dplearn.learners.votes.recipe import AggregationPlan
from dplearn.learners.votes.teachers import answers_of
from dplearn.privacy import OneTimeState

X, Y = make_classification(2000, n_features=6, class_sep=2.0, flip_y=0.0, random_state=1)  # public
IRIS, SPECIES = load_iris(return_X_y=True)
HOPELESS = pytest.mark.filterwarnings("ignore:n_teachers is")
PLENTY = {"epsilon": 50.0, "classes": [0, 1]}
BY_BINS = {"aggregation": "sparse_vector"}  # most tests are of aggregations that abstain and stop
NEVER = {"n_teachers": 2, "epsilon": 1.0, "max_queries": 50, "max_abstentions": 50}  # two are never stable
EXACT = {"epsilon": 1e12}  # hardly any noise

each_aggregation = pytest.mark.parametrize("aggregation", SOFT_AGGREGATIONS)


def learner(estimator=None, **parameters):
    estimator = GaussianNB() if estimator is None else estimator
    return SoftLabelAggregateClassifier(estimator, **BY_BINS | PLENTY | parameters)


def species(**parameters):
    """An ensemble for three labels that answers almost without noise."""
    chosen = EXACT | {"n_teachers": 9, "max_queries": 1000, "classes": [0, 1, 2]} | parameters
    return learner(**chosen).fit(IRIS, SPECIES)


class Share(ClassifierMixin, BaseEstimator):
    """Finds each label as likely as it is in the shard, whatever the row; notes what it is asked."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.likely_ = counts / counts.sum()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[self.likely_.argmax()])

    def predict_proba(self, X):
        return np.tile(self.likely_, (len(X), 1))


# The answers


@pytest.mark.first_by_day
@each_aggregation
def test_at_a_large_epsilon_it_answers_as_well_as_its_teachers(aggregation):
    model = learner(aggregation=aggregation, max_queries=1000).fit(X[:1500], Y[:1500])
    likely, labels = model.predict_proba(X[1500:]), model.predict(X[1500:])
    assert likely.shape == (500, 2)
    assert abs(likely.sum(axis=1) - 1).max() < 1e-12
    assert (likely.argmax(axis=1) == Y[1500:]).mean() > 0.95
    assert (labels == Y[1500:]).mean() > 0.95
    assert model.guarantee_.epsilon == 50


def teachers_scores(model, rows):
    with model._one_time_state.use() as ensemble:
        asked = Scores(ensemble.published["classes_"])
        fixed_scores = answers_of(ensemble.teachers, rows, asked)
    return fixed_scores.reshape(len(fixed_scores), len(rows), asked.width) / FIXED_POINT_ONE


def test_means_are_those_of_the_teachers():
    model = learner(aggregation="mean", **EXACT).fit(X, Y)
    mean = teachers_scores(model, X[:50]).mean(axis=0)[:, 0]
    assert abs(model.predict_proba(X[:50])[:, 1] - mean).max() <= 1 / FIXED_POINT_ONE


@pytest.mark.parametrize("width", [0.5, 0.1, 0.01])
def test_a_bins_midpoint_is_within_half_a_width_of_those_who_decided_it(width):
    model = learner(bin_width=width, n_teachers=20, max_queries=300, **EXACT).fit(X, Y)
    released = model.predict_proba(X[:100])[:, [1]]
    near = abs(teachers_scores(model, X[:100])[:, :, 0].T - released) <= width / 2 + 1 / FIXED_POINT_ONE
    abstained = (released == 0.5).ravel()
    assert (near.sum(axis=1) >= 2)[~abstained].all()
    assert not abstained.all()


@each_aggregation
def test_many_labels_have_probabilities_that_add_up_to_one(aggregation):
    model = species(aggregation=aggregation)
    likely = model.predict_proba(IRIS)
    assert likely.shape == (150, 3)
    assert abs(likely.sum(axis=1) - 1).max() < 1e-12
    assert likely.min() >= 0
    assert (likely.argmax(axis=1) == SPECIES).mean() > 0.85
    assert model.remaining_queries_ == 850


def test_noise_favours_no_label_whose_place_is_first():
    """Of many scores beyond 0 and 1 the greatest decides, not the first that is 1."""
    model = learner(
        Share(), aggregation="mean", n_teachers=20, epsilon=0.5, max_queries=3000, classes=[0, 1, 2]
    )
    with pytest.warns(UserWarning, match="nearly random"):
        model.fit(np.zeros((600, 1)), np.arange(600) % 3)
    counts = np.bincount(model.predict(np.zeros((3000, 1))), minlength=3)
    assert abs(counts - 1000).max() < 150  # five standard deviations


@HOPELESS
def test_a_declined_score_is_equally_likely_or_the_abstain_score():
    for score, expected in (
        (None, 0.5),
        (0, 0.0),
        (1, 1.0),
        (0.25, 0.25),
        (Fraction(1, 4), 0.25),
        (Decimal("0.25"), 0.25),
        (np.float32(0.25), 0.25),
    ):
        likely = learner(abstain_score=score, **NEVER).fit(X, Y).predict_proba(X[:3])
        assert likely.dtype == np.float64
        assert likely.tolist() == [[1 - expected, expected]] * 3
    for nothing in (float("nan"), np.float64("nan"), np.float32("nan")):
        assert np.isnan(learner(abstain_score=nothing, **NEVER).fit(X, Y).predict_proba(X[:3])).all()


@HOPELESS
def test_a_declined_row_gets_a_label_from_the_public_stream_whatever_the_abstain_score():
    first, second = (
        learner(abstain_score=score, random_state=0, **NEVER).fit(rows, labels).predict(X[:20])
        for score, rows, labels in ((None, X, Y), (1.0, X[::-1], 1 - Y[::-1]))
    )
    assert set(first) == {0, 1}
    assert first.tolist() == second.tolist()


@pytest.fixture(scope="module")
def unasked():
    """A fitted learner that no test asks anything which it answers."""
    return learner().fit(X, Y)


@pytest.mark.parametrize("score", ["0.5", "half", -0.1, 1.1, float("inf"), True, [0.5], None])
def test_an_abstain_score_that_is_none_is_refused_before_anything_is_spent(score, unasked):
    ledger = PrivacyLedger(1000, delta=1e-3)
    if score is not None:
        with pytest.raises((TypeError, ValueError), match="abstain_score"):
            learner(abstain_score=score, ledger=ledger).fit(X, Y)
    assert ledger.history() == []
    model = copy.copy(unasked)
    model.abstain_score = "half" if score is None else score
    for ask in (model.predict, model.predict_proba):
        with pytest.raises((TypeError, ValueError), match="abstain_score"):
            ask(X[:3])
    assert model.remaining_queries_ == 1000


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


# Bins


@pytest.mark.parametrize("b", [*range(2, 60), 100, 333, 1000, 2047, 2048])
def test_one_over_an_integer_makes_as_many_bins_however_it_is_written(b):
    for width in (1 / b, Fraction(1, b), np.float64(1 / b), np.float32(1 / b), Decimal(1) / b):
        assert n_bins_of(width, 1) == b


@pytest.mark.parametrize(("width", "b"), [(0.3, 4), (0.4, 3), (0.06, 17), (0.49, 3), (0.0006, 1667)])
def test_other_widths_are_taken_down(width, b):
    assert n_bins_of(width, 1) == b
    assert 1 / b <= width


def test_widths_are_settled_by_the_size_of_shards_and_never_widen_with_it():
    numbers = [n_bins_of("auto", size) for size in (1, 20, 81, 900, 10**6, 10**12)]
    assert numbers == [2, 2, 3, 10, 333, 2048]
    model = learner(n_teachers=2, aggregation="mean", **EXACT).fit(X, Y)
    assert model.bin_width_ == model.plan(2000).bin_width == 1 / n_bins_of("auto", 1000) == 0.1


@cache
def fitted_once(aggregation):
    """A model for refused calls, and its dice, which must not be thrown."""
    dice = FaultyDice(SystemDice())
    return fitted_with(learner(aggregation=aggregation), X, Y, dice=dice), dice


BAD_WIDTHS = [0, 0.51, 1 / 2049, -0.1, float("nan"), float("inf"), "0.1", "wide", True, None, [0.1]]


@pytest.mark.parametrize("width", BAD_WIDTHS, ids=repr)
def test_a_bad_bin_width_is_named_and_nothing_is_spent(width):
    ledger = PrivacyLedger(1000, delta=1e-3)
    with pytest.raises((TypeError, ValueError), match="bin_width must be"):
        learner(bin_width=width, ledger=ledger).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match="bin_width must be"):
        learner(bin_width=width).plan(2000)
    assert ledger.history() == []


@each_aggregation
@pytest.mark.parametrize(
    "width",
    [*(bad for bad in BAD_WIDTHS if bad is not None), "auto"]
    + [[0.1] * 2, [0.1] * 4, [[0.1]] * 3, [0.1, 0.2, 0.6], [0.1, None, 0.2], ["auto"] * 3, [0.1, "0.1", 0.1]],
    ids=repr,
)
def test_bad_widths_of_queries_are_named_before_anything_is_spent(aggregation, width):
    model, dice = fitted_once(aggregation)
    for ask in (model.predict_proba, model.predict):
        with pytest.raises((TypeError, ValueError), match="bin_width must be"):
            ask(X[:3], bin_width=width)
    assert (dice.n_draws, model.remaining_queries_) == (0, 1000)


@pytest.mark.parametrize(
    "widths",
    [
        [0.5, 0.01, 1 / 3],
        np.array([0.5, 0.01, 1 / 3], dtype=np.float32),
        pd.Series([0.5, 0.01, 1 / 3], index=[7, 8, 9]),
        [Fraction(1, 2), Fraction(1, 100), Fraction(1, 3)],
        (0.5, Decimal("0.01"), 1 / 3),
    ],
    ids=["list", "float32", "pandas", "fractions", "mixed"],
)
def test_each_query_may_bring_the_width_of_its_bins(widths):
    model = learner(Share(), n_teachers=10, max_queries=100, **EXACT).fit(
        np.zeros((1000, 1)), np.arange(1000) % 10 < 7
    )
    with model._one_time_state.use() as ensemble:
        ensemble.teachers = ensemble.teachers[:1] * 10
        ensemble.teachers[0].likely_ = np.array([0.3125, 0.6875])
    likely = model.predict_proba(np.zeros((3, 1)), bin_width=widths)[:, 1]
    assert likely.tolist() == pytest.approx([0.75, 0.685, 5 / 6])
    assert model.predict(np.zeros((3, 1)), bin_width=widths).tolist() == [1, 1, 1]
    for width, expected in ((np.array(0.01), 0.685), (Fraction(1, 3), 5 / 6), (np.float32(0.01), 0.685)):
        alone = model.predict_proba(np.zeros((2, 1)), width)[:, 1]
        assert alone.tolist() == pytest.approx([expected] * 2)


# The cost


@pytest.mark.first_by_day
@each_aggregation
@pytest.mark.parametrize("asking", ["predict", "predict_proba"])
def test_a_batch_larger_than_the_queries_left_is_refused_before_the_first_draw(aggregation, asking):
    dice = FaultyDice(SystemDice())
    model = fitted_with(learner(aggregation=aggregation, max_queries=10), X, Y, dice=dice)
    ask = getattr(model, asking)
    ask(X[:7])
    drawn = dice.n_draws
    with pytest.raises(QueriesExhaustedError, match="at most the 3 queries that are left, got 4") as caught:
        ask(X[:4])
    assert caught.value.released.size == 0
    assert (model.remaining_queries_, dice.n_draws) == (3, drawn)


@HOPELESS
@pytest.mark.parametrize(("asking", "shape"), [("predict", (3,)), ("predict_proba", (3, 2))])
def test_the_error_after_the_last_abstention_contains_the_released_scores(asking, shape):
    model = learner(**NEVER | {"max_abstentions": 3}).fit(X, Y)
    with pytest.raises(QueriesExhaustedError, match=r"max_abstentions=3 is used up at row 3") as caught:
        getattr(model, asking)(X[:20])
    assert caught.value.released.shape == shape
    assert (model.remaining_queries_, model.remaining_abstentions_) == (0, 0)
    with pytest.raises(QueriesExhaustedError, match="at most the 0 queries"):
        getattr(model, asking)(X[:1])
    carried = pickle.loads(pickle.dumps(caught.value))
    assert carried.released.tolist() == caught.value.released.tolist()


@HOPELESS
def test_a_stop_inside_a_row_of_many_labels_releases_the_whole_row():
    model = learner(**NEVER | {"max_abstentions": 4, "classes": [0, 1, 2]}).fit(IRIS, SPECIES)
    with pytest.raises(QueriesExhaustedError, match="row 2 of this batch") as caught:
        model.predict_proba(IRIS[:10])
    assert caught.value.released.tolist() == pytest.approx(np.full((2, 3), 1 / 3))


@HOPELESS
def test_a_stop_at_the_last_row_is_no_error_and_the_next_call_is():
    model = learner(**NEVER | {"max_abstentions": 3}).fit(X, Y)
    assert model.predict_proba(X[:3]).shape == (3, 2)
    with pytest.raises(QueriesExhaustedError):
        model.predict_proba(X[:1])


def test_answers_by_shifted_bins_cost_half_an_abstention():
    model = learner(Share(), n_teachers=20, max_abstentions=5, **EXACT).fit(
        np.zeros((400, 1)), np.arange(400) % 2
    )
    with model._one_time_state.use() as ensemble:
        for place, teacher in enumerate(ensemble.teachers):
            # Around 1/2 they are in the middle of the shifted bin; the bins on its sides have ten each.
            teacher.classes_, teacher.likely_ = (
                np.array([0, 1]),
                np.array([0.45, 0.55])[:: 1 - 2 * (place % 2)],
            )
    left = []
    for _ in range(4):
        assert model.predict_proba(np.zeros((1, 1))).tolist() == [[0.5, 0.5]]
        left.append(model.remaining_abstentions_)
    assert left == [5, 4, 4, 3]


@each_aggregation
def test_no_rows_cost_nothing(aggregation):
    model = learner(aggregation=aggregation).fit(X, Y)
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            ask(X[:0])
    assert model.remaining_queries_ == 1000


def test_the_whole_budget_is_charged_once_by_fit_and_nothing_by_queries():
    ledger = PrivacyLedger(3, delta=1e-5)
    model = learner(epsilon=2.0, ledger=ledger).fit(X, Y)
    model.predict(X[:3])
    model.predict_proba(X[:3])
    assert len(ledger.history()) == 1
    assert ledger.spent().epsilon == 2
    with pytest.raises(BudgetExceededError):
        model.fit(X, Y)


@each_aggregation
def test_a_fault_at_a_draw_loses_queries_and_never_gains_any(aggregation):
    for at in range(4):
        model = learner(aggregation=aggregation, max_queries=10, n_teachers=10)
        model = fitted_with(model, X, Y, dice=FaultyDice(SystemDice(), at=at, drawn=True))
        try:
            model.predict_proba(X[:4])
        except KeyboardInterrupt:
            assert model.remaining_queries_ == 6


@each_aggregation
def test_noisy_scores_need_a_delta(aggregation):
    ledger = PrivacyLedger(100)
    with pytest.raises(ValueError, match="delta must be a finite number above 0"):
        learner(aggregation=aggregation, delta=0, ledger=ledger).fit(X, Y)
    assert ledger.history() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0),
        ("delta", -1),
        ("aggregation", "gnmax"),
        ("n_teachers", 0),
        ("n_teachers", 2001),
        ("max_queries", 0),
        ("max_abstentions", "many"),
        ("classes", [0]),
        ("ledger", 3),
    ],
)
def test_a_bad_parameter_is_named_and_nothing_is_spent(name, value):
    ledger = PrivacyLedger(100, delta=1e-3)
    with pytest.raises((TypeError, ValueError), match=name):
        learner(**{"ledger": ledger} | {name: value}).fit(X, Y)
    assert ledger.history() == []


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(), SVC(), SGDClassifier(), make_pipeline(StandardScaler(), LinearSVC()), GaussianNB, "bayes"],
    ids=repr,
)
def test_an_estimator_without_probabilities_is_refused_and_nothing_is_spent(estimator):
    ledger = PrivacyLedger(100, delta=1e-3)
    with pytest.raises(TypeError, match="estimator must"):
        learner(estimator, ledger=ledger).fit(X, Y)
    with pytest.raises(TypeError, match="estimator must"):
        learner(estimator).plan(2000)
    assert ledger.history() == []


@pytest.mark.nightly
def test_by_default_all_rows_of_the_plan_are_answered_by_means():
    rows = np.random.default_rng(0).normal(size=(5000, 6))
    model = SoftLabelAggregateClassifier(GaussianNB(), epsilon=3.0, classes=[0, 1], abstain_score=np.nan)
    plan = model.fit(rows, np.arange(5000) % 2).plan(5000)
    assert (plan.aggregation, plan.least_decided) == ("mean", 0)
    assert 50 < plan.max_queries == model.remaining_queries_
    assert plan.error < 0.26
    assert np.isfinite(model.predict_proba(rows[: plan.max_queries])).all()


@pytest.mark.parametrize("kind", [SoftLabelAggregateClassifier, SoftLabelTransferClassifier])
def test_by_default_both_learners_of_scores_take_means(kind):
    assert kind().aggregation == "mean"


def test_a_shard_with_one_label_is_sure_of_it():
    rows, y = np.random.default_rng(0).normal(size=(2000, 1)), np.arange(2000) % 50 == 0
    model = SoftLabelAggregateClassifier(
        GaussianNB(), epsilon=1e6, n_teachers=200, max_queries=5, classes=[False, True]
    ).fit(rows, y)
    # Most shards of ten hold no positive record; where they had no score, it counted as 1/2.
    assert (model.predict_proba(rows[:5])[:, 1] < 0.15).all()


class Silent(GaussianNB):
    """A classifier without probabilities."""

    def predict_proba(self, X):
        raise ZeroDivisionError("always")


class Shapeless(GaussianNB):
    """A classifier with one probability in place of one for each label."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, 0]


@pytest.mark.parametrize(
    ("estimator", "failure"),
    [(Silent(), "ZeroDivisionError: always"), (Shapeless(), "ValueError: predict_proba must return")],
)
def test_an_estimator_with_malformed_probabilities_is_warned_of_and_fails_no_fit(estimator, failure):
    with pytest.warns(UserWarning, match=rf"estimator fails on 64 made-up rows .* \({failure}"):
        model = learner(estimator, aggregation="mean", **EXACT).fit(X, Y)
    assert abs(model.predict_proba(X[:5]) - 0.5).max() < 1 / FIXED_POINT_ONE


# Tables


def _tables():
    """The same rows in each supported container."""
    names = [f"c{i}" for i in range(X.shape[1])]
    yield "array", X
    yield "lists", X.tolist()
    yield "sparse", csr_matrix(X)
    yield "pandas", pd.DataFrame(X, columns=names)
    yield "polars", pl.DataFrame(X, schema=names)
    yield "float32", X.astype(np.float32)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "rows"), list(_tables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_tables_of_every_kind_are_learned_with_the_standard_estimator(kind, rows):
    model = SoftLabelAggregateClassifier(**PLENTY, max_queries=4000).fit(rows, Y)
    assert model.score(rows, Y) > 0.9
    assert model.predict_proba(rows).shape == (2000, 2)
    assert hasattr(model, "feature_names_in_") == (kind in ("pandas", "polars"))


@pytest.mark.nightly
@pytest.mark.parametrize("frame", [pd.DataFrame, pytest.param(pl.DataFrame, marks=pytest.mark.nightly)])
def test_texts_and_gaps_in_a_frame_are_learned_too(frame):
    generator = np.random.default_rng(0)
    job = generator.choice(["clerk", "farmer", "smith"], 1000)
    wage = generator.normal(size=1000)
    wage[::7] = np.nan
    table = frame({"job": job, "wage": wage, "town": generator.choice(["Ulm", "Bonn"], 1000)})
    y = np.where(job == "clerk", "poor", "rich")
    model = SoftLabelAggregateClassifier(epsilon=50.0, max_queries=1000, classes=["poor", "rich"]).fit(
        table, y
    )
    assert model.score(table, y) > 0.95


@pytest.mark.nightly
def test_gaps_in_an_array_are_filled_by_the_standard_estimator():
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = SoftLabelAggregateClassifier(**PLENTY, aggregation="mean", max_queries=4000).fit(rows, Y)
    assert model.score(rows, Y) > 0.9
    # The teachers of this one cannot read them: none has a score for a row with gaps, which counts as 1/2,
    # and those of shards with gaps have the shares of their labels.
    without = learner(aggregation="mean", n_teachers=20, max_queries=10, **EXACT).fit(rows, Y)
    shares = without.predict_proba(np.full((1, 6), np.nan))
    assert abs(shares - [1 - Y.mean(), Y.mean()]).max() < 1 / FIXED_POINT_ONE


def test_text_labels_are_scored_in_the_order_of_classes():
    names = np.array(["b", "a", "c"])[SPECIES]
    model = species(aggregation="mean").set_params(classes=["c", "a", "b"]).fit(IRIS, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(IRIS) == names).mean() > 0.85
    assert (model.classes_[model.predict_proba(IRIS).argmax(axis=1)] == names).mean() > 0.85


def test_in_a_pipeline_a_search_and_a_cross_validation():
    ledger = PrivacyLedger(1000, delta=1e-3)
    inner = make_pipeline(StandardScaler(), GaussianNB())
    model = learner(inner, ledger=ledger, n_teachers=20, aggregation="mean", max_queries=1000)
    outer = make_pipeline(StandardScaler(), model)
    assert cross_val_score(outer, X, Y, cv=KFold(3)).mean() > 0.85
    assert cross_val_predict(model, X, Y, cv=KFold(2), method="predict_proba").shape == (2000, 2)
    search = GridSearchCV(model, {"n_teachers": [10, 20]}, cv=KFold(2), scoring="neg_log_loss").fit(X, Y)
    assert len(ledger.history()) == 3 + 2 + 5
    assert search.predict_proba(X[:3]).shape == (3, 2)


# Where teachers are


@each_aggregation
def test_copies_share_what_is_left_and_never_answer_twice(aggregation):
    model = learner(max_queries=10, aggregation=aggregation).fit(X, Y)
    twins = [copy.copy(model), copy.deepcopy(model)]
    model.predict(X[:4])
    twins[0].predict_proba(X[:4])
    assert [each.remaining_queries_ for each in (model, *twins)] == [2, 2, 2]
    with pytest.raises(QueriesExhaustedError):
        twins[1].predict_proba(X[:3])
    with pytest.raises(Exception, match="not fitted"):
        clone(model).predict_proba(X[:1])


@each_aggregation
def test_a_pickle_has_no_teachers_and_warns(aggregation):
    model = learner(aggregation=aggregation).fit(X, Y)
    with pytest.warns(UserWarning, match=r"contains no teachers.*export_teachers"):
        saved = pickle.dumps(model)
    assert b"GaussianNB" in saved  # the parameter
    assert b"theta_" not in saved
    assert b"Ensemble" not in saved
    there = pickle.loads(saved)
    assert (there.guarantee_, there.bin_width_) == (model.guarantee_, model.bin_width_)
    assert (there.remaining_queries_, there.remaining_abstentions_) == (0, None)
    for ask in (there.predict, there.predict_proba):
        with pytest.raises(RuntimeError, match="this copy has no teachers"):
            ask(X[:1])
    assert model.predict_proba(X[:1]).shape == (1, 2)


@each_aggregation
def test_teachers_move_by_name_with_what_is_left_and_their_own_guarantee(aggregation, tmp_path):
    model = learner(aggregation=aggregation, max_queries=10, n_teachers=20, bin_width=0.1).fit(X, Y)
    model.predict(X[:4])
    left = model.remaining_queries_, model.remaining_abstentions_
    model.export_teachers(tmp_path / "teachers")
    with pytest.raises(RuntimeError, match="it was exported"):
        model.predict_proba(X[:1])
    there = SoftLabelAggregateClassifier(epsilon=0.1, bin_width=0.5).load_teachers(tmp_path / "teachers")
    assert (there.remaining_queries_, there.remaining_abstentions_) == left
    assert (there.guarantee_, there.bin_width_, there.n_features_in_) == (model.guarantee_, 0.1, 6)
    assert there.predict_proba(X[:2]).shape == (2, 2)
    assert not (tmp_path / "teachers").exists()


def test_teachers_of_the_other_learner_are_refused_and_stay(tmp_path):
    soft, hard = tmp_path / "soft", tmp_path / "hard"
    learner().fit(X, Y).export_teachers(soft)
    SubsampleAggregateClassifier(GaussianNB(), **PLENTY).fit(X, Y).export_teachers(hard)
    with pytest.raises(ValueError, match="not the teachers of a SoftLabelAggregateClassifier"):
        SoftLabelAggregateClassifier().load_teachers(hard)
    with pytest.raises(ValueError, match="not the teachers of a SubsampleAggregateClassifier"):
        SubsampleAggregateClassifier().load_teachers(soft)
    assert SoftLabelAggregateClassifier().load_teachers(soft).predict_proba(X[:1]).shape == (1, 2)
    assert SubsampleAggregateClassifier().load_teachers(hard).predict(X[:1]).shape == (1,)
    OneTimeState([1]).export(tmp_path / "other")
    with pytest.raises(ValueError, match="not the teachers"):
        SoftLabelAggregateClassifier().load_teachers(tmp_path / "other")
    assert (tmp_path / "other").exists()


def test_a_traceback_that_shows_variables_shows_no_teacher_and_no_score():
    model = learner(max_queries=3).fit(X, Y)
    for action in (lambda: model.predict_proba(X[:4]), lambda: model.predict_proba(X[:2], bin_width=3)):
        with pytest.raises((QueriesExhaustedError, ValueError)) as refused:
            action()
        shown = "".join(
            traceback.TracebackException.from_exception(refused.value, capture_locals=True).format()
        )
        assert "teachers=[" not in shown
        assert "fixed-point scores=" not in shown


# Plans


@pytest.mark.first_by_day
@each_aggregation
def test_a_plan_needs_no_data_and_matches_the_fit(aggregation):
    model = learner(aggregation=aggregation, epsilon=3.0)
    plan = model.plan(2000)
    assert isinstance(plan, AggregationPlan)
    assert (plan.max_abstentions is None) == (aggregation == "mean")
    for rows, labels in ((X, Y), (X[::-1] * 0, np.arange(2000) % 2)):
        fitted = model.fit(rows, labels)
        assert (fitted.n_teachers_, fitted.max_abstentions_) == (plan.n_teachers, plan.max_abstentions)
        assert fitted.bin_width_ == plan.bin_width
        assert fitted.remaining_queries_ == plan.max_queries
    with pytest.raises(ValueError, match="n_labels must be given"):
        learner(classes=None).plan(2000)
    assert learner(classes=None).plan(2000, n_labels=5).n_teachers > 0


@pytest.mark.nightly
@pytest.mark.parametrize(
    "n_labels", [3, *[pytest.param(each, marks=pytest.mark.nightly) for each in (2, 10)]]
)
def test_sizes_are_settled_for_as_many_scores_as_there_are(n_labels):
    model = SoftLabelAggregateClassifier(epsilon=3.0, max_queries=1000, **BY_BINS)
    n_scores = 1000 if n_labels == 2 else 1000 * n_labels
    plan = model.plan(60_000, n_labels=n_labels)
    assert 1 <= plan.max_abstentions < 1000
    assert plan.least_lead - 2 <= 2 * plan.n_teachers / 3  # five of six teachers lead by so much
    hopeless = model.plan(200, n_labels=n_labels)
    assert hopeless.max_queries == 1000
    assert hopeless.max_abstentions == n_scores  # which does not stop after abstentions


def test_every_attribute_of_a_plan_is_documented():
    documented = "".join(kind.__doc__ for kind in AggregationPlan.__mro__[:2])
    for name in (each.name for each in fields(AggregationPlan) if each.repr):
        assert name in documented.split("Attributes", 1)[1], name


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("n_labels", "epsilon", "n_teachers"),
    [
        (2, 1.0, 100),
        (3, 5.0, 60),
        (2, 1e4, 20_000),
        *[
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in ((2, 20.0, 100), (2, 1e6, 100), (3, 1e6, 10_000))
        ],
    ],
)
def test_means_are_as_near_as_planned(n_labels, epsilon, n_teachers):
    """With very many teachers or nearly no noise, the remaining error is rounding."""
    model = learner(aggregation="mean", epsilon=epsilon, n_teachers=n_teachers, max_queries=30)
    plan = model.plan(10**6, n_labels=n_labels)
    aggregation = model._aggregator(plan.params, plan.ballot)
    error = model.set_params(classes=range(n_labels)).plan(10**6).error
    width = 1 if n_labels == 2 else n_labels
    scores = np.random.default_rng(0).dirichlet([1] * n_labels, size=(n_teachers, 1))[:, :, -width:]
    scores[:, 0] = np.where(np.arange(width) == 0, 1 - 2.0**-30, 0.0)  # where rounding is all one way
    mean = scores.mean(axis=0)
    failed, runs = 0, 60
    for _ in range(runs):
        aggregator = copy.deepcopy(aggregation).attach(SystemDice())
        failed += abs(released(aggregator, scores, 30) - mean).max() > error
    assert failed < 11  # 3 may; so many have a probability below 1 in 2,000


def released(aggregator, scores, n_rows):
    """Return the released scores of one row over repeated queries."""

    width = scores.shape[2]
    fixed_scores = np.tile(fixed_point(scores).reshape(len(scores), -1), n_rows)
    return aggregator.answer(soft_tally(fixed_scores, np.full(n_rows, 2), width))


@pytest.mark.nightly
def test_the_planned_error_of_bins_is_tight_for_the_teachers_in_the_bin():
    """A score just below the end of a grid step may be rounded into the previous bin."""
    for b in (2, 3, 7, 100, 2047, 2048):
        plan = learner(bin_width=1 / b).plan(2000)
        scores = (np.arange(FIXED_POINT_ONE) + 1 - 2.0**-20) / FIXED_POINT_ONE
        middles = (2 * (np.arange(FIXED_POINT_ONE) * b // FIXED_POINT_ONE) + 1) / (2 * b)
        worst = abs(scores - middles).max()
        assert worst <= plan.error
        assert plan.error <= 1 / (2 * b) + 1 / FIXED_POINT_ONE


def test_too_few_teachers_for_the_noise_are_warned_of():
    with pytest.warns(UserWarning, match="n_teachers is 3: too few .* nearly all answers are abstentions"):
        learner(n_teachers=3, epsilon=1.0).fit(X, Y)
    with pytest.warns(UserWarning, match="n_teachers is 3: too few .* nearly random"):
        learner(n_teachers=3, epsilon=0.1, aggregation="mean").fit(X, Y)


@each_aggregation
def test_a_budget_too_small_for_any_noise_is_refused_before_it_is_charged(aggregation):
    ledger = PrivacyLedger(1, delta=1e-3)
    tiny = {"epsilon": 1e-13, "delta": 1e-300, "max_queries": 10**6}
    with pytest.raises(ValueError, match="epsilon"):
        learner(aggregation=aggregation, ledger=ledger, **tiny).fit(X, Y)
    assert ledger.history() == []
