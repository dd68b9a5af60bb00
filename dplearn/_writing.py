"""Texts of values: shortened for reprs, messages and cards, in full where a seed is derived from the text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from difflib import get_close_matches
from itertools import islice
from typing import Any

LONGEST = 100  # characters of a domain or a collection in a repr, a message or a card
_COLUMNS = 20  # names of columns in a message
_FIELD = 300  # characters of a value in the repr of a result or a plan
_OBJECT = 200  # characters of an estimator, a string, or any other object
_FIRST = _ENTRY = 60  # of a long collection: characters of all entries that are shown, and of a single entry
_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}"}
_wanted_in_full: ContextVar[bool] = ContextVar("wanted_in_full", default=False)


class Brief:
    """Base of dataclasses whose reprs shorten long values."""

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # a dataclass keeps its own

    def __repr__(self) -> str:
        shown: Any = self  # a dataclass
        told = {each.name: getattr(self, each.name) for each in fields(shown) if each.repr}
        return called(type(self).__name__, told)


def called(name: str, values: Mapping[str, Any]) -> str:
    """Return the repr of a result or a plan, with long values shortened."""
    texts = ((key, repr(value), value) for key, value in values.items())
    told = (f"{key}={text if len(text) <= _FIELD else brief(value)}" for key, text, value in texts)
    return f"{name}({', '.join(told)})"


class Written:
    """An object whose repr is a given text."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


@contextmanager
def in_full() -> Iterator[None]:
    """Disable shortening: texts from which streams are derived must differ where the values differ."""
    token = _wanted_in_full.set(True)
    try:
        yield
    finally:
        _wanted_in_full.reset(token)


def are_in_full() -> bool:
    """Return whether texts are not shortened."""
    return _wanted_in_full.get()


def fitting(full: str, short: str) -> str:
    """Return `full` if it has at most `LONGEST` characters or inside `in_full`; else `short`."""
    return full if len(full) <= LONGEST or are_in_full() else short


def listed(entries: Sequence[str], brackets: str, size: int | None = None) -> str:
    """Return the entries in brackets, `[]` for example; of many, the first ones and the number of all.

    `entries` may be the first `LONGEST` of `size`.
    """
    size = size or len(entries)
    whole = f"{brackets[0]}{', '.join(entries)}{brackets[1]}"
    if len(whole) <= LONGEST:
        return whole
    shown: list[str] = []
    while len(shown) < len(entries) and sum(map(len, shown)) + 2 * len(shown) <= _FIRST:
        shown.append(cut(entries[len(shown)], _ENTRY))
    rest = f", ... {size:,} in all" if len(shown) < size else ""
    return f"{brackets[0]}{', '.join(shown)}{rest}{brackets[1]}"


def first_of(names: Iterable[Any], most: int) -> str:
    """Return the reprs of the first names, and the number of all others."""
    shown = list(map(repr, names))
    rest = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + rest


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, whose columns begin one below the other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, whatever its case, or ""."""
    folded, name = {each.casefold(): each for each in known}, name.casefold()
    near = [each for each in folded if each.startswith(name)] or get_close_matches(name, folded, n=1)
    return f"; did you mean {folded[near[0]]!r}?" if near else ""


def near_column(name: Any, columns: Iterable[Any], whose: str = "the") -> str:
    """Return the end of a message about a name that no column has: the nearest one, or all of them."""
    names = list(columns)
    near = did_you_mean(str(name), filter(lambda each: isinstance(each, str), names))
    return near or f"; {whose} columns are {first_of(names, _COLUMNS)}"


def brief(value: Any) -> str:
    """Return the repr of a public value; if that is long, the first entries, the shape or the type."""
    text = repr(value)
    if len(text) <= LONGEST or are_in_full():
        return text
    if shape := getattr(value, "shape", ()):
        return f"{type(value).__name__} of shape {shape}"
    if isinstance(value, Mapping):
        return listed([f"{brief(key)}: {brief(each)}" for key, each in value.items()], "{}")
    if type(value) in _BRACKETS:
        first = [brief(each) for each in islice(value, LONGEST)]
        return listed(first, _BRACKETS[type(value)], len(value))
    if hasattr(value, "get_params"):
        return text if len("".join(text.split())) <= _OBJECT else f"{type(value).__name__}(...)"
    return cut(text)


def shortened(value: Any) -> Any:
    """Return `value` if `brief` does not shorten it, else an object whose repr is the shortened text."""
    text = brief(value)
    return value if text == repr(value) else Written(text)


def cut(text: str, most: int = _OBJECT) -> str:
    """Return a text; if it is longer than `most` characters, without its middle."""
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"
