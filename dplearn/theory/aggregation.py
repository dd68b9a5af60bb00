"""Numbers of teachers and examples for sub-sample and aggregate: as published by Bassily, Thakkar and
Thakurta (2018), and with our noise. k teachers learn from disjoint parts of n examples and answer m queries
by plurality, of which T may be unstable.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dplearn._documented import Calculator, documented_by
from dplearn._validation import check_count, check_number
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import delta_of, epsilon_of
from dplearn.privacy.stable_answers import stable_answers_noise

_TINY = 1e-100  # parameters below this are refused: products and quotients of floats could underflow
_HUGE = 10**100


@dataclass(frozen=True)
class PublishedSetting:
    """The noise and the number of teachers of the paper for m queries."""

    # lambda = sqrt(32 T ln(2/delta))/epsilon, of the threshold's noise; that of distances has 2 lambda
    scale: float
    threshold: float  # w = 2 lambda ln(2m/delta) (Algorithm 3)
    # 32 ln(4mT/min(delta, beta)) sqrt(2 T ln(2/delta))/epsilon: queries with at least this distance are all
    # answered with probability 1 - beta (Corollary 3.9)
    distance: float
    n_teachers: int  # 136 ln(4mT/min(delta, beta/2)) sqrt(T ln(2/delta))/epsilon, rounded up (Algorithm 4)


@dataclass(frozen=True)
class TransferSampleSize:
    """Sizes of the two samples of a knowledge transfer."""

    n_private: int  # examples, on which the teachers are trained
    n_public: int  # feature vectors, which the teachers label for the student


@dataclass(frozen=True)
class TeachersRow:
    """One row of `teachers_table`."""

    max_abstentions: int  # the number T of unstable queries
    published: int  # numbers of teachers: of the published algorithm, and of ours
    ours: int

    @property
    def ratio(self) -> float:
        """The published number of teachers divided by ours."""
        return self.published / self.ours


def published_setting(
    privacy: ApproxDP, max_abstentions: int, *, n_queries: int, beta: Any = 0.05
) -> PublishedSetting:
    """Return the setting of Algorithms 3 and 4 of Bassily, Thakkar and Thakurta (2018).

    Parameters
    ----------
    max_abstentions : int
        T, at least 1.
    beta : number, default=0.05

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import published_setting
    >>> published_setting(ApproxDP(1, 1e-6), 10, n_queries=1000, beta=0.05).n_teachers
    39991
    """
    epsilon, delta = _float("epsilon", epsilon_of(privacy)), _float("delta", delta_of(privacy))
    most = check_count("max_abstentions", max_abstentions, low=1, high=_HUGE)
    m, failure = check_count("n_queries", n_queries, low=1, high=_HUGE), _float("beta", beta, below=1)
    root = math.sqrt(most * math.log(2 / delta)) / epsilon
    scale = math.sqrt(32) * root
    return PublishedSetting(
        scale=scale,
        threshold=2 * scale * math.log(2 * m / delta),
        distance=32 * math.log(4 * m * most / min(delta, failure)) * math.sqrt(2) * root,
        n_teachers=math.ceil(136 * math.log(4 * m * most / min(delta, failure / 2)) * root),
    )


def published_max_abstentions(n_queries: int, *, alpha: Any, beta: Any, gamma: Any = 0) -> int:
    """Return the T of Corollary 4.1: 3 ((gamma + alpha) m + sqrt(m ln(m/beta) / 2)), rounded up.

    If each teacher has an excess error of at most alpha with probability 1 - beta/k, then with probability 1
    - 2 beta at least two thirds of the teachers are right on all queries but T, for at most as many teachers
    as queries; see `docs/errata.md`.

    Parameters
    ----------
    gamma : number, default=0
        The least error in the class, at least 0 and below 1.

    Examples
    --------
    >>> from dplearn.theory import published_max_abstentions
    >>> published_max_abstentions(1000, alpha=0.01, beta=0.05)
    242
    """
    m = check_count("n_queries", n_queries, low=1, high=_HUGE)
    error = _float("alpha", alpha, below=1) + float(check_number("gamma", gamma, low=0, below=1))
    failure = _float("beta", beta, below=1)
    return math.ceil(3 * (error * m + math.sqrt(m * math.log(m / failure) / 2)))


def agreement_bound(n_teachers: int, *, n_queries: int, beta: Any, probability: Any = 0.75) -> float:
    """Return the fraction of teachers that agree on every stable query with probability 1 - beta.

    A query is stable if there is an answer that a teacher trained on a random part gives with probability at
    least p = `probability`. By Hoeffding's bound, with probability 1 - beta a fraction of at least p -
    sqrt(ln(m/beta) / (2 k)) of the k teachers gives it, for all m queries (Theorem 3.11, with p = 3/4).

    Parameters
    ----------
    n_teachers, n_queries : int
        k and m, at least 1.
    probability : number, default=0.75
        p, above 0 and at most 1.

    Returns
    -------
    float
        At least 0.

    Examples
    --------
    >>> from dplearn.theory import agreement_bound
    >>> round(float(agreement_bound(1000, n_queries=100, beta=0.05)), 3)
    0.688
    """
    k = check_count("n_teachers", n_teachers, low=1, high=_HUGE)
    m, failure = check_count("n_queries", n_queries, low=1, high=_HUGE), _float("beta", beta, below=1)
    p = float(check_number("probability", probability, above=0, high=1))
    return max(0.0, p - math.sqrt(math.log(m / failure) / (2 * k)))


def classification_queries_sample_size(
    vc_dimension: int,
    n_queries: int,
    *,
    privacy: ApproxDP,
    alpha: Any,
    beta: Any,
    gamma: Any = None,
    constant: float = 1.0,
) -> int:
    """Return n of Theorems 4.3 and 4.4, with which all but T of m binary queries have right answers.

    Parameters
    ----------
    vc_dimension : int
        V, at least 1.
    n_queries : int
        The number m of binary queries, at least 4 ln(1/(alpha beta))/alpha**2.
    gamma : number, optional
        The least error in the class (Theorem 4.4). None: a member of the class has no error (Theorem 4.3).
    constant : float, default=1.0
        The constant, which the theorems do not state, in the number of examples that one teacher needs.

    Returns
    -------
    int
        k n', with k from `published_setting` for the T of `published_max_abstentions`. For an excess error of
        at most alpha with probability 1 - beta/k a teacher needs
        n' = constant (V ln(1/alpha) + ln(k/beta))/alpha examples, or constant (V + ln(k/beta))/alpha**2 with
        `gamma`.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import classification_queries_sample_size
    >>> classification_queries_sample_size(10, 5000, privacy=ApproxDP(1, 1e-6), alpha=0.1, beta=0.05)
    288018720
    """
    excess, failure = _float("alpha", alpha, below=1), _float("beta", beta, below=1)
    least = math.ceil(_least_queries(excess, failure))
    m = check_count("n_queries", n_queries, low=least, high=_HUGE)
    v = check_count("vc_dimension", vc_dimension, low=1, high=_HUGE)
    unstable = published_max_abstentions(m, alpha=alpha, beta=beta, gamma=gamma or 0)
    k = published_setting(privacy, unstable, n_queries=m, beta=beta).n_teachers
    if gamma is None:
        each = (v * math.log(1 / excess) + math.log(k / failure)) / excess
    else:
        each = (v + math.log(k / failure)) / excess**2
    return k * math.ceil(_float("constant", constant) * each)


def knowledge_transfer_sample_size(
    vc_dimension: int,
    *,
    privacy: ApproxDP,
    alpha: Any,
    beta: Any,
    gamma: Any = None,
    constant: float = 1.0,
) -> TransferSampleSize:
    """Return the sample sizes of Theorems 4.6 and 4.7, with which the student has error O(alpha + gamma).

    Parameters
    ----------
    vc_dimension : int
        V, at least 1.
    alpha, beta : number
        In (0, 1), beta at most alpha. The probability that the student has a greater error is at most 3 beta.
    gamma : number, optional
        The least error in the class (Theorem 4.7). None: a member of the class has no error (Theorem 4.6).
    constant : float, default=1.0
        The constant, which the theorems do not state, in the numbers of examples that the student and each
        teacher need.

    Returns
    -------
    TransferSampleSize
        n_public = m is the greater of constant (V + ln(1/beta))/alpha**2 and 4 ln(1/(alpha beta))/alpha**2,
        which Theorems 4.3 and 4.4 require; n_private is `classification_queries_sample_size` for m.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import knowledge_transfer_sample_size
    >>> knowledge_transfer_sample_size(10, privacy=ApproxDP(1, 1e-6), alpha=0.1, beta=0.05)
    TransferSampleSize(n_private=186045620, n_public=2120)
    """
    v = check_count("vc_dimension", vc_dimension, low=1, high=_HUGE)
    excess, failure = _float("alpha", alpha, below=1), _float("beta", beta, below=1)
    check_number("beta", beta, high=check_number("alpha", alpha))
    student = _float("constant", constant) * (v + math.log(1 / failure)) / excess**2
    m = math.ceil(max(student, _least_queries(excess, failure)))
    n = classification_queries_sample_size(
        v, m, privacy=privacy, alpha=alpha, beta=beta, gamma=gamma, constant=constant
    )
    return TransferSampleSize(n_private=n, n_public=m)


def teachers_needed(
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
        T: the number of abstentions after which the sparse vector stops; from 1 to 10**9. Fewer than T
        queries besides `n_queries` may lack agreement.
    n_queries : int, default=1000
        The number of stable queries that are all answered with probability 1 - beta; privacy does not depend
        on it.
    beta : number, default=0.05
    agreement : number, default=5/6
        The fraction u of teachers that give the same answer to each of the `n_queries`, above 1/2 and at
        most 1.

    Returns
    -------
    int
        The least k such that, with ceil(u k) votes for one label and the rest for any others, the distance of
        `dplearn.kernels.votes.plurality` is at least the least distance with which all queries are answered.

    Notes
    -----
    If the k - c votes against the winner's c are all for one label that wins ties, c - floor(k/2) votes must
    change before it wins. With d the least distance, k = 2 j suffices if ceil((2 u - 1) j) >= d + 1, and k =
    2 j + 1 if ceil((2 u - 1) j + u) >= d + 1.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import teachers_needed
    >>> teachers_needed(ApproxDP(1, 1e-6), 11, n_queries=1000)
    1005
    >>> teachers_needed(ApproxDP(1, 1e-6), 11, n_queries=1000, agreement="2/3")
    2009
    """
    u = check_number("agreement", agreement, above=0.5, high=1)
    noise = stable_answers_noise(privacy, max_abstentions, n_queries=n_queries, beta=beta)
    d = noise.least_distance(n_queries, beta)
    even = 2 * (math.floor(d / (2 * u - 1)) + 1)
    odd = 2 * max(0, math.floor((d - u) / (2 * u - 1)) + 1) + 1
    return min(even, odd)


