"""Deliberate mistakes in sums over numbers in a box and in grouped sums: each breaks the enumerated claim, is
seen in a replay, or moves the totals of a query further than its noise is for; the originals do not."""

import math
import sys

import numpy as np
import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.cases.unsupervised import UNSUPERVISED_REPLAYS, coarse, grouped_case
from dplearn.domains import Grid, Product
from dplearn.preprocessing import k_means, pca, standard_scaler
from dplearn.preprocessing.boxed_columns import Box, grid_rows
from dplearn.table.table import Columns
from tests.laws.conftest import OnePair

GROUPED, ROUND, COUNTS = (CASES[name] for name in ("grouped", "k_means_round", "grouped_counts"))
grouped = sys.modules["dplearn.releases.grouped"]  # the package has a function of this name
ENDS = (((1.0,),), ((-1.0,),))
SWAPPED = ((("a", -1.0), ("a", 1.0)), (("b", 1.0), ("a", 1.0)))


def excess(case, pair):
    """By what factor a case exceeds its claim on two neighbours."""
    return math.log(OnePair.of(case, pair).run().exp_epsilon) / float(case.claim.epsilon)


@pytest.mark.parametrize("case", UNSUPERVISED_REPLAYS, ids=lambda case: case.name)
def test_larger_fits_draw_as_the_proofs_say(case):
    assert not case.replay(seeds=1)


def halved(module, name, monkeypatch):
    """Make a query of a module promise half of its sensitivity."""
    right = getattr(module, name)

    def half(*given, **known):
        query = right(*given, **known)
        query.l1 = max(1, query.l1 // 2)
        query.squared_l2 = max(1, query.squared_l2 // 4)
        return query

    monkeypatch.setattr(module, name, half)


def test_half_of_the_sensitivity_of_the_scaler_breaks_the_enumerated_claim(monkeypatch):
    assert 0.99 < excess(CASES["small_scaler"], ENDS) <= 1
    halved(standard_scaler, "scaler_query", monkeypatch)
    assert excess(CASES["small_scaler"], ENDS) > 1.9


@pytest.mark.parametrize(("noise", "least"), [("laplace", 1.0), ("gaussian", 0.6)])
def test_half_of_the_sensitivity_of_moments_is_less_than_two_rows_move_them(noise, least):
    rows = np.array([[8, 0], [0, -8]], dtype=np.int32)
    query = pca.moments_query(2, noise, 8)
    move = np.subtract(*query.values(rows)).astype(float)
    share = np.abs(move).sum() / query.l1 if noise == "laplace" else (move**2).sum() / query.squared_l2
    assert least <= share <= 1


def test_half_of_the_sensitivity_of_a_round_breaks_the_enumerated_claim(monkeypatch):
    assert 0.99 < excess(ROUND, ENDS) <= 1
    halved(k_means, "cluster_query", monkeypatch)
    monkeypatch.setattr("dplearn.audit.cases.unsupervised.cluster_query", k_means.cluster_query)
    assert excess(ROUND, ENDS) > 1.9


@pytest.mark.parametrize("order", [1, 2])
def test_rows_that_are_not_shortened_move_a_round_too_far(order, monkeypatch):
    rows = np.array([[5, 5], [-5, -5]], dtype=np.int32)
    asked = k_means.ClusterRound(np.zeros((1, 2)), np.zeros(2), 3, order)

    def moved():
        query = k_means.cluster_query(asked)
        move = np.subtract(*query.values(rows)).astype(float)
        return np.abs(move).sum() / query.l1 if order == 1 else (move**2).sum() / query.squared_l2

    assert moved() <= 1
    monkeypatch.setattr(k_means, "shortened", lambda rows, *_: rows)
    assert moved() > 1


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


def test_half_of_the_sensitivity_of_counts_breaks_the_enumerated_claim(monkeypatch):
    right = grouped.laplace_counts
    pair = tuple(rows + (("c", 1.0),) for rows in ((("a", 1.0), ("a", 1.0)), (("b", 1.0), ("a", 1.0))))
    assert 0.99 < excess(COUNTS, pair) <= 1

    def half(*given, sensitivity, **known):
        return right(*given, sensitivity=sensitivity // 2, **known)

    monkeypatch.setattr(grouped, "laplace_counts", half)
    assert excess(COUNTS, pair) > 1.9


def test_sums_of_the_whole_epsilon_break_the_enumerated_claim(monkeypatch):
    assert 0.99 < excess(GROUPED, SWAPPED) <= 1
    monkeypatch.setattr(grouped, "_shares", lambda epsilon, values: (epsilon / 2, epsilon))
    again = grouped_case("again", 2, GROUPED.universe, coarse(["a", "b"], 2))
    assert excess(again, SWAPPED) > 1.4


@pytest.mark.nightly
def test_values_that_are_not_clipped_break_the_enumerated_claim(monkeypatch):
    far = (("a", -9.0), ("a", 9.0))
    case = grouped_case("far", 3, (*far, ("b", 1.0)), coarse(["a", "b"], 2))
    pair = tuple((each, ("b", 1.0), ("b", 1.0)) for each in far)
    assert excess(case, pair) <= 1
    monkeypatch.setattr(grouped, "_whole", lambda values, *_: np.rint(values).astype(np.int64))
    assert excess(case, pair) > 1


def test_learned_groups_without_a_threshold_break_the_enumerated_claim(monkeypatch):
    case = CASES["grouped_learned"]
    pair = (tuple(case.universe[i] for i in (0, 0, 0)), tuple(case.universe[i] for i in (0, 0, 2)))
    assert OnePair.of(case, pair).run().keeps(case.claim)
    monkeypatch.setattr(
        grouped,
        "stable_histogram",
        lambda keys, **_: dict(keys.sorted()),
    )
    assert not OnePair.of(case, pair).run().keeps(case.claim)
