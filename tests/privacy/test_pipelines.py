"""A pipeline promises the sum of its steps, or nothing, and says because of which."""

from fractions import Fraction

import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Normalizer, StandardScaler

from dplearn import ExponentialMechanismClassifier
from dplearn.preprocessing import CellEncoder
from dplearn.preprocessing.robust_scaler import PrivateRobustScaler
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.pipelines import pipeline_guarantee

X, y = load_iris(return_X_y=True)


def learner():
    return ExponentialMechanismClassifier(epsilon=0.5, classes=[0, 1, 2])


class Step:
    def __init__(self, guarantee):
        self.guarantee_ = guarantee


class Steps:
    def __init__(self, *guarantees):
        self.steps = [(f"s{i}", Step(guarantee)) for i, guarantee in enumerate(guarantees)]


def test_a_fitted_pipeline_promises_the_sum():
    pipeline = make_pipeline(Normalizer(), "passthrough", PrivateRobustScaler(epsilon=1), learner())
    total = pipeline_guarantee(pipeline.fit(X, y))
    assert (total.epsilon, total.delta, total.reproducible) == (Fraction(3, 2), 0, False)
    assert "labels are among the declared classes" in total.assumes


def test_each_step_that_learned_without_a_guarantee_is_named():
    pipeline = make_pipeline(StandardScaler(), StandardScaler(), PrivateRobustScaler(), learner()).fit(X, y)
    with pytest.raises(ValueError, match=r"'standardscaler-1' \(StandardScaler\) and 'standardscaler-2'"):
        pipeline_guarantee(pipeline)


def test_a_step_that_is_not_fitted_promises_nothing():
    with pytest.raises(ValueError, match="'privaterobustscaler'"):
        pipeline_guarantee(make_pipeline(PrivateRobustScaler()))


def test_what_the_caller_says_of_a_step_is_assumed():
    pipeline = make_pipeline(CellEncoder(), Normalizer()).fit([["1", "2"], ["3", "4"]])
    with pytest.raises(ValueError, match="cellencoder"):
        pipeline_guarantee(pipeline)
    total = pipeline_guarantee(pipeline, stateless=["cellencoder"])
    assert total == ApproxDP(0, assumes=("step 'cellencoder' learns nothing from the data",))
    assert pipeline_guarantee(pipeline, stateless="cellencoder") == total


@pytest.mark.parametrize(("named", "message"), [("nobody", "must name steps"), ("s0", "without a guarantee")])
def test_only_steps_that_are_there_and_promise_nothing_can_be_stateless(named, message):
    with pytest.raises(ValueError, match=message):
        pipeline_guarantee(Steps(ApproxDP(1)), stateless=[named])


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
    with pytest.raises(ValueError, match=r"'featureunion\.standardscaler'"):
        pipeline_guarantee(spoiled)


def test_numbers_add_up_in_their_kind():
    total = pipeline_guarantee(Steps(ZeroConcentratedDP(1), ZeroConcentratedDP("0.5")))
    assert total == ZeroConcentratedDP("1.5")
    with pytest.raises(TypeError, match="ApproxDP, ZeroConcentratedDP"):
        pipeline_guarantee(Steps(ZeroConcentratedDP(1), ApproxDP(1)))
    with pytest.raises(ValueError, match="delta must"):
        pipeline_guarantee(Steps(ApproxDP(1, 0.5), ApproxDP(1, 0.5)))


def test_all_is_promised_in_terms_that_every_step_keeps():
    total = pipeline_guarantee(
        Steps(
            ApproxDP(1, neighbors="add_remove"),
            ApproxDP(1, protects="labels"),
            ApproxDP(1, reproducible=True),
        )
    )
    assert total == ApproxDP(4, protects="labels", reproducible=True)
    assert pipeline_guarantee(Steps(ApproxDP(1, neighbors="add_remove"))).neighbors == "add_remove"


def test_what_has_no_steps_is_no_pipeline():
    with pytest.raises(TypeError, match="pipeline must have steps, got StandardScaler"):
        pipeline_guarantee(StandardScaler())
