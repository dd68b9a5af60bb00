"""A code for the interior-point game: who was in the data, from one interior point of it.

Each user holds a number. A coalition answers with any number from the least to the greatest of its own, and a
member is accused. So no private method finds interior points of such data often.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.chance import SystemDice
from dplearn.chance.dice import Dice
from dplearn.kernels.exact import exp_bounds, float_above
from dplearn.kernels.search import first

_MOST_DIGITS = 1 << 14  # of a codeword


@dataclass(frozen=True, eq=False, repr=False)
class InteriorPointCode:
    """Codewords that are numbers; an interior point of some of them shows whose they are.

    Attributes
    ----------
    words : tuple of int of length n
        The codewords, from 0 to size - 1.
    m : int
        The numbers of the code for one user.
    bases : tuple of int of length n - 1
        The bases of the digits of the codes for 2, ..., n users.
    levels : tuple of tuple of int
        Secret: the codewords of the codes for 1, ..., n users.

    Notes
    -----
    *Construction.* The code for one user is a uniform one of m numbers, S(1) = m. Let z_1, ..., z_i be the
    words of a code for i users, with S(i) numbers. The code for i + 1 users has strings of S(i) digits in the
    base b_i, so S(i + 1) = b_i ** S(i) numbers. Its x_0 has uniform digits, and x_j has the first z_j digits
    of x_0, and uniform digits after these.

    *Tracing.* Let a be the number of first digits in which a word agrees with x_0, and z the greatest z_j.
    User 0 is accused if a > z. Otherwise user j is accused, if the code for i users accuses user j - 1 for
    the word a. In the code for one user, the user is accused for the user's number only.

    *Somebody is accused*, always, for an interior point of the words of any coalition. Proof: that of user 0
    alone is x_0, which accuses user 0. Otherwise all words of the coalition agree with x_0 in at least as
    many digits as the least z_j of its members, so a is at least that. If a <= z, it is an interior point of
    all z_j, for which somebody is accused by induction.

    *Innocents are accused* with probability at most 1 / m + 1 / b_1 + ... + 1 / b_(n - 1), whatever the
    coalition does. Proof: if user 0 is innocent, the digit of x_0 after the first z is not known to the
    coalition; a word has it with probability at most 1 / b. Another innocent is accused only by the code for
    i users, for a number a that can be computed from x_0, random digits and the z_j of members; the claim
    follows by induction. A single user without a codeword is accused with probability at most 1 / m.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma B.4, which differs in two places (see the
    errata): its code for one user has one number, and it compares a with the greatest number of digits in
    which some x_j agrees with x_0, which may exceed z.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> from dplearn.audit import InteriorPointCode
    >>> from dplearn.chance import SeededDice
    >>> code = InteriorPointCode.drawn(3, 4, [8, 64], dice=SeededDice(0))
    >>> code
    InteriorPointCode(n=3, m=4, bases=(8, 64), error=0.390625)
    >>> code.size == 2**24576, [code.accused(word).tolist() for word in code.words]
    (True, [[0], [1], [2]])
    >>> round(code.success_bound(epsilon=0.5), 4)
    0.5865
    """

    words: tuple[int, ...]
    m: int
    bases: tuple[int, ...]
    levels: tuple[tuple[int, ...], ...]

    @classmethod
    def drawn(cls, n: int, m: int, bases: Sequence[int], *, dice: Dice | None = None) -> Self:
        """Draw a code.

        Parameters
        ----------
        n : int
            The number of users, at least 1.
        m : int
            The numbers of the code for one user, at least 2.
        bases : sequence of int of length n - 1
            The base of each step, at least 2. A codeword must have at most 2**14 digits. With small m and
            bases `error` is 1, and an accusation says nothing.
        dice : Dice, optional
            Source of chance; the operating system's entropy unless given.
        """
        n, m = check_count("n", n, low=1), check_count("m", m, low=2)
        steps = tuple(check_count(f"bases[{i}]", base, low=2) for i, base in enumerate(bases))
        if len(steps) != n - 1:
            raise ValueError(f"bases must have n - 1 = {n - 1} entries, got {len(steps)}")
        dice = SystemDice() if dice is None else dice
        levels: list[tuple[int, ...]] = [(int(dice.below(m)),)]
        size = m
        for base in steps:
            if size > _MOST_DIGITS:
                raise ValueError(
                    f"m and bases must give codewords of at most 2**14 digits, got 2**{math.log2(size):.0f}"
                )
            levels.append(_longer(levels[-1], size, base, dice))
            size = base**size
        return cls(levels[-1], m, steps, tuple(levels))

    @property
    def size(self) -> int:
        """The number of possible codewords."""
        return self._sizes()[-1]

    @property
    def error(self) -> Fraction:
        """The greatest probability that an innocent is accused."""
        return min(Fraction(1), sum((Fraction(1, base) for base in self.bases), Fraction(1, self.m)))

    def accused(self, word: Any) -> NDArray[np.intp]:
        """Return the accused user: an array of one, or of none.

        Parameters
        ----------
        word : int
            From 0 to size - 1.
        """
        sizes = self._sizes()
        word = check_count("word", word)
        if word >= sizes[-1]:
            raise ValueError("word must be below the size of the code, got a greater one")
        for user, step in enumerate(reversed(range(len(self.bases)))):
            agreed = _agreeing(word, self.levels[step + 1][0], sizes[step], self.bases[step])
            if agreed > max(self.levels[step]):
                return np.array([user])
            word = agreed
        return np.array([len(self.bases)] if word == self.levels[0][0] else [], dtype=np.intp)

    def success_bound(self, *, epsilon: Any, delta: Any = 0) -> float:
        """Return a bound on the probability that a private method finds an interior point of all words.

        Parameters
        ----------
        epsilon : number
            Privacy parameter for one replaced word, positive.
        delta : number, default=0
            Privacy parameter, at least 0 and below 1.

        Returns
        -------
        float
            At most 1; the mean is over the code and the draws of the method.

        Notes
        -----
        For one user it is (exp(epsilon) + (m - 1) delta) / (m - 1 + exp(epsilon)); each step adds
        exp(epsilon) / b + delta. `dplearn.theory.interior_point_lower_bound` has the proof.
        """
        epsilon = check_number("epsilon", epsilon, above=0)
        delta = check_number("delta", delta, low=0, below=1)
        growth = exp_bounds(min(epsilon, Fraction(100)))[1]
        bound = (growth + (self.m - 1) * delta) / (self.m - 1 + growth)
        return min(1.0, float_above(sum((growth / base + delta for base in self.bases), bound)))

    def __repr__(self) -> str:
        return (
            f"InteriorPointCode(n={len(self.words)}, m={self.m}, bases={self.bases},"
            f" error={float(self.error):g})"
        )

    def _sizes(self) -> list[int]:
        """Return the numbers of codewords of the codes for 1, ..., n users."""
        sizes = [self.m]
        for base in self.bases:
            sizes.append(base ** sizes[-1])
        return sizes


def _longer(lengths: tuple[int, ...], size: int, base: int, dice: Dice) -> tuple[int, ...]:
    """Return the words of the code for one user more."""
    origin = dice.below(base, size=size)
    users = [origin]
    for length in lengths:
        drawn = dice.below(base, size=size)
        users.append(np.concatenate((origin[:length], drawn[length:])))
    return tuple(_number(digits.tolist(), base) for digits in users)


def _number(digits: Sequence[int], base: int) -> int:
    value = 0
    for digit in digits:
        value = value * base + int(digit)
    return value


def _agreeing(one: int, other: int, digits: int, base: int) -> int:
    """Return the number of first digits in which two numbers agree."""

    def agree_without(left_out: int) -> bool:
        power: int = base**left_out
        return one // power == other // power

    return digits - first(agree_without, 0, digits)
