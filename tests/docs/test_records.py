"""What benchmarks record of peers and of outside audits: runs go on, and records say enough."""

import importlib.util
import sys
from pathlib import Path

import compared
import outside
import pytest

from dplearn.audit.cases import CASES

ROOT = Path(__file__).parents[2]
ALL = ROOT / "benchmarks" / "all"


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


environments, records = loaded(ALL / "environments.py"), loaded(ALL / "record.py")


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ((0.9, 0.8, 0.85), (0.8, 0.7, 0.75), compared.AHEAD),  # ahead by .1 in each split
        ((0.9, 0.8, 0.85), (0.91, 0.81, 0.86), compared.BEHIND),
        ((0.9, 0.8, 0.85), (0.904, 0.804, 0.854), compared.TIE),  # in each split, but by less than .005
        ((0.9,), (0.895,), compared.TIE),  # one fit: .01 is close
        ((0.9, 0.91), (0.85,), compared.TIE),  # one common split; those of ours differ by .01
        ((0.9, 0.8, 0.85), (0.85, 0.76, 0.79), compared.AHEAD),
        ((0.9, 0.8, 0.85), (0.87, 0.79, 0.83), compared.TIE),  # .02, with a deviation of .01
    ],
)
def test_differences_are_taken_split_by_split(ours, theirs, said):
    scores = [compared.Score(0.0, "", tuple(enumerate(runs))) for runs in (ours, theirs)]
    assert compared.compared(*scores) == said


TOY = """
import json, sys
for cell in json.loads(sys.stdin.read())["cells"]:
    if cell["epsilon"] == 2:
        raise SystemExit("out of memory")
    print(json.dumps({"accuracy": cell["epsilon"] / 10}), flush=True)
"""


def ask(record, epsilons):
    """Ask the toy peer for what the record lacks, as the benchmark does; return how many cells were asked."""
    cells = [{"part": "accuracy", "peer": "toy", "epsilon": epsilon} for epsilon in epsilons]
    left = record.missing(cells)
    found = environments.answers(sys.executable, ["-c", TOY], {"cells": left}, 100.0)
    for cell, answer in zip(left, found, strict=True):
        record.add(cell, answer)
    return len(left)


def test_a_run_goes_on_where_it_stopped_and_a_peer_that_ends_is_an_answer(tmp_path):
    path = tmp_path / "record.json"
    assert ask(records.Record(path), [1, 4]) == 2
    assert ask(records.Record(path), [1, 4, 2, 5]) == 2
    again = records.Record(path)
    found = {cell["epsilon"]: cell.get("accuracy", cell.get("error")) for cell in again.cells}
    assert found == {1: 0.1, 2: "the program ended: out of memory", 4: 0.4, 5: 0.5}
    again.forget(lambda cell: cell["epsilon"] == 4)
    assert ask(again, [1, 4, 2, 5]) == 1


def test_checks_have_words_and_ours_never_goes_wrong_on_bad_input():
    words = compared.words_of_checks()
    known = {(cell["peer"], cell["learner"], cell["check"]): cell for cell in compared.cells("checks")}
    checks = loaded(ALL / "checks.py")
    assert words == {"INPUTS": checks.INPUTS, "LEAKS": checks.LEAKS}
    for learner in checks.CHECKED[compared.OURS]:
        for check in checks.INPUTS:
            assert known[compared.OURS, learner, check]["outcome"] in ("refused", "accepted", "warned")
        assert known[compared.OURS, learner, "seed"]["outcome"] == "fresh"
        assert known[compared.OURS, learner, "grid"]["outcome"] == "integers"
        assert known[compared.OURS, learner, "neighbours"]["outcome"] == "same"


# outside audits

AUDITS, ACCOUNTING = outside.record("outside_audits"), outside.record("accounting_oracles")


@pytest.fixture
def benchmark(monkeypatch):
    """Return what loads a program of `benchmarks` that imports others, and forgets them."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if not name.startswith("dplearn"):
            sys.modules.pop(name)


def test_no_outside_tool_refutes_a_correct_fit_and_each_some_broken_one():
    assert {tool for row in AUDITS["rows"] for tool in row["tools"]} == {outside.RECORDER, outside.AUDITORIUM}
    counts = {row[0]: row for row in outside.controls()}
    for name, tester in outside.testers().items():
        found = [(row, tester(row, "correct")) for row in AUDITS["rows"] if tester(row, "correct")]
        assert not any(each["refutes"] for _, each in found)
        assert all(each["epsilon_lower"] <= row["exact"]["correct"] + 1e-9 for row, each in found)
        broken = [tester(row, "broken") for row in AUDITS["rows"]]
        assert any(each and each["refutes"] for each in broken) or counts[name][2].startswith("0 of ")
    for row in AUDITS["replays"].values():
        assert not row["violations"]
        assert all(mistake["caught"] for mistake in row["mistakes"].values())
    # No figure of accounting is on the unsafe side.
    assert all(row["least"] is not None and not row["broken"] for row in ACCOUNTING["rows"])


def test_the_record_is_of_all_targets_whose_pairs_attain_the_frozen_epsilon_of_their_case(benchmark):
    targets = benchmark("audit_targets").TARGETS
    assert {row["target"] for row in AUDITS["rows"]} == set(targets)
    assert all(
        row["tables"] == [repr(rows) for rows in targets[row["target"]].pair] for row in AUDITS["rows"]
    )
    frozen = [row for row in AUDITS["rows"] if targets[row["target"]].case is CASES.get(row["target"])]
    assert len(frozen) >= 12
    for row in frozen:
        exact = float(CASES[row["target"]].frozen()["epsilon"])
        assert row["exact"]["correct"] == pytest.approx(exact, abs=2e-6)
        assert row["exact"]["broken"] is None or row["exact"]["broken"] > row["epsilon"]
    target = targets["grouped_counts"]
    assert (target.exact("correct"), target.exact("broken")) == (pytest.approx(1), pytest.approx(3))


@pytest.mark.nightly
def test_no_plan_fails_more_often_than_it_says_at_the_size_that_it_asks_for(benchmark, monkeypatch, tmp_path):
    sizes = benchmark("bench_sizes")
    monkeypatch.setattr(sys, "argv", ["bench_sizes.py", "--times", "60", "--json", str(tmp_path / "s.json")])
    assert sizes.main() == 0
    monkeypatch.setattr(sizes, "tasks", lambda: [sizes.Task("always wrong", 4, lambda n, generator: True)])
    assert sizes.main() == 1
