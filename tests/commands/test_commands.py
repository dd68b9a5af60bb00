"""The command line, run as users run it."""

import csv
import gzip
import json
import subprocess
import sys
from dataclasses import replace

import joblib
import pandas as pd
import pytest

from dplearn.commands import main
from dplearn.privacy import PrivacyLedger

SECRET = "Xq7-secret"


@pytest.fixture
def table(tmp_path):
    """Mixed cells: numbers, text, gaps; the label follows the job."""
    path = tmp_path / "table.csv"
    jobs = ["farmer", "clerk", "", "miner"] * 100
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "job", "label"])
        writer.writerows(
            [20 + i % 50 if i % 7 else "", job, "yes" if job == "farmer" else "no"]
            for i, job in enumerate(jobs)
        )
    return path


def run(capsys, *arguments):
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def test_fit_then_predict_on_a_users_own_file(capsys, table, tmp_path):
    model, labels, test = tmp_path / "model.joblib", tmp_path / "labels.csv", tmp_path / "public.csv"
    test.write_bytes(table.read_bytes())
    status, out, err = run(
        capsys, "fit", table, "--target", "label", "--epsilon", "20", "--out", model, "--test", test
    )
    assert (status, err) == (0, "")
    assert "exp(20)" in out
    assert "the set of labels, and their type, is public" in out
    assert "declared public: 1.0000" in out
    assert run(capsys, "predict", model, table, "--out", labels)[0] == 0
    written = list(csv.reader(labels.read_text().splitlines()))
    assert written[0] == ["prediction"]
    assert [row[0] for row in written[1:]] == ["yes", "no", "no", "no"] * 100


def test_the_private_table_is_no_public_test_file(capsys, table, tmp_path):
    link, model = tmp_path / "link.csv", tmp_path / "m.joblib"
    link.symlink_to(table)
    for test in (table, link):
        result = run(capsys, "fit", table, "--target", "label", "--out", model, "--test", test)
        one_line(*result, holds="--test must not be the private table")
        assert not model.exists()


def test_no_accuracy_is_printed_unless_a_public_file_is_named(capsys, table, tmp_path):
    _, out, _ = run(capsys, "fit", table, "--target", "label", "--out", tmp_path / "m.joblib")
    assert "Accuracy" not in out


def test_the_model_file_holds_no_cell_of_the_table(capsys, table, tmp_path):
    text = table.read_text().replace("miner", SECRET)
    table.write_text(text)
    run(capsys, "fit", table, "--target", "label", "--out", tmp_path / "m.joblib")
    assert SECRET.encode() not in (tmp_path / "m.joblib").read_bytes()
    assert joblib.load(tmp_path / "m.joblib").feature_names_in_.tolist() == ["age", "job"]


@pytest.mark.parametrize(
    "age",
    [
        {"type": "floats", "missing": True},
        {"type": "integers", "low": 0, "high": 99, "outside": "clip", "missing": True},
        {"type": "grid", "low": 0, "high": 99, "size": 100, "outside": "clip", "missing": True},
    ],
    ids=lambda age: age["type"],
)
def test_a_schema_makes_rules_readable_and_labels_declared(capsys, table, tmp_path, age):
    schema = tmp_path / "schema.json"
    columns = {
        "job": {"type": "categories", "values": ["farmer", "clerk", "miner", None]},
        "age": age,
    }
    schema.write_text(json.dumps({"columns": columns, "labels": ["no", "yes"]}))
    model = tmp_path / "m.joblib"
    fit = ["fit", table, "--target", "label", "--epsilon", "20", "--schema", schema, "--out", model]
    status, out, _ = run(capsys, *fit, "--learner", "stump")
    assert status == 0
    assert "Released rule: 'yes' if job == 'farmer', else 'no'" in out
    assert "labels are among the declared classes" in out
    assert run(capsys, "predict", model, table, "--out", tmp_path / "l.csv")[0] == 0


