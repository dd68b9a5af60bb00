"""Parameters that several public functions or classes share are described once, and added to the others."""

import re
from collections.abc import Callable
from inspect import cleandoc, isclass, signature
from typing import Any, TypeVar

_Thing = TypeVar("_Thing", bound=Callable[..., Any])
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)
_FIRST = ("Parameters", "Attributes", "Returns", "Raises")  # headings, in the order of numpydoc


def documented_by(*others: Any) -> Callable[[_Thing], _Thing]:
    """Return a decorator that adds to a docstring the entries of others that it leaves out.

    These are parameters of its own signature, in that order; from a class also attributes, for a class, and
    errors, for a function that is charged.
    """

    def completed(thing: _Thing) -> _Thing:
        if thing.__doc__ is None:  # python -OO
            return thing
        intro, own = _sections(thing)
        takes = signature(thing).parameters
        heading = "Attributes" if isclass(thing) else "Raises" if "ledger" in takes else None
        found = {name: _entries(own.get(name, "")) for name in ("Parameters", heading) if name}
        for other in others:
            told = _sections(other)[1]
            for name, entries in found.items():
                if name == "Parameters" or isclass(other):
                    found[name] = entries | (_entries(told.get(name, "")) | entries)
        found["Parameters"] = {name: found["Parameters"][name] for name in takes}
        own |= {name: _joined(entries) for name, entries in found.items()}
        ordered = {heading: own[heading] for heading in (*_FIRST, *own) if heading in own}
        texts = [f"{heading}\n{'-' * len(heading)}\n{text.strip()}" for heading, text in ordered.items()]
        thing.__doc__ = "\n\n".join([intro.strip(), *texts]) + "\n"
        return thing

    return completed


def _sections(thing: Any) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring before its first heading, and the text after each."""
    intro, *parts = _HEADING.split(cleandoc(thing.__doc__ or ""))
    return intro, dict(zip(parts[::2], parts[1::2], strict=True))


def _entries(text: str) -> dict[str, str]:
    """Return the entry of each name; one entry may be that of several names."""
    found = [each.strip() for each in _ENTRY.split(text) if each.strip()]
    return {name: each for each in found for name in each.partition(" : ")[0].split("\n")[0].split(", ")}


def _joined(entries: dict[str, str]) -> str:
    return "\n".join(dict.fromkeys(entries.values()))
