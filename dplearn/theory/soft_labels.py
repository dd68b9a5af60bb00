"""Accuracy of private soft labels with respect to the mean prediction, and the number of teachers needed.

The published numbers are those of Bassily, Thakkar and Thakurta (2018), Section 5; ours have better
constants. k teachers learn from disjoint shards of n' examples, and score each of m queries in [0, 1]; the
midpoint of the fullest bin of one of two histograms is released. Proofs:
`docs/theory/soft_label_stability.md`.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dplearn._documented import Calculator, documented_by
from dplearn._validation import check_count, check_number
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of
from dplearn.privacy.stable_answers import stable_answers_noise
from dplearn.theory.aggregation import agreement_bound, teachers_needed

_MOST = 10**15  # more teachers than any ensemble has


@dataclass(frozen=True)
class PublishedSoftLabelSetting:
    """The noise and the number of teachers of the paper for soft labels.

    Attributes
    ----------
    scale : float
        lambda = sqrt(64 T ln(2/delta))/epsilon (Algorithm 6).
    threshold : float
        w = lambda ln(4m/delta). It is too low for the claimed guarantee; see `docs/errata.md`.
    distance : float
        d = 32 ln(8mT/min(delta, beta)) sqrt(4 T ln(2/delta))/epsilon (Theorem 5.6): with probability 1 - beta
        all histograms whose fullest bin leads the second by more than d are answered.
    n_teachers : int
        136 ln(8mT/min(beta, delta)) sqrt(2 T ln(2/delta))/epsilon, rounded up (Theorem 5.14).
    """

    scale: float
    threshold: float
    distance: float
    n_teachers: int


@dataclass(frozen=True)
class SoftLabelPrecision:
    """The width of bins, and the accuracy of answers with such bins.

    Attributes
    ----------
    radius : float
        Distance from the mean prediction within which most teachers score.
    width : float
        The least width gamma of a bin.
    accuracy : float
        The greatest distance of an answer from the mean prediction, with bins of exactly this width.
    """

    radius: float
    width: float
    accuracy: float

    @property
    def n_bins(self) -> int:
        """The greatest number of equal bins of at least `width`, at least 1.

        Wider bins reduce the accuracy: answers are then within `accuracy` + (1/n_bins - `width`)/2.
        """
        return max(1, math.floor(1 / self.width))


def published_soft_label_setting(
    privacy: ApproxDP, max_abstentions: int, *, n_queries: int, beta: Any = 0.05
) -> PublishedSoftLabelSetting:
    """Return the setting of Algorithm 6 and Theorems 5.6 and 5.14 of Bassily, Thakkar and Thakurta (2018).

    Parameters
    ----------
    max_abstentions : int
        T, at least 1: the number of queries whose first histogram may be unstable.
    beta : number, default=0.05

    Notes
    -----
    Theorem 5.6 omits an assumption: a query for which both histograms are unstable counts twice towards T.
    The proof of Theorem 5.14 needs k >= 72 ln(2m/beta), which `n_teachers` satisfies unless epsilon is large.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import published_soft_label_setting
    >>> published_soft_label_setting(ApproxDP(1, 1e-6), 10, n_queries=1000).n_teachers
    58162
    """
    scale = _published_scale(privacy, max_abstentions)
    m, delta = check_count("n_queries", n_queries, low=1), float(delta_of(privacy))
    failure = float(check_number("beta", beta, above=0, below=1))
    logarithm = math.log(8 * m * max_abstentions / min(delta, failure))
    return PublishedSoftLabelSetting(
        scale=scale,
        threshold=scale * math.log(4 * m / delta),
        distance=8 * logarithm * scale,  # 32 sqrt(4) = 8 sqrt(64)
        n_teachers=math.ceil(17 * math.sqrt(2) * logarithm * scale),  # 136 sqrt(2) = 17 sqrt(2) sqrt(64)
    )


def published_strong_quality_teachers(
    privacy: ApproxDP, max_abstentions: int, *, n_queries: int, beta: Any = 0.05
) -> int:
    """Return k of Lemma 5.13: the number of teachers for an answer to one query of weak quality.

    Parameters
    ----------
    max_abstentions : int
        T, at least 1: the number of queries whose first histogram may be unstable.
    beta : number, default=0.05
        beta', the probability of failure for this query, in (0, 1).

    Returns
    -------
    int
        The maximum of 3 (sqrt(5) lambda ln(2/beta') + w) and 72 ln(2/beta'), rounded up. The proof needs the
        latter, which the lemma omits.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import published_strong_quality_teachers
    >>> published_strong_quality_teachers(ApproxDP(1, 1e-6), 10, n_queries=1000)
    8777
    """
    failure = float(check_number("beta", beta, above=0, below=1))
    setting = published_soft_label_setting(privacy, max_abstentions, n_queries=n_queries)
    noise = 3 * (math.sqrt(5) * setting.scale * math.log(2 / failure) + setting.threshold)
    return math.ceil(max(noise, 72 * math.log(2 / failure)))


def published_soft_label_precision(stability: Any, n_records: int, *, quality: Any = 0) -> SoftLabelPrecision:
    """Return the radius, width and accuracy of Corollary 5.10 and Theorem 5.14.

    Parameters
    ----------
    stability : number
        a, above 0: the root mean square change of a score when one example is replaced (Definition 5.7). This
        is `SGDStability.root_mean_square`, not its `mean`.
    quality : number, default=0
        nu, from 0 to 1/2: on all queries but T the mean prediction is below nu or above 1 - nu.

    Returns
    -------
    SoftLabelPrecision
        Radius 4 a sqrt(2n'), width 16 a sqrt(2n') + nu and accuracy 8 a sqrt(2n') + nu/2.

    Notes
    -----
    This accuracy is half the width, which holds if the mean prediction is in the fullest bin of the first
    histogram. If it is in an adjacent bin, only 12 a sqrt(2n') + nu/2 holds. See `docs/errata.md`.

    Examples
    --------
    >>> from dplearn.theory import published_soft_label_precision
    >>> published_soft_label_precision(1e-4, 5000).width
    0.16
    """
    a, n, nu = _shard(stability, n_records, quality)
    unit = a * math.sqrt(2 * n)
    return SoftLabelPrecision(radius=4 * unit, width=16 * unit + nu, accuracy=8 * unit + nu / 2)


def score_radius(stability: Any, n_records: int, *, probability: Any = 0.75) -> float:
    """Return the radius a sqrt(n'/(2 (1 - p))) around the mean prediction for a teacher's score.

    Parameters
    ----------
    stability : number
        a, above 0: the root mean square change of a score when one example is replaced (Definition 5.7). This
        is `SGDStability.root_mean_square`, not its `mean`.
    probability : number, default=0.75
        p, above 0 and below 1: the probability, over a teacher's shard and random draws, that its score is
        within the radius. At 3/4 the radius is a sqrt(2n'), a fourth of that of Lemma 5.8.

    Notes
    -----
    By Efron and Stein's inequality and Chebyshev's. All teachers must have the same mean prediction over
    shards: draws do not change it, or are the same for all, where `stability` must hold for these draws, as
    `SGDStability.any_order` does. For the proof see `docs/theory/soft_label_stability.md`.

    Examples
    --------
    >>> from dplearn.theory import score_radius
    >>> round(float(score_radius(1e-4, 5000)), 4)
    0.01
    """
    a, n, _ = _shard(stability, n_records, 0)
    p = float(check_number("probability", probability, above=0, below=1))
    return a * math.sqrt(n / (2 * (1 - p)))


def any_order_radius(any_order: Any, n_records: int, *, probability: Any = 0.75) -> float:
    """Return the radius b sqrt(n' ln(2/(1 - p))/2) around the mean prediction for a teacher's score.

    Parameters
    ----------
    any_order : number
        b, above 0: `SGDStability.any_order` of a score, which holds for each order of the examples.
    probability : number, default=0.75
        p, above 0 and below 1: the probability, over a teacher's shard and random draws, that its score is
        within the radius. At 3/4 the radius is a sqrt(2n'), a fourth of that of Lemma 5.8.

    Notes
    -----
    By McDiarmid's inequality: for a given order a score is a function of n' independent examples. As p tends
    to 1 this radius grows with the root of a logarithm, that of `score_radius` with 1/sqrt(1 - p).

    Examples
    --------
    >>> from dplearn.theory import any_order_radius
    >>> round(float(any_order_radius(0.001, 5000)), 4)
    0.0721
    """
    b, n = float(check_number("any_order", any_order, above=0)), check_count("n_records", n_records, low=1)
    p = float(check_number("probability", probability, above=0, below=1))
    return b * math.sqrt(n * math.log(2 / (1 - p)) / 2)


@documented_by(published_soft_label_precision, Calculator)
def soft_label_precision(
    stability: Any,
    n_records: int,
    *,
    quality: Any = 0,
    probability: Any = 0.75,
    any_order: Any = None,
) -> SoftLabelPrecision:
    """Return radius, width and accuracy with the constants of our proof.

    Parameters
    ----------
    probability : number, default=0.75
        p: the probability that a teacher's score is within the radius. Use the same p for
        `soft_label_teachers`.
    any_order : number, optional
        `SGDStability.any_order` of a score, if known.

    Returns
    -------
    SoftLabelPrecision
        The radius r is the lesser of `score_radius` and `any_order_radius`, the width is the greater of 4 r
        and nu + r, and the accuracy is half the width plus r.

    Notes
    -----
    More than two thirds of the scores are within r of the mean prediction, in an interval no wider than half
    a bin, and so in one bin or in one shifted bin. Proof: `docs/theory/soft_label_stability.md`.

    Examples
    --------
    >>> from dplearn.theory import soft_label_precision
    >>> soft_label_precision(1e-4, 5000).width
    0.04
    """
    _, _, nu = _shard(stability, n_records, quality)
    radius = score_radius(stability, n_records, probability=probability)
    if any_order is not None:
        radius = min(radius, any_order_radius(any_order, n_records, probability=probability))
    width = max(4 * radius, nu + radius)
    return SoftLabelPrecision(radius=radius, width=width, accuracy=width / 2 + radius)


def soft_label_teachers_agreeing(
    privacy: ApproxDP,
    max_abstentions: int,
    *,
    n_queries: int = 1000,
    beta: Any = 0.05,
    agreement: Any = "5/6",
) -> int:
    """Return the number of teachers with which our noise allows answers to all queries with enough agreement.

    Parameters
    ----------
    privacy : ApproxDP
        The cost of all answers together: epsilon at least 1e-12, delta positive.
    max_abstentions : int
        T: the noise is that of 2 T unstable tests. A query uses one if its first histogram is unstable, and
        another if its second one is. Further queries without agreement must use fewer than 2 T together.
    n_queries : int, default=1000
        The number of stable queries that are all answered with probability 1 - beta; privacy does not depend
        on it.
    beta : number, default=0.05
    agreement : number, default=5/6
        The fraction of the scores in one bin of either histogram, on each of the `n_queries`, in (1/2, 1].

    Returns
    -------
    int
        `teachers_needed` with the noise of 2 T unstable tests.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import soft_label_teachers_agreeing
    >>> soft_label_teachers_agreeing(ApproxDP(1, 1e-6), 10, n_queries=1000)
    1649
    """
    unstable = 2 * check_count("max_abstentions", max_abstentions, low=1)
    return teachers_needed(privacy, unstable, n_queries=n_queries, beta=beta, agreement=agreement)


@documented_by(soft_label_teachers_agreeing, Calculator)
def soft_label_teachers(
    privacy: ApproxDP,
    max_abstentions: int,
    *,
    n_queries: int = 1000,
    beta: Any = 0.05,
    probability: Any = 0.75,
) -> int:
    """Return the number of teachers with which answers have the accuracy of `soft_label_precision`.

    Parameters
    ----------
    max_abstentions : int
        T: up to T queries may have an unstable first histogram; the second histogram of these is stable.
    probability : number, default=0.75
        p of `soft_label_precision`, above 2/3 and below 1.

    Returns
    -------
    int
        The least k for which, with probability 1 - beta, all queries are answered within the accuracy of
        `soft_label_precision`: half of beta is for the scores, half for the noise of 2 T unstable tests.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import soft_label_teachers
    >>> soft_label_teachers(ApproxDP(1, 1e-6), 10, n_queries=1000)
    2819
    """
    unstable = 2 * check_count("max_abstentions", max_abstentions, low=1)
    half = check_number("beta", beta, above=0, below=1) / 2
    p = check_number("probability", probability, above=Fraction(2, 3), below=1)
    noise = stable_answers_noise(privacy, unstable, n_queries=n_queries, beta=half)
    distance = noise.least_distance(n_queries, half)

    def enough(k: int) -> bool:
        share = agreement_bound(k, n_queries=n_queries, beta=half, probability=p)
        return share > 2 / 3 and math.ceil(share * k) - k // 2 > distance

    # The excess of that share of votes over a half does not decrease in k, among even k and among odd k.
    return min(ks[bisect_left(ks, True, key=enough)] for ks in (range(1, _MOST, 2), range(2, _MOST, 2)))


def _published_scale(privacy: ApproxDP, max_abstentions: int) -> float:
    epsilon = float(check_number("epsilon", epsilon_of(privacy), above=0))
    delta = float(check_number("delta", delta_of(privacy), above=0))
    most = check_count("max_abstentions", max_abstentions, low=1)
    return math.sqrt(64 * most * math.log(2 / delta)) / epsilon


def _shard(stability: Any, n_records: int, quality: Any) -> tuple[float, int, float]:
    a = float(check_number("stability", stability, above=0))
    nu = float(check_number("quality", quality, low=0, high=0.5))
    return a, check_count("n_records", n_records, low=1), nu
