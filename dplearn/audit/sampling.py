"""Sampling audits of a claimed guarantee: lower bounds on epsilon and delta that hold with high probability.

Of three parts of the samples, the first sorts bins of outcomes by their estimated ratio of probabilities and
by value, the second chooses an initial segment of an order as the event, and the third, independent of this
choice, bounds the event's probabilities on both sides. So a bound holds for every choice of events.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.audit.enumeration import observe
from dplearn.chance import SystemDice
from dplearn.chance.dice import Dice
from dplearn.kernels import at_most_exp, exp_bounds, log_bounds, success_bounds
from dplearn.privacy import ApproxDP

# The upper bound from n samples is at least ln(2) / n, so above 1e-10; exp(30) times it is above 1. Greater
# epsilons are replaced by 30, because their exp may have too many digits.
_ENOUGH = Fraction(30)
_SIDES = ("rows", "neighbour")
_CHUNK = 1_000_000  # outcomes in memory at a time, and greatest size of the first part
# The fraction of the samples in each of the two parts that choose an event. The choice only has to be nearly
# optimal; the bounds use the remaining samples. Take a count with discrete Laplace noise of a scale 2% too
# small for epsilon 1, r = exp(-1 / 0.98) = 0.3604. The event "noise >= 0" has probability P = 1 / (1 + r)
# = 0.7351 on one side and Q = r / (1 + r) = 0.2649 on the other, so P - e Q = 0.01485. With 10**6 samples
# a side, 8 * 10**5 test it: the standard deviations are 0.00049 for P and 0.00134 for e Q, and twelve
# bounds at 1e-6 in all lie 5.23 deviations away, 0.00960 in sum. That leaves 0.00525, which is 3.67
# deviations of the difference (of 0.00143): missed once in 8,000. With thirds the bounds lie 0.01487
# away, which leaves nothing: missed every other time. With twentieths the choice gets worse: 0.01485 is
# 3.7 deviations of what 100,000 samples show of the difference, but 2.6 of what 50,000 do.
_CHOOSING = Fraction(1, 10)  # in the first part, and again in the second
Counts = NDArray[np.int64]  # of shape (2, number of bins): on the rows, on the neighbour
Mask = NDArray[np.bool_]  # which bins are in an event
_Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

_LEAST = 16  # least number of outcomes in a group of neighbouring bins
# Added to both counts of a ratio. With 1, bins of many outcomes precede bins of few; with 1/100, a bin
# without outcomes on the other side precedes all others.
_SMOOTHINGS = (1.0, 0.01)
_LARGEST_EPSILON = Fraction(700)  # its exp is still a float
_DEVIATIONS = 5.0  # approximate distance of a bound from a frequency, in standard deviations


@dataclass(frozen=True)
class Evidence:
    """The numbers of occurrences of a chosen event on both sides, and bounds on its probabilities.

    Attributes
    ----------
    event : tuple
        Frozen outcomes; with `batch`, intervals (low, high) that include low and exclude high, None for an
        unbounded side.
    likelier : {"rows", "neighbour"}
        The side on which the event was estimated to be more probable.
    hits : tuple of two int
        Number of occurrences on that side, and on the other side.
    n : int
        Number of samples on each side.
    low : float
        Lower bound on the event's probability on the likelier side.
    high : float
        Upper bound on the event's probability on the other side.
    """

    event: tuple[Any, ...]
    likelier: str
    hits: tuple[int, int]
    n: int
    low: float
    high: float

    def refutes(self, claim: ApproxDP) -> bool:
        """Return, without rounding, whether the two bounds contradict the claim."""
        excess = Fraction(self.low) - claim.delta
        return excess > 0 and not at_most_exp(excess / Fraction(self.high), min(claim.epsilon, _ENOUGH))

    def epsilon(self, delta: Fraction) -> float:
        """Return a lower bound on epsilon at this delta, rounded down."""
        excess = Fraction(self.low) - delta
        # P <= exp(epsilon) P' + delta gives low <= exp(epsilon) high + delta.
        if excess <= Fraction(self.high):
            return 0.0
        return _rounded_down(log_bounds(excess / Fraction(self.high))[0])

    def delta(self, epsilon: Fraction) -> float:
        """Return a lower bound on delta at this epsilon, rounded down."""
        excess = Fraction(self.low) - exp_bounds(min(epsilon, _ENOUGH))[1] * Fraction(self.high)
        return _rounded_down(excess) if excess > 0 else 0.0


@dataclass(frozen=True, repr=False)
class SamplingReport:
    """The result of `sample_privacy`.

    Attributes
    ----------
    claim : ApproxDP
        The tested guarantee.
    confidence : Fraction
        All bounds hold together with at least this probability.
    n_samples : int
        Number of samples on each side, in all three parts.
    evidence : tuple of Evidence
        The tested events, the one with the greatest epsilon first.
    """

    claim: ApproxDP
    confidence: Fraction
    n_samples: int
    evidence: tuple[Evidence, ...]

    @property
    def refutes(self) -> bool:
        """Whether the claim is refuted; False does not prove the claim."""
        return any(found.refutes(self.claim) for found in self.evidence)

    @property
    def epsilon_lower(self) -> float:
        """Lower bound, rounded down, on epsilon at the claim's delta."""
        return max(found.epsilon(self.claim.delta) for found in self.evidence)

    @property
    def delta_lower(self) -> float:
        """Lower bound, rounded down, on delta at the claim's epsilon."""
        return max(found.delta(self.claim.epsilon) for found in self.evidence)

    def __repr__(self) -> str:
        first = self.evidence[0]
        shown = ", ".join(map(repr, first.event[:3])) + (", ..." if len(first.event) > 3 else "")
        other = _SIDES[first.likelier == "rows"]
        return (
            f"SamplingReport({'refuted' if self.refutes else 'not refuted'} at {float(self.confidence):.9g}:"
            f" epsilon >= {self.epsilon_lower:.6g} at delta {float(self.claim.delta):.6g},"
            f" delta >= {self.delta_lower:.6g} at epsilon {float(self.claim.epsilon):.6g};"
            f" {first.hits[0]} of {first.n} on the {first.likelier}, {first.hits[1]} on the {other},"
            f" in [{shown}])"
        )


