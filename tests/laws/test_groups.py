"""Groups of rows, for every estimator: the guarantee protects them, and only their set is public."""

import numpy as np
import pytest
from sklearn.base import clone

from dplearn import AdditiveClassifier, StatisticalQueryNaiveBayes, SubsampleAggregateClassifier
from dplearn.audit import ready
from dplearn.domains import Grid
from dplearn.estimator import PrivateEstimator
from dplearn.learners import KnowledgeTransferClassifier
from dplearn.privacy import PrivacyLedger
from dplearn.queries import noise
from dplearn.table import groups
from tests.audit.changed import recipe_of
from tests.laws.conftest import protects_labels, public_rows


def ids_of(n, seed):
    rng = np.random.default_rng(seed)
    return np.sort(np.concatenate([np.arange(n), rng.integers(0, n, n + 7 * seed)]))


def test_plans_depend_on_the_set_of_groups_and_not_on_the_number_of_rows(classifier, iris, one_a_class):
    X, y = iris
    if protects_labels(classifier) or not isinstance(classifier, PrivateEstimator):
        return
    plans = []
    for seed in (0, 1):
        ids = ids_of(len(X), seed)  # another number of rows
        model = clone(classifier).set_params(random_state=0)
        if "classes" in model.get_params():
            model.set_params(classes=np.unique(y).tolist())
        fit = ready(model, X[ids], y[ids], groups=ids, **public_rows(classifier, X))
        plans.append(str(fit.plan))
        assert fit.plan.public.n_samples == len(X) == len(getattr(fit.summary, "records", fit.summary))
    assert plans[0] == plans[1]


@pytest.mark.parametrize("difference", [-1, 1])
def test_labels_that_are_more_or_fewer_than_the_rows_are_refused(classifier, iris, difference, one_a_class):
    X, y = iris
    if protects_labels(classifier) or not isinstance(classifier, PrivateEstimator):
        return
    model = clone(classifier).set_params(ledger=PrivacyLedger(10**13, 0.9, protects="groups"))
    with pytest.raises(ValueError, match=f"equal numbers of samples, got {len(X)} and {len(X) + difference}"):
        model.fit(
            X, np.resize(y, len(y) + difference), groups=np.arange(len(X)), **public_rows(classifier, X)
        )
    assert model.ledger.history() == []


@pytest.mark.filterwarnings("ignore")
def test_sums_over_all_rows_that_take_part_are_integers_of_64_bits(
    classifier, iris, one_a_class, monkeypatch
):
    """The limit on their number is checked before the charge, and the oracle's on their sums after it."""
    most, check = [0], noise.CentralNoise.check

    def checked(self, asked, *budget):
        most.extend(max(abs(query.low), abs(query.high)) for query in asked)
        check(self, asked, *budget)

    if getattr(classifier, "max_rows_per_group", None) is None or protects_labels(classifier):
        return
    monkeypatch.setattr(noise.CentralNoise, "check", checked)
    X, y = iris
    ids, ledger = np.arange(len(X)) // 2, PrivacyLedger(10**13, 0.9, protects="groups")
    clone(classifier).fit(X, y, groups=ids)
    assert max(most) <= 1 << 29
    assert groups.MOST_SUMMED << 29 < 1 << 62
    monkeypatch.setattr(groups, "MOST_SUMMED", 10 * len(set(ids)))
    model = clone(classifier).set_params(ledger=ledger)
    if getattr(classifier, "trust_model", "central") == "central" and model.domain != "learn":
        with pytest.raises(
            ValueError, match=r"max_rows_per_group must be below \d+ / n for n = \d+ groups, got"
        ):
            model.fit(X, y, groups=ids)
        assert ledger.history() == []


RNG = np.random.default_rng(0)
X = RNG.random((2000, 2))
Y = (X[:, 0] > RNG.random(2000)).astype(int)
NAIVE = StatisticalQueryNaiveBayes(domain=Grid(0, 1, 65), classes=[0, 1])


def test_sums_are_over_means_of_groups_and_others_take_one_row():
    ids = np.arange(600) // 3
    for given in ({}, {"domain": "learn"}, {"trust_model": "local"}):
        summary = ready(clone(NAIVE).set_params(**given), X[:600], Y[:600], groups=ids).summary
        assert (getattr(summary, "grouping", None) is not None) == (given == {})
        assert len(summary) == 200


def test_with_one_row_of_each_group_the_fit_is_that_of_rows():
    for kind in (AdditiveClassifier, StatisticalQueryNaiveBayes):
        model = kind(epsilon=1, domain=Grid(0, 1, 65), classes=[0, 1], random_state=0)
        apart = clone(model).set_params(max_rows_per_group=1).fit(X, Y, groups=np.arange(2000))
        assert (apart.predict_proba(X) == model.fit(X, Y).predict_proba(X)).all()


def test_all_rows_of_a_group_are_in_one_shard_and_teachers_are_trained_apart():
    ids = np.random.default_rng(0).integers(0, 500, 2000)
    for model in (
        SubsampleAggregateClassifier(n_teachers=20, classes=[0, 1]),
        KnowledgeTransferClassifier(n_teachers=20, classes=[0, 1], max_queries=5),
    ):
        fit = ready(model, X, Y, groups=ids, **public_rows(model, X[:5]))
        recipe = recipe_of(model)
        _, cut = recipe.into_shards(fit.summary, fit.plan, dice=None)
        assert cut["base"] == 25  # groups of a shard; the lengths of shards are private
        assert np.sort(np.concatenate(cut["shards"])).tolist() == list(range(2000))
        sets = [set(ids[shard].tolist()) for shard in cut["shards"]]
        assert sum(map(len, sets)) == len(set(ids.tolist()))
        assert max(map(len, sets)) - min(map(len, sets)) <= 1
