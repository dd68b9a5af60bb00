"""The display of the shapes of an additive model draws what the fit has released, and nothing else."""

import warnings

import numpy as np
import pytest

from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
)
from dplearn.display import ShapesDisplay
from dplearn.display.shapes import ShownCells, scale_of, ticks_of
from dplearn.domains import Bits, Categories, Floats, IntegerRange, Schema
from dplearn.learners import ColumnShape
from dplearn.learners.additive.cells import column_of

RNG = np.random.default_rng(0)
N = 3000
LONG = "a column whose name is much longer than any panel"
TOWNS = [f"a town of the long name {place}" for place in range(30)]
SCHEMA = Schema(
    {
        "age": IntegerRange(18, 89),
        "gain": Floats(missing=True),
        LONG: Categories(TOWNS),
        "same": IntegerRange(0, 900),
        "bit": Bits(),
    }
)
X = np.empty((N, 5), dtype=object)
X[:, 0] = RNG.integers(18, 90, N)
X[:, 1] = np.where(RNG.random(N) < 0.2, np.nan, RNG.lognormal(3, 2, N))
X[:, 2] = RNG.choice(TOWNS, N)
X[:, 3] = 7
X[:, 4] = RNG.integers(0, 2, N)
MARGIN = np.where(np.isnan(X[:, 1].astype(float)), -2, 1) + (X[:, 0].astype(int) - 50) / 20


def fitted(kind=AdditiveClassifier, y=None, **parameters):
    given = {"classes": ["no", "yes"]} if kind is AdditiveClassifier else {"target_range": (-5, 5)}
    labels = np.where(MARGIN > 0, "yes", "no") if kind is AdditiveClassifier else MARGIN
    learner = kind(epsilon=3.0, domain=SCHEMA, interactions=False, random_state=0, **given | parameters)
    return learner.fit(X, labels if y is None else y)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def of_three():
    return fitted(y=np.digitize(MARGIN, [-1, 1]), classes=[0, 1, 2])


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
    assert {axes.figure for axes in display.axes_} == {display.figure_}
    assert display.axes_[0].get_subplotspec().get_gridspec().get_geometry() == (2, 3)  # of five panels
    # All panels have one scale, on which every effect that is shown lies with its band.
    (limits,) = {axes.get_ylim() for axes in display.axes_}
    for shape in display.shapes:
        shown = ShownCells.of(shape).places
        for sign in (-2, 2):
            ends = (shape.effects + sign * shape.deviations)[shown]
            assert limits[0] <= ends.min() <= ends.max() <= limits[1]


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
    shape, _, axes, (bars,), (band,), masses, _ = panel(display, LONG)
    common = np.sort(np.argsort(-shape.masses, kind="stable")[:12])
    np.testing.assert_allclose([bar.get_height() for bar in bars], shape.effects[common])
    segments = band.lines[2][0].get_segments()
    half = [(segment[1, 1] - segment[0, 1]) / 2 for segment in segments]
    np.testing.assert_allclose(half, 2 * shape.deviations[common])
    names = [text.get_text() for text in axes.get_xticklabels()]
    assert all(name.startswith("a town") and len(name) <= 16 for name in names)
    assert axes.get_title().endswith("(12 of 30)")
    for bar in [*bars, *masses]:
        assert axes.get_xlim()[0] < bar.get_x() < bar.get_x() + bar.get_width() < axes.get_xlim()[1]


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


@pytest.mark.nightly
def test_of_three_labels_each_has_a_line_and_a_name_in_the_legend(pyplot, of_three):
    display = ShapesDisplay.from_estimator(of_three)
    assert {len(lines) for lines in display.lines_} == {3}
    names = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert names == ["0", "1", "2", "± 2 standard deviations", "share of records"]
    single = ShapesDisplay.from_estimator(of_three, label=2, most=1)
    assert len(single.lines_[0]) == 1
    np.testing.assert_array_equal(single.lines_[0][0].get_ydata(), display.lines_[0][2].get_ydata())
    assert single.figure_.get_supylabel() == "effect on the margin of 2"


def test_the_first_of_two_labels_has_the_effects_of_the_second_with_the_other_sign(pyplot, model):
    bare = AdditiveClassifier()
    vars(bare).update(shapes_=model.shapes_, classes_=model.classes_)  # only these are read
    first, second = (ShapesDisplay.from_estimator(bare, label=label, most=1) for label in ("no", "yes"))
    np.testing.assert_array_equal(first.lines_[0][0].get_ydata(), -second.lines_[0][0].get_ydata())


def test_a_regression_has_one_line_and_no_label(pyplot):
    display = ShapesDisplay.from_estimator(fitted(AdditiveRegressor), most=2)
    assert {len(lines) for lines in display.lines_} == {1}
    assert display.figure_.get_supylabel() == "effect on the prediction"


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


def test_ticks_of_a_logarithmic_axis_are_powers_of_ten_with_room_for_their_labels():
    labelled, others = ticks_of({"value": "log"}, np.log10, 1.0, 1e9)
    assert len(labelled) <= 6
    assert sorted(labelled + others) == [10.0**k for k in range(10)]
    assert ticks_of({"value": "log"}, np.log10, 15.0, 60.0)[0] == [20.0, 50.0]


@pytest.mark.parametrize(
    ("domain", "masses"),
    [
        (IntegerRange(0, 900), None),
        (Floats(), None),
        (IntegerRange(4, 4), None),
        (Categories(["only"]), None),
        (Bits(), None),
        (IntegerRange(0, 1, missing=True), None),
        (IntegerRange(0, 5, missing=True), [1, 0, 0, 0, 0, 0, 0]),
    ],
    ids=["integers", "floats", "one integer", "one category", "bits", "two or missing", "all missing"],
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
    X, y = np.arange(100)[:, None] % 10, np.arange(100) % 2
    model = AdditiveClassifier(domain=IntegerRange(0, 9), epsilon=10.0).fit(X, np.stack([y, 1 - y], axis=1))
    with pytest.raises(TypeError, match="one of 2: pass one of its estimators_"):
        ShapesDisplay.from_estimator(model)
    assert ShapesDisplay.from_estimator(model.estimators_[1]).axes_ is not None
