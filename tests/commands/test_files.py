"""Files of other formats, numbers that are written with signs, and what is told before the charge."""

import re

import numpy as np
import pandas as pd
import pytest

from dplearn.commands.csv_table import Table
from dplearn.privacy import PrivacyLedger
from tests.commands.conftest import SECRET, is_refused

N = 1200
RANDOM = np.random.default_rng(0)
COSTS = RANDOM.lognormal(7, 1, N).round(2)
DAYS = pd.to_datetime("2020-01-01") + pd.to_timedelta(RANDOM.integers(0, 900, N), unit="D")
VISITS = pd.DataFrame(
    {
        "id": [f"{SECRET}{place}" for place in range(N)],
        "day": DAYS,
        "cost": COSTS,
        "town": RANDOM.choice(["Köln", "Bonn"], N),
        "ill": np.where(COSTS > 1100, "yes", "no"),
    }
)
SIGNED = VISITS.assign(
    cost=[f"${cost:,.2f}" for cost in COSTS], share=[f"{x:.1f}%" for x in RANDOM.random(N)]
)
FIT = "--target ill --labels no,yes --epsilon 20 --out m"
KINDS = "--numbers cost --dates day"


def accuracy(found):
    assert found.status == 0, found.err
    return float(found.out.split("declared public: ")[1])


@pytest.mark.parametrize(
    ("text", "how", "decimal", "number"),
    [
        ("12", "", ".", 12),
        ("1.5", "", ".", 1.5),
        ("1,5", "", ",", 1.5),
        ("1.5", "", ",", "1.5"),  # may be 15
        ("1_000", "", ".", "1_000"),
        ("$8,844.79", "currency", ".", 8844.79),
        ("-$8.50", "currency", ".", -8.5),
        ("$-8.50", "currency", ".", -8.5),
        ("(1,200.00)", "currency", ".", -1200),
        ("1.234,50 €", "currency", ",", 1234.5),
        ("CHF 1'200.-", "currency", ".", 1200),
        ("1\u202f234,5", "thousands", ",", 1234.5),
        ("1,234", "thousands", ".", 1234),
        ("12.5 %", "percent", ".", 0.125),
        ("7", "percent", ".", 0.07),
        ("n/a", "currency", ".", "n/a"),
        ("free", "thousands", ".", "free"),
        ("(5)", "currency", ".", -5),
        ("\u2212$5", "currency", ".", -5),
        ("1 234 kr", "currency", ".", 1234),
        ("(-5)", "currency", ".", "(-5)"),
        ("5-", "currency", ".", "5-"),
        ("(5", "currency", ".", "(5"),
        ("9" * 400, "percent", ".", float("inf")),
    ],
)
def test_a_cell_is_the_number_that_a_person_reads(text, how, decimal, number):
    table = Table([], [], True, decimal, formats={"cost": how} if how else {})
    assert table.number("cost", text) == number


def test_money_and_percent_are_read_as_declared_also_by_predict(run, tmp_path):
    for name in ("t.csv", "public.csv"):
        SIGNED.to_csv(tmp_path / name, index=False)
    plain = run(f"fit t.csv {FIT} {KINDS} --test public.csv")
    found = run(f"fit t.csv {FIT} --numbers cost:currency,share:percent --dates day --test public.csv")
    assert accuracy(found) > 0.95 > 0.8 > accuracy(plain)
    assert "Column 'cost': about 100% of the cells are empty or no numbers" in plain.out
    assert run("predict m public.csv --out o.csv").status == 0
    assert (pd.read_csv(tmp_path / "o.csv")["prediction"] == VISITS["ill"]).mean() > 0.95


def test_european_files(run, tmp_path):
    for name in ("t.csv", "public.csv"):
        VISITS.to_csv(tmp_path / name, index=False, sep=";", decimal=",", encoding="latin-1")
    form = ["--separator", ";", "--decimal", ",", "--encoding", "latin-1"]
    fit = ["fit", "t.csv", *f"{FIT} {KINDS} --test public.csv".split(), *form]
    found = run(fit)
    assert accuracy(found) > 0.95
    assert "Köln" in found.out
    is_refused(
        run([each for each in fit if each not in ("--encoding", "latin-1")]), "must be encoded in UTF-8"
    )
    is_refused(
        run([*fit, "--encoding", "klingon"]), "--encoding must be the name of an encoding, got 'klingon'"
    )


