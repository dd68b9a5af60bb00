"""Docstrings of public estimators and functions: parameters and defaults as in the code, and an example."""

import builtins
import doctest
import importlib
import inspect
import re
import symtable
from fractions import Fraction

import pytest
import reference

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


#: What the text of a parameter contains wherever an estimator has it.
SAID = {
    "epsilon": "A float stands for its shortest decimal: 0.1 is 1/10.",
    "delta": "robability with which the guarantee may fail",
    "domain": "known without looking at the data",
    "classes": "known without looking at the data",
    "ledger": "The ledger that each fit is charged to",
    "random_state": "reproducible, for tests only; the guarantee states this.",
}
#: A search and a tuned threshold have the delta of their candidates; two domains are not learners'.
OTHERWISE = {
    ("dplearn.model_selection.PrivateSearchCV", "delta"),
    ("dplearn.model_selection.PrivateTunedThresholdClassifier", "delta"),
    ("dplearn.releases.SyntheticTable", "domain"),
    ("dplearn.preprocessing.CellEncoder", "domain"),
}


@pytest.mark.parametrize("name", sorted(name for name, thing in DOCUMENTED.items() if inspect.isclass(thing)))
def test_a_parameter_is_described_in_the_same_words_by_every_estimator(name):
    parts = re.split(r"^(\w+) : .+$", sections(DOCUMENTED[name]).get("Parameters", ""), flags=re.MULTILINE)
    texts = {each: " ".join(text.split()) for each, text in zip(parts[1::2], parts[2::2], strict=True)}
    for each, words in SAID.items():
        if each in texts and (name, each) not in OTHERWISE:
            assert words in texts[each], each


def test_no_heading_has_run_into_its_text():
    assert (len(DOCUMENTED) > 200, len(THINGS) > 350) == (True, True)
    run_in = re.compile(r"[^\s|+-].*(?<!-)-{4,}(?!-)")
    assert [name for name, thing in THINGS.items() if run_in.search(inspect.getdoc(thing) or "")] == []
