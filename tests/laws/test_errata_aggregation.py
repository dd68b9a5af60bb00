"""What docs/errata.md says of Bassily, Thakkar and Thakurta (2018), Algorithms 1, 3 and 4, computed."""

from fractions import Fraction
from functools import partial
from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest

from dplearn.audit import enumerate_privacy, exact_distribution
from dplearn.kernels import decay_ratio, exp_bounds, laplace_quantile
from dplearn.mechanisms import Questions
from dplearn.privacy import THEOREMS, ApproxDP, Composition, PureDP
from dplearn.theory import published_max_abstentions, published_setting

DELTAS = (0.1, 0.01, 1e-4, 1e-6, 1e-9, 1e-12)

# Algorithms 1, 3 and 6: one None too many


def exact_epsilon(most, allowed, questions):
    """The exact epsilon of `allowed` positive answers with noise that is meant for `most`, at epsilon 3."""
    epsilon, share = Fraction(3), Fraction(1, 1 + round((2 * most) ** (2 / 3)))
    ratios = decay_ratio(epsilon * share), decay_ratio(epsilon * (1 - share) / (2 * most))

    def fit(rows, dice):
        values = np.array(rows[0], dtype=np.int64)
        return tuple(Questions(dice, 0, *ratios, False, (allowed, None)).answer(values).tolist())

    universe = list(product((0, 1), repeat=questions))
    left_out = Fraction(1, 1 << 12)
    return enumerate_privacy(fit, universe, 1, delta=left_out, tail_bits=14).epsilon


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("most", "questions", "found"), [(1, 4, 5), pytest.param(2, 4, 4.125, marks=pytest.mark.nightly)]
)
def test_one_answer_more_than_the_noise_is_meant_for_costs_its_full_price(most, questions, found):
    assert exact_epsilon(most, most, questions) <= 3
    assert exact_epsilon(most, most + 1, questions) == pytest.approx(found, abs=0.001)


def published_epoch(epsilon, delta, most, moves):
    """Epsilon of one epoch of Algorithm 3, Lap(lambda) and Lap(2 lambda), if distances move by `moves`."""
    scale = published_setting(ApproxDP(epsilon, delta), most, n_queries=1).scale
    return Fraction(2 * moves / scale * (1 + 1e-9))


def composed(epsilon, epochs, delta):
    """An upper bound on the epsilon of so many epochs."""
    return min(
        THEOREMS["basic"](PureDP(epsilon * epochs), delta),
        THEOREMS["optimal_homogeneous"](Composition({PureDP(epsilon): epochs}), delta),
    )


MANY = (1, 2, 3, 5, 10, 20, 50, 100, 300, 1000, 3000)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [0.1, 1, 10, 30])
def test_the_published_noise_pays_for_that_answer_up_to_epsilon_30(epsilon, delta):
    for most in MANY:
        epoch = published_epoch(epsilon, delta, most, moves=1)
        assert composed(epoch, most + 1, Fraction(delta) / 2) <= epsilon


@pytest.mark.parametrize("further", [0, 1])
def test_beyond_that_the_proof_does_not_hold_for_the_right_number_either(further):
    epoch = published_epoch(40, 0.1, 300, moves=1)
    assert composed(epoch, 300 + further, Fraction(1, 20)) > 40


# Lemma 3.8: one unstable query, after queries that choose a low threshold


def laplace_tail(x):
    """P[Lap(1) > x]."""
    return np.where(x >= 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)


def answered_over_claimed(distances_below, m=6, delta=1e-6):
    """P[the last of m queries, at distance 0, is answered] over delta / 2m, by Simpson's rule.

    The others have distances of w less the given multiples of lambda. The density of the threshold's noise,
    in units of lambda, is kept on a grid that has all its kinks.
    """
    step = 1 / 64
    noise = np.arange(-60, 60 + step, step)
    weights = np.full(noise.size, 2.0)
    weights[1::2], weights[0], weights[-1] = 4, 1, 1
    weights *= step / 3
    fresh = np.exp(-np.abs(noise)) / 2
    density = fresh
    for below in distances_below:
        answered = laplace_tail((below + noise) / 2)
        density = density * answered + fresh * (weights @ (density * (1 - answered)))
    last = laplace_tail((2 * log(2 * m / delta) + noise) / 2)
    return weights @ (density * last) / (delta / (2 * m))


def test_asked_alone_an_unstable_query_is_answered_more_rarely_than_lemma_3_8_says():
    tail = 1e-6 / 12
    closed_form = (2 / 3 * tail - tail**2 / 6) / tail  # P[2 X + Y > 2 ln(1 / tail)]
    assert answered_over_claimed([]) == pytest.approx(closed_form, rel=1e-6)
    assert closed_form < 0.667


def test_after_five_others_it_is_answered_more_often():
    # T = 5: even if all five got None, Algorithm 3 still asks the sixth.
    assert answered_over_claimed([2.25, 1.75, 1.125, 0.75, 0]) == pytest.approx(1.0176, abs=1e-4)
    assert answered_over_claimed([0.75] * 5) == pytest.approx(1.0001, abs=5e-5)


def test_after_four_others_it_is_not():
    best = max(
        answered_over_claimed([a, b, c, d], m=5) for a, b, c, d in product((0, 0.75, 1.5, 2.25), repeat=4)
    )
    assert 0.96 < best < 0.98


