"""Fingerprinting codes: labels of k outputs that show, from the outputs of a fit, who was in the data.

A user's codeword is a row of k labels. A coalition, whose users see their own rows only, makes a word of k
labels, by which the tracer accuses users. `UniformCode` and `ThresholdCode` have exact p-values, whatever the
coalition does. `TardosCode` and `BonehShawCode` are the published ones; these assume that the word keeps to
the labels that all members share. In `InteriorPointCode` users hold numbers.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from dplearn._validation import check_count, check_number
from dplearn.chance import SystemDice
from dplearn.chance.dice import Dice
from dplearn.kernels import exp_bounds, first, float_above

_BIASES = 128  # a bias is one of the odd multiples of 1/256
_BITS = 53  # of the uniform numbers that biases and labels of Tardos' code are made from

Words = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, repr=False)
class _Code:
    """A code: its words, and the probability with which an innocent may be accused."""

    words: Words
    error: Fraction

    def __repr__(self) -> str:
        n, k = self.words.shape
        return f"{type(self).__name__}(n={n}, k={k}, error={float(self.error):g})"

    def _word(self, word: Any) -> NDArray[np.int64]:
        """Return a word of zeros and ones of shape (k,)."""
        k = self.words.shape[1]
        checked = np.asarray(word)
        if checked.shape != (k,) or not np.isin(checked, (0, 1)).all():
            raise ValueError(f"word must be {k} labels 0 or 1, got an array of shape {checked.shape}")
        return checked.astype(np.int64)


class _ExactCode(_Code, ABC):
    """A code that accuses by exact p-values."""

    @abstractmethod
    def p_values(self, word: Any) -> NDArray[np.float64]:
        """Return for each user a bound on the probability that an innocent agrees as much with a word."""

    def accused(self, word: Any) -> NDArray[np.intp]:
        """Return the users whose p-value is at most error / n."""
        return np.flatnonzero(self.p_values(word) <= float(self.error) / len(self.words))


@dataclass(frozen=True, eq=False, repr=False)
class UniformCode(_ExactCode):
    """Codewords of independent labels; the probability of a 1 is uniform, drawn anew for each output.

    Attributes
    ----------
    words : ndarray of uint8 of shape (n, k)
        The codewords.
    error : Fraction
        The greatest probability that `accused` names any innocent.
    biases : ndarray of int64 of shape (k,)
        The probability of a 1 in each output, in 256ths: odd, from 1 to 255.

    Notes
    -----
    Compatible with any two concepts that differ at a point: all records are at that point. Given the biases
    and a word that was made without user i, the number of outputs in which the codeword of i agrees with the
    word has a known distribution.

    **Source.** Bun, Nissim and Stemmer (2016), Theorem 4.7; the biases are those of the fingerprinting lemma,
    the p-values are ours.

    Examples
    --------
    >>> from dplearn.audit import UniformCode
    >>> from dplearn.chance import SeededDice
    >>> code = UniformCode.drawn(10, 1000, dice=SeededDice(0))
    >>> majority = (code.words[:8].mean(axis=0) > 0.5).astype(int)  # users 8 and 9 are innocent
    >>> code.accused(majority).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """

    biases: NDArray[np.int64]

    @classmethod
    def drawn(cls, n: int, k: int, *, error: Any = 0.01, dice: Dice | None = None) -> Self:
        """Draw a code.

        Parameters
        ----------
        n, k : int
            The numbers of users and of outputs, at least 1.
        error : number, default=0.01
            The greatest probability of accusing any innocent.
        dice : Dice, optional
            Source of chance; the operating system's entropy unless given.
        """
        n, k, error, dice = _checked(n, k, error, dice)
        biases = uniform_biases(k, dice)
        words = np.array([biased_labels(biases, dice) for _ in range(n)])
        return cls(words, error, biases)

    def p_values(self, word: Any) -> NDArray[np.float64]:
        """Return for each user the probability that an innocent agrees as much with a word.

        Parameters
        ----------
        word : array-like of shape (k,)
            Labels 0 and 1.

        Returns
        -------
        ndarray of float64 of shape (n,)
            Of an innocent, at most p with probability at most p, for each p, whatever made the word.
        """
        word = self._word(word)
        tails = _agreement_tails(np.where(word, self.biases, 2 * _BIASES - self.biases) / (2 * _BIASES))
        return tails[(self.words == word).sum(axis=1)]


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdCode(_ExactCode):
    """Codewords that a threshold labels in each output: the first t of the users have label 1.

    Attributes
    ----------
    words : ndarray of uint8 of shape (n, k)
        The codewords; that of user i has label 1 where i < t, users counted from 0.
    error : Fraction
        The greatest probability that `accused` names any innocent.
    types : ndarray of int64 of shape (k,)
        The threshold t of each output, uniform in 0..n.

    Notes
    -----
    Compatible with thresholds: user i is at the point i. Without user i, outputs of the types i and i + 1
    cannot be told apart: the number of ones of a word among those of type i + 1 is hypergeometric.

    **Source.** Boneh and Shaw (1998), as used by Bun, Nissim and Stemmer (2016), Corollary 4.6.
    """

    types: NDArray[np.int64]

    @classmethod
    def drawn(cls, n: int, k: int, *, error: Any = 0.01, dice: Dice | None = None) -> Self:
        """Draw a code; see `UniformCode.drawn`."""
        n, k, error, dice = _checked(n, k, error, dice)
        types = dice.below(n + 1, size=k)
        return cls(_below(types, n), error, types)

    def p_values(self, word: Any) -> NDArray[np.float64]:
        """Return for each user the probability that an innocent agrees as much with the labels of a fit.

        Parameters
        ----------
        word : array-like of shape (k,) or (n, k)
            Labels 0 and 1: one for each output, or the labels that the fit gives the points of all users, of
            which each user's own are compared.

        Returns
        -------
        ndarray of float64 of shape (n,)
            Of an innocent, at most p with probability at most p, for each p, whatever made the word.
        """
        n, k = self.words.shape
        labels = np.asarray(word)
        if labels.shape not in ((k,), (n, k)) or not np.isin(labels, (0, 1)).all():
            raise ValueError(f"word must be labels 0 or 1 of shape ({k},) or ({n}, {k}), got {labels.shape}")
        labels = np.broadcast_to(labels, (n, k))
        return np.array([self._tail(i, labels[i]) for i in range(n)])

    def _tail(self, i: int, labels: NDArray[Any]) -> float:
        mine, others = self.types == i + 1, self.types == i
        agreeing = int(labels[mine].sum())
        return _hypergeometric_tail(
            agreeing, int(mine.sum()), int(others.sum()), agreeing + int(labels[others].sum())
        )


@dataclass(frozen=True, eq=False, repr=False)
class TardosCode(_Code):
    """The code of Tardos, whose length is of the least order: 100 n^2 ln(n / error) labels.

    Attributes
    ----------
    words : ndarray of uint8 of shape (n, k)
        The codewords.
    error : Fraction
        The greatest probability that `accused` names any innocent.
    biases : ndarray of float64 of shape (k,)
        The probability of a 1 in each output.

    Notes
    -----
    **Source.** Tardos (2008): with c = n, k = ceil(ln(n / error)), the length is 100 c^2 k; biases are
    sin(r)^2, r uniform where the bias and its complement are at least 1/(300 c); a user is accused whose
    score is above 20 c k.

    Examples
    --------
    >>> from dplearn.audit import TardosCode
    >>> from dplearn.chance import SeededDice
    >>> len(TardosCode.drawn(10, dice=SeededDice(0)).biases)
    70000
    """

    biases: NDArray[np.float64]

    @staticmethod
    def length(n: int, error: Any = 0.01) -> int:
        """Return the published length for n users."""
        return 100 * n**2 * _logarithm(n, error)

    @classmethod
    def drawn(cls, n: int, k: int | None = None, *, error: Any = 0.01, dice: Dice | None = None) -> Self:
        """Draw a code; of the published length unless k is given. See `UniformCode.drawn`."""
        k = cls.length(check_count("n", n, low=1), error) if k is None else k
        n, k, error, dice = _checked(n, k, error, dice)
        least = math.asin(math.sqrt(1 / (300 * n)))
        biases = np.sin(least + (math.pi / 2 - 2 * least) * _uniform(k, dice)) ** 2
        words = np.array([_uniform(k, dice) < biases for _ in range(n)], dtype=np.uint8)
        return cls(words, error, biases)

    def scores(self, word: Any) -> NDArray[np.float64]:
        """Return the score of each user; only outputs with a 1 in the word count."""
        used = self._word(word) == 1
        odds = np.sqrt((1 - self.biases) / self.biases)[used]
        return np.where(self.words[:, used], odds, -1 / odds).sum(axis=1)

    def accused(self, word: Any) -> NDArray[np.intp]:
        """Return the users whose score is above the published threshold."""
        n = len(self.words)
        return np.flatnonzero(self.scores(word) > 20 * n * _logarithm(n, self.error))


@dataclass(frozen=True, eq=False, repr=False)
class BonehShawCode(_Code):
    """The code of Boneh and Shaw: threshold labels of n - 1 types of output, each repeated equally often.

    Attributes
    ----------
    words : ndarray of uint8 of shape (n, k)
        The codewords.
    error : Fraction
        The greatest probability that `accused` names any innocent.
    types : ndarray of int64 of shape (k,)
        The threshold t of each output, from 1 to n - 1, in a secret random order.

    Notes
    -----
    **Source.** Boneh and Shaw (1998), their code of n users and its tracing: each type occurs d times, d at
    least 2 n^2 ln(2 n / error). With W_t the number of ones of the word in outputs of type t: the first user
    is accused if W_1 > 0, the last if W_(n-1) < d, and user s between them if, with w = W_(s-1) + W_s, the
    former is below w/2 - sqrt((w/2) ln(2 n / error)).

    Examples
    --------
    >>> from dplearn.audit import BonehShawCode
    >>> from dplearn.chance import SeededDice
    >>> BonehShawCode.drawn(10, dice=SeededDice(0)).words.shape
    (10, 13689)
    """

    types: NDArray[np.int64]

    @staticmethod
    def repetitions(n: int, error: Any = 0.01) -> int:
        """Return the published number d of outputs of each type."""
        return math.ceil(2 * n**2 * math.log(2 * n / float(check_number("error", error, above=0, below=1))))

    @classmethod
    def drawn(cls, n: int, d: int | None = None, *, error: Any = 0.01, dice: Dice | None = None) -> Self:
        """Draw a code of d outputs of each type; the published number unless given. n is at least 2."""
        n = check_count("n", n, low=2)
        d = cls.repetitions(n, error) if d is None else d
        n, d, error, dice = _checked(n, d, error, dice)
        types = np.repeat(np.arange(1, n), d)[_permutation((n - 1) * d, dice)]
        return cls(_below(types, n), error, types)

    def accused(self, word: Any) -> NDArray[np.intp]:
        """Return the users that the published rule accuses."""
        n = len(self.words)
        ones = np.bincount(self.types, weights=self._word(word), minlength=n)
        d = self.words.shape[1] // (n - 1)
        log = math.log(2 * n / float(self.error))
        guilty = [0] if ones[1] > 0 else []
        for s in range(1, n - 1):
            half = (ones[s] + ones[s + 1]) / 2
            guilty += [s] if ones[s] < half - math.sqrt(half * log) else []
        return np.array([*guilty, *([n - 1] if ones[n - 1] < d else [])], dtype=np.intp)


def uniform_biases(k: int, dice: Dice) -> NDArray[np.int64]:
    """Return k probabilities in 256ths, uniform among the odd numbers from 1 to 255."""
    return 2 * dice.below(_BIASES, size=k) + 1


def fair_biases(k: int) -> NDArray[np.int64]:
    """Return k times the probability 1/2, in 256ths."""
    return np.full(k, _BIASES, dtype=np.int64)


def biased_labels(biases: NDArray[np.int64], dice: Dice) -> Words:
    """Return a label for each output, 1 with exactly the probability of its bias."""
    drawn: NDArray[np.bool_] = dice.below(2 * _BIASES, size=len(biases)) < biases
    return drawn.astype(np.uint8)


def _checked(n: Any, k: Any, error: Any, dice: Dice | None) -> tuple[int, int, Fraction, Dice]:
    return (
        check_count("n", n, low=1),
        check_count("k", k, low=1),
        check_number("error", error, above=0, below=1),
        SystemDice() if dice is None else dice,
    )


def _below(types: NDArray[np.int64], n: int) -> Words:
    return (np.arange(n)[:, None] < types).astype(np.uint8)


def _logarithm(n: int, error: Any) -> int:
    return math.ceil(math.log(n / float(check_number("error", error, above=0, below=1))))


def _uniform(k: int, dice: Dice) -> NDArray[np.float64]:
    return dice.below(1 << _BITS, size=k) / (1 << _BITS)


def _permutation(size: int, dice: Dice) -> NDArray[np.intp]:
    """Return a random order: that of numbers of 63 bits, of which two are equal with probability 1e-9."""
    return np.argsort(dice.below(1 << 63, size=size), kind="stable")


def _agreement_tails(likely: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P[at least a of independent events], for a = 0..k, by sums of products of positive numbers."""
    law = np.zeros(len(likely) + 1)
    law[0] = 1
    for done, p in enumerate(likely.tolist(), start=1):
        law[1 : done + 1] = law[1 : done + 1] * (1 - p) + law[:done] * p
        law[0] *= 1 - p
    tails: NDArray[np.float64] = np.cumsum(law[::-1])[::-1]
    return np.minimum(tails, 1)


