"""One law for all concept classes: a profile has every member once, under the errors that it makes, in the
class's order, and tables in parts have the profile of the whole table. And one law for dichotomies: each
behaviour once, with its errors."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from dplearn.concepts import (
    Conjunctions,
    Corners,
    DecisionStumps,
    FiniteClass,
    Line,
    Lines,
    Parities,
    Stump,
    Thresholds,
)
from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, Product
from dplearn.kernels import cuts

NUMBERS = Product([IntegerRange(0, 6), Grid(0, 6, 4)])
MIXED = Product(
    [Bits(), Floats(significand_bits=0, smallest=1, largest=2, missing=True), Categories(["a", "b", None])]
)
OTHERS = Product([IntegerRange(3, 3), Hashed(4), IntegerRange(0, 3, missing=True)])
TABLE = np.random.default_rng(0).integers(0, 3, (9, 7))
SOME = ("<=", ">")
CLASSES = [
    *(DecisionStumps(domain, n) for domain in (NUMBERS, MIXED, OTHERS) for n in (1, 2, 3)),
    *(Thresholds(domain, n) for domain in (NUMBERS, Product([IntegerRange(0, 20)])) for n in (1, 2, 4)),
    Thresholds(Product([IntegerRange(0, 129)])),
    Thresholds(OTHERS, feature=2),
    *(
        Corners(Product([IntegerRange(0, size) for size in sizes]))
        for sizes in ((0,), (4,), (2, 0), (3, 4), (1, 2, 1))
    ),
    *(Corners(NUMBERS, directions=each, inside=1) for each in product(SOME, SOME)),
    *(Corners(Product([Bits(), *NUMBERS.domains]), features=(2, 0), **more) for more in ({}, {"inside": 0})),
    Corners(Product([Bits(), *NUMBERS.domains]), directions=("<=", ">", "<=")),
    *(Conjunctions(d, k, binarize=None) for d, k in ((1, 0), (1, 1), (3, 2), (4, 4), (4, 0), (5, 3))),
    *(Parities(d, binarize=None, fit_intercept=both) for d in (1, 5) for both in (False, True)),
    FiniteClass(TABLE, 3),
    FiniteClass(TABLE[:1], 3),
    FiniteClass([lambda X, row=row: row[X[:, 0].astype(int)] for row in TABLE], 3),
    *(Lines(p) for p in (2, 3, 7)),
]
OF_LINES = [each for each in CLASSES if isinstance(each, Lines)]


def groups_of(profile):
    """The numbers of errors and of members, which may be arrays, as lists."""
    return tuple([*map(int, each)] for each in profile.groups())


def all_members(concepts):
    """Every member in the order that the class documents; lines have none."""
    if isinstance(concepts, Lines):
        p = round(concepts.size**0.5)
        return [Line(a, b, p) for a, b in product(range(p), repeat=2)]
    if isinstance(concepts, Corners):
        return [
            concepts.member(above, inner, codes)
            for above in concepts.directions
            for inner in concepts.labels_inside
            for codes in product(*(range(-1, size) for size in concepts.sizes))
        ]
    if isinstance(concepts, DecisionStumps):  # by column, then pair of labels, then cut
        below, labels = isinstance(concepts, Thresholds), range(concepts.n_labels)
        return [
            Stump(feature, concepts.domain.domains[feature], code, a, b)
            for feature in concepts.features
            for a, b in product(labels, labels)
            if a != b or len(labels) == 1 or not below
            for code in range(-below, concepts.domain.domains[feature].size)
        ]
    return [concepts.member_at(position) for position in range(concepts.size)]


def some_records(concepts, n, rng):
    """Codes of records, often equal ones, and their labels."""
    n_labels = getattr(concepts, "n_labels", 2)
    y = rng.integers(0, n_labels, n).astype(np.intp)
    if rng.random() < 0.2:
        y[:] = rng.integers(n_labels)
    if not isinstance(concepts.domain, Product):
        return concepts.domain.encode(rng.integers(0, 7, (n, 1)).astype(float)), y
    sizes = [domain.size for domain in concepts.domain.domains]
    return [rng.integers(0, size, n).astype(np.min_scalar_type(size)) for size in sizes], y


@pytest.mark.parametrize("dense", [1 << 12, 0], ids=["counted", "sorted"])
@pytest.mark.parametrize("concepts", CLASSES, ids=repr)
def test_a_profile_has_every_member_once_under_its_errors_and_in_order(monkeypatch, concepts, dense):
    monkeypatch.setattr(cuts, "DENSE", dense)
    monkeypatch.setattr(cuts, "CHUNK", 4 if dense else 1 << 20)
    rng, members = np.random.default_rng(0), all_members(concepts)
    assert concepts.size == len(members) == len(set(members))
    for n in (1, 2, 5, 13):
        columns, y = some_records(concepts, n, rng)
        before = [column.copy() for column in columns]
        made = [int(np.count_nonzero(member.predict(columns) != y)) for member in members]
        expected = {errors: [m for m, e in zip(members, made, strict=True) if e == errors] for errors in made}
        profiles = [concepts.error_profile(columns, y)]
        if not isinstance(concepts, Lines):
            concepts.check_sums()
            halves = [
                concepts.error_sums([column[part] for column in columns], y[part])
                for part in (slice(n // 2), slice(n // 2, None))
                if n > 1
            ]
            sums = [one + other for one, other in zip(*halves, strict=True)] if n > 1 else None
            profiles += [concepts.profile_of_sums(sums, n)] if n > 1 else []
        for profile in profiles:
            fresh = profile.member(min(made), 0)  # before its groups are asked for
            errors, numbers = groups_of(profile)
            assert dict(zip(errors, numbers, strict=True)) == Counter(made)
            assert errors == sorted(errors)
            found = {
                e: [profile.member(e, i) for i in range(m)] for e, m in zip(errors, numbers, strict=True)
            }
            if concepts in OF_LINES:
                found, expected = ({e: set(each) for e, each in kept.items()} for kept in (found, expected))
            assert found == expected
            assert fresh in found[min(made)]
            for wrong in ((errors[0], numbers[0]), (n + 1, 0)):
                if concepts not in OF_LINES:
                    with pytest.raises(IndexError):
                        profile.member(*wrong)
        assert all(map(np.array_equal, columns, before))


@pytest.mark.parametrize("concepts", CLASSES, ids=repr)
def test_a_prediction_is_a_label_of_the_class_and_depends_on_its_row_alone(concepts):
    rng = np.random.default_rng(1)
    columns, _ = some_records(concepts, 6, rng)
    for member in all_members(concepts)[:: max(1, concepts.size // 40)]:
        predicted = member.predict(columns)
        assert predicted.dtype == np.intp
        assert set(predicted.tolist()) <= set(range(getattr(concepts, "n_labels", 2)))
        for row in range(6):
            assert member.predict([column[row : row + 1] for column in columns]) == predicted[row]


LISTED = [each for each in CLASSES if not isinstance(each, Lines)]
LISTED += [FiniteClass(np.random.default_rng(0).integers(0, 3, (40, 7)), 3)]
STUMPS = [each for each in LISTED if isinstance(each, DecisionStumps)]
SIZES = (1, 2, 4, 9, 12)


def members_of(concepts, columns, y):
    """Each number of errors with its members, found by a profile."""
    profile = concepts.error_profile(columns, y)
    return {
        errors: [profile.member(errors, index) for index in range(size)]
        for errors, size in zip(*groups_of(profile), strict=True)
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
        assert groups_of(of_sums) == groups_of(listed.error_profile(columns, y))
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


def test_the_cuts_of_a_corners_dichotomies_are_those_of_records():
    """The member with a given pair of cuts does not depend on the other records."""
    rng = np.random.default_rng(5)
    concepts = Corners(Product([IntegerRange(0, 99)] * 2), directions=("<=", "<="), inside=1)
    columns, _ = some_records(concepts, 30, rng)
    for member in every(concepts.dichotomies(columns), columns):
        for code, column in zip(member.codes, columns, strict=True):
            assert code in {-1, 99, *column.tolist()}
