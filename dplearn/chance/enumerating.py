"""Enumeration of all outcomes of a function of dice, each with its exact probability."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, TypeVar

import numpy as np

from dplearn.chance.dice import (
    End,
    Integers,
    as_array,
    check_ends,
    check_groups,
    check_probability,
    check_ratio,
    check_size,
    one_or_many,
)
from dplearn.kernels import (
    gaussian_probabilities,
    geometric_probabilities,
    laplace_probabilities,
    permute_and_flip_probabilities,
    power_at_most,
    power_probabilities,
)

Result = TypeVar("Result")

_power_at_most = lru_cache(maxsize=4096)(power_at_most)
_NoiseDistribution = Callable[[Fraction, int, int], list[Fraction]]
_GroupDistribution = Callable[[Fraction, tuple[int, ...], tuple[int, ...]], Sequence[Fraction]]
_Branches = tuple[tuple[int, ...], tuple[Fraction, ...]]  # outcomes of positive probability, and these


def _branches(outcomes: Sequence[int], distribution: Sequence[Fraction]) -> _Branches:
    kept = [i for i, p in enumerate(distribution) if p]
    return tuple(outcomes[i] for i in kept), tuple(distribution[i] for i in kept)


# The keys of these caches contain a ratio as two integers: the hash of a Fraction costs more than a draw.


@lru_cache(maxsize=4096)
def _group_branches(
    distribution: _GroupDistribution,
    numerator: int,
    denominator: int,
    exponents: tuple[int, ...],
    multiplicities: tuple[int, ...],
) -> _Branches:
    masses = distribution(Fraction(numerator, denominator), exponents, multiplicities)
    return _branches(range(len(masses)), masses)


@lru_cache(maxsize=4096)
def _noise_branches(
    distribution: _NoiseDistribution,
    numerator: int,
    denominator: int,
    low: int | None,
    high: int | None,
    tail_bits: int,
) -> _Branches:
    """Return the branches of one draw; an open end is cut where less than 2**-tail_bits remains."""
    ratio = Fraction(numerator, denominator)
    reach = _power_at_most(ratio, Fraction(1, 1 << tail_bits))
    first = min(-reach, (high or 0) - 1) if low is None else low
    last = max(reach, (low or 0) + 1) if high is None else high
    masses = distribution(ratio, first, last)
    kept = slice(low is None, last - first + (high is not None))
    return _branches(range(first, last + 1)[kept], masses[kept])


@lru_cache(maxsize=256)
def _gaussian_branches(numerator: int, denominator: int, tail_bits: int) -> _Branches:
    support, masses, _ = gaussian_probabilities(Fraction(numerator, denominator), tail_bits)
    return _branches(support, masses)


class EnumeratingDice:
    """Dice that follow one path: each draw takes a given branch; draws after the last take their first
    branch.

    Parameters
    ----------
    branches : sequence of int, default=()
        The path: for each draw the index of its outcome among those of positive probability.
    tail_bits : int, default=40
        Precision of the discrete Gaussian's probabilities, in bits.

    Attributes
    ----------
    branches : list of int
        The branches taken.
    widths : list of int
        The number of branches of each draw.
    """

    def __init__(self, branches: Sequence[int] = (), tail_bits: int = 40):
        self._path = tuple(branches)
        self._tail_bits = tail_bits
        self.branches: list[int] = []
        self.widths: list[int] = []
        self._factors = [Fraction(1)]

    @property
    def probability(self) -> Fraction:
        """Product of the probabilities of the branches taken."""
        over, under = zip(*(each.as_integer_ratio() for each in self._factors), strict=True)
        return Fraction(prod(over), prod(under))  # reduced once

    def below(self, n: int, size: int | None = None) -> Any:
        """Enumerate the uniform distribution on 0..n-1."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        return self._repeat(lambda: self._branch(n, Fraction(1, n)), size)

    def bernoulli(self, p: Fraction, size: int | None = None) -> Any:
        """Enumerate 0 and 1, with probabilities 1 - p and p."""
        p = check_probability(p)
        return self._repeat(lambda: self._choose((0, 1), (1 - p, p)), size)

    def power_weighted(self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> int:
        """Enumerate the nonempty groups with probabilities proportional to their power weights."""
        return self._group(power_probabilities, ratio, exponents, multiplicities)

    def permute_and_flip(
        self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
    ) -> int:
        """Enumerate the nonempty groups with their permute-and-flip probabilities."""
        return self._group(permute_and_flip_probabilities, ratio, exponents, multiplicities)

    def discrete_laplace(
        self, ratio: Fraction, low: End = None, high: End = None, size: int | None = None
    ) -> Any:
        """Enumerate low..high; at an open end, a tail of probability below 2**-tail_bits is omitted."""
        return self._noise(laplace_probabilities, ratio, low, high, size)

    def geometric(self, ratio: Fraction, low: End = 0, high: End = None, size: int | None = None) -> Any:
        """Enumerate low..high; at an open end, a tail of probability below 2**-tail_bits is omitted."""
        return self._noise(geometric_probabilities, ratio, low, high, size)

    def discrete_gaussian(self, sigma2: Fraction, size: int | None = None) -> Any:
        """Enumerate the discrete Gaussian without its tails: the paths' probabilities sum to less than 1."""
        if not isinstance(sigma2, (int, Fraction)) or sigma2 <= 0:
            raise ValueError(f"sigma2 must be a positive Fraction, got {sigma2!r}")
        branches = _gaussian_branches(*sigma2.as_integer_ratio(), self._tail_bits)
        return self._repeat(lambda: self._take(*branches), size)

    def _group(
        self,
        distribution: _GroupDistribution,
        ratio: Fraction,
        exponents: Sequence[int],
        multiplicities: Sequence[int],
    ) -> int:
        indices, e, m = check_groups(exponents, multiplicities)
        power = check_ratio(ratio).as_integer_ratio()
        return indices[self._take(*_group_branches(distribution, *power, _from_zero(e), tuple(m)))]

    def _noise(
        self, distribution: _NoiseDistribution, ratio: Fraction, low: End, high: End, size: int | None
    ) -> Any:
        lows, highs = check_ends(low, high, check_size(size))
        power = check_ratio(ratio).as_integer_ratio()
        count = 1 if size is None else size
        drawn = [
            self._take(*_noise_branches(distribution, *power, _end(lows, i), _end(highs, i), self._tail_bits))
            for i in range(count)
        ]
        return one_or_many(as_array(drawn), size)

    def _repeat(self, draw: Callable[[], int], size: int | None) -> int | Integers:
        return draw() if check_size(size) is None else as_array([draw() for _ in range(size or 0)])

    def _choose(self, outcomes: Sequence[int], distribution: Sequence[Fraction]) -> int:
        return self._take(*_branches(outcomes, distribution))

    def _take(self, outcomes: Sequence[int], probabilities: Sequence[Fraction]) -> int:
        return outcomes[self._branch(len(outcomes), *probabilities)]

    def _branch(self, width: int, *probabilities: Fraction) -> int:
        """Take the next branch of the path; a single probability stands for `width` equal ones."""
        position = len(self.branches)
        branch = self._path[position] if position < len(self._path) else 0
        if not 0 <= branch < width:
            raise ValueError(f"branches must be below {width} at draw {position}, got {branch}")
        self.branches.append(branch)
        self.widths.append(width)
        self._factors.append(probabilities[branch] if len(probabilities) > 1 else probabilities[0])
        return branch

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("dice are never pickled")


def enumerate_paths(
    function: Callable[[EnumeratingDice], Result], tail_bits: int = 40
) -> Iterator[tuple[Result, Fraction]]:
    """Run `function` once for each path of outcomes of its draws.

    Parameters
    ----------
    function : callable
        A function of the dice that uses no other randomness.
    tail_bits : int, default=40
        Precision of the discrete Gaussian's probabilities, in bits.

    Yields
    ------
    result : object
        The result of `function` on this path.
    probability : Fraction
        The probability of this path. All probabilities sum to 1, less the omitted tails of discrete Gaussians
        and of noise with open ends.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.chance import enumerate_paths
    >>> paths = enumerate_paths(lambda dice: dice.below(3) + dice.bernoulli(Fraction(1, 4)))
    >>> [(result, str(p)) for result, p in paths]
    [(0, '1/4'), (1, '1/12'), (1, '1/4'), (2, '1/12'), (2, '1/4'), (3, '1/12')]
    """
    path: list[int] | None = []
    while path is not None:
        dice = EnumeratingDice(path, tail_bits)
        result = function(dice)
        if len(dice.branches) < len(path):
            raise RuntimeError(
                "a path was not followed to its end: some randomness does not come from the dice, or some"
                " state passes from one path to the next"
            )
        yield result, dice.probability
        path = _next_path(dice)


def _next_path(dice: EnumeratingDice) -> list[int] | None:
    """Return the next path in lexicographic order, or None after the last."""
    path = list(dice.branches)
    for width in reversed(dice.widths):
        branch = path.pop()
        if branch + 1 < width:
            return [*path, branch + 1]
    return None


def _end(end: End, i: int) -> int | None:
    return int(end[i]) if isinstance(end, np.ndarray) else end


def _from_zero(exponents: list[int]) -> tuple[int, ...]:
    """Return increasing exponents minus the first, so that equal distributions share a cache entry."""
    return tuple(e - exponents[0] for e in exponents)
