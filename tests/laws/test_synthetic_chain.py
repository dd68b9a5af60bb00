"""The exact epsilon of synthetic tables that have too many paths to be enumerated one by one.

An outcome of `released_tables` shows each step: base tables, selections and tables of the network. So its
probability is the product of the steps' probabilities given the earlier steps, and the greatest ratio of two
datasets' probabilities is found backwards, from the last step to the first. The steps run the real code: the
model, the candidates, their qualities, the mechanism and the noise. The order of the steps is written here a
second time; on cases that are small enough, the result is that of the enumeration of the release.
"""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dplearn.audit import exact_distribution
from dplearn.audit.cases import CASES
from dplearn.domains import Bits, Categories, Schema
from dplearn.mechanisms import exponential_mechanism
from dplearn.privacy import ApproxDP
from dplearn.releases.table_columns import table_columns
from dplearn.releases.table_network import (
    NetworkStep,
    TableBudget,
    TableModel,
    TableNoise,
    add_qualities,
    candidates_of,
    checked_layout,
    counts_of,
    synthetic_table_plan,
)

BIT = Bits(binarize=None)


def log_of(fraction):
    """The logarithm of a fraction whose terms no float may represent."""
    return math.log(fraction.numerator) - math.log(fraction.denominator)


@cache
def noisy_law(noise, counts, n):
    """The outcomes of a noisy table, and the logarithms of their probabilities."""
    law = exact_distribution(lambda dice: noise.noisy(np.array(counts), n, dice).tolist())
    masses = sorted((seen[1], mass) for seen, mass in law.masses.items())
    return {outcome: log_of(Fraction(mass, law.total)) for outcome, mass in masses}


@cache
def selection_law(epsilon, qualities):
    """The logarithms of the probabilities of the candidates."""
    law = exact_distribution(
        lambda dice: exponential_mechanism(np.array(qualities), privacy=ApproxDP(epsilon), dice=dice)
    )
    return [log_of(Fraction(law.masses[place], law.total)) for place in range(len(qualities))]


class Chain:
    """All datasets of a universe of cells, and the greatest log-ratio of their releases."""

    def __init__(self, plan, universe):
        self.plan, self.n, self.layout = plan, plan.n_samples, plan.layout
        rows = list(combinations_with_replacement(universe, self.n))
        self.records = [np.array(each, dtype=np.int16) for each in rows]
        near = [
            (one, other)
            for one, other in product(range(len(rows)), repeat=2)
            if (Counter(rows[one]) & Counter(rows[other])).total() == self.n - 1
        ]
        self.one, self.other = np.array(near).T
        self.n_paths = 0

    def differences(self, noise, places):
        """For each outcome of a table the log-ratio of each pair of neighbours."""
        sizes = [self.layout.sizes[place] for place in places]
        counts = [tuple(counts_of(places, sizes, each).tolist()) for each in self.records]
        laws = [noisy_law(noise, each, self.n) for each in counts]
        assert all(law.keys() == laws[0].keys() for law in laws)  # an outcome of one law alone: infinite
        logs = np.array([list(law.values()) for law in laws]).T
        return dict(zip(laws[0], logs[:, self.one] - logs[:, self.other], strict=True))

    @cached_property
    def epsilon(self):
        """The exact epsilon: the greatest log-ratio of all outcomes and neighbours."""
        tables = [self.differences(self.plan.budget.base, places) for places in self.layout.base]
        worst = -math.inf
        for outcomes in product(*tables):
            base = [np.array(outcome) for outcome in outcomes]
            seen = sum(table[outcome] for table, outcome in zip(tables, outcomes, strict=True))
            unplaced = [place for place in range(len(self.layout.sizes)) if place not in self.layout.first]
            placed = [place for place in self.layout.first if place != self.layout.target]
            asked = [{} for _ in self.records]
            worst = max(worst, (seen + self.after(base, [], placed, unplaced, asked)).max())
        return worst

    def after(self, base, steps, placed, unplaced, asked):
        """The greatest log-ratio of all later steps, for each pair of neighbours."""
        if not unplaced or not self.layout.rounds:
            self.n_paths += 1
            return np.zeros(len(self.one))
        model = TableModel(self.plan.layout, self.plan.budget, self.plan.n_samples, base, steps)
        candidates = list(candidates_of(self.plan, placed, unplaced))
        asked = [dict(each) for each in asked]
        for found, records in zip(asked, self.records, strict=True):
            add_qualities(found, candidates, records, self.plan, model)
        logs = np.array(
            [
                selection_law(self.plan.budget.selection, tuple(each[key] for key in candidates))
                for each in asked
            ]
        ).T
        chosen = logs[:, self.one] - logs[:, self.other]
        found = [
            chosen[place] + self.after_choice(candidate, model, base, steps, placed, unplaced, asked)
            for place, candidate in enumerate(candidates)
        ]
        return np.max(found, axis=0)

    def after_choice(self, candidate, model, base, steps, placed, unplaced, asked):
        column, parents = candidate
        table = self.tables[model.places_of(column, parents)]
        left = [place for place in unplaced if place != column]
        if not left:  # nothing follows
            self.n_paths += len(table)
            return np.max(list(table.values()), axis=0)
        return np.max(
            [
                seen
                + self.after(
                    base,
                    [*steps, NetworkStep(column, parents, np.array(outcome))],
                    [*placed, column],
                    left,
                    asked,
                )
                for outcome, seen in table.items()
            ],
            axis=0,
        )

    @cached_property
    def tables(self):
        chain = self

        class Tables(dict):
            def __missing__(self, places):
                self[places] = chain.differences(chain.plan.budget.network, places)
                return self[places]

        return Tables()


