"""Deliberate mistakes in synthetic tables: each breaks an enumerated claim or a replay.

The enumerated claim is basic composition: the base tables' epsilons, which two columns of one count each
attain by a record that moves both; half of the selection's, since the quality of no dependence is constant;
and the network's table. Together .42 + .03 + .52 of 2, 1.94; clipped counts show 1.9078 of these.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from dplearn.audit.cases.synthetic_table import CASES, SYNTHETIC_REPLAYS, same_tables
from dplearn.audit.fits import ready
from dplearn.audit.replay import replay_privacy
from dplearn.chance import SeededDice
from dplearn.domains import Categories, IntegerRange, Schema
from dplearn.privacy import ApproxDP, Composition
from dplearn.privacy.events import BoundedRange, PureDP, ZeroConcentrated
from dplearn.releases import table_network
from dplearn.releases.synthetic_table import TableRelease
from dplearn.releases.table_columns import table_columns
from dplearn.releases.table_network import TableBudget, TableNoise, checked_layout
from tests.laws.conftest import OnePair

BY_NAME = {case.name: case for case in CASES}
REPLAYS = {case.name: case for case in SYNTHETIC_REPLAYS}
MIXED = REPLAYS["synthetic_table_gaussian"]
ROWS = (MIXED.universe * MIXED.n)[: MIXED.n]


def witness(other=(1, 1)):
    return OnePair.of(BY_NAME["synthetic_table"], (((0, 0), other), ((0, 0), (0, 0))))


def excess(case):
    """By what factor a case exceeds its claim; infinite if an outcome has no probability on one side."""
    found = case.run().exp_epsilon
    return math.inf if found is None else math.log(found) / float(case.claim.epsilon)


def violations(case, fit=None):
    """What replay finds on a few neighbours."""
    found = []
    for place, record in ((0, case.universe[5]), (70, case.universe[1]), (91, case.universe[8])):
        other = (*ROWS[:place], record, *ROWS[place + 1 :])
        found += replay_privacy(fit or case.fit, ROWS, other, rules=case.rules, runs=2).violations
    return found


def test_replayed_releases_have_dependences():
    texts = [REPLAYS[name].fit(ROWS, SeededDice(seed))[0] for name in REPLAYS for seed in range(2)]
    assert all(re.search(r"\(\d, \(\d,", text) for text in texts)


@pytest.mark.parametrize("name", REPLAYS)
def test_releases_with_gaussian_noise_draw_as_the_proof_says(name):
    assert violations(REPLAYS[name]) == []


@pytest.mark.nightly
def test_the_worst_neighbours_show_nearly_all_of_the_claim():
    assert 0.95 < excess(witness()) < 1


def test_half_of_a_tables_noise_breaks_the_claim(monkeypatch):
    """The noise for an added record: a replaced one moves two counts."""
    monkeypatch.setattr(table_network, "_moved", lambda size: 1)
    assert excess(witness()) > 1.1


def test_noise_that_is_used_twice_breaks_the_claim(monkeypatch):
    right = TableNoise.noisy
    drawn = {}

    def noisy(noise, counts, n, dice):
        key = len(counts)
        if key not in drawn or noise.epsilon != drawn[key][1].epsilon:
            drawn[key] = right(noise, counts, n, dice) - counts, noise
        return counts + drawn[key][0]

    def fit(rows, dice):
        drawn.clear()
        return BY_NAME["synthetic_table"].fit(rows, dice)

    monkeypatch.setattr(TableNoise, "noisy", noisy)
    assert excess(witness(other=(0, 1)).with_fit(fit)) == math.inf


def test_tables_without_noise_are_found(monkeypatch):
    right = TableNoise.noisy
    monkeypatch.setattr(
        TableNoise,
        "noisy",
        lambda noise, counts, n, dice: counts if len(counts) == 4 else right(noise, counts, n, dice),
    )
    assert excess(witness()) == math.inf


def test_a_quality_that_is_charged_for_half_of_its_sensitivity_breaks_replay(monkeypatch):
    assert violations(MIXED) == []
    monkeypatch.setattr(
        table_network,
        "quality_of",
        lambda counts, expected, penalty: int(np.abs(counts - expected).sum()) - penalty,
    )
    assert violations(MIXED)


def test_expected_counts_from_the_true_table_break_replay(monkeypatch):
    """Then a record moves both tables whose difference is the quality."""
    right = table_network._add_qualities

    def qualities(found, candidates, table, plan, model):
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

    assert violations(MIXED) == []
    monkeypatch.setattr(table_network, "_add_qualities", qualities)
    assert violations(MIXED)


AGES, TOWNS = IntegerRange(0, 99), Categories(list("abcd"), other=True)
PEOPLE = [(age, "abcd"[place % 3]) for place, age in enumerate(range(3, 99, 4))] + [(50, "d"), (60, "a")]


def of_data(change):
    """Return a release whose columns a function changes, given the encoded table."""

    def fit(rows, dice):
        schema = Schema({"age": AGES, "town": TOWNS})
        columns = table_columns(schema, 8)
        codes = schema.encode(np.array([list(row) for row in rows], dtype=object))
        layout = checked_layout(change(columns, codes), None, 2, 1000)
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


@pytest.mark.parametrize("mistake", [quantile_bins, a_spike_that_is_found, rare_categories_share_a_cell])
def test_cells_that_are_found_in_the_data_break_replay(mistake):
    def found(change):
        other = [*PEOPLE[:-1], (3, "d")], [*PEOPLE[:-1], (98, "d")]
        return [
            text
            for changed in other
            for text in replay_privacy(of_data(change), PEOPLE, changed, runs=1).violations
        ]

    assert found(lambda columns, _: columns) == []
    assert found(mistake)


def test_a_record_moves_a_quality_by_at_most_1_whatever_is_expected():
    rng = np.random.default_rng(0)
    moved = set()
    for _ in range(300):
        expected = rng.integers(0, 6, 5)
        counts = rng.multinomial(8, np.full(5, 0.2))
        here = rng.choice(np.flatnonzero(counts))
        other = counts.copy()
        other[here] -= 1
        other[rng.integers(5)] += 1
        moved.add(
            table_network.quality_of(counts, expected, 3) - table_network.quality_of(other, expected, 3)
        )
    assert moved == {-1, 0, 1}


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize(("n_base", "rounds"), [(1, 0), (2, 1), (13, 12), (40, 39)])
def test_the_steps_compose_to_the_guarantee(delta, n_base, rounds):
    target = ApproxDP("0.7", delta)
    budget = TableBudget.of(target, n_base, rounds)
    of_table = (
        (lambda noise: ZeroConcentrated(noise.rho)) if float(delta) else (lambda noise: PureDP(noise.epsilon))
    )
    events = [of_table(budget.base)] * n_base
    if rounds:
        events += [BoundedRange(budget.selection)] * rounds + [of_table(budget.network)] * rounds
    epsilon = Composition(events).total(delta=target.delta).epsilon
    assert 0.999 * target.epsilon < epsilon <= target.epsilon


def test_the_model_sees_no_counts():
    """The model is made from noisy tables: with the same ones, two tables have the same model."""
    case = REPLAYS["synthetic_table_gaussian_with_target"]
    neighbour = (MIXED.universe[5], *ROWS[1:])
    first, second = (case.fit(rows, SeededDice(3)) for rows in (ROWS, neighbour))
    assert first == second
