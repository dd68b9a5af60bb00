"""The record of a comparison: one JSON file, written after each answer, with which a run goes on.

A cell says what was asked (part, peer, learner, table, epsilon, repetition, check) and what came out. It is
asked once: errors and fits that took too long are answers too. `forget` removes what should be asked again.
"""

import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["ASKED", "Record"]

Cell = dict[str, Any]
#: The entries that say what was asked; all others are what came out.
ASKED = ("part", "peer", "learner", "table", "epsilon", "repetition", "check")


class Record:
    """The cells of a JSON file, and what is said about them."""

    def __init__(self, path: Path):
        self.path = path
        self.about: dict[str, Any] = {}
        self.cells: list[Cell] = []
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            self.cells = found.pop("cells")
            self.about = found
        self._known = {key_of(cell) for cell in self.cells}
        self._turn = threading.Lock()

    def missing(self, asked: Iterable[Cell]) -> list[Cell]:
        """Return those of `asked` that have no answer yet."""
        return [cell for cell in asked if key_of(cell) not in self._known]

    def add(self, cell: Cell, found: dict[str, Any]) -> None:
        """Add an answer, and write the file; threads take turns."""
        with self._turn:
            self.cells.append(cell | rounded(found))
            self._known.add(key_of(cell))
            self.write()

    def forget(self, which: Any) -> None:
        """Remove the cells for which `which(cell)` is true."""
        self.cells = [cell for cell in self.cells if not which(cell)]
        self._known = {key_of(cell) for cell in self.cells}

    def write(self) -> None:
        """Write the file, a cell a line, in an order that does not depend on that of the answers."""
        lines = [json.dumps(cell) for cell in sorted(self.cells, key=lambda cell: str(key_of(cell)))]
        head = json.dumps(self.about, indent=1)[1:-2]
        text = "{" + (head + "," if self.about else "") + '\n "cells": [\n' + ",\n".join(lines) + "\n]}\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".part")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, self.path)  # a run that is stopped here leaves a whole file


def key_of(cell: Cell) -> tuple[Any, ...]:
    """Return what was asked."""
    return tuple(cell.get(name) for name in ASKED)


def rounded(found: dict[str, Any]) -> dict[str, Any]:
    """Return numbers with five significant digits."""
    return {name: float(f"{each:.5g}") if isinstance(each, float) else each for name, each in found.items()}
