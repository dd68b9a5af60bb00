"""Every example in a docstring runs, and so do the README's."""

import doctest
import importlib
import pkgutil
import re
import sys
import tomllib
from importlib.abc import MetaPathFinder
from itertools import chain
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


#: Modules whose examples fit ensembles or synthetic tables, or draw figures: they run at night.
SLOW = re.compile(
    r"\.(votes\.(online|transfer|aggregators|student)|synthetic_data|display\.curves|additive\.estimators|littlestone)$"
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.nightly if SLOW.search(name) else ()) for name in MODULES],
)
def test_examples_in_docstrings_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0
    assert results.attempted > 0


def test_enough_modules_have_examples_for_the_test_above_to_mean_something():
    assert len(MODULES) > 100


class Absent(MetaPathFinder):
    """Nothing of some packages can be imported."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, fullname, path, target=None):
        if fullname.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {fullname!r}")


def test_the_readmes_example_runs_with_what_its_command_installs(monkeypatch):
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].values()
    names = {re.match(r"[\w-]+", each)[0].replace("-", "_") for each in chain.from_iterable(listed)}
    for name in [name for name in sys.modules if name.partition(".")[0] in names - {"pytest"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent(names), *sys.meta_path])
    with pytest.raises(ImportError):
        import pandas  # noqa: F401
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    scope: dict = {}
    exec(compile(code, "README.md", "exec"), scope)
    assert scope["model"].guarantee_.epsilon == 1
