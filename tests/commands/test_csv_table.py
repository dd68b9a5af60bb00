"""CSV files of all kinds: tables that are read, and refusals, which quote no record."""

import gzip

import joblib
import pytest

from dplearn.commands import main
from dplearn.commands.csv_table import CsvFormat, looks_like_a_record, read_table
from dplearn.commands.options import Refusal
from dplearn.privacy import PrivacyLedger

SECRET = "Xq7-secret"
RECORDS = [["17", SECRET, "no"], ["80", "Cologne", "yes"], ["3", "", "no"]]
TEXT = "".join(",".join(row) + "\n" for row in RECORDS)
NAMED = f"age,town,label\n{TEXT}"


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(tmp_path, content, **form):
    return read_table(write(tmp_path / "t.csv", content), CsvFormat(**form))


def run(capsys, *arguments):
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


@pytest.mark.parametrize(
    "content",
    [
        NAMED,
        NAMED.replace("\n", "\r\n"),
        NAMED.replace("\n", "\r"),
        "\ufeff" + NAMED,
        "\n" + NAMED + "\n\n",
        NAMED.rstrip("\n"),
        NAMED.replace("Cologne", '" Cologne "'),
        gzip.compress(NAMED.encode()),
        gzip.compress(("\ufeff" + NAMED).encode()),
    ],
    ids=range(9),
)
def test_the_same_table_is_read_from_each_of_its_shapes(tmp_path, content):
    table = read(tmp_path, content)
    assert table.names == ["age", "town", "label"]
    assert [list(row) for row in zip(*table.columns, strict=True)] == RECORDS


@pytest.mark.parametrize("separator", ";|\t")
def test_messages_name_other_separators(tmp_path, separator):
    content = NAMED.replace(",", separator)
    with pytest.raises(Refusal, match="columns must be separated by commas"):
        read(tmp_path, content)
    assert read(tmp_path, content, separator=separator).column("age") == ["17", "80", "3"]


@pytest.mark.parametrize(
    ("content", "given"),
    [
        (TEXT, "the first line looks like a record"),
        (NAMED.replace("Cologne", '"Cologne'), "a cell that begins with a quote must end with one"),
        (NAMED + f'5,"{SECRET}"x,no\n', "a cell that begins with a quote must end with one"),
        (NAMED + f"{SECRET}\n", "every row must have as many cells as the first line, 3"),
        (NAMED + f"1,2,{SECRET},4\n", "every row must have as many cells as the first line, 3"),
        (NAMED.replace("Cologne", "Col\0ogne"), "holds a NUL character"),
        (NAMED.replace("Cologne", "K\u00f6ln").encode("latin-1"), "must be encoded in UTF-8"),
        (NAMED.encode("utf-16"), "got UTF-16"),
        (NAMED.encode("utf-16-le"), "holds a NUL character"),
        (gzip.compress(NAMED.encode())[:-12], "damaged, or cut off"),
        (b"PK\x03\x04" + SECRET.encode(), "is a workbook, an archive or Parquet"),
        ("age,town,label\n", "needs a header line and at least one row"),
        ("", "empty"),
        ("\n\n", "empty"),
    ],
    ids=range(14),
)
def test_a_refusal_is_one_line_that_quotes_no_cell_and_costs_nothing(capsys, tmp_path, content, given):
    table, file = write(tmp_path / "t.csv", content), tmp_path / "a.ledger"
    PrivacyLedger(9, path=file)
    fit = ["fit", table, "--target", "label", "--out", tmp_path / "m", "--ledger", file, "--delta", "0"]
    status, out, err = run(capsys, *fit)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert given in err
    assert not any(cell in err for row in RECORDS for cell in row if len(cell) > 3)
    assert PrivacyLedger.open(file).history() == []
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "cells",
    ["39", "-1.5", "1e3", ".5", "1,5", "$5", "nan", "-inf", "", "?", "NA", "No", "2020-01-31", "12:30", "5%",
     "a\nb", "x" * 300],
)  # fmt: skip
def test_a_first_line_with_such_a_cell_looks_like_a_record(cells):
    assert looks_like_a_record(["age", cells, "label"])


