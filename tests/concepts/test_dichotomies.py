"""One law for the dichotomies of all concept classes: each behaviour once, and its errors are counted."""

from collections import Counter

import numpy as np
import pytest

from dplearn.concepts import Corners, DecisionStumps, FiniteClass, Lines, Thresholds
from dplearn.domains import IntegerRange, Product
from tests.concepts.test_profiles import CLASSES, all_members, some_records

LISTED = [each for each in CLASSES if not isinstance(each, Lines)]
LISTED += [FiniteClass(np.random.default_rng(0).integers(0, 3, (40, 7)), 3)]
STUMPS = [each for each in LISTED if isinstance(each, DecisionStumps)]
SIZES = (1, 2, 4, 9, 12)


def members_of(concepts, columns, y):
    """Each number of errors with its members, found by a profile."""
    profile = concepts.error_profile(columns, y)
    return {
        errors: [profile.member(errors, index) for index in range(size)]
        for errors, size in zip(*profile.groups(), strict=True)
    }


def every(concepts, columns):
    y = np.zeros(len(columns[0]), dtype=np.intp)
    return [member for group in members_of(concepts, columns, y).values() for member in group]


def kind_of(member):
    """What dichotomies are counted within: the column of a stump, directions and label of a corner."""
    if hasattr(member, "outer"):
        return None if member.inner == member.outer else member.feature
    return getattr(member, "above", None), getattr(member, "inner", None)


def behaviours(members, columns):
    return [(kind_of(member), *member.predict(columns).tolist()) for member in members]


def errors_are_counted(listed, columns, y):
    groups = members_of(listed, columns, y)
    assert sum(map(len, groups.values())) == listed.size
    for errors, members in groups.items():
        assert all((member.predict(columns) != y).sum() == errors for member in members)
    if isinstance(listed.domain, Product) and not isinstance(listed, Corners):
        listed.check_sums()
        halves = [
            listed.error_sums([column[part] for column in columns], y[part])
            for part in (slice(4), slice(4, None))
        ]
        of_sums = listed.profile_of_sums([one + other for one, other in zip(*halves, strict=True)], len(y))
        assert of_sums.groups() == listed.error_profile(columns, y).groups()
        assert of_sums.member(errors, len(members) - 1) == members[-1]


@pytest.mark.parametrize("concepts", LISTED, ids=repr)
def test_each_behaviour_is_that_of_exactly_one_dichotomy_whose_errors_are_counted(concepts):
    rng = np.random.default_rng(0)
    for n in SIZES:
        columns, _ = some_records(concepts, n, rng)
        listed = concepts.dichotomies(columns)
        kept, wanted = (behaviours(each, columns) for each in (every(listed, columns), all_members(concepts)))
        assert len(kept) == len(set(kept)) == listed.size <= concepts.most_dichotomies(n)
        assert {each[1:] for each in kept} == {each[1:] for each in wanted}
        assert not isinstance(concepts, Corners) or set(kept) == set(wanted)
        constant = [behaviour for behaviour in kept if behaviour[0] is None]
        assert len(constant) == (concepts.n_labels if isinstance(concepts, DecisionStumps) else 0)
        assert listed.assumes == concepts.assumes
        errors_are_counted(listed, *some_records(concepts, 9, rng))


@pytest.mark.parametrize("concepts", STUMPS, ids=repr)
def test_cuts_are_at_public_values_with_each_pair_of_labels_and_parts_have_those_of_the_table(concepts):
    rng, below = np.random.default_rng(1), isinstance(concepts, Thresholds)
    for n in SIZES:
        columns, y = some_records(concepts, n, rng)
        listed, found = concepts.at_values(columns), concepts.dichotomies(columns)
        for member in every(found, columns):
            assert member.inner == member.outer or member.code in columns[member.feature]
        expected = [
            concepts.member(feature, int(code) + below, (a, b))
            for feature in concepts.features
            for a in range(concepts.n_labels)
            for b in range(concepts.n_labels)
            if a != b
            for code in np.unique(columns[feature])
        ]
        others, labels = some_records(concepts, 9, rng)
        cuts = [member for member in every(listed, others) if member.inner != member.outer]
        assert Counter(cuts) == Counter(expected)
        assert len(expected) + concepts.n_labels == listed.size <= concepts.most_dichotomies(n)
        errors_are_counted(listed, others, labels)
        halves = [
            concepts.value_sums([each[part] for each in columns]) for part in (slice(3), slice(3, None))
        ]
        in_parts = concepts.dichotomies_of_sums([one + other for one, other in zip(*halves, strict=True)])
        assert members_of(in_parts, columns, y) == members_of(found, columns, y)
        kinds = [[each.dtype for each in both._codes.values()] for both in (in_parts, found)]
        assert kinds[0] == kinds[1]


def test_the_cuts_of_a_corners_dichotomies_are_those_of_records():
    """The member with a given pair of cuts does not depend on the other records."""
    rng = np.random.default_rng(5)
    concepts = Corners(Product([IntegerRange(0, 99)] * 2), directions=("<=", "<="), inside=1)
    columns, _ = some_records(concepts, 30, rng)
    for member in every(concepts.dichotomies(columns), columns):
        for code, column in zip(member.codes, columns, strict=True):
            assert code in {-1, 99, *column.tolist()}
