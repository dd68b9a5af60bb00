"""Displays of the agreement of public votes and of abstentions among released answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from dplearn import QueriesExhaustedError, SubsampleAggregateClassifier
from dplearn.display import QueryBudgetDisplay, TeacherAgreementDisplay

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(600, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")


def ensemble(**parameters):
    chosen = {"n_teachers": 20, "epsilon": 1000.0, "classes": ["no", "yes"], "abstain_label": "?"}
    chosen |= {"aggregation": "sparse_vector", "max_queries": 1000}
    model = SubsampleAggregateClassifier(GaussianNB(), random_state=0, **chosen | parameters)
    return model.fit(X, Y)


@given(arrays(np.int64, st.tuples(st.integers(1, 9), st.integers(1, 5)), elements=st.integers(-2, 2)))
def test_a_gap_is_the_votes_for_the_first_label_minus_those_for_the_second(votes):
    for gap, column in zip(TeacherAgreementDisplay(votes).gaps, votes.T, strict=True):
        counts = sorted((np.count_nonzero(column == label) for label in range(-2, 3)), reverse=True)
        assert gap == counts[0] - counts[1]


def test_every_query_is_in_the_histogram_and_the_line_is_at_least_lead(pyplot):
    votes = GENERATOR.integers(0, 3, size=(100, 250))
    axes = pyplot.subplots()[1]
    display = TeacherAgreementDisplay.from_predictions(votes, least_lead=40, ax=axes)
    assert sum(bar.get_height() for bar in display.bars_) == 250
    assert display.ax_ is axes
    assert display.figure_ is axes.figure
    assert axes.lines[0].get_xdata()[0] == 40


@pytest.mark.parametrize(
    "votes", [np.zeros(3), np.zeros((0, 3)), np.zeros((2, 0))], ids=["1d", "no teacher", "none"]
)
def test_votes_of_another_shape_are_refused(votes):
    with pytest.raises(ValueError, match="votes must be of shape"):
        TeacherAgreementDisplay(votes)


def test_abstentions_are_counted_with_any_abstain_label():
    for answers, label in ((["a", "?", "?"], "?"), ([1, -1, -1], -1), ([0.5, np.nan, np.nan], np.nan)):
        assert QueryBudgetDisplay(answers, abstain_label=label).abstentions.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="answers must be of shape"):
        QueryBudgetDisplay([["a"]], abstain_label="?")


def test_querying_an_ensemble_uses_up_its_queries_and_draws_the_released_answers(pyplot):
    model = ensemble(max_queries=50, max_abstentions=7)
    display = QueryBudgetDisplay.from_estimator(model, GENERATOR.normal(size=(50, 2)))
    assert model.remaining_queries_ == 0
    assert display.max_abstentions == 7
    assert display.abstentions[-1] == 7 - model.remaining_abstentions_
    np.testing.assert_array_equal(display.line_.get_ydata(), display.abstentions)
    with pytest.raises(QueriesExhaustedError):
        QueryBudgetDisplay.from_estimator(model, X[:1])


def test_if_an_ensemble_stops_the_answers_until_then_are_drawn(pyplot):
    model = ensemble(max_queries=200, max_abstentions=1)
    model.fit(X, GENERATOR.choice(["no", "yes"], 600))  # random labels, so that teachers disagree
    display = QueryBudgetDisplay.from_estimator(model, X[:200])
    assert display.abstentions.size < 200
    assert display.abstentions[-1] == 1


def test_without_an_abstain_label_no_query_is_made():
    model = ensemble(abstain_label=None, max_queries=9)
    with pytest.raises(ValueError, match="abstain_label of estimator must be set"):
        QueryBudgetDisplay.from_estimator(model, X[:2])
    assert model.remaining_queries_ == 9


@pytest.mark.parametrize(
    ("how", "message"),
    [({"scoring": 1}, "'scoring'"), ({"ax": "axes"}, "ax must be None or matplotlib Axes, got str")],
    ids=["keyword", "axes"],
)
def test_errors_in_drawing_are_raised_before_any_query(pyplot, how, message):
    model = ensemble(max_queries=9)
    with pytest.raises(TypeError, match=message):
        QueryBudgetDisplay.from_estimator(model, X[:2], **how)
    assert model.remaining_queries_ == 9
    assert not pyplot.get_fignums()


def test_an_ensemble_must_be_fitted():
    with pytest.raises(NotFittedError):
        QueryBudgetDisplay.from_estimator(SubsampleAggregateClassifier(GaussianNB(), abstain_label="?"), X)
