"""Features and labels are read one by one, and refused without being shown."""

import warnings
from collections import UserList, deque
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.pipeline import make_pipeline

from dplearn import (
    AdditiveClassifier,
    ExponentialMechanismClassifier,
    ParityClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
)
from dplearn.audit import enumerate_privacy, fitted_with
from dplearn.domains import DomainError, Floats, Hashed, IntegerRange, Schema
from dplearn.preprocessing import CellEncoder
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.table.features import _is_of_numbers, read_features, read_rows
from dplearn.table.targets import read_labels

BIG = 2**53
NEAR_BIG = IntegerRange(BIG, BIG + 1, outside="clip")


class Rows:
    """A sequence to numpy, but no `Sequence`."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


class Telltale:
    """A label that quotes itself when it is looked up."""

    def __hash__(self):
        raise KeyError("secret 42")


holders = pytest.mark.parametrize("holder", [list, deque, UserList, Rows], ids=lambda kind: kind.__name__)


@pytest.mark.first_by_day
@holders
def test_a_whole_fit_keeps_its_claim_where_a_fraction_may_stand_among_large_integers(holder):
    claim = ApproxDP(1)

    def fit(rows, dice):
        learner = ThresholdClassifier(domain=NEAR_BIG, classes=[0, 1], epsilon=1)
        X, y = holder([holder([x]) for x, _ in rows]), holder([y for _, y in rows])
        return repr(fitted_with(learner, X, y, dice=dice).concept_)

    report = enumerate_privacy(fit, [(BIG, 0), (BIG + 1, 1), (0.5, 0)], 4, ordered=False)
    assert report.keeps(claim)
    assert report.n_distributions > 3


@holders
@pytest.mark.parametrize("last", [BIG, float(BIG)], ids=repr)
def test_large_labels_are_read_exactly_beside_any_other(holder, last):
    assert read_labels(holder([BIG + 1, BIG, last]), 3, [BIG, BIG + 1])[1].tolist() == [1, 0, 0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_labels_in_a_frame_are_its_only_column(frame):
    assert read_labels(frame({"a": [0, 1, 1]}), 3, [0, 1])[1].tolist() == [0, 1, 1]
    for columns in ({"a": [0, 1, 1], "b": [0, 1, 2]}, {}):
        with pytest.raises(ValueError, match="y must have one column of labels, got a data frame of"):
            read_labels(frame(columns), 3, None)


def test_a_learner_of_one_label_refuses_a_frame_of_two_before_anything_is_spent():
    ledger = PrivacyLedger(200)
    with pytest.raises(ValueError, match="y must have one column of labels"):
        ThresholdClassifier(classes=[0, 1], epsilon=100, ledger=ledger).fit(
            np.arange(20.0)[:, None], pd.DataFrame({"a": [0, 1] * 10, "b": range(20)})
        )
    assert not ledger.history()


@holders
@pytest.mark.parametrize(
    "rows", [[[0, 1], [1, 0]], [[0, 1], 1], [(0, 1), (1, 0)], [np.array([0, 1]), 1]], ids=repr
)
@pytest.mark.parametrize("classes", [None, [0, 1]], ids=repr)
def test_rows_of_several_labels_are_no_labels(holder, rows, classes):
    with pytest.raises(ValueError, match="y must hold one label for each record"):
        read_labels(holder(rows), 2, classes)


@pytest.mark.parametrize("mask", [[0, 0], [0, 1]], ids=repr)
def test_masked_tables_and_labels_are_refused_before_anything_is_spent(mask):
    ledger = PrivacyLedger(1)
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    learner = ThresholdClassifier(classes=[0, 1], ledger=ledger)
    for rows, labels in ((np.ma.array(X, mask=[[m] for m in mask]), y), (X, np.ma.array(y, mask=mask))):
        with pytest.raises(TypeError, match="masked array is not supported"):
            learner.fit(rows, labels)
    assert not ledger.history()


@pytest.mark.parametrize("kind", ["M8[ns]", "M8[s]", "m8[D]"])
def test_a_table_of_times_is_refused_by_its_type(kind):
    learner = ThresholdClassifier(classes=[0, 1])
    words = "give seconds" if kind[0] == "m" else "give days"
    with pytest.raises(TypeError, match=rf"X must hold text, bytes or numbers, got dtype .*: {words}"):
        learner.fit(np.zeros((2, 1), dtype=kind), [0, 1])


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "give days, "),
        (pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True), "give days, "),
        (pd.to_datetime([None, None]), "give days, "),
        (pd.to_timedelta([1, 2], unit="D"), "give seconds, "),
    ],
    ids=["dates", "zoned", "missing", "durations"],
)
@pytest.mark.parametrize("domain", [None, Floats()], ids=["any", "declared"])
def test_a_column_of_times_is_refused_by_its_type_with_advice(domain, times, words):
    frame = pd.DataFrame({"age": [1, 2], "when": times})
    learner = ExponentialMechanismClassifier(classes=[0, 1], domain=domain)
    with pytest.raises(
        DomainError, match=rf"in column 'when'.*values are {times.dtype}: {words}".replace("[", r"\[")
    ):
        learner.fit(frame, [0, 1])


def test_columns_of_times_are_taken_where_they_are_declared_as_texts():
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    learner = ExponentialMechanismClassifier(classes=[0, 1], domain=Schema({"when": Hashed()}))
    assert learner.fit(frame, [0, 1]).n_features_in_ == 1


@pytest.mark.parametrize(
    "cells", [([1, 2], ["b", "c"]), (["b", "c"], [1, 2]), (["b", 1], [2, "c"])], ids=repr
)
def test_the_first_column_whose_type_is_not_of_numbers_is_named_whichever_cell_is_none(cells):
    X = pd.DataFrame({"age": [1, 2], "member": [True, False]})
    for name, column in zip(["job", "town"], cells, strict=True):
        X[name] = pd.Series(column, dtype=object)
    with pytest.raises(DomainError, match="X holds a value that is not a number") as caught:
        ExponentialMechanismClassifier(classes=[0, 1]).fit(X, [0, 1])
    assert str(caught.value).endswith("the first column whose type is not one of numbers is 'job' (object)")


@pytest.mark.parametrize("kind", [pl.String(), pl.Enum(["x", "secret"])], ids=["String", "Enum"])
def test_a_column_of_texts_in_polars_is_named(kind):
    frame = pl.DataFrame({"a": [1], "job": pl.Series(["x"], dtype=kind)})
    with pytest.raises(DomainError, match=rf"is not one of numbers is 'job' \({type(kind).__name__}\)$"):
        ExponentialMechanismClassifier(classes=[0, 1]).fit(frame, [0])


def test_columns_that_hold_numbers_are_of_numbers():
    frame = pl.DataFrame({"a": [1], "b": [1.5], "c": [True], "d": [date(2020, 1, 1)]})
    assert all(_is_of_numbers(dtype) for dtype in frame.dtypes)
    frame = pd.DataFrame(
        {"a": pd.array([1], "Int64"), "b": pd.array([1.5], "Float64"), "c": pd.array([True])}
    )
    assert all(_is_of_numbers(dtype) for dtype in frame.dtypes)
    assert not any(map(_is_of_numbers, [np.dtype(object), np.dtype("U3"), pl.String(), pd.StringDtype()]))


def test_the_message_advises_an_encoder_and_its_domain_and_the_advice_works():
    X, y = pd.DataFrame({"age": [34, 51] * 50, "job": ["clerk", "nurse"] * 50}), [0, 1] * 50
    learner = ExponentialMechanismClassifier(classes=[0, 1])
    for first in (learner, make_pipeline(CellEncoder(), learner)):
        with pytest.raises(DomainError, match=r"encoder = CellEncoder\(\)\.fit\(X\)") as caught:
            first.fit(X, y)
        assert "domain=encoder.domain()" in str(caught.value)
    encoder = CellEncoder().fit(X)
    given = make_pipeline(encoder, learner.set_params(domain=encoder.domain(), epsilon=9.0))
    assert given.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_new_records_need_the_columns_of_the_schema_and_no_others(frame):
    columns = {"other": [0, 1] * 50, "age": [20, 60] * 50, "last": [1, 2] * 50}
    schema = Schema({"age": IntegerRange(0, 99)}, labels=[0, 1])
    fitted = ExponentialMechanismClassifier(epsilon=9.0, domain=schema).fit(frame(columns), [0, 1] * 50)
    predicted = fitted.predict(frame(columns)).tolist()
    assert fitted.predict(frame({"age": columns["age"]})).tolist() == predicted
    assert fitted.predict(frame({"new": columns["last"], **columns})).tolist() == predicted
    with pytest.raises(ValueError, match="columns of its schema, but 'age' is missing"):
        fitted.predict(frame({"other": [1]}))


def test_new_records_with_a_column_of_the_schema_twice_are_refused():
    X = pd.DataFrame({"age": [20, 60] * 50})
    fitted = ExponentialMechanismClassifier(domain=Schema({"age": IntegerRange(0, 99)})).fit(X, [0, 1] * 50)
    with pytest.raises(ValueError, match="each column of its schema once"):
        fitted.predict(pd.concat([X, X], axis=1))


@pytest.mark.parametrize(
    "cell",
    [np.complex64(2 + 3j), bytearray(b"12"), np.timedelta64(5, "D"), np.array(4.0), np.datetime64("2020")],
    ids=type,
)
@pytest.mark.parametrize("domain", [None, IntegerRange(0, 100)], ids=["any", "declared"])
def test_cells_that_could_be_turned_into_numbers_are_refused(domain, cell):
    learner = ThresholdClassifier(classes=[0, 1], **({} if domain is None else {"domain": domain}))
    words = "argument must be a string or a real number; of dates give days, "
    with pytest.raises(DomainError, match=words):
        learner.fit([[1], [cell]], [0, 1])


@pytest.mark.parametrize("label", [2, None, "secret"], ids=repr)
def test_the_declared_labels_are_listed_and_those_that_occur_are_not(label):
    with pytest.raises(DomainError) as caught:
        read_labels([0, label], 2, [1, 0])
    words = "y holds a label that is not among the declared classes (0, 1); a missing label counts as such"
    assert str(caught.value) == words
    with pytest.raises(DomainError, match=r"\(0, 1, .*, 19 and 79 more\); a missing label"):
        read_labels([0, None], 2, range(99))


def test_a_label_that_raises_when_it_is_looked_up_is_none_of_the_classes():
    with pytest.raises(DomainError, match="not among the declared classes") as caught:
        read_labels([0, Telltale()], 2, [0, 1])
    assert caught.value.__context__ is None


NAN = float("nan")
LEARNERS_OF_SCHEMAS = [
    ExponentialMechanismClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
]


@pytest.mark.parametrize(
    "strange",
    [NAN, np.float64("nan"), Decimal("nan"), Decimal("snan"), None, pd.NA, frozenset("a"), float("inf"), 1j],
)
@pytest.mark.parametrize("others", [[0, 1] * 50, ["a", "b"] * 50])
def test_labels_that_do_not_compare_by_value_are_refused(strange, others):
    """The label set could contain equal labels several times, and would reveal their number and order."""
    for k in (1, 2):
        with pytest.raises((ValueError, TypeError)):
            read_labels([*[strange] * k, *others], 100 + k, None)
        with pytest.raises((ValueError, TypeError)):
            read_labels(np.array([*[strange] * k, *others], dtype=object), 100 + k, None)


def test_each_label_of_any_one_kind_is_found_once():
    for labels, classes in [
        ([1, True, 1.0, Decimal(2), np.int64(2)], [1, 2]),
        ([b"b", b"a", b"b"], [b"a", b"b"]),
        (np.array(["x", np.str_("y"), "x"], dtype=object), ["x", "y"]),
        ([10**30, 0, 10**30], [0, 10**30]),
    ]:
        assert read_labels(labels, len(labels), None)[0].tolist() == classes


@pytest.mark.parametrize("kind", [csr_matrix, csr_array])
def test_a_sparse_matrix_of_objects_is_refused_without_a_cell(kind):
    cells = np.array([["SECRET", 1.0]] * 20, dtype=object)
    columns = np.tile([0, 1], 20), np.arange(0, 41, 2)
    matrix = csr_matrix((cells.ravel(), *columns), shape=(20, 2))
    learner = ParityClassifier()
    with pytest.raises(DomainError, match="X must hold numbers where it is a sparse matrix") as caught:
        learner.fit(kind(matrix), [0, 1] * 10)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("schema_order", [("age", "wage"), ("wage", "age"), ("age",)])
@pytest.mark.parametrize("make", LEARNERS_OF_SCHEMAS, ids=lambda make: make.__name__)
def test_columns_of_an_array_are_in_the_order_of_the_frame_that_was_fitted(make, schema_order):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"wage": rng.integers(0, 90, 3000), "age": rng.integers(0, 90, 3000)})
    schema = Schema({name: IntegerRange(0, 100) for name in schema_order}, labels=[0, 1])
    model = make(epsilon=30, domain=schema, random_state=0).fit(frame, frame["age"] > 40)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        assert (model.predict(frame.to_numpy()) == model.predict(frame)).all()
        assert (model.predict(frame.to_numpy().tolist()) == model.predict(frame)).all()
        with pytest.raises(ValueError, match=r"has 1 features, but .* is expecting 2 features"):
            model.predict(frame[["age"]].to_numpy())
    assert model.score(frame, frame["age"] > 40) > 0.9


@pytest.mark.parametrize("domain", [None, Floats(), Schema({"a": Floats(), "b": Floats()})], ids=repr)
def test_names_that_occur_twice_are_refused_by_name(domain):
    twice = pd.DataFrame(np.zeros((5, 4)), columns=["b", "a", "c", "a"])
    for read in (
        lambda: read_features(AdditiveClassifier(), twice, domain=domain, reset=True),
        lambda: read_rows(AdditiveClassifier(), twice, reset=True, sparse=False),
        lambda: AdditiveClassifier(domain="learn").fit(twice, [0, 1] * 2 + [1]),
    ):
        with pytest.raises(ValueError, match="X must have distinct names of columns, got 'a' 2 times"):
            read()


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.array([0.0, np.nan]), "Input y contains NaN .*; drop records without a label"),
        (["a", None], "y must hold labels .* none missing; drop records without a label"),
        (pd.Series([1, None], dtype="Int64"), "none missing; drop records without a label"),
    ],
)
def test_missing_labels_are_refused_with_advice(y, words):
    with pytest.raises(ValueError, match=words):
        read_labels(y, 2, None)


LABELS = ["b", "a", "c", "a"]
NUMBERS = [7, 5, 5, 9]


@pytest.mark.parametrize("classes", [True, False], ids=["declared", "found"])
@pytest.mark.parametrize(
    ("wrap", "labels"),
    [
        (list, LABELS),
        (np.array, LABELS),
        (lambda y: np.array(y, dtype=object), LABELS),
        (pd.Series, LABELS),
        (lambda y: pd.Series(y, dtype="category"), LABELS),
        (lambda y: pd.Series(y, dtype="string[pyarrow]"), LABELS),
        (pl.Series, LABELS),
        (np.array, NUMBERS),
        (lambda y: np.array(y, dtype=object), NUMBERS),
        (lambda y: pd.Series(y, dtype="Int64"), NUMBERS),
        (lambda y: [float(each) for each in y], NUMBERS),
        (lambda y: [Decimal(each) for each in y], NUMBERS),
    ],
)
def test_labels_of_any_type_have_the_codes_of_their_values(wrap, labels, classes):
    public, codes = read_labels(wrap(labels), 4, sorted(set(labels)) if classes else None)
    assert public[codes].tolist() == labels
    assert public.tolist() == sorted(set(labels))
    assert codes.dtype == np.intp


@pytest.mark.parametrize(
    "y",
    [np.zeros((3, 2), int), [["a", 0], ["b", 1], ["a", 1]], pd.DataFrame({"a": [0, 1, 0], "b": [1, 1, 0]})],
)
def test_several_labels_of_a_record_are_refused_with_the_name_of_the_class_that_takes_them(y):
    with pytest.raises(ValueError, match="PrivateMultiOutputClassifier"):
        read_labels(y, 3, None)
