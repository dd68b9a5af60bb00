"""The sparse vector: its law is the literal definition, and keeps epsilon for every split and stop.

The first count that reaches a threshold, found with noise that is spent once for rising counts.
"""

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from dplearn.kernels import decay_ratio
from dplearn.mechanisms import SparseVector, first_reaching, reaching_ratios, sparse_vector
from dplearn.privacy import ApproxDP, equal_epsilon
from tests.mechanisms.laws import law, left_out


def patterns(m, positives):
    """All sequences of answers to m questions that can be given before the stop or at it."""
    for answers in product((False, True), repeat=m):
        if sum(answers) < positives:
            yield answers
        else:
            end = [i for i, answer in enumerate(answers) if answer][positives - 1]
            if not any(answers[end + 1 :]):
                yield answers[: end + 1]


def split(epsilon, positives, sensitivity):
    share = Fraction(1, 1 + round((2 * positives) ** (2 / 3)))
    rates = epsilon / sensitivity * share, epsilon / sensitivity * (1 - share) / (2 * positives)
    return tuple(map(decay_ratio, rates))


def formula(values, threshold, epsilon, positives=1, sensitivity=1):
    """The literal definition, summed over the threshold's noise B: value + G > threshold + B for each value.

    From B = reach on every question is open, and a sequence has a probability that is a polynomial in the
    questions' ratio to the power B - reach: each power of it sums to a geometric series.
    """
    a, b = split(epsilon, positives, sensitivity)
    reach = max(0, *(value - threshold for value in values))
    distribution = {}
    for answers in patterns(len(values), positives):
        total = Fraction(0)
        for noise in range(reach):
            total += a**noise * (1 - a) * _at(answers, values, threshold + noise, b)
        polynomial = [Fraction(1)]
        for answer, value in zip(answers, values, strict=False):
            c = b ** (threshold + reach - value + 1)
            shifted = [Fraction(0), *(c * x for x in polynomial)]
            polynomial = (
                shifted if answer else [x - y for x, y in zip([*polynomial, 0], shifted, strict=True)]
            )
        tail = sum(x / (1 - a * b**k) for k, x in enumerate(polynomial))
        distribution[answers] = total + a**reach * (1 - a) * tail
    return distribution


def _at(answers, values, noisy_threshold, b):
    p = Fraction(1)
    for answer, value in zip(answers, values, strict=False):
        above = b ** max(0, noisy_threshold - value + 1)
        p *= above if answer else 1 - above
    return p


def formula_renewed(values, threshold, epoch_epsilon, positives, sensitivity=1):
    """Epoch after epoch, each with one positive answer and its own threshold."""
    if not values or not positives:
        return {(): Fraction(1)}
    distribution = {}
    for answers, p in formula(values, threshold, epoch_epsilon, 1, sensitivity).items():
        rest = values[len(answers) :] if answers[-1] else ()
        after = formula_renewed(rest, threshold, epoch_epsilon, positives - 1, sensitivity)
        for more, q in after.items():
            distribution[answers + more] = distribution.get(answers + more, 0) + p * q
    return distribution


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


@pytest.mark.parametrize("values", [(3,), (0, 0, 0), (5, -1, 2), (-3, 4, 0, 1)])
@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_the_law_is_the_literal_definition(values, positives, sensitivity):
    found = walked(values, threshold=2, max_positives=positives, privacy=ApproxDP(4), sensitivity=sensitivity)
    wanted = formula(values, 2, Fraction(4), positives, sensitivity)
    assert sum(wanted.values()) == 1
    assert found.keys() == wanted.keys()
    assert all(p <= wanted[answers] <= p + left_out(found) for answers, p in found.items())


@pytest.mark.parametrize("values", [(0, 0, 0), (3, -1, 2)])
@pytest.mark.parametrize("privacy", [ApproxDP(8), ApproxDP(8, "1/20")])
def test_with_a_renewed_threshold_the_law_is_that_of_separate_epochs_of_equal_epsilon(values, privacy):
    found = walked(values, threshold=1, max_positives=2, privacy=privacy, renew_threshold=True, tail_bits=8)
    wanted = formula_renewed(values, 1, equal_epsilon(privacy, 2), 2)
    assert found.keys() == wanted.keys()
    assert all(p <= wanted[answers] <= p + left_out(found) for answers, p in found.items())


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
    monkeypatch.setattr(sparse_vector, "_CHUNK", chunk)
    assert walked(values, tail_bits=6, **settings_) == walked(values, True, tail_bits=6, **settings_)


# Accuracy


@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 1000)])
@pytest.mark.parametrize(("positives", "renewed"), [(1, True), (2, False)])
def test_the_accuracy_line_holds(beta, renewed, positives):
    epsilon, threshold, m, epochs = Fraction(2), 3, 3, positives if renewed else 1
    a, b = split(epsilon / epochs, 1 if renewed else positives, 1)
    lowest = threshold - log(2 * m / beta) / -log(b)
    highest = threshold + log(2 * epochs / beta) / -log(a)
    far = (int(np.floor(lowest)) - 1, threshold - 2, threshold, threshold + 2, int(np.ceil(highest)) + 1)
    law_of = formula_renewed if renewed else formula
    for values in product(far, repeat=m):
        distribution = law_of(values, threshold, epsilon / epochs, positives)
        wrong = sum(
            p
            for answers, p in distribution.items()
            if any(
                value <= lowest if answer else value > highest
                for answer, value in zip(answers, values, strict=False)
            )
        )
        assert wrong <= beta


# What goes in and what comes out


def test_the_probability_of_the_first_is_that_of_two_noises():
    a, b = reaching_ratios(Fraction(3))
    found = law(lambda dice: first_reaching([0, 5], 2, privacy=ApproxDP(3), dice=dice), tail_bits=60)
    # G >= 2 + B, summed over B: b**2 (1 - a) / (1 - a b).
    expected = b**2 * (1 - a) / (1 - a * b)
    assert float(found[0]) == pytest.approx(float(expected), rel=1e-9)
