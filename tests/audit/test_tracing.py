"""Tracing refutes a fit whose noise forgets the number of outputs, and never one that keeps its claim; every
learner of several labels is traced."""

from dataclasses import replace
from fractions import Fraction
from inspect import isclass
from math import comb

import numpy as np
import pytest
from scipy.stats import binom

from dplearn import learners
from dplearn.audit import codes, exact_distribution, trace_outputs
from dplearn.audit.cases import CONTROL, TRACED
from dplearn.chance import SeededDice, SystemDice
from dplearn.estimator import SeveralOutputsClassifier
from dplearn.kernels import decay_ratio
from dplearn.privacy import ApproxDP, gaussian_sigma2

ONE = ApproxDP(1)
CODES = ("uniform", "fair", "thresholds")


def laplace(epsilon):
    """Return counts of labels with noise of scale k / epsilon, compared with half of the records."""

    def fit_predict(X, Y):
        n, k = Y.shape
        ratio = decay_ratio(Fraction(epsilon) / k)
        noise = SystemDice().discrete_laplace(ratio, size=k)
        return 2 * (Y.sum(axis=0) + noise) > n

    return fit_predict


def gaussian(epsilon, delta):
    """Return counts with Gaussian noise for all outputs together, compared with half of the records."""

    def fit_predict(X, Y):
        n, k = Y.shape
        sigma2 = k * gaussian_sigma2(ApproxDP(epsilon, delta))  # k labels change by 1
        return 2 * (Y.sum(axis=0) + SystemDice().discrete_gaussian(sigma2, size=k)) > n

    return fit_predict


def forgetful(X, Y, dice=None):
    """Return counts with the noise of one output, as a fit that forgets their number."""
    n, k = Y.shape
    noise = (dice or SeededDice(1)).discrete_laplace(decay_ratio(Fraction(1)), size=k)
    return 2 * (Y.sum(axis=0) + noise) > n


def one_threshold_each(epsilon):
    """Return the labels of a threshold for each output, by the exponential mechanism on its errors."""
    ratio = decay_ratio(Fraction(epsilon) / 2)

    def fit_predict(X, Y):
        n, k = Y.shape
        below = np.vstack([np.zeros(k, dtype=int), Y.cumsum(axis=0)])  # ones among the first t
        errors = (np.arange(n + 1)[:, None] - below) + (below[-1] - below)
        dice = SystemDice()
        chosen = [dice.power_weighted(ratio, column.tolist(), [1] * (n + 1)) for column in errors.T]
        return np.array(chosen) >= X

    return fit_predict


# a candidate is exchanged for the other by its coin, and by nothing else


class Once:
    """A fit that keeps what it was given."""

    def __init__(self, labels):
        self.labels, self.seen = labels, []

    def __call__(self, X, Y):
        self.seen.append((X.copy(), Y.copy()))
        return self.labels


@pytest.mark.parametrize("code", CODES)
def test_without_use_of_the_records_each_guess_is_right_with_probability_one_half(code, monkeypatch):
    """Exactly, over all codes and coins, for outputs that are constant."""
    monkeypatch.setattr(codes, "_BIASES", 1)
    n, k = (3, 2) if code == "thresholds" else (3, 1)
    labels = np.array([[1, 0]] * n) if code == "thresholds" else np.array([1])

    def right(dice):
        return trace_outputs(lambda X, Y: labels, n, k, code=code, n_guesses=2, dice=dice).n_right

    law = exact_distribution(right)
    assert [law.probability(w) for w in range(3)] == [Fraction(comb(2, w), 4) for w in range(3)]


@pytest.mark.parametrize("code", CODES)
def test_given_the_candidates_right_guesses_of_a_private_fit_are_at_most_binomial(code, monkeypatch):
    """Exactly, over all coins and outcomes: P[w or more right] is at most that of randomised response."""
    monkeypatch.setattr(codes, "_BIASES", 1)
    n, k, epsilon = 2, 1, Fraction(1)
    ratio = decay_ratio(epsilon)

    def right(dice):
        def fit_predict(X, Y):
            noisy = [Y[i, 0] ^ dice.bernoulli(ratio / (1 + ratio)) for i in range(n)]  # epsilon each
            return np.array(noisy)[:, None] if code == "thresholds" else np.array([max(noisy)])

        return trace_outputs(fit_predict, n, k, code=code, dice=dice).n_right

    law = exact_distribution(right)
    truth = 1 / (1 + ratio)
    two, one, none = (law.probability(w) for w in (2, 1, 0))
    assert two + one + none == 1
    assert two <= truth**2
    assert two + one <= 1 - (1 - truth) ** 2
    assert two > Fraction(1, 4)  # it tells something


