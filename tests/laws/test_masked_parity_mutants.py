"""Deliberate mistakes in masked parity: each breaks the claim on neighbours on which the original keeps it.

The neighbours are the worst of the case's universe, found by running the mistake over all of it.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit import least_exp_epsilon
from dplearn.audit.cases.masked_parity import CASES as MASKED_PARITY_CASES
from dplearn.audit.enumeration import distribution_on
from dplearn.kernels.exact import at_most_exp
from dplearn.learners.parity import masked
from dplearn.learners.parity.masked import MaskedParityClassifier
from dplearn.queries import CentralOracle, LocalOracle, MeanQuery
from dplearn.queries import oracle as oracle
from dplearn.queries.noise import CentralNoise, LocalNoise

CASES = {case.name: case for case in MASKED_PARITY_CASES}
CENTRAL, CENTRAL_ONCE = CASES["masked_parity_central"], CASES["masked_parity_central_one_round"]
LOCAL, LOCAL_CELLS = CASES["masked_parity_local"], CASES["masked_parity_local_cells"]


def worst(case, pair):
    """The greatest exp(epsilon) between two datasets, both ways; None if no epsilon will do."""
    one, other = (distribution_on(case.fit, rows) for rows in pair)
    found = [least_exp_epsilon(*distributions)[0] for distributions in ((one, other), (other, one))]
    return None if None in found else max(found)


def keeps(case, pair):
    found = worst(case, pair)
    return found is not None and at_most_exp(found, case.claim.epsilon)


class WholeNoise(CentralNoise):
    def answer(self, query, part, *known):
        return super().answer(query, Fraction(1), *known)


class NoNoise(LocalNoise):
    def answer(self, query, part, bounds, private, dice):
        answer = super().answer(query, part, bounds, private, dice)
        return replace(answer, means=query.total(private) / answer.n * float(query.unit))


class DoubleNoise(LocalNoise):
    def randomizer(self, query, n_reports=1):
        return query.randomizer(2 * self.epsilon, self.kind, n_reports)


def with_noise(oracle, kind):
    with oracle._account.use() as account:
        account.noise = kind(**vars(account.noise))


class AllToEach(CentralOracle):
    """Each round has all of epsilon."""

    def __init__(self, records, **terms):
        super().__init__(records, **terms)
        with_noise(self, WholeNoise)


class HalfTheNoise(CentralOracle):
    """A replaced record is taken to leave a category and to enter none."""

    def _private(self, account, asked, part):
        for query in asked:
            query.l1 = 1
        return super()._private(account, asked, part)


class OnceMore(LocalOracle):
    """The second round asks the records of the first again."""

    def _private(self, account, asked, part):
        account.asked = 0
        return super()._private(account, asked, part)


class Truthful(LocalOracle):
    """Reports are not randomised."""

    def __init__(self, records, **terms):
        super().__init__(records, **terms)
        with_noise(self, NoNoise)


class DoubleReports(LocalOracle):
    """Each record answers as if it had twice the epsilon."""

    def __init__(self, records, **terms):
        super().__init__(records, **terms)
        with_noise(self, DoubleNoise)


class MaskFirst(LocalOracle):
    """Those with mask are asked first, since the first round is about them."""

    def __init__(self, records, **terms):
        super().__init__(records, **terms)
        self._order = np.argsort(1 - records.mask, kind="stable")


SHOWN, OTHER, PLAIN = (0, 1, 0), (0, 1, 1), (1, 0, 0)  # with mask, its label 0 or 1; without

#: From a mistake to what it takes the place of, the case, and the neighbours that show it.
MISTAKES = {
    HalfTheNoise: ("CentralOracle", CENTRAL_ONCE, ((OTHER,), (SHOWN,))),
    OnceMore: ("LocalOracle", LOCAL, ((SHOWN, OTHER), (SHOWN, PLAIN))),
    Truthful: ("LocalOracle", LOCAL, ((SHOWN, SHOWN), ((1, 0, 1), SHOWN))),
    DoubleReports: ("LocalOracle", LOCAL, ((PLAIN, SHOWN), (SHOWN, SHOWN))),
    MaskFirst: ("LocalOracle", LOCAL, ((PLAIN, OTHER), (SHOWN, OTHER))),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_an_oracle_breaks_the_claim(mistake, monkeypatch):
    name, case, pair = MISTAKES[mistake]
    assert keeps(case, pair)
    monkeypatch.setattr(oracle, name, mistake)
    assert not keeps(case, pair)


def test_twice_the_epsilon_for_cells_is_seen(monkeypatch):
    pair = ((PLAIN, SHOWN), (SHOWN, SHOWN))
    assert keeps(LOCAL_CELLS, pair)
    monkeypatch.setattr(oracle, "LocalOracle", DoubleReports)
    assert not keeps(LOCAL_CELLS, pair)


def test_signs_beyond_their_bounds_break_the_claim(monkeypatch):
    pair = ((OTHER, OTHER, SHOWN), (OTHER, SHOWN, SHOWN))

    class Tripled(MeanQuery):
        def inputs(self, records):
            return 3 * super().inputs(records)

    assert keeps(CENTRAL, pair)
    monkeypatch.setattr(masked, "MeanQuery", Tripled)
    assert not keeps(CENTRAL, pair)


def test_all_of_epsilon_for_each_round_is_no_more_than_a_record_of_one_bit_costs(monkeypatch):
    # No mistake that can be caught here: with mask a record counts in the first round, without in the second.
    # So the claim holds if each round has all of epsilon, which the oracle's accounts do not know.
    for pair in (((OTHER, SHOWN), (SHOWN, SHOWN)), ((PLAIN, SHOWN), (SHOWN, SHOWN))):
        with monkeypatch.context() as patched:
            patched.setattr(oracle, "CentralOracle", AllToEach)
            assert keeps(CENTRAL, pair)


def leaves_counts(self, X, y, dice, *, reproducible=False):
    FIT(self, X, y, dice, reproducible=reproducible)
    self.n_with_mask_ = int(np.sum(X[:, -1]))


def stops_at_agreement(self, X, y, dice, *, reproducible=False):
    if len(set(np.asarray(y).tolist())) == 1:
        raise ValueError("all records have one label")
    FIT(self, X, y, dice, reproducible=reproducible)


def refuses_unbalanced_masks(self, X, y, dice, *, reproducible=False):
    FIT(self, X, y, dice, reproducible=reproducible)
    if X[:, -1].all():
        self.parity_[:] = 0


FIT = MaskedParityClassifier._fit


@pytest.mark.parametrize("mistake", [leaves_counts, stops_at_agreement, refuses_unbalanced_masks])
def test_what_a_fit_shows_besides_is_seen(mistake, monkeypatch):
    pairs = (((SHOWN, SHOWN), (SHOWN, PLAIN)), ((SHOWN, SHOWN), (OTHER, SHOWN)))
    assert all(keeps(LOCAL, pair) for pair in pairs)
    monkeypatch.setattr(MaskedParityClassifier, "_fit", mistake)
    assert None in [worst(LOCAL, pair) for pair in pairs]
