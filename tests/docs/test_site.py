"""The site has every page, and each leads on: links, formulas, pictures, notebooks, reference."""

import ast
import importlib
import inspect
import pkgutil
import re
import runpy
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
import reference

import dplearn
from dplearn import learners, preprocessing, releases
from tests.laws.conftest import PREDICTORS

ROOT = Path(__file__).parents[2]
DOCS, README = ROOT / "docs", ROOT / "README.md"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "changelog.d" not in page.parts]


def text_of(page):
    return page.read_text(encoding="utf-8")


def failing(check, pages=(*PAGES, README)):
    """Return what a check finds wrong in each page, without the pages that are right."""
    found = {str(page.relative_to(ROOT)): list(check(page, text_of(page))) for page in pages}
    return {page: wrong for page, wrong in found.items() if wrong}


# links


def dead_links(page, text):
    links = re.findall(r"\]\(((?!https?:|#)[^)#\s]+)", text)
    return [link for link in links if not (page.parent / link).exists()]


def missing_files(page, text):
    named = re.findall(r"`((?:tests|benchmarks|dplearn|docs)/[\w/.]+\.(?:py|csv|json))`", text)
    return [name for name in named if not (ROOT / name).exists()]


def words(page, text):
    """Return by how much a page exceeds its limit; the three that prove or list most have the wider one."""
    name = page.relative_to(DOCS).as_posix()
    wide = name.startswith("theory/") or name in WIDE
    n = len(text.split())
    return [f"{n} words"] if n > (2500 if wide else 1300) else []


#: Results, limits and errata: as long as a page of theory may be.
WIDE = {"compare.md", "limits.md", "errata.md", "contributing.md"}


#: Title, what the page is for, and what to read next.
HEAD = re.compile(r"# .+\n\n[A-Z`].{14,150}\nNext: .{0,30}\[.{1,140}\n(?:\n|\Z)")


def test_links_lead_to_files_and_the_first_lines_say_what_a_page_is_for_and_what_to_read_next():
    assert dead_links(README, "[a](b/none.md), [b](README.md#c)") == ["b/none.md"]
    assert failing(dead_links) == {}
    assert failing(missing_files) == {}
    assert failing(lambda _, text: [] if HEAD.match(text) else ["head"], PAGES) == {}
    assert failing(words, PAGES) == {}
    assert len(PAGES) <= 60


TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_page_is_in_one_table_of_contents_that_leads_back_to_the_first_page():
    parents = {"index": None}
    for page in PAGES:
        name = page.relative_to(DOCS).with_suffix("").as_posix()
        for tree in TOCTREE.findall(text_of(page)):
            for line in tree.splitlines():
                if line and not line.startswith(":"):
                    entry = (page.parent / line.rpartition("<")[2].rstrip(">")).resolve()
                    child = entry.relative_to(DOCS).as_posix()
                    assert child not in parents, child  # a page of two sections would have two places
                    parents[child] = name
    names = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES}
    assert names == {name for name in parents if not name.startswith("_")}
    top = [child for child, parent in parents.items() if parent == "index"]
    assert len(top) == 6


def test_a_task_has_one_name_in_menu_cards_title_and_sidebar():
    tasks = dict(re.findall(r"^\| \[(.*?)\]\((\w+)\.md\) \|", text_of(DOCS / "tasks.md"), re.MULTILINE))
    cards = dict(re.findall(r"^- \[(.*?)\]\((\w+)\.md\)", text_of(DOCS / "index.md"), re.MULTILINE))
    assert len(tasks) >= 14
    assert len(cards) == 5
    assert cards.items() <= tasks.items()
    for name, page in tasks.items():  # the sidebar shows titles
        assert text_of(DOCS / f"{page}.md").startswith(f"# {name}\n")


# formulas

CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)


@pytest.fixture
def mathml():
    pytest.importorskip("latex2mathml")
    return importlib.import_module("mathml").mathml


def test_every_formula_is_understood_and_touches_no_letter_which_would_show_dollars(mathml):
    seen = set()
    for page in PAGES:
        prose = f" {CODE.sub('code', text_of(page))} "
        assert "$" not in FORMULA.sub("", prose), page
        for found in FORMULA.finditer(prose):
            seen.add((found[1] or found[2]).strip())
            ends = prose[found.start() - 1] + prose[found.end()]
            assert not (found[2] and re.search(r"[^\W_]", ends)), (page, found[0])
    assert len(seen) > 1000
    for formula in seen:
        assert mathml(formula, "inline").startswith("<math ")
    bars = [rf'<mo form="{side}" stretchy="false">&#x0007C;</mo>' for side in ("prefix", "postfix")]
    assert all(bar in mathml(r"d = \lvert a \rvert_1", "inline") for bar in bars)  # not between two terms
    for formula in (r"\foo x", "a & b", r"\left( a", "x^"):
        with pytest.raises(ValueError, match="formula"):
            mathml(formula, "inline")


# the first page, and the page of choices


def test_the_first_page_is_one_screen_with_every_learner():
    text = text_of(README)
    assert len(text.splitlines()) <= 90
    exported = {name for name in learners.__all__ if re.search(r"(Classifier|Regressor)$", name)}
    assert exported <= set(dplearn.__all__)
    assert exported - set(re.findall(r"`(\w+)`", text)) == set()
    sentence = re.search(r"Scikit-learn's own\schecks [^:]*? run on all but (.*?), for ", text, re.DOTALL)
    assert exported - {type(each).__name__ for each in PREDICTORS} == set(re.findall(r"`(\w+)`", sentence[1]))


