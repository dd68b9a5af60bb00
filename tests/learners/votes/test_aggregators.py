"""Laws of aggregators of votes and scores: queries are counted, draws are charged, bounds of plans hold."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn.audit import FaultyDice
from dplearn.chance import ReplayDice, SeededDice
from dplearn.kernels import FIXED_POINT_ONE, log_bounds, plurality, scores_per_row
from dplearn.kernels.votes import Votes, fixed_point, soft_tally
from dplearn.learners.votes import AGGREGATIONS, SOFT_AGGREGATIONS, Ballot
from dplearn.privacy import ApproxDP, Approximate, Composition, PureDP, ZeroConcentrated, concentrated_budget

TEACHERS = 600
MODEST, AMPLE = ApproxDP(2, "1e-6"), ApproxDP(100, "1e-6")
OF = {"votes": AGGREGATIONS, "scores": SOFT_AGGREGATIONS}
EVERY = [(of, name) for of, kinds in OF.items() for name in kinds]
each_of_both = pytest.mark.parametrize(("of", "name"), EVERY, ids=[f"{name} of {of}" for of, name in EVERY])
each_number_of_labels = pytest.mark.parametrize("n_labels", [2, 3])


def ballot(privacy=MODEST, n_labels=2, n_teachers=TEACHERS, max_queries=10, max_abstentions=4):
    return Ballot(privacy, n_labels, n_teachers, max_queries, max_abstentions)


def made(of, name, dice, **public):
    return OF[of][name](ballot(**public)).attach(dice)


def votes(counts):
    counts = np.array(counts, dtype=np.int64)
    return Votes(counts, *plurality(counts))


def scored(scores, n_labels=2, n_bins=4):
    """Votes of scores of all teachers, which are a row each."""
    width = scores_per_row(n_labels)
    return soft_tally(fixed_point(scores), n_bins, width)


def unanimous(of, number, n_labels=2, n_teachers=TEACHERS):
    """All teachers vote for the first label, or score all labels 0.3."""
    if of == "votes":
        return votes(np.tile([n_teachers] + [0] * (n_labels - 1), (number, 1)))
    return scored(np.full((n_teachers, number * scores_per_row(n_labels)), 0.3), n_labels)


def spread(of, number, n_labels=2):
    """Votes without agreement; in no bin and no shifted bin is more than a fourth of the scores."""
    if of == "votes":
        return votes(np.full((number, n_labels), TEACHERS // n_labels))
    scores = (np.arange(TEACHERS) % 8 + 0.5)[:, None] / 8
    return scored(np.tile(scores, number * scores_per_row(n_labels)), n_labels)


def declined(of, answers):
    return answers.codes < 0 if of == "votes" else np.isnan(answers).any(axis=1)


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_an_answer_is_the_label_of_the_greatest_noisy_count_and_an_abstention_has_no_counts(name):
    counts = np.random.default_rng(0).multinomial(TEACHERS, [0.9, 0.05, 0.05], size=5)  # public
    counts[0] = TEACHERS // 3
    for seed in range(20):
        answers = made("votes", name, SeededDice(seed), n_labels=3, max_abstentions=10).answer(votes(counts))
        assert answers.counts.shape == (5, 3)
        answered = answers.codes >= 0
        assert (answers.codes == answers.counts.argmax(axis=1))[answered].all()
        assert not answers.counts[~answered].any()
        assert (answers.counts != counts)[answered].any(axis=1).all()


@each_of_both
def test_remaining_abstentions_are_counted_exactly(of, name):
    aggregator = made(of, name, SeededDice(0))
    if not aggregator.unstable_per_abstention:
        assert aggregator.remaining_abstentions is None
        return
    abstained = 0
    for _ in range(3):
        abstained += np.count_nonzero(declined(of, aggregator.answer(spread(of, 1))))
        assert aggregator.remaining_abstentions == 4 - abstained
    assert abstained == 3
    last = aggregator.answer(spread(of, 5))
    assert declined(of, last).tolist() == [True]  # and no answer behind the one that stops it
    assert (aggregator.remaining_queries, aggregator.remaining_abstentions) == (0, 0)


@each_of_both
def test_a_refused_batch_draws_nothing_and_costs_nothing_and_noise_is_paid_before_it_is_drawn(of, name):
    dice = FaultyDice(SeededDice(0))
    aggregator = made(of, name, dice, privacy=AMPLE)
    for asked in (0, 6, 4):
        if asked:
            aggregator.answer(unanimous(of, asked))
        drawn, left = dice.n_draws, aggregator.remaining_queries
        for refused in (0, left + 1, left + 1000):
            with pytest.raises(ValueError, match="at least one query, and of at most those that are left"):
                aggregator.answer(unanimous(of, refused))
        assert (dice.n_draws, aggregator.remaining_queries) == (drawn, left)
    for at, drawn in product(range(10), (False, True)):
        aggregator = made(of, name, FaultyDice(SeededDice(0), at=at, drawn=drawn))
        try:
            aggregator.answer(spread(of, 4))
        except KeyboardInterrupt:
            assert aggregator.remaining_queries < 10
        else:
            assert at


# Costs: computed from the draws alone


def of_draws(trace):
    """The variance and the number of Gaussian draws together."""
    assert {draw.primitive for draw in trace} == {"discrete_gaussian"}
    return [(draw.arguments[0], Fraction(draw.arguments[1])) for draw in trace]


def gaussian_rho(draws, n_labels):
    """The sum of 1 / sigma2 over queries: a moved vote changes two counts of each by 1."""
    return sum((size / n_labels / sigma2 for sigma2, size in draws), Fraction(0))


def confident_rho(trace, n_labels):
    """A test's single count moves by 1, which costs 1 / (2 sigma2); the wider noise is that of tests."""
    draws = of_draws(trace)
    widest = max(sigma2 for sigma2, _ in draws)
    tests = sum(size / (2 * sigma2) for sigma2, size in draws if sigma2 == widest)
    return tests + gaussian_rho([each for each in draws if each[0] != widest], n_labels)


