import numpy as np
import pytest
from scipy.stats import binom

from dplearn.concepts import masked_rows
from dplearn.kernels import pack
from dplearn.learners import MaskedParityClassifier
from dplearn.learners.parity import Asking, MaskedRecords, learn_masked_parity
from dplearn.queries import PopulationOracle
from dplearn.theory import masked_parity_sample_size

R = np.array([1, 0, 1, 1, 0, 0, 0, 1])


def labels_of(bits, index, mask, r, a):
    return np.where(mask == 1, r[index], (bits @ r + a) % 2)


def records(n, r=R, a=1, seed=0):
    generator = np.random.default_rng(seed)
    bits, index = generator.integers(0, 2, (n, len(r))), generator.integers(0, len(r), n)
    mask = generator.integers(0, 2, n)
    return masked_rows(bits, index, mask), labels_of(bits, index, mask, r, a)


def model(**changed):
    return MaskedParityClassifier(**{"classes": [0, 1], "binarize": None, "random_state": 0} | changed)


def learned(fitted, r=R, a=1):
    return fitted.parity_.tolist() == list(r) and fitted.intercept_ == a


# --- The rounds, with any oracle. ---


def population(r, a, kind=PopulationOracle, **changed):
    d = len(r)
    points = np.array(list(np.ndindex(*[2] * d, d, 2)))
    bits, index, mask = points[:, :d], points[:, d], points[:, d + 1]
    table = pack(masked_rows(bits, index, mask))
    return kind(MaskedRecords.of(table, d, labels_of(bits, index, mask, r, a)), **changed)


#: How far off answers may be, for d bits in each way, in each round.
TOLERANCES = {"cells": (lambda d: 1 / (4 * d + 1), 1 / 5), "hadamard": (lambda d: 1 / (2 * d + 1), 2 / 5)}
ADVERSARIES = {
    "greater": lambda exact: exact + 9,
    "smaller": lambda exact: exact - 9,
    "together": lambda exact: exact - 9 * np.sign(exact),
    "by places": lambda exact: exact + 9 * (-1) ** np.arange(len(exact)),
}


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("way", TOLERANCES)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_any_answers_within_the_tolerances_find_every_concept(d, way, adversary):
    first, second = TOLERANCES[way]
    rounds = Asking(way, {"tolerance": first(d)}), Asking(way, {"tolerance": second})
    for code in range(2 ** (d + 1)):
        r, a = np.array([code >> i & 1 for i in range(d)]), code >> d
        oracle = population(r, a, adversary=ADVERSARIES[adversary])
        found = learn_masked_parity(oracle, d, *rounds)
        assert found.shown == found.parity.features == tuple(np.flatnonzero(r))
        assert found.parity.intercept == a
        assert len(oracle.rounds) == 2


# --- The estimator. ---


@pytest.mark.parametrize(
    ("kind", "epsilon", "n"), [("central", 1, 600), ("local", 1, 16_000), ("local", 6, 400)]
)
@pytest.mark.parametrize("a", [0, 1])
def test_two_rounds_learn_it_and_one_learns_a_half(kind, epsilon, n, a):
    X, y = records(n, a=a)
    test = records(4000, a=a, seed=1)
    both = model(trust_model=kind, epsilon=epsilon).fit(X, y)
    assert learned(both, a=a)
    assert both.score(*test) == 1
    one = model(trust_model=kind, epsilon=epsilon, interactive=False).fit(X, y)
    assert one.parity_.tolist() == R.tolist()
    assert one.score(*test) == pytest.approx(3 / 4, abs=0.03)
    assert (both.rounds_, one.rounds_) == (2, 1)


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    ("kind", "epsilon", "d"),
    [
        ("central", 1, 8),
        ("local", 1, 4),
        *[pytest.param(*each, marks=pytest.mark.nightly) for each in (("central", 0.3, 2), ("local", 6, 8))],
    ],
)
def test_the_sample_size_keeps_its_promise_and_a_quarter_of_it_does_not(kind, epsilon, d):
    n = masked_parity_sample_size(d, epsilon=epsilon, beta=0.2, trust_model=kind)
    failed = dict.fromkeys((n, n // 4), 0)
    for seed in range(30):
        for size in failed:
            X, y = records(size, R[:d], seed % 2, seed)
            fitted = model(trust_model=kind, epsilon=epsilon, random_state=seed).fit(X, y)
            failed[size] += not learned(fitted, R[:d], seed % 2)
    assert failed[n] <= binom.ppf(1 - 1e-6, 30, 0.2)
    assert failed[n // 4] > 0.2 * 30
