"""Deliberate mistakes of oracles, which every learner that asks one shares."""

from dplearn.queries import LocalOracle
from dplearn.queries.noise import CentralNoise

__all__ = ["parts_that_the_data_scale", "reports_of_the_same_records", "the_whole_budget_for_each"]


def the_whole_budget_for_each(monkeypatch):
    """Each of two queries or rounds has as much noise as if it had the budget of both."""
    right = CentralNoise.answer
    monkeypatch.setattr(
        CentralNoise, "answer", lambda self, query, part, *known: right(self, query, 2 * part, *known)
    )


def reports_of_the_same_records(monkeypatch):
    """The records that answer a query have answered the one before."""
    right = LocalOracle._private

    def again(self, account, asked, part):
        for query in asked:
            account.asked = 0
            yield from right(self, account, [query], part)

    monkeypatch.setattr(LocalOracle, "_private", again)


def parts_that_the_data_scale(monkeypatch):
    """The noise of an answer depends on its exact value."""
    right = CentralNoise.answer

    def scaled(self, query, part, bounds, totals, dice):
        return right(self, query, part / (1 + int(totals.sum()) % 3), bounds, totals, dice)

    monkeypatch.setattr(CentralNoise, "answer", scaled)
