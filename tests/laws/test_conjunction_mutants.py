"""Deliberate mistakes in conjunctions: each breaks the claim on neighbours on which the original keeps it."""

import numpy as np
import pytest

from dplearn.audit import exact_distribution, least_exp_epsilon
from dplearn.audit.cases.conjunction import CASES as CONJUNCTION_CASES
from dplearn.audit.enumeration import distribution_on
from dplearn.kernels.exact import at_most_exp
from dplearn.learners.counts import conjunction
from dplearn.privacy import ApproxDP
from dplearn.queries import HistogramQuery, randomizers
from dplearn.queries.noise import CentralNoise
from dplearn.queries.randomizers import CategoryRandomizer
from dplearn.table.targets import read_labels
from tests.laws.oracle_mistakes import the_whole_budget_for_each

CASES = {case.name: case for case in CONJUNCTION_CASES}
ONE, TWO, LOCAL = (CASES[name] for name in ("conjunction", "conjunction_of_two_columns", "local_conjunction"))


@pytest.mark.nightly  # enumeration runs each, and replays it, with every change
@pytest.mark.parametrize("name", CASES)
def test_the_whole_fit_keeps_its_claim_and_spends_nearly_all_of_it(name):
    report = CASES[name].run()
    assert report.keeps(CASES[name].claim)
    assert report.tightness(CASES[name].claim) > 0.99
    assert not CASES[name].replay(seeds=1)


def keeps(case, pair):
    """Whether the claim holds between two datasets, both ways."""
    one, other = (distribution_on(case.fit, rows) for rows in pair)
    worst = [
        least_exp_epsilon(*distributions, case.claim.delta)[0]
        for distributions in ((one, other), (other, one))
    ]
    return all(found is not None and at_most_exp(found, case.claim.epsilon) for found in worst)


def noise_for_an_added_record(monkeypatch):
    monkeypatch.setattr(HistogramQuery, "l1", 1)


def no_noise(monkeypatch):
    """Values that no positive record has are told by the counts themselves."""
    right = CentralNoise.answer

    def exact(self, query, part, bounds, totals, dice):
        answer = right(self, query, part, bounds, totals, dice)
        answer.means[:] = totals / self.n
        return answer

    monkeypatch.setattr(CentralNoise, "answer", exact)


def labels_found(monkeypatch):
    monkeypatch.setattr(conjunction, "read_labels", lambda y, n, classes: read_labels(y, n, None))


def randomised_half_as_much(monkeypatch):
    right = randomizers.randomized_response

    def doubled(values, size, *, privacy, dice):
        return right(values, size, privacy=ApproxDP(2 * privacy.epsilon), dice=dice)

    monkeypatch.setattr(randomizers, "randomized_response", doubled)


def negative_records_are_silent(monkeypatch):
    """Records of the other label do not report, and the others' shares are as many."""
    right = CategoryRandomizer.draw

    def draw(self, values, dice):
        abstained = values == self.size - 1
        reports = right(self, values[~abstained], dice)
        return np.concatenate((reports, np.full(abstained.sum(), self.size - 1)))

    monkeypatch.setattr(CategoryRandomizer, "draw", draw)


VALUE = ((0, 1), (2, 1)), ((0, 1), (0, 1))
#: From a mistake to the case, and the neighbours that show it.
MISTAKES = {
    noise_for_an_added_record: (ONE, VALUE),
    no_noise: (ONE, VALUE),
    labels_found: (ONE, (((0, 0), (0, 1)), ((0, 0), (0, 0)))),
    the_whole_budget_for_each: (TWO, (((0, 0, 1),), ((1, 1, 1),))),
    randomised_half_as_much: (LOCAL, (((0, 1), (0, 0)), ((0, 0), (0, 0)))),
    negative_records_are_silent: (LOCAL, (((0, 1), (0, 1)), ((0, 1), (0, 0)))),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_breaks_the_claim(mistake, monkeypatch):
    case, pair = MISTAKES[mistake]
    assert keeps(case, pair)
    mistake(monkeypatch)
    assert not keeps(case, pair)


def test_a_bar_that_is_too_high_keeps_the_claim_and_has_another_law(monkeypatch):
    right = exact_distribution(lambda dice: ONE.fit(VALUE[0], dice)[0])
    monkeypatch.setattr(conjunction, "conjunction_threshold", lambda *_, **__: 0.6)
    assert right.key() != exact_distribution(lambda dice: ONE.fit(VALUE[0], dice)[0]).key()
    assert keeps(ONE, VALUE)
