"""What displays draw is what was released or given, and nothing is spent before a display can be drawn."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import precision_recall_curve, roc_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
    ApproxDP,
    BudgetExceededError,
    ExponentialMechanismClassifier,
    LedgerError,
    PrivacyLedger,
    SecretSampleClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.display import (
    DistributionDisplay,
    EpsilonDisplay,
    PrivateCalibrationDisplay,
    PrivateConfusionMatrixDisplay,
    PrivatePrecisionRecallDisplay,
    PrivateRocCurveDisplay,
    ShapesDisplay,
    SyntheticTableDisplay,
)
from dplearn.display.planning import require_all
from dplearn.display.shapes import ShownCells, scale_of
from dplearn.domains import Bits, Categories, Floats, IntegerRange, Schema
from dplearn.learners import ColumnShape
from dplearn.learners.additive.cells import column_of
from dplearn.model_selection import PrivateScorer, private_score
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.releases import SyntheticTable, cdf

GENERATOR = np.random.default_rng(0)


@pytest.fixture
def pyplot():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")


@pytest.fixture
def axes(pyplot):
    return pyplot.subplots()[1]


# private scores

LABELS = (GENERATOR.random(3000) < 0.3).astype(int)
SCORED = GENERATOR.normal(size=(3000, 2)) + 1.2 * LABELS[:, None]
MODEL = GaussianNB().fit(SCORED[:300], LABELS[:300])
LIKELY = MODEL.predict_proba(SCORED)[:, 1]
EXACT = {"epsilon": 1e9, "random_state": 0}
CURVES = [PrivateRocCurveDisplay, PrivatePrecisionRecallDisplay, PrivateCalibrationDisplay]
ALL = [*CURVES, PrivateConfusionMatrixDisplay]


def binned(display):
    return np.searchsorted(display.score_.table.statistic.edges, LIKELY, side="right")


@pytest.mark.filterwarnings("ignore:.*kwargs. is deprecated:FutureWarning")
@pytest.mark.parametrize("kind", ALL)
def test_a_display_of_a_score_releases_once_on_given_axes_and_nothing_where_it_cannot_be_drawn(kind, axes):
    ledger = PrivacyLedger(1)
    with pytest.raises(TypeError):
        kind.from_estimator(MODEL, SCORED, LABELS, ledger=ledger, ax=axes, nonsense=3)
    with pytest.raises(TypeError, match="ax must be"):
        kind.from_estimator(MODEL, SCORED, LABELS, ledger=ledger, ax=3)
    assert ledger.history() == []
    display = kind.from_estimator(MODEL, SCORED, LABELS, epsilon=0.5, ledger=ledger, ax=axes)
    assert display.ax_ is axes
    assert [entry.estimator for entry in ledger.history()] == ["private_score"]
    assert float(ledger.spent().epsilon) == 0.5 == float(display.score_.guarantee.epsilon)
    with pytest.raises(ValueError, match="score must be released with scoring="):
        kind.of_score(private_score(MODEL, SCORED, LABELS, random_state=0))
    with pytest.raises(TypeError, match="result of private_score"):
        kind.of_score(0.8)


def holds(low, values, high):
    return bool(((low <= values + 1e-12) & (values <= high + 1e-12)).all())


def points(artist):
    return np.column_stack(artist.get_data())


def test_a_roc_curve_without_noise_is_scikit_learns_of_binned_scores(axes):
    display = PrivateRocCurveDisplay.from_estimator(MODEL, SCORED, LABELS, ax=axes, bins=12, **EXACT)
    fpr, tpr, _ = roc_curve(LABELS, binned(display), drop_intermediate=False)
    assert display.line_.get_xydata().tolist() == np.column_stack([display.fpr, display.tpr]).tolist()
    for point in np.column_stack([fpr, tpr]):
        assert np.isclose(points(display.line_), point).all(axis=1).any()
    assert display.roc_auc == display.score_.value
    assert holds(display.tpr_low, display.tpr, display.tpr_high)
    assert holds(display.fpr_low, display.fpr, display.fpr_high)
    corners = display.band_.get_paths()[0].vertices
    assert {*np.round(display.tpr_high, 9)} & {*np.round(corners[:, 1], 9)}
    assert "Positive label: 1" in axes.get_xlabel()


def test_precision_and_recall_without_noise_are_scikit_learns_of_binned_scores(axes):
    display = PrivatePrecisionRecallDisplay.from_estimator(MODEL, SCORED, LABELS, ax=axes, bins=12, **EXACT)
    precision, recall, _ = precision_recall_curve(LABELS, binned(display))
    for p, r in zip(precision, recall, strict=True):
        assert np.isclose(display.recall, r).any()
        assert np.isclose(display.precision[np.isclose(display.recall, r)], p).any()
    assert holds(display.recall_low, display.recall, display.recall_high)
    assert holds(display.precision_low, display.precision, display.precision_high)
    assert display.prevalence_pos_label == pytest.approx(LABELS.mean())
    corners = display.band_.get_paths()[0].vertices
    assert holds(0, corners[:, 0], 1)
    assert corners[:, 1].max() == pytest.approx(np.nanmax(display.precision_high))


def test_a_calibration_curve_without_noise_has_scikit_learns_fractions(axes):
    display = PrivateCalibrationDisplay.from_estimator(MODEL, SCORED, LABELS, ax=axes, n_bins=6, **EXACT)
    true, _ = calibration_curve(LABELS, LIKELY, n_bins=6)
    np.testing.assert_allclose(display.prob_true, true)
    np.testing.assert_allclose(display.prob_pred, (np.arange(6) + 0.5) / 6)
    np.testing.assert_allclose(points(display.line_), np.column_stack([display.prob_pred, true]))
    assert holds(display.prob_low, display.prob_true, display.prob_high)
    assert display.y_prob is None


def test_bands_are_of_the_population_that_the_records_are_drawn_from():
    """Without noise, bounds on the records' own curve would have no width."""
    score = private_score(MODEL, SCORED, LABELS, scoring=PrivateScorer("roc_auc", bins=12), **EXACT)
    for kind, name in ((PrivateRocCurveDisplay, "tpr"), (PrivatePrecisionRecallDisplay, "precision")):
        display = kind.of_score(score)
        assert (getattr(display, f"{name}_high") - getattr(display, f"{name}_low")).max() > 0.05
    bars = PrivateCalibrationDisplay.of_score(score)
    assert (bars.prob_high - bars.prob_low).min() > 0.03


