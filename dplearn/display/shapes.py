"""Panels, one for each column: shapes of an additive model, which a card tabulates, and synthetic tables."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_count, shown
from dplearn._writing import brief, cut
from dplearn.display.axes import panels_or_new
from dplearn.display.described import Table
from dplearn.learners import AdditiveClassifier, AdditiveRegressor, ColumnShape
from dplearn.releases import SyntheticTable
from dplearn.releases.table_fidelity import margin_deviations

_DEVIATIONS = 2.0  # half the width of a band
_GROUP = 0.8  # the width of all bars of one cell
_MASS = 0.18  # the height of the greatest share of records, as a share of the panel
_BELOW, _ABOVE = 0.25, 0.06  # the space below and above the effects, as a share of their range
_MISSING = 0.14  # the width of the place of missing numbers, as a share of the panel
_SHADE, _CROWD = 0.25, 3  # the opacity of a band, which is less with more lines than three
_GREY = "0.85"
LONGEST_NAME = 24  # characters of the name of a column
_LONGEST_CELL = 16  # characters of the name of a category
_MOST_BARS = 12  # categories in one panel
_EMPTY = 0.1  # a cell with less than this share of the mean mass holds no visible share of the records
_TAIL = 0.01  # the share of the records beyond each end of the axis
_OPEN = 16.0  # a first cell that is this many times as wide as the second has no visible start
_READABLE = 0.005  # the least width of a cell that can be seen, as a share of the axis
_READ = 0.7  # the share of the records in such cells that a linear axis needs
_APART = 0.18  # the least distance of two ticks of a logarithmic axis, as a share of the axis
_LEAST_POWER = -9  # the exponent of the least tick of a logarithmic axis
_INNER = 0.05  # the share of the records, beyond the cell of 0, in the linear part of a logarithmic axis
_MOST = 10  # columns in the table
_BARS, _LABELLED = "0.7", 8  # of synthetic tables: the colour of bars, and the most cells with a description


@dataclass(frozen=True, eq=False)
class ShownCells:
    """The cells of one column that a panel shows."""

    places: NDArray[np.intp]
    edges: NDArray[np.float64] | None  # the ends of the cells; None if they are bars
    labels: tuple[str, ...]  # of the bars
    missing: int | None  # the place of the cell of missing numbers
    hidden: int  # the number of categories without a bar

    @classmethod
    def of(cls, shape: ColumnShape) -> "ShownCells":
        """Return the shown cells of a shape: numbers but 1 % at each end, or the largest categories."""
        values, gap = shape.values, shape.column.gap
        missing = 0 if gap else None
        if values is None or len(values) - gap <= 2:
            common = np.argsort(-shape.masses[gap:], kind="stable")[:_MOST_BARS]
            places = gap + np.sort(common)
            cells = shape.cells
            labels = tuple(named(cells[place]) for place in places)
            return cls(places, None, labels, missing, len(shape.masses) - gap - len(places))
        first, last = _usual(shape.masses[gap:])
        return cls(np.arange(gap + first, gap + last), _edges(values[gap:], first, last), (), missing, 0)


def scale_of(edges: NDArray[np.float64], masses: NDArray[np.float64]) -> dict[str, Any]:
    """Return the arguments of `set_xscale`: linear if most records lie in cells wide enough to be seen."""
    widths = np.diff(edges)
    readable = widths >= _READABLE * (edges[-1] - edges[0])
    if masses[readable].sum() >= _READ * masses.sum():
        return {"value": "linear"}
    if edges[0] > 0:
        return {"value": "log"}
    starts, ends = edges[:-1], edges[1:]
    apart = (starts > 0) | (ends <= 0)  # not the cell of 0
    sizes = np.where(starts >= 0, ends, -starts)[apart]
    if not len(sizes):
        return {"value": "linear"}
    order = np.argsort(sizes)
    below = np.cumsum(masses[apart][order]) / masses[apart].sum()
    return {"value": "symlog", "linthresh": float(sizes[order][np.argmax(below >= _INNER)])}


def ticks_of(
    scale: Mapping[str, Any], transform: Callable[[Any], Any], low: float, high: float
) -> tuple[list[float], list[float]]:
    """Return the ticks of a logarithmic axis, 0 and powers of ten: those with labels, and all others."""
    exponents = range(_LEAST_POWER, 1 + math.ceil(math.log10(max(abs(low), abs(high)))))
    least = scale.get("linthresh", 0.0)
    powers = [10.0**exponent for exponent in reversed(exponents) if 10.0**exponent >= least]
    if scale["value"] == "log" and high < 100 * low:
        powers += [factor * power for power in powers for factor in (5.0, 2.0)]
    found: list[float] = []
    others: list[float] = []
    room = _APART * float(transform(high) - transform(low))
    for tick in [0.0, *powers, *(-power for power in powers)]:
        if low <= tick <= high:
            near = any(abs(transform(tick) - transform(each)) < room for each in found)
            (others if near else found).append(tick)
    return sorted(found), sorted(others)


def named(cell: str) -> str:
    """Return the description of a cell without the quotes of a string, shortened."""
    return cut(re.sub(r"^(?:np\.str_\()?(['\"])(.+)\1\)?$", r"\2", cell), _LONGEST_CELL)


def _usual(masses: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first cell that holds records, and the one after the last, of ordered cells."""
    seen = np.where(masses > _EMPTY * masses.mean(), masses, 0.0)
    below = np.cumsum(seen) / seen.sum()
    return int(np.argmax(below > _TAIL)), int(np.argmax(below >= 1 - _TAIL)) + 1


