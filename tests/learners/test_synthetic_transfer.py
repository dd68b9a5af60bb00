"""Knowledge transfer without public rows: queries of a synthetic table, for a share of one budget."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from dplearn import (
    BudgetExceededError,
    KnowledgeTransferClassifier,
    PrivacyLedger,
    PublicData,
)
from dplearn.chance import PublicStream
from dplearn.domains import Categories, DomainError, Grid, IntegerRange, Schema
from dplearn.ensembles.aggregators import AGGREGATIONS
from dplearn.learners.synthetic_queries import decoded, drawn_queries, made_up_queries, query_layout
from dplearn.privacy import ApproxDP, Composition
from dplearn.privacy.events import ZeroConcentrated
from dplearn.privacy.shares import concentrated_budget, divided
from dplearn.records.rows import Columns, Examples
from dplearn.releases import learned_schema
from dplearn.releases.table_values import TableTypes

pytestmark = pytest.mark.filterwarnings("ignore:lbfgs failed to converge")  # of a student, on released rows

N = 2000
LABELS = ["rare", "retired", "works"]
SCHEMA = Schema(
    {
        "age": IntegerRange(18, 90),
        "town": Categories(["north", "south"], other=True),
        "wage": Grid(0, 1000, 1001, "clip", missing=True),
        "same": IntegerRange(0, 3),
    }
)


def raw_table(n=N, seed=0):
    """Return a table with text, gaps, a constant column and a rare label."""
    rng = np.random.default_rng(seed)
    wage = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 1200, n))
    town = rng.choice(np.array(["north", "south", "elsewhere", None], dtype=object), n)
    X = pd.DataFrame({"age": rng.integers(18, 91, n), "town": town, "wage": wage, "same": 1})
    y = np.where(X.age < 60, "works", "retired").astype(object)
    y[:2] = "rare"
    return X, y


X, Y = raw_table()


FEW = {"n_teachers": 20, "max_queries": 200}


def learner(**parameters):
    usual = {"epsilon": 10.0, "domain": SCHEMA, "classes": LABELS}
    return KnowledgeTransferClassifier(**usual | FEW | parameters)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_a_raw_table_is_learned_without_public_rows(aggregation):
    ledger = PrivacyLedger(100, delta=1e-6)
    with np.errstate(all="raise"):
        model = learner(aggregation=aggregation, epsilon=100.0, ledger=ledger).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert len(ledger.history()) == 1
    assert (model.guarantee_.epsilon, model.guarantee_.delta) == (100, Fraction(1, 10**6))
    assert 0 < model.n_answered_ <= model.n_asked_
    kept = pickle.loads(pickle.dumps(model))
    assert (kept.predict(X) == model.predict(X)).all()
    assert model.predict_proba(X[:3]).shape == (3, 3)
    assert set(model.synthetic_.network_) == {*SCHEMA.names, "target"}
    with pytest.raises(BudgetExceededError):
        model.fit(X, Y)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_prices_of_table_and_votes_compose_to_the_guarantee(aggregation, share):
    plan = learner(aggregation=aggregation, epsilon=1.0, synthetic_share=share).plan(N)
    table, votes, whole = plan.table.guarantee, plan.votes, plan.guarantee
    assert plan.ballot.privacy == votes
    assert plan.table.budget == learner_budget(table, plan)
    if AGGREGATIONS[aggregation].concentrated:
        rhos = [concentrated_budget(each) for each in (table, votes)]
        composed = Composition([ZeroConcentrated(rho) for rho in rhos]).total(delta=whole.delta).epsilon
        assert 0.9999 * whole.epsilon < composed <= whole.epsilon
        assert float(rhos[0] / sum(rhos)) == pytest.approx(share, rel=1e-4)
        assert table.epsilon + votes.epsilon > 1.1  # basic composition would cost more
    else:
        assert (table.epsilon + votes.epsilon, table.delta + votes.delta) == (whole.epsilon, whole.delta)
        assert float(table.epsilon) == pytest.approx(share)


def learner_budget(table, plan):
    from dplearn.releases.table_plan import TableBudget

    layout = plan.table.layout
    return TableBudget.of(table, len(layout.base), layout.rounds)


def test_the_plan_says_both_prices_and_is_that_of_the_fit():
    plan = learner().plan(N)
    text = str(plan)
    assert "votes " in text
    assert "table.guarantee" in text
    model = learner().fit(X, Y)
    assert (model.n_teachers_, model.n_asked_) == (plan.n_teachers, plan.max_queries)
    assert model.guarantee_.epsilon == plan.guarantee.epsilon
    assert model.synthetic_.guarantee_.epsilon == plan.table.guarantee.epsilon
    assert not any("X_public" in text for text in model.guarantee_.assumes)
    assert any("'town'" in text for text in model.guarantee_.assumes)


def test_a_budget_without_delta_has_laplace_noise():
    plan = learner(delta=0, aggregation="lnmax").plan(N)
    assert (plan.guarantee.delta, plan.table.noise) == (0, "laplace")
    assert learner(delta=0, aggregation="lnmax", epsilon=100.0).fit(X, Y).score(X, Y) > 0.9


def test_one_domain_of_all_columns_takes_the_number_of_columns():
    model = KnowledgeTransferClassifier(epsilon=20.0, domain=IntegerRange(0, 9), classes=[0, 1])
    with pytest.raises(ValueError, match="n_features must be given"):
        model.plan(500)
    assert model.plan(500, n_features=3).table.rounds == 2
    rows = np.random.default_rng(0).integers(0, 10, (1000, 1))
    assert model.fit(rows, (rows[:, 0] > 4).astype(int)).score(rows, rows[:, 0] > 4) > 0.9


def test_a_released_schema_is_a_domain():
    released = learned_schema(X, epsilon=5.0, delta=1e-6)
    assert learner(domain=released).fit(X, Y).score(X, Y) > 0.9


def test_parts_are_learned_as_the_table_is():
    whole = learner(random_state=0).fit(X, Y)
    parts = learner(random_state=0).fit([X[:700], X[700:]], [Y[:700], Y[700:]])
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))


def test_a_later_fit_on_public_rows_forgets_the_synthetic_table():
    rows = X[["age", "same"]]
    model = learner(domain=[IntegerRange(18, 90), IntegerRange(0, 3)]).fit(rows, Y)
    model.set_params(domain=None).fit(rows, Y, X_public=PublicData(rows[:500]))
    assert not hasattr(model, "synthetic_")
    assert not hasattr(model, "domain_")
    assert model.score(rows, Y) > 0.9


@pytest.mark.parametrize(
    ("changed", "extra", "message"),
    [
        ({}, {"X_public": PublicData(X)}, "X_public must be None where domain is given"),
        ({"protects": "labels"}, {}, "domain must be None where protects='labels'"),
        ({"domain": None}, {}, r"X_public must be PublicData.*domain=Schema"),
        ({"domain": "learn"}, {}, "domain must be a Domain"),
        ({"synthetic_share": 1}, {}, "synthetic_share"),
        ({"synthetic_share": 0}, {}, "synthetic_share"),
        ({"estimator": GaussianNB()}, {}, "estimator must be able to learn"),
        ({"student": GaussianNB()}, {}, "student must be able to learn"),
        ({"domain": IntegerRange(0, 5)}, {}, "outside the declared domain"),
        ({"classes": ["works"]}, {}, "classes"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(changed, extra, message):
    ledger = PrivacyLedger(100, delta=1e-3)
    with pytest.raises((TypeError, ValueError), match=message):
        learner(ledger=ledger, **changed).fit(X, Y, **extra)
    assert ledger.history() == []


def test_new_rows_outside_the_domain_have_the_nearest_value():
    model = learner(student=None, random_state=0).fit(X, Y)
    odd = X[:1].assign(age=300, town="unknown", wage=5000.0)
    near = X[:1].assign(age=90, town=None, wage=1000.0)
    assert np.array_equal(model.predict_proba(odd), model.predict_proba(near))


def test_teachers_and_student_are_given_rows_of_the_same_types():
    seen = []

    class Noting(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(str(X.dtype) if hasattr(X, "dtype") else str(X.dtypes.tolist()))
            return super().fit(X, y, sample_weight=sample_weight)

    rows = X[["age", "same"]].astype({"age": "float32", "same": "int8"})
    learner(
        estimator=Noting(), student=Noting(), domain=[IntegerRange(18, 90), IntegerRange(0, 3)], n_teachers=5
    ).fit(rows, Y)
    assert len(seen) > 5
    assert len(set(seen)) == 1


def test_one_record_is_refused_only_by_the_number_of_teachers():
    with pytest.warns(UserWarning, match="n_teachers is 1"):
        model = learner(n_teachers=1).fit(X[:1], Y[:1])
    assert model.predict(X[:2]).shape == (2,)
    with pytest.raises(ValueError, match="n_teachers must be at most the number of records"):
        learner(n_teachers=2).fit(X[:1], Y[:1])


def test_decoded_records_are_the_table():
    layout = query_layout(SCHEMA, LABELS)
    codes = np.array([LABELS.index(label) for label in Y])
    records = Examples(Columns(SCHEMA.encode(X)), codes)
    rows = decoded(layout.columns[:-1], np.array(LABELS), TableTypes("pandas"), records)
    assert (rows.y == Y).all()
    assert rows.X.columns.tolist() == list(SCHEMA.names)
    assert (rows.X.age == X.age).all()
    assert (rows.X.wage.isna() == X.wage.isna()).all()
    assert (rows.X.wage.dropna() == X.wage.dropna().clip(0, 1000)).all()


def test_made_up_rows_have_every_cell_and_gap():
    layout = query_layout(SCHEMA, LABELS)
    rows = made_up_queries(layout, TableTypes("pandas"), PublicStream(0))
    assert len(rows) == 64
    assert rows.wage.isna().any()
    assert set(rows.town.dropna()) == {"north", "south"}
    assert rows.town.isna().any()
    SCHEMA.encode(rows)


def test_drawn_queries_are_of_the_domain_and_follow_the_seed():
    model = learner(random_state=0).fit(X, Y)
    released = model.synthetic_._released.tables
    layout = model.synthetic_.plan_.layout
    one, other, third = (
        drawn_queries(released, layout, 500, TableTypes("pandas"), PublicStream(seed)) for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(one, other)
    assert not one.equals(third)
    SCHEMA.encode(one)
    with pytest.raises(DomainError):
        SCHEMA.encode(one.assign(age=300))


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("concentrated", [False, True])
@pytest.mark.parametrize("share", [Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)])
def test_divided_budgets_compose_to_the_whole(delta, concentrated, share):
    whole = ApproxDP("0.7", delta)
    first, second = divided(whole, share, concentrated=concentrated)
    if concentrated and delta:
        assert concentrated_budget(first) + concentrated_budget(second) <= concentrated_budget(whole)
        assert first.delta == second.delta == whole.delta
    else:
        assert first.epsilon + second.epsilon == whole.epsilon
        assert first.delta + second.delta == whole.delta


def test_columns_are_found_by_name_and_others_are_left_out():
    other = X[["wage", "same", "town", "age"]].assign(more=0)
    model = learner(epsilon=5.0).fit(other, Y)
    assert model.domain_.names == SCHEMA.names
    assert list(model.synthetic_.sample(1).columns[:-1]) == list(SCHEMA.names)
    assert model.score(other, Y) > 0.8
    assert model.guarantee_.assumes == learner(epsilon=5.0).fit(X, Y).guarantee_.assumes


class Typed(GaussianNB):
    """Vote by the type of the column of texts, which must not depend on other shards."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.label_ = "works" if X["town"].dtype == object else "retired"
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)