def test_bands_of_precision_hold_that_of_few_records_with_much_noise():
    labels, misses = LABELS[:300], 0
    how = {"scoring": PrivateScorer("roc_auc", bins=10), "epsilon": 0.1}
    for seed in range(20):
        score = private_score(MODEL, SCORED[:300], labels, random_state=seed, **how)
        display = PrivatePrecisionRecallDisplay.of_score(score)
        codes = binned(display)[:300]
        called = [labels[codes >= k] for k in range(10)]
        precision = np.array([each.sum() / max(len(each), 1) for each in called])
        misses += not holds(display.precision_low[:10], precision, display.precision_high[:10])
    assert misses <= 4  # of 20, each with probability 1/20 at most


@pytest.mark.parametrize("kind", CURVES)
@pytest.mark.parametrize("n", [1, 4])
def test_few_records_are_drawn_with_bands_that_say_little(kind, n, axes):
    with np.errstate(all="raise"):
        display = kind.from_estimator(MODEL, SCORED[:n], LABELS[:n], ax=axes, random_state=0)
    assert display.score_.n_samples == n


def test_a_calibration_curve_needs_probabilities():
    ridge = RidgeClassifier().fit(SCORED[:300], LABELS[:300])
    scorer = PrivateScorer("roc_auc", score_range=(-1, 1))
    score = private_score(ridge, SCORED, LABELS, scoring=scorer, random_state=0)
    assert PrivateRocCurveDisplay.of_score(score).roc_auc > 0.7
    with pytest.raises(ValueError, match="predict_proba"):
        PrivateCalibrationDisplay.of_score(score)


# accuracy against epsilon

