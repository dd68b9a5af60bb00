"""Results that `print`, and a notebook, show as a table."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from dplearn._writing import cut
from dplearn.privacy.base import Guarantee, in_words

__all__ = ["ResultTable", "cell_text"]

_MOST = 20  # rows that are shown
_NEIGHBORS = {"replace_one": "replaced", "add_remove": "added or removed"}
_UNITS = {"examples": "one record", "labels": "one label", "groups": "all records of one group"}


class ResultTable(ABC):
    """Base of results that `print`, and a notebook, show as a table of released and public values."""

    guarantee: Any

    @abstractmethod
    def _shown(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the names of the columns, and the rows; only released and public values."""

    def _caption(self) -> str:
        kept: Guarantee = self.guarantee
        who = f"{_UNITS[kept.protects]} {_NEIGHBORS[kept.neighbors]}"
        return f"{type(self).__name__}: {in_words(kept)}, {who}"

    def _table(self) -> tuple[list[str], list[list[str]], int]:
        """Return the names of the columns, the texts of the first rows, and the number of the others."""
        names, found = self._shown()
        rows = [[cell_text(value) for value in row] for row in found]
        return list(names), rows[:_MOST], max(0, len(rows) - _MOST)

    def __str__(self) -> str:
        names, rows, more = self._table()
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
            for row in [names, *rows]
        ]
        lines += [f"... and {more:,} more"] if more else []
        return "\n".join([self._caption(), *(f"  {line}".rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        names, rows, more = self._table()
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
        rest = f"<p>... and {more:,} more</p>" if more else ""
        return f"<p>{escape(self._caption())}</p><table><tr>{head}</tr>{body}</table>{rest}"


def cell_text(value: Any) -> str:
    """Return the text of a cell, with six digits of a float, and control characters as escapes."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, float) for end in value):
        return f"{value[0]:.6g} to {value[1]:.6g}"
    return cut("".join(each if each.isprintable() else repr(each)[1:-1] for each in str(value)), 60)
