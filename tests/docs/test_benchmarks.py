"""The names that the programs in `benchmarks` import exist; to run the programs would take too long."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAMS = sorted([*BENCHMARKS.glob("*.py"), *BENCHMARKS.glob("all/**/*.py")])


def missing(source):
    """Return the names that a program imports from the package and that do not exist."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dplearn"
        for alias in node.names
        if not exists(node.module, alias.name)
    ]


def exists(module, name):
    try:
        return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_imported_name_exists(program):
    assert missing(program.read_text(encoding="utf-8")) == []


def test_a_renamed_name_is_found():
    source = (
        "from dplearn import ParityClassifier\nfrom dplearn.theory import bars\nfrom dplearn.walsh import a"
    )
    assert missing(source) == ["dplearn.theory.bars", "dplearn.walsh.a"]
