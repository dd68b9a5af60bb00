import numpy as np
import pytest

from dplearn.chance import PublicStream
from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, LargeIntegerRange
from dplearn.releases.table_columns import table_column

DOMAINS = (
    IntegerRange(-5, 5),
    IntegerRange(18, 90, missing=True),
    IntegerRange(0, 99_999),
    IntegerRange(1, 10_000, missing=True),
    IntegerRange(-(1 << 63), (1 << 62)),
    Grid(0, 1, 101),
    Grid(-3.5, 12.25, 1025, "accept", missing=True),
    Grid(0, 1e6, 10_001),
    Floats(smallest=2.0**-20, largest=2.0**20, missing=True),
    Floats(significand_bits=2, smallest=1, largest=4),
    Categories(["north", "south", None]),
    Categories([3, 7], other=True),
    Bits(binarize=None),
    Bits(binarize=0.5),
)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("n_bins", [2, 7, 16])
def test_a_value_drawn_from_a_cell_lies_in_it(domain, n_bins):
    column = table_column("x", domain, n_bins)
    cells = np.repeat(np.arange(column.size), 50)
    values = column.values(cells, PublicStream(0))
    if not isinstance(domain, Bits):  # whose values are compared with a threshold
        assert np.array_equal(column.of(domain.nearest(values)), cells)
    assert len(column.described()) == column.size


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_cells_divide_all_codes(domain):
    column = table_column("x", domain, 16)
    assert column.starts[0] == 0
    assert (np.diff(column.starts.astype(object)) > 0).all()
    assert int(column.starts[-1]) < domain.size
    assert column.of(column.starts).tolist() == list(range(column.size))


def test_types_are_those_of_the_schema():
    stream, cells = PublicStream(0), np.zeros(3, dtype=int)
    assert table_column("x", IntegerRange(0, 9), 4).values(cells, stream).dtype == np.int64
    assert np.isnan(table_column("x", IntegerRange(0, 9, missing=True), 4).values(cells, stream)).all()
    assert table_column("x", Grid(0, 9, 10), 4).values(cells, stream).dtype == np.float64
    listed = table_column("x", Categories(["a"], other=True), 4)
    assert listed.values(np.array([0, 1]), stream).tolist() == ["a", None]
    assert table_column("x", Hashed(), 4).values(np.array([0, 5]), stream).tolist() == [0, 5]


def test_numbers_are_uniform_within_a_bin():
    column = table_column("x", IntegerRange(0, 199), 2)
    drawn = column.values(np.zeros(20_000, dtype=int), PublicStream(1))
    counts = np.bincount(drawn, minlength=100)
    assert len(counts) == 100
    assert ((counts - 200) ** 2 / 200).sum() < 170  # of 99 degrees of freedom, with probability below 1e-5


def test_zero_has_a_bin_in_a_wide_range():
    described = table_column("gain", IntegerRange(0, 99_999, missing=True), 16).described()
    assert described[:2] == ("missing", "0")
    assert "0" not in table_column("age", IntegerRange(0, 120), 16).described()


def test_known_values_are_given_back_and_unknown_ones_are_none():
    column = table_column("x", Categories(["a", "b"]), 4)
    assert column.decoded(Categories(["a", "b"]).nearest(["b", "z"])).tolist() == ["b", None]
    assert table_column("x", IntegerRange(3, 5), 4).decoded(np.array([0, 2])).tolist() == [3, 5]
    assert table_column("x", Bits(), 4).decoded(np.array([0, 1])).tolist() == [0, 1]
    assert table_column("x", Hashed(), 4).decoded(np.array([3])).tolist() == [3]


def test_a_range_of_2_to_the_64_is_refused():
    with pytest.raises(ValueError, match="column 'x' must have fewer than 2"):
        table_column("x", LargeIntegerRange(0, 1 << 70), 16)


@pytest.mark.parametrize("low", [0, 1, 3])
@pytest.mark.parametrize("n_bins", [2, 3, 16])
def test_a_wide_range_has_as_many_cells_as_bins(low, n_bins):
    assert table_column("x", IntegerRange(low, 10**5), n_bins).size == n_bins
