"""Strict reading of tables in CSV files, workbooks and Parquet, with messages that quote no record.

Messages contain the path, numbers of cells and, once declared or confirmed, the names of columns. A first
line that looks like a record is refused, unless an option declares it as a header or as a record, and no
message quotes a first line that the user has not declared as a header.
"""

import argparse
import codecs
import csv
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, cast

from dplearn._writing import first_of, near_column
from dplearn.commands.options import FLAG, LIST, Refusal, add_options
from dplearn.domains.cells import text_of

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_OTHERS = (".parquet", ".pq", ".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")  # files that pandas reads
_OF_CSV = {"separator": ",", "encoding": "utf-8", "decimal": "."}  # options of CSV files, with their defaults
#: How the numbers of a column may be written, and what is left out of these besides blanks and thousands.
FORMATS = {
    "currency": re.compile(
        r"(\()?([-+]?)[^\d.,()+-]{0,4}([-+]?)([\d.,]*)(?:(?<=\.)-)?[^\d.,()+-]{0,4}(?(1)\))"
    ),
    "percent": re.compile(r"()()(.*?)%?"),
    "thousands": re.compile(r"()()(.*)"),
}
_BLANKS = re.compile(r"[\s'\u2019]")
_MINUS = "\u2212"
_SPELLED = {"tab": "\t", "\\t": "\t"}
_LONGEST_NAME = 200
_SHOWN = 20  # names in a message

#: Words that are common as values, and rare as names of columns.
_VALUES = {"", "?", "-", ".", "na", "n/a", "nan", "nil", "none", "null", "true", "false", "yes", "no"}
#: The beginning of numbers, amounts, shares, dates and times; names rarely begin with a digit.
_NUMBER = re.compile(r"[-+(<>~=]*\s*[$€£¥]?\s*[-+]?[.,]?\d")
_UNBOUNDED = {"inf", "infinity"}


@dataclass(frozen=True)
class CsvFormat:
    """The public format of a file."""

    separator: str = ","
    header: bool | None = None  # None: the first line is one, unless it looks like a record
    columns: tuple[str, ...] | None = None  # of a file without a header
    encoding: str = "utf-8-sig"
    decimal: str = "."


