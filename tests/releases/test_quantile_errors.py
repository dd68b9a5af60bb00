"""The bound on errors holds, on data of every kind, and falls where it should."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.core.exact import selection_ratio
from dplearn.core.ranks import SortedCodes
from dplearn.mechanisms.rank_selection import codes_at_fractions
from dplearn.privacy import ApproxDP
from dplearn.releases.quantile_errors import (
    _halving_errors,
    quantile_errors,
    quantile_range_sample_size,
    quantile_sample_size,
    windows_for,
)

N, SIZE = 3000, 2**40
RNG = np.random.default_rng(0)
DATA = {
    "spread": RNG.integers(0, SIZE, N),
    "together": RNG.integers(SIZE // 2, SIZE // 2 + 5, N),
    "at the end": np.full(N, SIZE - 1),
}


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_errors_stay_within_the_bound(kind, k):
    q = [(i + 1) / (k + 1) for i in range(k)]
    bound = quantile_errors(q, SIZE, N, epsilon=2, beta=0.5)
    ranks, failures = SortedCodes(DATA[kind]), 0
    fractions = [Fraction(i + 1, k + 1) for i in range(k)]
    for seed in range(12):
        found = codes_at_fractions(ranks, SIZE, fractions, privacy=ApproxDP(2), dice=SeededDice(seed, kind))
        less, upto = np.array([ranks.count(code) for code in found]).T
        failures += bool(np.any((less > np.array(q) * N + bound) | (upto < np.array(q) * N - bound)))
    assert failures <= 6


def test_a_single_quantiles_error_is_that_of_the_exponential_mechanism():
    [error] = quantile_errors([0.5], SIZE, 10**6, epsilon=1, beta=0.05)
    assert error == pytest.approx(2 * np.log(SIZE / 0.05), abs=1)


def test_errors_fall_with_epsilon_and_grow_with_the_domain_and_certainty():
    def worst(**changed):
        given = {"size": SIZE, "n_samples": 10**6, "epsilon": 1, "beta": 0.05} | changed
        return quantile_errors([0.25, 0.5, 0.75], **given).max()

    assert worst(epsilon=2) < worst() < worst(size=SIZE**2)
    assert worst() < worst(beta=1e-6)
    assert worst(n_samples=50) == 50  # nothing is guaranteed, and nothing misses by more


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0), ("beta", 1), ("n_samples", 0), ("size", 0), ("q", [1.5])]
)
def test_parameters_are_checked(name, value):
    given = {"q": [0.5], "size": 8, "n_samples": 10, "epsilon": 1, "beta": 0.1} | {name: value}
    with pytest.raises(ValueError, match=f"^{name} must"):
        quantile_errors(given.pop("q"), given.pop("size"), given.pop("n_samples"), **given)


WANTED = ([0.5], [0.25], [0.25, 0.5, 0.75], [0.1, 0.37, 0.61234567])


@pytest.mark.parametrize("q", WANTED, ids=str)
@pytest.mark.parametrize("alpha", [0.2, 0.01])
def test_the_sample_size_is_where_errors_begin_to_be_a_small_share(q, alpha):
    n = quantile_sample_size(q, SIZE, epsilon=1, alpha=alpha)

    def worst(records):
        return quantile_errors(q, SIZE, records, epsilon=1).max()

    assert worst(n - 1) > alpha * (n - 1)
    assert worst(n) <= alpha * n
    past = 1 << (n - 1).bit_length()
    later = [*range(n, n + 40), past, past + 1, 2 * past + 1, 10 * n]
    assert all(worst(records) <= alpha * records + 1 for records in later)
    if q != WANTED[-1]:  # whose fractions are rounded anew for each number of records
        assert all(worst(records) <= alpha * records for records in later)


@pytest.mark.parametrize(("alpha", "bits", "naive"), [(0.3, 26, 504), (0.2, 39, 1010), (0.05, 10, 1980)])
def test_a_number_of_records_that_fails_just_past_a_power_of_two_is_no_sample_size(alpha, bits, naive):
    def suffices(n):
        return quantile_errors([0.25, 0.75], 2**bits, n, epsilon=1).max() <= alpha * n

    past = (1 << naive.bit_length()) + 1
    assert suffices(naive)
    assert not suffices(past)
    n = quantile_sample_size([0.25, 0.75], 2**bits, epsilon=1, alpha=alpha)
    assert n > past
    assert all(map(suffices, range(n, n + 100)))


@pytest.mark.parametrize("q", WANTED, ids=str)
def test_within_the_data_from_where_errors_leave_both_sides_some(q):
    n = quantile_range_sample_size(q, SIZE, epsilon=1)

    def leaves_some(records):
        errors = quantile_errors(q, SIZE, records, epsilon=1)
        return np.all(errors < np.minimum(q, 1 - np.array(q)) * records)

    assert leaves_some(n)
    assert not leaves_some(n - 1)


@pytest.mark.parametrize("size", [2, 2**20, 2**64])
@pytest.mark.parametrize("epsilon", [1, Fraction(1, 10)])
def test_no_fewer_equal_data_keep_their_median_among_them(size, epsilon):
    beta = Fraction(1, 20)
    n = quantile_range_sample_size([0.5], size, epsilon=epsilon, beta=beta)

    def outside(records):
        # Code c costs |2 * 0 - n| = n on either side of the data, and 0 where they are.
        weight = (size - 1) * float(selection_ratio(Fraction(epsilon), 2)) ** records
        return weight / (1 + weight)

    assert outside(n) <= beta
    fewer = (
        n - 2 - int(np.ceil(4 / float(epsilon) * (1 / 20 + (size == 2))))
    )  # ln(size / (size - 1) / (1 - beta))
    assert fewer < 1 or outside(fewer) > beta


def test_the_ends_are_promised_to_lie_nowhere():
    for q in ([0], [1], [0, 0.5], [0.5, 1]):
        assert quantile_range_sample_size(q, SIZE, epsilon=1) is None
        assert quantile_sample_size(q, SIZE, epsilon=1, alpha=0.1) > 100


@pytest.mark.parametrize(("name", "value"), [("alpha", 0), ("alpha", 1), ("epsilon", 0), ("beta", 0)])
def test_parameters_of_sample_sizes_are_checked(name, value):
    given = {"epsilon": 1, "alpha": 0.1, "beta": 0.1} | {name: value}
    with pytest.raises(ValueError, match=f"^{name} must"):
        quantile_sample_size([0.5], 8, **given)


# --- Many quantiles, in windows around noisy ranks. ---

TWENTIETHS = tuple(Fraction(i, 20) for i in range(1, 20))


def test_windows_are_chosen_where_they_halve_the_bound_at_least():
    terms = windows_for(TWENTIETHS, 2**64, 10**6, epsilon=Fraction(1))
    halved = _halving_errors(TWENTIETHS, 2**64, 10**6, Fraction(1), Fraction(1, 20)).max()
    ours = quantile_errors(TWENTIETHS, 2**64, 10**6, epsilon=1).max()
    assert terms is not None
    assert terms.reach < ours <= halved / 2
    assert windows_for(TWENTIETHS, 2**64, 10**4, epsilon=Fraction(1)) is None  # too near each other
    assert (
        windows_for(TWENTIETHS[4::5], 2**64, 10**6, epsilon=Fraction(1)) is None
    )  # quartiles have few levels
    assert windows_for((Fraction(0), *TWENTIETHS), 2**64, 10**6, epsilon=Fraction(1)) is None


def test_the_errors_of_windows_need_a_probability_of_failure():
    assert quantile_errors(TWENTIETHS, 2**64, 10**6, epsilon=1, beta=1e-12).tolist() == [10**6] * 19


@pytest.mark.parametrize(
    ("q", "size", "epsilon", "alpha", "greater"),
    [
        ([Fraction(i, 20) for i in range(1, 20)], 2**64, 1, "0.0117", range(53_200, 63_000, 200)),
        (
            [Fraction(i, 1000) for i in (54, 103, 135, 306, 493, 573, 601, 864, 926)],
            2**32,
            20,
            Fraction(38, 3684),
            range(3680, 3720),
        ),
    ],
)
def test_greater_numbers_of_records_are_enough_too_where_windows_begin(q, size, epsilon, alpha, greater):
    """Was: terms with the least predicted error, and gaps of rounded targets, whose bounds rise and fall."""
    needed = quantile_sample_size(q, size, epsilon=epsilon, alpha=alpha)
    for n in (needed, *(n for n in greater if n > needed)):
        assert quantile_errors(q, size, n, epsilon=epsilon).max() <= Fraction(alpha) * n + 1
    methods = [windows_for(tuple(q), size, n, epsilon=Fraction(epsilon)) is not None for n in greater]
    assert methods == sorted(methods)
