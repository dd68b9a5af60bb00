"""A class of stumps counts, orders and describes exactly its members, from 2 cuts to 2**64."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.concepts import DecisionStumps, Stump, Thresholds
from dplearn.domains import Floats, IntegerRange, Product
from dplearn.kernels import cuts

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=40)


def examples(few, many):
    """How many examples are drawn: some with every change, and more of them at night."""
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.nightly)])


INT64 = IntegerRange(-(2**63) + 1, 2**63 - 1)  # 2**64 - 1 integers, the most a domain holds


def errors_of(concept, columns, y):
    return int(np.count_nonzero(concept.predict(columns) != y))


def profile_of(stumps, columns, y):
    """The profile, and its groups as pairs (errors, number of members)."""
    profile = stumps.error_profile(columns, y)
    return profile, [*zip(*(map(int, each) for each in profile.groups()), strict=True)]


# Large domains: sorted in packed words, or by argsort; members cannot be listed, but intervals of them can

LARGE = {
    "10**4": IntegerRange(0, 9_999),
    "2**40": IntegerRange(-5, 2**40),
    "2**63": IntegerRange(-(2**63), -1),
    "2**64 - 1": INT64,
    "2**64 - 1, missing": IntegerRange(-(2**63) + 2, 2**63 - 1, missing=True),
    "Floats(0)": Floats(significand_bits=0),
    "Floats(32)": Floats(significand_bits=32, smallest=2.0**-40, largest=2.0**40),
    "Floats(52)": Floats(significand_bits=52),
    "Floats(52, missing)": Floats(significand_bits=52, missing=True),
}


def groups_by_intervals(stumps, columns, y):
    """Count members in Python integers: between two data values all cuts make the errors of the first."""
    counts = Counter()
    for feature in stumps.features:
        domain = stumps.domain.domains[feature]
        edges = [*sorted({0, *columns[feature].tolist()}), domain.size]
        intervals = [*pairwise(edges)]
        if isinstance(stumps, Thresholds):
            intervals.insert(0, (-1, 0))
        for pair in stumps.pairs:
            for start, end in intervals:
                counts[errors_of(Stump(feature, domain, start, *pair), columns, y)] += end - start
    return sorted(counts.items())


def large_codes(domain):
    ends = st.integers(0, 3) | st.integers(domain.size - 4, domain.size - 1)
    return ends | st.integers(0, domain.size - 1) | st.integers(domain.size // 2, domain.size // 2 + 9)


@examples(2, 15)
@pytest.mark.parametrize("kind", [DecisionStumps, Thresholds])
@pytest.mark.parametrize("n_labels", [1, 2, 5])
@pytest.mark.parametrize("name", LARGE)
def test_members_of_large_classes_make_the_errors_that_are_counted(
    name, n_labels, kind, examples, monkeypatch
):
    monkeypatch.setattr(cuts, "CHUNK", 2)  # block by block
    monkeypatch.setattr(cuts, "CARRY", 1)
    domain = LARGE[name]
    stumps = kind(Product([domain, domain] if kind is DecisionStumps else [domain]), n_labels)

    @settings(repeatable, max_examples=examples)
    @given(st.data())
    def check(data):
        n = data.draw(st.integers(1, 7))
        draw_codes = st.lists(large_codes(domain), min_size=n, max_size=n)
        columns = [np.array(data.draw(draw_codes), dtype=np.uint64) for _ in stumps.domain.domains]
        y = np.array(data.draw(st.lists(st.integers(0, n_labels - 1), min_size=n, max_size=n)))
        profile, groups = profile_of(stumps, columns, y)
        assert groups == groups_by_intervals(stumps, columns, y)
        assert sum(number for _, number in groups) == stumps.size
        for errors, number in groups:
            places = {0, 1, number // 3, number // 2, number - 2, number - 1}
            for index in (i for i in places if 0 <= i < number):
                member = profile.member(errors, index)
                assert errors_of(member, columns, y) == errors
                assert -(kind is Thresholds) <= member.code < domain.size

    check()


def test_neighbouring_places_hold_neighbouring_cuts_of_a_large_domain():
    stumps = DecisionStumps(Product([Floats(significand_bits=52)]))
    codes, y = stumps.domain.encode(np.array([[-1.5], [0.0], [3.25]])), np.array([0, 1, 1])
    profile, groups = profile_of(stumps, codes, y)
    for errors, number in groups:
        places = [i for start in (0, number // 2, number - 5) for i in range(start, start + 5)]
        found = [profile.member(errors, i) for i in places]
        assert len(set(found)) == len({*places})
        assert [errors_of(member, codes, y) for member in found] == [errors] * len(found)


@pytest.mark.parametrize("codes", [[5, 2**64 - 9], [0], [2**64 - 2]], ids=str)
def test_as_many_as_2_to_the_64_thresholds_may_make_equally_many_errors(codes):
    # With the cut below the domain there are 2**64 cuts, whose number is 0 in uint64.
    stumps = Thresholds(Product([INT64]), n_labels=3)
    assert stumps.size == 6 * 2**64
    columns, y = [np.array(codes, dtype=np.uint64)], np.full(len(codes), 2)
    profile, groups = profile_of(stumps, columns, y)
    assert groups == groups_by_intervals(stumps, columns, y)
    found = []
    for errors, number in groups:
        for index in (0, number // 2, number - 1):
            found.append(profile.member(errors, index))
            assert errors_of(found[-1], columns, y) == errors
    assert len(set(found)) == len(found)