def test_a_fit_that_publishes_a_record_breaks_the_bound(monkeypatch):
    """The control of the two tests above, in the same enumeration."""
    monkeypatch.setattr(codes, "_BIASES", 1)
    law = exact_distribution(
        lambda dice: trace_outputs(lambda X, Y: Y[:2, 0], 2, 2, code="fair", n_guesses=1, dice=dice).n_right
    )
    assert law.probability(1) > Fraction(1, 2)
    known = exact_distribution(
        lambda dice: trace_outputs(lambda X, Y: Y, 2, 1, code="thresholds", n_guesses=1, dice=dice).n_right
    )
    assert known.probability(1) == 1


@pytest.mark.parametrize("code", CODES)
def test_a_coin_replaces_exactly_one_record(code):
    """The same candidates, one coin changed: the labels of one record differ, and no feature."""

    class Coins:
        def __init__(self, flipped):
            self.dice, self.flipped = SeededDice(1), flipped

        def below(self, n, size=None):
            drawn = self.dice.below(n, size=size)
            if n == 2 and size == 6 and self.flipped is not None:  # the coins, drawn last
                drawn[self.flipped] ^= 1
            return drawn

    def given(flipped):
        fit = Once(np.zeros((6, 50) if code == "thresholds" else 50))
        trace_outputs(fit, 6, 50, code=code, dice=Coins(flipped))
        ((X, Y),) = fit.seen
        return X, Y

    X, Y = given(None)
    for i in range(6):
        other_X, other = given(i)
        assert np.array_equal(X, other_X)
        assert np.flatnonzero((other != Y).any(axis=1)).tolist() == [i]


def test_at_one_point_labels_have_the_biases_of_their_code():
    fit = Once(np.zeros(4000))
    trace_outputs(fit, 40, 4000, dice=SeededDice(0))
    trace_outputs(fit, 40, 4000, code="fair", dice=SeededDice(0))
    (X, uniform), (_, fair) = fit.seen
    assert X.tolist() == [[1]] * 40
    assert set(np.unique(uniform)) == set(np.unique(fair)) == {0, 1}
    counts = np.bincount(uniform.sum(axis=0), minlength=41)  # uniform on 0..40
    assert ((counts - 4000 / 41) ** 2 / (4000 / 41)).sum() < 40 + 5 * np.sqrt(80)
    assert abs(fair.mean() - 0.5) < 0.01
    assert np.std(fair.mean(axis=0)) == pytest.approx(np.sqrt(0.25 / 40), rel=0.1)


def test_thresholds_label_the_records_whatever_the_coins():
    fit = Once(np.zeros((9, 300)))
    for seed in range(5):
        trace_outputs(fit, 9, 300, code="thresholds", dice=SeededDice(seed))
    for X, Y in fit.seen:
        assert X[:, 0].tolist() == list(range(1, 10))
        assert (np.diff(Y, axis=0) <= 0).all()
        assert set(Y.sum(axis=0)) == set(range(10))


@pytest.mark.parametrize(
    ("code", "n", "k", "least"),
    [("uniform", 100, 40_000, 1.9), ("fair", 100, 2000, 2.7), ("fair", 400, 4000, 1.9)],
)
def test_noise_that_forgets_the_number_of_outputs_is_refuted(code, n, k, least):
    report = trace_outputs(forgetful, n, k, code=code, claim=ONE, dice=SeededDice(0))
    assert report.refuted
    assert report.epsilon >= least


def test_a_majority_without_noise_is_refuted_by_every_code():
    for code, n, k in (("uniform", 60, 40_000), ("fair", 60, 2000)):
        found = trace_outputs(
            lambda X, Y: 2 * Y.sum(axis=0) > len(Y), n, k, code=code, claim=ONE, n_guesses=n
        )
        assert found.refuted
        assert found.epsilon > 2
    exact = trace_outputs(lambda X, Y: Y, 60, 600, code="thresholds", claim=ApproxDP(2), n_guesses=60)
    assert exact.epsilon > 2.5


def test_a_threshold_for_each_output_at_the_whole_price_is_refuted():
    report = trace_outputs(one_threshold_each(1), 60, 6000, code="thresholds", claim=ONE, n_guesses=60)
    assert report.refuted
    assert report.epsilon > 1.5


def too_many(runs, rate):
    """Return a number of bounds above the truth that is exceeded once in a million."""
    return int(binom.isf(1e-6, runs, rate))


