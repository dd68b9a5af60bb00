"""Warn where records are so few that a release tells next to nothing; from public numbers alone.

>>> import warnings
>>> from fractions import Fraction
>>> with warnings.catch_warnings(record=True) as caught:
...     warnings.simplefilter("always")
...     warn_of_quantiles(569, [Fraction(1, 2)], 2**64, epsilon=Fraction(1, 30))
>>> print(str(caught[0].message).split(", so that")[0])
n_samples is 569: with epsilon 0.0333, quantiles among 2^64 values may miss by 569 ranks
"""

import warnings
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import log2

from dplearn.theory.quantiles import quantile_errors
from dplearn.theory.thresholds import TreePlan

__all__ = ["warn_if_few", "warn_of_counts", "warn_of_quantiles", "written"]

_EXACT = 1 << 20  # numbers of values that are written out
_HALF = 0.5
_BETA = 0.05  # of what is promised of a distribution


def warn_if_few(
    n_samples: int, off: float, *, enough: float, problem: str, fewer: str = "", stacklevel: int = 1
) -> None:
    """Warn if what is released may be off by as much as makes it worthless.

    Parameters
    ----------
    n_samples : int
        Number of records, which is public.
    off : float
        By how much it may be off.
    enough : float
        What is too much: from so much on there is a warning.
    problem : str
        What may happen, and why.
    fewer : str, default=""
        What else helps than a smaller domain and a larger epsilon.
    stacklevel : int, default=1
        How many calls up the code is that the warning is for; 1 is the caller of this function.
    """
    if off >= enough:
        warnings.warn(
            f"n_samples is {n_samples}: {problem}; declare a smaller domain=, such as Grid(0, 100, 1001),"
            f" spend more epsilon{fewer}",
            stacklevel=stacklevel + 1,
        )


def warn_of_quantiles(
    n_samples: int,
    q: Sequence[Fraction],
    size: int,
    *,
    epsilon: Fraction,
    columns: int = 1,
    stacklevel: int = 1,
) -> None:
    """Warn if quantiles may lie outside the data, anywhere in the domain.

    Parameters
    ----------
    n_samples : int
        Number of records.
    q : sequence of Fraction
        Which quantiles. Of 0 and 1 no number of records is enough: there is another warning of them.
    size : int
        How many values the domain has.
    epsilon : Fraction
        What is spent on a column.
    columns : int, default=1
        How many there are.
    stacklevel : int, default=1
        As for `warn_if_few`.
    """
    few = stacklevel + 1
    inner = tuple(each for each in q if 0 < each < 1)
    if len(inner) < len(q):
        warnings.warn(
            f"n_samples is {n_samples}: however many records there are, quantiles 0 and 1 may be any value"
            " beyond the data; take some further in, such as 0.01 and 0.99",
            stacklevel=few,
        )
    missed = _errors(inner, size, n_samples, epsilon)
    # Off by q n ranks or more, a value may be below all data; by (1 - q) n, above.
    shares = [float(off / min(each, 1 - each)) for off, each in zip(missed, inner, strict=True)]
    warn_if_few(
        n_samples,
        max(shares, default=0.0),
        enough=n_samples,
        problem=f"with epsilon {float(epsilon):.3g}{' a column' if columns > 1 else ''}, quantiles among"
        f" {written(size)} values may miss by {max(missed, default=0)} ranks, so that any value may come"
        " out",
        fewer=", or take fewer columns" if columns > 1 else "",
        stacklevel=few,
    )


def warn_of_counts(n_samples: int, plan: TreePlan, *, stacklevel: int = 1) -> None:
    """Warn if nested intervals are counted with so much noise that a median is promised nothing.

    Parameters
    ----------
    n_samples : int
        Number of records.
    plan : TreePlan
        How they will be counted.
    stacklevel : int, default=1
        As for `warn_if_few`.

    Notes
    -----
    From `plan.n_inside` records on a median of theirs lies among them. The released distribution is promised
    to be off by less than half, somewhere, only from several times as many on.
    """
    off = plan.error(n_samples, _BETA)
    if off < _HALF:
        return
    spent = float(plan.guarantee.epsilon)
    warn_if_few(
        n_samples,
        off,
        enough=_HALF,
        problem=f"with epsilon {spent:.3g}, counts among {written(plan.size)} values may be off by {off:.2g}"
        " of the records, so that nothing is promised of a median;"
        f" {plan.sample_size(_HALF, _BETA)} records would do, as plan() tells: error(n, beta),"
        " sample_size(alpha, beta)",
        fewer=", or tell fewer floats apart, with Floats(significand_bits=...)",
        stacklevel=stacklevel + 1,
    )


def written(size: int) -> str:
    """Return a number of values as digits, or as a power of 2 if it is large."""
    return str(size) if size < _EXACT else f"2^{log2(size):.0f}"


@lru_cache(maxsize=64)
def _errors(q: tuple[Fraction, ...], size: int, n_samples: int, epsilon: Fraction) -> tuple[int, ...]:
    return tuple(quantile_errors(q, size, n_samples, epsilon=epsilon).tolist()) if q else ()
