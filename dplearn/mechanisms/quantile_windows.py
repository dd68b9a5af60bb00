"""Many private quantiles at once: ranks with correlated noise, and a selection from a window around each."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import ceil, comb, lgamma, log

from dplearn.chance.dice import Dice
from dplearn.kernels import Cell, Ranks, exp_bounds, log_bounds, selection_ratio
from dplearn.mechanisms.rank_selection import code_by_cost
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

RARE = 64  # greater noise than tabulated has a probability of about 2**-64


@dataclass(frozen=True)
class WindowTerms:
    """The public numbers of `codes_in_windows`."""

    targets: tuple[int, ...]  # numbers of records below the quantiles, nondecreasing
    n: int
    noise: Fraction  # epsilon: a gap between neighbouring ranks moves by d with weight exp(-noise |d| / 2)
    choice: Fraction  # a code d ranks from the noisy rank has weight exp(-choice d) at full strength
    reach: int  # greatest distance that is told apart: a window has 2 `reach` records
    least: int  # up to this gap the windows on both sides have no strength; at least 2 `reach`
    ramp: int  # from a gap of `least` + `ramp` on they have full strength
    decay: Fraction  # kappa > 0 of the proof; no release depends on it
    zone: int  # H of the proof, from 1 to 2 `reach`; no release depends on it

    @property
    def gaps(self) -> tuple[int, ...]:
        """The k + 1 gaps between targets, from 0 and to n."""
        return tuple(high - low for low, high in pairwise((0, *self.targets, self.n)))

    @property
    def ratio(self) -> Fraction:
        """The weight of a gap that moves by 1: just above exp(-noise / 2)."""
        return selection_ratio(self.noise, 1)

    @cached_property
    def epsilon(self) -> Fraction:
        """An upper bound, by `decay` and `zone`, on the privacy cost that `codes_in_windows` proves."""
        rate = log_bounds(1 + self.decay)[0]
        k, low, far = len(self.targets), self.least - 1, max(0, self.least - self.zone)
        beside, beyond = (exp_bounds(-rate * places)[1] for places in (low, far))
        merged = 1 + self.decay + (k + 1) * beside + Fraction(1, self.zone) + beyond
        windows = self.choice * (3 + Fraction(4 * self.reach, self.ramp))
        return self.noise + windows + log_bounds(merged)[1]


def codes_in_windows(
    ranks: Ranks, size: int, terms: WindowTerms, *, privacy: ApproxDP, dice: Dice
) -> list[int] | None:
    """Return private quantiles of integer codes near given ranks, or None if the noise is too great.

    Parameters
    ----------
    ranks : Ranks
        Private. n codes from 0 to size - 1, n = terms.n.
    terms : WindowTerms
        Public, with n > (k + 1) `least` and `least` >= 2 `reach`.
    privacy : ApproxDP
        Its `epsilon` is at least that of `terms`; its `delta` is not used.

    Returns
    -------
    list of int of length k, or None
        The quantiles, in nondecreasing order. None depends on the noise alone, not on data: the caller
        releases something else instead, with the same guarantee.

    Raises
    ------
    ValueError
        If `terms` do not meet the assumptions of the proof, or cost more than `privacy`.

    Notes
    -----
    The noise moves the gaps g(0), ..., g(k) between neighbouring ranks (from 0, to n) by integers that sum to
    0; a move d has weight r**abs(d), r = exp(-noise / 2). A negative gap: None. Else window i surrounds the
    noisy rank c(i) = g(0) + ... + g(i - 1). Its cost of a code is the number of t in 0..reach-1 for which the
    code is less than the record of rank c(i) - t or greater than that of rank c(i) + t + 1. Its strength is
    the lesser gap beside it minus `least`, from 0 to `ramp`. A code is drawn with weight
    exp(-choice cost strength / ramp), and without strength from all codes alike.

    **Privacy.** `privacy`, for one replaced record: the cost is noise + 3 choice + 4 choice reach / ramp +
    ln(F), where F = 1 + kappa + (k + 1) q(1) + 1/H + q(H), q(g) = min(1, (1 + kappa)**(g - least)), q(0) = 0,
    for any kappa > 0 and H in 1..2 reach.

    Proof. Let D and D' be neighbours, and E what both have: n - 1 records, with w(1) <= w(2) <= ... We
    compare D' with the same mechanism on E, whose gaps sum to n - 1 and have the same weights, not
    normalised; and this with D. Normalisation then cancels, as it is the same for D' and D. (None has the
    same probability.)

    *From D' to E.* D' has one record more, between w(b) and w(b + 1). We map gaps g' of D' to gaps of E by
    taking 1 from one gap j; ranks i <= j stay, ranks i > j fall by 1. To find j, draw a start B uniformly
    from H numbers around b, b - reach to b + reach at most. Beginning with the gap that holds B (the gap
    after the last rank <= B), go left to gap 0, then right from the beginning to gap k; stop at a gap g with
    probability q(g). Some gap is at least `least`, so there is a stop. How many g' arrive at some g? For a
    fixed B, if no rank of E equals B, all g + 1(j) begin at the same gap and pass the same gaps before j, so
    at most sum of q(g(j) + 1) times the probability to get to j, which is at most 1 + kappa + (k + 1) q(1),
    as q(x + 1) <= (1 + kappa) q(x) for x >= 1 and q(1) if x = 0. If ranks p + 1..s equal B, then g + 1(j)
    begins at gap s for j >= s, at j for p < j < s, and at p for j <= p. That is the sum for a beginning at p,
    and once more at most q(g(s) + 1). A rank at B whose next rank is less than H away adds q(H) at most;
    there is one other such B among H. On average over B at most F arrive. The weight of a gap changes by 1/r.

    A record of D' of rank p lies between w(p - 1) and w(p). If a rank c <= b stays, its lower records are
    those of E, and its upper ones are less or equal: each cost is 0 or 1 greater in D' than in E. Likewise if
    a rank c >= b (in E) is 1 greater in D'. A rank on the wrong side of j has either been passed, and a gap
    of less than `least` beside it, so no strength; or it lies between b and B, within `reach` of b, and its
    costs differ by at most 1 either way. Windows with strength in D' are more than 2 reach from each other,
    so 2 reach at least in E; costs differ only at ranks above b - reach and below b + reach: in one at most.
    Gap j is less by 1 in E, so the strengths of two windows may be less by 1. A weight so changes by at most
    exp(choice) in one direction, in the other by exp(choice (1 + reach / ramp)), in one window, and by
    exp(choice reach / ramp) in one direction in the other window. Together:
    exp(2 choice + 2 choice reach / ramp).

    *From E to D* add 1 to a gap, found likewise with the start a, where D has its record between w(a) and
    w(a + 1). By the same count at most 1 arrives, as q increases: if ranks of D equal a + 1, s + 1..z, those
    g - 1(j) with j <= s begin at gap z and pass it first, which only lowers their probability. No window with
    strength is on the wrong side, so all changes are in one direction: exp(choice + 2 choice reach / ramp).

    **Assumes.** All values lie in the domain, which is public; the number of records is public.

    **Accuracy.** `dplearn.theory.quantile_errors` bounds the rank errors.

    **Source.** The idea, correlated noise in the ranks and slices around them, is that of Imola, Boninsegna,
    Keller, Aamand, Chowdhury and Pagh (2025); mechanism and proof are our own. Theirs draws uniform values
    for all quantiles if slices meet, and needs gaps that grow with k; here windows lose strength one by one.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.kernels.ranks import SortedCodes
    >>> from dplearn.mechanisms import codes_in_windows
    >>> from dplearn.mechanisms.quantile_windows import WindowTerms
    >>> from dplearn.privacy import ApproxDP
    >>> ranks = SortedCodes(np.arange(2000))
    >>> quarters, tenth = (500, 1000, 1500), Fraction(1, 10)
    >>> terms = WindowTerms(quarters, 2000, Fraction(1), Fraction(1), 50, 100, 400, decay=tenth, zone=20)
    >>> found = codes_in_windows(ranks, 2**16, terms, privacy=ApproxDP(5), dice=SeededDice(0))
    >>> max(abs(code - rank) for code, rank in zip(found, quarters)) < 50
    True
    """
    _check(terms, privacy)
    if len(ranks) != terms.n:
        raise ValueError(f"ranks must be of {terms.n} records, got {len(ranks)}")
    gaps = _noisy_gaps(terms, dice)
    if gaps is None or min(gaps) < 0:
        return None
    strengths = [min(max(gap - terms.least, 0), terms.ramp) for gap in gaps]
    chosen = [
        _code_in_window(ranks, size, centre, min(beside), terms, dice)
        for centre, beside in zip(accumulate(gaps[:-1]), pairwise(strengths), strict=True)
    ]
    return sorted(chosen)


@lru_cache(maxsize=64)
def _check(terms: WindowTerms, privacy: ApproxDP) -> None:
    """Raise ValueError if the proof does not cover the terms at this privacy."""
    k = len(terms.targets)
    if not (
        terms.n > (k + 1) * terms.least
        and terms.least >= 2 * terms.reach >= max(2, terms.zone)
        and min(terms.zone, terms.ramp, *terms.gaps) > 0
        and min(terms.noise, terms.choice, terms.decay) > 0
    ):
        raise ValueError(f"terms must have n > (k + 1) least and least >= 2 reach >= zone, got {terms}")
    if terms.epsilon > epsilon_of(privacy):
        raise ValueError(
            f"terms must cost at most {float(epsilon_of(privacy)):g}, got {float(terms.epsilon):g}"
        )


def _code_in_window(
    ranks: Ranks, size: int, centre: int, strength: int, terms: WindowTerms, dice: Dice
) -> int:
    if not strength:
        return dice.below(size)
    window, middle = Cell(ranks, centre - terms.reach, centre + terms.reach, 0, size), strength * terms.reach
    return code_by_cost(
        window,
        middle,
        middle,
        unit=strength,
        privacy=ApproxDP(2 * terms.choice),
        dice=dice,
        sensitivity=terms.ramp,
    )


def _noisy_gaps(terms: WindowTerms, dice: Dice) -> list[int] | None:
    """Return gaps with noise: moves d that sum to 0, with weights ratio ** sum(abs(d))."""
    # A move is the difference of two numbers, each with weight ratio**number. Given their sum, which is the
    # same for all moves, the numbers to be added are uniform among all with this sum, and so are the others.
    total = _total(terms, dice)
    if total is None:
        return None
    more, fewer = (_composition(total, len(terms.gaps), dice) for _ in range(2))
    return [gap + up - down for gap, up, down in zip(terms.gaps, more, fewer, strict=True)]


def _total(terms: WindowTerms, dice: Dice) -> int | None:
    """Return S with weight w(S) = comb(S + k, k)**2 ratio**(2 S), or, very rarely, None."""
    # Numbers S > T are drawn with the greater weights w(T + 1) a**(S - T - 1), and accepted with the quotient
    # of the two; a rejection is None. So all S have their weights, divided by one number.
    k, ratio = len(terms.targets), terms.ratio
    multiplicities, fall = _tabulated(k, ratio)
    last = len(multiplicities) - 1
    beyond = comb(last + 1 + k, k) ** 2
    tail = ceil(beyond / (1 - fall))
    total = dice.power_weighted(ratio, range(0, 2 * last + 3, 2), [*multiplicities, tail])
    if total <= last:
        return total
    excess = dice.geometric(fall)
    weight = comb(total + excess + k, k) ** 2 * (ratio**2 / fall) ** excess
    accepted = dice.bernoulli(weight / (tail * (1 - fall)))
    return total + excess if accepted else None


@lru_cache(maxsize=16)
def _tabulated(k: int, ratio: Fraction) -> tuple[list[int], Fraction]:
    """Return comb(S + k, k)**2 for S = 0..T, and a with w(S + 1) <= a w(S) for S > T; see `_total`."""
    rate = log(ratio)
    top = log_weight = 0.0
    last = 0
    while True:
        quotient = 1 + k / (last + 2)
        if quotient * float(ratio) < 0.999 and log_weight - log(1 - (quotient * float(ratio)) ** 2) < top - (
            RARE * log(2)
        ):
            break
        last += 1
        log_weight = 2 * (lgamma(last + k + 1) - lgamma(last + 1) - lgamma(k + 1) + last * rate)
        top = max(top, log_weight)
    # (S + 1 + k) / (S + 1) decreases in S.
    return [comb(total + k, k) ** 2 for total in range(last + 1)], (
        Fraction(last + 2 + k, last + 2) * ratio
    ) ** 2


def _composition(total: int, parts: int, dice: Dice) -> list[int]:
    """Return nonnegative integers with the sum `total`, uniformly: the gaps beside parts - 1 drawn places."""
    # Floyd's method draws places without repetition: a place that is taken is replaced by the new last one.
    places: set[int] = set()
    for last in range(total, total + parts - 1):
        place = dice.below(last + 1)
        places.add(last if place in places else place)
    return [high - low - 1 for low, high in pairwise((-1, *sorted(places), total + parts - 1))]
