"""Displays of releases: a distribution with its confidence band, and a synthetic table."""

import math
from typing import Any, Self

import numpy as np

from dplearn._validation import check_count, shown
from dplearn._writing import cut
from dplearn.display.axes import axes_or_new, panels_or_new
from dplearn.display.shapes import LONGEST_NAME
from dplearn.releases import CDFRelease, SyntheticTable

_DEVIATIONS = 2.0  # half the length of an error bar
_GREY = "0.7"
_LABELLED = 8  # the most cells whose descriptions are written below a panel


class DistributionDisplay:
    """A released cumulative distribution function, with its confidence band for the population.

    Parameters
    ----------
    distribution : CDFRelease
        The released distribution.
    beta : float or None, default=0.05
        The probability that the band does not contain the whole function of the population; None for no
        band.
    reference : array-like of number, optional
        A public sample to compare with. It is drawn without noise, so never give private records.

    Attributes
    ----------
    distribution, beta, reference
        As given.
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> from dplearn.display import DistributionDisplay
    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.releases import cdf
    >>> found = cdf([20] * 300 + [40] * 500, epsilon=1, domain=IntegerRange(0, 120))
    >>> DistributionDisplay(found).beta
    0.05
    """

    def __init__(self, distribution: CDFRelease, *, beta: float | None = 0.05, reference: Any = None):
        if not isinstance(distribution, CDFRelease):
            raise TypeError(f"distribution must be a CDFRelease, got {type(distribution).__name__}")
        self.distribution = distribution
        self.beta = beta
        self.reference = reference

    @classmethod
    def from_release(
        cls,
        release: Any,
        *,
        beta: float | None = 0.05,
        reference: Any = None,
        ax: Any = None,
        name: str = "x",
    ) -> Self:
        """Draw a distribution that `cdf` has released.

        Parameters
        ----------
        release : CDFRelease
            What it returned.
        beta, reference
            As for the class.
        ax, name
            As for `plot`.

        Returns
        -------
        DistributionDisplay

        Raises
        ------
        TypeError
            If `release` is another object.
        """
        return cls(release, beta=beta, reference=reference).plot(ax, name=name)

    def plot(self, ax: Any = None, *, name: str = "x") -> Self:
        """Draw the function, its band and the public sample.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; None takes a new figure.
        name : str, default="x"
            The name of the measured quantity, for the labels of the axes.

        Returns
        -------
        self : DistributionDisplay
        """
        axes = self.distribution.plot(axes_or_new(ax), beta=self.beta)
        if self.reference is not None:
            values = np.sort(np.asarray(self.reference).ravel())
            shares = np.arange(1, values.size + 1) / values.size
            axes.step(values, shares, where="post", linestyle="--", color="0.4", label="public sample")
            axes.legend()
        axes.set(xlabel=name, ylabel=f"share at or below {name}")
        self.ax_, self.figure_ = axes, axes.figure
        return self


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
        self.bands = {name: _DEVIATIONS * deviation for name, deviation in _deviations(table).items()}

    @classmethod
    def from_table(cls, table: SyntheticTable, *, axes: Any = None, most: int = 7) -> Self:
        """Draw a fitted table.

        Parameters
        ----------
        table : SyntheticTable
            Fitted, so the display costs no privacy.
        axes, most
            As for `plot`.

        Returns
        -------
        SyntheticTableDisplay
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

        Returns
        -------
        self

        Raises
        ------
        ImportError
            If matplotlib is not installed and `axes` is None.
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
        bars = ax.bar(np.arange(len(shares)), shares, color=_GREY)
        ax.errorbar(
            np.arange(len(shares)), shares, yerr=self.bands[name], fmt="none", ecolor="black", linewidth=1
        )
        ax.set_title(cut(name, LONGEST_NAME))
        places = np.unique(np.linspace(0, len(shares) - 1, min(len(shares), _LABELLED)).astype(int))
        described = column.described()
        texts = [cut(described[place], LONGEST_NAME // 2) for place in places]
        ax.set_xticks(places, texts, rotation=90, fontsize="x-small")
        return bars


def _deviations(table: SyntheticTable) -> dict[str, float]:
    """Return the standard deviation of the noise in the share of a cell of each column."""
    plan = table.plan_
    layout, noise = plan.layout, plan.budget.base
    found = {}
    for place, column in enumerate(layout.columns):
        sums = 1.0
        tables = [places for places in layout.base if place in places]
        if layout.target is not None:  # a margin is a sum over the other column; that of the target is a mean
            others = [layout.size_of(places) // column.size for places in tables]
            sums = math.sqrt(sum(others)) / len(tables)
        found[column.name] = sums * noise.deviation(layout.size_of(tables[0])) / plan.n_samples
    return found


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
            arrowprops={"arrowstyle": "->", "shrinkA": 8, "shrinkB": 8, "color": _GREY},
        )
    for name, (x, y) in spots.items():
        ax.text(x, y, cut(name, LONGEST_NAME), ha="center", va="center", fontsize="x-small")
    ax.set(xlim=(-1.4, 1.4), ylim=(-1.2, 1.2))
    ax.set_axis_off()
    ax.set_title("network" if omitted is None else f"all depend on {cut(omitted, LONGEST_NAME)}")
    return arrows