X = GENERATOR.integers(0, 64, size=(400, 1))
Y = (X[:, 0] > 31).astype(int)
ROWS, ZEROS = np.zeros((100, 2)), np.zeros(100, dtype=int)


def learner(**parameters):
    return ExponentialMechanismClassifier(classes=[0, 1], domain=IntegerRange(0, 63), **parameters)


def test_accuracies_of_seeded_fits_are_repeatable_differ_between_fits_and_rise(pyplot):
    how = {"epsilons": (1, 0.001), "repeats": 8, "random_state": 3}
    first, second = (EpsilonDisplay.from_estimator(learner(), X, Y, X, Y, **how) for _ in range(2))
    assert first.epsilons.tolist() == [0.001, 1]
    np.testing.assert_array_equal(first.accuracies, second.accuracies)
    assert len(set(first.accuracies[0].tolist())) > 1
    assert first.middle[0] < first.middle[1]
    assert first.ax_.get_xscale() == "log"
    assert first.line_.get_xydata().tolist() == [[0.001, first.middle[0]], [1, first.middle[1]]]


def test_every_fit_is_charged_and_none_starts_if_the_budget_is_less_than_the_cost_of_all(pyplot):
    ledger = PrivacyLedger(2)
    with pytest.raises(BudgetExceededError, match=r"asked epsilon 2\.2, delta 0; spent epsilon 0"):
        EpsilonDisplay.from_estimator(learner(ledger=ledger), X, Y, X, Y, epsilons=(0.1, 1), repeats=2)
    assert not ledger.history()
    assert not pyplot.get_fignums()
    EpsilonDisplay.from_estimator(learner(ledger=ledger), X, Y, X, Y, epsilons=(0.1, 0.3), repeats=2)
    assert ledger.spent().epsilon == ApproxDP("0.8").epsilon


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"scoring": "accuracy"}, TypeError, "from_estimator takes only its own keywords.*'scoring'"),
        ({"share": 2}, ValueError, "share must be"),
        ({"ax": [1]}, TypeError, "ax must be None or matplotlib Axes, got list"),
        ({"param_name": "learner__epsilon"}, ValueError, "param_name must be a parameter of estimator"),
        ({"X_test": X[:, [0, 0]]}, ValueError, "X_test must have the columns of X"),
        ({"y_test": Y[:, None]}, ValueError, "y_test must be labels"),
        ({"baseline": DummyClassifier(strategy="no such")}, ValueError, "strategy"),
        ({"estimator": learner(random_state=0)}, ValueError, "random_state of estimator must be None"),
        (
            {"estimator": make_pipeline(Normalizer(), learner())},
            ValueError,
            "say param_name='exponentialmechanismclassifier__epsilon'",
        ),
    ],
    ids=str,
)
def test_errors_in_drawing_and_scoring_are_raised_before_any_fit(pyplot, how, error, message):
    ledger = PrivacyLedger(999)
    given = {"estimator": learner(ledger=ledger), "X": X, "y": Y, "X_test": X, "y_test": Y}
    with pytest.raises(error, match=message):
        EpsilonDisplay.from_estimator(**given | how)
    assert not ledger.history()
    assert not pyplot.get_fignums()


def test_without_matplotlib_nothing_is_fitted_and_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ledger = PrivacyLedger(99)
    with pytest.raises(ImportError, match="plot needs matplotlib: pip install matplotlib"):
        EpsilonDisplay.from_estimator(learner(ledger=ledger), X, Y, X, Y)
    assert not ledger.history()


def test_a_step_of_a_pipeline_can_be_varied_and_a_baseline_drawn(pyplot):
    pipeline = make_pipeline(Normalizer(), ExponentialMechanismClassifier(classes=[0, 1]))
    how = {"param_name": "exponentialmechanismclassifier__epsilon", "epsilons": (1,), "repeats": 1}
    how |= {"baseline": DummyClassifier(strategy="constant", constant=1), "random_state": 0}
    display = EpsilonDisplay.from_estimator(pipeline, X, Y, X, Y, **how)
    assert display.baseline == display.baseline_.get_ydata()[0] == Y.mean()


