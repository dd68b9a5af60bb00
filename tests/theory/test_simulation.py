"""Reports in place of queries, and queries in place of reports: the exact distribution of accepted candidates
under oracles that answer as badly as they may, and whole runs."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dplearn.audit import exact_distribution
from dplearn.chance import PublicStream, SeededDice, enumerate_paths
from dplearn.privacy import ApproxDP, BudgetExceededError, PrivacyLedger
from dplearn.queries import (
    BitRandomizer,
    CategoryRandomizer,
    HistogramQuery,
    LocalOracle,
    MeanQuery,
    PopulationOracle,
    Records,
    VectorQuery,
)
from dplearn.theory import Request, query_sample_size, run_locally, simulate_by_queries, simulate_locally
from dplearn.theory.simulation import Rejection

COIN = MeanQuery(lambda records: records, low=0, high=1)
COINS = np.arange(10_000) % 4 // 3  # a quarter is 1


def two_rounds(oracle):
    [first] = oracle.ask(COIN, tolerance=0.1)
    return first.mean, oracle.ask([COIN, COIN], tolerance=0.2)[1].mean


def one_round(oracle):
    return [answer.mean for answer in oracle.ask([COIN] * 3)]


def locally(algorithm, records=COINS, **changed):
    terms = {"n_queries": 3, "tolerance": 0.1, "width": 1, "random_state": 0} | changed
    return simulate_locally(algorithm, records, **terms)


def test_an_algorithm_gets_answers_within_its_tolerance():
    failed = 0
    needed = query_sample_size(tolerance=0.1, beta=0.2, epsilon=1, queries=3, width=1)
    for seed in range(60):
        drawn = np.random.default_rng(seed).binomial(1, 0.25, needed)
        run = locally(one_round, drawn, beta=0.2, random_state=seed)
        failed += max(abs(mean - 0.25) for mean in run.result) > 0.1
    assert failed <= 12 + 8  # of 60: 12, and three standard deviations
    assert run.n_needed == needed


def test_it_is_adaptive_only_if_the_algorithm_is():
    assert locally(two_rounds).adaptive
    assert not locally(one_round).adaptive


def test_each_query_has_as_many_records():
    answered = []
    locally(lambda oracle: answered.extend(oracle.ask([COIN, COIN]) + oracle.ask(COIN)))
    assert [answer.n for answer in answered] == [3333, 3333, 3333]


def test_all_of_it_is_charged_once():
    ledger = PrivacyLedger(1)
    run = locally(two_rounds, ledger=ledger, random_state=None)
    assert ledger.spent().epsilon == run.guarantee.epsilon == 1
    with pytest.raises(BudgetExceededError):
        locally(two_rounds, ledger=ledger, random_state=None)


HALF = Fraction(1, 2)
#: From exact means to worse ones, which the oracle moves to within its tolerance.
ADVERSARIES = {
    "exact": None,
    "greater": lambda exact: exact + 9,
    "smaller": lambda exact: exact - 9,
    "apart": lambda exact: exact + 9 * np.sign(exact),
    "together": lambda exact: exact - 9 * np.sign(exact),
}


def bit(record, epsilon):
    return Request(record, COIN, BitRandomizer(0, 1, Fraction(epsilon)))


def once():
    return (yield [bit("one", HALF)])


def at_once():
    kind = HistogramQuery(lambda records: records, categories=2)
    return (yield [Request("one", kind, CategoryRandomizer(2, HALF))])


def twice():
    (first,) = yield [bit("one", Fraction(1, 4))]
    (second,) = yield [bit("one", Fraction(1, 4) if first else Fraction(1, 8))]
    return first, second


def true_law(algorithm):
    def run(dice):
        record = np.array([0, 0, 0, 1])[[dice.below(4)]]

        def placed():
            rounds = algorithm()
            requests = next(rounds)
            while True:
                reports = yield [Request(0, each.query, each.randomizer) for each in requests]
                try:
                    requests = rounds.send(reports)
                except StopIteration as stop:
                    return stop.value

        return run_locally(placed, record, epsilon=HALF, dice=dice)

    return exact_distribution(run)


def simulated_law(algorithm, adversary, interactive, beta, n_reports):
    def run(dice):
        oracle = PopulationOracle(np.array([0, 1]), weights=[3, 1], adversary=ADVERSARIES[adversary])
        return simulate_by_queries(
            algorithm,
            oracle,
            n_reports=n_reports,
            epsilon=HALF,
            beta=beta,
            dice=dice,
            interactive=interactive,
        ).result

    return exact_distribution(run)


def distance(distribution, other):
    seen = distribution.masses.keys() | other.masses.keys()
    return sum(abs(distribution.probability(each) - other.probability(each)) for each in seen) / 2


@pytest.mark.parametrize(
    ("algorithm", "interactive", "n_reports", "adversary"),
    [
        *(
            (once, each, 1, adversary)
            for each in (True, False)
            for adversary in ("exact", "greater", "apart")
        ),
        (at_once, True, 1, "apart"),
    ],
)
def test_a_run_without_records_has_nearly_the_law_of_a_run_with(algorithm, interactive, n_reports, adversary):
    beta = Fraction(99, 100)
    found = simulated_law(algorithm, adversary, interactive, beta, n_reports)
    assert distance(found, true_law(algorithm)) <= beta / 4  # well within beta


@pytest.mark.nightly
def test_records_that_report_twice_report_alike():
    oracle = PopulationOracle(np.array([0, 1]), weights=[3, 1], adversary=ADVERSARIES["apart"])
    terms = {"n_reports": 2, "epsilon": HALF, "beta": 0.2, "interactive": True}
    counts = dict.fromkeys(((0, 0), (0, 1), (1, 0), (1, 1)), 0)
    for seed in range(400):
        counts[simulate_by_queries(twice, oracle, dice=SeededDice(seed), **terms).result] += 1
    distribution = true_law(twice)
    off = sum(abs(counts[each] / 400 - distribution.probability(("tuple", each))) for each in counts) / 2
    assert off < 0.2 / 4 + 0.075  # the simulation's error, and three times the sampling error of 400 runs


def many():
    return sum((yield [bit(i, 1) for i in range(60)]))


def by_queries(algorithm, oracle=None, **changed):
    terms = {"n_reports": 60, "epsilon": 1, "beta": 0.1, "dice": SeededDice(0)} | changed
    return simulate_by_queries(algorithm, oracle or PopulationOracle(COINS[:4]), **terms)


@pytest.mark.nightly
def test_one_round_is_one_round_and_takes_a_logarithm_more():
    oracle = PopulationOracle(COINS[:4])
    run = by_queries(many, oracle, interactive=False)
    assert [each.n_queries for each in oracle.rounds] == [run.n_queries]
    assert run.n_queries == 60 * math.ceil(math.log(1200) / -math.log1p(-1 / math.e * 0.9999))
    assert not oracle.adaptive


def test_in_turn_there_are_as_many_rounds_as_queries():
    oracle = PopulationOracle(COINS[:4])
    run = by_queries(many, oracle)
    assert len(oracle.rounds) == run.n_queries


def again():
    yield [bit(0, HALF)]
    yield [bit(0, HALF), bit(1, 1)]


def greedy():
    yield [bit(0, HALF)]
    yield [bit(0, 1)]


def test_undeclared_rounds_and_reports_are_refused():
    with pytest.raises(ValueError, match="n_reports"):
        by_queries(many, n_reports=59)
    with pytest.raises(ValueError, match="interactive must be True"):
        by_queries(again, interactive=False)
    with pytest.raises(BudgetExceededError, match="at most epsilon 1 in all"):
        by_queries(greedy)
    assert by_queries(again).result is None


def test_a_record_whose_budget_would_be_exceeded_reports_nothing():
    class Counted(Records):
        draws = 0

        def __len__(self):
            return len(COINS)

        def __getitem__(self, places):
            Counted.draws += 1
            return COINS[places]

    with pytest.raises(BudgetExceededError, match="at most epsilon 1 in all"):
        run_locally(greedy, Counted(), epsilon=1, dice=SeededDice(0))
    assert Counted.draws == 1
    assert run_locally(again, COINS, epsilon=1, dice=SeededDice(0)) is None


def test_there_and_back_again():
    # Reports by queries that themselves are answered by reports: Theorem 5.14, at a size that can be run.
    records = np.random.default_rng(0).binomial(1, 0.25, 400_000)

    def few():
        return sum((yield [bit(i, 1) for i in range(3)]))

    oracle = LocalOracle(records, privacy=ApproxDP(1), dice=SeededDice(1), stream=PublicStream(0))
    run = by_queries(few, oracle, n_reports=3, beta=0.9, interactive=False)
    assert 0 <= run.result <= 3
    assert oracle.left >= 0


def test_frames_report_by_places():
    seen = []
    frame = pd.DataFrame({3: [1, 2, 3], 0: [4, 5, 6]}, index=[2, 2, 0])
    query = MeanQuery(lambda rows: seen.append(rows.to_numpy().tolist()) or rows[0] > 4, low=0, high=1)

    def algorithm():
        return (yield [Request(1, query, query.randomizer(1))])

    run_locally(algorithm, frame, epsilon=1, dice=SeededDice(0))
    assert seen == [[[2, 5]]]


RECORDS, WEIGHTS = np.array([0, 1, 2]), [1, 2, 5]
NUMBER = MeanQuery(lambda records: records, low=0, high=2)
KIND = HistogramQuery(lambda records: records, categories=3)


def number(epsilon):
    return Request(0, NUMBER, BitRandomizer(0, 2, Fraction(epsilon)))


def kind(epsilon):
    return Request(0, KIND, CategoryRandomizer(3, Fraction(epsilon)))


#: Earlier reports of a record, and the current requests.
CASES = {
    "a bit": ([], [number(1)]),
    "a category": ([], [kind(1)]),
    "a category that tells much": ([], [kind(3)]),
    "two together": ([], [number(1), kind(1)]),
    "one after another": ([(number(1), 1)], [kind(1)]),
    "one after two": ([(number(1), 0), (kind(1), 1)], [kind(Fraction(1, 2))]),
}


def oracle(adversary):
    return PopulationOracle(RECORDS, weights=WEIGHTS, adversary=adversary)


def probability(request, record, report):
    value = request.query.inputs(np.array([record]))[0]
    return request.randomizer.probability(value, report)


def law_of_reports(past, now):
    """The distribution of a random record's reports, given its earlier reports."""
    distribution = {}
    for record, weight in zip(RECORDS, WEIGHTS, strict=True):
        before = weight * math.prod(probability(request, record, report) for request, report in past)
        for reports in product(range(3), repeat=len(now)):
            each = [
                probability(request, record, report) for request, report in zip(now, reports, strict=True)
            ]
            distribution[reports] = distribution.get(reports, 0) + before * math.prod(each)
    total = sum(distribution.values())
    return {reports: mass / total for reports, mass in distribution.items()}


