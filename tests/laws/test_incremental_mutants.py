"""Calls of `partial_fit` compose in parallel where records are new; where they are not, or with a deliberate
mistake, the exact epsilon is that of the sum, or there is none."""

import math

import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.cases.incremental import incremental_naive_bayes
from dplearn.estimator.incremental import Incremental
from dplearn.learners.counts import naive_bayes
from dplearn.queries import noise as queries_noise
from tests.laws.conftest import OnePair, rows_asked

ONE, OTHER = (0, 0), (0, 1)
FIRST, SECOND = ((ONE, ONE), (OTHER, ONE)), ((ONE, ONE), (ONE, OTHER))
EQUAL, UNEQUAL = CASES["naive_bayes_of_two_calls"], CASES["naive_bayes_of_two_epsilons"]


def exact(case, pair):
    """The exact epsilon between two neighbours; infinite where some outcome has no probability on one."""
    found = OnePair.of(case, pair).run().exp_epsilon
    return math.inf if found is None else math.log(found)


@pytest.mark.parametrize(("pair", "epsilon"), [(FIRST, 1), (SECOND, 2)], ids=["first", "second"])
def test_a_record_costs_the_epsilon_of_its_own_call(pair, epsilon):
    assert exact(EQUAL, pair) == pytest.approx(1, rel=1e-9)
    assert exact(UNEQUAL, pair) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(
    ("calls", "pair", "epsilon"),
    [
        (lambda rows: [rows[:1], rows[:1]], FIRST, 2),
        # As if earlier records were kept, and summed again:
        pytest.param(lambda rows: [rows[:1], rows], FIRST, 2, marks=pytest.mark.nightly),
        pytest.param(lambda rows: [rows[:1], rows], SECOND, 1, marks=pytest.mark.nightly),
    ],
    ids=["twice", "kept first", "kept second"],
)
def test_a_record_in_both_calls_costs_the_sum(calls, pair, epsilon):
    case = incremental_naive_bayes("twice", (1, 1), calls)
    assert exact(case, pair) == pytest.approx(epsilon, rel=1e-9)
    assert OnePair.of(case, pair).run().keeps(case.claim) == (epsilon == 1)


def one_noise_for_all_calls(monkeypatch):
    right, first = queries_noise.laplace_counts, {}

    def reused(counts, *, dice, **how):
        if first.get("dice") is not dice:  # another path
            noisy = right(counts, dice=dice, **how)
            first.update(dice=dice, noise=noisy - counts)
            return noisy
        del first["dice"]
        return counts + first["noise"]

    monkeypatch.setattr(queries_noise, "laplace_counts", reused)


def labels_of_each_call(monkeypatch):
    monkeypatch.setattr(Incremental, "_all_classes", lambda *_: None)


def earlier_answers_without_noise(monkeypatch):
    """The second call publishes the means of the first call's records as they are."""
    right = naive_bayes.learn_naive_bayes

    def learned(oracle, plan):
        found = right(oracle, plan)
        if plan.earlier is None:
            with oracle._account.use() as account:
                counts = naive_bayes._joint_counts(0, 1, 2, rows_asked(account))
            object.__setattr__(found, "shares", (counts / 1.0, *found.shares[1:]))
        return found

    monkeypatch.setattr(naive_bayes, "learn_naive_bayes", learned)


@pytest.mark.parametrize(
    "mistake", [one_noise_for_all_calls, labels_of_each_call, earlier_answers_without_noise]
)
def test_a_mistake_leaves_no_epsilon(mistake, monkeypatch):
    mistake(monkeypatch)
    assert exact(EQUAL, FIRST) == math.inf
