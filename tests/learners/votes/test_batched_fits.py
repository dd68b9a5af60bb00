"""The fits of a stack of shards set the attributes that scikit-learn's fits set, or say that they may not.

Minimisers end where no entry of the gradient exceeds `tol`. So logistic regressions agree within `tol`.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplearn.learners.votes import batches
from dplearn.learners.votes.batches import batched_training, minimise

K, M, D = 8, 24, 5
RNG = np.random.default_rng(0)
CENTRES = 3 * RNG.normal(size=(3, D))
ESTIMATORS = [
    LogisticRegression(tol=1e-8),
    LogisticRegression(C=0.01, tol=1e-8, fit_intercept=False),
    GaussianNB(),
    GaussianNB(var_smoothing=0.1),
    RidgeClassifier(),
    RidgeClassifier(alpha=7.5, fit_intercept=False),
    make_pipeline(StandardScaler(), LogisticRegression(C=100.0, tol=1e-8)),
    make_pipeline(SimpleImputer(), StandardScaler(with_mean=False), GaussianNB()),
    make_pipeline(StandardScaler(with_std=False), RidgeClassifier()),
    make_pipeline(SimpleImputer(keep_empty_features=True), LogisticRegression(max_iter=200, tol=1e-8)),
]
NAMES = [str(each).replace("\n", "").replace(" ", "") for each in ESTIMATORS]


def shards(n_labels, *, m=M, d=D, dtype=np.float64):
    """Return the rows and labels of K shards, with some labels absent from the first if there are three."""
    codes = RNG.integers(0, n_labels, size=(K, m))
    codes[:, :n_labels] = np.arange(n_labels)
    if n_labels == 3:
        codes[0], codes[1] = codes[0] % 2, 2 * (codes[1] % 2)
    rows = CENTRES[codes, :d] + RNG.normal(size=(K, m, d))
    return rows.astype(dtype), np.array(["no", "perhaps", "yes"])[:n_labels][codes]


def taught(estimator, rows, labels):
    training = batched_training(estimator, rows[0], np.unique(labels), K)
    fits = training.fits(rows, labels)
    return [fits.teacher(i) for i in range(len(fits))]


def assert_same(one, other, path=""):
    """Assert that two fitted objects have the same attributes: of descents within `tol`, else to rounding."""
    if hasattr(one, "steps"):
        assert [name for name, _ in one.steps] == [name for name, _ in other.steps]
        for (name, mine), (_, theirs) in zip(one.steps, other.steps, strict=True):
            assert_same(mine, theirs, name)
        return
    assert type(one) is type(other)
    assert vars(one).keys() == vars(other).keys(), path
    for name, theirs in vars(other).items():
        mine = vars(one)[name]
        if hasattr(theirs, "__dict__") and not isinstance(theirs, np.ndarray):
            assert_same(mine, theirs, name)
        elif isinstance(theirs, (np.ndarray, np.floating)):
            assert np.shape(mine) == np.shape(theirs), name
            assert np.asarray(mine).dtype.kind == theirs.dtype.kind, name
            near = {"rtol": 1e-4, "atol": 1e-4} if hasattr(other, "n_iter_") else {"rtol": 1e-7, "atol": 1e-9}
            if theirs.dtype.kind in "fi" and name != "n_iter_":
                np.testing.assert_allclose(mine, theirs, err_msg=name, **near)
            elif name == "n_iter_":
                assert (mine > 0).all()
            else:
                assert mine.tolist() == theirs.tolist(), name
        else:
            assert type(mine) is type(theirs), name
            assert mine == theirs or mine != mine, name


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
def test_a_teacher_of_a_batch_has_every_attribute_of_its_own_fit(estimator, n_labels):
    rows, labels = shards(n_labels)
    teachers = taught(estimator, rows, labels)
    assert None not in teachers
    for i, teacher in enumerate(teachers):
        assert_same(teacher, clone(estimator).fit(rows[i], labels[i]))


@pytest.mark.parametrize("n_labels", [2, 3])
def test_logistic_regressions_end_within_the_tolerance_and_predict_as_those_of_scikit_learn(n_labels):
    rows, labels = shards(n_labels, m=60)
    asked = RNG.normal(size=(1000, D)) + CENTRES[RNG.integers(0, n_labels, 1000)]
    different = []
    for i, teacher in enumerate(taught(LogisticRegression(C=10), rows, labels)):
        own = labels[i][:, None] == (teacher.classes_ if len(teacher.coef_) > 1 else teacher.classes_[1:])
        errors = teacher.predict_proba(rows[i])[:, -own.shape[1] :] - own
        assert abs(errors.T @ rows[i] / 60 + teacher.coef_ / (10 * 60)).max() <= 1.001e-4
        assert abs(errors.mean(axis=0)).max() <= 1.001e-4
        alone = LogisticRegression(C=10).fit(rows[i], labels[i])
        different += [teacher.predict(asked) != alone.predict(asked)]
    assert np.mean(different) < 1e-3


def test_ridge_with_more_columns_than_rows_is_solved_in_the_dual():
    rows, labels = shards(2, m=4)
    for i, teacher in enumerate(taught(RidgeClassifier(), rows, labels)):
        assert_same(teacher, RidgeClassifier().fit(rows[i], labels[i]))


def test_missing_values_are_imputed_by_the_means_of_the_shard():
    estimator = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(tol=1e-8))
    rows, labels = shards(2)
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    rows[3, :, 1] = np.nan
    teachers = taught(estimator, rows, labels)
    assert [i for i, each in enumerate(teachers) if each is None] == [3]
    for i, teacher in enumerate(teachers):
        if teacher is not None:
            assert_same(teacher, clone(estimator).fit(rows[i], labels[i]))


def test_constant_columns_are_scaled_as_by_scikit_learn():
    estimator = make_pipeline(StandardScaler(), GaussianNB())
    rows, labels = shards(2)
    rows[:, :, 0] = np.array([0, 0.1, 1e-300, -7, 1e6, 1 / 3, 5e-324, 1])[:, None]
    teachers = taught(estimator, rows, labels)
    assert None not in teachers
    for i, teacher in enumerate(teachers):
        assert_same(teacher, clone(estimator).fit(rows[i], labels[i]))


def one_label(rows, labels):
    labels[2] = labels[2, 0]


def cells(value):
    def change(rows, labels):
        rows[2, 3, 1] = value

    return change


def column(change):
    def changed(rows, labels):
        rows[2, :, 1] = change(rows[2, :, 1])

    return changed


SPOILED = {
    "a single label": (one_label, ESTIMATORS),
    "a missing value": (cells(np.nan), ESTIMATORS[:7]),
    "an infinite value": (cells(-np.inf), ESTIMATORS),
    "a huge value": (cells(1e200), ESTIMATORS),
    "a column that is constant but for rounding": (
        column(lambda cells: 1 + 5e-15 * (np.arange(M) % 3)),
        [ESTIMATORS[6]],
    ),
    "a column whose variance underflows": (column(lambda cells: cells * 1e-170), [ESTIMATORS[6]]),
    "an ill-conditioned matrix": (column(lambda cells: cells * 1e8), [RidgeClassifier()]),
    "a column far from 0": (column(lambda cells: 1e15 + np.arange(M) % 3), [RidgeClassifier()]),
    "no variance": (lambda rows, labels: rows.__setitem__(2, 3.0), [GaussianNB()]),
    "a slow descent": (
        column(lambda cells: 1000 + 300 * cells),
        [LogisticRegression(C=1e4, tol=1e-10, max_iter=9999)],
    ),
    "no penalty": (lambda rows, labels: rows.__setitem__(slice(None), 3.0), [RidgeClassifier(alpha=0)]),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_shard_whose_fit_is_uncertain_is_left_to_scikit_learn_and_changes_no_other(how):
    change, estimators = SPOILED[how]
    for estimator in estimators:
        rows, labels = shards(2)
        before = taught(estimator, rows, labels)
        spoiled = rows.copy(), labels.copy()
        change(*spoiled)
        with np.errstate(all="raise"):
            after = taught(estimator, *spoiled)
        assert after[2] is None
        if how != "no penalty":
            assert [i for i in range(K) if after[i] is None] == [2]
            assert [bits(each) for each in after[:2] + after[3:]] == [
                bits(each) for each in before[:2] + before[3:]
            ]


def bits(teacher):
    """Return the bytes of every fitted array of a teacher."""
    steps = [step for _, step in teacher.steps] if hasattr(teacher, "steps") else [teacher]
    return [
        (name, value.tobytes())
        for step in steps
        for name, value in vars(step).items()
        if isinstance(value, (np.ndarray, np.floating))
    ]


def test_teachers_share_no_array():
    teachers = taught(make_pipeline(StandardScaler(), RidgeClassifier()), *shards(3))
    arrays = [
        value
        for teacher in teachers
        for step in (teacher[0], teacher[1], teacher[1]._label_binarizer)
        for name, value in vars(step).items()
        if isinstance(value, np.ndarray) and name != "classes_"
    ]
    for i, one in enumerate(arrays):
        assert one.base is None or one.base.size == one.size
        assert not any(np.shares_memory(one, other) for other in arrays[:i])


# The minimiser

STARTS = np.random.default_rng(0).uniform(-2, 2, size=(12, 4))
SCALES = 10.0 ** np.random.default_rng(1).uniform(-1, 1, size=(12, 4))


def hills(points):
    """A sum of logistic losses and a weak square, which is flat far away."""
    x = (points * SCALES[: len(points)]) - 1
    values = np.logaddexp(0, x).sum(axis=1) + 0.01 * (points**2).sum(axis=1)
    return values, SCALES[: len(points)] / (1 + np.exp(-x)) + 0.02 * points


def test_each_row_ends_at_its_minimum():
    points, n_iter, converged = minimise(hills, STARTS, tol=1e-6, most=200)
    assert converged.all()
    assert (abs(hills(points)[1]) <= 1e-6).all()
    assert (n_iter > 3).all()


def spoiled(rows, how):
    """Return hills in which some rows are something else."""

    def loss(points):
        values, slopes = hills(points)
        if how == "nan":
            values[rows], slopes[rows] = np.nan, np.nan
        elif how == "flat":
            values[rows], slopes[rows] = 0, 0
        elif how == "endless":
            values[rows], slopes[rows] = points[rows].sum(axis=-1), 1
        elif how == "wrong":
            slopes[rows] = -slopes[rows]
        elif how == "huge":
            values[rows], slopes[rows] = values[rows] * 1e300, slopes[rows] * 1e300
        return values, slopes

    return loss


def changed_rows(how):
    """Return which rows have other bits if the first rows are something else."""
    with np.errstate(all="raise"):
        before = minimise(hills, STARTS, tol=1e-6, most=60)
        after = minimise(spoiled(slice(0, 3), how), STARTS, tol=1e-6, most=60)
    assert before[2][3:].any()
    bits = [np.column_stack([found[0].view(np.int64), *found[1:]]) for found in (before, after)]
    return set(np.flatnonzero((bits[0] != bits[1]).any(axis=1)).tolist())


@pytest.mark.parametrize("how", ["nan", "flat", "endless", "wrong", "huge"])
def test_no_row_changes_a_bit_of_another_row(how):
    assert changed_rows(how) == {0, 1, 2}


def test_a_stop_that_the_rows_share_is_noticed(monkeypatch):
    real = batches._flat
    monkeypatch.setattr(batches, "_flat", lambda *each: np.full(len(each[0]), real(*each).any()))
    assert changed_rows("flat") > {0, 1, 2}
