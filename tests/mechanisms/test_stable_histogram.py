"""The stable histogram: its threshold and accuracy for keys that nobody declared, in an order that is public.

The frequent keys of several columns: Gaussian noise, one threshold, and a guarantee for all columns.
"""

from collections import namedtuple
from enum import Enum
from fractions import Fraction
from itertools import permutations
from math import ceil, log, sqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dplearn.chance import EnumeratingDice, SeededDice, SystemDice
from dplearn.kernels import decay_ratio, gaussian_probabilities, laplace_tail
from dplearn.mechanisms import frequent_keys, stable_histogram
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.theory import frequent_keys_threshold, stable_histogram_threshold
from tests.mechanisms.laws import law

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
MESSAGE = "keys must be None, str, bytes, int, or tuples of these, nested up to 16 deep"
SURE = ApproxDP(50, "1e-6")  # next to no noise: what is frequent is published with its count


def law_of(keys, privacy):
    return law(lambda dice: sorted(stable_histogram(keys, privacy=privacy, dice=dice).items()))


# The formula, and the threshold


@pytest.mark.parametrize("epsilon", ["0.1", 1, 3, 10**9])
@pytest.mark.parametrize("delta", ["1e-300", "1e-9", "0.01", "0.5"])
def test_the_bar_is_the_exact_quantile_for_a_count_of_one(epsilon, delta):
    privacy = ApproxDP(epsilon, delta)
    ratio, threshold = decay_ratio(privacy.epsilon / 2), stable_histogram_threshold(privacy)
    assert laplace_tail(ratio, threshold - 1) <= privacy.delta
    assert threshold == 2 or laplace_tail(ratio, threshold - 2) > privacy.delta


# Accuracy


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
@pytest.mark.parametrize("epsilon", [4, 8])
def test_frequent_keys_are_published_near_their_counts_with_probability_1_less_beta(epsilon, beta):
    privacy = ApproxDP(epsilon, "0.1")
    t = 2 / epsilon * log(2 * 2 / beta)
    enough = ceil(stable_histogram_threshold(privacy) + t)
    distribution = law_of(["a"] * enough + ["b"] * (enough + 3), privacy)
    good = sum(
        p
        for shown, p in distribution.items()
        if len(shown) == 2 and abs(shown[0][1] - enough) < t and abs(shown[1][1] - enough - 3) < t
    )
    assert 1 - good <= beta


# The keys


MIXED = (
    None,
    "",
    "a",
    "é",
    "日本",
    "\U0001f600",
    b"",
    b"a",
    0,
    1,
    -5,
    10**30,
    (),
    (1, "a"),
    (1, 2),
    ((None,), b""),
)


def test_the_order_of_records_changes_nothing_not_even_which_noise_a_key_gets():
    keys = ["b", "b", "a", "c", "a", "b"]
    distributions = {
        str(stable_histogram(order, privacy=ApproxDP(2, "0.3"), dice=SeededDice(4)))
        for order in permutations(keys)
    }
    assert len(distributions) == 1


@repeatable
@given(st.lists(st.text(max_size=3) | st.integers() | st.floats() | st.tuples(st.booleans()), max_size=6))
def test_no_message_depends_on_the_keys(keys):
    if all(type(key) in (str, int) for key in keys):
        stable_histogram(keys, privacy=SURE, dice=SystemDice())
    else:
        with pytest.raises(TypeError) as refusal:
            stable_histogram(keys, privacy=SURE, dice=EnumeratingDice())
        assert str(refusal.value) == MESSAGE


nested = st.recursive(
    st.none() | st.text(max_size=2) | st.binary(max_size=2) | st.integers(),
    lambda inner: st.tuples(inner, inner),
)


@repeatable
@given(st.lists(nested, max_size=8, unique=True), st.integers(0, 50))
@example(MIXED, 0)
def test_keys_of_all_types_are_told_apart_and_published_in_one_order(keys, seed):
    published = stable_histogram([*keys] * 40, privacy=SURE, dice=SeededDice(seed))
    backwards = stable_histogram([*keys][::-1] * 40, privacy=SURE, dice=SeededDice(seed))
    assert set(published) == set(keys)
    assert [*published.items()] == [*backwards.items()]
    assert [type(key) for key in published] == [type(key) for key in backwards]
    assert all(type(count) is int for count in published.values())


