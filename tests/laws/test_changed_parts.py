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

from dplearn import AdditiveClassifier, StatisticalQueryNaiveBayes, SubsampleAggregateClassifier, releases
from dplearn.domains import Categories, Grid, IntegerRange, Schema
from dplearn.preprocessing import PrivateStandardScaler
from dplearn.table import groups
from dplearn.table import table as tables
from dplearn.table.passes import PartsChangedError, digest_of
from tests.laws.conftest import TRANSFORMERS
from tests.laws.test_groups import given_to
from tests.laws.test_groups_of_parts import framed
from tests.laws.test_parts import IRIS, with_coarse_domain
from tests.releases.test_release import RELEASES, VALUES
from tests.releases.test_releases_of_parts import MORE, series_of

NEVER = 10**6


class Read:
    """Parts from a function, of which the last is another one in one pass."""

    def __init__(self, usual, other, in_pass=NEVER):
        self.usual, self.other, self.in_pass, self.passes = usual, other, in_pass, 0

    def __call__(self):
        self.passes += 1
        yield from self.usual[:-1]
        yield self.other if self.passes == self.in_pass else self.usual[-1]


def assert_changes_are_noticed(run, usual, others):
    """Run with parts that stay, and with those of which one record is another in the second or last pass."""
    quiet = Read(usual, None)
    run(quiet)
    assert quiet.passes > 1
    for other, number in ((others[0], 2), (others[-1], quiet.passes)):
        with pytest.raises(PartsChangedError, match="but their records, their number or their lengths"):
            run(Read(usual, other, number))


