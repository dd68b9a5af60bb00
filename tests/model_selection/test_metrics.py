"""Metrics and tables of counts: values are scikit-learn's, intervals hold, a record moves a table little."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import binom
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics import get_scorer, make_scorer, r2_score, recall_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplearn import LinearRegressor, PrivacyLedger
from dplearn.chance import SeededDice
from dplearn.domains import DomainError, Grid
from dplearn.kernels import decay_ratio, gaussian_probabilities, laplace_probabilities
from dplearn.model_selection import (
    METRICS,
    BinnedScores,
    ConfusionCounts,
    ErrorCount,
    LossSum,
    NoisyTable,
    PrivateScorer,
    PrivateSearchCV,
    TableNoise,
    TargetSums,
    curve_band,
    measure_of,
    private_score,
)
from dplearn.privacy import ApproxDP

GENERATOR = np.random.default_rng(0)
OF_TWO = {"recall", "precision", "f1", "roc_auc"}
OF_REGRESSORS = {name for name, metric in METRICS.items() if metric.regression}
OF_LABELS = sorted(METRICS.keys() - OF_REGRESSORS)
NOISELESS = ApproxDP(10**9)


def table_of(k, n=1200):
    """Rows and labels of k classes that overlap, the last one rare."""
    y = GENERATOR.choice(k, n, p=np.array([1] * (k - 1) + [0.3]) / (k - 0.7))
    X = GENERATOR.normal(size=(n, 3)) + 1.2 * np.eye(3)[y]
    return X, y


TABLES = {k: table_of(k) for k in (2, 3)}
MODELS = {k: GaussianNB().fit(X[:300], y[:300]) for k, (X, y) in TABLES.items()}
LINE = GENERATOR.normal(size=(1200, 1))
TARGETS = 2 * LINE[:, 0] + GENERATOR.normal(size=1200)
LINEAR = LinearRegression().fit(LINE[:100], TARGETS[:100])


def scorer_of(name):
    return PrivateScorer(name, bins=200, least_probability=1e-12, target_range=(-20, 20))


def task(name):
    """A model, a table and scikit-learn's value for a metric."""
    if name in OF_REGRESSORS:
        return LINEAR, LINE, TARGETS
    k = 2 if name in OF_TWO else 3
    return MODELS[k], *TABLES[k]


@pytest.mark.parametrize("name", METRICS)
def test_without_noise_a_value_is_that_of_scikit_learns_scorer_and_in_its_intervals(name):
    model, X, y = task(name)
    expected = get_scorer(name)(model, X, y)
    score = private_score(model, X, y, scoring=scorer_of(name), epsilon=1e9, random_state=0)
    assert score.scoring == name
    assert score.value == pytest.approx(expected, abs=2e-3)
    for low, high in (score.records_interval, score.interval):
        assert low - 1e-9 <= expected <= high + 1e-9
    assert score.records_interval[1] - score.records_interval[0] < 0.05


def test_a_range_that_clips_is_part_of_the_metric():
    score = private_score(
        LINEAR, LINE, TARGETS, scoring=PrivateScorer("r2", target_range=(-1, 1)), epsilon=1e9, random_state=0
    )
    expected = r2_score(TARGETS.clip(-1, 1), LINEAR.predict(LINE).clip(-1, 1))
    assert score.value == pytest.approx(expected, abs=1e-3)


#: The values of a population are estimated from so many records.
MANY = 40_000


def drawn(name, rng, n):
    """Records of one population: what models say, and labels or targets; probabilities are a little wrong."""
    if name in OF_REGRESSORS:
        x = rng.normal(size=n)
        return x[:, None], (x + rng.normal(size=n)).clip(-6, 6)
    likely = rng.beta(1, 3, n).round(3)
    return likely[:, None], (rng.random(n) < likely**1.2).astype(int)