def laplace_event(trace, n_labels):
    """All counts of a query together move by 2."""
    (ratio,) = {draw.arguments[0] for draw in trace}
    queries = Fraction(sum(draw.arguments[3] for draw in trace), n_labels)
    assert queries.denominator == 1
    return Composition({PureDP(2 * log_bounds(1 / ratio)[0]): int(queries)})


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


def mean_rho(trace, n_labels, grid):
    """A teacher moves a single score by less than 1, or the scores of three labels by the root of 2."""
    width = scores_per_row(n_labels)
    assert sum(draw.arguments[1] for draw in trace) == 10 * width  # as many draws as scores
    squared = min(width, 2) * grid**2
    return sum(size / width * squared / (2 * sigma2) for sigma2, size in of_draws(trace))


def spent(of, name, trace, n_labels, aggregator):
    if name == "sparse_vector":
        return stable_event(trace, nones=4 * aggregator.unstable_per_abstention)
    if name == "lnmax":
        return laplace_event(trace, n_labels)
    rho = {
        "gnmax": lambda: gaussian_rho(of_draws(trace), n_labels),
        "confident_gnmax": lambda: confident_rho(trace, n_labels),
        "mean": lambda: mean_rho(trace, n_labels, aggregator.grid),
    }[name]()
    return Composition({ZeroConcentrated(rho): 1})


PRIVACIES = [MODEST, ApproxDP("0.3", "1e-4"), ApproxDP(20, "1e-9")]


@pytest.mark.parametrize(
    ("of", "name", "privacy"),
    [(*each, privacy) for each in EVERY for privacy in PRIVACIES] + [("votes", "lnmax", ApproxDP(3))],
    ids=str,
)
@each_number_of_labels
def test_the_draws_cost_the_budget_and_hardly_less(of, name, privacy, n_labels):
    dice = ReplayDice(SeededDice(0))
    aggregator = made(of, name, dice, privacy=privacy, n_labels=n_labels)
    if aggregator.unstable_per_abstention:
        while aggregator.remaining_abstentions:
            aggregator.answer(spread(of, 1, n_labels))
    else:
        for batch in (1, 7, 2):
            aggregator.answer(unanimous(of, batch, n_labels, 100_000 if of == "votes" else TEACHERS))
    assert not aggregator.remaining_queries
    cost = spent(of, name, dice.trace, n_labels, aggregator).total(privacy.delta)
    assert privacy.epsilon * Fraction(99 if privacy.delta else 97, 100) < cost.epsilon <= privacy.epsilon


