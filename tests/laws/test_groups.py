"""Groups of rows, for every estimator: the guarantee protects them, and only their set is public."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from dplearn import AdditiveClassifier, StatisticalQueryNaiveBayes, SubsampleAggregateClassifier
from dplearn.audit.fits import ready
from dplearn.domains import Grid
from dplearn.estimator import PrivateEstimator
from dplearn.estimator.public_data import PublicData
from dplearn.fit.relation import GROUPS
from dplearn.learners import KnowledgeTransferClassifier
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.privacy import PrivacyLedger, pipeline_guarantee
from dplearn.queries.noise import CentralNoise
from dplearn.table import groups


def grouped(X, y, ids):
    """A table with several rows of each group: those of iris, of groups that are numbered 0, 1, 2, ..."""
    return np.asarray(X)[ids], np.asarray(y)[ids]


def ids_of(n, seed):
    rng = np.random.default_rng(seed)
    return np.sort(np.concatenate([np.arange(n), rng.integers(0, n, n + 7 * seed)]))


def given_to(classifier, X):
    return {"X_public": PublicData(X)} if getattr(classifier, "needs_public_rows", False) else {}


def protects_labels(classifier):
    return getattr(classifier, "protects", "examples") == "labels"


def test_the_guarantee_protects_groups_and_the_plan_counts_them(classifier, iris, one_a_class):
    X, y = iris
    ids, ledger = ids_of(len(X), 0), PrivacyLedger(10**13, 0.9, protects="groups")
    model = clone(classifier).set_params(ledger=ledger)
    rows, labels = grouped(X, y, ids)
    if protects_labels(classifier):
        with pytest.raises(ValueError, match="groups must be None where protects='labels'"):
            model.fit(rows, labels, groups=ids)
        assert ledger.history() == []
        return
    model.fit(rows, labels, groups=ids, **given_to(classifier, X))
    assert model.guarantee_.protects == "groups"
    assert GROUPS in model.guarantee_.assumes
    assert not any("number of records" in each for each in model.guarantee_.assumes)
    assert [each.guarantee for each in ledger.history()] == [model.guarantee_]
    assert model.predict(X).shape[0] == len(X)


@pytest.mark.parametrize("difference", [-1, 1])
def test_labels_that_are_more_or_fewer_than_the_rows_are_refused(classifier, iris, difference):
    X, y = iris
    if protects_labels(classifier) or not isinstance(classifier, PrivateEstimator):
        return
    model = clone(classifier).set_params(ledger=PrivacyLedger(10**13, 0.9, protects="groups"))
    with pytest.raises(ValueError, match=f"equal numbers of samples, got {len(X)} and {len(X) + difference}"):
        model.fit(X, np.resize(y, len(y) + difference), groups=np.arange(len(X)), **given_to(classifier, X))
    assert model.ledger.history() == []


def test_plans_depend_on_the_set_of_groups_and_not_on_the_number_of_rows(classifier, iris, one_a_class):
    X, y = iris
    if protects_labels(classifier) or not isinstance(classifier, PrivateEstimator):
        return
    plans = []
    for seed in (0, 1):
        ids = ids_of(len(X), seed)  # another number of rows
        rows, labels = grouped(X, y, ids)
        model = clone(classifier).set_params(random_state=0)
        if "classes" in model.get_params():
            model.set_params(classes=np.unique(y).tolist())
        fit = ready(model, rows, labels, groups=ids, **given_to(classifier, X))
        plans.append(str(fit.plan))
        assert fit.plan.public.n_samples == len(X) == len(getattr(fit.summary, "records", fit.summary))
    assert plans[0] == plans[1]


@pytest.mark.filterwarnings("ignore")
def test_sums_over_all_rows_that_take_part_are_integers_of_64_bits(
    classifier, iris, one_a_class, monkeypatch
):
    """The limit on their number is checked before the charge, and the oracle's on their sums after it."""
    most, check = [0], CentralNoise.check

    def checked(self, asked, *budget):
        most.extend(max(abs(query.low), abs(query.high)) for query in asked)
        check(self, asked, *budget)

    if getattr(classifier, "max_rows_per_group", None) is None or protects_labels(classifier):
        return
    monkeypatch.setattr(CentralNoise, "check", checked)
    X, y = iris
    ids, ledger = np.arange(len(X)) // 2, PrivacyLedger(10**13, 0.9, protects="groups")
    clone(classifier).fit(X, y, groups=ids)
    assert max(most) <= 1 << 29
    assert groups._MOST_SUMMED << 29 < 1 << 62
    monkeypatch.setattr(groups, "_MOST_SUMMED", 10 * len(set(ids)))
    model = clone(classifier).set_params(ledger=ledger)
    if getattr(classifier, "trust_model", "central") == "central" and model.domain != "learn":
        with pytest.raises(
            ValueError, match=r"max_rows_per_group must be below \d+ / n for n = \d+ groups, got"
        ):
            model.fit(X, y, groups=ids)
        assert ledger.history() == []


