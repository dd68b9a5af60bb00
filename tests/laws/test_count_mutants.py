"""Deliberate mistakes in counts: naive Bayes, conjunctions, queries, groups, private numbers of records.

What every case that asks an oracle shares is in test_ask_mutants.
"""

import math
import warnings

import numpy as np
import pytest

from dplearn import StatisticalQueryLogisticRegression
from dplearn.audit import fitted_with, replay_privacy
from dplearn.audit.cases import CASES, additive, incremental
from tests.laws.conftest import OnePair
from tests.laws.mutants import assert_caught, edit, edits, mistakes

BY_DAY = """
# Records of the other label do not report, and the others' shares are as many.
local_conjunction in queries.randomizers:CategoryRandomizer.draw
    return reports -> return np.where(values == self.size - 1, values, reports)
# A record randomises its value alone.
local_naive_bayes in queries.randomizers:CategoryRandomizer.draw
    return reports -> return values // 2 * 2 + reports % 2
naive_bayes_of_two_calls in estimator.incremental:Incremental._all_classes
    if earlier is -> return None
    | if earlier is
# The noise is moved to public ends, and not its sum with the value.
local_laplace in queries.randomizers:LaplaceRandomizer.draw
    values.clip(self.low, self.high) -> 0 * values
    and return reports -> return values + reports
local_vector in queries.randomizers:VectorRandomizer.draw
    dice.below(self._n_coordinates, size=len(values)) -> 1 + np.sign(values[:, 0])
# A value counts as the nearer end, without a draw.
local_queries in queries.randomizers:BitRandomizer.draw
    dice.below(self.high - self.low, size=len(values)) < values - self.low
    -> 2 * values > self.low + self.high
# The same records answer each query.
local_queries in queries.oracle:LocalOracle._private
    account.asked += count -> account.asked += 0
masked_parity_local in queries.noise:LocalNoise.count
    share * self.n -> self.n
# Sums of later parts are lost.
sums_of_groups_in_parts in table.passes:sum_of_two
    return Result([mine + other -> return Result([mine
sums_of_groups_in_parts in queries.noise:CentralNoise.l1
    query.l1 * self.each -> query.l1 * self.each - 1
# Rows are chosen within each part: a group in two parts takes part with twice as many.
sums_of_groups_in_parts in table.table:Table.grouped
    times = np.bincount(grouping.slots.ravel(), minlength=self.blocks.n_rows)
    -> from dplearn.table.groups import grouping_of_codes as found
    | parts = np.split(grouping.members, np.cumsum(self.blocks.lengths)[:-1])
    | each = [np.unique(part, return_inverse=True) for part in parts]
    | own = [found(codes, len(ids), most=grouping.each, shifts=np.zeros) for ids, codes in each]
    | times = np.concatenate([np.bincount(one.slots.ravel(), minlength=len(one.members)) for one in own])
# A group is in several shards.
transfer_of_groups in table.groups:rows_of_shards
    order = -> return [np.arange(len(grouping.members))[i :: len(shards)] for i in range(len(shards))]
    | order =
counts_of_groups in fit.execute:_read_groups
    # All values are released.
    grouping.once().slots[:, 0] -> np.arange(n)
    and rows)), grouping.n_groups -> rows)), n
    # Another number of values of one group changes the values of others.
    _shifts(recipe) -> lambda k: [n % 2 * SHIFTS // 2] * k
# A group of one row has the row of another.
counts_of_groups in table.groups:grouping_of_codes
    positions += starts[own, None] -> positions += starts[own, None] * (counts[own, None] > 1)
sums_of_groups_by_category in releases.grouped:_Grouped.__init__
    moved_counts(neighbors) * self.group_rows -> self.group_rows
# Counts go up to the number of rows, which is private.
sums_of_groups_by_category in fit.execute:_read_groups
    return facts, Table(InMemory(rows)), grouping.n_groups
    -> recipe.group_rows = 1; return facts, Table(InMemory(rows)), len(places)
learned_categories_of_groups in releases.grouped:_Grouped._learning
    self.group_rows, -> 1,
    delta / 2 * least -> delta
added_queries in queries.oracle:CentralOracle.__init__
    "" if added else f"n={n}, " -> f"n={len(table)}, "
added_queries in queries.noise:CentralNoise.of
    count_budget=count_share / left -> count_budget=9 * count_share / left
# Queries get the whole budget, as if the count had cost nothing.
added_queries, added_additive_fit_step in queries.noise:CentralNoise.of
    budget=budget * left -> budget=budget
added_queries, added_histogram in queries.oracle:CentralOracle.__init__
    most_records=most -> most_records=len(table)
# The number of records is published in place of its estimate.
added_naive_bayes in learners.counts.naive_bayes:learn_naive_bayes
    n = count = max(1, round(float(pooled.sum())))
    -> with oracle._account.use() as account: n = count = len(account.tables[0])
added_stable_counts in mechanisms.stable_histogram:stable_histogram_ratio
    moved_counts(privacy.neighbors) -> Fraction(1, 2)
added_stable_counts in mechanisms.stable_histogram:stable_histogram
    most_records if privacy.neighbors == ADDED else int( -> int(
    threshold(privacy), -> threshold(privacy) - 1,
added_stable_counts in fit.execute:_read
    facts = replace(facts, n_samples=None) if -> facts = facts if
added_groups in queries.noise:LaplaceNoise.noisy
    ApproxDP(self -> ApproxDP(2 * self
"""
BY_NIGHT = """
# Rows are not counted by their weights.
naive_bayes_of_groups in table.table:InMemory._by_weight
    self.weights -> None
# A row of a group with few rows takes part several times.
sums_of_groups_by_category in table.table:Grouping.once
    np.unique(self.slots)[:, None] -> self.slots.reshape(-1, 1)
# All rows of a group are at one place.
sums_of_groups_by_category in table.groups:grouping_of_codes
    SHIFTS * np.arange(most) -> np.arange(most)
added_vector in queries.noise:CentralNoise.l1
    query.added_l1 if -> query.added_l1 // 2 if
added_gaussian in queries.noise:CentralNoise.squared_l2
    query.added_squared_l2 if -> query.added_squared_l2 // 2 if
"""


