"""Guarantees are exact frozen values; what one implies holds for every mechanism with that guarantee."""

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn import mechanisms
from dplearn.chance import SystemDice
from dplearn.kernels.exact import exp_bounds
from dplearn.privacy import ApproxDP, Guarantee, ZeroConcentratedDP
from dplearn.privacy.guarantees import delta_of, epsilon_of, rho_of

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=100)

ASSUMPTIONS = ("the number of records", "the labels", "columns are <finite> & bounded")
few_numbers = st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2)])
epsilons = few_numbers | st.fractions(0, 5, max_denominator=50)
deltas = st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 100)]) | st.fractions(
    0, Fraction(99, 100), max_denominator=100
)
PROTECTIONS = [("replace_one", "examples"), ("replace_one", "labels"), ("add_remove", "examples")]


def described(kind, *parts):
    """Guarantees whose first parts are numbers, and the next a pair of neighbours and what is protected."""
    *numbers, pair, assumes, reproducible = parts
    return st.builds(
        lambda values, pair, assumed, again: kind(*values, *pair, assumed, again),
        st.tuples(*numbers),
        pair,
        assumes,
        reproducible,
    )


guarantees = described(
    ApproxDP,
    epsilons,
    deltas,
    st.sampled_from(PROTECTIONS),
    st.lists(st.sampled_from(ASSUMPTIONS), max_size=2),
    st.booleans(),
)


def exp(x, side):
    """A rational just below (0) or above (1) exp(x)."""
    return exp_bounds(Fraction(x))[side]


# Exactness


@pytest.mark.parametrize("tenth", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), np.float32(0.1)], ids=repr)
def test_ten_tenths_are_one(tenth):
    fit = ApproxDP(tenth, tenth)
    assert sum([fit.epsilon] * 10) == 1 == 10 * fit.delta
    assert fit == ApproxDP(0.1, 0.1)


def test_epsilon_and_delta_are_fractions():
    for value in (0, 1, 0.25, "1/3"):
        guarantee = ApproxDP(value, Fraction(value) / 2)
        assert isinstance(guarantee.epsilon, Fraction)
        assert isinstance(guarantee.delta, Fraction)
        assert guarantee.epsilon == Fraction(value)


def test_defaults():
    assert ApproxDP(1) == ApproxDP(1, 0, "replace_one", "examples", (), False)


def test_assumptions_are_kept_once_and_in_order():
    assert ApproxDP(1, assumes=["b", "a", "b"]).assumes == ("b", "a")
    assert ApproxDP(1, assumes=(word for word in ("b", "a"))).assumes == ("b", "a")


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": -1}, ValueError, "epsilon must be a finite number at least 0, got -1"),
        ({"epsilon": float("inf")}, ValueError, "epsilon must be a finite number at least 0, got inf"),
        ({"epsilon": None}, TypeError, "epsilon must be a finite number at least 0, got None"),
        ({"epsilon": True}, TypeError, "epsilon must be a finite number at least 0, got True"),
        ({"delta": 1}, ValueError, "delta must be a finite number at least 0 and below 1, got 1"),
        ({"delta": -1e-9}, ValueError, "delta must be a finite number at least 0 and below 1, got -1e-09"),
        ({"delta": "few"}, ValueError, "delta must be a finite number at least 0 and below 1, got 'few'"),
        (
            {"neighbors": "swap"},
            ValueError,
            "neighbors must be one of 'replace_one', 'add_remove', got 'swap'",
        ),
        (
            {"protects": "users"},
            ValueError,
            "protects must be one of 'groups', 'examples', 'labels', got 'users'",
        ),
        ({"assumes": "n"}, TypeError, "assumes must be a collection of strings, got 'n'"),
        ({"assumes": [1]}, TypeError, "assumes must be a collection of strings, got [1]"),
        ({"reproducible": 1}, TypeError, "reproducible must be True or False, got 1"),
    ],
    ids=str,
)
def test_refusals_name_parameter_constraint_and_value(parameters, error, message):
    with pytest.raises(error, match="must be") as refusal:
        ApproxDP(**{"epsilon": 1} | parameters)
    assert str(refusal.value) == message


