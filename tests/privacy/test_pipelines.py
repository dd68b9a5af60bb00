"""A pipeline guarantees the sum of its steps, or nothing, and says because of which."""

import copy
import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.image import PatchExtractor
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from dplearn import (
    ExponentialMechanismClassifier,
    PrivateLabelsClassifier,
    StatisticalQueryLogisticRegression,
)
from dplearn.domains import Grid
from dplearn.preprocessing import CellEncoder, PrivateRobustScaler
from dplearn.privacy import ApproxDP, ZeroConcentratedDP, fitted_together, pipeline_guarantee

# Iris is too small for scalers of four columns.

ALONE = "each step transforms each record into one record, independently of the other records"
ONCE = "the pipeline was fitted once: each further fit, such as those of a search, costs as much again"
X, y = load_iris(return_X_y=True)


def learner():
    return ExponentialMechanismClassifier(epsilon=0.5, classes=[0, 1, 2])


class Step:
    def __init__(self, guarantee):
        self.guarantee_ = guarantee


class Steps:
    def __init__(self, *guarantees):
        self.steps = [(f"s{i}", Step(guarantee)) for i, guarantee in enumerate(guarantees)]


def refused(pipeline, words, **more):
    """Return why nothing is guaranteed, which has some words in it."""
    with pytest.raises((TypeError, ValueError), match=words) as refusal:
        pipeline_guarantee(pipeline, **more)
    return str(refusal.value)


def test_a_fitted_pipeline_guarantees_the_sum():
    pipeline = make_pipeline(Normalizer(), "passthrough", PrivateRobustScaler(epsilon=1), learner())
    total = pipeline_guarantee(pipeline.fit(X, y))
    assert (total.epsilon, total.delta, total.reproducible) == (Fraction(3, 2), 0, False)
    assert "labels are among the declared classes" in total.assumes


def test_each_step_that_learned_without_a_guarantee_is_named():
    pipeline = make_pipeline(StandardScaler(), StandardScaler(), PrivateRobustScaler(), learner()).fit(X, y)
    said = refused(pipeline, "nothing is guaranteed")
    assert said.split(": ")[1] == (
        "'standardscaler-1' (StandardScaler) and 'standardscaler-2' (StandardScaler) are fitted on the data"
        " without a guarantee, or not fitted; only if you know that they learn nothing from the data, pass"
        " stateless=['standardscaler-1', 'standardscaler-2']"
    )


def test_what_predicts_can_not_be_said_to_learn_nothing():
    scaler = PrivateRobustScaler(epsilon=1, domain=Grid(0, 10)).fit(X)
    for last in (LogisticRegression(), KMeans(2), DBSCAN(), LocalOutlierFactor(), KernelDensity()):
        pipeline = make_pipeline(scaler, last)
        name = pipeline.steps[-1][0]
        said = refused(pipeline, f"for '{name}', take a learner of dplearn in its place")
        assert "stateless" not in said
        refused(pipeline, f"learn nothing from the data, got '{name}', which predicts", stateless=[name])
        assert pipeline_guarantee(pipeline[:-1]).epsilon == 1


def test_what_a_search_keeps_is_told_to_be_one_fit():
    pipeline = make_pipeline(PrivateRobustScaler(epsilon=1), learner())
    search = GridSearchCV(pipeline, {"privaterobustscaler__with_centering": [True]}, cv=2).fit(X, y)
    refused(search, r"got GridSearchCV: the pipeline that a search keeps is its best_")
    total = pipeline_guarantee(search.best_estimator_)
    assert total.epsilon == Fraction(3, 2)
    assert total.assumes[-1] == ONCE


def test_private_steps_that_are_not_fitted_are_to_be_fitted_first():
    pipeline = make_pipeline(StandardScaler(), PrivateRobustScaler(), learner())
    waiting = "'privaterobustscaler', 'exponentialmechanismclassifier' must be fitted first"
    refused(pipeline, f"guaranteed of the pipeline yet: {waiting}")
    refused(pipeline, waiting, stateless=["exponentialmechanismclassifier"])


