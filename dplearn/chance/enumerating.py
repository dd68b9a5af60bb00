"""Dice that take every outcome of a function, each with its exact probability.

>>> from fractions import Fraction
>>> paths = enumerate_paths(lambda dice: dice.below(3) + dice.bernoulli(Fraction(1, 4)))
>>> [(result, str(p)) for result, p in paths]
[(0, '1/4'), (1, '1/12'), (1, '1/4'), (2, '1/12'), (2, '1/4'), (3, '1/12')]
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
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
from dplearn.core.distributions import (
    gaussian_probabilities,
    geometric_probabilities,
    laplace_probabilities,
    permute_and_flip_probabilities,
    power_at_most,
    power_probabilities,
)

__all__ = ["EnumeratingDice", "enumerate_paths"]

Result = TypeVar("Result")

_power_probabilities = lru_cache(maxsize=4096)(power_probabilities)
_permute_and_flip_probabilities = lru_cache(maxsize=4096)(permute_and_flip_probabilities)
_laplace_probabilities = lru_cache(maxsize=4096)(laplace_probabilities)
_geometric_probabilities = lru_cache(maxsize=4096)(geometric_probabilities)
_power_at_most = lru_cache(maxsize=4096)(power_at_most)
_NoiseLaw = Callable[[Fraction, int, int], list[Fraction]]


class EnumeratingDice:
    """Dice that follow a tape: at each draw the branch it names, past its end the first branch.

    Parameters
    ----------
    branches : sequence of int, default=()
        Which of the possible outcomes each draw takes, in order. Outcomes of probability 0 do not count.
    tail_bits : int, default=40
        Precision of the discrete Gaussian's masses.

    Attributes
    ----------
    probability : Fraction
        Product of the probabilities of the branches taken.
    branches : list of int
        The branches taken.
    widths : list of int
        How many branches each draw had.
    """

    def __init__(self, branches: Sequence[int] = (), tail_bits: int = 40):
        self._tape = tuple(branches)
        self._tail_bits = tail_bits
        self.branches: list[int] = []
        self.widths: list[int] = []
        self.probability = Fraction(1)

    def below(self, n: int, size: int | None = None) -> Any:
        """Walk the uniform distribution on 0..n-1."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        return self._repeat(lambda: self._branch(n, Fraction(1, n)), size)

    def bernoulli(self, p: Fraction, size: int | None = None) -> Any:
        """Walk the two outcomes of a coin."""
        p = check_probability(p)
        return self._repeat(lambda: self._choose((0, 1), (1 - p, p)), size)

    def power_weighted(self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> int:
        """Walk the groups by their exact power weights."""
        indices, e, m = check_groups(exponents, multiplicities)
        return self._choose(indices, _power_probabilities(check_ratio(ratio), _from_zero(e), tuple(m)))

    def permute_and_flip(
        self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
    ) -> int:
        """Walk the groups by their exact permute-and-flip probabilities."""
        indices, e, m = check_groups(exponents, multiplicities)
        return self._choose(
            indices, _permute_and_flip_probabilities(check_ratio(ratio), _from_zero(e), tuple(m))
        )

    def discrete_laplace(
        self, ratio: Fraction, low: End = None, high: End = None, size: int | None = None
    ) -> Any:
        """Walk low..high; beyond an open end a little is left out."""
        return self._noise(_laplace_probabilities, ratio, low, high, size)

    def geometric(self, ratio: Fraction, low: End = 0, high: End = None, size: int | None = None) -> Any:
        """Walk low..high; beyond an open end a little is left out."""
        return self._noise(_geometric_probabilities, ratio, low, high, size)

    def discrete_gaussian(self, sigma2: Fraction, size: int | None = None) -> Any:
        """Walk the discrete Gaussian but for a little: a walk's probabilities then sum to less than 1."""
        if not isinstance(sigma2, (int, Fraction)) or sigma2 <= 0:
            raise ValueError(f"sigma2 must be a positive Fraction, got {sigma2!r}")
        support, masses, _ = gaussian_probabilities(Fraction(sigma2), self._tail_bits)
        return self._repeat(lambda: self._choose(support, masses), size)

    def _noise(self, distribution: _NoiseLaw, ratio: Fraction, low: End, high: End, size: int | None) -> Any:
        lows, highs = check_ends(low, high, check_size(size))
        check_ratio(ratio)
        count = 1 if size is None else size
        drawn = [self._between(distribution, ratio, _end(lows, i), _end(highs, i)) for i in range(count)]
        return one_or_many(as_array(drawn), size)

    def _between(self, distribution: _NoiseLaw, ratio: Fraction, low: int | None, high: int | None) -> int:
        """Walk one draw; an open end is moved out until less than 2**-tail_bits lies at it, and left out."""
        reach = _power_at_most(ratio, Fraction(1, 1 << self._tail_bits))
        first = min(-reach, (high or 0) - 1) if low is None else low
        last = max(reach, (low or 0) + 1) if high is None else high
        masses = distribution(ratio, first, last)
        kept = slice(low is None, last - first + (high is not None))
        return self._choose(range(first, last + 1)[kept], masses[kept])

    def _repeat(self, draw: Callable[[], int], size: int | None) -> int | Integers:
        return draw() if check_size(size) is None else as_array([draw() for _ in range(size or 0)])

    def _choose(self, outcomes: Sequence[int], distribution: Sequence[Fraction]) -> int:
        possible = [i for i, p in enumerate(distribution) if p]
        return outcomes[possible[self._branch(len(possible), *(distribution[i] for i in possible))]]

    def _branch(self, width: int, *probabilities: Fraction) -> int:
        """Take the next branch of the tape; one probability stands for `width` equal ones."""
        position = len(self.branches)
        branch = self._tape[position] if position < len(self._tape) else 0
        if not 0 <= branch < width:
            raise ValueError(f"draw {position} has {width} branches, the tape names branch {branch}")
        self.branches.append(branch)
        self.widths.append(width)
        self.probability *= probabilities[branch] if len(probabilities) > 1 else probabilities[0]
        return branch

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("dice are never pickled")


def enumerate_paths(
    function: Callable[[EnumeratingDice], Result], tail_bits: int = 40
) -> Iterator[tuple[Result, Fraction]]:
    """Run `function` once for each path through its draws.

    Parameters
    ----------
    function : callable
        Takes dice and uses no other chance.
    tail_bits : int, default=40
        Precision of the discrete Gaussian's masses.

    Yields
    ------
    result : object
        What `function` returned.
    probability : Fraction
        Of this path. All of them sum to 1, or to less by what the discrete Gaussian left out.
    """
    tape: list[int] | None = []
    while tape is not None:
        dice = EnumeratingDice(tape, tail_bits)
        yield function(dice), dice.probability
        tape = _next_tape(dice)


def _next_tape(dice: EnumeratingDice) -> list[int] | None:
    """Return the next tape in odometer order, or None after the last."""
    tape = list(dice.branches)
    for width in reversed(dice.widths):
        branch = tape.pop()
        if branch + 1 < width:
            return [*tape, branch + 1]
    return None


def _end(end: End, i: int) -> int | None:
    """Return the end that holds for draw i."""
    return int(end[i]) if isinstance(end, np.ndarray) else end


def _from_zero(exponents: list[int]) -> tuple[int, ...]:
    """Return the rising exponents less the first, so that equal distributions are computed once."""
    return tuple(e - exponents[0] for e in exponents)