def accepted_law(past, now, off, adversary, worse=1):
    """The exact distribution of one candidate if it is accepted, that it is, and how many are asked about."""

    def run(dice):
        rejection, budgets = Rejection(past, now, off, dice), oracle(adversary)
        if past:
            rejection.weigh(budgets.ask(rejection.question(past), tolerance=rejection.tolerance)[0])
        candidate = rejection.candidate()
        [answer] = budgets.ask(rejection.asked(candidate), tolerance=worse * rejection.tolerance)
        return tuple(candidate), rejection.accepts(answer)

    distribution, most = {}, Rejection(past, now, off, SeededDice(0)).most
    for (candidate, accepted), mass in enumerate_paths(run):
        if accepted:
            distribution[candidate] = distribution.get(candidate, 0) + mass
    chance = sum(distribution.values())
    return {candidate: mass / chance for candidate, mass in distribution.items()}, chance, most


def apart(distribution, other):
    return (
        sum(abs(distribution.get(key, 0) - other.get(key, 0)) for key in distribution.keys() | other.keys())
        / 2
    )


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("off", [Fraction(1, 4), Fraction(1, 50)])
def test_accepted_candidates_have_the_distribution_of_a_random_records_report(case, off, adversary):
    past, now = CASES[case]
    distribution, chance, most = accepted_law(past, now, off, ADVERSARIES[adversary])
    assert apart(distribution, law_of_reports(past, now)) <= off
    assert (1 - chance) ** most <= off  # so is the probability that no candidate is accepted
    spends = math.exp(sum(request.randomizer.epsilon for request in now))
    x = float(off / (1 + off))
    assert 1 / chance <= ((1 + 2 * x) * spends + x) / (1 - x)


