"""Numbers as targets, and what `predict` writes besides predictions."""

import gzip

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor

from dplearn.commands import main
from dplearn.commands.learners import CLASSIFIERS, REGRESSORS
from dplearn.privacy import PrivacyLedger

SECRET = "77.125"
N = 1000
RANGE = ["--task", "regression", "--target-range", "0,120"]


def run(capsys, *arguments):
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def one_line(status, out, err, *, holds):
    assert (status, err.count("\n")) == (2, 1)
    assert holds in err
    assert "withheld" not in err
    assert SECRET not in err + out


def frame(n):
    """Return numbers, words, gaps and a constant column; the wage follows age and job."""
    random = np.random.default_rng(0)
    age, job = random.integers(18, 80, n), random.choice(["clerk", "farmer", "miner", None], n)
    wage = 10 + age / 2 + 15 * (job == "farmer") + random.normal(0, 2, n)
    gaps = pd.Series(age, dtype=object).where(random.random(n) > 0.1)
    member = np.where(wage > 45, "yes", "no")
    return pd.DataFrame({"age": gaps, "job": job, "same": "x", "wage": wage.round(2), "member": member})


@pytest.fixture
def table(tmp_path):
    frame(N).to_csv(tmp_path / "t.csv", index=False)
    frame(N).to_csv(tmp_path / "public.csv", index=False)
    return tmp_path / "t.csv"


@pytest.mark.first_by_day
@pytest.mark.parametrize("options", [[], ["--integers", "age"], ["--learner", "linear"]])
def test_a_number_is_predicted(capsys, table, tmp_path, options):
    model, out = tmp_path / "m", tmp_path / "out.csv"
    PrivacyLedger(50, 0.1, tmp_path / "a.ledger")
    fit = ["fit", table, "--target", "wage", *RANGE, "--epsilon", "20", "--out", model, *options]
    status, given, err = run(
        capsys, *fit, "--test", tmp_path / "public.csv", "--ledger", tmp_path / "a.ledger"
    )
    assert (status, err) == (0, "")
    assert "targets are numbers from 0.0 to 120.0" in given
    assert "R^2 on" in given
    assert "Accuracy" not in given
    assert "Labels" not in given
    assert float(given.split()[-1]) > (0.5 if "linear" in options else 0.9)
    assert PrivacyLedger.open(tmp_path / "a.ledger").spent().epsilon == 20
    loaded = joblib.load(model)
    assert is_regressor(loaded)
    assert loaded.feature_names_in_.tolist() == ["age", "job", "same", "member"]
    status, given, _ = run(capsys, "predict", model, table, "--out", out, "--intervals")
    assert (status, given) == (0, f"{N} numbers written to {out}\n")
    read, wage = pd.read_csv(out), frame(N)["wage"]
    assert list(read) == ["prediction", "low", "high"]
    assert (read["low"] < read["prediction"]).all()
    assert ((read["low"] <= wage) & (wage <= read["high"])).mean() > 0.85
    refused = run(capsys, "predict", model, table, "--out", out, "--probabilities")
    one_line(*refused, holds="--probabilities needs a model of labels")


def test_the_first_regressor_is_the_default(capsys, table, tmp_path):
    assert run(capsys, "fit", table, "--target", "wage", *RANGE, "--out", tmp_path / "m")[0] == 0
    assert type(joblib.load(tmp_path / "m")[-1]) is next(iter(REGRESSORS.values()))


def test_numbers_outside_the_range_are_clipped_where_asked(capsys, table, tmp_path):
    with table.open("a") as file:
        file.write(f"30,clerk,x,{SECRET},no\n")
    ledger = PrivacyLedger(9, 0.1, tmp_path / "a.ledger")
    fit = ["fit", table, "--target", "wage", "--out", tmp_path / "m", "--ledger", tmp_path / "a.ledger"]
    fit += ["--task", "regression", "--target-range", "0,75"]
    one_line(
        *run(capsys, *fit),
        holds="must lie in --target-range 0,75, and holds a number outside it; --clip-target",
    )
    assert ledger.history() == []
    assert "they are clipped to the range from 0.0 to 75.0" in run(capsys, *fit, "--clip-target")[1]
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("cell", [f"{SECRET} EUR", "nan", "inf", "1e999", "1_000", "", '"1,5"'])
def test_another_target_than_a_number_is_refused_without_being_shown(capsys, table, tmp_path, cell):
    with table.open("a") as file:
        file.write(f"30,clerk,x,{cell},no\n")
    ledger = PrivacyLedger(9, 0.1, tmp_path / "a.ledger")
    fit = [
        "fit",
        table,
        "--target",
        "wage",
        *RANGE,
        "--out",
        tmp_path / "m",
        "--ledger",
        tmp_path / "a.ledger",
    ]
    result = run(capsys, *fit)
    one_line(*result, holds="must hold finite numbers" if cell else "must have no empty cell")
    assert not cell or cell not in result[2]
    assert ledger.history() == []


