"""No module imports what scikit-learn keeps to itself and may change in any release."""

import ast
from pathlib import Path

import pytest

import dplearn

PACKAGE = Path(dplearn.__file__).parent


def imported(source):
    """Yield every name that a module imports, in full."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def private(names):
    return [name for name in names if name.startswith("sklearn.") and "._" in name]


def test_no_module_imports_private_names_of_scikit_learn():
    modules = list(PACKAGE.rglob("*.py"))
    assert len(modules) > 100
    found = {str(module): private(imported(module.read_text())) for module in modules}
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import sklearn._config",
        "from sklearn.utils._tags import Tags",
        "from sklearn.base import _fit_context",
    ],
)
def test_the_search_finds_private_imports(line):
    assert private(imported(f"def f():\n    {line}\n"))