@pytest.mark.parametrize("kind", [ApproxDP, ZeroConcentratedDP])
def test_labels_are_replaced_and_never_added_or_removed(kind):
    with pytest.raises(
        ValueError, match=r"protects='labels'.*neighbors='replace_one' only, got neighbors='add_r"
    ):
        kind(1, neighbors="add_remove", protects="labels")
    record = json.loads(kind(1, protects="labels").to_json()) | {"neighbors": "add_remove"}
    with pytest.raises(ValueError, match="neighbors='replace_one' only"):
        Guarantee.from_json(json.dumps(record))


# What implies what


@repeatable
@given(guarantees)
def test_implies_is_reflexive(a):
    assert a.implies(a)


# Guarantees that are often comparable, so that chains of two implications do occur.
related = described(
    ApproxDP,
    few_numbers,
    st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1, 10)]),
    st.sampled_from(PROTECTIONS),
    st.lists(st.just(ASSUMPTIONS[0]), max_size=1),
    st.booleans(),
)


@settings(repeatable, max_examples=600)
@given(related, related, related)
def test_implies_is_transitive(a, b, c):
    if a.implies(b) and b.implies(c):
        assert a.implies(c)


def test_implies_is_transitive_on_all_triples_of_a_grid():
    grid = [
        ApproxDP(epsilon, delta, neighbors)
        for epsilon, delta, neighbors in product((0, 1, 2, 4), (0, 0.01, 0.1), ("replace_one", "add_remove"))
    ]
    chains = [(a, b, c) for a, b, c in product(grid, repeat=3) if a.implies(b) and b.implies(c)]
    assert all(a.implies(c) for a, b, c in chains)
    mixed = [c for c in chains if c[0].neighbors != c[2].neighbors and len(set(c)) == 3]
    assert len(mixed) > 50


@repeatable
@given(guarantees, epsilons, st.fractions(0, Fraction(1, 100)))
def test_larger_numbers_more_assumptions_and_seeds_are_implied_and_nothing_smaller(a, more, slack):
    if a.delta + slack < 1:
        larger = replace(a, epsilon=a.epsilon + more, delta=a.delta + slack)
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


def test_replace_one_never_implies_add_remove():
    assert not ApproxDP(0).implies(ApproxDP(100, 0.99, "add_remove"))


# Soundness, by enumeration: chains of laws of one mechanism, a neighbourly step apart

distribution = st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any)
distributions = distribution.map(lambda weights: [Fraction(w, sum(weights)) for w in weights])


def excess(p, q, epsilon, side):
    """max over events of P[E] - exp(epsilon) Q[E], from below (side 1 of exp) or from above (side 0)."""
    factor = exp(epsilon, side)
    return sum((max(Fraction(0), a - factor * b) for a, b in zip(p, q, strict=True)), Fraction(0))


def least_delta(chain, epsilon):
    """A delta that the chain's mechanism has at `epsilon`, both ways of every step."""
    return max(excess(p, q, epsilon, 0) for a, b in pairwise(chain) for p, q in ((a, b), (b, a)))


@settings(repeatable, max_examples=300)
@given(distributions, distributions, distributions, epsilons)
def test_what_is_implied_is_true_of_every_mechanism_that_has_the_guarantee(p, middle, q, epsilon):
    # From p to `middle` one record is removed, from there to q another is added: together one is replaced.
    delta = least_delta([p, middle, q], epsilon)
    added = [ApproxDP(epsilon, delta, "add_remove")] if delta < 1 else []
    factors = (Fraction(1, 2), 1, 2, 1 + exp(epsilon, 0), 2 + exp(epsilon, 1))
    for guarantee, multiple, factor in product(added, (1, 2, 3), factors):
        if delta * factor >= 1:
            continue
        other = ApproxDP(multiple * epsilon, delta * factor)
        if guarantee.implies(other):
            assert excess(p, q, other.epsilon, 1) <= other.delta
            assert excess(q, p, other.epsilon, 1) <= other.delta
        elif multiple > 1 and factor > 1 + exp(epsilon, 1):
            raise AssertionError("ample numbers are not implied")


