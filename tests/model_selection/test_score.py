"""Private scores: the noise, both intervals, what is refused, and labels and targets of odd types."""

from ast import literal_eval
from collections import deque
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from dplearn import PrivacyLedger, StatisticalQueryNaiveBayes
from dplearn.audit import exact_distribution
from dplearn.audit.cases import CASES
from dplearn.domains import DomainError, IntegerRange
from dplearn.fit import begin
from dplearn.model_selection import (
    METRICS,
    ErrorCount,
    PrivateScorer,
    PrivateSearchCV,
    PrivateTunedThresholdClassifier,
    TableNoise,
    measure_of,
    private_score,
)
from dplearn.privacy import ApproxDP

NO = DummyClassifier(strategy="constant", constant=0).fit([[0]] * 2, [0, 1])


def score_recipe(estimator, statistic, claim):
    """The recipe of a private score."""
    noise = TableNoise(claim, statistic.l1, statistic.squared_l2, gaussian=False)
    ours = CASES["private_score"].fit.make()
    return replace(ours, estimator=estimator, statistic=statistic, noise=noise, cost=claim)


def errors_and_n(model, X, y):
    found = begin(score_recipe(model, ErrorCount(), ApproxDP(1)), X, y).table
    [[errors]] = found.sums(lambda counted: [counted.counts])
    return int(errors), len(found)


def labels(ones, n):
    return np.arange(n) < ones


@pytest.mark.parametrize("errors", [0, 1, 5, 9, 10])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 2])
def test_the_interval_of_the_records_fails_no_more_often_than_beta_exactly(errors, epsilon):
    beta = Fraction(1, 10)
    measure = measure_of(PrivateScorer("accuracy"), ())
    score = begin(
        score_recipe(NO, measure.statistic, ApproxDP(epsilon)), np.zeros((10, 1)), labels(errors, 10)
    )

    def release(dice):
        return str(measure.bounds(score.run(dice), beta, False)), None

    distribution = exact_distribution(release)
    failing = sum(
        mass
        for seen, mass in distribution.masses.items()
        if not (lambda low, high: low <= 1 - errors / 10 <= high)(*literal_eval(seen[1][0]))
    )
    assert failing <= beta * distribution.total


def test_no_record_of_a_list_changes_how_the_others_are_read():
    base = 2**53  # as floats, these and their neighbours are one number
    public = np.array([[base + 1], [base + 3], [base + 5], [base + 7]] * 5)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0))
    model.fit(public, [0, 1, 0, 1] * 5)
    X, y = [[base + 1 + 2 * (i % 4)] for i in range(40)], [i % 2 for i in range(40)]
    assert errors_and_n(model, X, y) == (0, 40)
    for listed in (list, deque, tuple):
        assert errors_and_n(model, listed([[0.5], *X[1:]]), y)[0] <= 1
    texts = ["good day", "bad day"] * 10
    of_texts = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 0] * 10)
    assert errors_and_n(of_texts, texts, [1, 0] * 10) == (0, 20)


def test_a_record_counts_once_whatever_shape_predictions_have():
    model = MultiOutputClassifier(LogisticRegression()).fit([[0.0], [10.0]] * 20, [[0], [1]] * 20)
    X, y = np.zeros((200, 1)), np.zeros(200, dtype=int)
    assert errors_and_n(model, X, y) == (0, 200)
    assert errors_and_n(model, X, np.arange(200) == 7) == (1, 200)
    assert errors_and_n(model, X, [*[0] * 199, "odd"]) == (1, 200)
    assert errors_and_n(model, X, [*[0] * 198, None, 0.0]) == (1, 200)


def test_a_warning_about_a_record_is_not_heard_and_an_error_shows_none():
    encoder = OneHotEncoder(handle_unknown="ignore", drop="first")
    model = make_pipeline(encoder, LogisticRegression()).fit([["a"], ["b"]], [0, 1])
    private_score(model, np.array([["a"], ["zz"]], dtype=object), [0, 1])
    with pytest.raises(DomainError, match="does not predict one label each") as caught:
        private_score(LINE, np.array([["secret"], ["x"]], dtype=object), [0, 1], ledger=PrivacyLedger(1))
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None  # which would quote it


LINE = LogisticRegression().fit([[0.0], [1.0]], [0, 1])


def test_the_estimator_predicts_each_part_once_and_no_row_of_a_group_that_takes_no_part():
    X, y = load_iris(return_X_y=True, as_frame=True)
    seen = []

    class Watched(GaussianNB):
        def predict(self, X):
            seen.append(len(X))
            return super().predict(X)

    model = Watched().fit(X[::10], y[::10])
    visits = X.assign(kind=y, person=np.arange(150) % 100)
    private_score(model, [visits[:60], visits[60:]], "kind", groups="person", random_state=0)
    assert (len(seen), sum(seen)) == (2, 100)


