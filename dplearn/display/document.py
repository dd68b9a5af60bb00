"""A short document, written once and shown as a page or as plain text; whatever is said in it is escaped.

>>> page = Document("A <b>", (Section("Part", (Items(("one", "two")),)),))
>>> "A &lt;b&gt;" in page.as_html(), "<b>" in page.as_html()
(True, False)
>>> print(page.as_text())
A <b>
=====
<BLANKLINE>
Part
----
- one
- two
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

__all__ = ["Alert", "Block", "Document", "Figure", "Items", "Paragraph", "Section", "Table"]

_WIDTH = 100


@dataclass(frozen=True)
class Paragraph:
    """A paragraph.

    Attributes
    ----------
    text : str
        What it says.
    """

    text: str

    def as_html(self) -> str:
        """Return it as HTML."""
        return f"<p>{_escaped(self.text)}</p>"

    def as_text(self) -> str:
        """Return it as text."""
        return textwrap.fill(_one_line(self.text), _WIDTH)


@dataclass(frozen=True)
class Alert:
    """A warning that nobody should read past.

    Attributes
    ----------
    head, text : str
        What it says, in short and at length.
    """

    head: str
    text: str

    def as_html(self) -> str:
        """Return it as HTML."""
        head = f"<p><strong>{_escaped(self.head)}</strong></p>"
        return f'<div class="alert" role="note">{head}<p>{_escaped(self.text)}</p></div>'

    def as_text(self) -> str:
        """Return it as text."""
        return textwrap.fill(f"!! {_one_line(self.head)} {_one_line(self.text)}", _WIDTH)


@dataclass(frozen=True)
class Figure:
    """A few numbers that everything else explains.

    Attributes
    ----------
    numbers : tuple of (str, str)
        What is counted, and its value.
    """

    numbers: tuple[tuple[str, str], ...]

    def as_html(self) -> str:
        """Return it as HTML."""
        parts = (
            f"<div><dt>{_escaped(name)}</dt><dd>{_escaped(value)}</dd></div>" for name, value in self.numbers
        )
        return f'<dl class="figures">{"".join(parts)}</dl>'

    def as_text(self) -> str:
        """Return it as text."""
        return "\n".join(f"{_one_line(name)}: {_one_line(value)}" for name, value in self.numbers)


@dataclass(frozen=True)
class Items:
    """A list.

    Attributes
    ----------
    entries : tuple of str or (str, str)
        What it lists; of a pair the first is a name.
    """

    entries: tuple[str | tuple[str, str], ...]

    def as_html(self) -> str:
        """Return it as HTML."""
        return f"<ul>{''.join(f'<li>{self._entry(each)}</li>' for each in self.entries)}</ul>"

    @staticmethod
    def _entry(entry: str | tuple[str, str]) -> str:
        if isinstance(entry, str):
            return _escaped(entry)
        return f"<strong>{_escaped(entry[0])}.</strong> {_escaped(entry[1])}"

    def as_text(self) -> str:
        """Return it as text."""
        lines = (each if isinstance(each, str) else f"{each[0]}. {each[1]}" for each in self.entries)
        return "\n".join(
            textwrap.fill(_one_line(line), _WIDTH, initial_indent="- ", subsequent_indent="  ")
            for line in lines
        )


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows.

    Attributes
    ----------
    caption : str
        What it shows.
    head : tuple of str
        The columns' names.
    rows : tuple of tuple of str
        As many cells each.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_html(self) -> str:
        """Return it as HTML."""
        head = "".join(f'<th scope="col">{_escaped(cell)}</th>' for cell in self.head)
        body = "".join(
            f'<tr><th scope="row">{_escaped(first)}</th>{_cells(rest)}</tr>' for first, *rest in self.rows
        )
        caption = _escaped(self.caption)
        kind = ' class="pairs"' if len(self.head) == 2 else ""
        # A caption of the table's own would be as wide as the table, and scroll out of sight with it.
        return (
            f'<figure><figcaption>{caption}</figcaption><div class="wide" role="region" tabindex="0"'
            f' aria-label="{caption}"><table{kind} aria-label="{caption}"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div></figure>"
        )

    def as_text(self) -> str:
        """Return it as text."""
        rows = [[_one_line(cell) for cell in row] for row in (self.head, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (
            "  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in rows
        )
        return "\n".join([textwrap.fill(_one_line(self.caption), _WIDTH), *(f"  {line}" for line in lines)])


Block = Paragraph | Alert | Figure | Items | Table


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it.

    Attributes
    ----------
    title : str
        The heading.
    blocks : tuple of Block
        What stands under it.
    """

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """A title, and sections.

    Attributes
    ----------
    title : str
        Of all.
    sections : tuple of Section
        In order; of one without a title no heading is shown.
    """

    title: str
    sections: Sequence[Section]

    def as_fragment(self) -> str:
        """Return what a notebook shows: an article that brings its style along."""
        body = "".join(_section_html(section) for section in self.sections)
        return (
            f'<article class="dplearn-card" lang="en"><style>{_style()}</style>'
            f"<h1>{_escaped(self.title)}</h1>{body}</article>"
        )

    def as_html(self) -> str:
        """Return a page that needs nothing but itself."""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{_escaped(self.title)}</title>\n</head>\n"
            f'<body class="dplearn-page">\n<main>{self.as_fragment()}</main>\n</body>\n</html>\n'
        )

    def as_text(self) -> str:
        """Return it as plain text."""
        title = _one_line(self.title)
        parts = [f"{title}\n{'=' * len(title)}"]
        for section in self.sections:
            blocks = "\n\n".join(block.as_text() for block in section.blocks)
            heading = _one_line(section.title)
            head = f"{heading}\n{'-' * len(heading)}\n" if heading else ""
            parts.append(head + blocks)
        return "\n\n".join(parts)


def _section_html(section: Section) -> str:
    blocks = "".join(block.as_html() for block in section.blocks)
    head = f"<h2>{_escaped(section.title)}</h2>" if section.title else ""
    return f"<section>{head}{blocks}</section>"


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{_escaped(cell)}</td>" for cell in row)


def _style() -> str:
    return resources.files("dplearn.display").joinpath("card.css").read_text(encoding="utf-8")


def _one_line(text: str) -> str:
    """Return a text that cannot pass for lines of its own, and in which nothing is invisible."""
    line = " ".join(text.split())
    return line if line.isprintable() else repr(line)


def _escaped(text: str) -> str:
    """Return a text that no browser takes for anything else: control characters are shown, not obeyed."""
    return escape(_one_line(text))