def test_what_the_caller_says_of_a_step_is_assumed():
    pipeline = make_pipeline(PolynomialFeatures(), Normalizer()).fit([[1, 2], [3, 4]])
    refused(pipeline, "polynomialfeatures")
    total = pipeline_guarantee(pipeline, stateless=["polynomialfeatures"])
    assumed = ("step 'polynomialfeatures' learns nothing from the data", ALONE, ONCE)
    assert total == ApproxDP(0, assumes=assumed)
    assert pipeline_guarantee(pipeline, stateless="polynomialfeatures") == total


def test_a_cell_encoder_is_known_to_learn_nothing_but_its_subclasses_are_not():
    rows = [["1", "a"], ["3", "b"]]
    encoder = CellEncoder().fit(rows)
    private = ExponentialMechanismClassifier(domain=encoder.domain(), classes=[0, 1])
    total = pipeline_guarantee(make_pipeline(encoder, private).fit(rows, [0, 1]))
    assert (total.epsilon, total.assumes[-2:]) == (1, (ALONE, ONCE))
    assert not any("learns nothing" in entry for entry in total.assumes)
    columns = ColumnTransformer([("cells", CellEncoder(), [0, 1])]).fit(rows)
    assert pipeline_guarantee(columns).epsilon == 0

    class Listing(CellEncoder):
        """An encoder that might remember what it saw."""

    refused(
        make_pipeline(Listing()).fit(rows),
        "'listing' \\(Listing\\) is fitted on the data without a guarantee",
    )


def test_numbers_add_up_in_their_kind_for_neighbours_and_parts_of_all_steps():
    total = pipeline_guarantee(Steps(ZeroConcentratedDP(1), ZeroConcentratedDP("0.5")))
    assert total == ZeroConcentratedDP("1.5", assumes=[ALONE, ONCE])
    added, labels = ApproxDP(1, neighbors="add_remove"), ApproxDP(1, protects="labels")
    total = pipeline_guarantee(Steps(added, labels, ApproxDP(1, reproducible=True)))
    assert total == ApproxDP(4, protects="labels", assumes=[ALONE, ONCE], reproducible=True)
    assert pipeline_guarantee(Steps(added)).neighbors == "add_remove"
    entries = [f"in every column, values are from {low} to 9" for low in (0, -1)]
    assumed = pipeline_guarantee(
        Steps(*(ApproxDP(1, assumes=("are public", each)) for each in entries))
    ).assumes
    assert assumed[:3] == ("are public", entries[0], f"of the input of step 's1': {entries[1]}")
    for wrong, more, message in (
        (Steps(ZeroConcentratedDP(1), ApproxDP(1)), {}, "ApproxDP, ZeroConcentratedDP"),
        (Steps(ApproxDP(1, 0.5), ApproxDP(1, 0.5)), {}, "delta must"),
        (Steps(ApproxDP(1)), {"stateless": ["nobody"]}, "must name steps"),
        (Steps(ApproxDP(1)), {"stateless": ["s0"]}, "without a guarantee"),
        (StandardScaler(), {}, "pipeline must have steps, got StandardScaler"),
        (Step(ApproxDP(1)), {}, "whose guarantee is its attribute guarantee_"),
    ):
        refused(wrong, message, **more)


def test_steps_within_steps_count_and_are_named():
    inner = make_union(PrivateRobustScaler(epsilon=1), PrivateRobustScaler(epsilon=2))
    columns = ColumnTransformer(
        [
            ("scale", PrivateRobustScaler(epsilon=4), [0, 1]),
            ("none", "drop", [2]),
            ("same", "passthrough", [3]),
        ]
    )
    pipeline = make_pipeline(columns, inner, learner()).fit(X, y)
    assert pipeline_guarantee(pipeline).epsilon == Fraction(15, 2)
    spoiled = make_pipeline(make_union(StandardScaler()), learner()).fit(X, y)
    refused(spoiled, r"'featureunion\.standardscaler'")


