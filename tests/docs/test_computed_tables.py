"""Tables in the pages are what the calculators return, and the build computes them again."""

import importlib
import re
from pathlib import Path

import pytest

from dplearn.audit import cases as registry

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "theory" / "pure_privacy.md"
BOUNDS = DOCS / "theory" / "lower_bounds.md"
REDUCTIONS = DOCS / "theory" / "reductions.md"
CASES = DOCS / "audit_cases.md"
GUARANTEE = DOCS / "guarantee.md"
COMPOSITION = DOCS / "composition.md"
CHOICE = DOCS / "choose_a_learner.md"


@pytest.fixture
def computed(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("computed_tables")


def shown(name, page):
    """Return a table of a page."""
    (found,) = re.findall(rf"<!-- computed: {name} -->\n(.*?)\n<!-- end -->", page.read_text(), re.DOTALL)
    return found


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("records", PAGE),
        ("labels", BOUNDS),
        pytest.param("bounds", PAGE, marks=pytest.mark.nightly),
        ("dimensions", PAGE),
        ("audit_cases", CASES),
        ("audit_examples", GUARANTEE),
        ("theorems", COMPOSITION),
        ("features", CHOICE),
        ("combinations", CHOICE),
        pytest.param("small_classes", PAGE, marks=pytest.mark.nightly),
        pytest.param("many_labels", REDUCTIONS, marks=pytest.mark.nightly),
    ],
)
def test_the_page_has_the_table_that_is_computed(computed, name, page):
    # else: python docs/computed_tables.py
    assert shown(name, page) == computed.TABLES.texts[name]()


def test_every_audit_case_has_a_row_and_none_exceeds_its_claim():
    rows = [line.split(" | ") for line in shown("audit_cases", CASES).splitlines() if line.startswith("| `")]
    assert [row[0][3:-1] for row in rows] == list(registry.CASES)
    claims = [float(row[4].partition(",")[0]) for row in rows]
    assert all(float(row[5]) <= claim for row, claim in zip(rows, claims, strict=True))


def test_every_table_is_on_a_page(computed):
    assert computed.TABLES.pages() == [CASES, CHOICE, COMPOSITION, GUARANTEE, BOUNDS, PAGE, REDUCTIONS]
    written = [name for page in computed.TABLES.pages() for name in computed.TABLES.names(page.read_text())]
    assert sorted(written) == sorted(computed.TABLES.texts)


def test_one_sanitiser_takes_more_records_than_a_thousand_selections():
    rows = shown("many_labels", REDUCTIONS).splitlines()[2:]
    *direct, quantiles, tree = (int(row.split("|")[2].replace(",", "")) for row in rows)
    assert direct == sorted(direct)
    assert min(quantiles, tree) > direct[-1]


def test_the_build_computes_the_tables(computed, monkeypatch):
    site = importlib.import_module("site_parts")
    monkeypatch.setitem(computed.TABLES.texts, "records", lambda: "| `PointClassifier` |")
    source = ["<!-- computed: records -->\nold\n<!-- end -->\n"]
    site.fill_in(None, "theory/pure_privacy", source)
    assert "old" not in source[0]
    assert "| {py:obj}`PointClassifier <dplearn" in source[0]


@pytest.mark.parametrize("page", [PAGE, BOUNDS])
def test_the_page_says_what_its_block_prints(page):
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    said, lines = re.findall(r"# (.*)$", block, re.MULTILINE), []
    exec(block, {"print": lambda *values: lines.append(" ".join(map(str, values)))})
    assert lines == said
