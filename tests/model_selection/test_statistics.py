"""Statistics: what they count, how far one record moves them, and what they refuse."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from dplearn.audit.cases.scores import Echo
from dplearn.domains import DomainError
from dplearn.model_selection.tables import BinnedScores, ConfusionCounts, ErrorCount, LossSum, TargetSums

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


@pytest.mark.parametrize("steps", [4, 8, 64, 100])
def test_a_target_moves_its_code_and_its_square_by_all_steps_together_at_most(steps):
    codes = np.arange(-steps // 2, steps // 2 + 1)
    squares = codes**2 // steps
    moved = np.abs(codes[:, None] - codes) + np.abs(squares[:, None] - squares)
    assert moved.max() == steps


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