@dataclass(frozen=True)
class Table:
    """A table of texts."""

    names: list[str]
    columns: list[list[str]]  # private; the cells of each column, stripped of whitespace
    quotable: bool  # messages may quote the names: the user declared them, or the first line as a header
    decimal: str = "."
    types: tuple[str, ...] = ()  # of the columns in the file; (): texts
    formats: Mapping[str, str] = field(default_factory=dict)  # of the numbers of columns, of `FORMATS`

    def column(self, name: str) -> list[str]:
        """Return the cells of the column with this name."""
        return self.columns[self.names.index(name)]

    def number(self, name: str, text: str) -> Any:
        """Return a cell of a column as a number, read by its format; the text if it is none."""
        plain, how = text, self.formats.get(name, "")
        if how:
            thousands = "," if self.decimal == "." else "."
            written = _BLANKS.sub("", text).replace(thousands, "").replace(_MINUS, "-")
            parts = FORMATS[how].fullmatch(written)
            plain = "".join(parts.groups("")).replace("(", "-") if parts else ""  # (5) is -5
        if self.decimal != ".":
            plain = plain.replace(".", "_").replace(self.decimal, ".")
        if "_" in plain:
            return text
        for kind in (int, float):
            try:
                return kind(plain) / 100 if how == "percent" else kind(plain)
            except (ValueError, OverflowError):
                continue
        return text

    def require(self, option: str, name: str) -> None:
        """Refuse the name of a column that there is not."""
        if name not in self.names:
            raise Refusal(f"{option} must be a column of the table, got {name!r}{self.missing(name)}")

    def missing(self, name: str) -> str:
        """Return the end of a message about a missing column: similar or existing names, if quotable."""
        alike = [each for each in self.names if each.casefold() == name.casefold()]
        if not self.quotable and not alike:  # with the letters that the user knows, nothing else is shown
            return (
                "; the first line of the table has no such cell, and is not quoted, since it may be a record:"
                " if it is a header, --header shows the closest name; if there is none, --no-header or"
                " --columns A,B,... is needed"
            )
        return near_column(name, self.names, "its")


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the options for the format of a table: CSV, or a workbook or Parquet file by its name."""
    between = "the character between the cells of a CSV file: , (default) ; | or tab"
    add_options(
        parser,
        ("--separator", "S", between),
        ("--encoding", "NAME", "of a CSV file, such as latin-1 (default utf-8)"),
        ("--decimal", "MARK", "of a CSV file: . (default) or ,", {"choices": [*".,"]}),
    )
    parser.set_defaults(**_OF_CSV)
    names = "the first line names the columns, even if it looks like a record; the names are public"
    record = "the first line is a record; the columns are named x0, x1, ..."
    add_options(
        parser.add_mutually_exclusive_group(),
        ("--header", None, names, {**FLAG, "default": None}),
        ("--no-header", None, record, {"action": "store_false", "dest": "header"}),
        ("--columns", LIST, "the first line is a record, and these are the columns' names"),
    )


def format_of(options: argparse.Namespace) -> CsvFormat:
    files = [path for path in (options.table, getattr(options, "test", None)) if path is not None]
    for name, default in _OF_CSV.items():
        if getattr(options, name) != default and all(path.suffix.lower() in _OTHERS for path in files):
            raise Refusal(f"--{name} is for CSV files, and {options.table} is none: leave it out")
    separator = _SPELLED.get(options.separator.lower(), options.separator)
    if separator not in _SEPARATORS:
        raise Refusal(f"--separator must be one of , ; | and tab, got {options.separator!r}")
    try:
        encoding = codecs.lookup(options.encoding).name
    except LookupError:
        raise Refusal(f"--encoding must be the name of an encoding, got {options.encoding!r}") from None
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    columns = None if options.columns is None else tuple(listed(options.columns))
    if columns is not None and (len(set(columns)) < len(columns) or "" in columns):
        raise Refusal(f"--columns must be distinct names, and none empty, got {options.columns!r}")
    header = options.header if columns is None else False
    return CsvFormat(separator, header, columns, encoding, options.decimal)


def listed(text: str) -> list[str]:
    """Return the parts of a comma-separated list; a part with a comma is quoted."""
    try:
        return [part.strip() for part in next(csv.reader([text], strict=True, skipinitialspace=True), [""])]
    except csv.Error:
        raise Refusal(f"a list must be written like A,B,... with each quote closed, got {text!r}") from None


def looks_like_a_record(cells: list[str]) -> bool:
    """Return True if a first line is taken for a record; depends on that line alone."""
    return len(set(cells)) < len(cells) or any(map(_looks_like_a_value, cells))


def _looks_like_a_value(cell: str) -> bool:
    lowered = cell.lower()
    return (
        lowered in _VALUES
        or lowered.lstrip("+-") in _UNBOUNDED
        or _NUMBER.match(cell) is not None
        or not cell.isprintable()
        or len(cell) > _LONGEST_NAME
    )


def read_table(path: Path, form: CsvFormat) -> Table:
    """Return the names and cells of a CSV file, compressed by gzip or not, of a workbook or of Parquet."""
    if path.suffix.lower() in _OTHERS:
        return _read_other(path, form)
    csv.field_size_limit(sys.maxsize)  # no error depends on the length of a cell
    try:
        with path.open("rb") as raw:
            rows = csv.reader(_lines(raw, path, form.encoding), delimiter=form.separator, strict=True)
            return replace(_read(rows, path, form), decimal=form.decimal)
    except UnicodeError:
        name = form.encoding.removesuffix("-sig").upper()
        raise Refusal(
            f"{path}: must be encoded in {name}, got another encoding: --encoding names it"
        ) from None
    except csv.Error:
        raise Refusal(
            f"{path}: not a CSV file: a cell that begins with a quote must end with one, before a separator"
            " or the end of the line; a quote within it is doubled"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise Refusal(f"{path}: damaged, or cut off: it cannot be decompressed") from None


def _read_other(path: Path, form: CsvFormat) -> Table:
    """Return a workbook's first sheet, or a Parquet file, which has names and types, as texts."""
    sheet, types = path.suffix.lower() not in (".parquet", ".pq"), tuple[str, ...]()
    if form.header is False and not sheet:
        raise Refusal(f"{path}: has names of columns: --no-header and --columns go with other files")
    try:
        pandas = import_module("pandas")
        if sheet:
            frame = pandas.read_excel(path, header=None, dtype=object)
        else:
            frame = pandas.read_parquet(path, dtype_backend="pyarrow")
            types = tuple(str(each).removesuffix("[pyarrow]") for each in frame.dtypes)
    except ImportError:
        raise Refusal(
            f"{path}: pandas, and its engine for {path.suffix}, must be installed to read it"
        ) from None
    except OSError:
        raise
    except Exception:
        raise Refusal(f"{path}: damaged, or no {path.suffix} file") from None
    names = [] if sheet else [list(map(str, frame.columns))]
    columns = [map(text_of, frame.iloc[:, place].tolist()) for place in range(frame.shape[1])]
    rows = chain(names, map(list, zip(*columns, strict=True)))
    return replace(_read(rows, path, form if sheet else CsvFormat(header=True)), types=types)


