import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss

from dplearn import AdditiveClassifier
from dplearn.chance import SeededDice
from dplearn.domains import Categories, Grid, IntegerRange, Product
from dplearn.learners import StatisticalQueryLogisticRegression
from dplearn.learners.additive.cells import column_of, line_rows
from dplearn.learners.additive.model import summed
from dplearn.learners.additive.plan import linear_plan
from dplearn.learners.additive.steps import learn_linear
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows

CITIES = Categories(["north", "south", "west"])


def plan(n=60, classes=(0, 1, 2), d=3, **given):
    return AdditiveClassifier(**{"domain": Grid(0, 1), "classes": classes, **given}).plan(n, n_features=d)


def test_rows_of_ordered_cells_are_a_line_and_those_of_categories_apart():
    assert line_rows(column_of(IntegerRange(5, 5))).tolist() == [[0.0]]
    assert line_rows(column_of(IntegerRange(5, 6))).tolist() == [[-1.0], [1.0]]
    assert line_rows(column_of(Grid(0, 1, 3, missing=True))).tolist() == [[0, 1], [-1, 0], [0, 0], [1, 0]]
    assert line_rows(column_of(CITIES)).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize(
    ("changed", "linear"),
    [
        ({}, True),
        ({"classes": (0, 1)}, False),
        ({"delta": 0}, False),
        ({"interactions": True}, False),
        ({"interactions": False}, True),
        ({"n": 100_000}, False),
        ({"n": 1000}, False),
        ({"n": 1000, "classes": range(12)}, True),
        ({"n": 2500, "classes": range(12)}, False),
        ({"d": 4095, "domain": IntegerRange(0, 1)}, True),
        ({"d": 4096, "domain": IntegerRange(0, 1)}, False),
    ],
)
def test_a_fit_is_linear_where_noise_allows_straight_lines_only_and_labels_are_three_or_more(changed, linear):
    found = plan(**changed)
    assert found.linear is linear
    if linear:
        assert found.level == found.n_joint == found.n_steps == 0
        assert found.n_queries == 5  # for masses, the mean row, the labels, and two histograms of scores
        assert sum(found.shares) == 1
        assert found.logistic.guarantee == found.guarantee


def test_a_fit_with_a_learned_schema_asks_what_its_plan_says():
    X, y = load_iris(return_X_y=True)
    model = AdditiveClassifier(epsilon=2.0, classes=[0, 1, 2], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # too few records for learned ranges
        model.fit(X, y)
    assert model.plan(len(X), n_features=4).linear
    for shape in model.shapes_:
        assert shape.effects.shape == (len(shape.masses), 3)
        assert np.diff(shape.effects[shape.column.gap :], n=2, axis=0) == pytest.approx(0, abs=1e-9)


def records(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    domains = [IntegerRange(0, 40), CITIES, Grid(0, 1, 65, missing=True)]
    columns = [column_of(domain) for domain in domains]
    cells = np.stack([rng.integers(0, column.size, n) for column in columns], axis=1)
    margins = np.stack(
        [0.1 * cells[:, 0] - 2, 2.0 * (cells[:, 1] == 1), 0.1 * cells[:, 2] - 3 * (cells[:, 2] > 0)], axis=1
    )
    return domains, columns, cells, (margins + rng.gumbel(size=margins.shape)).argmax(axis=1), margins


def test_with_little_noise_effects_are_those_of_the_columns():
    _, columns, cells, y, margins = records()
    cost, part = ApproxDP(1000, "1e-6"), Fraction(9, 10)
    asked = linear_plan(cost, part, len(y), 6, 3)
    oracle = CentralOracle(LabelledRows(cells.astype(np.int16), y), privacy=cost, dice=SeededDice(0))
    masses = [
        np.bincount(each, minlength=column.size) / len(y)
        for column, each in zip(columns, cells.T, strict=True)
    ]
    model = learn_linear(oracle, columns, masses, asked, part)
    assert oracle.left == 1 - part
    found = summed(model.intercept, model.effects, cells)
    assert np.mean(found.argmax(axis=1) == y) > np.mean(margins.argmax(axis=1) == y) - 0.04
    for effects, mass in zip(model.effects, model.masses, strict=True):
        assert mass @ effects == pytest.approx(np.zeros(3), abs=1e-12)
    assert model.effects[1].argmax(axis=0)[1] == 1  # the second label is that of the second city
    assert (np.diff(model.effects[0][:, 0]) > 0).all()  # the first label, of greater numbers


@pytest.mark.parametrize("n_fits", [12, pytest.param(40, marks=pytest.mark.nightly)])
def test_deviations_are_those_of_the_noise(n_fits):
    domains, _, cells, y, _ = records(400)
    X = np.empty(cells.shape, dtype=object)
    X[:, 0], X[:, 1] = cells[:, 0], np.array(CITIES.values)[cells[:, 1]]
    X[:, 2] = domains[2].decode(cells[:, 2].astype(np.uint64))
    fits = [
        AdditiveClassifier(epsilon=2.0, domain=Product(domains), classes=[0, 1, 2], random_state=seed).fit(
            X, y
        )
        for seed in range(n_fits)
    ]
    ends = np.array([fit.shapes_[0].effects[-1] for fit in fits])
    claimed = np.median([fit.shapes_[0].deviations[-1] for fit in fits], axis=0)
    ratio = np.std(ends, axis=0) / claimed
    assert ((ratio > 0.4) & (ratio < 2.5)).all()


def test_digits_are_classified_as_well_as_by_logistic_regression():
    """64 columns and 10 labels of 1,078 records, at epsilon 1."""
    X, y = load_digits(return_X_y=True)
    X = X.astype(int)
    given = {"epsilon": 1.0, "delta": 1e-6, "domain": IntegerRange(0, 16), "classes": range(10)}
    train, test = np.arange(len(X)) % 5 < 3, np.arange(len(X)) % 5 >= 3
    ours, peer = (
        np.mean(
            [
                kind(**given, random_state=seed).fit(X[train], y[train]).score(X[test], y[test])
                for seed in range(3)
            ]
        )
        for kind in (AdditiveClassifier, StatisticalQueryLogisticRegression)
    )
    assert ours > 0.72
    assert ours > peer - 0.02


def test_probabilities_of_iris_are_better_than_guesses():
    X, y = load_iris(return_X_y=True)
    model = AdditiveClassifier(epsilon=3.0, domain=Grid(0, 8, 81), classes=[0, 1, 2], random_state=0).fit(
        X, y
    )
    assert log_loss(y, model.predict_proba(X)) < 0.8 * np.log(3)
    assert model.decision_function(X[:2]).shape == (2, 3)
