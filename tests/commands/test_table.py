"""Fit and predict on CSV files: what is learned, written and printed, and nothing else of the table."""

import csv
import gzip
import inspect
import json
import re
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor

from dplearn import learners
from dplearn.commands.csv_table import CsvFormat, looks_like_a_record, read_table
from dplearn.commands.learners import CLASSIFIERS, REGRESSORS, best_learner, candidates
from dplearn.commands.options import Refusal
from dplearn.estimator import PrivateClassifier, PrivateRegressor
from dplearn.privacy import PrivacyLedger, pipeline_guarantee
from tests.commands.conftest import SECRET, is_refused, wages

RANGE = "--task regression --target-range 0,120"
#: Why learners are not offered.
NEED_MORE = {
    "KnowledgeTransferClassifier": "public rows",
    "LineClassifier": "a prime, and columns of residues",
    "SoftLabelTransferClassifier": "public rows",
    "SubsampleAggregateClassifier": "private teachers, which no file holds",
    "SoftLabelAggregateClassifier": "private teachers, which no file holds",
    "PrivateLabelsClassifier": "an estimator of Python, and public features",
    "SecretSampleClassifier": "another learner",
    "PrivateMultiOutputClassifier": "another learner, and several labels",
}


# reading

RECORDS = [["17", SECRET, "no"], ["80", "Cologne", "yes"], ["3", "", "no"]]
NAMED = "age,town,label\n" + "".join(",".join(row) + "\n" for row in RECORDS)


def test_the_same_table_is_read_from_each_of_its_shapes(tmp_path):
    def read(content, **form):
        path = tmp_path / "t.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        table = read_table(path, CsvFormat(**form))
        return [table.names, *(list(row) for row in zip(*table.columns, strict=True))]

    shapes = [NAMED, NAMED.replace("\n", "\r\n"), NAMED.replace("\n", "\r"), "\ufeff" + NAMED]
    shapes += ["\n" + NAMED + "\n\n", NAMED.rstrip("\n"), NAMED.replace("Cologne", '" Cologne "')]
    shapes += [gzip.compress(NAMED.encode()), gzip.compress(("\ufeff" + NAMED).encode())]
    for content in shapes:
        assert read(content) == [["age", "town", "label"], *RECORDS]
    for separator in ";|\t":
        content = NAMED.replace(",", separator)
        assert read(content, separator=separator) == [["age", "town", "label"], *RECORDS]
        with pytest.raises(Refusal, match="columns must be separated by commas"):
            read(content)
    assert read("a\n1\n\n2\n") == [["a"], ["1"], [""], ["2"]]  # of one column, an empty line is a record
    many = "".join(f"{i % 70_000}\n" for i in range(70_003))  # more texts than are kept as one object
    assert read(f"a\n{many}")[-3:] == [["0"], ["1"], ["2"]]


def test_a_first_line_looks_like_a_record_or_names_columns():
    cells = ["39", "-1.5", "1e3", ".5", "1,5", "$5", "nan", "-inf", "?", "NA", "No", "2020-01-31", "12:30"]
    for cell in [*cells, "5%", "", "a\nb", "x" * 300]:
        assert looks_like_a_record(["age", cell, "label"])
    assert not looks_like_a_record(["age", "marital-status", "wage (EUR)", "x1", "Größe", "is_member"])
    assert looks_like_a_record(["clerk", "north", "clerk"])


def test_files_without_header_are_fitted_and_predicted_by_number_or_by_given_names(run, tmp_path):
    (tmp_path / "t.csv").write_text(
        "".join(f"{i % 60},{'yes' if i % 60 > 30 else 'no'}\n" for i in range(600))
    )
    fit = "fit t.csv --epsilon 9 --delta 0 --out m"
    assert run(f"{fit} --no-header --target x1").status == 0
    assert joblib.load(tmp_path / "m").feature_names_in_.tolist() == ["x0"]
    assert "'x0': IntegerRange(" in run(f"{fit} --no-header --target x1 --integers x0").out
    assert run(f"{fit} --columns 'age,\"member, or not\"' --target 'member, or not'").status == 0
    assert joblib.load(tmp_path / "m").feature_names_in_.tolist() == ["age"]
    assert run("predict m t.csv --columns age,m --out l").status == 0
    assert len((tmp_path / "l").read_text().splitlines()) == 601


