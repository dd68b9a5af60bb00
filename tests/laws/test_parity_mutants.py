"""Deliberate mistakes in parity: each breaks the claim on some neighbours, on which the original keeps it.

The neighbours are the worst of the case's universe, found by running the mistake over all of it.
"""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dplearn.audit import least_exp_epsilon
from dplearn.audit.cases import CASES
from dplearn.audit.enumeration import distribution_on
from dplearn.chance import PublicStream
from dplearn.estimator.recipe import OutputsFacts
from dplearn.kernels.exact import at_most_exp
from dplearn.kernels.gf2 import pack, solve
from dplearn.learners.parity import parity as parity_methods
from dplearn.learners.parity.parity import (
    Equations,
    plan_of_method,
    released_by_elimination,
    released_if_stable,
)
from dplearn.mechanisms import parity
from dplearn.privacy import ApproxDP

ONE_BIT = CASES["consistent_parity_of_one_bit"]
TWO_BITS = CASES["consistent_parity"]
ELIMINATION = CASES["parity_elimination"]
STABLE = CASES["parity_stable"]


def laws_of(fit, pair):
    return [distribution_on(fit, rows) for rows in pair]


def holds(claim, fit, pair):
    """Whether the claim holds between two datasets, both ways."""
    one, other = laws_of(fit, pair)
    worst = [
        least_exp_epsilon(*distributions, claim.delta)[0] for distributions in ((one, other), (other, one))
    ]
    return all(found is not None and at_most_exp(found, claim.epsilon) for found in worst)


def keeps(case, pair):
    return holds(case.claim, case.fit, pair)


def tells_apart(case, pair):
    """Whether something can be seen of the one that never is of the other."""
    one, other = laws_of(case.fit, pair)
    return one.masses.keys() != other.masses.keys()


# --- Mistakes in the mechanism, on its own and within the learner. ---

CHANCES, UNIFORM = parity.parity_probabilities, parity.uniform_solution


def twice_as_often(epsilon):
    keep, abstain = CHANCES(epsilon)
    return min(2 * keep, Fraction(99, 100)), abstain


def five_percent_more_often(epsilon):
    keep, abstain = CHANCES(epsilon)
    return keep * Fraction(105, 100), abstain


def never_declines(epsilon):
    return CHANCES(epsilon)[0], Fraction(0)


def declines_five_percent_too_rarely(epsilon):
    keep, abstain = CHANCES(epsilon)
    return keep, abstain * Fraction(95, 100)


def all_bits_0(d, dice):
    return np.zeros(d, dtype=np.uint8)


def one_bit_for_all(d, dice):
    return np.full(d, dice.below(2), dtype=np.uint8)


def raised_for_none(A, b, bits):
    if solve(A, b) is None:
        raise ValueError("the equations are inconsistent")
    return UNIFORM(A, b, bits)


def zeros_for_none(A, b, bits):
    found = UNIFORM(A, b, bits)
    return UNIFORM(A, np.zeros_like(b), np.zeros_like(bits)) if found is None else found


def beside_zeros(record, n=3):
    """A record beside n that say nothing."""
    return (*[(0,) * len(record)] * n, record)


#: From a mistake to what it takes the place of, the case, and the neighbours that show it.
IN_THE_MECHANISM = {
    twice_as_often: ("parity_probabilities", ONE_BIT, (beside_zeros((1, 0)), beside_zeros((0, 1)))),
    five_percent_more_often: ("parity_probabilities", ONE_BIT, (beside_zeros((1, 0)), beside_zeros((0, 1)))),
    never_declines: ("parity_probabilities", ONE_BIT, (beside_zeros((0, 1)), beside_zeros((0, 0)))),
    declines_five_percent_too_rarely: (
        "parity_probabilities",
        ONE_BIT,
        (beside_zeros((0, 1)), beside_zeros((0, 0))),
    ),
    all_bits_0: ("random_bits", ONE_BIT, (beside_zeros((1, 1)), beside_zeros((0, 0)))),
    one_bit_for_all: ("random_bits", TWO_BITS, (beside_zeros((0, 1, 0), 2), beside_zeros((0, 0, 0), 2))),
    raised_for_none: ("uniform_solution", ONE_BIT, (beside_zeros((0, 1)), beside_zeros((0, 0)))),
    zeros_for_none: ("uniform_solution", ONE_BIT, (((1, 1), (1, 1), (1, 1), (0, 1)), ((1, 1),) * 4)),
}
CERTAIN = [never_declines, all_bits_0, one_bit_for_all, raised_for_none]


@pytest.mark.parametrize("mistake", IN_THE_MECHANISM)
def test_a_mistake_in_the_mechanism_breaks_the_claim(mistake, monkeypatch):
    name, case, pair = IN_THE_MECHANISM[mistake]
    assert keeps(case, pair)
    monkeypatch.setattr(parity, name, mistake)
    assert not keeps(case, pair)
    assert tells_apart(case, pair) == (mistake in CERTAIN)


