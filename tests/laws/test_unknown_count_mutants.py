"""Deliberate mistakes where the number of records is private: each breaks the claim or leaves the proof."""

import sys
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from dplearn import AdditiveClassifier, StatisticalQueryLogisticRegression
from dplearn.audit import replay_privacy
from dplearn.audit.cases import CASES
from dplearn.audit.cases.additive import with_far_noise
from dplearn.audit.cases.unknown_count import ADDED_REPLAYS
from dplearn.domains import IntegerRange
from dplearn.fit import execute
from dplearn.learners.counts import naive_bayes
from dplearn.queries import CentralOracle, HistogramQuery
from dplearn.queries.noise import CentralNoise
from dplearn.table.table import count_of
from tests.laws.conftest import OnePair

# The packages have functions of these names.
stable_histogram = sys.modules["dplearn.mechanisms.stable_histogram"]
stable_counts = sys.modules["dplearn.releases.stable_counts"]
#: Neighbours that the mistakes show on, as places in the universe.
PAIRS = {
    "added_queries": ((2, 2), (2,)),
    "added_histogram": ((0, 1), (0,)),
    "added_naive_bayes": ((0, 1), (0,)),
    "added_stable_counts": ((0, 0, 0, 0), (0, 0, 0)),
    "added_groups": ((0, 1), (0,)),
    "added_additive_masses": ((0, 0), (0,)),
    "added_additive_gradient": ((0, 1), (0,)),
    "added_additive_three_labels": ((0, 1), (0,)),
    "added_additive_fit_count": ((0, 0), (0,)),
    "added_additive_fit_step": ((0, 1), (1,)),
}
BOTH = {"classes": [0, 1], "neighbors": "add_remove"}
#: Of a mistake that shows on others.
NEW_KEY = ((0, 0, 0, 1), (0, 0, 0))


def pair_of(name, places=None):
    universe = CASES[name].universe
    pair = (tuple(universe[place] for place in rows) for rows in places or PAIRS[name])
    return OnePair.of(CASES[name], tuple(pair))


