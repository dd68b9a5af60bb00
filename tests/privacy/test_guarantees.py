"""Guarantees are exact frozen values; what they imply, of groups too, are exact sums."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction
from html import escape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.kernels import exp_bounds
from dplearn.privacy import ApproxDP, Guarantee, ZeroConcentratedDP

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=100)

ASSUMPTIONS = ("the number of records", "the labels", "columns are <finite> & bounded")
few_numbers = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2)])
epsilons = few_numbers | st.fractions(0, 5, max_denominator=50)
deltas = st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 100)]) | st.fractions(
    0, Fraction(99, 100), max_denominator=100
)
whom = st.sampled_from([("replace_one", "examples"), ("replace_one", "labels"), ("add_remove", "examples")])
assumed = st.lists(st.sampled_from(ASSUMPTIONS), max_size=2)
guarantees = st.builds(
    lambda epsilon, delta, pair, *more: ApproxDP(epsilon, delta, *pair, *more),
    *(epsilons, deltas, whom, assumed, st.booleans()),
)
rhos = st.sampled_from([Fraction(0), Fraction(1, 8), Fraction(1, 2)]) | st.fractions(0, 3, max_denominator=50)
concentrated = st.builds(
    lambda rho, pair, *more: ZeroConcentratedDP(rho, *pair, *more), rhos, whom, assumed, st.booleans()
)


def exp(x, side):
    """A rational just below (0) or above (1) exp(x)."""
    return exp_bounds(Fraction(x))[side]


@pytest.mark.parametrize("tenth", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), np.float32(0.1)], ids=repr)
def test_ten_tenths_are_one(tenth):
    fit = ApproxDP(tenth, tenth, assumes=(word for word in ("b", "a", "b")))
    assert sum([fit.epsilon] * 10) == 1 == 10 * fit.delta
    assert fit == ApproxDP(0.1, 0.1, assumes=["b", "a"])
    assert isinstance(fit.epsilon, Fraction)
    assert ZeroConcentratedDP(tenth).rho == Fraction(1, 10)
    assert ZeroConcentratedDP(tenth) != ApproxDP(tenth)


# What implies what


@repeatable
@given(guarantees | concentrated, epsilons, st.fractions(0, Fraction(1, 100)))
def test_larger_numbers_more_assumptions_and_seeds_are_implied_and_nothing_smaller(a, more, slack):
    if isinstance(a, ZeroConcentratedDP) or a.delta + slack < 1:
        numbers = {"rho": more} if isinstance(a, ZeroConcentratedDP) else {"epsilon": more, "delta": slack}
        larger = replace(a, **{name: getattr(a, name) + number for name, number in numbers.items()})
        assert a.implies(larger)
        assert larger.implies(a) == (larger == a)
    assumed = replace(a, assumes=(*a.assumes, "something else"))
    assert a.implies(assumed)
    assert not assumed.implies(a)
    seeded, unseeded = replace(a, reproducible=True), replace(a, reproducible=False)
    assert unseeded.implies(seeded)
    assert not seeded.implies(unseeded)
    if a.neighbors == "replace_one":
        labels, examples = replace(a, protects="labels"), replace(a, protects="examples")
        assert examples.implies(labels)
        assert not labels.implies(examples)


@repeatable
@given(epsilons, deltas)
def test_add_remove_implies_replace_one_at_two_steps_and_no_less(epsilon, delta):
    a = ApproxDP(epsilon, delta, "add_remove")
    two = delta * (1 + exp(epsilon, 1))
    ceiling = two * (1 + Fraction(1, 10**18))
    if ceiling < 1:
        assert a.implies(ApproxDP(2 * epsilon, ceiling))
        assert not ApproxDP(2 * epsilon, ceiling, "replace_one").implies(a)
    below = delta * (1 + exp(epsilon, 0)) * (1 - Fraction(1, 10**18))
    if delta and below < 1:
        assert not a.implies(ApproxDP(2 * epsilon, below))
    if epsilon:
        assert not a.implies(ApproxDP(2 * epsilon - Fraction(1, 10**9), Fraction(99, 100)))


# Groups


@repeatable
@given(epsilons, st.fractions(0, Fraction(1, 10**9)), st.sampled_from([1, 2, 3, 4, 10**6]))
def test_a_groups_delta_is_the_exact_sum_rounded_up_in_the_20th_digit(epsilon, delta, k):
    delta *= k < 5
    guarantee = ApproxDP(epsilon, delta, "replace_one", "labels", ("n",), True)
    group = guarantee.for_group(k)
    assert replace(group, epsilon=epsilon, delta=delta) == guarantee
    assert group.epsilon == k * epsilon
    if delta and k > 1:
        low, high = (delta * sum(exp(i * epsilon, side) for i in range(k)) for side in (0, 1))
        assert low <= group.delta <= high * (1 + Fraction(1, 10**19))
    else:
        assert group.delta == delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"),
    [
        *((1, 0.5, 2), (0, 0.1, 10), (5, 1e-6, 5), (10**9, "1e-30", 2), (10**9, "1e-30", 10**7)),
        *((1, "1e-30", 10**7), ("1e-40", "1e-30", 10**31)),
    ],
)
def test_a_group_that_is_guaranteed_nothing_is_refused_without_working_it_out(epsilon, delta, k):
    guarantee = ApproxDP(epsilon, delta, "add_remove")
    with pytest.raises(ValueError, match=f"for a group of {k} records delta would reach 1"):
        guarantee.for_group(k)
    if epsilon == 10**9:
        assert not guarantee.implies(ApproxDP(2 * 10**9, "0.999"))
        assert guarantee.implies(replace(guarantee, epsilon=10**10))


@pytest.mark.parametrize("epsilon", [0, "1e-1000", "1e-40", "1e-25", "1e-9"])
@pytest.mark.parametrize("k", [2, 10**7])
def test_the_delta_of_a_great_group_is_close_above_the_sum_of_its_series(epsilon, k):
    delta, epsilon = Fraction(1, 10**30), Fraction(epsilon)
    ours = ApproxDP(epsilon, delta).for_group(k).delta
    # exp(x) is between 1 + x + x^2/2 and that and x^3 more, for x < 1.
    first, second = Fraction(k * (k - 1), 2), Fraction((k - 1) * k * (2 * k - 1), 6)
    third = first**2
    low = k + epsilon * first + epsilon**2 / 2 * second
    assert delta * low <= ours <= delta * (low + epsilon**3 * third) * (1 + Fraction(1, 10**19))


def test_a_subclass_of_the_same_name_changes_nothing_that_is_read():
    def shadow(kind):
        return type(kind.__name__, (kind,), {"__init__": lambda self, *_, **__: kind.__init__(self, 0)})

    for kind in (ApproxDP, ZeroConcentratedDP):
        other = shadow(kind)
        assert type(kind.from_json(kind(3).to_json())) is kind
        assert Guarantee.from_json(kind(3).to_json()) == kind(3)
        with pytest.raises(ValueError, match=f"not a dplearn.{kind.__name__} record"):
            other.from_json(kind(3).to_json())


@repeatable
@given(guarantees | concentrated, guarantees | concentrated)
def test_guarantees_are_frozen_values(a, b):
    def values(guarantee):
        return [type(guarantee), *(getattr(guarantee, name) for name in guarantee.__dataclass_fields__)]

    assert (a == b) == (values(a) == values(b))
    for other in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert other == a
        assert hash(other) == hash(a)
        assert values(other) == values(a)
    for name in (*a.__dataclass_fields__, "new"):
        with pytest.raises(FrozenInstanceError):
            setattr(a, name, 2)
        with pytest.raises(FrozenInstanceError):
            delattr(a, name)
    assert a == other


@repeatable
@given(guarantees | concentrated)
def test_the_repr_reads_as_the_call_that_makes_it_and_no_number_is_below_the_true_one(guarantee):
    shown = eval(repr(guarantee))
    numbers = {name: getattr(shown, name) for name in ("epsilon", "delta", "rho") if hasattr(shown, name)}
    assert replace(guarantee, **numbers) == shown
    for name, number in numbers.items():
        true = getattr(guarantee, name)
        assert true <= number <= true * (1 + Fraction(1, 10**5))
    text = guarantee._repr_html_()
    for words in (*guarantee.assumes, guarantee.protects, guarantee.neighbors.replace("_", " ")):
        assert escape(words) in text
    assert "<finite>" not in text
    assert ("seed" in text) == guarantee.reproducible


@pytest.mark.parametrize("epsilon", ["1e400", "1e-400", f"{10**400 + 1}/3"], ids=["1e400", "1e-400", "3e399"])
def test_every_guarantee_can_be_shown(epsilon):
    guarantee = ApproxDP(epsilon)
    shown = Fraction(repr(guarantee).removeprefix("ApproxDP(epsilon=").split(",")[0])
    assert guarantee.epsilon <= shown <= guarantee.epsilon * (1 + Fraction(1, 10**5))
    assert guarantee.sentence()
    assert guarantee._repr_html_()


def test_a_small_number_begins_with_its_digits_and_not_with_zeros():
    assert "delta=3.71829e-6" in repr(ApproxDP(1, 1e-6).for_group(2))
    assert "delta=0.0128184" in repr(ApproxDP(1, 1e-6).for_group(10))


@repeatable
@given(rhos)
def test_adding_and_removing_imply_replacing_at_four_times_the_rho_and_no_less(rho):
    a = ZeroConcentratedDP(rho, "add_remove")
    assert a.implies(ZeroConcentratedDP(4 * rho))
    assert not ZeroConcentratedDP(4 * rho).implies(a)
    if rho:
        assert not a.implies(ZeroConcentratedDP(4 * rho - Fraction(1, 10**9)))


@repeatable
@given(concentrated, st.integers(1, 20), st.integers(1, 20))
def test_a_group_of_k_has_k_squared_times_the_rho(guarantee, k, more):
    assert guarantee.for_group(k) == replace(guarantee, rho=k * k * guarantee.rho)
    assert guarantee.for_group(k).for_group(more) == guarantee.for_group(k * more)


@repeatable
@given(epsilons, st.sampled_from(["replace_one", "add_remove"]), st.booleans())
def test_pure_privacy_is_concentrated_and_only_pure_privacy(epsilon, neighbors, reproducible):
    pure = ApproxDP(epsilon, 0, neighbors, "examples", ("n",), reproducible)
    guarantee = pure.to_zcdp()
    assert guarantee == ZeroConcentratedDP(epsilon**2 / 2, neighbors, "examples", ("n",), reproducible)
    assert pure.implies(guarantee)
    assert not guarantee.implies(pure) or not epsilon
    with pytest.raises(ValueError, match=r"delta must be 0 for a zero-concentrated guarantee, got 0.01"):
        ApproxDP(epsilon, 0.01).to_zcdp()
    assert not ApproxDP(epsilon, 0.01).implies(ZeroConcentratedDP(100))


@repeatable
@given(concentrated, st.sampled_from([Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 3)]))
def test_what_it_converts_to_is_implied_and_nothing_smaller(guarantee, delta):
    other = guarantee.to_approx(delta)
    assert other.delta == delta
    assert replace(other, epsilon=0, delta=0) == ApproxDP(
        0, 0, guarantee.neighbors, guarantee.protects, guarantee.assumes, guarantee.reproducible
    )
    assert guarantee.implies(other)
    if other.epsilon:
        assert not guarantee.implies(replace(other, epsilon=other.epsilon * (1 - Fraction(1, 10**9))))


def test_without_delta_only_rho_0_converts():
    assert ZeroConcentratedDP(0).to_approx(0) == ApproxDP(0)
    assert ZeroConcentratedDP(0).implies(ApproxDP(0))
    assert not ZeroConcentratedDP(1).implies(ApproxDP(100))
    with pytest.raises(ValueError, match="delta must be above 0 unless rho is 0, got 0"):
        ZeroConcentratedDP(1).to_approx(0)


@repeatable
@given(concentrated | guarantees)
def test_every_kind_comes_back_from_json_by_its_own_name_and_by_the_common_one(guarantee):
    kind, other = type(guarantee), {ApproxDP, ZeroConcentratedDP} - {type(guarantee)}
    assert kind.from_json(guarantee.to_json()) == guarantee == Guarantee.from_json(guarantee.to_json())
    with pytest.raises(ValueError, match=f"not a dplearn.{other.copy().pop().__name__} record"):
        other.pop().from_json(guarantee.to_json())
