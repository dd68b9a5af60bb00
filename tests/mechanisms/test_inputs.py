"""What every mechanism does with its data: integers of any type give the same release, none wraps or
overflows, and what are no integers is refused with a message that shows no value."""

import re

import numpy as np
import pytest

from dplearn.chance import EnumeratingDice, SeededDice, SystemDice
from dplearn.mechanisms import (
    AboveThreshold,
    SparseVector,
    StableAnswers,
    choosing_mechanism,
    exponential_mechanism,
    first_reaching,
    gaussian_counts,
    laplace_counts,
    most_frequent_if_stable,
    permute_and_flip,
    randomized_response,
)
from dplearn.privacy import ApproxDP, ZeroConcentratedDP

DELTA = "0.01"


def by_name(mechanism, privacy_of, *further):
    return lambda values, epsilon, dice: mechanism(values, *further, privacy=privacy_of(epsilon), dice=dice)


def pure(epsilon):
    return ApproxDP(epsilon)


def approximate(epsilon):
    return ApproxDP(epsilon, DELTA)


def sparse(values, epsilon, dice):
    return SparseVector(20, max_positives=2, privacy=pure(epsilon), dice=dice).ask_all(values)


def above(values, epsilon, dice):
    return AboveThreshold(20, privacy=pure(epsilon), dice=dice).ask_all(values)


def stable(values, epsilon, dice):
    release = StableAnswers(max_abstentions=5, privacy=approximate(epsilon), dice=dice)
    return release.answer(values, values)


ARRAY = "{} must be a one-dimensional array of integers"
NONEMPTY = "qualities must be a nonempty one-dimensional array of integers"
#: From each mechanism to a call with values, epsilon and dice, and what it says of what are no integers.
EACH = {
    "laplace_counts": (by_name(laplace_counts, pure), ARRAY.format("counts")),
    "gaussian_counts": (by_name(gaussian_counts, ZeroConcentratedDP), ARRAY.format("counts")),
    "exponential_mechanism": (by_name(exponential_mechanism, pure), NONEMPTY),
    "permute_and_flip": (by_name(permute_and_flip, pure), NONEMPTY),
    "choosing_mechanism": (by_name(choosing_mechanism, approximate), NONEMPTY),
    "randomized_response": (
        by_name(randomized_response, pure, 100),
        "values must be an integer or a one-dimensional array of integers",
    ),
    "SparseVector": (sparse, ARRAY.format("values")),
    "AboveThreshold": (above, ARRAY.format("values")),
    "StableAnswers": (stable, ARRAY.format("answers")),
    "most_frequent_if_stable": (by_name(most_frequent_if_stable, approximate, 100), ARRAY.format("votes")),
}
each = pytest.mark.parametrize("name", EACH)


def plain(released):
    return np.asarray(released, dtype=object).tolist()


@each
def test_every_integer_type_gives_the_same_release(name):
    call, _ = EACH[name]
    values = np.array([3, 60, 59, 60, 0])
    for seed in range(4):
        wanted = call(values, 1, SeededDice(seed))
        for dtype in ("i1", "i2", "i4", "u1", "u2", "u4", "u8", ">u8", ">i2"):
            found = call(values.astype(dtype), 1, SeededDice(seed))
            assert plain(found) == plain(wanted), dtype
            assert type(found) is type(wanted)
            assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)


#: What is no array of integers; a float, a text or an object might show a record.
BAD = [[0.5], [[1, 2]], ["777"], [None], [True], [object()], np.array([0.5, 7.0])]


@each
@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:12])
def test_what_is_no_array_of_integers_is_refused_without_being_shown(name, bad):
    call, message = EACH[name]
    for values in (np.array(bad), bad):  # lists are read one by one
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            call(values, 1, EnumeratingDice())