@documented_by(teachers_needed, Calculator)
def teachers_table(
    privacy: ApproxDP,
    max_abstentions: Iterable[int] = (1, 10, 50, 100),
    *,
    n_queries: int = 1000,
    beta: Any = 0.05,
    agreement: Any = "2/3",
) -> Iterator[TeachersRow]:
    """Yield, for each T, the published number of teachers and ours, for the same guarantee.

    Parameters
    ----------
    max_abstentions : iterable of int, default=(1, 10, 50, 100)
        Values of T: the numbers of queries, among `n_queries`, with arbitrary votes.
    agreement : number, default=2/3
        As for `teachers_needed`. The published number always assumes 2/3.

    Yields
    ------
    TeachersRow

    Notes
    -----
    The published algorithm stops at abstention T + 1, and ours, which is given T + 1, too. Half of beta is
    for the noise.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import teachers_table
    >>> next(teachers_table(ApproxDP(1, 1e-6), [11]))
    TeachersRow(max_abstentions=11, published=42107, ours=2279)
    """
    half = check_number("beta", beta, above=0, below=1) / 2
    for most in max_abstentions:
        published = published_setting(privacy, most, n_queries=n_queries, beta=beta).n_teachers
        ours = teachers_needed(privacy, most + 1, n_queries=n_queries, beta=half, agreement=agreement)
        yield TeachersRow(most, published, ours)


def _float(name: str, value: Any, below: int | None = None) -> float:
    number = check_number(name, value, above=0, below=below)
    return float(check_number(name, number, low=_TINY, high=_HUGE))


def _least_queries(alpha: float, beta: float) -> float:
    """Return 4 ln(1/(alpha beta))/alpha**2, the least m of Theorems 4.3 and 4.4."""
    return 4 * math.log(1 / (alpha * beta)) / alpha**2
