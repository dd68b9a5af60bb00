"""Deliberate mistakes in releases: distributions, quantiles, learned schemas, synthetic tables, grouped sums,
small databases, and learners from releases. What all that ask an oracle share is in test_ask_mutants."""

import importlib
import re
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn.audit import enumerate_privacy, exact_distribution
from dplearn.audit.cases import CASES, reductions, small_database
from dplearn.audit.cases import distribution as cdf_cases
from dplearn.audit.cases import quantiles as quantile_cases
from dplearn.audit.cases.quantiles import level_case
from dplearn.audit.cases.synthetic_table import SYNTHETIC_REPLAYS, same_tables
from dplearn.audit.cases.unsupervised import UNSUPERVISED_REPLAYS, coarse, grouped_case
from dplearn.audit.fits import ready
from dplearn.audit.replay import replay_privacy
from dplearn.chance import SeededDice
from dplearn.domains import Categories, Grid, IntegerRange, Learn, Product, Schema
from dplearn.kernels import ranks as ranked
from dplearn.kernels.exact import at_most_exp, decay_ratio
from dplearn.kernels.intervals import children_of, counted, sorted_codes, whole
from dplearn.kernels.ranks import Cell, SortedCodes
from dplearn.mechanisms import rank_selection
from dplearn.mechanisms.noisy_counts import laplace_counts, tree_counts
from dplearn.mechanisms.rank_selection import code_near_rank
from dplearn.mechanisms.sparse_vector import Questions
from dplearn.preprocessing import k_means, pca, quantile_columns, standard_scaler
from dplearn.preprocessing.boxed_columns import Box, grid_rows
from dplearn.privacy import ApproxDP, Composition
from dplearn.privacy.events import BoundedRange, PureDP, ZeroConcentrated
from dplearn.releases import SyntheticTable, schema_fits, table_network
from dplearn.releases.cdf_errors import TreePlan
from dplearn.releases.reductions import learner_from_release
from dplearn.releases.synthetic_table import TableRelease
from dplearn.releases.table_columns import table_columns
from dplearn.releases.table_network import TableBudget, TableNoise, checked_layout
from dplearn.table.table import Columns
from tests.laws.mutants import (
    CERTAIN,
    LAW,
    REPLAY,
    Mistake,
    around,
    assert_caught,
    exponent,
    given,
    in_places,
    instead,
    instead_of_the_fit,
    mistakes,
    original,
)

# Where a package has a function of the module's name.
blocks, noisy_counts, sparse_vector, keys = (
    importlib.import_module(f"dplearn.mechanisms.{name}")
    for name in ("block_points", "noisy_counts", "sparse_vector", "stable_histogram")
)
schemas = importlib.import_module("dplearn.releases.learned_schema")
grouped = sys.modules["dplearn.releases.grouped"]


# Distributions: trees of counts, and points of blocks

FOUR, BLOCKS, FILLED = (
    CASES[f"distribution_{name}"] for name in ("of_four_values", "by_blocks", "by_filled_blocks")
)
PLAN = TreePlan(4, 2, 2, 1, ApproxDP(1), ApproxDP(1))
FAR, THREE, LAST = ((0, 2), (2, 2)), ((0, 1, 2), (0, 1, 1)), ((1, 1, 2), (1, 1, 1))


def one_draw_for_all(right, counts, *, low, high, **options):
    """All counts of a level get the same noise."""
    return np.clip(counts + right(0, low=-2, high=2, **options), low, high)


def the_last_is_not_noisy(right, counts, **options):
    """As if the last count of a level followed from the others."""
    noisy = right(counts, **options)
    noisy[-1] = counts[-1]
    return noisy


def in_steps(codes, size, *, fan_out, threshold, privacy, dice, low, high, by_true_counts=False):
    """The mechanism written anew, with what a mistake may put in."""
    ordered = sorted_codes(codes, size)
    level = whole(size, ordered.size)
    levels, decisive = [level], level.counts
    for _ in range(2):
        places = np.flatnonzero((decisive >= threshold) & (level.lengths > 1))
        if not places.size:
            break
        level = children_of(level, places, fan_out)
        true = counted(level, ordered)
        part = ApproxDP(privacy.epsilon / 2)
        noisy = laplace_counts(true, privacy=part, dice=dice, sensitivity=2, low=low, high=high)
        level = level.with_counts(noisy)
        decisive = true if by_true_counts else noisy
        levels.append(level)
    return levels


