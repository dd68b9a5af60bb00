"""Audit cases of groups of rows, as tuples: a neighbour has other rows of one group, or more, or fewer."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.cases.counts import tables_shown
from dplearn.audit.cases.ensembles import Extreme
from dplearn.audit.cases.queries import MEAN
from dplearn.audit.cases.unsupervised import coarse
from dplearn.audit.fits import ReleaseFit, Rows, StagedFit, WholeFit, refitted
from dplearn.audit.replay import RULES, groups_within, moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import Bits, IntegerRange
from dplearn.estimator.public_data import PublicData
from dplearn.learners import ExponentialMechanismClassifier, KnowledgeTransferClassifier
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle
from dplearn.releases.grouped import _Grouped
from dplearn.releases.quantiles import _Quantiles
from dplearn.releases.release import Release
from dplearn.table.groups import grouping_of_codes
from dplearn.table.passes import InTurn
from dplearn.table.sources import in_parts

__all__ = ["CASES", "groups_of", "rows_of_groups"]


def rows_of_groups(rows: Rows) -> tuple[Any, Any]:
    """Return the columns and the labels of all rows of all groups, of groups in turn."""
    ordered = list(chain.from_iterable(rows))
    return np.array([row[:-1] for row in ordered]), np.array([row[-1] for row in ordered])


def groups_of(rows: Rows) -> list[int]:
    return [group for group, members in enumerate(rows) for _ in members]


def _predictions(fitted: Any) -> tuple[str, Any]:
    answers = fitted.predict(np.array([[0], [1], [2]]))
    return str(answers.tolist()), (answers, fitted)


_SHORT = [((0, 0),), ((1, 1),), ((0, 0), (1, 1)), ((1, 1), (1, 1), (0, 1)), ((1, 1),) * 5]
_NAIVE_BAYES = StatisticalQueryNaiveBayes(
    domain=[Bits(None)], n_bins=2, classes=(0, 1), max_rows_per_group=2, random_state=0
)
_GENERIC = ExponentialMechanismClassifier(
    "thresholds", domain=[IntegerRange(0, 2)], classes=(0, 1), random_state=0
)
_LONG = [((0, 0),), ((2, 1),), ((0, 1), (2, 0)), ((2, 0), (2, 0), (2, 1))]

_TRANSFER = KnowledgeTransferClassifier(
    Extreme(),
    epsilon=12,
    delta=0.05,
    n_teachers=4,
    aggregation="sparse_vector",
    max_queries=2,
    max_abstentions=1,
    classes=("a", "b"),
    random_state=0,
)
_TAUGHT = [((0, "a"),), ((2, "b"),), ((0, "b"), (2, "a"), (2, "a"))]
_OTHERS = tuple(((place % 2, "ab"[place % 2]),) for place in range(5))
_QUERIES = np.array([[1], [-1]])


def _taught_rows(rows: Rows) -> tuple[Any, Any]:
    return rows_of_groups((*rows, *_OTHERS))


def _taught_groups(rows: Rows) -> list[int]:
    return groups_of((*rows, *_OTHERS))


def _asked(fitted: Any) -> tuple[str, Any]:
    answers = fitted.predict(_QUERIES)
    return str(answers.tolist()), (answers, fitted)


_SUMMED = ApproxDP(1, protects="groups")


def _summed(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Return a noisy sum over groups, each of whose rows lie in two parts in turn."""
    parts = [
        [
            (value, group)
            for group, own in enumerate(rows)
            for place, value in enumerate(own)
            if place % 2 == part
        ]
        for part in range(2)
    ]
    values = [np.array([value for value, _ in part], dtype=np.int64) for part in parts]
    members = np.array([group for part in parts for _, group in part])
    grouping = grouping_of_codes(members, len(rows), most=2, shifts=lambda n: [0] * n)
    _, table = in_parts(InTurn(lambda: [(each, None) for each in values])).read(lambda X, _: (len(X), X))
    [answer] = CentralOracle(table.grouped(grouping), privacy=_SUMMED, dice=dice).ask(MEAN)
    return repr(answer.means), answer.means


def _released(make: Callable[[], Release[Any]], text: Callable[[Any], str]) -> ReleaseFit:
    """Return a release of values of each group, those of each record."""

    def values(rows: Rows) -> Any:
        every: Any = list(chain.from_iterable(rows))
        return tuple(map(list, zip(*every, strict=True))) if isinstance(every[0], tuple) else every

    return ReleaseFit(make, values, lambda found: (text(found), found), groups_of)


