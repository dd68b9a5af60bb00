"""Fits and tables that are too large to enumerate: on neighbours they draw as their proofs say."""

import re

import pytest

from dplearn.audit import replay_privacy
from dplearn.audit.cases import REPLAYS
from dplearn.chance import SeededDice
from dplearn.releases import table_network
from tests.laws.mutants import around
from tests.laws.test_ask_mutants import noise_that_the_data_scale

#: Of these, neighbours are replayed in a few places only.
LARGE = tuple(name for name in REPLAYS if re.search("additive|synthetic", name))
#: Of each kind of additive fits one, as large as it can soon be replayed; the others at night.
BY_DAY = ("additive_gaussian_2_joint", "additive_laplace_numbers", "added_additive_gaussian")


def rows_of(case):
    return (tuple(case.universe) * case.n)[: case.n]


def violations(case, runs=1):
    """Return what replay finds on neighbours of a few places."""
    rows, found = rows_of(case), []
    for place, record in ((0, 2), (case.n // 2, 1), (case.n - 1, 5)):
        replaced = (case.universe[record % len(case.universe)],) * (case.claim.neighbors == "replace_one")
        other = (*rows[:place], *replaced, *rows[place + 1 :])
        found += replay_privacy(case.fit, rows, other, rules=case.rules, runs=runs).violations
    return found


def late(name):
    return pytest.mark.nightly if "additive" in name and name not in BY_DAY else ()


@pytest.mark.parametrize("name", [pytest.param(name, marks=late(name)) for name in REPLAYS])
def test_larger_fits_draw_as_the_proof_says(name):
    case = REPLAYS[name]
    assert (violations(case) if name in LARGE else case.replay(seeds=1)) == []


@pytest.mark.parametrize("name", [name for name in REPLAYS if "synthetic" in name])
def test_tables_that_are_replayed_have_dependences(name):
    case = REPLAYS[name]
    assert re.search(r"\(\d, \(\d,", case.fit(rows_of(case), SeededDice(0))[0])


@pytest.mark.parametrize("name", ["linear_gaussian", "logistic_wide"])
def test_noise_that_the_data_scale_breaks_replay(name, monkeypatch):
    case = REPLAYS[name]
    noise_that_the_data_scale(monkeypatch)
    assert case.with_fit(case.fit).replay(seeds=1)


def half_of_the_sensitivity(right, counts, expected, penalty):
    return int(abs(counts - expected).sum()) - penalty


def test_a_quality_that_two_counts_move_breaks_replay(monkeypatch):
    around(table_network, "quality_of", half_of_the_sensitivity)(monkeypatch)
    assert violations(REPLAYS["synthetic_table_gaussian"], runs=2)
