"""The planned noise of an answer is the noise that the answer has."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import PublicStream, SeededDice
from dplearn.privacy import ApproxDP
from dplearn.queries import HistogramQuery, MeanQuery, VectorQuery
from dplearn.queries.factories import oracle_for
from dplearn.queries.noise import LocalNoise, noise_of

QUERIES = [
    MeanQuery(lambda records: records % 3, low=0, high=2),
    HistogramQuery(lambda records: records % 4, categories=4),
    VectorQuery(lambda records: np.stack([records % 2, records % 3], axis=1), size=2, norm=3, unit="1/2"),
]
KINDS = {"laplace": ApproxDP(1), "gaussian": ApproxDP(1, 1e-6), "local": ApproxDP(1)}


@pytest.mark.parametrize("query", QUERIES, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_the_planned_deviation_is_that_of_answers(kind, query):
    records, share = np.arange(400), Fraction(1, 4)
    errors = []
    for seed in range(120):
        oracle = oracle_for(
            kind, records, privacy=KINDS[kind], dice=SeededDice(seed), stream=PublicStream(seed)
        )
        answer = oracle.ask(query, share)[0]
        if kind != "local":
            exact = query.total(records) * float(query.unit) / 400
            errors.append(answer.means - exact)
            assert answer.noise_variance == pytest.approx(
                noise_of(kind, KINDS[kind], 400).deviation(query, share) ** 2, rel=0.01
            )
        else:
            errors.append(answer.means - np.mean(query.values(records), axis=0) * float(query.unit))
    planned = noise_of(kind, KINDS[kind], 400).deviation(query, share)
    if kind == "local" and isinstance(query, HistogramQuery):
        return  # the means of categories are not those of their codes
    found = float(np.sqrt(np.mean(np.square(errors))))
    assert found == pytest.approx(planned, rel=0.25) if kind != "local" else found < 1.1 * planned


def test_local_reports_are_those_of_a_share_of_the_records():
    noise = LocalNoise(Fraction(1), 399)
    assert (noise.count(Fraction(1, 4)), noise.randomizer(QUERIES[0]).epsilon) == (99, 1)
    few, one = LocalNoise(Fraction(1), 2), LocalNoise(Fraction(1), 1)  # a plan states the noise of one report
    assert few.deviation(QUERIES[0], Fraction(1, 4)) == one.deviation(QUERIES[0], Fraction(1))


def test_a_deviation_beyond_all_floats_is_a_float():
    tiny = ApproxDP(Fraction(1, 10**400))
    assert 1e70 < noise_of("laplace", tiny, 1).deviation(QUERIES[0], Fraction(1)) < np.inf


def test_more_records_a_greater_share_or_a_greater_epsilon_lessen_the_deviation():
    for kind, privacy in KINDS.items():
        usual = noise_of(kind, privacy, 1000).deviation(QUERIES[0], Fraction(1, 4))
        assert noise_of(kind, privacy, 4000).deviation(QUERIES[0], Fraction(1, 4)) < usual
        assert noise_of(kind, privacy, 1000).deviation(QUERIES[0], Fraction(1, 2)) < usual
        more = ApproxDP(2, privacy.delta)
        assert noise_of(kind, more, 1000).deviation(QUERIES[0], Fraction(1, 4)) < usual
