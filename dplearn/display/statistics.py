"""A statistic of each group, with its interval."""

from typing import Any, Self

import numpy as np

from dplearn._writing import brief
from dplearn.display.axes import axes_or_new
from dplearn.releases import Described, Statistic


class StatisticsDisplay:
    """A statistic of one column in each group, with its interval; of categories, the share of each.

    Parameters
    ----------
    lines : sequence of Statistic
        Released. Those that are drawn, from above.
    label : str
        Public. The label of the horizontal axis.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib; after `plot`.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import pandas as pd
    >>> from dplearn.display import StatisticsDisplay
    >>> from dplearn.domains import Categories, IntegerRange, Schema
    >>> from dplearn.releases import describe
    >>> frame = pd.DataFrame({"arm": ["drug", "placebo"] * 1500, "score": [1, 2, 3, 3, 3, 6] * 500})
    >>> schema = Schema({"arm": Categories(["drug", "placebo"]), "score": IntegerRange(1, 6)})
    >>> found = describe(frame, "arm", domain=schema, random_state=0)
    >>> display = StatisticsDisplay.of(found, "score", "mean")
    >>> [line.group for line in display.lines]
    [('drug',), ('placebo',)]
    """

    def __init__(self, lines: list[Statistic], label: str):
        self.lines, self.label = lines, label

    @classmethod
    def of(
        cls,
        found: Described,
        column: str,
        statistic: str | None = None,
        *,
        of: str = "population",
        beta: Any = 0.05,
    ) -> Self:
        """Return the display of a result of `describe`, not yet drawn.

        Parameters
        ----------
        found : Described
            Released.
        column : str
            Public. A column that was described.
        statistic : str, optional
            Public. One of its statistics; None: "mean" of numbers, and "share" of categories.
        of, beta
            As for `Described.statistics`.
        """
        lines = [each for each in found.statistics(of=of, beta=beta) if each.column == column]
        if not lines:
            raise ValueError(f"column must be one that was described, got {brief(column)}")
        names = list(dict.fromkeys(each.statistic for each in lines))
        wanted = next((name for name in ("share", "mean", names[0]) if name in names), None)
        wanted = wanted if statistic is None else statistic
        if wanted not in names:
            raise ValueError(f"statistic must be one of {brief(names)}, got {brief(statistic)}")
        lines = [each for each in lines if each.statistic == wanted]
        notes = {each.note for each in lines if not np.isnan(each.estimate)} - {""}
        return cls(lines, ", ".join([f"{wanted} of {column}", *notes]))

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw a point and an interval of each line, and no point where it is too noisy.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            None: new axes.
        **options
            Passed to matplotlib's `hlines`.
        """
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        places = np.arange(len(self.lines))
        numbers = np.array([(each.estimate, each.low, each.high) for each in self.lines])
        known = numbers[np.isfinite(numbers)]
        if known.size:  # open intervals end at the greatest and the least of all numbers
            numbers = numbers.clip(known.min(), known.max())
        estimates, low, high = numbers.T
        self.ax_.hlines(places, low, high, **options)
        self.ax_.plot(estimates, places, "o")
        names = [
            " ".join(map(str, [*each.group, *([each.value] if each.value is not None else [])]))
            for each in self.lines
        ]
        self.ax_.set(yticks=places, yticklabels=names, xlabel=self.label)
        self.ax_.invert_yaxis()
        return self
