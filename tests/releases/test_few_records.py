"""Warnings come from public numbers, exactly where nothing is guaranteed of what is released."""

from fractions import Fraction

import pytest

from dplearn.domains import Floats, IntegerRange
from dplearn.privacy import ApproxDP
from dplearn.releases import cdf_plan
from dplearn.releases.cdf_errors import tree_plan
from dplearn.releases.quantiles import quantile_warnings
from dplearn.releases.release import few_records_warnings, written
from dplearn.theory import quantile_errors

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


@pytest.mark.parametrize("q", [(HALF,), (TENTH, HALF), (TENTH, 1 - TENTH)])
def test_quantiles_are_warned_of_where_one_may_leave_the_data(q):
    for n in range(10, 3000, 37):
        errors = quantile_errors(q, 2**64, n, epsilon=1)
        loose = any(error >= n * min(each, 1 - each) for error, each in zip(errors, q, strict=True))
        assert bool(quantile_warnings(n, q, 2**64, epsilon=Fraction(1))) == loose


def test_the_message_says_how_many_what_may_happen_and_what_helps():
    [message] = quantile_warnings(569, [HALF], 2**64, epsilon=Fraction(1, 30), columns=30)
    assert message == (
        "n_samples is 569: with epsilon 0.0333 a column, quantiles among 2^64 values may miss by 569 ranks,"
        " so that every value of the domain is possible; declare a smaller domain=, such as"
        " Grid(0, 100, 1001), spend more epsilon, or take fewer columns"
    )
    [message] = quantile_warnings(3, [HALF], 121, epsilon=Fraction(1))
    assert "among 121 values may miss by 3 ranks" in message
    assert message.endswith("; declare fewer values in domain=, or spend more epsilon")
    [message] = quantile_warnings(3, [HALF], 5000, epsilon=Fraction(1))
    assert message.endswith("; declare a smaller domain=, such as Grid(0, 100, 1001), or spend more epsilon")


def test_the_ends_are_warned_of_at_any_number_of_records():
    [message] = quantile_warnings(10**9, [Fraction(0), HALF], 2**64, epsilon=Fraction(1))
    assert "quantiles 0 and 1 may be any value beyond the data" in message
    assert len(quantile_warnings(10, [Fraction(0), HALF], 2**64, epsilon=Fraction(1))) == 2
    assert quantile_warnings(10**9, [HALF], 2**64, epsilon=Fraction(1)) == ()
    assert quantile_warnings(5, [], 2**64, epsilon=Fraction(1)) == ()


def test_nothing_is_said_below_the_bar():
    assert few_records_warnings(10, 4.9, enough=5, problem="all is lost") == ()
    [message] = few_records_warnings(10, 5, enough=5, problem="all is lost")
    assert message.startswith("n_samples is 10: all is lost; declare a smaller domain=")


def test_counts_are_warned_of_where_the_promised_error_is_a_half():
    plan = tree_plan(Floats().size, ApproxDP(1))
    enough = plan.sample_size(0.5, 0.05)
    assert plan.n_inside < 2753 < enough - 1
    for n in (100, 2753, enough - 1):
        [message] = cdf_plan(n).warnings
        assert message.startswith(f"n_samples is {n}: with epsilon 1, counts")
    assert message == (
        "n_samples is 9923: with epsilon 1, counts among 2^64 values may be off by 50 % of the records, so"
        " that there is no guarantee for the median; 9924 records would be enough, see"
        " cdf_plan(..., alpha=0.5).n_needed; declare a smaller domain=, such as Grid(0, 100, 1001),"
        " spend more epsilon, or use a coarser domain of floats, Floats(significand_bits=...)"
    )
    [message] = cdf_plan(100, epsilon=0.5, domain=IntegerRange(0, 72)).warnings
    assert message.endswith("; declare fewer values in domain=, or spend more epsilon")
    assert cdf_plan(enough).warnings == ()
    assert cdf_plan(1, domain=IntegerRange(0, 0)).warnings == ()


def test_numbers_of_values_are_written_out_unless_they_are_large():
    assert (written(1001), written(2**64), written(1 << 5000)) == ("1001", "2^64", "2^5000")