def test_a_column_of_texts_under_numbers_is_named_by_its_released_masses(capsys, table, tmp_path):
    model = tmp_path / "model.joblib"
    known = ["fit", table, "--target", "label", "--labels", "no,yes", "--epsilon", "20", "--out", model]
    _, out, _ = run(capsys, *known, "--learner", "additive", "--numbers", "age,job")
    assert "Column 'job': about" in out
    assert "Column 'age'" not in out
    assert "do not list the column under --numbers or --integers" in out
    for listed in (["--numbers", "age"], []):  # without any, nobody listed a column
        _, out, _ = run(capsys, *known, "--learner", "additive", *listed)
        assert "Model written to" in out
        assert "Column '" not in out


def test_a_column_of_texts_that_a_schema_calls_numbers_is_named_too(capsys, table, tmp_path):
    schema = tmp_path / "schema.json"
    columns = {name: {"type": "floats", "missing": True, "outside": "accept"} for name in ("age", "job")}
    schema.write_text(json.dumps({"columns": columns, "labels": ["no", "yes"]}))
    fit = ["fit", table, "--target", "label", "--schema", schema, "--epsilon", "20", "--out", tmp_path / "m"]
    _, out, _ = run(capsys, *fit, "--learner", "additive")
    assert "Column 'job': about" in out
    assert f"describe the column as categories in {schema}." in out


def test_a_range_may_begin_with_a_negative_number(capsys, table, tmp_path):
    model = tmp_path / "model.joblib"
    given = ["fit", table, "--target", "age", "--task", "regression", "--clip-target", "--out", model]
    complete = tmp_path / "complete.csv"
    complete.write_text(
        "\n".join(line for line in table.read_text().splitlines() if not line.startswith(","))
    )
    given[1] = complete
    assert run(capsys, *given, "--target-range", "-5,90.5", "--epsilon", "9")[0] == 0
    assert joblib.load(model)[-1].target_range_ == (-5.0, 90.5)


def one_line(status, out, err, *, holds):
    assert status == 2
    assert "warning" not in err
    assert err.count("\n") == 1
    assert holds in err
    assert "Traceback" not in err
    assert SECRET not in err + out


@pytest.mark.parametrize(
    ("extra", "holds"),
    [
        (["--epsilon", "-1"], "epsilon must be a finite number above 0, got -1"),
        (["--epsilon", "lots"], "epsilon must be a finite number above 0, got 'lots'"),
        (["--learner", "stump", "--set", "method=magic"], "method must be one of"),
        (["--labels", "no,no"], "classes must be distinct"),
        (["--labels", "no,yes,"], "--labels must list labels that are not empty, got 'no,yes,'"),
        (["--labels", "-1,1"], "must hold only the labels that --labels lists"),
        (
            ["--labels", "no"],
            "'label' must hold only the labels that --labels lists ('no'), and holds another",
        ),
        (["--target", "lable"], "got 'lable'; the first line of the table has no such cell"),
        (["--target", "lable", "--header"], "a column of the table, got 'lable'; did you mean 'label'?"),
        (["--target", "cost", "--header"], "got 'cost'; its columns are 'age', 'job', 'label'"),
        (["--schema", "nowhere.json"], "nowhere.json: No such file or directory"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
    ],
)
def test_bad_options_are_one_line_with_status_2(capsys, table, tmp_path, extra, holds):
    model = tmp_path / "m.joblib"
    one_line(*run(capsys, "fit", table, "--target", "label", "--out", model, *extra), holds=holds)
    assert not model.exists()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (f"age,label\n1,no\n{SECRET}\n", "every row must have as many cells as the first line, 2"),
        (
            f"age,label\n{SECRET},\n",
            "column 'label' must have no empty cell: leave records without a label out",
        ),
        ("age,label\n", "needs a header line and at least one row"),
        ("age,age\n1,2\n", "if this line is the header, in which names must be distinct and not empty"),
        (f"{SECRET};1,5;no\n{SECRET};2,5;no\n", "the first line looks like a record"),
        (f"age;label\n{SECRET};no\n", "separated by commas, got a first line with semicolons"),
        (f"age\tlabel\n{SECRET}\tno\n", "separated by commas, got a first line with tabs"),
        ("", "empty"),
        (f"label\n{SECRET}\n", "the table must have a column besides the target"),
    ],
)
def test_bad_tables_are_one_line_without_a_cell(capsys, tmp_path, text, holds):
    table = tmp_path / "t.csv"
    table.write_text(text)
    one_line(*run(capsys, "fit", table, "--target", "label", "--out", tmp_path / "m"), holds=holds)


