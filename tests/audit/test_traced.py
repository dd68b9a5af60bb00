"""Every learner of several labels is traced, and none that keeps its claim is refuted."""

from dataclasses import replace
from inspect import isclass

import pytest

from dplearn import learners
from dplearn.audit import trace_outputs
from dplearn.audit.traced import CONTROL, TRACED
from dplearn.chance import SeededDice
from dplearn.estimator.base import SeveralOutputsClassifier
from dplearn.privacy import ApproxDP

#: The others are enumerated with every change, and traced at night.
BY_DAY = ("each_output", "each_threshold", "points", "parities")


def test_every_classifier_of_several_labels_is_traced_and_synthetic_records_are():
    several = [
        name
        for name, each in ((name, getattr(learners, name)) for name in learners.__all__)
        if isclass(each) and issubclass(each, SeveralOutputsClassifier)
    ]
    assert len(several) >= 4
    for name in [*several, "SyntheticTable"]:
        assert any(name in learner.what for learner in TRACED.values()), name


@pytest.mark.parametrize("runs", [1, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name not in BY_DAY)) for name in TRACED]
)
def test_learners_are_not_refuted(name, runs):
    """A bound is above the claim with probability 1/20 at most: in 10 of 20 runs once in 100 million."""
    reports = [TRACED[name].trace() for _ in range(runs)]
    assert not any(report.refuted for report in reports)
    assert sum(report.epsilon > 1 for report in reports) < 10
    assert {(report.claim, report.n_guesses) for report in reports} == {(ApproxDP(1, "1e-6"), 50)}


#: These publish what many records share, and no two records have the same labels: they abstain.
ABSTAIN = ("points", "parities")


@pytest.mark.first_by_day
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in TRACED if name not in ABSTAIN])
def test_the_same_learner_with_almost_no_noise_is_bounded_above_the_claim(name):
    """The control of the tests above: the outputs of each learner are what is traced."""
    learner = TRACED[name]
    fit_predict = learner.fit_predict(ApproxDP(10**5, "1e-6"))
    n, k = (5, 60) if name == "synthetic_table" else (15, 400)  # odd: majorities are not drawn
    report = trace_outputs(fit_predict, n, k, code=learner.code, claim=learner.claim, dice=SeededDice(0))
    assert report.n_right == report.n_guesses == n
    assert report.epsilon > (0.15 if n == 5 else 1.5)


@pytest.mark.nightly  # the command runs it with every change
def test_outputs_at_the_whole_price_each_are_refuted_and_a_larger_claim_is_tested_as_it_is():
    report = CONTROL.trace()
    assert report.refuted
    assert report.epsilon > 1.9
    assert replace(TRACED["points"], claim=ApproxDP(2, "1e-6")).trace().claim.epsilon == 2
