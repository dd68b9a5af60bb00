"""Cells and kernels of columns are public, and every value of a domain has a cell."""

import numpy as np
import pytest

from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, LargeIntegerRange
from dplearn.learners.additive.cells import LEVELS, MOST_CELLS, MOST_ORDERED, column_of, kernel, smooth_rows

DOMAINS = [
    Categories(["a"]),
    Categories(list(range(255))),
    Categories(list(range(256))),
    Categories(list(range(600)), other=True),
    Hashed(1 << 20),
    Bits(None),
    IntegerRange(5, 5),
    IntegerRange(0, 127),
    IntegerRange(-64, 64),
    IntegerRange(0, 254, missing=True),
    IntegerRange(0, 10**9),
    IntegerRange(-(2**63) + 2, 2**63 - 1, missing=True),
    LargeIntegerRange(0, 1000),
    LargeIntegerRange(-(2**63), 2**62),
    Grid(1e6, 1e9),
    Grid(0, 1e-300),
    Grid(-1e307, 1e307, missing=True),
    Floats(),
    Floats(missing=True),
    Floats(significand_bits=0, smallest=1, largest=4),
]


def codes_of(domain, n=500):
    """Codes of both ends of a domain, and between them."""
    last = domain.size - 1
    found = sorted({0, min(1, last), last, *(last * place // n for place in range(n))})
    if isinstance(domain, LargeIntegerRange):
        return np.array(found, dtype=object)
    return np.array(found, dtype=np.min_scalar_type(domain.size))


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_every_code_has_a_cell_and_an_order_is_kept(domain):
    column = column_of(domain)
    cells = column.of(codes_of(domain))
    assert cells.dtype == np.int16
    assert cells.min() == 0
    assert cells.max() < column.size <= MOST_CELLS
    assert len(column.described()) == column.size
    if column.ordered:
        assert (np.diff(cells) >= 0).all()
        assert cells[-1] == column.size - 1
        assert (np.diff(column.starts.astype(object)) > 0).all()
        assert column.of(column.starts).tolist() == list(range(column.size))
        values = column.values
        if values is not None:
            assert np.isnan(values[: column.gap]).all()
            assert (np.diff(values[column.gap :]) > 0).all()


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_a_domain_of_several_values_has_several_cells(domain):
    assert column_of(domain).size >= min(domain.size, 3)


@pytest.mark.parametrize(
    "domain", [Categories(["a", "b"]), Categories(list(range(600))), IntegerRange(0, 9)], ids=repr
)
def test_a_code_outside_the_domain_has_the_cell_of_no_value(domain):
    column = column_of(domain)
    outside = np.array([domain.size], dtype=np.uint16)
    assert column.of(outside).tolist() == [column.size]


def test_few_values_have_a_cell_each_and_many_share_cells():
    assert column_of(IntegerRange(18, 90)).size == 73
    assert column_of(IntegerRange(-500, 500)).size == 64
    assert column_of(IntegerRange(0, 100_000)).size < 128
    assert column_of(Categories(list(range(600)))).size == MOST_CELLS
    assert column_of(Categories(list(range(600)))).described()[3] == "group 3"
    assert column_of(IntegerRange(0, 2, missing=True)).described() == ("missing", "0", "1", "2")


def test_wide_ranges_have_cells_up_to_their_declared_end():
    values = column_of(IntegerRange(0, 10**9)).values
    assert values[-1] > 7e8
    assert column_of(Grid(1e6, 1e9)).values[-1] > 7e8


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("high", [1.0, 300.0, 1e9, 1e300])
def test_no_range_has_more_cells_than_a_plan_counts(high, missing):
    """A plan must not be refused after its ranges were learned and paid for."""
    for fine in (False, True):
        column = column_of(Grid(0, high, size=1 << 16, missing=missing), fine=fine)
        assert column.size <= column.most == MOST_ORDERED
        assert column_of(Floats(missing=True), fine=fine).size == 203
    assert column_of(IntegerRange(0, 9, missing=missing)).most == 10 + missing


def test_fine_cells_divide_the_usual_cells_of_wide_ranges_and_of_no_others():
    usual, fine = (column_of(IntegerRange(0, 100_000), fine=fine) for fine in (False, True))
    assert 3 * usual.size < fine.size <= MOST_ORDERED
    assert np.isin(usual.starts, fine.starts).all()
    assert 4096 + 256 in fine.values
    for domain in (IntegerRange(18, 90), Grid(-1, 1), Categories(["a", "b"]), Floats()):
        assert column_of(domain, fine=True).size == column_of(domain).size


def test_a_domain_of_too_many_values_is_refused():
    with pytest.raises(ValueError, match=r"at most 2\*\*64 values in each column"):
        column_of(LargeIntegerRange(0, 2**100))


@pytest.mark.parametrize("level", range(LEVELS))
@pytest.mark.parametrize(
    "domain", [Floats(missing=True), IntegerRange(0, 40), Categories(["a", "b", "c"])], ids=repr
)
def test_a_kernel_is_a_covariance_and_rows_have_norms_of_at_most_1(level, domain):
    column = column_of(domain)
    full = kernel(column, level)
    assert full == pytest.approx(full.T)
    assert np.linalg.eigvalsh(full).min() > -1e-9
    assert np.diag(full).max() <= 1 + 1e-9
    rows = smooth_rows(column, level)
    assert len(rows) == column.size
    assert np.linalg.norm(rows, axis=1).max() == pytest.approx(1)
    products = rows @ rows.T
    assert np.corrcoef(products.ravel(), full.ravel())[0, 1] > 0.99


def test_missing_values_and_categories_are_independent_of_all_others():
    full = kernel(column_of(IntegerRange(0, 40, missing=True)), 4)
    assert full[0].tolist() == [1.0] + [0.0] * 41
    assert (kernel(column_of(Categories(["a", "b", "c"])), 2) == np.eye(3)).all()


def test_higher_levels_are_more_flexible():
    column = column_of(IntegerRange(0, 40))
    effective = [
        np.trace(full) ** 2 / (full**2).sum() for full in (kernel(column, level) for level in range(LEVELS))
    ]
    assert effective == sorted(effective)
    assert effective[0] == pytest.approx(1)
