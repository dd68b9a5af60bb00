"""Deliberate mistakes in parity, masked or not: each breaks the claim on neighbours that the original keeps.

What all cases that ask an oracle share is in test_ask_mutants, and what all draws share in test_draw_mutants.
"""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np

from dplearn.audit import AuditCase, exact_distribution
from dplearn.audit.cases import CASES
from dplearn.chance import PublicStream
from dplearn.estimator import OutputsFacts
from dplearn.kernels import pack
from dplearn.learners.parity import parity as parity_methods
from dplearn.mechanisms import most_frequent_if_stable
from dplearn.privacy import ApproxDP
from tests.laws.conftest import OnePair
from tests.laws.mutants import assert_caught, edit, edits, mistakes


def released(rows, dice):
    """What is released of a test of one record and two parts of others, without the fit around it."""
    wanted = {"alpha": 0.1, "beta": 0.05, "fit_intercept": False, "n_parts": 2, "test_size": 1}
    facts = OutputsFacts(len(rows), 1, stream=PublicStream(0))
    plan = parity_methods.plan_of_method("elimination", SimpleNamespace(cost=ApproxDP(1), **wanted), facts)
    X, y = np.hsplit(np.array(rows, dtype=np.uint8), 2)
    found = parity_methods.released_by_elimination(parity_methods.Equations(pack(X), y), plan, dice)
    return str(None if found is None else found.tolist()), None


SMALL = {
    "three": AuditCase("elimination of 3", released, [(0, 0), (0, 1), (1, 0), (1, 1)], 3, ApproxDP(1)),
    "masked_parity_central": replace(CASES["masked_parity_central"], n=3),
}
BY_DAY = """
consistent_parity_of_one_bit in mechanisms.parity:consistent_parity
    dice.bernoulli(keep, size=n) -> dice.bernoulli(min(2 * keep, Fraction(99, 100)), size=n)
    dice.bernoulli(keep, size=n) -> dice.bernoulli(keep * 21 / 20, size=n)
    dice.bernoulli(abstain) -> dice.bernoulli(0 * abstain)
    dice.bernoulli(abstain) -> dice.bernoulli(abstain * 19 / 20)
    return uniform_solution( -> found = uniform_solution(matrix[kept], right[kept], free)
    | if found is None: raise ValueError
    | return uniform_solution(
    return uniform_solution( -> found = uniform_solution(matrix[kept], right[kept], free)
    | if found is None: return np.zeros(d, np.uint8)
    | return uniform_solution(
    dice.bernoulli(keep, size=n) -> np.arange(n) % 2
consistent_parity_of_one_bit, parity_elimination in mechanisms.parity:consistent_parity
    random_bits(d, dice) -> np.zeros(d, np.uint8)
consistent_parity in mechanisms.parity:consistent_parity
    random_bits(d, dice) -> np.full(d, dice.below(2), dtype=np.uint8)
parity_elimination in mechanisms.parity:consistent_parity
    return None -> kept = np.arange(n)
parity_agnostic in learners.parity.parity:released_by_errors
    privacy=plan.guarantee -> privacy=ApproxDP(2 * plan.guarantee.epsilon)
three in learners.parity.parity:released_by_elimination
    # The record of the test is in a part too.
    places[: plan.test_size], places[plan.test_size :] -> places[-1:], places
    chosen, _ = -> candidates = candidates[[not error for error in errors]]
    | errors = [0] * len(candidates)
    | if not errors: return None
    | chosen, _ =
    chosen, _ = select_permute_and_flip( -> chosen, _ = int(np.argmin(errors)), (lambda *_, **__: 0)(
parity_stable in learners.parity.parity:released_if_stable
    # Where parts without a solution are dropped, the others may all agree.
    winner = most -> winner = max(codes) if len({*codes} - {-1}) == 1 else most
    # Each vote counts as many times as would make up for the parts that are dropped.
    stable(codes, -> stable([c for c in codes if c >= 0] * (len(codes) // max(1, sum(c >= 0 for c in codes))),
    # The distance is the lead in votes less one: twice what can be moved.
    stable(codes, -> stable(codes * 2,
# Those with mask are asked first, since the first round is about them.
masked_parity_local in queries.oracle:LocalOracle.__init__
    stream.permutation(len(table)) -> np.argsort(1 - records.mask, kind='stable')
masked_parity_central in queries.query:MeanQuery.total
    self.inputs(records).sum -> (3 * self.inputs(records)).sum
"""
BY_NIGHT = """
parity_elimination in mechanisms.parity:consistent_parity
    dice.bernoulli(keep, size=n) -> dice.bernoulli(min(2 * keep, Fraction(99, 100)), size=n)
    dice.bernoulli(abstain) -> dice.bernoulli(0 * abstain)
"""


@mistakes([*edits(BY_DAY, SMALL), *edits(BY_NIGHT, late=True)])
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


def test_parts_that_vote_for_none_keep_the_claim_and_speak_less_often(monkeypatch):
    """As the paper has it: a part without a solution votes for None, which may win."""
    case = CASES["parity_stable"]
    edit("learners.parity.parity:released_if_stable", " | {None: -1}", "")(monkeypatch)
    rest = ((1, 1), (1, 1), (0, 1))
    for record in [(0, 1), (1, 0), (0, 0)]:
        assert OnePair.of(case, (((1, 1), *rest), (record, *rest))).run().keeps(case.claim)
    vote = partial(most_frequent_if_stable, n_labels=2, privacy=case.claim)
    ours, theirs = (
        exact_distribution(lambda dice, none=none: vote([1] * 5 + [none] * 2, dice=dice)) for none in (-1, 0)
    )
    assert ours.probability(1) > theirs.probability(1)
