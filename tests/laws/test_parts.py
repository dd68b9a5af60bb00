"""A table in parts, of rows or of groups of rows, is fitted like the same table in memory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from dplearn import AdditiveRegressor
from dplearn.concepts import ConceptClass, FiniteClass, Parities
from dplearn.domains import DomainError, Grid, Product
from dplearn.fit import PARTS, PARTS_OF_GROUPS
from dplearn.learners import (
    ExponentialMechanismClassifier,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
)
from dplearn.model_selection import private_score
from dplearn.preprocessing import PrivateQuantileTransformer, PrivateStandardScaler
from dplearn.privacy import PrivacyLedger, pipeline_guarantee
from dplearn.releases import median
from tests.audit.changed import with_recipe
from tests.laws.conftest import (
    OF_NUMBERS,
    framed,
    in_parts,
    protects_labels,
    public_rows,
    published,
    with_coarse_domain,
)

IRIS = load_iris(return_X_y=True)
N = 100
IDS = np.random.default_rng(0).permutation(np.concatenate([np.arange(N), np.repeat(np.arange(30), 5)]))
ROWS = np.random.default_rng(1).permutation(len(IDS)) % N  # the row of the table for each place
pytestmark = pytest.mark.filterwarnings("ignore")


def assert_parts_publish_what_the_table_does(model, X, y):
    more = public_rows(model, X)
    whole, parted = (clone(model).set_params(random_state=3) for _ in range(2))
    whole.fit(X, y, **more)
    parted.fit(in_parts(X), in_parts(y), **more)
    assert published(parted) == published(whole)
    assert np.array_equal(parted.predict(X), whole.predict(X))
    assert parted.guarantee_.assumes == (*whole.guarantee_.assumes, PARTS)


def test_a_fit_on_parts_publishes_what_a_fit_on_the_table_does(one_a_class, classifier, iris):
    if classifier.reads_parts:
        assert_parts_publish_what_the_table_does(with_coarse_domain(classifier), *iris)


@pytest.mark.parametrize(
    "ends", [[0, 1, 1, 90, len(IDS)], pytest.param([0, 200, len(IDS)], marks=pytest.mark.nightly)]
)
def test_a_fit_of_groups_in_parts_publishes_what_a_fit_of_the_table_does(one_a_class, classifier, iris, ends):
    X, y = iris[0][ROWS], iris[1][ROWS]
    if not classifier.reads_parts or protects_labels(classifier):
        return
    more, rows, ids = public_rows(classifier, iris[0]), framed(X), [f"p{each}" for each in IDS]
    parts = rows.assign(person=ids, y=y)
    whole, parted = (with_coarse_domain(classifier).set_params(random_state=3) for _ in range(2))
    whole.fit(rows, y, groups=ids, **more)
    parted.fit([parts[start:stop] for start, stop in pairwise(ends)], "y", groups="person", **more)
    assert published(parted) == published(whole)
    assert np.array_equal(parted.predict(rows), whole.predict(rows))
    assert parted.guarantee_.assumes == (*whole.guarantee_.assumes, PARTS_OF_GROUPS)
    assert PARTS not in parted.guarantee_.assumes
    assert parted.guarantee_.protects == "groups"


@pytest.mark.parametrize("groups", [False, True])
def test_a_transformer_of_parts_learns_what_it_learns_of_the_table(one_a_class, any_transformer, groups):
    if not hasattr(any_transformer, "plan"):
        return
    rows = framed(np.vstack([IRIS[0] + shift for shift in range(6)]))
    ids = np.random.default_rng(3).integers(0, 300, len(rows))
    whole, parted = (clone(any_transformer).set_params(epsilon=5, random_state=3) for _ in range(2))
    whole.fit(rows, **{"groups": ids} if groups else {})
    if groups:
        parted.fit(in_parts(rows.assign(person=ids)), groups="person")
    else:
        parted.fit(in_parts(rows))
    assert published(parted) == published(whole)
    assert repr(parted.transform(rows)) == repr(whole.transform(rows))
    said = PARTS_OF_GROUPS if groups else PARTS
    assert parted.guarantee_.assumes == (*whole.guarantee_.assumes, said)


def test_a_recipe_that_reads_a_part_by_its_other_rows_is_caught():
    def centred(own):
        return lambda self, X, y, reader: own(self, (X - X.mean(axis=0)).clip(0, 10), y, reader)

    Centred = with_recipe(ExponentialMechanismClassifier, encoded=centred)
    with pytest.raises(AssertionError):
        assert_parts_publish_what_the_table_does(Centred(domain=Grid(0, 10, 101), epsilon=1e3), *IRIS)


CONCEPTS = (
    *OF_NUMBERS,
    "conjunctions",
    "parities",
    Parities(4, binarize=3, fit_intercept=True),
    FiniteClass([lambda X: X[:, 0] > 5, lambda X: X[:, 2] > 3]),
)


@pytest.mark.parametrize("concepts", CONCEPTS, ids=range(len(CONCEPTS)))
def test_every_concept_class_counts_the_errors_of_parts(concepts):
    domain = Grid(0, 10, 101) if concepts in OF_NUMBERS else None
    model = ExponentialMechanismClassifier(concepts, domain=domain, epsilon=0.05)
    assert_parts_publish_what_the_table_does(model, IRIS[0], IRIS[1] > 0)


def test_a_value_outside_the_domain_in_any_part_refuses_the_table_before_the_charge(
    one_a_class, classifier, iris, budget
):
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


class Own(ConceptClass):
    """Concepts that count no errors of parts."""

    domain, n_labels, size = Product([Grid(0, 10, 101)] * 4), 2, 1

    def error_profile(self, columns, y):
        raise AssertionError


def changing(first, later):
    """Parts that differ from the second pass on, in a function and a counter of its calls."""
    calls = []

    def read():
        calls.append(1)
        return iter(first if len(calls) == 1 else later)

    return read


FRAME = framed(IRIS[0][:, :2], person=["a", "b", "c"] * 50, y=IRIS[1] > 0)
HALVES = [FRAME[:80], FRAME[80:]]
PLAIN = FRAME.drop(columns="person")
TOWNS, OTHER_TOWNS = (
    pd.DataFrame({"town": each * 75}, dtype="category") for each in (["a", "b"], ["a", "c"])
)
NAIVE = StatisticalQueryNaiveBayes(delta=0, domain=Grid(0, 10, 101), classes=[0, 1])
LEARNING = clone(NAIVE).set_params(domain="learn")
STUMPS, OWN = (ExponentialMechanismClassifier(each, classes=[0, 1]) for each in ("stumps", Own()))
TEACHERS = SubsampleAggregateClassifier(n_teachers=10, aggregation="lnmax", delta=0, classes=[0, 1])
CUT = in_parts(IRIS[0]), in_parts(IRIS[1] > 0)
#: From a learner, a table and its labels, and groups, to the error; `snapshot.json` has others.
REFUSED = {
    "concepts in memory": (OWN, CUT, (TypeError, "X must be a table in memory for Own, got one in parts")),
    "stumps over all floats": (
        STUMPS,
        CUT,
        (ValueError, r"domain must have at most 2\*\*22 pairs .*'learn' with enough records"),
    ),
    "other categories": (
        TEACHERS,
        ([TOWNS, OTHER_TOWNS], [IRIS[1] > 0] * 2),
        (TypeError, "X must have the same categories in each part"),
    ),
    "later another order": (
        NAIVE,
        (changing([PLAIN] * 2, [PLAIN, PLAIN.iloc[:, ::-1]]), "y"),
        (ValueError, "X must have the same columns in each part"),
    ),
    "later other types": (
        NAIVE,
        (changing([PLAIN] * 2, [PLAIN, PLAIN.astype({"c0": "float32"})]), "y"),
        (TypeError, "X must have the same types in each part"),
    ),
    **{
        name: (
            model,
            (changing(HALVES, [FRAME[:10], FRAME[10:]]), "y", "person"),
            (RuntimeError, "X must have the same parts each time it is read"),
        )
        for name, model in (("other parts", NAIVE), ("other parts, learned", LEARNING))
    },
}
CHARGED = ("later",)  # types and orders of later passes


@pytest.mark.parametrize("name", REFUSED)
def test_bad_parts_are_refused_before_the_charge(name):
    model, (X, y, *groups), (error, match) = REFUSED[name]
    ledger = PrivacyLedger(5, protects="groups" if groups else "examples")
    model = clone(model).set_params(ledger=ledger)
    with pytest.raises(error, match=match):
        model.fit(X, y, **{"groups": groups[0]} if groups else {})
    assert name.startswith(CHARGED) or ledger.history() == []
    assert not hasattr(model, "guarantee_")


def test_later_passes_of_a_release_refuse_other_types():
    column = np.arange(1000.0)
    with pytest.raises(TypeError, match="values must have the same types in each part"):
        median(changing([column], [column.astype("float32")]), epsilon=1)


@pytest.mark.parametrize("form", ["list", "pairs", "named"])
def test_a_pipeline_of_parts_publishes_what_one_of_the_table_does(one_a_class, any_transformer, form):
    if not hasattr(any_transformer, "plan") or getattr(any_transformer, "encode", "") == "onehot":
        return
    X = np.vstack([IRIS[0] + shift for shift in range(6)]).astype(float)
    y = np.tile(IRIS[1], 6)
    learner = StatisticalQueryNaiveBayes(
        epsilon=5, domain=Grid(-100, 100, 2001, "clip"), classes=[0, 1, 2], random_state=1
    )
    first = clone(any_transformer).set_params(epsilon=5, random_state=3)
    rows = framed(X) if form == "named" else X
    whole, parted = (make_pipeline(clone(first), clone(learner)) for _ in range(2))
    whole.fit(rows, y)
    if form == "named":
        parted.fit(in_parts(rows.assign(y=y)), "y")
    elif form == "pairs":
        parted.fit(list(zip(in_parts(X), in_parts(y), strict=True)), None)
    else:
        parted.fit(in_parts(X), in_parts(y))
    for mine, other in zip(parted, whole, strict=True):
        assert published(mine) == published(other)
        assert mine.guarantee_.assumes == (*other.guarantee_.assumes, PARTS)
    assert np.array_equal(parted.predict(rows), whole.predict(rows))


def test_a_pipeline_passes_the_column_of_groups_to_all_of_its_steps():
    rows, ids = framed(np.random.default_rng(0).random((900, 3))), np.arange(900) % 300
    y = (rows["c0"] > 0.5).astype(int)
    given = {"epsilon": 5, "domain": Grid(-9, 9, 181, "clip"), "random_state": 3}
    model = make_pipeline(
        PrivateStandardScaler(**given),
        PrivateQuantileTransformer(**given),
        StatisticalQueryNaiveBayes(**given, classes=[0, 1]),
    )
    with config_context(enable_metadata_routing=True):
        whole = clone(model).fit(rows, y, groups=ids)
        parted = clone(model).fit(in_parts(rows.assign(y=y, person=ids)), "y", groups="person")
    assert [published(step) for step in parted] == [published(step) for step in whole]
    assert pipeline_guarantee(parted).protects == "groups"
    assert pipeline_guarantee(parted).epsilon == 15
    whole.fit(rows, y, statisticalquerynaivebayes__groups=ids)  # a step without groups protects rows
    assert pipeline_guarantee(whole).protects == "examples"


def test_transformed_parts_have_the_form_that_set_output_asks_for_and_are_of_their_fit():
    frame = framed(np.arange(2000.0).reshape(1000, 2))
    model = PrivateQuantileTransformer(random_state=0).set_output(transform="pandas")
    parts = model.fit_transform([frame[:400], frame[400:]])
    expected = model.transform(frame)
    model.fit(frame**3)
    found = list(parts.blocks.values(lambda given: given.X))
    assert [list(each.columns) for each in found] == [["c0", "c1"]] * 2
    assert np.array_equal(pd.concat(found), expected)
    named = [part.assign(y="no") for part in (frame[:400], frame[400:])]
    assert model.fit(named, "y").feature_names_in_.tolist() == ["c0", "c1"]  # not the labels


def test_frames_of_dask_are_fitted_and_predicted_where_they_are():
    dd = pytest.importorskip("dask.dataframe")
    rows, ids = framed(np.random.default_rng(0).random((300, 2))), np.arange(300) % 70
    y = rows["c0"].to_numpy()
    model = AdditiveRegressor(domain=Grid(0, 1, 65), target_range=(0, 1), random_state=0)
    whole = clone(model).fit(rows, y, groups=ids)
    frame = dd.from_pandas(rows.assign(y=y, person=ids), npartitions=3)
    assert published(clone(model).fit(frame, "y", groups="person")) == published(whole)
    parts = dd.from_pandas(rows, npartitions=3)
    found = parts.map_partitions(whole.predict, meta=(None, float)).compute()
    assert np.array_equal(np.ravel(found), whole.predict(rows))


def test_every_learner_can_be_fitted_without_y_and_refuses_a_table_that_has_none(
    classifier, iris, one_a_class
):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        clone(classifier).fit(iris[0], **public_rows(classifier, iris[0]))


def test_parts_that_are_pairs_need_no_y():
    X, y = IRIS
    model = StatisticalQueryNaiveBayes(domain=Grid(0, 10, 101)).fit(lambda: [(X, y), (X, y)])
    assert private_score(model, lambda: [(X, y)]).interval[1] > 0
