"""The losses of additive models: the residual of a record, in integers, given its margins and its target.

A residual is minus the derivative of the loss in the margins, with its norm clipped, in units of
2**-RESIDUAL_BITS, and margins are integers in units of 2**-MARGIN_BITS. Every step between them is exact: a
residual depends on the margins and the target of its own record alone. What a fit does differently for
another loss is in `Loss`, or in `NumberLoss` for a regression.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from dplearn.kernels import nearest_shares
from dplearn.learners.linear import BALANCED
from dplearn.queries import Answer, HistogramQuery, LabelledRows, Oracle, StatisticalQuery, VectorQuery
from dplearn.table.targets import STEPS, TargetRange

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
UNCLIPPED = 0.85  # the same for losses of numbers: the share of residuals that are not clipped
_SHARE_VARIANCE, _MEAN_VARIANCE = 0.05, 0.2  # prior variances of a share and of a mean target
_LEAST_SPREAD = 1e-3  # the least standard deviation of a target, as a share of half its range
# The squared norm to which the residuals of all labels are shortened: for the steps, and for the targets of
# the first sums. It is so many times the sum of the released variances of the labels, times 1 plus so many
# times one over the root of the number of labels: of few labels, norms vary more.
_OF_STEPS, _OF_TARGETS = 0.3, 0.8
_VARIED = 1.0

Integers = NDArray[np.int64]
Floats64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Base:
    """The released distribution of the targets, as the first query shows it; arrays are of shape (k,)."""

    loss: Any  # the `Loss` in the unit that suits the targets
    targets: Floats64  # the mean of `loss.targets`, in units of 1
    curvature: Floats64  # of the loss in each margin, at the base
    variance: Floats64  # of the targets
    step_curvature: Floats64  # the mean curvature expected near the fitted model
    margins: Floats64  # those that fit the distribution of the targets
    unit: float = 1.0  # of variances of margins
    # Of a regression, the mean square of the sum of effects with which the steps start, estimated from the
    # spread of residuals; else 0.
    started: float = 0.0
    bases: "tuple[Base, ...]" = ()  # of several outputs, the base of each

    @property
    def outputs(self) -> "tuple[Base, ...]":
        return self.bases or (self,)


class Loss(ABC):
    """A loss of the margins of one record."""

    n_outputs = 1  # margins of a record
    rate, caution = 0.35, 0.0  # the size of a step, as a share of Newton's; how much shorter noise makes it
    base_share = Fraction(2, 100)  # of the budget: for the distribution of the targets
    spread_share = Fraction(0)  # for each of two queries for the spread of residuals; 0: they are not asked
    least_resolution = 10  # a fit of a lower one warns
    mean_below = 0  # the resolution below which a fit is of the mean of the target alone
    line_shares = True  # whether straight lines have greater shares for the masses and the first sums
    # Whether the noise in the effects of many columns adds up to errors that matter: then first shapes,
    # correlations and the result are shrunk by what all columns show together.
    shrinks = False
    reach: int  # the greatest norm of a residual, in units of 2**-RESIDUAL_BITS
    target_reach: int  # the greatest norm of a row of `targets`
    most_target_reach: int  # the greatest `target_reach` of the loss of a base
    shares: Floats64  # of labels: their shares; released ones in the loss of a base

    @property
    def outputs(self) -> "tuple[Loss, ...]":
        return (self,)

    @abstractmethod
    def base_queries(self) -> list[StatisticalQuery]:
        """Return the first queries, for the distribution of the targets: one for each output."""

    @abstractmethod
    def base(self, answers: Sequence[Answer]) -> Base:
        """Return the base, given the answers to the first queries."""

    @property
    def base_move(self) -> int:
        """The squared Euclidean distance by which a replaced record moves the first answers."""
        return sum(query.squared_l2 for query in self.base_queries())

    def ask_base(self, oracle: Oracle, share: Fraction) -> Base:
        """Ask the first queries in one round, in equal shares, and return the base."""
        return self.base(oracle.ask(self.base_queries(), share))

    @abstractmethod
    def targets(self, y: NDArray[Any]) -> Integers:
        """Return the residuals of the first sums, of mean near 0 and of norm at most `target_reach`."""

    @abstractmethod
    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        """Return the residuals of records, of shape (n, n_outputs) and of norm at most `reach`."""


class LogisticLoss(Loss):
    """The logistic loss of two labels, with one margin: the logit of the second label."""

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

    def base_queries(self) -> list[StatisticalQuery]:
        return [HistogramQuery(lambda records: records.y, categories=2)]

    def base(self, answers: Sequence[Answer]) -> Base:
        p = _shares(answers[0])[1:]
        curvature, loss = p * (1 - p), LogisticLoss(self._given, float(p[0]))
        beyond = p - loss._centre / _ONE
        return Base(loss, beyond, curvature, curvature, _CURVED * curvature, np.log(p / (1 - p)))

    def targets(self, y: NDArray[Any]) -> Integers:
        return np.where(y == 1, _ONE - self._centre, -self._centre).astype(np.int64)[:, None]

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        steps = (margins[:, 0] >> _COARSER).clip(-self._last, self._last)
        places = steps + np.where(y == 1, 3 * self._last + 1, self._last)
        return self._residuals.take(places, mode="clip")[:, None]  # in range; this mode is faster

    def probabilities(self, margins: Floats64) -> Floats64:
        """Return the probabilities p of both labels that minimise the clipped loss: p min(1 - e, c) = (1 - p)
        e for e = expit(margin) <= c, the clip.
        """
        rarer = expit(-np.abs(margins[:, 0]))
        other = np.minimum(1 - rarer, self.clip)
        rarer = rarer / (rarer + other)
        second = np.where(margins[:, 0] > 0, 1 - rarer, rarer)
        return np.stack([1 - second, second], axis=1)

    def margin_of(self, logit: float) -> float:
        """Return the margin at which `probabilities` have this logit: the inverse of that function."""
        odds = math.exp(-abs(logit))
        clipped = odds * self.clip <= 1 - self.clip
        log_e = (math.log(self.clip) if clipped else -math.log1p(odds)) - abs(logit)
        return math.copysign(math.log1p(-math.exp(log_e)) - log_e, logit) if logit else 0.0

    def shift(self, weights: Floats64) -> Floats64:
        """Return what is added to the margins, so that their signs are those of weighted labels."""
        return np.array([-self.margin_of(math.log(weights[0]) - math.log(weights[1]))])


class SoftmaxLoss(Loss):
    """The logistic loss of several labels, with a margin for each."""

    def __init__(
        self, n_outputs: int, order: int = 2, clip: Fraction = Fraction(1), shares: Floats64 | None = None
    ):
        self.n_outputs = n_outputs
        self._order, self._clip = order, clip
        self.reach = math.floor(clip * _ONE) if order == 2 else 2 * _ONE
        self.shares = np.full(n_outputs, 1 / n_outputs) if shares is None else shares
        self._centre = np.floor(self.shares * _ONE).astype(np.int64)
        self.target_reach = self._norm_of_targets()
        # Of shares q with sum at most 1, the indicator minus q has a squared norm of at most 1 + |q|^2 <= 2.
        self.most_target_reach = math.isqrt(2 * _ONE**2) + 1 if order == 2 else 2 * _ONE
        behind = np.arange((_SURE << (MARGIN_BITS - _COARSER)) + 1) * 2.0 ** (_COARSER - MARGIN_BITS)
        self._likelihoods = np.rint(2.0**_FINE * np.exp(-behind))
        self._likelihoods[-1] = 0.0

    def base_queries(self) -> list[StatisticalQuery]:
        return [HistogramQuery(lambda records: records.y, categories=self.n_outputs)]

    def base(self, answers: Sequence[Answer]) -> Base:
        p = _shares(answers[0])
        curvature, logs = p * (1 - p), np.log(p)
        loss = SoftmaxLoss(self.n_outputs, self._order, self._clip, p)
        beyond = p - loss._centre / _ONE
        return Base(loss, beyond, curvature, curvature, _CURVED * curvature, logs - logs.mean())

    def targets(self, y: NDArray[Any]) -> Integers:
        found = (y[:, None] == np.arange(self.n_outputs)) * _ONE - self._centre
        return np.asarray(found, dtype=np.int64)

    def _norm_of_targets(self) -> int:
        """Return the greatest norm of a row of `targets`, rounded up."""
        rows = np.abs(self.targets(np.arange(self.n_outputs)))
        if self._order == 1:
            return int(rows.sum(axis=1).max())
        return math.isqrt(int((rows**2).sum(axis=1).max()) - 1) + 1

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        behind = (margins.max(axis=1, keepdims=True) - margins) >> _COARSER
        likely = self._likelihoods.take(behind, mode="clip")  # 0 beyond the last
        # No quotient of such numbers is so near to the next integer that floats round it up to this integer.
        apart = -np.floor(likely * _ONE / likely.sum(axis=1, keepdims=True))
        apart[np.arange(len(y)), y] += _ONE
        if self._order == 1:
            return np.asarray(apart, dtype=np.int64)  # shares sum to at most _ONE
        return shortened(apart, self.reach)

    def probabilities(self, margins: Floats64) -> Floats64:
        return np.asarray(softmax(margins, axis=1))

    def shift(self, weights: Floats64) -> Floats64:
        """Return what is added to the margins, so that the greatest one is that of weighted labels."""
        logs = np.log(weights)
        return np.asarray(logs - logs.mean())


class OutputsLoss(Loss):
    """The losses of several labels of a record, whose residuals are one vector; with the order 2 it is
    shortened to a multiple, between .5 and 1.3, of its root mean square norm: smaller noise gains more than
    that loses.
    """

    def __init__(
        self,
        losses: Sequence[Loss],
        order: int = 2,
        reach: int | None = None,
        target_reach: int | None = None,
    ):
        self._losses, self._order = tuple(losses), order
        self.n_outputs = sum(each.n_outputs for each in losses)
        self._ends = np.cumsum([each.n_outputs for each in losses])[:-1]
        self._whole = _norm([each.reach for each in losses], order)
        self._whole_target = _norm([each.target_reach for each in losses], order)
        self.reach = min(self._whole, reach or self._whole)
        self.target_reach = min(self._whole_target, target_reach or self._whole_target)
        self.most_target_reach = _norm([each.most_target_reach for each in losses], order)

    @property
    def outputs(self) -> tuple[Loss, ...]:
        return self._losses

    def base_queries(self) -> list[StatisticalQuery]:
        sizes = [max(2, loss.n_outputs) for loss in self.outputs]
        return [
            HistogramQuery(partial(_labels_of, place), categories=size) for place, size in enumerate(sizes)
        ]

    def base(self, answers: Sequence[Answer]) -> Base:
        bases = [loss.base([answer]) for loss, answer in zip(self.outputs, answers, strict=True)]
        reaches: list[int | None] = [None, None]
        if self._order == 2:
            variance = float(sum(base.variance.sum() for base in bases))
            varied = variance * (1 + _VARIED / math.sqrt(len(bases)))
            reaches = [
                max(1, math.ceil(math.sqrt(times * varied) * (1 << RESIDUAL_BITS)))
                for times in (_OF_STEPS, _OF_TARGETS)
            ]
        loss = OutputsLoss([base.loss for base in bases], self._order, *reaches)
        names = ("targets", "curvature", "variance", "step_curvature", "margins")
        parts: dict[str, Any] = {
            name: np.concatenate([getattr(base, name) for base in bases]) for name in names
        }
        return Base(loss, **parts, bases=tuple(bases))

    def targets(self, y: NDArray[Any]) -> Integers:
        found = [loss.targets(codes) for loss, codes in zip(self.outputs, y.T, strict=True)]
        return self._kept(np.concatenate(found, axis=1), self.target_reach, self._whole_target)

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        each = zip(self.outputs, np.split(margins, self._ends, axis=1), y.T, strict=True)
        found = [loss.residuals(own, codes) for loss, own, codes in each]
        return self._kept(np.concatenate(found, axis=1), self.reach, self._whole)

    @staticmethod
    def _kept(residuals: Integers, reach: int, whole: int) -> Integers:
        return residuals if reach == whole else shortened(residuals, reach)


class Units(NamedTuple):
    """The units of a regression: of margins, and the margin 0; and of residuals, in that of the target."""

    margin: float
    origin: float
    residual: float


class NumberLoss(Loss):
    """A loss of a number, with one margin, whose residuals are clipped at a multiple of their spread."""

    base_share, spread_share = Fraction(5, 100), Fraction(2, 100)
    least_resolution = 20
    mean_below = 12
    line_shares = False
    reach = target_reach = most_target_reach = _ONE
    name: str  # as the parameter `loss` has it
    deviations: float  # targets are clipped at so many standard deviations in the first sums
    width: float  # residuals at so many of their root mean squares in the steps

    def __init__(self, scale: int = STEPS, bits: int = 10):
        self.scale = scale  # in steps of a target; residuals are clipped at it
        self._bits = bits  # of the numbers of the first query

    @classmethod
    def ranged(cls, target: TargetRange) -> TargetRange:
        """Return the range of targets that the loss is of, or refuse the declared one."""
        return target

    def base_queries(self) -> list[StatisticalQuery]:
        return [target_query(self._bits)]

    def targets(self, y: NDArray[Any]) -> Integers:
        return self.residuals(np.zeros((len(y), 1), dtype=np.int64), y)

    def _spread_and_scale(self, variance: float, noise: float) -> tuple[float, int]:
        """Return the standard deviation of targets, in scales, and the scale, from a released variance."""
        spread = math.sqrt(min(max(variance, noise, _LEAST_SPREAD**2), 1.0))
        scale = max(1, round(min(self.deviations * spread, 2.0) * STEPS))
        return spread * STEPS / scale, scale

    def _narrow_scale(self, spread: float) -> int:
        """Return the scale that suits a released spread of residuals, which is in scales."""
        return max(1, round(min(spread * self.width, 1.0) * self.scale))

    @abstractmethod
    def narrowed(self, base: Base, spread: float, product: float) -> tuple[Base, float]:
        """Return the base in the unit of the released spread of residuals, and the factor of its margins;
        `product` is twice the mean product of targets and the sum of effects from which `spread` is.
        """

    @abstractmethod
    def units(self, target: TargetRange) -> Units:
        """Return the units of margins and residuals."""

    @staticmethod
    @abstractmethod
    def predicted(sums: Floats64) -> Floats64:
        """Return the predicted numbers, given sums of effects."""


class SquaredLoss(NumberLoss):
    """The squared loss, clipped: Huber's. A margin of 0 predicts the centre, and 1 is the scale."""

    name = "squared"
    deviations, width = 2.0, 1.5
    rate, caution = 0.7, 16.0
    shrinks = True

    def __init__(self, centre: int = 0, scale: int = STEPS, bits: int = 10):
        super().__init__(scale, bits)
        self.centre = centre

    def base(self, answers: Sequence[Answer]) -> Base:
        [answer] = answers
        variance = answer.noise_variance
        noise = math.sqrt(variance)
        mean = float(answer.means[0].clip(-1.0, 1.0)) * _MEAN_VARIANCE / (_MEAN_VARIANCE + variance)
        square = float(answer.means[1]) - mean**2 + noise  # too wide a spread clips less
        spread, scale = self._spread_and_scale(square, noise)
        return type(self)(round(mean * STEPS), scale)._base(spread)

    def narrowed(self, base: Base, spread: float, product: float) -> tuple[Base, float]:
        """Return the base in the unit of the spread of residuals, and by what margins are multiplied.

        The mean square of the start follows from the spread V' of its residuals. With the variance V of the
        target, the weight w and the sum E of mean squares it is V' - V + 2 w E: the mean product of target
        and shape is the mean square of the shape.
        """
        scale = self._narrow_scale(spread)
        narrow = type(self)(self.centre, scale)._base(spread * self.scale / scale)
        wider = self.scale / scale
        # A spread of 1 is a default, where noise hides it.
        started = spread**2 - float(base.variance[0]) + product if spread < 1 else 0.0
        return replace(narrow, unit=base.unit * wider**2, started=started * wider**2), wider

    def _base(self, spread: float) -> Base:
        one, variance = np.ones(1), np.full(1, spread**2)
        return Base(self, 0 * one, one, variance, UNCLIPPED * one, 0 * one, unit=spread**2)

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        return (in_scales(y, self.centre, self.scale)[:, None] - margins).clip(-self.reach, self.reach)

    def units(self, target: TargetRange) -> Units:
        unit = target.half * self.scale / STEPS
        return Units(unit, float(target.decode(self.centre / STEPS)), unit)

    @staticmethod
    def predicted(sums: Floats64) -> Floats64:
        return sums