def test_another_encoding_is_named_as_such(capsys, tmp_path):
    table = tmp_path / "t.csv"
    table.write_bytes("age,town,label\n1,K\u00f6ln,no\n".encode("latin-1"))
    result = run(capsys, "fit", table, "--target", "label", "--out", tmp_path / "m")
    one_line(*result, holds="must be encoded in UTF-8")


def test_undeclared_labels_are_reported_as_published(capsys, table, tmp_path):
    fit = ["fit", table, "--target", "label", "--out", tmp_path / "m.joblib"]
    assert "published: 'no', 'yes'; --labels A,B,... declares them." in run(capsys, *fit)[1]
    assert "--labels" not in run(capsys, *fit, "--labels", "no,yes")[1]
    numbers = table.read_text().splitlines()
    for n, most in ((60, 20), (300, 60), (2000, 200)):
        table.write_text("\n".join([numbers[0]] + [f"1,{i},{i}" for i in range(n)]))
        one_line(*run(capsys, *fit), holds=f"got {most} or more in 'label', and none is declared")


def test_a_cell_outside_its_schema_is_refused_without_being_shown(capsys, table, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"columns": {"job": {"type": "categories", "values": ["clerk"]}}}))
    result = run(capsys, "fit", table, "--target", "label", "--schema", schema, "--out", tmp_path / "m")
    one_line(*result, holds="in column 'job', a value lies outside the declared domain")
    assert "farmer" not in result[2]


def test_a_bad_schema_is_one_line(capsys, table, tmp_path):
    schema = tmp_path / "schema.json"
    for text, holds in [
        ("{", "must be JSON"),
        ("[]", "JSON object"),
        ('{"columns": {"a": {"type": "x"}}}', "'a'"),
        ('{"columns": {"a": {"type": "integers"}}}', "column 'a': type 'integers' needs the key 'low'"),
    ]:
        schema.write_text(text)
        result = run(capsys, "fit", table, "--target", "label", "--schema", schema, "--out", tmp_path / "m")
        one_line(*result, holds=holds)


def test_a_file_without_a_model_is_refused(capsys, table, tmp_path):
    one_line(*run(capsys, "predict", table, table, "--out", tmp_path / "l"), holds="not a model")
    one_line(*run(capsys, "predict", tmp_path / "no", table, "--out", tmp_path / "l"), holds="No such file")


def test_the_message_about_labels_outside_the_schema_names_its_file(capsys, table, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"columns": {"job": {"type": "hashed"}}, "labels": [0, 1]}))
    result = run(capsys, "fit", table, "--target", "label", "--schema", schema, "--out", tmp_path / "m")
    one_line(*result, holds=f"only the labels that {schema} lists ('0', '1'), and holds another")


def test_labels_that_differ_from_those_of_the_schema_are_refused(capsys, table, tmp_path):
    schema, ledger, model = tmp_path / "schema.json", tmp_path / "a.ledger", tmp_path / "m"
    schema.write_text(json.dumps({"columns": {"job": {"type": "hashed"}}, "labels": ["no", "yes"]}))
    PrivacyLedger(9, 0.1, ledger)
    fit = ["fit", table, "--target", "label", "--schema", schema, "--ledger", ledger, "--out", model]
    for labels in ("no,yes,perhaps", "no"):
        holds = (
            f"--labels must list the labels that {schema} lists ('no', 'yes'), or be left out, got '{labels}'"
        )
        one_line(*run(capsys, *fit, "--labels", labels), holds=holds)
    assert PrivacyLedger.open(ledger).history() == []
    assert not model.exists()
    assert run(capsys, *fit, "--labels", "yes,no", "--learner", "stump")[0] == 0


