"""Axes for displays, and a dry run that finds errors in drawing before anything is spent."""

import math
from typing import Any

import numpy as np

_ACROSS = 4  # the most panels in a row
_WIDTH, _HEIGHT = 3.0, 2.4  # inches of a panel


def axes_or_new(ax: Any) -> Any:
    return _pyplot().subplots()[1] if ax is None else ax


def panels_or_new(axes: Any, count: int) -> Any:
    """Return the first `count` of the given axes, or those of a new figure with that many panels."""
    if axes is None:
        down = math.ceil(count / _ACROSS)
        across = math.ceil(count / down)
        size = (max(_WIDTH * across, 2 * _WIDTH), _HEIGHT * down + 0.6)
        figure = _pyplot().figure(figsize=size, layout="constrained")
        grid = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
        for empty in grid[count:]:
            empty.remove()
        return grid[:count]
    given = np.array(axes, dtype=object).ravel()
    if len(given) < count:
        raise ValueError(f"axes must hold one Axes for each of {count} panels, got {len(given)}")
    return given[:count]


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install matplotlib") from None
    return pyplot


def dry_run(display: Any, ax: Any, **how: Any) -> None:
    """Draw a display on hidden axes, so that errors in drawing are raised before anything is spent."""
    hidden = axes_or_new(None) if ax is None else _own_axes(ax)
    try:
        display.plot(ax=hidden, **how)
    except AttributeError as error:  # matplotlib's error for an unknown keyword
        raise TypeError(f"from_estimator takes only its own keywords and those of plot: {error}") from None
    finally:
        if ax is None:
            from matplotlib import pyplot

            pyplot.close(hidden.figure)


def _own_axes(ax: Any) -> Any:
    """Return axes that no window shows, if `ax` are matplotlib Axes."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be None or matplotlib Axes, got {type(ax).__name__}")
    return Figure().subplots()
