"""What each command refuses: one line with status 2, which quotes no cell; no charge, and no file."""

import gzip
import json

import joblib
import pytest

from dplearn.learners import ThresholdClassifier
from dplearn.privacy import ApproxDP, PrivacyLedger
from tests.commands.conftest import SECRET, is_refused, wages

RECORDS = f"17,{SECRET},no\n80,Cologne,yes\n3,,no\n"
NAMED = f"age,town,label\n{RECORDS}"
REGRESSION = "--task regression --target-range"
SCHEMA = '{"columns": {"a": {"type": "bits"}}, "labels": [%s]}'
TAKES_NUMBERS = "--learner: ParityClassifier takes numbers only, and {} holds a cell that is empty or text;"


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(99, 0.1, tmp_path / "a.ledger")


@pytest.mark.parametrize(
    ("options", "holds"),
    [
        ("--nonsense", "unrecognized arguments: --nonsense"),
        # the budget
        ("--epsilon -1", "epsilon must be a finite number above 0, got -1"),
        ("--epsilon 100", "does not fit into the budget: asked epsilon 100, delta 1e-06; spent epsilon 0"),
        ("--ledger none", "none does not exist; this makes a ledger: python -m dplearn ledger none --create"),
        ("--ledger bits.csv", "is not a ledger"),
        ("--ledger .", "is not a file"),
        # columns
        ("--target lable", "got 'lable'; the first line of the table has no such cell"),
        ("--target lable --header", "a column of the table, got 'lable'; did you mean 'label'?"),
        ("--target cost --header", "got 'cost'; its columns are 'a', 'b', 'c', 'd', 'e', 'label'\n"),
        ("--numbers wage", "--numbers must list columns of the table other than the target, got 'wage'"),
        ("--numbers a --learner threshold", "--numbers does not go with ThresholdClassifier, which does not"),
        ("--numbers a --schema s.json", "--integers and --dates do not go with --schema"),
        ("--schema s.json --learner parity", "which takes no domain"),
        ("--separator x", "--separator must be one of"),
        ("--columns a,a,b", "--columns must be distinct names"),
        ("--columns '\"a,b'", "with each quote closed"),
        ("--columns a,b", "--columns must name every column, of which there are 6, got 2"),
        ("--columns a,b,c,d,e,label", "got the names of --columns: leave --columns out"),
        # labels
        ("--labels no,yes,", "--labels must list labels that are not empty, got 'no,yes,'"),
        ("--labels -1,1", "must hold only the labels that --labels lists"),
        (
            "--labels no --schema s.json",
            "--labels must list the labels that s.json lists ('no', 'yes')",
        ),
        ("--learner conjunction --labels a,b,c", "2 classes"),
        # learners and their parameters
        ("--learner stum", "got 'stum'; did you mean 'stump'?"),
        ("--learner linear", "--task selects others"),
        ("--learner naive_bayes --set n_bin=4", "no parameter 'n_bin'; did you mean 'n_bins'?"),
        ("--learner naive_bayes --set n_bins", "--set must be PARAMETER=VALUE"),
        ("--learner naive_bayes --set epsilon=3", "--epsilon does"),
        ("--learner naive_bayes --set random_state=0", "can be subtracted"),
        ("--learner stump --set method=magic", "method must be one of"),
        ("--set n_bins=4", "--set needs --learner"),
        ("--learner stump --no-interactions", "goes with --learner additive, got 'stump'"),
        (
            "--learner additive --no-interactions --set interactions=True",
            "--no-interactions does not go with --set interactions=VALUE",
        ),
        # numbers as targets
        ("--target-range 0,1", "--target-range goes with --task regression"),
        ("--clip-target", "--clip-target goes with --task regression"),
        ("--task regression", "--task regression needs --target-range LOW,HIGH"),
        (f"{REGRESSION} 0", "must be two numbers, LOW,HIGH, got '0'"),
        (f"{REGRESSION} 0,inf", "must be two numbers, LOW,HIGH"),
        (f"{REGRESSION} 3,-3", "LOW < HIGH, got '3,-3'"),
        (f"{REGRESSION} 0,1 --labels no,yes", "--labels goes with"),
        (f"{REGRESSION} 0,1 --learner linear --set clip_target=1", "--clip-target does"),
        (f"{REGRESSION} 0,1 --learner linear --no-interactions", "with --learner additive, got 'linear'"),
        # files
        ("--schema nowhere.json", "nowhere.json: No such file or directory"),
        ("--out no/folder", "--out must be a file in a folder that exists, got no/folder"),
        ("--out other.ledger", "--out must not be a ledger"),
        ("--test bits.csv", "--test must not be the private table"),
        ("--test link.csv", "--test must not be the private table"),
    ],
)
def test_options_of_fit(refused, bits, ledger, tmp_path, options, holds):
    (tmp_path / "s.json").write_text(SCHEMA % '"no", "yes"')
    (tmp_path / "link.csv").symlink_to("bits.csv")
    PrivacyLedger(1, path=tmp_path / "other.ledger")
    refused(f"fit bits.csv --target label --out m --ledger a.ledger {options}", holds)
    assert ledger.history() == []
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("content", "holds"),
    [
        (RECORDS, "the first line looks like a record"),
        ("age,age\n1,2\n", "if this line is the header, in which names must be distinct and not empty"),
        (f"{SECRET};1,5;no\n{SECRET};2,5;no\n", "the first line looks like a record"),
        (f"age;label\n{SECRET};no\n", "separated by commas, got a first line with semicolons"),
        (NAMED.replace("Cologne", '"Cologne'), "a cell that begins with a quote must end with one"),
        (NAMED + f'5,"{SECRET}"x,no\n', "a cell that begins with a quote must end with one"),
        (NAMED + f"{SECRET}\n", "every row must have as many cells as the first line, 3"),
        (NAMED + f"1,2,{SECRET},4\n", "every row must have as many cells as the first line, 3"),
        (
            f"age,label\n{SECRET},\n",
            "column 'label' must have no empty cell: leave records",
        ),
        (f"label\n{SECRET}\n", "the table must have a column besides the target"),
        ("age,town,label\n", "needs a header line and at least one row"),
        ("", "empty"),
        (NAMED.replace("Cologne", "Col\0ogne"), "holds a NUL character"),
        (NAMED.replace("Cologne", "K\u00f6ln").encode("latin-1"), "must be encoded in UTF-8"),
        (NAMED.encode("utf-16"), "got UTF-16"),
        (NAMED.encode("utf-16-le"), "holds a NUL character"),
        (gzip.compress(NAMED.encode())[:-12], "damaged, or cut off"),
        (b"PK\x03\x04" + SECRET.encode(), "is a workbook, an archive or Parquet"),
    ],
    ids=range(18),
)
def test_tables(refused, ledger, tmp_path, content, holds):
    (tmp_path / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused("fit t.csv --target label --out m --ledger a.ledger --delta 0", holds)
    assert ledger.history() == []
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("schema", "holds"),
    [
        ("{", "must be JSON"),
        ("[]", "JSON object"),
        ('{"columns": {"job": {"type": "integers"}}}', "column 'job': type 'integers' needs the key 'low'"),
        (
            '{"columns": {"job": {"type": "categories", "values": ["clerk"]}}}',
            "in column 'job', a value lies outside the declared domain",
        ),
        (
            '{"columns": {"age": {"type": "integers", "low": 0, "high": 1}}}',
            'IntegerRange(low, high, missing=True), "missing": true in JSON, accepts missing ones',
        ),
        (
            '{"columns": {"job": {"type": "hashed"}}, "labels": [0, 1]}',
            "only the labels that s.json lists ('0', '1'), and holds another",
        ),
    ],
)
def test_schemas(run, mixed, tmp_path, schema, holds):
    (tmp_path / "s.json").write_text(schema)
    found = run("fit t.csv --target label --schema s.json --out m")
    is_refused(found, holds)
    assert "farmer" not in found.err


