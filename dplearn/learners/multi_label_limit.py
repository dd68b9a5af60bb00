"""Numbers of records below which no private learner of several labels of a record is accurate."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dplearn._validation import check_choice, check_count, check_number
from dplearn.kernels.exact import float_above
from dplearn.kernels.search import least
from dplearn.learners.pure_lower_bound import packing_records
from dplearn.privacy import ApproxDP
from dplearn.privacy.base import Guarantee

__all__ = ["TASKS", "Task", "least_of_outputs", "multi_label_lower_bound"]

#: What is to be learned: any two concepts, by labels that concepts decide or by any; thresholds; parities.
TASKS = ("realizable", "agnostic", "thresholds", "parities")

_LARGEST = 300.0  # epsilon; with a greater one, the bound is that of this one
_MARGIN = 1e-6  # far above the relative error of the computed bounds
_MOST_RECORDS = 10**9
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
    return multi_label_lower_bound(
        len(known),
        task=each.task,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        alpha=alpha,
        beta=beta,
        rooted=each.rooted,
        size=each.size,
    )


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
    k : int
        Number of labels of a record, at least 1.
    task : {"realizable", "agnostic", "thresholds", "parities"}
        What is learned. "realizable": any class in which two concepts differ at a point; each label of the
        records is decided by a concept. "agnostic": the same, accurate for any labels, in comparison with the
        best concept. "thresholds": thresholds of ordered values; a threshold decides each label. "parities":
        parities of bits; a parity decides each label.
    epsilon : number
        Privacy parameter, positive.
    delta : number, default=0
        Privacy parameter, at least 0 and below 1.
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
    records are at x, or a share just above alpha of them while the others are where the concepts agree, then
    an accurate learner has all k labels of x right; no hypotheses have this for two ways. The samples of two
    ways differ in the records at x. For d-bit parities of uniform records there are N = 2**(d k) choices of
    k parities. A hypothesis with an error below 1/4 is that near to one parity only, since two differ at half
    of all points. With a share above 4 alpha of uniform records, and the others at 0, where all parities
    agree, this needs no small alpha. `packing_records` has the rest of the proof.

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

    Every m and V prove a bound; this function tries some. Floats decide, so a margin of a millionth does not
    count.

    **Source.** Bun, Nissim and Stemmer (2016): Theorems 5.1 and 5.4 for packing, 4.7 and Corollary 4.6 for
    the other two, which are proved through fingerprinting codes there, with no or far smaller constants.

    Examples
    --------
    >>> from dplearn.theory import multi_label_lower_bound
    >>> asked = {"epsilon": 1.0, "alpha": 0.05, "beta": 0.05}
    >>> [multi_label_lower_bound(k, task="realizable", **asked) for k in (1, 100, 10_000)]
    [5, 74, 6937]
    >>> [multi_label_lower_bound(k, task="agnostic", delta=1e-6, **asked) for k in (100, 10_000, 1_000_000)]
    [16, 84, 840]
    >>> [multi_label_lower_bound(k, task="thresholds", delta=1e-6, **asked) for k in (10_000, 1_000_000)]
    [22, 101]
    """
    k = check_count("k", k, low=1)
    task = check_choice("task", task, TASKS)
    epsilon = check_number("epsilon", epsilon, above=0)
    delta = check_number("delta", delta, low=0, below=1)
    alpha = check_number("alpha", alpha, above=0, below=1)
    beta = check_number("beta", beta, above=0, below=1)
    if size is not None:
        size = check_count("size", size, low=1)
    elif task == "parities":
        raise ValueError("size must be the number of bits of the parities, got None")
    records = packing_records(_packings(k, task, alpha, rooted, size), epsilon, beta, delta)
    asked = min(float(epsilon), _LARGEST), float(delta), float(alpha), float(beta)
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


def _log_rivals(bits: int) -> float:
    """Return ln(2**bits - 1)."""
    return bits * math.log(2) + (math.log1p(-(0.5**bits)) if bits < 64 else 0)


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
        sinh = partial(_mean_sinh, n=n, chance=share / points)
        with np.errstate(over="ignore"):
            right = sinh(epsilon / 2) * np.sqrt(2 * (points + 1) / k)
            right += 2 * excess * sinh(epsilon) if excess else 0
        return bool((left > right).any())

    return least(lambda n: n >= _MOST_RECORDS or not excluded(n), 0)


def _mean_sinh(x: float, *, n: int, chance: Any) -> Any:
    """Return the mean of sinh(N x) for N ~ Binomial(n, chance)."""
    return (
        np.expm1(n * np.log1p(chance * math.expm1(x))) - np.expm1(n * np.log1p(chance * math.expm1(-x)))
    ) / 2
