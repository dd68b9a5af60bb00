"""A model of numbers refuses columns whose type is one of text, which its domain would read as missing."""

import warnings
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import dplearn
from dplearn.domains import Categories, DomainError, Floats, Grid, IntegerRange, Product, Schema, refuse_text
from dplearn.releases import SyntheticTable, quantiles

N = 60
NUMBERS = pd.DataFrame({"a": np.arange(N) % 10 / 2.0})
TEXTS = NUMBERS.astype(str)
LABELS = np.arange(N) % 2
FORMS = {
    "str": TEXTS.astype("str" if TEXTS["a"].dtype != object else "string"),
    "string": TEXTS.astype("string"),
    "category": TEXTS.astype("category"),
    "Arrow": pa.table({"a": TEXTS["a"].tolist()}).to_pandas(types_mapper=pd.ArrowDtype),
    "Arrow dictionary": pa.table({"a": pa.array(TEXTS["a"].tolist()).dictionary_encode()}).to_pandas(
        types_mapper=pd.ArrowDtype
    ),
    "polars": pl.DataFrame({"a": TEXTS["a"].tolist()}),
    "polars Categorical": pl.DataFrame({"a": TEXTS["a"].tolist()}, schema={"a": pl.Categorical}),
    "bytes": np.array(TEXTS, dtype="S"),
    "array": np.array(TEXTS, dtype="U"),
}
ACCEPTING = [
    Grid(0, 5, 10, "accept", missing=True),
    IntegerRange(0, 5, "accept", missing=True),
    Floats(missing=True, outside="accept"),
    Categories([0, 0.5, 1, None], other=True),
    Categories([False, True, None], other=True),
]
LEARNERS = [
    cls
    for name in dplearn.__all__
    if isinstance(cls := getattr(dplearn, name), type)
    and hasattr(cls, "predict")
    and "domain" in signature(cls).parameters
]


def of_numbers(cls, domain):
    """Return a learner fitted on numbers, or None if it takes no domain of such a kind."""
    given = {"domain": domain, "epsilon": 5.0}
    given |= {"target_range": (0, 1)} if "target_range" in signature(cls).parameters else {}
    given |= {"estimator": DecisionTreeRegressor()} if cls is dplearn.SyntheticDataRegressor else {}
    given |= {"estimator": DecisionTreeClassifier()} if cls is dplearn.SyntheticDataClassifier else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cls(**given).fit(NUMBERS, LABELS)
        except (TypeError, ValueError):
            return None


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("cls", LEARNERS, ids=lambda cls: cls.__name__)
def test_a_learner_of_numbers_refuses_types_of_text_at_predict(cls):
    learns = ["learn"] if getattr(cls, "can_learn_schema", False) else []
    fitted = [model for domain in [*learns, ACCEPTING[0]] if (model := of_numbers(cls, domain)) is not None]
    assert fitted
    assert not learns or isinstance(getattr(fitted[0], "schema_", None), Product | Schema)
    for model in fitted:
        for form in FORMS.values():
            with pytest.raises(
                DomainError, match=r"^in column ('a'|0) of X, values have a type of text, \S+"
            ):
                model.predict(form)
        assert len(model.predict(NUMBERS)) == N


UNDECLARED = [cls for cls in LEARNERS if signature(cls).parameters["domain"].default != "learn"]


@pytest.mark.parametrize("form", [*FORMS, "objects"])
@pytest.mark.parametrize("cls", [*UNDECLARED, dplearn.ParityClassifier], ids=lambda cls: cls.__name__)
def test_a_learner_of_numbers_names_a_remedy_for_text_that_it_takes(cls, form):
    remedy = "take domain='learn', " if cls.can_learn_schema else "give a column of 0 and 1 for a text, "
    with pytest.raises(DomainError, match=remedy):
        cls().fit(FORMS.get(form, TEXTS.to_numpy(dtype=object)), LABELS)
    if not cls.can_learn_schema:
        cls(delta=1e-6).fit((TEXTS == "1.0").astype(int), LABELS)


@pytest.mark.parametrize("form", FORMS)
def test_every_domain_of_numbers_that_accepts_all_cells_refuses_types_of_text(form):
    for given in (each for one in ACCEPTING for each in (one, [one], Product([one]), Schema({"a": one}))):
        with pytest.raises(TypeError, match="those of its domain are numbers: give numbers"):
            refuse_text(FORMS[form], given)
        refuse_text(NUMBERS, given)
        refuse_text(TEXTS.to_numpy(dtype=object).tolist(), given)  # a list has no type
    refuse_text(FORMS[form], Categories(["0.0", 1, None], other=True))


@pytest.mark.parametrize("form", FORMS)
def test_releases_refuse_types_of_text(form):
    column = FORMS[form]
    column = column["a"] if hasattr(column, "columns") else column[:, 0]
    table = pd.DataFrame({"a": column, "b": LABELS}) if isinstance(column, pd.Series) else None
    if table is not None:
        with pytest.raises(TypeError, match="in column 'a' of X, values have a type of text"):
            SyntheticTable(domain=Schema({"a": ACCEPTING[0], "b": IntegerRange(0, 1)})).fit(table)
    with pytest.raises(TypeError, match="values are text"):
        quantiles(column, 0.5, domain=ACCEPTING[0])


@pytest.mark.parametrize("n_rare", [0, 700])
def test_categories_of_numbers_and_texts_are_fitted_however_rare_the_texts_are(n_rare):
    # A learned list of such a column may have numbers alone; a refusal then would depend on cells.
    cells = np.array([1, 2] * 1000, dtype=object)
    cells[:n_rare] = "rare"
    X = pd.DataFrame({"a": pd.Categorical(cells, categories=[1, 2, "rare"]), "b": np.arange(2000) % 7})
    model = dplearn.StatisticalQueryNaiveBayes(epsilon=5, domain="learn").fit(X, np.arange(2000) % 2)
    assert ("rare" in model.schema_.columns["a"].values) == (n_rare > 0)
    assert len(model.predict(X)) == 2000
