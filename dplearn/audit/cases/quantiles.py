"""Audit cases of quantiles, with few records and values; the output does not depend on the records' order.

A single quantile and a single level are replayed: the selection costs of all codes move by at most the
selection's sensitivity. With several levels only the first could be, as neighbours find different codes. No
case attains its claim: the worst cells need more records. `tests/mechanisms/test_quantile_windows.py` sums
the exact probabilities of a worst case of ten quantiles in windows.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required, fit_case
from dplearn.audit.fits import ReleaseFit, Rows
from dplearn.audit.replay import RULES, Rule, each_moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import Floats, IntegerRange
from dplearn.kernels import Cell, SortedCodes
from dplearn.kernels.ranks import rank_sensitivity
from dplearn.mechanisms.quantile_windows import WindowTerms, codes_in_windows
from dplearn.mechanisms.rank_selection import code_near_rank
from dplearn.mechanisms.sparse_vector import first_reaching
from dplearn.preprocessing.quantile_columns import PrivateMinMaxClipper
from dplearn.privacy import ApproxDP
from dplearn.privacy.unknown_count import ADDED
from dplearn.releases.quantiles import _Quantiles

__all__ = ["CASES", "by_category_case", "level_case", "quantiles_case", "windows_case"]


_LEFT_OUT = Fraction(1, 1 << 30)  # delta for the noise beyond the enumerated part

#: A replaced record moves every count by at most 1.
_COUNTS = {**RULES, "geometric": each_moved_by(1)}

#: Whose fits or releases are quantiles of columns.
_MADE_OF_QUANTILES = (
    "PrivateKBinsDiscretizer",
    "PrivateQuantileTransformer",
    "PrivateRobustScaler",
    "Quantiles",
)


def quantiles_case(
    name: str,
    q: Sequence[Fraction],
    *,
    values: int,
    n: int,
    epsilon: int,
    intervals: bool = False,
    required: Required = NOTHING_REQUIRED,
) -> AuditCase:
    """Return a case of quantiles of n numbers from 0 to values - 1."""
    claim = ApproxDP(epsilon)
    release = _Quantiles(name, q, epsilon, IntegerRange(0, values - 1), intervals=intervals)
    single = len(q) == 1 and not intervals
    rules = _selected_within(rank_sensitivity(q[0], alone=True)) if single else None

    def shown(found: Any) -> tuple[str, Any]:
        cells = [(each.cells.round(5) + 0.0).tolist() for each in found.counts]
        return "".join(map(str, [found.values.tolist(), *cells])), found.values

    return AuditCase(
        name,
        ReleaseFit(lambda: release, np.array, shown),
        range(values),
        n,
        claim,
        ordered=False,
        rules=rules,
        verifies=("codes_at_fractions",),
        part_of=("Quantiles",) if intervals else _MADE_OF_QUANTILES,
        required=required,
    )


def by_category_case(
    name: str,
    q: Sequence[Fraction],
    *,
    values: int,
    n: int,
    epsilon: int,
    neighbors: str = "replace_one",
    keyed: bool = True,
    required: Required = NOTHING_REQUIRED,
) -> AuditCase:
    """Return a case of quantiles of numbers from 0 to values - 1 by category, of which one may be empty."""
    categories, domain = (["a", "b"] if keyed else None), IntegerRange(0, values - 1)
    release = _Quantiles(name, q, epsilon, domain, None, categories, neighbors)
    release.most_records = n

    def columns(rows: Rows) -> tuple[Any, Any]:
        keys, numbers = zip(*rows, strict=True)
        return np.array(numbers), list(keys) if keyed else None

    def shown(found: Any) -> tuple[str, Any]:
        by = found.values.items() if keyed else [("all", found.values)]
        return str([(key, each.tolist()) for key, each in by]), found.values

    keys = [*categories, "c"] if categories else ["a"]
    return AuditCase(
        name,
        ReleaseFit(lambda: release, columns, shown),
        [*product(keys[:2], range(values)), *((key, 0) for key in keys[2:])],
        n,
        release.cost,
        ordered=False,
        rules=None,
        verifies=("codes_at_fractions",),
        part_of=("Quantiles",),
        required=required,
    )


def _selected_within(sensitivity: int) -> Mapping[str, Rule]:
    """Return the rules under which the costs of a selection may move by `sensitivity`."""
    within_one = RULES["power_weighted"]

    def in_units(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        ratio, costs, sizes = arguments
        return ratio, [Fraction(int(cost), sensitivity) for cost in costs], sizes

    def rule(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> Any:
        return within_one(in_units(mine), in_units(theirs))

    return {**RULES, "power_weighted": rule, "permute_and_flip": rule}


def level_case(
    name: str, fraction: Fraction, *, width: int, n: int, epsilon: int, required: Required = NOTHING_REQUIRED
) -> AuditCase:
    """Return a case of one level of halving: a code from each of two cells, between which records move."""
    claim = ApproxDP(epsilon)

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        ranks = SortedCodes(np.array(rows))
        cut = ranks.count(width)[0]
        cells = Cell(ranks, 0, cut, 0, width), Cell(ranks, cut, len(rows), width, 2 * width)
        chosen = [code_near_rank(cell, fraction, privacy=claim, dice=dice, alone=False) for cell in cells]
        return str(chosen), chosen

    rules = _selected_within(rank_sensitivity(fraction, alone=False))
    return AuditCase(
        name,
        fit,
        range(2 * width),
        n,
        claim,
        ordered=False,
        rules=rules,
        verifies=("code_near_rank",),
        part_of=_MADE_OF_QUANTILES,
        required=required,
    )


def windows_case(name: str, terms: WindowTerms, *, required: Required = NOTHING_REQUIRED) -> AuditCase:
    """Return a case of codes in windows around noisy ranks, on records of two values."""
    claim = ApproxDP(terms.epsilon, _LEFT_OUT)

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        chosen = codes_in_windows(SortedCodes(np.array(rows)), 2, terms, privacy=claim, dice=dice)
        return str(chosen), chosen

    return AuditCase(
        name,
        fit,
        range(2),
        terms.n,
        claim,
        ordered=False,
        tail_bits=31,
        rules=None,
        verifies=("codes_in_windows",),
        part_of=_MADE_OF_QUANTILES,
        required=required,
    )


def _clipper_case(
    name: str,
    universe: Sequence[Any],
    n: int,
    required: Required,
    *,
    claim: ApproxDP,
    staged: bool = True,
    options: dict[str, Any] | None = None,
    **parameters: Any,
) -> AuditCase:
    """Return a case of the fit of a transformer, on n records of columns of numbers."""
    clipper = PrivateMinMaxClipper(epsilon=float(claim.epsilon), **parameters)

    def table(rows: Rows) -> tuple[Any, Any]:
        return np.array(rows).reshape(len(rows), -1), None

    def shown(fitted: PrivateMinMaxClipper) -> tuple[str, Any]:
        return str([fitted.data_low_.tolist(), fitted.data_high_.tolist()]), fitted

    how: dict[str, Any] = {"ordered": False, "required": required, "staged": staged, "rules": None} | (
        options or {}
    )
    return fit_case(name, clipper, table, shown, universe, n, claim=claim, **how)


def reaching_case(name: str, *, required: Required = NOTHING_REQUIRED) -> AuditCase:
    """Return a case of the first of three counts to reach a threshold; all that move rise together."""
    claim = ApproxDP(3, _LEFT_OUT)

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        counts = [sum(row <= end for row in rows) for end in range(3)]
        found = first_reaching(counts, 2, privacy=ApproxDP(3), dice=dice)
        return str(found), found

    return AuditCase(
        name,
        fit,
        range(4),
        3,
        claim,
        ordered=False,
        tail_bits=31,
        rules=_COUNTS,
        verifies=("first_reaching",),
        part_of=("PrivateMinMaxClipper",),
        required=required,
    )


#: A transformer that searches for both ends of one column of five values.
_SEARCHING: dict[str, Any] = {
    "quantile_range": (0, 100),
    "method": "above_threshold",
    "domain": Floats(significand_bits=0, smallest=1, largest=2),
    "claim": ApproxDP(24, _LEFT_OUT),
    "options": {"tail_bits": 32, "rules": _COUNTS},
}
_CELLS = list(product(range(2), repeat=2))
_clipper_of_cells = partial(
    _clipper_case, claim=ApproxDP(8), quantile_range=(0, 50), domain=[IntegerRange(0, 1)] * 2
)
_QUARTERS = [Fraction(i, 4) for i in (1, 2, 3)]

CASES = (
    quantiles_case("median", _QUARTERS[1:2], values=4, n=5, epsilon=1, required=Required(56, 0.999)),
    quantiles_case("lower_quartile", _QUARTERS[:1], values=4, n=5, epsilon=1, required=Required(56, 0.999)),
    quantiles_case("two_quantiles", _QUARTERS[:2], values=4, n=3, epsilon=4, required=Required(20, 0.39)),
    quantiles_case("quartiles", _QUARTERS, values=4, n=2, epsilon=4, required=Required(10, 0.44)),
    quantiles_case("quartiles_of_three", _QUARTERS, values=2, n=3, epsilon=4, required=Required(4, 0.29)),
    quantiles_case(
        "median_with_interval",
        _QUARTERS[1:2],
        values=2,
        n=2,
        epsilon=2,
        intervals=True,
        required=Required(3, 0.9999),
    ),
    by_category_case(
        "median_by_category", _QUARTERS[1:2], values=3, n=3, epsilon=2, required=Required(70, 0.98)
    ),
    by_category_case(
        "lower_quartile_by_category", _QUARTERS[:1], values=3, n=3, epsilon=2, required=Required(74, 0.78)
    ),
    by_category_case(
        "two_quantiles_by_category", _QUARTERS[:2], values=2, n=2, epsilon=4, required=Required(15, 0.19)
    ),
    by_category_case(
        "added_lower_quartile_by_category",
        _QUARTERS[:1],
        values=3,
        n=3,
        epsilon=2,
        neighbors=ADDED,
        required=Required(74, 0.87),
    ),
    by_category_case(
        "added_quartiles",
        _QUARTERS,
        values=2,
        n=2,
        epsilon=4,
        neighbors=ADDED,
        keyed=False,
        required=Required(5, 0.41),
    ),
    level_case("level_of_medians", Fraction(1, 2), width=3, n=4, epsilon=1, required=Required(105, 0.77)),
    level_case(
        "level_of_lower_quartiles", Fraction(1, 4), width=3, n=4, epsilon=1, required=Required(123, 0.57)
    ),
    windows_case(
        "quantile_windows",
        WindowTerms((6,), 12, Fraction(12), Fraction(8), 1, least=2, ramp=4, decay=Fraction(2, 5), zone=2),
        required=Required(9, 0.15),
    ),
    _clipper_of_cells("min_max_clipper", _CELLS, 2, Required(9, 0.18)),
    _clipper_of_cells("small_min_max_clipper", _CELLS, 1, Required(4, 0.24), staged=False),
    reaching_case("first_reaching", required=Required(10, 0.999999)),
    _clipper_case("searching_min_max_clipper", [-2.0, 1.0], 1, Required(2, 0.66), **_SEARCHING),
)