@settings(repeatable, max_examples=300)
@given(st.lists(distributions, min_size=2, max_size=5), epsilons)
def test_a_group_has_its_guarantee(chain, epsilon):
    delta = least_delta(chain, epsilon)
    try:
        guarantee = ApproxDP(epsilon, delta).for_group(len(chain) - 1)
    except ValueError:
        return
    assert excess(chain[0], chain[-1], guarantee.epsilon, 1) <= guarantee.delta
    assert excess(chain[-1], chain[0], guarantee.epsilon, 1) <= guarantee.delta


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_a_group_cannot_be_guaranteed_a_smaller_delta(epsilon, k):
    # The worst chain: an event's probability grows by a factor exp(epsilon) and delta, step by step.
    delta = Fraction(1, 1000)
    probabilities = [Fraction(0)]
    for _ in range(k):
        probabilities.append(probabilities[-1] * exp(epsilon, 0) + delta)
    chain = [[x, 1 - x] for x in probabilities]
    assert least_delta(chain, epsilon) <= delta
    guaranteed = ApproxDP(epsilon, delta).for_group(k).delta
    needed = excess(chain[-1], chain[0], k * epsilon, 1)
    assert needed <= guaranteed <= needed * (1 + Fraction(1, 10**18))


# for_group


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"), [(0.1, 0, 10), (0.1, 0, 10**6), ("1/3", 1e-9, 1), (0, 0.1, 1)]
)
def test_a_group_without_delta_or_of_one_gets_exact_numbers(epsilon, delta, k):
    guarantee = ApproxDP(epsilon, delta)
    group = guarantee.for_group(k)
    assert (group.epsilon, group.delta) == (k * guarantee.epsilon, guarantee.delta)


@repeatable
@given(epsilons, st.fractions(Fraction(1, 10**12), Fraction(1, 10**9)), st.integers(1, 4))
def test_a_groups_delta_is_the_exact_sum_rounded_up_in_the_20th_digit(epsilon, delta, k):
    group = ApproxDP(epsilon, delta).for_group(k)
    low, high = (delta * sum(exp(i * epsilon, side) for i in range(k)) for side in (0, 1))
    assert group.epsilon == k * epsilon
    assert low <= group.delta <= high * (1 + Fraction(1, 10**19))


def test_a_groups_guarantee_keeps_all_but_the_numbers():
    guarantee = ApproxDP(1, 1e-6, "replace_one", "labels", ("n",), True)
    group = guarantee.for_group(3)
    assert replace(group, epsilon=guarantee.epsilon, delta=guarantee.delta) == guarantee
    assert ApproxDP(1, 0).for_group(2).for_group(3) == ApproxDP(6)


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(1, 0.5, 2), (0, 0.1, 10), (5, 1e-6, 5)])
def test_a_group_that_would_be_guaranteed_nothing_is_refused(epsilon, delta, k):
    with pytest.raises(ValueError, match=f"for a group of {k} records delta would reach 1"):
        ApproxDP(epsilon, delta).for_group(k)


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"),
    [(10**9, "1e-30", 2), (10**9, "1e-30", 10**7), (1, "1e-30", 10**7), ("1e-40", "1e-30", 10**31)],
)
def test_a_group_that_is_guaranteed_nothing_is_refused_without_working_it_out(epsilon, delta, k):
    guarantee = ApproxDP(epsilon, delta, "add_remove")
    with pytest.raises(ValueError, match="delta would reach 1"):
        guarantee.for_group(k)
    if k == 2:
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


@pytest.mark.parametrize("k", [0, -1, 1.0, True, "2"], ids=repr)
def test_a_group_has_at_least_one_record(k):
    with pytest.raises((TypeError, ValueError), match=f"k must be an integer at least 1, got {k!r}"):
        ApproxDP(1).for_group(k)


# JSON


@repeatable
@given(guarantees, st.fractions(0, 10**6))
def test_a_guarantee_comes_back_from_json(guarantee, epsilon):
    guarantee = replace(guarantee, epsilon=epsilon)
    assert ApproxDP.from_json(guarantee.to_json()) == guarantee


def test_the_record_is_as_frozen_here():
    guarantee = ApproxDP(0.1, "1/3", "replace_one", "labels", ("n is public",), True)
    assert json.loads(guarantee.to_json()) == {
        "format": "dplearn.ApproxDP",
        "version": 1,
        "epsilon": "1/10",
        "delta": "1/3",
        "neighbors": "replace_one",
        "protects": "labels",
        "assumes": ["n is public"],
        "reproducible": True,
    }