@pytest.mark.parametrize("cell", [f"{SECRET} EUR", "nan", "inf", "1e999", "1_000", "", '"1,5"', "77.125"])
def test_targets_that_are_no_numbers_of_the_range(run, tmp_path, ledger, cell):
    table = tmp_path / "t.csv"
    wages(50).to_csv(table, index=False)
    table.write_text(table.read_text() + f"30,clerk,x,{cell},no\n")
    found = run(f"fit t.csv --target wage {REGRESSION} 0,75 --out m --ledger a.ledger")
    outside = "must lie in --target-range 0,75, and holds a number outside it; --clip-target"
    holds = {"": "must have no empty cell", "77.125": outside}.get(cell, "must hold finite numbers")
    is_refused(found, holds)
    assert not cell or cell not in found.err
    assert ledger.history() == []


def test_labels_of_many_kinds(run, refused, tmp_path):
    fit = "fit t.csv --target label --out m"
    for n, most in ((60, 20), (300, 60), (2000, 200)):
        (tmp_path / "t.csv").write_text("a,label\n" + "".join(f"1,{i}\n" for i in range(n)))
        refused(fit, f"got {most} or more in 'label', and none is declared")
    assert "if it is a number to predict, --task regression --target-range LOW,HIGH" in run(fit).err
    (tmp_path / "t.csv").write_text("a,label\n" + "1,x\n2,y\n3,z\n" * 20)
    refused(f"{fit} --learner conjunction", "takes two labels, got 3")
    (tmp_path / "t.csv").write_text("a,label\n1,x\n")
    refused(f"{fit} --learner additive", "must be a column of two labels or more, got one; --labels")
    wages(1).to_csv(tmp_path / "one.csv", index=False)
    wages(60).to_csv(tmp_path / "t.csv", index=False)
    of_one = f"fit t.csv --target wage {REGRESSION} 0,120 --test one.csv --out m"
    refused(of_one, "--test must hold two different numbers")


