"""Deliberate mistakes in the small database: each exceeds the claim on a small universe."""

import math

import numpy as np
import pytest

from dplearn.audit.cases import CASES, small_database

NAMES = [case.name for case in small_database.CASES]
RIGHT = small_database.exponential_mechanism


def excess(name):
    """By what factor a case exceeds its claim; infinite if an outcome has no probability on one side."""
    case = CASES[name].with_fit(CASES[name].fit)  # with distributions of its own
    found = case.run().exp_epsilon
    return math.inf if found is None else math.log(found) / float(case.claim.epsilon)


@pytest.mark.parametrize("name", NAMES)
def test_a_sensitivity_of_1_breaks_the_claim(name, monkeypatch):
    """A record moves the answer of a query by 1; the quality compares it with counts of all n records."""
    monkeypatch.setattr(
        small_database,
        "exponential_mechanism",
        lambda qualities, *, sensitivity, **how: RIGHT(qualities, sensitivity=1, **how),
    )
    assert excess(name) > 1.1


def test_errors_that_are_summed_over_the_queries_break_the_claim(monkeypatch):
    magnitudes = np.abs

    class Summed(np.ndarray):
        def max(self, axis):
            return np.asarray(self).sum(axis=axis)

    monkeypatch.setattr(small_database.np, "abs", lambda errors: magnitudes(errors).view(Summed))
    assert excess("small_database_of_thresholds") > 1.1


def test_candidates_of_the_values_that_occur_are_found(monkeypatch):
    def of_data(rows, queries, *, size, privacy, dice):
        listed = sorted(set(rows))
        codes = [listed.index(row) for row in rows]
        found = right(codes, queries[:, listed], size=size, privacy=privacy, dice=dice)
        return tuple(listed[code] for code in found)

    right = small_database.small_database
    monkeypatch.setattr(small_database, "small_database", of_data)
    assert excess("small_database_of_points") == math.inf
