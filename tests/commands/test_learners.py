"""Which learners the command line fits, how they are set, and the estimator that it writes."""

import inspect
import json
import re
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from dplearn import learners
from dplearn.commands import main
from dplearn.commands.learners import CLASSIFIERS, REGRESSORS, best_learner, candidates
from dplearn.estimator import PrivateClassifier, PrivateRegressor
from dplearn.privacy import PrivacyLedger
from dplearn.privacy.pipelines import pipeline_guarantee

REGRESSION = ["--task", "regression", "--target-range", "0,1"]

#: Why others are not offered.
_NEED_MORE = {
    "KnowledgeTransferClassifier": "public rows",
    "LineClassifier": "a prime, and columns of residues",
    "SoftLabelTransferClassifier": "public rows",
    "SubsampleAggregateClassifier": "private teachers, which no file holds",
    "SoftLabelAggregateClassifier": "private teachers, which no file holds",
    "SecretSampleClassifier": "another learner",
    "PrivateMultiOutputClassifier": "another learner, and several labels",
}


def run(capsys, *arguments):
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


@pytest.fixture
def table(tmp_path):
    """Return bits whose first column is the label, a table that every learner supports."""
    bits = np.random.default_rng(0).integers(0, 2, (500, 5))
    frame = pd.DataFrame(bits, columns=list("abcde")).assign(label=np.where(bits[:, 0], "yes", "no"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("offered", "base"), [(CLASSIFIERS, PrivateClassifier), (REGRESSORS, PrivateRegressor)]
)
def test_every_learner_that_needs_a_table_alone_is_offered(offered, base):
    public = {name: each for name, each in inspect.getmembers(learners) if name in learners.__all__}
    kinds = {name for name, each in public.items() if inspect.isclass(each) and issubclass(each, base)}
    assert {kind.__name__ for kind in offered.values()} == kinds - set(_NEED_MORE)


def test_each_reason_why_a_learner_is_not_offered_is_about_a_learner():
    assert set(_NEED_MORE) <= set(learners.__all__)


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", [*CLASSIFIERS, "auto"])
def test_each_learner_writes_an_estimator_that_predicts_columns_by_name(capsys, table, tmp_path, name):
    model, out = tmp_path / "m.joblib", tmp_path / "out.csv"
    fit = ["fit", table, "--target", "label", "--labels", "no,yes", "--epsilon", "9", "--out", model]
    public = tmp_path / "public.csv"
    public.write_bytes(table.read_bytes())
    status, given, _ = run(capsys, *fit, "--learner", name, "--test", public)
    assert status == 0
    assert "Records: 500; columns: 5" in given
    assert re.search(r"Privacy cost: epsilon \d", given)
    loaded = joblib.load(model)
    assert is_classifier(loaded)
    assert loaded.feature_names_in_.tolist() == list("abcde")
    assert loaded.classes_.tolist() == ["no", "yes"]
    assert (pipeline_guarantee(loaded) if hasattr(loaded, "steps") else loaded.guarantee_).epsilon <= 9
    frame = pd.read_csv(table)
    frame[["label", *"edcba"]].to_csv(tmp_path / "turned.csv", index=False)
    answers = []
    for each in (table, tmp_path / "turned.csv"):
        assert run(capsys, "predict", model, each, "--out", out)[0] == 0
        answers.append(out.read_text())
    assert answers[0] == answers[1]
    cells = frame[list("abcde")]
    cells = cells.astype(str) if hasattr(loaded, "steps") or name == "point" else cells
    assert ["prediction", *loaded.predict(cells)] == answers[0].split()


def test_words_are_learned_from_without_a_schema_and_nothing_of_them_is_kept(capsys, tmp_path):
    jobs = ["farmer", "clerk", "miner", "Xq7-secret"] * 500
    rows = "".join(f"{job},{'yes' if job == 'farmer' else 'no'}\n" for job in jobs)
    for file in ("t.csv", "public.csv"):
        (tmp_path / file).write_text("job,label\n" + rows)
    for name in ("additive", "naive_bayes", "logistic_regression", "stump"):
        fit = ["fit", tmp_path / "t.csv", "--target", "label", "--learner", name, "--out", tmp_path / "m"]
        status, given, _ = run(
            capsys, *fit, "--epsilon", "20", "--delta", "0", "--test", tmp_path / "public.csv"
        )
        assert status == 0
        assert float(given.split()[-1]) > 0.9
        assert b"Xq7-secret" not in (tmp_path / "m").read_bytes()


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (["--learner", "stum"], "did you mean 'stump'?"),
        (["--learner", "naive_bayes", "--set", "n_bin=4"], "no parameter 'n_bin'; did you mean 'n_bins'?"),
        (["--learner", "naive_bayes", "--set", "n_bins"], "--set must be PARAMETER=VALUE"),
        (["--learner", "naive_bayes", "--set", "n_bins=1"], "n_bins must be an integer at least 2, got 1"),
        (["--learner", "naive_bayes", "--set", "epsilon=3"], "--epsilon does"),
        (["--learner", "naive_bayes", "--set", "random_state=0"], "can be subtracted"),
        (["--set", "n_bins=4"], "--set needs --learner"),
        (["--learner", "stump", "--no-interactions"], "goes with --learner additive, got 'stump'"),
        (
            ["--learner", "additive", "--no-interactions", "--set", "interactions=True"],
            "--no-interactions does not go with --set interactions=VALUE",
        ),
        (["--no-interactions", "--set", "interactions=True"], "--set needs --learner"),
        (["--learner", "linear"], "--task selects others"),
        (["--target-range", "0,1"], "--target-range goes with --task regression"),
        (["--clip-target"], "--clip-target goes with --task regression"),
        (["--task", "regression"], "--task regression needs --target-range LOW,HIGH"),
        (["--task", "regression", "--target-range", "0"], "must be two numbers, LOW,HIGH, got '0'"),
        (["--task", "regression", "--target-range", "0,x"], "must be two numbers, LOW,HIGH, got '0,x'"),
        (["--task", "regression", "--target-range", "0,inf"], "must be two numbers, LOW,HIGH"),
        (["--task", "regression", "--target-range=3,-3"], "LOW < HIGH, got '3,-3'"),
        (["--task", "regression", "--target-range", "0,1", "--labels", "no,yes"], "--labels goes with"),
        (["--task", "regression", "--target-range", "0,1", "--learner", "stump"], "--task selects others"),
        (
            [
                "--task",
                "regression",
                "--target-range",
                "0,1",
                "--learner",
                "linear",
                "--set",
                "clip_target=1",
            ],
            "--clip-target does",
        ),
        (["--learner", "parity", "--numbers", "a"], "does not learn a schema"),
        (["--learner", "stump", "--delta", "1e-6"], "--delta must be 0 with --learner stump"),
        (["--learner", "naive_bayes", "--delta", "2"], "delta must be"),
        (["--learner", "conjunction", "--labels", "a,b,c"], "2 classes"),
        (["--learner", "masked_parity", "--target", "a"], "number"),
        (["--learner", "stump", "--set", "concept_class=conjunctions"], "domain must have Bits"),
    ],
)
def test_incompatible_options_are_refused_and_cost_nothing(capsys, table, tmp_path, asked, given):
    ledger = PrivacyLedger(99, 0.1, tmp_path / "a.ledger")
    fit = ["fit", table, "--target", "label", "--out", tmp_path / "m", "--ledger", tmp_path / "a.ledger"]
    status, out, err = run(capsys, *fit, *asked)
    assert (status, out) == (2, "")
    assert given in err
    assert "withheld" not in err
    assert ledger.history() == []


