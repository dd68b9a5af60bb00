"""The distribution of accepted candidates, exactly, under oracles that answer as badly as they may."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dplearn.chance import SeededDice, enumerate_paths
from dplearn.queries import (
    BitRandomizer,
    CategoryRandomizer,
    HistogramQuery,
    MeanQuery,
    PopulationOracle,
    VectorQuery,
)
from dplearn.theory import Request
from dplearn.theory.simulation import Rejection

RECORDS, WEIGHTS = np.array([0, 1, 2]), [1, 2, 5]
NUMBER = MeanQuery(lambda records: records, low=0, high=2)
KIND = HistogramQuery(lambda records: records, categories=3)

#: From exact means to worse ones, which the oracle moves to within its tolerance.
ADVERSARIES = {
    "exact": None,
    "greater": lambda exact: exact + 9,
    "smaller": lambda exact: exact - 9,
    "apart": lambda exact: exact + 9 * np.sign(exact),
    "together": lambda exact: exact - 9 * np.sign(exact),
}


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


def true_law(past, now):
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


def distance(distribution, other):
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
    assert distance(distribution, true_law(past, now)) <= off
    assert (1 - chance) ** most <= off  # so is the probability that no candidate is accepted
    spends = math.exp(sum(request.randomizer.epsilon for request in now))
    x = float(off / (1 + off))
    assert 1 / chance <= ((1 + 2 * x) * spends + x) / (1 - x)


def test_exact_answers_leave_nothing_but_rounding():
    distribution, chance, _ = accepted_law([], [kind(1)], Fraction(1, 1000), None)
    assert distance(distribution, true_law([], [kind(1)])) < Fraction(1, 10**5)
    assert 1 / float(chance) == pytest.approx(math.e, rel=0.002)  # the constant is 1


def test_adversarial_answers_attain_most_of_the_allowed_error():
    off = Fraction(1, 50)
    distribution, _, _ = accepted_law([], [kind(3)], off, ADVERSARIES["apart"])
    assert distance(distribution, true_law([], [kind(3)])) > 3 * off / 4
    distribution, _, _ = accepted_law([], [kind(3)], off, ADVERSARIES["apart"], worse=3)  # the control
    assert distance(distribution, true_law([], [kind(3)])) > off


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
