"""Deliberate mistakes in counts: naive Bayes, conjunctions, queries, groups, private numbers of records.

What every case that asks an oracle shares is in test_ask_mutants.
"""

import math
import sys
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from dplearn import StatisticalQueryLogisticRegression
from dplearn.audit import replay_privacy
from dplearn.audit.cases import CASES, additive, incremental
from dplearn.estimator import Incremental
from dplearn.fit import execute
from dplearn.kernels import decay_ratio
from dplearn.learners.counts import naive_bayes
from dplearn.learners.votes import recipe
from dplearn.privacy import ApproxDP
from dplearn.queries import CategoryRandomizer, CentralOracle, noise, randomizers
from dplearn.table import InMemory, Table, count_of, grouping_of
from dplearn.table import groups as persons
from tests.laws.conftest import OnePair
from tests.laws.mutants import CERTAIN, around, assert_caught, given, in_places, instead, mistakes, on

# The packages have functions of these names.
grouped, stable_histogram, stable_counts = (
    sys.modules[f"dplearn.{name}"]
    for name in ("releases.grouped", "mechanisms.stable_histogram", "releases.stable_counts")
)


# Counts of labels and values


def negative_records_are_silent(right, self, values, dice):
    """Records of the other label do not report, and the others' shares are as many."""
    abstained = values == self.size - 1
    return np.concatenate((right(self, values[~abstained], dice), np.full(abstained.sum(), self.size - 1)))


def label_told_as_it_is(right, self, *task):
    """A record randomises its value alone: reports are moved to the true label's."""

    class Draws:
        def __init__(self, randomizer):
            self._randomizer = randomizer
            self.estimate, self.bounds = randomizer.estimate, randomizer.bounds

        def draw(self, values, dice):
            return values // 2 * 2 + self._randomizer.draw(values, dice) % 2

    whole = noise.LocalNoise.randomizer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise.LocalNoise, "randomizer", lambda self, *asked: Draws(whole(self, *asked)))
        return right(self, *task)


LABEL, VALUE = (((2, 0),), ((2, 1),)), (((0, 1), (2, 1)), ((0, 1), (0, 1)))
ONE, OTHER = (0, 0), (0, 1)
OF_FIRST, OF_SECOND = ((ONE, ONE), (OTHER, ONE)), ((ONE, ONE), (ONE, OTHER))
COUNTS = [
    *on(
        "local_conjunction",
        (((0, 1), (0, 1)), ((0, 1), (0, 0))),
        around(CategoryRandomizer, "draw", negative_records_are_silent),
    ),
    *on("local_naive_bayes", LABEL, around(noise.LocalNoise, "answer", label_told_as_it_is), way=CERTAIN),
    *on(
        "naive_bayes_of_two_calls",
        OF_FIRST,
        instead(Incremental, "_all_classes", lambda *_: None, "labels_of_each_call"),
        way=CERTAIN,
    ),
]


def test_a_record_costs_the_epsilon_of_its_own_call_and_in_both_calls_their_sum():
    equal, unequal = CASES["naive_bayes_of_two_calls"], CASES["naive_bayes_of_two_epsilons"]
    twice = incremental.incremental_naive_bayes("twice", (1, 1), lambda rows: [rows[:1], rows[:1]])
    for case, pair, epsilon in [
        (equal, OF_FIRST, 1),
        (equal, OF_SECOND, 1),
        (unequal, OF_FIRST, 1),
        (unequal, OF_SECOND, 2),
        (twice, OF_FIRST, 2),
    ]:
        found = OnePair.of(case, pair).run().exp_epsilon
        assert math.log(found) == pytest.approx(epsilon, rel=1e-9)


# Queries


def clamped(counts, *, privacy, dice, sensitivity, low, high):
    """The noise is moved to public ends, and not its sum with the value."""
    ratio = decay_ratio(privacy.epsilon / sensitivity)
    return counts + dice.discrete_laplace(ratio, low, high, size=len(counts))


def picked_by_its_sign(right, rows, picked):
    picked[:] = 1 + np.sign(rows[:, 0])
    return right(rows, picked)


