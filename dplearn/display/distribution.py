"""A released distribution and its confidence band.

>>> from dplearn.domains import IntegerRange
>>> from dplearn.releases import CDFRelease
>>> release = CDFRelease(epsilon=1, domain=IntegerRange(0, 120)).fit([20] * 300 + [40] * 500)
>>> DistributionDisplay(release.distribution_).beta
0.05
"""

from typing import Any, Self

import numpy as np

from dplearn.display.axes import axes_or_new
from dplearn.releases import ReleasedDistribution

__all__ = ["DistributionDisplay"]


class DistributionDisplay:
    """A released cumulative distribution function, with its confidence band for the population.

    Parameters
    ----------
    distribution : ReleasedDistribution
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
    """

    def __init__(
        self, distribution: ReleasedDistribution, *, beta: float | None = 0.05, reference: Any = None
    ):
        if not isinstance(distribution, ReleasedDistribution):
            raise TypeError(f"distribution must be a ReleasedDistribution, got {type(distribution).__name__}")
        self.distribution = distribution
        self.beta = beta
        self.reference = reference

    @classmethod
    def from_estimator(
        cls,
        release: Any,
        *,
        beta: float | None = 0.05,
        reference: Any = None,
        ax: Any = None,
        name: str = "x",
    ) -> Self:
        """Draw the distribution of a fitted release.

        Parameters
        ----------
        release : CDFRelease
            Fitted.
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
            If `release` has no distribution.
        """
        found = getattr(release, "distribution_", None)
        if found is None:
            raise TypeError(f"release must be a fitted CDFRelease, got {type(release).__name__}")
        return cls(found, beta=beta, reference=reference).plot(ax, name=name)

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
