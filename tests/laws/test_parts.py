"""Cutting a table into consecutive parts changes no summary: the parts' summaries are parts of the whole's.

So a table in memory and a table in many partitions can run the same code.
"""

import re
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from dplearn.concepts import ConceptClass, FiniteClass, Parities
from dplearn.domains import DomainError, Grid, Product
from dplearn.fit.execute import begin
from dplearn.fit.relation import PARTS as ASSUMED
from dplearn.kernels.gf2 import BitMatrix
from dplearn.learners import (
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    SecretSampleClassifier,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
)
from dplearn.model_selection.candidates import answers_from_a_budget
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.privacy import Guarantee, PrivacyLedger
from dplearn.releases import median
from dplearn.table.table import InMemory, Table, taken
from tests.changed import with_recipe
from tests.laws.conftest import OF_NUMBERS, TRANSFORMERS

IRIS = load_iris(return_X_y=True)
PARTS = [np.arange(0, 1), np.arange(1, 60), np.arange(60, 100)]
SAMPLED = SecretSampleClassifier(ExponentialMechanismClassifier(), sample_size=20)


def same(first, second):
    """Return whether two private values are equal, whatever they are made of."""
    if type(first) is not type(second):
        return False
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    if issparse(first):
        return (first != second).nnz == 0
    if isinstance(first, pd.DataFrame):
        return first.equals(second)
    if isinstance(first, BitMatrix):
        return bool((first.unpack() == second.unpack()).all())
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if first is None:
        return True
    attributes = [each.name for each in fields(first)] if is_dataclass(first) else list(vars(first))
    return all(same(getattr(first, name), getattr(second, name)) for name in attributes)


def summarised(fit, plan, facts, rows):
    summary = fit.summarized(Table(InMemory(rows), facts=facts), plan)
    summary = summary.blocks.rows if isinstance(summary, Table) else summary
    return getattr(summary, "records", summary)


def assert_parts_are_summarised_alike(model, X, y):
    ready = begin(model._recipe(reproducible=False), X, y)
    fit, plan, facts = ready.recipe, ready.plan, ready.table.facts
    if isinstance(model, SecretSampleClassifier):
        fit, plan = fit.fit, plan.estimator_plan
    whole = summarised(fit, plan, facts, ready.table.blocks.rows)
    for places in PARTS:
        public, rows = fit.read(X[places], y[places])
        assert public.n_samples == len(places)
        assert same(public.classes, facts.classes)
        part = summarised(fit, plan, replace(facts, n_samples=len(places)), rows)
        assert same(part, taken(whole, places))


def reads_parts(model):
    """Return whether a table's public values are not more than its own: no public rows, and no splits."""
    return not hasattr(model, "cv") and not isinstance(model, KnowledgeTransferClassifier)


@pytest.mark.filterwarnings("ignore")
def test_parts_of_a_table_are_summarised_as_parts_of_the_whole(classifier, iris):
    X, y = iris
    if not reads_parts(classifier):
        return
    model = clone(classifier)
    # The law is about summaries; a part of one record has one shard, and not all labels.
    for name, value in {"classes": np.unique(y).tolist(), "n_teachers": 1, "n_parts": 1}.items():
        if name in model.get_params():
            model.set_params(**{name: value})
    assert_parts_are_summarised_alike(model, X, y)


def test_parts_of_a_secret_sample_are_those_of_its_learner():
    model = clone(SAMPLED)
    model.estimator.set_params(classes=[0, 1, 2])
    assert_parts_are_summarised_alike(model, *IRIS)


@pytest.mark.parametrize("transformer", [each for each in TRANSFORMERS if hasattr(each, "plan")], ids=repr)
def test_parts_of_columns_are_summarised_as_parts_of_the_whole(transformer):
    assert_parts_are_summarised_alike(clone(transformer), *IRIS)


def test_a_summary_that_depends_on_the_whole_table_is_caught():
    def centred(own):
        return lambda self, X, y, reader: own(self, X - X.mean(axis=0), y, reader)

    Centred = with_recipe(ExponentialMechanismClassifier, encoded=centred)
    with pytest.raises(AssertionError):
        assert_parts_are_summarised_alike(Centred(classes=[0, 1, 2]), *IRIS)


def in_parts(table):
    """A table in parts, one of one row, and one without rows."""
    return [table[start:stop] for start, stop in pairwise([0, 1, 1, 60, len(table)])]