def test_the_message_about_text_for_a_learner_of_numbers_has_no_advice_on_python(capsys, tmp_path):
    rows = "".join(f"{i % 2},{i // 2 % 2},{'yes' if i % 2 else 'no'}\n" for i in range(400))
    bits, text, gap = (tmp_path / name for name in ("bits.csv", "text.csv", "gap.csv"))
    bits.write_text("a,b,label\n" + rows)
    text.write_text(f"a,b,label\n1,{SECRET},no\n" + rows)
    gap.write_text("a,b,label\n1,,no\n" + rows)
    schema, model = tmp_path / "s.json", tmp_path / "m"
    for table in (text, gap):
        fit = ["fit", table, "--target", "label", "--out", model]
        given = "--learner: ParityClassifier takes numbers only, and {} holds a cell that is empty or text;"
        one_line(*run(capsys, *fit, "--learner", "parity"), holds=given.format("a column"))
        one_line(*run(capsys, *fit, "--learner", "parity", "--header"), holds=given.format("column 'b'"))
    for kind in ({"type": "integers", "low": 0, "high": 1}, {"type": "bits"}):
        schema.write_text(json.dumps({"columns": {"a": kind, "b": kind}}))
        fit = ["fit", "--target", "label", "--out", model, "--schema", schema]
        one_line(*run(capsys, *fit, text), holds="in column 'b', a value lies outside the declared domain")
        assert run(capsys, *fit, bits)[0] == 0
        result = run(capsys, "predict", model, text, "--out", tmp_path / "o.csv")
        one_line(*result, holds="this one is missing, infinite, or no number, such as text")
    assert run(capsys, "fit", bits, "--target", "label", "--out", model, "--learner", "parity")[0] == 0
    result = run(capsys, "predict", model, gap, "--out", tmp_path / "o.csv")
    one_line(*result, holds=f"{model}: the model takes numbers only, and a column holds a cell that is empty")
    for table in (text, gap):
        assert "CellEncoder" not in run(capsys, "predict", model, table, "--out", tmp_path / "o.csv")[2]


def test_labels_are_compressed_where_the_name_of_the_file_says_so(capsys, table, tmp_path):
    model, plain = tmp_path / "m.joblib", tmp_path / "labels.csv"
    assert run(capsys, "fit", table, "--target", "label", "--out", model)[0] == 0
    assert run(capsys, "predict", model, table, "--out", plain)[0] == 0
    for name in ("labels.csv.gz", "LABELS.CSV.GZ"):
        assert run(capsys, "predict", model, table, "--out", tmp_path / name)[0] == 0
        assert gzip.decompress((tmp_path / name).read_bytes()) == plain.read_bytes()
        assert pd.read_csv(tmp_path / name).equals(pd.read_csv(plain))


def test_both_encodings_of_a_column_are_explained(capsys, table, tmp_path):
    fit = ["fit", table, "--target", "label", "--out", tmp_path / "m.joblib"]
    words = "NAME#text, a hash of the cell's text into one of 64 buckets"
    assert words in run(capsys, *fit, "--learner", "naive_bayes")[1]
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"columns": {"job": {"type": "hashed"}}}))
    assert "NAME#text" not in run(capsys, *fit, "--schema", schema)[1]


def test_an_unforeseen_failure_withholds_its_text(capsys, table, tmp_path, monkeypatch):
    def explode(*args):
        raise RuntimeError(SECRET)

    monkeypatch.setattr("dplearn.commands.table.assembled", explode)
    result = run(capsys, "fit", table, "--target", "label", "--out", tmp_path / "m")
    one_line(*result, holds="failed with RuntimeError; the details are withheld")


def test_audit_runs_a_case_by_name_and_refuses_other_names(capsys):
    status, out, _ = run(capsys, "audit", "frequent_keys")
    assert status == 0
    assert "kept" in out
    one_line(*run(capsys, "audit", "nothing"), holds="NAME must be a case")


def test_audit_fails_when_a_law_is_not_the_frozen_one(capsys, monkeypatch):
    from dplearn.audit import cases

    other = cases.CASES["small_classifier"].with_fit(lambda rows, dice: ("always", 0))
    monkeypatch.setitem(cases.CASES, "small_classifier", other)
    status, out, _ = run(capsys, "audit", "small_classifier")
    assert status == 1
    assert "differ from the frozen" in out