# labels


def test_fit_then_predict_on_a_users_own_file(run, mixed, tmp_path):
    (tmp_path / "public.csv").write_bytes(mixed.read_bytes())
    found = run("fit t.csv --target label --epsilon 20 --out m --test public.csv")
    assert (found.status, found.err) == (0, "")
    assert "exp(20)" in found.out
    assert "the set of labels, and their type, is public" in found.out
    assert "published: 'no', 'yes'; --labels A,B,... declares them." in found.out
    assert "declared public: 1.0000" in found.out
    assert run("predict m t.csv --out l.csv").out == "400 labels written to l.csv\n"
    written = list(csv.reader((tmp_path / "l.csv").read_text().splitlines()))
    assert written == [["prediction"], *[[label] for label in ["yes", "no", "no", "no"] * 100]]
    assert run("predict m t.csv --out L.CSV.GZ").status == 0  # compressed where the name says so
    assert gzip.decompress((tmp_path / "L.CSV.GZ").read_bytes()) == (tmp_path / "l.csv").read_bytes()


def test_words_are_learned_from_without_a_schema_and_nothing_of_them_is_kept(run, tmp_path):
    jobs = ["farmer", "clerk", "miner", SECRET] * 500
    rows = "".join(f"{job},{'yes' if job == 'farmer' else 'no'}\n" for job in jobs)
    for file in ("t.csv", "public.csv"):
        (tmp_path / file).write_text("job,label\n" + rows)
    for name in ("additive", "naive_bayes", "logistic_regression", "stump"):
        fit = f"fit t.csv --target label --labels no,yes --learner {name} --out m --epsilon 20 --delta 0"
        found = run(f"{fit} --test public.csv")
        assert found.status == 0
        assert float(found.out.split()[-1]) > 0.9
        assert "published:" not in found.out
        assert "NAME#text, a hash of the cell's text into one of" in found.out
        assert SECRET.encode() not in (tmp_path / "m").read_bytes()
    assert "Accuracy" not in run(fit).out


@pytest.mark.parametrize(
    ("offered", "base"), [(CLASSIFIERS, PrivateClassifier), (REGRESSORS, PrivateRegressor)]
)
def test_every_learner_that_needs_a_table_alone_is_offered(offered, base):
    public = [getattr(learners, name) for name in learners.__all__]
    kinds = {each.__name__ for each in public if inspect.isclass(each) and issubclass(each, base)}
    assert {kind.__name__ for kind in offered.values()} == kinds - set(NEED_MORE)
    assert set(NEED_MORE) <= set(learners.__all__)


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", [*CLASSIFIERS, "auto"])
def test_each_learner_writes_an_estimator_that_predicts_columns_by_name(run, bits, tmp_path, name):
    fit = "fit bits.csv --target label --labels no,yes --epsilon 9 --out m --test public.csv"
    found = run(f"{fit} --learner {name}")
    assert found.status == 0
    assert "Records: 500; columns: 5" in found.out
    assert re.search(r"Privacy cost: epsilon \d", found.out)
    loaded = joblib.load(tmp_path / "m")
    assert is_classifier(loaded)
    assert loaded.feature_names_in_.tolist() == list("abcde")
    assert loaded.classes_.tolist() == ["no", "yes"]
    assert (pipeline_guarantee(loaded) if hasattr(loaded, "steps") else loaded.guarantee_).epsilon <= 9
    bits[["label", *"edcba"]].to_csv(tmp_path / "turned.csv", index=False)
    answers = []
    for table in ("bits.csv", "turned.csv"):
        assert run(f"predict m {table} --out o").status == 0
        answers.append((tmp_path / "o").read_text().split())
    cells = bits[list("abcde")]
    cells = cells.astype(str) if hasattr(loaded, "steps") or name == "point" else cells
    assert answers[0] == answers[1] == ["prediction", *loaded.predict(cells)]


