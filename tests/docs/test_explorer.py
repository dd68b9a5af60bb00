"""The page that explores epsilon shows what plans say, in a browser and on a phone."""

import html
import json
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import explorer
import pytest

TEMPLATE = Path(__file__).parents[2] / "docs" / "templates" / "explorer.html"
PLANS = json.loads(explorer.FILE.read_text(encoding="utf-8").removeprefix("const PLANS = ").rstrip(";\n"))
POINTS = list(product(*explorer.AXES.values()))
FAR = [(0.1, 100, 100), (1, 10_000, 10), (10, 1_000_000, 1)]


@pytest.mark.parametrize("point", [FAR[0], *(pytest.param(each, marks=pytest.mark.nightly) for each in FAR)])
def test_the_page_has_the_numbers_of_plans(point):
    assert {name: tuple(axis) for name, axis in PLANS["axes"].items()} == explorer.AXES
    found = {name: values[POINTS.index(point)] for name, values in PLANS["values"].items()}
    assert found == {name: explorer.rounded(x) for name, x in explorer.numbers_of(*point).items()}


def test_errors_fall_and_attacks_succeed_more_with_epsilon():
    by_epsilon = len(POINTS) // len(explorer.AXES["epsilon"])
    for name, values in PLANS["values"].items():
        rises = name in ("additive", "advantage", "advantage_of_noise", "found", "belief")
        for less, more in zip(values, values[by_epsilon:], strict=False):
            assert less is None or (less <= more if rises else less >= more), name


#: What the test does in the page: it moves sliders, and writes what is shown.
MOVES = """
const all = where => [...document.querySelectorAll(where)];
const shown = () => Object.fromEntries(all("#explorer td").map(x => [x.id, x.textContent]));
const told = [];
for (const places of [[3, 4, 2], [3.25, 4, 2], [0, 0, 4]]) {
  all("#explorer input").forEach((input, k) => {
    input.value = places[k];
    input.dispatchEvent(new Event("input"));
  });
  told.push([all("[role=status]")[0].textContent, shown(), all("output").map(x => x.value)]);
}
const inputs = all("#explorer input"), page = document.documentElement;
document.body.dataset.told = JSON.stringify({
  told, labels: inputs.map(x => x.labels.length), spoken: inputs.map(x => x.ariaValueText),
  focus: inputs.map(x => (x.focus(), document.activeElement === x)),
  wide: page.scrollWidth - page.clientWidth,
});
"""


@pytest.mark.nightly
def test_sliders_show_computed_and_interpolated_numbers_in_a_browser_and_fit_on_a_phone(tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome") or pytest.skip("there is no browser")
    fragment = TEMPLATE.read_text(encoding="utf-8").replace("_static/explorer.js", explorer.FILE.as_uri())
    assert not re.search(r"https?:", fragment)  # nothing from elsewhere
    page = tmp_path / "page.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><body style="width: 374px; margin: 8px">{fragment}'
        f"<script>{MOVES}</script>",
        encoding="utf-8",
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=390,800", "--dump-dom"]
    run = [browser, *flags, f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()]
    dom = subprocess.run(run, capture_output=True, text=True, timeout=120, check=True).stdout
    found = json.loads(html.unescape(re.search(r'data-told="([^"]*)"', dom)[1]))
    (how, at, values), (between, inside, _), (_, least, _) = found["told"]
    assert (how, values) == ("Computed from plans.", ["1", "10,000", "10"])
    assert between == "Interpolated between computed points, so not exact."
    needed = explorer.numbers_of(1, 10_000, 10)["logistic_needed"]
    assert float(at["explorer-logistic_needed"]) == float(f"{needed:.2g}")
    assert at["explorer-advantage"] == "46 %"
    assert "46 %" < inside["explorer-advantage"] < "77 %"
    assert least["explorer-mean"] == "100 % or more"
    assert found["labels"] == [1, 1, 1]
    assert found["spoken"] == ["0.1", "100", "100"]
    assert found["focus"] == [True] * 3
    assert found["wide"] <= 0
