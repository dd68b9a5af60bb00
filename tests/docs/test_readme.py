"""The first page: one screen, a picture drawn from the recorded figures, and a row for every learner."""

import importlib.util
import json
import re
from html import unescape
from pathlib import Path

import dplearn
from dplearn import learners
from tests.laws.conftest import PREDICTORS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_one_page_whose_picture_comes_first():
    lines = README.splitlines()
    assert len(lines) <= 140
    pictures = [number for number, line in enumerate(lines) if line.startswith("![")]
    assert len(pictures) == 2  # the badges, and the figure
    assert pictures[-1] < 60


def test_what_it_links_to_exists():
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", README)]
    local = [target for target in targets if "://" not in target]
    assert len(local) > 20
    assert [target for target in local if not (ROOT / target).exists()] == []


def test_every_learner_has_a_row():
    named = set(re.findall(r"`(\w+)`", README))
    exported = {name for name in learners.__all__ if re.search(r"(Classifier|Regressor)$", name)}
    assert exported <= set(dplearn.__all__)
    assert exported - named == set()


def test_the_learners_without_scikit_learns_checks_are_those_it_names():
    sentence = re.search(r"Scikit-learn's own checks [^:]*? run on all but (.*?), for ", README, re.DOTALL)
    exported = {name for name in learners.__all__ if re.search(r"(Classifier|Regressor)$", name)}
    assert exported - {type(each).__name__ for each in PREDICTORS} == set(re.findall(r"`(\w+)`", sentence[1]))


def test_the_picture_shows_what_was_recorded():
    spec = importlib.util.spec_from_file_location("draw_accuracy", ROOT / "benchmarks" / "draw_accuracy.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    rows = json.loads(script.RECORD.read_text(encoding="utf-8"))["rows"]
    lines, levels = script.lines_of(rows), script.levels_of(rows)
    assert {len(points) for points in lines.values()} == {3}
    text = re.search(r"<dc:description>(.*?)</dc:description>", script.PICTURE.read_text(), re.DOTALL)[1]
    shown = json.loads(unescape(text))  # else: python benchmarks/draw_accuracy.py
    assert shown == json.loads(json.dumps({"lines": lines, "levels": levels}))
