"""Whole interactions, run over every outcome: the analyst chooses each release after seeing those before.

With the ledger in the loop the exact epsilon of everything that the analyst sees is at most the budget; with
any mistake in the ledger, or without it, it is not.
"""

from fractions import Fraction

import pytest

from dplearn.audit import enumerate_privacy, exact_distribution
from dplearn.kernels import at_most_exp, decay_ratio, exp_bounds
from dplearn.privacy import (
    ApproxDP,
    BudgetExceededError,
    PrivacyFilter,
    PrivacyLedger,
    amounts,
    with_amounts,
)

QUESTIONS = 8
BUDGET = ApproxDP(1)


def coin(bit, epsilon, dice):
    """Tell a bit, or its opposite: exactly epsilon, but for one part in 2**30."""
    ratio = decay_ratio(Fraction(epsilon))
    return bit ^ dice.bernoulli(ratio / (1 + ratio))


def leaky_coin(bit, guarantee, dice):
    """Tell a bit outright with probability delta: exactly (epsilon, delta)."""
    if dice.bernoulli(guarantee.delta):
        return "sure", bit
    return "coin", coin(bit, guarantee.epsilon, dice)


def wishes(seen):
    """Return what the analyst asks next: more after a 1, less after a 0 and less after every refusal."""
    ones = sum(outcome == 1 for outcome in seen)
    refused = seen.count("refused")
    return Fraction(1 if ones > 1 else 2, 9 if ones == 0 else 7) / 2**refused


def interaction(charged, ledger, bit, dice, questions):
    """Return all that the analyst sees, refusals too."""
    seen = []
    while len(seen) < questions:
        epsilon = wishes(seen)
        try:
            seen.append(charged(ledger, ApproxDP(epsilon), lambda asked=epsilon: coin(bit, asked, dice)))
        except BudgetExceededError:
            seen.append("refused")
    return seen


