"""Randomised response: exact probabilities of truth, independent records, estimates of known error."""

from fractions import Fraction
from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.audit import enumerate_privacy, exact_distribution
from dplearn.chance import EnumeratingDice, SeededDice, SystemDice
from dplearn.kernels.exact import at_most_exp, decay_ratio
from dplearn.mechanisms import randomized_response
from dplearn.privacy import ApproxDP
from dplearn.theory import estimated_frequencies, truth_probability

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)


def law_of(values, n_values, epsilon):
    privacy = ApproxDP(epsilon)
    distribution = exact_distribution(
        lambda dice: np.asarray(randomized_response(values, n_values, privacy=privacy, dice=dice)).tolist()
    )
    return {
        seen if isinstance(seen, int) else seen[1]: distribution.probability(seen)
        for seen in distribution.masses
    }


@pytest.mark.parametrize("n_values", [2, 3, 5])
@pytest.mark.parametrize("epsilon", ["0.1", 1, 3])
def test_each_value_is_kept_with_its_probability_and_all_others_are_equal(n_values, epsilon):
    ratio = decay_ratio(Fraction(epsilon))
    p = truth_probability(n_values, epsilon)
    assert p == 1 / (1 + (n_values - 1) * ratio)
    for value in range(n_values):
        wanted = dict.fromkeys(range(n_values), p * ratio) | {value: p}
        assert law_of(value, n_values, epsilon) == wanted


def test_records_answer_independently():
    singles = [law_of(value, 3, 1) for value in (2, 0)]
    joint = law_of([2, 0], 3, 1)
    assert joint == {(a, b): singles[0][a] * singles[1][b] for a, b in product(range(3), repeat=2)}


# Privacy


@pytest.mark.parametrize("n_values", [2, 3, 7])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", 3])
def test_epsilon_is_attained_and_never_more(n_values, epsilon):
    privacy = ApproxDP(epsilon)
    report = enumerate_privacy(
        lambda rows, dice: randomized_response(rows, n_values, privacy=privacy, dice=dice), range(n_values), 1
    )
    assert report.keeps(privacy)
    assert not at_most_exp(report.exp_epsilon, privacy.epsilon * Fraction(999_999, 1_000_000))


def test_a_record_that_gives_two_values_breaks_the_claim():
    privacy = ApproxDP(1)
    report = enumerate_privacy(
        lambda rows, dice: randomized_response(np.repeat(rows, 2), 2, privacy=privacy, dice=dice), range(2), 1
    )
    assert not report.keeps(privacy)
    assert not at_most_exp(report.exp_epsilon, Fraction(1999, 1000))


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-12", 700, 10**9])
def test_for_every_epsilon_the_truth_is_likelier_than_a_lie_and_never_certain(epsilon):
    for n_values in (2, 1000, 1 << 31):
        p = truth_probability(n_values, epsilon)
        q = (1 - p) / (n_values - 1)
        assert q < p < 1
        assert at_most_exp(p / q, min(Fraction(epsilon), Fraction(700)))


# Accuracy


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
@pytest.mark.parametrize(("n_values", "truth"), [(2, (0, 0, 0, 0, 1)), (2, (0,) * 7), (3, (0, 1, 2, 2))])
@pytest.mark.parametrize("epsilon", [1, 3])
def test_the_accuracy_line_holds(n_values, truth, epsilon, beta):
    p = truth_probability(n_values, epsilon)
    q = (1 - p) / (n_values - 1)
    bound = sqrt(log(2 * n_values / beta) / (2 * len(truth))) / float(p - q)
    frequencies = np.bincount(truth, minlength=n_values) / len(truth)
    far = 0
    for reports, mass in law_of(list(truth), n_values, epsilon).items():
        estimate = estimated_frequencies(np.array(reports), n_values, epsilon=epsilon)
        far += mass * bool(np.abs(estimate - frequencies).max() > bound)
    assert far <= beta


@pytest.mark.parametrize(("n_values", "truth"), [(2, (0, 0, 1)), (3, (2, 2, 0)), (4, (1, 3))])
def test_estimates_are_unbiased_and_sum_to_1(n_values, truth):
    mean = np.zeros(n_values)
    for reports, mass in law_of(list(truth), n_values, 1).items():
        estimate = estimated_frequencies(reports, n_values, epsilon=1)
        assert estimate.dtype == np.float64
        assert estimate.sum() == pytest.approx(1, abs=1e-12)
        mean += float(mass) * estimate
    assert mean == pytest.approx(np.bincount(truth, minlength=n_values) / len(truth), abs=1e-12)


