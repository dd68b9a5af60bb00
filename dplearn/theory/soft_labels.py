"""How near private soft labels come to the mean prediction, and how many teachers that takes.

As published by Bassily, Thakkar and Thakurta (2018), Section 5, and ours. k teachers learn from disjoint
shards of n' examples and score each of m queries in [0, 1]; what is released is the midpoint of the bin with
most scores, or of the bin that is best after a shift by half a bin. `docs/theory/soft_label_stability.md` has
the proofs.

>>> published_soft_label_precision(1e-4, 5000).width, soft_label_precision(1e-4, 5000).width
(0.16, 0.04)
>>> privacy = ApproxDP(1, 1e-6)
>>> published_soft_label_setting(privacy, 10, n_queries=1000).n_teachers
58162
>>> soft_label_teachers(privacy, 10, n_queries=1000)
2819
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of
from dplearn.privacy.stable_answers import stable_answers_noise
from dplearn.theory.aggregation import agreement_bound, teachers_needed

__all__ = [
    "PublishedSoftLabelSetting",
    "SoftLabelPrecision",
    "any_order_radius",
    "published_soft_label_precision",
    "published_soft_label_setting",
    "published_strong_quality_teachers",
    "score_radius",
    "soft_label_precision",
    "soft_label_teachers",
    "soft_label_teachers_agreeing",
]

_MOST = 10**15  # teachers; more than any shards


@dataclass(frozen=True)
class PublishedSoftLabelSetting:
    """Noise and number of teachers that the paper sets for soft labels.

    Attributes
    ----------
    scale : float
        lambda = sqrt(64 T ln(2/delta))/epsilon (Algorithm 6).
    threshold : float
        w = lambda ln(4m/delta). It is too low for the privacy that is claimed; see `docs/errata.md`.
    distance : float
        d = 32 ln(8mT/min(delta, beta)) sqrt(4 T ln(2/delta))/epsilon (Theorem 5.6): histograms whose first
        bin leads the second by more are answered, all of them with probability 1 - beta.
    n_teachers : int
        136 ln(8mT/min(beta, delta)) sqrt(2 T ln(2/delta))/epsilon, rounded up (Theorem 5.14).
    """

    scale: float
    threshold: float
    distance: float
    n_teachers: int


@dataclass(frozen=True)
class SoftLabelPrecision:
    """Bins, and how near to the mean prediction answers come with them.

    Attributes
    ----------
    radius : float
        Within so much of the mean prediction most teachers score.
    width : float
        Of a bin, gamma: at least so much.
    accuracy : float
        Answers are within so much of the mean prediction if bins are just as wide.
    """

    radius: float
    width: float
    accuracy: float

    @property
    def n_bins(self) -> int:
        """Return the greatest number of equal bins that are wide enough, at least 1.

        Wider bins cost accuracy: answers are then within `accuracy` + (1/n_bins - `width`)/2.
        """
        return max(1, math.floor(1 / self.width))


def published_soft_label_setting(
    privacy: ApproxDP, max_abstentions: int, *, n_queries: int, beta: Any = 0.05
) -> PublishedSoftLabelSetting:
    """Return the setting of Algorithm 6 and Theorems 5.6 and 5.14 of Bassily, Thakkar and Thakurta (2018).

    Parameters
    ----------
    privacy : ApproxDP
        Epsilon and delta positive.
    max_abstentions : int
        T, at least 1: queries that the first histogram may leave open.
    n_queries : int
        m, at least 1.
    beta : number, default=0.05
        Probability of failure, in (0, 1).

    Notes
    -----
    Theorem 5.6 needs more than it says: each query that neither histogram settles takes two of the T. And the
    proof of Theorem 5.14 needs k >= 72 ln(2m/beta), which 136... gives unless epsilon is large.
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
    """Return k of Lemma 5.13: teachers with which one query of weak quality gets its answer.

    Parameters
    ----------
    privacy, max_abstentions, n_queries
        As for `published_soft_label_setting`; they give lambda and w.
    beta : number, default=0.05
        beta', the probability of failure for this query, in (0, 1).

    Returns
    -------
    int
        3 (sqrt(5) lambda ln(2/beta') + w), rounded up, but no less than the 72 ln(2/beta') of the proof,
        which the lemma leaves out.
    """
    failure = float(check_number("beta", beta, above=0, below=1))
    setting = published_soft_label_setting(privacy, max_abstentions, n_queries=n_queries)
    noise = 3 * (math.sqrt(5) * setting.scale * math.log(2 / failure) + setting.threshold)
    return math.ceil(max(noise, 72 * math.log(2 / failure)))


def published_soft_label_precision(stability: Any, n_records: int, *, quality: Any = 0) -> SoftLabelPrecision:
    """Return radius, width and accuracy as Corollary 5.10 and Theorem 5.14 have them.

    Parameters
    ----------
    stability : number
        a, above 0: root of the mean square by which a replaced example moves a score (Definition 5.7);
        `SGDStability.root_mean_square`, not its `mean`.
    n_records : int
        n', of one teacher, at least 1.
    quality : number, default=0
        nu, from 0 to 1/2: on all queries but T the mean prediction is below nu or above 1 - nu.

    Returns
    -------
    SoftLabelPrecision
        4 a sqrt(2n'), 16 a sqrt(2n') + nu and 8 a sqrt(2n') + nu/2.

    Notes
    -----
    The accuracy is half the width, and is kept where the first histogram's best bin holds the mean
    prediction. It may be its neighbour: then 12 a sqrt(2n') + nu/2 is kept. See `docs/errata.md`.
    """
    a, n, nu = _shard(stability, n_records, quality)
    unit = a * math.sqrt(2 * n)
    return SoftLabelPrecision(radius=4 * unit, width=16 * unit + nu, accuracy=8 * unit + nu / 2)


