"""Displays of private scores: scikit-learn's curves where there is no noise, and bands that hold them."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import confusion_matrix, precision_recall_curve, roc_curve
from sklearn.naive_bayes import GaussianNB

from dplearn import PrivacyLedger
from dplearn.display import (
    PrivateCalibrationDisplay,
    PrivateConfusionMatrixDisplay,
    PrivatePrecisionRecallDisplay,
    PrivateRocCurveDisplay,
)
from dplearn.model_selection import PrivateScorer, private_score

GENERATOR = np.random.default_rng(0)
Y = (GENERATOR.random(3000) < 0.3).astype(int)
X = GENERATOR.normal(size=(3000, 2)) + 1.2 * Y[:, None]
MODEL = GaussianNB().fit(X[:300], Y[:300])
LIKELY = MODEL.predict_proba(X)[:, 1]
EXACT = {"epsilon": 1e9, "random_state": 0}
CURVES = [PrivateRocCurveDisplay, PrivatePrecisionRecallDisplay, PrivateCalibrationDisplay]
ALL = [*CURVES, PrivateConfusionMatrixDisplay]


@pytest.fixture
def axes(pyplot):
    return pyplot.subplots()[1]


def binned(edges):
    return np.searchsorted(edges, LIKELY, side="right")


@pytest.mark.parametrize("kind", ALL)
def test_a_display_releases_once_and_draws_on_given_axes(kind, axes):
    ledger = PrivacyLedger(1)
    display = kind.from_estimator(MODEL, X, Y, epsilon=0.5, ledger=ledger, ax=axes)
    assert display.ax_ is axes
    assert [entry.estimator for entry in ledger.history()] == ["private_score"]
    assert float(ledger.spent().epsilon) == 0.5 == float(display.score_.guarantee.epsilon)


@pytest.mark.filterwarnings("ignore:.*kwargs. is deprecated:FutureWarning")
@pytest.mark.parametrize("kind", ALL)
def test_what_plot_does_not_know_is_refused_before_the_charge(kind, axes):
    ledger = PrivacyLedger(1)
    with pytest.raises(TypeError):
        kind.from_estimator(MODEL, X, Y, ledger=ledger, ax=axes, nonsense=3)
    with pytest.raises(TypeError, match="ax must be"):
        kind.from_estimator(MODEL, X, Y, ledger=ledger, ax=3)
    assert ledger.history() == []


def test_a_roc_curve_without_noise_is_scikit_learns_of_binned_scores(axes):
    display = PrivateRocCurveDisplay.from_estimator(MODEL, X, Y, ax=axes, bins=12, **EXACT)
    fpr, tpr, _ = roc_curve(Y, binned(display.score_.table.statistic.edges), drop_intermediate=False)
    drawn = np.column_stack([display.fpr, display.tpr])
    for point in np.column_stack([fpr, tpr]):
        assert np.isclose(drawn, point).all(axis=1).any()
    assert display.roc_auc == display.score_.value
    assert (display.tpr_low <= display.tpr + 1e-12).all()
    assert (display.tpr <= display.tpr_high + 1e-12).all()
    assert (display.fpr_low <= display.fpr + 1e-12).all()
    assert len(display.band_.get_paths())
    assert "Positive label: 1" in axes.get_xlabel()


def test_precision_and_recall_without_noise_are_scikit_learns_of_binned_scores(axes):
    display = PrivatePrecisionRecallDisplay.from_estimator(MODEL, X, Y, ax=axes, bins=12, **EXACT)
    codes = binned(display.score_.table.statistic.edges)
    precision, recall, _ = precision_recall_curve(Y, codes)
    for p, r in zip(precision, recall, strict=True):
        assert np.isclose(display.recall, r).any()
        assert np.isclose(display.precision[np.isclose(display.recall, r)], p).any()
    assert (display.recall_low <= display.recall + 1e-12).all()
    assert (display.precision <= display.precision_high + 1e-12).all()
    assert display.prevalence_pos_label == pytest.approx(Y.mean())


def test_a_calibration_curve_without_noise_has_scikit_learns_fractions(axes):
    display = PrivateCalibrationDisplay.from_estimator(MODEL, X, Y, ax=axes, n_bins=6, **EXACT)
    true, _ = calibration_curve(Y, LIKELY, n_bins=6)
    np.testing.assert_allclose(display.prob_true, true)
    np.testing.assert_allclose(display.prob_pred, (np.arange(6) + 0.5) / 6)
    assert (display.prob_low <= display.prob_true).all()
    assert (display.prob_true <= display.prob_high).all()
    assert display.y_prob is None


def test_a_confusion_matrix_is_that_of_the_score(axes):
    display = PrivateConfusionMatrixDisplay.from_estimator(MODEL, X, Y, ax=axes, **EXACT)
    np.testing.assert_array_equal(display.confusion_matrix, confusion_matrix(Y, MODEL.predict(X)))
    assert display.display_labels == [0, 1]


def test_bands_hold_the_curves_of_the_records_with_noise_too():
    misses = 0
    fractions, _ = calibration_curve(Y, LIKELY, n_bins=5)
    for seed in range(20):
        score = private_score(MODEL, X, Y, scoring=PrivateScorer("roc_auc", bins=10), random_state=seed)
        codes = binned(score.table.statistic.edges)
        recall = np.array([(codes[Y == 1] >= k).mean() for k in range(11)])
        alarms = np.array([(codes[Y == 0] >= k).mean() for k in range(11)])
        roc = PrivateRocCurveDisplay.of_score(score)
        misses += not (
            (roc.tpr_low[::-1] <= recall)
            & (recall <= roc.tpr_high[::-1])
            & (roc.fpr_low[::-1] <= alarms)
            & (alarms <= roc.fpr_high[::-1])
        ).all()
        pr = PrivatePrecisionRecallDisplay.of_score(score)
        called = np.maximum([(codes >= k).sum() for k in range(10)], 1)
        precision = np.array([Y[codes >= k].sum() for k in range(10)]) / called
        misses += not ((pr.precision_low[:10] <= precision) & (precision <= pr.precision_high[:10])).all()
        thirds = PrivateScorer("roc_auc", bins=[0.2, 0.4, 0.6, 0.8])
        bars = PrivateCalibrationDisplay.of_score(
            private_score(MODEL, X, Y, scoring=thirds, random_state=seed)
        )
        if len(bars.prob_low) == 5:
            misses += not ((bars.prob_low <= fractions) & (fractions <= bars.prob_high)).all()
    assert misses <= 3  # of 60, each with probability 1/20 at most


@pytest.mark.parametrize("kind", CURVES)
@pytest.mark.parametrize("n", [1, 4])
def test_few_records_are_drawn_with_bands_that_say_little(kind, n, axes):
    with np.errstate(all="raise"):
        display = kind.from_estimator(MODEL, X[:n], Y[:n], ax=axes, random_state=0)
    assert display.score_.n_samples == n


@pytest.mark.parametrize("kind", ALL)
def test_a_score_of_other_counts_is_refused(kind):
    accuracy = private_score(MODEL, X, Y, random_state=0)
    with pytest.raises(ValueError, match="score must be released with scoring="):
        kind.of_score(accuracy)
    with pytest.raises(TypeError, match="result of private_score"):
        kind.of_score(0.8)


def test_a_calibration_curve_needs_probabilities(axes):
    ridge = RidgeClassifier().fit(X[:300], Y[:300])
    with pytest.raises(TypeError, match="predict_proba"):
        PrivateCalibrationDisplay.from_estimator(ridge, X, Y, ax=axes)
    scorer = PrivateScorer("roc_auc", score_range=(-1, 1))
    score = private_score(ridge, X, Y, scoring=scorer, random_state=0)
    assert PrivateRocCurveDisplay.of_score(score).roc_auc > 0.7
    with pytest.raises(ValueError, match="predict_proba"):
        PrivateCalibrationDisplay.of_score(score)
