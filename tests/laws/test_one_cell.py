"""A cell's code is a function of the cell alone: no gap and no odd cell of a column changes another code.

Each column is encoded as it is, cell by cell, as objects, with a missing cell, and with odd cells added.
"""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dplearn.domains import (
    Bits,
    Categories,
    Dates,
    DomainError,
    Floats,
    Grid,
    Hashed,
    IntegerRange,
    LargeIntegerRange,
    as_factor,
    frame_column,
    mapped,
    object_array,
    read_column,
    read_keys,
)
from dplearn.table import table_of

EXACT = 2**53  # floats represent all integers up to here
WIDE = [0, 1, 2, 7, EXACT - 1, EXACT, EXACT + 1, EXACT + 3, 2**62 + 1, -1, -EXACT - 1]
ABOVE = [0, 1, EXACT + 1, 2**63, 2**63 + 1, 2**64 - 1]
SMALL = [0, 1, 3, 7, 100, 5]
FLOATS = [0.0, -0.0, 0.1, 1.5, 1.0, -3.7, 3.3, 2.0**20]
DECIMALS = [Decimal(text) for text in ("0", "1", "1.5", "9007199254740993", "-1")]
TEXTS = ["a", "", "b ", " 1", "1", "2.0"]
BITS = [True, False, True]
BYTES = [b"a", b"", b"1"]
TIMES = [datetime.datetime(*parts) for parts in ((2020, 1, 1), (2020, 1, 1, 23, 59, 59), (1969, 12, 31, 23))]
DAYS = [datetime.date(2020, 1, 1), datetime.date(1969, 12, 31), datetime.date(2024, 12, 31)]
ZONED = [each.replace(tzinfo=datetime.UTC) for each in TIMES]
ODD = [
    None,
    np.nan,
    "text",
    np.inf,
    -np.inf,
    Fraction(1, 3),
    2**70,
    Decimal("NaN"),
    True,
    1.5,
    (1, 2),
    object(),
]


def of_numpy(dtype):
    return lambda cells: pd.DataFrame({"a": np.array(cells, dtype)})


def of_objects(cells):
    return pd.DataFrame({"a": pd.Series(object_array(cells), dtype=object)})


def column_of(make, cells):
    return frame_column(make(cells), 0)


def of_pandas(dtype):
    return lambda cells: pd.DataFrame({"a": pd.array(cells, dtype=dtype)})


def of_arrow(dtype):
    return lambda cells: table_of(pa.table({"a": pa.array(cells, dtype)}))  # as parts are read


def of_polars(dtype):
    return lambda cells: pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})


COLUMNS = {
    **{f"numpy {kind}": (of_numpy(kind), SMALL) for kind in ("int8", "uint8", "int32", "uint32")},
    "numpy int64": (of_numpy("int64"), WIDE),
    "numpy uint64": (of_numpy("uint64"), ABOVE),
    **{f"numpy {kind}": (of_numpy(kind), FLOATS) for kind in ("float32", "float64", "longdouble")},
    "numpy float16": (of_numpy("float16"), FLOATS[:-1]),
    "numpy bool": (of_numpy("bool"), BITS),
    "numpy object": (of_objects, [*WIDE, *FLOATS, *TEXTS, *DECIMALS, None, (1, 2)]),
    "built-in cells": (of_objects, [*WIDE, *FLOATS, *TEXTS, *BITS, *BYTES, None]),
    "pandas Int64": (of_pandas("Int64"), WIDE),
    "pandas UInt64": (of_pandas("UInt64"), ABOVE),
    "pandas Float64": (of_pandas("Float64"), FLOATS),
    "pandas Float32": (of_pandas("Float32"), FLOATS),
    "pandas boolean": (of_pandas("boolean"), BITS),
    "pandas string": (of_pandas("string"), TEXTS),
    "pandas str": (of_pandas("str"), TEXTS),
    "pandas category of text": (of_pandas("category"), TEXTS),
    "pandas category of integers": (of_pandas("category"), WIDE),
    "pandas category of floats": (of_pandas("category"), FLOATS),
    "pandas sparse integers": (of_pandas(pd.SparseDtype("int64", 0)), WIDE),
    "pandas sparse floats": (of_pandas(pd.SparseDtype("float64", 0)), FLOATS),
    "arrow int64": (of_arrow(pa.int64()), WIDE),
    "arrow uint64": (of_arrow(pa.uint64()), ABOVE),
    "arrow int8": (of_arrow(pa.int8()), SMALL),
    "arrow float": (of_arrow(pa.float32()), FLOATS),
    "arrow double": (of_arrow(pa.float64()), FLOATS),
    "arrow half float": (of_arrow(pa.float16()), [np.float16(cell) for cell in FLOATS[:-1]]),
    "arrow bool": (of_arrow(pa.bool_()), BITS),
    "arrow string": (of_arrow(pa.string()), TEXTS),
    "arrow binary": (of_arrow(pa.binary()), BYTES),
    "arrow decimal": (of_arrow(pa.decimal128(38, 3)), DECIMALS),
    "arrow dictionary of text": (of_arrow(pa.dictionary(pa.int8(), pa.string())), TEXTS),
    "arrow dictionary without signs": (of_arrow(pa.dictionary(pa.uint32(), pa.string())), TEXTS),
    "arrow dictionary of integers": (of_arrow(pa.dictionary(pa.int8(), pa.int64())), WIDE),
    "polars Int64": (of_polars(pl.Int64), WIDE),
    "polars UInt64": (of_polars(pl.UInt64), ABOVE),
    "polars Float32": (of_polars(pl.Float32), FLOATS),
    "polars Float64": (of_polars(pl.Float64), FLOATS),
    "polars Boolean": (of_polars(pl.Boolean), BITS),
    "polars String": (of_polars(pl.String), TEXTS),
    "polars Binary": (of_polars(pl.Binary), BYTES),
    "polars Categorical": (of_polars(pl.Categorical), TEXTS),
    "polars Enum": (of_polars(pl.Enum(TEXTS)), TEXTS),
    "polars Decimal": (of_polars(pl.Decimal(38, 3)), DECIMALS),
    "numpy times": (of_numpy("datetime64[us]"), TIMES),
    "times and dates": (of_objects, [*TIMES, *DAYS, *ZONED, "2020-01-01", "2020-01-01T12:00+05:00"]),
    "pandas zone": (of_pandas("datetime64[us, Asia/Tokyo]"), ZONED),
    "arrow times": (of_arrow(pa.timestamp("us")), TIMES),
    "arrow zone": (of_arrow(pa.timestamp("us", "Asia/Tokyo")), ZONED),
    "arrow dates": (of_arrow(pa.date32()), DAYS),
    "polars times": (of_polars(pl.Datetime("us")), TIMES),
    "polars zone": (of_polars(pl.Datetime("us", "Asia/Tokyo")), ZONED),
    "polars dates": (of_polars(pl.Date), DAYS),
}
WITHOUT_GAPS = ("numpy int", "numpy uint", "numpy bool", "pandas sparse integers")
ENDS = [(0, 7), (EXACT - 3, EXACT + 4), (2**62, 2**62 + 8)]
WAYS = [("refuse", False), ("refuse", True), ("clip", False), ("clip", True), ("accept", True)]


