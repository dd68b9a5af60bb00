"""Private naive Bayes as its users meet it."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from dplearn import BudgetExceededError, PrivacyLedger
from dplearn.domains import Bits, Categories, DomainError, Floats, Grid, Hashed, IntegerRange, Product, Schema
from dplearn.kernels.simplex import nearest_shares
from dplearn.learners.bins import binned, stacked
from dplearn.learners.counts import naive_bayes
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes, asks_classes, learn_naive_bayes
from dplearn.queries import LabelledRows, population
from dplearn.queries.noise import share_noise
from dplearn.table.encodings import encoded

MODELS = ["central", "local"]
PEOPLE = Schema(
    {"age": IntegerRange(0, 119), "town": Categories(["a", "b", None]), "job": Hashed(16)},
    labels=["no", "yes"],
)


def people(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    age = np.where(y, rng.integers(50, 90, n), rng.integers(10, 60, n))
    town = np.where(rng.random(n) < 0.2, None, np.where(y ^ (rng.random(n) < 0.2), "a", "b"))
    job = np.where(rng.random(n) < 0.5, "cook", "clerk")
    return {"age": age, "town": town, "job": job}, np.where(y, "yes", "no")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_strings_gaps_and_numbers_of_a_frame_are_learned(model, frame):
    table, y = people()
    X = frame({name: column.tolist() for name, column in table.items()})
    fitted = StatisticalQueryNaiveBayes(epsilon=2, trust_model=model, domain=PEOPLE).fit(X, y)
    assert fitted.score(X, y) > 0.85
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert np.exp(fitted.log_prior_) == pytest.approx([0.7, 0.3], abs=0.05)
    assert fitted.log_ratios_[1][1, 0] > fitted.log_ratios_[1][1, 1]
    assert [each.shape for each in fitted.log_ratios_] == [(2, each.size) for each in fitted.bins_]
    unseen = frame({"age": [85.0], "town": ["elsewhere"], "job": ["none"]})
    assert fitted.predict(unseen).tolist() == ["yes"]


def test_with_a_large_budget_it_is_scikit_learns_categorical_naive_bayes():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    ours = StatisticalQueryNaiveBayes(epsilon=1e5, domain=IntegerRange(0, 16), n_bins=17).fit(
        X_train, y_train
    )
    theirs = CategoricalNB(min_categories=17).fit(X_train.astype(int), y_train)
    assert (ours.predict(X_test) == theirs.predict(X_test.astype(int))).mean() > 0.95
    assert ours.score(X_test, y_test) > 0.87
    assert ours.predict_proba(X_test).sum(axis=1) == pytest.approx(1)
    assert np.exp(ours.predict_log_proba(X_test)) == pytest.approx(ours.predict_proba(X_test))


def test_breast_cancer_at_epsilon_three_without_bounds():
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for seed in range(5):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        learner = StatisticalQueryNaiveBayes(epsilon=3, delta=1e-6, classes=[0, 1])
        scores.append(learner.fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(scores) > 0.88  # .92 where it was measured


@pytest.mark.parametrize("model", MODELS)
def test_noise_does_not_decide_where_it_hides_everything(model):
    table, y = people(200)
    learner = StatisticalQueryNaiveBayes(epsilon=1e-3, trust_model=model, domain=PEOPLE)
    with pytest.warns(UserWarning, match="n_samples is 200: the noise in counts, of standard deviation"):
        learner.fit(pd.DataFrame(table), y)
    tables = StatisticalQueryNaiveBayes(epsilon=10, trust_model=model, domain=PEOPLE).fit(
        pd.DataFrame(table), y
    )
    spread = [np.mean([np.ptp(each, axis=0).mean() for each in fit.log_ratios_]) for fit in (learner, tables)]
    assert spread[0] < 1 < 3 * spread[1]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_plan_matches_the_fit_and_needs_no_data(model, delta):
    table, y = people(500)
    learner = StatisticalQueryNaiveBayes(trust_model=model, delta=delta, domain=PEOPLE)
    plan, fitted = learner.plan(500), learner.fit(pd.DataFrame(table), y)
    assert plan.guarantee == fitted.guarantee_
    assert (plan.noise, plan.n_bins) == (fitted.noise_, fitted.n_bins_)
    assert 0 < plan.deviation < plan.tolerance
    assert learner.plan(50_000).tolerance < plan.tolerance
    assert plan.guarantee.delta == 0  # three columns: Laplace noise is the lesser
    assert "labels are among the declared classes" in plan.guarantee.assumes


@pytest.mark.parametrize(
    ("table", "epsilon", "delta", "warned"),
    [
        ((426, 30, 2), 0.1, 0.0, True),
        ((426, 30, 2), 1.0, 0.0, False),  # breast cancer: .77, and the most common label has .63
        ((1347, 64, 10), 1.0, 0.0, True),  # digits: .2
        ((1347, 64, 10), 1.0, 1e-6, False),  # .6
    ],
)
def test_noise_that_hides_all_is_known_by_public_numbers(table, epsilon, delta, warned):
    n, d, k = table
    learner = StatisticalQueryNaiveBayes(epsilon=epsilon, delta=delta, domain=IntegerRange(0, 16))
    assert (learner.plan(n, n_features=d, n_labels=k).deviation * k >= 1) == warned


@pytest.mark.parametrize("value", [0, 16])
def test_the_warning_is_the_same_for_all_records(value):
    few = StatisticalQueryNaiveBayes(epsilon=0.1, delta=0, domain=IntegerRange(0, 16), classes=[0, 1])
    with pytest.warns(UserWarning, match="n_samples is 50") as caught:
        few.fit(np.full((50, 4), value), np.zeros(50, dtype=int))
    [message] = [str(each.message) for each in caught]
    assert message.startswith("n_samples is 50: the noise in counts, of standard deviation 2.3 times")
    assert "a delta such as 1e-6" in message


def test_delta_is_spent_where_it_helps():
    plans = [
        StatisticalQueryNaiveBayes(delta=1e-6, trust_model=model).plan(1000, n_features=d, n_labels=2)
        for model, d in [("central", 2), ("central", 60), ("local", 60)]
    ]
    assert [plan.noise for plan in plans] == ["laplace", "gaussian", "local"]
    assert [plan.guarantee.delta for plan in plans] == [0, Fraction(1, 10**6), 0]


def test_the_tolerance_is_kept():
    table, y = people(2000)
    X = pd.DataFrame(table)
    learner = StatisticalQueryNaiveBayes(epsilon=5, domain=PEOPLE, smoothing=1e-9)
    plan = learner.plan(2000)
    true = np.log([0.7, 0.3])
    off = [np.abs(np.exp(learner.fit(X, y).log_prior_) - np.exp(true)).max() for _ in range(20)]
    assert np.median(off) < plan.tolerance + 0.02


def test_more_records_get_more_bins_and_more_noise_fewer():
    def bins(n, **parameters):
        learner = StatisticalQueryNaiveBayes(**parameters)
        return learner.plan(n, n_features=10, n_labels=2).n_bins

    assert [bins(n) for n in (10**2, 10**4, 10**6)] == [4, 32, 32]
    assert [bins(n, trust_model="local") for n in (10**2, 10**5, 10**8)] == [2, 4, 32]
    assert bins(10**4, epsilon=0.1) == 4
    assert bins(10**2, n_bins=7) == 7


@pytest.mark.parametrize(
    "domain", [Floats(missing=True), IntegerRange(0, 9, missing=True), Grid(0, 9, missing=True)], ids=repr
)
def test_missing_numbers_are_a_value_where_the_domain_has_them(domain):
    X = np.where(np.arange(4000) % 2, np.nan, 3.0)[:, None]
    y = np.arange(4000) % 2
    fitted = StatisticalQueryNaiveBayes(epsilon=5, domain=domain).fit(X, y)
    assert fitted.score(X, y) == 1
    with pytest.raises(DomainError, match="contains NaN"):
        StatisticalQueryNaiveBayes().fit(X, y)


def test_in_pipelines_and_searches_each_fit_is_charged():
    X, y = load_breast_cancer(return_X_y=True)
    ledger = PrivacyLedger(7, delta=1e-5)
    learner = StatisticalQueryNaiveBayes(epsilon=1, ledger=ledger, domain=Grid(-5, 5, outside="clip"))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), learner), {"statisticalquerynaivebayes__n_bins": [2, 8]}, cv=3
    ).fit(X, y)
    assert search.best_estimator_[-1].n_bins_ in (2, 8)
    with pytest.raises(BudgetExceededError):
        clone(learner).fit(X, y)
    binned = make_pipeline(
        KBinsDiscretizer(4, encode="ordinal"),
        StatisticalQueryNaiveBayes(epsilon=1e4, domain=IntegerRange(0, 3)),
    )
    assert binned.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("model", MODELS)
def test_a_pickle_predicts_alike_and_an_integer_makes_a_fit_repeatable(model):
    X, y = load_breast_cancer(return_X_y=True)
    learner = StatisticalQueryNaiveBayes(epsilon=3, trust_model=model, random_state=0)
    fitted, again = learner.fit(X, y), clone(learner).fit(X, y)
    assert (pickle.loads(pickle.dumps(fitted)).predict_proba(X) == again.predict_proba(X)).all()
    assert fitted.guarantee_.reproducible
    other = clone(learner).set_params(random_state=None).fit(X, y)
    # All tables of all columns: a prior alone, of so few records, is the same by chance now and then.
    assert not np.array_equal(np.hstack(other.log_ratios_), np.hstack(fitted.log_ratios_))
    assert not other.guarantee_.reproducible


def test_one_class_is_all_that_is_predicted():
    fitted = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 3)).fit([[0], [3]], ["a", "a"])
    assert fitted.predict([[1], [2]]).tolist() == ["a", "a"]
    assert fitted.predict_proba([[1]]).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number above 0"),
        ({"trust_model": "shuffle"}, "trust_model must be one of 'central', 'local'"),
        ({"n_bins": 1}, "n_bins must be an integer at least 2, got 1"),
        ({"n_bins": 5000}, "n_bins must be an integer from 2 to 4096, got 5000"),
        ({"n_bins": "many"}, "n_bins must be 'auto' or an integer"),
        ({"smoothing": 0}, "smoothing must be a finite number above 0, got 0"),
        ({"classes": [0, 0]}, "classes must be distinct"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, message):
    with pytest.raises(ValueError, match=message):
        StatisticalQueryNaiveBayes(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_what_cannot_be_done_is_refused_before_anything_is_spent():
    ledger = PrivacyLedger(1, delta=1e-6)
    learner = StatisticalQueryNaiveBayes(epsilon=1, ledger=ledger, domain=IntegerRange(0, 3), classes=[0, 1])
    with pytest.raises(DomainError, match="outside the declared domain"):
        learner.fit([[0], [9]], [0, 1])
    with pytest.raises(DomainError, match="not among the declared classes"):
        learner.fit([[0], [1]], [0, 2])
    with pytest.raises(ValueError, match="needs a record for each of 3 queries, got n_samples=2"):
        clone(learner).set_params(trust_model="local").fit([[0, 1, 2], [1, 0, 0]], [0, 1])
    with pytest.raises(ValueError, match="n_features must be given, since domain does not determine it"):
        learner.plan(10)
    with pytest.raises(ValueError, match="n_labels must be given, since classes does not determine it"):
        StatisticalQueryNaiveBayes().plan(10, n_features=3)
    learner.set_params(n_bins=2).fit([[0], [3]] * 9, [0, 1] * 9)


def test_undeclared_texts_are_told_how_to_be_declared():
    frame = pd.DataFrame({"town": ["north", "south"] * 5})
    for table in (frame, frame.to_numpy()):
        with pytest.raises(DomainError, match=r"declare the columns with domain=Schema\(...\)"):
            StatisticalQueryNaiveBayes().fit(table, [0, 1] * 5)


def planned(n, domains, *, k=2, n_bins="auto", **parameters):
    learner = StatisticalQueryNaiveBayes(domain=Product(domains), n_bins=n_bins, **parameters)
    return learner.plan(n, n_labels=k)


def noise(plan, size, model):
    return share_noise(
        max(2, plan.public.n_labels * size),
        n_queries=plan.n_queries,
        n=plan.public.n_samples,
        epsilon=1,
        delta=0,
        noise={"central": "laplace"}.get(model, model),
    )


@pytest.mark.parametrize("model", ["central", "local"])
def test_as_many_bins_as_leave_an_average_count_clear_of_the_noise(model):
    for n in (10**3, 10**4, 10**5, 10**6, 10**7):
        plan = planned(n, [Grid(0, 1)] * 5, k=3, trust_model=model, delta=0)
        clear = 1 / (3 * plan.n_bins) / noise(plan, plan.n_bins, model).deviation
        assert clear >= 4 or plan.n_bins == {"central": 4, "local": 2}[model]  # 5, of one query less


def test_the_noise_of_the_plan_is_that_of_each_column():
    plan = planned(1000, [Grid(0, 1), Categories(["a", "b", "c"])], trust_model="local", delta=0)
    assert plan.deviations == tuple(noise(plan, each.size, "local").deviation for each in plan.bins)
    assert plan.deviations[0] < plan.deviations[1]
    assert plan.class_deviation == noise(plan, 1, "local").deviation


def test_in_the_local_model_a_column_has_few_bins():
    columns = [Hashed(1000), Floats()]
    local = planned(1000, columns, n_bins=4, trust_model="local")
    assert max(each.size for each in local.bins) <= 32
    assert planned(1000, columns, n_bins=4).bins[0].size == 1000


def test_classes_are_asked_for_where_bins_are_many():
    assert planned(10, [Hashed(64)], n_bins=2).n_queries == 2
    assert planned(10, [Grid(0, 1)] * 2, n_bins=2).n_queries == 2


def test_delta_is_in_the_guarantee_only_where_noise_is_gaussian():
    for d, delta in [(1, 0), (60, Fraction(1, 1000))]:
        assert planned(10, [Grid(0, 1)] * d, n_bins="auto", delta=0.001).guarantee.delta == delta


# Naive Bayes from shares: right where answers are, and cautious where they are noise.

BINS = (binned(Bits(None), 2), binned(IntegerRange(0, 3), 4))


def some_records(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return LabelledRows(
        np.column_stack((rng.random(n) < y / 2, (y + rng.integers(0, 3, n)) % 4)).astype(int), y
    )


def plan_of(n, deviation=0.0, smoothing=1e-9, bins=BINS):
    """The plan of a fit of n records with three labels, with noise of the given deviation."""
    model = StatisticalQueryNaiveBayes(smoothing=smoothing, domain=[each.domain for each in bins])
    noise = {"deviations": (deviation,) * len(bins), "class_deviation": deviation}
    return replace(model.plan(n, n_labels=3), bins=tuple(bins), **noise)


def test_with_exact_answers_it_is_scikit_learns():
    records = some_records()
    tables = learn_naive_bayes(population(records), plan_of(len(records)))
    theirs = CategoricalNB(alpha=1e-9).fit(records.X, records.y)
    ours = tables.log_joint(list(records.X.T))
    expected = theirs.predict_joint_log_proba(records.X)
    seen = expected > -15
    # Up to a term of the record alone, which no class has more of than another.
    gaps = np.where(seen, ours - expected, np.nan)
    assert np.nanmax(np.nanmax(gaps, axis=1) - np.nanmin(gaps, axis=1)) < 1e-5


def test_all_is_asked_in_one_round_and_classes_apart_where_bins_are_many():
    oracle = population(some_records())
    learn_naive_bayes(oracle, plan_of(400))
    assert [each.n_queries for each in oracle.rounds] == [2]
    assert not oracle.adaptive
    assert not asks_classes(BINS)
    many = (binned(Categories(range(50)), 2),)
    assert asks_classes(many)
    records = some_records()
    oracle = population(LabelledRows(records.X[:, 1:], records.y))
    tables = learn_naive_bayes(oracle, plan_of(400, bins=many))
    assert [each.n_queries for each in oracle.rounds] == [2]
    assert np.exp(tables.log_prior) == pytest.approx(np.bincount(records.y) / 400, abs=1e-6)


def test_answers_within_a_tolerance_move_the_tables_little_and_noise_hides_what_they_say():
    records = some_records()
    exact = learn_naive_bayes(population(records), plan_of(400, smoothing=4.0))
    rng = np.random.default_rng(1)
    wrong = population(records, tolerance=0.001, adversary=lambda m: m + rng.uniform(-1, 1, m.shape))
    near = learn_naive_bayes(wrong, plan_of(400, smoothing=4.0))
    for one, other in zip(exact.log_ratios, near.log_ratios, strict=True):
        assert np.abs(one - other).max() < 0.2
    hidden = learn_naive_bayes(population(records), plan_of(400, deviation=10.0))
    assert max(np.abs(each).max() for each in hidden.log_ratios) < 0.01


def test_a_value_that_was_never_declared_tells_nothing():
    tables = learn_naive_bayes(population(some_records()), plan_of(400))
    joint = tables.log_joint([np.array([2]), np.array([4])])
    assert joint[0] == pytest.approx(tables.log_prior)


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_shares_are_nearest(seed):
    values = np.random.default_rng(seed).normal(0.2, 0.5, 5)
    found = nearest_shares(values)
    best = minimize(
        lambda x: ((x - values) ** 2).sum(),
        np.full(5, 0.2),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
    )
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    assert ((found - values) ** 2).sum() <= best.fun + 1e-6


@pytest.mark.parametrize("n", [1, 100, 20_000])
def test_counts_by_blocks_are_those_of_the_categories(n, monkeypatch):
    monkeypatch.setattr(naive_bayes, "_BLOCK", 97)
    rng = np.random.default_rng(0)
    records = LabelledRows(rng.integers(0, 5, (n, 2)).astype(np.int16), rng.integers(0, 3, n))
    query = naive_bayes._joint(1, 5, 3)
    counts = np.zeros(15, dtype=np.int64)
    np.add.at(counts, query.inputs(records), 1)
    assert query.total(records).tolist() == counts.tolist()


RARE = np.r_[np.repeat([0], 1900), np.repeat([1], 100)]


def rare_table(seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(4 + 2 * RARE, 1.5), 0, 9.9)[:, None], RARE


def test_priors_replace_the_shares_of_the_classes_and_nothing_else():
    X, y = rare_table()
    kinds = {"epsilon": 5, "domain": Grid(0, 10), "classes": [0, 1], "n_bins": 8}
    learned = StatisticalQueryNaiveBayes(**kinds, random_state=0)
    given = clone(learned).set_params(priors=[0.5, 0.5])
    plans = [learner.plan(2000, n_features=1) for learner in (learned, given)]
    assert replace(plans[0], replan=None) == replace(plans[1], replan=None)  # the same queries and noise
    models = []
    for plan in plans:  # the same answers
        oracle = population(LabelledRows(stacked(plan.bins, encoded(X, plan.domain)), y))
        models.append(learn_naive_bayes(oracle, plan))
    assert np.array_equal(models[0].log_ratios[0], models[1].log_ratios[0])
    assert np.exp(models[0].log_prior) == pytest.approx([0.95, 0.05], abs=0.01)
    assert np.exp(models[1].log_prior) == pytest.approx([0.5, 0.5])


def test_equal_priors_find_more_records_of_a_rare_class():
    X, y = rare_table()
    kinds = {"epsilon": 50, "domain": Grid(0, 10), "classes": [0, 1]}
    learned = StatisticalQueryNaiveBayes(**kinds).fit(X, y)
    equal = StatisticalQueryNaiveBayes(**kinds, priors=np.array([0.5, 0.5])).fit(X, y)
    recall = [model.predict(X)[y == 1].mean() for model in (learned, equal)]
    assert recall[0] < 0.3
    assert recall[1] > 0.6
    assert equal.predict_proba(X)[:, 1].mean() > learned.predict_proba(X)[:, 1].mean()


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, pd.Index])
def test_priors_may_be_of_any_kind_of_array(kind):
    X, y = rare_table()
    model = StatisticalQueryNaiveBayes(domain=Grid(0, 10), classes=[0, 1], priors=kind([0.25, 0.75]))
    assert np.exp(model.fit(X, y).log_prior_) == pytest.approx([0.25, 0.75])


def test_a_class_with_a_prior_of_zero_is_never_predicted_and_raises_no_warning():
    X, y = rare_table()
    with np.errstate(all="raise"):
        model = StatisticalQueryNaiveBayes(epsilon=5, domain=Grid(0, 10), classes=[0, 1], priors=[0, 1])
        found = model.fit(X, y).predict_proba(X)
    assert found.tolist() == [[0.0, 1.0]] * len(y)


@pytest.mark.parametrize(
    ("priors", "error", "message"),
    [
        ([0.5, 0.4], ValueError, "priors must have the sum 1, got 0.9"),
        ([1.5, -0.5], ValueError, "priors must be a finite number at least 0 and at most 1, got 1.5"),
        ([0.2, 0.3, 0.5], ValueError, "priors must be one for each of the 2 classes, in sorted order, got 3"),
        ("equal", TypeError, "priors must be None or a sequence of numbers, got 'equal'"),
        (0.5, TypeError, "priors must be None or a sequence of numbers, got 0.5"),
        ([[0.5, 0.5]], TypeError, "priors must be a finite number"),
        (pd.DataFrame([[0.5, 0.5]]), TypeError, "priors must be a finite number"),
        ({0: 0.5, 1: 0.5}, TypeError, "priors must be None or a sequence of numbers"),
        (b"\x00\x01", TypeError, "priors must be None or a sequence of numbers"),
        (["0.5", "0.5"], TypeError, "priors must be None or a sequence of numbers, got a text in it: '0.5'"),
        (pd.Series(["0.5", "0.5"]), TypeError, "got a text in it: '0.5'"),
        ([math.nan, 1], ValueError, "priors must be a finite number"),
    ],
)
def test_bad_priors_are_refused_before_anything_is_charged(priors, error, message):
    ledger = PrivacyLedger(epsilon=2)
    X, y = rare_table()
    model = StatisticalQueryNaiveBayes(delta=0, priors=priors, ledger=ledger)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert ledger.spent().epsilon == 0
