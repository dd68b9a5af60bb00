"""Deliberate mistakes around lines: each breaks the claim, where the original keeps it."""

from fractions import Fraction

import pytest

from dplearn.audit.cases import CASES
from dplearn.audit.cases.line import line_case
from dplearn.audit.enumeration import distribution_on
from dplearn.concepts import lines as concepts
from dplearn.kernels.exact import exp_bounds
from dplearn.learners.rules import line
from dplearn.learners.rules.line import LineClassifier
from dplearn.privacy import ApproxDP
from tests.laws.conftest import OnePair


def lead_for_a_distance(monkeypatch):
    monkeypatch.setattr(concepts, "distance_of_lead", lambda lead: max(0, lead - 1))


def distance_one_too_far(monkeypatch):
    monkeypatch.setattr(concepts, "distance_of_lead", lambda lead: (lead + 1) // 2)


def multiplicity_not_subtracted(monkeypatch):
    honest = line.leading_line

    def leading(points, p):
        found, distance = honest(points, p)
        if found is None:
            return found, distance
        slope, intercept = found
        on_it = [count for (x, y), count in points.items() if (slope * x + intercept - y) % p == 0]
        return found, concepts.distance_of_lead(sum(on_it))

    monkeypatch.setattr(line, "leading_line", leading)


def one_delta_for_both(monkeypatch):
    monkeypatch.setattr(line, "line_budgets", lambda epsilon, delta: (ApproxDP(epsilon / 2, delta),) * 2)


def one_epsilon_for_both(monkeypatch):
    monkeypatch.setattr(line, "line_budgets", lambda epsilon, delta: (ApproxDP(epsilon, delta / 2),) * 2)


def shown_without_a_test(monkeypatch):
    monkeypatch.setattr(line, "release_if_stable", lambda answer, *_, **__: answer)


def point_shown_where_the_line_is_not(monkeypatch):
    honest = line.release_if_stable

    def released(answer, distance, *, privacy, dice):
        spoken = honest(answer, distance, privacy=privacy, dice=dice)
        return answer if privacy == line.line_budgets(1, "0.1")[1] else spoken

    monkeypatch.setattr(line, "release_if_stable", released)


def tie_to_the_first(monkeypatch):
    honest = line.leading_point

    def leading(points):
        found, distance = honest(points)
        return found or next(iter(points), None), distance or len(points)

    monkeypatch.setattr(line, "leading_point", leading)


def number_of_ones_left_behind(monkeypatch):
    found, summarize, publish = [], line.LineFit.summarize, LineClassifier._publish

    def leaves(self, rows, plan):
        found[:] = [int(rows.y.sum())]
        return summarize(self, rows, plan)

    def published(self, *given):
        publish(self, *given)
        [self.n_ones_] = found

    monkeypatch.setattr(line.LineFit, "summarize", leaves)
    monkeypatch.setattr(LineClassifier, "_publish", published)


def errors_counted_twice(monkeypatch):
    honest = concepts._LineErrors.groups

    def doubled(self):
        errors, members = honest(self)
        return [2 * error for error in errors], members

    member = concepts._LineErrors.member
    monkeypatch.setattr(concepts._LineErrors, "groups", doubled)
    monkeypatch.setattr(
        concepts._LineErrors, "member", lambda self, errors, index: member(self, errors // 2, index)
    )


def lines_through_records_only(monkeypatch):
    monkeypatch.setattr(concepts._LineErrors, "_n_empty", lambda _: 0)


A, B, C, D, ZERO = (0, 0, 1), (1, 0, 1), (0, 1, 1), (1, 1, 1), (0, 0, 0)
#: From a mistake to the case, and the neighbours of its universe that show it.
MISTAKES = {
    lead_for_a_distance: ("line_stability", (A,) * 5 + (B,) * 2, (A,) * 5 + (B, C)),
    distance_one_too_far: ("line_stability", (A,) * 6 + (B,), (A,) * 7),
    multiplicity_not_subtracted: ("line_stability", (A,) * 6 + (B,), (A,) * 7),
    one_delta_for_both: ("line_stability", (A, A, A, B, B, C, D), (A, A, C, B, B, C, D)),
    shown_without_a_test: ("line_stability", (A,) * 6 + (B,), (A,) * 7),
    point_shown_where_the_line_is_not: ("line_stability", (A,) * 4 + (B,) * 3, (A,) * 3 + (B,) * 4),
    tie_to_the_first: ("line_stability", (A,) * 3 + (B,) * 3 + (ZERO,), (A,) * 2 + (B,) * 4 + (ZERO,)),
    number_of_ones_left_behind: ("line_stability", (A,) * 6 + (ZERO,), (A,) * 7),
    errors_counted_twice: ("line_pure", (A, ZERO, ZERO), (ZERO,) * 3),
    lines_through_records_only: ("line_pure", (ZERO, ZERO, (0, 1, 0)), (ZERO,) * 3),
}


def exact(case, pair):
    return OnePair.of(case, pair).run()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_breaks_the_claim(mistake, monkeypatch):
    name, *pair = MISTAKES[mistake]
    case = CASES[name]
    assert exact(case, pair).keeps(case.claim)
    mistake(monkeypatch)
    assert not exact(case, pair).keeps(case.claim)


def test_all_of_epsilon_for_each_of_both_breaks_the_claim(monkeypatch):
    # With more of epsilon than the 7 records of the case above need to show it.
    pair = ((A,) * 5 + (B,) * 2, (A,) * 4 + (B,) * 3)
    case = line_case("line_stability_at_two", 2, ApproxDP(2, "0.1"), n=7, ordered=False, rules=None)
    assert exact(case, pair).keeps(case.claim)
    one_epsilon_for_both(monkeypatch)
    assert not exact(case, pair).keeps(case.claim)


@pytest.mark.parametrize("method", ["stability", "pure"])
def test_a_composite_number_taken_for_a_prime_breaks_the_claim(method, monkeypatch):
    monkeypatch.setattr(concepts, "is_prime", lambda _: True)
    claim = ApproxDP(1, "0.1" if method == "stability" else 0)
    case = line_case("lines_modulo_four", 4, claim, n=2, labels=[0, 1], ordered=False, rules=None)
    assert not exact(case, (((0, 0, 1), (1, 1, 1)), ((0, 0, 1), (2, 1, 1)))).keeps(claim)


def test_both_halves_of_delta_are_spent_on_one_pair_of_neighbours():
    case = CASES["line_stability"]
    one, other = (distribution_on(case.fit, rows) for rows in ((A, A, A, B, B, C, D), (A, A, C, B, B, C, D)))
    growth = exp_bounds(case.claim.epsilon)[1]
    excess = sum(
        max(Fraction(mass, one.total) - growth * Fraction(other.masses.get(seen, 0), other.total), 0)
        for seen, mass in one.masses.items()
    )
    assert excess == 1 - (1 - case.claim.delta / 2) ** 2
