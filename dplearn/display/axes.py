"""Where pictures are drawn, and whether one can be, before anything is spent on what it shows."""

from typing import Any

__all__ = ["axes_or_new", "rehearse"]


def axes_or_new(ax: Any) -> Any:
    """Return `ax`, or the axes of a new figure.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Where to draw.

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


def rehearse(display: Any, ax: Any, **how: Any) -> None:
    """Draw a display where nobody sees it, so that what cannot be drawn is refused before it costs anything.

    Parameters
    ----------
    display : object
        With a method `plot`, and of made-up numbers.
    ax : matplotlib.axes.Axes or None
        Where it is to be drawn later; nothing is drawn there.
    **how
        As for `plot`.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    TypeError
        If `ax` is neither, or `plot` knows no such keyword.
    """
    hidden = axes_or_new(None) if ax is None else _own_axes(ax)
    try:
        display.plot(hidden, **how)
    except AttributeError as error:  # which matplotlib raises of keywords that it does not know
        raise TypeError(f"from_estimator takes no keywords but its own and those of plot: {error}") from None
    finally:
        if ax is None:
            from matplotlib import pyplot

            pyplot.close(hidden.figure)


def _own_axes(ax: Any) -> Any:
    """Return axes that no window shows, if `ax` is where one can draw."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be None or matplotlib Axes, got {type(ax).__name__}")
    return Figure().subplots()
