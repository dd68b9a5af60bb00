"""Targets are read one by one, encoded on a public grid, and refused without being shown."""

from collections import UserList, deque
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.domains import DomainError
from dplearn.table.targets import (
    STEPS,
    TargetRange,
    declared_sets,
    joined_outputs,
    label_columns,
    labels_in_parts,
    read_labels,
    read_outputs,
    read_target,
    share_all_right,
)

SCORES = TargetRange.of((0, 100))
SECRET = 41.937


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_numbers_of_any_type_have_the_same_codes():
    numbers = [0, 50, 100]
    arrays = [np.array(numbers, dtype=kind) for kind in ("i1", "f4", ">f8")]
    objects = [np.array([0, Fraction(50), Decimal(100)], dtype=object), np.reshape(numbers, (3, 1))]
    series = [
        pd.Series(numbers, index=[7, 7, 0]),
        pd.Series(numbers, dtype="Int64"),
        pl.Series([0.0, 50.0, 100.0]),
    ]
    for targets in (
        numbers,
        (0.0, 50.0, 100.0),
        *arrays,
        *objects,
        *series,
        pd.DataFrame({"score": numbers}),
    ):
        codes = read_target(targets, 3, SCORES)
        assert (codes.tolist(), codes.dtype) == ([-STEPS, 0, STEPS], np.int64)
    assert read_target([True, False], 2, TargetRange.of((0, 1))).tolist() == [STEPS, -STEPS]
    narrow = np.array([0.7, 0.1], dtype=np.float32)  # of which the first is below .7, a rounded bound
    assert read_target(narrow, 2, TargetRange.of((0.1, 0.7))).tolist() == [STEPS, -STEPS]


NO_NUMBERS = "y contains NaN|y must hold|Complex"
TEXT = r"got a type of text, .* a classifier labels; .*astype"
DAYS = np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")


def beside_a_secret(cell):
    listed = np.empty(2, dtype=object)
    listed[:] = [SECRET, cell]
    return listed


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        *(
            (beside_a_secret(cell), NO_NUMBERS)
            for cell in (np.nan, np.inf, -np.inf, None, "41.937", b"41.937")
        ),
        *((beside_a_secret(cell), NO_NUMBERS) for cell in (pd.NA, 41.937 + 0.5j, np.timedelta64(3, "s"))),
        *((beside_a_secret(cell), NO_NUMBERS) for cell in (DAYS[0].item(), Decimal("sNaN"), [41.937, 2.0])),
        (["a", "b"], "not a number, and a regressor predicts numbers"),
        (np.array(["1", "2"]), TEXT),
        (np.array([b"1", b"2"]), TEXT),
        (pd.Series(["1", "2"], dtype="string"), TEXT),
        (pd.Series(["1", "2"], dtype="category"), TEXT),
        (pl.Series(["1", "2"]), TEXT),
        (pd.DataFrame({"y": pd.Series(["1", "2"], dtype="string")}), TEXT),
        (DAYS, r"y must hold numbers, got datetime64.*: give days"),
        (pd.Series(DAYS), r"y must hold numbers, got datetime64.*: give days"),
        *((shaped, r"y|samples") for shaped in (np.zeros(3), np.zeros((3, 2)), np.zeros((2, 2)), None, 5)),
    ],
)
def test_what_is_no_target_is_refused_by_a_message_without_it(targets, words):
    with pytest.raises(ValueError, match=words) as refused:
        read_target(targets, 2, SCORES)
    shown = "".join(map(str, (refused.value, refused.value.__cause__, refused.value.__context__)))
    assert "41" not in shown
    if targets is DAYS:
        with pytest.raises(ValueError, match=r"texts or numbers, got times; y\.astype"):
            read_labels(targets, 2, None)


