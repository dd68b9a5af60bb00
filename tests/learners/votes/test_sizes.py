"""Sizes follow from public values, are valid, and are those that the user sets."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.learners.votes.aggregators import (
    AGGREGATIONS,
    MANY_QUERIES,
    SOFT_AGGREGATIONS,
    _most_abstentions,
    planned_ballot,
    transfer_ballot,
)
from dplearn.privacy import ApproxDP
from dplearn.privacy.stable_answers import stable_answers_noise

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=40)
ONE = ApproxDP(1, "1e-6")
NOISY = [name for name in AGGREGATIONS if not AGGREGATIONS[name].unstable_per_abstention]
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


# Valid sizes


@each_aggregation
@both
@pytest.mark.parametrize("n_labels", [2, 3, 60])
def test_there_are_at_least_one_teacher_and_at_most_as_many_as_records(name, sizes_of, n_labels):
    for n_samples in (1, 2, 10, 19, 3001):
        for epsilon in ("0.1", 1, 100):
            sizes = sizes_of(name, ApproxDP(epsilon, "1e-6"), n_samples, n_labels)
            assert 1 <= sizes.n_teachers <= n_samples
            assert 1 <= sizes.max_queries <= 50
            assert AGGREGATIONS[name](sizes).remaining_queries == sizes.max_queries
            costs = AGGREGATIONS[name].unstable_per_abstention > 0
            assert 1 <= sizes.max_abstentions <= 50 if costs else sizes.max_abstentions is None
            assert (sizes.privacy.epsilon, sizes.n_labels) == (ApproxDP(epsilon).epsilon, n_labels)


@each_aggregation
@both
def test_shards_hold_some_records_of_every_label(name, sizes_of):
    for n_labels in (2, 10, 40):
        sizes = sizes_of(name, n_samples=4000, n_labels=n_labels)
        assert 4000 // sizes.n_teachers >= max(5, n_labels)


# Monotonicity


@each_aggregation
@pytest.mark.parametrize("n_labels", [2, 12])
def test_more_records_never_make_fewer_teachers_that_answer(name, n_labels):
    teachers = [of_answers(name, n_samples=n, n_labels=n_labels).n_teachers for n in range(1, 4000, 301)]
    assert teachers == sorted(teachers)
    assert teachers[-1] > teachers[0]


@pytest.mark.parametrize("name", NOISY)
@pytest.mark.parametrize("n_labels", [2, 12])
def test_half_as_many_records_again_never_make_fewer_teachers_of_a_student(name, n_labels):
    # Shards grow by whole records, where a few records more make fewer teachers.
    numbers = [round(10 * 1.5**i) for i in range(0, 24, 2)]
    sizes = [of_a_student(name, n_samples=n, n_labels=n_labels, n_rows=10**9) for n in numbers]
    for what in ("n_teachers", "max_queries"):
        found = [getattr(each, what) for each in sizes]
        assert found == sorted(found)
        assert found[-1] > 10 * found[0]


@each_aggregation
def test_a_larger_epsilon_never_takes_more_teachers(name):
    epsilons = ("0.1", 1, 30)
    for sizes_of in (of_answers, of_a_student):
        teachers = [sizes_of(name, ApproxDP(epsilon, "1e-6")).n_teachers for epsilon in epsilons]
        assert teachers == sorted(teachers, reverse=True)


@pytest.mark.parametrize("name", NOISY)
def test_a_larger_epsilon_lets_a_student_learn_from_more_rows(name):
    asked = [
        of_a_student(name, ApproxDP(epsilon, "1e-6"), n_samples=10**5, n_rows=10**9).max_queries
        for epsilon in ("0.1", "0.3", 1, 3, 10, 30)
    ]
    assert asked == sorted(set(asked))


def test_a_larger_epsilon_and_more_teachers_allow_more_abstentions():
    by_epsilon = [
        of_answers("sparse_vector", ApproxDP(epsilon, "1e-6"), n_teachers=500, max_queries=20).max_abstentions
        for epsilon in (1, 3)
    ]
    by_teachers = [
        of_answers("sparse_vector", n_teachers=k, max_queries=20).max_abstentions for k in (200, 600)
    ]
    for found in (by_epsilon, by_teachers):
        assert found == sorted(set(found))


@pytest.mark.nightly
@pytest.mark.parametrize("kinds", [AGGREGATIONS, SOFT_AGGREGATIONS], ids=["labels", "scores"])
@pytest.mark.parametrize("n_labels", [2, pytest.param(5, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "sizes", [(100, 5000), pytest.param((20_000, 10**6), marks=pytest.mark.nightly)], ids=str
)
def test_the_number_of_queries_is_the_greatest_whose_least_lead_is_the_planned_one(kinds, n_labels, sizes):
    """The plan is kept: nothing stops before the last query, and teachers can have the least lead."""
    for name, kind in kinds.items():
        for n_samples in sizes:
            how = {"n_samples": n_samples, "n_labels": n_labels}
            found = planned_ballot(kind, ONE, **how)
            if kind.unstable_per_abstention:
                assert found.max_queries == MANY_QUERIES
                continue
            assert kind(found).least_decided == 0
            most = kind.planned_lead * found.n_teachers
            assert found.max_queries == 1 or kind(found).least_lead <= most
            more = kind(replace(found, max_queries=found.max_queries + 1))
            assert found.max_queries == MANY_QUERIES or more.least_lead > most, name


# Sizes set by the user


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


def test_given_abstentions_increase_the_number_of_teachers_while_shards_allow_it():
    few, more, most = (of_answers("sparse_vector", max_abstentions=t).n_teachers for t in (1, 6, 50))
    assert few == 5000 // 20
    assert few < more < most == 5000 // 10
    needed = 3 * stable_answers_noise(ONE, 6, n_queries=50).least_distance(50, 0.05)
    assert more == needed


# The most declined queries


@repeatable
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=12),
    st.integers(1, 60),
)
def test_the_chosen_number_of_abstentions_is_the_greatest_that_the_teachers_allow(steps, n_teachers):
    needs = sorted(steps)
    found = _most_abstentions(lambda unstable: needs[unstable - 1], n_teachers, len(needs))
    affordable = [unstable for unstable, need in enumerate(needs, start=1) if need <= n_teachers]
    if affordable:
        assert found == max(affordable)
    else:
        assert found in (1, len(needs))


@pytest.mark.parametrize(("n_teachers", "found"), [(300, 3), (299, 2), (100, 1), (67, 1), (66, 9), (1, 9)])
def test_where_not_one_is_affordable_it_is_one_if_all_teachers_could_agree_and_else_no_limit(
    n_teachers, found
):
    # With k unanimous teachers k / 2 votes must change: 67 of them equal 100 of which five of six agree.
    assert _most_abstentions(lambda unstable: 100 * unstable, n_teachers, 9) == found


@pytest.mark.first_by_day
@pytest.mark.parametrize("epsilon", [2, 5])
@pytest.mark.parametrize("n_teachers", [120, pytest.param(250, marks=pytest.mark.nightly)])
def test_for_the_noise_that_is_drawn_too_no_larger_number_is_affordable(epsilon, n_teachers):
    privacy = ApproxDP(epsilon, "1e-6")
    found = of_answers("sparse_vector", privacy, n_teachers=n_teachers, max_queries=20).max_abstentions
    affordable = [
        unstable
        for unstable in range(1, 21)
        if 3 * stable_answers_noise(privacy, unstable, n_queries=20).least_distance(20, 0.05) <= n_teachers
    ]
    assert found == max(affordable)
    assert found < 20
