"""Deliberate mistakes in parity, masked or not: each breaks the claim on neighbours that the original keeps.

The neighbours are the worst of the case's universe, found by running the mistake over all of it. What all
cases that ask an oracle share is in test_ask_mutants.
"""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from dplearn.audit.case import AuditCase
from dplearn.audit.cases import CASES
from dplearn.chance import PublicStream
from dplearn.estimator.recipe import OutputsFacts
from dplearn.kernels.gf2 import pack, solve
from dplearn.learners.parity import masked
from dplearn.learners.parity import parity as parity_methods
from dplearn.learners.parity.masked import MaskedParityClassifier
from dplearn.learners.parity.parity import (
    Equations,
    plan_of_method,
    released_by_elimination,
    released_if_stable,
)
from dplearn.mechanisms import parity, select_permute_and_flip
from dplearn.privacy import ApproxDP
from dplearn.queries import LocalOracle, MeanQuery, oracle
from dplearn.queries.noise import CentralNoise
from tests.laws.conftest import OnePair
from tests.laws.mutants import (
    Mistake,
    around,
    assert_caught,
    instead,
    instead_of_the_fit,
    mistakes,
    original,
    with_epsilon,
)

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


def kept_by_public_chance(rows, dice):
    class KeptInTurn:
        below = dice.below

        def bernoulli(self, p, size=None):
            return dice.bernoulli(p) if size is None else np.arange(size) % 2

    return CASES["consistent_parity_of_one_bit"].fit(rows, KeptInTurn())


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
    instead_of_the_fit("kept_by_public_chance", kept_by_public_chance),
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


def solves_the_test_part(equations, plan, dice):
    """Where no part has a candidate, the test part's own solution is the answer."""
    found = released_by_elimination(equations, plan, dice)
    if found is not None:
        return found
    tested = PublicStream(0).permutation(plan.n_samples)[: plan.test_size]
    solution = solve(equations.matrix[tested], equations.bits[tested, 0])
    return None if solution is None else solution[None]


ONE = ApproxDP(1)


def releasing(release, n=3, *, method="elimination", claim=ONE, n_parts=2, test_size=1):
    """The case of what is released of n records of one bit and a label, without the fit around it."""
    wanted = {"alpha": 0.1, "beta": 0.05, "fit_intercept": False, "n_parts": n_parts, "test_size": test_size}
    params = SimpleNamespace(cost=claim, **wanted)

    def released(rows, dice):
        plan = plan_of_method(method, params, OutputsFacts(len(rows), 1, stream=PublicStream(0)))
        X, y = np.hsplit(np.array(rows, dtype=np.uint8), 2)
        found = release(Equations(pack(X), y), plan, dice)
        return str(None if found is None else found.tolist()), None

    universe = [(x, y) for x in (0, 1) for y in (0, 1)]
    return AuditCase(f"{method} of {n}", released, universe, n, claim)


def selecting(wrong):
    return Mistake(around(parity_methods, "select_permute_and_flip", wrong), ELIMINATION)


ELIMINATION = releasing(released_by_elimination)
# Two parts for 0 and one for 1: that both of the first fail is improbable enough to see the selection.
OF_FIVE = releasing(released_by_elimination, 5, claim=ApproxDP(3), n_parts=3, test_size=2)
HALF = instead(parity_methods, "select_permute_and_flip", with_epsilon(select_permute_and_flip, 2))
OF_THE_TEST = instead_of_the_fit("solves_the_test_part", releasing(solves_the_test_part).fit)
IN_THE_SELECTION = [
    Mistake(around(PublicStream, "permutation", also_tested), ELIMINATION),
    Mistake(OF_THE_TEST, ELIMINATION),
    *map(selecting, [only_without_errors, fewest_errors]),
    # Each candidate's noise is for a change of 1 of the errors that two candidates differ by, not of 2.
    Mistake(HALF, OF_FIVE, late=True),
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


def without_doubt(right, votes, n_labels, *, privacy, dice):
    """The plurality is released as it is."""
    return int(np.bincount([vote for vote in votes if vote >= 0], minlength=n_labels).argmax())


IN_THE_VOTE = [
    Mistake(around(parity_methods, "most_frequent_if_stable", wrong), "parity_stable")
    for wrong in (voters_alone, a_share_of_the_voters, lead_of_votes, without_doubt)
]


def test_parts_that_vote_for_none_keep_the_claim_and_speak_less_often(monkeypatch):
    """As the paper has it: a part without a solution votes for None, which may win."""
    claim = ApproxDP(1, Fraction(1, 20))
    case = releasing(released_if_stable, 7, method="stable", claim=claim, n_parts=7)
    rows = ((1, 1),) * 5 + ((0, 1),) * 2
    pairs = [(rows, (record, *rows[1:])) for record in [(0, 1), (1, 0), (0, 0)]]
    ours, counted = original(case, pairs[0]), parity_methods.most_frequent_if_stable

    def none_is_a_label(votes, n_labels, *, privacy, dice):
        cast = [vote if vote >= 0 else n_labels for vote in votes]
        winner = counted(cast, n_labels + 1, privacy=privacy, dice=dice)
        return None if winner == n_labels else winner

    monkeypatch.setattr(parity_methods, "most_frequent_if_stable", none_is_a_label)
    theirs = [OnePair.of(case, pair) for pair in pairs]
    assert all(each.run().keeps(claim) for each in theirs)

    def silent(pair):
        law = pair.distributions[rows]
        return sum(law.probability(seen) for seen in law.masses if seen[1][0] == "None")

    assert silent(theirs[0]) > silent(ours)


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


def stops_at_agreement(right, self, X, y, dice, **how):
    if len(set(np.asarray(y).tolist())) == 1:
        raise ValueError("all records have one label")
    right(self, X, y, dice, **how)


def refuses_unbalanced_masks(right, self, X, y, dice, **how):
    right(self, X, y, dice, **how)
    if X[:, -1].all():
        self.parity_[:] = 0


SHOWN, OTHER, PLAIN = (0, 1, 0), (0, 1, 1), (1, 0, 0)  # with mask, its label 0 or 1; without
AT_AGREEMENT = around(MaskedParityClassifier, "_fit", stops_at_agreement)
UNBALANCED = around(MaskedParityClassifier, "_fit", refuses_unbalanced_masks)
MASKED = [
    Mistake(instead(oracle, "LocalOracle", MaskFirst), "masked_parity_local"),
    Mistake(instead(masked, "MeanQuery", Tripled), replace(CASES["masked_parity_central"], n=3)),
    Mistake(AT_AGREEMENT, "masked_parity_local", staged=False),
    Mistake(UNBALANCED, "masked_parity_local", staged=False, late=True),
]


@mistakes([*IN_THE_MECHANISM, *IN_THE_SELECTION, *IN_THE_VOTE, *MASKED])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


def test_all_of_epsilon_for_each_round_is_no_more_than_a_record_of_one_bit_costs(monkeypatch):
    # No mistake that can be caught here: with mask a record counts in the first round, without in the second.
    # So the claim holds if each round has all of epsilon, which the oracle's accounts do not know.
    monkeypatch.setattr(
        CentralNoise,
        "answer",
        lambda self, query, share, *known, right=CentralNoise.answer: right(self, query, Fraction(1), *known),
    )
    case = CASES["masked_parity_central"]
    for one in ((OTHER, SHOWN), (PLAIN, SHOWN)):
        assert OnePair.of(case, (one, (SHOWN, SHOWN))).run().keeps(case.claim)
