"""Oracles: answers, error bounds, budgets and refusals."""

import copy
import pickle
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from threading import Thread

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_matrix

from dplearn.chance import PublicStream, SeededDice
from dplearn.privacy import ApproxDP, BudgetExceededError
from dplearn.queries import (
    CentralOracle,
    HistogramQuery,
    LabelledRows,
    LocalOracle,
    MeanQuery,
    PopulationOracle,
    VectorQuery,
    central,
    local,
    population,
)

N = 4000
RECORDS = np.random.default_rng(0).integers(0, 5, N)
MEAN = MeanQuery(lambda records: records, low=0, high=4, unit=Fraction(1, 4))
SHARES = HistogramQuery(lambda records: records, categories=5)
VECTOR = VectorQuery(lambda records: np.eye(5, dtype=int)[records] * 3, size=5, norm=3, unit=Fraction(1, 3))
TRUTH = [np.array([RECORDS.mean() / 4]), np.bincount(RECORDS) / N, np.bincount(RECORDS) / N]


def central_oracle(epsilon=1, delta=0, seed=0, **how):
    return CentralOracle(RECORDS, privacy=ApproxDP(epsilon, delta), dice=SeededDice(seed), **how)


def local_oracle(epsilon=1, seed=0, **how):
    dice, stream = SeededDice(seed), PublicStream(seed)
    return LocalOracle(RECORDS, privacy=ApproxDP(epsilon), dice=dice, stream=stream, **how)


PRIVATE = {
    "central": central_oracle,
    "gaussian": lambda seed=0: central_oracle(delta=1e-6, seed=seed),
    "local": local_oracle,
    "laplace": lambda seed=0: local_oracle(seed=seed, randomizer="laplace"),
}


@pytest.mark.parametrize("name", PRIVATE)
def test_more_than_is_left_is_refused_and_costs_nothing_whichever_copy_asks(name):
    oracle = PRIVATE[name]()
    assert (oracle.rounds, oracle.adaptive, oracle.left) == ((), False, 1)
    copy.copy(oracle).ask([MEAN, SHARES], 0.75)
    assert (oracle.rounds[0].n_queries, oracle.rounds[0].share, oracle.adaptive) == (2, Fraction(3, 4), False)
    with pytest.raises(BudgetExceededError, match="at most the oracle's remaining budget"):
        oracle.ask(MEAN, 0.5)
    assert oracle.left == Fraction(1, 4)
    for wrong in (lambda r: np.repeat(r, 3), lambda r: r[:-1]):
        for query in (MeanQuery(wrong, low=0, high=4), HistogramQuery(wrong, categories=5)):
            with pytest.raises(TypeError, match="a query must answer once for each record"):
                PRIVATE[name]().ask(query)
    copy.copy(oracle).ask(MEAN)
    with pytest.raises(BudgetExceededError, match="the oracle's budget is used up"):
        oracle.ask(MEAN)
    assert (len(oracle.rounds), oracle.adaptive, oracle.left) == (2, True, 0)
    with pytest.raises(TypeError):
        pickle.dumps(oracle)
    assert not any(isinstance(value, np.ndarray) and value is RECORDS for value in vars(oracle).values())


@pytest.mark.parametrize("name", PRIVATE)
def test_a_tolerance_takes_the_least_share_that_keeps_it(name):
    oracle = PRIVATE[name]()
    everything = PRIVATE[name]().ask(MEAN)[0].tolerance(0.01)
    with pytest.raises(
        BudgetExceededError, match=f"tolerance must be at least {everything:.4g}, which takes all"
    ):
        oracle.ask(MEAN, tolerance=everything * 0.99, beta=0.01)
    answer = oracle.ask(MEAN, tolerance=2 * everything, beta=0.01)[0]
    taken = 1 - oracle.left
    assert answer.tolerance(0.01) <= 2 * everything
    assert 0 < taken < 1
    if name != "gaussian":  # and no smaller share does: one record less, or a little less epsilon
        less = PRIVATE[name]().ask(MEAN, taken - Fraction(2, N))[0]
        assert less.tolerance(0.01) > 2 * everything
    wide = MeanQuery(lambda records: records, low=-8, high=8)
    both = PRIVATE[name]().ask([MEAN, wide], tolerance=80 * everything, beta=0.01)
    assert max(each.tolerance(0.01) for each in both) <= 80 * everything