def test_transformers_protect_groups(any_transformer, one_a_class):
    X = np.random.default_rng(0).random((300, 3))
    model = clone(any_transformer)
    if hasattr(model, "guarantee_") or not hasattr(model, "epsilon"):
        return
    model.fit(X, groups=np.arange(300) // 3)
    assert model.guarantee_.protects == "groups"


def test_a_pipeline_passes_groups_to_all_of_its_steps():
    import sklearn

    rng = np.random.default_rng(0)
    X, ids = rng.random((900, 3)), np.arange(900) // 3
    y = (X[:, 0] > 0.5).astype(int)
    steps = {"epsilon": 1, "domain": Grid(0, 1, 65)}
    pipeline = make_pipeline(
        PrivateQuantileTransformer(**steps), StatisticalQueryNaiveBayes(**steps, classes=[0, 1])
    )
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline.fit(X, y, groups=ids)
    total = pipeline_guarantee(pipeline)
    assert (total.protects, total.epsilon) == ("groups", 2)
    pipeline.fit(X, y, statisticalquerynaivebayes__groups=ids)  # a step without groups protects rows
    assert pipeline_guarantee(pipeline).protects == "examples"


def test_sums_are_over_means_of_groups_and_others_take_one_row():
    rng = np.random.default_rng(0)
    X, ids = rng.random((600, 2)), np.arange(600) // 3
    y = (X[:, 0] > 0.5).astype(int)
    by_sums = {
        "sums": StatisticalQueryNaiveBayes(domain=Grid(0, 1, 65), classes=[0, 1]),
        "learned": StatisticalQueryNaiveBayes(domain="learn", classes=[0, 1]),
        "local": StatisticalQueryNaiveBayes(domain=Grid(0, 1, 65), classes=[0, 1], trust_model="local"),
    }
    for name, model in by_sums.items():
        summary = ready(model, X, y, groups=ids).summary
        assert (getattr(summary, "grouping", None) is not None) == (name == "sums")
        assert len(summary) == 200


def test_with_one_row_of_each_group_the_fit_is_that_of_rows():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 3))
    y = (X[:, 0] > rng.random(3000)).astype(int)
    for kind in (AdditiveClassifier, StatisticalQueryNaiveBayes):
        model = kind(epsilon=1, domain=Grid(0, 1, 65), classes=[0, 1], random_state=0)
        ids = np.arange(3000)
        apart = clone(model).set_params(max_rows_per_group=1).fit(X, y, groups=ids)
        assert (apart.predict_proba(X) == model.fit(X, y).predict_proba(X)).all()


def test_all_rows_of_a_group_are_in_one_shard_and_teachers_are_trained_apart():
    rng = np.random.default_rng(0)
    X, ids = rng.random((2000, 2)), rng.integers(0, 500, 2000)
    y = (X[:, 0] > 0.5).astype(int)
    public = PublicData(rng.random((5, 2)))
    for model in (
        SubsampleAggregateClassifier(n_teachers=20, classes=[0, 1]),
        KnowledgeTransferClassifier(n_teachers=20, classes=[0, 1], max_queries=5),
    ):
        more = {} if isinstance(model, SubsampleAggregateClassifier) else {"X_public": public}
        fit = ready(model, X, y, groups=ids, **more)
        recipe = model._recipe(reproducible=False)
        _, cut = recipe._cut(fit.summary, fit.plan, dice=None)
        assert cut["base"] == 25  # groups of a shard; the lengths of shards are private
        assert np.sort(np.concatenate(cut["shards"])).tolist() == list(range(2000))
        sets = [set(ids[shard].tolist()) for shard in cut["shards"]]
        assert sum(map(len, sets)) == len(set(ids.tolist()))
        sizes = [len(each) for each in sets]
        assert max(sizes) - min(sizes) <= 1


def test_tables_in_parts_and_wrong_groups_are_refused_before_the_charge():
    X, y = np.random.default_rng(0).random((40, 2)), [0, 1] * 20
    ledger = PrivacyLedger(5, protects="groups")
    model = StatisticalQueryNaiveBayes(delta=0, domain=Grid(0, 1, 65), classes=[0, 1], ledger=ledger)
    with pytest.raises(TypeError, match="groups must be the name of a column of X for a table in parts"):
        model.fit([X[:20], X[20:]], [y[:20], y[20:]], groups=np.arange(40))
    with pytest.raises(ValueError, match="X and groups must have equal numbers of rows, got 40 and 39"):
        model.fit(X, y, groups=np.arange(39))
    with pytest.raises(ValueError, match="max_rows_per_group must be"):
        model.set_params(max_rows_per_group=0).fit(X, y, groups=np.arange(40))
    assert ledger.history() == []
