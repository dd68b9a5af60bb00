"""Deliberate mistakes in naive Bayes: each breaks the claim on neighbours on which the original keeps it."""

import numpy as np
import pytest

from dplearn.audit import least_exp_epsilon
from dplearn.audit.cases.naive_bayes import CASES as NAIVE_BAYES_CASES
from dplearn.audit.enumeration import distribution_on
from dplearn.kernels.exact import at_most_exp
from dplearn.learners.counts import naive_bayes
from dplearn.mechanisms.noisy_counts import laplace_counts
from dplearn.queries import HistogramQuery
from dplearn.queries import noise as queries_noise
from dplearn.queries.noise import LocalNoise
from dplearn.table.targets import read_labels
from tests.laws.conftest import rows_asked
from tests.laws.oracle_mistakes import reports_of_the_same_records, the_whole_budget_for_each

CASES = {case.name: case for case in NAIVE_BAYES_CASES}
ONE, TWO = CASES["naive_bayes"], CASES["naive_bayes_of_two_columns"]
LOCAL, LOCAL_TWO = CASES["local_naive_bayes"], CASES["local_naive_bayes_of_two_columns"]


@pytest.mark.nightly  # enumeration runs each, and replays it, with every change
@pytest.mark.parametrize("name", CASES)
def test_the_whole_fit_keeps_its_claim_and_spends_nearly_all_of_it(name):
    report = CASES[name].run()
    assert report.keeps(CASES[name].claim)
    assert report.tightness(CASES[name].claim) > 0.99
    assert not CASES[name].replay(seeds=1)


def epsilons(case, pair):
    """exp of the exact epsilon between two datasets, both ways; None: no epsilon will do."""
    one, other = (distribution_on(case.fit, rows) for rows in pair)
    return [
        least_exp_epsilon(*distributions, case.claim.delta)[0]
        for distributions in ((one, other), (other, one))
    ]


def keeps(case, pair):
    return all(z is not None and at_most_exp(z, case.claim.epsilon) for z in epsilons(case, pair))


def noise_for_an_added_record(monkeypatch):
    monkeypatch.setattr(HistogramQuery, "l1", 1)


def one_noise_for_all_cells(monkeypatch):
    class Repeating:
        def __init__(self, dice):
            self._dice = dice

        def discrete_laplace(self, ratio, low, high, size):
            return np.full(size, self._dice.discrete_laplace(ratio, -2, 2))

    def repeated(counts, *, dice, **how):
        return laplace_counts(counts, dice=Repeating(dice), **how)

    monkeypatch.setattr(queries_noise, "laplace_counts", repeated)


def true_class_shares(monkeypatch):
    """The classes' shares are not made of noisy answers."""
    right = naive_bayes.learn_naive_bayes

    def learned(oracle, plan):
        with oracle._account.use() as account:
            shares = (
                np.bincount(rows_asked(account).y, minlength=plan.public.n_labels) / plan.public.n_samples
            )
        monkeypatch.setattr(naive_bayes, "_class_shares", lambda *_: (shares, 0.0))
        return right(oracle, plan)

    monkeypatch.setattr(naive_bayes, "learn_naive_bayes", learned)


def labels_found(monkeypatch):
    monkeypatch.setattr(naive_bayes, "read_labels", lambda y, n, classes: read_labels(y, n, None))


def label_told_as_it_is(monkeypatch):
    """A record randomises its value alone: reports are moved to the true label's."""
    right = LocalNoise.answer

    def given(self, *task):
        class Draws:
            def __init__(self, randomizer):
                self._randomizer = randomizer
                self.estimate, self.bounds = randomizer.estimate, randomizer.bounds

            def draw(self, values, dice):
                return values // 2 * 2 + self._randomizer.draw(values, dice) % 2

        whole = LocalNoise.randomizer
        with monkeypatch.context() as patch:
            patch.setattr(LocalNoise, "randomizer", lambda self, *asked: Draws(whole(self, *asked)))
            return right(self, *task)

    monkeypatch.setattr(LocalNoise, "answer", given)


LABEL = ((2, 0),), ((2, 1),)
LABEL_OF_ONE = ((0, 0, 0),), ((0, 0, 1),)
LABEL_OF_TWO = ((0, 0, 0), (0, 0, 0)), ((0, 0, 1), (0, 0, 0)), ((0, 0, 0), (0, 0, 1))

#: From a mistake to the case, and the neighbours that show it.
MISTAKES = {
    noise_for_an_added_record: (ONE, LABEL),
    one_noise_for_all_cells: (ONE, LABEL),
    true_class_shares: (ONE, LABEL),
    labels_found: (ONE, LABEL),
    the_whole_budget_for_each: (TWO, LABEL_OF_ONE),
    label_told_as_it_is: (LOCAL, LABEL),
}
CERTAIN = {one_noise_for_all_cells, true_class_shares, labels_found, label_told_as_it_is}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_breaks_the_claim(mistake, monkeypatch):
    case, pair = MISTAKES[mistake]
    assert keeps(case, pair)
    mistake(monkeypatch)
    assert not keeps(case, pair)
    assert (None in epsilons(case, pair)) == (mistake in CERTAIN)


def test_a_record_that_answers_twice_breaks_the_claim_and_is_the_only_one_to_answer(monkeypatch):
    rows, *others = LABEL_OF_TWO
    assert all(keeps(LOCAL_TWO, (rows, other)) for other in others)
    reports_of_the_same_records(monkeypatch)
    assert sorted(keeps(LOCAL_TWO, (rows, other)) for other in others) == [False, True]