@pytest.mark.filterwarnings("ignore")
def test_a_learner_notices_another_cell_and_another_label(classifier, iris, one_a_class):
    X, y = iris
    if not classifier.reads_parts:
        return
    model = with_coarse_domain(classifier).set_params(random_state=3)
    if "classes" in model.get_params():
        model.set_params(classes=np.unique(y).tolist())
    cell, label = X[60:].copy(), y[60:].copy()
    cell[7] = 0
    label[7] = label[7] + 1 if is_regressor(model) else y[0]
    assert label[7] != y[67]
    others = [(cell, y[60:]), (X[60:], label)]
    more = given_to(classifier, X)
    assert_changes_are_noticed(
        lambda read: clone(model).fit(read, None, **more), [(X[:60], y[:60]), (X[60:], y[60:])], others
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transformer", [each for each in TRANSFORMERS if hasattr(each, "plan")], ids=repr)
def test_a_transformer_notices_another_cell(transformer):
    X = IRIS[0].copy()
    X[-1, 1] = 2.5
    model = clone(transformer).set_params(epsilon=5, random_state=3)
    assert_changes_are_noticed(clone(model).fit, [IRIS[0][:60], IRIS[0][60:]], [X[60:]])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", RELEASES | MORE)
def test_a_release_notices_another_value(kind):
    name, parameters = (RELEASES | MORE)[kind]
    if parameters.get("delta") == 0:
        return  # reads its parts once
    other = VALUES[900:]
    other = [*other[:-1], other[-1] + 1]
    usual = [series_of(name, VALUES[:900]), series_of(name, VALUES[900:])]
    assert_changes_are_noticed(
        lambda read: getattr(releases, name)(read, random_state=5, **parameters),
        usual,
        [series_of(name, other)],
    )


def test_a_synthetic_table_and_means_of_groups_notice_another_value():
    table = pd.DataFrame({"a": [0, 1, 2] * 40, "b": [0, 1] * 60})
    schema = Schema({"a": IntegerRange(0, 2), "b": IntegerRange(0, 1)})
    other = table[60:].copy()
    other.iloc[5, 0] = 1
    assert_changes_are_noticed(
        lambda read: releases.SyntheticTable(domain=schema, epsilon=1, delta=0, random_state=0).fit(read),
        [table[:60], table[60:]],
        [other],
    )
    for changed in ("a", "b"):
        usual, more = [table["a"][:60], table["a"][60:]], [table["b"][:60], table["b"][60:]]

        def run(read, changed=changed, usual=usual, more=more):
            given = (read, lambda: more) if changed == "a" else (lambda: usual, read)
            releases.grouped(*given, bounds=(0, 1), categories=[0, 1, 2], random_state=0)

        assert_changes_are_noticed(
            run, usual if changed == "a" else more, [table[changed][60:].replace(0, 1)]
        )


@pytest.mark.filterwarnings("ignore")
def test_other_groups_are_noticed(classifier, iris, one_a_class):
    if not classifier.reads_parts or getattr(classifier, "protects", "examples") == "labels":
        return
    X, y = iris
    frame = framed(X, [f"p{number // 2}" for number in range(len(X))]).assign(y=y)
    other = frame[60:].copy()
    other.iloc[-1, other.columns.get_loc("person")] = "p3"
    model = with_coarse_domain(classifier).set_params(random_state=3)
    more = given_to(classifier, X)
    assert_changes_are_noticed(
        lambda read: clone(model).fit(read, "y", groups="person", **more), [frame[:60], frame[60:]], [other]
    )


def test_other_groups_are_noticed_after_a_transformer():
    frame = framed(IRIS[0], np.arange(150) // 2).assign(y=IRIS[1])
    scaler = PrivateStandardScaler(domain=Grid(0, 10, 101), epsilon=5)
    model = StatisticalQueryNaiveBayes(domain=Grid(-9, 9, 91, "clip"), classes=[0, 1, 2])

    read = Read([frame[:60], frame[60:]], frame[60:].assign(person=np.arange(90)))
    scaled = scaler.fit_transform(read, "y", groups="person")
    for number in (2, 3):  # the first reads the ids
        read.passes, read.in_pass = 0, number
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


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_digest_tells_records_apart_and_no_copies(kind):
    usual, other = COLUMNS[kind]
    assert digest_of(usual) == digest_of(copied(usual)) != digest_of(other)
    assert len(digest_of(usual)) == 16


def test_a_digest_depends_on_every_byte_and_on_the_order():
    rng = np.random.default_rng(0)
    for length in (1, 63, 64, 65, 1000):
        cells = rng.integers(0, 256, 8 * length + 3, dtype=np.uint8)
        known = {digest_of(cells)}
        for place in rng.choice(len(cells), min(40, len(cells)), replace=False):
            other = cells.copy()
            other[place] ^= 128
            known.add(digest_of(other))
        known.add(digest_of(np.roll(cells, 1)))
        assert len(known) == min(40, len(cells)) + 2


def test_cells_that_cannot_be_pickled_refuse_no_table():
    cells = np.array([lambda: 1, "a"], dtype=object)
    assert digest_of(cells) == digest_of(cells)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        StatisticalQueryNaiveBayes(domain=Grid(0, 10, 101)),
        pytest.param(AdditiveClassifier(domain="learn", interactions=False), marks=pytest.mark.nightly),
        pytest.param(SubsampleAggregateClassifier(epsilon=5, n_teachers=9), marks=pytest.mark.nightly),
        PrivateStandardScaler(domain=Grid(0, 10, 101)),
    ],
    ids=repr,
)
def test_no_digest_is_left_after_a_fit(model, monkeypatch, caplog, capsys):
    found = set()

    def noted(records):
        found.add(digest_of(records))
        return digest_of(records)

    for module in (tables, groups):
        monkeypatch.setattr(module, "digest_of", noted)
    frame = framed(IRIS[0], np.arange(150)).assign(y=IRIS[1])
    target = () if isinstance(model, PrivateStandardScaler) else ("y",)
    table = frame if target else frame.drop(columns="y")
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
    for changes in (0, 2, 5):
        reads.clear()
        table = dd.from_map(part, range(2), meta=frame[:0])
        if changes:
            with pytest.raises(PartsChangedError):
                model.fit(table, "ill")
        else:
            model.fit(table, "ill")


def test_the_error_can_be_sent_by_a_worker():
    error = pickle.loads(pickle.dumps(PartsChangedError()))
    assert type(error) is PartsChangedError
    assert str(error) == str(PartsChangedError())


def losing_its_last_part(frame, first, last=NEVER):
    """Return parts of which the last is missing in some passes, and the passes so far."""
    passes = []

    def parts():
        passes.append(1)
        return iter([frame[:60]] if first <= len(passes) <= last else [frame[:60], frame[60:]])

    return parts, passes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("groups", [None, "person"])
def test_a_part_that_vanishes_is_noticed_in_every_pass(groups):
    frame = framed(IRIS[0], np.arange(150) // 2).assign(y=IRIS[1])
    frame = frame if groups else frame.drop(columns="person")
    model = StatisticalQueryNaiveBayes(epsilon=50, domain="learn", classes=[0, 1, 2])
    quiet, passes = losing_its_last_part(frame, NEVER)
    clone(model).fit(quiet, "y", groups=groups)
    for first in range(2, len(passes) + 1):
        with pytest.raises(PartsChangedError):
            clone(model).fit(losing_its_last_part(frame, first)[0], "y", groups=groups)