def _lines(raw: Any, path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a text file, decompressed if it is a gzip file."""
    if raw.peek(2)[:2] == b"\x1f\x8b":
        raw = io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=raw)))
    head = raw.peek(4)[:4]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding == "utf-8-sig":
        raise Refusal(f"{path}: must be encoded in UTF-8, got UTF-16: --encoding utf-16 reads it")
    if head in (b"PK\x03\x04", b"PAR1", b"\xd0\xcf\x11\xe0"):
        raise Refusal(
            f"{path}: must be a CSV file, and is a workbook, an archive or Parquet: names of workbooks and"
            " Parquet files end in .xlsx, .xls, .ods or .parquet"
        )
    with io.TextIOWrapper(raw, encoding=encoding, newline="") as text:
        for line in text:
            if "\0" in line:
                raise Refusal(f"{path}: must be a text, and holds a NUL character")
            yield line


def _read(rows: Iterator[list[str]], path: Path, form: CsvFormat) -> Table:
    first = next((row for row in rows if row), None)
    if first is None:
        raise Refusal(f"{path}: empty")
    cells = [cell.strip() for cell in first]
    names = _names(cells, path, form)
    if form.header is False:
        rows = chain([first], rows)
    columns = _columns(rows, len(names), path)
    if not columns[0]:
        raise Refusal(f"{path}: needs a header line and at least one row")
    return Table(names, columns, quotable=form.header is not None)


def _names(first: list[str], path: Path, form: CsvFormat) -> list[str]:
    """Return the names of the columns; the first line determines at least their number."""
    others = [name for each, name in _SEPARATORS.items() if each != form.separator and each in first[0]]
    if len(first) == 1 and others:
        raise Refusal(
            f"{path}: columns must be separated by {_SEPARATORS[form.separator]}, got a first line with"
            f" {others[0]}: --separator names another"
        )
    if form.columns is not None:
        return _declared(form.columns, first, path)
    if form.header is False:
        return [f"x{place}" for place in range(len(first))]
    if form.header is None and looks_like_a_record(first):
        raise Refusal(
            f"{path}: the first line looks like a record (for example, a cell is empty, repeated, begins with"
            " a number, or is a value such as yes or no). Column names are published, records are not. Use"
            " --no-header or --columns A,B,... if the file has no header, --header if this line is the header"
            ", in which names must be distinct and not empty"
        )
    if len(set(first)) < len(first) or "" in first:
        raise Refusal(f"{path}: column names must be distinct and not empty{_at_fault(first)}: rename them")
    return first


def _at_fault(names: list[str]) -> str:
    """Return the end of a message about invalid names in a header, which the user has declared as public."""
    twice = sorted(name for name in set(names) if name and names.count(name) > 1)
    faults = [f"{first_of(twice, _SHOWN)} more than once"] if twice else []
    faults += ["an empty one"] if "" in names else []
    return f", got {' and '.join(faults)}"


def _declared(columns: tuple[str, ...], first: list[str], path: Path) -> list[str]:
    if len(first) != len(columns):
        raise Refusal(
            f"{path}: --columns must name every column, of which there are {len(first)}, got {len(columns)}"
        )
    if tuple(first) == columns:
        raise Refusal(
            f"{path}: the first line must not be a header with --columns, got the names of --columns: leave"
            " --columns out"
        )
    return list(columns)


def _columns(rows: Iterable[list[str]], d: int, path: Path) -> list[list[str]]:
    """Return the cells of each of d columns; texts that repeat share one object."""
    columns: list[list[str]] = [[] for _ in range(d)]
    stripped = lru_cache(maxsize=1 << 16)(str.strip)
    for row in rows:
        if not row and d > 1:
            continue  # In a table of one column an empty line is an empty cell; otherwise it is not a record.
        if len(row) != d and (row or d > 1):
            raise Refusal(f"{path}: every row must have as many cells as the first line, {d}")
        for column, text in zip(columns, row or [""], strict=True):
            column.append(stripped(text))
    return columns
