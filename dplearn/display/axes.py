"""Where pictures are drawn."""

from typing import Any

__all__ = ["axes_or_new"]


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
