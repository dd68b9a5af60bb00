"""A ledger as people read it: a table in text, and one in HTML with all text escaped."""

from decimal import ROUND_FLOOR
from html import escape

from dplearn.privacy.accounts import Entry
from dplearn.privacy.guarantees import Guarantee
from dplearn.privacy.terms import Terms, decimals

__all__ = ["as_html", "as_text"]

_HEADINGS = ("", "time (UTC)", "release")


def as_text(terms: Terms, entries: list[Entry]) -> str:
    """Return the table as text."""
    rows = _rows(terms, entries)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"A privacy ledger of {terms.describe()}"]
    lines += [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join(lines)


def as_html(terms: Terms, entries: list[Entry]) -> str:
    """Return the table as HTML."""
    head, *rows = _rows(terms, entries)
    caption = escape(f"A privacy ledger of {terms.describe()}")
    lines = [_html_row("th", head), *(_html_row("td", row) for row in rows)]
    return f"<table><caption>{caption}</caption>{''.join(lines)}</table>"


def _html_row(tag: str, cells: list[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _rows(terms: Terms, entries: list[Entry]) -> list[list[str]]:
    """Return headings, a row for each release, and what is spent and left."""
    spent = entries[-1].spent if entries else terms.nothing
    rows = [[*_HEADINGS, *decimals(terms.budget)]]
    for entry in entries:
        record = entry.record
        time = f"{record.time:%Y-%m-%d %H:%M:%S}"
        rows.append([str(record.number), time, _one_line(record.estimator), *_numbers(record.cost)])
    rows.append(["", "", "spent", *_numbers(spent)])
    rows.append(["", "", "remaining", *decimals(terms.left(spent), ROUND_FLOOR).values()])
    return rows


def _numbers(guarantee: Guarantee) -> list[str]:
    return list(decimals(guarantee).values())


def _one_line(text: str) -> str:
    """Return a name that cannot pass for a row of its own."""
    return text if text.isprintable() else repr(text)
