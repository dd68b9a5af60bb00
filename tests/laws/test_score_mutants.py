"""Deliberate mistakes in private scores by metrics: each breaks a claim that the original keeps."""

import numpy as np
import pytest

from dplearn.audit.cases.scores import CASES as SCORE_CASES
from dplearn.fit import execute
from dplearn.model_selection import search, tables
from tests.laws.conftest import OnePair

CASES = {case.name: case for case in SCORE_CASES}


def records_that_are_added(monkeypatch):
    for kind in (tables.ConfusionCounts, tables.BinnedScores):
        monkeypatch.setattr(kind, "l1", 1)
        monkeypatch.setattr(kind, "squared_l2", 1)


def tables_of_all_labels_for_the_price_of_one(monkeypatch):
    monkeypatch.setattr(tables.BinnedScores, "l1", 2)


def losses_that_move_by_one_step(monkeypatch):
    monkeypatch.setattr(tables.LossSum, "l1", 1)


def errors_of_half_the_range(monkeypatch):
    monkeypatch.setattr(tables.TargetSums, "l1", property(lambda self: self.steps // 2))


def targets_for_free(monkeypatch):
    monkeypatch.setattr(tables.TargetSums, "l1", property(lambda self: self.steps))


def no_noise(monkeypatch):
    monkeypatch.setattr(tables.TableNoise, "added", lambda self, counts, **_: counts)


def noise_drawn_once(monkeypatch):
    honest = tables.TableNoise.added

    def added(self, counts, *, low, high, dice):
        noise = honest(self, np.zeros(1, dtype=np.int64), low=low, high=high, dice=dice)
        return np.clip(counts + noise[0], low, high)

    monkeypatch.setattr(tables.TableNoise, "added", added)


def gaussian_noise_for_half_the_distance(monkeypatch):
    honest = tables.gaussian_sums
    monkeypatch.setattr(
        tables,
        "gaussian_sums",
        lambda counts, *, squared_sensitivity, **how: (
            np.asarray(counts) + (honest(0 * counts, squared_sensitivity=squared_sensitivity, **how) // 4)
        ),
    )


def all_rows_of_a_person(monkeypatch):
    honest = execute.grouping_of
    monkeypatch.setattr(execute, "grouping_of", lambda groups, n, **how: honest(np.arange(n), n, **how))


def each_table_has_the_whole_budget(monkeypatch):
    honest = search._noisy
    monkeypatch.setattr(
        search, "_noisy", lambda counts, plan, privacy, dice, *, tables=1: honest(counts, plan, privacy, dice)
    )


def the_winners_counts_again_without_noise(monkeypatch):
    honest = search._by_noisy_scores

    def by_tables(trial, plan, dice):
        choice = honest(trial, plan, dice)
        exact = search._counted(trial, plan, choice.index, dice)[0]
        table = choice.tables[choice.index]
        return search.replace(
            choice, tables={**choice.tables, choice.index: search.replace(table, counts=exact)}
        )

    monkeypatch.setattr(search, "_by_noisy_scores", by_tables)


AT_NIGHT = pytest.mark.nightly
#: What each mistake is made in, and neighbours that it shows on, as records or None for all tables.
BREACHES = [
    ("score_confusion_matrix", records_that_are_added, (((0, 0),), ((1, 1),))),
    ("score_confusion_matrix", noise_drawn_once, (((0, 0),), ((1, 1),))),
    ("score_binned", records_that_are_added, (((0.2, 0),), ((0.8, 1),))),
    ("score_binned_for_each_label", tables_of_all_labels_for_the_price_of_one, (((0.2, 0),), ((0.8, 1),))),
    ("score_log_loss", losses_that_move_by_one_step, (((0.0, 1), (1.0, 1)), ((1.0, 1), (1.0, 1)))),
    ("score_log_loss", no_noise, (((0.0, 1), (1.0, 1)), ((1.0, 1), (1.0, 1)))),
    ("score_absolute_error", errors_of_half_the_range, (((0.0, 0.0), (0.0, 0.0)), ((0.0, 7.0), (0.0, 0.0)))),
    ("score_with_gaussian_noise", gaussian_noise_for_half_the_distance, (((0.2, 0),), ((0.8, 1),))),
    ("score_of_groups", all_rows_of_a_person, None),
    ("search_by_noisy_scores", no_noise, ((0, 1), (0, 0))),
    ("search_by_noisy_scores", each_table_has_the_whole_budget, ((0, 1), (0, 0))),
    ("search_by_log_loss_and_permute_and_flip", losses_that_move_by_one_step, ((0, 1), (0, 0))),
    pytest.param(
        "search_by_log_loss_and_noisy_scores", losses_that_move_by_one_step, ((0, 1), (0, 0)), marks=AT_NIGHT
    ),
    pytest.param(
        "search_by_noisy_scores", the_winners_counts_again_without_noise, ((0, 1), (0, 0)), marks=AT_NIGHT
    ),
    pytest.param("score_r2", targets_for_free, (((0.0, 0.0),), ((0.0, 1.0),)), marks=AT_NIGHT),
]


@pytest.mark.parametrize(("name", "mistake", "pair"), BREACHES)
def test_a_mistake_in_a_score_exceeds_the_claim(monkeypatch, name, mistake, pair):
    fresh = CASES[name].with_fit(CASES[name].fit)
    mistake(monkeypatch)
    case = fresh if pair is None else OnePair.of(fresh, pair)
    assert not case.run().keeps(case.claim)
