"""Which public names each page of the reference documents: once each, by the first package that has it."""

import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

#: The last two only pass names on that others export.
PACKAGES = (
    *("preprocessing", "model_selection", "releases", "domains", "privacy", "display", "audit", "mechanisms"),
    *("queries", "concepts", "chance", "estimator", "kernels.gf2", "theory"),
)


@cache
def homes() -> dict[str, dict[str, str]]:
    """Return, for each package, where each of its public names is documented: package by name."""
    seen: dict[int, str] = {}
    table: dict[str, dict[str, str]] = {}
    for package in (*(f"dplearn.{name}" for name in PACKAGES), "dplearn", "dplearn.learners"):
        module = importlib.import_module(package)
        names = [name for name in module.__all__ if not name.startswith("__")]
        table[package] = {name: seen.setdefault(id(getattr(module, name)), package) for name in names}
    return table


def pages() -> dict[str, dict[str, list[str]]]:
    """Return, for each package, the names that it documents, by kind."""

    def kind(thing: Any) -> str:
        return "classes" if inspect.isclass(thing) else "functions" if inspect.isroutine(thing) else "data"

    found: dict[str, dict[str, list[str]]] = {}
    for package, where in homes().items():
        module, kinds = importlib.import_module(package), {"classes": [], "functions": [], "data": []}
        for name, home in where.items():
            if home == package and not inspect.ismodule(getattr(module, name)):
                kinds[kind(getattr(module, name))].append(name)
        found[package] = kinds
    return found


def bases() -> list[str]:
    """Return the classes whose methods are not shown where they are inherited: public and others'."""
    found = set()
    for package, kinds in pages().items():
        for name in kinds["classes"]:
            cls = getattr(importlib.import_module(package), name)
            found |= {
                name,
                *(each.__name__ for each in cls.__mro__ if not each.__module__.startswith("dplearn")),
            }
    return sorted(found)


def guides() -> dict[str, str]:
    """Return the guide of each class: the page that names it most often, of learners a page of learners."""
    folder, found = Path(__file__).parent, {}
    learners = importlib.import_module("dplearn.learners").__all__
    for index in ("tasks", "getting_started", "choose_a_learner"):
        listed = (folder / f"{index}.md").read_text(encoding="utf-8").partition("{toctree}")[2]
        for page in re.findall(r"^(\w+)$", listed, re.MULTILINE):
            words = re.findall(r"\b[A-Z]\w+", (folder / f"{page}.md").read_text(encoding="utf-8"))
            for name in set(words):
                first = index == "choose_a_learner" and name in learners
                found.setdefault(name, []).append((first, words.count(name), page))
    return {name: max(pages)[-1] for name, pages in found.items()}