def test_exact_answers_leave_nothing_but_rounding():
    distribution, chance, _ = accepted_law([], [kind(1)], Fraction(1, 1000), None)
    assert apart(distribution, law_of_reports([], [kind(1)])) < Fraction(1, 10**5)
    assert 1 / float(chance) == pytest.approx(math.e, rel=0.002)  # the constant is 1


def test_adversarial_answers_attain_most_of_the_allowed_error():
    off = Fraction(1, 50)
    distribution, _, _ = accepted_law([], [kind(3)], off, ADVERSARIES["apart"])
    assert apart(distribution, law_of_reports([], [kind(3)])) > 3 * off / 4
    distribution, _, _ = accepted_law([], [kind(3)], off, ADVERSARIES["apart"], worse=3)  # the control
    assert apart(distribution, law_of_reports([], [kind(3)])) > off


def test_tolerances_are_looser_than_the_papers():
    # beta / (3 exp(2 epsilon) t) there, for reports that each are off by beta / t.
    for epsilon in (Fraction(1, 10), 1, 3):
        ours = Rejection([], [kind(epsilon)], Fraction(1, 100), SeededDice(0)).tolerance
        assert ours > 3 * math.exp(float(epsilon)) * 0.01 / (3 * math.exp(2 * epsilon)) * 0.95


@pytest.mark.parametrize(
    "query",
    [
        VectorQuery(lambda records: np.multiply.outer(records, [1, -1]), size=2, norm=3),
        VectorQuery(lambda records: records[:, None], size=1, norm=2),
    ],
)
def test_vectors_are_drawn_like_numbers(query):
    request = Request(0, query, query.randomizer(1))
    rejection = Rejection([], [request], Fraction(1, 10), SeededDice(0))
    candidate = rejection.candidate()
    question = rejection.asked(candidate)
    values = question.inputs(RECORDS) * float(question.unit)
    reference = request.randomizer.probability(np.zeros(query.size, dtype=int), candidate[0])
    scale = math.e - 1 / math.e
    for record, value in zip(RECORDS, values, strict=True):
        exact = (float(probability(request, record, candidate[0]) / reference) - 1) / scale
        assert value == pytest.approx(exact, abs=0.01)