def exact(charged, rule=PrivacyFilter, questions=QUESTIONS):
    def run(rows, dice):
        return interaction(charged, PrivacyLedger(1), rows[0], dice, questions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dplearn.privacy.ledger.PrivacyFilter", rule)
        return enumerate_privacy(run, [0, 1], n=1)


def charge_then_draw(ledger, guarantee, draw):
    ledger.charge(guarantee)
    return draw()


def test_with_the_ledger_the_whole_interaction_keeps_the_budget():
    report = exact(charge_then_draw)
    assert report.keeps(BUDGET)
    assert report.tightness(BUDGET) > 0.95  # the analyst does use the budget up
    assert report.n_outcomes > 10


# Mistakes: when to charge


def charge_what_turned_out_to_tell_something(ledger, guarantee, draw):
    if outcome := draw():
        ledger.charge(guarantee)
    return outcome


def charge_after_showing(ledger, guarantee, draw):
    outcome = draw()
    if ledger.can_afford(guarantee):
        ledger.charge(guarantee)
    return outcome


def refund_what_failed(ledger, guarantee, draw):
    if not ledger.can_afford(guarantee):
        raise BudgetExceededError("as a charge does")
    if outcome := draw():  # 0 is a release that failed, visibly
        ledger.charge(guarantee)
    return outcome


def charge_a_copy(ledger, guarantee, draw):
    """Copies the account with the ledger, as a plain `clone` would."""
    PrivacyLedger(1).charge(guarantee)
    return draw()


WHEN = (charge_what_turned_out_to_tell_something, charge_after_showing, refund_what_failed, charge_a_copy)


@pytest.mark.parametrize("charged", WHEN)
def test_a_mistake_in_when_to_charge_exceeds_the_budget(charged):
    report = exact(charged, questions=6)
    assert not report.keeps(BUDGET)
    assert report.epsilon > 1.1


# Mistakes: what fits


class OneOvershootFits(PrivacyFilter):
    def after(self, spent, cost):
        super().after(spent, with_amounts(cost, dict.fromkeys(amounts(cost), 0)))
        total = min(self.budget.epsilon, spent.epsilon + cost.epsilon)
        if spent.epsilon == self.budget.epsilon:
            raise BudgetExceededError("used up")
        return with_amounts(self.budget, {"epsilon": total})


class TheLargestCounts(PrivacyFilter):
    def after(self, spent, cost):
        super().after(self.nothing, cost)
        return with_amounts(self.budget, {"epsilon": max(spent.epsilon, cost.epsilon)})


class SquaresAdd(PrivacyFilter):
    """Optimal composition's rate, with neither its delta nor its theorem."""

    def after(self, spent, cost):
        super().after(
            with_amounts(spent, {"epsilon": spent.epsilon**2}), self.cost(ApproxDP(cost.epsilon**2))
        )
        return with_amounts(self.budget, {"epsilon": spent.epsilon**2 + cost.epsilon**2})


@pytest.mark.parametrize("rule", [OneOvershootFits, TheLargestCounts, SquaresAdd])
def test_a_mistake_in_what_fits_exceeds_the_budget(rule):
    assert not exact(charge_then_draw, rule, questions=6).keeps(BUDGET)


def test_one_step_for_two_exceeds_the_budget():
    """An add_remove release, charged as if it were for replaced records."""

    def run(wrong):
        def both(rows, dice):
            # Each record is told by a coin of its own half; to replace one is to change both halves.
            ledger, guarantee = PrivacyLedger(1), ApproxDP(0.5, 0, "replace_one" if wrong else "add_remove")
            seen = []
            while ledger.can_afford(guarantee):
                ledger.charge(guarantee)
                seen += [coin(int(value in rows), Fraction(1, 2), dice) for value in (0, 1)]
            return seen

        return enumerate_privacy(both, [0, 1], n=1)

    assert run(wrong=False).keeps(BUDGET)
    assert run(wrong=False).tightness(BUDGET) > 0.999999
    assert not run(wrong=True).keeps(BUDGET)


# Delta and rho


def test_epsilon_and_delta_both_add():
    budget = ApproxDP(1, "3/20")

    def run(rows, dice, bound=None):
        ledger, seen = PrivacyLedger(budget.epsilon, budget.delta), []
        while len(seen) < 3:
            lucky = any(how == "sure" for how, _ in seen)
            asked = ApproxDP(Fraction(1, 4) if lucky else Fraction(1, 2), Fraction(1, 20 if lucky else 12))
            try:
                if bound is None:
                    ledger.charge(asked)
                seen.append(leaky_coin(rows[0], asked, dice))
            except BudgetExceededError:
                break
        return seen

    report = enumerate_privacy(run, [0, 1], n=1, delta=budget.delta)
    assert report.keeps(budget)
    without = enumerate_privacy(lambda *a: run(*a, bound=False), [0, 1], n=1, delta=budget.delta)
    assert not without.keeps(budget)


def renyi_holds(p, q, rho, order):
    """Decide exactly whether the Renyi divergence of an integer order is at most rho times the order."""
    moment = sum(p.probability(o) ** order / q.probability(o) ** (order - 1) for o in p.masses)
    return at_most_exp(moment, (order - 1) * order * rho)


@pytest.mark.parametrize(("divisor", "kept"), [(2, True), (3, False)])
def test_a_budget_of_rho_bounds_every_renyi_divergence(divisor, kept, monkeypatch):
    monkeypatch.setattr(
        PrivacyFilter,
        "cost",
        lambda self, asked: with_amounts(self.budget, {"rho": asked.epsilon**2 / divisor}),
    )
    rho = Fraction(1, 32)

    def run(bit, dice):
        ledger, seen = PrivacyLedger.of_rho(rho), []
        while len(seen) < QUESTIONS:
            asked = Fraction(1, 8 if sum(seen) > 1 else 6)
            if not ledger.can_afford(ApproxDP(asked)):
                break
            seen.append(charge_then_draw(ledger, ApproxDP(asked), lambda e=asked: coin(bit, e, dice)))
        return tuple(seen)

    p, q = (exact_distribution(lambda dice, bit=bit: run(bit, dice)) for bit in (0, 1))
    assert all(renyi_holds(*pair, rho, order) for pair in ((p, q), (q, p)) for order in range(2, 7)) == kept


def test_the_coin_is_what_it_says():
    report = enumerate_privacy(lambda rows, dice: coin(rows[0], Fraction(1, 2), dice), [0, 1], n=1)
    assert report.exp_epsilon <= exp_bounds(Fraction(1, 2))[0]
    assert report.tightness(ApproxDP(0.5)) > 0.999999


def test_a_ledgers_refusal_is_something_that_the_world_sees():
    def run(dice):
        PrivacyLedger(0.1).charge(ApproxDP(dice.bernoulli(Fraction(1, 2))))

    kinds = {seen[1] if seen else None for seen in exact_distribution(run).masses}
    assert kinds == {None, "BudgetExceededError"}
