"""Docstrings: parameters and defaults as in the code, entries that are shared, and examples that run."""

import builtins
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import symtable
import sys
import tomllib
from fractions import Fraction
from importlib.abc import MetaPathFinder
from itertools import chain
from pathlib import Path

import pytest
import reference

import dplearn
from dplearn._documented import Shared, documented_by

THINGS = {
    f"{package}.{name}": getattr(importlib.import_module(package), name)
    for package, names in reference.homes().items()
    for name, home in names.items()
    if home == package
}
DOCUMENTED = {
    name: thing
    for name, thing in THINGS.items()
    if inspect.isroutine(thing) or (inspect.isclass(thing) and hasattr(thing, "fit"))
    if not name.startswith("dplearn.estimator.")  # base classes, and a decorator of them
}
#: Their example would need a mutant, whose audit takes long.
WITHOUT_EXAMPLE = {"dplearn.audit.how_caught"}
#: Defaults that are shown by their names.
NAMED = {"RULES", "GAUSSIAN"}
#: Parameters without which an error says what is missing, though the signature has None.
REQUIRED = {"target_range", "columns"}
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def sections(thing):
    """From each heading of a docstring to its text."""
    parts = HEADING.split(inspect.getdoc(thing))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(text):
    """From each parameter of a section to its type."""
    found = re.findall(r"^(\*{0,2}\w[\w, *]*?)(?: : (.+))?$", text, flags=re.MULTILINE)
    return {name.strip().lstrip("*"): kind for names, kind in found for name in names.split(",")}


def states(kind, default):
    """Whether the type of a parameter states its default."""
    stated = re.search(r"default=(.+)$", kind)
    if stated is None:
        return default is None and kind.endswith(("optional", "None"))
    if stated[1] in NAMED or isinstance(default, Fraction):
        return stated[1] in NAMED or Fraction(stated[1]) == default
    return stated[1] == default or eval(stated[1], {}) == default  # a literal or a formula, such as 2**32


def names_from_outside(code):
    """The names that a piece of code uses and neither defines nor imports."""
    top = symtable.symtable(code, "example", "exec")
    defined = {each.get_name() for each in top.get_symbols() if each.is_assigned() or each.is_imported()}

    def used(table):
        here = {each.get_name() for each in table.get_symbols() if each.is_global() or table is top}
        return here.union(*map(used, table.get_children()))

    return {name for name in used(top) - defined if not hasattr(builtins, name)}


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_an_example_runs_wherever_it_is_pasted_and_parameters_and_defaults_are_those_of_the_signature(name):
    parts = sections(DOCUMENTED[name])
    if name not in WITHOUT_EXAMPLE:
        examples = doctest.DocTestParser().get_examples(parts["Examples"])
        assert not names_from_outside("".join(example.source for example in examples))
    signature, stated = inspect.signature(DOCUMENTED[name]).parameters, entries(parts.get("Parameters", ""))
    assert list(stated) == list(signature)
    for each, kind in stated.items():
        default = signature[each].default
        if default is inspect.Parameter.empty:
            assert "default=" not in kind, each
        elif each not in REQUIRED:
            assert states(kind, default), each


METHODS = {
    f"{name}.{method}": getattr(thing, method)
    for name, thing in THINGS.items()
    if inspect.isclass(thing)
    for method in vars(thing)
    if not re.match(r"_|set_\w+_request", method) and callable(getattr(thing, method))
}


def test_parameters_of_methods_exist_and_have_the_defaults_that_are_stated():
    for name, method in METHODS.items():
        signature = inspect.signature(method).parameters
        stated = entries(sections(method).get("Parameters", "")) if method.__doc__ else {}
        assert set(stated) <= set(signature), name
        for each, kind in stated.items():
            assert "default=" not in kind or states(kind, signature[each].default), (name, each)
    assert len(METHODS) > 150


def test_no_heading_has_run_into_its_text():
    assert (len(DOCUMENTED) > 200, len(THINGS) > 350) == (True, True)
    run_in = re.compile(r"[^\s|+-].*(?<!-)-{4,}(?!-)")
    assert [name for name, thing in THINGS.items() if run_in.search(inspect.getdoc(thing) or "")] == []


# Entries that are described elsewhere stand where the signature has them.


class Base:
    """All of them.

    Parameters
    ----------
    b : int
        The second.

    Attributes
    ----------
    z_ : int
        Public. The last.

    Raises
    ------
    ValueError
        Always.
    """


def test_an_entry_takes_the_type_the_text_or_the_first_words_that_it_leaves_out():
    @documented_by(Base)
    class Derived:
        """One of them.

        Parameters
        ----------
        b
            ... Ours counts from 1.
        delta : float, default=0.5

        Attributes
        ----------
        noise_
        """

        def __init__(self, b, delta=0.5, epsilon=1.0):
            self.b = b

        def plan(self, n_samples):
            """Plan it."""

        def predict_proba(self, X):
            """Predict."""

    lines = inspect.getdoc(Derived).splitlines()
    assert lines[4:7] == ["b : int", "    The second. Ours counts from 1.", "delta : float, default=0.5"]
    assert lines[7].startswith("    Probability with which")
    assert lines[8] == "epsilon : float, default=1.0"
    added = 'noise_ : str\n    Public. The noise: "laplace" or "gaussian".\nz_ : int\n    Public. The last.'
    assert inspect.getdoc(Derived).partition("Attributes\n----------\n")[2] == added
    assert "n_samples : int\n    Number of records; a guess if" in inspect.getdoc(Derived.plan)
    assert "Raises" not in inspect.getdoc(Derived.plan)  # which nothing is charged for
    assert set(sections(Derived.predict_proba)) == {"Parameters", "Returns"}
    assert "(n_samples, n_classes)\n    Probabilities" in sections(Derived.predict_proba)["Returns"]


def test_nothing_is_missed_where_python_removes_docstrings(monkeypatch):
    monkeypatch.setattr(Shared, "__doc__", None)

    @documented_by(Base)
    class Derived:
        def __init__(self, undescribed):
            pass

    assert Derived.__doc__ is None


@pytest.mark.nightly
def test_the_package_is_imported_where_python_removes_docstrings():
    subprocess.run([sys.executable, "-OO", "-c", "from dplearn import AdditiveClassifier"], check=True)


# Every example in a docstring runs, and so do the README's.

ROOT = Path(__file__).parents[2]
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
