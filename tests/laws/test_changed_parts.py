"""A source of parts that yields another record in a later pass is refused, and one that does not never is."""

import pickle
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_iris

from dplearn import AdditiveClassifier, StatisticalQueryNaiveBayes, releases
from dplearn.domains import Categories, Grid, IntegerRange, Schema
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.table import PartsChangedError, groups
from dplearn.table import table as tables
from tests.laws.conftest import framed, protects_labels, public_rows, with_coarse_domain
from tests.laws.releases import RELEASES

IRIS = load_iris(return_X_y=True)
NEVER = 10**6
pytestmark = pytest.mark.filterwarnings("ignore")


class Read:
    """Parts from a function, of which the last is another one, or missing, in one pass or from it on."""

    def __init__(self, usual, other=None, in_pass=NEVER, last=None):
        self.usual, self.other, self.in_pass, self.passes = usual, other, in_pass, 0
        self.last = last or in_pass

    def __call__(self):
        self.passes += 1
        yield from self.usual[:-1]
        changed = self.in_pass <= self.passes <= self.last
        if not changed or self.other is not None:
            yield self.other if changed else self.usual[-1]


def assert_changes_are_noticed(run, usual, others):
    """Run with parts that stay, and with those of which one record is another in the second or last pass."""
    quiet = Read(usual)
    run(quiet)
    assert quiet.passes > 1
    for other, number in ((others[0], 2), (others[-1], quiet.passes)):
        with pytest.raises(PartsChangedError, match="but their records, their number or their lengths"):
            run(Read(usual, other, number))


def test_a_learner_notices_another_cell_another_label_and_other_groups(classifier, iris, one_a_class):
    X, y = iris
    if not classifier.reads_parts:
        return
    model = with_coarse_domain(classifier).set_params(random_state=3)
    if "classes" in model.get_params():
        model.set_params(classes=np.unique(y).tolist())
    cell, label, more = X[60:].copy(), y[60:].copy(), public_rows(classifier, X)
    cell[7] = 0
    label[7] = label[7] + 1 if is_regressor(model) else y[0]
    assert label[7] != y[67]
    others = [(cell, y[60:]), (X[60:], label)]
    assert_changes_are_noticed(
        lambda read: clone(model).fit(read, None, **more), [(X[:60], y[:60]), (X[60:], y[60:])], others
    )
    if not protects_labels(classifier):
        frame = framed(X, person=[f"p{number // 2}" for number in range(len(X))], y=y)
        other = frame[60:].copy()
        other.iloc[-1, other.columns.get_loc("person")] = "p3"
        run = lambda read: clone(model).fit(read, "y", groups="person", **more)  # noqa: E731
        assert_changes_are_noticed(run, [frame[:60], frame[60:]], [other])


def test_a_transformer_notices_another_cell(any_transformer, one_a_class):
    if not hasattr(any_transformer, "plan"):
        return
    X = IRIS[0].copy()
    X[-1, 1] = 2.5
    model = clone(any_transformer).set_params(epsilon=5, random_state=3)
    assert_changes_are_noticed(clone(model).fit, [IRIS[0][:60], IRIS[0][60:]], [X[60:]])


OF_PARTS = {name: each for name, each in RELEASES.items() if each.name in releases.__all__}


@pytest.mark.parametrize("name", OF_PARTS)
def test_a_release_notices_another_value(name):
    record = RELEASES[name]
    table, other = record.table, record.table[400:].copy()
    other.iloc[-1] = next(row for row in table.to_numpy() if np.all(row != table.to_numpy()[-1]))
    usual = [table[:400], table[400:]]
    given = {name: lambda each=each: [each[:400], each[400:]] for name, each in record.beside.items()}
    quiet = Read(usual)
    record.make(quiet, **given)
    if quiet.passes == 1:
        assert record.name == "learned_schema"
        assert record.parameters == {"delta": 0}
    else:
        assert_changes_are_noticed(lambda read: record.make(read, **given), usual, [other])


