"""A lower bound on epsilon from one fit to several labels of a record: tracing guesses secret coins."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from dplearn._documented import documented_by
from dplearn._validation import check_choice, check_count, check_number
from dplearn.audit.codes import biased_labels, fair_biases, uniform_biases
from dplearn.chance import SystemDice
from dplearn.chance.dice import Dice
from dplearn.privacy import ApproxDP

_REFUTED = 1e-6  # as for `sample_privacy`: a true claim is refuted at most once in a million audits
_LEAST_GUESSES = 30
_MOST = 10**7


@dataclass(frozen=True, repr=False)
class TraceReport:
    """The result of `trace_outputs`.

    Attributes
    ----------
    code : str
        How labels were drawn.
    n, k : int
        The numbers of records, each with a secret coin, and of labels of a record.
    n_guesses, n_right : int
        The numbers of guessed coins, and of right guesses.
    claim : ApproxDP or None
        The tested guarantee.
    confidence : Fraction
        The probability with which `epsilon` is a lower bound.
    """

    code: str
    n: int
    k: int
    n_guesses: int
    n_right: int
    claim: ApproxDP | None
    confidence: Fraction

    @property
    def delta(self) -> Fraction:
        """The delta of `epsilon`: that of the claim for one replaced record, 0 without a claim."""
        return _replaced(self.claim)[1]

    @property
    def epsilon(self) -> float:
        """Lower bound, rounded down, on the epsilon at `delta` for one replaced record."""
        return epsilon_from_guesses(
            self.n_right, self.n_guesses, n_coins=self.n, delta=self.delta, error=1 - self.confidence
        )

    @property
    def p_value(self) -> float:
        """The greatest probability of so many right guesses if the claim holds.

        Without a claim: if the outputs do not depend on the records.
        """
        epsilon, delta = _replaced(self.claim)
        return guesses_p_value(self.n_right, self.n_guesses, n_coins=self.n, epsilon=epsilon, delta=delta)

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted: its p-value is below 1e-6. False does not prove the claim."""
        return self.claim is not None and self.p_value < _REFUTED

    def __repr__(self) -> str:
        epsilon, delta = (float(each) for each in _replaced(self.claim))
        verdict = "no claim" if self.claim is None else "refuted" if self.refuted else "not refuted"
        at = f"epsilon {epsilon:.6g}" + (f", delta {delta:.6g}" if delta else "")
        return (
            f"TraceReport({verdict}: epsilon >= {self.epsilon:.6g} at delta {delta:.6g} with confidence"
            f" {float(self.confidence):.9g}; {self.n_right} of {self.n_guesses} guesses right, probability at"
            f" most {self.p_value:.3g} at {at}; {self.n} records of {self.k} labels, code {self.code!r})"
        )