def test_targets_outside_the_range_are_refused_or_clipped():
    for targets in ([SECRET, 100.1], [SECRET, -1e300], [SECRET, 10**400], np.array([SECRET, -1e308])):
        with pytest.raises(DomainError, match=r"outside target_range=\(0.0, 100.0\); clip_target") as refused:
            read_target(targets, 2, SCORES)
        assert "41" not in str(refused.value)
    clipped = read_target([1e300, -(10**400), 50], 3, TargetRange.of((0, 100), clip=True))
    assert clipped.tolist() == [STEPS, -STEPS, 0]


def test_the_code_of_a_target_depends_on_no_other():
    targets = np.random.default_rng(0).uniform(0, 100, 50)
    alone = [read_target([each], 1, SCORES)[0] for each in targets]
    assert read_target(targets, 50, SCORES).tolist() == alone
    assert np.abs(SCORES.decode(np.array(alone) / STEPS) - targets).max() <= 50 / STEPS / 2 * 1.0001


@pytest.mark.parametrize("bounds", [(-1e100, 1e100), (0, 1e-100), [1e17, 1e17 + 64], np.array([-1, 1])])
def test_ranges_of_any_width_are_encoded(bounds):
    target = TargetRange.of(bounds, clip=True)
    with np.errstate(all="raise"):
        codes = read_target(np.array([bounds[0], bounds[1], 1e308, -1e308, 0.0, 5e-324]), 6, target)
    assert codes[:2].tolist() == [-STEPS, STEPS]
    assert np.abs(codes).max() == STEPS
    assert target.decode([-1, 1]).tolist() == [float(each) for each in bounds]


CLASSES = [np.array(["no", "yes"]), np.array([3, 4])]
COLUMNS = label_columns(CLASSES, np.array([[0, 1], [1, 0]]))


@pytest.mark.parametrize("holder", [list, pd.DataFrame, lambda rows: np.array(rows, dtype=object)])
def test_a_row_is_correct_if_all_its_labels_are(holder):
    y, predicted = holder([["no", 4], ["yes", 4]]), joined_outputs(COLUMNS)
    assert share_all_right(CLASSES, predicted, y) == 0.5
    assert share_all_right(CLASSES, predicted, y, weights=[3, 1]) == 0.75
    assert joined_outputs(COLUMNS).tolist() == [["no", 4], ["yes", 3]]  # labels of several kinds are objects
    assert joined_outputs(COLUMNS[1:] * 2).dtype.kind == "i"
    longer = np.array(["longer", "-"])
    assert joined_outputs([COLUMNS[0], longer]).tolist() == [["no", "longer"], ["yes", "-"]]


def test_labels_of_another_number_of_outputs_are_refused_and_errors_name_the_output():
    for y in (["no", "yes"], [["no"], ["yes"]], [["no", 3, 1], ["yes", 4, 1]]):
        with pytest.raises(ValueError, match="y must have 2 outputs, got"):
            share_all_right(CLASSES, joined_outputs(COLUMNS), y)
    y = np.array([["no", 3], ["secret", 4]], dtype=object)
    with pytest.raises(DomainError, match="in output 0, y holds a label") as refused:
        read_outputs(y, 2, [["no", "yes"], [3, 4]])
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is refused.value.__context__ is None
    with pytest.raises(TypeError, match="in the order of the columns of y, got a mapping"):
        declared_sets({"a": [0, 1], "b": [3, 4]})
    with pytest.raises(ValueError, match="for each of 1 outputs, got 2; n_outputs is the number"):
        read_outputs([0, 1], 2, [[0, 1], [3, 4]])


def test_labels_of_parts_are_united_and_parts_of_other_outputs_or_types_refused():
    one, two = [np.array(["b", "a"])], [np.array(["c"])]
    assert labels_in_parts([one, None, two]) == ["a", "b", "c"]
    assert labels_in_parts([[*one, *two], [*two, *two]]) == [["a", "b", "c"], ["c"]]
    assert labels_in_parts([None]) == []
    with pytest.raises(ValueError, match=r"same number of outputs in all parts, got \[1, 2\]"):
        labels_in_parts([one, [*two, *two]])
    with pytest.raises(ValueError, match="labels of one type in all parts"):
        labels_in_parts([one, [np.array([3])]])


