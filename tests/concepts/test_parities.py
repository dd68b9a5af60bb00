"""The class's errors are those its members make; its size, order and refusals are as documented."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.tree import DecisionTreeClassifier

from dplearn import ExponentialMechanismClassifier
from dplearn.concepts import Parities, Parity
from dplearn.concepts.parities import MaskedParity, index_of, masked_layout, masked_rows
from dplearn.domains import Bits, Product

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


def test_members_stand_in_the_documented_order():
    assert [Parities(2, fit_intercept=True).member_at(i) for i in range(8)] == [
        Parity((), 0),
        Parity((0,), 0),
        Parity((1,), 0),
        Parity((0, 1), 0),
        Parity((), 1),
        Parity((0,), 1),
        Parity((1,), 1),
        Parity((0, 1), 1),
    ]


@repeatable
@given(arrays("u1", st.integers(1, 200), elements=st.integers(0, 1)), st.integers(0, 1))
def test_a_parity_and_its_coefficients_determine_each_other(coefficients, intercept):
    parity = Parity.of(coefficients, intercept)
    assert parity.coefficients(len(coefficients)).tolist() == coefficients.tolist()
    assert parity.coefficients(len(coefficients)).dtype == np.uint8
    assert parity == Parity(tuple(i for i, bit in enumerate(coefficients) if bit), intercept)
    assert {type(i) for i in (*parity.features, parity.intercept)} == {int}


def test_words():
    features, labels = ["smoker", "age", "retired"], ["no", "yes"]
    assert Parity(()).describe(features, labels) == "always 'no'"
    assert Parity((), 1).describe(features, labels) == "always 'yes'"
    assert Parity((2,)).describe(features, labels) == "'yes' if retired, else 'no'"
    assert Parity((2,), 1).describe(features, labels) == "'no' if retired, else 'yes'"
    assert Parity((0, 2)).describe(features, labels) == "'yes' if smoker + retired is odd, else 'no'"
    assert Parity((0, 1, 2), 1).describe("abc", [0, 1]) == "1 if a + b + c is even, else 0"
    domain = Product([Bits(None), Bits(40), Bits(0.25)], features)
    rule = Parity((0, 1, 2), 0, domain)
    assert rule.describe(features, labels) == (
        "'yes' if smoker + (age > 40) + (retired > 0.25) is odd, else 'no'"
    )
    assert Parity((1,), 0, domain).describe(features, labels) == "'yes' if age > 40, else 'no'"
    assert repr(rule) == "Parity(features=(0, 1, 2), intercept=0)"
    assert rule == Parity((0, 1, 2))


def test_words_of_many_columns_name_the_first_and_the_last_and_say_how_many():
    names, labels = [f"x{i}" for i in range(100)], [0, 1]
    assert Parity(tuple(range(20))).describe(names, labels).count("+") == 19
    assert Parity(tuple(range(1, 43, 2))).describe(names, labels) == (
        "1 if x1 + x3 + x5 + ... + x41 (21 columns) is odd, else 0"
    )
    domain = Product([Bits(0.0)] * 100)
    assert Parity(tuple(range(100)), 1, domain).describe(names, labels) == (
        "1 if (x0 > 0) + (x1 > 0) + (x2 > 0) + ... + (x99 > 0) (100 columns) is even, else 0"
    )


# Rounding a function to its nearest parity.


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


# A whole fit of the generic learner.


@pytest.mark.parametrize(("d", "named"), [(16, True), (18, False)])
def test_the_generic_learner_finds_a_parity_despite_wrong_labels(d, named):
    rng = np.random.default_rng(d)
    X = rng.integers(0, 2, (3000, d))
    y = X[:, [0, 7, 11]].sum(axis=1) % 2 ^ (rng.random(3000) < 0.2)
    concept_class = "parities" if named else Parities(d, fit_intercept=True)
    learner = ExponentialMechanismClassifier(concept_class, epsilon=1.0, classes=[0, 1], random_state=0)
    y = y if named else 1 - y
    fitted = learner.fit(X, y)
    # The best has about 600 errors, all others about 1,500: each has less than exp(-400) of its probability.
    assert fitted.concept_.concept == Parity((0, 7, 11), 0 if named else 1)
    assert fitted.score(X, y) > 0.75


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


def test_a_rule_names_its_columns_and_their_bars():
    names, labels = ["a", "b", "c", "d", "i", "j", "m"], ["no", "yes"]
    domain = Product([Bits(3)] * 7, names)
    rule = MaskedParity((0, 2), Parity((0, 2), 0, domain), 4, domain)
    assert rule.describe(names, labels) == (
        "if m > 3: 'yes' if i..j is 0 or 2, else 'no';"
        " otherwise: 'yes' if (a > 3) + (c > 3) is odd, else 'no'"
    )
    assert (
        MaskedParity((), Parity(()), 4).describe(names, labels) == "if m: always 'no'; otherwise: always 'no'"
    )
