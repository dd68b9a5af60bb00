"""What "Choose a learner" says of records is what its figure shows."""

import re
import runpy
from pathlib import Path

import matplotlib
import pytest

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"([\d,]+)( million)?")


@pytest.fixture(scope="module")
def script():
    matplotlib.use("agg")
    return runpy.run_path(str(DOCS / "gallery" / "plot_choose_a_learner.py"))


def test_the_table_rounds_up_what_the_figure_shows(script):
    page = (DOCS / "choose_a_learner.md").read_text(encoding="utf-8")
    text = page.partition("## Learners\n")[2].partition("\n## ")[0]
    for row in script["rows"]:
        (line,) = re.findall(rf"^\| `{row[0].__name__}` .*\|$", text, re.MULTILINE)
        said = NUMBER.findall(line.split("|")[-2])
        models = ["central", "local"] if "local" in line.split("|")[-2] else ["central"]
        for (digits, million), model in zip(said, models, strict=True):
            number = int(digits.replace(",", "")) * (10**6 if million else 1)
            needed = script["records_needed"](row, 1.0, model)
            assert needed <= number <= 1.3 * needed + 100, row[0].__name__
