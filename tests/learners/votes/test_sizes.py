"""Sizes follow from public values, are valid, and are those that the user sets."""

from dataclasses import replace

import pytest

from dplearn.learners.votes import AGGREGATIONS, SOFT_AGGREGATIONS
from dplearn.learners.votes.aggregators import MANY_QUERIES, planned_ballot, transfer_ballot
from dplearn.privacy import ApproxDP
from dplearn.theory import stable_answers_noise

ONE = ApproxDP(1, "1e-6")
each_aggregation = pytest.mark.parametrize("name", AGGREGATIONS)


def of_answers(name, privacy=ONE, n_samples=5000, n_labels=2, max_queries=50, **chosen):
    return planned_ballot(
        AGGREGATIONS[name], privacy, n_samples=n_samples, n_labels=n_labels, max_queries=max_queries, **chosen
    )


def of_a_student(name, privacy=ONE, n_samples=5000, n_labels=2, n_rows=50, **chosen):
    return transfer_ballot(
        AGGREGATIONS[name], privacy, n_samples=n_samples, n_labels=n_labels, n_rows=n_rows, **chosen
    )


both = pytest.mark.parametrize("sizes_of", [of_answers, of_a_student])


@each_aggregation
@both
@pytest.mark.parametrize("n_labels", [2, 3, 60])
def test_there_are_at_least_one_teacher_and_at_most_as_many_as_records_of_all_labels(
    name, sizes_of, n_labels
):
    for n_samples in (1, 2, 10, 19, 3001):
        for epsilon in ("0.1", 1, 100):
            sizes = sizes_of(name, ApproxDP(epsilon, "1e-6"), n_samples, n_labels)
            assert 1 <= sizes.n_teachers <= n_samples
            assert n_samples // sizes.n_teachers >= min(n_samples, max(5, n_labels))
            assert 1 <= sizes.max_queries <= 50
            assert AGGREGATIONS[name](sizes).remaining_queries == sizes.max_queries
            costs = AGGREGATIONS[name].unstable_per_abstention > 0
            assert 1 <= sizes.max_abstentions <= 50 if costs else sizes.max_abstentions is None
            assert (sizes.privacy.epsilon, sizes.n_labels) == (ApproxDP(epsilon).epsilon, n_labels)


@pytest.mark.nightly
@pytest.mark.parametrize("kinds", [AGGREGATIONS, SOFT_AGGREGATIONS], ids=["labels", "scores"])
@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("sizes", [(100, 5000), (20_000, 10**6)], ids=str)
def test_the_number_of_queries_is_the_greatest_whose_least_lead_is_the_planned_one(kinds, n_labels, sizes):
    """The plan is kept: nothing stops before the last query, and teachers can have the least lead."""
    for name, kind in kinds.items():
        for n_samples in sizes:
            found = planned_ballot(kind, ONE, n_samples=n_samples, n_labels=n_labels)
            if kind.unstable_per_abstention:
                assert found.max_queries == MANY_QUERIES
                continue
            assert kind(found).least_decided == 0
            most = kind.planned_lead * found.n_teachers
            assert found.max_queries == 1 or kind(found).least_lead <= most
            more = kind(replace(found, max_queries=found.max_queries + 1))
            assert found.max_queries == MANY_QUERIES or more.least_lead > most, name


def needed(privacy, unstable):
    """How many teachers suffice for so many abstentions, if five of six agree."""
    return 3 * stable_answers_noise(privacy, unstable, n_queries=20).least_distance(20, 0.05)


@both
def test_given_sizes_are_kept(sizes_of):
    for max_abstentions in (1, 49):
        assert sizes_of("sparse_vector", max_abstentions=max_abstentions).max_abstentions == max_abstentions
        both_given = sizes_of("sparse_vector", max_abstentions=max_abstentions, n_teachers=9)
        assert (both_given.n_teachers, both_given.max_abstentions) == (9, max_abstentions)
    for name in AGGREGATIONS:
        assert [sizes_of(name, n_teachers=k, max_queries=9).n_teachers for k in (1, 7)] == [1, 7]
        asked = [sizes_of(name, max_queries=k, max_abstentions=1).max_queries for k in (1, 37, 51)]
        assert asked == [1, 37, 50 if sizes_of is of_a_student else 51]  # of 50 rows


@pytest.mark.parametrize("epsilon", [2, 5])
def test_abstentions_are_the_most_that_teachers_allow(epsilon):
    """Where not one is affordable it is one if all teachers could agree, and else there is no limit.

    With k unanimous teachers k / 2 votes must change: 67 of them equal 100 of which five of six agree.
    """
    privacy = ApproxDP(epsilon, "1e-6")
    one, two = needed(privacy, 1), needed(privacy, 2)
    unanimous = -(-2 * one // 3)
    expected = {1: 20, unanimous - 1: 20, unanimous: 1, one - 1: 1, one: 1, two - 1: 1, two: 2}
    expected[120] = max(most for most in range(1, 21) if needed(privacy, most) <= 120) if one <= 120 else 1
    for n_teachers, most in expected.items():
        found = of_answers("sparse_vector", privacy, n_teachers=n_teachers, max_queries=20)
        assert found.max_abstentions == most, n_teachers