def trace_outputs(
    fit_predict: Callable[[NDArray[np.int64], NDArray[np.int64]], Any],
    n: int,
    k: int,
    *,
    code: str = "uniform",
    claim: ApproxDP | None = None,
    n_guesses: int | None = None,
    confidence: Any = 0.95,
    dice: Dice | None = None,
) -> TraceReport:
    """Fit once to labels that identify records, and bound epsilon from below by what the fit predicts.

    Parameters
    ----------
    fit_predict : callable
        `fit_predict(X, Y)` fits X, integers of shape (n, 1), and Y, labels 0 and 1 of shape (n, k), with all
        public assumptions declared. With the codes "uniform" and "fair" all values of X are 1, and it returns
        the labels predicted there, or their probabilities, of shape (k,); with "thresholds" those of all
        records, of shape (n, k).
    n : int
        Number of records, from 1 to 10**7.
    k : int
        Number of labels of a record, at least 1.
    code : {"uniform", "fair", "thresholds"}, default="uniform"
        How labels are drawn. "uniform": independently, 1 with a probability that is uniform, drawn anew for
        each output; this traces every fit that predicts clear majorities. "fair": independent fair coins;
        this needs far fewer outputs if the fit compares noisy counts with n / 2. "thresholds": a threshold of
        X labels all records, for fits that require one; X is 1..n.
    claim : ApproxDP, optional
        The guarantee to test, for one fit to all outputs.
    n_guesses : int, optional
        Number of coins to guess, from 1 to n: those on which the outputs bear most. Unless given, half of n,
        or 30 if that is more, or n if that is less.
    confidence : number, default=0.95
        The probability with which the lower bound on epsilon holds; from 1/2 and below 1.
    dice : Dice, optional
        Source of the labels and coins, unknown to the fit; the operating system's entropy unless given.

    Notes
    -----
    A changed coin is exactly one replaced record, as both candidates are drawn before. The bounds are those
    of `guesses_p_value`, for any `fit_predict` and any code. A claim for added or removed records is tested
    as its consequence for a replaced one, twice the epsilon. A claim that is not refuted is not proved: a
    fault that concerns single records or values needs enumeration or sampling.

    **Source.** Steinke, Nasr and Jagielski (2023), for audits in one run; Bun, Ullman and Vadhan (2014) and
    Bun, Nissim and Stemmer (2016), Section 4, for tracing from the outputs of a learner.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.audit import trace_outputs
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.kernels.exact import decay_ratio
    >>> from dplearn.privacy import ApproxDP
    >>> dice, ratio = SeededDice(0), decay_ratio(Fraction(1))
    >>> def forgetful(X, Y):
    ...     return 2 * (Y.sum(axis=0) + dice.discrete_laplace(ratio, size=Y.shape[1])) > len(Y)
    >>> report = trace_outputs(forgetful, 100, 2_000, code="fair", claim=ApproxDP(1), dice=dice)
    >>> report.n_right, report.n_guesses, report.refuted, round(report.epsilon, 2)
    (50, 50, True, 2.78)
    """
    n, k = check_count("n", n, low=1, high=_MOST), check_count("k", k, low=1)
    candidates = _CODES[check_choice("code", code, tuple(_CODES))]
    if claim is not None and not isinstance(claim, ApproxDP):
        raise TypeError(
            f"claim must be an ApproxDP or None, got {type(claim).__name__}; a rho has to_approx(delta=...)"
        )
    _replaced(claim)
    guesses = max((n + 1) // 2, min(n, _LEAST_GUESSES))
    if n_guesses is not None:
        guesses = check_count("n_guesses", n_guesses, low=1, high=n)
    confidence = check_number("confidence", confidence, low=Fraction(1, 2), below=1)
    dice = SystemDice() if dice is None else dice

    drawn = candidates(n, k, dice)
    coins = dice.below(2, size=n).astype(np.int64)  # after all candidates
    labels = np.where(coins[:, None], drawn.second, drawn.first).astype(np.int64)
    predicted = _checked_labels(fit_predict(drawn.X, labels), drawn.shape)
    evidence = drawn.evidence(predicted)
    # Which coins are guessed, and how, depends on the outputs and the candidates; how many does not.
    guessed = np.argsort(-np.abs(evidence), kind="stable")[:guesses]
    right = int(((evidence[guessed] > 0) == coins[guessed]).sum())
    return TraceReport(code, n, k, guesses, right, claim, confidence)


def _replaced(claim: ApproxDP | None) -> tuple[Fraction, Fraction]:
    """Return the epsilon and delta of a claim for one replaced record; (0, 0) without a claim."""
    if claim is None:
        return Fraction(0), Fraction(0)
    if claim.neighbors == "add_remove":  # a replaced record is one removed and one added
        claim = claim.for_group(2)
    return claim.epsilon, claim.delta


def _checked_labels(predicted: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    labels = np.asarray(predicted)
    if labels.dtype.kind not in "biuf" or labels.shape != shape:
        raise TypeError(
            f"fit_predict must return numbers of shape {shape}, got {labels.dtype} of shape {labels.shape}"
        )
    if not ((labels >= 0) & (labels <= 1)).all():
        raise ValueError("fit_predict must return labels or probabilities, got a number outside 0..1")
    return labels.astype(np.float64)


class _AtOnePoint:
    """Candidates of independent labels, with the same biases for all records at one point."""

    def __init__(self, n: int, biases: NDArray[np.int64], dice: Dice):
        self.first, self.second = (
            np.array([biased_labels(biases, dice) for _ in range(n)]) for _ in ("first", "second")
        )
        self.X = np.ones((n, 1), dtype=np.int64)
        self.shape: tuple[int, ...] = biases.shape

    def evidence(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much more the outputs agree with the second candidate than with the first."""
        pairs = zip(self.first, self.second, strict=True)
        return np.array([(second.astype(np.int8) - first) @ (2 * predicted - 1) for first, second in pairs])


class _OfThresholds:
    """Candidates that thresholds label, whatever the coins: record i is at i + 1, for i from 0."""

    # Each output has one record whose label depends on its coin. Records before it have label 1, records
    # after it label 0, and its own two candidates are different: the threshold is at the record or before it.

    def __init__(self, n: int, k: int, dice: Dice):
        owners = dice.below(n, size=k)
        places = np.arange(n)[:, None]
        own = np.where(places == owners, dice.below(2, size=k), 0).astype(np.uint8)
        self.first = (places < owners).astype(np.uint8) + own
        self.second = self.first ^ (places == owners)
        self.X = places + 1
        self.shape: tuple[int, ...] = (n, k)

    def evidence(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much more the outputs that a record owns agree with its second candidate."""
        pairs = zip(self.first, self.second, predicted, strict=True)
        return np.array([(b.astype(np.int8) - a) @ (2 * labels - 1) for a, b, labels in pairs])


_CODES: dict[str, Callable[[int, int, Dice], _AtOnePoint | _OfThresholds]] = {
    "uniform": lambda n, k, dice: _AtOnePoint(n, uniform_biases(k, dice), dice),
    "fair": lambda n, k, dice: _AtOnePoint(n, fair_biases(k), dice),
    "thresholds": _OfThresholds,
}


_GREATEST = 30.0  # a guess is then wrong with probability 1e-13: no number of right guesses is evidence
_MARGIN = 1 + 1e-6  # betainc has a relative error below 1e-7 (see kernels.confidence_bounds)
_STEPS = 50


def guesses_p_value(
    n_right: int, n_guesses: int, *, n_coins: int | None = None, epsilon: Any, delta: Any = 0
) -> float:
    """Return the greatest probability of so many right guesses if a release is (epsilon, delta)-private.

    Parameters
    ----------
    n_right : int
        Number of right guesses, from 0 to n_guesses.
    n_guesses : int
        Number of guesses r, from 0 to n_coins. It must be fixed before the release, unless delta is 0; which
        coins are guessed may depend on the release.
    n_coins : int, optional
        Number of secret coins m, up to 10**7; the number of guesses unless given.
    epsilon : number
        Nonnegative.
    delta : number, default=0
        At least 0 and below 1.

    Returns
    -------
    float
        From 0 to 1, rounded up by one part in a million.

    Notes
    -----
    The neighbours are tables in which one coin differs. With q = 1 / (1 + exp(-epsilon)), B a Binomial(r, q)
    variable, v right guesses and F = P[B >= v], the probability is at most

        F + m delta F (1 - F) / (v P[B = v]).

    It is the exact maximum over all (epsilon, delta)-private releases and all guessers, wherever
    m delta F <= v P[B = v]. The proof is in docs/theory/tracing.md.

    **Source.** Steinke, Nasr and Jagielski (2023): the same F, with a greater term for delta.

    Examples
    --------
    >>> from dplearn.audit import guesses_p_value
    >>> round(guesses_p_value(48, 50, epsilon=1), 7)
    2.92e-05
    """
    right, guesses, coins = _checked(n_right, n_guesses, n_coins)
    epsilon = check_number("epsilon", epsilon, low=0)
    delta = check_number("delta", delta, low=0, below=1)
    return _p_value(right, guesses, coins, min(float(epsilon), _GREATEST), float(delta))


@documented_by(guesses_p_value)
def epsilon_from_guesses(
    n_right: int, n_guesses: int, *, n_coins: int | None = None, delta: Any = 0, error: Any
) -> float:
    """Return a lower bound on epsilon from a number of right guesses.

    Parameters
    ----------
    error : number
        The greatest probability that the bound is above the true epsilon; above 0 and at most 1/2.

    Returns
    -------
    float
        The greatest epsilon, rounded down, whose p-value is at most `error`; 0.0 if there is none. At most
        30.

    Examples
    --------
    >>> from dplearn.audit import epsilon_from_guesses
    >>> round(epsilon_from_guesses(48, 50, error=0.05), 2)
    1.99
    >>> epsilon_from_guesses(30, 50, error=0.05)
    0.0
    """
    right, guesses, coins = _checked(n_right, n_guesses, n_coins)
    share: float = float(check_number("delta", delta, low=0, below=1))
    most: float = float(check_number("error", error, above=0, high=Fraction(1, 2)))

    # If no (epsilon, delta)-private release exceeds `error`, then none with a smaller epsilon does: the
    # returned epsilon is a bound whether or not the formula is monotone.
    def is_refuted(epsilon: float) -> bool:
        return _p_value(right, guesses, coins, epsilon, share) <= most

    if not is_refuted(0.0):
        return 0.0
    low, high = 0.0, _GREATEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low


def _checked(n_right: int, n_guesses: int, n_coins: int | None) -> tuple[int, int, int]:
    guesses = check_count("n_guesses", n_guesses, high=_MOST)
    right = check_count("n_right", n_right, high=guesses)
    coins = guesses if n_coins is None else check_count("n_coins", n_coins, low=guesses, high=_MOST)
    return right, guesses, coins


def _p_value(right: int, guesses: int, coins: int, epsilon: float, delta: float) -> float:
    if not right or epsilon >= _GREATEST:
        return 1.0
    tail = float(betainc(right, guesses - right + 1, 1 / (1 + math.exp(-epsilon))))
    excess = 0.0
    if delta:
        excess = coins * delta * (1 - tail) * _tail_over_term(right, guesses, epsilon) / right
    return min(1.0, _MARGIN * (tail + excess))


def _tail_over_term(right: int, guesses: int, epsilon: float) -> float:
    """Return P[B >= v] / P[B = v] for B binomial (r, 1 / (1 + exp(-epsilon))), or the largest float."""
    # Successive probabilities have the ratios exp(epsilon) (r - w) / (w + 1).
    w = np.arange(right, guesses, dtype=np.float64)
    with np.errstate(over="ignore"):
        total = 1 + float(np.cumprod(math.exp(epsilon) * (guesses - w) / (w + 1)).sum())
    return min(total, np.finfo(np.float64).max)
