"""The other commands: ledgers that are made, charged and shown, audits, the demonstration, and help."""

import json
import subprocess
import sys
from dataclasses import replace

import joblib
import pytest

from dplearn.privacy import ApproxDP, PrivacyLedger, ReleaseRecord, ZeroConcentratedDP
from tests.commands.conftest import is_refused

STUMP = "fit bits.csv --target label --learner stump --out m --ledger a.ledger"


def test_a_ledger_is_made_charged_and_shown(run, bits, tmp_path):
    found = run("ledger a.ledger --create --epsilon 1.5 --delta 1e-6")
    assert (found.status, found.err) == (0, "")
    assert "A privacy ledger of epsilon 1.5, delta 1e-06" in found.out
    ledger = PrivacyLedger.open(tmp_path / "a.ledger")
    assert ledger.budget == ApproxDP(1.5, 1e-6)
    assert "left in a.ledger: epsilon 0.5, delta 1e-06" in run(STUMP).out
    assert run(f"{STUMP} --epsilon 0.25").status == 0
    assert [line.split()[-3:] for line in run("ledger a.ledger").out.splitlines()[2:]] == [
        ["ExponentialMechanismClassifier", "1", "0"],
        ["ExponentialMechanismClassifier", "0.25", "0"],
        ["spent", "1.25", "0"],
        ["remaining", "0.25", "1e-06"],
    ]
    shown = json.loads(run("ledger a.ledger --json").out)["releases"]
    assert [ReleaseRecord.from_json(json.dumps(each)) for each in shown] == ledger.history()
    assert b"a.ledger" not in (tmp_path / "m").read_bytes()  # the model may be shared
    assert joblib.load(tmp_path / "m")[-1].ledger is None


@pytest.mark.parametrize("budget", ["--epsilon 1", "--rho 0.5"])
def test_a_ledger_protects_what_is_asked(run, tmp_path, budget):
    assert run(f"ledger a.ledger --create {budget} --protects groups").status == 0
    assert PrivacyLedger.open(tmp_path / "a.ledger").budget.protects == "groups"


def test_a_budget_of_rho(run, bits, tmp_path):
    assert run("ledger a.ledger --create --rho 0.5").status == 0
    assert run(STUMP).status == 0
    assert PrivacyLedger.open(tmp_path / "a.ledger").remaining() == ZeroConcentratedDP(0)


@pytest.mark.parametrize(
    "options",
    ["", "--learner naive_bayes", "--target a --task regression --target-range 0,1 --no-interactions"],
)
def test_a_ledger_without_delta_is_charged_none(run, bits, tmp_path, options):
    ledger = PrivacyLedger(3, path=tmp_path / "a.ledger")
    assert "left in" in run(f"fit bits.csv --target label --out m --ledger a.ledger {options}").out
    assert (ledger.spent().epsilon, ledger.spent().delta) == (1, 0)
    given = "fit bits.csv --target label --out m --ledger a.ledger --learner naive_bayes --delta 1e-6"
    is_refused(run(given), "--delta 0 asks for none")


def test_an_audit_fails_when_a_law_is_not_the_frozen_one_or_breaks_its_claim(run, monkeypatch):
    from dplearn.audit import cases

    found = run("audit frequent_keys")
    assert (found.status, found.out.split()[-1]) == (0, "kept")
    case = cases.CASES["small_classifier"]
    for fit, verdict in (
        (lambda rows, dice: ("always", 0), "kept, but the distributions differ from the frozen ones"),
        (lambda rows, dice: (str(rows), 0), "BROKEN"),
    ):
        monkeypatch.setitem(cases.CASES, "small_classifier", case.with_fit(fit))
        found = run("audit small_classifier")
        assert (found.status, verdict in found.out) == (1, True)


@pytest.mark.nightly
def test_an_audit_traces_a_learner_beside_a_control_that_is_refuted(run):
    found = run("audit --trace points")
    _, points, control = found.out.splitlines()
    assert found.status == 0
    assert points.startswith("PointClassifier ")
    assert points.endswith("not refuted")
    assert control.endswith("refuted, as it must be")


@pytest.mark.parametrize(("name", "verdict"), [("claim", "refuted"), ("control", "but it must be")])
def test_a_trace_fails_if_a_claim_is_refuted_or_the_control_is_not(run, monkeypatch, name, verdict):
    from dplearn.commands import audit

    majority = replace(
        audit.CONTROL, n=100, k=4000, fit_predict=lambda claim: lambda X, Y: 2 * Y.sum(axis=0) > len(Y)
    )
    points = audit.TRACED["points"]
    learner, control = (replace(majority), majority) if name == "claim" else (points, replace(points))
    monkeypatch.setitem(audit.TRACED, "points", learner)
    monkeypatch.setattr(audit, "CONTROL", control)
    found = run("audit --trace points")
    assert (found.status, verdict in found.out) == (1, True)


def is_the_demonstration(status, out, err):
    assert (status, err) == (0, "")
    rows = {line[:28].strip(): float(line.split()[-3]) for line in out.splitlines() if " +- " in line}
    assert set(rows) >= {"private, epsilon = 1", "scikit-learn's stump", "majority class"}
    assert rows["private, epsilon = 3"] > rows["majority class"] + 0.15
    assert "exp(1)" in out


def test_without_a_command_the_demonstration_runs(run, monkeypatch):
    monkeypatch.setattr("dplearn.commands.demo.SPLITS", 3)
    for command in ("", "demo"):
        found = run(command)
        is_the_demonstration(found.status, found.out, found.err)


def test_the_help_imports_nothing_slow():
    code = "import runpy, sys\nsys.argv = ['dplearn', '--help']\n"
    code += "try: runpy.run_module('dplearn', run_name='__main__')\nexcept SystemExit: pass\n"
    code += "print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fit on a table in a file" in done.stdout
    loaded = set(done.stderr.split())
    assert "dplearn.commands.options" in loaded
    assert not loaded & {"dplearn.audit", "sklearn", "numpy"}
