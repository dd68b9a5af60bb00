"""Enumeration finds exactly what can be computed by hand or from all events, and outcomes hide nothing."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import chain, combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn import ApproxDP
from dplearn.audit import OutputDistribution, enumerate_privacy, exact_distribution, freeze, least_exp_epsilon
from dplearn.kernels import decay_ratio, gaussian_probabilities
from dplearn.privacy import OneTimeState


def noisy_sum(rows, dice, rate=1):
    n = len(rows)
    return max(0, min(n, sum(rows) + dice.discrete_laplace(decay_ratio(Fraction(rate)), -n, n)))


def test_discrete_laplace_noise_on_a_count_attains_its_epsilon():
    report = enumerate_privacy(noisy_sum, [0, 1], 3)
    assert report.exp_epsilon == 1 / decay_ratio(Fraction(1))
    assert report.keeps(ApproxDP(1))
    assert 0.999999 < report.tightness(ApproxDP(1)) <= 1
    assert (report.n_datasets, report.n_pairs, report.n_distributions, report.n_outcomes) == (8, 12, 4, 4)

    assert not report.keeps(ApproxDP("0.999999999"))
    mine, theirs = report.pair
    assert sum(a != b for a, b in zip(mine, theirs, strict=True)) == 1
    laws = [exact_distribution(lambda dice, rows=rows: noisy_sum(rows, dice)) for rows in report.pair]
    p, q = (sum(law.probability(outcome) for outcome in report.event) for law in laws)
    assert p == report.exp_epsilon * q


def test_a_report_is_one_short_line_that_never_understates_epsilon():
    report = enumerate_privacy(noisy_sum, [0, 1], 3)
    assert repr(report).startswith("PrivacyReport(epsilon 1.00000 at delta 0, replace_one, on (")
    assert repr(report).endswith("; 8 datasets, 12 pairs, 4 distributions, 4 outcomes)")
    rounded = replace(report, exp_epsilon=1 / decay_ratio(Fraction("1.00000001")))
    assert "epsilon 1.00001 at" in repr(rounded)
    assert "epsilon inf at" in repr(replace(report, exp_epsilon=None))


def test_adding_and_removing_are_neighbours_of_another_kind():
    def count(rows, dice):
        return max(0, min(3, sum(rows) + dice.discrete_laplace(decay_ratio(Fraction(1)), -3, 3)))

    report = enumerate_privacy(count, [0, 1], 2, neighbors="add_remove")
    assert (report.n_datasets, report.n_pairs) == (4 + 2, 8)
    assert report.keeps(ApproxDP(1, neighbors="add_remove"))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("universe", [[0, 1], [0, 1, 2]])
@pytest.mark.parametrize("ordered", [True, False])
def test_every_pair_of_neighbours_is_compared_once(n, universe, ordered):
    report = enumerate_privacy(noisy_sum, universe, n, ordered=ordered)
    size = len(universe)
    if ordered:
        # Each of size**n datasets has n (size - 1) neighbours; each pair is seen from both sides.
        assert report.n_pairs == size**n * n * (size - 1) // 2
    else:
        # A pair of multisets is a multiset of n - 1 records and two different ones to complete it.
        assert report.n_pairs == math.comb(size + n - 2, n - 1) * math.comb(size, 2)


masses = st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any)


def law_of(numbers):
    return OutputDistribution({i: number for i, number in enumerate(numbers) if number}, sum(numbers))


def events(outcomes):
    return chain.from_iterable(combinations(outcomes, k) for k in range(len(outcomes) + 1))


@given(masses, masses, st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3)]))
def test_it_is_the_least_factor_that_all_events_allow(mine, theirs, delta):
    distribution, other = law_of(mine), law_of(theirs)
    factor, attained = least_exp_epsilon(distribution, other, delta)
    # By definition: the greatest (P[E] - delta) / P'[E] over all 16 events, at least 1.
    needed = Fraction(1)
    for event in events(range(4)):
        p = sum((distribution.probability(i) for i in event), Fraction(0)) - delta
        q = sum((other.probability(i) for i in event), Fraction(0))
        needed = None if needed is None or (p > 0 and not q) else max(needed, p / q if q else needed)
    assert factor == needed
    if factor is not None and factor > 1:
        p = sum(distribution.probability(i) for i in attained) - delta
        assert p == factor * sum(other.probability(i) for i in attained)


def test_a_law_counts_exceptions_as_outcomes_and_chance_from_elsewhere_or_from_earlier_paths_is_an_error():
    def run(dice):
        if dice.bernoulli(Fraction(1, 3)):
            raise ValueError("private")
        return 7

    distribution = exact_distribution(run)
    assert distribution.probability(7) == Fraction(2, 3)
    assert distribution.probability(("raised", "ValueError", "private")) == Fraction(1, 3)
    rng, kept = np.random.default_rng(1), {}

    def keeping(dice):
        if "noise" not in kept:
            kept["noise"] = dice.discrete_laplace(Fraction(1, 2), -2, 2)
        return kept["noise"]

    for elsewhere, message in (
        (lambda dice: rng.integers(1 << 60), "does not come from the dice"),
        (lambda dice: rng.integers(1 << 60) if dice.below(50) > 40 else 0, "does not come from the dice"),
        (keeping, "some state passes from one path to the next"),
    ):
        with pytest.raises(RuntimeError, match=message):
            exact_distribution(elsewhere)


def test_what_a_gaussian_leaves_out_is_known_and_charged():
    sigma2 = Fraction(1, 4)
    distribution = exact_distribution(lambda dice: dice.discrete_gaussian(sigma2), tail_bits=30)
    assert distribution.left_out == gaussian_probabilities(sigma2, 30)[2] > 0
    shifted = exact_distribution(lambda dice: 1 + dice.discrete_gaussian(sigma2), tail_bits=30)
    assert least_exp_epsilon(distribution, shifted, delta=distribution.left_out / 2)[0] is None
    assert least_exp_epsilon(distribution, shifted, delta=Fraction(1, 100))[0] is not None


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __repr__(self):
        return f"Thing({self.__dict__})"


class Slotted:
    __slots__ = ("__secret",)

    def __init__(self, secret):
        self.__secret = secret


class Quiet(dict):
    """A dictionary that pickle sees nothing of."""

    def __reduce__(self):
        return Quiet, ()


def annotated(value):
    def function(): ...

    function.__annotations__ = {"secret": value}
    return function


def padded(filler):
    """Eight bytes of which the last seven belong to no field."""
    array = np.ones(1, dtype={"names": ["a"], "formats": ["u1"], "itemsize": 8})
    array.view(np.uint8)[1:] = filler  # a copy would not keep them
    return array


def twice(same):
    one = [1]
    return [one, one if same else [1]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (twice(True), twice(False)),
        (Slotted(1), Slotted(2)),
        (Quiet(a=1), Quiet(a=2)),
        (annotated(1), annotated(2)),
        (padded(0), padded(1)),
        (np.zeros(4)[0:1], np.zeros(4)[1:2]),
        (AttributeError("x", obj=1), AttributeError("x", obj=2)),
        (ImportError("x", name="a"), ImportError("x", name="b")),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        (np.int32(1), np.int64(1)),
        (np.array([1], dtype=np.int32), np.array([1])),
        (np.array([[1]]), np.array([1])),
        ([1, 2], (1, 2)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (Thing(a=1), Thing(a=2)),
        (Thing(a=1), Thing(a=1, _hidden=0)),
        (Fraction(1, 2), 0.5),
        ("x", b"x"),
        (Thing, Slotted),
        (type("Thing", (), {"a": 1}), type("Thing", (), {"a": 2})),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_can_be_told_apart_freezes_differently(one, other):
    assert freeze(one) != freeze(other)
    hash(freeze(one))


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"a": [np.arange(3.0), None], "b": {1, 2}},
        lambda: Thing(x=np.array(["a", None], dtype=object)),
        lambda: (float("nan"), np.float32(2)),
        lambda: twice(True),
        lambda: Slotted([1]),
        lambda: Quiet(a=[1]),
        lambda: annotated([1]),
        lambda: AttributeError("x", obj=[1]),
    ],
)
def test_equal_things_freeze_alike(make):
    assert freeze(make()) == freeze(make())


def test_private_state_in_a_holder_shows_only_whether_it_is_there():
    assert freeze(OneTimeState([1])) == freeze(OneTimeState([2]))
    closed = OneTimeState([1])
    closed.close()
    assert freeze(closed) != freeze(OneTimeState([1]))
    # What is taken out of a holder is no longer in it.
    with OneTimeState([1]).use() as state:
        assert freeze((OneTimeState([1]), state)) != freeze((OneTimeState([1]), [2]))


def test_what_holds_itself_can_be_frozen_and_equal_immutable_values_are_one():
    ring = []
    ring.append(ring)
    assert freeze(ring) == ("list", (("met before", 0),))
    for kind in (np.int64, Fraction, Decimal, complex):
        one = kind(1)
        assert freeze([one, one]) == freeze([kind(1), kind(1)])


def test_what_an_exception_carries_besides_its_text_is_an_outcome():
    def absent(rows, dice):
        return SimpleNamespace(rows=rows).absent

    def named(rows, dice):
        raise ImportError("x", name=str(rows[0]))

    def tagged(rows, dice):
        text = Tagged("x")
        text.rows = rows
        raise ValueError(text)

    def of_array(rows, dice):
        raise ValueError(np.array(rows))

    for fit in (absent, named, tagged, of_array):
        assert enumerate_privacy(fit, [0, 1], 1).epsilon == math.inf


class Tagged(str):
    """A string with attributes."""
