"""Laws of the aggregators of scores: all draws are charged, and the bounds of plans hold."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn.audit import FaultyDice
from dplearn.chance import ReplayDice, SeededDice
from dplearn.chance.enumerating import enumerate_paths
from dplearn.kernels.exact import log_bounds
from dplearn.kernels.votes import FIXED_POINT_ONE, Lead, SoftVotes, fixed_point, soft_tally
from dplearn.learners.votes import aggregators as module
from dplearn.learners.votes.aggregators import SOFT_AGGREGATIONS, Ballot
from dplearn.mechanisms import sparse_vector
from dplearn.privacy import ApproxDP, Composition
from dplearn.privacy.events import Approximate, ZeroConcentrated
from dplearn.privacy.shares import concentrated_budget
from dplearn.privacy.stable_answers import StableAnswersNoise

MODEST, AMPLE = ApproxDP(2, "1e-6"), ApproxDP(100, "1e-6")
TEACHERS = 600

each_aggregation = pytest.mark.parametrize("name", SOFT_AGGREGATIONS)
each_number_of_labels = pytest.mark.parametrize("n_labels", [2, 3])


def ballot(privacy=MODEST, n_labels=2, n_teachers=TEACHERS, max_queries=10, max_abstentions=4):
    return Ballot(privacy, n_labels, n_teachers, max_queries, max_abstentions)


def prepared(name, dice, **public):
    return SOFT_AGGREGATIONS[name](ballot(**public)).attach(dice)


def unanimous(n_rows, n_labels=2, score=0.3, n_teachers=TEACHERS, n_bins=4):
    """All teachers score all labels alike."""
    width = 1 if n_labels == 2 else n_labels
    fixed_scores = fixed_point(np.full((n_teachers, n_rows * width), score))
    return soft_tally(fixed_scores, np.full(n_rows, n_bins), width)


def spread(n_rows, n_labels=2, n_teachers=TEACHERS):
    """In no bin and no shifted bin there are more than a fourth of the scores, and two have as many."""
    width = 1 if n_labels == 2 else n_labels
    scores = (np.arange(n_teachers) % 8 + 0.5)[:, None] / 8 + np.zeros(n_rows * width)
    return soft_tally(fixed_point(scores), np.full(n_rows, 4), width)


# A sparse vector of known noise, which can be walked


def votes_of(rows, n_bins=4):
    """Votes with given distances: a row is a list of (plain distance, shifted distance, shifted winner)."""
    width = len(rows[0])
    plain, shifted, ends = np.array([score for row in rows for score in row], dtype=np.int64).T
    winner = np.arange(plain.size) % n_bins
    lead = np.where(ends, n_bins - 1, winner % (n_bins - 1))
    fixed_scores = np.zeros((1, plain.size), dtype=np.int16)
    return SoftVotes(
        fixed_scores, np.full(plain.size, n_bins), width, Lead(winner, plain), Lead(lead, shifted)
    )


def part(votes, start, stop):
    """The rows from start to stop."""
    here = slice(start * votes.width, stop * votes.width)
    leads = (Lead(lead.winner[here], lead.distance[here]) for lead in (votes.plain, votes.shifted))
    return SoftVotes(votes.fixed_scores[:, here], votes.n_bins[here], votes.width, *leads)


@pytest.fixture(params=[False, True], ids=["kept", "renewed"])
def small(request, monkeypatch):
    """Make a sparse vector with little noise, which half of the draws decide; from labels and declines."""

    def make(n_labels, max_abstentions):
        def noise(tests):
            assert tests.max_abstentions == 2 * max_abstentions
            ratios = Fraction(1, 4), Fraction(1, 3)
            return StableAnswersNoise(2, *ratios, request.param, tests.max_abstentions), 3

        monkeypatch.setattr(module, "stable_noise", noise)
        public = ballot(n_labels=n_labels, max_queries=10, max_abstentions=max_abstentions)
        return SOFT_AGGREGATIONS["sparse_vector"](public)

    return make


def law_of(run):
    distribution = {}
    for outcome, probability in enumerate_paths(run, tail_bits=4):
        distribution[outcome] = distribution.get(outcome, 0) + probability
    return distribution


def state(aggregator):
    return aggregator._questions.epoch[0], aggregator.remaining_queries, aggregator.remaining_abstentions


def text(scores):
    return tuple(map(str, scores.ravel().tolist()))


def in_batches(make, votes, sizes):
    """Return the answers to the rows in batches of these sizes, and the remaining queries."""

    def run(dice):
        aggregator, asked, released = make().attach(dice), 0, ()
        for size in sizes:
            if not aggregator.remaining_queries:
                break
            released += text(aggregator.answer(part(votes, asked, asked + size)))
            asked += size
        queries = aggregator.remaining_queries and 10 - len(votes)
        assert aggregator.remaining_queries == queries
        return released, aggregator._questions.epoch[0]

    return law_of(run)


def one_after_the_other(make, votes):
    """The algorithm as it is described: each score alone, asked of bins and then of shifted bins."""

    def run(dice):
        aggregator = make().attach(dice)
        questions, released = aggregator._questions, []

        def unstable(lead, i):
            return questions.answer(-lead.distance[[i]])[0]

        for row in range(len(votes)):
            scores = [float("nan")] * votes.width
            for column in range(votes.width):
                i, b = row * votes.width + column, 4
                if not questions.epoch[0]:
                    continue
                if not unstable(votes.plain, i):
                    scores[column] = float((2 * votes.plain.winner[i] + 1) / (2 * b))
                elif questions.epoch[0] and not unstable(votes.shifted, i):
                    j = votes.shifted.winner[i]
                    scores[column] = float("nan") if j == b - 1 else float((j + 1) / b)
            released += map(str, scores)
            if not questions.epoch[0]:
                break
        return tuple(released), questions.epoch[0]

    return law_of(run)


#: Plain distance, shifted distance, and whether the ends win the shifted bins: most near the threshold.
NEAR, HALF, ENDS, FAR = (2, 2, 0), (1, 3, 0), (1, 3, 1), (9, 0, 0)
CASES = {
    "two labels": (2, 1, [[NEAR], [HALF], [ENDS]]),
    "two to be declined": (2, 2, [[NEAR], [HALF], [ENDS]]),
    "far": (2, 2, [[FAR], [(0, 0, 0)], [FAR]]),
    "three labels": (3, 2, [[HALF, FAR, ENDS]]),
    "two rows of three": (3, 1, [[FAR, NEAR, FAR], [FAR, FAR, ENDS]]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("chunk", [pytest.param(1, marks=pytest.mark.nightly), 2, 2048])
def test_one_call_and_many_have_the_law_of_the_algorithm(small, case, chunk, monkeypatch):
    monkeypatch.setattr(sparse_vector, "_CHUNK", chunk)
    n_labels, max_abstentions, rows = CASES[case]
    votes = votes_of(rows)

    def make():
        return small(n_labels, max_abstentions)

    expected = one_after_the_other(make, votes)
    assert len(expected) > 1
    for sizes in ([1] * len(rows), [len(rows)], [1, len(rows) - 1])[: len(rows)]:
        assert in_batches(make, votes, sizes) == expected


def test_scores_that_lie_within_half_a_bin_are_answered_wherever_that_is():
    generator = np.random.default_rng(0)
    for n_bins in (2, 3, 10):
        for low in np.linspace(1 / (2 * n_bins), 1 - 1 / n_bins, 9):
            scores = generator.uniform(low, low + 0.49 / n_bins, size=(TEACHERS, 1))
            (answer,) = prepared("sparse_vector", SeededDice(0), privacy=AMPLE).answer(
                soft_tally(fixed_point(scores), np.array([n_bins]))
            )
            assert abs(answer - scores).min() <= 1 / (2 * n_bins) + 1 / FIXED_POINT_ONE  # the deciding scores
            assert abs(answer - scores).max() <= 1 / n_bins + 1 / FIXED_POINT_ONE


# Remaining queries and abstentions


@each_aggregation
@pytest.mark.parametrize("drawn", [False, True])
def test_noise_is_paid_before_it_is_drawn_wherever_it_is_interrupted(name, drawn):
    for at in range(12):
        aggregator = prepared(name, FaultyDice(SeededDice(0), at=at, drawn=drawn))
        before = state(aggregator)[0] if aggregator.unstable_per_abstention else 0
        try:
            aggregator.answer(spread(4))
        except KeyboardInterrupt:
            assert aggregator.remaining_queries < 10
            if before:  # unstable tests are not refunded
                assert aggregator._questions.epoch[0] <= before - max(0, (at - 1) // 2 - 1)


# Costs


def stable_event(trace, nones):
    """One threshold, or one per unstable test; a run costs ln(1/a) + 2 T ln(1/b), and may be faulty."""
    thresholds = [draw for draw in trace if draw.arguments[2] is None]
    tests = [draw for draw in trace if draw.arguments[2] is not None]
    (a,), (b,) = {draw.arguments[0] for draw in thresholds}, {draw.arguments[0] for draw in tests}
    threshold = thresholds[0].outcome - tests[0].arguments[1][0]
    assert len(thresholds) in (1, nones)
    each = 1 if len(thresholds) == nones else nones
    spoiled = a**threshold * (1 - b**each) / (1 - a * b**each)
    epsilon = log_bounds(1 / a)[0] + 2 * each * log_bounds(1 / b)[0]
    return Composition({Approximate(epsilon, spoiled): nones // each})


@each_number_of_labels
@pytest.mark.parametrize("privacy", [MODEST, ApproxDP("0.3", "1e-4"), ApproxDP(20, "1e-9")], ids=str)
def test_a_sparse_vectors_draws_cost_the_budget_for_two_unstable_tests_a_score_and_hardly_less(
    n_labels, privacy
):
    dice = ReplayDice(SeededDice(0))
    aggregator = prepared("sparse_vector", dice, privacy=privacy, n_labels=n_labels, n_teachers=100_000)
    rows = votes_of([[(0, 0, 0)] * (1 if n_labels == 2 else n_labels)])
    while aggregator.remaining_queries:
        aggregator.answer(rows)
    spent = stable_event(dice.trace, nones=8).total(privacy.delta)
    assert privacy.epsilon * Fraction(99, 100) < spent.epsilon <= privacy.epsilon


class Noiseless:
    """Dice that draw no noise, and note how much it would have been."""

    def __init__(self):
        self.variances = []

    def discrete_gaussian(self, sigma2, size):
        self.variances += [sigma2] * size
        return np.zeros(size, dtype=np.int64)


def sums_of(fixed_scores, n_labels, privacy=MODEST, max_queries=10, teachers=1):
    """The sums of a mean before noise, in steps; the variance of the noise; and the number of steps per 1.

    Each column of `fixed-point scores`, or each `n_labels` of them, is a query of its own.
    """
    width = 1 if n_labels == 2 else n_labels
    rows = fixed_scores.shape[1] // width
    sums = []
    for start in range(0, rows, max_queries):
        dice = Noiseless()
        public = {"n_labels": n_labels, "n_teachers": teachers, "max_queries": max_queries}
        mean = prepared("mean", dice, privacy=privacy, **public)
        here = fixed_scores[:, start * width : (start + max_queries) * width]
        votes = soft_tally(here, np.full(here.shape[1] // width, 2), width)
        sums.append(mean.answer(votes) * (teachers * mean._grid) - teachers / 2)
        (variance,) = set(dice.variances)
    sums = np.concatenate(sums)
    assert abs(sums - sums.round()).max() < 1e-6
    return sums.round().astype(np.int64), variance, mean._grid


#: From noise so wide that a grid has two steps to noise so narrow that it has all.
WIDTHS = [(ApproxDP("0.001", "1e-6"), 1), (MODEST, 1), (MODEST, 100), (ApproxDP(1000, "1e-6"), 10_000)]


@pytest.mark.parametrize(("privacy", "teachers"), WIDTHS)
def test_one_teacher_of_two_labels_moves_a_sum_by_less_than_the_noise_was_paid_for(privacy, teachers):
    every = np.arange(-1, FIXED_POINT_ONE, dtype=np.int16)[None]
    sums, variance, grid = sums_of(every, 2, privacy, max_queries=FIXED_POINT_ONE + 1, teachers=teachers)
    moved = int(sums.max() - sums.min())
    assert moved < grid
    rho = Fraction(moved**2) / (2 * variance)
    assert (FIXED_POINT_ONE + 1) * rho <= concentrated_budget(privacy)
    assert isinstance(variance, Fraction)


@pytest.mark.parametrize("n_labels", [3, 4])
@pytest.mark.parametrize(("privacy", "teachers"), WIDTHS)
def test_one_teacher_moves_the_sums_of_many_labels_by_at_most_the_sensitivity_of_the_noise(
    n_labels, privacy, teachers
):
    values = [
        0,
        1,
        FIXED_POINT_ONE // 4,
        FIXED_POINT_ONE // 3,
        FIXED_POINT_ONE // 2 - 1,
        FIXED_POINT_ONE // 2,
        FIXED_POINT_ONE - 2,
        FIXED_POINT_ONE - 1,
    ]
    rows = [row for row in product(values, repeat=n_labels) if sum(row) <= FIXED_POINT_ONE] + [
        (-1,) * n_labels
    ]
    fixed_scores = np.array(rows, dtype=np.int16).reshape(1, -1)
    sums, variance, grid = sums_of(fixed_scores, n_labels, privacy, max_queries=len(rows), teachers=teachers)
    sums = np.unique(sums, axis=0)
    moved = max(((sums - row) ** 2).sum(axis=1).max() for row in sums)
    assert len(rows) * Fraction(int(moved)) / (2 * variance) <= concentrated_budget(privacy)
    assert moved > grid**2 / 2


@pytest.mark.parametrize(("n_labels", "squared"), [(2, 1), (3, 2), (10, 2)])
@pytest.mark.parametrize("privacy", [MODEST, ApproxDP("0.3", "1e-4"), ApproxDP(1000, "1e-9")], ids=str)
def test_a_means_draws_cost_the_budget_for_every_partition_into_batches(n_labels, squared, privacy):
    dice = ReplayDice(SeededDice(0))
    mean = prepared("mean", dice, privacy=privacy, n_labels=n_labels)
    for batch in (1, 7, 2):
        mean.answer(unanimous(batch, n_labels, score=1 / n_labels))
    width = 1 if n_labels == 2 else n_labels
    assert sum(draw.arguments[1] for draw in dice.trace) == 10 * width  # as many draws as scores
    rho = sum(
        Fraction(draw.arguments[1], width) * squared * mean._grid**2 / (2 * draw.arguments[0])
        for draw in dice.trace
    )
    assert rho == concentrated_budget(privacy)
    spent = Composition({ZeroConcentrated(rho): 1}).total(privacy.delta)
    assert privacy.epsilon * Fraction(99, 100) < spent.epsilon <= privacy.epsilon


@each_number_of_labels
def test_the_noise_scale_of_a_mean_is_the_standard_deviation_of_its_draws(n_labels):
    dice = ReplayDice(SeededDice(0))
    mean = prepared("mean", dice, n_labels=n_labels, max_queries=3000)
    scores = mean.answer(unanimous(3000, n_labels, score=0.3))
    drawn = np.concatenate([draw.outcome for draw in dice.trace]).astype(float)
    assert abs(drawn.std() / mean._grid / mean.noise_scale - 1) < 0.05
    assert abs(scores.std() * TEACHERS / mean.noise_scale - 1) < 0.05


# Means


@pytest.mark.parametrize(("privacy", "teachers"), WIDTHS)
@each_number_of_labels
def test_a_mean_is_unbiased_but_for_its_grid(privacy, teachers, n_labels):
    dice, width = Noiseless(), 1 if n_labels == 2 else n_labels
    public = {"n_labels": n_labels, "n_teachers": FIXED_POINT_ONE, "max_queries": 1}
    mean = prepared("mean", dice, privacy=privacy, **public)
    every = np.repeat(np.arange(FIXED_POINT_ONE, dtype=np.int16)[:, None], width, axis=1)
    released = mean.answer(soft_tally(every, np.array([2]), width))
    assert released.ravel().tolist() == [0.5] * width  # the mean of all scores from 0 to 1


@pytest.mark.parametrize(("privacy", "teachers"), WIDTHS)
@pytest.mark.parametrize("n_labels", [2, 3, 7])
def test_each_score_is_released_within_half_a_step_and_no_score_as_equally_likely(
    privacy, teachers, n_labels
):
    width = 1 if n_labels == 2 else n_labels
    scores = [1 / n_labels, 0.0, 0.9999, 0.123, 1 / 3]
    for score, grain in [*((score, None) for score in scores), (1 / n_labels, -1)]:
        mean = prepared("mean", Noiseless(), privacy=privacy, n_labels=n_labels, n_teachers=teachers)
        fixed_scores = (
            fixed_point(np.full((teachers, width), score))
            if grain is None
            else np.full((teachers, width), -1)
        )
        released = mean.answer(soft_tally(fixed_scores, np.array([2]), width))
        assert abs(released - score).max() <= 0.5 / mean._grid + 1e-12
        # The plan assumes that the noise exceeds a step, or that the grid is the finest.
        assert 1 / mean._grid <= max(mean.noise_scale / (4 * teachers), 1 / FIXED_POINT_ONE)


# Bounds of plans


@pytest.mark.first_by_day
@each_number_of_labels
def test_with_the_least_number_of_decided_scores_it_answers_all_with_the_stated_probability(n_labels):
    public = ballot(ApproxDP(4, "1e-6"), n_labels, n_teachers=2000, max_queries=30, max_abstentions=4)
    made = SOFT_AGGREGATIONS["sparse_vector"](public)
    width = made.width(n_labels)
    n_scores = 30 * width
    assert made.least_decided == n_scores - 3
    fixed_scores = np.full((2000, n_scores), FIXED_POINT_ONE // 8, dtype=np.int16)
    fixed_scores[: (2000 - made.least_lead) // 2] = 7 * FIXED_POINT_ONE // 8
    fixed_scores[::2, :3], fixed_scores[1::2, :3] = (
        0,
        FIXED_POINT_ONE // 2,
    )  # neither a plain nor a shifted bin has a majority: two unstable tests each
    stopped = 0
    for seed in range(100):
        made = SOFT_AGGREGATIONS["sparse_vector"](public).attach(SeededDice(seed))
        scores = made.answer(soft_tally(fixed_scores, np.full(30, 4), width))
        stopped += len(scores) < 30
    assert stopped < 12  # 5 of 100 runs may


# Where it is kept


def test_the_last_label_of_shifted_bins_has_midpoint_nan_and_is_an_abstention():
    """Half of the teachers are certain of each label: no teacher has the mean score of one half."""
    scores = np.where(np.arange(TEACHERS) % 2, 0.99, 0.01)[:, None]
    votes = soft_tally(fixed_point(scores), np.array([4]))
    aggregator = prepared("sparse_vector", SeededDice(0), privacy=AMPLE)
    assert np.isnan(aggregator.answer(votes)).all()
    assert state(aggregator) == (7, 9, 4)