@pytest.mark.parametrize("dtype", ["u8", ">u8"])
def test_unsigned_values_beyond_63_bits_do_not_wrap(dtype):
    values, far = np.array([2**63 - 1, 2**63, 2**64 - 1], dtype=dtype), 2**62 - 1
    for name in ("laplace_counts", "gaussian_counts"):
        assert min(EACH[name][0](values, 1, SeededDice(0)).tolist()) > far - 1000
    assert sparse(values, 1, SystemDice()).tolist() == [True] * 2
    release = StableAnswers(max_abstentions=1, privacy=approximate(1), dice=SystemDice())
    assert release.answer([1, 2, 3], values).tolist() == [1, 2, 3]
    for votes in ([-2], [100], values[1:2]):
        with pytest.raises(ValueError, match=r"^votes must be from -1 to n_labels - 1 = 99$"):
            most_frequent_if_stable(votes, 100, privacy=approximate(1), dice=EnumeratingDice())


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-12", 10**9])
def test_no_epsilon_or_value_overflows(epsilon):
    far = np.array([2**62, -(2**62), 2**63 - 1, -(2**63), 0])
    ends = {"low": -5, "high": 2**61}
    for seed in range(3):
        noisy = laplace_counts(far, privacy=pure(epsilon), dice=SeededDice(seed), **ends)
        assert noisy.dtype == np.int64
        assert -5 <= noisy.min() <= noisy.max() <= 2**61
        for name in ("exponential_mechanism", "permute_and_flip"):
            chosen = EACH[name][0](far, epsilon, SeededDice(seed))
            assert chosen in range(5)
            assert epsilon != 10**9 or chosen == 2
        chosen = choosing_mechanism(far, privacy=ApproxDP(epsilon, "1e-300"), dice=SeededDice(seed))
        assert chosen is None or far[chosen] > 0
        for threshold in (-(2**61), 2**61):
            how = {"max_positives": 10**9, "renew_threshold": bool(seed), "dice": SeededDice(seed)}
            vector = SparseVector(threshold, privacy=pure(epsilon), **how)
            assert vector.ask_all(far).size == 5 or vector.stopped
        values = np.array([0, 2**31 - 1])
        reports = randomized_response(values, 2**31, privacy=pure(epsilon), dice=SeededDice(seed))
        assert 0 <= reports.min() <= reports.max() < 2**31
        assert epsilon != 10**9 or reports.tolist() == values.tolist()


def test_integers_of_any_size_are_moved_in_before_numpy_chooses_a_type():
    for name, privacy in (("laplace_counts", pure(1)), ("gaussian_counts", ZeroConcentratedDP(1))):
        mechanism = laplace_counts if name == "laplace_counts" else gaussian_counts
        counts = [2**70, -(2**70), 2**63, -1, 5]
        noisy = mechanism(counts, privacy=privacy, dice=SystemDice(), low=-3, high=9)
        assert set(noisy[:3].tolist()) <= set(range(-3, 10))
        # As np.uint64, low less an int64 count is a float64, and beyond 2**53 the clip was at another place.
        low = 2**60 + 1
        for kind in (int, np.int64, np.uint64):
            how = {"low": kind(low), "high": kind(low + 3)}
            noisy = mechanism(np.full(50, low + 1), privacy=privacy, dice=SystemDice(), **how)
            assert low <= noisy.min() <= noisy.max() <= low + 3
    assert first_reaching([-(2**70), 0, 2**70, 2**71], 10**6, privacy=pure(1), dice=SystemDice()) == 2
    vector = SparseVector(0, max_positives=2, privacy=pure(10), dice=SystemDice())
    assert vector.ask_all([-(10**50), 10**50, -1000, 2**64]).tolist() == [False, True, False, True]


def test_one_value_comes_back_as_a_plain_int_and_none_as_nothing():
    for one in (1, np.int8(1), np.uint64(1), np.array(1)):
        for name in ("laplace_counts", "gaussian_counts", "randomized_response"):
            assert type(EACH[name][0](one, 1, SystemDice())) is int
    for empty in ([], (), np.array([]), np.array([], dtype=np.int8)):
        for name in ("SparseVector", "StableAnswers", "randomized_response"):
            assert EACH[name][0](empty, 1, EnumeratingDice()).shape == (0,)
    values = np.arange(4)
    randomized_response(values, 4, privacy=pure("0.1"), dice=SystemDice())
    assert values.tolist() == [0, 1, 2, 3]