def published(model):
    """All that a fit sets, as text, but for the guarantee and for addresses in memory."""
    text = repr({name: shown(value) for name, value in sorted(vars(model).items()) if name.endswith("_")})
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def shown(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if hasattr(value, "__dict__") and not isinstance(value, Guarantee):
        return {name: shown(each) for name, each in vars(value).items() if name != "_cache"}
    return "" if isinstance(value, Guarantee) else repr(value)


def with_coarse_domain(classifier):
    """A copy of a classifier; stumps whose domain is not declared have coarse ones, as parts require."""
    model = clone(classifier)
    if isinstance(model, ExponentialMechanismClassifier) and model.domain is None:
        concepts = model.concept_class
        model.set_params(domain=Grid(0, 10, 101) if concepts in OF_NUMBERS else None)
    return model


@pytest.mark.filterwarnings("ignore")
def test_a_fit_on_parts_publishes_what_a_fit_on_the_table_does(classifier, iris):
    X, y = iris
    if not classifier.reads_parts:
        return
    whole, parted = (with_coarse_domain(classifier).set_params(random_state=3) for _ in range(2))
    whole.fit(X, y)
    parted.fit(in_parts(X), in_parts(y))
    assert published(parted) == published(whole)
    assert np.array_equal(parted.predict(X), whole.predict(X))
    assert parted.guarantee_.assumes == (*whole.guarantee_.assumes, ASSUMED)


def test_learners_of_tables_in_memory_refuse_parts_before_the_charge(classifier, iris, budget):
    if classifier.reads_parts:
        return
    ledger = budget(100)
    with pytest.raises(TypeError, match="X must be a table in memory for"):
        clone(classifier).set_params(ledger=ledger).fit(*map(in_parts, iris))
    assert ledger.history() == []


def test_a_value_outside_the_domain_in_any_part_refuses_the_table_before_the_charge(classifier, iris, budget):
    X, y = iris
    domain = getattr(classifier, "domain", None)
    if not classifier.reads_parts or domain is None or domain == "learn":
        return
    ledger, rows = budget(100), in_parts(X)
    rows[-1] = rows[-1].copy()
    rows[-1][7, 1] = np.inf
    model = clone(classifier).set_params(ledger=ledger)
    with pytest.raises(DomainError) as caught:
        model.fit(rows, in_parts(y))
    assert ledger.history() == []
    assert "inf" not in str(caught.value).replace("infinity", "")
    assert not hasattr(model, "guarantee_")


@pytest.mark.parametrize("transformer", [each for each in TRANSFORMERS if hasattr(each, "plan")], ids=repr)
def test_a_transformer_of_parts_learns_what_it_learns_of_the_table(transformer):
    X = np.asarray(np.vstack([IRIS[0] + shift for shift in range(20)]), dtype=float)
    whole, parted = (clone(transformer).set_params(epsilon=5, random_state=3) for _ in range(2))
    whole.fit(X)
    parted.fit(in_parts(X))
    assert published(parted) == published(whole)
    assert same(parted.transform(X), whole.transform(X))
    assert parted.guarantee_.assumes == (*whole.guarantee_.assumes, ASSUMED)


CONCEPTS = (
    *OF_NUMBERS,
    "conjunctions",
    "parities",
    Parities(4, binarize=3, fit_intercept=True),
    FiniteClass([lambda X: X[:, 0] > 5, lambda X: X[:, 2] > 3]),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("concepts", CONCEPTS, ids=range(len(CONCEPTS)))
def test_every_concept_class_counts_the_errors_of_parts(concepts):
    X, y = IRIS
    domain = Grid(0, 10, 101) if concepts in OF_NUMBERS else None
    make = ExponentialMechanismClassifier
    for seed in range(3):
        whole, parted = (make(concepts, domain=domain, epsilon=0.05, random_state=seed) for _ in range(2))
        whole.fit(X, y > 0)
        parted.fit(in_parts(X), in_parts(y > 0))
        assert repr(parted.concept_) == repr(whole.concept_)
        assert np.array_equal(parted.predict(X), whole.predict(X))


def test_stumps_over_all_floats_need_coarser_domains_for_parts():
    ledger = PrivacyLedger(1)
    X, y = IRIS
    model = ExponentialMechanismClassifier(epsilon=1, classes=[0, 1, 2], ledger=ledger)
    with pytest.raises(
        ValueError, match=r"domain must have at most 2\*\*22 pairs .* declare coarser domains"
    ):
        model.fit(in_parts(X), in_parts(y))
    assert ledger.history() == []


def test_a_concept_class_without_sums_refuses_parts_before_the_charge():
    class Own(ConceptClass):
        domain, n_labels, size = Product([Grid(0, 10, 101)] * 4), 2, 1

        def error_profile(self, columns, y):
            raise AssertionError

    ledger = PrivacyLedger(1)
    X, y = IRIS
    with pytest.raises(TypeError, match="X must be a table in memory for Own, got one in parts"):
        ExponentialMechanismClassifier(Own(), classes=[0, 1], ledger=ledger).fit(
            in_parts(X), in_parts((y > 0).astype(int))
        )
    assert ledger.history() == []


def test_teachers_keep_categories_which_parts_must_share():
    towns = pd.DataFrame({"town": ["a", "b"] * 300, "age": range(600)})
    y = np.array([0, 1] * 300)
    parts = [
        towns[:200].astype({"town": "category"}),
        towns[200:].replace("b", "c").astype({"town": "category"}),
    ]
    ledger = PrivacyLedger(1, 1e-5)
    model = SubsampleAggregateClassifier(n_teachers=10, classes=[0, 1], ledger=ledger)
    with pytest.raises(TypeError, match="X must have the same categories in each part"):
        model.fit(parts, [y[:200], y[200:]])
    assert ledger.history() == []


def changing(first, later):
    """Parts that differ from the second pass on, in a function and a counter of its calls."""
    calls = []

    def read():
        calls.append(1)
        return iter(first if len(calls) == 1 else later)

    return read


FRAMED = pd.DataFrame(IRIS[0][:, :2], columns=["a", "b"]).assign(y=IRIS[1])


@pytest.mark.parametrize(
    ("later", "error"),
    [(FRAMED[["b", "a", "y"]], ValueError), (FRAMED.astype({"a": "float32"}), TypeError)],
    ids=["order", "types"],
)
def test_later_passes_refuse_columns_in_another_order_or_of_other_types(later, error):
    model = StatisticalQueryNaiveBayes(domain=Grid(0, 10, 101), classes=[0, 1, 2])
    with pytest.raises(error, match=r"X must have the same (columns|types) in each part"):
        model.fit(changing([FRAMED, FRAMED], [FRAMED, later]), "y")


def test_later_passes_of_a_release_refuse_other_types():
    column = np.arange(1000.0)
    with pytest.raises(TypeError, match="values must have the same types in each part"):
        median(changing([column], [column.astype("float32")]), epsilon=1)


DENSE = [each for each in TRANSFORMERS if hasattr(each, "plan") and getattr(each, "encode", "") != "onehot"]


@pytest.mark.parametrize("transformer", DENSE, ids=repr)
@pytest.mark.parametrize("form", ["list", "pairs", "named"])
def test_a_pipeline_of_parts_publishes_what_one_of_the_table_does(transformer, form):
    X = np.vstack([IRIS[0] + shift for shift in range(20)]).astype(float)
    y = np.tile(IRIS[1], 20)
    learner = StatisticalQueryNaiveBayes(
        epsilon=5, domain=Grid(-100, 100, 2001, "clip"), classes=[0, 1, 2], random_state=1
    )
    make = lambda: make_pipeline(clone(transformer).set_params(epsilon=5, random_state=3), clone(learner))  # noqa: E731
    frame = pd.DataFrame(X, columns=list("abcd"))
    whole = make().fit(frame if form == "named" else X, y)
    cut = {
        "list": (in_parts(X), in_parts(y)),
        "pairs": (list(zip(in_parts(X), in_parts(y), strict=True)), None),
        "named": (in_parts(frame.assign(y=y)), "y"),
    }
    parted = make().fit(*cut[form])
    for mine, other in zip(parted, whole, strict=True):
        assert published(mine) == published(other)
        assert mine.guarantee_.assumes == (*other.guarantee_.assumes, ASSUMED)
    rows = frame if form == "named" else X
    assert np.array_equal(parted.predict(rows), whole.predict(rows))


def test_a_transformer_leaves_out_the_named_column_of_parts():
    frame = pd.DataFrame(np.arange(2000.0).reshape(1000, 2), columns=["a", "b"]).assign(y="no")
    model = PrivateQuantileTransformer(random_state=0).fit([frame[:400], frame[400:]], "y")
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(TypeError, match="the name of a column is for tables in parts"):
        PrivateQuantileTransformer().fit(frame, "y")


def test_transformed_parts_have_the_form_that_set_output_asks_for():
    frame = pd.DataFrame(np.arange(2000.0).reshape(1000, 2), columns=["a", "b"])
    model = PrivateQuantileTransformer(random_state=0).set_output(transform="pandas")
    parts = model.fit_transform([frame[:400], frame[400:]])
    kinds = list(parts.blocks.values(lambda given: (type(given.X).__name__, list(given.X.columns), given.y)))
    assert kinds == [("DataFrame", ["a", "b"], None)] * 2


def test_the_transformation_of_parts_is_that_of_their_fit():
    X = np.arange(1000.0)[:, None]
    model = PrivateQuantileTransformer(random_state=0)
    parts = model.fit_transform(in_parts(X))
    expected = model.transform(X)
    model.fit(X**3)
    assert np.array_equal(np.vstack(list(parts.blocks.values(lambda given: given.X))), expected)


def test_parts_without_labels_are_refused_before_the_charge():
    ledger = PrivacyLedger(1, 1e-5)
    for classes in (None, [0, 1, 2]):
        model = StatisticalQueryNaiveBayes(domain=Grid(0, 10, 101), classes=classes, ledger=ledger)
        with pytest.raises(ValueError, match=r"the target y is None; for a table in parts give the name of"):
            model.fit(in_parts(IRIS[0]), None)
    assert ledger.history() == []


@pytest.mark.filterwarnings("ignore")
def test_partitions_are_predicted_where_they_are(classifier, iris):
    dd = pytest.importorskip("dask.dataframe")
    X, y = iris
    if not classifier.reads_parts or answers_from_a_budget(classifier):
        return
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    model = with_coarse_domain(classifier).set_params(random_state=3).fit(frame, y)
    found = dd.from_pandas(frame, npartitions=3).map_partitions(model.predict, meta=(None, int)).compute()
    assert np.array_equal(np.concatenate([np.ravel(found)]), model.predict(frame))
