import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import binom

from dplearn.concepts.parities import masked_rows
from dplearn.kernels.gf2 import pack
from dplearn.learners import MaskedParityClassifier
from dplearn.learners.parity.masked import Asking, MaskedRecords, learn_masked_parity
from dplearn.queries import MeanQuery, PopulationOracle
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


def test_answers_beyond_the_tolerances_fail():
    oracle = population(R[:4], 1, adversary=ADVERSARIES["by places"])
    rounds = Asking("cells", {"tolerance": 1 / 15}), Asking("cells", {"tolerance": 1 / 5})
    assert learn_masked_parity(oracle, 4, *rounds).shown != (0, 2, 3)


@pytest.mark.parametrize("way", TOLERANCES)
def test_one_round_finds_the_parity_and_nothing_of_its_complement(way):
    for a in (0, 1):
        oracle = population(R[:4], a)
        found = learn_masked_parity(oracle, 4, Asking(way), None)
        assert (found.shown, found.parity.features, oracle.adaptive) == ((0, 2, 3), (), False)


# --- Theorem 5.16, part 2. ---


class Blind:
    """An oracle that answers as if both intercepts were equally likely, within the tolerance."""

    def __init__(self, r):
        self.both = [population(r, a) for a in (0, 1)]

    def ask(self, queries, tolerance):
        answers = [oracle.ask(queries) for oracle in self.both]
        blind = [(one.means + other.means) / 2 for one, other in zip(*answers, strict=True)]
        off = [np.abs(one.means - other.means).max() / 2 for one, other in zip(*answers, strict=True)]
        return blind, max(off) <= tolerance


@pytest.mark.parametrize("d", [3, 4, 5])
def test_queries_of_one_round_are_answered_alike_for_a_parity_and_its_complement(d):
    # Those of the learner's one round, and guesses of three parities.
    asked = []

    class Listening(PopulationOracle):
        def ask(self, queries, share=None, **terms):
            asked.extend(queries if isinstance(queries, list) else [queries])
            return super().ask(queries, share, **terms)

    heard = population(np.zeros(d, dtype=int), 0, Listening)
    learn_masked_parity(heard, d, Asking("hadamard"), None)

    def guess(parity):
        bits = np.array([parity >> i & 1 for i in range(d)], dtype=np.uint8)
        return MeanQuery(
            lambda rows: (1 - 2 * (rows.matrix.dot(bits) ^ rows.labels).astype(int)) * (rows.mask == 0),
            low=-1,
            high=1,
        )

    guesses = [1, 2**d - 1, 5 % 2**d]
    asked += [guess(parity) for parity in guesses]
    given = [
        code
        for code in range(2**d)
        if not Blind(np.array([code >> i & 1 for i in range(d)])).ask(asked, 2 ** (-d / 3) / 2)[1]
    ]
    # The learner's own query at mask 0 is for the empty parity, a guess of its own.
    assert set(given) <= {0, *guesses}
    assert len(given) <= len(asked) / (4 * (2 ** (-d / 3) / 2) ** 2)


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


def test_a_plan_is_what_a_fit_does():
    X, y = records(1000)
    planned = model(trust_model="local", epsilon=4).plan(1000, n_features=X.shape[1])
    fitted = model(trust_model="local", epsilon=4).fit(X, y)
    assert planned.n_rounds == fitted.rounds_ == 2
    assert planned.guarantee.epsilon == fitted.guarantee_.epsilon == 4
    assert planned.n_bits == 8
    assert (planned.alpha, planned.failure <= 0.05) == (0, planned.n_needed <= 1000)
    assert model(interactive=False).plan(1000, n_features=12).alpha == 1 / 4


def test_tables_are_read_in_every_form():
    X, y = records(800)
    words = np.where(y, "odd", "even")
    for table in (X.astype(float), csr_matrix(X), pd.DataFrame(X).add_prefix("c"), X.tolist()):
        fitted = model(classes=["even", "odd"]).fit(table, words)
        assert learned(fitted)
        assert (fitted.predict(table) == words).all()
        assert (fitted.predict_proba(table)[:, 1] == y).all()
        assert " is 0 or 2 or 3 or 7, else 'even'" in repr(fitted.concept_)
