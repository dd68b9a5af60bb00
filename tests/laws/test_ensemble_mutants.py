"""Deliberate mistakes in ensembles: each exceeds the claim on a pair of neighbours where the original keeps it."""

import copy
import math
import warnings
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplearn import KnowledgeTransferClassifier, SubsampleAggregateClassifier
from dplearn.aggregation import aggregators, crew, ensemble, teachers
from dplearn.aggregation.aggregators import AGGREGATIONS, Ballot, ConfidentVotes
from dplearn.aggregation.answers import Answers, QueriesExhaustedError
from dplearn.aggregation.teachers import votes_of
from dplearn.audit.ensemble_cases import Extreme, ensemble_case, transfer_case
from dplearn.audit.laws import exact_law, least_exp_epsilon
from dplearn.core.exact import log_bounds
from dplearn.core.votes import Votes
from dplearn.learners import ensembles, knowledge_transfer
from dplearn.learners.ensembles import Records
from dplearn.privacy import ApproxDP, PrivateHolder

TAIL_BITS = 16
CLAIM = ApproxDP(8, Fraction(1, 20))
DELTA = CLAIM.delta + Fraction(1, 1 << 12)  # with what a tape leaves out


def ensemble_fit(kind=SubsampleAggregateClassifier, labels="abc", **parameters):
    """Return `fit(rows, dice)` of four teachers; a row is a digit: which record of the universe."""
    chosen = {
        "n_teachers": 4,
        "epsilon": 8,
        "delta": 0.05,
        "max_queries": 2,
        "max_unstable": 1,
        "abstain_label": "none",
        "classes": sorted(set(labels)),
        "random_state": 0,
    }
    return by_digits(ensemble_case("mutant", kind(Extreme(), **chosen | parameters), labels, CLAIM))


def transfer_fit(labels="abc", **parameters):
    chosen = {
        "n_teachers": 4,
        "epsilon": 8,
        "delta": 0.05,
        "max_queries": 2,
        "max_unstable": 1,
        "aggregation": "sparse_vector",
        "classes": sorted(set(labels)),
        "random_state": 0,
    }
    model = KnowledgeTransferClassifier(Extreme(), **chosen | parameters)
    return by_digits(transfer_case("mutant", model, labels, CLAIM))


def by_digits(case):
    return lambda digits, dice: case.fit(tuple(case.universe[int(digit)] for digit in digits), dice)


def exact_epsilon(fit, pair):
    """The least epsilon for both directions, to two places."""
    laws = [exact_law(partial(fit, digits), TAIL_BITS) for digits in pair]
    found = [least_exp_epsilon(*both, DELTA)[0] for both in (laws, laws[::-1])]
    return math.inf if None in found else round(max(float(log_bounds(ratio)[1]) for ratio in found), 2)


# How records are cut


def overlapping(n, k, stream):
    """The first record of each shard is in the next one too."""
    cut = np.array_split(stream.permutation(n), k)
    return [np.append(shard, cut[i - 1][0]) for i, shard in enumerate(cut)]


def cut_by(order_of):
    """Lessons whose shards are cut from an order that depends on the records."""

    def lessons(records, terms, n_teachers):
        made = REAL_LESSONS(records, terms, n_teachers)
        return made | {"shards": np.array_split(order_of(records), n_teachers)}

    return lessons


REAL_LESSONS = Records.lessons


def stratified(records):
    """Each shard gets its share of each label: one record of another label pushes the rest along."""
    by_label = np.argsort(records.y, kind="stable")
    return np.concatenate([by_label[i::4] for i in range(4)])


def sorted_by_value(records):
    return np.argsort(records.X[:, 0], kind="stable")


# How votes are counted and answered


def gap_less_one(labels, n_labels):
    """The distance of the paper moves by 2 with one vote."""
    votes = REAL_TALLY(labels, n_labels)
    second, top = np.sort(votes.counts, axis=1).T[-2:]
    return Votes(votes.counts, votes.winner, np.maximum(top - second - 1, 0))


REAL_TALLY, REAL_ANSWERED = ensemble.tally, aggregators.answered
REAL_QUESTIONS, REAL_GAUSSIAN = aggregators.stability_questions, aggregators.noisy_gaussian


def declined_by_votes(questions, answers, distances):
    """Where an answer is declined, the label that led stands in."""
    codes = REAL_ANSWERED(questions, answers, distances)
    return np.where(codes < 0, answers[: codes.size], codes)


def unanimous_without_a_draw(questions, answers, distances):
    if (distances >= 1).all():  # 1 is the greatest distance of four teachers
        return answers
    return REAL_ANSWERED(questions, answers, distances)


# What is read from data


def found_labels(y, n, classes):
    return REAL_LABELS(y, n, None)