def within_the_data(codes, size, **options):
    """The domain ends where the data end."""
    return tree_counts([code - min(codes) for code in codes], max(codes) - min(codes) + 1, **options)


def of_tree(mechanism):
    return partial(cdf_cases.released, mechanism, PLAN, False)


def test_the_mechanism_in_steps_has_the_originals_law_and_the_root_has_no_noise():
    ours, steps = (
        exact_distribution(partial(of_tree(mechanism), (0, 2))) for mechanism in (tree_counts, in_steps)
    )
    assert ours.key() == steps.key()
    report = enumerate_privacy(FOUR.fit, range(4), 1, neighbors="add_remove", ordered=False)
    assert report.exp_epsilon is None


def the_same_noise_on_both_sides(monkeypatch):
    right, drawn = blocks._cuts, []

    def cuts(n, count, spacing, ratio, dice):
        if not drawn:
            drawn.extend(right(3, count, spacing, ratio, dice))
            return list(drawn)
        return [min(n, drawn.pop())]

    monkeypatch.setattr(blocks, "_cuts", cuts)


def cuts_without_noise(right, n, count, spacing, *_):
    return [min(n, spacing)] * count


def blocks_that_share_a_record(right, n, *others):
    """Overlapping shards: each block from above begins within the one from below."""
    return [max(1, cut) for cut in right(n, *others)] if n < 3 else right(n, *others)


def points_at_twice_the_epsilon(right, block, plan, dice):
    return right(block, replace(plan, point=ApproxDP(2 * plan.point.epsilon)), dice)


def points_without_noise(right, block, *_):
    return block[len(block) // 2] if block else 0


def lengths_by_the_data(codes, plan, **options):
    """Blocks are as long as the least value is frequent."""
    frequent = sum(code == min(codes) for code in codes)
    return blocks.block_points(codes, replace(plan, spacing=frequent), **options)


def not_filled(right, block, plan, dice):
    return blocks.interior_point_code(block, plan.size, privacy=plan.sizes.base, dice=dice)


DISTRIBUTIONS = [
    Mistake(patch, FOUR, FAR)
    for patch in (
        # The noise of a level is for one count that moves: the record's old path, and not its new one.
        given("for_one_path", noisy_counts, "laplace_counts", sensitivity=lambda old: old - 1),
        given("for_one_level", noisy_counts, "laplace_counts", privacy=lambda old: ApproxDP(2 * old.epsilon)),
        given(
            "5_percent_too_small",
            noisy_counts,
            "laplace_counts",
            privacy=lambda old: ApproxDP(old.epsilon * 105 / 100),
        ),
        around(noisy_counts, "laplace_counts", one_draw_for_all),
        around(noisy_counts, "laplace_counts", the_last_is_not_noisy),
        instead_of_the_fit("opened_where_data_lie", of_tree(partial(in_steps, by_true_counts=True))),
        instead_of_the_fit("within_the_data", of_tree(within_the_data)),
    )
] + [
    # No small case of blocks comes near its claim, so that most mistakes keep it.
    Mistake(the_same_noise_on_both_sides, BLOCKS, THREE, LAW),
    Mistake(around(blocks, "_cuts", cuts_without_noise), BLOCKS, THREE, LAW),
    Mistake(
        around(
            blocks, "_cuts", lambda right, *known: right(*known[:3], known[3] ** 2, known[4]), "twice_epsilon"
        ),
        BLOCKS,
        THREE,
        LAW,
    ),
    Mistake(around(blocks, "_cuts", blocks_that_share_a_record), BLOCKS, THREE, LAW),
    Mistake(around(blocks, "_point", points_at_twice_the_epsilon), BLOCKS, THREE, LAW),
    Mistake(around(blocks, "_point", points_without_noise), BLOCKS, LAST),
    Mistake(
        instead_of_the_fit(
            "lengths_by_the_data", partial(cdf_cases.released_blocks, lengths_by_the_data, BLOCKS.fit.args[1])
        ),
        BLOCKS,
        ((0, 0, 2), (0, 1, 2)),
        REPLAY,
    ),
    Mistake(around(blocks, "_point", not_filled), FILLED, THREE, LAW),
]


# Quantiles

QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)


def moving(width, in_first, in_second):
    """Two datasets that differ by one record, which goes from the second cell's start to the first's."""
    both = tuple(in_first + in_second)
    return (*both, width), (*both, 0)