def test_a_subclass_of_the_same_name_changes_nothing_that_is_read():
    def shadow(kind):
        return type(kind.__name__, (kind,), {"__init__": lambda self, *_, **__: kind.__init__(self, 0)})

    for kind in (ApproxDP, ZeroConcentratedDP):
        other = shadow(kind)
        assert type(kind.from_json(kind(3).to_json())) is kind
        assert Guarantee.from_json(kind(3).to_json()) == kind(3)
        with pytest.raises(ValueError, match=f"not a dplearn.{kind.__name__} record"):
            other.from_json(kind(3).to_json())
    with pytest.raises(TypeError, match="does not support item assignment"):
        Guarantee._kinds["dplearn.ApproxDP"] = other


@pytest.mark.parametrize("version", [2, 0, "1", None, True, 1.5], ids=repr)
def test_other_versions_are_refused(version):
    record = json.loads(ApproxDP(1).to_json()) | {"version": version}
    with pytest.raises(ValueError, match=f"version must be 1, got {version!r}"):
        ApproxDP.from_json(json.dumps(record))


@pytest.mark.parametrize(
    "change",
    [
        {"format": "dplearn.ZeroConcentratedDP"},
        {"format": None},
        {"rho": "1"},
        {"assumes": "n"},
        {"reproducible": 1},
        {"epsilon": "-1"},
        {"epsilon": None},
        {"delta": "1"},
        {"neighbors": "swap"},
        {"neighbors": ["replace_one"]},
    ],
    ids=str,
)
def test_records_of_anything_else_are_refused(change):
    with pytest.raises(ValueError, match=r"not a dplearn.ApproxDP record|must be"):
        ApproxDP.from_json(json.dumps(json.loads(ApproxDP(1).to_json()) | change))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"format": "dplearn.ApproxDP", "version": 1}']
)
def test_texts_that_are_no_record_are_refused(text):
    with pytest.raises(ValueError, match=r"not a dplearn.ApproxDP record|Expecting"):
        ApproxDP.from_json(text)


# Frozen values


@pytest.mark.parametrize(
    "name", ["epsilon", "delta", "neighbors", "protects", "assumes", "reproducible", "new"]
)
def test_nothing_can_be_set_or_deleted(name):
    guarantee = ApproxDP(1)
    with pytest.raises(FrozenInstanceError):
        setattr(guarantee, name, 2)
    with pytest.raises(FrozenInstanceError):
        delattr(guarantee, name)
    assert guarantee == ApproxDP(1)


@repeatable
@given(guarantees, guarantees)
def test_equality_and_hash_are_those_of_the_values(a, b):
    def values(guarantee):
        return [getattr(guarantee, name) for name in ApproxDP.__dataclass_fields__]

    assert (a == b) == (values(a) == values(b))
    for other in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert other == a
        assert hash(other) == hash(a)
        assert isinstance(other.epsilon, Fraction)


# Words


@pytest.mark.parametrize(
    "guarantee",
    [
        ApproxDP(0.1),
        ApproxDP(1, 1e-6, "add_remove"),
        ApproxDP("2.5", "1e-10", protects="labels", assumes=("a", "it's b")),
        ApproxDP(3, reproducible=True),
    ],
    ids=repr,
)
def test_the_repr_reads_as_the_call_that_makes_it(guarantee):
    assert eval(repr(guarantee)) == guarantee


def test_the_repr_shows_decimals_and_rounds_up_where_they_do_not_end():
    assert repr(ApproxDP(0.1, 1e-6)).startswith("ApproxDP(epsilon=0.1, delta=1e-06, ")
    assert repr(ApproxDP("1/3", "2/3")).startswith("ApproxDP(epsilon=0.333334, delta=0.666667, ")
    assert "reproducible" not in repr(ApproxDP(1))


