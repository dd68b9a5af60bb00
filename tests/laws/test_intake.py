"""How one record is read never depends on the others: what numpy, pandas and polars would decide for a whole
table, and arithmetic at the edges of domains. Each case once broke the guarantee. See `test_one_cell.py`."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import dplearn.estimator.base
import dplearn.kernels.cuts
from dplearn import ApproxDP, ExponentialMechanismClassifier
from dplearn.audit import enumerate_privacy
from dplearn.audit.cases import CASES
from dplearn.chance import SystemDice
from dplearn.domains import Categories, Floats, Grid, IntegerRange, Product, Schema
from dplearn.preprocessing import CellEncoder
from dplearn.table.features import read_features
from dplearn.table.targets import read_labels
from tests.laws.conftest import STAND_FOR_ALL, public_rows, written

BIG = 2**53


def encoded(domain, X):
    """Return the rows of codes that a fit would see."""
    product = domain if isinstance(domain, Product) else Product(domain)
    estimator = ExponentialMechanismClassifier()
    columns = product.encode(read_features(estimator, X, domain=product, reset=True))
    return list(zip(*[column.tolist() for column in columns], strict=True))


def polars_frame(rows):
    ids, numbers = zip(*rows, strict=True)
    return pl.DataFrame({"id": ids, "x": numbers}, schema={"id": pl.Int64, "x": pl.Float64})


def pandas_frame(rows):
    ids, numbers = zip(*rows, strict=True)
    return pd.DataFrame({"id": pd.array(ids, dtype="Int64"), "x": numbers})


@pytest.mark.parametrize("holder", [list, polars_frame, pandas_frame], ids=lambda holder: holder.__name__)
@pytest.mark.parametrize(
    "domain",
    [
        [Categories([BIG, BIG + 1, BIG + 2, None], other=True), Floats(missing=True)],
        [IntegerRange(0, 2**60, missing=True), Grid(0, 1e300, 2**32, missing=True)],
        [IntegerRange(0, 2**60, missing=True), IntegerRange(0, 9, "clip", missing=True)],
    ],
    ids=repr,
)
def test_a_replaced_record_does_not_change_the_codes_of_others(holder, domain):
    rows = [(BIG, 1.0), (BIG + 1, 2.0), (BIG + 2, 3.0)]
    expected = encoded(domain, holder([*rows, (BIG, 1.0)]))[:3]
    for replacement in ((BIG + 3, 0.5), (BIG + 3, None), (None, 0.5), (1, 1e300)):
        assert encoded(domain, holder([*rows, replacement]))[:3] == expected


def test_an_encoder_of_cells_and_a_list_read_one_by_one():
    for last in (1, 1.0, True, np.int8(1)):
        assert encoded([IntegerRange(0, 2**60)], [[BIG + 1], [last]]) == [(BIG + 1,), (1,)]

    def of_polars(last):
        kinds = {"member": pl.Boolean, "age": pl.Int64}
        return pl.DataFrame({"member": [True, False, last], "age": [1, 2, 3]}, schema=kinds)

    def of_pandas(last):
        return pd.DataFrame({"a": pd.Categorical([1, 2, last], categories=[1, 2])})

    for make, usual in ((of_polars, True), (of_pandas, 1)):
        encoder = CellEncoder().fit(make(usual))
        np.testing.assert_array_equal(encoder.transform(make(usual))[:2], encoder.transform(make(None))[:2])


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        lambda labels: [[label] for label in labels],
        lambda labels: [np.array([label]) for label in labels],
        lambda labels: [*labels[:-1], np.array(labels[-1])],
    ],
    ids=["list", "column", "arrays", "one array"],
)
def test_labels_are_read_one_by_one(wrap):
    for last in (BIG, float(BIG)):
        assert read_labels(wrap([BIG + 1, BIG, last]), 3, [BIG, BIG + 1])[1].tolist() == [1, 0, 0]
    for last, code in (("yes", 1), ("no", 0)):
        public, codes = read_labels(wrap(["yes", "no", last]), 3, ["no", "yes"])
        assert public.tolist() == ["no", "yes"]
        assert codes.tolist() == [1, 0, code]


@pytest.mark.nightly
def test_the_sorted_route_has_the_same_exact_laws_as_the_histogram(monkeypatch):
    case = CASES["small_classifier"]
    monkeypatch.setattr(dplearn.kernels.cuts, "is_dense", lambda size, n: False)
    sorted_route = case.with_fit(case.fit)
    assert sorted_route.digest() == case.frozen()["digest"]
    assert sorted_route.run().keeps(case.claim)


NAMES_AND_FLOATS = (
    Categories([BIG, BIG + 1, None], other=True),
    Floats(significand_bits=1, smallest=1, largest=2, missing=True),
)
INTEGERS_AND_GRID = IntegerRange(BIG, BIG + 1, missing=True), Grid(0, 1, 3, missing=True)


@pytest.mark.first_by_day
@pytest.mark.parametrize("holder", ["list", "pandas", "polars"])
@pytest.mark.parametrize("columns", [INTEGERS_AND_GRID, NAMES_AND_FLOATS], ids=["numbers", "names"])
def test_the_whole_of_fit_keeps_its_claim_on_lists_and_frames(holder, columns, monkeypatch):
    # Records that are equal, 1 and 1.0, or that change the type of a column, None.
    domain = Schema(dict(zip("ab", columns, strict=True)))
    records = [(BIG, 1.0, 0), (None, None, 0), (float(BIG), 1, 1)]

    def fit(rows, dice):
        monkeypatch.setattr(dplearn.estimator.base, "dice_for", lambda *_: dice)
        X = [row[:2] for row in rows]
        if holder == "pandas":
            X = pd.DataFrame({"a": pd.Series([a for a, _ in X], dtype=object), "b": [b for _, b in X]})
        if holder == "polars":
            X = polars_frame([(None if a is None else int(a), b) for a, b in X]).rename({"id": "a", "x": "b"})
        learner = ExponentialMechanismClassifier(domain=domain, classes=[0, 1], epsilon=Fraction(1, 2))
        return learner.fit(X, [row[2] for row in rows])

    report = enumerate_privacy(fit, records, 2)
    assert report.keeps(ApproxDP(Fraction(1, 2)))
    assert report.n_distributions > 3


@pytest.mark.nightly
def test_two_to_the_64_cuts_are_counted_without_overflow():
    histogram = dplearn.kernels.cuts.ErrorHistogram(0)
    cuts = np.full(1 << 16, (1 << 32) - 1, dtype=np.uint64)
    for _ in range(1500):
        histogram.add(np.zeros(1 << 16, dtype=np.int64), cuts)
    assert [*map(list, histogram.groups())] == [[0], [1500 * (1 << 16) * ((1 << 32) - 1)]]


def test_the_default_dice_are_the_operating_systems():
    assert isinstance(dplearn.estimator.base.dice_for(None), SystemDice)


BITS = np.random.default_rng(0).integers(0, 2, (300, 2))
ORDERED = pd.DataFrame(BITS, columns=["a", "b"])
WIDER = ORDERED[["b"]].assign(text="t", a=BITS[:, 0])


def declaring(learner):
    """The parameter that declares columns, of a learner or of the one that it fits."""
    return next((name for name in ("domain", "estimator__domain") if name in learner.get_params()), None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", [each for each in STAND_FOR_ALL if declaring(each)], ids=written)
def test_a_schema_names_the_columns_that_are_read_whatever_their_order(learner):
    schema, found = Schema({"a": IntegerRange(0, 1), "b": IntegerRange(0, 1)}), []
    for table in (ORDERED, WIDER):
        model = clone(learner).set_params(**{declaring(learner): schema, "random_state": 0})
        model.fit(table, BITS[:, 0], **public_rows(model, table))
        shown = (model.transform if hasattr(model, "transform") else model.predict)(table)
        found.append(shown.toarray() if hasattr(shown, "toarray") else np.asarray(shown))
    assert np.array_equal(*found)
    assert found[0].any()