_two_rows = partial(coarse, group_rows=2, random_state=0)
_LEARNED = partial(_two_rows, None, 6, Fraction(1, 4), values=False)
_A, _B = ("a", -1.0), ("b", 1.0)
_PAIRS = [(_A,), (_B, _A), (_A, _A), (_B, _B, ("c", 1.0))]
_SHORT_VALUES = [(0,), (2,), (0, 2), (2, 2, 0)]
_KEYED = [((0, "a"),), ((1, "a"), (1, "a")), ((0, "b"), (0, "b")), ((1, "a"), (0, "b"), (0, "c"))]
_BY_TWO_ROWS = partial(
    _Quantiles, "quantiles", [0.25], 2, IntegerRange(0, 1), 0, ["a", "b"], "replace_one", 2
)

CASES = (
    AuditCase(
        "counts_of_groups",
        _released(lambda: _Grouped(False, None, [0, 2], 1, 0, 0), lambda found: str(found.counts)),
        _SHORT_VALUES,
        3,
        ApproxDP(1, protects="groups"),
        rules={**RULES, "discrete_laplace": moved_by(2)},  # one value leaves its count and enters another
        part_of=("Grouped",),
        required=Required(4, 0.999),
    ),
    *(
        AuditCase(
            name,
            _released(make, lambda found: str((found.counts, found.sums))),
            universe,
            n,
            replace(make().cost, protects="groups"),
            ordered=False,
            rules=None,
            part_of=("Grouped",),
            required=required,
        )
        for name, make, universe, n, required in (
            ("sums_of_groups_by_category", partial(_two_rows, ["a", "b"], 2, 0), _PAIRS, 1, Required(4, 0.9)),
            ("learned_categories_of_groups", _LEARNED, ["a", "b", "aa", "ab", "bbc"], 2, Required(14, 0.44)),
        )
    ),
    AuditCase(
        "median_of_groups",
        _released(
            lambda: _Quantiles("median", 0.5, 1, IntegerRange(0, 2), 0),
            lambda found: str(found.values.tolist()),
        ),
        _SHORT_VALUES,
        3,
        ApproxDP(1, protects="groups"),
        rules=None,
        part_of=("Quantiles",),
        required=Required(4, 0.27),
    ),
    AuditCase(
        "quantile_of_groups_by_category",
        _released(
            _BY_TWO_ROWS, lambda found: str([(key, each.tolist()) for key, each in found.values.items()])
        ),
        _KEYED,
        2,
        replace(_BY_TWO_ROWS().cost, protects="groups"),
        ordered=False,
        rules=None,
        part_of=("Quantiles",),
        required=Required(8, 0.2),
    ),
    AuditCase(
        "naive_bayes_of_groups",
        WholeFit(refitted(_NAIVE_BAYES), rows_of_groups, tables_shown, groups=groups_of),
        _SHORT,
        1,
        ApproxDP(1, protects="groups"),
        rules={**RULES, "discrete_laplace": moved_by(4)},  # two rows leave their cells
        part_of=("StatisticalQueryNaiveBayes",),
        required=Required(3, 0.999),
    ),
    AuditCase(
        "sums_of_groups_in_parts",
        _summed,
        [(-1,), (2,), (-1, 2), (2, 2, 2)],
        2,
        _SUMMED,
        rules={**RULES, "discrete_laplace": moved_by(6)},  # two rows move by 3 each
        part_of=("CentralOracle",),
        required=Required(5, 0.999),  # all sums of two groups: -2, 1 or 4 of each
    ),
    AuditCase(
        "classifier_of_groups",
        WholeFit(refitted(_GENERIC), rows_of_groups, _predictions, groups=groups_of),
        _LONG,
        2,
        ApproxDP(1, protects="groups"),
        rules={**RULES, "power_weighted": groups_within(1)},
        part_of=("ExponentialMechanismClassifier",),
        required=Required(4, 0.3),
    ),
    AuditCase(
        "transfer_of_groups",
        StagedFit(
            WholeFit(
                refitted(_TRANSFER), _taught_rows, _asked, {"X_public": PublicData(_QUERIES)}, _taught_groups
            )
        ),
        _TAUGHT,
        3,
        ApproxDP(12, Fraction(1, 20) + Fraction(1, 1 << 16), protects="groups"),
        rules=None,
        tail_bits=24,
        part_of=("KnowledgeTransferClassifier",),
        required=Required(3, 0.3),
    ),
)