@pytest.mark.parametrize("mistake", [twice_as_often, never_declines, all_bits_0])
def test_the_learner_is_no_less_sensitive_to_it(mistake, monkeypatch):
    pair = LEARNER[mistake]
    assert keeps(ELIMINATION, pair)
    monkeypatch.setattr(parity, IN_THE_MECHANISM[mistake][0], mistake)
    assert not keeps(ELIMINATION, pair)


LEARNER = {
    twice_as_often: (((0, 1), (1, 1), (1, 0)), ((0, 1), (1, 0), (1, 0))),
    never_declines: (((0, 1), (0, 1), (0, 0)), ((0, 0), (0, 1), (0, 0))),
    all_bits_0: (((1, 1), (0, 0), (0, 0)), ((0, 0), (0, 0), (0, 0))),
}


def test_records_kept_by_public_chance_are_told_apart():
    class KeptInTurn:
        def __init__(self, dice):
            self.below = dice.below
            self._coin = dice.bernoulli

        def bernoulli(self, p, size=None):
            return self._coin(p) if size is None else np.arange(size) % 2

    case = ONE_BIT.with_fit(lambda rows, dice: ONE_BIT.fit(rows, KeptInTurn(dice)))
    pair = [((1, 0), (1, 0), (1, 0), last) for last in ((1, 0), (1, 1))]
    assert keeps(ONE_BIT, pair)
    assert tells_apart(case, pair)


# --- Mistakes in the selection among candidates. ---


class InSteps:
    """The release of "elimination" written anew, in steps that a subclass makes a mistake in."""

    def release(self, equations, plan, dice):
        privacy, places = plan.guarantee, plan.public.stream.permutation(plan.n_samples)
        tested, rest = self.cut(places, plan.test_size)
        found = [
            parity.consistent_parity(
                equations.matrix[part], equations.bits[part, 0], privacy=privacy, dice=dice
            )
            for part in np.array_split(rest, plan.n_parts)
        ]
        matrix, bits = equations.matrix[tested], equations.bits[tested]
        candidates = [candidate for candidate in found if candidate is not None]
        errors = [int((matrix.dot(candidate) != bits[:, 0]).sum()) for candidate in candidates]
        return self.selected(candidates, errors, matrix, bits, privacy, dice)

    def cut(self, places, size):
        return places[:size], places[size:]

    def selected(self, candidates, errors, matrix, bits, privacy, dice):
        if not candidates:
            return None
        chosen, _ = parity_methods.select_permute_and_flip(
            errors, [1] * len(errors), privacy=privacy, dice=dice
        )
        return candidates[chosen][None]


class OverlappingTest(InSteps):
    def cut(self, places, size):
        return places[-size:], places


class OnlyGoodCandidates(InSteps):
    """Candidates with an error are dropped, and None is the answer if all are."""

    def selected(self, candidates, errors, matrix, bits, privacy, dice):
        good = [candidate for candidate, error in zip(candidates, errors, strict=True) if not error]
        return super().selected(good, [0] * len(good), matrix, bits, privacy, dice)


class SharedBudget(InSteps):
    """Each candidate's noise is for a change of 1 of the errors that two candidates differ by, not of 2."""

    def selected(self, candidates, errors, matrix, bits, privacy, dice):
        return super().selected(candidates, errors, matrix, bits, ApproxDP(2 * privacy.epsilon), dice)


class FewestErrors(InSteps):
    def selected(self, candidates, errors, matrix, bits, privacy, dice):
        return candidates[int(np.argmin(errors))][None] if candidates else None


class SolvesTestPart(InSteps):
    """Where no part has a candidate, the test part's own solution is the answer."""

    def selected(self, candidates, errors, matrix, bits, privacy, dice):
        if candidates:
            return super().selected(candidates, errors, matrix, bits, privacy, dice)
        solution = solve(matrix, bits[:, 0])
        return None if solution is None else solution[None]


def releasing(release, method="elimination", *, epsilon=1, delta=Fraction(0), n_parts=2, test_size=1):
    """What is released of records of one bit and a label, without the fit around it."""
    wanted = {"alpha": 0.1, "beta": 0.05, "fit_intercept": False, "n_parts": n_parts, "test_size": test_size}
    params = SimpleNamespace(cost=ApproxDP(epsilon, delta), **wanted)

    def released(rows, dice):
        plan = plan_of_method(method, params, OutputsFacts(len(rows), 1, stream=PublicStream(0)))
        X, y = np.hsplit(np.array(rows, dtype=np.uint8), 2)
        found = release(Equations(pack(X), y), plan, dice)
        return None if found is None else found.tolist()

    return released


def test_the_release_in_steps_has_the_originals_law():
    rows = ((1, 0), (1, 1), (0, 1))
    steps, original = (
        laws_of(releasing(release), [rows])[0] for release in (InSteps().release, released_by_elimination)
    )
    assert steps.key() == original.key()