class Echo:
    """Predict, for each row, what its only column says: a label, a number, or the probability of 1."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return np.asarray(X)[:, 0]

    def predict_proba(self, X):
        return np.column_stack([1 - np.asarray(X, dtype=float)[:, 0], np.asarray(X, dtype=float)[:, 0]])


class Repeats(RegressorMixin, Echo, BaseEstimator):
    """Predicts the first column."""


class Decides(ClassifierMixin, Echo, BaseEstimator):
    """Echo as probability; predicts 1 from .4 on."""

    def predict(self, X):
        return (np.asarray(X)[:, 0] >= 0.4).astype(int)


#: Of so many intervals that fail with probability 1/5, more than this fail with probability 1e-4. (The noise
#: of a single cell is bounded exactly, and fails as often as it may.)
TIMES = 40
MISSES = binom.isf(1e-4, TIMES, 0.2)
LATE = ["precision", "f1", "f1_weighted", "recall_macro", "roc_auc_ovr"]
COVERED = ["accuracy", "balanced_accuracy", "recall", "f1_macro", "precision_weighted", "roc_auc"]
COVERED += ["neg_log_loss", *sorted(OF_REGRESSORS)]
COVERED += [pytest.param(name, marks=pytest.mark.nightly) for name in LATE]


def exact(name, X, y):
    """The metric of these records, as scikit-learn has it; losses and predictions are clipped as ours are."""
    if name in OF_REGRESSORS:
        return get_scorer(name)(Repeats(), X.clip(-6, 6), y)
    if name == "neg_log_loss":
        likely = np.where(y, X[:, 0], 1 - X[:, 0]).clip(1e-3)
        return np.log(likely).mean()
    if name.startswith("roc_auc"):
        return roc_auc_score(y, X[:, 0])
    return get_scorer(name)(Decides(), X, y)


@pytest.mark.parametrize("name", COVERED)
def test_intervals_miss_the_truth_no_more_often_than_beta(name):
    rng, dice, missed = np.random.default_rng(2), SeededDice(0), np.zeros(2)
    n, model, labels = (2000, Repeats(), ()) if name in OF_REGRESSORS else (400, Decides(), (0, 1))
    truth = exact(name, *drawn(name, np.random.default_rng(1), MANY))
    measure = measure_of(PrivateScorer(name, bins=8, target_range=(-6, 6)), labels)
    statistic = measure.statistic
    noise = TableNoise.of(ApproxDP(1), l1=statistic.l1, squared_l2=statistic.squared_l2)
    for _ in range(TIMES):
        X, y = drawn(name, rng, n)
        found = noise.added(statistic.of(model, X, y), low=-(1 << 60), high=1 << 60, dice=dice)
        table = NoisyTable(found, n, noise, statistic)
        for place, value in enumerate((exact(name, X, y), truth)):
            low, high = measure.bounds(table, Fraction(1, 5), bool(place))
            missed[place] += not low <= value <= high
    assert (missed <= MISSES).all()


#: Metrics of a confusion matrix.
OF_MATRICES = [name for metric in ("recall", "precision", "f1") for name in (metric, f"{metric}_macro")]
OF_MATRICES += ["balanced_accuracy", "precision_weighted", "f1_weighted"]
#: A cell is off by two or more with probability e^-40, and by one with e^-20.
OFF_BY_ONE, RARELY = TableNoise(ApproxDP(40), 2, 2, gaussian=False), Fraction(1, 10**11)
NEAR = np.arange(-1, 2)


def of_matrix(name, matrix):
    """scikit-learn's metric of the records of a confusion matrix."""
    true, said = (np.repeat(places.ravel(), matrix.ravel()) for places in np.indices(matrix.shape))
    metric, _, average = name.partition("_")
    if name == "balanced_accuracy":
        return np.mean([(said == label)[true == label].mean() for label in set(true.tolist())])
    how = {"average": average or "binary", "labels": range(len(matrix)) if average else None}
    return getattr(metrics, f"{metric}_score")(true, said, zero_division=0, **how)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_intervals_of_all_small_matrices_hold_wherever_one_cell_is_off_by_one(name):
    measure = measure_of(PrivateScorer(name), (0, 1))
    tight = name in ("recall", "precision")
    for cells in product(range(3), repeat=4):
        if not 0 < sum(cells) <= 2:
            continue
        true, value = np.array(cells), of_matrix(name, np.reshape(cells, (2, 2)))
        exact_table = NoisyTable(
            true, sum(cells), TableNoise.of(NOISELESS, l1=2, squared_l2=2), measure.statistic
        )
        assert measure.value(exact_table) == pytest.approx(value)
        for off in (*np.eye(4, dtype=int), *-np.eye(4, dtype=int)):
            table = NoisyTable(true + off, sum(cells), OFF_BY_ONE, measure.statistic)
            low, high = measure.bounds(table, RARELY, False)
            assert low - 1e-9 <= value <= high + 1e-9
            if tight:  # no matrix within one record of each cell has a value beyond the ends
                [[_, b], [c, d]] = (true + off).reshape(2, 2).tolist()
                others = b if name == "precision" else c
                n = sum(cells)
                pairs = product(np.clip(d + NEAR, 0, n).tolist(), np.clip(others + NEAR, 0, n).tolist())
                values = [h / (h + min(o, n - h)) if h else 0.0 for h, o in pairs]
                assert (low, high) == pytest.approx((min(values), max(values)))