@pytest.mark.parametrize(
    ("command", "holds"),
    [
        ("zzz", "invalid choice: 'zzz'"),
        ("fit t.csv --out m", "the following arguments are required: --target"),
        ("fit none.csv --target label --out m", "none.csv: No such file or directory"),
        ("predict none t.csv --out l", "none: No such file or directory"),
        ("predict m0 t.csv --out l", "not a model that fit wrote"),  # an object of another library
        ("predict m1 t.csv --out l", "not a model that fit wrote"),  # not fitted
        ("predict m1 t.csv --out m1", "--out must not be a file that this command reads"),
        ("synthetic t.csv --out l.parquet", "--out is written as CSV: name it l.csv, got l.parquet"),
        ("predict m1 t.csv --out full", "--out must not be a ledger"),
        ("ledger new", "new does not exist; this makes a ledger: python -m dplearn ledger new --create"),
        ("ledger new --epsilon 1", "--epsilon goes with --create: a ledger's budget does not change"),
        ("ledger new --create", "--create needs --epsilon, with --delta or without, or --rho alone"),
        ("ledger new --create --epsilon 1 --rho 1", "--create needs --epsilon"),
        ("ledger new --protects groups", "--protects goes with --create: a ledger's budget does not change"),
        ("ledger new --create --epsilon 1 --protects all", "protects must be one of"),
        ("ledger new --create --epsilon lots", "epsilon must be a finite number at least 0, got 'lots'"),
        ("ledger new --create --epsilon 1 --delta 2", "delta must be a finite number"),
        ("ledger full --create --epsilon 1", "exists; without --create it is shown"),
        ("ledger t.csv", "is not a ledger"),
        ("audit laplace", "did you mean laplace_counts"),
        ("audit zzzz", "NAME must be a case, got 'zzzz'; cases are "),
        ("audit --trace point", "NAME must be a learner, got 'point'; did you mean points?"),
    ],
)
def test_commands_and_files(refused, mixed, tmp_path, command, holds):
    PrivacyLedger(1, path=tmp_path / "full").charge(ApproxDP(1))
    joblib.dump({"format": "dplearn"}, tmp_path / "m0")
    joblib.dump(ThresholdClassifier(), tmp_path / "m1")
    refused(command, holds)
    assert not any((tmp_path / name).exists() for name in ("new", "l", "m"))


