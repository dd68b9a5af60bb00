"""A weaker guarantee is of use only where its models are at least as accurate: labels, and whole records."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_friedman1,
    make_regression,
)
from sklearn.naive_bayes import GaussianNB

from dplearn import AdditiveClassifier, PrivateLabelsClassifier, learners

OF_LABELS = [partial(each, return_X_y=True) for each in (load_wine, load_digits, load_breast_cancer)]
OF_TARGETS = [
    partial(load_diabetes, return_X_y=True),
    *(
        partial(each, n_samples=600, n_features=8, random_state=0)
        for each in (make_friedman1, make_regression)
    ),
]
EPSILONS = (0.3, 1.0, 3.0)
FITS = 6
SPREADS = 2.5  # standard errors of a difference, and .01, are no loss

ROOM = {name: getattr(learners, name) for name in learners.__all__}
TAKING = {
    name: each for name, each in ROOM.items() if "protects" in getattr(each, "__dataclass_fields__", ())
}
#: A learner of labels, and the one of whole records that it is compared with.
PAIRS = {"PrivateLabelsClassifier": (PrivateLabelsClassifier, AdditiveClassifier)} | {
    name: (partial(each, protects="labels"), each) for name, each in TAKING.items()
}
LAWS = [
    (name, table, epsilon)
    for name, (_, whole) in PAIRS.items()
    for table in (OF_LABELS if is_classifier(whole()) else OF_TARGETS)
    for epsilon in EPSILONS
]


def scores(learner, table, epsilon):
    """The scores of fits, each on rows that it has not seen."""
    (X, y), found = table(), []
    for seed in range(FITS):
        new = np.random.default_rng(seed).random(len(y)) < 1 / 3
        model = learner(epsilon=epsilon, random_state=seed)
        if hasattr(model, "target_range"):  # which these tables are too small to learn
            model.set_params(target_range=(y.min(), y.max()))
        found.append(model.fit(X[~new], y[~new]).score(X[new], y[new]))
    return np.array(found)


def loses(labels, records, table, epsilon):
    """Whether a learner of labels is less accurate than one of records by more than chance."""
    lost = scores(records, table, epsilon) - scores(labels, table, epsilon)
    return lost.mean() > 0.01 + SPREADS * lost.std(ddof=1) / FITS**0.5


@pytest.mark.first_by_day
@pytest.mark.parametrize(("name", "table", "epsilon"), LAWS)
@pytest.mark.filterwarnings("ignore")  # of few records
def test_public_features_are_never_worse_than_private_ones(name, table, epsilon):
    assert not loses(*PAIRS[name], table, epsilon)


def test_the_law_notices_a_learner_that_wastes_its_budget():
    soon = partial(PrivateLabelsClassifier, GaussianNB())

    def wasting(epsilon, **how):
        return soon(epsilon=epsilon / 30, method="reports", **how)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert loses(wasting, soon, OF_LABELS[0], 3.0)