def test_predictions_are_compared_with_the_true_labels_and_the_band_contains_its_share(axes):
    truth = np.array([0, 1, 1, 0])
    display = EpsilonDisplay.from_predictions(
        truth, {1: [truth, 1 - truth, [0, 0, 0, 0]], 0.1: [1, 1, 1, 1]}, ax=axes, share=1.0
    )
    assert [each.tolist() for each in display.accuracies] == [[0.5], [1, 0, 0.5]]
    heights = display.band_.get_paths()[0].vertices
    assert (heights[heights[:, 0] == 1, 1].min(), heights[heights[:, 0] == 1, 1].max()) == (0, 1)
    assert display.ax_ is axes
    assert display.baseline_ is None
    # An abstention counts as wrong.
    assert EpsilonDisplay.from_predictions(["no", "yes"], {1: ["no", "?"]}, ax=axes).middle.tolist() == [0.5]


# budgets of several fits


def plain(**parameters):
    return ExponentialMechanismClassifier(**parameters)


def chain(scaler, model):
    scaled = PrivateQuantileTransformer(epsilon=0.5, ledger=scaler)
    return make_pipeline(scaled, plain(epsilon=1, ledger=model))


def of_teachers(ledger):
    return SubsampleAggregateClassifier(LogisticRegression(), epsilon=1, delta=1e-6, ledger=ledger)


def sampled(ledger):
    return SecretSampleClassifier(plain(epsilon=1), sample_size=20, ledger=ledger)


def test_a_budget_that_equals_the_sum_of_all_costs_is_enough_and_less_is_not(tmp_path):
    file, ledger = tmp_path / "account", PrivacyLedger(10)
    sampled(ledger).fit(ROWS, np.arange(100) % 2)  # whose cost depends on the number of records
    twice = 2 * ledger.spent().epsilon
    for ledger, fits in (
        (PrivacyLedger("0.3"), lambda its: [plain(epsilon=e, ledger=its) for e in (0.1, 0.2)]),
        (PrivacyLedger(3), lambda its: [chain(its, its)] * 2),
        (PrivacyLedger(1), lambda its: [chain(its, None)] * 2),
        (PrivacyLedger(9, "3e-6"), lambda its: [of_teachers(its)] * 3),
        (PrivacyLedger(twice), lambda its: [sampled(its)] * 2),
        (PrivacyLedger.of_rho(1), lambda its: [plain(epsilon=1, ledger=its)] * 2),
        (PrivacyLedger(2), lambda _: [plain(epsilon=1, ledger=PrivacyLedger(2, path=file)) for _ in "ab"]),
    ):
        require_all(fits(ledger), ROWS, ZEROS)
        assert not ledger.history()
        with pytest.raises(BudgetExceededError):
            require_all([*fits(ledger), *fits(ledger)[:1]], ROWS, ZEROS)
    with pytest.raises(LedgerError, match="random_state"):
        require_all([plain(random_state=0, ledger=PrivacyLedger(9))], ROWS, ZEROS)


# releases

AGE = GENERATOR.integers(18, 90, 4000)
FRAME = pd.DataFrame({"age": AGE, "works": np.where(AGE < 65, "yes", "no")})
FRAME["town"] = GENERATOR.choice(["north", "south"], 4000)
TOWN = Categories(["north", "south"], other=True)
SCHEMA = Schema({"age": IntegerRange(18, 90), "works": Categories(["no", "yes"]), "town": TOWN})


def test_the_line_of_a_distribution_is_the_released_function_and_a_public_sample_a_second(axes):
    release = cdf(AGE, epsilon=1, domain=IntegerRange(0, 120), random_state=0)
    display = DistributionDisplay.from_release(release, name="age")
    x, shares = display.ax_.lines[0].get_data()
    np.testing.assert_array_equal(shares, release.cdf(x))
    assert display.ax_.get_xlabel() == "age"
    assert len(display.ax_.collections) == 1
    display = DistributionDisplay(release, beta=None, reference=[30, 10, 20])
    assert display.plot(axes) is display
    assert display.ax_ is axes
    assert not axes.collections
    assert axes.lines[1].get_xydata().tolist() == [[10, 1 / 3], [20, 2 / 3], [30, 1]]