@mistakes([*edits(BY_DAY), *edits(BY_NIGHT, late=True)])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


def test_a_record_costs_the_epsilon_of_its_own_call_and_in_both_calls_their_sum():
    of_first, of_second = (((0, 0), (0, 0)), ((0, 1), (0, 0))), (((0, 0), (0, 0)), ((0, 0), (0, 1)))
    equal, unequal = CASES["naive_bayes_of_two_calls"], CASES["naive_bayes_of_two_epsilons"]
    twice = incremental.incremental_naive_bayes("twice", (1, 1), lambda rows: [rows[:1], rows[:1]])
    for case, pair, epsilon in [
        (equal, of_first, 1),
        (equal, of_second, 1),
        (unequal, of_first, 1),
        (unequal, of_second, 2),
        (twice, of_first, 2),
    ]:
        found = OnePair.of(case, pair).run().exp_epsilon
        assert math.log(found) == pytest.approx(epsilon, rel=1e-9)


def replayed_at_the_step():
    """Replay a fit between the numbers of records 11 and 12, for which its plans differ.

    Both have the same released estimate of that number.
    """
    model = StatisticalQueryLogisticRegression(epsilon=3, classes=[0, 1], neighbors="add_remove")
    few, more = (model.plan(size, n_features=1).n_steps for size in (11, 12))
    assert few < more
    X, y = (np.arange(12) % 10)[:, None], np.arange(12) % 2

    @additive.with_far_noise  # noise of a later query is a function of earlier answers
    def fit(size, dice):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted_with(model, X[:size], y[:size], dice=dice)

    return [found for pair in ((12, 11), (11, 12)) for found in replay_privacy(fit, *pair).violations]


def test_a_plan_for_the_true_number_of_records_leaves_the_proof(monkeypatch):
    of_the_noise = "n=min(max(round(float(noisy) / 2.0**bits), 1), self.most_records)"
    edit("queries.noise:CentralNoise.with_noisy_count", of_the_noise, "n=12")(monkeypatch)
    assert replayed_at_the_step() == []

    edit("queries.oracle:CentralOracle.count", "account.noise.n", "len(account.tables[0])")(monkeypatch)
    assert "draws against" in replayed_at_the_step()[0]
