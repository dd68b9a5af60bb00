"""How values are written: in short where people read them, in full where a text stands for the value.

>>> brief(list(range(1000)))
'[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, ... 1,000 in all]'
>>> brief([1, 2])
'[1, 2]'
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["LONGEST", "Written", "brief", "cut", "fitting", "in_full", "listed", "shortened"]

LONGEST = 100  # characters of a domain or a collection in a repr, a message or a card
_OBJECT = 200  # characters of an estimator, a text, or any other object
_FIRST = _ENTRY = 60  # characters of the entries that are shown of a long collection, and of each of them
_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}"}
_wanted_in_full: ContextVar[bool] = ContextVar("wanted_in_full", default=False)


class Written:
    """An object whose repr is a given text.

    Parameters
    ----------
    text : str
        The repr.
    """

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


@contextmanager
def in_full() -> Iterator[None]:
    """Let nothing be shortened by this module: texts from which a seed's stream is derived must differ."""
    token = _wanted_in_full.set(True)
    try:
        yield
    finally:
        _wanted_in_full.reset(token)


def fitting(full: str, short: str) -> str:
    """Return `full` if it has at most `LONGEST` characters or is asked for; else `short`."""
    return full if len(full) <= LONGEST or _wanted_in_full.get() else short


def listed(entries: Sequence[str], brackets: str) -> str:
    """Return entries in brackets; where that is long, the first of them and how many there are.

    Parameters
    ----------
    entries : sequence of str
        How each entry is written.
    brackets : str
        The opening and the closing one.
    """
    whole = f"{brackets[0]}{', '.join(entries)}{brackets[1]}"
    if len(whole) <= LONGEST:
        return whole
    shown: list[str] = []
    while len(shown) < len(entries) and sum(map(len, shown)) + 2 * len(shown) <= _FIRST:
        shown.append(cut(entries[len(shown)], _ENTRY))
    rest = f", ... {len(entries):,} in all" if len(shown) < len(entries) else ""
    return f"{brackets[0]}{', '.join(shown)}{rest}{brackets[1]}"


def brief(value: Any) -> str:
    """Return the repr of `value`; of a long one the first entries, the shape, or the type.

    Parameters
    ----------
    value : object
        Public.

    Returns
    -------
    str
        About `LONGEST` characters at most; of an estimator or any other single object twice as many.
    """
    text = repr(value)
    if len(text) <= LONGEST or _wanted_in_full.get():
        return text
    if shape := getattr(value, "shape", ()):
        return f"{type(value).__name__} of shape {shape}"
    if isinstance(value, Mapping):
        return listed([f"{brief(key)}: {brief(each)}" for key, each in value.items()], "{}")
    if type(value) in _BRACKETS:
        return listed([brief(each) for each in value], _BRACKETS[type(value)])
    if hasattr(value, "get_params"):
        return text if len("".join(text.split())) <= _OBJECT else f"{type(value).__name__}(...)"
    return cut(text)


def shortened(value: Any) -> Any:
    """Return `value` if `brief` writes it out, else an object that is written as `brief` writes the value."""
    text = brief(value)
    return value if text == repr(value) else Written(text)


def cut(text: str, most: int = _OBJECT) -> str:
    """Return a text without its middle if it is longer than `most` characters."""
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"