def test_settings_reach_the_learner(run, bits, tmp_path):
    def learner(options):
        assert run(f"fit bits.csv --target label --out m {options}").status == 0
        return joblib.load(tmp_path / "m")[-1]

    settings = "--set n_bins=6 --set smoothing=0.5 --delta 1e-7 --epsilon 0.3"
    kept = learner(f"--learner naive_bayes {settings}").get_params()
    assert (kept["n_bins"], kept["smoothing"], kept["delta"], kept["epsilon"]) == (6, 0.5, 1e-7, 0.3)
    assert learner("--epsilon 9").interactions is not False
    assert type(learner("--epsilon 1 --no-interactions")) is CLASSIFIERS["stump"]  # few records
    assert learner("--target a --task regression --target-range=-9,9 --no-interactions").interactions is False


def test_the_number_of_records_and_epsilon_choose_the_learner_where_none_is_named():
    def chosen(n, epsilon, name="auto", known=CLASSIFIERS, **given):
        return best_learner(candidates(name, known, epsilon=epsilon, delta=None, settings=(), given=given), n)

    assert [chosen(999, "1"), chosen(1000, "1"), chosen(1000, "0.5")] == ["stump", "additive", "stump"]
    assert chosen(9, "1", "parity") == "parity"
    assert chosen(9, "1", known=REGRESSORS, target_range=(0, 1)) == "additive"


# schemas


def test_a_schema_makes_rules_readable_and_labels_declared(run, mixed, tmp_path):
    age = {"type": "integers", "low": 0, "high": 99, "outside": "clip", "missing": True}
    columns = {"job": {"type": "categories", "values": ["farmer", "clerk", "miner", None]}, "age": age}
    (tmp_path / "s.json").write_text(json.dumps({"columns": columns, "labels": ["no", "yes"]}))
    fit = "fit t.csv --target label --labels yes,no --epsilon 20 --schema s.json --out m --learner stump"
    found = run(fit)
    assert found.status == 0
    assert "Released rule: 'yes' if job == 'farmer', else 'no'" in found.out
    assert "labels are among the declared classes" in found.out
    assert "NAME#text" not in found.out
    assert run("predict m t.csv --out l.csv").status == 0


def test_one_schema_serves_a_fit_and_statistics(run, bits, tmp_path):
    labels = {"type": "categories", "values": ["yes", "no"]}
    columns = {name: {"type": "bits"} for name in "ab"} | {"label": labels}
    (tmp_path / "s.json").write_text(json.dumps({"columns": columns}))
    assert run("fit bits.csv --target label --schema s.json --out m --epsilon 9").status == 0
    model = joblib.load(tmp_path / "m")
    assert (model.domain.names, model.classes_.tolist()) == (("a", "b"), ["no", "yes"])
    assert "labels are among the declared classes" in model.guarantee_.assumes
    assert run("describe bits.csv --schema s.json --by label").status == 0


def test_a_schema_is_kept_by_the_estimator_and_chooses_its_columns(run, bits, tmp_path):
    columns = {name: {"type": "bits"} for name in "ba"}
    (tmp_path / "s.json").write_text(json.dumps({"columns": columns, "labels": ["no", "yes"]}))
    assert run("fit bits.csv --target label --schema s.json --out m --epsilon 9").status == 0
    model = joblib.load(tmp_path / "m")
    assert (model.domain.names, model.feature_names_in_.tolist()) == (("b", "a"), ["b", "a"])
    assert type(model) is CLASSIFIERS["additive"]
    assert (model.predict(bits) == bits["label"]).mean() > 0.99


def test_declared_kinds_learn_the_schema_and_predict_reads_cells_alike(run, mixed, tmp_path):
    found = run("fit t.csv --target label --labels no,yes --epsilon 60 --integers age --out m")
    assert found.status == 0
    assert "Learned schema, released: Schema of 2 columns\n  'age': IntegerRange(low=" in found.out
    assert "'job': Categories(" in found.out
    assert "assumes that the number of records and the number, names and types of the columns" in found.out
    assert run("predict m t.csv --out l").status == 0
    assert (tmp_path / "l").read_text().splitlines()[1:] == ["yes", "no", "no", "no"] * 100
    learner = joblib.load(tmp_path / "m")
    assert learner.guarantee_.epsilon == 60
    assert learner.domain.columns.kinds == ("integers", "categories")


