"""The site has every page, and each leads on: links, formulas, figures, notebooks, reference."""

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
import site_parts as site

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
    named = re.findall(r"`((?:tests|benchmarks|dplearn)/[\w/]+\.py)", text)
    return [name for name in named if not (ROOT / name).exists()]


#: Title, what the page is for, and what to read next.
HEAD = re.compile(r"# .+\n\n[A-Z`].{14,150}\nNext: .{0,30}\[.{1,140}\n(?:\n|\Z)")


def test_links_lead_to_files_and_the_first_lines_say_what_a_page_is_for_and_what_to_read_next():
    assert dead_links(README, "[a](b/none.md), [b](README.md#c)") == ["b/none.md"]
    assert failing(dead_links) == {}
    assert failing(missing_files) == {}
    assert failing(lambda _, text: [] if HEAD.match(text) else ["head"], PAGES) == {}


def test_every_page_of_ours_is_built_once_and_reached():
    pages = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in site.NO_PAGES]
    names = [page.relative_to(DOCS).with_suffix("").as_posix() for page in pages]
    toctrees = {}
    for page, name in zip(pages, names, strict=True):
        text, folder = text_of(page), page.parent.relative_to(DOCS)
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
    # Sphinx writes these without a source, over pages of these names.
    assert {name.lower() for name in names} & {"genindex", "opensearch", "py-modindex", "search"} == set()


def test_pages_that_a_site_would_lose_are_told(tmp_path):
    pages = {"index", "one", "One", "loop_a", "loop_b"}
    for name in {*pages, "left_out"}:
        (tmp_path / f"{name}.md").touch()
    contents = {"index": ["one", "One"], "loop_a": ["loop_b"], "loop_b": ["loop_a"]}
    assert list(site.lost_pages(tmp_path, pages, "index", contents)) == [
        "One, one are one file where names ignore case",
        "loop_a is in no table of contents that leads back to index",
        "loop_b is in no table of contents that leads back to index",
        "left_out.md is not built: exclude_patterns in conf.py leaves it out",
    ]


def filled(text, name="page"):
    source = [text]
    site.fill_in(None, name, source)
    return source[0]


def test_comments_and_links_are_filled_in_before_a_page_is_built():
    text = filled(
        "Next: [z](z.md).\n\n- [a](gallery/plot_a.py), [b](b.md)\n\n## Measured\n\n"
        "- [c](gallery/measured/plot_c.py), [b](b.md)\n\n<!-- contents -->\n"
        "<!-- figure: measured/plot_c 2: C -->"
    )
    assert text.splitlines() == [
        *("Next: [z](z.md).", "", "- [a](_gallery/plot_a.rst), [b](b.md)", "", "## Measured", ""),
        *("- [c](_gallery/measured/plot_c.rst), [b](b.md)", ""),
        *("```{toctree}", ":hidden:", "", "_gallery/plot_a", "b", "```", ""),
        *("```{toctree}", ":hidden:", ":caption: Measured", "", "_gallery/measured/plot_c", "```"),
        "![C](/_gallery/measured/images/sphx_glr_plot_c_002.png)",
    ]
    text = filled(
        "Next: [z](z.md).\n\n<!-- search -->\n\n<!-- cards -->\n\n- [A b](a.md): learn it,\n  now.\n"
        "- [C](c.md): try.\n\n- [D](d.md): E.\n\n<!-- contents, named as here -->"
    )
    head, cards = text.split("{.cards}\n")
    assert 'action="search.html"' in head
    assert cards.splitlines() == [
        *("- [A b](a.md) Learn it,", "  now.", "- [C](c.md) Try.", "", "- [D](d.md): E.", ""),
        *("```{toctree}", ":hidden:", "", "D <d>", "```"),
    ]
    assert filled(
        "[all](notebooks/README.rst), [one](../notebooks/1_classify.py), [drawn](gallery/README.rst)"
    ) == ("[all](_notebooks/index.rst), [one](../_notebooks/1_classify.rst), [drawn](_gallery/index.rst)")
    # What the gallery builds is not ours to change.
    assert filled("`CDFRelease`", "_notebooks/4_release") == "`CDFRelease`"


def test_every_figure_is_drawn_by_a_script_of_the_gallery():
    drawn = {
        f"{folder}plot_{name}.py"
        for page in PAGES
        for folder, name, _, _ in site.FIGURE.findall(text_of(page))
    }
    assert len(drawn) >= 6
    assert [script for script in sorted(drawn) if not (DOCS / "gallery" / script).is_file()] == []
    others = re.compile(r"^!\[[^]]*\]\((?!pictures/)", re.MULTILINE)  # pictures are tested against records
    assert failing(lambda _, text: others.findall(text), PAGES) == {}


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
    for formula in (r"\foo x", "a & b", r"\left( a", "x^"):
        with pytest.raises(ValueError, match="formula"):
            mathml(formula, "inline")


# the first page, and the page of choices


def test_the_first_page_is_one_screen_with_every_learner():
    text = text_of(README)
    assert len(text.splitlines()) <= 140
    pictures = [number for number, line in enumerate(text.splitlines()) if line.startswith("![")]
    assert len(pictures) == 2  # the badges, and the figure
    assert pictures[-1] < 60
    exported = {name for name in learners.__all__ if re.search(r"(Classifier|Regressor)$", name)}
    assert exported <= set(dplearn.__all__)
    assert exported - set(re.findall(r"`(\w+)`", text)) == set()
    sentence = re.search(r"Scikit-learn's own checks [^:]*? run on all but (.*?), for ", text, re.DOTALL)
    assert exported - {type(each).__name__ for each in PREDICTORS} == set(re.findall(r"`(\w+)`", sentence[1]))


def test_whatever_learns_or_releases_is_in_choose_a_learner():
    def charges(name):
        return "ledger" in inspect.signature(getattr(releases, name)).parameters

    kinds = [name for name in dplearn.__all__ if hasattr(getattr(dplearn, name), "plan")]
    functions = [name for name in releases.__all__ if charges(name)]
    assert (len(kinds) >= 13, len(functions) >= 5) == (True, True)
    text = text_of(DOCS / "choose_a_learner.md")
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
    found = ["_fit", "cdf(random_state=)", "dplearn.audit.fits.WholeFit", "dplearn.kernels"]
    assert sorted(not_public(ast.parse(code))) == found


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
    assert set(reference.documented()) == (packages | {"dplearn", "dplearn.kernels.gf2"}) - NOT_PUBLIC
    entries = []
    for package in reference.documented():
        text = reference.as_rst(package)
        entries += re.findall(r"^\.\. auto(?!summary)\w+:: (.*)$", text, re.MULTILINE)
        for name, home in reference.homes()[package].items():
            assert f":: {home}.{name}" in text or f"`{home}.{name}`" in text
            assert name in importlib.import_module(home).__all__
    assert len(entries) == len(set(entries)) > 200
    where = reference.homes()["dplearn"]
    assert (where["PrivacyLedger"], where["ParityClassifier"]) == ("dplearn.privacy", "dplearn")
    assert reference.homes()["dplearn.learners"]["ParityClassifier"] == "dplearn"
    entry = reference.as_rst("dplearn").partition("autoclass:: dplearn.ThresholdClassifier")[2]
    members = entry.splitlines()[1]  # those that the package wrote, without scikit-learn's
    assert [name in members for name in ("plan", "fit", "set_params")] == [True, True, False]
