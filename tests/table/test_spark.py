"""Frames of Spark are tables in parts, which its workers read; run where there are Java and pyspark."""

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from dplearn import StatisticalQueryNaiveBayes
from dplearn.privacy import PrivacyLedger
from dplearn.releases import quantiles
from dplearn.table import PartsUnreadableError

sql = pytest.importorskip("pyspark.sql")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is missing"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    made = pd.DataFrame({"age": rng.integers(18, 90, 600), "town": rng.choice(["north", "south", None], 600)})
    return made.assign(moved=np.where(made["age"] > 50, "yes", "no"))


@pytest.fixture(scope="module")
def frame(spark, table, tmp_path_factory):
    """Return the same table in 17 files, of one partition each, of which a filter empties two."""
    folder = tmp_path_factory.mktemp("parts")
    pieces = [table[start : start + 40].assign(kept=True) for start in range(0, 600, 40)]
    for number, piece in enumerate([pieces[0].assign(kept=False), *pieces, pieces[1].assign(kept=False)]):
        piece.to_parquet(folder / f"{number:02}.parquet", index=False)
    spark.conf.set("spark.sql.files.openCostInBytes", "200m")
    return spark.read.parquet(str(folder)).filter("kept").drop("kept")


def test_a_fit_is_that_on_the_whole_table(frame, table):
    assert frame.rdd.getNumPartitions() == 17
    how = {"epsilon": 1, "delta": 1e-6, "domain": "learn", "classes": ["no", "yes"], "random_state": 0}
    ours = StatisticalQueryNaiveBayes(**how).fit(frame, "moved")
    whole = StatisticalQueryNaiveBayes(**how).fit(table.drop(columns="moved"), table["moved"])
    X = table.drop(columns="moved")
    np.testing.assert_array_equal(ours.predict_proba(X), whole.predict_proba(X))


def test_quantiles_are_those_of_the_whole_column(frame, table):
    ours, whole = (
        quantiles(column, [0.1, 0.5, 0.9], epsilon=1, random_state=0)
        for column in (frame.select("age"), table["age"])
    )
    np.testing.assert_array_equal(ours.values, whole.values)


def test_what_is_no_part_of_the_frame_is_refused_and_costs_nothing(frame, table):
    ledger = PrivacyLedger(1, 1e-6)
    with pytest.raises(TypeError, match="y must be the name of a column of X"):
        StatisticalQueryNaiveBayes(epsilon=1, ledger=ledger).fit(frame, table["moved"])
    with pytest.raises(ValueError, match=r'values must be one column.*frame.select\("age"\)'):
        quantiles(frame, [0.5], epsilon=1, ledger=ledger)
    assert not ledger.history()


def test_an_error_of_a_reader_shows_no_value(frame):
    broken = frame.selectExpr("raise_error(concat('secret ', age)) as age")
    with pytest.raises(PartsUnreadableError) as caught:
        quantiles(broken, [0.5], epsilon=1)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