def test_a_column_of_texts_under_numbers_is_named_by_its_released_masses(run, mixed, tmp_path):
    columns = {name: {"type": "floats", "missing": True, "outside": "accept"} for name in ("age", "job")}
    (tmp_path / "s.json").write_text(json.dumps({"columns": columns, "labels": ["no", "yes"]}))
    known = "fit t.csv --target label --labels no,yes --epsilon 20 --out m --learner additive"
    known += " --no-interactions"
    for declared, advice in (
        ("--numbers age,job", "do not list the column under --numbers, --integers or --dates"),
        ("--schema s.json", "describe the column as categories in s.json."),
    ):
        found = run(f"{known} {declared}").out
        assert re.search(r"Column 'job': about (99|100)% of the cells are empty or no numbers", found)
        assert advice in found
        assert "Column 'age'" not in found
    for declared in ("--numbers age", ""):  # without any, nobody listed a column
        found = run(f"{known} {declared}").out
        assert "Model written to m" in found
        assert "Column '" not in found


# numbers


def test_the_types_of_columns_do_not_depend_on_cells(run, tmp_path):
    encoded = []
    for cell in ("30", "thirty"):
        wages(100).assign(age=cell).to_csv(tmp_path / "t.csv", index=False)
        assert run("fit t.csv --target member --epsilon 9 --out m --learner naive_bayes").status == 0
        encoded.append(joblib.load(tmp_path / "m")[-1].domain_)
    assert encoded[0] == encoded[1]


@pytest.fixture
def table(tmp_path):
    for name in ("t.csv", "public.csv"):
        wages().to_csv(tmp_path / name, index=False)


@pytest.mark.first_by_day
@pytest.mark.parametrize("options", ["", "--integers age", "--learner linear"])
def test_a_number_is_predicted(run, table, tmp_path, options):
    ledger = PrivacyLedger(50, 0.1, tmp_path / "a.ledger")
    fit = f"fit t.csv --target wage {RANGE} --epsilon 20 --out m --test public.csv --ledger a.ledger"
    found = run(f"{fit} {options}")
    assert (found.status, found.err) == (0, "")
    assert "targets are numbers from 0.0 to 120.0" in found.out
    assert "R^2 on" in found.out
    assert not re.search("Accuracy|Labels", found.out)
    assert float(found.out.split()[-1]) > (0.5 if "linear" in options else 0.9)
    assert ledger.spent().epsilon == 20
    loaded = joblib.load(tmp_path / "m")
    assert is_regressor(loaded)
    assert options or type(loaded[-1]) is next(iter(REGRESSORS.values()))
    assert loaded.feature_names_in_.tolist() == ["age", "job", "same", "member"]
    assert run("predict m t.csv --out o --intervals").out == "1000 numbers written to o\n"
    read, wage = pd.read_csv(tmp_path / "o"), wages()["wage"]
    assert list(read) == ["prediction", "low", "high"]
    assert (read["low"] < read["prediction"]).all()
    assert ((read["low"] <= wage) & (wage <= read["high"])).mean() > 0.85


def test_targets_are_clipped_where_asked_to_a_range_that_may_begin_with_a_negative_number(run, tmp_path):
    wages(100).to_csv(tmp_path / "t.csv", index=False)
    fit = "fit t.csv --target wage --out m --task regression --no-interactions --clip-target"
    found = run(f"{fit} --target-range -5,30.5")
    assert "they are clipped to the range from -5.0 to 30.5" in found.out
    assert joblib.load(tmp_path / "m")[-1].target_range_ == (-5.0, 30.5)


