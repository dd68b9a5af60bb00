"""How many teachers, how many questions, how many of them unstable: from public quantities alone.

A shard has to be large enough to learn from, and teachers have to be many enough to stand out of the noise.
It may not depend on the data. For answers themselves shards have 20 records, fewer where the noise
needs more teachers. An ensemble is taken to agree where five of six teachers do: then k / 3 votes must move
before another label wins. Where noise is added to every answer, it grows with the number of queries: so many
are chosen, up to 1,000, that all rows on which five of six teachers agree are answered with their label, with
probability .95, or that all means of scores are within about 1/4 of the teachers'.

A student averages over all answers, so its teachers may be fewer and better. With s records a shard the lead
of a label is a share of n / s votes; the share falls with small shards as the noise rises with few teachers.
The rules below were chosen on synthetic data (docs/make_my_model_private.md tells how).

>>> planned_ballot(
...     AGGREGATIONS["sparse_vector"], ApproxDP(3, 1e-6), n_samples=40_000, n_labels=2, max_queries=1000
... )
Ballot(n_labels=2, n_teachers=2000, max_queries=1000, max_abstentions=85)
>>> planned_ballot(AGGREGATIONS["gnmax"], ApproxDP(1, 1e-6), n_samples=10_000, n_labels=2)
Ballot(n_labels=2, n_teachers=500, max_queries=89, max_abstentions=None)
>>> transfer_ballot(AGGREGATIONS["gnmax"], ApproxDP(1, 1e-6), n_samples=24_000, n_labels=2, n_rows=8000)
Ballot(n_labels=2, n_teachers=545, max_queries=1809, max_abstentions=None)
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil, sqrt

from dplearn.core.search import first
from dplearn.ensembles.aggregators import AGGREGATIONS, Aggregator, Ballot  # noqa: F401 - the doctest's
from dplearn.privacy import ApproxDP
from dplearn.privacy.stable_answers import stable_answers_noise

__all__ = ["MANY_QUERIES", "planned_ballot", "transfer_ballot"]

#: For how many queries a plan counts, at most, where the user names no number.
MANY_QUERIES = 1000
_PREFERRED, _LEAST = 20, 10  # records in a shard, where answers themselves are wanted
_LEAST_TO_TEACH = 5
_FEWEST_ROWS = 100  # for a student, if there are so many
_BETA = 0.05


def planned_ballot(
    kind: type[Aggregator],
    privacy: ApproxDP,
    *,
    n_samples: int,
    n_labels: int,
    max_queries: int | None = None,
    n_teachers: int | None = None,
    max_abstentions: int | None = None,
    make: type[Ballot] = Ballot,
) -> Ballot:
    """Return the sizes of an ensemble whose answers are wanted, those that are None chosen.

    Parameters
    ----------
    kind : type of Aggregator
        How votes become answers.
    privacy : ApproxDP
        What all answers together may cost.
    n_samples, n_labels : int
        Public.
    max_queries, n_teachers, max_abstentions : int or None
        As the user wants them.
    make : type of Ballot, default=Ballot
        What the aggregator takes.
    """
    preferred = max(1, n_samples // max(_PREFERRED, 2 * n_labels))
    most = max(1, n_samples // max(_LEAST, 2 * n_labels))
    if not kind.nones_each:
        n_teachers = n_teachers or preferred
        max_queries = max_queries or _most_queries(kind, make(privacy, n_labels, n_teachers, MANY_QUERIES))
        return make(privacy, n_labels, n_teachers, max_queries)

    max_queries = max_queries or MANY_QUERIES
    answers = max_queries * make(privacy, n_labels, n_teachers or preferred, max_queries).width

    def needed(unstable: int) -> int:
        noise = stable_answers_noise(privacy, kind.nones_each * unstable, n_queries=answers)
        return 3 * noise.least_distance(answers, _BETA)

    if n_teachers is None:
        n_teachers = max(preferred, min(needed(max_abstentions or 1), most))
    if max_abstentions is None:
        max_abstentions = _most_abstentions(needed, n_teachers, answers)
    return make(privacy, n_labels, n_teachers, max_queries, max_abstentions)


def transfer_ballot(
    kind: type[Aggregator],
    privacy: ApproxDP,
    *,
    n_samples: int,
    n_labels: int,
    n_rows: int,
    n_teachers: int | None = None,
    max_queries: int | None = None,
    max_abstentions: int | None = None,
    make: type[Ballot] = Ballot,
) -> Ballot:
    """Return the sizes of an ensemble that a student learns from, those that are None chosen.

    Parameters
    ----------
    n_rows : int
        How many public rows there are. For the other parameters see `planned_ballot`.
    """
    if kind.nones_each:
        return planned_ballot(
            kind,
            privacy,
            n_samples=n_samples,
            n_labels=n_labels,
            max_queries=min(max_queries or n_rows, n_rows),
            n_teachers=n_teachers,
            max_abstentions=max_abstentions,
            make=make,
        )
    single = kind(make(privacy, n_labels, n_teachers=1, max_queries=1)).noise_scale
    if n_teachers is None:
        shard = max(_LEAST_TO_TEACH, n_labels, ceil(sqrt(n_samples / (n_labels * single))))
        n_teachers = max(1, n_samples // shard)
    if max_queries is None:
        # Noise on a lead is then about as large as two thirds of a unanimous one.
        max_queries = max(_FEWEST_ROWS, round((n_teachers / (2 * single)) ** 2))
    return make(privacy, n_labels, n_teachers, min(max_queries, n_rows))


def _most_queries(kind: type[Aggregator], ballot: Ballot) -> int:
    """Return the most queries, up to those of the ballot, whose least lead is what the aggregator plans for.

    At least one: a plan then tells how much more it takes.
    """

    def too_many(queries: int) -> bool:
        try:
            lead = kind(replace(ballot, max_queries=queries)).least_lead
        except ValueError:  # noise so wide cannot be drawn
            return True
        return lead > kind.planned_lead * ballot.n_teachers

    return first(lambda queries: too_many(queries + 1), 1, ballot.max_queries)


def _most_abstentions(needed: Callable[[int], int], n_teachers: int, max_queries: int) -> int:
    """Return the greatest number of declined queries that these teachers can afford.

    Where not even one is, but would be if all teachers agreed, one; else no query can count on an answer,
    and none shall stop it either.
    """
    if needed(1) > n_teachers:
        return 1 if 2 * needed(1) <= 3 * n_teachers else max_queries
    return first(lambda abstained: needed(abstained + 1) > n_teachers, 1, max_queries)