def sample_privacy(
    fit: Callable[..., Any],
    rows: Any,
    neighbour: Any,
    *,
    claim: ApproxDP,
    n_samples: int,
    confidence: Any = 1 - 1e-6,
    batch: bool = False,
    dice: Dice | None = None,
) -> SamplingReport:
    """Sample `fit` on two neighbours and return lower bounds on epsilon and delta.

    Parameters
    ----------
    fit : callable
        `fit(rows, dice)` returns all published values. Exceptions and warnings count as published. With
        `batch`, `fit(rows, dice, size)` returns an array of `size` independent numbers.
    rows, neighbour : object
        Two neighbouring datasets, passed to `fit` unchanged.
    claim : ApproxDP
        The guarantee to test. The caller must ensure that the two datasets are neighbours in its sense.
    n_samples : int
        Number of outcomes on each side; from 100 to 10**9. To detect a violated delta, more than about
        1/delta are needed.
    confidence : number, default=1 - 1e-6
        From 1/2 and below 1. A true claim is refuted with probability at most 1 - confidence.
    batch : bool, default=False
        Whether `fit` returns many outcomes at once, which is needed for millions of samples. Neighbouring
        rare values then share a bin, and values that compare equal (0.0 and -0.0) are one outcome.
    dice : Dice, optional
        Source of chance; the operating system's entropy unless given.

    Notes
    -----
    A claim that is not refuted is not proved. Test a refuted claim again with ten times the samples: of many
    audits, about one in a million refutes a true claim by chance.

    The bounds are those of Clopper and Pearson. The probability of failure is divided equally among all
    bounds: two for each event, at most six events, which are fixed before the third part is drawn.

    **Source.** Ding, Wang, Wang, Zhang and Kifer (2018) and Bichsel, Steffen, Bogunovic and Vechev (2021)
    search for events; here the order, the length of the segment and the test use separate samples.

    Examples
    --------
    >>> import math
    >>> from fractions import Fraction
    >>> from dplearn.audit import sample_privacy
    >>> from dplearn.privacy import ApproxDP
    >>> def count(rows, dice, size):
    ...     return sum(rows) + dice.discrete_laplace(Fraction(1, 4), -50, 50, size=size)
    >>> report = sample_privacy(count, [0, 1], [1, 1], claim=ApproxDP(1), n_samples=20_000, batch=True)
    >>> report.refutes, 1 < report.epsilon_lower <= math.log(4)
    (True, True)
    """
    n = check_count("n_samples", n_samples, low=100, high=10**9)
    confidence = check_number("confidence", confidence, low=Fraction(1, 2), below=1)
    source = (_Batches if batch else _Singles)(fit, SystemDice() if dice is None else dice)
    datasets = (rows, neighbour)
    n_first, n_second = min(int(n * _CHOOSING), _CHUNK), int(n * _CHOOSING)
    n_third = n - n_first - n_second

    samples = [source.draw(data, n_first) for data in datasets]
    bins = source.bins(samples)
    first = np.array([_tally(bins, sample) for sample in samples])
    second = np.array([_counts(source, bins, data, n_second) for data in datasets])
    events = choose_events(first, second, n_third, claim)

    error = (1 - confidence) / (2 * len(events))
    third = np.array([_counts(source, bins, data, n_third) for data in datasets])
    evidence = [_tested(bins, third, side, mask, error) for side, mask in events]
    evidence.sort(key=lambda found: found.epsilon(claim.delta), reverse=True)
    return SamplingReport(claim, confidence, n, tuple(evidence))


