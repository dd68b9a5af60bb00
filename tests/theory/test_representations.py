"""Protocols and representations of small classes: known values, checked without the solver where possible."""

import ctypes
import os
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from dplearn.theory import (
    deterministic_representation,
    learned_distribution,
    one_way_error,
    representation_value,
    representations,
)

QUARTER = Fraction(1, 4)


def points(size):
    return np.eye(size, dtype=int)


def thresholds(size):
    return [[int(x >= cut) for x in range(size)] for cut in range(size)]


NIGHTLY = [pytest.param(size, marks=pytest.mark.nightly) for size in (5, 6)]


def value_of_game(wrong):
    """The error of the best distribution over rows, at the worst column."""
    game = linprog(
        np.append(np.zeros(len(wrong)), 1),
        A_ub=np.column_stack((wrong.T, -np.ones(wrong.shape[1]))),
        b_ub=np.zeros(wrong.shape[1]),
        A_eq=np.append(np.ones(len(wrong)), 0)[None],
        b_eq=[1],
    )
    return game.fun


@pytest.mark.parametrize(
    ("concepts", "alpha"),
    [
        (points(3), 0.25),
        (thresholds(3), 0.25),
        (points(3), 0.4),
        pytest.param(points(4), 0.25, marks=pytest.mark.nightly),
    ],
)
def test_no_smaller_set_represents(concepts, alpha):
    """All sets of fewer hypotheses are tried."""
    table = np.array(concepts)
    best = deterministic_representation(table, alpha)
    everything = np.array(list(product((0, 1), repeat=table.shape[1])))
    assert max(value_of_game((best != f).astype(float)) for f in table) <= alpha + 1e-9
    for chosen in combinations(range(len(everything)), len(best) - 1):
        few = everything[list(chosen)]
        assert max(value_of_game((few != f).astype(float)) for f in table) > alpha + 1e-9


@pytest.mark.parametrize("size", [3, 4, *NIGHTLY])
def test_values_of_representations(size):
    value = Fraction(1, min(size, 5))  # of six points 1/5, where a proper law has 1/6 at most
    for concepts in (points(size), *([thresholds(size)] if size < 6 else [])):
        found = representation_value(concepts, QUARTER)
        assert value - Fraction(1, 10**5) < found.lower <= found.upper == value
    assert representation_value([[0, 1, 1]], QUARTER).upper == 1


@pytest.mark.parametrize(
    "concepts",
    [points(2), *[pytest.param(each, marks=pytest.mark.nightly) for each in (points(3), thresholds(3))]],
)
def test_the_value_is_that_of_all_sets_of_inaccurate_hypotheses(concepts):
    """Without the mixed integer program: some points refute a set if a game has a value above alpha."""
    table, alpha = np.array(concepts), 0.25
    everything = np.array(list(product((0, 1), repeat=table.shape[1])))
    rows = []
    for f in table:
        for chosen in product((False, True), repeat=len(everything)):
            bad = (everything != f)[list(chosen)].astype(float)
            # The best distribution of points against these hypotheses: a game of points and hypotheses.
            if len(bad) and 1 - value_of_game(1 - bad.T) > alpha + 1e-7:
                rows.append(~np.array(chosen))
    cuts = np.array(rows, dtype=float)
    size = len(everything)
    law = linprog(
        np.append(np.zeros(size), -1),
        A_ub=np.column_stack((-cuts, np.ones(len(cuts)))),
        b_ub=np.zeros(len(cuts)),
        A_eq=np.append(np.ones(size), 0)[None],
        b_eq=[1],
    )
    assert -law.fun == pytest.approx(float(representation_value(table, alpha).upper), abs=1e-7)


@pytest.mark.nightly
def test_ten_points_and_two_messages():
    found = one_way_error(points(10), 2)
    assert found.lower == Fraction(28, 97) <= found.upper < Fraction(28, 97) + Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("concepts", "messages"),
    [(points(4), 2), (thresholds(4), 2), pytest.param(points(5), 3, marks=pytest.mark.nightly)],
)
def test_messages_and_representations_bound_each_other(concepts, messages):
    error = one_way_error(concepts, messages).upper
    # A message drawn at random is Alice's with probability 1/k; its error is above alpha with probability at
    # most error / alpha, by Markov's inequality.
    alpha = Fraction(2, 5)
    assert representation_value(concepts, alpha).upper >= (1 - error / alpha) / messages
    # Alice sends a hypothesis of a representation, drawn as the minimax theorem says: no error above alpha.
    hypotheses = len(deterministic_representation(concepts, alpha))
    assert one_way_error(concepts, hypotheses).lower <= alpha


@pytest.mark.parametrize(
    "solves",
    [
        lambda: one_way_error(points(4), 2),
        lambda: deterministic_representation(points(3), QUARTER),
        lambda: representation_value(points(3), QUARTER),
        lambda: learned_distribution(np.tri(4), [0.1, 0.4, 0.38, 1.0]),
        pytest.param(lambda: representation_value(points(5), Fraction(2, 5)), marks=pytest.mark.nightly),
        pytest.param(lambda: deterministic_representation(points(7), QUARTER), marks=pytest.mark.nightly),
    ],
)
def test_the_solver_prints_nothing(solves, capfd, monkeypatch):
    """HiGHS 1.12 prints a line for some tables, whatever its options say; here it prints one each time."""
    milp, calls = representations.milp, []

    def talkative(*given, **options):
        ctypes.CDLL(None).printf(b"HighsMipSolverData\n")  # into the buffer of the C library
        os.write(1, b"HighsMipSolverData\n")
        calls.append(given)
        return milp(*given, **options)

    monkeypatch.setattr(representations, "milp", talkative)
    ctypes.CDLL(None).printf(b"printed before\n")
    solves()
    ctypes.CDLL(None).printf(b"printed after\n")
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr() == ("printed before\nprinted after\n", "")
    assert calls or "representation" not in "".join(solves.__code__.co_names)