# labels

BIG = 2**53


class Telltale:
    """A label that quotes itself when it is looked up."""

    def __hash__(self):
        raise KeyError("secret 42")


LABELS = ["b", "a", "c", "a"]
NUMBERS = [7, 5, 5, 9]


@pytest.mark.parametrize("classes", [True, False], ids=["declared", "found"])
@pytest.mark.parametrize(
    ("wrap", "labels"),
    [
        *((wrap, LABELS) for wrap in (list, np.array, pd.Series, pl.Series, partial(np.array, dtype=object))),
        *((partial(pd.Series, dtype=kind), LABELS) for kind in ("category", "string[pyarrow]")),
        (np.array, NUMBERS),
        (lambda y: np.array(y, dtype=object), NUMBERS),
        (lambda y: pd.Series(y, dtype="Int64"), NUMBERS),
        (lambda y: [float(each) for each in y], NUMBERS),
        (lambda y: [Decimal(each) for each in y], NUMBERS),
        (lambda y: pd.DataFrame({"a": y}), NUMBERS),
        (lambda y: pl.DataFrame({"a": y}), NUMBERS),
        (deque, [BIG + 1, BIG, BIG]),  # read exactly
        (UserList, [BIG + 1, BIG, BIG]),
        (list, [1, True, 1.0, 2, np.int64(2)]),
        (lambda y: np.array(y, dtype=object), ["x", np.str_("y"), "x"]),
        (list, [10**30, 0, 10**30]),
    ],
)
def test_labels_of_any_type_have_the_codes_of_their_values(wrap, labels, classes):
    public, codes = read_labels(wrap(labels), len(labels), sorted(set(labels)) if classes else None)
    assert public[codes].tolist() == labels
    assert public.tolist() == sorted(set(labels))
    assert codes.dtype == np.intp
    assert read_labels([BIG + 1, BIG, float(BIG)], 3, [BIG, BIG + 1])[1].tolist() == [1, 0, 0]


NAN = float("nan")
DECLARED = r"not among the declared classes \(0, 1\); a missing label counts as such$"
UNDECLARED = [
    *(NAN, np.float64("nan"), Decimal("nan"), Decimal("snan"), None, pd.NA, frozenset("a"), float("inf"), 1j)
]


@pytest.mark.parametrize(
    ("y", "classes", "words"),
    [
        *(([0, label], [1, 0], DECLARED) for label in (2, None, "secret", Telltale())),
        *(([0, 1], classes, "classes must be a list of distinct labels") for classes in ("ab", 5)),
        *(
            (rows, classes, "y must hold one label for each record|PrivateMultiOutputClassifier")
            for rows in ([[0, 1], [1, 0]], deque([[0, 1], 1]), UserList([np.array([0, 1]), 1]), np.eye(2))
            for classes in (None, [0, 1])
        ),
        # Complex numbers, which scikit-learn's message would quote.
        *(
            (hold(np.array([1, 7.25j])), classes, "^Complex data not supported$")
            for hold in (np.asarray, np.ndarray.tolist, pd.Series)
            for classes in (None, [0, 1])
        ),
        # Labels that do not compare by value: the label set could contain equal ones several times.
        *(
            (hold([*[label] * k, *others]), None, ".")
            for label in UNDECLARED
            for k in (1, 2)
            for others in ([0, 1] * 50, ["a", "b"] * 50)
            for hold in (list, lambda each: np.array(each, dtype=object))
        ),
    ],
)
def test_what_is_no_label_is_refused_without_being_shown(y, classes, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        read_labels(y, len(y), classes)
    assert "secret" not in str(caught.value)
    assert "7.25" not in str(caught.value)
    assert caught.value.__context__ is None or "secret" not in str(caught.value.__context__)