@pytest.mark.parametrize("target", [None, "works"])
def test_bars_and_arrows_of_a_synthetic_table_are_its_released_shares_and_network(pyplot, target):
    table = SyntheticTable(epsilon=3, domain=SCHEMA, target=target, random_state=0).fit(FRAME)
    axes = pyplot.subplots(1, 4)[1]
    display = SyntheticTableDisplay.from_table(table, axes=axes)
    assert display.axes_.tolist() == axes.tolist()
    for name, bars in zip(display.names, display.bars_, strict=True):
        np.testing.assert_allclose([bar.get_height() for bar in bars], table.marginals_[name])
    network = "network" if target is None else "all depend on works"
    assert sorted(axis.get_title() for axis in axes) == sorted(["age", "town", "works", network])
    true = (FRAME["works"] == "yes").mean()
    assert abs(table.marginals_["works"][1] - true) < 2 * display.bands["works"]
    assert all(0 < band < 0.05 for band in display.bands.values())
    display = SyntheticTableDisplay(table).plot(most=1)
    assert len(display.axes_) == len(display.figure_.axes) == 2
    expected = {(parent, name) for name, parents in table.network_.items() for parent in parents}
    assert set(display.arrows_) == {arrow for arrow in expected if arrow[0] != target}


# shapes of additive models

RNG = np.random.default_rng(0)
N = 3000
LONG = "a column whose name is much longer than any panel"
TOWNS = [f"a town of the long name {place}" for place in range(30)]
FIRST = {"age": IntegerRange(18, 89), "gain": Floats(missing=True), LONG: Categories(TOWNS)}
COLUMNS = Schema(FIRST | {"same": IntegerRange(0, 900), "bit": Bits()})
TABLE = np.empty((N, 5), dtype=object)
TABLE[:, 0] = RNG.integers(18, 90, N)
TABLE[:, 1] = np.where(RNG.random(N) < 0.2, np.nan, RNG.lognormal(3, 2, N))
TABLE[:, 2] = RNG.choice(TOWNS, N)
TABLE[:, 3] = 7
TABLE[:, 4] = RNG.integers(0, 2, N)
MARGIN = np.where(np.isnan(TABLE[:, 1].astype(float)), -2, 1) + (TABLE[:, 0].astype(int) - 50) / 20


def fitted(kind=AdditiveClassifier, y=None, **parameters):
    given = {"classes": ["no", "yes"]} if kind is AdditiveClassifier else {"target_range": (-5, 5)}
    labels = np.where(MARGIN > 0, "yes", "no") if kind is AdditiveClassifier else MARGIN
    learner = kind(epsilon=3.0, domain=COLUMNS, interactions=False, random_state=0, **given | parameters)
    return learner.fit(TABLE, labels if y is None else y)


@pytest.fixture(scope="module")
def model():
    return fitted()


def shape_of(domain, masses, effects=None):
    column, masses = column_of(domain), np.asarray(masses, dtype=float)
    effects = 0 * masses if effects is None else np.asarray(effects, dtype=float)
    return ColumnShape("x", column, effects, 0.1 + 0 * effects, masses)


@pytest.fixture
def display(pyplot, model):
    return ShapesDisplay.from_estimator(model)


def panel(display, name):
    """Return the shape of a column, the shown cells, the axes, lines, bands and bars of its panel."""
    (place,) = (place for place, shape in enumerate(display.shapes) if shape.name == name)
    drawn = (each[place] for each in (display.axes_, display.lines_, display.bands_, display.masses_))
    return display.shapes[place], ShownCells.of(display.shapes[place]).places, *drawn, display.missing_[place]


def test_panels_have_the_shapes_in_falling_order_of_importance(display, model):
    importances = [shape.importance for shape in display.shapes]
    assert importances == sorted((shape.importance for shape in model.shapes_), reverse=True)
    assert len(display.axes_) == len(display.lines_) == len(display.bands_) == len(display.masses_) == 5
    titles = [axes.get_title() for axes in display.axes_]
    assert titles[:2] == [shape.name for shape in display.shapes[:2]]
    assert max(map(len, titles)) < 40
    # All panels have one scale, on which every effect that is shown lies with its band.
    (limits,) = {axes.get_ylim() for axes in display.axes_}
    for shape in display.shapes:
        shown = ShownCells.of(shape).places
        for sign in (-2, 2):
            ends = (shape.effects + sign * shape.deviations)[shown]
            assert limits[0] <= ends.min() <= ends.max() <= limits[1]