NEAR = ((-1,), (0,))
QUERIES = [
    *on("local_laplace", NEAR, instead(randomizers, "laplace_counts", clamped), way=CERTAIN),
    *on("local_vector", NEAR, around(randomizers, "hadamard_coordinate", picked_by_its_sign), way=CERTAIN),
]


# Groups of rows


def a_group_in_several_shards(grouping, shards):
    places = np.arange(len(grouping.members))
    return [places[each :: len(shards)] for each in range(len(shards))]


def rows_chosen_within_each_part(self, grouping):
    """A group whose rows lie in two parts then takes part with twice as many rows."""

    def times(members, most):
        own, codes = np.unique(members, return_inverse=True)
        found = persons.grouping_of_codes(codes, len(own), most=most, shifts=lambda n: [0] * n)
        return np.bincount(found.slots.ravel(), minlength=len(members))

    parts = np.split(grouping.members, np.cumsum(self.blocks.lengths)[:-1])
    weights = np.concatenate([times(members, grouping.each) for members in parts])
    return replace(self, blocks=replace(self.blocks, weights=weights), grouping=grouping)


def all_values_released(recipe, X, y, groups):
    facts, rows = recipe.read(X, y)
    return facts, Table(InMemory(rows)), facts.n_samples


def values_chosen_by_the_length_of_the_table(groups, n, *, most, shifts):
    """Then another number of values of one group changes the values of others."""
    return grouping_of(groups, n, most=most, shifts=lambda k: [n % 2 * persons.SHIFTS // 2] * k)


def counts_up_to_the_number_of_rows(right, recipe, X, y, groups):
    """Which is private."""
    facts, table, _ = right(recipe, X, y, groups)
    recipe.group_rows = 1
    return facts, table, len(table)


def learned_as_of_one_row(self, epsilon):
    return ApproxDP(epsilon, self.cost.delta)


def a_failure_as_of_one_row(right, self, epsilon):
    return replace(right(self, epsilon), delta=self.cost.delta)


GROUP, ZERO = ((("a", -1.0), ("a", -1.0)),), ((0,),) * 3
SHORT, LONGER = ((2, "b"),), ((0, "b"), (2, "a"), (2, "a"))
FEWER = ((2, 2, 0), (0,))
GROUPS = [
    *on(
        "sums_of_groups_in_parts",
        (((-1,), (-1,)), ((2, 2, 2), (-1,))),
        instead(
            noise.CentralNoise, "l1", lambda self, query: query.l1 * self.each - 1, "noise_for_one_row_less"
        ),
        instead(Table, "grouped", rows_chosen_within_each_part),
    ),
    *on(
        "transfer_of_groups",
        ((SHORT, LONGER, LONGER), (SHORT, SHORT, LONGER)),
        instead(recipe, "rows_of_shards", a_group_in_several_shards),
    ),
    *on("counts_of_groups", (ZERO, (*FEWER, (0,))), instead(execute, "_read_groups", all_values_released)),
    *on(
        "counts_of_groups",  # of the first group only the number of values changes
        (((0,), (0, 2), (0, 2)), ((0, 2), (0, 2), (0, 2))),
        instead(execute, "grouping_of", values_chosen_by_the_length_of_the_table),
    ),
    *on(
        "sums_of_groups_by_category",
        (GROUP, ((("b", 1.0), ("b", 1.0), ("c", 1.0)),)),
        instead(grouped, "moved_counts", lambda _: 1, "noise_of_one_row"),  # of two rows: half of it
    ),
    *on(
        "sums_of_groups_by_category",
        (GROUP, (GROUP[0][:1],)),
        around(execute, "_read_groups", counts_up_to_the_number_of_rows),
    ),
    *on(
        "learned_categories_of_groups",
        (("aa", "a"), ("b", "a")),
        instead(grouped._Grouped, "_learning", learned_as_of_one_row),
    ),
    *on(
        "learned_categories_of_groups",
        (("a", "a"), ("bbc", "a")),
        around(grouped._Grouped, "_learning", a_failure_as_of_one_row),
    ),
]


# A private number of records


def ends_at_the_number_of_records(right, self, records, **how):
    right(self, records, **how | {"most_records": count_of(records)})


def the_number_in_the_repr(right, self, records, **how):
    right(self, records, **how)
    self._size = f"n={count_of(records)}, "


def a_count_for_nothing(monkeypatch):
    """Queries get the whole budget, as if the count had cost nothing."""
    of = noise.CentralNoise.of.__func__

    def bought(cls, kind, privacy, *args, **how):
        return replace(of(cls, kind, privacy, *args, **how), budget=privacy.epsilon)

    monkeypatch.setattr(noise.CentralNoise, "of", classmethod(bought))


def a_count_without_noise(right, oracle, plan):
    """The fit publishes the number of records in place of its estimate."""
    with oracle._account.use() as account:
        n = count_of(account.tables[0])
    return replace(right(oracle, plan), count=n)


def counts_clipped_to_their_sum(right, keys, *, most_records, **how):
    return right(keys, most_records=len(keys), **how)


def a_release_planned_for_its_records(right, *known):
    facts, table = right(*known)
    return replace(facts, n_samples=len(table)), table


def added(name, one, other, *patches):
    return on(name, in_places(name, one, other), *patches)


ONE_MORE, LAST, FEW = ((0, 1), (0,)), ((2, 2), (2,)), ((0, 0, 0, 0), (0, 0, 0))
of_these = around(CentralOracle, "__init__", ends_at_the_number_of_records)
ADDED = [
    *added(
        "added_queries",
        *LAST,
        around(CentralOracle, "__init__", the_number_in_the_repr),
        a_count_for_nothing,
        of_these,
    ),
    *added("added_additive_fit_step", (0, 1), (1,), a_count_for_nothing),
    *added("added_histogram", *ONE_MORE, of_these),
    *added("added_naive_bayes", *ONE_MORE, around(naive_bayes, "learn_naive_bayes", a_count_without_noise)),
    *added(
        "added_stable_counts",
        *FEW,
        instead(stable_histogram, "moved_counts", lambda _: Fraction(1, 2), "half_of_the_noise"),
        around(stable_counts, "stable_histogram", counts_clipped_to_their_sum),
        around(execute, "_read", a_release_planned_for_its_records),
    ),
    *added(
        "added_stable_counts",
        (0, 0, 0, 1),
        (0, 0, 0),
        around(stable_histogram, "stable_histogram_threshold", lambda right, cost: right(cost) - 1, "low"),
    ),
    *added(
        "added_groups",
        *ONE_MORE,
        given("half", noise, "laplace_counts", privacy=lambda old: ApproxDP(2 * old.epsilon)),
    ),
]


@mistakes([*COUNTS, *QUERIES, *GROUPS, *ADDED])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


def replayed_at_the_step(monkeypatch):
    """Replay a fit between the numbers of records 11 and 12, for which its plans differ.

    Both have the same released estimate of that number.
    """
    monkeypatch.setattr(noise.CentralNoise, "with_noisy_count", lambda self, *_: replace(self, n=12))
    model = StatisticalQueryLogisticRegression(epsilon=3, classes=[0, 1], neighbors="add_remove")
    few, more = (model.plan(size, n_features=1).n_steps for size in (11, 12))
    assert few < more
    X, y = (np.arange(12) % 10)[:, None], np.arange(12) % 2

    @additive.with_far_noise  # noise of a later query is a function of earlier answers
    def fit(size, dice):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(model)._fit(X[:size], y[:size], dice)

    return [found for pair in ((12, 11), (11, 12)) for found in replay_privacy(fit, *pair).violations]


def test_a_plan_for_the_true_number_of_records_leaves_the_proof(monkeypatch):
    assert replayed_at_the_step(monkeypatch) == []

    def planned(self):
        with self._account.use() as account:
            return count_of(account.tables[0])

    monkeypatch.setattr(CentralOracle, "count", planned)
    assert "draws against" in replayed_at_the_step(monkeypatch)[0]