def test_other_groups_are_noticed_after_a_transformer():
    frame = framed(IRIS[0], person=np.arange(150) // 2, y=IRIS[1])
    scaler = PrivateStandardScaler(domain=Grid(0, 10, 101), epsilon=5)
    model = StatisticalQueryNaiveBayes(domain=Grid(-9, 9, 91, "clip"), classes=[0, 1, 2])
    read = Read([frame[:60], frame[60:]], frame[60:].assign(person=np.arange(90)))
    scaled = scaler.fit_transform(read, "y", groups="person")
    for number in (2, 3):  # the first reads the ids
        read.passes, read.in_pass, read.last = 0, number, number
        with pytest.raises(PartsChangedError):
            model.fit(scaled, None, groups="person")
    read.in_pass = NEVER
    model.fit(scaled, None, groups="person")


#: Columns, each with another value in the last row.
COLUMNS = {
    "numbers": ([0.5, np.nan, -0.0], [0.5, np.nan, 1.0]),
    "integers": (np.array([1, 2, 3], np.int8), np.array([1, 2, 4], np.int8)),
    "long": (np.array([1, 2, 3], np.longdouble), np.array([1, 2, 4], np.longdouble)),
    "texts": (np.array(["a", None, "b"], object), np.array(["a", None, "c"], object)),
    "large integers": (np.array([2**70, 1, 2**80], object), np.array([2**70, 1, 2**80 + 1], object)),
    "keys": (["a", None, ("x", 1)], ["a", None, ("x", 2)]),
    "times": (np.array([0, 1, 2], "M8[s]"), np.array([0, 1, 3], "M8[s]")),
    "fixed": (np.array(["ab", "c", "d"]), np.array(["ab", "c", "e"])),
    "sparse": (csr_matrix([[0, 1], [2, 0], [0, 3]]), csr_matrix([[0, 1], [2, 0], [0, 4]])),
    "rows": (np.arange(900.0).reshape(300, 3), np.arange(900.0).reshape(300, 3) + (np.arange(3) == 2)),
}
for name, first in {
    "pandas": pd.DataFrame({"a": [1, 2, 3], "t": ["x", None, "y"], "c": pd.Categorical(["u", "v", "u"])}),
    "gaps": pd.DataFrame(
        {"i": pd.array([1, None, 3], "Int64"), "b": pd.array([True, None, False], "boolean")}
    ),
    "Arrow": pd.DataFrame({"s": pd.array(["x", None, "y"], pd.ArrowDtype(pa.string()))}),
    "polars": pl.DataFrame({"a": [1, 2, 3], "t": ["x", None, "y"]}),
}.items():
    COLUMNS[name] = (first, first[[0, 1, 0]] if name == "polars" else first.iloc[[0, 1, 0]])


def copied(records):
    """Return equal records, of which neither cells nor layout are shared with the given ones."""
    if isinstance(records, np.ndarray) and records.ndim == 2:
        return np.asfortranarray(records)
    if isinstance(records, csr_matrix):
        return csc_matrix(records)
    return pickle.loads(pickle.dumps(records))


def test_a_digest_tells_records_apart_and_no_copies():
    for usual, other in COLUMNS.values():
        assert tables.digest_of(usual) == tables.digest_of(copied(usual)) != tables.digest_of(other)
        assert len(tables.digest_of(usual)) == 16
    cells = np.array([lambda: 1, "a"], dtype=object)  # which cannot be pickled
    assert tables.digest_of(cells) == tables.digest_of(cells)
    rng = np.random.default_rng(0)
    for length in (1, 63, 64, 65, 1000):  # on every byte, and on their order
        cells = rng.integers(0, 256, 8 * length + 3, dtype=np.uint8)
        known = {tables.digest_of(cells), tables.digest_of(np.roll(cells, 1))}
        places = rng.choice(len(cells), min(40, len(cells)), replace=False)
        for place in places:
            other = cells.copy()
            other[place] ^= 128
            known.add(tables.digest_of(other))
        assert len(known) == len(places) + 2


@pytest.mark.parametrize(
    "model",
    [
        StatisticalQueryNaiveBayes(domain=Grid(0, 10, 101)),
        PrivateStandardScaler(domain=Grid(0, 10, 101)),
        pytest.param(AdditiveClassifier(domain="learn", interactions=False), marks=pytest.mark.nightly),
    ],
    ids=repr,
)
def test_no_digest_is_left_after_a_fit(model, monkeypatch, caplog, capsys):
    found, right = set(), tables.digest_of

    def noted(records):
        found.add(right(records))
        return right(records)

    for module in (tables, groups):
        monkeypatch.setattr(module, "digest_of", noted)
    table = framed(IRIS[0], person=np.arange(150), y=IRIS[1])
    target = ("y",) if hasattr(model, "predict") else ()
    table = table if target else table.drop(columns="y")
    model = clone(model).fit([table[:60], table[60:]], *target, groups="person")
    kept = b""
    with suppress(TypeError):
        kept = pickle.dumps(model)
    text = f"{vars(model)}{caplog.text}{capsys.readouterr()}"
    assert len(found) > 2
    for digest in found:
        assert digest not in kept
        assert repr(digest) not in text
        assert digest.hex() not in text


def test_categories_and_numbers_of_dask_are_compared_where_they_are():
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": range(100), "town": ["x", "y"] * 50, "ill": [0, 1] * 50})
    reads = []

    def part(number):
        reads.append(number)
        found = frame[50 * number : 50 * number + 50].copy()
        if changes and reads.count(number) == changes and number:
            found.iloc[3, 0] = 7
        return found

    schema = Schema({"a": IntegerRange(0, 99), "town": Categories(["x", "y"])})
    model = AdditiveClassifier(domain=schema, classes=[0, 1], interactions=False, random_state=0)
    for changes in (0, 2, 3):  # workers keep what they read the third time
        reads.clear()
        table = dd.from_map(part, range(2), meta=frame[:0])
        if changes:
            with pytest.raises(PartsChangedError):
                model.fit(table, "ill")
        else:
            model.fit(table, "ill")


@pytest.mark.parametrize("groups", [None, "person"])
def test_a_part_that_vanishes_is_noticed_in_every_pass(groups):
    frame = framed(IRIS[0], person=np.arange(150) // 2, y=IRIS[1])
    frame = frame if groups else frame.drop(columns="person")
    model = StatisticalQueryNaiveBayes(epsilon=50, domain="learn", classes=[0, 1, 2])
    usual = [frame[:60], frame[60:]]
    quiet = Read(usual)
    clone(model).fit(quiet, "y", groups=groups)
    for first in range(2, quiet.passes + 1):
        with pytest.raises(PartsChangedError) as caught:
            clone(model).fit(Read(usual, None, first, NEVER), "y", groups=groups)
    sent = pickle.loads(pickle.dumps(caught.value))  # as by a worker
    assert (type(sent), str(sent)) == (PartsChangedError, str(caught.value))
