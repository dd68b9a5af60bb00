"""Windows around noisy ranks: the exact distribution, its privacy for many quantiles, and mistakes in it.

Enumeration reaches one or two quantiles. For more, `density` sums the probability of one outcome over all
noise by dynamic programming; it is checked against enumeration first.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.kernels import SortedCodes
from dplearn.mechanisms import WindowTerms, codes_in_windows
from dplearn.privacy import ApproxDP
from tests.mechanisms.laws import law

PROOF = {"decay": Fraction(2, 5), "zone": 2}
FEW = WindowTerms((3,), 6, Fraction(12), Fraction(2), reach=1, least=2, ramp=1, **PROOF)
TWO = WindowTerms((3, 6), 9, Fraction(24), Fraction(2), reach=1, least=2, ramp=1, **PROOF)
#: Twelve quantiles.
MANY = WindowTerms(
    tuple(41 * i for i in range(1, 11)),
    451,
    Fraction(1),
    Fraction(3, 10),
    reach=10,
    least=20,
    ramp=20,
    **PROOF,
)


def densities(data, size, terms, noisy=True):
    """Return a function of codes, one a window: their probability before sorting, up to a factor."""
    n, reach, ramp = terms.n, terms.reach, terms.ramp
    data, codes = np.sort(np.array(data)), np.arange(size)
    weights = np.zeros((n + 1, ramp + 1, size))  # of each code at each centre and strength, normalised
    weights[:, 0] = 1 / size
    for centre in range(reach, n - reach + 1):
        cost = np.zeros(size)
        for t in range(reach):
            cost += (codes < data[centre - t - 1]) | (codes > data[centre + t])
        for strength in range(1, ramp + 1):
            weight = np.exp(-float(terms.choice) * strength / ramp * cost)
            weights[centre, strength] = weight / weight.sum()
    ratio, gaps = exp(-float(terms.noise) / 2), np.arange(n + 1)
    strengths = np.clip(gaps - terms.least, 0, ramp)

    lesser = np.minimum.outer(np.arange(ramp + 1), np.arange(ramp + 1))

    def moved(wanted):
        moves = ratio ** np.abs(gaps - wanted) if noisy else (gaps == wanted).astype(float)
        return np.where(moves > 1e-20, moves, 0)

    def density(found):
        state = np.zeros((n + 1, ramp + 1))  # by centre and the strength of the gap before it
        np.add.at(state, (gaps, strengths), moved(terms.gaps[0]))
        for code, wanted in zip(found, terms.gaps[1:], strict=True):
            after, move = np.zeros_like(state), moved(wanted)
            # By the strength of the gap after; the lesser of both is that of the window.
            chosen = [
                (state * weights[:, lesser[strength], code]).sum(axis=1) for strength in range(ramp + 1)
            ]
            for gap in np.flatnonzero(move):
                strength = strengths[gap]
                after[gap:, strength] += move[gap] * chosen[strength][: n + 1 - gap]
            state = after
        return state[n].sum()

    return density


def release(data, size, terms, dice):
    return codes_in_windows(
        SortedCodes(np.array(data)), size, terms, privacy=ApproxDP(terms.epsilon), dice=dice
    )


def claim(terms):
    """Return the privacy cost that is proved, with the best kappa and H of a grid."""
    return min(
        float(replace(terms, decay=Fraction(kappa, 50), zone=zone).epsilon)
        for kappa in range(1, 100, 2)
        for zone in range(1, 2 * terms.reach + 1)
    )


#: Whose moves are so wide that greater sums of them show than the shortest table has.
WIDE = WindowTerms((10,), 20, Fraction(5), Fraction(2), reach=1, least=2, ramp=1, **PROOF)


@pytest.mark.parametrize(
    ("data", "size", "terms", "few_sums"),
    [
        ([0, 0, 1, 1, 2, 2], 3, FEW, False),
        ([0] * 9 + [1] * 2 + [2] * 9, 3, WIDE, True),
        pytest.param([0, 0, 0, 0, 1, 1, 1, 1, 1], 2, TWO, False, marks=pytest.mark.nightly),
    ],
)
def test_the_probability_of_an_outcome_is_that_of_the_release(data, size, terms, few_sums, monkeypatch):
    """With a table of few sums of moves the rest is drawn by rejection, and a rejection is None."""
    if few_sums:
        monkeypatch.setattr("dplearn.mechanisms.quantile_windows.RARE", 1)
    found = law(lambda dice: release(data, size, terms, dice))
    density, expected = densities(data, size, terms), Counter()
    for codes in product(range(size), repeat=len(terms.targets)):
        expected[tuple(sorted(codes))] += density(codes)
    assert 0 < found.pop(None, 0) < Fraction(1, 2) or not few_sums
    assert found.keys() == expected.keys()
    shares = [float(found[codes] / sum(found.values())) for codes in expected]
    assert shares == pytest.approx(np.array([*expected.values()]) / sum(expected.values()), abs=1e-9)


def apart(terms, wide):
    """Records one code apart, with wide gaps after the wanted ranks; and their neighbours' records."""
    steps = np.ones(terms.n, dtype=int)
    steps[list(terms.targets)] = wide
    data = np.cumsum(steps) - 1
    return data, np.append(data[:-1], 0), int(data[-1]) + 2


