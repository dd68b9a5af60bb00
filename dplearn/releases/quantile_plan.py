"""What a release of quantiles would give, before any value is seen.

>>> plan = quantile_plan(10_000, [0.25, 0.5, 0.75], epsilon=1)
>>> plan.errors, plan.n_inside, plan.n_needed
((351, 234, 351), 1353, 6920)
>>> print(quantile_plan(100, 0.5))
1 quantile of 100 records, epsilon 1.
With probability 0.95 it is off by at most 95 ranks.
An error of at most 0.05 of the records takes 1900 records.
100 records are fewer than 191: what is released may lie outside the data, anywhere in the domain.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan
from dplearn.releases.quantile_errors import (
    quantile_errors,
    quantile_range_sample_size,
    quantile_sample_size,
)
from dplearn.releases.quantiles import check_fractions
from dplearn.releases.reading import as_number_domain

__all__ = ["QuantilePlan", "quantile_plan"]


@dataclass(frozen=True)
class QuantilePlan(Plan):
    """What `quantiles` would give; printed, it says so in words.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would guarantee.
    q : tuple of float
        Which quantiles.
    n_samples : int
        Number of records.
    errors : tuple of int
        With probability at least 1 - beta, for all of them at once, at most q n + error of the data are less
        than the value released, and at least q n - error are not greater.
    n_inside : int or None
        From how many records on all values lie between the least and the greatest of the data with
        probability at least 1 - beta; None: 0 or 1 is among q, and they need not, however many there are.
        With fewer a value may be any of the domain: of all floats, half exceed 1 in magnitude, up to 1e308.
    n_needed : int
        From how many records on no error exceeds alpha n.
    alpha, beta : float
        As asked for.
    """

    guarantee: ApproxDP
    q: tuple[float, ...]
    n_samples: int
    errors: tuple[int, ...]
    n_inside: int | None
    n_needed: int
    alpha: float
    beta: float

    @property
    def inside(self) -> bool:
        """Whether all values lie between the least and the greatest of the data, most likely."""
        return self.n_inside is not None and self.n_samples >= self.n_inside

    def __str__(self) -> str:
        several = len(self.q) > 1
        lines = [
            f"{len(self.q)} quantile{'s' * several} of {self.n_samples} records,"
            f" epsilon {float(self.guarantee.epsilon):g}.",
            f"With probability {1 - self.beta:g} {'each' if several else 'it'} is off by at most"
            f" {max(self.errors)} ranks.",
            f"An error of at most {self.alpha:g} of the records takes {self.n_needed} records.",
        ]
        if self.n_inside is None:
            lines.append(
                "What is released for 0 or 1 may lie outside the data, anywhere in the domain: ask for"
                " quantiles a little further in."
            )
        elif not self.inside:
            lines.append(
                f"{self.n_samples} records are fewer than {self.n_inside}: what is released may lie outside"
                " the data, anywhere in the domain."
            )
        return "\n".join(lines)


def quantile_plan(
    n_samples: int,
    q: Any = 0.5,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> QuantilePlan:
    """Return how far off quantiles would be, and how many records they take, without any data.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    q : float or sequence of float of length k, default=0.5
        As for `quantiles`; 0.5 is the median.
    epsilon : float, default=1.0
        As for `quantiles`.
    domain : "float64" or NumberDomain, default="float64"
        As for `quantiles`.
    alpha : float, default=0.05
        Error that is wanted, as a share of the records, in (0, 1).
    beta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    QuantilePlan

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    See Also
    --------
    dplearn.theory.quantile_errors : The bound, and why it holds.
    """
    n = check_count("n_samples", n_samples, low=1)
    numbers, fractions = as_number_domain(domain), check_fractions("q", np.atleast_1d(q).tolist())
    spent = check_number("epsilon", epsilon, low=Fraction(1, 10**9))
    wanted = check_number("alpha", alpha, above=0, below=1)
    failure = check_number("beta", beta, above=0, below=1)
    terms: dict[str, Any] = {"epsilon": spent, "beta": failure}
    return QuantilePlan(
        ApproxDP(spent, assumes=("the number of records is public", numbers.assumption)),
        tuple(map(float, fractions)),
        n,
        tuple(quantile_errors(fractions, numbers.size, n, **terms).tolist()),
        quantile_range_sample_size(fractions, numbers.size, **terms),
        quantile_sample_size(fractions, numbers.size, alpha=wanted, **terms),
        float(wanted),
        float(failure),
    )