def score_radius(stability: Any, n_records: int, *, probability: Any = 0.75) -> float:
    """Return how near to the mean prediction a teacher scores with some probability, a sqrt(n'/(2 (1 - p))).

    Parameters
    ----------
    stability, n_records
        As for `published_soft_label_precision`.
    probability : number, default=0.75
        p, above 0 and below 1, over the teacher's shard and its chance. At 3/4 the radius is a sqrt(2n'), a
        fourth of that of Lemma 5.8.

    Notes
    -----
    For each outcome of the learner's chance the variance of a score over shards is at most half the sum of
    the mean squared changes (Efron and Stein); on average over outcomes at most n' a^2/2. Chebyshev's bound
    is linear in the variance, so that it needs the average alone. The mean prediction is that over shards,
    given the teacher's chance. All teachers share it if it does not depend on chance; or if they share their
    chance, and then `stability` must hold for that: `SGDStability.any_order` does.
    """
    a, n, _ = _shard(stability, n_records, 0)
    p = float(check_number("probability", probability, above=0, below=1))
    return a * math.sqrt(n / (2 * (1 - p)))


def any_order_radius(any_order: Any, n_records: int, *, probability: Any = 0.75) -> float:
    """Return the same from a bound that holds for each order, b sqrt(n' ln(2/(1 - p))/2).

    Parameters
    ----------
    any_order : number
        b, above 0: `SGDStability.any_order` of a score.
    n_records, probability
        As for `score_radius`.

    Notes
    -----
    For a given order a score is a function of n' independent examples, each of which moves it by c_j at most,
    with c_1^2 + ... + c_n'^2 <= n' b^2: McDiarmid's inequality. Radii grow with the root of a logarithm as p
    tends to 1, and not with 1/sqrt(1 - p).
    """
    b, n = float(check_number("any_order", any_order, above=0)), check_count("n_records", n_records, low=1)
    p = float(check_number("probability", probability, above=0, below=1))
    return b * math.sqrt(n * math.log(2 / (1 - p)) / 2)


def soft_label_precision(
    stability: Any,
    n_records: int,
    *,
    quality: Any = 0,
    probability: Any = 0.75,
    any_order: Any = None,
) -> SoftLabelPrecision:
    """Return radius, width and accuracy with constants as low as our proof allows.

    Parameters
    ----------
    stability, n_records, quality
        As for `published_soft_label_precision`.
    probability : number, default=0.75
        p: each teacher scores within the radius with this probability; to be given to `soft_label_teachers`.
    any_order : number, optional
        `SGDStability.any_order` of a score, where it is known.

    Returns
    -------
    SoftLabelPrecision
        The radius r is that of `score_radius` or, if it is less, of `any_order_radius`; the width is the
        greater of 4 r and nu + r, the accuracy half of it plus r.

    Notes
    -----
    Scores within r of the mean prediction fill an interval no wider than half a bin. So it lies in one bin,
    or it crosses one end of a bin and then lies in one shifted bin; an answered query gets the midpoint of a
    bin that the interval meets, if more than two thirds of all scores are in the interval. Below nu the
    interval lies in the first bin.
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
    """Return how many teachers our noise needs to answer all queries on whose bin most of them agree.

    Parameters
    ----------
    privacy, n_queries, beta
        As for `stable_answers_noise`.
    max_abstentions : int
        T: the noise is that of 2 T Nones, of which a query takes one if the first histogram leaves it open
        and one if the second does. Other queries must take fewer.
    agreement : number, default=5/6
        Above 1/2 and at most 1: the fraction of the scores that one bin of either histogram holds, on each
        of the `n_queries`.

    Returns
    -------
    int
        `teachers_needed` with the noise of 2 T Nones.
    """
    nones = 2 * check_count("max_abstentions", max_abstentions, low=1)
    return teachers_needed(privacy, nones, n_queries=n_queries, beta=beta, agreement=agreement)


def soft_label_teachers(
    privacy: ApproxDP,
    max_abstentions: int,
    *,
    n_queries: int = 1000,
    beta: Any = 0.05,
    probability: Any = 0.75,
) -> int:
    """Return how many teachers make our noise keep the guarantee of `soft_label_precision`.

    Parameters
    ----------
    privacy, n_queries, beta
        As for `stable_answers_noise`.
    max_abstentions : int
        T: the first histogram may leave up to T of the queries open, of which the second then settles all.
    probability : number, default=0.75
        p of `soft_label_precision`, above 2/3 and below 1.

    Returns
    -------
    int
        The least k for which our bounds show that, with probability 1 - beta, all queries are answered, each
        within the accuracy of `soft_label_precision` of the mean prediction: half of beta is for the scores,
        of which more than two thirds must be near the mean, and half for the noise of 2 T Nones.
    """
    nones = 2 * check_count("max_abstentions", max_abstentions, low=1)
    half = check_number("beta", beta, above=0, below=1) / 2
    p = check_number("probability", probability, above=Fraction(2, 3), below=1)
    noise = stable_answers_noise(privacy, nones, n_queries=n_queries, beta=half)
    distance = noise.least_distance(n_queries, half)

    def enough(k: int) -> bool:
        share = agreement_bound(k, n_queries=n_queries, beta=half, probability=p)
        return share > 2 / 3 and math.ceil(share * k) - k // 2 > distance

    # Among even k, as among odd ones, the votes by which that share exceeds a half never fall.
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
