"""Features and labels are read one by one, and refused without being shown."""

from collections import UserList, deque

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn import ThresholdClassifier
from dplearn.audit import enumerate_privacy
from dplearn.domains import DomainError, IntegerRange
from dplearn.estimator.intake import read_labels
from dplearn.privacy import ApproxDP, PrivacyLedger

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


@holders
def test_a_whole_fit_keeps_its_claim_where_a_fraction_may_stand_among_large_integers(holder):
    claim = ApproxDP(1)

    def fit(rows, dice):
        learner = ThresholdClassifier(domain=NEAR_BIG, classes=[0, 1], epsilon=1)
        learner._fit(holder([holder([x]) for x, _ in rows]), holder([y for _, y in rows]), dice)
        return repr(learner.concept_)

    report = enumerate_privacy(fit, [(BIG, 0), (BIG + 1, 1), (0.5, 0)], 4, ordered=False)
    assert report.keeps(claim)
    assert report.n_laws > 3


@holders
@pytest.mark.parametrize("last", [BIG, float(BIG)], ids=repr)
def test_large_labels_are_read_exactly_beside_any_other(holder, last):
    assert read_labels(holder([BIG + 1, BIG, last]), 3, [BIG, BIG + 1])[1].tolist() == [1, 0, 0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_labels_in_a_frame_are_its_only_column(frame):
    assert read_labels(frame({"a": [0, 1, 1]}), 3, [0, 1])[1].tolist() == [0, 1, 1]
    for columns in ({"a": [0, 1, 1], "b": [0, 1, 2]}, {}):
        with pytest.raises(ValueError, match="y must have one column of labels, got a data frame of shape"):
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
    with pytest.raises(TypeError, match=r"X must hold text, bytes or numbers, got dtype"):
        learner.fit(np.zeros((2, 1), dtype=kind), [0, 1])


@pytest.mark.parametrize(
    "cell",
    [np.complex64(2 + 3j), bytearray(b"12"), np.timedelta64(5, "D"), np.array(4.0), np.datetime64("2020")],
    ids=type,
)
@pytest.mark.parametrize("domain", [None, IntegerRange(0, 100)], ids=["any", "declared"])
def test_cells_that_could_be_turned_into_numbers_are_refused(domain, cell):
    learner = ThresholdClassifier(classes=[0, 1], **({} if domain is None else {"domain": domain}))
    with pytest.raises(DomainError, match="argument must be a string or a real number"):
        learner.fit([[1], [cell]], [0, 1])


def test_a_label_that_raises_when_it_is_looked_up_is_none_of_the_classes():
    with pytest.raises(DomainError, match="not among the declared classes") as caught:
        read_labels([0, Telltale()], 2, [0, 1])
    assert caught.value.__context__ is None
