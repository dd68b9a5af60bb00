"""Every answer of a teacher becomes integers within bounds, or no vote."""

import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from dplearn import (
    KnowledgeTransferClassifier,
    PrivacyLedger,
    PrivateLabelsClassifier,
    PublicData,
    SoftLabelAggregateClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.kernels import FIXED_POINT_ONE
from dplearn.learners.votes import NO_VOTE, Labels, Scores, answers_of

ROWS = np.zeros((3, 2))
TWO, THREE = np.array(["no", "yes"]), np.array(["no", "perhaps", "yes"])
repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=300)


class Teacher:
    """Returns given answers."""

    def __init__(self, says=None, classes=THREE):
        self.says, self.classes_ = says, classes

    def predict(self, X):
        return self.says

    def predict_proba(self, X):
        return self.says


def asked(question, teacher, rows=ROWS):
    """Return the votes of a teacher."""
    return answers_of([teacher], rows, question).reshape(-1, question.width).tolist()


NOTHING = [[NO_VOTE]] * 3


@pytest.mark.parametrize(
    ("classes", "says", "places"),
    [
        (TWO, ["yes", "no", "perhaps"], [1, 0, -1]),
        (TWO, np.array(["yes", "", "zzz"], dtype=object), [1, -1, -1]),
        (TWO, np.array(["yes", "yesterday", "no"], dtype=np.dtypes.StringDType()), [1, -1, 0]),
        (TWO, np.array(["yes", "maybe", "no"], dtype="U"), [1, -1, 0]),
        (np.array([0, 3, 5]), np.array([5, 0, -1], dtype=np.int8), [2, 0, -1]),
        (np.array([3, 5]), [5.0, 3.0, 4.0], [1, 0, -1]),
        (np.array([3, 5]), [np.nan, np.inf, -np.inf], [-1, -1, -1]),
        (np.array([3, 5]), ["3", "5", "x"], [-1, -1, -1]),
        (np.array([0, 1]), [True, False, True], [1, 0, 1]),
        (np.array([False, True]), [1, 0, 2], [1, 0, -1]),
        (np.array(["a", 1], dtype=object), np.array([1, "a", None], dtype=object), [1, 0, -1]),
        (np.array([3, 5]), np.array([5, [3], {}], dtype=object), [1, -1, -1]),
    ],
    ids=repr,
)
def test_a_label_is_answered_with_its_place(classes, says, places):
    assert asked(Labels(classes), Teacher(says)) == [[place] for place in places]


