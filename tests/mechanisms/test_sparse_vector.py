"""The sparse vector: its accuracy, and one law however questions are asked.

The first count that reaches a threshold, found with noise that is spent once for rising counts.
"""

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from dplearn.chance import ReplayDice, SeededDice
from dplearn.kernels import decay_ratio
from dplearn.mechanisms import SparseVector, first_reaching, reaching_ratios, sparse_vector
from dplearn.privacy import ApproxDP
from tests.mechanisms.laws import law


def split(epsilon, positives):
    """The ratios of the noise of the threshold and of the questions, of the least variance together."""
    share = Fraction(1, 1 + round((2 * positives) ** (2 / 3)))
    return [decay_ratio(epsilon * rate) for rate in (share, (1 - share) / (2 * positives))]


def asked_one_by_one(vector, values):
    answers = []
    for value in values:
        if not vector.stopped:
            answers.append(vector.ask(value))
    return answers


def walked(values, one_by_one=False, tail_bits=12, **parameters):
    def run(dice):
        vector = SparseVector(dice=dice, **parameters)
        return asked_one_by_one(vector, values) if one_by_one else vector.ask_all(values).tolist()

    return law(run, tail_bits)


# The distribution


@pytest.mark.parametrize("renew", [False, True])
@pytest.mark.parametrize("chunk", [1, 2, 4096])
@pytest.mark.parametrize("positives", [1, 2, 5])
def test_asking_one_by_one_and_all_at_once_have_the_same_law(renew, chunk, positives, monkeypatch):
    values = (1, -1, 2)
    settings_ = {
        "threshold": 0,
        "max_positives": positives,
        "privacy": ApproxDP(10 * positives),
        "renew_threshold": renew,
    }
    monkeypatch.setattr(sparse_vector, "CHUNK", chunk)
    assert walked(values, tail_bits=6, **settings_) == walked(values, True, tail_bits=6, **settings_)


@pytest.mark.parametrize("positives", [1, 2, 5])
def test_the_threshold_and_the_questions_have_their_shares_of_epsilon(positives):
    dice = ReplayDice(SeededDice(0))
    SparseVector(0, max_positives=positives, privacy=ApproxDP(3), dice=dice).ask_all([0])
    assert [draw.arguments[0] for draw in dice.trace] == split(Fraction(3), positives)


# Accuracy


@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 200)])
@pytest.mark.parametrize(("positives", "renewed"), [(1, True), (2, False)])
def test_the_accuracy_line_holds(beta, renewed, positives):
    epsilon, threshold, m = Fraction(2), 3, 2
    a, b = split(epsilon, positives)
    lowest = threshold - log(2 * m / beta) / -log(b)
    highest = threshold + log(2 / beta) / -log(a)
    parameters = {"max_positives": positives, "privacy": ApproxDP(epsilon), "renew_threshold": renewed}
    for values in product((int(np.floor(lowest)), threshold, int(np.ceil(highest)) + 1), repeat=m):
        distribution = walked(values, threshold=threshold, **parameters)
        right = sum(
            p
            for answers, p in distribution.items()
            if all(
                value > lowest if answer else value <= highest
                for answer, value in zip(answers, values, strict=False)
            )
        )
        assert right >= 1 - beta


# What goes in and what comes out


def test_the_probability_of_the_first_is_that_of_two_noises():
    a, b = reaching_ratios(Fraction(3))
    found = law(lambda dice: first_reaching([0, 5], 2, privacy=ApproxDP(3), dice=dice), tail_bits=60)
    # G >= 2 + B, summed over B: b**2 (1 - a) / (1 - a b).
    expected = b**2 * (1 - a) / (1 - a * b)
    assert float(found[0]) == pytest.approx(float(expected), rel=1e-9)
