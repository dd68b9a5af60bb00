"""A base estimator has seeds of its own and prints nothing; one that would charge a ledger is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dplearn import ExponentialMechanismClassifier, SubsampleAggregateClassifier
from dplearn.estimator import Seeded, quiet
from dplearn.learners.votes import standard_estimator, train_teachers
from dplearn.privacy import PrivacyLedger

LEDGER = PrivacyLedger(1.0, 1e-6)
CHARGED = ExponentialMechanismClassifier(ledger=LEDGER)


class Slotted:
    """Holds a learner in a slot."""

    __slots__ = ("model",)

    def __init__(self, model):
        self.model = model

    def fitted(self, X):
        return self.model.fit(X, X[:, 0]).predict(X)


@pytest.mark.parametrize(
    "estimator",
    [
        CHARGED,
        make_pipeline(CHARGED),
        BaggingClassifier(CHARGED),
        VotingClassifier([("a", LogisticRegression()), ("b", CHARGED)]),
        GridSearchCV(ExponentialMechanismClassifier(), {"ledger": [None, LEDGER]}),
        GridSearchCV(make_pipeline(None), [{"steps": [[("a", CHARGED)]]}]),
        make_pipeline(FunctionTransformer(lambda X: CHARGED.fit(X, X[:, 0]).predict(X)), GaussianNB()),
        make_pipeline(FunctionTransformer(Slotted(CHARGED).fitted), GaussianNB()),
    ],
)
def test_an_estimator_with_a_ledger_is_refused_before_the_first_shard(estimator):
    shards = [np.array([], dtype=int)]
    with pytest.raises(ValueError, match="estimator must have no ledger"):
        train_teachers(estimator, np.zeros((0, 1)), [], shards, seeds=[0])


def test_no_part_of_a_quiet_estimator_is_verbose_or_caches_what_it_makes_of_a_shard():
    scaled = make_pipeline(StandardScaler(), memory="inner")
    bagged = BaggingClassifier(MLPClassifier(verbose=True), verbose=3)
    loud = make_pipeline(scaled, bagged, memory="outer", verbose=True)
    found = {name: value for name, value in quiet(loud).get_params().items() if name in loud.get_params()}
    kept = [value for name, value in found.items() if name.endswith("memory")]
    said = [value for name, value in found.items() if name.endswith("verbose")]
    assert kept == [None, None]
    assert not any(said)
    assert len(said) == 4
    assert type(found["verbose"]) is bool  # a pipeline takes no integer
    assert (loud.verbose, loud.memory) == (True, "outer")
    for verbose in (-1, 0, None, "auto"):
        assert quiet(LogisticRegression(verbose=verbose)).verbose == verbose


def test_every_open_random_state_is_settled_by_the_seed():
    pipeline = make_pipeline(StandardScaler(), BaggingClassifier(DecisionTreeClassifier()))
    first, again, other = (Seeded(pipeline).clone(seed).get_params() for seed in (1, 1, 2))
    names = [name for name in first if name.endswith("random_state")]
    assert names == ["baggingclassifier__estimator__random_state", "baggingclassifier__random_state"]
    assert len({params[name] for params in (first, other) for name in names}) == 4
    assert all(first[name] == again[name] for name in names)
    assert all(value is None for name, value in pipeline.get_params().items() if name in names)


def test_a_splitter_draws_from_no_shared_generator_either():
    search = GridSearchCV(DecisionTreeClassifier(), {}, cv=KFold(2, shuffle=True))
    seeded = Seeded(search).clone(1)
    assert isinstance(seeded.cv.random_state, int)
    assert search.cv.random_state is None
    assert seeded.cv.random_state != Seeded(search).clone(2).cv.random_state


def test_a_fitted_ensemble_is_no_teacher():
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    ensemble = SubsampleAggregateClassifier(GaussianNB(), n_teachers=4, epsilon=100.0, max_queries=5)
    frozen = FrozenEstimator(ensemble.fit(X, y))
    for each in (frozen, make_pipeline(frozen)):
        with pytest.raises(ValueError, match="estimator must hold no fitted ensemble"):
            SubsampleAggregateClassifier(each).fit(X, y)


# Default estimators

# Public. Each column determines the label; only the types of columns differ.
Y = np.arange(60) % 2
NUMBER = np.where(Y == 1, 3.0, -3.0) + np.linspace(-1, 1, 60)
TEXT = np.where(Y == 1, "clerk", "smith")
NOTHING = np.zeros(60)
NO_TEXT = [None, *TEXT[1:].tolist()]


def learned(X, y=Y):
    return standard_estimator(X, C=10).fit(X, y)


def test_arrays_and_sparse_tables_of_every_numeric_type_are_learned():
    X = np.column_stack([NUMBER, NOTHING])
    tables = [X, X.astype(np.float32), (1000 * X).astype(int), X > 0]
    for table in (*tables, csr_matrix(X), csr_array(X), csr_matrix(X > 0)):
        assert learned(table).score(table, Y) == 1


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_gaps_are_filled_and_a_column_that_is_all_gaps_stays_a_column(kind):
    X = np.column_stack([NUMBER, np.full(60, np.nan)])
    X[::7, 0] = np.nan
    model = learned(kind(X))
    assert model.score(kind(X), Y) > 0.8
    assert model[-1].n_features_in_ == 2
    X[:, 1] = 1e6  # which that teacher has never seen
    assert model.score(kind(X), Y) > 0.8


PANDAS = {
    "float": NUMBER,
    "float32": NUMBER.astype(np.float32),
    "bool": Y == 1,
    "boolean": pd.array([None, *(Y[1:] == 1)], dtype="boolean"),
    "Int64": pd.array([None, *Y[1:]], dtype="Int64"),
    "object": TEXT.astype(object),
    "object with gaps": pd.Series(NO_TEXT, dtype=object),
    "string": pd.array(TEXT, dtype="string"),
    "category": pd.Categorical(TEXT),
    "category with gaps": pd.Categorical(NO_TEXT),
    "category of numbers": pd.Categorical(Y * 5),
    "datetime": pd.to_datetime(Y, unit="D"),
}
POLARS = {
    "float": pl.Series(NUMBER),
    "int with gaps": pl.Series([None, *Y[1:].tolist()]),
    "bool": pl.Series(Y == 1),
    "bool with gaps": pl.Series([None, *(Y[1:] == 1).tolist()]),
    "string": pl.Series(TEXT),
    "string with gaps": pl.Series(NO_TEXT),
    "categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "enum": pl.Series(TEXT, dtype=pl.Enum(["clerk", "smith", "farmer"])),
    "date": pl.Series(pd.to_datetime(Y, unit="D").to_numpy()),
}
FRAMES = [(pd.DataFrame, name, column) for name, column in PANDAS.items()]
FRAMES += [(pl.DataFrame, name, column) for name, column in POLARS.items()]


@pytest.mark.parametrize(
    ("frame", "name", "column"), FRAMES, ids=[f"{f.__module__.split('.')[0]} {name}" for f, name, _ in FRAMES]
)
@pytest.mark.parametrize("alone", [True, False])
def test_columns_of_every_kind_are_learned_alone_and_beside_a_number(frame, name, column, alone):
    X = frame({"c": column} if alone else {"n": NOTHING, "c": column})
    assert learned(X).score(X, Y) > 0.95


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_that_were_not_learned_count_as_none(frame):
    X = frame({"c": TEXT, "n": NUMBER})
    model = learned(X)
    unseen = frame({"c": ["farmer"] * 60, "n": NUMBER})
    assert model.score(unseen, Y) == 1  # by the number alone
    encoded = model[0].transform(unseen)
    assert not np.asarray(encoded.toarray() if hasattr(encoded, "toarray") else encoded)[:, :2].any()


NO_NUMBERS = [(pd.DataFrame, np.full(60, np.nan)), (pd.DataFrame, np.array([None] * 60, dtype=object))]
NO_NUMBERS += [
    (pl.DataFrame, pl.Series([None] * 60, dtype=kind))
    for kind in (pl.Float64, pl.Int32, pl.String, pl.Null, pl.Boolean)
]


@pytest.mark.parametrize(("frame", "gaps"), NO_NUMBERS, ids=range(7))
def test_a_column_that_is_all_gaps_does_no_harm(frame, gaps):
    X = frame({"gaps": gaps, "n": NUMBER, "c": TEXT})
    assert learned(X).score(X, Y) == 1


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("kind", [float, int])
def test_numbers_in_a_frame_are_learned_as_numbers_which_no_record_had(frame, kind):
    X, other = (frame({"n": (1000 * numbers).astype(kind)}) for numbers in (NUMBER, NUMBER + 0.5))
    assert learned(X).score(other, Y) == 1


@pytest.mark.parametrize(
    "names", [("c", "n"), (0, 1), (1, 0), (0, 7)], ids=["texts", "places", "swapped", "one is missing"]
)
def test_columns_named_by_numbers_are_taken_by_name_and_not_by_place(names):
    X = pd.DataFrame(dict(zip(names, (TEXT, NOTHING), strict=True)))
    assert learned(X).score(X, Y) == 1


def test_the_same_estimator_is_made_for_all_rows_of_a_kind():
    X = pd.DataFrame({"c": TEXT, "n": NUMBER})
    for other in (X[:0], X[:1], X[::-1], X.assign(n=np.nan, c=None).astype(X.dtypes)):
        assert repr(standard_estimator(other, C=10)) == repr(standard_estimator(X, C=10))
    assert repr(standard_estimator(NUMBER[:, None], C=1)) == repr(standard_estimator(csr_matrix((1, 9)), C=1))
