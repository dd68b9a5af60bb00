"""Axes for displays, and a dry run that finds errors in drawing before anything is spent."""

from typing import Any

__all__ = ["axes_or_new", "dry_run"]


def axes_or_new(ax: Any) -> Any:
    """Return `ax`, or the axes of a new figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        The axes to draw on.

    Raises
    ------
    ImportError
        If matplotlib is not installed and `ax` is None.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install '.[plot]'") from None
    return pyplot.subplots()[1]


def dry_run(display: Any, ax: Any, **how: Any) -> None:
    """Draw a display on hidden axes, so that errors in drawing are raised before anything is spent.

    Parameters
    ----------
    display : object
        With a method `plot`, and with made-up numbers.
    ax : matplotlib.axes.Axes or None
        The axes to be drawn on later; nothing is drawn on them now.
    **how
        As for `plot`.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If `ax` is neither, or `plot` does not know a keyword.
    """
    hidden = axes_or_new(None) if ax is None else _own_axes(ax)
    try:
        display.plot(hidden, **how)
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
