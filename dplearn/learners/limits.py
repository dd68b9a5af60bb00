"""Numbers of records below which no private learner of a class, or of several labels, is accurate."""

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln

from dplearn._validation import check_choice, check_count, check_goal, check_number
from dplearn.kernels import exp_bounds, float_above, least
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import Guarantee

#: What the numbers of records in the plan of a rule mean: one meaning for all learners.
SIZE_NOTES = {
    "n_needed": "for a true error of alpha, if a rule of the class labels the records",
    "n_needed_agnostic": "for a true error of alpha above that of the best rule",
    "n_least": "no pure private learner with fewer",
}

_MOST_LEVELS = 1 << 12  # of a tree; of a deeper one, as many are used
_MOST_RECORDS = 10**9
_STEPS = 1 << 12  # the most numbers of differing records that are told apart
_ALL = 24  # levels and mistakes up to here are all tried, from there on geometrically
_LARGEST = 1e6  # epsilon; with a greater one, the bound is that of this one
_LARGEST_EXPONENT = 10_000  # of exp, where delta is divided by it
_MARGIN = 1e-6  # far above the relative error of the computed probabilities


def least_of(
    guarantee: Guarantee, *, dimension: int, rooted: int | None = None, alpha: float, beta: float
) -> int | None:
    """Return `pure_records` for a guarantee and alpha, beta, of a class of at least this Littlestone
    dimension and these `rooted` levels (dimension - 1); None if it is not pure, or not of examples.
    """
    if not isinstance(guarantee, ApproxDP) or guarantee.delta or not dimension:
        return None
    if (guarantee.protects, guarantee.neighbors) != ("examples", "replace_one"):
        return None
    asked = guarantee.epsilon, Fraction(repr(float(alpha))), Fraction(repr(float(beta)))
    return pure_records(max(0, dimension - 1) if rooted is None else rooted, dimension, *asked)


@lru_cache(maxsize=256)
def pure_records(rooted: int, depth: int, epsilon: Fraction, alpha: Fraction, beta: Fraction) -> int:
    """Return a number n such that no pure private learner of a class is accurate with fewer records.

    `depth`: the levels of a mistake tree. `rooted`: those of one whose concepts all agree at a further point.

    Notes
    -----
    A learner, proper or not, is (epsilon, 0)-private for one replaced record, and has an error of at most
    alpha with probability at least 1 - beta, on every distribution that a concept labels without error.

    The samples of the N = 2**k leaves of a mistake tree, drawn together, differ in K ~ Binomial(n, lam)
    records, and a hypothesis is accurate for at most V leaves (also if it may predict a third label, a
    mistake on both sides). The probability of failure is then at least

        u_j(K) = (1 + a - V) / (1 + a exp(epsilon j)), where a = (N - 1) exp(-epsilon (K - j)).

    So n records are too few while the mean of the greatest u_j(K) exceeds beta. Every k and m prove a bound;
    some are tried. Proof: docs/theory/pure_privacy.md.

    **Source.** Feldman and Xiao (2014), Theorem 7, through communication complexity and without usable
    constants; the proof here is ours.
    """
    return packing_records(_tried(rooted, depth, alpha, beta), epsilon, beta)


