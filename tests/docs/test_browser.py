"""The site in a browser: its search finds what people type, axe nothing serious, and no page is too wide."""

import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.docs.test_search import RIGHT

ROOT = Path(__file__).parents[2]
#: A page of each kind; the two last show words that were searched for.
PAGES = (
    *("index", "tasks", "classify", "choose_a_learner", "compare", "versions", "contributing", "genindex"),
    *("api/index", "api/dplearn.AdditiveClassifier", "api/dplearn.releases", "theory/additive"),
    *("_gallery/index", "_gallery/plot_tracing", "_notebooks/1_classify", "_notebooks/4_release"),
    *("search.html?q=survival", "classify.html?highlight=label"),
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def site(tmp_path):
    """Build all pages from a copy, so that nothing is written beside them, and serve them; the address."""
    for name in ("dplearn", "benchmarks", ".github", "pyproject.toml", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("_*", "dplearn.*"))
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-d", "doctrees", "docs", "html"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "html")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def axe():
    return pytest.importorskip("axe_playwright_python.sync_playwright").Axe()


@pytest.fixture
def browser():
    """Run Chromium without a window, where there is one: pip install '.[browser]', apt install chromium."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("google-chrome") or pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


def first_three(page, site, query):
    """Return the first three pages that the search of the site lists."""
    page.goto(f"{site}search.html?q={quote(query)}")
    page.wait_for_function("document.querySelector('#search-results h2 + p')?.innerText.includes('found')")
    links = page.locator("#search-results ul.search > li > a").evaluate_all("all => all.map(a => a.href)")
    names = (link.removeprefix(site).partition(".html")[0] for link in links)
    return list(dict.fromkeys(names))[:3]


#: Whether a page, or the article within, which would scroll by itself, is wider than its place.
TOO_WIDE = """[document.documentElement, ...document.querySelectorAll(".bd-article-container")]
    .some(part => part.scrollWidth > part.clientWidth)"""


def faults(page, axe):
    """Return the serious faults of an open page that axe finds, and whether it is wider than its window."""
    found = axe.run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    wide = page.evaluate(TOO_WIDE)
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in serious] + ["too wide"] * wide


@pytest.mark.nightly
@pytest.mark.longest
def test_the_search_finds_what_people_type_and_nobody_is_kept_from_reading(axe, browser, site):
    page = browser.new_page()
    found = {query: first_three(page, site, query) for query in RIGHT}
    wrong = {query: pages for query, pages in found.items() if RIGHT[query] not in pages}
    for width, scheme in product((1200, 390), ("light", "dark")):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        for name in PAGES:
            page.goto(site + name + ".html" * ("?" not in name))
            if each := faults(page, axe):
                wrong[name, width, scheme] = each
    assert wrong == {}