def _counts(source: "_Source", bins: "Bins", data: Any, n: int) -> NDArray[np.int64]:
    """Draw n outcomes, a chunk at a time, and count them by bin."""
    total = np.zeros(bins.size, dtype=np.int64)
    for start in range(0, n, _CHUNK):
        total += _tally(bins, source.draw(data, min(_CHUNK, n - start)))
    return total


def _tally(bins: "Bins", outcomes: Any) -> NDArray[np.int64]:
    return np.bincount(bins.place(outcomes), minlength=bins.size)


def _tested(
    bins: "Bins", counts: NDArray[np.int64], side: int, mask: NDArray[np.bool_], error: Fraction
) -> Evidence:
    n = int(counts[side].sum())
    mine, theirs = int(counts[side][mask].sum()), int(counts[1 - side][mask].sum())
    low, high = success_bounds(mine, n, error)[0], success_bounds(theirs, n, error)[1]
    return Evidence(bins.event(mask), _SIDES[side], (mine, theirs), n, low, high)


class _Singles:
    """Outcomes drawn one by one, frozen."""

    def __init__(self, fit: Callable[..., Any], dice: Dice):
        self._fit = fit
        self._dice = dice
        self._cached: dict[Any, Any] = {}  # one object for all occurrences of an outcome

    def draw(self, data: Any, size: int) -> list[Any]:
        run, cached = partial(self._fit, data), self._cached
        drawn = []
        for _ in range(size):
            seen = observe(run, self._dice)
            drawn.append(cached.setdefault(seen, seen))
        return drawn

    def bins(self, samples: list[Any]) -> "Bins":
        return Names([*samples[0], *samples[1]])


class _Batches:
    """Outcomes drawn many at a time, as numbers in an array."""

    def __init__(self, fit: Callable[..., Any], dice: Dice):
        self._fit = fit
        self._dice = dice
        self._dtype: Any = None

    def draw(self, data: Any, size: int) -> NDArray[Any]:
        drawn = self._fit(data, self._dice, size)
        if not isinstance(drawn, np.ndarray) or drawn.shape != (size,) or drawn.dtype.kind not in "iuf":
            raise TypeError(f"fit must return an array of {size} integers or floats with batch=True")
        if self._dtype not in (None, drawn.dtype):
            raise TypeError(f"fit must return arrays of one type, got {self._dtype} and {drawn.dtype}")
        self._dtype = drawn.dtype
        return drawn

    def bins(self, samples: list[Any]) -> "Bins":
        return Intervals(np.concatenate(samples))


_Source = _Singles | _Batches


def _rounded_down(x: Fraction) -> float:
    """Return the greatest float that is not above x, or the one below it."""
    rounded = float(x)
    return rounded if Fraction(rounded) <= x else math.nextafter(rounded, -math.inf)


class Names:
    """A bin for each outcome of a sample, sorted integers first, and one bin for all other outcomes."""

    def __init__(self, sample: Sequence[Any]):
        seen = dict.fromkeys(sample)
        integers = sorted(name for name in seen if type(name) is int)
        self._names = [*integers, *(name for name in seen if type(name) is not int)]
        self._bins = {name: i for i, name in enumerate(self._names)}
        self.size = len(self._names) + 1

    def place(self, outcomes: Sequence[Any]) -> NDArray[np.int64]:
        return np.array([self._bins.get(seen, self.size - 1) for seen in outcomes], dtype=np.int64)

    def event(self, mask: Mask) -> tuple[Any, ...]:
        """Return the outcomes in these bins; a text represents the outcomes that are not in the sample."""
        names = [*self._names, "any outcome that the first part has not seen"]
        return tuple(name for name, held in zip(names, mask, strict=True) if held)