def test_of_a_mean_alone_no_shares_of_records_are_drawn(pyplot):
    X = pd.DataFrame({"age": [20, 30, 40], "city": ["a", "b", "a"]})
    schema = Schema({"age": IntegerRange(18, 90), "city": Categories(["a", "b"])})
    with pytest.warns(UserWarning, match="the model is the noisy mean"):
        model = AdditiveRegressor(domain=schema, target_range=(0, 1)).fit(X, [0.0, 1.0, 0.5])
    display = ShapesDisplay.from_estimator(model)
    assert not any(bar.get_height() for bars in display.masses_ for bar in bars)
    (legend,) = display.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == ["effect", "± 2 standard deviations"]


def test_lines_and_bands_of_numbers_are_the_released_effects_and_deviations(display):
    shape, shown, _, (line,), (band,), bars, missing = panel(display, "age")
    assert line.get_xdata()[:-1].tolist() == shape.values[shown].tolist()
    assert line.get_ydata()[:-1].tolist() == shape.effects[shown].tolist()
    assert line.get_drawstyle() == "steps-post"
    ends = band.get_paths()[0].vertices[:, 1]
    low, high = (shape.effects + sign * 2 * shape.deviations for sign in (-1, 1))
    assert np.isclose(ends.min(), low[shown].min())
    assert np.isclose(ends.max(), high[shown].max())
    assert missing == []
    heights = np.array([bar.get_height() for bar in bars])
    drawn = shape.masses[shown]  # not those beyond the ends of the axis
    assert drawn.sum() > 0.97
    np.testing.assert_allclose(heights / heights.sum(), drawn / drawn.sum())


def test_the_cell_of_missing_numbers_is_drawn_beside_the_axis_of_numbers(display):
    shape, _, axes, (line,), _, _, ((mark, _, (bar,)),) = panel(display, "gain")
    assert mark.get_ydata().tolist() == [shape.effects[0]]
    ends = bar.get_segments()[0][:, 1]
    np.testing.assert_allclose(ends, shape.effects[0] + 2 * shape.deviations[0] * np.array([-1, 1]))
    assert "missing" in [text.get_text() for text in axes.texts]
    assert axes.get_xlim()[0] < line.get_xdata()[0]
    assert axes.get_xscale() in ("log", "symlog")
    assert not np.isnan(line.get_xdata()).any()


def test_bars_of_categories_are_the_released_effects_of_the_most_frequent_ones(display):
    shape, _, axes, (bars,), (band,), _, _ = panel(display, LONG)
    common = np.sort(np.argsort(-shape.masses, kind="stable")[:12])
    np.testing.assert_allclose([bar.get_height() for bar in bars], shape.effects[common])
    segments = band.lines[2][0].get_segments()
    half = [(segment[1, 1] - segment[0, 1]) / 2 for segment in segments]
    np.testing.assert_allclose(half, 2 * shape.deviations[common])
    names = [text.get_text() for text in axes.get_xticklabels()]
    assert all(name.startswith("a town") and len(name) <= 16 for name in names)
    assert axes.get_title().endswith("(12 of 30)")


def test_most_and_given_axes_limit_the_panels_and_the_legend_says_so(pyplot, model, display):
    few = ShapesDisplay.from_estimator(model, most=2)
    assert len(few.axes_) == len(few.figure_.axes) == 2
    assert few.figure_.legends[0].get_title().get_text() == "the 2 most important of 5 columns"
    figure, axes = pyplot.subplots(2, 2)
    display.plot(axes, most=3)
    assert display.axes_.tolist() == axes.ravel()[:3].tolist()
    assert display.figure_ is figure
    assert axes[0, 0].get_ylabel() == "effect on the logit of yes"
    assert display.plot(axes[0, 0], most=1, color="k").axes_[0] is axes[0, 0]


