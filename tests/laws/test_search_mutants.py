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
from dplearn.privacy import random_stopping as costs
from dplearn.privacy.random_stopping import RandomStopping, gaussian_runs_delta
from dplearn.privacy.shares import gaussian_budget
from tests.laws.mutants import LAW, Mistake, around, assert_caught, given, in_places, instead, mistakes

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


def number_of_runs_published(monkeypatch):
    counted_of, publish, fitted = candidates.Trial.counted, search.PrivateSearchCV._publish, []

    def counted(self, index, *known, **how):
        fitted.append(index)
        return counted_of(self, index, *known, **how)

    def published(self, *found):
        self.n_fits_ = len(fitted)
        fitted.clear()
        publish(self, *found)

    monkeypatch.setattr(candidates.Trial, "counted", counted)
    monkeypatch.setattr(search.PrivateSearchCV, "_publish", published)


def budget_of_one_run(stopping, total, fits):
    return gaussian_budget(replace(total, epsilon=stopping.factor * total.epsilon))


def the_winners_counts_again_without_noise(right, trial, plan, dice):
    choice = right(trial, plan, dice)
    exact = search._counted(trial, plan, choice.index, dice)[0]
    table = choice.tables[choice.index]
    return replace(choice, tables={**choice.tables, choice.index: replace(table, counts=exact)})


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
half_of_a_loss = instead(tables.LossSum, "l1", 1, "losses_that_move_by_one_step")
whole_budget = around(search, "_part", each_fit_has_the_whole_budget)
FIRST, LAST, NUMBERS = ((1, 0), (0, 0)), ((0, 1), (0, 0)), ((0, 7), (0, 0))
LABELS, SHARES = (((0, 0),), ((1, 1),)), (((0.2, 0),), ((0.8, 1),))
LOSSES = ((0.0, 1), (1.0, 1)), ((1.0, 1), (1.0, 1))
PERSONS = in_places("score_of_groups", (2, 0, 0), (1, 0, 0))
MISTAKES = [
    Mistake(patch, name, pair, late=late)
    for patch, name, pair, late in [
        (added_records, "score_confusion_matrix", LABELS, False),
        (around(tables.TableNoise, "added", noise_drawn_once), "score_confusion_matrix", LABELS, False),
        (added_records, "score_binned", SHARES, False),
        (
            instead(tables.BinnedScores, "l1", 2, "all_labels_for_the_price_of_one"),
            "score_binned_for_each_label",
            SHARES,
            False,
        ),
        (half_of_a_loss, "score_log_loss", LOSSES, False),
        (no_noise, "score_log_loss", LOSSES, False),
        (
            sensitivity_of_half_the_range,
            "score_absolute_error",
            (((0.0, 0.0), (0.0, 0.0)), ((0.0, 7.0), (0.0, 0.0))),
            False,
        ),
        (
            instead(tables.TargetSums, "l1", property(lambda each: each.steps), "targets_for_free"),
            "score_r2",
            (((0.0, 0.0),), ((0.0, 1.0),)),
            True,
        ),
        (
            around(tables, "gaussian_sums", gaussian_noise_for_half_the_distance),
            "score_with_gaussian_noise",
            SHARES,
            False,
        ),
        (around(execute, "grouping_of", all_rows_of_a_person), "score_of_groups", PERSONS, False),
        (no_noise, "search_by_noisy_scores", LAST, False),
        (around(search, "_noisy", each_table_has_the_whole_budget), "search_by_noisy_scores", LAST, False),
        (
            around(search, "_by_noisy_scores", the_winners_counts_again_without_noise),
            "search_by_noisy_scores",
            LAST,
            True,
        ),
        (half_of_a_loss, "search_by_log_loss_and_permute_and_flip", LAST, False),
        (half_of_a_loss, "search_by_log_loss_and_noisy_scores", LAST, True),
        (whole_budget, "search_by_permute_and_flip", FIRST, False),
        (no_noise, "search_by_permute_and_flip", LAST, False),
        (instead(search, "permute_and_flip", best_by_true_errors), "search_by_permute_and_flip", LAST, False),
        (records_that_test_train_too, "search_by_permute_and_flip", LAST, False),
        (no_noise, "search_by_random_stopping", LAST, True),
        (whole_budget, "search_and_refit", FIRST, True),
        (
            around(search_cases, "best_of_runs", as_many_runs_as_there_may_be),
            "best_of_runs",
            ((0,), (1,)),
            False,
        ),
        (around(search_cases, "best_of_runs", number_of_runs_shown), "best_of_runs", ((0,), (1,)), True),
        (sensitivity_of_half_the_range, "search_by_absolute_error_and_permute_and_flip", NUMBERS, True),
        (sensitivity_of_half_the_range, "search_by_absolute_error_and_noisy_scores", NUMBERS, True),
        (sensitivity_of_half_the_range, "selection_by_r2", NUMBERS, True),
        (errors_not_clipped, "selection_by_r2", NUMBERS, False),
        (errors_not_clipped, "search_by_absolute_error_and_permute_and_flip", NUMBERS, True),
        (
            given("counts_for_an_added_record", tables, "laplace_counts", sensitivity=1),
            "tuned_threshold",
            LAST,
            True,
        ),
        (records_that_test_train_too, "tuned_threshold", LAST, True),
    ]
] + [
    # Universes so small hold not the worst data for these.
    Mistake(number_of_runs_published, "search_by_random_stopping", FIRST, LAW, late=True),
    Mistake(records_that_test_train_too, "search_and_refit", LAST, LAW, late=True),
    Mistake(
        instead(search, "gaussian_run_budget", budget_of_one_run),
        "search_over_gaussian_fits",
        FIRST,
        LAW,
        late=True,
    ),
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
    assert gaussian_runs_delta(RandomStopping(7), half, found) > case.claim.delta
    mistake(monkeypatch)
    assert gaussian_runs_delta(RandomStopping(7), half, found) < case.claim.delta