def test_points_of_a_curve_are_within_the_bounds_of_clopper_and_pearson_all_together():
    counts, statistic = np.array([30, 9, 5, 1, 2, 8, 20, 15]), BinnedScores((0, 1), (1,), (0.2, 0.5, 0.8), "")
    noise = TableNoise.of(NOISELESS, l1=2, squared_l2=2)
    table = NoisyTable(counts, 90, noise, statistic)
    band = curve_band(table, Fraction(1, 10))
    # Half of beta is for records: of two rows of 4 bins there are 3 points each, with two ends.
    error = 0.1 / 2 / 2 / 2 / 3
    for (low, high), row in zip((band.fpr, band.tpr), table.matrix[0], strict=True):
        for k in range(1, 4):
            after, before = row[k:].sum(), row[:k].sum()
            assert low[k] == pytest.approx(beta_law.ppf(error, after, before + 1), rel=1e-4)
            assert high[k] == pytest.approx(beta_law.ppf(1 - error, after + 1, before), rel=1e-4)
    # With one positive record, which the noise hides, nothing is known of the area.
    few = NoisyTable(np.array([30, 9, 5, 1, 0, 0, 0, 1]), 46, OFF_BY_ONE, statistic)
    area = measure_of(PrivateScorer("roc_auc", bins=[0.2, 0.5, 0.8]), (0, 1))
    assert area.bounds(few, RARELY, False) == area.bounds(few, RARELY, True) == (0, 1)
    # Hoeffding's inequality for U-statistics knows as many records as there are of the rarer kind.
    apart = NoisyTable(np.array([200, 0, 0, 0, 0, 0, 0, 20]), 220, noise, statistic)
    low, high = area.bounds(apart, Fraction(1, 5), True)
    assert low == pytest.approx(1 - np.sqrt(np.log(2 / 0.1) / (2 * 20)), abs=0.01)
    assert high == 1
    # Of the mirror image, whose area is 0, an upper end is known.
    mirrored = NoisyTable(np.array([0, 0, 0, 200, 20, 0, 0, 0]), 220, noise, statistic)
    low, high = area.bounds(mirrored, Fraction(1, 5), True)
    assert low == 0
    assert high == pytest.approx(np.sqrt(np.log(2 / 0.1) / (2 * 20)), abs=0.01)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("n", [1, 2])
def test_one_record_has_a_score_and_intervals_that_say_little(name, n):
    model, X, y = task(name)
    with np.errstate(all="raise"):
        score = private_score(model, X[:n], y[:n], scoring=scorer_of(name), random_state=0)
    for low, high in (score.records_interval, score.interval):
        assert low <= high
    assert np.isnan(score.value) or score.value <= 1


@pytest.mark.parametrize("name", OF_LABELS)
def test_labels_that_do_not_occur_or_are_never_predicted_are_counted_as_others(name):
    k = 2 if name in OF_TWO else 4
    scorer = PrivateScorer(name, labels=range(k))
    only = np.zeros(50, dtype=int)
    model = GaussianNB().fit([[0.0], [1.0]], [0, 1])
    with np.errstate(all="raise"):
        score = private_score(model, np.zeros((50, 1)), only, scoring=scorer, random_state=0)
    assert score.interval[0] <= score.interval[1]
    assert score.labels == (() if METRICS[name].any_labels else tuple(range(k)))


def test_the_positive_label_is_scikit_learns():
    X, y = TABLES[2]
    for names in ((0, 1), (-1, 1), (False, True)):
        labels = np.array(names)[y]
        model = GaussianNB().fit(X[:300], labels[:300])
        for scorer, expected in (
            ("recall", get_scorer("recall")),
            (PrivateScorer("recall", pos_label=names[0]), make_scorer(recall_score, pos_label=names[0])),
        ):
            score = private_score(model, X, labels, scoring=scorer, epsilon=1e9, random_state=0)
            assert score.value == pytest.approx(expected(model, X, labels))
    texts = np.array(["no", "yes"])[y]
    model = GaussianNB().fit(X[:300], texts[:300])
    with pytest.raises(ValueError, match=r"pos_label=\), one of \['no', 'yes'\]"):
        private_score(model, X, texts, scoring="f1")
    found = private_score(model, X, texts, scoring=PrivateScorer("f1", pos_label="yes"), random_state=0)
    assert 0 < found.value <= 1
    area = private_score(model, X, texts, scoring="roc_auc", epsilon=1e9, random_state=0)
    assert area.value == pytest.approx(roc_auc_score(texts, model.predict_proba(X)[:, 1]), abs=0.02)


