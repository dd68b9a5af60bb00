"""A released distribution and its confidence band."""

from typing import Any, Self

import numpy as np

from dplearn.display.axes import axes_or_new
from dplearn.releases import CDFRelease

__all__ = ["DistributionDisplay"]


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