def in_scales(y: NDArray[Any], centre: int, scale: int) -> Integers:
    """Return targets minus a centre, in units of 2**-RESIDUAL_BITS of a scale, rounded to the nearest one."""
    assert MARGIN_BITS == RESIDUAL_BITS
    return np.asarray(((y.astype(np.int64) - centre) * _ONE + scale // 2) // scale)


def target_query(bits: int) -> StatisticalQuery:
    """Return the query for the means of a target in [-1, 1] and of its square, of so many bits.

    **Privacy.** With s = |y + z| and d = |y - z| <= 2 - s, answers are (d, s d) apart: in squared Euclidean
    norm d^2 (1 + s^2) <= 4, in L1 norm (2 - s)(1 + s) <= 9/4. Rounding down adds less than 1 to each number,
    less than 2 to the Euclidean norm. An added target moves them by (y, y^2), at most `reach` steps each.
    """
    reach = 1 << bits

    def moments(records: LabelledRows) -> Integers:
        y = records.y.astype(np.int64)
        finest = STEPS.bit_length() - 1
        return np.stack([y >> (finest - bits), (y * y) >> (2 * finest - bits)], axis=1)

    return VectorQuery(
        moments,
        size=2,
        norm=math.isqrt(2 * reach**2) + 1,
        unit=Fraction(1, reach),
        l1=9 * reach // 4 + 2,
        squared_l2=(2 * reach + 2) ** 2,
        added_l1=2 * reach,
    )


def shortened(residuals: NDArray[Any], reach: int) -> Integers:
    """Return residuals of Euclidean norm at most `reach`, each a multiple of its own, rounded towards 0.

    They are whole numbers; floats are exact, since all products and sums are below 2**52.
    """
    floats = np.asarray(residuals, dtype=np.float64)
    squares = np.maximum(np.einsum("ij,ij->i", floats, floats), 1).astype(np.int64)
    # The root of a whole number below 2**52 is exact after rounding down.
    quotients = np.minimum((reach**2 << (2 * _SHORTER)) // squares, 1 << (2 * _SHORTER))
    roots = np.floor(np.sqrt(quotients)) * 2.0**-_SHORTER
    return np.asarray(np.trunc(floats * roots[:, None]), dtype=np.int64)


def _shares(answer: Answer) -> Floats64:
    """Return shares of labels of which none is rarer than _RAREST, shrunk towards equal shares."""
    kept = _SHARE_VARIANCE / (_SHARE_VARIANCE + answer.noise_variance)
    shares = nearest_shares(kept * answer.means + (1 - kept) / len(answer.means)).clip(_RAREST)
    return np.asarray(shares / shares.sum())


def _labels_of(place: int, records: LabelledRows) -> NDArray[Any]:
    return np.asarray(records.y[:, place])


def _norm(reaches: Sequence[int], order: int) -> int:
    """Return a bound on the norm of numbers of the given magnitudes."""
    return sum(reaches) if order == 1 else math.isqrt(sum(each**2 for each in reaches) - 1) + 1


def weights_of(class_weight: Any, classes: Any, shares: Floats64 | None) -> Floats64:
    """Return the weights of labels, of shape (k,): 1 without a public one; balanced ones are 1 / (k shares),
    of shares at least _RAREST. They multiply the odds, and so shift intercepts after a fit without weights.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == BALANCED:
        assert shares is not None
        return 1 / (len(shares) * shares)
    return np.array([class_weight.get(label, 1.0) for label in classes.tolist()])


def weighted(likely: Floats64, weights: Floats64) -> Floats64:
    """Return the probabilities of labels in the weighted population, of shape (n, k)."""
    if (weights == weights[0]).all():
        return likely
    products = likely * (weights / weights.max())
    return np.asarray(products / products.sum(axis=1, keepdims=True))
