"""Tables of counts: what statistics count and refuse, how far one record moves them, and what noise adds."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from dplearn.audit.cases.search import Echo
from dplearn.chance import SeededDice
from dplearn.domains import DomainError
from dplearn.kernels.distributions import gaussian_probabilities, laplace_probabilities
from dplearn.kernels.exact import decay_ratio
from dplearn.model_selection.tables import (
    BinnedScores,
    ConfusionCounts,
    ErrorCount,
    LossSum,
    TableNoise,
    TargetSums,
)
from dplearn.privacy import ApproxDP

GENERATOR = np.random.default_rng(0)


def rows(said):
    return np.asarray(said, dtype=float)[:, None]


SAID = (0.0, 0.25, 0.5, 0.75, 1.0)
NUMBERS = (-3.0, 0.0, 0.1, 0.33, 0.5, 0.9, 1.0, 7.0)
#: Statistics, and all records of a small universe: what `Echo` says, and labels or targets.
KINDS = {
    "errors": (ErrorCount(), (0, 1), (0, 1)),
    "confusion": (ConfusionCounts((0, 1, 2)), (0, 1, 2), (0, 1, 2)),
    "binned": (BinnedScores((0, 1), (1,), (0.3, 0.6), "predict_proba"), SAID, (0, 1)),
    "binned for each": (BinnedScores((0, 1), (0, 1), (0.3, 0.6), "predict_proba"), SAID, (0, 1)),
    "loss": (LossSum((0, 1), 0.01, steps=12), SAID, (0, 1)),
    "absolute": (TargetSums(0.0, 1.0, "absolute", steps=12), NUMBERS, NUMBERS),
    "squared": (TargetSums(0.0, 1.0, "squared", steps=12), NUMBERS, NUMBERS),
    "r2": (TargetSums(0.0, 1.0, "r2", steps=12), NUMBERS, NUMBERS),
}


@pytest.mark.parametrize(("statistic", "said", "labels"), KINDS.values(), ids=KINDS)
def test_a_replaced_record_moves_a_table_by_its_sensitivity_and_no_more(statistic, said, labels):
    tables = [statistic.of(Echo(), rows([a]), np.array([b])) for a, b in product(said, labels)]
    moves = [first - last for first in tables for last in tables]
    assert max(np.abs(move).sum() for move in moves) == statistic.l1
    assert max((move**2).sum() for move in moves) <= statistic.squared_l2
    assert all((statistic.low <= table).all() and (table <= statistic.high).all() for table in tables)
    assert tables[0].size == statistic.n_cells


def test_a_confusion_matrix_is_that_of_scikit_learn_with_labels_that_never_occur():
    true, said = GENERATOR.integers(0, 3, 50), GENERATOR.integers(1, 3, 50)
    statistic = ConfusionCounts((0, 1, 2, 5))
    found = statistic.of(Echo(), rows(said), true).reshape(statistic.shape)
    np.testing.assert_array_equal(found, confusion_matrix(true, said, labels=[0, 1, 2, 5]))


def test_sums_of_several_records_are_the_sums_of_each():
    for statistic, said, labels in KINDS.values():
        picked = GENERATOR.choice(said, 20), GENERATOR.choice(labels, 20)
        whole = statistic.of(Echo(), rows(picked[0]), picked[1])
        each = [statistic.of(Echo(), rows([a]), np.array([b])) for a, b in zip(*picked, strict=True)]
        np.testing.assert_array_equal(whole, np.sum(each, axis=0))


class Broken(Echo):
    """Has a method that fails, or answers in another shape, for the record 99."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer(X)

    predict_proba = predict


