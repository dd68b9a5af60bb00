"""Warnings for releases with too few records for a useful guarantee, from public numbers.

>>> from fractions import Fraction
>>> [text] = quantile_warnings(569, [Fraction(1, 2)], 2**64, epsilon=Fraction(1, 30))
>>> print(text.split(", so that")[0])
n_samples is 569: with epsilon 0.0333, quantiles among 2^64 values may miss by 569 ranks
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import log2

from dplearn.releases.quantile_errors import quantile_errors
from dplearn.releases.tree_errors import TreePlan

__all__ = ["count_warnings", "extremes_warnings", "few_records_warnings", "quantile_warnings", "written"]

_EXACT = 1 << 20  # smaller numbers of values are written as digits
_FEW = 1001  # values: of so many at most, the example would be no smaller domain
_SMALLER = f"a smaller domain=, such as Grid(0, 100, {_FEW})"
_HALF = 0.5
_BETA = 0.05  # probability of failure of the error bound of a distribution function


def few_records_warnings(
    n_samples: int, error: float, *, enough: float, problem: str, size: int | None = None, remedy: str = ""
) -> tuple[str, ...]:
    """Return a warning if the error bound of a release is too large, else no warning.

    Parameters
    ----------
    n_samples : int
        Public. Number of records.
    error : float
        The bound on the error.
    enough : float
        The least error bound that gives a warning.
    problem : str
        The consequence, and its cause.
    size : int, optional
        Number of values in the domain, if it is one of numbers that bounds can make smaller.
    remedy : str, default=""
        A remedy besides a smaller domain and a larger epsilon.

    Returns
    -------
    tuple of str
        One text, or none.
    """
    if error < enough:
        return ()
    domain = "fewer values in domain=" if size is not None and size <= _FEW else _SMALLER
    spend = "spend more epsilon" if remedy else "or spend more epsilon"
    return (f"n_samples is {n_samples}: {problem}; declare {domain}, {spend}{remedy}",)


def quantile_warnings(
    n_samples: int, q: Sequence[Fraction], size: int, *, epsilon: Fraction, columns: int = 1
) -> tuple[str, ...]:
    """Return warnings for quantiles that may lie outside the data, anywhere in the domain.

    Parameters
    ----------
    n_samples : int
        Number of records.
    q : sequence of Fraction
        The quantiles. No number of records is enough for 0 and 1, which have a separate warning.
    size : int
        Number of values in the domain.
    epsilon : Fraction
        Privacy cost of one column.
    columns : int, default=1
        Number of columns.

    Returns
    -------
    tuple of str
        At most two texts.
    """
    inner = tuple(each for each in q if 0 < each < 1)
    ends: tuple[str, ...] = ()
    if len(inner) < len(q):
        ends = (
            f"n_samples is {n_samples}: for any number of records, quantiles 0 and 1 may be any value"
            " beyond the data; use inner quantiles instead, such as 0.01 and 0.99",
        )
    missed = _errors(inner, size, n_samples, epsilon)
    # With an error of q n ranks or more a value may be below all data; with (1 - q) n, above all data.
    shares = [float(off / min(each, 1 - each)) for off, each in zip(missed, inner, strict=True)]
    return ends + few_records_warnings(
        n_samples,
        max(shares, default=0.0),
        enough=n_samples,
        problem=f"with epsilon {float(epsilon):.3g}{' a column' if columns > 1 else ''}, quantiles among"
        f" {written(size)} values may miss by {max(missed, default=0)} ranks, so that every value of the"
        " domain is possible",
        size=size,
        remedy=", or take fewer columns" if columns > 1 else "",
    )


def extremes_warnings(
    n_samples: int, n_inside: int, *, epsilon: Fraction, columns: int = 1
) -> tuple[str, ...]:
    """Return a warning if a search for the ends of the data may end far beyond them.

    Parameters
    ----------
    n_samples : int
        Number of records.
    n_inside : int
        Number of records from which on it rarely does; more than any if none is enough.
    epsilon : Fraction
        Privacy cost of one column.
    columns : int, default=1
        Number of columns.

    Returns
    -------
    tuple of str
        One text, or none.
    """
    return few_records_warnings(
        n_samples,
        float(n_inside > n_samples),
        enough=1,
        problem=f"with epsilon {float(epsilon):.3g}{' a column' if columns > 1 else ''}, the search for the"
        " ends of the data may miss most records or end far beyond all of them",
        remedy=", or take fewer columns" if columns > 1 else "",
    )


def count_warnings(n_samples: int, plan: TreePlan) -> tuple[str, ...]:
    """Return a warning if the error bound of a tree of noisy counts gives no guarantee for the median.

    Parameters
    ----------
    n_samples : int
        Number of records.
    plan : TreePlan
        The plan of the counts.

    Returns
    -------
    tuple of str
        One text, or none.

    Notes
    -----
    With `plan.n_inside` records or more, the median lies between the least and the greatest record with
    probability .95. The error bound of the whole distribution function falls below one half only at several
    times that number.
    """
    error = plan.error(n_samples, _BETA)
    if error < _HALF:
        return ()
    return few_records_warnings(
        n_samples,
        error,
        enough=_HALF,
        problem=f"with epsilon {float(plan.guarantee.epsilon):.3g}, counts among {written(plan.size)} values"
        f" may be off by {100 * error:.0f} % of the records, so that there is no guarantee for the median;"
        f" {plan.sample_size(_HALF, _BETA)} records would be enough, see cdf_plan(..., alpha=0.5).n_needed",
        size=plan.size,
        remedy=", or use a coarser domain of floats, Floats(significand_bits=...)"
        if plan.size >= _EXACT
        else "",
    )


def written(size: int) -> str:
    """Return a number of values as digits, or as a power of 2 if it is large."""
    return str(size) if size < _EXACT else f"2^{log2(size):.0f}"


@lru_cache(maxsize=64)
def _errors(q: tuple[Fraction, ...], size: int, n_samples: int, epsilon: Fraction) -> tuple[int, ...]:
    return tuple(quantile_errors(q, size, n_samples, epsilon=epsilon).tolist()) if q else ()
