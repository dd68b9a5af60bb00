"""The protocol through which all randomness that privacy rests on must pass.

Every primitive takes Python integers or Fractions and follows its formula exactly: no float decides an
outcome. Supports are finite, so a tape can walk all of them; discrete Gaussians and noise between open ends
are the exceptions, and a tape says how much of them was left out.
"""

from collections.abc import Sequence
from fractions import Fraction
from operator import index
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

__all__ = [
    "Dice",
    "End",
    "Integers",
    "check_ends",
    "check_groups",
    "check_probability",
    "check_ratio",
    "check_size",
]

Integers = NDArray[Any]  # int64, or Python integers in an object array where 64 bits do not suffice
End = int | Integers | None  # of a range that noise is moved into


class Dice(Protocol):
    """A source of exact chance.

    `size=None` gives one Python integer; an integer `size` gives that many independent draws in an array.
    """

    def below(self, n: int, size: int | None = None) -> Any:
        """Draw uniformly from 0..n-1."""

    def bernoulli(self, p: Fraction, size: int | None = None) -> Any:
        """Draw 1 with probability exactly p, else 0."""

    def power_weighted(self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> int:
        """Draw index i with probability proportional to multiplicities[i] * ratio**exponents[i].

        Adding a constant to all exponents changes nothing.
        """

    def permute_and_flip(
        self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
    ) -> int:
        """Draw the group from which permute-and-flip selects.

        Each of the multiplicities[i] candidates of group i is accepted with probability
        ratio**(exponents[i] - least exponent); the candidates come in a uniformly random order and the
        first accepted one is selected. Within its group it is uniform.
        """

    def discrete_laplace(
        self, ratio: Fraction, low: End = None, high: End = None, size: int | None = None
    ) -> Any:
        """Draw k with probability proportional to ratio**abs(k), then move it into low..high.

        An end may be an array of `size` ends, one for each draw; None leaves that side open. With ends
        gap - 1 and gap the draw tells no more than the bit [Z >= gap].
        """

    def geometric(self, ratio: Fraction, low: End = 0, high: End = None, size: int | None = None) -> Any:
        """Draw G >= 0 with P[G >= k] = ratio**k, then move it into low..high, as for `discrete_laplace`."""

    def discrete_gaussian(self, sigma2: Fraction, size: int | None = None) -> Any:
        """Draw k with probability proportional to exp(-k**2 / (2 sigma2))."""


def check_size(size: int | None) -> int | None:
    """Return `size` if it is None or a number of draws."""
    return None if size is None else check_count("size", size)


def check_ratio(ratio: Fraction) -> Fraction:
    """Return `ratio` if it is an exact number strictly between 0 and 1."""
    if not isinstance(ratio, Fraction) or not 0 < ratio < 1:
        raise ValueError(f"ratio must be a Fraction strictly between 0 and 1, got {ratio!r}")
    return ratio


def check_ends(low: End, high: End, size: int | None) -> tuple[End, End]:
    """Return the ends of a range, if none is empty and arrays have an end for each draw.

    The messages hold no value: ends may be the distances of public ends from a private count.
    """
    for end in (low, high):
        if isinstance(end, np.ndarray):
            if end.shape != (size,) or end.dtype.kind not in "iO":
                raise ValueError("ends must be integers, or integer arrays with one end for each draw")
        elif end is not None:
            index(end)
    if low is not None and high is not None and np.asarray(low > high).any():
        raise ValueError("low must be at most high")
    return low, high


def check_probability(p: Fraction) -> Fraction:
    """Return `p` if it is an exact probability."""
    if not isinstance(p, (int, Fraction)) or not 0 <= p <= 1:
        raise ValueError(f"p must be a Fraction between 0 and 1, got {p!r}")
    return Fraction(p)


def check_groups(
    exponents: Sequence[int], multiplicities: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return the indices of the nonempty groups by rising exponent, and their exponents and multiplicities.

    The messages hold no value: exponents and multiplicities are private.
    """
    e, m = np.asarray(exponents), np.asarray(multiplicities)
    if e.dtype == m.dtype == np.int64 and e.shape == m.shape and (m >= 0).all() and m.any():
        kept = np.flatnonzero(m)
        kept = kept[np.argsort(e[kept], kind="stable")]
        return kept.tolist(), e[kept].tolist(), m[kept].tolist()
    groups = [
        (index(e), i, index(m)) for i, (e, m) in enumerate(zip(exponents, multiplicities, strict=True)) if m
    ]
    if not groups or any(m < 0 for _, _, m in groups):
        raise ValueError("multiplicities must be nonnegative and not all zero")
    groups.sort()
    return [i for _, i, _ in groups], [e for e, _, _ in groups], [m for _, _, m in groups]


def one_or_many(values: Integers, size: int | None) -> int | Integers:
    """Return the single value as an int when no size was asked for."""
    return int(values[0]) if size is None else values


def one_moved_into(drawn: int, low: End, high: End) -> int:
    """Return the same as `moved_into` of one number."""
    if low is not None:
        drawn = max(drawn, int(low))
    return drawn if high is None else min(drawn, int(high))


def moved_into(drawn: Integers, low: End, high: End) -> Integers:
    """Return what was drawn, or the end of low..high that it is beyond."""
    ends = [end for end in (low, high) if isinstance(end, np.ndarray)]
    # An end below or above all 64-bit integers binds none of them, or all.
    bounds = [int(end) for end in (low, high) if end is not None and not isinstance(end, np.ndarray)]
    narrow = all(end.dtype == np.int64 for end in ends) and all(-(1 << 63) <= b < 1 << 63 for b in bounds)
    if not narrow:
        drawn = drawn.astype(object)
    if low is not None:
        drawn = np.maximum(drawn, low)
    if high is not None:
        drawn = np.minimum(drawn, high)
    return drawn if narrow else as_array(drawn.tolist())


def as_array(values: Sequence[int]) -> Integers:
    """Return int64 where the values fit, else an object array of Python integers."""
    if all(-(1 << 63) <= v < 1 << 63 for v in values):
        return np.array(values, dtype=np.int64)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
