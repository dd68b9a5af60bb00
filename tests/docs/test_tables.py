"""Tables and pictures of pages are what scripts compute or what was recorded."""

import csv
import json
import re
import runpy
from collections import Counter
from html import unescape
from itertools import product
from pathlib import Path

import compared
import computed
import enough
import measured
import outside
import pytest
from files import text_of

ROOT = Path(__file__).parents[2]
DOCS, FOLDER = ROOT / "docs", ROOT / "docs" / "tables"
MADE = {each.__name__: each for script in (computed, measured, compared, outside) for each in script.TABLES}
#: Of the others, a block of the page on lower bounds prints what the same calculator returns.
LONG = {"bounds", "small_classes", "many_labels", "labels"}
#: What people wrote; `intervals` to `releases` describe, the sizes are tested with their pages.
BY_HAND = {
    *("errors", "warnings", "intervals", "releases", "learners", "meta_estimators", "clients"),
    *("sizes_of_votes", "sizes_of_soft_labels", "challengers"),
    *("kasiviswanathan_2011", "feldman_2014", "bun_2015", "bun_2016", "bassily_2018"),
}


def page(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def words(name):
    return " ".join(page(name).split())


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.nightly] * (each in LONG)) for each in MADE]
)
def test_a_table_is_what_its_script_computes_from_code_and_records(name):
    # else: python benchmarks/tables/computed.py, or another script of that folder
    assert (FOLDER / f"{name}.csv").read_text(encoding="utf-8") == text_of(MADE[name]())


def test_every_table_is_shown_or_offered_and_every_page_shows_what_exists():
    found = {path.stem for path in FOLDER.glob("*.csv")}
    assert found == set(MADE) | BY_HAND
    pages = [path for path in DOCS.rglob("*.md") if "changelog.d" not in path.parts]
    named = set()
    for path in pages:
        text = path.read_text(encoding="utf-8")
        shown = re.findall(r"^:file: (.*\.csv)$", text, re.MULTILINE)
        assert all((path.parent / each).is_file() for each in shown)
        named |= {Path(each).stem for each in [*shown, *re.findall(r"`(?:docs/tables/)?(\w+\.csv)`", text)]}
    assert named == found


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


def test_the_page_of_learners_rounds_up_what_plans_need():
    with (FOLDER / "learners.csv").open(encoding="utf-8", newline="") as file:
        rows = {row[0].strip("`"): row for row in csv.reader(file)}
    for row in enough.ROWS:
        cell = rows[row[0].__name__][-1]
        said = re.findall(r"([\d,]+)( million)?", cell.partition("; for labels")[0])
        models = ("central", "local") if "local" in cell else ("central",)
        for (digits, million), model in zip(said, models, strict=True):
            number = int(digits.replace(",", "")) * (10**6 if million else 1)
            needed = enough.records_needed(row, 1.0, model)
            assert needed <= number <= 1.3 * needed + 100, row[0].__name__


# figures in the text


def recorded(name):
    return json.loads((DOCS / "gallery" / "measured" / f"{name}.json").read_text(encoding="utf-8"))


ROWS = measured.rows()
TABLES = {each["data"] for each in ROWS}


def test_the_learner_that_guides_name_first_is_the_most_accurate_of_ours_on_adult():
    of_adult = [each for each in ROWS if (each["data"], each["by"]) == ("Adult", "dplearn")]
    found = {each["learner"]: each for each in of_adult if each.get("epsilon") == 1.0}
    first = max(found.values(), key=lambda each: each["accuracy"])
    named = [name for name in re.findall(r"\*\*`(\w+)`\*\*", page("choose_a_learner")) if name in found]
    assert named[0] == first["learner"]
    assert named.index("KnowledgeTransferClassifier") > named.index("StatisticalQueryNaiveBayes")


def test_the_page_says_from_which_records_times_epsilon_on_which_learner_is_the_most_accurate():
    sizes, many, few = {each["data"]: each["private"] for each in ROWS}, [], []
    for data, epsilon in product(sizes, measured.EPSILONS):
        best = measured.winners(data, epsilon).partition(" .")[0]
        (many if sizes[data] * epsilon >= 1000 else few).append(best)
    assert Counter(many).most_common(1)[0][0] == "additive model"
    assert Counter(few).most_common(1)[0][0] == "stump"
    assert "whose stump is usually our most accurate learner" in words("choose_a_learner")


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
