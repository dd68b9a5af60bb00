"""Lower bounds: never above achieved sizes, attained by one record, growing with log*."""

from fractions import Fraction
from math import ceil, exp, log

import pytest

from dplearn.releases.interior_point import interior_point_sample_size
from dplearn.theory.interior_point_limit import _too_few, interior_point_lower_bound

DELTA = Fraction(1, 10**6)


@pytest.mark.parametrize("bits", [1, 2, 8, 64, 65536])
@pytest.mark.parametrize(
    "epsilon", [0.05, 1, *[pytest.param(each, marks=pytest.mark.nightly) for each in (5, 40)]]
)
@pytest.mark.parametrize("beta", [0.01, pytest.param(0.3, marks=pytest.mark.nightly), 0.7])
def test_no_method_needs_fewer(bits, epsilon, beta):
    public = {"domain_size": 2**bits, "epsilon": epsilon, "beta": beta}
    assert interior_point_lower_bound(**public) <= interior_point_sample_size("exponential", **public)
    public["delta"] = DELTA
    least = interior_point_lower_bound(**public)
    assert least <= interior_point_sample_size("exponential", **public)
    assert least <= interior_point_sample_size("recursive", **public)


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 1, 3, 6])
def test_one_record_is_excluded_exactly_where_randomized_response_fails_it(size, epsilon):
    right = exp(epsilon) / (exp(epsilon) + size - 1)
    for beta in (0.9 * (1 - right), 1.1 * (1 - right)):
        if 0 < beta < 1:
            bound = interior_point_lower_bound(size, epsilon=epsilon, beta=beta)
            assert (bound > 1) == (right < 1 - beta)


@pytest.mark.parametrize("bits", [8, 64, 4096])
def test_pure_privacy_needs_the_logarithm(bits):
    found = interior_point_lower_bound(2**bits, epsilon=1)
    assert found == ceil(log(2**bits - 1) + log(19))


def test_the_recursion_excludes_one_more_record_as_log_star_grows():
    epsilon, beta = Fraction(1), Fraction(1, 20)
    sizes = (2, 12, 13, 2**86, 2**87, 2**65536)
    assert [_too_few(size, epsilon, DELTA, beta) for size in sizes] == [1, 1, 2, 2, 3, 3]
    # Three records: P = .7311 for two codes; with bases 14 and 112 it stays below .95.
    p = exp(1) / (1 + exp(1)) + exp(1) / 14 + exp(1) / 112 + 3e-6
    assert p < 0.95
    assert 112**13 < 2**256


def test_a_smaller_domain_or_more_failures_never_need_more():
    bounds = [interior_point_lower_bound(2**bits, epsilon=0.2, delta=DELTA) for bits in (0, 1, 4, 16, 64)]
    assert bounds == sorted(bounds)
    assert bounds[0] == 1
    strict, lax = (interior_point_lower_bound(2**16, epsilon=0.2, delta=DELTA, beta=b) for b in (0.01, 0.6))
    assert lax < strict


@pytest.mark.parametrize(
    ("changed", "name"), [({"epsilon": 0}, "epsilon"), ({"beta": 0}, "beta"), ({"delta": 1}, "delta")]
)
def test_a_wrong_parameter_is_named(changed, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        interior_point_lower_bound(16, **{"epsilon": 1} | changed)