def test_frequencies_of_a_million_records_are_found_within_the_stated_error():
    truth = np.arange(10**6) % 4 // 3  # a quarter of ones
    reports = randomized_response(truth, 2, privacy=ApproxDP(1), dice=SystemDice())
    p = truth_probability(2, 1)
    bound = sqrt(log(4e9) / 2e6) / float(2 * p - 1)  # beta = 1e-9
    assert np.abs(estimated_frequencies(reports, 2, epsilon=1) - [0.75, 0.25]).max() < bound


# What goes in and what comes out


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">u8", ">i2"])
def test_every_integer_dtype_gives_the_same_reports(dtype):
    values = np.array([3, 0, 2, 2, 1])
    for seed in range(10):
        first, second = (
            randomized_response(given_as, 4, privacy=ApproxDP(1), dice=SeededDice(seed))
            for given_as in (values, values.astype(dtype))
        )
        assert first.tolist() == second.tolist()
        assert second.dtype == np.int64


@pytest.mark.parametrize("value", [1, np.int8(1), np.uint64(1), np.array(1)], ids=repr)
def test_one_value_comes_back_as_an_int(value):
    assert type(randomized_response(value, 2, privacy=ApproxDP(1), dice=SystemDice())) is int


@pytest.mark.parametrize("values", [[], (), np.array([]), np.array([], dtype=np.int8)], ids=repr)
def test_no_records_give_no_reports(values):
    reports = randomized_response(values, 3, privacy=ApproxDP(1), dice=SystemDice())
    assert (reports.dtype, reports.shape) == (np.int64, (0,))


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-12", 10**9])
@pytest.mark.parametrize("n_values", [2, 255, 1 << 31])
def test_no_epsilon_or_number_of_values_overflows(epsilon, n_values):
    values = np.array([0, n_values - 1, n_values // 2])
    reports = randomized_response(values, n_values, privacy=ApproxDP(epsilon), dice=SystemDice())
    assert reports.dtype == np.int64
    assert reports.min() >= 0
    assert reports.max() < n_values
    if epsilon == 10**9:
        assert reports.tolist() == values.tolist()


def test_the_values_are_left_alone():
    values = np.arange(4)
    randomized_response(values, 4, privacy=ApproxDP("0.1"), dice=SystemDice())
    assert values.tolist() == [0, 1, 2, 3]


MESSAGE = "values must be an integer or a one-dimensional array of integers"


@pytest.mark.parametrize(
    "bad", [[0.5], 0.5, [[1, 2]], ["a"], "a", None, [None], True, [2**70], 2**70], ids=repr
)
def test_values_that_are_no_integers_are_refused(bad):
    with pytest.raises(TypeError, match=f"^{MESSAGE}$"):
        randomized_response(bad, 3, privacy=ApproxDP(1), dice=EnumeratingDice())


@repeatable
@given(st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=5))
def test_no_message_depends_on_the_values(values):
    array = np.array(values, dtype="u8" if min(values) >= 0 else None)
    if array.dtype.kind in "iu" and min(values) >= 0 and max(values) < 3:
        return
    with pytest.raises((TypeError, ValueError)) as refusal:
        randomized_response(array, 3, privacy=ApproxDP(1), dice=EnumeratingDice())
    assert str(refusal.value) in (MESSAGE, "values must be from 0 to n_values - 1 = 2")


@pytest.mark.parametrize(
    ("n_values", "epsilon", "message"),
    [
        (1, 1, "n_values must be an integer from 2 to 2147483648, got 1$"),
        (1 << 32, 1, "n_values must be an integer from 2 to 2147483648, got 4294967296$"),
        (2, 0, "epsilon must be a finite number above 0, got "),
    ],
)
def test_bad_public_parameters_are_named(n_values, epsilon, message):
    for call in (
        lambda: truth_probability(n_values, epsilon),
        lambda: randomized_response([0], n_values, privacy=ApproxDP(epsilon), dice=EnumeratingDice()),
        lambda: estimated_frequencies([0], n_values, epsilon=epsilon),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            call()


@pytest.mark.parametrize("bad", [[], [3], [-1], [2**70]], ids=repr)
def test_reports_that_no_response_gives_are_refused(bad):
    with pytest.raises(
        ValueError, match=r"^reports must hold at least one number, all from 0 to n_values - 1 = 2$"
    ):
        estimated_frequencies(bad, 3, epsilon=1)


@pytest.mark.parametrize("bad", [[0.5, 1.7], 3, ["a"], [True]], ids=repr)
def test_reports_that_are_no_integers_are_refused(bad):
    with pytest.raises(TypeError, match=r"^reports must be a one-dimensional array of integers$"):
        estimated_frequencies(bad, 3, epsilon=1)
