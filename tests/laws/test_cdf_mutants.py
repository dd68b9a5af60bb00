"""Deliberate mistakes in released distributions: each breaks a claim that the original keeps."""

import importlib
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dplearn.audit import enumerate_privacy, least_exp_epsilon
from dplearn.audit.cases import distribution as cdf_cases
from dplearn.audit.cases.distribution import CASES, released
from dplearn.audit.enumeration import distribution_on
from dplearn.kernels.exact import at_most_exp
from dplearn.kernels.intervals import children_of, counted, sorted_codes, whole
from dplearn.mechanisms.noisy_counts import laplace_counts, tree_counts
from dplearn.privacy import ApproxDP
from dplearn.releases.cdf_errors import TreePlan

blocks = importlib.import_module("dplearn.mechanisms.block_points")
module = importlib.import_module("dplearn.mechanisms.noisy_counts")  # where the package has the function
FOUR, THREE, GAUSSIAN, *BLOCK_CASES = CASES


def laws_of(fit, pair):
    return [distribution_on(fit, rows) for rows in pair]


def breaks(case, pair, fit=None):
    """Whether the claim fails between two datasets, one way or the other."""
    one, other = laws_of(fit or case.fit, pair)
    worst = [
        least_exp_epsilon(*distributions, case.claim.delta)[0]
        for distributions in ((one, other), (other, one))
    ]
    return not all(found is not None and at_most_exp(found, case.claim.epsilon) for found in worst)


#: Neighbours of the first case, on which the original keeps its claim: they are among all that it compares.
FAR, PLAN = ((0, 2), (2, 2)), TreePlan(4, 2, 2, 1, ApproxDP(1), ApproxDP(1))
NOISY = module.laplace_counts


def for_one_path(counts, *, sensitivity, **options):
    """The noise of a level is for one count that moves: the record's old path, and not its new one."""
    return NOISY(counts, sensitivity=sensitivity - 1, **options)


def for_one_level(counts, *, privacy, **options):
    """Each of the two levels spends all."""
    return NOISY(counts, privacy=ApproxDP(2 * privacy.epsilon), **options)


def one_draw_for_all(counts, *, low, high, **options):
    """All counts of a level get the same noise."""
    shared = NOISY(0, low=-2, high=2, **options)
    return np.clip(counts + shared, low, high)


def scale_five_percent_too_small(counts, *, privacy, **options):
    return NOISY(counts, privacy=ApproxDP(privacy.epsilon * 105 / 100), **options)


def the_last_is_not_noisy(counts, **options):
    """As if the last count of a level followed from the others."""
    noisy = NOISY(counts, **options)
    noisy[-1] = counts[-1]
    return noisy


@pytest.mark.parametrize(
    "mistake",
    [for_one_path, for_one_level, one_draw_for_all, scale_five_percent_too_small, the_last_is_not_noisy],
)
def test_a_mistake_in_the_noise_breaks_the_claim(mistake, monkeypatch):
    monkeypatch.setattr(module, "laplace_counts", mistake)
    assert breaks(FOUR, FAR)


def in_steps(codes, size, *, fan_out, threshold, privacy, dice, low, high, by_true_counts=False):
    """The mechanism written anew, with what a mistake may put in."""
    ordered = sorted_codes(codes, size)
    level = whole(size, ordered.size)
    levels, decisive = [level], level.counts
    for _ in range(2):
        places = np.flatnonzero((decisive >= threshold) & (level.lengths > 1))
        if not places.size:
            break
        level = children_of(level, places, fan_out)
        true = counted(level, ordered)
        part = ApproxDP(privacy.epsilon / 2)
        noisy = laplace_counts(true, privacy=part, dice=dice, sensitivity=2, low=low, high=high)
        level = level.with_counts(noisy)
        decisive = true if by_true_counts else noisy
        levels.append(level)
    return levels


def within_the_data(codes, size, **options):
    """The domain ends where the data end."""
    return tree_counts([code - min(codes) for code in codes], max(codes) - min(codes) + 1, **options)


def fit_by(mechanism):
    return partial(released, mechanism, PLAN, False)


def test_the_mechanism_in_steps_has_the_originals_law():
    rows = (0, 2)
    ours, steps = (laws_of(fit_by(mechanism), [rows])[0] for mechanism in (tree_counts, in_steps))
    assert ours.key() == steps.key()


