"""A column of private numbers is read one by one, whatever holds it."""

from collections import UserList, deque
from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit import enumerate_privacy
from dplearn.domains import IntegerRange, LargeIntegerRange
from dplearn.kernels.ranks import UnsortedCodes
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.releases import median, stable_counts
from dplearn.releases.quantiles import release_quantiles
from dplearn.releases.release import read_codes, read_column

BIG = 2**53
NEAR_BIG = IntegerRange(BIG, BIG + 1, outside="clip")


class Rows:
    """A sequence to numpy, but no `Sequence`."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


holders = pytest.mark.parametrize("holder", [list, deque, UserList, Rows], ids=lambda kind: kind.__name__)


@holders
def test_a_median_keeps_its_claim_where_a_fraction_may_stand_among_large_integers(holder):
    claim = ApproxDP(1)

    def fit(rows, dice):
        ranks = UnsortedCodes(read_codes(holder(rows), NEAR_BIG))
        return release_quantiles(ranks, NEAR_BIG, [Fraction(1, 2)], privacy=claim, dice=dice).tolist()

    report = enumerate_privacy(fit, [BIG + 1, 0.5], 6, ordered=False)
    assert report.keeps(claim)
    assert report.n_distributions > 3


@holders
def test_a_negative_number_beside_one_beyond_64_bits_is_read_exactly(holder):
    domain = LargeIntegerRange(-(2**70), 2**70)
    assert (read_codes(holder([2**63 + 1, -1]), domain) - 2**70).tolist() == [2**63 + 1, -1]


@pytest.mark.parametrize(
    "release", [median, lambda values, **terms: stable_counts(values, delta=1e-6, **terms)]
)
def test_a_masked_column_is_refused_before_anything_is_spent(release):
    ledger = PrivacyLedger(1, 1e-3)
    with pytest.raises(TypeError, match=r"masked array is not supported"):
        release(np.ma.array([99, 1], mask=[1, 0]), epsilon=1, ledger=ledger)
    assert not ledger.history()


@holders
def test_rows_are_no_numbers(holder):
    with pytest.raises(ValueError, match=r"values must have shape \(n,\), got rows"):
        read_column(holder([holder([1]), holder([2])]))


@pytest.mark.parametrize("values", [{1: 2}, {1, 2}, "12", (i for i in range(2)), None], ids=type)
def test_what_is_no_sequence_of_values_is_refused(values):
    with pytest.raises(ValueError, match="values must have shape"):
        read_column(values)