@pytest.mark.parametrize("seed", range(12))
def test_for_every_choice_of_queries_the_charges_keep_the_budget_and_all_can_be_asked(seed):
    generator = np.random.default_rng(seed)  # public
    dice = ReplayDice(SeededDice(seed))
    # Few teachers, so that noise decides which queries are declined.
    aggregator, asked = made("votes", "confident_gnmax", dice, n_teachers=30, n_labels=3, max_queries=25), 0
    while left := aggregator.remaining_queries:
        shares = generator.dirichlet([generator.choice([0.05, 1.0])] * 3)
        counts = generator.multinomial(30, shares, size=generator.integers(1, left + 1))
        aggregator.answer(votes(counts))
        asked += len(counts)
    assert asked >= 25
    cost, budget = confident_rho(dice.trace, 3), concentrated_budget(MODEST)
    assert Fraction(24, 25) * budget < cost <= budget  # nor is a whole query lost


class Noiseless:
    """Dice that draw no noise, and note how much it would have been."""

    def __init__(self):
        self.variances = []

    def discrete_gaussian(self, sigma2, size):
        self.variances += [sigma2] * size
        return np.zeros(size, dtype=np.int64)


#: From noise so wide that a grid has two steps to noise so narrow that it has all.
WIDTHS = [(ApproxDP("0.001", "1e-6"), 1), (MODEST, 1), (MODEST, 100), (ApproxDP(1000, "1e-6"), 10_000)]
#: Scores of one teacher, near the ends of steps of all grids.
PARTS = [0, 1, *(FIXED_POINT_ONE // k for k in (4, 3, 2)), FIXED_POINT_ONE // 2 - 1]
PARTS += [FIXED_POINT_ONE - 2, FIXED_POINT_ONE - 1]


@pytest.mark.parametrize("n_labels", [2, 3, 4])
@pytest.mark.parametrize(("privacy", "teachers"), WIDTHS)
def test_one_teacher_moves_the_sums_by_at_most_the_sensitivity_of_the_noise(n_labels, privacy, teachers):
    width, dice = scores_per_row(n_labels), Noiseless()
    every = range(FIXED_POINT_ONE) if width == 1 else PARTS
    rows = [row for row in product(every, repeat=width) if sum(row) <= FIXED_POINT_ONE] + [(-1,) * width]
    public = {"n_labels": n_labels, "n_teachers": teachers, "max_queries": len(rows)}
    mean = made("scores", "mean", dice, privacy=privacy, **public)
    fixed_scores = np.array(rows, dtype=np.int16).reshape(1, -1)
    answers = mean.answer(soft_tally(fixed_scores, 2, width))
    sums = answers * (teachers * mean.grid) - teachers / 2  # in steps
    assert abs(sums - sums.round()).max() < 1e-6
    sums, (variance,) = np.unique(sums.round().astype(np.int64), axis=0), set(dice.variances)
    moved = max(((sums - row) ** 2).sum(axis=1).max() for row in sums)
    assert len(rows) * Fraction(int(moved)) / (2 * variance) <= concentrated_budget(privacy)
    assert moved > mean.grid**2 / 2 or (width == 1 and moved == (mean.grid - 1) ** 2)


@pytest.mark.parametrize(("privacy", "teachers"), WIDTHS)
@pytest.mark.parametrize("n_labels", [2, 3, 7])
def test_each_score_is_released_within_half_a_step_and_no_score_as_equally_likely(
    privacy, teachers, n_labels
):
    shape = teachers, scores_per_row(n_labels)
    given = [(score, fixed_point(np.full(shape, score))) for score in (1 / n_labels, 0.0, 0.9999, 0.123)]
    for score, fixed_scores in [*given, (1 / n_labels, np.full(shape, -1))]:
        public = {"privacy": privacy, "n_labels": n_labels, "n_teachers": teachers}
        mean = made("scores", "mean", Noiseless(), **public)
        released = mean.answer(soft_tally(fixed_scores, 2, shape[1]))
        assert abs(released - score).max() <= 0.5 / mean.grid + 1e-12
        # The plan assumes that the noise exceeds a step, or that the grid is the finest.
        assert 1 / mean.grid <= max(mean.noise_scale / (4 * teachers), 1 / FIXED_POINT_ONE)


# A sparse vector's noise is clamped between two ends, so its size is not observed.


@pytest.mark.parametrize(("of", "name"), [each for each in EVERY if each[1] != "sparse_vector"])
@each_number_of_labels
def test_the_noise_scale_is_the_standard_deviation_of_the_draws(of, name, n_labels):
    dice = ReplayDice(SeededDice(0))
    public = {"n_labels": n_labels, "max_queries": 2000, "privacy": ApproxDP(20, "1e-6")}
    aggregator = made(of, name, dice, **public)
    aggregator.answer(unanimous(of, 2000, n_labels))
    drawn = np.asarray(dice.trace[-1].outcome, dtype=float) / getattr(aggregator, "grid", 1)
    assert drawn.size >= 2000
    assert abs(drawn.std() / aggregator.noise_scale - 1) < 0.07  # 3 deviations of a Laplace law's, for 4000


def least_led(of, n_labels, lead, n_teachers=2000):
    """Votes on 30 queries in which a label leads by so many teachers, or a bin by as many scores."""
    if of == "votes":
        others = (n_teachers - lead) // n_labels
        return votes([[others + lead] + [others] * (n_labels - 1)] * 30)
    scores = np.full((n_teachers, 30 * scores_per_row(n_labels)), 1 / 8)
    scores[: (n_teachers - lead) // 2] = 7 / 8
    return scored(scores, n_labels)


def failures(of, name, n_labels, share, runs=100):
    """In how many runs not all of 30 queries are answered well, with a share of the least lead."""
    public = {"privacy": ApproxDP(4, "1e-6"), "n_labels": n_labels, "n_teachers": 2000, "max_queries": 30}
    kind = OF[of][name](ballot(**public))
    lead, failed = int(share * kind.least_lead), 0
    given = unanimous(of, 30, n_labels, 2000) if name == "mean" else least_led(of, n_labels, lead)
    for seed in range(runs):
        answers = made(of, name, SeededDice(seed, name, share), **public).answer(given)
        if name == "mean":
            failed += abs(answers - 0.3).max() * 2000 > lead + kind.noise_scale / 8
        else:
            failed += not (answers.codes == 0 if of == "votes" else answers == 0.125).all()
    return failed


@each_of_both
@each_number_of_labels
def test_with_the_least_lead_all_are_answered_with_the_stated_probability_and_with_less_they_are_not(
    of, name, n_labels
):
    # 5 of 100 runs may fail; 12 or more would then have a probability below 1 in 200.
    assert failures(of, name, n_labels, 1) < 12
    assert failures(of, name, n_labels, 0.5 if of == "scores" else 0.33) > 20


def stops(of, n_labels, undecided, runs=100):
    """In how many runs some of 30 queries are not reached, where the first answers have no winner."""
    public = {"privacy": ApproxDP(4, "1e-6"), "n_labels": n_labels, "n_teachers": 2000, "max_queries": 30}
    given = least_led(of, n_labels, OF[of]["sparse_vector"](ballot(**public)).least_lead)
    if of == "votes":
        given = votes([[2000 // n_labels] * n_labels] * undecided + given.counts.tolist()[undecided:])
    else:  # neither a plain nor a shifted bin has a majority: two unstable tests each
        scores = given.fixed_scores.copy()
        scores[::2, :undecided], scores[1::2, :undecided] = 0, FIXED_POINT_ONE // 2
        given = soft_tally(scores, 4, given.width)
    stopped = 0
    for seed in range(runs):
        answers = made(of, "sparse_vector", SeededDice(seed, undecided), **public).answer(given)
        stopped += len(answers.codes if of == "votes" else answers) < 30
    return stopped


@pytest.mark.first_by_day
@pytest.mark.parametrize(("of", "n_labels"), [("votes", 2), ("scores", 2), ("scores", 3)])
def test_with_the_least_number_of_decided_answers_it_reaches_all_with_the_stated_probability(of, n_labels):
    kind = OF[of]["sparse_vector"]
    public = ballot(ApproxDP(4, "1e-6"), n_labels, n_teachers=2000, max_queries=30)
    undecided = 30 * kind.width(n_labels) - kind(public).least_decided
    assert undecided == 3
    assert stops(of, n_labels, undecided) < 12  # for all votes on the other queries 5 of 100 runs may
    assert stops(of, n_labels, undecided + 1, runs=10) == 10
