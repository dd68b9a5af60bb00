"""Formulas of the pages are LaTeX that the site can show, without a network."""

import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "changelog.d" not in page.parts]


def prose(page):
    return CODE.sub("code", page.read_text(encoding="utf-8"))


@pytest.fixture
def mathml(monkeypatch):
    pytest.importorskip("latex2mathml")
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("mathml").mathml


def test_every_formula_of_every_page_is_understood(mathml):
    found = {one or other for page in PAGES for one, other in FORMULA.findall(prose(page))}
    assert len(found) > 1000
    for formula in found:
        assert mathml(formula.strip(), "inline").startswith("<math ")


def test_dollars_are_formulas():
    left = {page.name: FORMULA.sub("", prose(page)).count("$") for page in PAGES}
    assert {name: count for name, count in left.items() if count} == {}


def test_no_letter_touches_a_formula():
    """Otherwise GitHub shows dollars."""
    touched = [
        (page.name, found[0])
        for page in PAGES
        for text in [f" {prose(page)} "]
        for found in FORMULA.finditer(text)
        if found[2] and (text[found.start() - 1].isalnum() or text[found.end()].isalnum())
    ]
    assert touched == []


@pytest.mark.parametrize("formula", [r"\foo x", "a & b", r"\left( a", "x^"])
def test_what_is_not_understood_is_an_error(mathml, formula):
    with pytest.raises(ValueError, match="formula"):
        mathml(formula, "inline")


def test_names_numbers_and_signs_are_set_as_in_print(mathml):
    def inside(formula):
        return re.sub(r"^<math[^>]*><mrow>|</mrow></math>$", "", mathml(formula, "inline"))

    assert inside(r"\ln k") == '<mi>ln</mi><mspace width="0.17em"/><mi>k</mi>'
    assert inside(r"\max_i k").endswith('</msub><mspace width="0.17em"/><mi>k</mi>')
    assert "mspace" not in inside(r"\ln(k)")
    assert inside("24,561") == "<mn>24,561</mn>"
    assert '<mo form="prefix">&#x02212;</mo>' in inside("(-x)")
    assert "prefix" not in inside("1 - x")