def _hypergeometric_tail(found: int, marked: int, others: int, drawn: int) -> float:
    """Return P[at least `found` of `drawn` are marked], drawn from marked and others without replacement."""
    least, most = max(found, drawn - others), min(marked, drawn)
    if least > most:
        return 0.0
    counts = np.arange(least, most + 1)
    logs = _log_choices(marked, counts) + _log_choices(others, drawn - counts)
    return min(1.0, float(np.exp(logs - _log_choices(marked + others, np.array(drawn))).sum()))


def _log_choices(n: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


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
    *Construction.* The code for one user is a uniform one of m numbers. Let z_1, ..., z_i be the words of a
    code for i users, with S(i) numbers. That for i + 1 users has strings of S(i) digits in the base b_i: x_0
    has uniform digits, and x_j has the first z_j digits of x_0, and uniform digits after these.

    *Tracing.* Let a be the number of first digits in which a word agrees with x_0, and z the greatest z_j.
    User 0 is accused if a > z. Otherwise user j is accused, if the code for i users accuses user j - 1 for
    the word a. In the code for one user, the user is accused for the user's number only.

    *Somebody is accused*, always, for an interior point of the words of any coalition. Proof: that of user 0
    alone is x_0. Otherwise all words of the coalition agree with x_0 in at least as many digits as the least
    z_j of its members, so a is at least that. If a <= z, it is an interior point of all z_j, for which
    somebody is accused by induction.

    *Innocents are accused* with probability at most 1 / m + 1 / b_1 + ... + 1 / b_(n - 1), whatever the
    coalition does. Proof: if user 0 is innocent, the coalition does not know the digit of x_0 after the first
    z, which a word has with probability at most 1 / b. Another innocent is accused only by the code for i
    users, for a number a that can be computed from x_0, random digits and the z_j of members.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma B.4, with two differences (see the errata).

    Examples
    --------
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