def test_the_theorem_does_not_need_the_lemma():
    # An epoch is spoiled with probability (2/3) delta / 2m at most; there are at most m of them.
    for m, most in product((1, 6, 1000), (1, 5, 999)):
        for delta in DELTAS:
            tail = delta / (2 * m)
            assert min(m, most + 1) * (2 / 3 * tail - tail**2 / 6) <= delta / 2


# Algorithm 4: its distance moves by 2, and is 1 where a vote may change the winner


def spoiled(epsilon, delta, most):
    """A bound on the probability that Algorithm 4 answers a critical query of distance 1.

    It has min(m, T + 1) epochs to do so, in each with P[1 + 2 lambda X + lambda Y > w], which is at most
    (2/3) exp(1 / 2 lambda) delta / 2m; worst is m = T + 1.
    """
    scale = published_setting(ApproxDP(epsilon, delta), most, n_queries=1).scale
    return Fraction(2 / 3 * exp(1 / (2 * scale)) * delta / 2 * (1 + 1e-9))


def gap_is_closed(epsilon, delta, most):
    rest = Fraction(delta) - spoiled(epsilon, delta, most)
    epoch = published_epoch(epsilon, delta, most, moves=2)
    return rest > 0 and composed(epoch, most + 1, rest) <= epsilon


@pytest.mark.parametrize("delta", DELTAS[1:])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4, 7])
def test_the_noise_of_algorithm_4_closes_the_gap_up_to_epsilon_7(epsilon, delta):
    assert all(gap_is_closed(epsilon, delta, most) for most in MANY)


def test_for_a_delta_of_a_tenth_it_does_up_to_epsilon_5():
    assert all(gap_is_closed(5, 0.1, most) for most in MANY)
    assert not gap_is_closed(6, 0.1, 5)


def test_from_epsilon_8_on_this_proof_fails():
    assert not gap_is_closed(8, 0.01, 1000)


def test_that_distance_moves_by_two_and_is_one_where_a_vote_changes_the_winner():
    def published_distance(votes):
        second, top = sorted(votes)[-2:]
        return max(0, top - second - 1)

    assert (published_distance((5, 2)), published_distance((4, 3))) == (2, 0)
    here, there = (5, 3), (4, 4)
    assert published_distance(here) == 1
    assert int(np.argmax(here[::-1])) != int(np.argmax(there[::-1]))


# Algorithm 4 under its own neighbours: one record more


TEACHERS = 20
HERE = (1, 1, 0, 0, 1, 1) * (TEACHERS // 2)  # three records for each teacher
THERE = (0, *HERE)


def equal_chunks_agree(records):
    """Votes of teachers that answer the majority of their chunk; what is left over is in no chunk."""
    size = len(records) // TEACHERS
    votes = [sum(records[i * size : (i + 1) * size]) * 2 > size for i in range(TEACHERS)]
    return TEACHERS - sum(votes), sum(votes)


def single_release(records, dice, epsilon=Fraction(1), delta=Fraction(1, 100)):
    """Algorithm 2 with the votes and the distance of Algorithm 4, and an exact threshold for its noise."""
    zeros, ones = equal_chunks_agree(records)
    ratio = decay_ratio(epsilon)
    gap = laplace_quantile(ratio, delta) - max(0, abs(ones - zeros) - 1)
    return int(ones > zeros) if dice.discrete_laplace(ratio, gap - 1, gap) == gap else None


def test_one_record_more_at_the_front_shifts_every_chunk():
    assert equal_chunks_agree(HERE) == (0, 20)
    assert equal_chunks_agree(THERE) == (10, 10)


def test_the_exact_delta_of_one_release_is_nearly_one():
    here, there = (exact_distribution(partial(single_release, records)) for records in (HERE, THERE))
    factor = exp_bounds(Fraction(1))[1]
    abstained = there.probability(None) - factor * here.probability(None)
    spoken = here.probability(1) - factor * there.probability(1)
    assert float(abstained) == pytest.approx(0.995, abs=0.0005)
    assert float(spoken) == pytest.approx(1, abs=1e-4)


def test_more_teachers_do_not_help():
    # The votes are k to 0 and k/2 to k/2 whatever k; at the published k both sides are nearly sure.
    setting = published_setting(ApproxDP(1, 1e-6), 1, n_queries=1)
    far = (setting.n_teachers - 1 - setting.threshold) / setting.scale
    assert 2 * exp(-far / 2) < 1e-9  # P[None] at distance k - 1
    assert setting.threshold / setting.scale > 2 * log(1e6)  # distance 0 is answered as rarely as delta


# Corollary 4.1: more teachers than queries


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_published_number_of_teachers_exceeds_the_number_of_queries(alpha):
    m = int(4 * log(1 / (alpha * 0.05)) / alpha**2) + 1
    most = published_max_abstentions(m, alpha=alpha, beta=0.05)
    k = published_setting(ApproxDP(1, 1e-6), most, n_queries=m).n_teachers
    assert k > 7 * m


def test_the_corollary_supposes_hundreds_of_millions_of_queries():
    def teachers(m):
        most = published_max_abstentions(m, alpha=0.05, beta=0.05)
        return published_setting(ApproxDP(1, 1e-6), most, n_queries=m).n_teachers

    assert teachers(10**8) > 10**8
    assert sqrt(10**9) < teachers(10**9) < 10**9