def test_a_decision_function_needs_a_public_range():
    X, y = TABLES[2]
    model = RidgeClassifier().fit(X[:300], y[:300])
    with pytest.raises(TypeError, match=r"predict_proba, whose range is public,\s+or decision_function"):
        private_score(model, X, y, scoring="roc_auc")
    scorer = PrivateScorer("roc_auc", score_range=(-2, 2), bins=200)
    found = private_score(model, X, y, scoring=scorer, epsilon=1e9, random_state=0)
    assert found.value == pytest.approx(get_scorer("roc_auc")(model, X, y), abs=5e-3)
    with pytest.raises(TypeError, match="predict_proba"):
        private_score(model, X, y, scoring="neg_log_loss")


def test_labels_of_the_records_that_the_model_does_not_know_must_be_declared():
    X, y = TABLES[3]
    ledger = PrivacyLedger(1)
    with pytest.raises(DomainError, match="not among the declared classes"):
        private_score(MODELS[3], X, y + 1, scoring="balanced_accuracy", ledger=ledger)
    assert ledger.history() == []
    scorer = PrivateScorer("balanced_accuracy", labels=[0, 1, 2, 3])
    score = private_score(MODELS[3], X, y + 1, scoring=scorer, ledger=ledger)
    assert score.confusion_matrix.shape == (4, 4)


def test_a_regressor_with_a_target_range_needs_no_other():
    how = {"domain": Grid(-9, 9), "target_range": (-20, 20), "clip_target": True}
    model = LinearRegressor(epsilon=1e6, delta=0, **how).fit(LINE, TARGETS)
    search = PrivateSearchCV(model, {"domain": [Grid(-9, 9)]}, epsilon=1e6).fit(LINE, TARGETS)
    for scored in (model, make_pipeline(FunctionTransformer(), model), search):
        for scoring, expected in (("r2", (-20, 20)), (PrivateScorer("r2", target_range=(-1, 1)), (-1, 1))):
            assert private_score(scored, LINE, TARGETS, scoring=scoring).scorer.target_range == expected


def test_metrics_of_one_table_cost_once_and_others_are_refused():
    X, y = TABLES[3]
    ledger = PrivacyLedger(1)
    score = private_score(MODELS[3], X, y, scoring="balanced_accuracy", ledger=ledger)
    for name in ("f1_macro", "precision_macro", "recall_macro", "f1_weighted", "precision_weighted"):
        again = score.also(name)
        assert again.scoring == name
        np.testing.assert_array_equal(again.confusion_matrix, score.confusion_matrix)
        assert again.guarantee == score.guarantee
    assert len(ledger.history()) == 1
    for name in ("accuracy", "neg_log_loss", "roc_auc_ovr"):
        with pytest.raises(ValueError, match="needs others"):
            score.also(name)
    with pytest.raises(AttributeError, match="confusion_matrix is absent"):
        _ = private_score(MODELS[3], X, y, random_state=0).confusion_matrix


# Tables of counts: what statistics count and refuse, how far one record moves them, and what noise adds.


def rows(said):
    return np.asarray(said, dtype=float)[:, None]


SAID = (0.0, 0.25, 0.5, 0.75, 1.0)
NUMBERS = (-3.0, 0.0, 0.1, 0.33, 0.5, 0.9, 1.0, 7.0)
#: Statistics, and all records of a small universe: what `Echo` says, and labels or targets.
KINDS = {
    "errors": (ErrorCount(), (0, 1), (0, 1)),
    "confusion": (ConfusionCounts((0, 1, 2)), (0, 1, 2), (0, 1, 2)),
    "binned": (BinnedScores((0, 1), (1,), (0.3, 0.6), "predict_proba"), SAID, (0, 1)),
    "binned for each": (BinnedScores((0, 1), (0, 1), (0.3, 0.6), "predict_proba"), SAID, (0, 1)),
    "loss": (LossSum((0, 1), 0.01, steps=12), SAID, (0, 1)),
    "absolute": (TargetSums(0.0, 1.0, "absolute", steps=12), NUMBERS, NUMBERS),
    "squared": (TargetSums(0.0, 1.0, "squared", steps=12), NUMBERS, NUMBERS),
    "r2": (TargetSums(0.0, 1.0, "r2", steps=12), NUMBERS, NUMBERS),
}