class Keys:
    """Keys, which counts by key and learned lists are made of, in the place of codes."""

    def encode(self, cells):
        return object_array([(type(key), key) for key in read_keys(cells.tolist())])


DOMAINS = [
    *(IntegerRange(*ends, way, missing=gaps) for ends in ENDS for way, gaps in WAYS),
    *(Grid(*ends, 8, way, missing=gaps) for ends in ENDS[:2] for way, gaps in WAYS),
    *(Floats(missing=gaps, outside=way) for way, gaps in WAYS if way != "clip"),
    Floats(significand_bits=3, missing=True),
    Categories([0, 1, 2.5, "a", "1", None, b"a", EXACT + 1], other=True),
    Categories([0.1, 1.5, float(np.float32(0.1)), EXACT, "2.0"], other=True),
    Categories(sorted({*SMALL, *WIDE})),
    Hashed(1 << 20),
    Bits(),
    Bits(float(EXACT)),
    Bits(None),
    LargeIntegerRange(-(2**70), 2**70),
    *(
        Dates("1969-12-31", "2024-12-31", step, way, missing=gaps)
        for step in ("D", "15m")
        for way, gaps in WAYS
    ),
    Keys(),
]


def codes(domain, column):
    """Return the code of each cell, or None if the domain refuses one."""
    try:
        return mapped(domain.encode, column).tolist()
    except DomainError:
        return None


@pytest.fixture(scope="module")
def accepted():
    """The odd cells that each domain accepts."""
    return [[odd for odd in ODD if codes(domain, object_array([odd]))] for domain in DOMAINS]


@pytest.mark.parametrize("column", COLUMNS)
def test_a_cell_has_one_code(column, accepted):
    make, cells = COLUMNS[column]
    alone = [column_of(make, [cell]) for cell in cells]
    coded = 0
    for domain, odd in zip(DOMAINS, accepted, strict=True):
        found = [codes(domain, cell) for cell in alone]
        kept = [cell for cell, code in zip(cells, found, strict=True) if code]
        expected = [code[0] for code in found if code]
        if not kept:
            continue
        coded += 1
        typed = column_of(make, kept)
        objects = typed.tolist()
        rereadings = [typed, object_array(objects), object_array([*objects, *odd])]
        rereadings += [read_column(make(kept), 0), as_factor(typed.astype(object))]
        if None in odd:
            rereadings.append(object_array([*objects, None]))
        if None in odd and not column.startswith(WITHOUT_GAPS):
            rereadings += [column_of(make, [*kept, None]), read_column(make([*kept, None]), 0)]
        for reread in rereadings:
            assert codes(domain, reread)[: len(kept)] == expected
    assert coded >= 5
