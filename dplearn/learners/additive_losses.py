"""Losses of additive models: the residual of a record, in integers, given its margins and its target.

A residual is minus the derivative of the loss in the margins, with its norm clipped. Margins are integers in
units of 2**-MARGIN_BITS, residuals in units of 2**-RESIDUAL_BITS, and every step between them is exact:
a residual depends on the margins and on the target of its own record alone.

>>> import numpy as np
>>> loss = LogisticLoss(clip=Fraction(1, 2))
>>> margins = np.array([[0], [-3 << MARGIN_BITS]])  # probabilities .5 and .05
>>> (loss.residuals(margins, np.array([1, 0])) / 2**RESIDUAL_BITS).round(2).tolist()
[[0.5], [-0.05]]
>>> loss.probabilities(np.array([[0.0], [-3.0]])).round(2).tolist()  # those that the clipped loss fits
[[0.5, 0.5], [0.91, 0.09]]
>>> loss = SquaredLoss(centre=20_000, scale=30_000)  # residuals are clipped at 30,000
>>> loss.residuals(np.zeros((2, 1), int), np.array([20_000 + 15_000, -60_000])).tolist()
[[2048], [-4096]]
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from dplearn.kernels.simplex import nearest_shares
from dplearn.queries import Answer, HistogramQuery, LabelledRows, Oracle, StatisticalQuery, VectorQuery
from dplearn.table.targets import STEPS

__all__ = [
    "MARGIN_BITS",
    "RESIDUAL_BITS",
    "Base",
    "LogisticLoss",
    "Loss",
    "SoftmaxLoss",
    "SquaredLoss",
    "shortened",
]

MARGIN_BITS = 12
RESIDUAL_BITS = 12

_ONE = 1 << RESIDUAL_BITS
_SURE = 16  # a class whose margin is lower by this has probability 0: exp(-16) < 2**-23
_COARSER = 4  # a probability is looked up in steps of 2**(_COARSER - MARGIN_BITS) of the margin
_FINE = 20  # bits of a likelihood
_SHORTER = 10  # bits of the factor that shortens a residual
_RAREST = 0.002  # the least share of a label
# The mean curvature of the loss during the steps, as a share of p (1 - p) at the margins of the base: most
# records are surer than that, and clipped ones have none.
_CURVED = 0.44
_UNCLIPPED = 0.85  # the same for the squared loss: the share of residuals that are not clipped
_DEVIATIONS = 2.0  # the target is clipped at so many standard deviations
_SHARE_VARIANCE, _MEAN_VARIANCE = 0.05, 0.2  # prior variances of a share and of a mean target
_LEAST_SPREAD = 1e-3  # the least standard deviation of a target, as a share of half its range

Integers = NDArray[np.int64]
Floats64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Base:
    """The distribution of the targets, as far as the first query shows it.

    Attributes
    ----------
    loss : Loss
        The loss, in the unit that suits the targets.
    targets : ndarray of shape (k,)
        Released. The mean of `loss.targets`, in units of 1.
    curvature, variance : ndarray of shape (k,)
        Released. The curvature of the loss in each margin at the base, and the variance of the targets.
    step_curvature : ndarray of shape (k,)
        Released. The mean curvature expected near the fitted model.
    margins : ndarray of shape (k,)
        Released. The margins that fit the distribution of the targets.
    unit : float
        Released. The unit of variances of margins.
    started : float
        Released. Of a regression, the mean square of the sum of effects with which the steps start, estimated
        from the spread of residuals; else 0.
    bases : tuple of Base
        Released. Of several outputs, the base of each; else empty.
    """

    loss: "Loss"
    targets: Floats64
    curvature: Floats64
    variance: Floats64
    step_curvature: Floats64
    margins: Floats64
    unit: float = 1.0
    started: float = 0.0
    bases: "tuple[Base, ...]" = ()

    @property
    def outputs(self) -> "tuple[Base, ...]":
        """The base of each output."""
        return self.bases or (self,)


class Loss(ABC):
    """A loss of the margins of one record.

    Attributes
    ----------
    n_outputs : int
        The number of margins of a record.
    reach : int
        The greatest norm of a residual, in units of 2**-RESIDUAL_BITS.
    target_reach : int
        The greatest norm of a row of `targets`.
    most_target_reach : int
        The greatest `target_reach` of the loss of a base.
    shares : ndarray of float64 of shape (n_labels,)
        Of losses of labels: their shares; released ones in the loss of a base.
    narrows : bool
        Whether residuals are clipped at a multiple of their spread, which has to be released.
    rate, caution : float
        The size of a step, as a share of Newton's, and how much shorter noise makes it.
    """

    n_outputs = 1
    narrows = False
    rate, caution = 0.35, 0.0
    reach: int
    target_reach: int
    most_target_reach: int
    shares: Floats64

    @abstractmethod
    def base_query(self) -> StatisticalQuery:
        """Return the first query, for the distribution of the targets."""

    @abstractmethod
    def base(self, answer: Answer) -> Base:
        """Return the base, given the answer to the first query."""

    @property
    def outputs(self) -> "tuple[Loss, ...]":
        """The loss of each output."""
        return (self,)

    @property
    def base_move(self) -> int:
        """The squared Euclidean distance by which a replaced record moves the first answers."""
        return self.base_query().squared_l2

    def ask_base(self, oracle: Oracle, share: Fraction) -> Base:
        """Ask the first query, and return the base."""
        return self.base(oracle.ask(self.base_query(), share)[0])

    @abstractmethod
    def targets(self, y: NDArray[Any]) -> Integers:
        """Return the residuals of the first sums, when nothing but the base is known.

        Their mean is near 0: the noise in the mean row, which multiplies it, would else hide the effects on
        rare labels.

        Parameters
        ----------
        y : ndarray of int of shape (n,)
            Private. Codes of labels, or of targets.

        Returns
        -------
        ndarray of int64 of shape (n, n_outputs)
            Of norm at most `target_reach`.
        """

    @abstractmethod
    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        """Return the residuals of records, of norm at most `reach`.

        Parameters
        ----------
        margins : ndarray of int64 of shape (n, n_outputs)
            Private. In units of 2**-MARGIN_BITS.
        y : ndarray of int of shape (n,)
            Private. Codes of labels, or of targets.
        """


class LogisticLoss(Loss):
    """The logistic loss of two labels, with one margin: the logit of the second label.

    Parameters
    ----------
    clip : Fraction
        Public. The greatest residual. With 1/2 the loss is linear where the model is wrong, and convex.
    share : float, default=0.5
        Public, or released. The share of the second label, which is subtracted from `targets`.
    """

    most_target_reach = _ONE

    def __init__(self, clip: Fraction, share: float = 0.5):
        self.clip, self._given = float(clip), clip
        self.shares = np.array([1 - share, share])
        self.reach = math.floor(clip * _ONE)
        self._centre = round(share * _ONE)
        self.target_reach = max(self._centre, _ONE - self._centre)
        self._last = _SURE << (MARGIN_BITS - _COARSER)
        steps = np.arange(-self._last, self._last + 1) * 2.0 ** (_COARSER - MARGIN_BITS)
        likely = np.rint(_ONE * expit(steps)).astype(np.int64)
        # Those of the first label, then those of the second.
        self._residuals = np.concatenate([-likely, _ONE - likely]).clip(-self.reach, self.reach)

    def base_query(self) -> StatisticalQuery:
        """Return the histogram of the labels."""
        return HistogramQuery(lambda records: records.y, categories=2)

    def base(self, answer: Answer) -> Base:
        """Return the base with the released shares of the labels."""
        p = _shares(answer)[1:]
        curvature, loss = p * (1 - p), LogisticLoss(self._given, float(p[0]))
        beyond = p - loss._centre / _ONE
        return Base(loss, beyond, curvature, curvature, _CURVED * curvature, np.log(p / (1 - p)))

    def targets(self, y: NDArray[Any]) -> Integers:
        """Return the indicator of the second label, minus its share."""
        return np.where(y == 1, _ONE - self._centre, -self._centre).astype(np.int64)[:, None]

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        """Return label minus probability, clipped."""
        steps = (margins[:, 0] >> _COARSER).clip(-self._last, self._last)
        places = steps + np.where(y == 1, 3 * self._last + 1, self._last)
        return self._residuals.take(places, mode="clip")[:, None]  # in range; this mode is faster

    def probabilities(self, margins: Floats64) -> Floats64:
        """Return the probabilities of both labels that minimise the clipped loss at these margins.

        Clipped at c, the residuals q (1 - e) and -q e of labels of probability p, where e = expit(margin) <=
        c, cancel if p min(1 - e, c) = (1 - p) e.
        """
        rarer = expit(-np.abs(margins[:, 0]))
        other = np.minimum(1 - rarer, self.clip)
        rarer = rarer / (rarer + other)
        second = np.where(margins[:, 0] > 0, 1 - rarer, rarer)
        return np.stack([1 - second, second], axis=1)

    def margin_of(self, logit: float) -> float:
        """Return the margin at which `probabilities` have this logit of the second label.

        With e = expit(-abs(margin)), the odds of the rarer label are e / min(1 - e, clip).
        """
        odds = math.exp(-abs(logit))
        clipped = odds * self.clip <= 1 - self.clip
        log_e = (math.log(self.clip) if clipped else -math.log1p(odds)) - abs(logit)
        return math.copysign(math.log1p(-math.exp(log_e)) - log_e, logit) if logit else 0.0


class SoftmaxLoss(Loss):
    """The logistic loss of several labels, with a margin for each.

    Parameters
    ----------
    n_outputs : int
        The number of labels, at least 3.
    order : {1, 2}, default=2
        Public. The order of the norm of residuals. 2: it is at most 1; longer residuals are shortened. 1: it
        is at most 2.
    shares : ndarray of shape (n_outputs,), optional
        Public, or released. The shares of the labels, which are subtracted from `targets`. None: equal ones.
    """

    def __init__(self, n_outputs: int, order: int = 2, shares: Floats64 | None = None):
        self.n_outputs = n_outputs
        self._order = order
        self.reach = _ONE if order == 2 else 2 * _ONE
        self.shares = np.full(n_outputs, 1 / n_outputs) if shares is None else shares
        self._centre = np.floor(self.shares * _ONE).astype(np.int64)
        self.target_reach = self._norm_of_targets()
        # Of shares q with sum at most 1, the indicator minus q has a squared norm of at most 1 + |q|^2 <= 2.
        self.most_target_reach = math.isqrt(2 * _ONE**2) + 1 if order == 2 else 2 * _ONE
        behind = np.arange((_SURE << (MARGIN_BITS - _COARSER)) + 1) * 2.0 ** (_COARSER - MARGIN_BITS)
        self._likelihoods = np.rint(2.0**_FINE * np.exp(-behind))
        self._likelihoods[-1] = 0.0

    def base_query(self) -> StatisticalQuery:
        """Return the histogram of the labels."""
        return HistogramQuery(lambda records: records.y, categories=self.n_outputs)

    def base(self, answer: Answer) -> Base:
        """Return the base with the released shares of the labels."""
        p = _shares(answer)
        curvature, logs, loss = p * (1 - p), np.log(p), SoftmaxLoss(self.n_outputs, self._order, p)
        beyond = p - loss._centre / _ONE
        return Base(loss, beyond, curvature, curvature, _CURVED * curvature, logs - logs.mean())

    def targets(self, y: NDArray[Any]) -> Integers:
        """Return the indicator of the label, minus the shares."""
        found = (y[:, None] == np.arange(self.n_outputs)) * _ONE - self._centre
        return np.asarray(found, dtype=np.int64)

    def _norm_of_targets(self) -> int:
        """Return the greatest norm of a row of `targets`, rounded up."""
        rows = np.abs(self.targets(np.arange(self.n_outputs)))
        if self._order == 1:
            return int(rows.sum(axis=1).max())
        return math.isqrt(int((rows**2).sum(axis=1).max()) - 1) + 1

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        """Return the indicator of the label minus the probabilities, shortened."""
        behind = (margins.max(axis=1, keepdims=True) - margins) >> _COARSER
        likely = self._likelihoods[np.minimum(behind, len(self._likelihoods) - 1)]
        # No quotient of such numbers is so near to the next integer that floats round it up to this integer.
        shares = np.floor(likely * _ONE / likely.sum(axis=1, keepdims=True)).astype(np.int64)
        apart = (y[:, None] == np.arange(self.n_outputs)) * _ONE - shares
        if self._order == 1:
            return np.asarray(apart, dtype=np.int64)  # shares sum to at most _ONE
        return shortened(apart, self.reach)

    def probabilities(self, margins: Floats64) -> Floats64:
        """Return the probability of each label."""
        return np.asarray(softmax(margins, axis=1))


class SquaredLoss(Loss):
    """The squared loss of a number, with one margin: the prediction. Clipped, it is Huber's loss.

    Parameters
    ----------
    centre, scale : int
        Public, or released. In steps of a target. A margin of 0 predicts the centre, a margin of 1 is the
        scale, and residuals are clipped at the scale.
    bits : int, default=10
        Public. The bits of a target and of its square in the first query.
    """

    narrows = True
    rate, caution = 0.7, 16.0

    def __init__(self, centre: int = 0, scale: int = STEPS, bits: int = 10):
        self.centre, self.scale, self._bits = centre, scale, bits
        self.reach = self.target_reach = self.most_target_reach = _ONE

    def base_query(self) -> StatisticalQuery:
        """Return the query for the means of the target and of its square.

        For targets y, z in [-1, 1] let s = |y + z| and d = |y - z| <= 2 - s. Answers are then (d, s d) apart:
        in squared Euclidean norm d^2 (1 + s^2) <= 4, in L1 norm d (1 + s) <= (2 - s)(1 + s) <= 9/4. Rounding
        down moves each number by less than 1 more, and so the Euclidean norm by less than 2.

        An added target moves them by (y, y^2), whose numbers are at most 1 in magnitude, in steps at most
        `reach`, which is a whole number, so that rounding down keeps it: together 2 in L1 norm, and the root
        of 2 in Euclidean norm.
        """
        reach = 1 << self._bits

        def moments(records: LabelledRows) -> Integers:
            y = records.y.astype(np.int64)
            bits = STEPS.bit_length() - 1
            return np.stack([y >> (bits - self._bits), (y * y) >> (2 * bits - self._bits)], axis=1)

        return VectorQuery(
            moments,
            size=2,
            norm=math.isqrt(2 * reach**2) + 1,
            unit=Fraction(1, reach),
            l1=9 * reach // 4 + 2,
            squared_l2=(2 * reach + 2) ** 2,
            added_l1=2 * reach,
        )

    def base(self, answer: Answer) -> Base:
        """Return the base around the released mean, in the unit of the released standard deviation."""
        variance = answer.noise_variance
        noise = math.sqrt(variance)
        mean = float(answer.means[0].clip(-1.0, 1.0)) * _MEAN_VARIANCE / (_MEAN_VARIANCE + variance)
        square = float(answer.means[1]) - mean**2 + noise  # too wide a spread clips less
        spread = math.sqrt(min(max(square, noise, _LEAST_SPREAD**2), 1.0))
        scale = max(1, round(min(_DEVIATIONS * spread, 2.0) * STEPS))
        return SquaredLoss(round(mean * STEPS), scale)._base(spread * STEPS / scale)

    def narrowed(self, spread: float, width: float) -> Base:
        """Return the base in the unit of the released spread of residuals.

        Parameters
        ----------
        spread : float
            Released. The root mean square of residuals, in units of the scale.
        width : float
            Public. Residuals are clipped at so many spreads.
        """
        scale = max(1, round(min(spread * width, 1.0) * self.scale))
        return SquaredLoss(self.centre, scale)._base(spread * self.scale / scale)

    def _base(self, spread: float) -> Base:
        one, variance = np.ones(1), np.full(1, spread**2)
        return Base(self, 0 * one, one, variance, _UNCLIPPED * one, 0 * one, unit=spread**2)

    def targets(self, y: NDArray[Any]) -> Integers:
        """Return the clipped target."""
        return self.residuals(np.zeros((len(y), 1), dtype=np.int64), y)

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        """Return target minus prediction, clipped."""
        assert MARGIN_BITS == RESIDUAL_BITS
        scaled = ((y.astype(np.int64) - self.centre) * _ONE + self.scale // 2) // self.scale
        return (scaled[:, None] - margins).clip(-self.reach, self.reach)


def shortened(residuals: Integers, reach: int) -> Integers:
    """Return residuals of Euclidean norm at most `reach`, each a multiple of its own, rounded towards 0.

    Parameters
    ----------
    residuals : ndarray of int64 of shape (n, k)
        Private.
    reach : int
        Public, or released; below 2**21.
    """
    squares = np.maximum(np.einsum("ij,ij->i", residuals, residuals), 1)
    # The root of a whole number below 2**52 is exact after rounding down.
    quotients = np.minimum((reach**2 << (2 * _SHORTER)) // squares, 1 << (2 * _SHORTER))
    shorter = residuals * np.sqrt(quotients).astype(np.int64)[:, None]
    return np.asarray(np.sign(shorter) * (np.abs(shorter) >> _SHORTER))


def _shares(answer: Answer) -> Floats64:
    """Return shares of labels of which none is rarer than _RAREST, shrunk towards equal shares."""
    kept = _SHARE_VARIANCE / (_SHARE_VARIANCE + answer.noise_variance)
    shares = nearest_shares(kept * answer.means + (1 - kept) / len(answer.means)).clip(_RAREST)
    return np.asarray(shares / shares.sum())