@pytest.mark.parametrize(("statistic", "said", "labels"), KINDS.values(), ids=KINDS)
def test_a_replaced_record_moves_a_table_by_its_sensitivity_and_no_more(statistic, said, labels):
    tables = [statistic.of(Echo(), rows([a]), np.array([b])) for a, b in product(said, labels)]
    moves = [first - last for first in tables for last in tables]
    assert max(np.abs(move).sum() for move in moves) == statistic.l1
    assert max((move**2).sum() for move in moves) <= statistic.squared_l2
    assert all((statistic.low <= table).all() and (table <= statistic.high).all() for table in tables)
    assert tables[0].size == statistic.n_cells


class Broken(Echo):
    """Has a method that fails, or answers in another shape, for the record 99."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer(X)

    predict_proba = predict


@pytest.mark.parametrize("statistic", [each[0] for each in KINDS.values()], ids=KINDS)
@pytest.mark.parametrize(
    "answer",
    [lambda X: 1 / 0, lambda X: None, lambda X: np.zeros((len(X), 5)), lambda X: X[:1, 0]],
    ids=range(4),
)
def test_what_a_model_does_not_answer_is_refused_without_its_text(statistic, answer):
    with pytest.raises(DomainError, match="X holds records for which") as caught:
        statistic.of(Broken(answer), rows([1, 0, 1]), np.array([0, 1, 1]))
    assert caught.value.__context__ is None


def test_labels_that_are_not_declared_are_refused_and_not_shown():
    statistic = ConfusionCounts((0, 1))
    with pytest.raises(DomainError, match=r"not among the declared classes \(0, 1\)") as caught:
        statistic.of(Echo(), rows([0, 1]), np.array([0, 77]))
    assert "77" not in str(caught.value)
    with pytest.raises(DomainError, match="predict one of the declared labels") as caught:
        statistic.of(Echo(), rows([0, 77]), np.array([0, 1]))
    assert "77" not in str(caught.value)


def test_scores_that_are_no_numbers_have_a_bin_and_a_loss_like_others():
    with np.errstate(all="raise"):
        binned = KINDS["binned"][0].of(Echo(), rows([np.nan, np.inf, -np.inf]), np.array([1, 1, 0]))
        assert binned.sum() == 3
        assert KINDS["loss"][0].of(Echo(), rows([np.nan, 1e300]), np.array([1, 1])).tolist() == [12]
        assert TargetSums(0.0, 1.0, "absolute", steps=12).of(
            Echo(), rows([np.nan, np.inf]), np.array([0.0, 1.0])
        ).tolist() == [0]


PURE = TableNoise.of(ApproxDP(1), l1=2, squared_l2=2)
GAUSSIAN = TableNoise.of(ApproxDP(1, 1e-6), l1=20, squared_l2=20)


def masses_of(noise):
    """The distribution of one cell's noise, symmetric about the middle."""
    if noise.gaussian:
        variance = Fraction(noise.deviation**2).limit_denominator(10**6)
        return np.array(gaussian_probabilities(variance)[1], float)
    return np.array(laplace_probabilities(decay_ratio(Fraction(1, 2)), -80, 80), float)


@pytest.mark.parametrize("noise", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("cells", [1, 2, 5, 20])
@pytest.mark.parametrize("beta", [0.3, 0.01, 1e-6])
def test_sums_of_noise_go_beyond_the_reach_as_rarely_as_it_says(noise, cells, beta):
    one = masses_of(noise)
    sums = one
    for _ in range(cells - 1):
        sums = np.convolve(sums, one)
    reach = noise.reach(cells, beta, n_cells=cells, room=10**6)
    beyond = sums[len(sums) // 2 + reach + 1 :].sum()
    assert beyond <= beta + 1e-9
    assert sums[len(sums) // 2 + reach // 3 :].sum() > beta  # nor is it far too great
    weighted = noise.weighted_reach(np.full((1, cells), 2.0), beta, n_cells=cells, room=10**6)[0]
    assert 2 * reach - 2 <= weighted * 1.01 + 2


def test_a_sum_of_no_cells_has_no_error_and_near_ends_admit_any():
    assert PURE.reach(0, 0.1, n_cells=4, room=10) == 0
    assert PURE.reach(3, 1e-9, n_cells=4, room=2) == 12
    assert PURE.weighted_reach(np.array([[1.0, 2.0]]), 1e-9, n_cells=4, room=2)[0] == 12


@pytest.mark.parametrize("noise", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_noise_is_drawn_with_its_deviation_and_clipped_to_its_ends(noise):
    found = noise.added(np.zeros(4000, dtype=np.int64), low=-(10**6), high=10**6, dice=SeededDice(3))
    assert abs(found.std() / noise.deviation - 1) < 0.1
    near = noise.added(np.zeros(100, dtype=np.int64), low=-1, high=2, dice=SeededDice(3))
    assert set(near.tolist()) <= {-1, 0, 1, 2}