@pytest.mark.parametrize(
    "mechanism",
    [partial(in_steps, by_true_counts=True), within_the_data],
    ids=["opened where data lie", "ends"],
)
def test_a_mistake_in_what_is_counted_breaks_the_claim(mechanism):
    assert breaks(FOUR, FAR, fit_by(mechanism))


def test_a_root_without_noise_is_no_secret_where_records_come_and_go():
    report = enumerate_privacy(FOUR.fit, range(4), 1, neighbors="add_remove", ordered=False)
    assert report.exp_epsilon is None


# Blocks. No small case comes near their claim, so that most mistakes keep it: they show as another law.

BLOCKS, LARGE, BELOW, FILLED = BLOCK_CASES


@pytest.mark.nightly  # enumeration runs each, and replays it, with every change
@pytest.mark.parametrize("case", BLOCK_CASES, ids=lambda case: case.name)
def test_blocks_keep_their_claim_and_replay(case):
    report = case.run()
    assert report.keeps(case.claim)
    assert 0.04 < report.tightness(case.claim) < 0.2
    assert report.n_distributions == report.n_datasets
    assert case.replay() == []


CUTS, POINT, SELECT = blocks._cuts, blocks._point, blocks.interior_point_code


def the_same_noise_on_both_sides(monkeypatch):
    drawn = []

    def cuts(n, count, spacing, ratio, dice):
        if not drawn:
            drawn.extend(CUTS(3, count, spacing, ratio, dice))
            return list(drawn)
        return [min(n, drawn.pop())]

    monkeypatch.setattr(blocks, "_cuts", cuts)


def cuts_without_noise(monkeypatch):
    monkeypatch.setattr(blocks, "_cuts", lambda n, count, spacing, *_: [min(n, spacing)] * count)


def noise_of_twice_the_epsilon(monkeypatch):
    monkeypatch.setattr(
        blocks, "_cuts", lambda n, count, spacing, ratio, dice: CUTS(n, count, spacing, ratio**2, dice)
    )


def blocks_that_share_a_record(monkeypatch):
    """Overlapping shards: each block from above begins within the one from below."""

    def cuts(n, *others):
        return [max(1, cut) for cut in CUTS(n, *others)] if n < 3 else CUTS(n, *others)

    monkeypatch.setattr(blocks, "_cuts", cuts)


def points_at_twice_the_epsilon(monkeypatch):
    def point(block, plan, dice):
        return POINT(block, replace(plan, point=ApproxDP(2 * plan.point.epsilon)), dice)

    monkeypatch.setattr(blocks, "_point", point)


def points_without_noise(monkeypatch):
    monkeypatch.setattr(blocks, "_point", lambda block, *_: block[len(block) // 2] if block else 0)


MISTAKES = [
    the_same_noise_on_both_sides,
    cuts_without_noise,
    noise_of_twice_the_epsilon,
    blocks_that_share_a_record,
    points_at_twice_the_epsilon,
    points_without_noise,
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_blocks_changes_their_law(mistake, monkeypatch):
    rows = (0, 1, 2)
    [original] = laws_of(BLOCKS.fit, [rows])
    mistake(monkeypatch)
    [changed] = laws_of(BLOCKS.fit, [rows])
    assert changed.key() != original.key()


def test_points_without_noise_break_the_claim_of_blocks(monkeypatch):
    points_without_noise(monkeypatch)
    assert breaks(BLOCKS, ((1, 1, 2), (1, 1, 1)))


def lengths_by_the_data(codes, plan, **options):
    """Blocks are as long as the least value is frequent."""
    frequent = sum(code == min(codes) for code in codes)
    return blocks.block_points(codes, replace(plan, spacing=frequent), **options)


def test_lengths_taken_from_the_data_break_replay():
    case = BLOCKS.with_fit(partial(cdf_cases.released_blocks, lengths_by_the_data, BLOCKS.fit.args[1]))
    assert any("discrete_laplace" in found for found in case.replay())


def test_the_recursive_method_on_blocks_that_are_not_filled_has_another_law(monkeypatch):
    rows = (0, 1, 2)
    [original] = laws_of(FILLED.fit, [rows])
    monkeypatch.setattr(
        blocks,
        "_point",
        lambda block, plan, dice: SELECT(block, plan.size, privacy=plan.sizes.base, dice=dice),
    )
    [changed] = laws_of(FILLED.fit, [rows])
    assert changed.key() != original.key()
