"""Deliberate mistakes in parity, masked or not: each breaks the claim on neighbours that the original keeps.

What all cases that ask an oracle share is in test_ask_mutants, and what all draws share in test_draw_mutants.
"""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from dplearn.audit import AuditCase, exact_distribution
from dplearn.audit.cases import CASES
from dplearn.chance import PublicStream
from dplearn.estimator import OutputsFacts
from dplearn.kernels import pack
from dplearn.kernels.gf2 import solve
from dplearn.learners.parity import masked
from dplearn.learners.parity import parity as parity_methods
from dplearn.mechanisms import parity
from dplearn.privacy import ApproxDP
from dplearn.queries import LocalOracle, MeanQuery, oracle
from tests.laws.conftest import OnePair
from tests.laws.mutants import Mistake, around, assert_caught, instead, mistakes
from tests.laws.test_draw_mutants import in_draws

# The mechanism, on its own and within the learner


def more_often(keep_by, abstain_by, title):
    def chances(right, epsilon):
        keep, abstain = right(epsilon)
        return min(keep_by * keep, Fraction(99, 100)), abstain_by * abstain

    return around(parity, "parity_probabilities", chances, title)


def raised_for_none(right, A, b, bits):
    if solve(A, b) is None:
        raise ValueError("the equations are inconsistent")
    return right(A, b, bits)


def zeros_for_none(right, A, b, bits):
    found = right(A, b, bits)
    return right(A, np.zeros_like(b), np.zeros_like(bits)) if found is None else found


def one_bit_for_all(d, dice):
    return np.full(d, dice.below(2), dtype=np.uint8)


def kept_in_turn(right, dice, p, size=None):
    return right(dice, p) if size is None else np.arange(size) % 2


def all_bits_0(right, d, dice):
    return np.zeros(d, dtype=np.uint8)


TWICE_AS_OFTEN = more_often(2, 1, "twice_as_often")
NEVER_DECLINES = more_often(1, 0, "never_declines")
ALL_BITS_0 = around(parity, "random_bits", all_bits_0)
ONE_BIT = [
    TWICE_AS_OFTEN,
    more_often(Fraction(21, 20), 1, "5_percent_more_often"),
    NEVER_DECLINES,
    more_often(1, Fraction(19, 20), "declines_5_percent_too_rarely"),
    ALL_BITS_0,
    around(parity, "uniform_solution", raised_for_none),
    around(parity, "uniform_solution", zeros_for_none),
    in_draws("kept_by_public_chance", kept_in_turn, "bernoulli"),
]
IN_THE_MECHANISM = [
    *(Mistake(patch, "consistent_parity_of_one_bit") for patch in ONE_BIT),
    Mistake(instead(parity, "random_bits", one_bit_for_all), "consistent_parity"),
    Mistake(TWICE_AS_OFTEN, "parity_elimination", late=True),
    Mistake(NEVER_DECLINES, "parity_elimination", late=True),
    Mistake(ALL_BITS_0, "parity_elimination"),
]


# The selection among candidates


def also_tested(right, stream, n):
    """A record of the test is in a part too."""
    places = right(stream, n)
    return np.append(places[-1], places)


def only_without_errors(right, errors, members, **how):
    """Candidates with an error are dropped, and none is the answer if all are."""
    good = [place for place, error in enumerate(errors) if not error]
    return (good[right([0] * len(good), [1] * len(good), **how)[0]], 0) if good else (len(errors), 0)


def fewest_errors(right, errors, *_, **__):
    return int(np.argmin(errors)), 0


def solved_where_it_declines(right, A, b, **how):
    found = right(A, b, **how)
    return solve(A, b) if found is None else found