@repeatable
@given(epsilons, deltas)
def test_the_numbers_shown_are_never_below_the_true_ones(epsilon, delta):
    shown = eval(repr(ApproxDP(epsilon, delta)))
    assert epsilon <= shown.epsilon <= epsilon * (1 + Fraction(1, 10**5))
    assert delta <= shown.delta <= delta * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("epsilon", ["1e400", "1e-400", f"{10**400 + 1}/3"], ids=["1e400", "1e-400", "3e399"])
def test_every_guarantee_can_be_shown(epsilon):
    guarantee = ApproxDP(epsilon)
    shown = Fraction(repr(guarantee).removeprefix("ApproxDP(epsilon=").split(",")[0])
    assert guarantee.epsilon <= shown <= guarantee.epsilon * (1 + Fraction(1, 10**5))
    assert guarantee.sentence()
    assert guarantee._repr_html_()


def test_html_is_escaped():
    html = ApproxDP(1, assumes=("<script>alert('x')</script>", "a & b"))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;; a &amp; b" in html


def test_html_shows_every_part():
    html = ApproxDP(0.1, 1e-6, protects="labels", reproducible=True)._repr_html_()
    for part in ("0.1", "1e-06", "replace one", "labels", "nothing", "its seed", "exp(0.1)"):
        assert part in html
    assert "seed" not in ApproxDP(1)._repr_html_()


@pytest.mark.parametrize(
    ("guarantee", "sentence"),
    [
        (
            ApproxDP(0.5),
            "Replacing any one record changes the probability of any set of published outcomes by at most a"
            " factor of exp(0.5).",
        ),
        (
            ApproxDP(1, 1e-6, protects="labels"),
            "Replacing the label of any one record changes the probability of any set of published outcomes"
            " by at most a factor of exp(1), up to an additive 1e-06.",
        ),
        (
            ApproxDP(1, 0, "add_remove"),
            "Adding or removing any one record changes the probability of any set of published outcomes by"
            " at most a factor of exp(1).",
        ),
    ],
    ids=repr,
)
def test_the_guarantee_in_a_sentence(guarantee, sentence):
    assert guarantee.sentence() == sentence


# Zero-concentrated guarantees

rhos = st.sampled_from([Fraction(0), Fraction(1, 8), Fraction(1, 2)]) | st.fractions(0, 3, max_denominator=50)
concentrated = described(
    ZeroConcentratedDP,
    rhos,
    st.sampled_from(PROTECTIONS),
    st.lists(st.sampled_from(ASSUMPTIONS), max_size=2),
    st.booleans(),
)


def test_rho_is_exact_and_the_rest_is_as_for_other_guarantees():
    guarantee = ZeroConcentratedDP(0.1, assumes=["b", "a", "b"])
    assert guarantee.rho == Fraction(1, 10)
    assert guarantee.assumes == ("b", "a")
    assert ZeroConcentratedDP(1) == ZeroConcentratedDP(1, "replace_one", "examples", (), False)
    assert isinstance(guarantee, Guarantee)
    assert guarantee != ApproxDP(0.1, assumes=["b", "a"])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"rho": -1}, ValueError, "rho must be a finite number at least 0, got -1"),
        ({"rho": None}, TypeError, "rho must be a finite number at least 0, got None"),
        (
            {"protects": "users"},
            ValueError,
            "protects must be one of 'groups', 'examples', 'labels', got 'users'",
        ),
        ({"reproducible": 1}, TypeError, "reproducible must be True or False, got 1"),
    ],
    ids=str,
)
def test_a_refused_zero_concentrated_guarantee_names_the_parameter(parameters, error, message):
    with pytest.raises(error, match="must be") as refusal:
        ZeroConcentratedDP(**{"rho": 1} | parameters)
    assert str(refusal.value) == message


@repeatable
@given(concentrated, rhos)
def test_a_smaller_rho_implies_a_greater_one_and_never_the_reverse(a, more):
    larger = replace(a, rho=a.rho + more)
    assert a.implies(larger)
    assert larger.implies(a) == (larger == a)
    assert not replace(a, assumes=(*a.assumes, "something else")).implies(a)


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