def test_more_labels_than_a_learner_supports_are_refused(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n" + "1,x\n2,y\n3,z\n" * 20)
    fit = ["fit", tmp_path / "t.csv", "--target", "label", "--learner", "conjunction"]
    assert "takes two labels, got 3" in run(capsys, *fit, "--out", tmp_path / "m")[2]


def test_parameters_and_delta_reach_the_learner(capsys, table, tmp_path):
    fit = ["fit", table, "--target", "label", "--learner", "naive_bayes", "--out", tmp_path / "m"]
    settings = ["--set", "n_bins=6", "--set", "smoothing=0.5", "--delta", "1e-7", "--epsilon", "0.3"]
    assert run(capsys, *fit, *settings)[0] == 0
    kept = joblib.load(tmp_path / "m")[-1].get_params()
    assert (kept["n_bins"], kept["smoothing"], kept["delta"], kept["epsilon"]) == (6, 0.5, 1e-7, 0.3)


@pytest.mark.parametrize("learner", [[], ["--learner", "additive"]], ids=["auto", "named"])
def test_additive_models_have_no_interactions_where_an_option_says_so(capsys, table, tmp_path, learner):
    fit = ["fit", table, "--target", "label", "--epsilon", "9", "--out", tmp_path / "m"]
    assert run(capsys, *fit, *learner, "--no-interactions")[0] == 0
    assert joblib.load(tmp_path / "m")[-1].interactions is False


def test_a_stump_for_few_records_needs_no_option_to_have_no_interactions(capsys, table, tmp_path):
    fit = ["fit", table, "--target", "label", "--epsilon", "1", "--out", tmp_path / "m"]
    status, out, _ = run(capsys, *fit, "--no-interactions")
    assert status == 0
    assert "Learner: ExponentialMechanismClassifier" in out


def test_a_regression_has_no_interactions_where_an_option_says_so(capsys, table, tmp_path):
    fit = ["fit", table, "--target", "a", "--task", "regression", "--target-range=-9,9"]
    fit += ["--out", tmp_path / "m"]
    assert run(capsys, *fit, "--no-interactions")[0] == 0
    assert joblib.load(tmp_path / "m")[-1].interactions is False
    linear = run(capsys, *fit, "--learner", "linear", "--no-interactions")
    assert "goes with --learner additive, got 'linear'" in linear[2]


def test_a_schema_is_kept_by_the_estimator_and_chooses_its_columns(capsys, table, tmp_path):
    columns = {name: {"type": "bits"} for name in "ba"}
    (tmp_path / "s.json").write_text(json.dumps({"columns": columns, "labels": ["no", "yes"]}))
    fit = ["fit", table, "--target", "label", "--schema", tmp_path / "s.json", "--out", tmp_path / "m"]
    assert run(capsys, *fit, "--epsilon", "9")[0] == 0
    model = joblib.load(tmp_path / "m")
    assert (model.domain.names, model.feature_names_in_.tolist()) == (("b", "a"), ["b", "a"])
    frame = pd.read_csv(table)
    assert type(model).__name__ == "AdditiveClassifier"
    assert (model.predict(frame) == frame["label"]).mean() > 0.99
    assert "takes no domain" in run(capsys, *fit, "--learner", "parity")[2]


def test_the_number_of_records_and_epsilon_choose_the_learner_where_none_is_named():
    def chosen(n, epsilon, name="auto", known=CLASSIFIERS, **given):
        return best_learner(candidates(name, known, epsilon=epsilon, delta=None, settings=(), given=given), n)

    assert [chosen(999, "1"), chosen(1000, "1"), chosen(1000, "0.5")] == ["stump", "additive", "stump"]
    assert chosen(9, "1", "parity") == "parity"
    assert chosen(9, "1", known=REGRESSORS, target_range=(0, 1)) == "additive"


def test_the_message_about_a_ledger_without_delta_advises_delta_0(capsys, table, tmp_path):
    PrivacyLedger(3, path=tmp_path / "a.ledger")
    fit = ["fit", table, "--target", "label", "--learner", "naive_bayes", "--out", tmp_path / "m"]
    fit += ["--ledger", tmp_path / "a.ledger"]
    status, _, err = run(capsys, *fit, "--delta", "1e-6")
    assert status == 2
    assert "--delta 0 asks for none" in err
    assert "left in" in run(capsys, *fit, "--delta", "0")[1]
    assert PrivacyLedger.open(tmp_path / "a.ledger").spent().epsilon == 1


@pytest.mark.parametrize("learner", [[], ["--learner", "naive_bayes"], [*REGRESSION, "--target", "a"]])
def test_a_ledger_without_delta_is_charged_none(capsys, table, tmp_path, learner):
    PrivacyLedger(3, path=tmp_path / "a.ledger")
    fit = ["fit", table, "--target", "label", "--out", tmp_path / "m", "--ledger", tmp_path / "a.ledger"]
    assert "left in" in run(capsys, *fit, *learner)[1]
    spent = PrivacyLedger.open(tmp_path / "a.ledger").spent()
    assert (spent.epsilon, spent.delta) == (1, 0)


def test_warnings_are_one_line_and_those_of_other_kinds_are_withheld(capsys, tmp_path, monkeypatch):
    def noisy(self, *args, **kwargs):
        warnings.warn("a record: Xq7-secret", RuntimeWarning, stacklevel=1)
        return before(self, *args, **kwargs)

    before = learners.ExponentialMechanismClassifier.fit
    monkeypatch.setattr(learners.ExponentialMechanismClassifier, "fit", noisy)
    (tmp_path / "few.csv").write_text("a,label\n1,x\n2,y\n")
    fit = ["fit", tmp_path / "few.csv", "--target", "label", "--learner", "stump", "--out", tmp_path / "m"]
    status, _, err = run(capsys, *fit)
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("python -m dplearn: warning: n_samples is 2")
    assert "Xq7" not in err


def test_a_model_of_another_library_is_refused(capsys, table, tmp_path):
    for number, other in enumerate(({"format": "dplearn"}, candidates, learners.ThresholdClassifier())):
        joblib.dump(other, tmp_path / f"m{number}")
        status, _, err = run(capsys, "predict", tmp_path / f"m{number}", table, "--out", tmp_path / "l")
        assert status == 2
        assert "not a model that fit wrote" in err


def test_a_model_of_another_minor_version_is_warned_of(capsys, table, tmp_path, monkeypatch):
    fit = ["fit", table, "--target", "label", "--learner", "stump", "--out", tmp_path / "m"]
    predict = ["predict", tmp_path / "m", table, "--out", tmp_path / "l"]
    assert run(capsys, *fit, "--epsilon", "9")[0] == 0
    assert run(capsys, *predict)[2] == ""
    monkeypatch.setattr("dplearn.commands.table.__version__", "7.1.0")
    status, _, err = run(capsys, *predict)
    assert (status, err.count("\n")) == (0, 1)
    assert "and this is 7.1.0" in err


def test_a_similar_name_of_a_case_is_suggested(capsys):
    assert "did you mean laplace_counts" in run(capsys, "audit", "laplace")[2]
    assert "did you mean laplace_counts" in run(capsys, "audit", "laplace_count")[2]
    assert "cases are" in run(capsys, "audit", "zzzz")[2]


def test_the_message_about_a_missing_ledger_shows_the_command_that_makes_one(capsys, table, tmp_path):
    file = tmp_path / "new.ledger"
    fit = ["fit", table, "--target", "label", "--out", tmp_path / "m", "--ledger", file]
    for asked in (fit, ["ledger", file]):
        assert f"python -m dplearn ledger {file} --create --epsilon" in run(capsys, *asked)[2]
    assert not file.exists()