def test_a_test_file_of_one_number_has_no_score(capsys, table, tmp_path):
    frame(N)[:1].to_csv(tmp_path / "public.csv", index=False)
    fit = [
        "fit",
        table,
        "--target",
        "wage",
        *RANGE,
        "--out",
        tmp_path / "m",
        "--test",
        tmp_path / "public.csv",
    ]
    one_line(*run(capsys, *fit), holds="--test must hold two different numbers")


def test_the_message_about_many_labels_names_regression(capsys, table, tmp_path):
    result = run(capsys, "fit", table, "--target", "wage", "--out", tmp_path / "m")
    one_line(*result, holds="if it is a number to predict, --task regression --target-range LOW,HIGH")


def test_an_interval_of_labels_is_refused(capsys, table, tmp_path):
    assert run(capsys, "fit", table, "--target", "member", "--out", tmp_path / "m")[0] == 0
    result = run(capsys, "predict", tmp_path / "m", table, "--out", tmp_path / "o", "--intervals")
    one_line(*result, holds="--intervals needs a model of numbers")
    assert not (tmp_path / "o").exists()


@pytest.mark.first_by_day
@pytest.mark.parametrize("options", [[], ["--integers", "age", "--numbers", "wage"]])
def test_probabilities_are_written_beside_the_labels(capsys, table, tmp_path, options):
    model, out = tmp_path / "m", tmp_path / "out.csv.gz"
    fit = ["fit", table, "--target", "member", "--labels", "yes,no,rare", "--epsilon", "9", "--out", model]
    assert run(capsys, *fit, *options)[0] == 0
    assert type(joblib.load(model)[-1] if not options else joblib.load(model)) is CLASSIFIERS["additive"]
    status, given, _ = run(capsys, "predict", model, table, "--out", out, "--probabilities")
    assert (status, given) == (0, f"{N} labels written to {out}\n")
    read = pd.read_csv(out)
    labels = ["no", "rare", "yes"]
    assert list(read) == ["prediction", *(f"probability of {label}" for label in labels)]
    shares = read.iloc[:, 1:].to_numpy()
    assert np.allclose(shares.sum(axis=1), 1)
    assert (np.array(labels)[shares.argmax(axis=1)] == read["prediction"]).all()
    assert (read["prediction"] == frame(N)["member"]).mean() > 0.9


def test_the_types_of_columns_do_not_depend_on_cells(capsys, table, tmp_path):
    encoded = []
    for cell in ("30", "thirty"):
        frame(N).assign(age=cell).to_csv(table, index=False)
        fit = ["fit", table, "--target", "member", "--epsilon", "9", "--out", tmp_path / "m"]
        assert run(capsys, *fit, "--learner", "naive_bayes")[0] == 0
        encoded.append(joblib.load(tmp_path / "m")[-1].domain_)
    assert encoded[0] == encoded[1]


def test_raw_tables_are_read_without_a_header_or_of_one_row(capsys, table, tmp_path):
    headless, one = tmp_path / "headless.csv.gz", tmp_path / "one.csv"
    headless.write_bytes(gzip.compress(table.read_bytes().split(b"\n", 1)[1]))
    fit = ["fit", headless, "--no-header", *RANGE, "--epsilon", "3", "--out", tmp_path / "m"]
    status, given, _ = run(capsys, *fit, "--target", "x3", "--integers", "x0")
    assert status == 0
    assert "'x0': IntegerRange(" in given
    one.write_text("age,job,wage,member\n30,,20,yes\n")
    assert run(capsys, "fit", one, "--target", "wage", *RANGE, "--out", tmp_path / "m")[0] == 0
    fit = ["fit", one, "--target", "member", "--out", tmp_path / "m", "--learner", "additive"]
    one_line(*run(capsys, *fit), holds="--target must be a column of two labels or more, got one; --labels")
    assert run(capsys, *fit, "--labels", "no,yes")[0] == 0
    assert run(capsys, "predict", tmp_path / "m", one, "--out", tmp_path / "o", "--probabilities")[0] == 0