def test_many_quantiles_keep_their_epsilon_and_would_not_without_noise():
    data, other, size = apart(MANY, 12)
    losses = {}
    for noisy in (True, False):
        one, two = densities(data, size, MANY, noisy), densities(other, size, MANY, noisy)
        found = [[int(data[target + away]) for target in MANY.targets] for away in (5, -2)]
        losses[noisy] = max(abs(log(one(codes) / two(codes))) for codes in found)
    assert losses[True] < 1 < claim(MANY) < 3 < losses[False]


CLOSE = WindowTerms((9, 18), 27, Fraction(3), Fraction(1, 2), reach=2, least=4, ramp=3, **PROOF)


def test_no_neighbours_exceed_the_claim():
    generator, size, worst = np.random.default_rng(0), 6, 0.0
    for _ in range(40):
        data = generator.choice(size, CLOSE.n, p=generator.dirichlet(np.full(size, 0.5)))
        other = np.append(data[1:], generator.integers(size))
        one, two = densities(data, size, CLOSE), densities(other, size, CLOSE)
        pairs = [(a, b) for a in range(size) for b in range(size)]
        worst = max(worst, *(abs(log(one(pair) / two(pair))) for pair in pairs))
    assert 0.3 < worst < claim(CLOSE)


def test_codes_rise_and_windows_without_strength_read_no_data():
    narrow = replace(FEW, n=14, targets=(3,), least=6)  # of a gap of 3 in all likelihood
    laws = [law(lambda dice, data=data: release(data, 3, narrow, dice)) for data in ([0] * 14, [2] * 14)]
    shares = [[found[code,] for code in range(3)] for found in laws]
    assert sum(shares[0]) > Fraction(99, 100)
    assert max(shares[0]) - min(shares[0]) < Fraction(1, 10**6)
    assert shares[0] == pytest.approx(shares[1], abs=1e-6)
    data = np.random.default_rng(0).integers(0, 2**40, MANY.n)
    for seed in range(20):
        found = release(data, 2**40, MANY, SeededDice(seed))
        assert found is None or all(a <= b for a, b in pairwise(found))


def test_terms_that_the_proof_does_not_cover_are_refused():
    def refused(privacy, **changed):
        terms = replace(FEW, **changed)
        codes_in_windows(SortedCodes(np.arange(6)), 6, terms, privacy=privacy, dice=SeededDice(0))

    enough = ApproxDP(FEW.epsilon)
    with pytest.raises(ValueError, match=r"^terms must cost at most 27, got 27\.4"):
        refused(ApproxDP(27))
    for changed in ({"least": 3}, {"least": 1}, {"zone": 3}, {"ramp": 0}, {"decay": Fraction(0)}):
        with pytest.raises(ValueError, match=r"^terms must have n >"):
            refused(enough, **changed)
