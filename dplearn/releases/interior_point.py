"""Private release of an interior point: a number between the least and the greatest of private numbers.

The number of records needed grows with the logarithm of the domain's size for the exponential method, and
with its iterated logarithm for the recursive method.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.fit import N_IS_PUBLIC, Facts
from dplearn.kernels import decay_ratio, laplace_quantile, least, log_bounds, power_at_most, selection_ratio
from dplearn.mechanisms.choosing import choosing_threshold
from dplearn.mechanisms.interior_point import (
    PrefixLevel,
    RecursiveSizes,
    interior_point_code,
    next_domain_size,
    recursive_interior_point,
)
from dplearn.privacy import ApproxDP
from dplearn.privacy.ledger import PrivacyLedger
from dplearn.releases.release import (
    ALL_GROUPS,
    ColumnRelease,
    Released,
    ReleasePlan,
    as_number_domain,
    few_records,
)
from dplearn.table import Table
from dplearn.table.ranks import gathered_codes

_METHODS = ("exponential", "recursive")
_CONSTANTS = ("tight", "paper")
_SMALLEST = Fraction(1, 10**9)  # least epsilon; a smaller one would need an impossible number of records
_PARTS = 1 << 10  # epsilon is divided in units of 1/1024
_ROUNDS = 6  # iterations of the division of epsilon
_SLACK = 1e-12  # relative bound on rounding errors
_PAPER_BASE = 32  # the paper uses no recursion for domains up to this size


def iterated_logarithm(size: int) -> int:
    """Return log*(size): the number of times log2 is applied until the result is at most 1."""
    times, tower = 0, 1
    while tower < size:
        # A power of 2 with more bits than `size` already ends the loop; the full power is not computed.
        times, tower = times + 1, 1 << min(tower, size.bit_length())
    return times


def interior_point_sample_size(
    method: str, *, domain_size: int, epsilon: Any, delta: Any = 0, beta: Any = 0.05, constants: str = "tight"
) -> int:
    """Return the number of records with which a method finds an interior point of any data.

    Parameters
    ----------
    method : {"exponential", "recursive"}
        The method.
    domain_size : int
        Number of codes in the domain; an integer of any size.
    epsilon : number
        Positive, at least 1e-9.
    delta : number, default=0
        Used by "recursive", where it must be positive.
    beta : number, default=0.05
        Probability of failure, in (0, 1).
    constants : {"tight", "paper"}, default="tight"
        "tight": the constants proved here. "paper": the published constants.

    Returns
    -------
    int
        From which on the released code is an interior point with probability at least 1 - beta.

    Notes
    -----
    "exponential" with "tight" is the least possible number. Proof: let r be the ratio of the selection, so
    that a code of depth q has weight r ** -q, and let v be the first value that n/2 or more records do not
    exceed. Its depth is n/2 + u, u >= 0, and the next value on that side, if there is one, has depth n/2 - u.
    Their weights add up to r ** -(n/2) (r ** -u + r ** u), which is least for u = 0 (n even) or 1/2 (n odd),
    and at most domain_size - 2 codes are outside the data, with weight 1 each. Two halves of the records at
    two neighbouring codes attain both bounds. If all records are equal, one code has weight r ** -n and all
    others weight 1. "paper": ``(4 / epsilon) ln(|X| / beta)``, from Proposition 3.5.

    "recursive": see `recursive_sizes`; "paper" is Theorem 3.4.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 3.

    Examples
    --------
    >>> from dplearn.theory import interior_point_sample_size
    >>> interior_point_sample_size("exponential", domain_size=2**65536, epsilon=1)
    181714
    >>> interior_point_sample_size("recursive", domain_size=2**65536, epsilon=1, delta=1e-6)
    1044
    """
    if check_choice("method", method, _METHODS) == "recursive":
        return recursive_sizes(
            domain_size, epsilon=epsilon, delta=delta, beta=beta, constants=constants
        ).n_samples
    published = check_choice("constants", constants, _CONSTANTS) == "paper"
    size, spent, _, failure = _checked(domain_size, epsilon, delta, beta)
    if published:
        return max(1, math.ceil(4 / spent * log_bounds(size / failure)[1]))
    return _records_for_exponential(size, spent, failure)


@documented_by(interior_point_sample_size)
def interior_point_method(
    domain_size: int, *, epsilon: Any, delta: Any = 0, beta: Any = 0.05, constants: str = "tight"
) -> str:
    """Return the method that needs fewer records; "exponential" if both need equally many or delta is 0.

    Returns
    -------
    {"exponential", "recursive"}

    Examples
    --------
    >>> from dplearn.theory import interior_point_method
    >>> [interior_point_method(2**bits, epsilon=1, delta=1e-6) for bits in (64, 65536)]
    ['exponential', 'recursive']
    """
    if not check_number("delta", delta, low=0, below=1):
        return "exponential"
    return min(
        _METHODS,
        key=lambda method: interior_point_sample_size(
            method, domain_size=domain_size, epsilon=epsilon, delta=delta, beta=beta, constants=constants
        ),
    )


@documented_by(interior_point_sample_size)
def recursive_sizes(
    domain_size: int, *, epsilon: Any, delta: Any, beta: Any = 0.05, constants: str = "tight"
) -> RecursiveSizes:
    """Return sizes with which `recursive_interior_point` succeeds with probability at least 1 - beta.

    Parameters
    ----------
    epsilon, delta : number
        Budget of all calls together; positive.
    constants : {"tight", "paper"}, default="tight"
        "tight": thresholds from exact tails, and the division of epsilon and the depth that need the fewest
        records. "paper": k = floor((386 / e) ln(4 / (b e d))), 2 k unpaired records, threshold 3 k / 2, and
        the n of Theorem 3.4, with b = beta / (3 L), e = epsilon / (2 L), d = delta / (2 L) in each call,
        ``L = log*|X|``; epsilon at most 1. (The threshold of the choosing mechanism is exact in both.)

    Notes
    -----
    **Accuracy.** Call a result x good for t if at least one record is at most x and at least t are at least
    x. For a result that is good for t, a call needs from the next call, over the lengths z_j of the pairs'
    common prefixes, a result that is good for some t'. Let f = beta / (3 levels + 1). In each call, steps 1,
    3 and 5 fail with probability at most f each; steps 2 and 4 always hold.

    1. Fewer than t' pairs are close, where two of the sorted paired records are close if their positions
       differ by at most d. Proof: let N be the number of close pairs in a uniformly random pairing of m
       records. Among any m' of the m positions, at most d (m' - (d + 1) / 2) pairs of positions are close. So
       there are at most the product over i < j of d (m - 2 i - (d + 1) / 2) ordered choices of j disjoint
       close pairs; the probability that all pairs of one choice are in the pairing is 1 over the product of
       m - 2 i - 1, whose factors are at least m - 2 i - (d + 1) / 2. Hence E[C(N, j)] <= d ** j / j!, and by
       Markov's inequality P[N >= t'] <= d ** j / j! / C(t', j): with j = t' - d it is d! d ** (t' - d) / t'!.
    2. The result z of the next call is good for t', so t' pairs, and by step 1 one that is not close, agree
       on z bits or more, and so do the d + 2 or more paired records from one of its two records to the other.
       Half of these agree on one more bit, if there is one: some prefix has quality at least (d + 3) // 2,
       which is q for d = 2 q - 3.
    3. The choosing mechanism does not abstain: q = threshold - 1 + quantile, and P[Z <= -quantile] <= f. It
       selects the prefix L of some paired record x. Let L0 and L1 be the least and the greatest code with
       prefix L.
    4. L0 or L1 is good for t. No paired record exceeds an unpaired one; so aside + 1 >= t or more records are
       at least x, and the same holds for every other paired record. If L is a whole code, L0 = x is good.
       Otherwise z_j <= z for some pair, whose records differ within the length of L: one of them, y, lies
       outside L0..L1. If y > L1, then L1 is good: x is at most L1, and aside + 1 records exceed L1. If
       y < L0, then L0 is good: y is less than L0, and aside + 1 records are at least x >= L0.
    5. The comparison selects a good one. Let w be the quantile of its noise, P[Z >= w] <= f,
       aside = t + 2 w - 3, and threshold = t - 1 + w. If L1 is not good, fewer than t records are at least
       L1, and L1 is selected only if Z >= w. If L0 is not good, then y > L1, and t + 2 w - 2 records are at
       least L1, so L0 is selected only if Z <= -w. At most one of the two is not good, so the failure
       probability is at most f.

    The result of the outermost call must be good for t = 1. The exponential method in the innermost call
    leaves out the t' - 1 greatest records: an interior point of the others is good for t'. All steps hold for
    more records too.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 3.4 and Lemma 3.11. There, by Claim 3.12,
    fewer than t' pairs are closer than t' / 12. Step 4 requires that only prefixes of paired records are
    counted.

    Examples
    --------
    >>> from dplearn.theory import recursive_sizes
    >>> recursive_sizes(2**65536, epsilon=1, delta=1e-6).n_samples
    1044
    """
    published = check_choice("constants", constants, _CONSTANTS) == "paper"
    check_number("delta", delta, above=0, below=1)
    sizes_of = _published_sizes if published else _tight_sizes
    return sizes_of(*_checked(domain_size, epsilon, delta, beta))


def _checked(size: Any, epsilon: Any, delta: Any, beta: Any) -> tuple[int, Fraction, Fraction, Fraction]:
    return (
        check_count("domain_size", size, low=1),
        check_number("epsilon", epsilon, low=_SMALLEST),
        check_number("delta", delta, low=0, below=1),
        check_number("beta", beta, above=0, below=1),
    )


@lru_cache(maxsize=1024)
def _records_for_exponential(size: int, epsilon: Fraction, beta: Fraction) -> int:
    """Return the least n for which both worst cases fail with probability at most beta."""
    ratio, odds = selection_ratio(epsilon), beta / (1 - beta)
    if size == 1:
        return 1
    # All records equal: (size - 1) / (size - 1 + r**-n) <= beta.
    alike = power_at_most(ratio, odds / (size - 1))
    if size == 2:
        return max(1, alike)
    # Two halves, n = 2 h or 2 h + 1: weight 2 r**-h or (1 + 1 / r) r**-h inside, size - 2 outside.
    even = 2 * power_at_most(ratio, 2 * odds / (size - 2))
    odd = 2 * power_at_most(ratio, (1 + 1 / ratio) * odds / (size - 2)) + 1
    return max(1, alike, min(even, odd))


@lru_cache(maxsize=64)
def _tight_sizes(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> RecursiveSizes:
    """Return the sizes with the depth that needs the fewest records; depths are tried while it decreases."""
    chain = [size]
    best: RecursiveSizes | None = None
    while True:
        chain.append(next_domain_size(chain[-1]))
        found = _at_depth(chain, epsilon, delta, beta)
        if best is not None and found.n_samples >= best.n_samples:
            return best
        best = found


def _at_depth(chain: Sequence[int], epsilon: Fraction, delta: Fraction, beta: Fraction) -> RecursiveSizes:
    """Return the best sizes found for a number of levels. Shares epsilon_i of epsilon need about c_i /
    epsilon_i records, least in sum for epsilon_i proportional to sqrt(c_i); the proof holds for all.
    """
    depth = len(chain) - 1
    weights = [1.0] * (2 * depth + 1)
    found = []
    for _ in range(_ROUNDS):
        shares = _shares(weights, epsilon)
        sizes, costs = _sizes_for_shares(chain[-1], shares, delta / depth, beta / (3 * depth + 1))
        found.append(sizes)
        weights = [math.sqrt(max(cost, 1) * share) for cost, share in zip(costs, shares, strict=True)]
    return min(found, key=lambda sizes: sizes.n_samples)


def _shares(weights: Sequence[float], epsilon: Fraction) -> list[Fraction]:
    """Return positive shares of epsilon, about in proportion to the weights; their sum is epsilon."""
    free = _PARTS - len(weights)
    shares = [epsilon * (1 + math.floor(free * weight / sum(weights))) / _PARTS for weight in weights[:-1]]
    return [*shares, epsilon - sum(shares)]


def _sizes_for_shares(
    base_size: int, shares: Sequence[Fraction], delta: Fraction, failure: Fraction
) -> tuple[RecursiveSizes, list[int]]:
    """Return sizes, and the records needed, for epsilons of choice and comparison of each level, then of the
    base. `delta` is that of one choice, `failure` the f in the proof of `recursive_sizes`.
    """
    wanted, levels, costs = 1, list[PrefixLevel](), list[int]()
    for i, (choice, comparison) in enumerate(zip(shares[:-1:2], shares[1::2], strict=True)):
        reach = laplace_quantile(decay_ratio(comparison), failure)
        chosen = ApproxDP(choice, delta)
        level = PrefixLevel(wanted + 2 * reach - 3, wanted - 1 + reach, chosen, ApproxDP(comparison))
        levels.append(level)
        quality = choosing_threshold(1, chosen) - 1 + laplace_quantile(decay_ratio(choice / 4), failure)
        wanted = more_than_are_close(2 * quality - 3, failure)
        costs += [wanted << (i + 1), reach << (i + 1)]
    aside, needed = wanted - 1, _records_for_exponential(base_size, shares[-1], failure)
    n = aside + needed
    for level in reversed(levels):
        n = level.aside + 2 * n
    return RecursiveSizes(tuple(levels), aside, ApproxDP(shares[-1]), n), [*costs, needed << len(levels)]


def more_than_are_close(distance: int, failure: Fraction) -> int:
    """Return the least t with d! d**(t - d) / t! <= failure, step 1 of the proof of `recursive_sizes`."""
    if distance < 1:
        return 1  # no two positions differ by less than 1
    level, step = log_bounds(failure)[0], math.log(distance)

    def rare(t: int) -> bool:
        terms = math.lgamma(distance + 1), (t - distance) * step, -math.lgamma(t + 1)
        return math.fsum(terms) + _SLACK * max(map(abs, terms)) <= level

    return least(rare, distance)


@lru_cache(maxsize=64)
def _published_sizes(size: int, epsilon: Fraction, delta: Fraction, beta: Fraction) -> RecursiveSizes:
    check_number("epsilon", epsilon, high=1)
    logs = max(1, iterated_logarithm(size))
    share, slack, failure = epsilon / (2 * logs), delta / (2 * logs), beta / (3 * logs)
    k = math.floor(386 / share * log_bounds(4 / (failure * share * slack))[0])
    levels = []
    while size > _PAPER_BASE:
        size = next_domain_size(size)
        levels.append(PrefixLevel(2 * k, -(-3 * k // 2), ApproxDP(share, slack), ApproxDP(share)))
    n = 18500 / epsilon * (logs << logs) * log_bounds(4 * logs / (beta * epsilon * delta))[1]
    return RecursiveSizes(tuple(levels), 0, ApproxDP(share), math.ceil(n))


@dataclass(frozen=True)
class InteriorPoint(Released):
    """The result of `interior_point`.

    Attributes
    ----------
    value : number or None
        Released. A number of the domain; None (abstention) if "recursive" found no prefix that enough records
        share.
    plan : ReleasePlan
        Public. The plan of the release, as `interior_point_plan` describes it.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    """

    value: Any
    plan: ReleasePlan


@documented_by(ColumnRelease)
def interior_point(
    values: Any,
    *,
    domain: Any = "float64",
    method: str = AUTO,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    beta: Any = 0.05,
    constants: str = "tight",
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> InteriorPoint:
    """Release a number between the least and the greatest of private numbers, both included.

    Parameters
    ----------
    method : {"auto", "exponential", "recursive"}, default="auto"
        "exponential": the number of records needed grows with the logarithm of the domain's size.
        "recursive": it hardly grows with the domain's size; needs a positive delta. "auto": the method that
        needs fewer records.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. Spent by
        "recursive" only, which needs it.
    beta : float, default=0.05
        Probability of failure, in (0, 1), for the plan's `n_needed` and the sizes of "recursive".
    constants : {"tight", "paper"}, default="tight"
        The constants for `n_needed` and the sizes of "recursive"; see `interior_point_sample_size`.

    Warns
    -----
    UserWarning
        If there are fewer records than the plan's `n_needed`; the number of records is public.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record with "exponential", (epsilon, delta) with "recursive".

    **Assumes.** The number of records and the domain are public.

    **Accuracy.** With `plan.n_needed` records or more, the value is an interior point with probability at
    least 1 - beta.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 3; see `interior_point_code` and
    `recursive_interior_point`.

    Examples
    --------
    >>> from dplearn.releases import interior_point
    >>> values = [20.5] * 100 + [31.0] * 150
    >>> point = interior_point(values, epsilon=1, random_state=0)
    >>> 20.5 <= point.value <= 31.0, point.plan.method
    (True, 'exponential')
    """
    asked = {"epsilon": epsilon, "delta": delta, "beta": beta, "constants": constants}
    return _InteriorPoint(domain, method, random_state, **asked).run_on(values, None, ledger, groups)


@documented_by(interior_point, ColumnRelease)
def interior_point_plan(
    n_samples: int,
    *,
    domain: Any = "float64",
    method: str = AUTO,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    beta: Any = 0.05,
    constants: str = "tight",
) -> ReleasePlan:
    """Return the plan of `interior_point`, without data.

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples, domain and beta; `method`: for "auto", the one that it chose; and
        `n_needed`: the number of records from which on the released value is an interior point with
        probability at least 1 - beta.

    Examples
    --------
    >>> from dplearn.releases import interior_point_plan
    >>> interior_point_plan(250, epsilon=1).n_needed
    187
    """
    asked = {"epsilon": epsilon, "delta": delta, "beta": beta, "constants": constants}
    return _InteriorPoint(domain, method, **asked).plan(Facts(n_samples))


class _InteriorPoint(ColumnRelease[InteriorPoint]):
    """The recipe of `interior_point`; the method that "auto" chooses depends on public numbers only. What is
    asked for are epsilon, delta, beta and constants.
    """

    takes_missing = True

    def __init__(self, domain: Any, method: str, random_state: Any = None, **asked: Any):
        self.domain, self._asked = as_number_domain(domain), asked
        self.beta = float(check_number("beta", asked["beta"], above=0, below=1))
        if check_choice("method", method, (AUTO, *_METHODS)) == AUTO:
            method = interior_point_method(self.domain.size, **asked)
        self.method = method
        if method == "recursive":
            check_number("delta with method='recursive'", asked["delta"], above=0, below=1)
        spent = asked["delta"] if method == "recursive" else Fraction(0)
        self.n_needed = interior_point_sample_size(method, domain_size=self.domain.size, **asked)
        cost = ApproxDP(asked["epsilon"], spent, reproducible=random_state is not None)
        context = repr(self.domain), method, repr(cost), repr(asked["beta"]), asked["constants"]
        guarantee = replace(cost, assumes=(N_IS_PUBLIC, self.domain.assumption))
        super().__init__("interior_point", guarantee, context, random_state)

    def plan(self, facts: Facts) -> ReleasePlan:
        recursive, n = self.method == "recursive", self.count(facts)
        few = few_records(
            n,
            f"the {self.method} method may miss the interior of the data with a probability above"
            f" {self.beta:g}",
            "declare a smaller domain=",
            "spend more epsilon",
            enough=self.n_needed,
            subset=ALL_GROUPS,
        )
        return self.stated(
            n,
            method=self.method,
            domain=self.domain,
            n_needed=self.n_needed,
            beta=self.beta,
            keeps={"sizes": recursive_sizes(self.domain.size, **self._asked) if recursive else None},
            warns=(few,) if n < self.n_needed else (),
        )

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> InteriorPoint:
        size, privacy = plan.domain.size, plan.guarantee
        codes: list[int] = gathered_codes(table).tolist()
        if plan.sizes is None:
            code: int | None = interior_point_code(codes, size, privacy=privacy, dice=dice)
        else:
            code = recursive_interior_point(codes, size, sizes=plan.sizes, privacy=privacy, dice=dice)
        return InteriorPoint(None if code is None else plan.domain.decode([code]).tolist()[0], plan)


def threshold_from_interior_point(
    codes: Sequence[int] | NDArray[Any],
    labels: Sequence[int] | NDArray[Any],
    size: int,
    *,
    m: int,
    interior_point: Callable[[list[int], int], int],
) -> int:
    """Return a threshold t, from -1 to size - 1, learned from interior points: codes <= t have label 1.

    Parameters
    ----------
    codes : sequence of int, or ndarray of unsigned int or of int objects, of length n
        Private. From 0 to size - 1.
    labels : sequence of int, or ndarray of int or bool, of length n
        Private. Labels 0 and 1.
    size : int
        Number of codes in the domain.
    m : int
        Number of examples of each label that are used; at least 1.
    interior_point : callable
        Private algorithm: takes 2 m codes of a domain of size + 1 and that size, and returns a code.

    Returns
    -------
    int
        The threshold t.

    Notes
    -----
    The 2 m points are the m greatest examples with label 1, padded with the value one step below the domain;
    and the m least examples with label 0, each moved one step down, padded with the greatest code.

    **Privacy.** That of `interior_point` for two replaced records, `ApproxDP.for_group(2)`. Proof: a replaced
    example replaces at most one point of its label; of both, if its label changes.

    **Accuracy.** Suppose that some threshold t has no error. If k examples with label 1 are above a threshold
    c < t, at most m - min(m, k) points are at most c, since the points of label 0, moved down, are at least
    t. If k examples with label 0 are at most a threshold c > t, at most m - min(m, k) points are at least c.
    At t there are m points on each side. So every interior point makes at most m - 1 errors, and a threshold
    with m - k points or more on each side, points at the threshold included, makes at most k.
    `dplearn.theory.interior_point_examples` extends this to data without an error-free threshold.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, item 1 (and so Theorem 5.6, item 1), which
    fails for ties, as no example is moved: if two records with label 0 are at the greatest code and m = 1,
    the threshold there is wrong on both.

    Examples
    --------
    >>> from dplearn.releases import threshold_from_interior_point
    >>> def interior_point(codes, size):  # always 10; a private algorithm takes its place
    ...     return 10
    >>> threshold_from_interior_point([3, 8, 12], [1, 1, 0], 20, m=2, interior_point=interior_point)
    9
    """
    check_count("m", m, low=1)
    values = codes if isinstance(codes, np.ndarray) else np.array(codes, dtype=object)
    is_one = np.asarray(labels, dtype=bool)
    # Thresholds start one step below the domain: code c becomes c + 1, and c moved one step down becomes c.
    ones = [code + 1 for code in np.sort(values[is_one])[-m:].tolist()]
    zeros = np.sort(values[~is_one])[:m].tolist()
    points = [0] * (m - len(ones)) + ones + zeros + [size] * (m - len(zeros))
    return interior_point(points, size + 1) - 1