#: Where one record more makes near codes cheaper by b - a and the many codes beyond dearer by as much, and
#: the reverse where it is missing: the worst that a level can meet.
FEW_BELOW = moving(30, [0] + [2] * 2 + [29] * 5, [30] + [58] * 7)
HALF_BELOW = moving(30, [0] + [2] * 4 + [29] * 3, [30] * 3 + [58] * 5)
LEVELS = {
    fraction: level_case(f"level at {fraction}", fraction, width=30, n=17, epsilon=1)
    for fraction in (QUARTER, HALF)
}
MEDIAN, LOWER = ((0, 2, 2, 2, 3), (0, 2, 2, 2, 0)), ((3, 2, 2, 2, 2), (0, 2, 2, 2, 2))
TWO_QUANTILES, QUARTILES, REACHING = ((0, 1, 3), (3, 1, 3)), ((0, 1), (3, 1)), ((0, 1, 2), (0, 0, 2))


@pytest.mark.nightly
def test_a_level_costs_nearly_all_that_it_is_given():
    for fraction, pair in ((QUARTER, FEW_BELOW), (HALF, HALF_BELOW)):
        assert 0.93 < exponent(original(LEVELS[fraction], pair)) <= 1


def between_extremes(ranks, first, last, start, stop):
    data = ranks.window(0, len(ranks))
    return Cell(ranks, first, last, data[0], data[-1] + 1)


def between_own_extremes(ranks, first, last, start, stop):
    data = ranks.window(first, last)
    return Cell(ranks, first, last, *((data[0], data[-1] + 1) if data else (start, stop)))


class Twice(Cell):
    """A record counts twice."""

    def window(self, start, stop):
        data = super().window(start, stop)
        return [data[0], *data[:-1]] if data else data


class Shared(ranked.ApartCodes):
    """Cells share the datum between them."""

    def count(self, code):
        below, upto = super().count(code)
        return below, max(below, upto - 1)


def counts_that_move_both_ways(rows, dice):
    """The numbers of records at each candidate, in place of those up to it."""
    at_0, at_1 = ([*rows].count(value) for value in range(2))
    found = sparse_vector.first_reaching([at_0, at_1, 0], 1, privacy=ApproxDP(3), dice=dice)
    return str(found), found


def less_noise(title, of_threshold, of_count):
    wrong = lambda epsilon: (decay_ratio(epsilon * of_threshold), decay_ratio(epsilon * of_count))  # noqa: E731
    return Mistake(instead(sparse_vector, "reaching_ratios", wrong, title), "first_reaching", REACHING)