HONEST = [
    ("laplace", laplace(1), ONE, "fair", 40, 100),
    ("laplace, few outputs", laplace(1), ONE, "uniform", 40, 3),
    ("gaussian", gaussian(1, Fraction(1, 10**6)), ApproxDP(1, 1e-6), "fair", 40, 100),
    ("thresholds", one_threshold_each(Fraction(1, 40)), ONE, "thresholds", 30, 40),
]


@pytest.mark.parametrize("runs", [30, pytest.param(1000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("fit", "claim", "code", "n", "k"), [each[1:] for each in HONEST], ids=[each[0] for each in HONEST]
)
def test_honest_mechanisms_are_never_refuted_and_hardly_ever_bounded_above_their_claim(
    runs, fit, claim, code, n, k
):
    reports = [trace_outputs(fit, n, k, code=code, claim=claim) for _ in range(runs)]
    assert not any(report.refuted for report in reports)
    assert sum(report.epsilon > claim.epsilon for report in reports) <= too_many(runs, 0.05)


def test_by_default_half_of_the_coins_are_guessed_and_at_least_thirty_those_with_the_most_evidence():
    found = {n: trace_outputs(lambda X, Y: Y[0], n, 5).n_guesses for n in (1, 7, 30, 45, 60, 101)}
    assert found == {1: 1, 7: 7, 30: 30, 45: 30, 60: 30, 101: 51}
    # The outputs are the labels of one record: only its coin is guessed, and it is right; of any type.
    for kind in (bool, np.int8, np.float32, float, list) * 4:
        given = (lambda X, Y: Y[3].tolist()) if kind is list else lambda X, Y, kind=kind: Y[3].astype(kind)
        assert trace_outputs(given, 9, 200, code="fair", n_guesses=1).n_right == 1
    fit = lambda X, Y: 2 * Y.sum(axis=0) > len(Y)  # noqa: E731
    first, again = (trace_outputs(fit, 50, 100, dice=SeededDice(5)) for _ in range(2))
    assert first == again
    with np.errstate(all="raise"):
        assert trace_outputs(forgetful, 20, 50, code="fair", claim=ApproxDP(1, 1e-6)).n == 20


#: The others are enumerated with every change, and traced at night.
BY_DAY = ("each_output", "each_threshold", "points", "parities")


def test_every_classifier_of_several_labels_is_traced_and_synthetic_records_are():
    several = [
        name
        for name, each in ((name, getattr(learners, name)) for name in learners.__all__)
        if isclass(each) and issubclass(each, SeveralOutputsClassifier)
    ]
    assert len(several) >= 4
    for name in [*several, "SyntheticTable"]:
        assert any(name in learner.what for learner in TRACED.values()), name


@pytest.mark.parametrize("runs", [1, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name not in BY_DAY)) for name in TRACED]
)
def test_learners_are_not_refuted(name, runs):
    """A bound is above the claim with probability 1/20 at most: in 10 of 20 runs once in 100 million."""
    reports = [TRACED[name].trace() for _ in range(runs)]
    assert not any(report.refuted for report in reports)
    assert sum(report.epsilon > 1 for report in reports) < 10
    assert {(report.claim, report.n_guesses) for report in reports} == {(ApproxDP(1, "1e-6"), 50)}


#: These publish what many records share, and no two records have the same labels: they abstain.
ABSTAIN = ("points", "parities")


@pytest.mark.first_by_day
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in TRACED if name not in ABSTAIN])
def test_the_same_learner_with_almost_no_noise_is_bounded_above_the_claim(name):
    """The control of the tests above: the outputs of each learner are what is traced."""
    learner = TRACED[name]
    fit_predict = learner.fit_predict(ApproxDP(10**5, "1e-6"))
    n, k = (5, 60) if name == "synthetic_table" else (15, 400)  # odd: majorities are not drawn
    report = trace_outputs(fit_predict, n, k, code=learner.code, claim=learner.claim, dice=SeededDice(0))
    assert report.n_right == report.n_guesses == n
    assert report.epsilon > (0.15 if n == 5 else 1.5)


@pytest.mark.nightly  # the command runs it with every change
def test_outputs_at_the_whole_price_each_are_refuted_and_a_larger_claim_is_tested_as_it_is():
    report = CONTROL.trace()
    assert report.refuted
    assert report.epsilon > 1.9
    assert replace(TRACED["points"], claim=ApproxDP(2, "1e-6")).trace().claim.epsilon == 2
