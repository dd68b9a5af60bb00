"""Fits and tables that are too large to enumerate: on neighbours they draw as their proofs say."""

import re

import pytest

from dplearn.audit import replay_privacy
from dplearn.audit.cases.additive import ADDITIVE_REPLAYS
from dplearn.audit.cases.describe import DESCRIBE_REPLAYS
from dplearn.audit.cases.linear_regression import LINEAR_REPLAYS
from dplearn.audit.cases.logistic_regression import LOGISTIC_REPLAYS
from dplearn.audit.cases.private_labels import LABEL_REPLAYS
from dplearn.audit.cases.synthetic_table import SYNTHETIC_REPLAYS
from dplearn.audit.cases.unknown_count import ADDED_REPLAYS
from dplearn.audit.cases.unsupervised import UNSUPERVISED_REPLAYS
from dplearn.chance import SeededDice
from dplearn.releases import table_network
from tests.laws.mutants import around
from tests.laws.test_ask_mutants import noise_that_the_data_scale

SMALL = (
    *DESCRIBE_REPLAYS,
    *LABEL_REPLAYS,
    *LINEAR_REPLAYS,
    *LOGISTIC_REPLAYS,
    *UNSUPERVISED_REPLAYS,
    *ADDED_REPLAYS,
)
LARGE = (*ADDITIVE_REPLAYS, *SYNTHETIC_REPLAYS)
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


def late(case):
    return pytest.mark.nightly if case in ADDITIVE_REPLAYS and case.name not in BY_DAY else ()


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=late(case)) for case in (*SMALL, *LARGE)]
)
def test_larger_fits_draw_as_the_proof_says(case):
    assert (violations(case) if case in LARGE else case.replay(seeds=1)) == []


@pytest.mark.parametrize("case", SYNTHETIC_REPLAYS, ids=lambda case: case.name)
def test_tables_that_are_replayed_have_dependences(case):
    assert re.search(r"\(\d, \(\d,", case.fit(rows_of(case), SeededDice(0))[0])


@pytest.mark.parametrize("case", [LINEAR_REPLAYS[1], LOGISTIC_REPLAYS[1]], ids=lambda case: case.name)
def test_noise_that_the_data_scale_breaks_replay(case, monkeypatch):
    noise_that_the_data_scale(monkeypatch)
    assert case.with_fit(case.fit).replay(seeds=1)


def half_of_the_sensitivity(right, counts, expected, penalty):
    return int(abs(counts - expected).sum()) - penalty


def test_a_quality_that_two_counts_move_breaks_replay(monkeypatch):
    around(table_network, "quality_of", half_of_the_sensitivity)(monkeypatch)
    [case] = [case for case in SYNTHETIC_REPLAYS if case.name == "synthetic_table_gaussian"]
    assert violations(case, runs=2)
