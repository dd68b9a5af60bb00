"""Deliberate mistakes in private search and in scores: each breaks a claim that the original keeps."""

from fractions import Fraction

import pytest

from dplearn.audit.cases import CASES
from dplearn.privacy import RandomStopping, random_stopping
from tests.laws.mutants import assert_caught, edit, edits, mistakes, on, together

BY_DAY = """
score_confusion_matrix in model_selection.tables:ConfusionCounts.moved
    return 2 -> return 1
score_confusion_matrix in model_selection.tables:TableNoise.added
    counts, priv -> 0 * counts[:1], priv
    and np.asarray(found, -> np.asarray(np.clip(counts + found[0], low, high),
score_binned in model_selection.tables:BinnedScores.moved
    2 * len(self.places) -> len(self.places)
score_binned_for_each_label in model_selection.tables:BinnedScores.moved
    2 * len(self.places) -> 2
# A loss moves by one step.
score_log_loss, search_by_log_loss_and_permute_and_flip in model_selection.tables:Statistic.l1
    self.moved * self.steps -> self.moved
score_log_loss, search_by_noisy_scores, search_by_permute_and_flip in model_selection.tables:TableNoise.added
    np.asarray(found, dtype=np.int64) -> counts
score_with_gaussian_noise in model_selection.tables:TableNoise.added
    np.asarray(found, dtype=np.int64) -> counts + (found - counts) // 4
score_of_groups in fit.execute:_read_groups
    grouping_of(groups, -> grouping_of(np.arange(n),
search_by_noisy_scores in model_selection.search:_noisy
    tables=tables -> tables=1
search_by_permute_and_flip in model_selection.search:_part
    return -> return budget if share == 1 / 2 else
search_by_permute_and_flip in model_selection.search:flipped
    permute_and_flip(qualities, privacy=_half(plan.scoring), dice=dice, sensitivity=most)
    -> int(np.argmax(qualities))
best_of_runs in mechanisms.selection:best_of_runs
    1 + dice.power_weighted(_ANY, [0] * stopping.most, stopping.weights) -> stopping.most
"""
BY_NIGHT = """
score_r2 in model_selection.tables:TargetSums.moved
    2 if -> 1 if
search_by_log_loss_and_noisy_scores in model_selection.tables:Statistic.l1
    self.moved * self.steps -> self.moved
search_by_random_stopping in model_selection.tables:TableNoise.added
    np.asarray(found, dtype=np.int64) -> counts
search_and_refit in model_selection.search:_part
    return -> return budget if share == 1 / 2 else
best_of_runs in mechanisms.selection:best_of_runs
    return best -> return best[0], (best[1], count)
tuned_threshold in model_selection.tables:TableNoise.added
    sensitivity=self.l1 -> sensitivity=1
"""
HALF_THE_RANGE = together(
    edit("model_selection.tables:Statistic.l1", "self.steps", "self.steps // 2"),
    edit("model_selection.search:flipped", "statistic.steps", "statistic.steps // 2"),
)
# The noisy sum may be as great as the errors are; the sensitivity is that of clipped ones.
NOT_CLIPPED = together(
    edit("model_selection.tables:TargetSums._shares", "shares.clip(-0.5, 0.5)", "shares"),
    edit("model_selection.tables:_steps", ".clip(0, steps)", ""),
    edit("model_selection.tables:Statistic.high", "self.steps", "7 * self.steps"),
)
TESTS_TRAIN = together(
    edit("model_selection.candidates:splits_by_position", "(np.asarray(train)", "(np.append(test, train)"),
    edit("model_selection.candidates:Exposure.of", "return cls(", "return cls(1, 1, True) or cls("),
)
OF_SEVERAL = [
    *on("score_absolute_error", HALF_THE_RANGE),
    *on("search_by_permute_and_flip", TESTS_TRAIN),
    *on("search_by_absolute_error_and_permute_and_flip", HALF_THE_RANGE, NOT_CLIPPED, late=True),
    *on("search_by_absolute_error_and_noisy_scores", HALF_THE_RANGE, late=True),
    *on("selection_by_r2", HALF_THE_RANGE, late=True),
    *on("selection_by_r2", NOT_CLIPPED),
    *on("tuned_threshold", TESTS_TRAIN, late=True),
    *on("search_and_refit", TESTS_TRAIN, late=True),  # universes so small hold not the worst data for it
]


@mistakes([*edits(BY_DAY), *edits(BY_NIGHT, late=True), *OF_SEVERAL])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


@pytest.mark.parametrize(
    "mistake",
    [
        edit("privacy.random_stopping:_growth", "float(max(first, last, kept)) * _MARGIN", "1.0"),
        edit("privacy.random_stopping:RandomStopping.mean", "return Fraction(", "return 1 or Fraction("),
    ],
)
def test_a_mistake_in_the_cost_of_gaussian_runs_claims_less_than_enumeration_finds(monkeypatch, mistake):
    case = CASES["best_of_gaussian_runs"]
    found, half = Fraction(case.frozen()["epsilon"]), Fraction(1, 4)
    assert random_stopping.gaussian_runs_delta(RandomStopping(7), half, found) > case.claim.delta
    mistake(monkeypatch)
    assert random_stopping.gaussian_runs_delta(RandomStopping(7), half, found) < case.claim.delta
