"""The notebooks name public things alone, link to pages that exist, and run with fresh noise."""

import ast
import importlib
import inspect
import re
import runpy
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "notebooks"
NAMES = ["1_classify", "2_regress", "3_tune", "4_release", "5_audit"]


def source(name):
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def imported(tree):
    """Map the names that a notebook takes from the package to their modules."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named = [(each.name, node.module) for node in found for each in node.names]
    return {name: module for name, module in named if module.split(".")[0] == "dplearn"}


def wrong(tree, homes):
    """Return what a notebook uses of the package that is not public, or that a signature does not have."""
    taken = imported(tree)
    bad = [f"{module}.{name}" for name, module in taken.items() if name not in homes.get(module, {})]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr):
            bad.append(node.attr)
        if isinstance(node, ast.Import):
            bad += [each.name for each in node.names if each.name.split(".")[0] == "dplearn"]
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in taken:
            thing = getattr(importlib.import_module(taken[node.func.id]), node.func.id)
            known = inspect.signature(thing).parameters
            given = [each.arg for each in node.keywords if each.arg is not None]
            bad += [
                f"{node.func.id}({word}=)" for word in given if word not in known or word == "random_state"
            ]
    return bad


@pytest.fixture
def homes(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("reference").homes()


def test_the_folder_has_these_notebooks_and_no_outputs():
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_file()) == sorted(
        [*(f"{name}.py" for name in NAMES), "README.rst", "ruff.toml"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_valid_and_uses_what_is_public(name, homes):
    tree = ast.parse(source(name))
    compile(tree, name, "exec")
    assert len(imported(tree)) > 4
    assert wrong(tree, homes) == []


def test_what_is_not_public_is_found(homes):
    lines = [
        "from dplearn.audit.fits import WholeFit",
        "from dplearn.releases import cdf, median",
        "import dplearn.kernels",
        "cdf([1], epsilon=1, random_state=0)",
        "median([1], epsilom=1)",
        "model._fit(X, y)",
    ]
    assert sorted(wrong(ast.parse("\n".join(lines)), homes)) == [
        "_fit",
        "cdf(random_state=)",
        "dplearn.audit.fits.WholeFit",
        "dplearn.kernels",
        "median(epsilom=)",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_says_what_to_read_next_and_ends_with_the_guarantee(name):
    head = ast.get_docstring(ast.parse(source(name)))
    title, _, first = head.split("\n\n")[0].splitlines() + head.split("\n\n")[1:2]
    assert title.startswith(f"{name[0]}. ")
    assert first.startswith("For ")
    assert "Read next:" in " ".join(first.split())
    links = re.findall(r"<([^>]+)\.html>`_", source(name))
    assert len(links) >= 2
    assert [
        link for link in links if not any((FOLDER / f"{link}{end}").is_file() for end in (".md", ".py"))
    ] == []
    headings = re.findall(r"^# (.*)\n# -+$", source(name), re.MULTILINE)
    assert headings[-1] == "The guarantee"


def test_the_page_has_a_line_for_each_notebook_and_is_linked():
    listed = (FOLDER / "README.rst").read_text(encoding="utf-8")
    assert re.findall(r"^- :doc:`(\w+)`: ", listed, re.MULTILINE) == NAMES
    assert "](notebooks/README.rst)" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_links_to_notebooks_lead_to_what_was_built(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    page = ["[all](notebooks/README.rst), [one](../notebooks/1_classify.py), [drawn](gallery/README.rst)"]
    importlib.import_module("site_parts").fill_in(None, "page", page)
    assert page == [
        "[all](_notebooks/index.rst), [one](../_notebooks/1_classify.rst), [drawn](_gallery/index.rst)"
    ]
    built = ["`CDFRelease`"]  # by the gallery, and not ours to change
    importlib.import_module("site_parts").fill_in(None, "_notebooks/4_release", built)
    assert built == ["`CDFRelease`"]


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    with warnings.catch_warnings():
        # Of other warnings some depend on released values, and so on chance.
        warnings.filterwarnings("default", category=UserWarning)
        warnings.filterwarnings("error", message="n_samples is", category=UserWarning)
        runpy.run_path(str(FOLDER / f"{name}.py"))
    pyplot.close("all")
