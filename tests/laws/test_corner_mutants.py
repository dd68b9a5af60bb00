"""Deliberate mistakes around corners: each breaks the claim, where the original keeps it."""

import pytest

from dplearn.audit.cases import CASES
from dplearn.concepts import corners
from dplearn.learners.rules import generic
from tests.laws.conftest import OnePair


def cells_for_cuts(monkeypatch):
    """Each cell counts once, whatever its number of cuts."""
    monkeypatch.setattr(
        corners,
        "_cuts_between",
        lambda values, size, honest=corners._cuts_between: corners._at(honest(values, size).starts),
    )


def only_corners_bounded_by_records(monkeypatch):
    monkeypatch.setattr(
        corners.Corners,
        "error_profile",
        lambda concepts, columns, y: concepts.dichotomies(columns).error_profile(columns, y),
    )


def errors_counted_twice(monkeypatch):
    groups, member = corners.CornerErrors.groups, corners.CornerErrors.member

    def doubled(self):
        errors, members = groups(self)
        return [2 * error for error in errors], members

    monkeypatch.setattr(corners.CornerErrors, "groups", doubled)
    monkeypatch.setattr(
        corners.CornerErrors, "member", lambda self, errors, index: member(self, errors // 2, index)
    )


def listed_by_records_of_the_second_label(monkeypatch):
    def dichotomies(concepts, records):
        keep = records.y == 1
        keep[0] |= not keep.any()
        return concepts.dichotomies([column[keep] for column in records.X.columns])

    monkeypatch.setattr(generic, "_dichotomies", dichotomies)


#: From a mistake to the case, and the neighbours of its universe that show it.
MISTAKES = {
    cells_for_cuts: ("corners", ((0, 2, "no"), (0, 1, "no")), ((0, 2, "no"), (1, 1, "no"))),
    only_corners_bounded_by_records: (
        "corners",
        ((2, 1, "yes"), (2, 0, "no")),
        ((2, 1, "yes"), (1, 0, "no")),
    ),
    errors_counted_twice: ("corners", ((0, 1, "yes"), (2, 1, "yes")), ((0, 1, "yes"), (0, 0, "no"))),
    listed_by_records_of_the_second_label: (
        "corners_of_public_rows",
        ("yes", "yes", "no"),
        ("yes", "yes", "yes"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_breaks_the_claim(mistake, monkeypatch):
    name, *pair = MISTAKES[mistake]
    case = CASES[name]
    assert OnePair.of(case, pair).run().keeps(case.claim)
    mistake(monkeypatch)
    assert not OnePair.of(case, pair).run().keeps(case.claim)