REAL_LABELS, REAL_TRAINED = ensembles.read_labels, teachers._trained


def raising(estimator, rows, labels, seed):
    if len(set(labels.tolist())) < 2:
        raise ValueError("a shard holds one class only")
    return REAL_TRAINED(estimator, rows, labels, seed)


def warning(estimator, rows, labels, seed):
    if len(set(labels.tolist())) < 2:
        warnings.warn("a shard holds one class only", stacklevel=1)
    return REAL_TRAINED(estimator, rows, labels, seed)


#: Each mistake: what is put in the place of what, and neighbours that show it.
AROUND = {
    "overlapping shards": [(ensembles, "shards", overlapping)],
    "shards stratified by label": [(Records, "lessons", cut_by(stratified))],
    "shards of records sorted by value": [(Records, "lessons", cut_by(sorted_by_value))],
    "a distance that moves by 2": [(ensemble, "tally", gap_less_one)],
    "declined labels from the votes": [(aggregators, "answered", declined_by_votes)],
    "unanimous votes answered without a draw": [(aggregators, "answered", unanimous_without_a_draw)],
    "labels from the data": [(ensembles, "read_labels", found_labels)],
    "an exception on a shard of one class": [(teachers, "_trained", raising)],
    "a warning on a shard of one class": [(teachers, "_trained", warning), (crew, "silence", nullcontext())],
}


# What is left behind, and who answers


class TeachersKept(SubsampleAggregateClassifier):
    def _fit(self, X, y, dice, **options):
        super()._fit(X, y, dice, **options)
        with self._holder.use() as state:
            self.teachers_ = state.teachers


class VotesKept(SubsampleAggregateClassifier):
    def predict(self, X):
        with self._holder.use() as state:
            self.votes_ = votes_of(state.teachers, X, state.classes)
        return super().predict(X)


class SeedsFromTheDice(SubsampleAggregateClassifier):
    def _fit(self, X, y, dice, **options):
        self.seeds = [dice.below(2) for _ in range(4)]
        super()._fit(X, y, dice, **options)


class AskedTwice(SubsampleAggregateClassifier):
    """Asks a copy first, and then itself."""

    def predict(self, X):
        return np.concatenate([answers_of(each, X) for each in (copy.deepcopy(self), self)])


class TwoHolders(AskedTwice):
    """A copy with state of its own, which answers as often as the original."""

    def __deepcopy__(self, memo):
        twin = super().__deepcopy__(memo)
        with self._holder.use() as state:
            dice = state.aggregator._questions.dice
            twin._holder = PrivateHolder(replace(state, aggregator=copy.copy(state.aggregator).attach(dice)))
        return twin


# Context of the public stream: both cut the same shards.
TwoHolders.__name__ = AskedTwice.__name__


def answers_of(model, X):
    try:
        return SubsampleAggregateClassifier.predict(model, X)
    except QueriesExhaustedError as stopped:
        return stopped.released.astype("U7").tolist() + ["stopped"]


# Noisy maxima: a query's votes are counts for two labels, and all that is released is what students learn


def asked(counts, dice, *, name="gnmax", epsilon=4, max_queries=None):
    counts = np.array(counts)
    terms = Ballot(ApproxDP(epsilon, DELTA_OF_COUNTS), 2, 4, max_queries or len(counts))
    answers = AGGREGATIONS[name](terms).attach(dice).answer(Votes(counts, counts.argmax(axis=1), 0 * counts[:, 0]))
    return answers.codes.tolist(), answers.counts.tolist()


DELTA_OF_COUNTS = Fraction(1, 100)


def half_the_variance(counts, rho, squared, dice):
    return REAL_GAUSSIAN(counts, rho, squared - squared // 2, dice)


def once_for_all_queries(counts, rho, squared, dice):
    """What comes of workers that each answer a query with a copy of the same dice."""
    return counts + (REAL_GAUSSIAN(counts[:1], rho, squared, dice) - counts[:1])


class TestForFree(ConfidentVotes):
    """The filter counts answers only, and test and answer have the noise of that price."""

    def __init__(self, ballot):
        super().__init__(ballot)
        self._test = self._answer = self._test + self._answer


# Students


def student_of_raw_votes(student, X, answers, classes):
    return REAL_TEACH(student, X, Answers(SEEN[-1].winner, SEEN[-1].counts), classes)


def seen_tally(labels, n_labels):
    SEEN.append(REAL_TALLY(labels, n_labels))
    return SEEN[-1]


REAL_TEACH, SEEN = knowledge_transfer.teach, []
RAW = [(knowledge_transfer, "tally", seen_tally), (knowledge_transfer, "teach", student_of_raw_votes)]
TWICE = [(ensembles, "shards", overlapping)]
