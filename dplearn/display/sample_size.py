"""Sample size against a parameter: the theory's line beside simulated points."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn import theory
from dplearn.display.axes import axes_or_new

_SUFFIX = "_sample_size"


class SampleSizeDisplay:
    """Sample size against epsilon, alpha, a dimension or another parameter.

    Parameters
    ----------
    values : array-like of float of shape (k,)
        Values of the parameter that varies.
    sizes : array-like of float of shape (k,)
        The sample size that the theory requires at each value, in records.
    simulated : iterable of (float, float), default=()
        Values, each with a sample size that was enough in simulations on made-up or public data.
    vary : str, default="epsilon"
        The name of the parameter that varies.

    Attributes
    ----------
    values, sizes : ndarray of float64 of shape (k,)
        The line, in the order of rising values.
    simulated : ndarray of float64 of shape (m, 2)
        The points.
    vary : str
        As given.
    line_, points_ : matplotlib artists
        After `plot`; `points_` is None if there are no points.
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> from dplearn.display import SampleSizeDisplay
    >>> fixed = {"class_size": 1000, "alpha": 0.1, "beta": 0.05}
    >>> display = SampleSizeDisplay.of("generic_sample_size", [0.01, 1], **fixed)
    >>> display.values.tolist(), (display.sizes[0] > display.sizes[1]).item()
    ([0.01, 1.0], True)
    """

    def __init__(
        self,
        values: Any,
        sizes: Any,
        *,
        simulated: Iterable[tuple[float, float]] = (),
        vary: str = "epsilon",
    ):
        at, needed = np.asarray(values, float), np.asarray(sizes, float)
        if at.ndim != 1 or at.shape != needed.shape or not at.size:
            raise ValueError(
                "values and sizes must be of one length, at least 1, got shapes"
                f" {at.shape} and {needed.shape}"
            )
        order = np.argsort(at, kind="stable")
        self.values: NDArray[np.float64] = at[order]
        self.sizes: NDArray[np.float64] = needed[order]
        self.simulated: NDArray[np.float64] = np.array(list(simulated), float).reshape(-1, 2)
        self.vary = vary

    @classmethod
    def of(
        cls,
        calculator: str | Callable[..., Any],
        values: Sequence[Any],
        *,
        vary: str = "epsilon",
        simulated: Iterable[tuple[float, float]] = (),
        **fixed: Any,
    ) -> Self:
        """Return the display of a calculator's results without drawing it.

        Parameters
        ----------
        calculator : str or callable
            The name of a sample size of `dplearn.theory`, such as "generic_sample_size"; or a function that
            takes `vary` and all of `fixed` by name and returns a number of records.
        values : sequence
            Values of the parameter that varies.
        vary : str, default="epsilon"
            The name of this parameter.
        simulated : iterable of (float, float), default=()
            As for the class.
        **fixed
            The calculator's other parameters.

        Raises
        ------
        ValueError
            If there is no calculator of that name.
        """
        count = _calculator(calculator)
        sizes = [count(**{vary: value}, **fixed) for value in values]
        return cls(values, sizes, simulated=simulated, vary=vary)

    @classmethod
    def from_theory(
        cls,
        calculator: str | Callable[..., Any],
        values: Sequence[Any],
        *,
        vary: str = "epsilon",
        simulated: Iterable[tuple[float, float]] = (),
        ax: Any = None,
        **fixed: Any,
    ) -> Self:
        """Draw a calculator's results.

        Parameters
        ----------
        calculator, values, vary, simulated, **fixed
            As for `of`.
        ax : matplotlib Axes, optional
            As for `plot`.

        Returns
        -------
        SampleSizeDisplay
        """
        return cls.of(calculator, values, vary=vary, simulated=simulated, **fixed).plot(ax)

    def plot(self, ax: Any = None, *, label: str = "sufficient by theory", **line_kw: Any) -> Self:
        """Draw the line and the points; the axis of values is logarithmic if all values are positive.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; None takes a new figure.
        label : str, default="sufficient by theory"
            The line's name in the legend.
        **line_kw
            Arguments for matplotlib's `plot`.

        Returns
        -------
        self : SampleSizeDisplay
        """
        axes = axes_or_new(ax)
        (self.line_,) = axes.plot(self.values, self.sizes, **{"marker": ".", "label": label} | line_kw)
        self.points_ = None
        if self.simulated.size:
            style = {"marker": "x", "linestyle": "none", "color": "0.25", "label": "sufficient in simulation"}
            (self.points_,) = axes.plot(*self.simulated.T, **style)
        axes.set(xlabel=self.vary, ylabel="records", yscale="log")
        if self.values.min() > 0:
            axes.set_xscale("log")
        axes.legend()
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _calculator(calculator: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of that name, or the function itself."""
    if callable(calculator):
        return calculator
    known = sorted(name for name in theory.__all__ if name.endswith(_SUFFIX))
    if calculator not in known:
        raise ValueError(f"calculator must be callable or among {', '.join(known)}, got {calculator!r}")
    found: Callable[..., Any] = getattr(theory, calculator)
    return found
