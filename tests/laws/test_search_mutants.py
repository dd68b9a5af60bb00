"""Deliberate mistakes in private search and in scores: each breaks a claim that the original keeps."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.cases import search as search_cases
from dplearn.fit import execute
from dplearn.mechanisms import selection as random_stopping
from dplearn.model_selection import candidates, search, tables
from dplearn.privacy import RandomStopping
from dplearn.privacy import random_stopping as costs
from tests.laws.mutants import LAW, around, assert_caught, given, in_places, instead, mistakes, on

# Scores


def added_records(monkeypatch):
    for kind in (tables.ConfusionCounts, tables.BinnedScores):
        monkeypatch.setattr(kind, "l1", 1)
        monkeypatch.setattr(kind, "squared_l2", 1)


def noise_drawn_once(right, self, counts, *, low, high, dice):
    noise = right(self, np.zeros(1, dtype=np.int64), low=low, high=high, dice=dice)
    return np.clip(counts + noise[0], low, high)


def gaussian_noise_for_half_the_distance(right, counts, **how):
    return np.asarray(counts) + right(0 * counts, **how) // 4


def all_rows_of_a_person(right, groups, n, **how):
    return right(np.arange(n), n, **how)


def sensitivity_of_half_the_range(monkeypatch):
    for name in ("l1", "first"):
        monkeypatch.setattr(tables.TargetSums, name, property(lambda each: each.steps // 2))


def errors_not_clipped(monkeypatch):
    # The noisy sum may be as great as the errors are; the sensitivity is that of clipped ones.
    monkeypatch.setattr(tables.TargetSums, "high", property(lambda each: 7 * each.steps))
    monkeypatch.setattr(
        tables.TargetSums, "_shares", lambda each, numbers: numbers / (each.high_end - each.low_end)
    )
    monkeypatch.setattr(tables, "_steps", lambda shares, steps: (shares * steps).astype(np.int64))


# Search


def each_fit_has_the_whole_budget(right, budget, part):
    return budget if part == 1 / 2 else right(budget, part)


def each_table_has_the_whole_budget(right, counts, plan, privacy, dice, *, tables=1):
    return right(counts, plan, privacy, dice)


def best_by_true_errors(qualities, *, privacy, dice, sensitivity):
    return int(np.argmax(qualities))


def records_that_test_train_too(monkeypatch):
    splits, exposure = candidates.splits_by_position, candidates.Exposure.of

    def overlapping(cv, n):
        return [(np.concatenate([test, train]), test) for train, test in splits(cv, n)]

    def apart(cls, splits, n):
        return replace(exposure(splits, n), trains=1, tests=1, apart=True)

    monkeypatch.setattr(candidates, "splits_by_position", overlapping)
    monkeypatch.setattr(candidates.Exposure, "of", classmethod(apart))


class Stubborn:
    """Dice with which there are always as many runs as there may be."""

    def __init__(self, dice):
        self.dice = dice

    def power_weighted(self, ratio, exponents, multiplicities):
        return len(multiplicities) - 1


def as_many_runs_as_there_may_be(right, run, *, stopping, dice):
    return right(lambda _: run(dice), stopping=stopping, dice=Stubborn(dice))


def number_of_runs_shown(right, run, *, stopping, dice):
    runs = []
    score, outcome = right(lambda dice: runs.append(0) or run(dice), stopping=stopping, dice=dice)
    return score, (outcome, len(runs))


no_noise = instead(tables.TableNoise, "added", lambda self, counts, **_: counts, "no_noise")
noise_once = around(tables.TableNoise, "added", noise_drawn_once)
half_a_loss = instead(tables.LossSum, "l1", 1, "losses_that_move_by_one_step")
half_the_range = sensitivity_of_half_the_range
half_the_distance = around(tables, "gaussian_sums", gaussian_noise_for_half_the_distance)
one_label = instead(tables.BinnedScores, "l1", 2, "all_labels_for_the_price_of_one")
free_targets = instead(tables.TargetSums, "l1", property(lambda each: each.steps), "targets_for_free")
all_rows = around(execute, "grouping_of", all_rows_of_a_person)
each_table = around(search, "_noisy", each_table_has_the_whole_budget)
best = instead(search, "permute_and_flip", best_by_true_errors)
each_fit = around(search, "_part", each_fit_has_the_whole_budget)
most_runs = around(search_cases, "best_of_runs", as_many_runs_as_there_may_be)
shown_runs = around(search_cases, "best_of_runs", number_of_runs_shown)
added_counts = given("counts_for_an_added_record", tables, "laplace_counts", sensitivity=1)
FIRST, LAST, NUMBERS = ((1, 0), (0, 0)), ((0, 1), (0, 0)), ((0, 7), (0, 0))
LABELS, SHARES = (((0, 0),), ((1, 1),)), (((0.2, 0),), ((0.8, 1),))
LOSSES = ((0.0, 1), (1.0, 1)), ((1.0, 1), (1.0, 1))
OF_NUMBERS = ((0.0, 0.0), (0.0, 0.0)), ((0.0, 7.0), (0.0, 0.0))
FLIPPED, NOISY = "search_by_permute_and_flip", "search_by_noisy_scores"
OF_ERRORS = "search_by_absolute_error_and_permute_and_flip"
MISTAKES = [
    *on("score_confusion_matrix", LABELS, added_records, noise_once),
    *on("score_binned", SHARES, added_records),
    *on("score_binned_for_each_label", SHARES, one_label),
    *on("score_log_loss", LOSSES, half_a_loss, no_noise),
    *on("score_absolute_error", OF_NUMBERS, half_the_range),
    *on("score_r2", (((0.0, 0.0),), ((0.0, 1.0),)), free_targets, late=True),
    *on("score_with_gaussian_noise", SHARES, half_the_distance),
    *on("score_of_groups", in_places("score_of_groups", (2, 0, 0), (1, 0, 0)), all_rows),
    *on(NOISY, LAST, no_noise, each_table),
    *on("search_by_log_loss_and_permute_and_flip", LAST, half_a_loss),
    *on("search_by_log_loss_and_noisy_scores", LAST, half_a_loss, late=True),
    *on(FLIPPED, FIRST, each_fit),
    *on(FLIPPED, LAST, no_noise, best, records_that_test_train_too),
    *on("search_by_random_stopping", LAST, no_noise, late=True),
    *on("search_and_refit", FIRST, each_fit, late=True),
    *on("best_of_runs", ((0,), (1,)), most_runs),
    *on("best_of_runs", ((0,), (1,)), shown_runs, late=True),
    *on(
        "search_by_absolute_error_and_permute_and_flip",
        NUMBERS,
        half_the_range,
        errors_not_clipped,
        late=True,
    ),
    *on("search_by_absolute_error_and_noisy_scores", NUMBERS, half_the_range, late=True),
    *on("selection_by_r2", NUMBERS, half_the_range, late=True),
    *on("selection_by_r2", NUMBERS, errors_not_clipped),
    *on("tuned_threshold", LAST, added_counts, records_that_test_train_too, late=True),
    # Universes so small hold not the worst data for these.
    *on("search_and_refit", LAST, records_that_test_train_too, way=LAW, late=True),
]


@mistakes(MISTAKES)
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


@pytest.mark.parametrize(
    "mistake",
    [
        instead(costs, "_growth", lambda stopping, mu: 1.0, "growth_of_the_slope_forgotten"),
        instead(random_stopping.RandomStopping, "mean", 1, "number_of_runs_forgotten"),
    ],
)
def test_a_mistake_in_the_cost_of_gaussian_runs_claims_less_than_enumeration_finds(monkeypatch, mistake):
    case = CASES["best_of_gaussian_runs"]
    found, half = Fraction(case.frozen()["epsilon"]), Fraction(1, 4)
    assert costs.gaussian_runs_delta(RandomStopping(7), half, found) > case.claim.delta
    mistake(monkeypatch)
    assert costs.gaussian_runs_delta(RandomStopping(7), half, found) < case.claim.delta