def released(rows, dice):
    """What is released of a test of one record and two parts of others, without the fit around it."""
    wanted = {"alpha": 0.1, "beta": 0.05, "fit_intercept": False, "n_parts": 2, "test_size": 1}
    facts = OutputsFacts(len(rows), 1, stream=PublicStream(0))
    plan = parity_methods.plan_of_method("elimination", SimpleNamespace(cost=ApproxDP(1), **wanted), facts)
    X, y = np.hsplit(np.array(rows, dtype=np.uint8), 2)
    found = parity_methods.released_by_elimination(parity_methods.Equations(pack(X), y), plan, dice)
    return str(None if found is None else found.tolist()), None


OF_THREE = AuditCase("elimination of 3", released, [(0, 0), (0, 1), (1, 0), (1, 1)], 3, ApproxDP(1))
IN_THE_SELECTION = [
    Mistake(around(PublicStream, "permutation", also_tested), OF_THREE),
    Mistake(around(parity_methods, "select_permute_and_flip", only_without_errors), OF_THREE),
    Mistake(around(parity_methods, "select_permute_and_flip", fewest_errors), OF_THREE),
    Mistake(around(parity_methods, "consistent_parity", solved_where_it_declines), "parity_elimination"),
]


# The vote of parts


def voters_alone(right, votes, n_labels, *, privacy, dice):
    """Parts without a solution are dropped, and with them the labels that nobody votes for."""
    cast = [vote for vote in votes if vote >= 0]
    if len(set(cast)) < 2:
        return cast[0] if cast else None
    return right(cast, n_labels, privacy=privacy, dice=dice)


def a_share_of_the_voters(right, votes, n_labels, *, privacy, dice):
    """Each vote counts as many times as would make up for the parts that are dropped."""
    cast = [vote for vote in votes if vote >= 0]
    return right(cast * (len(votes) // max(1, len(cast))), n_labels, privacy=privacy, dice=dice)


def lead_of_votes(right, votes, n_labels, *, privacy, dice):
    """The distance is the lead in votes less one: twice what can be moved."""
    return right([vote for vote in votes for _ in range(2)], n_labels, privacy=privacy, dice=dice)


IN_THE_VOTE = [
    Mistake(around(parity_methods, "most_frequent_if_stable", wrong), "parity_stable")
    for wrong in (voters_alone, a_share_of_the_voters, lead_of_votes)
]


def test_parts_that_vote_for_none_keep_the_claim_and_speak_less_often(monkeypatch):
    """As the paper has it: a part without a solution votes for None, which may win."""
    case, counted = CASES["parity_stable"], parity_methods.most_frequent_if_stable

    def none_is_a_label(votes, n_labels, *, privacy, dice):
        cast = [vote if vote >= 0 else n_labels for vote in votes]
        winner = counted(cast, n_labels + 1, privacy=privacy, dice=dice)
        return None if winner == n_labels else winner

    monkeypatch.setattr(parity_methods, "most_frequent_if_stable", none_is_a_label)
    rest = ((1, 1), (1, 1), (0, 1))
    for record in [(0, 1), (1, 0), (0, 0)]:
        assert OnePair.of(case, (((1, 1), *rest), (record, *rest))).run().keeps(case.claim)
    ours, theirs = (
        exact_distribution(lambda dice, vote=vote: vote([1] * 5 + [-1] * 2, 2, privacy=case.claim, dice=dice))
        for vote in (counted, none_is_a_label)
    )
    assert ours.probability(None) < theirs.probability(None)


# Masked parity


class MaskFirst(LocalOracle):
    """Those with mask are asked first, since the first round is about them."""

    def __init__(self, records, **terms):
        super().__init__(records, **terms)
        self._order = np.argsort(1 - records.mask, kind="stable")


class Tripled(MeanQuery):
    """Signs beyond their bounds."""

    def inputs(self, records):
        return 3 * super().inputs(records)


MASKED = [
    Mistake(instead(oracle, "LocalOracle", MaskFirst), "masked_parity_local"),
    Mistake(instead(masked, "MeanQuery", Tripled), replace(CASES["masked_parity_central"], n=3)),
]


@mistakes([*IN_THE_MECHANISM, *IN_THE_SELECTION, *IN_THE_VOTE, *MASKED])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)