def test_the_concentrated_record_is_as_frozen_here():
    assert json.loads(ZeroConcentratedDP("1/3", "add_remove", "examples", ("n",), True).to_json()) == {
        "format": "dplearn.ZeroConcentratedDP",
        "version": 1,
        "rho": "1/3",
        "neighbors": "add_remove",
        "protects": "examples",
        "assumes": ["n"],
        "reproducible": True,
    }


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"format": "dplearn.Guarantee", "version": 1}', '{"format": []}']
)
def test_no_other_record_is_a_guarantee(text):
    with pytest.raises(ValueError, match=r"not a dplearn\.Guarantee record"):
        Guarantee.from_json(text)


@repeatable
@given(concentrated, concentrated)
def test_concentrated_guarantees_are_frozen_values(a, b):
    def values(guarantee):
        return [getattr(guarantee, name) for name in ZeroConcentratedDP.__dataclass_fields__]

    assert (a == b) == (values(a) == values(b))
    for other in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert other == a
        assert hash(other) == hash(a)
    with pytest.raises(FrozenInstanceError):
        a.rho = 0


def test_concentrated_guarantees_in_words():
    guarantee = ZeroConcentratedDP(0.005, "add_remove", assumes=("a < b",))
    assert eval(repr(guarantee)) == guarantee
    assert guarantee.sentence() == (
        "Adding or removing any one record changes the distribution of the published outcome by a Renyi"
        " divergence of at most 0.005 times the order."
    )
    assert "<th>rho</th><td>0.005</td>" in guarantee._repr_html_()
    assert "a &lt; b" in guarantee._repr_html_()


# Budget accessors


def test_the_budget_accessors_return_the_numbers_of_a_guarantee():
    guarantee = ApproxDP(0.1, 1e-6)
    assert (epsilon_of(guarantee), delta_of(guarantee)) == (guarantee.epsilon, guarantee.delta)
    assert rho_of(ZeroConcentratedDP(0.5)) == ZeroConcentratedDP(0.5).rho


@pytest.mark.parametrize(
    ("take", "guarantee", "message"),
    [
        (epsilon_of, 0.5, "privacy must be of type ApproxDP, got 0.5"),
        (epsilon_of, ZeroConcentratedDP(1), "privacy must be of type ApproxDP, got ZeroConcentratedDP"),
        (rho_of, ApproxDP(1), "privacy must be of type ZeroConcentratedDP, got ApproxDP"),
    ],
)
def test_the_budget_accessors_name_another_type(take, guarantee, message):
    with pytest.raises(TypeError, match=message):
        take(guarantee)


@pytest.mark.parametrize(
    ("take", "guarantee", "name"),
    [
        (epsilon_of, ApproxDP(0), "epsilon"),
        (delta_of, ApproxDP(1), "delta"),
        (rho_of, ZeroConcentratedDP(0), "rho"),
    ],
)
def test_a_budget_must_be_positive(take, guarantee, name):
    with pytest.raises(ValueError, match=f"^{name} must be a finite number above 0, got "):
        take(guarantee)


COUNTS = np.array([5, 3])


@pytest.mark.parametrize("privacy", [0.5, None, "1"])
@pytest.mark.parametrize(
    "use",
    [
        lambda **given: mechanisms.laplace_counts(COUNTS, **given),
        lambda **given: mechanisms.gaussian_counts(COUNTS, **given),
        lambda **given: mechanisms.gaussian_sums(COUNTS, **given),
        lambda **given: mechanisms.exponential_mechanism(COUNTS, **given),
        lambda **given: mechanisms.permute_and_flip(COUNTS, **given),
        lambda **given: mechanisms.report_noisy_max(COUNTS, **given),
        lambda **given: mechanisms.choosing_mechanism(COUNTS, **given),
        lambda **given: mechanisms.release_if_stable("a", 3, **given),
        lambda **given: mechanisms.most_frequent_if_stable([0, 1], 2, **given),
        lambda **given: mechanisms.SparseVector(0, max_positives=2, **given),
        lambda **given: mechanisms.stable_histogram(["a"], **given),
        lambda **given: mechanisms.randomized_response([0], 2, **given),
    ],
)
def test_every_mechanism_says_what_privacy_must_be(use, privacy):
    with pytest.raises(
        TypeError, match=r"privacy must be of type (ApproxDP|ZeroConcentratedDP|GaussianSums), got"
    ):
        use(privacy=privacy, dice=SystemDice())