def test_other_first_lines_name_columns_unless_a_cell_is_there_twice():
    assert not looks_like_a_record(["age", "marital-status", "wage (EUR)", "x1", "Größe", "is_member"])
    assert looks_like_a_record(["clerk", "north", "clerk"])


@pytest.mark.parametrize("target", ["label", "8O", "Colone"])
@pytest.mark.parametrize("first", [["80", "Cologne", "yes"], ["Ann", "Cologne", "member"]])
def test_no_message_quotes_the_first_line_of_a_file_without_header(capsys, tmp_path, first, target):
    """One of them looks like a record, the other like a header."""
    table = write(tmp_path / "t.csv", ",".join(first) + "\n" + TEXT)
    status, out, err = run(capsys, "fit", table, "--target", target, "--out", tmp_path / "m")
    assert (status, out) == (2, "")
    assert "--no-header" in err
    assert not any(f"'{cell}'" in err for cell in first)
    schema = write(tmp_path / "s.json", '{"columns": {"town": {"type": "hashed"}}}')
    status, out, err = run(
        capsys, "fit", table, "--target", first[2], "--schema", schema, "--out", tmp_path / "m"
    )
    assert status == 2
    assert not any(f"'{cell}'" in err for cell in first)


def test_a_header_that_the_user_declares_is_quoted(capsys, tmp_path):
    table = write(tmp_path / "t.csv", NAMED.replace("age", "1st_age"))
    fit = ["fit", table, "--target", "lable", "--out", tmp_path / "m"]
    assert "looks like a record" in run(capsys, *fit)[2]
    assert "did you mean 'label'?" in run(capsys, *fit, "--header")[2]
    for first, given in (("a,b,a", "got 'a' more than once: rename"), ("a,b,", "got an empty one: rename")):
        fit = ["fit", write(table, first + "\n1,2,3\n"), "--target", "a", "--header", "--out", tmp_path / "m"]
        assert f"column names must be distinct and not empty, {given} them" in run(capsys, *fit)[2]


def test_files_without_header_are_fitted_and_predicted_by_number_or_by_given_names(capsys, tmp_path):
    rows = "".join(f"{i % 60},{'yes' if i % 60 > 30 else 'no'}\n" for i in range(600))
    table, model = write(tmp_path / "t.csv", rows), tmp_path / "m"
    fit = ["fit", table, "--epsilon", "9", "--delta", "0", "--out", model]
    assert run(capsys, *fit, "--no-header", "--target", "x1")[0] == 0
    assert joblib.load(model).feature_names_in_.tolist() == ["x0"]
    assert run(capsys, *fit, "--columns", 'age,"member, or not"', "--target", "member, or not")[0] == 0
    assert joblib.load(model).feature_names_in_.tolist() == ["age"]
    assert run(capsys, "predict", model, table, "--columns", "age,m", "--out", tmp_path / "l")[0] == 0
    assert len((tmp_path / "l").read_text().splitlines()) == 601


@pytest.mark.parametrize(
    ("form", "given"),
    [
        (["--no-header"], "its columns are 'x0', 'x1', 'x2'"),
        (["--columns", "age,town"], "--columns must name every column, of which there are 3, got 2"),
        (["--columns", "age,age,b"], "--columns must be distinct names"),
        (["--columns", '"age,town'], "with each quote closed"),
        (["--columns", "a,b,c", "--header"], "not allowed with argument"),
        (["--separator", "x"], "--separator must be one of"),
    ],
)
def test_format_options_are_validated(capsys, tmp_path, form, given):
    table = write(tmp_path / "t.csv", TEXT)
    status, _, err = run(capsys, "fit", table, "--target", "label", "--out", tmp_path / "m", *form)
    assert status == 2
    assert given in err
    assert SECRET not in err


def test_names_that_the_first_line_has_already_are_not_given_again(tmp_path):
    with pytest.raises(Refusal, match="leave --columns out"):
        read(tmp_path, NAMED, header=False, columns=("age", "town", "label"))
