"""Tables, pictures and figures in the text of pages are what scripts compute or what was recorded."""

import importlib
import json
import re
import runpy
import tomllib
from collections import Counter
from html import unescape
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import compared_tables as compared
import computed_tables as computed
import matplotlib
import measured_tables as measured
import numpy as np
import outside_tables as outside
import pytest

from dplearn.theory import parity_sample_size

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCRIPTS = {
    "computed": computed.TABLES,
    "measured": measured.TABLES,
    "compared": compared.TEXTS,
    "outside": outside.TABLES,
}
#: Of the others, a block of the page of labels prints what the same calculator returns, with every change.
LONG = {"bounds", "small_classes", "many_labels", "labels"}
#: Each text that a script writes, and the pages that hold it.
PLACES = {
    (script, name): [page for page in texts.pages() if name in texts.names(page.read_text(encoding="utf-8"))]
    for script, texts in SCRIPTS.items()
    for name in texts.texts
}


def page(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def words(name):
    return " ".join(page(name).split())


def shown(script, name, path):
    """Return a text of a page."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(rf"<!-- {script}: {name} -->\n(.*?)\n?<!-- end -->", text, re.DOTALL)
    return found[0]


@pytest.mark.parametrize(
    "place",
    [pytest.param(each, marks=[pytest.mark.nightly] * (each[1] in LONG)) for each in PLACES],
    ids="-".join,
)
def test_pages_show_what_scripts_compute_from_code_and_records(place):
    script, name = place
    now = SCRIPTS[script].texts[name]()
    assert PLACES[place]
    for path in PLACES[place]:  # else: python docs/computed_tables.py, or another script of tables
        assert shown(script, name, path) == now.rstrip("\n")


def test_every_mark_of_a_page_names_a_text():
    for texts in SCRIPTS.values():
        marks = [name for path in texts.pages() for name in texts.names(path.read_text(encoding="utf-8"))]
        assert set(marks) == set(texts.texts)
    pages = {path.name for path in measured.TABLES.pages()}
    assert pages >= {"README.md", "choose_a_learner.md", "getting_started.md", "make_my_model_private.md"}


def test_the_build_computes_the_tables(monkeypatch):
    monkeypatch.setitem(computed.TABLES.texts, "records", lambda: "| `PointClassifier` |")
    source = ["<!-- computed: records -->\nold\n<!-- end -->\n"]
    importlib.import_module("site_parts").fill_in(None, "theory/pure_privacy", source)
    assert "old" not in source[0]
    assert "| {py:obj}`PointClassifier <dplearn" in source[0]


# pictures


def described(picture):
    """Return the figures that a picture holds as its description."""
    text = re.search(r"<dc:description>(.*?)</dc:description>", picture.read_text(), re.DOTALL)[1]
    return json.loads(unescape(text))


def test_pictures_show_what_is_recorded():  # else: python benchmarks/draw_accuracy.py, or draw_compare.py
    script = runpy.run_path(str(ROOT / "benchmarks" / "draw_accuracy.py"))
    rows = json.loads(script["RECORD"].read_text(encoding="utf-8"))["rows"]
    lines, levels = script["lines_of"](rows), script["levels_of"](rows)
    assert {len(points) for points in lines.values()} == {3}
    assert described(script["PICTURE"]) == json.loads(json.dumps({"lines": lines, "levels": levels}))
    script = runpy.run_path(str(ROOT / "benchmarks" / "draw_compare.py"))
    assert described(script["PICTURE"]) == script["shares"](script["compared"]())


def test_the_badges_tell_each_version_of_python_the_licence_and_the_types():
    script = runpy.run_path(str(DOCS / "badges.py"))
    assert script["TARGET"].read_text(encoding="utf-8") == script["svg"]()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = ElementTree.fromstring(script["svg"]()).find("{*}title").text
    versions = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: Python :: 3." in line]
    assert versions[0] == project["requires-python"].removeprefix(">=")
    assert all(version in told for version in [*versions, project["license"], "mypy, pyright"])


def test_choose_a_learner_rounds_up_what_its_figure_shows():
    matplotlib.use("agg")
    script = runpy.run_path(str(DOCS / "gallery" / "plot_choose_a_learner.py"))
    text = page("choose_a_learner").partition("## Learners\n")[2].partition("\n## ")[0]
    for row in script["rows"]:
        (line,) = re.findall(rf"^\| `{row[0].__name__}` .*\|$", text, re.MULTILINE)
        said = re.findall(r"([\d,]+)( million)?", line.split("|")[-2])
        models = ["central", "local"] if "local" in line.split("|")[-2] else ["central"]
        for (digits, million), model in zip(said, models, strict=True):
            number = int(digits.replace(",", "")) * (10**6 if million else 1)
            needed = script["records_needed"](row, 1.0, model)
            assert needed <= number <= 1.3 * needed + 100, row[0].__name__


# figures in the text


def recorded(name):
    return json.loads((DOCS / "gallery" / "measured" / f"{name}.json").read_text(encoding="utf-8"))


def test_the_page_of_parities_says_how_much_more_is_promised_than_needed():
    found = recorded("parity_sizes")
    places = [(d, 1.0) for d in found["n_columns"]] + [(16, epsilon) for epsilon in found["epsilon"]]
    sizes = np.array([parity_sample_size(d, epsilon=each, alpha=0.1, beta=0.1) for d, each in places])
    for columns, decimals in (("hard", 2), ("easy", 0)):
        asked = ("elimination", columns)
        (line,) = [each for each in found["measured"] if (each["method"], each["columns"]) == asked]
        ratios = sizes / (line["records_by_n_columns"] + line["records_by_epsilon"])
        said = f"{ratios.min():.{decimals}f} to {ratios.max():.{decimals}f} times the measured size"
        assert said in words("theory/parity")


def test_the_numbers_of_the_page_of_soft_labels_are_recorded():
    rows = recorded("soft_labels")["rows"]
    known = {f"{value:.3f}" for each in rows for value in each.values() if isinstance(value, float)}
    for name in ("brier", "log_loss", "auc"):
        known |= {f"{each[name]:.3f} ± {each[name + '_sd']:.3f}" for each in rows if each.get(f"{name}_sd")}
    shown = re.findall(r"\| (0\.\d{3}(?: ± \d\.\d{3})?)(?= )", page("soft_labels"))
    assert len(shown) > 90
    assert set(shown) <= known


ROWS = measured.rows()
TABLES = {each["data"] for each in ROWS}


def test_the_learner_that_guides_name_first_is_the_most_accurate_of_ours_on_adult():
    of_adult = [each for each in ROWS if (each["data"], each["by"]) == ("Adult", "dplearn")]
    found = {each["learner"]: each for each in of_adult if each.get("epsilon") == 1.0}
    first = max(found.values(), key=lambda each: each["accuracy"])
    assert first["seconds"] < found["KnowledgeTransferClassifier"]["seconds"]
    named = [name for name in re.findall(r"\*\*`(\w+)`\*\*", page("choose_a_learner")) if name in found]
    assert named[0] == first["learner"]
    assert named.index("KnowledgeTransferClassifier") > named.index("StatisticalQueryNaiveBayes")


def accuracy(data, learner, epsilon):
    """Return the accuracy of one of our learners with a declared schema, as pages show it."""
    asked = (data, learner, epsilon, "")
    keys = ("data", "learner", "epsilon", "needs")
    [found] = [each for each in ROWS if tuple(each.get(key, "") for key in keys) == asked]
    return f"{found['accuracy']:.2f}".lstrip("0")


def test_the_page_says_from_which_records_times_epsilon_on_which_learner_is_the_most_accurate():
    sizes, many, few = {each["data"]: each["private"] for each in ROWS}, [], []
    for data, epsilon in product(sizes, measured.EPSILONS):
        best = measured.winners(data, epsilon).partition(" .")[0]
        (many if sizes[data] * epsilon >= 1000 else few).append(best)
    assert Counter(many).most_common(1)[0][0] == "additive model"
    assert not {"additive model", "logistic regression"} & set(few)
    ours, peer = (
        [accuracy("digits", name, epsilon) for epsilon in (1.0, 3.0)]
        for name in ("AdditiveClassifier", "StatisticalQueryLogisticRegression")
    )
    text = words("additive")
    assert f"right for {ours[0]} of the test records at epsilon 1, and for {ours[1]} at epsilon 3" in text
    assert f"where a logistic regression has {peer[0]} and {peer[1]}" in text
    assert 2 * few.count("stump") > len(few)
    for said in (
        "more often than any other the most accurate of our learners in cells with records times epsilon",
        "the additive model is the more accurate of the two on digits",
        "nor logistic regression is the most accurate of our learners in any of these cells",
        "the most accurate of our learners in most cells with records times epsilon below 1,000",
    ):
        assert said in words("choose_a_learner")


def test_the_best_of_a_table_names_a_better_peer_and_only_what_is_better_than_the_most_common_label():
    for data in TABLES:
        [majority] = [each for each in ROWS if (each["data"], each["learner"]) == (data, "majority class")]
        for epsilon in measured.EPSILONS:
            found = [each for each in ROWS if (each["data"], each.get("epsilon")) == (data, epsilon)]
            first = max((each for each in found if not each.get("needs")), key=lambda each: each["accuracy"])
            given = measured.winners(data, epsilon)
            name = measured.IN_WORDS.get(first["learner"])
            name = name or measured.called((first["by"], first["learner"], ""))
            assert given.startswith("none: ") or name in given
            figures = [float(each) for each in re.findall(r"(?<=\s)\.\d{3}\b", given)]
            named = figures[1:] if given.startswith("none") else figures
            assert all(each > round(majority["accuracy"], 3) for each in named), given


def synthetic_uses(part):
    """Return the accuracy in percent of each contender, for each table and epsilon."""
    found = {}
    for each in recorded("synthetic_uses")["rows"]:
        if each["part"] == part:
            found.setdefault((each["data"], each["epsilon"]), {})[each["by"]] = 100 * each["accuracy"]
    return found


def test_the_guides_say_what_synthetic_rows_gain_in_a_search_and_beside_public_ones():
    found = synthetic_uses("search")
    assert {data for data, _ in found} == {"flchain", "nassCDS", "Chile", "digits"}
    for (data, _), each in found.items():
        gain = each["search on synthetic rows"] - each["PrivateSearchCV"]
        assert (round(gain) == 10) == (data == "digits")
        assert data == "digits" or abs(gain) < 2
        assert each["search on synthetic rows"] - each["no search"] < 0.5
    found, gains = synthetic_uses("transfer"), {}
    assert {data for data, _ in found} == {"Adult", "flchain", "nassCDS", "Chile", "digits"}
    for where, each in found.items():
        synthetic = max(accuracy for by, accuracy in each.items() if by.endswith("on synthetic rows"))
        transfer = each["transfer, true public rows"]
        assert each["AdditiveClassifier"] >= max(synthetic, transfer)
        gains[where] = synthetic - transfer
    assert [round(gains.pop(("digits", epsilon))) for epsilon in (1.0, 3.0)] == [-6, 22]
    assert max(map(abs, gains.values())) < 1.1