def chain_of(domains, n, budget, *, target=None, degree=2):
    schema = Schema({f"x{place}": domain for place, domain in enumerate(domains)})
    layout = replace(checked_layout(table_columns(schema, 4), target, degree, 1 << 10), most_error=math.inf)
    if isinstance(budget, ApproxDP):
        budget = TableBudget.of(budget, len(layout.base), layout.rounds, 0)
    plan = synthetic_table_plan(ApproxDP(1), n, layout, budget=budget)
    return Chain(plan, list(product(*(range(domain.size) for domain in domains))))


@pytest.mark.parametrize(
    ("name", "domains", "n", "claim", "given"),
    [
        ("synthetic_table", [BIT] * 2, 2, ApproxDP(2), {}),
        ("synthetic_table_with_target", [BIT] * 2, 2, ApproxDP(2), {"target": 1}),
        (
            "synthetic_table_of_three_columns",
            [Categories(["a"]), BIT, BIT],
            1,
            ApproxDP("1.9"),
            {"degree": 1},
        ),
    ],
)
def test_the_chain_has_the_exact_epsilon_of_the_enumeration(name, domains, n, claim, given):
    assert f"{chain_of(domains, n, claim, **given).epsilon:.6f}" == CASES[name].frozen()["epsilon"]


@pytest.mark.nightly
@pytest.mark.parametrize(("degree", "exact", "n_paths"), [(1, 1.3866, 748_440), (2, 1.3903, 30_509_136)])
def test_three_binary_columns_and_two_records(degree, exact, n_paths):
    """Base tables for .5 together, two selections of .3 and two tables of .4: the claim is 1.9.

    A record that moves all counts shows 1.3 of it, that of all tables. A selection shows less than half of
    its epsilon, since the quality of no dependence is constant, and clipped counts hide some.
    """
    budget = TableBudget(
        TableNoise(Fraction(1, 6), reach=0), Fraction(3, 10), TableNoise(Fraction(2, 5), reach=0)
    )
    chain = chain_of([BIT] * 3, 2, budget, degree=degree)
    assert (round(chain.epsilon, 4), chain.n_paths) == (exact, n_paths)
    assert chain.epsilon < 1.9
