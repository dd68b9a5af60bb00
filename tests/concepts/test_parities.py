"""The class's errors are those its members make; its size, order and refusals are as documented."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.tree import DecisionTreeClassifier

from dplearn.concepts import MaskedParity, Parities, Parity, index_of, masked_layout, masked_rows

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)


def some_data(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 2, n)


def errors_at(concepts, position, columns, y):
    return np.count_nonzero(concepts.member_at(position).predict(columns) != y)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("d", "n", "dtype"), [(10, 2000, "i2"), (18, 2**15 - 1, "i2"), (17, 2**15, "i4")])
def test_members_of_larger_classes_make_the_errors_that_are_counted(d, n, dtype, fit_intercept):
    concepts = Parities(d, fit_intercept=fit_intercept)
    X, y = some_data(n, d)
    columns = concepts.domain.encode(X)
    counts = concepts.error_counts(columns, y)
    assert counts.shape == (concepts.size,)
    assert counts.dtype == dtype
    for position in (np.arange(100) * 7919 % concepts.size).tolist() + [concepts.size - 1]:
        assert counts[position] == errors_at(concepts, position, columns, y)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kind", ["u1", "u4", "u8"])
def test_packed_records_make_the_same_errors_whatever_their_further_bits(kind, fit_intercept):
    concepts = Parities(6, fit_intercept=fit_intercept)
    X, y = some_data(40, 6)
    columns = concepts.domain.encode(X)
    points = (np.array(columns).T @ (1 << np.arange(6))).astype(kind)
    listed = concepts.error_profile(columns, y)
    for packed in (points, points | np.array(64 + 128, dtype=kind)):
        profile = concepts.profile_of(packed, y)
        assert profile.groups() == listed.groups()
        assert profile.member(listed.groups()[0][0], 0) == listed.member(listed.groups()[0][0], 0)


@repeatable
@given(arrays("u1", st.integers(1, 200), elements=st.integers(0, 1)), st.integers(0, 1))
def test_a_parity_and_its_coefficients_determine_each_other(coefficients, intercept):
    parity = Parity.of(coefficients, intercept)
    assert parity.coefficients(len(coefficients)).tolist() == coefficients.tolist()
    assert parity.coefficients(len(coefficients)).dtype == np.uint8
    assert parity == Parity(tuple(i for i, bit in enumerate(coefficients) if bit), intercept)
    assert {type(i) for i in (*parity.features, parity.intercept)} == {int}


def test_a_function_of_more_points_than_are_asked_at_a_time_is_rounded():
    asked = []

    def predict(bits):
        asked.append(len(bits))
        return np.where(bits.all(axis=1), 1, bits[:, 3] ^ bits[:, 17])

    assert Parities(18).nearest(predict) == Parity((3, 17))
    assert sum(asked) == 2**18
    assert len(asked) > 1


@pytest.mark.parametrize("intercept", [0, 1])
def test_a_tree_that_is_wrong_at_less_than_a_quarter_is_rounded_to_the_parity_that_it_learned(intercept):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 5))
    y = np.where(X[:, [0, 2, 3]].sum(axis=1) % 2 == intercept, "even", "odd")
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    points = np.array([[x >> j & 1 for j in range(5)] for x in range(32)])
    concepts = Parities(5, binarize=None, fit_intercept=True)
    nearest = concepts.nearest(tree.predict, ("even", "odd"))
    given = tree.predict(points) == "odd"
    agreements = [
        np.count_nonzero(concepts.member_at(i).predict(points.T) == given) for i in range(concepts.size)
    ]
    assert nearest == concepts.member_at(int(np.argmax(agreements)))
    assert nearest == Parity((0, 2, 3), intercept)
    assert 24 < max(agreements) < 32  # the tree is no parity itself


@pytest.mark.parametrize("n_bits", [*range(1, 6), 8, 9, 39])
def test_a_table_has_the_layout_that_is_read_from_its_width(n_bits):
    n_index = (n_bits - 1).bit_length()
    assert masked_layout(n_bits + n_index + 1) == (n_bits, n_index)
    rows = masked_rows(np.zeros((n_bits, n_bits)), np.arange(n_bits), np.ones(n_bits))
    assert rows.shape == (n_bits, n_bits + n_index + 1)
    assert index_of(list(rows.T)[n_bits:-1], n_bits, n_bits).tolist() == list(range(n_bits))


def test_an_index_beyond_the_bits_means_nothing():
    columns = [np.array([1, 0, 1]), np.array([1, 1, 0])]  # 3, 2 and 1
    assert index_of(columns, 3, 3).tolist() == [3, 2, 1]
    assert index_of(columns, 2, 3).tolist() == [2, 2, 1]
    concept = MaskedParity((0, 1), Parity((0, 1)), 2)
    assert concept.predict([np.ones(3), np.zeros(3), *columns, np.ones(3)]).tolist() == [0, 0, 1]


def test_it_labels_every_point_as_it_is_defined():
    r, a = np.array([1, 0, 1, 1]), 1
    concept = MaskedParity((0, 2, 3), Parity((0, 2, 3), a), 4)
    points = np.array(list(np.ndindex(*[2] * 7)))
    bits, index, mask = points[:, :4], points[:, 4] + 2 * points[:, 5], points[:, 6]
    labels = np.where(mask, r[index], (bits @ r + a) % 2)
    assert (concept.predict(list(points.T)) == labels).all()
    assert (masked_rows(bits, index, mask) == points).all()