# Labels and targets of odd types

SECRET = "canary-9f3b"
N = 40
X, Y = np.arange(N)[:, None] % 8, np.arange(N) % 2
MODEL = DummyClassifier(strategy="constant", constant=1).fit([[0]] * 2, [0, 1])
MEAN = DummyRegressor().fit([[0]] * 2, [0.0, 1.0])


class Raising:
    """Raises an error with its value whenever it is looked at, compared or hashed."""

    def stop(self, *given):
        raise ValueError(SECRET)

    __eq__ = __ne__ = __bool__ = __len__ = __getitem__ = __float__ = __str__ = __repr__ = stop
    __hash__ = stop


class Claiming(Raising):
    @property
    def __class__(self):
        raise ValueError(SECRET)


class Strange:
    """Equal to everything and different from everything."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return True

    __hash__ = None


ODD = {
    "a missing label": None,
    "NaN": np.nan,
    "pandas' missing label": pd.NA,
    "a text": SECRET,
    "bytes": b"1",
    "a tuple": (1, SECRET),
    "a nested row": [[1]],
    "a dict": {SECRET: 1},
    "a complex number": 1 + 0j,
    "an array": np.array([1, 2]),
    "a matrix": np.ones((2, 2)),
    "a time of numpy": np.datetime64("2020-01-01"),
    "a signaling NaN": Decimal("sNaN"),
    "a class": int,
    "an object that raises": Raising(),
    "an object without a class": Claiming(),
}


def as_array(cells):
    return np.fromiter(cells, dtype=object, count=len(cells))


CONTAINERS = {
    "list": list,
    "array": as_array,
    "column": lambda cells: as_array(cells)[:, None],
    "series": lambda cells: pd.Series(as_array(cells)),
    "frame": lambda cells: pd.DataFrame({"y": as_array(cells)}),
    "polars": lambda cells: pl.Series(cells, dtype=pl.Object),
}


def with_odd(y, odd):
    return [*y.tolist()[:-1], odd]


def asked(name, y, ledger, **how):
    scorer = PrivateScorer(name, target_range=(0, 1))
    model = MEAN if METRICS[name].regression else MODEL
    return private_score(model, X, y, scoring=scorer, epsilon=10**6, ledger=ledger, **how)


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_label_counts_as_one_error_and_changes_no_other_comparison(odd):
    for container in CONTAINERS.values():
        assert errors_and_n(MODEL, X, container(with_odd(Y, ODD[odd]))) == (N // 2 + 1, N)
    strange = [Strange(), *Y.tolist()[1:]]
    before, after = (errors_and_n(MODEL, X, y)[0] for y in (strange, [*strange[:-1], ODD[odd]]))
    assert (before, after) == (N // 2, N // 2 + 1)
    y = with_odd(Y, ODD[odd])
    groups = asked("accuracy", y, None, groups=np.arange(N))
    parts = private_score(MODEL, [X[:9], X[9:]], [y[:9], y[9:]], epsilon=10**6)
    assert groups.value == parts.value == 0.5 - 1 / N


@pytest.mark.parametrize("name", METRICS)
def test_an_odd_label_or_target_is_an_error_of_accuracies_and_refused_alike_by_the_others(name):
    metric, said, ledger = METRICS[name], set(), PrivacyLedger(10**9)
    counts_errors = metric.any_labels and not metric.regression
    for odd in ODD.values():
        y = with_odd(Y.astype(float) if metric.regression else Y, odd)
        if counts_errors:
            score = asked(name, y, ledger)
            assert (score.value, score.n_samples, score.table.counts.shape) == (0.5 - 1 / N, N, (1,))
            continue
        with pytest.raises(DomainError) as raised:
            asked(name, y, ledger)
        assert (raised.value.__cause__, raised.value.__context__) == (None, None)
        said.add(str(raised.value))
    assert len(said) == (not counts_errors)
    assert SECRET not in str(said)
    assert len(ledger.history()) == len(ODD) * counts_errors


def test_an_odd_label_is_refused_by_searches_before_anything_is_spent():
    model = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 7), classes=[0, 1])
    ledger = PrivacyLedger(10, 1e-3)
    searches = (
        PrivateSearchCV(model, {"smoothing": [1.0]}, ledger=ledger),
        PrivateTunedThresholdClassifier(model, ledger=ledger),
    )
    for search in searches:
        for odd in ODD.values():
            with pytest.raises((TypeError, ValueError)) as raised:
                search.fit(X, with_odd(Y, odd))
            assert SECRET not in str(raised.value) + str(raised.value.__context__)
    assert ledger.history() == []
