"""The class's errors are those its members make; its size, order and refusals are as documented."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, clone

from dplearn.concepts.conjunctions import Conjunction, Conjunctions
from dplearn.domains import Bits, IntegerRange, Product

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)


def some_data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 2, n)


def errors_at(concepts, position, columns, y):
    return np.count_nonzero(concepts.member_at(position).predict(columns) != y)


@repeatable
@given(
    st.integers(0, 5),
    arrays("u1", st.tuples(st.integers(1, 70), st.integers(2, 5)), elements=st.integers(0, 1)),
)
def test_every_member_makes_the_errors_that_are_counted(max_literals, table):
    concepts = Conjunctions(table.shape[1] - 1, max_literals, binarize=None)
    columns, y = concepts.domain.encode(table[:, 1:]), table[:, 0].astype(np.intp)
    counts = concepts.error_counts(columns, y)
    assert counts.shape == (concepts.size,)
    assert counts.tolist() == [errors_at(concepts, i, columns, y) for i in range(concepts.size)]
    assert len({concepts.member_at(i) for i in range(concepts.size)}) == concepts.size


@pytest.mark.parametrize(("d", "k"), [(12, 12), (12, 11), (40, 3), (300, 2), (5, 8)])
def test_members_of_larger_classes_make_the_errors_that_are_counted(d, k):
    concepts = Conjunctions(d, k)
    X, y = some_data(2000, d)
    columns = concepts.domain.encode(X)
    counts = concepts.error_counts(columns, y)
    assert counts.shape == (concepts.size,)
    for position in (np.arange(200) * 7919 % concepts.size).tolist():
        assert counts[position] == errors_at(concepts, position, columns, y)


def test_the_profile_groups_all_members_and_finds_each():
    concepts = Conjunctions(4, 2)
    X, y = some_data(50, 4)
    columns = concepts.domain.encode(X)
    profile = concepts.error_profile(columns, y)
    errors, members = profile.groups()
    assert sum(members) == concepts.size
    found = [profile.member(e, i) for e, m in zip(errors, members, strict=True) for i in range(m)]
    assert set(found) == {concepts.member_at(i) for i in range(concepts.size)}
    made = [np.count_nonzero(concept.predict(columns) != y) for concept in found]
    assert made == np.repeat(errors, members).tolist()


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("max_literals", [0, 2, 3])
def test_records_of_a_single_label(label, max_literals):
    concepts = Conjunctions(3, max_literals)
    X, _ = some_data(20, 3)
    columns, y = concepts.domain.encode(X), np.full(20, label)
    counts = concepts.error_counts(columns, y)
    empty = [concepts.member_at(i) for i in range(concepts.size)].index(Conjunction((), ()))
    assert counts[empty] == 20 * (label == 0)


@pytest.mark.parametrize(
    ("d", "k", "size"),
    [(1, 0, 1), (1, 1, 3), (2, 1, 5), (16, 16, 3**16), (9, 99, 3**9), (100, 3, 1313601), (1000, 2, 2000001)],
)
def test_size_is_exact(d, k, size):
    assert Conjunctions(d, k).size == size


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ((0,), ValueError, "n_features must be an integer at least 1, got 0"),
        ((2.0,), TypeError, r"n_features must be an integer at least 1, got 2\.0"),
        ((True,), TypeError, "n_features must be an integer at least 1, got True"),
        ((3, -1), ValueError, "max_literals must be an integer at least 0, got -1"),
        ((3, "2"), TypeError, "max_literals must be an integer at least 0, got '2'"),
        ((18, 18), ValueError, r"max_literals must leave at most 2\*\*28 conjunctions over 18 f.*, got 18"),
        ((10**9, 10**8), ValueError, "max_literals must leave at most"),
    ],
)
def test_refusals_name_parameter_constraint_and_value(parameters, error, message):
    with pytest.raises(error, match=message):
        Conjunctions(*parameters)


@pytest.mark.parametrize("binarize", [[0], np.nan, "warm"], ids=repr)
def test_binarize_must_be_a_number_or_none(binarize):
    with pytest.raises((TypeError, ValueError), match="binarize must be a finite number"):
        Conjunctions(2, binarize=binarize)


def test_the_largest_class_is_within_the_limit():
    assert Conjunctions(17, 17).size == 3**17
    assert Conjunctions(585, 3).size <= 2**28


@pytest.mark.parametrize("position", [-1, 5])
def test_positions_outside_the_class_are_refused(position):
    with pytest.raises(IndexError, match="position"):
        Conjunctions(2, 1).member_at(position)


def test_binarize_decides_what_is_one():
    X = np.array([[0.0], [0.5], [1.0], [3.0]])
    predict = Conjunction((0,), ()).predict
    assert predict(Conjunctions(1).domain.encode(X)).tolist() == [0, 1, 1, 1]
    assert predict(Conjunctions(1, binarize=0.5).domain.encode(X)).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="outside"):
        Conjunctions(1, binarize=None).domain.encode(X)


def test_predictions_are_label_codes():
    columns = [np.array([0, 0, 1, 1], dtype=np.uint8), np.array([0, 1, 0, 1], dtype=np.uint8)]
    labels = Conjunction((0,), (1,)).predict(columns)
    assert labels.dtype == np.intp
    assert labels.tolist() == [0, 0, 1, 0]
    assert Conjunction((), ()).predict(columns).tolist() == [1, 1, 1, 1]


def test_words():
    features, labels = ["smoker", "age", "retired"], ["no", "yes"]
    assert Conjunction((), ()).describe(features, labels) == "always 'yes'"
    assert Conjunction((0,), (2,)).describe(features, labels) == "'yes' if smoker and not retired, else 'no'"
    assert Conjunction((2,), (0, 1)).describe("abc", [0, 1]) == "1 if not a and not b and c, else 0"
    domain = Product([Bits(None), Bits(40), Bits(0.25)], features)
    rule = Conjunction((0, 1), (2,), domain)
    assert rule.describe(features, labels) == "'yes' if smoker and age > 40 and retired <= 0.25, else 'no'"
    assert repr(rule) == "Conjunction(positive=(0, 1), negative=(2,))"
    assert rule == Conjunction((0, 1), (2,))


def test_members_describe_what_their_class_binarizes():
    features, labels = ["a", "b"], [0, 1]
    assert Conjunctions(2, 1, binarize=None).member_at(4).describe(features, labels) == "1 if b, else 0"
    assert Conjunctions(2, 1).member_at(4).describe(features, labels) == "1 if b > 0, else 0"
    assert Conjunctions(2, 1, binarize=1.5).member_at(2).describe(features, labels) == "1 if b <= 1.5, else 0"


def test_over_keeps_the_domain():
    domain = Product([Bits(None), Bits(40)], ["smoker", "age"])
    concepts = Conjunctions.over(domain, 2)
    assert concepts.domain == domain
    assert concepts.size == 9
    assert repr(concepts) == f"Conjunctions.over({domain!r}, max_literals=3)"
    assert concepts != Conjunctions(2)
    assert Conjunctions.over(Product([Bits(2.0)] * 3), max_literals=2) == Conjunctions(3, 2, binarize=2.0)


def test_over_refuses_what_is_not_bits_or_not_two_labels():
    with pytest.raises(ValueError, match="domain must have Bits in every column"):
        Conjunctions.over(Product([Bits(), IntegerRange(0, 1)]), 2)
    with pytest.raises(ValueError, match="n_labels must be 2, got 3"):
        Conjunctions.over(Product([Bits()]), 3)


class Holder(BaseEstimator):
    def __init__(self, concept_class=None):
        self.concept_class = concept_class


def test_equal_classes_are_equal_after_clone_copy_and_pickle():
    concepts = Conjunctions(3, 2, binarize=0.5)
    assert repr(concepts) == "Conjunctions(3, max_literals=2, binarize=0.5)"
    cloned = clone(Holder(concepts)).concept_class
    for other in (cloned, copy.deepcopy(concepts), pickle.loads(pickle.dumps(concepts))):
        assert other == concepts
        assert hash(other) == hash(concepts)
        assert repr(other) == repr(concepts)
    for parameters, binarize in (((3, 1), 0.5), ((4, 2), 0.5), ((3, 2), 0.0)):
        assert Conjunctions(*parameters, binarize=binarize) != concepts
    assert concepts != "3"
