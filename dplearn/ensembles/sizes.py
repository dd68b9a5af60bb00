"""Choose the numbers of teachers, queries and abstentions of an ensemble from public values.

A shard must be large enough for a teacher to learn from, and the teachers numerous enough for their votes to
exceed the noise. Both numbers must not depend on the data. If the answers themselves are wanted, a shard has
20 records, or fewer if the noise requires more teachers. The ensemble is assumed to agree if five of six of
its k teachers do: then k / 3 votes must change before another label wins. Where every answer has noise, the
noise grows with the number of queries. The number of queries is the greatest, up to 1,000, for which, with
probability .95, all rows on which five of six teachers agree are answered with their label, or all released
means are within about 1/4 of the means of the teachers' scores.

A student averages over all answers, so its teachers may be fewer and better. With s records per shard the
lead of a label is a share of n / s votes. Small shards lower this share; few teachers raise the noise
relative to the votes. The rules below were chosen on synthetic data (see docs/make_my_model_private.md).

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

from dplearn.ensembles.aggregators import AGGREGATIONS, Aggregator, Ballot  # noqa: F401 - the doctest's
from dplearn.kernels.search import first
from dplearn.privacy import ApproxDP
from dplearn.privacy.stable_answers import stable_answers_noise

#: The greatest number of queries that is chosen if the user gives none.
MANY_QUERIES = 1000
#: Records per shard if the answers themselves are wanted.
PREFERRED = 20
_LEAST = 10  # records per shard if the noise requires so many teachers
_LEAST_TO_TEACH = 5  # records per shard if a student is trained
_FEWEST_ROWS = 100  # answers for a student, if there are as many public rows
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
    """Return the sizes of an ensemble that answers queries; sizes given as None are chosen."""
    preferred = max(1, n_samples // max(PREFERRED, 2 * n_labels))
    most = max(1, n_samples // max(_LEAST, 2 * n_labels))
    if not kind.unstable_per_abstention:
        n_teachers = n_teachers or preferred
        max_queries = max_queries or _most_queries(kind, make(privacy, n_labels, n_teachers, MANY_QUERIES))
        return make(privacy, n_labels, n_teachers, max_queries)

    max_queries = max_queries or MANY_QUERIES
    answers = max_queries * make(privacy, n_labels, n_teachers or preferred, max_queries).width

    def needed(unstable: int) -> int:
        noise = stable_answers_noise(privacy, kind.unstable_per_abstention * unstable, n_queries=answers)
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
    """Return the sizes of an ensemble that teaches a student; sizes given as None are chosen."""
    if kind.unstable_per_abstention:
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
        # The standard deviation of the noise in a lead is then about two thirds of a unanimous lead.
        max_queries = max(_FEWEST_ROWS, round((n_teachers / (2 * single)) ** 2))
    return make(privacy, n_labels, n_teachers, min(max_queries, n_rows))


def _most_queries(kind: type[Aggregator], ballot: Ballot) -> int:
    """Return the greatest number of queries whose least lead is at most the aggregator's planned lead.

    At most the ballot's `max_queries`, and at least 1: a plan then states how many more records are needed.
    """

    def too_many(queries: int) -> bool:
        try:
            lead = kind(replace(ballot, max_queries=queries)).least_lead
        except ValueError:  # the noise is too wide to be drawn
            return True
        return lead > kind.planned_lead * ballot.n_teachers

    return first(lambda queries: too_many(queries + 1), 1, ballot.max_queries)


def _most_abstentions(needed: Callable[[int], int], n_teachers: int, max_queries: int) -> int:
    """Return the greatest number of abstentions for which five of six teachers suffice for an answer.

    If they do not suffice for even one abstention, but unanimous teachers would, return 1. If these do not
    suffice either, return `max_queries`, so that the aggregator does not stop before the last query.
    """
    if needed(1) > n_teachers:
        return 1 if 2 * needed(1) <= 3 * n_teachers else max_queries
    return first(lambda abstained: needed(abstained + 1) > n_teachers, 1, max_queries)