def test_a_share_is_of_epsilon_centrally_and_of_the_records_locally():
    first, second = (central_oracle().ask(MEAN, share)[0] for share in (0.5, 0.25))
    assert second.noise.linear == pytest.approx(2 * first.noise.linear, rel=1e-6)
    assert (first.n, second.n) == (N, N)
    counts = [local_oracle().ask([MEAN, SHARES], share)[0].n for share in (1, 0.5)]
    assert counts == [N // 2, N // 4]


def test_no_record_answers_two_local_queries_and_the_order_is_public():
    asked = []
    query = MeanQuery(lambda records: asked.append(records.tolist()) or records, low=0, high=N)
    for seed in (0, 0, 1):
        dice, stream = SeededDice(5), PublicStream(seed)
        oracle = LocalOracle(np.arange(N), privacy=ApproxDP(1), dice=dice, stream=stream)
        oracle.ask([query, query], 0.5)
        oracle.ask(query)
    once, again, other = (list(chain(*asked[i : i + 3])) for i in (0, 3, 6))
    assert sorted(once) == list(range(N)) != once
    assert once == again != other


def test_a_population_oracle_answers_exactly_or_within_its_tolerance():
    oracle = population(RECORDS)
    for answer, truth in zip(oracle.ask([MEAN, SHARES, VECTOR]), TRUTH, strict=True):
        np.testing.assert_allclose(answer.means, truth, atol=1e-12)
        assert answer.tolerance(0.01) == 0
    for off, kept in ((0.05, 0.05), (0.4, 0.1), (-9, -0.1)):
        liar = population(RECORDS, tolerance=0.1, adversary=lambda exact, off=off: exact + off)
        assert liar.ask(MEAN)[0].mean - TRUTH[0][0] == pytest.approx(kept)
        assert liar.ask(MEAN)[0].tolerance() == 0.1
        close = liar.ask(MEAN, tolerance=0.01)[0]
        assert close.tolerance(0.5) == 0.01
        assert close.mean - TRUTH[0][0] == pytest.approx(np.clip(off, -0.01, 0.01))
        assert liar.adaptive
        assert {each.share for each in liar.rounds} == {0}
    assert population(np.array([0, 4]), weights=[3, 1]).ask(MEAN)[0].mean == 0.25
    tenths = MeanQuery(lambda records: records, low=0, high=10**6)
    assert population(np.array([7, 8, 9, 10, 1, 1, 1, 1, 1, 4])).ask(tenths)[0].mean == 4.3


def test_what_cannot_be_added_up_or_drawn_is_refused_before_a_share_is_spent():
    wide = MeanQuery(lambda records: records, low=0, high=1 << 40)
    many = CentralOracle(np.broadcast_to(np.int64(1), 1 << 22), privacy=ApproxDP(1), dice=SeededDice(0))
    with pytest.raises(ValueError, match=r"bounds below 2\*\*62 / n for 4194304 records"):
        many.ask(wide)
    gaussian = central_oracle(epsilon=1e-9, delta=1e-9)
    with pytest.raises(ValueError, match=r"Gaussian noise has sigma2 below 2\*\*56; noise='laplace'"):
        gaussian.ask(MeanQuery(lambda records: records, low=0, high=1))
    assert gaussian.rounds == many.rounds == ()


PLACES = np.arange(60)
WIDE, NAMES, TWICE = np.repeat(PLACES[:, None], 200, axis=1), [f"c{i}" for i in range(200)], PLACES // 2 % 10
#: Records of which each holds its place, in forms whose brackets may mean something else.
NAMED = {
    "array": lambda: WIDE,
    "numbered columns": lambda: pd.DataFrame(WIDE),
    "named columns": lambda: pd.DataFrame(WIDE, columns=NAMES),
    "labels that occur twice": lambda: pd.DataFrame(WIDE, index=TWICE),
    "polars": lambda: pl.DataFrame(WIDE, schema=NAMES),
    "series": lambda: pd.Series(PLACES, index=TWICE),
    "polars series": lambda: pl.Series(PLACES),
    "recarray": lambda: np.rec.fromarrays([PLACES], names="place"),
    "sparse": lambda: coo_matrix(WIDE),
    "examples": lambda: LabelledRows(pd.DataFrame(WIDE), pd.Series(PLACES, index=TWICE)),
}


def place_of(records):
    records = records.y if isinstance(records, LabelledRows) else records
    records = records.toarray() if hasattr(records, "toarray") else records
    records = records.place if hasattr(records, "place") else records
    return np.asarray(records).reshape(len(records), -1)[:, 0]


@pytest.mark.parametrize("kind", NAMED)
def test_each_record_of_any_table_answers_one_local_query_once(kind):
    asked = []
    query = MeanQuery(lambda part: asked.append(place_of(part).tolist()) or place_of(part), low=0, high=60)
    oracle = local(NAMED[kind](), random_state=0)
    for share in (0.25, 0.5, 0.25):
        oracle.ask(query, share)
    assert [*map(len, asked)] == [15, 30, 15]
    assert sorted(chain(*asked)) == list(range(60))
    assert central(NAMED[kind](), epsilon=1000, random_state=0).ask(query)[0].mean == pytest.approx(
        29.5, abs=1
    )
    assert population(NAMED[kind]()).ask(query)[0].mean == 29.5


def test_a_population_oracle_warns_of_values_beyond_the_bounds():
    oracle = population(np.array([1, 2, 3]))
    for query, beyond in (
        (MeanQuery(lambda records: records, low=0, high=2), 1),
        (HistogramQuery(lambda records: records, categories=2), 2),
        (VectorQuery(lambda records: np.eye(3, dtype=int)[records - 1] * 5, size=3, norm=4), 3),
    ):
        with pytest.warns(UserWarning, match=rf"has values beyond its bounds for {beyond} of 3 records"):
            oracle.ask(query)


@pytest.mark.parametrize("name", PRIVATE)
def test_threads_share_one_budget(name):
    oracle, answered = PRIVATE[name](), []

    def asking():
        with suppress(BudgetExceededError):
            while True:
                answered.extend(oracle.ask(MEAN, 0.125))

    threads = [Thread(target=asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answered) == len(oracle.rounds) == 8


def oracles_of(numbers):
    privacy = ApproxDP(1e6)
    return [
        PopulationOracle(numbers),
        CentralOracle(numbers, privacy=privacy, dice=SeededDice(0)),
        LocalOracle(numbers, privacy=privacy, dice=SeededDice(0), stream=PublicStream(0)),
    ]


@pytest.mark.parametrize("oracle", oracles_of(np.repeat([1, 2, 3], 40)), ids=lambda each: type(each).__name__)
def test_an_oracle_answers_about_images_from_the_same_budget(oracle):
    tens = oracle.map(lambda numbers: numbers * 10)
    query = MeanQuery(lambda numbers: numbers, low=0, high=40)
    [answer] = tens.ask(query, "3/4")
    assert answer.mean == pytest.approx(20, abs=8)
    assert oracle.rounds == tens.rounds
    assert oracle.left == tens.left
    [plain] = oracle.ask(query)
    assert plain.mean < 10
    if not isinstance(oracle, PopulationOracle):
        with pytest.raises(BudgetExceededError, match="used up"):
            tens.ask(query)


@pytest.mark.parametrize("place", [1, 2])
def test_a_part_of_a_budget_is_metered(place):
    oracle = oracles_of(np.arange(100) % 3)[place]
    oracle.ask(MEAN, "1/5")
    inner = oracle.within(Fraction(2, 5))
    assert inner.left == 1
    inner.ask(MEAN, "1/2")
    assert (inner.left, oracle.left) == (Fraction(1, 2), Fraction(3, 5))
    with pytest.raises(BudgetExceededError, match=r"at most the oracle's remaining budget, 0\.5"):
        inner.ask(MEAN, "3/4")
    half = inner.within(Fraction(1, 2)).map(lambda numbers: 2 - numbers)
    half.ask(MEAN)
    assert (half.left, inner.left, oracle.left) == (0, 0, Fraction(2, 5))
    with pytest.raises(BudgetExceededError, match="used up"):
        inner.ask(MEAN)
    assert [each.share for each in oracle.rounds] == [Fraction(1, 5)] * 3
    outer = oracle.within(Fraction(2, 5))
    oracle.ask(MEAN)  # counts for both
    assert (outer.left, oracle.left) == (0, 0)


@pytest.mark.parametrize("place", [1, 2])
def test_a_part_that_others_have_overspent_has_nothing_left(place):
    oracle = oracles_of(np.arange(100) % 3)[place]
    inner = oracle.within("1/2")
    oracle.ask(MEAN, "3/4")
    assert inner.left == 0
    for how in ({}, {"share": "1/8"}, {"tolerance": 9}):
        with pytest.raises(BudgetExceededError, match="used up"):
            inner.ask(MEAN, **how)
    assert [each.share for each in oracle.rounds] == [Fraction(3, 4)]
    with pytest.raises(BudgetExceededError, match=r"at most the oracle's remaining budget, 0\.25, got 0\.5"):
        oracle.within("1/2")
    for wrong in (0, -1, 2):
        with pytest.raises(ValueError, match="share must be"):
            oracle.within(wrong)
    whole, twin = (oracles_of(np.arange(4000) % 3)[place] for _ in range(2))
    loose = whole.ask(MEAN, tolerance=0.5)[0]
    inner = twin.within(Fraction(1, 2))
    assert inner.ask(MEAN, tolerance=0.5)[0].tolerance() == pytest.approx(loose.tolerance(), rel=0.01)
    assert twin.left == pytest.approx(float(whole.left), rel=0.01)