@pytest.mark.parametrize(
    ("classes", "says", "score"),
    [
        (["yes", "no"], [[0.25, 0.75]] * 3, FIXED_POINT_ONE // 4),  # in another order
        (["no"], [[1.0]] * 3, 0),  # its shard did not hold the second
        (["yes"], [[1.0]] * 3, FIXED_POINT_ONE - 1),
        (["yes", "other"], [[0.25, 0.75]] * 3, FIXED_POINT_ONE // 4),
        (["other"], [[1.0]] * 3, 0),
        (TWO, [[0.75, 0.25]] * 3, FIXED_POINT_ONE // 4),
        (TWO, [[0.0, 7.0]] * 3, FIXED_POINT_ONE - 1),
        (TWO, [[0.0, -7.0]] * 3, 0),
        (TWO, [[np.nan, 0.5]] * 3, FIXED_POINT_ONE // 2),  # the score of the first label is not used
        (TWO, [[0.5, np.inf]] * 3, FIXED_POINT_ONE - 1),
        (TWO, [[1, True]] * 3, FIXED_POINT_ONE - 1),
        (TWO, [["0.5", "0.25"]] * 3, FIXED_POINT_ONE // 4),
        (TWO, pd.DataFrame([[0.5, 0.25]] * 3), FIXED_POINT_ONE // 4),
        ([], np.zeros((3, 0)), 0),
    ],
    ids=repr,
)
def test_scores_of_any_order_size_and_kind_are_read(classes, says, score):
    for kind in (None, object):
        assert asked(Scores(TWO), Teacher(says, np.array(classes, dtype=kind))) == [[score]] * 3


@pytest.mark.parametrize(
    ("says", "classes"),
    [
        *((says, TWO) for says in (None, 0.5, [0.5] * 3, [[0.5]] * 3, [[0.5] * 3] * 3, [[0.5, 0.5]] * 2)),
        *((says, TWO) for says in ([[0.5, 0.5]] * 4, [[[0.5, 0.5]]] * 3, [[0.5, np.nan]] * 3)),
        ([["half", "half"]] * 3, TWO),
        (csr_matrix(np.full((3, 2), 0.5)), TWO),
        ([np.full((3, 2), 0.5)] * 2, TWO),
        *(([[0.5, 0.5]] * 3, classes) for classes in (None, 3, np.array([[0, 1]]), TWO[[0, 1, 0]], [])),
    ],
    ids=repr,
)
def test_an_answer_without_a_score_of_each_class_for_each_row_is_no_vote(says, classes):
    assert asked(Scores(TWO), Teacher(says, classes)) == NOTHING


def test_a_teacher_that_raises_or_has_no_probabilities_or_is_none_casts_no_vote():
    plain = LinearSVC().fit([[0.0, 0.0], [1.0, 1.0]], TWO)
    for teacher in (None, object(), GaussianNB(), plain):
        assert asked(Scores(TWO), teacher) == NOTHING
        assert teacher is plain or asked(Labels(TWO), teacher) == NOTHING


@pytest.mark.parametrize(
    ("row", "votes"),
    [
        ([0.5, 0.25, 0.25], True),
        ([0.5, 0.5, 0.5], False),
        ([1.0, 1.0, -1.0], False),
        ([1.0, 1e-9, 1e-9], True),  # which fixed-point scores do not see
        ([0.5, 0.5, 2 / FIXED_POINT_ONE], False),
        ([0.5, np.nan, 0.0], False),
        ([np.inf, 0.0, 0.0], True),
        ([np.inf, np.inf, 0.0], False),
        ([0.0, 0.0, 0.0], True),
        ([1 / 3] * 3, True),
    ],
    ids=repr,
)
def test_a_row_whose_scores_are_no_probabilities_is_no_vote_as_a_whole(row, votes):
    (scores, *others) = asked(Scores(THREE), Teacher([row, [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
    assert (NO_VOTE not in scores) == votes
    assert votes or scores == [NO_VOTE] * 3
    assert others == [[2048, 2048, 0], [FIXED_POINT_ONE - 1, 0, 0]]


anything = st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 1)


@repeatable
@given(st.lists(st.tuples(anything, anything, anything), min_size=2, max_size=2))
def test_for_every_answer_fixed_point_scores_keep_their_bounds_and_the_sensitivity(rows):
    one, other = np.array(asked(Scores(THREE), Teacher(rows), ROWS[:2]))
    for row in (one, other):
        assert (row == NO_VOTE).all() or (row.min() >= 0 and row.sum() <= FIXED_POINT_ONE)
    if NO_VOTE not in one and NO_VOTE not in other:
        assert ((one - other) ** 2).sum() <= 2 * FIXED_POINT_ONE**2


@repeatable
@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=3).filter(any))
def test_probabilities_that_add_up_to_one_are_never_refused(weights):
    row = np.array(weights) / sum(weights)
    (scores, *_) = asked(Scores(THREE), Teacher([row] * 3))
    for score, weight in zip(scores, weights, strict=True):
        assert abs(Fraction(score, FIXED_POINT_ONE) - Fraction(weight, sum(weights))) <= 1 / FIXED_POINT_ONE


def test_rows_of_scores_stay_together_and_blocks_change_nothing(monkeypatch):
    table = np.random.default_rng(0).random((70, 2))
    y = np.arange(70) % 3
    teacher = GaussianNB().fit(table, y)
    whole = answers_of([teacher, None], table, Scores(np.arange(3)))
    monkeypatch.setattr("dplearn.learners.votes.teachers.BLOCK", 9)
    assert (answers_of([teacher, None], table, Scores(np.arange(3))) == whole).all()
    assert (answers_of([teacher], table, Labels(np.arange(3)))[0] == teacher.predict(table)).all()
    assert whole.shape == (2, 210)
    assert (whole[1] == NO_VOTE).all()
    expected = np.floor(teacher.predict_proba(table) * FIXED_POINT_ONE).clip(max=FIXED_POINT_ONE - 1)
    assert (whole[0].reshape(70, 3) == expected).all()


class Dropping(Teacher):
    """Drops some of its rows, and returns answers for the others."""

    def predict(self, X):
        X.drop(index=X.index[1:], inplace=True)
        return np.array(["no"])

    def predict_proba(self, X):
        self.predict(X)
        return np.array([[0.2, 0.3, 0.5]])


class Closing(Teacher):
    """Makes the end of its turn fail."""

    def predict(self, X):
        sys.stdout.detach()
        return ["no"] * len(X)

    predict_proba = predict


@pytest.mark.parametrize("question", [Labels(THREE), Scores(THREE)], ids=["labels", "scores"])
@pytest.mark.parametrize("kind", [Dropping, Closing])
def test_a_teacher_that_changes_its_rows_and_fails_casts_no_vote_without_an_error(kind, question, capsys):
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    assert np.array(asked(question, kind(), frame)).max() == NO_VOTE
    assert len(frame) == 3
    print("public")
    assert capsys.readouterr() == ("public\n", "")


def test_default_teachers_of_numbers_answer_sparse_queries():
    X = np.random.default_rng(0).normal(size=(400, 3))
    for rows in (X, pd.DataFrame(X)):
        model = SubsampleAggregateClassifier(
            epsilon=500, n_teachers=10, max_queries=40, classes=[False, True]
        )
        model.fit(rows, X[:, 0] > 0)
        assert (model.predict(csr_matrix(X[:9])) == (X[:9, 0] > 0)).mean() > 0.7


KINDS_OF_ROWS = {
    "frame": lambda frame: frame,
    "objects": lambda frame: frame.to_numpy(),
    "lists": lambda frame: frame.to_numpy().tolist(),
    "sparse gaps": lambda frame: frame.astype({"a": pd.SparseDtype(float)}),
    "categories": lambda frame: frame.astype({"t": "category"}),
    "arrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False),
    "dictionary": lambda frame: of_arrow(frame, "dictionary"),
    "view": lambda frame: of_arrow(frame, "string_view"),
    "polars": lambda frame: pytest.importorskip("polars").DataFrame(
        {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}
    ),
}


def of_arrow(frame, name):
    arrow = pytest.importorskip("pyarrow")
    texts = arrow.array([None if pd.isna(cell) else cell for cell in frame["t"]])
    texts = texts.dictionary_encode() if name == "dictionary" else texts.cast(name)
    return arrow.table({"a": frame["a"], "t": texts}).to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names")
@pytest.mark.parametrize("asked", KINDS_OF_ROWS)
@pytest.mark.parametrize("fitted", KINDS_OF_ROWS)
def test_default_teachers_learn_from_rows_of_every_kind_and_answer_all_others(fitted, asked):
    t = np.array(["u", "v"] * 400)
    frame, y = pd.DataFrame({"a": np.arange(800) % 7.0, "t": t}), (t == "v").astype(int)
    frame.loc[::9, "a"], frame.loc[::11, "t"] = np.nan, None
    model = SubsampleAggregateClassifier(epsilon=500, classes=[0, 1], n_teachers=40, max_queries=40)
    model.fit(KINDS_OF_ROWS[fitted](frame), y)
    rows = frame[frame.t.notna()][:20]  # without the text, nothing is known of the label
    assert (model.predict(KINDS_OF_ROWS[asked](rows)) == (rows.t == "v")).mean() > 0.9
    student = KnowledgeTransferClassifier(epsilon=500, classes=[0, 1], n_teachers=40)
    public = KINDS_OF_ROWS[asked]
    student.fit(KINDS_OF_ROWS[fitted](frame), y, X_public=PublicData(public(frame)))
    assert student.score(public(frame[:20]), y[:20]) >= 0.9


@pytest.mark.parametrize("kind", [SubsampleAggregateClassifier, SoftLabelAggregateClassifier])
def test_types_that_no_query_may_have_are_refused_before_the_charge(kind):
    """The fit was charged, and each prediction was refused."""
    y, ledger = np.arange(60) % 2, PrivacyLedger(9, 1e-3)
    polars = pytest.importorskip("polars")
    objects = polars.DataFrame({"a": polars.Series([object()] * 60, dtype=polars.Object), "b": y})
    intervals = pd.DataFrame({"a": pd.cut(pd.Series(np.arange(60.0)), 3), "b": y})
    for X, name in ((intervals, "Interval"), (objects, "Object")):
        with pytest.raises(TypeError, match=f"got {name}: turn such columns into text, or leave them out"):
            kind(n_teachers=5, ledger=ledger).fit(X, y)
    assert ledger.history() == []


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_default_models_read_columns_of_dates_as_days(library):
    days, generator = np.arange(900), np.random.default_rng(0)
    dates = pd.Series(pd.Timestamp("2019-01-01") + pd.to_timedelta(days, unit="D"))
    frame = pd.DataFrame({"a": generator.normal(size=900), "d": dates.mask(days % 50 == 7)})
    if library == "polars":
        frame = pytest.importorskip("polars").DataFrame({"a": frame["a"].to_numpy(), "d": dates.to_numpy()})
    y, few = (days > 450).astype(int), {"n_teachers": 30, "epsilon": 500, "classes": [0, 1]}
    answers = SubsampleAggregateClassifier(**few, max_queries=90).fit(frame, y).predict(frame[::10])
    assert (answers == y[::10]).mean() > 0.9
    student = KnowledgeTransferClassifier(**few).fit(frame, y, X_public=PublicData(frame))
    assert student.score(frame, y) > 0.9
    assert PrivateLabelsClassifier(epsilon=10, classes=[0, 1]).fit(frame, y).score(frame, y) > 0.9