@pytest.mark.parametrize("statistic", [each[0] for each in KINDS.values()], ids=KINDS)
@pytest.mark.parametrize(
    "answer",
    [lambda X: 1 / 0, lambda X: None, lambda X: np.zeros((len(X), 5)), lambda X: X[:1, 0]],
    ids=range(4),
)
def test_what_a_model_does_not_answer_is_refused_without_its_text(statistic, answer):
    with pytest.raises(DomainError, match="X holds records for which") as caught:
        statistic.of(Broken(answer), rows([1, 0, 1]), np.array([0, 1, 1]))
    assert caught.value.__context__ is None


def test_labels_that_are_not_declared_are_refused_and_not_shown():
    statistic = ConfusionCounts((0, 1))
    with pytest.raises(DomainError, match=r"not among the declared classes \(0, 1\)") as caught:
        statistic.of(Echo(), rows([0, 1]), np.array([0, 77]))
    assert "77" not in str(caught.value)
    with pytest.raises(DomainError, match="predict one of the declared labels") as caught:
        statistic.of(Echo(), rows([0, 77]), np.array([0, 1]))
    assert "77" not in str(caught.value)


def test_scores_that_are_no_numbers_have_a_bin_and_a_loss_like_others():
    with np.errstate(all="raise"):
        binned = KINDS["binned"][0].of(Echo(), rows([np.nan, np.inf, -np.inf]), np.array([1, 1, 0]))
        assert binned.sum() == 3
        assert KINDS["loss"][0].of(Echo(), rows([np.nan, 1e300]), np.array([1, 1])).tolist() == [12]
        assert TargetSums(0.0, 1.0, "absolute", steps=12).of(
            Echo(), rows([np.nan, np.inf]), np.array([0.0, 1.0])
        ).tolist() == [0]


PURE = TableNoise.of(ApproxDP(1), l1=2, squared_l2=2)
GAUSSIAN = TableNoise.of(ApproxDP(1, 1e-6), l1=20, squared_l2=20)


def masses_of(noise):
    """The distribution of one cell's noise, symmetric about the middle."""
    if noise.gaussian:
        variance = Fraction(noise.deviation**2).limit_denominator(10**6)
        return np.array(gaussian_probabilities(variance)[1], float)
    return np.array(laplace_probabilities(decay_ratio(Fraction(1, 2)), -80, 80), float)


@pytest.mark.parametrize("noise", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("cells", [1, 2, 5, 20])
@pytest.mark.parametrize("beta", [0.3, 0.01, 1e-6])
def test_sums_of_noise_go_beyond_the_reach_as_rarely_as_it_says(noise, cells, beta):
    one = masses_of(noise)
    sums = one
    for _ in range(cells - 1):
        sums = np.convolve(sums, one)
    reach = noise.reach(cells, beta, n_cells=cells, room=10**6)
    beyond = sums[len(sums) // 2 + reach + 1 :].sum()
    assert beyond <= beta + 1e-9
    assert sums[len(sums) // 2 + reach // 3 :].sum() > beta  # nor is it far too great
    weighted = noise.weighted_reach(np.full((1, cells), 2.0), beta, n_cells=cells, room=10**6)[0]
    assert 2 * reach - 2 <= weighted * 1.01 + 2


def test_a_sum_of_no_cells_has_no_error_and_near_ends_admit_any():
    assert PURE.reach(0, 0.1, n_cells=4, room=10) == 0
    assert PURE.reach(3, 1e-9, n_cells=4, room=2) == 12
    assert PURE.weighted_reach(np.array([[1.0, 2.0]]), 1e-9, n_cells=4, room=2)[0] == 12


@pytest.mark.parametrize("noise", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_noise_is_drawn_with_its_deviation_and_clipped_to_its_ends(noise):
    found = noise.added(np.zeros(4000, dtype=np.int64), low=-(10**6), high=10**6, dice=SeededDice(3))
    assert abs(found.std() / noise.deviation - 1) < 0.1
    near = noise.added(np.zeros(100, dtype=np.int64), low=-1, high=2, dice=SeededDice(3))
    assert set(near.tolist()) <= {-1, 0, 1, 2}