#: From a mistake to the neighbours that show it.
IN_THE_SELECTION = {
    OverlappingTest: (((1, 0), (1, 0), (1, 1)), ((1, 0), (1, 0), (1, 0))),
    OnlyGoodCandidates: (((0, 0), (0, 0), (0, 0)), ((0, 1), (0, 0), (0, 0))),
    FewestErrors: (((1, 0), (1, 1), (1, 1)), ((1, 1), (1, 1), (1, 1))),
    SolvesTestPart: (((0, 1), (0, 0), (0, 0)), ((0, 0), (0, 0), (0, 0))),
}


@pytest.mark.parametrize("kind", IN_THE_SELECTION)
def test_a_mistake_in_the_selection_breaks_the_claim(kind):
    pair = IN_THE_SELECTION[kind]
    assert holds(ApproxDP(1), releasing(released_by_elimination), pair)
    assert not holds(ApproxDP(1), releasing(kind().release), pair)


@pytest.mark.nightly
def test_noise_for_one_change_where_errors_move_apart_breaks_the_claim():
    # Two parts for 0 and one for 1: that both of the first fail is improbable enough to see the selection.
    cut = PublicStream(0).permutation(5).argsort()
    pair = [tuple(np.array([(1, 0), (1, label), (1, 0), (1, 0), (1, 1)])[cut].tolist()) for label in (0, 1)]
    sizes = {"epsilon": 3, "n_parts": 3, "test_size": 2}
    assert holds(ApproxDP(3), releasing(released_by_elimination, **sizes), pair)
    assert not holds(ApproxDP(3), releasing(SharedBudget().release, **sizes), pair)


# --- Mistakes in the vote of parts. ---


ZEROS, NO_VOTES, EVEN = ((0, 0),) * 3, ((0, 1),) * 3, ((0, 0), (1, 1), (1, 1))
COUNTED = parity_methods.most_frequent_if_stable


def voters_alone(votes, n_labels, *, privacy, dice):
    """Parts without a solution are dropped, and with them the labels that nobody votes for."""
    cast = [vote for vote in votes if vote >= 0]
    if len(set(cast)) < 2:
        return cast[0] if cast else None
    return COUNTED(cast, n_labels, privacy=privacy, dice=dice)


def a_share_of_the_voters(votes, n_labels, *, privacy, dice):
    """Each vote counts as many times as would make up for the parts that are dropped."""
    cast = [vote for vote in votes if vote >= 0]
    return COUNTED(cast * (len(votes) // max(1, len(cast))), n_labels, privacy=privacy, dice=dice)


def lead_of_votes(votes, n_labels, *, privacy, dice):
    """The distance is the lead in votes less one: twice what can be moved."""
    return COUNTED([vote for vote in votes for _ in range(2)], n_labels, privacy=privacy, dice=dice)


def without_doubt(votes, n_labels, *, privacy, dice):
    """The plurality is released as it is."""
    return int(np.bincount([vote for vote in votes if vote >= 0], minlength=n_labels).argmax())


IN_THE_VOTE = {
    voters_alone: (((1, 1), *ZEROS), ((0, 0), *ZEROS)),
    a_share_of_the_voters: (((0, 0), *NO_VOTES), ((0, 1), *NO_VOTES)),
    lead_of_votes: (((0, 0), *EVEN), ((1, 1), *EVEN)),
    without_doubt: (((0, 0), *EVEN), ((1, 1), *EVEN)),
}


@pytest.mark.parametrize("count", IN_THE_VOTE)
def test_a_mistake_in_the_vote_breaks_the_claim(count, monkeypatch):
    pair = IN_THE_VOTE[count]
    assert keeps(STABLE, pair)
    monkeypatch.setattr(parity_methods, "most_frequent_if_stable", count)
    assert not keeps(STABLE, pair)


def none_is_a_label(votes, n_labels, *, privacy, dice):
    """As the paper has it: a part without a solution votes for None, which may win."""
    winner = COUNTED(
        [vote if vote >= 0 else n_labels for vote in votes], n_labels + 1, privacy=privacy, dice=dice
    )
    return None if winner == n_labels else winner


def test_parts_that_vote_for_none_keep_the_claim_and_speak_less_often(monkeypatch):
    rows = ((1, 1),) * 5 + ((0, 1),) * 2
    claim = ApproxDP(1, Fraction(1, 20))
    release = releasing(released_if_stable, "stable", delta=claim.delta, n_parts=7)
    [ours] = laws_of(release, [rows])
    monkeypatch.setattr(parity_methods, "most_frequent_if_stable", none_is_a_label)
    [theirs] = laws_of(release, [rows])
    assert theirs.probability(None) > ours.probability(None)
    assert all(holds(claim, release, [rows, (record, *rows[1:])]) for record in [(0, 1), (1, 0), (0, 0)])
