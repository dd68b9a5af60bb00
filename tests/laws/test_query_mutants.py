"""Deliberate mistakes in oracles: each breaks the claim, or is no longer what the proof replays."""

import numpy as np
import pytest

from dplearn.audit.cases.queries import CASES as QUERY_CASES
from dplearn.audit.cases.queries import MEAN, SHARES, VECTOR, oracle_case
from dplearn.kernels.exact import decay_ratio
from dplearn.mechanisms import noisy_counts
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, MeanQuery, VectorQuery, query
from dplearn.queries import randomizers as randomised
from tests.laws.conftest import OnePair
from tests.laws.oracle_mistakes import reports_of_the_same_records, the_whole_budget_for_each

CASES = {case.name: case for case in QUERY_CASES}


#: Neighbours that some mistakes show on; the others show on the ends of the universe.
NEAR, ZERO_FIRST = ((-1,), (0,)), ((0, -1), (-1, -1))


def ends(case):
    """Neighbours that differ as much as records of the universe can."""
    low, high, common = case.universe[0], case.universe[-1], case.universe[:1] * (case.n - 1)
    return (low, *common), (high, *common)


@pytest.fixture(params=["witness", pytest.param("universe", marks=pytest.mark.nightly)])
def report(request):
    """What a case finds now, on a witness or at night on all tables; it keeps what it found before itself."""

    def found(name, pair=None):
        case = CASES[name].with_fit(CASES[name].fit)
        return (case if request.param == "universe" else OnePair.of(case, pair or ends(case))).run()

    return found


@pytest.fixture
def keeps(report):
    return lambda name: report(name).keeps(CASES[name].claim)


def central_report(asked, universe, moves, n=1):
    """Of one central answer about n records, at epsilon 1."""

    def factory(records, privacy, dice):
        return CentralOracle(records, privacy=privacy, dice=dice)

    return oracle_case("one", factory, [([asked], None)], universe, n, ApproxDP(1), moves).run()


@pytest.mark.nightly  # enumeration runs each, and replays it, with every change
@pytest.mark.parametrize("name", CASES)
def test_all_cases_keep_their_claim_unmutated(name, keeps):
    assert keeps(name)
    assert not CASES[name].replay(seeds=1)


def test_noise_for_an_added_record_where_one_is_replaced_breaks_the_claim(monkeypatch, keeps):
    monkeypatch.setattr(VECTOR, "l1", VECTOR.l1 // 2)
    assert not keeps("central_vector")
    monkeypatch.setattr(MEAN, "l1", max(abs(MEAN.low), abs(MEAN.high)))
    monkeypatch.setattr(SHARES, "l1", 1)
    assert not keeps("central_queries")


def test_gaussian_noise_for_an_added_record_breaks_the_claim(monkeypatch, keeps):
    monkeypatch.setattr(MEAN, "squared_l2", MEAN.high**2 // 4)
    assert not keeps("central_gaussian")


def test_one_noise_for_all_numbers_of_a_vector_breaks_the_claim(monkeypatch, report):
    class Repeating:
        def __init__(self, dice):
            self._dice = dice

        def discrete_laplace(self, ratio, low, high, size):
            return np.full(size, self._dice.discrete_laplace(ratio, -9, 9))

    right = noisy_counts.laplace_counts
    monkeypatch.setattr(
        "dplearn.queries.noise.laplace_counts",
        lambda counts, *, dice, **how: right(counts, dice=Repeating(dice), **how),
    )
    assert report("central_vector", NEAR).exp_epsilon is None


def test_a_part_of_the_records_that_answers_twice_breaks_the_claim(monkeypatch, keeps):
    reports_of_the_same_records(monkeypatch)
    assert not keeps("local_queries")


def test_a_budget_that_each_round_has_whole_breaks_the_claim(monkeypatch, keeps):
    the_whole_budget_for_each(monkeypatch)
    assert not keeps("central_queries")


def test_records_that_are_clipped_after_they_are_summed_break_the_claim(monkeypatch):
    monkeypatch.setattr(MeanQuery, "total", lambda self, records: records.sum(keepdims=True).clip(-18, 18))
    assert central_report(MEAN, (-9, 0, 9), 3, n=2).exp_epsilon > np.exp(1.99)


def test_rows_that_are_longer_than_their_norm_break_the_claim(monkeypatch):
    long = VectorQuery(lambda records: np.multiply.outer(records, [-1, 1, -1, 1]), size=4, norm=1)
    assert central_report(long, (-1, 0, 1), 4).exp_epsilon == 1  # all count as zeros
    monkeypatch.setattr(query, "kept_short", lambda rows, *_: rows)
    assert central_report(long, (-1, 0, 1), 4).exp_epsilon > np.exp(1.5)


def test_noise_that_is_moved_to_ends_in_place_of_the_sum_breaks_the_claim(monkeypatch, report):
    def clamped(counts, *, privacy, dice, sensitivity, low, high):
        ratio = decay_ratio(privacy.epsilon / sensitivity)
        return counts + dice.discrete_laplace(ratio, low, high, size=len(counts))

    monkeypatch.setattr(randomised, "laplace_counts", clamped)
    assert report("local_laplace", NEAR).exp_epsilon is None


def test_ends_that_depend_on_the_value_break_the_claim(monkeypatch, report):
    right = randomised.laplace_counts

    def around(counts, *, low, high, **how):
        return right(counts, low=int(counts.min()) + low, high=int(counts.max()) + high, **how)

    monkeypatch.setattr(randomised, "laplace_counts", around)
    assert report("local_laplace", NEAR).exp_epsilon is None


def test_laplace_noise_for_half_the_range_breaks_the_claim(monkeypatch, keeps):
    right = randomised.laplace_counts
    monkeypatch.setattr(
        randomised,
        "laplace_counts",
        lambda counts, *, sensitivity, **how: right(counts, sensitivity=sensitivity // 2, **how),
    )
    assert not keeps("local_laplace")


def test_bits_that_are_reported_as_they_are_break_the_claim(monkeypatch, report):
    monkeypatch.setattr(randomised, "randomized_response", lambda values, *_, **__: values)
    assert report("local_queries", ZERO_FIRST).exp_epsilon is None
    assert report("local_vector", NEAR).exp_epsilon is None


def test_a_coordinate_that_is_picked_by_what_it_holds_breaks_the_claim(monkeypatch, report):
    right = randomised.hadamard_coordinate

    def by_sign(rows, picked):
        picked[:] = 1 + np.sign(rows[:, 0])
        return right(rows, picked)

    monkeypatch.setattr(randomised, "hadamard_coordinate", by_sign)
    assert report("local_vector", NEAR).exp_epsilon is None