def columns_scaled(columns, **how):
    return ColumnTransformer([("scale", PrivateRobustScaler(epsilon=1), columns)], **how)


def test_to_need_no_fit_is_not_to_learn_nothing_and_steps_have_names_of_their_own():
    scaler = PrivateRobustScaler(epsilon=1).fit(X)
    for step in (GaussianProcessRegressor(), PatchExtractor(), FunctionTransformer(abs)):
        refused(
            Pipeline([("scale", scaler), ("step", step)]), "nothing is guaranteed of the pipeline: 'step'"
        )
    union = FeatureUnion([("a", make_union(scaler)), ("a.privaterobustscaler", scaler)]).fit(X)
    refused(union, r"names of their own, got two 'a\.privaterobustscaler': rename one")


def test_a_function_of_the_callers_is_assumed_to_treat_records_alone():
    pipeline = make_pipeline(FunctionTransformer(np.abs), PrivateRobustScaler(epsilon=1)).fit(X)
    total = pipeline_guarantee(pipeline, stateless=["functiontransformer"])
    assert total.assumes[-3:] == ("step 'functiontransformer' learns nothing from the data", ALONE, ONCE)
    checked = FunctionTransformer(np.abs, np.abs)
    refused(
        Pipeline([("step", checked)]),
        "'step' must have check_inverse=False: its warning depends",
        stateless=["step"],
    )
    checked.set_params(check_inverse=False)
    assert pipeline_guarantee(Pipeline([("step", checked)]), stateless=["step"]).epsilon == 0


def test_columns_must_not_be_chosen_by_their_values():
    chosen = columns_scaled(lambda table: [j for j in range(4) if table[:, j].max() > 3]).fit(X)
    refused(chosen, "the pipeline must list the columns of 'scale', got a function")
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_type = columns_scaled(make_column_selector(dtype_include=float)).fit(frame)
    assert pipeline_guarantee(by_type).epsilon == 1


def test_how_output_is_stored_must_not_depend_on_values():
    texts = HashingVectorizer(n_features=8)
    parts = [("text", texts, "words"), ("scale", PrivateRobustScaler(epsilon=1), ["a"])]
    frame = pd.DataFrame({"a": X[:, 0], "words": ["one two"] * len(X)})
    refused(
        ColumnTransformer(parts).fit(frame), "the pipeline must have sparse_threshold=0: otherwise the number"
    )
    total = pipeline_guarantee(ColumnTransformer(parts, sparse_threshold=0).fit(frame))
    assert total.epsilon == 1
    passed = columns_scaled([0], remainder="passthrough").fit(X)
    assert "columns that are passed through are dense" in pipeline_guarantee(passed).assumes


def test_a_cache_is_refused(tmp_path):
    pipeline = make_pipeline(PrivateRobustScaler(epsilon=1), learner(), memory=str(tmp_path)).fit(X, y)
    refused(pipeline, "the pipeline must have memory=None: a cache reveals whether the data")
    refused(Pipeline([("within", pipeline)]), "'within' must have memory=None")


def kept_by_a_search(*steps):
    """Return a fitted pipeline, marked as a search marks it, and what was guaranteed of the search."""
    guaranteed = ApproxDP(3, assumes=["all of the search"])
    scaler = PrivateRobustScaler(epsilon=1, domain=Grid(0, 8, 81))
    return fitted_together(make_pipeline(scaler, *steps, learner()).fit(X, y), guaranteed), guaranteed


def twins(kept):
    return kept, copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))


def test_steps_chosen_together_have_the_guarantee_of_the_choice_once():
    knots = np.array([[0.0] * 4, [8.0] * 4])
    kept, guaranteed = kept_by_a_search(
        SplineTransformer(knots=knots), FunctionTransformer(partial(np.round))
    )
    for twin in twins(kept):
        assert pipeline_guarantee(twin) == guaranteed