@pytest.mark.parametrize("target", ["label", "8O", "Colone"])
@pytest.mark.parametrize("first", [["80", "Cologne", "yes"], ["Ann", "Cologne", "member"]])
def test_no_message_quotes_the_first_line_of_a_file_without_header(run, tmp_path, first, target):
    """One of them looks like a record, the other like a header."""
    (tmp_path / "t.csv").write_text(",".join(first) + "\n" + RECORDS)
    (tmp_path / "s.json").write_text('{"columns": {"town": {"type": "hashed"}}}')
    for more in (f"--target {target}", f"--target {first[2]} --schema s.json"):
        found = run(f"fit t.csv --out m {more}")
        assert (found.status, found.out) == (2, "")
        assert not any(f"'{cell}'" in found.err for cell in first)
    assert "--no-header" in run(f"fit t.csv --out m --target {target}").err


def test_a_header_that_the_user_declares_is_quoted(run, refused, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(NAMED.replace("age", "1st_age"))
    refused("fit t.csv --out m --target lable", "looks like a record")
    refused("fit t.csv --out m --target lable --header", "did you mean 'label'?")
    refused("fit t.csv --out m --target label --no-header", "its columns are 'x0', 'x1', 'x2'")
    for first, given in (("a,b,a", "got 'a' more than once: rename"), ("a,b,", "got an empty one: rename")):
        table.write_text(f"{first}\n1,2,3\n")
        holds = f"column names must be distinct and not empty, {given} them"
        refused("fit t.csv --out m --target a --header", holds)
    table.write_text(",".join(f"x{place}" for place in range(22)) + "\n" + "1," * 21 + "2\n")
    assert run("fit t.csv --out m --target qqq --header").err.endswith("'x19' and 2 more\n")


def test_cells_that_are_no_numbers_under_learners_of_numbers(run, refused, tmp_path):
    rows = "".join(f"{i % 2},{i // 2 % 2},{'yes' if i % 2 else 'no'}\n" for i in range(400))
    for name, first in (("bits", ""), ("text", f"1,{SECRET},no\n"), ("gap", "1,,no\n")):
        (tmp_path / f"{name}.csv").write_text("a,b,label\n" + first + rows)
    for name in ("text", "gap"):
        fit = f"fit {name}.csv --target label --out m --learner parity"
        refused(fit, TAKES_NUMBERS.format("a column"))
        refused(f"{fit} --header", TAKES_NUMBERS.format("column 'b'"))
    for kind in ({"type": "integers", "low": 0, "high": 1}, {"type": "bits"}):
        (tmp_path / "s.json").write_text(json.dumps({"columns": {"a": kind, "b": kind}}))
        fit = "--target label --out m --schema s.json"
        refused(f"fit text.csv {fit}", "in column 'b', a value lies outside the declared domain")
        assert run(f"fit bits.csv {fit}").status == 0
        refused("predict m text.csv --out o", "this one is missing, infinite, or no number, such as text")
    assert run("fit bits.csv --target label --out m --learner parity").status == 0
    for name in ("text", "gap"):
        holds = "m: the model takes numbers only, and a column holds a cell that is empty"
        refused(f"predict m {name}.csv --out o", holds)


def test_what_a_fitted_model_lacks(run, refused, bits, tmp_path):
    assert run("fit bits.csv --target label --learner stump --out m").status == 0
    refused("predict m bits.csv --out o --intervals", "--intervals needs a model of numbers")
    bits[["a", "label"]].to_csv(tmp_path / "few.csv", index=False)
    refused("predict m few.csv --out o", "the table must have a column 'b'")
    assert run(f"fit bits.csv --target a {REGRESSION} 0,1 --learner linear --out m").status == 0
    refused("predict m bits.csv --out o --probabilities", "--probabilities needs a model of labels")
    assert not (tmp_path / "o").exists()


def test_an_unforeseen_failure_withholds_its_text(run, mixed, monkeypatch):
    def explode(*args):
        raise RuntimeError(SECRET)

    monkeypatch.setattr("dplearn.commands.table.assembled", explode)
    found = run("fit t.csv --target label --out m")
    assert (found.status, found.out, found.err.count("\n")) == (2, "", 1)
    assert "failed with RuntimeError; the details are withheld" in found.err
    assert SECRET not in found.err