one_change = around(
    rank_selection, "rank_sensitivity", lambda right, *task: max(1, right(*task) // 2), "one_change_for_two"
)
of_medians = instead(
    rank_selection, "rank_sensitivity", lambda fraction, alone: fraction.denominator, "price_of_medians"
)
twice_the_epsilon = instead(
    rank_selection, "ApproxDP", lambda epsilon: ApproxDP(2 * epsilon), "all_levels_spend_everything"
)
QUANTILES = [
    Mistake(one_change, "median", MEDIAN),
    Mistake(one_change, "lower_quartile", LOWER),
    Mistake(one_change, LEVELS[HALF], HALF_BELOW, late=True),
    Mistake(of_medians, LEVELS[QUARTER], FEW_BELOW, late=True),
    Mistake(instead(rank_selection, "Cell", between_extremes), "median", MEDIAN, CERTAIN),
    Mistake(instead(rank_selection, "Cell", between_own_extremes), "two_quantiles", TWO_QUANTILES, CERTAIN),
    Mistake(instead(rank_selection, "Cell", between_own_extremes), "quartiles", QUARTILES, CERTAIN),
    Mistake(
        instead(quantile_cases, "Cell", Twice), "level_of_lower_quartiles", ((0, 1, 2, 3), (0, 1, 2, 0)), LAW
    ),
    Mistake(instead(rank_selection, "ApartCodes", Shared), "quartiles", QUARTILES, LAW),
    Mistake(
        twice_the_epsilon,
        replace(CASES["quartiles"], claim=ApproxDP(CASES["quartiles"].claim.epsilon * 9 / 10)),
        QUARTILES,
    ),
    less_noise("less_noise_on_counts", Fraction(2, 3), Fraction(2, 5)),
    less_noise("less_noise_on_the_threshold", Fraction(3, 4), Fraction(1, 3)),
    less_noise("epsilon_twice", 1, 1),
    Mistake(
        instead(Questions, "noisy_threshold", lambda self: self.threshold, "no_noise_on_the_threshold"),
        "first_reaching",
        REACHING,
    ),
    Mistake(
        around(
            quantile_columns,
            "epsilon_of",
            lambda right, privacy: 2 * right(privacy),
            "ends_that_each_spend_all",
        ),
        "searching_min_max_clipper",
        ((-2.0,), (1.0,)),
    ),
    Mistake(
        instead_of_the_fit("counts_that_move_both_ways", counts_that_move_both_ways),
        replace(CASES["first_reaching"], universe=range(2), n=1),
        ((0,), (1,)),
    ),
]


def test_ties_spread_anew_for_each_number_of_them_move_more_than_one(monkeypatch):
    def apart(codes):
        return set(ranked.ApartCodes(SortedCodes(np.array(codes)), 3).window(0, len(codes)))

    one, other = [0] * 3 + [1], [0] * 4
    assert len(apart(one) - apart(other)) == 1
    monkeypatch.setattr(ranked, "_nth_place", lambda i, count, bits: (i << bits) // count)
    assert len(apart(one) - apart(other)) > 1


def test_the_fast_route_with_nothing_drawn_anew_has_another_law(monkeypatch):
    cell = Cell(SortedCodes(np.array([0, 1, 4, 5, 5])), 0, 5, 0, 6)
    select = rank_selection.select_exponential

    def run(dice):
        return code_near_rank(cell, HALF, privacy=ApproxDP(1), dice=dice)

    right = exact_distribution(run).key()
    monkeypatch.setattr(rank_selection, "_far", lambda ratio, size: 1)
    assert exact_distribution(run).key() == right

    def inside_only(costs, lengths, **how):
        kept = len(costs) - (lengths[-1] == 6)  # the piece that stands for all codes outside
        return select(costs[:kept], lengths[:kept], **how)

    monkeypatch.setattr(rank_selection, "select_exponential", inside_only)
    assert exact_distribution(run).key() != right


# Learned schemas


def categories_read_off_the_table(columns, **_):
    return [sorted(set(column), key=str) for column in columns]


def ends_of_the_data(ranks, size, fraction, privacy, dice):
    return ranks.window(0, len(ranks))[min(int(fraction * len(ranks)), len(ranks) - 1)]


def missing_cells_are_counted(right, ranks, size, fraction, privacy, dice):
    """The fraction of the records at which an end is selected depends on the number of missing cells."""
    codes = np.array(ranks.window(0, len(ranks)), dtype=np.uint64)
    present = codes[codes != (size - 1 if fraction < Fraction(1, 2) else 0)]
    return right(SortedCodes(present) if len(present) else ranks, size, fraction, privacy, dice)


def only_if_no_cell_is_missing(right, read, number, kind, plan, dice):
    return plan.numbers if read.from_high(number).count(0)[1] else right(read, number, kind, plan, dice)


def spends_all_on_each(monkeypatch):
    """The share of the schema is not charged: the selections have ten times its budget."""
    part = schemas._Parts.of.__func__

    def of(cls, cost, *others):
        return part(cls, replace(cost, epsilon=10 * cost.epsilon), *others)

    monkeypatch.setattr(schemas._Parts, "of", classmethod(of))


def is_free(right, fit, cost, share):
    """The inner release has the whole budget, and the schema its share besides."""
    release, _, _ = right(fit, cost, share)
    return release, cost, fit.inner_plan(release, cost)


free, found_ends = around(schema_fits, "_divided", is_free), instead(schemas, "_selected", ends_of_the_data)
ZEROS, KEYED = ((0,),) * 3, ((("a",),) * 3, (("a",), ("a",), ("b",)))
MIXED = ((0, "a"),) * 8, ((1, "b"),) + ((0, "a"),) * 7
FITTED = tuple(((0, "no"),) * zeros + ((1, "yes"),) * (4 - zeros) for zeros in (1, 2))
TABLES = tuple(((False, False),) * zeros + ((True, True),) * (4 - zeros) for zeros in (1, 2))
TARGETS = tuple((end, *(-1,) * 9, 1, 1) for end in (-1, 1))
SCHEMAS = [
    Mistake(
        around(keys, "frequent_keys_threshold", lambda right, *d, **of: right(*d, **of) - 2, "lower_bar"),
        "frequent_keys",
        KEYED,
    ),
    Mistake(
        given(
            "a_tenth_of_the_noise",
            keys,
            "gaussian_counts",
            privacy=lambda old: replace(old, rho=10 * old.rho),
        ),
        "frequent_keys",
        KEYED,
    ),
    Mistake(instead(schemas, "frequent_keys", categories_read_off_the_table), "learned_schema", MIXED),
    Mistake(found_ends, "learned_range", (((0,), (0,), (1,), (1,)), ((0,), (1,), (1,), (1,)))),
    Mistake(found_ends, "learned_target", TARGETS),
    Mistake(found_ends, "fit_with_learned_schema", FITTED, late=True),
    Mistake(found_ends, "synthetic_table_with_learned_schema", TABLES, late=True),
    Mistake(
        around(schemas, "_number_domain", only_if_no_cell_is_missing),
        "learned_range",
        (((0,), *ZEROS), ((None,), *ZEROS)),
    ),
    Mistake(spends_all_on_each, "learned_range", (((0,), *ZEROS), ((1,), *ZEROS))),
    Mistake(
        around(schemas, "_selected", missing_cells_are_counted),
        "learned_range",
        (((0,), (0,), (1,), (None,)), ((0,), (0,), (1,), (1,))),
        LAW,
    ),
    Mistake(free, "fit_with_learned_schema", FITTED, LAW, late=True),
    Mistake(free, "synthetic_table_with_learned_schema", TABLES, late=True),
]


def total_of(delta):
    """The cost of all steps of a table that learns its schema, by the package's accounting."""
    learn = Learn({"age": "integers", "wage": "numbers", "town": "categories"})
    plan = SyntheticTable(1, delta, domain=learn).plan(20_000)
    schema, tables = plan.schema.parts, plan.budget
    of_table = ZeroConcentrated if delta else PureDP
    base, network = (each.rho if delta else each.epsilon for each in (tables.base, tables.network))
    counts = {BoundedRange(schema.epsilon): schema.ends, BoundedRange(tables.selection): plan.rounds}
    counts |= {of_table(base): 3, of_table(network): plan.rounds}
    if schema.lists:
        counts[ZeroConcentrated(schema.rho)] = 1
    spent = Composition(counts).total(delta=plan.guarantee.delta - schema.failure)
    return plan.guarantee, ApproxDP(spent.epsilon, spent.delta + schema.failure)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_steps_of_a_table_with_a_learned_schema_compose_to_its_guarantee(delta, monkeypatch):
    claim, spent = total_of(delta)
    assert 0.98 * claim.epsilon < spent.epsilon <= claim.epsilon
    assert spent.delta <= claim.delta
    free(monkeypatch)
    assert total_of(delta)[1].epsilon > 1.02 * claim.epsilon


# Synthetic tables. The enumerated claim is basic composition: the base tables' epsilons, which two columns of
# one count each attain by a record that moves both; half of the selection's, since the quality of no
# dependence is constant; and the network's table. Together 1.94 of 2; clipped counts show 1.9078 of these.

REPLAYS = {case.name: case for case in SYNTHETIC_REPLAYS}
LARGER = REPLAYS["synthetic_table_gaussian"]
ROWS = (LARGER.universe * LARGER.n)[: LARGER.n]
ALL_MOVE, ONE_MOVES = (in_places("synthetic_table", (0, place), (0, 0)) for place in (3, 1))


def used_twice(monkeypatch):
    right, drawn = TableNoise.noisy, {}

    def noisy(noise, counts, n, dice):
        key = len(counts)
        if key not in drawn or noise.epsilon != drawn[key][1].epsilon:
            drawn[key] = right(noise, counts, n, dice) - counts, noise
        return counts + drawn[key][0]

    def fit(rows, dice):
        drawn.clear()
        return CASES["synthetic_table"].fit(rows, dice)

    monkeypatch.setattr(TableNoise, "noisy", noisy)
    return fit


def tables_without_noise(right, noise, counts, n, dice):
    return counts if len(counts) == 4 else right(noise, counts, n, dice)


SYNTHETIC = [
    # The noise for an added record: a replaced one moves two counts.
    Mistake(
        instead(table_network, "_moved", lambda size: 1, "half_of_the_noise"), "synthetic_table", ALL_MOVE
    ),
    Mistake(used_twice, "synthetic_table", ONE_MOVES, CERTAIN, late=True),
    Mistake(
        around(TableNoise, "noisy", tables_without_noise), "synthetic_table", ALL_MOVE, CERTAIN, late=True
    ),
]


def violations(case, places=((0, 5), (70, 1), (91, 8))):
    """What replay finds on a few neighbours."""
    found = []
    for place, record in places:
        other = (*ROWS[:place], case.universe[record], *ROWS[place + 1 :])
        found += replay_privacy(case.fit, ROWS, other, rules=case.rules, runs=2).violations
    return found


@pytest.mark.parametrize("name", REPLAYS)
def test_releases_with_gaussian_noise_have_dependences_and_draw_as_the_proof_says(name):
    assert re.search(r"\(\d, \(\d,", REPLAYS[name].fit(ROWS, SeededDice(0))[0])
    assert violations(REPLAYS[name]) == []


def charged_for_half_of_its_sensitivity(right, counts, expected, penalty):
    return int(np.abs(counts - expected).sum()) - penalty


def expected_from_the_true_table(right, found, candidates, table, plan, model):
    """Then a record moves both tables whose difference is the quality."""
    records = table.at_once(lambda rows: rows)

    class Spied:
        places_of = staticmethod(model.places_of)

        @staticmethod
        def expected(places):
            sizes = [plan.layout.sizes[place] for place in places]
            *above, own = (
                np.bincount(records[:, place], minlength=size)
                for place, size in zip(places, sizes, strict=True)
            )
            for one in reversed(above):
                own = np.multiply.outer(one, own) // len(records)
            return own.ravel()

    right(found, candidates, table, plan, Spied)


@pytest.mark.parametrize(
    "mistake",
    [
        around(table_network, "quality_of", charged_for_half_of_its_sensitivity),
        around(table_network, "_add_qualities", expected_from_the_true_table),
    ],
    ids=lambda mistake: mistake.__name__,
)
def test_a_mistake_in_a_quality_breaks_replay(mistake, monkeypatch):
    mistake(monkeypatch)
    assert violations(LARGER)


AGES, TOWNS = IntegerRange(0, 99), Categories(list("abcd"), other=True)
PEOPLE = [(age, "abcd"[place % 3]) for place, age in enumerate(range(3, 99, 4))] + [(50, "d"), (60, "a")]


def of_data(change):
    """Return a release whose columns a function changes, given the encoded table."""

    def fit(rows, dice):
        schema = Schema({"age": AGES, "town": TOWNS})
        codes = schema.encode(np.array([list(row) for row in rows], dtype=object))
        layout = checked_layout(change(table_columns(schema, 8), codes), None, 2, 1000)
        release = TableRelease(schema, layout, ApproxDP(1, "1e-6"))
        found = ready(release, [list(row) for row in rows]).run(dice).tables
        return [table.tolist() for table in found.base]

    return same_tables(fit)


def quantile_bins(columns, codes):
    return replace(columns[0], starts=np.unique([0, *codes[0].tolist()]).astype(np.uint64)), columns[1]


def a_spike_that_is_found(columns, codes):
    counts = np.bincount(codes[0])
    spike = [int(counts.argmax())] if counts.max() > 1 else []
    return replace(columns[0], starts=np.unique([0, 50, *spike]).astype(np.uint64)), columns[1]


def rare_categories_share_a_cell(columns, codes):
    common = np.flatnonzero(np.bincount(codes[1], minlength=TOWNS.size) > 1)
    return columns[0], replace(columns[1], starts=np.unique([0, *common]).astype(np.uint64))


def test_cells_that_are_found_in_the_data_break_replay():
    def found(change):
        return [
            text
            for changed in ([*PEOPLE[:-1], (3, "d")], [*PEOPLE[:-1], (98, "d")])
            for text in replay_privacy(of_data(change), PEOPLE, changed, runs=1).violations
        ]

    assert found(lambda columns, _: columns) == []
    for mistake in (quantile_bins, a_spike_that_is_found, rare_categories_share_a_cell):
        assert found(mistake), mistake


def test_a_record_moves_a_quality_by_at_most_1_whatever_is_expected():
    rng, moved = np.random.default_rng(0), set()
    for _ in range(300):
        expected = rng.integers(0, 6, 5)
        counts = rng.multinomial(8, np.full(5, 0.2))
        other = counts.copy()
        other[rng.choice(np.flatnonzero(counts))] -= 1
        other[rng.integers(5)] += 1
        one, two = (table_network.quality_of(each, expected, 3) for each in (counts, other))
        moved.add(one - two)
    assert moved == {-1, 0, 1}


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize(("n_base", "rounds"), [(1, 0), (2, 1), (13, 12), (40, 39)])
def test_the_steps_compose_to_the_guarantee(delta, n_base, rounds):
    target = ApproxDP("0.7", delta)
    budget = TableBudget.of(target, n_base, rounds)

    def of_table(noise):
        return ZeroConcentrated(noise.rho) if float(delta) else PureDP(noise.epsilon)

    events = [of_table(budget.base)] * n_base
    if rounds:
        events += [BoundedRange(budget.selection)] * rounds + [of_table(budget.network)] * rounds
    epsilon = Composition(events).total(delta=target.delta).epsilon
    assert 0.999 * target.epsilon < epsilon <= target.epsilon


def test_the_model_sees_no_counts():
    """The model is made from noisy tables: with the same ones, two tables have the same model."""
    case = REPLAYS["synthetic_table_gaussian_with_target"]
    neighbour = (LARGER.universe[5], *ROWS[1:])
    first, second = (case.fit(rows, SeededDice(3)) for rows in (ROWS, neighbour))
    assert first == second


# Sums over numbers in a box, and grouped sums


@pytest.mark.parametrize("case", UNSUPERVISED_REPLAYS, ids=lambda case: case.name)
def test_larger_fits_draw_as_the_proofs_say(case):
    assert not case.replay(seeds=1)


def share_of(query, rows, order):
    """By what share of the bound that noise is scaled to two rows differ."""
    move = np.subtract(*query.values(rows)).astype(float)
    return np.abs(move).sum() / query.l1 if order == 1 else (move**2).sum() / query.squared_l2


@pytest.mark.parametrize(("noise", "least"), [("laplace", 1.0), ("gaussian", 0.6)])
def test_half_of_the_sensitivity_of_moments_is_less_than_two_rows_move_them(noise, least):
    rows = np.array([[8, 0], [0, -8]], dtype=np.int32)
    assert least <= share_of(pca.moments_query(2, noise, 8), rows, 1 if noise == "laplace" else 2) <= 1


@pytest.mark.parametrize("order", [1, 2])
def test_rows_that_are_not_shortened_move_a_round_too_far(order, monkeypatch):
    rows = np.array([[5, 5], [-5, -5]], dtype=np.int32)
    asked = k_means.ClusterRound(np.zeros((1, 2)), np.zeros(2), 3, order)
    assert share_of(k_means.cluster_query(asked), rows, order) <= 1
    monkeypatch.setattr(k_means, "shortened", lambda rows, *_: rows)
    assert share_of(k_means.cluster_query(asked), rows, order) > 1


def test_a_box_from_the_data_moves_the_totals_too_far():
    product = Product([Grid(-1, 1, 5)])
    box, query = Box.of(product), standard_scaler.scaler_query(1, "laplace", 8, squares=True)

    def moved(by_data):
        totals = []
        for rows in ([0.5] * 9 + [1.0], [0.5] * 10):
            half = np.array([max(rows)]) if by_data else box.half
            columns = Columns(product.encode(np.array(rows)[:, None]))
            totals.append(query.total(grid_rows(columns, product, box.middle, half, 8, None)))
        return np.abs(totals[0] - totals[1]).sum() / query.l1

    assert moved(by_data=False) <= 1
    assert moved(by_data=True) > 2


def sums_of_the_whole_epsilon(monkeypatch):
    monkeypatch.setattr(grouped, "_shares", lambda epsilon, values: (epsilon / 2, epsilon))
    return grouped_case("again", 2, CASES["grouped"].universe, coarse(["a", "b"], 2)).fit


def not_clipped(values, *_):
    return np.rint(values).astype(np.int64)


SWAPPED = (("a", -1.0), ("a", 1.0)), (("b", 1.0), ("a", 1.0))
COUNTED = tuple((*rows, ("c", 1.0)) for rows in ((("a", 1.0), ("a", 1.0)), (("b", 1.0), ("a", 1.0))))
FAR_VALUES = ("a", -9.0), ("a", 9.0)
GROUPED = [
    Mistake(
        given("half_of_the_noise", grouped, "laplace_counts", sensitivity=lambda old: old // 2),
        "grouped_counts",
        COUNTED,
    ),
    Mistake(sums_of_the_whole_epsilon, "grouped", SWAPPED),
    Mistake(
        instead(grouped, "_whole", not_clipped),
        grouped_case("far", 3, (*FAR_VALUES, ("b", 1.0)), coarse(["a", "b"], 2)),
        tuple((each, ("b", 1.0), ("b", 1.0)) for each in FAR_VALUES),
        late=True,
    ),
    Mistake(
        instead(grouped, "stable_histogram", lambda keys, **_: dict(keys.sorted()), "without_a_threshold"),
        "grouped_learned",
        in_places("grouped_learned", (0, 0, 0), (0, 0, 2)),
    ),
]


# Small databases, and learners from two releases


class Summed(np.ndarray):
    """Errors that are summed over the queries."""

    def max(self, axis):
        return np.asarray(self).sum(axis=axis)


class Numpy:
    """NumPy, whose magnitudes are summed where their maximum is taken."""

    abs = staticmethod(lambda errors: np.abs(errors).view(Summed))

    def __getattr__(self, name):
        return getattr(np, name)


def candidates_that_occur(right, rows, queries, *, size, privacy, dice):
    listed = sorted(set(rows))
    codes = [listed.index(row) for row in rows]
    found = right(codes, queries[:, listed], size=size, privacy=privacy, dice=dice)
    return tuple(listed[code] for code in found)


def absent_records_left_out(values, labels, concepts, *, absent, release):
    counted = lambda rows: release([row for row in rows if row != absent])  # noqa: E731
    return learner_from_release(values, labels, concepts, absent=absent, release=counted)


def a_second_release_of_the_ones(values, labels, concepts, *, absent, release):
    ones = [value if label else absent for value, label in zip(values, labels, strict=True)]
    zeros = [absent if label else value for value, label in zip(values, labels, strict=True)]
    first, second, other = release(ones), release(ones), release(zeros)
    return min(concepts, key=lambda each: 2 * other(each) - first(each) - second(each))


def concepts_that_occur(values, labels, concepts, **how):
    return learner_from_release(values, labels, sorted(set(values)), **how)


def noise_that_both_share(rows, dice):
    class Once:
        drawn = None

        def __getattr__(self, name):
            return getattr(dice, name)

        def discrete_laplace(self, *arguments, **more):
            if self.drawn is None:
                self.drawn = dice.discrete_laplace(*arguments, **more)
            return self.drawn

    return reductions.learned_by(reductions.noisy_thresholds)(rows, Once())


WITNESS = ((0, 0), (0, 0)), ((0, 0), (0, 1))
half_of_the_noise = given("a_sensitivity_of_1", small_database, "exponential_mechanism", sensitivity=1)
POINTS, THRESHOLDS = ("small_database_of_points", "small_database_of_thresholds")
OF_POINTS, OF_THRESHOLDS = (
    in_places(POINTS, (0,) * 6, (0,) * 5 + (1,)),
    in_places(THRESHOLDS, (0, 0, 0), (0, 0, 3)),
)
SMALL = [
    Mistake(half_of_the_noise, POINTS, OF_POINTS),
    Mistake(half_of_the_noise, THRESHOLDS, OF_THRESHOLDS),
    Mistake(instead(small_database, "np", Numpy(), "errors_summed"), THRESHOLDS, OF_THRESHOLDS),
    Mistake(around(small_database, "small_database", candidates_that_occur), POINTS, OF_POINTS, CERTAIN),
    Mistake(
        instead(reductions, "learner_from_release", absent_records_left_out),
        "learner_from_release",
        WITNESS,
        CERTAIN,
    ),
    Mistake(
        instead(reductions, "learner_from_release", concepts_that_occur),
        "learner_from_release",
        (((0, 0), (0, 0)), ((1, 0), (0, 0))),
        CERTAIN,
    ),
    Mistake(
        instead(reductions, "learner_from_release", a_second_release_of_the_ones),
        "learner_from_release",
        WITNESS,
    ),
    Mistake(
        instead_of_the_fit("noise_that_both_share", noise_that_both_share),
        "learner_from_release",
        WITNESS,
        CERTAIN,
    ),
]


@pytest.mark.parametrize(
    ("name", "least"), [("learner_from_release", 0.999), ("learner_from_small_database", 0.69)]
)
def test_the_learner_from_two_releases_costs_both_and_no_more(name, least):
    report = CASES[name].run()
    assert report.keeps(CASES[name].claim)
    assert report.tightness(CASES[name].claim) > least
    assert not at_most_exp(report.exp_epsilon, reductions.EACH.epsilon)  # one release is not enough


@mistakes([*DISTRIBUTIONS, *QUANTILES, *SCHEMAS, *SYNTHETIC, *GROUPED, *SMALL])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)