class Tagged(str):
    """A string that brings its record along, and answers str() with itself."""

    def __str__(self):
        return self


class Name(str, Enum):  # noqa: UP042 - its str() is another than StrEnum's
    ULM = "ulm"


TAGGED, Point = Tagged("ulm"), namedtuple("Point", "town")
TAGGED.record = "patient 0"


@pytest.mark.parametrize(
    ("key", "plain"),
    [
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.int8(3), 3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        ((np.int16(3), np.str_("a")), (3, "a")),
        (TAGGED, "ulm"),
        (Point(TAGGED), ("ulm",)),
        (Name.ULM, "ulm"),
    ],
    ids=repr,
)
def test_what_is_published_is_of_the_plain_type_whichever_record_came_first(key, plain):
    for keys in ([key, plain] * 20, [plain, key] * 20):
        (published,) = stable_histogram(keys, privacy=SURE, dice=SystemDice())
        assert published == plain
        assert type(published) is type(plain)
        if isinstance(plain, tuple):
            assert [type(part) for part in published] == [type(part) for part in plain]


def test_an_added_record_needs_half_of_the_noise_and_counts_are_clipped_to_a_public_number():
    added, replaced = (ApproxDP(1, 1e-6, each) for each in ("add_remove", "replace_one"))
    assert (stable_histogram_threshold(added), stable_histogram_threshold(replaced)) == (15, 28)
    assert stable_histogram(["a"] * 20, privacy=added, dice=SystemDice(), most_records=14) == {}
    assert stable_histogram(["a"] * 900, privacy=added, dice=SystemDice(), most_records=15) == {"a": 15}


DELTA = Fraction(1, 10**6)


def tail(sigma2, start):
    support, masses, _ = gaussian_probabilities(Fraction(sigma2), 60)
    return Fraction(sum(m for k, m in zip(support, masses, strict=True) if k >= start), sum(masses))


@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 3), 2, 9])
@pytest.mark.parametrize("d", [1, 7])
@pytest.mark.parametrize("delta", [Fraction(1, 3), DELTA])
def test_keys_of_count_one_are_published_with_probability_at_most_delta(rho, d, delta):
    # **Privacy** of the threshold: d keys of count 1, one a column.
    threshold = frequent_keys_threshold(d, privacy=ZeroConcentratedDP(rho), delta=delta)
    assert d * tail(Fraction(d) / rho, threshold - 1) <= delta
    # **Accuracy** of the threshold.
    assert threshold <= 2 + sqrt(2 * d / rho * log(2 * d / delta))


def test_frequent_keys_are_listed_by_noisy_count_and_rare_ones_are_not():
    # **Accuracy**: the least frequent of k = 4 keys has the stated count.
    privacy, k, beta = ZeroConcentratedDP(Fraction(1, 50)), 4, 1e-6
    enough = frequent_keys_threshold(2, privacy=privacy, delta=DELTA) + sqrt(2 * 2 * 50 * log(k / beta))
    counts = [5 * int(enough), 4 * int(enough), 1 + int(enough)]
    column = [key for key, count in zip(("c", None, 7), counts, strict=True) for _ in range(count)]
    others = [f"{i}" for i in range(len(column))]
    for _ in range(20):
        found = frequent_keys([column, others], privacy=privacy, delta=DELTA, dice=SystemDice())
        assert found[0] == ["c", None, 7]
        assert found[1] == []


def test_nothing_is_drawn_or_published_where_no_count_can_reach_the_threshold():
    class NoDice:
        pass

    privacy = ZeroConcentratedDP(Fraction(1, 10**30))
    assert frequent_keys([["a"] * 99] * 2, privacy=privacy, delta=DELTA, dice=NoDice()) == [[], []]
    assert frequent_keys([], privacy=privacy, delta=DELTA, dice=NoDice()) == []
