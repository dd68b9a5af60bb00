r"""Fill a template of HTML or of plain text with values, which are escaped unless marked `verbatim`.

A field of a template holds the name of a value and the markup of one entry of this value. Empty lines divide
a template into parts. A part is omitted, with its heading, if all its fields are empty.

>>> values = {"title": "A <b>", "notes": ["one", "two"]}
>>> filled_html("<h1>{title}</h1>\n{notes:<p>%s</p>}\n\n<h2>Limits</h2>\n{limits:<p>%s</p>}", values)
'<h1>A &lt;b&gt;</h1>\n<p>one</p>\n<p>two</p>'
>>> print(filled_text("{title}\n{title:underline}\n{notes:- %s}\n\nLimits\n{limits:- %s}", values))
A <b>
=====
- one
- two
"""

import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from string import Formatter
from typing import Any, NamedTuple

_WIDTH = 100  # characters of a line of text


class Table(NamedTuple):
    """A table; the first cell of a row is the heading of the row."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def filled_html(template: str, values: Mapping[str, Any]) -> str:
    """Return a template of HTML with its fields filled.

    `{name}` is a str. `{name:markup}` is a sequence of str or of pairs of str, for each of which the markup
    has a `%s`. `{name:tables}` is a sequence of `Table`. `{name:verbatim}` is not escaped.
    """
    return _Html().filled(template, values)


def filled_text(template: str, values: Mapping[str, Any]) -> str:
    """Return a template of plain text with its fields filled, in lines of 100 characters.

    `{name:underline}` underlines a str. Entries of a list (a markup that begins with "- ") have no empty
    lines between them. Rows of tables are not wrapped.
    """
    return _Text().filled(template, values)


class _Template(Formatter):
    """The rules for parts and missing values; a subclass escapes the values and adds their markup."""

    def filled(self, template: str, values: Mapping[str, Any]) -> str:
        known = defaultdict(tuple, values)
        parts = template.rstrip("\n").split("\n\n")
        return "\n\n".join(self.vformat(part, (), known) for part in parts if self._is_shown(part, known))

    def _is_shown(self, part: str, values: Mapping[str, Any]) -> bool:
        names = [name for _, name, _, _ in self.parse(part) if name is not None]
        return not names or any(values[name] for name in names)


class _Html(_Template):
    def format_field(self, value: Any, format_spec: str) -> str:
        if not format_spec:
            return _escaped(value)
        if format_spec == "verbatim":
            return str(value)
        if format_spec == "tables":
            return "\n".join(_html_table(table) for table in value)
        return "\n".join(format_spec % tuple(map(_escaped, _texts(entry))) for entry in value)


class _Text(_Template):
    def format_field(self, value: Any, format_spec: str) -> str:
        if not format_spec:
            return _one_line(value)
        if format_spec == "underline":
            return "=" * len(_one_line(value))
        if format_spec == "tables":
            return "\n\n".join(_text_table(table) for table in value)
        entries = (format_spec % tuple(map(_one_line, _texts(entry))) for entry in value)
        if format_spec.startswith("- "):
            return "\n".join(textwrap.fill(entry, _WIDTH, subsequent_indent="  ") for entry in entries)
        return "\n\n".join(textwrap.fill(entry, _WIDTH) for entry in entries)


def _texts(entry: str | tuple[str, str]) -> tuple[str, ...]:
    return (entry,) if isinstance(entry, str) else entry


def _html_table(table: Table) -> str:
    caption = _escaped(table.caption)
    kind = ' class="pairs"' if len(table.head) == 2 else ""
    head = "".join(f'<th scope="col">{_escaped(cell)}</th>' for cell in table.head)
    body = ""
    for first, *rest in table.rows:
        cells = "".join(f"<td>{_escaped(cell)}</td>" for cell in rest)
        body += f'<tr><th scope="row">{_escaped(first)}</th>{cells}</tr>\n'
    # A <caption> would be as wide as the table and would scroll out of sight with it.
    return (
        f'<figure><figcaption>{caption}</figcaption><div class="wide" role="region" tabindex="0"'
        f' aria-label="{caption}"><table{kind} aria-label="{caption}">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div></figure>"
    )


def _text_table(table: Table) -> str:
    rows = [[_one_line(cell) for cell in row] for row in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    caption = textwrap.fill(_one_line(table.caption), _WIDTH)
    return "\n".join([caption, *(f"  {line}" for line in lines)])


def _one_line(text: str) -> str:
    """Return one line without invisible characters, so that no value looks like another part of the card."""
    line = " ".join(text.split())
    return line if line.isprintable() else repr(line)


def _escaped(text: str) -> str:
    """Return one line that a browser shows as text and never reads as markup."""
    return escape(_one_line(text))