class Intervals:
    """Intervals that start at the values of a sample; the first and the last are unbounded."""

    def __init__(self, sample: NDArray[Any]):
        self._starts = np.unique(sample)
        self.size = len(self._starts)

    def place(self, outcomes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the bin of each outcome; outcomes below all of the sample are in the first bin."""
        return np.maximum(np.searchsorted(self._starts, outcomes, side="right") - 1, 0).astype(np.int64)

    def event(self, mask: Mask) -> tuple[Any, ...]:
        """Return the union of these bins as intervals [low, high); None for an unbounded side."""
        ends = [None, *self._starts[1:].tolist(), None]
        edges = np.flatnonzero(np.diff(np.r_[False, mask, False]))
        return tuple((ends[i], ends[j]) for i, j in zip(edges[::2], edges[1::2], strict=True))


Bins = Names | Intervals  # a partition of all outcomes


def choose_events(first: Counts, second: Counts, n: int, claim: ApproxDP) -> list[tuple[int, Mask]]:
    """Return at most six events, with sides, of the greatest estimated bounds on epsilon and delta."""
    # The first counts order the bins; independent ones, the second, choose the length of the initial segment.
    exp_epsilon, delta = exp(float(min(claim.epsilon, _LARGEST_EPSILON))), float(claim.delta)
    orders = list(_orders(first))
    chosen = {}
    for side in (0, 1):
        found = [_frequencies(second[side], second[1 - side], order) for order in orders]
        bounds = [(_wilson(p, n, -_DEVIATIONS), _wilson(q, n, _DEVIATIONS)) for p, q in found]
        ratios = [(low - delta) / high for low, high in bounds]
        clear = [low - exp_epsilon * high for low, high in bounds]
        # If no bound exceeds the claim, the bounds favour rare events; the greatest difference may be larger.
        slight = [p - exp_epsilon * q for p, q in found]
        for scores in (ratios, clear, slight):
            best = max(range(len(orders)), key=[float(score.max()) for score in scores].__getitem__)
            mask = np.zeros(first.shape[1], dtype=bool)
            mask[orders[best][: int(scores[best].argmax()) + 1]] = True
            chosen[side, mask.tobytes()] = side, mask
    return list(chosen.values())


def _orders(counts: Counts) -> Iterator[NDArray[np.intp]]:
    """Yield orders of the bins: by ratio, by ratio of groups of bins and by value, and their reverses."""
    mine, theirs = counts
    groups = _neighbourhoods(mine + theirs)
    ratios = [(theirs + smoothing) / (mine + smoothing) for smoothing in _SMOOTHINGS]
    ratios.append((np.bincount(groups, theirs) + 1)[groups] / (np.bincount(groups, mine) + 1)[groups])
    for keys in (*ratios, np.arange(len(mine))):
        order = np.argsort(keys, kind="stable")
        yield order
        yield order[::-1]


def _neighbourhoods(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the group of each bin: a frequent bin is a group, rare neighbours form groups of `_LEAST`."""
    frequent = counts >= _LEAST
    rare = np.cumsum(np.where(frequent, 0, counts)) // _LEAST
    begins = frequent | np.r_[False, frequent[:-1] | (np.diff(rare) > 0)]
    return np.cumsum(begins)


def _frequencies(mine: NDArray[np.int64], theirs: NDArray[np.int64], order: NDArray[np.intp]) -> _Pair:
    """Return the frequencies of the initial segments of an order on one side and on the other."""
    # On the other side one outcome is added: an event without outcomes in a sample need not be impossible.
    size = int(mine.sum())
    return np.cumsum(mine[order]) / size, np.minimum(np.cumsum(theirs[order]) + 1, size) / size


def _wilson(frequency: NDArray[np.float64], n: int, deviations: float) -> NDArray[np.float64]:
    """Return Wilson's bound on a probability, a fast approximation of the exact bound."""
    square = deviations**2 / n
    spread = np.sqrt(frequency * (1 - frequency) / n + square / (4 * n))
    return (frequency + square / 2 + deviations * spread) / (1 + square)
