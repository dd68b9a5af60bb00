"""Membership attacks on sampled records, through the operating system's entropy: was a person in the table?

The attacker knows all other records, and whether the person's record is there or has been replaced, he learns
from sampled records alone: from how many of their cells are those of the person, beyond what the other
records explain. As in `test_sample_privacy`, the lower bounds on epsilon hold with probability 1 - 1e-6, and
must be below the claim; the same attack on a release with less noise than is claimed, or none, must refute
it.
"""

from dataclasses import replace
from itertools import islice, product

import numpy as np
import pytest

from dplearn.audit import ready, sample_privacy
from dplearn.domains import Categories, Schema
from dplearn.privacy import ApproxDP
from dplearn.releases import SyntheticTable, table_network
from tests.audit.changed import recipe_of

ROWS = 2000  # sampled
pytestmark = pytest.mark.nightly  # by day the release is enumerated
MOST = 6  # cells beyond those of the other records


def sampled(parameters, table, dice):
    """Synthetic records of a fit with the given dice."""
    found = ready(recipe_of(SyntheticTable(**parameters)), table).run(dice)
    return SyntheticTable.of(found.tables, found.plan, types=found.types, n_bins=16).sample(ROWS)


class Attack:
    """The person has "yes" in all columns, or "no"; the others have all combinations equally often."""

    def __init__(self, n_columns, target, claim, n=17):
        domain = Schema({f"c{place}": Categories(["no", "yes"]) for place in range(n_columns)})
        self.claim = claim
        self.parameters = {
            "epsilon": claim.epsilon,
            "delta": claim.delta,
            "domain": domain,
            "target": target,
        }
        self.others = [*islice(product(["no", "yes"], repeat=n_columns), n - 1)] * (n // 2**n_columns)
        self.tables = [[*self.others, ("yes",) * n_columns], [*self.others, ("no",) * n_columns]]

    def score(self, rows):
        """How many cells of the table are those of the person, and how many whole records."""
        found = np.asarray(rows) == "yes"
        return len(self.tables[0]) * (found.mean(axis=0).sum() + found.all(axis=1).mean())

    def __call__(self, table, dice):
        expected = self.score(self.others) * len(self.others) / len(self.tables[0])
        return int(np.clip(round(self.score(sampled(self.parameters, table, dice)) - expected), -MOST, MOST))

    def run(self, n_samples):
        return sample_privacy(self, *self.tables, claim=self.claim, n_samples=n_samples)


PURE, APPROXIMATE = ApproxDP("2.5"), ApproxDP("2.5", "1e-6")


@pytest.mark.parametrize(
    ("n_columns", "target", "claim", "n_samples", "least"),
    [
        (2, "c0", PURE, 800, 0.3),
        (2, "c0", APPROXIMATE, 4000, 0.1),
        (3, None, PURE, 4000, 0.1),
        (3, None, APPROXIMATE, 4000, 0.1),
    ],
)
def test_an_attack_on_sampled_records_finds_less_than_the_claim(n_columns, target, claim, n_samples, least):
    report = Attack(n_columns, target, claim).run(n_samples)
    assert least < report.epsilon_lower < claim.epsilon, report
    assert not report.refutes, report


def test_the_same_attack_refutes_a_release_with_a_tenth_of_the_noise(monkeypatch):
    right = table_network.TableNoise.noisy

    def noisy(noise, counts, n, dice):
        return right(replace(noise, epsilon=10 * noise.epsilon), counts, n, dice)

    monkeypatch.setattr(table_network.TableNoise, "noisy", noisy)
    report = Attack(2, "c0", PURE).run(400)
    assert report.refutes, report
