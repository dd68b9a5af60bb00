"""Models of synthetic tables: what they learn, any estimator, gaps, and that no fit fails once it is paid."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from dplearn import SyntheticDataClassifier, SyntheticDataRegressor
from dplearn.domains import Categories, Grid, IntegerRange, Learn, Schema
from dplearn.privacy import PrivacyLedger
from dplearn.releases import SyntheticTable

RNG = np.random.default_rng(0)
N = 6000
X = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "wage": np.where(RNG.random(N) < 0.1, np.nan, RNG.random(N) * 100),
        "town": RNG.choice(["north", "south", "moon"], N, p=[0.6, 0.3, 0.1]),
    }
)
Y = np.where((X["age"] > 65) ^ (X["town"] == "south"), "yes", "no")
SCHEMA = Schema(
    {
        "age": IntegerRange(18, 90),
        "wage": Grid(0, 100, 1001, missing=True),
        "town": Categories(["north", "south"], other=True),
    },
    labels=["no", "yes"],
)


def classifier(estimator=None, **given):
    return SyntheticDataClassifier(estimator, **{"domain": SCHEMA, "random_state": 0} | given)


def one_hot(model):
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["town"]), ("passthrough", ["age"])
        ),
        model,
    )


TREE = one_hot(DecisionTreeClassifier(max_depth=4))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads of boosting wait for each other where other tests run beside this one."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def fitted():
    return classifier(epsilon=3).fit(X, Y)


def test_an_interaction_of_two_columns_is_learned(fitted):
    assert fitted.score(X, Y) > 0.9


def test_any_estimator_is_trained_on_named_columns_and_has_the_methods_that_it_has():
    model = classifier(TREE, epsilon=3).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert model.estimator_[-1].random_state is not None
    assert not hasattr(classifier(TREE), "decision_function")
    search = GridSearchCV(one_hot(LogisticRegression()), {"logisticregression__C": [0.1, 1.0]}, cv=3)
    assert classifier(search).fit(X, Y).estimator_.best_params_


def test_the_synthetic_table_is_released_and_the_name_of_its_target_is_free(fitted):
    rows = fitted.synthetic_.sample(100, random_state=0)
    assert list(rows.columns) == ["age", "wage", "town", "target"]
    assert set(rows["target"]) == {"no", "yes"}
    assert SyntheticTable.from_json(fitted.synthetic_.to_json()).sample(100, random_state=0).equals(rows)
    schema = Schema({"target": IntegerRange(18, 90), "town": SCHEMA.columns["town"]})
    linear = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model = classifier(linear, domain=schema, classes=["no", "yes"])
    model.fit(X.rename(columns={"age": "target"}), Y)
    assert list(model.synthetic_.sample(1).columns) == ["target", "town", "target_"]


def test_rare_labels_have_enough_records_to_be_stratified():
    labels = ["no", "yes", "never"]
    boosting = HistGradientBoostingClassifier(early_stopping=True, max_iter=5)
    model = classifier(one_hot(boosting), classes=labels, epsilon=3)
    assert model.fit(X, Y).predict_proba(X).shape == (N, 3)
    alone = classifier(classes=["no"]).fit(X[:100], ["no"] * 100)
    assert alone.predict(X[:3]).tolist() == ["no"] * 3
    assert alone.predict_proba(X[:3]).tolist() == [[1.0]] * 3


@pytest.mark.parametrize("framed", [True, False])
def test_boosting_takes_categories_of_several_types(framed):
    mixed = pd.DataFrame({"m": [1, "a"] * 500, "b": [True, "yes"] * 500})
    domain = Schema({"m": Categories([1, "a"]), "b": Categories([True, "yes"])})
    X, y = mixed if framed else mixed.to_numpy(), np.arange(1000) % 2
    assert classifier(domain=domain, classes=[0, 1]).fit(X, y).score(X, y) == 1


class FailsLater(LogisticRegression):
    """Is fitted to made-up records, of which there are at most 1,000, and to no others."""

    def fit(self, X, y):
        if len(X) > 1000:
            raise ValueError("too many records")
        return super().fit(X, y)


def test_records_are_kept_where_the_estimator_cannot_be_fitted_to_them():
    ledger = PrivacyLedger(1, 1e-5)
    model = classifier(
        FailsLater(), domain=[IntegerRange(0, 1)], random_state=None, classes=[0, 1], ledger=ledger
    )
    X = np.arange(2000)[:, None] % 2
    with pytest.warns(UserWarning, match="could not be fitted to the synthetic records, which are kept"):
        model.fit(X, X[:, 0])
    assert len(ledger.history()) == 1
    assert model.estimator_ is None
    for ask in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match=r"too many records.* synthetic_\.sample\(m\)"):
            ask(X)
    assert len(model.synthetic_.sample(10)) == 10


def table(n, gaps):
    """Return a table of numbers, complete or with gaps in one column, and labels."""
    rng = np.random.default_rng(n)
    frame = pd.DataFrame(
        {"age": rng.normal(50, 15, n), "weight": rng.normal(75, 12, n), "sex": rng.integers(0, 2, n)}
    )
    label = np.where(frame["age"] + frame["weight"] + rng.normal(0, 15, n) > 125, "ill", "well")
    if gaps:
        frame.loc[rng.random(n) < 0.15, "weight"] = np.nan
    return frame, label


NUMBERS_DECLARED = {
    "age": Grid(0, 100, 101, outside="clip"),
    "weight": Grid(20, 150, 131, outside="clip", missing=True),
    "sex": IntegerRange(0, 1),
}
ESTIMATORS = {
    "default": None,
    "logistic": LogisticRegression(),
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(max_depth=4),
    "neighbours": KNeighborsClassifier(200),
    "imputed": make_pipeline(SimpleImputer(), LogisticRegression()),
    "search": GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
}


@pytest.mark.parametrize("learned", [True, False], ids=["learned", "declared"])
@pytest.mark.parametrize("framed", [True, False], ids=["frame", "array"])
def test_an_estimator_that_takes_no_text_is_refused_before_the_charge(learned, framed):
    frame, label = table(4000, False)
    frame = frame.assign(town=np.array(["north", "south"])[frame["sex"]])
    ledger = PrivacyLedger(3, 1e-5)
    domain = Schema(NUMBERS_DECLARED | {"town": Categories(["north", "south"])})
    if learned:
        domain = Learn({"age": "numbers", "weight": "numbers", "sex": "integers", "town": "categories"})
    given = {"domain": domain, "classes": ["ill", "well"], "ledger": ledger, "epsilon": 3}
    X = frame if framed else frame.to_numpy(dtype=object)
    with pytest.raises(ValueError, match=r"estimator failed on .*could not convert string.*OneHotEncoder"):
        SyntheticDataClassifier(LogisticRegression(), **given).fit(X, label)
    assert ledger.history() == []
    encoded = make_column_transformer((OneHotEncoder(), ["town"] if framed else [3]), remainder="passthrough")
    model = SyntheticDataClassifier(make_pipeline(encoded, DecisionTreeClassifier(max_depth=4)), **given)
    assert model.fit(X, label).score(X, label) > 0.68


REGRESSORS = {
    "ridge": Ridge(),
    "tree of numbers": DecisionTreeRegressor(max_depth=4),
    "boosted numbers": HistGradientBoostingRegressor(max_iter=20),
}
FILLED = ("logistic", "bayes", "neighbours", "search", "ridge")


@pytest.mark.filterwarnings("ignore:estimator accepts no missing values")
@pytest.mark.parametrize("name", [*ESTIMATORS, *REGRESSORS])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize("learned", [True, False], ids=["learned", "declared"])
def test_no_fit_fails_after_the_charge(name, learned, gaps):
    """Synthetic records of a complete table had gaps, to which logistic regression could not be fitted."""
    frame, target = table(4000, gaps)
    domain = "learn" if learned else Schema(NUMBERS_DECLARED)
    if name in REGRESSORS:
        target, least = frame["age"] / 2 + 10 * frame["sex"], 0.4
        model = SyntheticDataRegressor(
            REGRESSORS[name], domain=domain, target_range=(0, 70), clip_target=True
        )
    else:
        model, least = SyntheticDataClassifier(ESTIMATORS[name], domain=domain, classes=["ill", "well"]), 0.68
    model.fit(frame, target)
    assert model.estimator_error_ is None
    assert model.score(frame, target) > least
    assert model.predict(frame.assign(weight=np.nan)[:5]).shape == (5,)  # the domain has gaps
    rows = model.synthetic_.sample(4000)
    assert rows["weight"].isna().any() == gaps
    assert not rows.drop(columns="weight").isna().any(axis=None)
    assert model.fills_gaps_ == (name in FILLED)


@pytest.mark.parametrize("domain", ["learn", Schema(NUMBERS_DECLARED)], ids=["learned", "declared"])
def test_an_interrupt_of_the_training_leaves_the_synthetic_table(domain):
    class Slow(DummyClassifier):
        def fit(self, X, y):
            if len(y) > 2000:
                raise KeyboardInterrupt
            return super().fit(X, y)

    frame, target = table(4000, gaps=False)
    model = SyntheticDataClassifier(Slow(), domain=domain, classes=["ill", "well"])
    with pytest.raises(KeyboardInterrupt, match="which are kept: KeyboardInterrupt; fit another one to"):
        model.fit(frame, target)
    rows = model.synthetic_.sample(100)
    assert set(rows["target"]) <= {"ill", "well"}
    assert model.guarantee_.epsilon == 1


def test_gaps_are_filled_with_the_most_frequent_category_and_the_median_and_warned_of():
    rng = np.random.default_rng(0)
    towns = rng.choice(np.array([None, "north", "south"], dtype=object), N, p=[0.3, 0.63, 0.07])
    frame = pd.DataFrame({"age": np.where(rng.random(N) < 0.3, np.nan, rng.normal(50, 1, N)), "town": towns})
    seen = []

    class Watching(DummyClassifier):
        def fit(self, X, y):
            if X.isna().any(axis=None):
                raise ValueError("a gap")
            seen.append(X)
            return super().fit(X, y)

    schema = {"age": Grid(0, 100, 1001, missing=True), "town": Categories(["south", "north"], other=True)}
    model = SyntheticDataClassifier(Watching(), domain=Schema(schema), classes=[0, 1], epsilon=9)
    text = r"accepts no missing values: those of \['age', 'town'\] in synthetic and new"
    with pytest.warns(UserWarning, match=text):
        model.fit(frame, np.arange(N) % 2)
    rows = seen[-1]
    assert 0.6 < (rows["town"] == "north").mean() < 0.98
    assert 45 < rows["age"].mode()[0] < 55
    assert model.predict(frame.assign(age=np.nan, town=None)).shape == (N,)