def test_of_three_labels_each_has_a_line_and_a_name_in_the_legend(pyplot):
    shape = shape_of(IntegerRange(0, 9), np.full(10, 0.1), np.arange(30).reshape(10, 3))
    display, single = (ShapesDisplay([shape], classes=[0, 1, 2]).plot(label=each) for each in (None, 2))
    assert {len(lines) for lines in display.lines_} == {3}
    names = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert names == ["0", "1", "2", "± 2 standard deviations", "share of records"]
    assert len(single.lines_[0]) == 1
    np.testing.assert_array_equal(single.lines_[0][0].get_ydata(), display.lines_[0][2].get_ydata())
    assert single.figure_.get_supylabel() == "effect on the margin of 2"


def test_the_first_of_two_labels_has_the_effects_of_the_second_with_the_other_sign(pyplot, model):
    bare = AdditiveClassifier()
    vars(bare).update(shapes_=model.shapes_, classes_=model.classes_)  # only these are read
    first, second = (ShapesDisplay.from_estimator(bare, label=label, most=1) for label in ("no", "yes"))
    np.testing.assert_array_equal(first.lines_[0][0].get_ydata(), -second.lines_[0][0].get_ydata())


def test_empty_cells_at_the_ends_do_not_stretch_the_axis(pyplot):
    domain = Floats()
    values, size = column_of(domain).values, column_of(domain).size
    masses = np.where((values >= 10) & (values < 100), 1.0, 0.001)
    shape = shape_of(domain, masses / masses.sum(), np.where(values < 10, -50.0, 0.0))
    display = ShapesDisplay([shape], classes=[0, 1]).plot()
    assert size > 200
    low, high = display.axes_[0].get_xlim()
    assert (low, high) == (10, 112)
    assert display.axes_[0].get_ylim()[0] > -1  # effects of hidden cells do not stretch the other axis


def test_a_spike_at_zero_and_a_wide_range_are_drawn_on_a_logarithmic_axis():
    values = column_of(Floats(missing=False)).values
    masses = np.where((values >= 100) & (values < 50_000), 0.1 / 30, 1e-6)
    masses[values == 0] = 0.9
    cells = ShownCells.of(shape_of(Floats(), masses / masses.sum()))
    scale = scale_of(cells.edges, masses[cells.places])
    assert scale["value"] == "symlog"
    assert 50 < scale["linthresh"] < 500
    assert scale_of(np.array([1.0, 2, 4, 8, 16, 1e6]), np.full(5, 0.2)) == {"value": "log"}
    assert scale_of(np.arange(10.0), np.full(9, 1 / 9)) == {"value": "linear"}


@pytest.mark.parametrize(
    ("domain", "masses"),
    [
        *((domain, None) for domain in (Floats(), IntegerRange(4, 4), Categories(["only"]), Bits())),
        (IntegerRange(0, 5, missing=True), [1, 0, 0, 0, 0, 0, 0]),
    ],
    ids=["floats", "one integer", "one category", "bits", "all missing"],
)
def test_constant_columns_can_be_drawn(pyplot, domain, masses):
    size = column_of(domain).size
    masses = np.eye(size)[size // 2] + 1e-4 if masses is None else np.array(masses) + 1e-4
    shape = shape_of(domain, masses / masses.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = ShapesDisplay([shape], classes=[0, 1]).plot()
        display.figure_.canvas.draw()
    low, high = display.axes_[0].get_xlim()
    assert low < high < 1e6


def test_a_model_of_several_outputs_is_refused_and_those_of_each_are_drawn():
    TABLE, y = np.arange(100)[:, None] % 10, np.arange(100) % 2
    model = AdditiveClassifier(domain=IntegerRange(0, 9), epsilon=10.0).fit(
        TABLE, np.stack([y, 1 - y], axis=1)
    )
    with pytest.raises(TypeError, match="one of 2: pass one of its estimators_"):
        ShapesDisplay.from_estimator(model)
    assert ShapesDisplay.from_estimator(model.estimators_[1]).axes_ is not None
