"""Quantiles are within their bounds, the bounds within theirs, and windows are taken where they gain."""

import sys
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from scipy.stats import binom, lognorm, norm

from dplearn.chance import SeededDice
from dplearn.domains import DomainError, Floats, Grid, IntegerRange, LargeIntegerRange
from dplearn.kernels import SortedCodes
from dplearn.mechanisms import codes_at_fractions
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.releases import median, median_plan, quantiles, quantiles_plan
from dplearn.releases.quantiles import (
    QuantileSearch,
    noise_bounds,
    quantile_warnings,
    window_terms,
    windows_for,
)
from dplearn.theory import quantile_errors, quantile_range_sample_size, quantile_sample_size

WAGES = np.random.default_rng(0).lognormal(8, 1, 20_000)
DOMAINS = {
    "floats": (Floats(), WAGES),
    "grid": (Grid(0, 1e6, 1000), WAGES),
    "clipped grid": (Grid(0, 1000, 100, outside="clip"), WAGES),
    "integers": (IntegerRange(0, 10**7), WAGES.astype(int)),
    "large integers": (LargeIntegerRange(-(2**80), 2**80), WAGES[:2000].astype(int).tolist()),
}
MANY = np.random.default_rng(1).normal(size=200_000)
LARGE = {
    "floats": (Floats(), MANY),
    "short floats": (Floats(), MANY.astype(np.float32)),
    "rounded": (Floats(), np.round(MANY)),
    "whole numbers as floats": (Floats(), (MANY * 1000).astype(np.int64)),
    "grid": (Grid(-100, 100, 10**6), MANY),
    "integers": (IntegerRange(-(10**6), 10**6), (MANY * 1000).astype(np.int32)),
    "clipped integers": (IntegerRange(0, 10, outside="clip"), (MANY * 1000).astype(np.int16)),
    "unsigned": (IntegerRange(5, 10**6), (MANY * 1000).clip(5).astype(np.uint16)),
}
TWENTIETHS = [i / 20 for i in range(1, 20)]
N, SIZE = 3000, 2**40
RNG = np.random.default_rng(0)
DATA = {
    "spread": RNG.integers(0, SIZE, N),
    "together": RNG.integers(SIZE // 2, SIZE // 2 + 5, N),
    "at the end": np.full(N, SIZE - 1),
}
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
WANTED = ([0.5], [0.25], [0.25, 0.5, 0.75], [0.1, 0.37, 0.61234567])
EXACT_TWENTIETHS = tuple(Fraction(i, 20) for i in range(1, 20))


def ranks_of(values, found):
    return np.array([np.mean(values < value) for value in found]), np.array(
        [np.mean(values <= value) for value in found]
    )


@pytest.mark.parametrize("kind", DOMAINS | LARGE)
def test_looking_through_numbers_gives_what_their_codes_give(kind):
    if kind in LARGE:  # which are looked through by their numbers
        large = LARGE[kind][1]
        found = quantiles(large, 0.3, domain=LARGE[kind][0], random_state=1).values.tolist()
        with pytest.MonkeyPatch.context() as patch:  # the package has a function of the module's name
            patch.setattr(sys.modules["dplearn.releases.quantiles"], "READ_AS_NUMBERS", {})
            assert found == quantiles(large, 0.3, domain=LARGE[kind][0], random_state=1).values.tolist()
    if kind not in DOMAINS:
        return
    domain, values = DOMAINS[kind]
    alone = quantiles(values, 0.3, domain=domain, random_state=1)
    listed = quantiles(list(values), 0.3, domain=domain, random_state=1)
    assert alone.values.tolist() == listed.values.tolist()
    codes, [found] = domain.encode(np.asarray(values)), domain.encode(alone.values)
    assert (codes < found).mean() - 0.1 <= 0.3 <= (codes <= found).mean() + 0.1


@pytest.mark.parametrize("kind", ["floats", "grid", "integers", "unsigned"])
@pytest.mark.parametrize("place", [0, 150_000, 199_999])
def test_one_of_many_numbers_outside_is_refused_and_costs_nothing(kind, place):
    domain, values = LARGE[kind]
    ledger, values = PrivacyLedger(1), values.copy()
    values[place] = {"floats": -np.inf, "grid": np.nan, "integers": 10**6 + 1, "unsigned": 4}[kind]
    with pytest.raises(DomainError, match="a value lies outside"):
        median(values, domain=domain, ledger=ledger)
    assert not ledger.history()


@pytest.mark.parametrize("q", [(HALF,), (TENTH, HALF), (TENTH, 1 - TENTH)])
def test_quantiles_are_warned_of_where_one_may_leave_the_data(q):
    for n in range(10, 3000, 37):
        errors = quantile_errors(q, 2**64, n, epsilon=1)
        loose = any(error >= n * min(each, 1 - each) for error, each in zip(errors, q, strict=True))
        assert bool(quantile_warnings(n, QuantileSearch(q, 2**64, n, Fraction(1)))) == loose


def test_too_few_records_are_told_and_their_median_is_anywhere_and_enough_are_not():
    needed = median_plan(1).n_inside
    assert median_plan(needed - 1).warnings
    assert not median_plan(needed).warnings
    assert f"n_inside   {needed}" in str(median_plan(1))
    spread = [median(np.full(20, 37.5), random_state=seed).value for seed in range(40)]
    assert max(np.abs(spread)) > 1e100
    kept = [median(np.full(needed, 37.5), random_state=seed).value for seed in range(40)]
    assert kept.count(37.5) >= 36
    plan = quantiles_plan(5000, [0.25, 0.75], epsilon=2, beta=0.1)
    assert plan.errors == tuple(quantile_errors([0.25, 0.75], Floats().size, 5000, epsilon=2, beta=0.1))


@pytest.mark.parametrize("kind", ["spread", "rounded", "alike"])
def test_many_quantiles_are_found_in_windows_within_their_errors(kind):
    values = {"spread": WAGES, "rounded": np.round(WAGES, -3), "alike": np.full(len(WAGES), 7.0)}[kind]
    found = quantiles(values, TWENTIETHS, epsilon=20.0, random_state=1)
    less, upto = ranks_of(values, found.values)
    errors = np.array(found.plan.errors) / len(values)
    assert found.plan.method == "windows"
    parts = [values[:7_000], values[7_000:]]
    parted = quantiles(lambda: parts, TWENTIETHS, epsilon=20.0, random_state=1)
    assert (parted.plan.method, parted.values.tolist()) == ("windows", found.values.tolist())
    assert (np.diff(found.values) >= 0).all()
    assert (less <= TWENTIETHS + errors).all()
    assert (upto >= TWENTIETHS - errors).all()


def test_where_the_noise_is_too_great_for_windows_the_data_are_halved(monkeypatch):
    def given_up(*arguments, **named):
        return None

    # The package exports a function by the module's name.
    monkeypatch.setattr(import_module("dplearn.releases.quantiles"), "codes_in_windows", given_up)
    found = quantiles(WAGES, TWENTIETHS, epsilon=20.0, random_state=1)
    less, _ = ranks_of(WAGES, found.values)
    assert np.abs(less - TWENTIETHS).max() < 0.02
    assert quantiles_plan(10_000, TWENTIETHS).method == "halving"


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


def test_errors_are_those_of_the_mechanisms_and_at_most_all_ranks():
    # Nothing is guaranteed for few records, and nothing misses by more.
    assert quantile_errors([0.25, 0.5, 0.75], SIZE, 50, epsilon=1).max() == 50
    [alone] = quantile_errors([0.5], SIZE, 10**6, epsilon=1, beta=0.05)
    assert alone == pytest.approx(2 * np.log(SIZE / 0.05), abs=1)  # of the exponential mechanism
    # The errors of windows need a probability of failure.
    assert quantile_errors(EXACT_TWENTIETHS, 2**64, 10**6, epsilon=1, beta=1e-12).tolist() == [10**6] * 19
    for q in ([0], [1], [0, 0.5], [0.5, 1]):  # the ends are promised to lie nowhere
        assert quantile_range_sample_size(q, SIZE, epsilon=1) is None
        assert quantile_sample_size(q, SIZE, epsilon=1, alpha=0.1) > 100


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


def test_windows_are_chosen_where_they_gain_and_meet_the_assumptions_of_their_proof():
    for q, n, chosen in (
        (EXACT_TWENTIETHS, 10**6, True),
        (EXACT_TWENTIETHS, 10**4, False),  # too near each other
        (EXACT_TWENTIETHS[4::5], 10**6, False),  # quartiles have few levels
        ((Fraction(0), *EXACT_TWENTIETHS), 10**6, False),
    ):
        assert (windows_for(QuantileSearch(q, 2**64, n, Fraction(1))) is not None) == chosen
    terms = windows_for(QuantileSearch(EXACT_TWENTIETHS, 2**64, 10**6, Fraction(1)))
    assert terms.reach < quantile_errors(EXACT_TWENTIETHS, 2**64, 10**6, epsilon=1).max()
    # There are no terms where windows would meet.
    ends = (Fraction(0), Fraction(1, 2), Fraction(1))
    assert window_terms(QuantileSearch(ends, 2, 10**9, Fraction(1))) is None
    # Terms cost at most epsilon and meet the assumptions of the proof.
    for epsilon, size, k in ((Fraction(1, 10), 2, 5), (Fraction(1), 2**64, 99), (Fraction(20), 2**64, 5)):
        q = tuple(Fraction(i, k + 1) for i in range(1, k + 1))
        terms = window_terms(QuantileSearch(q, size, 10**7, epsilon))
        assert epsilon * Fraction(9, 10) < terms.epsilon <= epsilon
        assert terms.zone <= 2 * terms.reach <= terms.least
        assert (k + 1) * terms.least < 10**7
        assert min(terms.gaps) >= terms.least + terms.ramp


NINE = [Fraction(i, 1000) for i in (54, 103, 135, 306, 493, 573, 601, 864, 926)]


@pytest.mark.parametrize(
    ("q", "size", "epsilon", "alpha", "greater"),
    [
        (EXACT_TWENTIETHS, 2**64, 1, "0.0117", range(53_200, 63_000, 200)),
        (NINE, 2**32, 20, Fraction(38, 3684), range(3680, 3720)),
    ],
)
def test_greater_numbers_of_records_are_enough_too_where_windows_begin(q, size, epsilon, alpha, greater):
    """Was: terms with the least predicted error, and gaps of rounded targets, whose bounds rise and fall."""
    needed = quantile_sample_size(q, size, epsilon=epsilon, alpha=alpha)
    for n in (needed, *(n for n in greater if n > needed)):
        assert quantile_errors(q, size, n, epsilon=epsilon).max() <= Fraction(alpha) * n + 1
    methods = [windows_for(QuantileSearch(tuple(q), size, n, Fraction(epsilon))) is not None for n in greater]
    assert methods == sorted(methods)


def test_the_noise_of_ranks_stays_within_its_bound():
    """The exact law of the noise is known by convolution."""
    k, ratio, beta = 5, 0.6, 0.01
    move = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-200, 201))
    sums = [np.ones(1)]
    for _ in range(k + 1):
        sums.append(np.convolve(sums[-1], move))
    missed = 0.0
    for rank, bound in enumerate(noise_bounds(k, ratio, beta), 1):
        one, other = sums[rank], sums[k + 1 - rank]
        reach = min(len(one), len(other)) // 2
        middle = [len(each) // 2 for each in (one, other)]
        law = np.array([one[middle[0] + x] * other[middle[1] - x] for x in range(-reach, reach + 1)])
        law /= law.sum()
        missed += law[np.abs(np.arange(-reach, reach + 1)) > bound].sum()
    assert beta / 10**5 < missed < beta  # Chernoff's bound twice


AROUND = [0.35, 0.499, 0.5, 0.501, 0.65]
#: A draw of records, the quantiles of their distribution, and a domain.
DRAWS = {
    "floats": (lambda rng: rng.normal(0.3, 1, 6000), norm(0.3, 1).ppf(AROUND), "float64"),
    "skewed": (lambda rng: rng.lognormal(8, 1, 6000), lognorm(1, scale=np.exp(8)).ppf(AROUND), "float64"),
    "ties": (lambda rng: rng.integers(1, 6, 6000), [2, 3, 3, 3, 4], IntegerRange(0, 99)),
    "a gap": (lambda rng: rng.choice([1, 9], 6000, p=[0.4, 0.6]), [1, 9, 9, 9, 9], Grid(0, 10, 101)),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_quantiles_lie_in_their_intervals_as_often_as_stated(kind, monkeypatch):
    draw, true, domain = DRAWS[kind]
    samples = [draw(np.random.default_rng(seed)) for seed in range(60)]
    made = [
        quantiles(each, AROUND, domain=domain, epsilon=2, random_state=seed)
        for seed, each in enumerate(samples)
    ]
    own = [np.sort(each)[[int(q * 6000) - 1 for q in AROUND]] for each in samples]

    def missed(of):
        return sum(
            not np.all([low <= value <= high for value, (low, high) in zip(*pair, strict=True)])
            for pair in zip(
                own if of == "table" else [true] * 60, [each.interval(of=of) for each in made], strict=True
            )
        )

    assert missed("table") == 0  # bounds for the worst data
    assert missed("population") <= binom.isf(2e-6, 60, 5 * 0.05)
    assert all(np.isfinite(each.interval()[2]).all() for each in made)
    monkeypatch.setattr(QuantileSearch, "errors", lambda *_: (0,) * 5)
    assert missed("table") > 5 or kind in ("ties", "a gap")  # whose values are exact


def test_an_interval_is_open_where_nothing_was_released_and_refused_of_private_numbers():
    assert median(WAGES).interval() == [(-np.inf, np.inf)]
    assert median(WAGES.astype(int), domain=IntegerRange(0, 10**7)).interval() == [(0, 10**7)]
    for found, match in ((median(WAGES, neighbors="add_remove"), "private"), (median(WAGES), "of must be")):
        with pytest.raises(ValueError, match=match):
            found.interval(of="all" if match != "private" else "table")
