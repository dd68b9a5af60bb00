"""The page of outside audits shows what is recorded, and the record says what the page claims."""

import importlib.util
import json
import sys
from pathlib import Path

import outside_tables as tables
import pytest

from dplearn.audit.cases import CASES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "outside_audits.md"


def load(folder, name):
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    loaded = set(sys.modules)
    yield lambda name: load("benchmarks", name)
    for name in set(sys.modules) - loaded:
        if not name.startswith("dplearn"):
            sys.modules.pop(name)


AUDITS, ACCOUNTING = tables.record("outside_audits"), tables.record("accounting_oracles")


def test_the_page_shows_every_table_as_it_was_recorded():
    text = PAGE.read_text(encoding="utf-8")
    assert tables.TABLES.written(text) == text  # else: python docs/outside_tables.py
    assert set(tables.TABLES.names(text)) == set(tables.TABLES.texts)


def test_no_outside_tool_refutes_a_correct_fit():
    assert {tool for row in AUDITS["rows"] for tool in row["tools"]} == {tables.RECORDER, tables.AUDITORIUM}
    for row in AUDITS["rows"]:
        found = [tester(row, "correct") for tester in tables.testers().values()]
        assert not any(each["refutes"] for each in found if each)
        assert all(each["epsilon_lower"] <= row["exact"]["correct"] + 1e-9 for each in found if each)
    assert [row["violations"] for row in AUDITS["replays"].values() if row["violations"]] == []


def test_every_tester_refutes_some_broken_fit_or_the_page_says_that_it_sees_nothing():
    text = PAGE.read_text(encoding="utf-8")
    for name, tester in tables.testers().items():
        refuted = [row for row in AUDITS["rows"] if (tester(row, "broken") or {"refutes": False})["refutes"]]
        assert refuted or f"| {name} | 0 of " in text


def test_every_broken_replay_is_caught():
    for row in AUDITS["replays"].values():
        assert all(mistake["caught"] for mistake in row["mistakes"].values())


def test_the_pairs_of_the_record_attain_the_frozen_epsilon_of_their_case(benchmark):
    targets = benchmark("audit_targets").TARGETS
    frozen = [row for row in AUDITS["rows"] if targets[row["target"]].case is CASES.get(row["target"])]
    assert len(frozen) >= 12
    for row in frozen:
        exact = float(CASES[row["target"]].frozen()["epsilon"])
        assert row["exact"]["correct"] == pytest.approx(exact, abs=2e-6)
        assert row["exact"]["broken"] is None or row["exact"]["broken"] > row["epsilon"]


def test_the_record_is_of_all_targets(benchmark):
    targets = benchmark("audit_targets").TARGETS
    assert {row["target"] for row in AUDITS["rows"]} == set(targets)
    for row in AUDITS["rows"]:
        assert row["tables"] == [repr(rows) for rows in targets[row["target"]].pair]


FAKE = """
import json, sys
from pathlib import Path
import numpy as np
folder, out = map(Path, sys.argv[1:3])
results = {}
for path in folder.glob("*.npz"):
    drawn, about = np.load(path), json.loads(path.with_suffix(".json").read_text())
    results[path.stem] = {}
    for variant in about["outcomes"]:
        sides = [drawn[f"{variant}_{side}"] for side in ("rows", "neighbour")]
        one, other = (np.bincount(side, minlength=99) + 1 for side in sides)
        bound = float(np.log(one / other).max())
        found = {"refutes": bound > 2 * about["epsilon"], "epsilon_lower": bound, "samples": len(one)}
        results[path.stem][variant] = found | {"histogram": found, "hockey_stick": found}
out.write_text(json.dumps({"versions": {}, "failure": 0, "results": results, "replays": {}}))
"""


@pytest.mark.nightly
def test_a_run_with_a_fake_tool_flags_the_broken_fit_and_not_the_correct_one(
    benchmark, monkeypatch, tmp_path
):
    audits = benchmark("outside_audits")
    (tmp_path / "fake.py").write_text(FAKE)
    monkeypatch.setattr(audits, "DRIVERS", dict.fromkeys(audits.TOOLS, tmp_path / "fake.py"))
    monkeypatch.setattr(audits, "environment", lambda *_: sys.executable)
    out = tmp_path / "found.json"
    options = ["--work", tmp_path / "work", "--json", out, "--samples", 600, "--targets", "grouped_counts"]
    monkeypatch.setattr(sys, "argv", ["outside_audits.py", *map(str, options)])
    audits.main()
    (row,) = json.loads(out.read_text())["rows"]
    for tool in audits.TOOLS:
        assert not row["tools"][tool]["correct"]["refutes"]
        assert row["tools"][tool]["broken"]["refutes"]
    assert row["exact"]["correct"] == pytest.approx(1)
    assert row["exact"]["broken"] == pytest.approx(3)


def test_our_own_audit_catches_the_broken_fit_too(benchmark):
    target = benchmark("audit_targets").TARGETS["grouped_counts"]
    assert target.exact("broken") == pytest.approx(3)
    assert target.exact("correct") == pytest.approx(1)


def test_no_accounting_figure_of_the_record_is_on_the_unsafe_side():
    assert [row["broken"] for row in ACCOUNTING["rows"] if row["broken"]] == []
    assert all(row["least"] is not None for row in ACCOUNTING["rows"])
