"""Nothing of an error of code that reads parts is shown: of any source, in any pass, in any fit."""

import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from sklearn.pipeline import make_pipeline

from dplearn import AdditiveClassifier, StatisticalQueryNaiveBayes, releases
from dplearn.domains import Grid, IntegerRange, Schema
from dplearn.model_selection import private_score
from dplearn.preprocessing import PrivateQuantileTransformer, PrivateStandardScaler
from dplearn.privacy import PrivacyLedger
from dplearn.table import PartsUnreadableError
from tests.laws.releases import RELEASES

pytestmark = pytest.mark.filterwarnings("ignore")
SECRET = "Smith-1971"
FRAME = pd.DataFrame({"a": np.arange(120.0) % 10, "person": np.arange(120), "y": np.arange(120) // 2 % 2})
CUT = [FRAME[:70], FRAME[70:]]
GRID = Grid(0, 9, 10, "clip")
RANGE = Schema({"a": GRID, "person": IntegerRange(0, 119)})


class OddError(ValueError):
    """Shows a cell wherever an error can."""

    def __init__(self):
        super().__init__(f"could not convert {SECRET}", {SECRET: 1})
        self.add_note(f"of {SECRET}")
        self.cell = SECRET


def failing():
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise OddError from error


COUNTS = []  # of passes; shared by the copies of a `Passes` that Dask makes


class Passes:
    """Counts the passes over parts, and fails in one of them, at the second part."""

    def __init__(self, fails_in, cut=CUT):
        self.fails_in, self.cut, self.place = fails_in, cut, len(COUNTS)
        COUNTS.append(0)

    @property
    def n(self):
        return COUNTS[self.place]

    @n.setter
    def n(self, passes):
        COUNTS[self.place] = passes

    def parts(self, of=lambda part: part):
        self.n += 1
        yield of(self.cut[0])
        if self.n == self.fails_in:
            failing()
        yield of(self.cut[1])

    def part(self, number):
        self.n += number
        if number and self.n == self.fails_in:
            failing()
        return CUT[number]


class Iterated(Passes):
    __iter__ = Passes.parts


class Lazy(Passes):
    """A sequence that reads a part when it is asked for it; the first one also before the first pass."""

    def __len__(self):
        return 2

    def __getitem__(self, number):
        self.n += number == 1
        if number == 1 and self.n == self.fails_in:
            failing()
        return CUT[:2][number]


class Batches(Passes):
    """Like a data set of Arrow."""

    def to_batches(self):
        return self.parts(lambda part: pa.RecordBatch.from_pandas(part, preserve_index=False))


class File(Batches):
    """Like a file of Parquet."""

    iter_batches = Batches.to_batches
    to_batches = property()


def dask_frame(passes):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_map(passes.part, range(2), meta=FRAME[:0])


def dask_delayed(passes):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    parts = [dask.delayed(lambda part: part)(dask.delayed(passes.part)(number)) for number in range(2)]
    return dd.from_delayed(parts, meta=FRAME[:0], verify_meta=False)[list(FRAME)]


def dask_mapped(passes):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(FRAME, npartitions=2).map_partitions(
        lambda part: passes.part(int(part["person"].max() > 70)), meta=FRAME[:0]
    )


#: From a `Passes` to a table in parts.
SOURCES = {
    "generator": lambda passes: passes.parts,
    "function": lambda passes: lambda: list(passes.parts()),
    "generator of polars": lambda passes: lambda: passes.parts(pl.from_pandas),
    "generator of batches": lambda passes: lambda: Batches.to_batches(passes),
    "iterable": lambda passes: Iterated(passes.fails_in),
    "sequence": lambda passes: Lazy(passes.fails_in),
    "data set": lambda passes: Batches(passes.fails_in),
    "file": lambda passes: File(passes.fails_in),
    "Dask": dask_frame,
    "delayed": dask_delayed,
    "mapped": dask_mapped,
}


def bayes():
    return StatisticalQueryNaiveBayes(domain=RANGE, classes=[0, 1])


def transformed(parts):
    model = make_pipeline(
        PrivateStandardScaler(domain=RANGE),
        StatisticalQueryNaiveBayes(domain=Grid(-9, 9, 19, "clip"), classes=[0, 1]),
    )
    model.fit(parts, "y")


#: What reads a table in parts in two passes or more.
FITS = {
    "naive Bayes": lambda parts: bayes().fit(parts, "y"),
    "learned schema of a fit": lambda parts: AdditiveClassifier(
        domain="learn", interactions=False, classes=[0, 1]
    ).fit(parts, "y"),
    "groups": lambda parts: StatisticalQueryNaiveBayes(domain=GRID, classes=[0, 1]).fit(
        parts, "y", groups="person"
    ),
    "transformer": lambda parts: PrivateQuantileTransformer(n_quantiles=3).fit(parts),
    "pipeline": transformed,
}


def all_of(error):
    """Yield an error, and all that led to it."""
    while error is not None:
        yield error
        assert error.__suppress_context__ or error.__cause__ is None
        yield from all_of(error.__cause__)
        error = error.__context__


def assert_nothing_is_shown(run, capfd, caplog, recwarn, kind=PartsUnreadableError):
    with pytest.raises(kind, match="X must have parts that can be read") as caught:
        run()
    assert caught.value.__cause__ is caught.value.__context__ is None
    for error in all_of(caught.value):
        assert SECRET not in f"{error} {error!r} {error.args} {vars(error)}"
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown + caplog.text + str(list(map(str, recwarn)))
    assert SECRET not in str(capfd.readouterr())
    assert len(set(map(str, [caught.value, kind(*caught.value.args)]))) == 1


@pytest.mark.parametrize("fails_in", [1, 2])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("fit", FITS)
def test_an_error_in_any_pass_shows_nothing(fit, source, fails_in, capfd, caplog, recwarn):
    parts = SOURCES[source](Passes(fails_in))
    assert_nothing_is_shown(lambda: FITS[fit](parts), capfd, caplog, recwarn)


@pytest.mark.parametrize("source", SOURCES)
def test_without_the_error_all_sources_are_read(source):
    rows = FRAME[["a", "person"]]
    whole = bayes().set_params(random_state=0).fit(rows, FRAME["y"])
    parted = bayes().set_params(random_state=0).fit(SOURCES[source](Passes(0)), "y")
    assert (parted.predict_proba(rows) == whole.predict_proba(rows)).all()


@pytest.mark.parametrize("source", [name for name in SOURCES if name not in ("sequence",)])
def test_a_score_and_columns_show_nothing(source, capfd, caplog, recwarn):
    model = bayes().fit(FRAME[["a", "person"]], FRAME["y"])
    parts = SOURCES[source](Passes(1))
    assert_nothing_is_shown(lambda: private_score(model, parts, "y"), capfd, caplog, recwarn)


OF_PARTS = {name: each for name, each in RELEASES.items() if each.name in releases.__all__}


@pytest.mark.parametrize("fails_in", [1, 2])
@pytest.mark.parametrize("name", OF_PARTS)
def test_a_release_shows_nothing(name, fails_in, capfd, caplog, recwarn):
    record = OF_PARTS[name]
    halves = [record.table[:400], record.table[400:]]
    others = {name: lambda each=each: [each[:400], each[400:]] for name, each in record.beside.items()}
    if (record.name, record.parameters, fails_in) == ("learned_schema", {"delta": 0}, 2):
        return  # the table is read once
    passes = Passes(fails_in, halves)
    run = lambda: record.make(passes.parts, **others)  # noqa: E731
    assert_nothing_is_shown(run, capfd, caplog, recwarn)
    for name, parts in others.items():
        other = Passes(fails_in, parts())
        run = lambda more={name: other.parts}: record.make(lambda: halves, **more)  # noqa: E731
        assert_nothing_is_shown(run, capfd, caplog, recwarn)


def test_groups_of_a_release_show_nothing(capfd, caplog, recwarn):
    passes = Passes(1, [part["person"] for part in CUT])
    run = lambda: releases.median(lambda: [part["a"] for part in CUT], domain=GRID, groups=passes.parts)  # noqa: E731
    assert_nothing_is_shown(run, capfd, caplog, recwarn)


def real_sources(folder):
    """Yield readers of others that fail on a cell, or on a number that fits into no integer of 8 bits."""
    path = folder / "table.csv"
    path.write_text("a,person,y\n" + "1.5,1,0\n" * 60 + f"{SECRET},1,1\n" + "1.5,1,0\n" * 60)
    types = {"a": float, "person": "int64", "y": "int64"}
    yield lambda: pd.read_csv(path, chunksize=20, dtype=types)
    yield lambda: [pl.read_csv(path, schema={"a": pl.Float64, "person": pl.Int64, "y": pl.Int64})]
    yield lambda: (
        pl.scan_csv(path, infer_schema_length=0).with_columns(pl.col("a").cast(pl.Float64)).collect(),
    )
    whole = pl.scan_csv(path, infer_schema_length=0).with_columns(pl.col("a").cast(pl.Float64))
    if hasattr(whole, "collect_batches"):
        yield lambda: whole.collect_batches(maintain_order=True)
    text = pa.table({"a": ["1.5", SECRET], "person": [1, 1], "y": [0, 1]})
    yield lambda: (batch.set_column(0, "a", batch["a"].cast("float64")) for batch in text.to_batches())
    yield ds.dataset(path, format="csv", schema=pa.schema({"a": "float64", "person": "int64", "y": "int64"}))
    dd = pytest.importorskip("dask.dataframe")
    yield dd.read_csv(path, dtype=types, blocksize=300)
    yield dd.read_csv(path, dtype=str)["a"].astype(float).to_frame().assign(y=0)


def test_real_readers_of_a_bad_cell_show_nothing_and_nothing_is_charged(tmp_path, capfd, caplog, recwarn):
    ledger = PrivacyLedger(1, 1e-5)
    for X in real_sources(tmp_path):
        model = StatisticalQueryNaiveBayes(domain=GRID, classes=[0, 1], ledger=ledger)
        assert_nothing_is_shown(lambda X=X, model=model: model.fit(X, "y"), capfd, caplog, recwarn)
    assert ledger.history() == []


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_every_scheduler_of_one_process_shows_nothing(scheduler, capfd, caplog, recwarn):
    dask = pytest.importorskip("dask")
    for source in ("Dask", "delayed", "mapped"):
        with dask.config.set(scheduler=scheduler):
            table = SOURCES[source](Passes(1))
            assert_nothing_is_shown(lambda table=table: bayes().fit(table, "y"), capfd, caplog, recwarn)


@pytest.mark.parametrize("error", [NameError, ModuleNotFoundError, FileNotFoundError, PermissionError])
def test_errors_about_names_and_files_keep_their_type_alone(error, capfd, caplog, recwarn):
    def read():
        yield CUT[0]
        raise error(SECRET)

    def part(number):
        raise error(SECRET)

    kind = ImportError if error is ModuleNotFoundError else error
    dd = pytest.importorskip("dask.dataframe")
    if error is FileNotFoundError:
        with pytest.raises(error, match="does not exist, seen from the working directory"):
            bayes().fit(read, "y")
    for X in (read, dd.from_map(part, range(2), meta=FRAME[:0])):
        assert_nothing_is_shown(lambda X=X: bayes().fit(X, "y"), capfd, caplog, recwarn, kind)


@pytest.mark.parametrize("stop", [BaseException, KeyboardInterrupt, SystemExit])
def test_an_interrupt_stops_a_pass_and_shows_nothing(stop):
    dd, dask = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask")

    def read():
        yield CUT[0]
        raise stop("cell 123456")

    def part(number):
        raise stop

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - any
        bayes().fit(read, "y")
    assert stop is BaseException or caught.type is stop
    assert "123456" not in "".join(traceback.format_exception(caught.value))
    assert "123456" not in repr(caught.value)
    if stop is not BaseException:
        with dask.config.set(scheduler="synchronous"), pytest.raises(stop):
            bayes().fit(dd.from_map(part, range(2), meta=FRAME[:0]), "y")


def test_a_task_of_dask_that_asks_to_be_run_again_is():
    from dplearn.table.sources import value_or_error

    class Reschedule(Exception):  # noqa: N818 - the name that Dask gives it
        pass

    def again(values):
        raise Reschedule

    with pytest.raises(Reschedule):
        value_or_error(again, ())