def test_whatever_learns_or_releases_is_in_choose_a_learner():
    def charges(name):
        return "ledger" in inspect.signature(getattr(releases, name)).parameters

    kinds = [name for name in dplearn.__all__ if hasattr(getattr(dplearn, name), "plan")]
    functions = [name for name in releases.__all__ if charges(name)]
    assert (len(kinds) >= 13, len(functions) >= 5) == (True, True)
    text = text_of(DOCS / "choose_a_learner.md") + text_of(DOCS / "tables" / "learners.csv")
    assert [n for n in [*kinds, *preprocessing.__all__, *functions] if f"`{n}`" not in text] == []


# programs and notebooks


def exists(module, name):
    try:
        return hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError:
        return False


def imports(tree):
    """Return the modules and names that a program imports from the package."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named = [(node.module or "", each.name) for node in found for each in node.names]
    return [(module, name) for module, name in named if module.split(".")[0] == "dplearn"]


def missing_names(path, text):
    """Return the names that a program imports from the package and that do not exist."""
    return [f"{module}.{name}" for module, name in imports(ast.parse(text)) if not exists(module, name)]


def test_the_names_that_benchmarks_import_exist():  # to run the programs would take too long
    source = (
        "from dplearn import ParityClassifier\nfrom dplearn.theory import bars\nfrom dplearn.walsh import a"
    )
    assert missing_names(None, source) == ["dplearn.theory.bars", "dplearn.walsh.a"]
    folder = ROOT / "benchmarks"
    assert failing(missing_names, [*folder.glob("*.py"), *folder.glob("all/**/*.py")]) == {}


FOLDER = DOCS / "notebooks"
NOTEBOOKS = ["1_classify", "2_regress", "3_tune", "4_release", "5_audit"]


def not_public(tree):
    """Return what a notebook uses of the package that is not public, or that a signature does not have."""
    homes, taken = reference.homes(), {name: module for module, name in imports(tree)}
    bad = [f"{module}.{name}" for name, module in taken.items() if name not in homes.get(module, {})]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr):
            bad.append(node.attr)
        if isinstance(node, ast.Import):
            bad += [each.name for each in node.names if each.name.split(".")[0] == "dplearn"]
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in taken:
            thing = getattr(importlib.import_module(taken[node.func.id]), node.func.id)
            known = {*inspect.signature(thing).parameters, None} - {"random_state"}
            bad += [f"{node.func.id}({each.arg}=)" for each in node.keywords if each.arg not in known]
    return bad


def test_what_is_not_public_in_a_notebook_is_found():
    code = (
        "from dplearn.audit.fits import WholeFit\nfrom dplearn.releases import cdf\nimport dplearn.kernels\n"
    )
    code += "cdf([1], epsilon=1, random_state=0)\nmodel._fit(X, y)"
    found = "_fit cdf(random_state=) dplearn.audit.fits.WholeFit dplearn.kernels"
    assert sorted(not_public(ast.parse(code))) == found.split()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_uses_what_is_public_leads_on_and_ends_with_the_guarantee(name):
    source = text_of(FOLDER / f"{name}.py")
    tree = ast.parse(source)
    assert len(imports(tree)) > 4
    assert not_public(tree) == []
    head = ast.get_docstring(tree)
    title, _, first = head.split("\n\n")[0].splitlines() + head.split("\n\n")[1:2]
    assert title.startswith(f"{name[0]}. ")
    assert first.startswith("For ")
    assert "Read next:" in " ".join(first.split())
    links = re.findall(r"<([^>]+)\.html>`_", source)
    assert len(links) >= 2
    ends = [[(FOLDER / f"{link}{end}").is_file() for end in (".md", ".py")] for link in links]
    assert all(map(any, ends))
    assert re.findall(r"^# (.*)\n# -+$", source, re.MULTILINE)[-1] == "The guarantee"


@pytest.mark.nightly
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs(name):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    with warnings.catch_warnings():
        # Of other warnings some depend on released values, and so on chance.
        warnings.filterwarnings("default", category=UserWarning)
        warnings.filterwarnings("error", message="n_samples is", category=UserWarning)
        runpy.run_path(str(FOLDER / f"{name}.py"))
    pyplot.close("all")


# the reference

#: Packages whose names are public elsewhere, or that users do not call.
NOT_PUBLIC = {
    *("dplearn.audit.cases", "dplearn.commands", "dplearn.kernels", "dplearn.fit", "dplearn.table"),
    *(f"dplearn.learners.{name}" for name in ("additive", "counts", "linear", "parity", "rules", "several")),
    "dplearn.learners.votes",
}


def test_the_reference_has_every_public_package_and_every_name_once_where_it_belongs():
    packages = {module.name for module in pkgutil.walk_packages(dplearn.__path__, "dplearn.") if module.ispkg}
    listed = re.findall(r"^   (dplearn[\w.]*)$", text_of(DOCS / "api" / "index.md"), re.MULTILINE)
    assert set(listed) == (packages | {"dplearn", "dplearn.kernels.gf2"}) - NOT_PUBLIC
    assert listed[-1] == "dplearn.theory"  # calculators come last
    homes, pages = reference.homes(), reference.pages()
    assert set(listed) == set(homes) == set(pages)
    entries = [f"{page}.{name}" for page in pages for names in pages[page].values() for name in names]
    assert len(entries) == len(set(entries)) > 200
    for package, where in homes.items():
        for name, home in where.items():
            thing = getattr(importlib.import_module(package), name)
            assert f"{home}.{name}" in entries or inspect.ismodule(thing)
    where = homes["dplearn"]
    assert (where["PrivacyLedger"], where["ParityClassifier"]) == ("dplearn.privacy", "dplearn")
    assert homes["dplearn.learners"]["ParityClassifier"] == "dplearn"