@pytest.mark.nightly
def test_audit_traces_a_learner_beside_a_control_that_is_refuted(capsys):
    status, out, _ = run(capsys, "audit", "--trace", "points")
    assert status == 0
    _, points, control = out.splitlines()
    assert points.startswith("PointClassifier ")
    assert points.endswith("not refuted")
    assert control.endswith("refuted, as it must be")
    words = "NAME must be a learner, got 'point'; did you mean points?"
    one_line(*run(capsys, "audit", "--trace", "point"), holds=words)


@pytest.mark.parametrize(("name", "verdict"), [("claim", "refuted"), ("control", "but it must be")])
def test_a_trace_fails_if_a_claim_is_refuted_or_the_control_is_not(capsys, monkeypatch, name, verdict):
    from dplearn.commands import audit

    majority = replace(
        audit.CONTROL, n=100, k=4000, fit_predict=lambda claim: lambda X, Y: 2 * Y.sum(axis=0) > len(Y)
    )
    points = audit.TRACED["points"]
    learner, control = (replace(majority), majority) if name == "claim" else (points, replace(points))
    monkeypatch.setitem(audit.TRACED, "points", learner)
    monkeypatch.setattr(audit, "CONTROL", control)
    status, out, _ = run(capsys, "audit", "--trace", "points")
    assert status == 1
    assert verdict in out


@pytest.mark.parametrize("anew", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_main_job_runs_alone_as_a_program(program, anew):
    if anew:
        done = subprocess.run([sys.executable, "-m", "dplearn"], capture_output=True, text=True, timeout=120)
    else:
        done = program("import runpy; runpy.run_module('dplearn', run_name='__main__', alter_sys=True)")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line[:28].strip(): float(line.split()[-3]) for line in done.stdout.splitlines() if " +- " in line}
    assert set(rows) >= {"private, epsilon = 1", "scikit-learn's stump", "majority class"}
    assert rows["private, epsilon = 3"] > rows["majority class"] + 0.15
    assert "exp(1)" in done.stdout


def test_declared_kinds_learn_the_schema_and_predict_reads_cells_alike(capsys, table, tmp_path):
    model, labels = tmp_path / "model.joblib", tmp_path / "labels.csv"
    options = ["--target", "label", "--labels", "no,yes", "--epsilon", "60", "--out", model]
    status, out, _ = run(capsys, "fit", table, *options, "--integers", "age")
    assert status == 0
    assert "Learned schema, released: Schema of 2 columns\n  'age': IntegerRange(low=" in out
    assert "'job': Categories(" in out
    assert (
        "assumes that the number of records and the number, names and types of the columns are public;" in out
    )
    assert run(capsys, "predict", model, table, "--out", labels)[0] == 0
    assert labels.read_text().splitlines()[1:] == ["yes", "no", "no", "no"] * 100
    learner = joblib.load(model)
    assert learner.guarantee_.epsilon == 60
    assert learner.domain.columns.kinds == ("integers", "categories")


@pytest.mark.parametrize(
    ("extra", "holds"),
    [
        (["--numbers", "wage"], "--numbers must list columns of the table other than the target, got 'wage'"),
        (["--integers", "label"], "--integers must list columns of the table other than the target"),
        (
            ["--numbers", "age", "--learner", "threshold"],
            "--numbers does not go with ThresholdClassifier, which does not learn a schema",
        ),
    ],
)
def test_kinds_of_other_columns_or_learners_are_refused(capsys, table, tmp_path, extra, holds):
    one_line(*run(capsys, "fit", table, "--target", "label", "--out", tmp_path / "m", *extra), holds=holds)


def test_kinds_and_a_schema_exclude_each_other(capsys, table, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"columns": {"age": {"type": "floats", "missing": True}}}))
    given = ["--schema", schema, "--numbers", "age", "--out", tmp_path / "m"]
    one_line(
        *run(capsys, "fit", table, "--target", "label", *given),
        holds="--numbers and --integers do not go with --schema",
    )