@pytest.mark.parametrize("town", [Categories(["north"], other=True), Categories(["north", None])])
def test_the_types_of_a_shard_do_not_depend_on_records_of_others(town, monkeypatch):
    """With a type that pandas infers from all records, one record changes all votes."""
    schema = Schema(dict(zip(SCHEMA.names, SCHEMA.domains, strict=True)) | {"town": town})
    layout = query_layout(schema, LABELS)
    none = X.assign(town=pd.Series([None] * N, dtype=object))
    one = none.copy()
    one.loc[0, "town"] = "north"
    codes = np.zeros(N, dtype=np.int64)
    tables = [
        decoded(layout.columns[:-1], np.array(LABELS), TableTypes("pandas"), Examples(Columns(each), codes)).X
        for each in map(schema.encode, (none, one))
    ]
    assert [tables[0].dtypes.tolist()] == [tables[1].dtypes.tolist()]
    assert tables[0].iloc[1:].equals(tables[1].iloc[1:])
    seen = []
    right = KnowledgeTransferClassifier._votes
    monkeypatch.setattr(
        KnowledgeTransferClassifier, "_votes", lambda *given: seen.append(right(*given)) or seen[-1]
    )
    for each in (none, one):
        learner(estimator=Typed(), domain=schema).fit(each, Y)
    assert np.abs(seen[0].counts - seen[1].counts).max() <= 1


def test_a_budget_that_cannot_be_divided_is_refused():
    with pytest.raises(ValueError, match="delta must be smaller, for a positive epsilon of both"):
        learner(epsilon=0.01, delta=0.01, synthetic_share=0.1).plan(1000)