@pytest.mark.parametrize(("suffix", "engine"), [("parquet", "pyarrow"), ("xlsx", "openpyxl")])
def test_files_that_pandas_reads(run, tmp_path, suffix, engine):
    pytest.importorskip(engine)
    for name in ("t", "public"):
        write = VISITS.to_parquet if suffix == "parquet" else VISITS.to_excel
        write(tmp_path / f"{name}.{suffix}", index=False)
    found = run(f"fit t.{suffix} {FIT} {KINDS} --test public.{suffix}")
    assert accuracy(found) > 0.95
    assert ("timestamp" in found.out) == (suffix == "parquet")
    (tmp_path / f"bad.{suffix}").write_text(SECRET)
    is_refused(run(f"fit bad.{suffix} {FIT}"), f"damaged, or no .{suffix} file")


@pytest.mark.parametrize("option", ["--encoding latin-1", "--decimal ,", "--separator ;"])
def test_options_of_csv_files_are_refused_for_others(run, tmp_path, option):
    """They were ignored."""
    pytest.importorskip("pyarrow")
    VISITS.to_parquet(tmp_path / "t.parquet")
    VISITS.to_csv(tmp_path / "public.csv", index=False, encoding="latin-1")
    refusal = f"{option.split()[0]} is for CSV files, and t.parquet is none"
    is_refused(run(f"fit t.parquet {FIT} {KINDS} {option}"), refusal)
    is_refused(run(f"describe t.parquet {KINDS} {option}"), refusal)
    if option.startswith("--enc"):  # of the other file
        assert accuracy(run(f"fit t.parquet {FIT} {KINDS} --test public.csv {option}")) > 0.95


def test_an_engine_that_is_not_installed_is_named(run, tmp_path, monkeypatch):
    def absent(*_, **__):
        raise ImportError("openpyxl")

    monkeypatch.setattr(pd, "read_excel", absent)
    (tmp_path / "t.xlsx").write_text("")
    is_refused(run(f"fit t.xlsx {FIT}"), "pandas, and its engine for .xlsx, must be installed")


def test_what_becomes_of_each_column_is_told_before_the_charge(run, tmp_path):
    SIGNED.to_csv(tmp_path / "t.csv", index=False)
    ledger = PrivacyLedger(100, 1e-3, tmp_path / "l")
    options = f"{FIT} --numbers cost:currency --dates day --ledger l"
    found = run(f"fit t.csv {options} --dry-run")
    assert found.status == 0
    lines = {line.split()[0].strip("'"): line for line in found.out.splitlines() if line.startswith("'")}
    assert list(lines) == list(SIGNED.columns)
    assert "numbers, currency" in lines["cost"]
    assert "days in a learned range" in lines["day"]
    assert "frequent values are listed" in lines["id"]
    assert "declared labels, 'no', 'yes'" in lines["ill"]
    assert "Nothing was fitted. A fit costs epsilon 20" in found.out
    assert ledger.spent().epsilon == 0
    assert not (tmp_path / "m").exists()
    found = run(f"fit t.csv {options}")
    assert found.out.startswith("Before the charge:")
    assert "does not tell apart the values of 1 of 5 columns, 'id'" in found.err
    assert SECRET not in found.out + found.err
    assert ledger.spent().epsilon == 20


def test_unknown_formats_and_columns_are_refused(run, tmp_path):
    SIGNED.to_csv(tmp_path / "t.csv", index=False)
    is_refused(
        run(f"fit t.csv {FIT} --numbers cost:money"), "a format must be one of currency, percent, thousands"
    )
    is_refused(run(f"fit t.csv {FIT} --numbers price:currency"), "must list columns of the table other than")
    is_refused(
        run("synthetic t.csv --out o.csv"), "--schema, or --numbers, --integers or --dates, must declare"
    )