def packing_records(
    choices: Iterable[tuple[float, float, float]],
    epsilon: Fraction,
    beta: Fraction,
    delta: Fraction = Fraction(0),
) -> int:
    """Return a number of records below which no private learner succeeds against any of some packings.

    `choices`: of each packing, the probability that a record tells concepts apart, rounded up; ln(N - 1) of
    its N concepts; and ln(V - 1), where a hypothesis is accurate for at most V of them, rounded up.

    The proof for delta = 0 is in docs/theory/pure_privacy.md. With delta, T(p) = max(exp(-epsilon) (p -
    delta), 1 - delta - exp(epsilon) (1 - p)). For D = delta / (exp(epsilon) - 1), a step of the first kind
    maps p + D to exp(-epsilon) (p + D), and one of the second 1 - p + D to exp(epsilon) (1 - p + D). So
    T^K(s) >= exp(-epsilon (K - j)) (1 + 2 D - exp(epsilon j) (1 - s + D)) - D, and with V >= s + (N - 1)
    T^K(s) exp(-epsilon (K - j)) (1 + 2 D - exp(epsilon j) (1 - s + D)) - D, and with V >= s + (N - 1) T^K(s)

        u_j(K) = (1 + a (1 + 2 D - D exp(epsilon j)) - V - (N - 1) D) / (1 + a exp(epsilon j)).
    """
    records, exponent = 0, float(epsilon) if epsilon < _LARGEST else _LARGEST
    excess = float_above(delta / (exp_bounds(min(epsilon, Fraction(_LARGEST_EXPONENT)))[0] - 1))
    for packing in choices:
        records = least(partial(_suffices, packing, exponent, excess, float(beta)), records)
    return records


def least_failure(
    counts: NDArray[Any], rivals: float, others: float, epsilon: float, excess: float = 0.0
) -> NDArray[np.float64]:
    """Return max(0, u_j(K)) of `packing_records` for each K in `counts`, and the best j, rounded down and up.

    With t = exp(epsilon j) and b = (N - 1) exp(-epsilon K), u_j is (1 - (V - 1) / (b t) - D (exp(epsilon j) +
    exp(epsilon (K - j)) - 2)) / (1 / (b t) + t). For c = V - 1 + (N - 1) D it is greatest where b t**2 - 2 t
    (c - D) / (1 + 2 D) - 1 = 0; c stands for the quotient there, since every j gives a bound.
    """
    log_c = np.logaddexp(others, rivals + math.log(excess)) if excess else others
    with np.errstate(all="ignore"):
        log_b = rivals - epsilon * counts
        log_t = np.logaddexp(log_c - log_b, np.logaddexp(2 * (log_c - log_b), -log_b) / 2)
        best = np.zeros(len(counts))
        for j in (np.floor(log_t / epsilon), np.ceil(log_t / epsilon)):
            ahead = np.clip(j, 0, counts)
            step, back = epsilon * ahead, epsilon * (counts - ahead)
            gain = log_b + step  # ln(b t)
            lost = np.exp(others - gain) + excess * (np.expm1(step) + np.expm1(back) if excess else 0)
            best = np.fmax(best, (1 - lost) / (np.exp(-gain) + np.exp(step)))
    return best


def _tried(rooted: int, depth: int, alpha: Fraction, beta: Fraction) -> Iterator[tuple[float, float, float]]:
    """Yield the share of the records on the path, ln(N - 1) and ln(V - 1), for each k and m."""
    rooted, depth = min(rooted, _MOST_LEVELS), min(depth, _MOST_LEVELS)
    for levels in _spread(1, rooted):
        others = _log_others(levels)
        for mistakes in _spread(0, levels - 1):
            share = alpha * levels / (mistakes + 1)
            if others[mistakes] >= levels * math.log(2) + math.log1p(-float(beta)):
                break
            if share < 1:
                yield float_above(share), _log_rivals(levels), float(others[mistakes])
    if depth:
        mistakes = math.floor(alpha * depth)
        yield 1.0, _log_rivals(depth), float(_log_others(depth)[mistakes])


