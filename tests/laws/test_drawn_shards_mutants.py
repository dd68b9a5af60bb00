"""Deliberate mistakes in ensembles for added records: each exceeds the claim on neighbours.

The numbers of a table name records of the universe: of 0, 1, 2, 3, 4 the labels are a, b, a, b, a, and a
teacher votes for the label of its greatest record.
"""

from fractions import Fraction

import numpy as np
import pytest

from dplearn import SubsampleAggregateClassifier
from dplearn.audit.cases import CASES
from dplearn.audit.cases.drawn_shards import drawn_case
from dplearn.audit.cases.ensembles import Extreme
from dplearn.chance import PublicStream
from dplearn.learners.votes import aggregators, recipe
from dplearn.learners.votes.online import Ensemble
from dplearn.learners.votes.recipe import VotesFit
from tests.laws.conftest import OnePair


def of_two_teachers(n):
    return drawn_case(
        f"tables of {n} records and of {n - 1}",
        SubsampleAggregateClassifier,
        "ababa",
        24,
        n,
        estimator=Extreme(),
        abstain_label="none",
        aggregation="lnmax",
        delta=Fraction(0),
        n_teachers=2,
    )


TWO, FOUR = of_two_teachers(2), of_two_teachers(4)
CUT, MODULO, PUBLIC = ((2, 3, 1, 0), (2, 1, 0)), ((1, 3, 0, 2), (1, 0, 2)), ((2, 0, 1, 1), (0, 1, 1))
LAST = ((0, 0, 0, 1), (0, 0, 0))
ONE_MORE = ((0, 1), (0,))


def shards_of(mistaken):
    return lambda patch: patch.setattr(recipe, "drawn_shards", mistaken)


def equal_chunks(n, k, dice):
    del dice
    return np.array_split(np.arange(n), k)


def places_modulo(n, k, dice):
    del dice
    return [np.arange(first, n, k) for first in range(k)]


def by_a_public_seed(n, k, dice):
    """The draws of places by the seed that the fit publishes."""
    del dice
    own = PublicStream(0, SubsampleAggregateClassifier.__name__).labels(k, n)
    return [np.flatnonzero(own == each) for each in range(k)]


def a_record_in_two_shards(n, k, dice):
    own = dice.below(k, size=n)
    return [np.flatnonzero((own == each) | (np.arange(n) == n - 1)) for each in range(k)]


def half_of_the_noise(patch):
    """As if an added record moved one count alone."""
    drawn = aggregators.laplace_counts

    def noisy(counts, *, sensitivity, **how):
        return drawn(counts, sensitivity=sensitivity // 2, **how)

    patch.setattr(aggregators, "laplace_counts", noisy)


def a_count_for_nothing(patch):
    shares = recipe.shares_with_count
    patch.setattr(recipe, "shares_with_count", lambda cost, **how: (shares(cost, **how)[0], cost))


def the_true_number(patch):
    patch.setattr(recipe, "noisy_count", lambda n, *_, **__: n)


def teachers_for_the_true_number(patch):
    """The estimate is published, and the teachers are as many as records."""
    counted = VotesFit._counted

    def found(model, plan, n, dice):
        counted(model, plan, n, dice)
        return plan.for_count(n)

    patch.setattr(VotesFit, "_counted", found)


def lengths_left_behind(patch):
    cut_of, published, sizes = VotesFit._cut, VotesFit._published, []

    def kept(fit, rows, plan, dice):
        plan, cut = cut_of(fit, rows, plan, dice)
        sizes[:] = [len(each) for each in cut["shards"]]
        return plan, cut

    patch.setattr(VotesFit, "_cut", kept)
    patch.setattr(VotesFit, "_published", lambda fit, plan: published(fit, plan) | {"sizes_": list(sizes)})


def silent_without_records(patch):
    """An ensemble with an empty shard refuses to answer."""
    answer = Ensemble.answer

    def refusing(self, queries, n_bins=None):
        if None in self.teachers:
            raise RuntimeError("a shard is empty")
        return answer(self, queries, n_bins)

    patch.setattr(Ensemble, "answer", refusing)


MUTANTS = [
    ("equal chunks", FOUR, CUT, shards_of(equal_chunks)),
    ("places modulo", FOUR, MODULO, shards_of(places_modulo)),
    ("by a public seed", FOUR, PUBLIC, shards_of(by_a_public_seed)),
    ("a record in two shards", FOUR, LAST, shards_of(a_record_in_two_shards)),
    ("half of the noise", CASES["added_votes"], ((0, 0, 1), (0, 0)), half_of_the_noise),
    ("a count for nothing", CASES["added_counted_votes"], ONE_MORE, a_count_for_nothing),
    ("the true number", CASES["added_counted_votes"], ONE_MORE, the_true_number),
    ("teachers for the true number", CASES["added_counted_votes"], ONE_MORE, teachers_for_the_true_number),
    ("lengths left behind", CASES["added_votes"], ((0, 0, 1), (0, 0)), lengths_left_behind),
    ("silent without records", TWO, ONE_MORE, silent_without_records),
]


def neighbours(case, pair):
    return OnePair.of(case, tuple(tuple(case.universe[place] for place in rows) for rows in pair))


@pytest.mark.parametrize(
    ("case", "pair", "mistake"), [each[1:] for each in MUTANTS], ids=[m[0] for m in MUTANTS]
)
def test_each_mistake_breaks_the_claim(case, pair, mistake, monkeypatch):
    mistake(monkeypatch)
    assert not neighbours(case, pair).run().keeps(case.claim)


@pytest.mark.parametrize(
    ("case", "pair"),
    [
        (FOUR, CUT),
        pytest.param(FOUR, MODULO, marks=pytest.mark.nightly),
        pytest.param(FOUR, PUBLIC, marks=pytest.mark.nightly),
        pytest.param(FOUR, LAST, marks=pytest.mark.nightly),
        (TWO, ONE_MORE),
        (CASES["added_votes"], ((0, 0, 1), (0, 0))),
    ],
    ids=["chunks", "modulo", "public", "last", "two", "added_votes"],
)
def test_the_unchanged_code_keeps_the_claim_on_these_tables(case, pair):
    assert neighbours(case, pair).is_kept()
