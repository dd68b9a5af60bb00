"""On public records, the dichotomies of a class have each behaviour of its members once."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.concepts import Conjunctions, DecisionStumps, FiniteClass, Parities, Thresholds
from dplearn.concepts.base import ListedMembers
from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, Product

MIXED = Product(
    [IntegerRange(0, 6), Categories(["a", "b", None]), Floats(significand_bits=1, smallest=1, largest=4)]
)
TWO = Product([Categories(["a", "b"]), Grid(0, 6, 4, missing=True), Hashed(5)])
TABLE = np.random.default_rng(0).integers(0, 3, size=(40, 7))  # public, of three labels
COUNTED = {
    "few literals": Conjunctions(5, 2, binarize=None),
    "all conjunctions": Conjunctions(4, 4, binarize=None),
    "parities": Parities(5, binarize=None),
    "parities and complements": Parities(4, binarize=None, fit_intercept=True),
    "table": FiniteClass(TABLE, 3),
    "functions": FiniteClass([lambda X, c=c: (X[:, 0] * c % 7 > 2).astype(int) for c in range(9)]),
}
STUMPS = {
    "stumps": DecisionStumps(MIXED, 2),
    "stumps of three labels": DecisionStumps(TWO, 3),
    "stumps of one label": DecisionStumps(TWO, 1),
    "thresholds": Thresholds(MIXED, 2, feature=2),
    "thresholds of three labels": Thresholds(MIXED, 3),
    "thresholds of one label": Thresholds(MIXED, 1),
}
repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=30)
seeds = st.integers(0, 2**32)
counts = st.integers(1, 12)


def some_columns(concepts, seed, n):
    """Public records, often equal ones."""
    rng = np.random.default_rng(seed)
    if not isinstance(concepts.domain, Product):
        return concepts.domain.encode(rng.integers(0, 9, size=(n, 1)).astype(float))
    values = [rng.choice(min(domain.size, 20), size=4) for domain in concepts.domain.domains]
    smallest = [domain.encode(np.zeros(0)).dtype for domain in concepts.domain.domains]
    return [rng.choice(each, size=n).astype(dtype) for each, dtype in zip(values, smallest, strict=True)]


def members_of(concepts, columns):
    """Each member of a class, found by its profile on labels that no member needs to fit."""
    profile = concepts.error_profile(columns, np.zeros(len(columns[0]), dtype=np.intp))
    return [
        profile.member(errors, index)
        for errors, size in zip(*profile.groups(), strict=True)
        for index in range(size)
    ]


def behaviours(concepts, columns):
    return [tuple(member.predict(columns).tolist()) for member in members_of(concepts, columns)]


@pytest.mark.parametrize("name", COUNTED)
@repeatable
@given(seed=seeds, n=counts)
def test_each_behaviour_of_a_counted_class_is_that_of_exactly_one_dichotomy(name, seed, n):
    concepts = COUNTED[name]
    columns = some_columns(concepts, seed, n)
    found = concepts.dichotomies(columns)
    assert isinstance(found, ListedMembers)
    kept = behaviours(found, columns)
    assert len(kept) == len(set(kept)) == found.size <= found.most_dichotomies(n)
    assert set(kept) == set(behaviours(concepts, columns))


@pytest.mark.parametrize("name", STUMPS)
@repeatable
@given(seed=seeds, n=counts)
def test_each_behaviour_of_a_column_of_stumps_is_that_of_exactly_one_dichotomy(name, seed, n):
    concepts = STUMPS[name]
    columns = some_columns(concepts, seed, n)
    found = concepts.dichotomies(columns)
    kept = behaviours(found, columns)
    assert set(kept) == set(behaviours(concepts, columns))
    assert len(kept) == found.size <= concepts.most_dichotomies(n)
    by_column = Counter(
        (None if member.inner == member.outer else member.feature, *member.predict(columns))
        for member in members_of(found, columns)
    )
    assert set(by_column.values()) == {1}
    constant = [member for member in members_of(found, columns) if member.inner == member.outer]
    assert len(constant) == concepts.n_labels


@pytest.mark.parametrize("name", STUMPS)
@repeatable
@given(seed=seeds, n=counts)
def test_every_cut_of_a_stump_is_at_the_value_of_some_record(name, seed, n):
    concepts = STUMPS[name]
    columns = some_columns(concepts, seed, n)
    for listed in (concepts.dichotomies(columns), concepts.at_values(columns)):
        for member in members_of(listed, columns):
            assert member.inner == member.outer or member.code in columns[member.feature]


@pytest.mark.parametrize("name", STUMPS)
@repeatable
@given(seed=seeds, n=counts)
def test_at_public_values_there_is_each_cut_with_each_pair_of_labels(name, seed, n):
    concepts = STUMPS[name]
    public, others = some_columns(concepts, seed, n), some_columns(concepts, seed + 1, 9)
    listed = concepts.at_values(public)
    tested = range(len(concepts.domain)) if not isinstance(concepts, Thresholds) else concepts.features
    labels = range(concepts.n_labels)
    expected = [
        concepts.member(feature, int(code) + isinstance(concepts, Thresholds), (a, b))
        for feature in tested
        for a in labels
        for b in labels
        if a != b
        for code in np.unique(public[feature])
    ]
    found = [member for member in members_of(listed, others) if member.inner != member.outer]
    assert Counter(found) == Counter(expected)
    assert len(expected) + len(labels) == listed.size <= concepts.most_dichotomies(n)


@pytest.mark.parametrize("name", [*STUMPS, *COUNTED])
@repeatable
@given(seed=seeds, n=counts)
def test_errors_of_listed_concepts_are_counted(name, seed, n):
    concepts = (STUMPS | COUNTED)[name]
    columns, others = some_columns(concepts, seed, n), some_columns(concepts, seed + 1, 9)
    y = np.random.default_rng(seed).integers(0, concepts.n_labels, size=9).astype(np.intp)
    classes = [concepts.dichotomies(columns)]
    if isinstance(concepts, DecisionStumps):
        classes.append(concepts.at_values(columns))
    for listed in classes:
        profile = listed.error_profile(others, y)
        groups = [*zip(*profile.groups(), strict=True)]
        assert sum(size for _, size in groups) == listed.size
        for errors, size in groups:
            for index in range(size):
                assert (profile.member(errors, index).predict(others) != y).sum() == errors
        if isinstance(listed.domain, Product):
            listed.check_sums()
            halves = [
                listed.error_sums([column[part] for column in others], y[part])
                for part in (slice(4), slice(4, None))
            ]
            sums = [one + other for one, other in zip(*halves, strict=True)]
            of_sums = listed.profile_of_sums(sums, 9)
            assert of_sums.groups() == profile.groups()
            errors, size = groups[-1]
            assert of_sums.member(errors, size - 1) == profile.member(errors, size - 1)


@pytest.mark.parametrize("name", STUMPS)
@repeatable
@given(seed=seeds, n=counts)
def test_dichotomies_of_a_table_in_parts_are_those_of_the_table(name, seed, n):
    concepts = STUMPS[name]
    columns = some_columns(concepts, seed, n)
    halves = [
        concepts.value_sums([column[part] for column in columns]) for part in (slice(3), slice(3, None))
    ]
    in_parts = concepts.dichotomies_of_sums([one + other for one, other in zip(*halves, strict=True)])
    whole = concepts.dichotomies(columns)
    assert members_of(in_parts, columns) == members_of(whole, columns)
    y = np.zeros(n, dtype=np.intp)
    assert [each.dtype for each in in_parts._codes.values()] == [each.dtype for each in whole._codes.values()]
    assert in_parts.error_profile(columns, y).groups() == whole.error_profile(columns, y).groups()


def test_the_columns_of_parities_are_the_first_independent_ones():
    bits = np.array([[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    parities = Parities(4, binarize=None).dichotomies(list(bits.T))
    features = {member.features for member in members_of(parities, list(bits.T))}
    assert features == {(), (1,), (2,), (1, 2)}  # column 0 is zero, and 3 is the sum of 1 and 2


@pytest.mark.parametrize("concepts", [Conjunctions(3, 2, binarize=None), Conjunctions(3, 3, binarize=None)])
def test_of_conjunctions_that_agree_one_of_few_literals_is_kept(concepts):
    ones = [np.ones(2, dtype=np.uint8)] * 3
    always, never = sorted(members_of(concepts.dichotomies(ones), ones), key=lambda each: len(each.negative))
    assert (always.positive, always.negative) == ((), ())
    assert len(never.negative) == 1


def test_bounds_without_records_are_attained():
    stumps = DecisionStumps(Product([IntegerRange(0, 999), Bits()]), 3)
    columns = [np.arange(5, dtype=np.uint16), np.array([0, 0, 1, 1, 1], dtype=np.uint8)]
    assert stumps.at_values(columns).size == stumps.most_dichotomies(5) == (5 + 2) * 6 + 3
    assert stumps.most_dichotomies(10**9) == (1000 + 2) * 6 + 3
    assert stumps.dichotomies(columns).size == (4 + 1) * 6 + 3
