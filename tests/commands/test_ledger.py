"""The command line with a ledger: make one, show it, charge a fit to it."""

import json

import joblib
import pytest

from dplearn.commands import main
from dplearn.privacy import ApproxDP, PrivacyLedger, ReleaseRecord, ZeroConcentratedDP


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("age,label\n" + "\n".join(f"{i % 9},{'yes' if i % 9 > 4 else 'no'}" for i in range(90)))
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "budget.ledger"


def run(capsys, *arguments):
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def fit(capsys, table, file, *extra):
    out = table.parent / "model.joblib"
    asked = ["--learner", "stump", "--ledger", file, *extra]
    return run(capsys, "fit", table, "--target", "label", "--out", out, *asked)


def one_line(status, out, err, *, holds):
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert holds in err


def test_a_ledger_is_made_charged_and_shown(capsys, table, file):
    status, out, err = run(capsys, "ledger", file, "--create", "--epsilon", "1.5", "--delta", "1e-6")
    assert (status, err) == (0, "")
    assert "A privacy ledger of epsilon 1.5, delta 1e-06" in out
    assert PrivacyLedger.open(file).budget == ApproxDP(1.5, 1e-6)
    for epsilon in ("1", "0.25"):
        assert fit(capsys, table, file, "--epsilon", epsilon)[0] == 0
    status, out, err = run(capsys, "ledger", file)
    assert (status, err) == (0, "")
    assert [line.split()[-3:] for line in out.splitlines()[2:]] == [
        ["ExponentialMechanismClassifier", "1", "0"],
        ["ExponentialMechanismClassifier", "0.25", "0"],
        ["spent", "1.25", "0"],
        ["remaining", "0.25", "1e-06"],
    ]


def test_a_budget_of_rho(capsys, table, file):
    assert run(capsys, "ledger", file, "--create", "--rho", "0.5")[0] == 0
    assert fit(capsys, table, file, "--epsilon", "1")[0] == 0
    assert PrivacyLedger.open(file).remaining() == ZeroConcentratedDP(0)


def test_json_holds_every_record(capsys, table, file):
    PrivacyLedger(1, path=file)
    fit(capsys, table, file)
    status, out, _ = run(capsys, "ledger", file, "--json")
    assert status == 0
    records = [ReleaseRecord.from_json(json.dumps(each)) for each in json.loads(out)["releases"]]
    assert records == PrivacyLedger.open(file).history()


def test_a_fit_that_does_not_fit_is_one_line_and_does_not_read_the_table(capsys, table, file):
    PrivacyLedger(0.5, path=file)
    absent = table.with_name("absent.csv")
    for path in (table, absent):
        result = run(
            capsys, "fit", path, "--target", "label", "--out", table.with_name("m"), "--ledger", file
        )
        one_line(*result, holds="does not fit into the budget: asked epsilon 1, delta 0; spent epsilon 0")
    assert not table.with_name("m").exists()
    assert PrivacyLedger.open(file).history() == []


def test_other_refusals_cost_nothing(capsys, table, file):
    PrivacyLedger(5, path=file)
    for extra in (["--labels", "no"], ["--epsilon", "-1"], ["--target", "lable"], ["--out", "no/folder"]):
        assert fit(capsys, table, file, *extra)[0] == 2
    assert PrivacyLedger.open(file).history() == []


def test_the_model_file_does_not_contain_the_path_of_the_ledger(capsys, table, file):
    PrivacyLedger(5, path=file)
    assert fit(capsys, table, file)[0] == 0
    out = table.parent / "model.joblib"
    assert b"budget.ledger" not in out.read_bytes()
    assert joblib.load(out)[-1].ledger is None


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        ([], "does not exist"),
        (["--epsilon", "1"], "--epsilon goes with --create: a ledger's budget does not change"),
        (["--delta", "0"], "--delta goes with --create"),
        (["--create"], "--create needs --epsilon, with --delta or without, or --rho alone"),
        (["--create", "--epsilon", "1", "--rho", "1"], "--create needs --epsilon"),
        (["--create", "--delta", "1e-6", "--rho", "1"], "--create needs --epsilon"),
        (["--create", "--epsilon", "lots"], "epsilon must be a finite number at least 0, got 'lots'"),
        (["--create", "--epsilon", "1", "--delta", "2"], "delta must be a finite number"),
    ],
    ids=str,
)
def test_bad_options_are_one_line_and_make_no_file(capsys, file, arguments, holds):
    one_line(*run(capsys, "ledger", file, *arguments), holds=holds)
    assert not file.exists()


def test_a_ledger_is_not_made_twice_and_a_table_is_none(capsys, table, file):
    PrivacyLedger(1, path=file).charge(ApproxDP(1))
    again = run(capsys, "ledger", file, "--create", "--epsilon", "1")
    one_line(*again, holds="exists; without --create it is shown")
    one_line(*run(capsys, "ledger", table), holds="is not a ledger")
    one_line(*fit(capsys, table, table), holds="is not a ledger")
    one_line(*fit(capsys, table, table.parent), holds="is not a file")


def test_out_never_overwrites_an_input(capsys, table, file, tmp_path):
    assert run(capsys, "ledger", file, "--create", "--epsilon", "9", "--delta", "1e-4")[0] == 0
    schema, test, model = tmp_path / "schema.json", tmp_path / "test.csv", tmp_path / "model.joblib"
    schema.write_text(json.dumps({"columns": {"age": {"type": "floats"}}}))
    test.write_bytes(table.read_bytes())
    (tmp_path / "folder").mkdir()
    asked = ["fit", table, "--target", "label", "--ledger", file, "--schema", schema, "--test", test, "--out"]
    for read in (table, file, schema, test):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(read)
        before = read.read_bytes()
        for out in (read, tmp_path / "folder" / ".." / read.name, tmp_path / "link"):
            holds = "--out must not be a file that this command reads, got"
            one_line(*run(capsys, *asked, out), holds=holds)
        assert read.read_bytes() == before
    assert PrivacyLedger.open(file).history() == []
    assert run(capsys, *asked, model)[0] == 0
    for read in (table, model):
        before = read.read_bytes()
        one_line(*run(capsys, "predict", model, table, "--out", read), holds="--out must not be a file that")
        assert read.read_bytes() == before
    for asked in (["fit", table, "--target", "label"], ["predict", model, table]):
        one_line(*run(capsys, *asked, "--out", file), holds="--out must not be a ledger")


def test_out_is_written_whole_or_not_at_all(capsys, table, tmp_path, monkeypatch):
    out = tmp_path / "model.joblib"
    out.write_bytes(b"an older model")

    def half(model, path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(joblib, "dump", half)
    fit = ["fit", table, "--target", "label", "--out", out, "--epsilon", "9", "--delta", "0"]
    one_line(*run(capsys, *fit), holds="No space left on device")
    assert out.read_bytes() == b"an older model"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.joblib", "table.csv"]