def _edges(values: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
    """Return the ends of cells first, ..., last - 1; the outer ends of open cells are made up."""
    inner = np.diff(values[1:])
    start = values[0] if values[1] - values[0] <= _OPEN * inner[0] else values[1] - inner[0]
    return np.concatenate([[start], values[1:], [values[-1] + inner[-1]]])[first : last + 1]


class ShapesDisplay:
    """The effects of the columns of an additive model, one panel for each column.

    Parameters
    ----------
    shapes : sequence of ColumnShape
        Released. The `shapes_` of a fitted model, or some of them.
    classes : sequence, optional
        Public. The labels, in the order of `classes_`; None for the shapes of a regression.

    Attributes
    ----------
    shapes : list of ColumnShape
        Released. In falling order of `importance`.
    classes : list or None
        As given.
    lines_, bands_ : list of list
        Released. After `plot`: for each panel, and for each label drawn, a Line2D for numbers with its band
        (a PolyCollection), or a BarContainer for categories with its ErrorbarContainer.
    missing_ : list of list of ErrorbarContainer
        Released. After `plot`: for each panel, the effect of a missing number on each label drawn.
    masses_ : list of BarContainer
        Released. After `plot`: for each panel, the shares of records in the cells drawn.
    axes_ : ndarray of Axes of shape (n_panels,)
        Released. After `plot`: the panels, in the order of `shapes`.
    figure_ : matplotlib Figure
        Released. After `plot`.

    Notes
    -----
    **Privacy.** The display costs nothing: it reads `shapes_` and `classes_`, which the fit has released.

    Interactions of columns are not drawn. The step of a cell begins at the least number of the cell. The axis
    of a column ends where at most 1 % of the records, by the released masses, lie beyond each end, and is
    logarithmic if cells would be too narrow. Of more than twelve categories, those with most records are
    shown. A band contains the noise of privacy and the smoothing, not the sampling error.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import AdditiveClassifier
    >>> from dplearn.display import ShapesDisplay
    >>> from dplearn.domains import Categories, IntegerRange, Schema
    >>> rng = np.random.default_rng(0)
    >>> schema = Schema({"city": Categories([0, 1, 2]), "age": IntegerRange(18, 90)})
    >>> X = np.column_stack([rng.integers(0, 3, 5000), rng.integers(18, 91, 5000)])
    >>> model = AdditiveClassifier(epsilon=1.0, domain=schema, classes=["no", "yes"])
    >>> model = model.fit(X, np.where(X[:, 1] > 40, "yes", "no"))
    >>> display = ShapesDisplay(model.shapes_, classes=model.classes_)
    >>> [shape.name for shape in display.shapes]
    ['age', 'city']
    """

    def __init__(self, shapes: Sequence[ColumnShape], *, classes: Sequence[Any] | None = None):
        given = list(shapes)
        if not given or not all(isinstance(shape, ColumnShape) for shape in given):
            raise TypeError(f"shapes must be a list of ColumnShape, at least one, got {brief(shapes)}")
        labels = None if classes is None else np.asarray(classes).tolist()
        outputs = {1 if shape.effects.ndim == 1 else shape.effects.shape[1] for shape in given}
        wanted = 1 if labels is None or len(labels) == 2 else len(labels)
        if outputs != {wanted}:
            raise ValueError(
                f"classes must be those of the model, got {brief(labels)} for effects on"
                f" {', '.join(map(str, sorted(outputs)))} margins"
            )
        self.shapes = sorted(given, key=lambda shape: -shape.importance)
        self.classes = labels

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, axes: Any = None, most: int = 12, label: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the shapes of a fitted additive model.

        Parameters
        ----------
        estimator : AdditiveClassifier or AdditiveRegressor
            Fitted. Its `shapes_` were released by the fit, so the display costs no privacy.
        axes, most, label, **line_kw
            As for `plot`.

        Raises
        ------
        NotFittedError, TypeError
            If `estimator` is not fitted, is not an additive model, or is one of several outputs.
        """
        if not isinstance(estimator, AdditiveClassifier | AdditiveRegressor):
            raise TypeError(
                "estimator must be a fitted AdditiveClassifier or AdditiveRegressor, got"
                f" {type(estimator).__name__}"
            )
        check_is_fitted(estimator)
        classes = estimator.classes_ if isinstance(estimator, AdditiveClassifier) else None
        if isinstance(classes, list):
            raise TypeError(
                f"estimator must be a model of one output, got one of {len(classes)}: pass one of its"
                " estimators_"
            )
        return cls(estimator.shapes_, classes=classes).plot(axes, most=most, label=label, **line_kw)

    def plot(self, axes: Any = None, *, most: int = 12, label: Any = None, **line_kw: Any) -> Self:
        """Draw the most important shapes, one in each panel.

        Parameters
        ----------
        axes : matplotlib Axes or array-like of Axes, optional
            The axes to draw on, at least one for each panel; None takes a new figure.
        most : int, default=12
            The greatest number of panels.
        label : object, optional
            One of `classes`: only the effects on its margin are drawn. None: those on the margins of all
            labels, or, of two labels, on the margin of the second.
        **line_kw
            Arguments for matplotlib's `step`, which draws the lines of numbers.
        """
        count = min(check_count("most", most, low=1), len(self.shapes))
        curves = self._curves(label)
        self.axes_ = panels_or_new(axes, count)
        self.figure_ = self.axes_[0].figure
        self.lines_: list[list[Any]] = []
        self.bands_: list[list[Any]] = []
        self.missing_: list[list[Any]] = []
        self.masses_: list[Any] = []
        low, high = np.inf, -np.inf
        for panel, shape in zip(self.axes_, self.shapes, strict=False):
            cells = ShownCells.of(shape)
            ends = self._draw(panel, shape, cells, curves, line_kw)
            low, high = min(low, ends[0]), max(high, ends[1])
        space = (high - low) or 1.0
        for panel in self.axes_:
            panel.set_ylim(low - _BELOW * space, high + _ABOVE * space)
        self._describe(axes is None, curves)
        return self

    def _curves(self, label: Any) -> list[tuple[str, int, float]]:
        """Return the name, the place and the sign of each margin to be drawn."""
        names = [str(each) for each in self.classes or [""]]
        if label is None:
            return [(names[-1], 0, 1.0)] if len(names) <= 2 else [(n, i, 1.0) for i, n in enumerate(names)]
        if self.classes is None:
            raise ValueError(f"label must be None for a regression, got {brief(label)}")
        if label not in self.classes:
            raise ValueError(f"label must be one of {brief(self.classes)}, got {brief(label)}")
        place = self.classes.index(label)
        if len(names) == 2:
            return [(names[place], 0, 1.0 if place else -1.0)]
        return [(names[place], place, 1.0)]

    def _draw(
        self, panel: Any, shape: ColumnShape, cells: ShownCells, curves: list[Any], line_kw: dict[str, Any]
    ) -> tuple[float, float]:
        """Draw one shape, and return the least and the greatest number that must be visible."""
        effects = shape.effects.reshape(len(shape.masses), -1)
        halves = _DEVIATIONS * shape.deviations.reshape(len(shape.masses), -1)
        centres = [sign * effects[:, place] for _, place, sign in curves]
        widths = [halves[:, place] for _, place, _ in curves]
        panel.axhline(0.0, color="0.6", linewidth=0.8, zorder=1)
        shade = _SHADE * min(1.0, _CROWD / len(curves))
        drawn = [
            _steps(panel, cells, centre, half, (f"C{place % 10}", shade), line_kw)
            if cells.edges is not None
            else _bars(panel, cells, centre, half, f"C{place % 10}", (place, len(curves)))
            for place, (centre, half) in enumerate(zip(centres, widths, strict=True))
        ]
        self.lines_.append([line for line, _ in drawn])
        self.bands_.append([band for _, band in drawn])
        self.masses_.append(_shares(panel, shape, cells))
        _axis(panel, shape, cells)
        place = cells.missing
        self.missing_.append([] if place is None else _missing(panel, drawn, centres, widths, place))
        hidden = f" ({len(cells.places)} of {len(cells.places) + cells.hidden})" if cells.hidden else ""
        panel.set_title(cut(shape.name, LONGEST_NAME) + hidden, fontsize="medium")
        seen = [*cells.places, *([] if cells.missing is None else [cells.missing])]
        lows = [(centre - half)[seen].min() for centre, half in zip(centres, widths, strict=True)]
        highs = [(centre + half)[seen].max() for centre, half in zip(centres, widths, strict=True)]
        return float(min(lows)), float(max(highs))

    def _describe(self, own: bool, curves: list[Any]) -> None:
        """Write the label of the vertical axis and the legend: beside the panels of an own figure."""
        if self.classes is None:
            text = "effect on the prediction"
        elif len(curves) == 1:
            text = (
                f"effect on the {'logit' if len(self.classes) == 2 else 'margin'} of {cut(curves[0][0], 24)}"
            )
        else:
            text = "effect on the margin"
        names = [cut(name, 24) if len(curves) > 1 else "effect" for name, _, _ in curves]
        handles = [*self.lines_[0], self.bands_[0][0]]
        names.append(f"± {_DEVIATIONS:g} standard deviations")
        if any(_has_shares(shape) for shape in self.shapes):
            handles.append(self.masses_[0])
            names.append("share of records")
        if not own:
            for panel in self.axes_:
                panel.set_ylabel(text)
            self.axes_[0].legend(handles, names, fontsize="small")
            return
        self.figure_.supylabel(text, fontsize="medium")
        left_out = len(self.shapes) - len(self.axes_)
        title = f"the {len(self.axes_)} most important of {len(self.shapes)} columns" if left_out else None
        self.figure_.legend(
            handles,
            names,
            title=title,
            loc="outside lower center",
            ncols=min(len(names), 6),
            fontsize="small",
        )


def _steps(
    panel: Any,
    cells: ShownCells,
    centre: NDArray[np.float64],
    half: NDArray[np.float64],
    style: tuple[str, float],
    line_kw: dict[str, Any],
) -> tuple[Any, Any]:
    """Draw the effects of numbers as steps, and their band; `style` is a colour and the band's opacity."""
    places = np.append(cells.places, cells.places[-1])  # the last step ends at the last edge
    (line,) = panel.step(
        cells.edges, centre[places], where="post", **{"color": style[0], "zorder": 3} | line_kw
    )
    low, high = (centre - half)[places], (centre + half)[places]
    band = panel.fill_between(
        cells.edges, low, high, step="post", color=line.get_color(), alpha=style[1], linewidth=0
    )
    return line, band


def _bars(
    panel: Any,
    cells: ShownCells,
    centre: NDArray[np.float64],
    half: NDArray[np.float64],
    colour: str,
    part: tuple[int, int],
) -> tuple[Any, Any]:
    """Draw the effects of categories as bars, and their error bars; `part` is the place within a group."""
    width = _GROUP / part[1]
    x = np.arange(len(cells.places)) + (part[0] - (part[1] - 1) / 2) * width
    bars = panel.bar(x, centre[cells.places], width, color=colour, alpha=0.7, zorder=2)
    return bars, panel.errorbar(
        x, centre[cells.places], half[cells.places], fmt="none", ecolor=colour, zorder=3
    )


def _has_shares(shape: ColumnShape) -> bool:
    """Return whether a fit has asked for the shares of records in the cells: not of the mean alone."""
    return bool(shape.deviations.any())


def _shares(panel: Any, shape: ColumnShape, cells: ShownCells) -> Any:
    """Draw the shares of records along the lower edge."""
    heights = shape.masses[cells.places]
    heights = _MASS * heights / heights.max() * _has_shares(shape)
    lefts = np.arange(len(heights)) - _GROUP / 2 if cells.edges is None else cells.edges[:-1]
    widths = _GROUP if cells.edges is None else np.diff(cells.edges)
    style = {"align": "edge", "color": _GREY, "zorder": 0}
    return panel.bar(lefts, heights, widths, transform=panel.get_xaxis_transform(), **style)


def _axis(panel: Any, shape: ColumnShape, cells: ShownCells) -> None:
    """Set the scale, the limits and the ticks; missing numbers have a place at the left."""
    if cells.edges is None:
        count = len(cells.places)
        turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if count > 2 else {}
        panel.set_xticks(range(count), cells.labels, fontsize="small", **turned)
        low, high = -0.6, count - 0.4
        panel.set_xlim(low, high)
    else:
        low, high = map(float, cells.edges[[0, -1]])
        scale = scale_of(cells.edges, shape.masses[cells.places])
        panel.set_xscale(**scale)
        panel.set_xlim(low, high)
        if scale["value"] == "linear":
            ticks = [tick for tick in panel.get_xticks() if low <= tick <= high]
            panel.set_xticks(ticks)
        else:
            ticks, others = ticks_of(scale, panel.xaxis.get_transform().transform, low, high)
            panel.set_xticks(ticks, [_short(tick) for tick in ticks])
            panel.set_xticks(others, [""] * len(others), minor=True)
    if cells.missing is None:
        return
    along = panel.xaxis.get_transform()
    first, last = along.transform(np.array([low, high]))
    room = _MISSING / (1 - _MISSING) * (last - first)
    panel.set_xlim(float(along.inverted().transform(np.array([first - room]))[0]), high)
    panel.axvline(low, color="0.6", linewidth=0.8, linestyle=":")
    where = {"transform": panel.transAxes, "rotation": 90, "ha": "center", "va": "top"}
    panel.text(_MISSING / 2, 0.98, "missing", fontsize="small", color="0.4", **where)


def _missing(panel: Any, drawn: list[Any], centres: list[Any], halves: list[Any], place: int) -> list[Any]:
    """Draw the effects of a missing number, side by side, in the colours of the lines."""
    middles = _MISSING * (np.arange(len(centres)) + 1) / (len(centres) + 1)
    colours = [
        line.get_color() if hasattr(line, "get_color") else f"C{i % 10}" for i, (line, _) in enumerate(drawn)
    ]
    how = {"fmt": "o", "markersize": 4, "transform": panel.get_yaxis_transform()}
    return [
        panel.errorbar([x], [centre[place]], [half[place]], color=colour, **how)
        for x, centre, half, colour in zip(middles, centres, halves, colours, strict=True)
    ]


def _short(tick: float) -> str:
    return (
        f"{tick:g}"
        if 1e-3 <= abs(tick) < 1e5 or not tick
        else f"{tick:.0e}".replace("e+0", "e").replace("e-0", "e-")
    )


def shapes_of(parts: Iterable[Any]) -> list[Table]:
    """Return a table for each additive model among the parts of a release."""
    tables = []
    for part, output in _models(parts):
        shapes = getattr(part, "shapes_", [])
        if not shapes or not all(isinstance(shape, ColumnShape) for shape in shapes):
            continue
        classes = getattr(part, "classes_", None)
        ranked = sorted(shapes, key=lambda shape: -shape.importance)[:_MOST]
        rows = [row_of(shape, classes) for shape in ranked]
        if classes is None:
            of = "the prediction"
        else:
            of = f"the logit of {cut(str(classes[-1]))}" if len(classes) == 2 else "the margin of each label"
        caption = (
            f"{output}Effects on {of}, with two standard deviations: the {len(rows)} most important of"
            f" {len(shapes)} columns. The importance is the root mean square effect. Values that few records"
            f" have are left out. {_about_interactions(part)}"
        )
        tables.append(Table(caption, ("column", "importance", "least effect", "greatest effect"), rows))
    return tables


def _models(parts: Iterable[Any]) -> Iterator[tuple[Any, str]]:
    """Yield each model of one output, and the start of its caption."""
    for part in parts:
        if isinstance(part, AdditiveClassifier) and isinstance(getattr(part, "classes_", None), list):
            yield from ((each, f"Output {place}. ") for place, each in enumerate(part.estimators_))
        else:
            yield part, ""


def _about_interactions(part: Any) -> str:
    """Return a sentence on the released interactions of an additive model."""
    interactions = getattr(part, "interactions_", None)
    if interactions is None:
        return "The model is the sum of these effects: it has no interactions of columns."
    strengths = interactions.strengths
    if not strengths.any():
        return "Besides these effects, the model has interactions of columns."
    places = np.unravel_index(int(strengths.argmax()), strengths.shape)
    names = " and ".join(cut(part.shapes_[place].name, LONGEST_NAME) for place in sorted(places))
    return (
        f"Besides these effects, the model has interactions of columns; {names} have the strongest sign of"
        f" one, {strengths.max():.1f} standard deviations of the noise."
    )


def row_of(shape: ColumnShape, classes: Any) -> tuple[str, str, str, str]:
    """Return the name of a column, its importance, and its least and greatest effect."""
    cells = ShownCells.of(shape)
    shown = np.array([*cells.places, *([] if cells.missing is None else [cells.missing])])
    effects = shape.effects.reshape(len(shape.masses), -1)
    deviations = shape.deviations.reshape(effects.shape)
    ends = []
    for best in (np.argmin, np.argmax):
        row, output = np.unravel_index(int(best(effects[shown])), effects[shown].shape)
        place = shown[row]
        label = f" for {cut(str(classes[output]), LONGEST_NAME)}" if effects.shape[1] > 1 else ""
        spread = 2 * deviations[place, output]
        ends.append(f"{effects[place, output]:.2g} ± {spread:.1g} at {_cell(shape, place)}{label}")
    return cut(shape.name, 2 * LONGEST_NAME), f"{shape.importance:.3g}", ends[0], ends[1]


def _cell(shape: ColumnShape, place: int) -> str:
    values = shape.values
    return named(shape.cells[place]) if values is None or np.isnan(values[place]) else f"{values[place]:.4g}"


class SyntheticTableDisplay:
    """The network of a synthetic table, and the released shares of the cells of each column.

    Parameters
    ----------
    table : SyntheticTable
        Released. A fitted table.

    Attributes
    ----------
    table : SyntheticTable
        Released. As given.
    names : list of str
        Released. The columns, in the order in which records are drawn.
    bands : dict of str to float
        Public. For each column, two standard deviations of the noise in the share of a cell of a base table,
        before all post-processing.
    bars_ : list of BarContainer
        Released. After `plot`: for each panel but the first, the shares of the cells.
    arrows_ : list of tuple of str
        Released. After `plot`: the arrows drawn, each from a column to one that depends on it.
    axes_ : ndarray of Axes of shape (n_panels,)
        Released. After `plot`: the network, and one panel for each column drawn.
    figure_ : matplotlib Figure
        Released. After `plot`.

    Notes
    -----
    **Privacy.** The display costs nothing: it reads `network_`, `marginals_` and the plan of the table.

    Arrows from the target, which all other columns depend on, are left out. The error bars contain the noise
    of privacy, not the sampling error of the records.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from dplearn.display import SyntheticTableDisplay
    >>> from dplearn.domains import Categories, IntegerRange, Schema
    >>> from dplearn.releases import SyntheticTable
    >>> age = np.random.default_rng(0).integers(18, 90, 5000)
    >>> frame = pd.DataFrame({"age": age, "works": np.where(age < 65, "yes", "no")})
    >>> schema = Schema({"age": IntegerRange(18, 90), "works": Categories(["no", "yes"])})
    >>> display = SyntheticTableDisplay(SyntheticTable(domain=schema, random_state=0).fit(frame))
    >>> display.names, round(display.bands["works"], 3)
    (['age', 'works'], 0.004)
    """

    def __init__(self, table: SyntheticTable):
        if not isinstance(table, SyntheticTable) or not hasattr(table, "network_"):
            raise TypeError(f"table must be a fitted SyntheticTable, got {shown(table)}")
        self.table = table
        self.names = list(table.network_)
        found = zip(table.columns_, margin_deviations(table.plan_), strict=True)
        self.bands = {column.name: _DEVIATIONS * deviation for column, deviation in found}

    @classmethod
    def from_table(cls, table: SyntheticTable, *, axes: Any = None, most: int = 7) -> Self:
        """Draw a fitted table.

        Parameters
        ----------
        table : SyntheticTable
            Fitted, so the display costs no privacy.
        axes, most
            As for `plot`.
        """
        return cls(table).plot(axes=axes, most=most)

    def plot(self, axes: Any = None, *, most: int = 7) -> Self:
        """Draw the network, and the shares of the first columns.

        Parameters
        ----------
        axes : matplotlib Axes or array-like of them, optional
            One for the network, and one for each column drawn. None: those of a new figure.
        most : int, default=7
            The most columns whose shares are drawn, at least 1.

        Raises
        ------
        ValueError
            If there are fewer axes than panels.
        """
        shown_names = self.names[: check_count("most", most, low=1)]
        panels = panels_or_new(axes, 1 + len(shown_names))
        self.arrows_ = _draw_network(panels[0], self.table)
        self.bars_ = [self._draw_shares(ax, name) for ax, name in zip(panels[1:], shown_names, strict=True)]
        self.axes_, self.figure_ = panels, panels[0].figure
        return self

    def _draw_shares(self, ax: Any, name: str) -> Any:
        shares = self.table.marginals_[name]
        [column] = [each for each in self.table.columns_ if each.name == name]
        bars = ax.bar(np.arange(len(shares)), shares, color=_BARS)
        ax.errorbar(
            np.arange(len(shares)), shares, yerr=self.bands[name], fmt="none", ecolor="black", linewidth=1
        )
        ax.set_title(cut(name, LONGEST_NAME))
        places = np.unique(np.linspace(0, len(shares) - 1, min(len(shares), _LABELLED)).astype(int))
        described = column.described()
        texts = [cut(described[place], LONGEST_NAME // 2) for place in places]
        ax.set_xticks(places, texts, rotation=90, fontsize="small")
        return bars


def _draw_network(ax: Any, table: SyntheticTable) -> list[tuple[str, str]]:
    """Draw the columns on a circle, with arrows to those that depend on them; return the arrows."""
    names, target = list(table.network_), table.plan_.layout.target
    omitted = None if target is None else table.columns_[target].name
    angles = 2 * np.pi * np.arange(len(names)) / len(names)
    spots = dict(zip(names, zip(np.sin(angles), np.cos(angles), strict=True), strict=True))
    arrows = [
        (parent, name) for name, parents in table.network_.items() for parent in parents if parent != omitted
    ]
    for parent, name in arrows:
        ax.annotate(
            "",
            xy=spots[name],
            xytext=spots[parent],
            arrowprops={"arrowstyle": "->", "shrinkA": 8, "shrinkB": 8, "color": _BARS},
        )
    for name, (x, y) in spots.items():
        ax.text(x, y, cut(name, LONGEST_NAME), ha="center", va="center", fontsize="small")
    ax.set(xlim=(-1.4, 1.4), ylim=(-1.2, 1.2))
    ax.set_axis_off()
    ax.set_title("network" if omitted is None else f"all depend on {cut(omitted, LONGEST_NAME)}")
    return arrows