@pytest.mark.first_by_day
@pytest.mark.parametrize("options", ["--no-interactions", "--integers age --numbers wage"])
def test_probabilities_are_written_beside_the_labels(run, table, tmp_path, options):
    fit = "fit t.csv --target member --labels yes,no,rare --epsilon 9 --out m"
    assert run(f"{fit} {options}").status == 0
    assert run("predict m t.csv --out o.csv.gz --probabilities").out == "1000 labels written to o.csv.gz\n"
    read, labels = pd.read_csv(tmp_path / "o.csv.gz"), ["no", "rare", "yes"]
    assert list(read) == ["prediction", *(f"probability of {label}" for label in labels)]
    shares = read.iloc[:, 1:].to_numpy()
    assert np.allclose(shares.sum(axis=1), 1)
    assert (np.array(labels)[shares.argmax(axis=1)] == read["prediction"]).all()
    assert (read["prediction"] == wages()["member"]).mean() > 0.9


def test_tables_of_one_row_are_fitted_and_predicted(run, tmp_path):
    (tmp_path / "one.csv").write_text("age,job,wage,member\n30,,20,yes\n")
    assert run(f"fit one.csv --target wage {RANGE} --out m").status == 0
    assert run("fit one.csv --target member --labels no,yes --out m --learner additive").status == 0
    assert run("predict m one.csv --out o --probabilities").status == 0


# warnings and versions


def test_warnings_are_one_line_and_those_of_other_kinds_are_withheld(run, tmp_path, monkeypatch):
    def noisy(self, *args, **kwargs):
        warnings.warn(f"a record: {SECRET}", RuntimeWarning, stacklevel=1)
        return before(self, *args, **kwargs)

    before = learners.ExponentialMechanismClassifier.fit
    monkeypatch.setattr(learners.ExponentialMechanismClassifier, "fit", noisy)
    (tmp_path / "few.csv").write_text("a,label\n1,x\n2,y\n")
    found = run("fit few.csv --target label --learner stump --out m")
    assert (found.status, found.err.count("\n")) == (0, 1)
    assert found.err.startswith("python -m dplearn: warning: n_samples is 2")


def test_a_model_of_another_minor_version_is_warned_of(run, bits, monkeypatch):
    assert run("fit bits.csv --target label --learner stump --out m --epsilon 9").status == 0
    assert run("predict m bits.csv --out l").err == ""
    monkeypatch.setattr("dplearn.commands.table.__version__", "7.1.0")
    found = run("predict m bits.csv --out l")
    assert (found.status, found.err.count("\n")) == (0, 1)
    assert "and this is 7.1.0" in found.err


# files


def test_out_never_overwrites_an_input(run, bits, tmp_path):
    ledger = PrivacyLedger(9, 1e-4, tmp_path / "a.ledger")
    (tmp_path / "s.json").write_text('{"columns": {"a": {"type": "bits"}}}')
    (tmp_path / "folder").mkdir()
    fit = "fit bits.csv --target label --ledger a.ledger --schema s.json --test public.csv --out"
    for read in ("bits.csv", "a.ledger", "s.json", "public.csv"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(read)
        before = (tmp_path / read).read_bytes()
        for out in (read, f"folder/../{read}", "link"):
            is_refused(run(f"{fit} {out}"), "--out must not be a file that this command reads, got")
        assert (tmp_path / read).read_bytes() == before
    assert ledger.history() == []
    assert run(f"{fit} m").status == 0
    for read in ("bits.csv", "m"):
        before = (tmp_path / read).read_bytes()
        is_refused(run(f"predict m bits.csv --out {read}"), "--out must not be a file that")
        assert (tmp_path / read).read_bytes() == before


def test_out_is_written_whole_or_not_at_all(run, bits, tmp_path, monkeypatch):
    def half(model, path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device", str(path))

    (tmp_path / "m").write_bytes(b"an older model")
    before = set(tmp_path.iterdir())
    monkeypatch.setattr(joblib, "dump", half)
    fit = "fit bits.csv --target label --learner stump --out m --epsilon 9"
    found = run(fit)
    assert "No space left on device" in found.err
    assert found.status == 2
    assert (tmp_path / "m").read_bytes() == b"an older model"
    assert set(tmp_path.iterdir()) == before