@pytest.mark.parametrize("command", ["fit", "predict", "describe", "synthetic", "ledger", "audit"])
def test_each_command_has_help(run, command):
    found = run(f"{command} --help")
    assert found.status == 0
    assert "show this help message" in found.out


def test_statistics_are_printed_and_written(run, tmp_path):
    SIGNED.to_csv(tmp_path / "t.csv", index=False)
    found = run("describe t.csv --numbers cost:currency --dates day --by town --epsilon 50 --out o.csv")
    assert found.status == 0
    assert "Before the charge:" in found.out
    lines = pd.read_csv(tmp_path / "o.csv").query("column == 'cost' and statistic == '50%'")
    medians = VISITS.groupby("town")["cost"].median()
    assert dict(zip(lines["town"], lines["estimate"], strict=True)) == pytest.approx(
        medians.to_dict(), rel=0.1
    )
    dry = run("describe t.csv --numbers cost:currency --dry-run --epsilon 2")
    assert "Nothing was released. A release costs epsilon 2" in dry.out
    unknown = "must be a column of the table, got"
    for command in ("describe t.csv --by", "synthetic t.csv --out o.csv --target"):
        option = command.split()[-1]
        is_refused(run(f"{command} Town --numbers cost"), f"{option} {unknown} 'Town'; did you mean 'town'?")
        refused = run(f"{command} nope --numbers cost")  # the first line may be a record
        is_refused(
            refused, f"{option} {unknown} 'nope'; the first line of the table has no such cell, and is not"
        )
        is_refused(
            run(f"{command} nope --numbers cost --header"), f"{unknown} 'nope'; its columns are 'id', 'day'"
        )


def test_messages_of_the_library_name_options(run, tmp_path):
    wide = VISITS.assign(**{f"column {place}": COSTS for place in range(8)})
    wide.to_csv(tmp_path / "t.csv", index=False)
    numbers = "--numbers cost," + ",".join(f"'column {place}'" for place in range(8))
    found = run(f"describe t.csv {numbers} --epsilon 5")
    assert found.out.count("column 7") == 7  # each of its statistics, and what becomes of it
    assert "declare columns of dates by --dates, in ISO 8601" in found.err
    few = run(f"describe t.csv {numbers} --by town --epsilon .1")
    assert "lists with 13 columns; leave columns out" in few.err
    assert "or declare --schema FILE" in few.err
    assert "domain=" not in found.err + few.err


def test_a_column_of_numbers_without_a_readable_cell_is_missing_and_no_error(run, tmp_path):
    prices = [f"${place:,}" for place in range(1000, 2000)]
    pd.DataFrame({"age": range(1000), "price": prices}).to_csv(tmp_path / "t.csv", index=False)
    found = run("describe t.csv --integers age --numbers price")
    assert found.status == 0
    [count] = re.findall(r"price +count +(\d+) ", found.out)
    assert int(count) < 100


def test_synthetic_records_are_written_with_their_types(run, tmp_path):
    VISITS.assign(age=RANDOM.integers(18, 90, N)).to_csv(tmp_path / "t.csv", index=False)
    PrivacyLedger(100, 1e-3, tmp_path / "l")
    found = run(
        f"synthetic t.csv {KINDS} --integers age --target ill --epsilon 50 --rows 900 --ledger l --out o.csv"
    )
    assert found.status == 0
    assert "900 records written to o.csv" in found.out
    rows = pd.read_csv(tmp_path / "o.csv")
    assert list(rows.columns) == [*VISITS.columns, "age"]
    assert len(rows) == 900
    assert rows["age"].dtype == np.int64
    assert rows["day"].str.fullmatch(r"20\d\d-\d\d-\d\d").all()
    assert ((rows["cost"] > 1100) == (rows["ill"] == "yes")).mean() > 0.8
    assert SECRET not in (tmp_path / "o.csv").read_text()
    is_refused(run(f"synthetic t.csv {KINDS} --rows 0 --out o.csv"), "--rows must be at least 1, got 0")
    is_refused(
        run(f"synthetic t.csv {KINDS} --epsilon 80 --ledger l --out o.csv"), "does not fit into the budget"
    )