CHANGES = [
    lambda step: step.set_params(knots="quantile"),
    lambda step: step.knots.__iadd__(1),
    lambda step: setattr(step, "degree", 5),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_step_that_learned_nothing_may_learn_with_other_settings(change):
    kept, _ = kept_by_a_search(SplineTransformer(knots=np.array([[0.0] * 4, [8.0] * 4])))
    for twin in twins(kept):
        change(twin["splinetransformer"])
        refused(twin.fit(X, y), r"'splinetransformer' .* without a guarantee")


def test_a_step_within_a_step_that_changes_changes_it():
    function = make_pipeline(FunctionTransformer(np.round, inv_kw_args={"decimals": [1]}))
    kept, guaranteed = kept_by_a_search(function)
    assert pipeline_guarantee(kept) == guaranteed
    kept["pipeline"][0].inv_kw_args["decimals"].append(2)
    refused(kept, "without a guarantee")


def test_a_private_step_that_is_fitted_again_is_added_even_with_an_equal_guarantee():
    for at in (0, 1):
        kept, guaranteed = kept_by_a_search()
        kept[at].fit(X, y)
        assert pipeline_guarantee(kept).epsilon == guaranteed.epsilon + kept[at].guarantee_.epsilon
    kept, guaranteed = kept_by_a_search()
    kept[0].guarantee_ = pickle.loads(pickle.dumps(guaranteed))
    assert pipeline_guarantee(kept).epsilon == 2 * guaranteed.epsilon


def test_a_step_that_holds_a_private_estimator_is_not_stateless():
    selector = SelectFromModel(StatisticalQueryLogisticRegression(classes=[0, 1, 2]), threshold=-1)
    for step in (selector, FunctionTransformer(partial(unchanged, model=learner().fit(X, y)))):
        pipeline = Pipeline([("a", step), ("b", learner())]).fit(X, y)
        refused(pipeline, "'a', which holds a private estimator", stateless=["a"])


def unchanged(X, model):
    return X


def test_meta_estimators_are_refused_and_the_table_of_them_is_named():
    one = OneVsOneClassifier(learner().set_params(classes=[0, 1]))
    for meta in (one, make_pipeline(one), VotingClassifier([("a", learner())])):
        refused(meta.fit(X, y), r"docs/scikit_learn\.md has a table")


def test_what_learns_from_public_features_needs_no_guarantee_where_labels_alone_are_protected():
    X, y = np.arange(4000.0).reshape(-1, 2), np.arange(2000) > 900
    chain = make_pipeline(StandardScaler(), PrivateLabelsClassifier(epsilon=2)).fit(X, y)
    with pytest.raises(ValueError, match="if you know that 'standardscaler' learns nothing from the labels"):
        pipeline_guarantee(chain)
    whole = pipeline_guarantee(chain, stateless=["standardscaler"])
    assert (whole.epsilon, whole.protects) == (2, "labels")
    assert "step 'standardscaler' learns nothing from the labels" in whole.assumes
    assert "each step transforms each record into one record" in whole.assumes
    assert "if no earlier step learned from its labels" in repr(chain[-1].guarantee_)
    wide = ColumnTransformer([("scaled", StandardScaler(), lambda X: np.flatnonzero(X.std(axis=0) > 1))])
    chosen = make_pipeline(wide, PrivateLabelsClassifier(epsilon=2)).fit(X, y)
    assert pipeline_guarantee(chosen, stateless=["columntransformer.scaled"]).epsilon == 2
    with pytest.raises(ValueError, match="memory=None: a cache"):  # its key is made of labels too
        pipeline_guarantee(chosen.set_params(memory="cache"), stateless=["columntransformer.scaled"])
    for step in (TargetEncoder(), SelectKBest(k=1)):
        learns = make_pipeline(step, PrivateLabelsClassifier(epsilon=2)).fit(X, y)
        name = type(step).__name__.lower()
        with pytest.raises(ValueError, match=f"learn nothing from the labels, got '{name}', which may"):
            pipeline_guarantee(learns, stateless=[name])