def _spread(low: int, high: int) -> list[int]:
    """Return the integers from low to high, the greater ones in steps of a tenth."""
    found = list(range(low, min(high, _ALL) + 1))
    while found and found[-1] < high:
        found.append(min(high, found[-1] + -(-found[-1] // 10)))
    return found


def _log_rivals(levels: int) -> float:
    return levels * math.log(2) + math.log1p(-(0.5**levels))


@lru_cache(maxsize=256)
def _log_others(levels: int) -> NDArray[np.float64]:
    """Return ln(V - 1) for each number of mistakes below `levels`, rounded up."""
    i = np.arange(1, levels)
    combinations = gammaln(levels + 1) - gammaln(i + 1) - gammaln(levels - i + 1)
    return np.append(-np.inf, np.logaddexp.accumulate(combinations) + 1e-8)


def _suffices(
    packing: tuple[float, float, float], epsilon: float, excess: float, beta: float, n: int
) -> bool:
    """Return whether n records are not excluded: the bound on the probability of failure is at most beta."""
    return n >= _MOST_RECORDS or not failure_of(*packing, epsilon, n, excess) > beta * (1 + _MARGIN)  # or NaN


def failure_of(
    share: float, rivals: float, others: float, epsilon: float, n: int, excess: float = 0.0
) -> float:
    """Return a lower bound on the probability of failure with n records."""
    most = min(n, math.ceil(n * share + 10 * math.sqrt(n * share) + 40))
    counts = np.unique(np.linspace(0, most, min(most, _STEPS) + 1).astype(np.int64))
    bounds = least_failure(counts, rivals, others, epsilon, excess)
    with np.errstate(all="ignore"):
        # The bounds decrease: the mean is the sum of their decreases times the distribution function.
        below = np.where(counts < n, betainc(np.maximum(n - counts, 1), counts + 1, 1 - min(share, 1)), 1)
        return float((bounds - np.append(bounds[1:], 0)) @ below)


#: What is to be learned: any two concepts, by labels that concepts decide or by any; thresholds; parities.
TASKS = ("realizable", "agnostic", "thresholds", "parities")

_LARGEST_OF_LABELS = 300.0  # epsilon; with a greater one, the bound is that of this one
_MOST_POINTS = 1 << 30
_SHARES = 2.0 ** -np.arange(0, 16, 1 / 8)  # of the records at the points, which are tried


class Task(NamedTuple):
    """What the classifier of one output learns, as plans state it: arguments of `multi_label_lower_bound`."""

    task: str
    rooted: bool
    size: int | None = None


def least_of_outputs(
    guarantee: Guarantee, tasks: Sequence[Task | None], *, alpha: float, beta: float
) -> int | None:
    """Return the bound for learners of several outputs with a guarantee; None if it has none."""
    known = [task for task in tasks if task is not None]
    if not known or not isinstance(guarantee, ApproxDP) or guarantee.neighbors != "replace_one":
        return None
    if guarantee.protects not in ("examples", "labels"):
        return None
    each = known[0]
    if len(set(known)) > 1:
        each = Task("realizable", all(task.rooted for task in known))
    budget: dict[str, Any] = {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
    return multi_label_lower_bound(len(known), **each._asdict(), **budget, alpha=alpha, beta=beta)


def multi_label_lower_bound(
    k: int,
    *,
    task: str,
    epsilon: Any,
    delta: Any = 0,
    alpha: Any,
    beta: Any,
    rooted: bool = False,
    size: int | None = None,
) -> int:
    """Return a number of records such that no private learner of k labels is accurate with fewer.

    Parameters
    ----------
    delta : number, default=0
    k : int
        Number of labels of a record, at least 1.
    task : {"realizable", "agnostic", "thresholds", "parities"}
        What is learned. "realizable": any class in which two concepts differ at a point; each label of the
        records is decided by a concept. "agnostic": the same, accurate for any labels, in comparison with the
        best concept. "thresholds": thresholds of ordered values; a threshold decides each label. "parities":
        parities of bits; a parity decides each label.
    alpha, beta : number
        Error, and probability of failure of any of the k hypotheses; in (0, 1).
    rooted : bool, default=False
        Whether the two concepts agree at another point. If so, few records need be at the point where they
        differ, and the bound grows with 1 / alpha. Thresholds of two values or more and parities are rooted;
        of parities, False is for learners that are accurate for uniform records only.
    size : int, optional
        Of thresholds, the number of values; unlimited if not given. Of parities, the number of bits, at least
        1; required.

    Returns
    -------
    int
        At most 10**9; 0 if nothing is known.

    Notes
    -----
    The learner is (epsilon, delta)-private for one replaced record with all its labels, or for all labels of
    one record. With probability at least 1 - beta all of its k hypotheses, of the class or not, have an error
    of at most alpha; for "agnostic", it exceeds that of the best concept by at most alpha.

    **Packing (all tasks).** There are N = 2**k ways to label a point x where two concepts differ. If all
    records are at x, or a share just above alpha of them while the others are where the concepts agree, an
    accurate learner has all k labels of x right; no hypotheses have this for two ways, whose samples differ
    in the records at x. For d-bit parities of uniform records there are N = 2**(d k) choices of k parities. A
    hypothesis with an error below 1/4 is that near to one parity only. With a share above 4 alpha of uniform
    records, and the others at 0, this needs no small alpha. `packing_records` has the rest of the proof.

    **Agnostic.** A share m of the records is at x, where two concepts differ; the others are where they
    agree. Let signs replace labels. For each output draw its mean p_j at x uniformly from [-1, 1]. Let f_j be
    the sign that the learner predicts at x, and x_ij the label of record i. A learner that does not fail has
    f_j p_j >= abs(p_j) - 2 alpha / m, and f_j p_j >= -abs(p_j) always. The mean of the greater over p_j
    is 1/2 - 2 a + a**2, with a = alpha / m at most 1. Therefore

        E sum_j f_j p_j >= k ((1 - beta) (1/2 - 2 a + a**2) - beta / 2).

    If g(p) is the mean of f_j given p, then g'(p) (1 - p**2) is the mean of the sum of f_j (x_ij - p) over
    the records i at x, and by parts the integral of (1 - p**2) g'(p) / 2 is that of p g(p). So the sum over i
    of E Z_i, Z_i = sum_j f_j (x_ij - p_j) at x and 0 elsewhere, is twice the left side. Where record i is at
    x, let the learner see it with labels drawn anew instead. Then Z_i has mean 0, variance at most 2 k / 3 on
    average, and range [-R, R] with R = sum_j abs(x_ij - p_j), of mean 2 k / 3. With s**2 the variance and
    c >= 0, privacy for the events Z > t with t > c, and Z < t with t < c, gives

        E Z_i <= c + e^epsilon E(Z - c)+ - e^-epsilon E(c - Z)+ + delta (1 + e^-epsilon) E R,

    where E(c - Z)+ = c + E(Z - c)+ and E(Z - c)+ <= (sqrt(s**2 + c**2) - c) / 2. The best c makes this
    2 sinh(epsilon / 2) s + delta (1 + e^-epsilon) E R. So n is too small while

        (1 - beta) (1 - 4 a + 2 a**2) - beta
            > n m (2 sinh(epsilon / 2) sqrt(2 / (3 k)) + 2/3 delta (1 + e^-epsilon)).

    **Thresholds.** Let 1..V be values, each with probability m / V, and let the other records be at a smaller
    value. The threshold t_j of each output is uniform in 0..V; values up to t_j have label 1. Let a_j be the
    mean over 1..V of hypothesis j; it is within alpha / m of t_j / V if the learner does not fail. At value v
    let Z_v be the sum of a_j - 1/2 over the outputs with t_j = v, minus that over those with t_j = v - 1. The
    sum over v is that over t_j = V minus that over t_j = 0; its mean is at least k / (V + 1) times
    (1 - beta) (1 - 2 alpha / m) - beta. If each output with t_j = v - 1 or v tosses a fair coin between the
    two, only the labels of the N records at v change, N ~ Binomial(n, m / V). With labels drawn anew, Z_v has
    mean 0, variance at most k / (2 (V + 1)), and E R = k / (V + 1). As above, with N epsilon for epsilon and
    D (e^(N epsilon) - 1) for delta, D = delta / (e^epsilon - 1), n is too small while

        ((1 - beta) (1 - 2 alpha / m) - beta) / V
            > E[sinh(N epsilon / 2)] sqrt(2 (V + 1) / k) + 2 D E[sinh(N epsilon)].

    Every m and V prove a bound; this function tries some.

    **Source.** Bun, Nissim and Stemmer (2016): Theorems 5.1 and 5.4 for packing, 4.7 and Corollary 4.6 for
    the other two, through fingerprinting codes.

    Examples
    --------
    >>> from dplearn.theory import multi_label_lower_bound
    >>> asked = {"epsilon": 1.0, "alpha": 0.05, "beta": 0.05}
    >>> [multi_label_lower_bound(k, task="realizable", **asked) for k in (1, 100, 10_000)]
    [5, 74, 6937]
    >>> multi_label_lower_bound(10_000, task="thresholds", delta=1e-6, **asked)
    22
    """
    k = check_count("k", k, low=1)
    task = check_choice("task", task, TASKS)
    epsilon = check_number("epsilon", epsilon, above=0)
    delta = check_number("delta", delta, low=0, below=1)
    alpha, beta = check_goal(alpha, beta)
    if size is not None:
        size = check_count("size", size, low=1)
    elif task == "parities":
        raise ValueError("size must be the number of bits of the parities, got None")
    records = packing_records(_packings(k, task, alpha, rooted, size), epsilon, beta, delta)
    asked = min(float(epsilon), _LARGEST_OF_LABELS), float(delta), float(alpha), float(beta)
    shares = np.array([share for share in _SHARES if rooted or share == 1])
    if task == "agnostic":
        return max(records, _agnostic(k, *asked, shares))
    if task == "thresholds":
        values = _MOST_POINTS if size is None else size - rooted
        return max(records, _thresholds(k, *asked, shares, values))
    return records


def _packings(
    k: int, task: str, alpha: Fraction, rooted: bool, size: int | None
) -> Iterator[tuple[float, float, float]]:
    """Yield the share of informative records, ln(N - 1) and ln(V - 1), with V = 1, of each packing."""
    if rooted or task != "parities":
        yield (float_above(alpha) if rooted else 1.0), _log_rivals(k), -math.inf
    if task == "parities" and size is not None and 4 * alpha < 1:
        yield (float_above(4 * alpha) if rooted else 1.0), _log_rivals(k * size), -math.inf


def _agnostic(k: int, epsilon: float, delta: float, alpha: float, beta: float, shares: Any) -> int:
    """Return the least n that the argument for "agnostic" does not exclude."""
    a = np.minimum(alpha / shares, 1)
    left = (1 - beta) * (1 - 4 * a + 2 * a**2) - beta
    noise = 2 * math.sinh(epsilon / 2) * math.sqrt(2 / (3 * k))
    right = shares * (noise + 2 / 3 * delta * (1 + math.exp(-epsilon)))
    return min(_MOST_RECORDS, math.ceil(max(0.0, float((left / right).max()) * (1 - _MARGIN))))


def _thresholds(
    k: int, epsilon: float, delta: float, alpha: float, beta: float, shares: Any, values: int
) -> int:
    """Return the least n that the argument for "thresholds" does not exclude."""
    if values < 1:
        return 0
    tried = sorted({min(values, round(2 ** (step / 4))) for step in range(4 * 30 + 1)})
    grid = np.array(list(product(tried, shares)))
    points, share = grid[:, 0], grid[:, 1]
    left = ((1 - beta) * (1 - 2 * alpha / share) - beta) / points * (1 - _MARGIN)
    excess = delta / math.expm1(epsilon)

    def excluded(n: int) -> bool:
        sinh = partial(mean_sinh, n=n, chance=share / points)
        with np.errstate(over="ignore"):
            right = sinh(epsilon / 2) * np.sqrt(2 * (points + 1) / k)
            right += 2 * excess * sinh(epsilon) if excess else 0
        return bool((left > right).any())

    return least(lambda n: n >= _MOST_RECORDS or not excluded(n), 0)


def mean_sinh(x: float, *, n: int, chance: Any) -> Any:
    return (
        np.expm1(n * np.log1p(chance * math.expm1(x))) - np.expm1(n * np.log1p(chance * math.expm1(-x)))
    ) / 2
