"""The protocol `Dice`: primitives for all random draws on which a privacy guarantee depends.

Each primitive takes Python integers or Fractions and has exactly the distribution of its formula: no float
decides an outcome. Supports can be enumerated, but for a small, known probability in open tails.
"""

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from operator import index
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

Integers = NDArray[Any]  # int64, or Python integers in an object array if 64 bits do not suffice
End = int | Integers | None  # an end of the range to which noise is clamped


class Dice(Protocol):
    """Protocol of sources of randomness with exact distributions.

    With `size=None` a method returns one Python integer; with an integer `size` it returns an array of `size`
    independent draws.
    """

    def below(self, n: int, size: int | None = None) -> Any:
        """Draw uniformly from 0..n-1."""

    def bernoulli(self, p: Fraction, size: int | None = None) -> Any:
        """Draw 1 with probability exactly p, else 0."""

    def power_weighted(self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> int:
        """Draw index i with probability proportional to multiplicities[i] * ratio**exponents[i].

        Both are sequences or arrays of integers. Adding a constant to all exponents changes no probability.
        """

    def permute_and_flip(
        self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
    ) -> int:
        """Draw the group of the candidate that permute-and-flip selects.

        Each of the multiplicities[i] candidates of group i is accepted with probability
        ratio**(exponents[i] - least exponent). The candidates are tried in a uniformly random order, and the
        first accepted one is selected. It is uniform within its group.
        """

    def discrete_laplace(
        self, ratio: Fraction, low: End = None, high: End = None, size: int | None = None
    ) -> Any:
        """Draw k with probability proportional to ratio**abs(k), then clamp it to low..high.

        An end may be an array of `size` ends, one for each draw; None leaves that side open. With ends
        gap - 1 and gap the draw has two outcomes, which determine only the bit [Z >= gap].
        """

    def geometric(self, ratio: Fraction, low: End = 0, high: End = None, size: int | None = None) -> Any:
        """Draw G >= 0 with P[G >= k] = ratio**k, then clamp it to low..high, as for `discrete_laplace`."""

    def discrete_gaussian(self, sigma2: Fraction, size: int | None = None) -> Any:
        """Draw k with probability proportional to exp(-k**2 / (2 sigma2))."""


def check_size(size: int | None) -> int | None:
    """Return `size` if it is None or a nonnegative integer; else raise an error."""
    return None if size is None else check_count("size", size)


def check_ratio(ratio: Fraction) -> Fraction:
    """Return `ratio` if it is a Fraction strictly between 0 and 1; else raise ValueError."""
    if not isinstance(ratio, Fraction) or not 0 < ratio.numerator < ratio.denominator:
        raise ValueError(f"ratio must be a Fraction strictly between 0 and 1, got {ratio!r}")
    return ratio


def check_ends(low: End, high: End, size: int | None) -> tuple[End, End]:
    """Return the ends of a range, if no range is empty and arrays have one end for each draw."""
    # The errors contain no values: an end may be the distance of a public end from a private count.
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
    """Return `p` as a Fraction if it is an int or Fraction from 0 to 1; else raise ValueError."""
    if not isinstance(p, (int, Fraction)) or not 0 <= p <= 1:
        raise ValueError(f"p must be a Fraction between 0 and 1, got {p!r}")
    return Fraction(p)


def check_groups(
    exponents: Sequence[int], multiplicities: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return indices, exponents and multiplicities of the nonempty groups, by increasing exponent."""
    # The errors contain no values: exponents and multiplicities are private.
    e, m = list(map(index, exponents)), list(map(index, multiplicities))
    if len(e) != len(m):
        raise ValueError("multiplicities must be as many as exponents")
    if not any(m) or min(m) < 0:
        raise ValueError("multiplicities must be nonnegative and not all zero")
    order = sorted((i for i, each in enumerate(m) if each), key=e.__getitem__)
    return order, [e[i] for i in order], [m[i] for i in order]


def check_many_groups(exponents: Any, multiplicities: Any) -> tuple[NDArray[np.intp], Integers, Integers]:
    """Return what `check_groups` does, as arrays."""
    e, m = (
        array if (array := np.asarray(each)).dtype == np.int64 else as_array(list(map(index, each)))
        for each in (exponents, multiplicities)
    )
    if len(e) != len(m):
        raise ValueError("multiplicities must be as many as exponents")
    kept = np.flatnonzero(m)
    if not kept.size or m.min() < 0:
        raise ValueError("multiplicities must be nonnegative and not all zero")
    order = kept[np.argsort(e[kept], kind="stable")]
    return order, e[order], m[order]


def one_or_many(values: Integers, size: int | None) -> int | Integers:
    """Return the single value as an int if `size` is None, else the array."""
    return int(values[0]) if size is None else values


def one_moved_into(drawn: int, low: End, high: End) -> int:
    """Clamp one number to low..high, as `moved_into` does many."""
    if low is not None:
        drawn = max(drawn, int(low))
    return drawn if high is None else min(drawn, int(high))


def moved_into(drawn: Integers, low: End, high: End) -> Integers:
    ends = [end for end in (low, high) if isinstance(end, np.ndarray)]
    # The clamped numbers fit into 64 bits only if all ends do.
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
    """Return an int64 array if all values fit, else an object array of Python integers."""
    with suppress(OverflowError):
        return np.array(values, dtype=np.int64)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out
