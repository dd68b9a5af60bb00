"""Tables of the pages: CSV files in docs/tables, which the scripts of this folder write."""

import csv
import io
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER, MEASURED = ROOT / "docs" / "tables", ROOT / "docs" / "gallery" / "measured"

Table = list[list[str]]


def text_of(table: Table) -> str:
    """Return a table as it is in its file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def write(tables: Iterable[Callable[[], Table]]) -> None:
    """Write all tables of a script, each named after the function that returns it."""
    for made in tables:
        (FOLDER / f"{made.__name__}.csv").write_text(text_of(made()), encoding="utf-8")
