"""Which public names each page of the reference documents.

A page of docs/api names its packages in comments. A name is documented once, by the first package of
`documented` that exports it; the other pages point there.
"""

import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

PAGES = Path(__file__).parent / "api"
MARK = re.compile(r"^<!-- reference: ([\w.]+) -->$", re.MULTILINE)
LAST = ("dplearn", "dplearn.learners")  # both export what others do


def documented() -> tuple[str, ...]:
    """Return the packages that pages ask for, those that only pass names on last."""
    named = [name for page in sorted(PAGES.glob("*.md")) for name in MARK.findall(page.read_text())]
    return tuple(sorted(set(named) - set(LAST))) + tuple(name for name in LAST if name in named)


@cache
def homes() -> dict[str, dict[str, str]]:
    """Return, for each package, where each of its public names is documented: package by name."""
    seen: dict[int, str] = {}
    table: dict[str, dict[str, str]] = {}
    for package in documented():
        module = importlib.import_module(package)
        names = [name for name in module.__all__ if not name.startswith("__")]
        table[package] = {name: seen.setdefault(id(getattr(module, name)), package) for name in names}
    return table


def as_rst(package: str) -> str:
    """Return the reference of a package: a table of its names, then each of them."""
    module = importlib.import_module(package)
    where = homes()[package]
    here = [name for name, home in where.items() if home == package]
    lines = [f".. currentmodule:: {package}", "", ".. autosummary::", "   :nosignatures:", ""]
    lines += [f"   {name}" for name in here] + [""]
    for name, home in where.items():
        if home != package:
            lines += [f"* `{name} <{home}.{name}>`: see `{home}.{name}`"]
    return "\n".join([*lines, "", *(_entry(module, name) for name in here)])


def _entry(module: ModuleType, name: str) -> str:
    """Return the directive that documents one name."""
    thing = getattr(module, name)
    if not inspect.isclass(thing):
        kind = "autofunction" if inspect.isroutine(thing) else "autodata"
        return f".. {kind}:: {module.__name__}.{name}\n"
    kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
    lines = [f".. {kind}:: {module.__name__}.{name}"]
    members = _members(thing)
    if members:
        lines += [f"   :members: {', '.join(members)}"]
    return "\n".join([*lines, ""])


def _members(cls: type) -> list[str]:
    """Return the public methods and properties that dplearn wrote for a class and documented."""

    def is_ours(name: str) -> bool:
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        return owner.__module__.startswith("dplearn.")

    def is_shown(value: Any) -> bool:
        return (callable(value) or isinstance(value, property)) and bool(inspect.getdoc(value))

    public = (name for name in dir(cls) if not name.startswith("_"))
    return [name for name in public if is_ours(name) and is_shown(inspect.getattr_static(cls, name))]
