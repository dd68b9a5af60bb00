"""Every example in a docstring runs, and so do the README's."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import dplearn

ROOT = Path(__file__).parents[1]
#: Modules whose text has an example: to look for one in each docstring of all others takes long.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(dplearn.__path__, "dplearn.")
    if not module.name.endswith("__main__")
    if ">>>" in Path(module.module_finder.find_spec(module.name).origin).read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_enough_modules_have_examples_for_the_test_above_to_mean_something():
    finder = doctest.DocTestFinder()
    examples = sum(
        len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name))
    )
    assert examples > 30


def test_the_readmes_example_runs():
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    scope: dict = {}
    exec(compile(code, "README.md", "exec"), scope)
    assert scope["model"].guarantee_.epsilon == 1
