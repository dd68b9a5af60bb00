import numpy as np
import pytest

from dplearn.concepts.parities import MaskedParity, Parity, index_of, masked_layout, masked_rows
from dplearn.domains import Bits, Product


@pytest.mark.parametrize("n_bits", range(1, 40))
def test_a_table_has_the_layout_that_is_read_from_its_width(n_bits):
    n_index = (n_bits - 1).bit_length()
    assert masked_layout(n_bits + n_index + 1) == (n_bits, n_index)
    rows = masked_rows(np.zeros((n_bits, n_bits)), np.arange(n_bits), np.ones(n_bits))
    assert rows.shape == (n_bits, n_bits + n_index + 1)
    assert index_of(list(rows.T)[n_bits:-1], n_bits, n_bits).tolist() == list(range(n_bits))


@pytest.mark.parametrize(("n_features", "layout"), [(2, (1, 0)), (3, (1, 1)), (4, (2, 1)), (7, (4, 2))])
def test_widths_that_no_number_of_bits_fits_leave_columns_to_the_index(n_features, layout):
    assert masked_layout(n_features) == layout


@pytest.mark.parametrize("n_features", [0, 1])
def test_fewer_than_two_columns_are_refused(n_features):
    with pytest.raises(ValueError, match=rf"2 at least, got {n_features} feature\(s\)"):
        masked_layout(n_features)


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


def test_tables_whose_parts_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="index and mask"):
        masked_rows([[0, 1]], [0, 1], [0])


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


def test_of_many_indices_only_some_are_named():
    wide = MaskedParity(tuple(range(30)), Parity(()), 32)
    text = wide.describe([f"x{i}" for i in range(38)], [0, 1])
    assert "x32..x36 is 0 or 1 or 2 or ... or 29" in text