def half_of_the_noise(monkeypatch):
    monkeypatch.setattr(CentralNoise, "l1", lambda _, query: max(1, query.added_l1 // 2))


def ends_at_the_number_of_records(monkeypatch):
    init = CentralOracle.__init__

    def made(self, records, **how):
        init(self, records, **how | {"most_records": count_of(records)})

    monkeypatch.setattr(CentralOracle, "__init__", made)


def the_exact_number(monkeypatch):
    monkeypatch.setattr(CentralNoise, "with_noisy_count", lambda self, n, _: replace(self, n=n))


def the_number_in_the_repr(monkeypatch):
    init = CentralOracle.__init__

    def made(self, records, **how):
        init(self, records, **how)
        self._size = f"n={count_of(records)}, "

    monkeypatch.setattr(CentralOracle, "__init__", made)


def a_count_for_nothing(monkeypatch):
    """Queries get the whole budget, as if the count had cost nothing."""
    of = CentralNoise.of.__func__

    def bought(cls, kind, privacy, *args, **how):
        return replace(of(cls, kind, privacy, *args, **how), budget=privacy.epsilon)

    monkeypatch.setattr(CentralNoise, "of", classmethod(bought))


def half_of_the_noise_of_a_cell(monkeypatch):
    monkeypatch.setattr(HistogramQuery, "added_l1", 1)
    of = CentralNoise.of.__func__

    def bought(cls, *args, **how):
        noise = of(cls, *args, **how)
        return replace(noise, budget=2 * noise.budget)

    monkeypatch.setattr(CentralNoise, "of", classmethod(bought))


def a_count_without_noise(monkeypatch):
    """The fit publishes the number of records in place of its estimate."""
    plain = naive_bayes.learn_naive_bayes

    def learned(oracle, plan):
        with oracle._account.use() as account:
            n = count_of(account.tables[0])
        tables = plain(oracle, plan)
        return replace(tables, count=n)

    monkeypatch.setattr(naive_bayes, "learn_naive_bayes", learned)


def half_of_the_noise_of_counts(monkeypatch):
    monkeypatch.setattr(stable_histogram, "moved_counts", lambda _: Fraction(1, 2))


def a_threshold_too_low(monkeypatch):
    least = stable_histogram.stable_histogram_threshold
    monkeypatch.setattr(stable_histogram, "stable_histogram_threshold", lambda privacy: least(privacy) - 1)


def counts_clipped_to_their_sum(monkeypatch):
    released = stable_counts.stable_histogram

    def clipped(keys, *, most_records, **how):
        del most_records
        return released(keys, most_records=len(keys), **how)

    monkeypatch.setattr(stable_counts, "stable_histogram", clipped)


def a_release_planned_for_its_records(monkeypatch):
    def read(*given):
        facts, table = right(*given)
        return replace(facts, n_samples=len(table)), table

    right = execute._read
    monkeypatch.setattr(execute, "_read", read)


def noise_for_less(monkeypatch):
    release = CASES["added_groups"].fit.make()
    monkeypatch.setattr(release, "shares", (release.shares[0], 2 * release.shares[1]))


MUTANTS = [
    (half_of_the_noise, "added_queries"),
    (the_exact_number, "added_queries"),
    (the_number_in_the_repr, "added_queries"),
    (a_count_for_nothing, "added_queries"),
    (ends_at_the_number_of_records, "added_queries"),
    (ends_at_the_number_of_records, "added_histogram"),
    (half_of_the_noise_of_a_cell, "added_histogram"),
    (half_of_the_noise_of_a_cell, "added_naive_bayes"),
    (a_count_without_noise, "added_naive_bayes"),
    (half_of_the_noise_of_counts, "added_stable_counts"),
    (counts_clipped_to_their_sum, "added_stable_counts"),
    (a_release_planned_for_its_records, "added_stable_counts"),
    (noise_for_less, "added_groups"),
    (half_of_the_noise, "added_additive_masses"),
    (half_of_the_noise, "added_additive_gradient"),
    (half_of_the_noise, "added_additive_three_labels"),
    (the_exact_number, "added_additive_fit_count"),
    (a_count_for_nothing, "added_additive_fit_step"),
    (half_of_the_noise_of_a_cell, "added_additive_fit_step"),
]


@pytest.mark.parametrize("case", ADDED_REPLAYS, ids=lambda case: case.name)
def test_larger_fits_draw_as_the_proofs_say(case):
    assert not case.replay(seeds=1)


#: Fits, numbers of records between which their plans differ, and by what.
PLANNED = {
    "logistic": (StatisticalQueryLogisticRegression(epsilon=3, **BOTH), 12, "n_steps"),
    "additive": (AdditiveClassifier(epsilon=10, domain=IntegerRange(0, 9), **BOTH), 14, "level"),
}


def replayed_at_the_step(monkeypatch, model, n, differing):
    """Replay a fit between the numbers of records n - 1 and n, for which its plans differ.

    Both have the same released estimate of that number.
    """
    monkeypatch.setattr(CentralNoise, "with_noisy_count", lambda self, *_: replace(self, n=n))
    few, more = (getattr(model.plan(size, n_features=1), differing) for size in (n - 1, n))
    assert few < more
    X, y = (np.arange(n) % 10)[:, None], np.arange(n) % 2

    @with_far_noise  # noise of a later query is a function of earlier answers
    def fit(size, dice):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(model)._fit(X[:size], y[:size], dice)

    return [found for pair in ((n, n - 1), (n - 1, n)) for found in replay_privacy(fit, *pair).violations]


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_for_the_true_number_of_records_leaves_the_proof(name, monkeypatch):
    assert replayed_at_the_step(monkeypatch, *PLANNED[name]) == []

    def planned(self):
        with self._account.use() as account:
            return count_of(account.tables[0])

    monkeypatch.setattr(CentralOracle, "count", planned)
    assert "draws against" in replayed_at_the_step(monkeypatch, *PLANNED[name])[0]


@pytest.mark.parametrize(("mutant", "name"), MUTANTS, ids=lambda given: getattr(given, "__name__", given))
def test_each_mistake_breaks_the_claim(mutant, name, monkeypatch):
    mutant(monkeypatch)
    assert not pair_of(name).run().keeps(CASES[name].claim)


def test_a_threshold_too_low_breaks_the_claim(monkeypatch):
    assert pair_of("added_stable_counts", NEW_KEY).is_kept()
    a_threshold_too_low(monkeypatch)
    assert not pair_of("added_stable_counts", NEW_KEY).is_kept()


@pytest.mark.parametrize("name", PAIRS)
def test_the_unchanged_code_keeps_the_claim_on_these_tables(name):
    assert pair_of(name).is_kept()
