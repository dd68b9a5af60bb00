"""The site has every page: none is replaced by another, excluded, or missing in the tables of contents."""

import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

DOCS = Path(__file__).parents[2] / "docs"
#: Pages that Sphinx writes without a source. The build itself learns their names from Sphinx.
WRITTEN_BY_SPHINX = {"genindex", "genindex-all", "opensearch", "py-modindex", "search"}


@pytest.fixture
def site(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("site_parts")


@pytest.fixture
def warnings_of(site, monkeypatch):
    found = []
    monkeypatch.setattr(site, "_warn", found.append)
    return found


def test_no_page_has_the_name_of_one_that_sphinx_writes():
    names = {page.stem.lower() for page in DOCS.glob("*.md")}
    assert names & WRITTEN_BY_SPHINX == set()


@pytest.mark.parametrize("page", ["search", "SEARCH", "py-modindex"])
def test_a_page_of_sphinx_that_replaces_ours_is_told(site, warnings_of, page):
    app = SimpleNamespace(env=SimpleNamespace(found_docs={"index", "Search", "py-modindex"}))
    site.check_name(app, page, "page.html", {}, None)
    assert len(warnings_of) == 1
    assert f"{page}.html is written by Sphinx itself" in warnings_of[0]


def test_pages_of_their_own_names_are_not_told(site, warnings_of):
    app = SimpleNamespace(env=SimpleNamespace(found_docs={"index", "private_search"}))
    site.check_name(app, "search", "search.html", {}, None)
    site.check_name(app, "index", "page.html", {}, object())
    assert warnings_of == []


def test_pages_that_a_site_would_lose_are_told(site, warnings_of, tmp_path):
    for name in ("index", "one", "One", "orphan", "loop_a", "loop_b", "left_out", "changelog.d/x"):
        path = tmp_path / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    env = SimpleNamespace(
        found_docs={"index", "one", "One", "orphan", "loop_a", "loop_b"},
        toctree_includes={"index": ["one", "One"], "loop_a": ["loop_b"], "loop_b": ["loop_a"]},
    )
    app = SimpleNamespace(srcdir=str(tmp_path), config=SimpleNamespace(root_doc="index"))
    site.check_pages(app, env)
    assert warnings_of == [
        "One, one are one file where names ignore case",
        "loop_a is in no table of contents that leads back to index",
        "loop_b is in no table of contents that leads back to index",
        "orphan is in no table of contents that leads back to index",
        "left_out.md is not built: exclude_patterns in conf.py leaves it out",
    ]


def test_every_page_of_ours_is_built_once_and_reached(site):
    pages = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in site.NO_PAGES]
    names = [page.relative_to(DOCS).with_suffix("").as_posix() for page in pages]
    toctrees = {}
    for page, name in zip(pages, names, strict=True):
        text, folder = page.read_text(encoding="utf-8"), page.parent.relative_to(DOCS)
        if site.CONTENTS.search(text):
            links = re.findall(r"^[\w/]+$", site.contents(text), re.MULTILINE)
        elif named := site.NAMED_CONTENTS.search(text):
            links = re.findall(r"<(.*)>", site.named_contents(named[1]))
        else:
            continue
        toctrees[name] = [(folder / link).as_posix() for link in links]
    assert list(site.lost_pages(DOCS, names, "index", toctrees)) == []
    parents = [page for pages in toctrees.values() for page in pages]
    assert sorted(parents) == sorted(set(parents))  # a page of two sections would have two places


#: Title, what the page is for, and what to read next.
HEAD = re.compile(r"# .+\n\n[A-Z`].{14,150}\nNext: .{0,30}\[.{1,140}\n(?:\n|\Z)")


@pytest.mark.parametrize(
    "page",
    [page for page in sorted(DOCS.rglob("*.md")) if "changelog.d" not in page.parts],
    ids=lambda page: page.relative_to(DOCS).as_posix(),
)
def test_the_first_two_lines_say_what_a_page_is_for_and_what_to_read_next(page):
    assert HEAD.match(page.read_text(encoding="utf-8"))


def test_cards_lead_to_pages_and_no_task_is_missing(site):
    cards = {
        name: re.findall(r"^- \[(.+?)\]\((\w+)\.md\): \w", site.CARDS.search(text)[1], re.MULTILINE)
        for name in ("index", "guides")
        for text in [(DOCS / f"{name}.md").read_text(encoding="utf-8")]
    }
    assert [len(found) for found in cards.values()] == [5, 10]
    pages = {page for found in cards.values() for _, page in found}
    assert [page for page in pages if not (DOCS / f"{page}.md").is_file()] == []
    assert {page for _, page in cards["index"]} < {page for _, page in cards["guides"]}
    without_example = [
        page for page in pages if not re.search(r"^```py", (DOCS / f"{page}.md").read_text(), re.MULTILINE)
    ]
    assert without_example == []
