"""Audit cases of synthetic tables: whole releases with Laplace noise; Gaussian ones are replayed.

Columns are binary, so a base table is one count, clipped to 0..n. With two columns there are two candidates,
one of constant quality: the selection shows at most half of its epsilon, .03 of the 1 that all steps cost.
The release with a learned schema has a column of integers, with a range among the codes of `SMALL`, and one
of booleans, and shows two thirds of the large epsilon that a range of so few records needs.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required
from dplearn.audit.cases.learned_schema import SMALL
from dplearn.audit.fits import Fit, ReleaseFit, Rows, WholeFit, refitted, with_draws
from dplearn.audit.replay import RULES
from dplearn.chance.dice import Dice
from dplearn.domains import Bits, Categories, Grid, IntegerRange, Learn, Schema
from dplearn.domains.base import Domain
from dplearn.domains.cells import object_array
from dplearn.learners.synthetic_data import SyntheticDataClassifier
from dplearn.privacy import ApproxDP
from dplearn.releases.synthetic_table import LearnedTableRelease, TableChoices, TableRelease
from dplearn.releases.table_columns import table_columns
from dplearn.releases.table_network import checked_layout

__all__ = ["CASES", "REPLAYS", "same_tables", "synthetic_case"]

_BIT = Bits(binarize=None)


def _shown(found: Any) -> tuple[str, Any]:
    """Return the released tables, and all distributions made of them."""
    base = [table.tolist() for table in found.tables.base]
    steps = [
        (step.column, step.parents, None if step.table is None else step.table.tolist())
        for step in found.tables.steps
    ]
    return f"{base} {steps}", [each.tolist() for _, each in found.tables.conditionals.values()]


def _learned(found: Any) -> tuple[str, Any]:
    """Return the same with the learned schema, which is released too."""
    text, shown = _shown(found)
    return f"{found.schema}{text}", shown


def synthetic_case(
    name: str,
    domains: Sequence[Domain],
    universe: Sequence[tuple[Any, ...]],
    n: int,
    *,
    claim: ApproxDP,
    target: int | None = None,
    degree: int = 2,
    public: Any = None,
    required: Required,
) -> AuditCase:
    schema = Schema({f"x{place}": domain for place, domain in enumerate(domains)})
    layout = replace(checked_layout(table_columns(schema, 4), target, degree, 1 << 10), most_error=math.inf)

    def make() -> TableRelease:
        return TableRelease(schema, layout, claim, reach=0, public=public)

    def table(rows: Rows) -> Any:
        return object_array([cell for row in rows for cell in row]).reshape(len(rows), -1)

    return AuditCase(
        name,
        ReleaseFit(make, table, _shown),
        universe,
        n,
        claim,
        ordered=False,
        rules=None,
        verifies=("SyntheticTable",),
        part_of=("SyntheticDataClassifier", "SyntheticDataRegressor", "TableFidelity"),
        required=required,
    )


def _learned_case(name: str, n: int, *, required: Required) -> AuditCase:
    """Return a case of a release that learns the range of one column first; the other one is its target."""
    claim = ApproxDP(44)

    def make() -> LearnedTableRelease:
        return LearnedTableRelease(
            Learn(["integers", "booleans"], share="1/2"),
            TableChoices("x1", 1, 2, 1 << 10),
            claim,
            reach=-1,
            numbers=SMALL,
        )

    def table(rows: Rows) -> Any:
        return np.array(rows, dtype=bool)  # a type without gaps

    return AuditCase(
        name,
        ReleaseFit(make, table, _learned),
        [(False, False), (True, True)],
        n,
        claim,
        ordered=False,
        rules=None,
        verifies=("SyntheticTable",),
        part_of=("LearnedSchema",),
        required=required,
    )


def _fit_case(name: str, n: int, *, required: Required) -> AuditCase:
    """Return a case of a whole fit of a classifier on synthetic records of one column of two categories."""
    model = SyntheticDataClassifier(
        DummyClassifier(),
        epsilon=1,
        delta=0,
        domain=[Categories(["a", "b"])],
        classes=["no", "yes"],
        n_rows=10,
        random_state=0,
    )

    def table(rows: Rows) -> tuple[Any, Any]:
        X = object_array([cell for cell, _ in rows]).reshape(-1, 1)
        return X, np.array([label for _, label in rows])

    def shown(fitted: Any) -> tuple[str, Any]:
        tables = json.loads(fitted.synthetic_.to_json())["base"]
        return str(tables), (fitted.estimator_.class_prior_.tolist(), fitted.synthetic_.to_json())

    return AuditCase(
        name,
        WholeFit(refitted(model, _reach=0), table, shown),  # noisy counts are clipped to 0..n
        [(cell, label) for cell in "ab" for label in ("no", "yes")],
        n,
        ApproxDP(1),
        ordered=False,
        rules=None,
        verifies=("SyntheticDataClassifier",),
        part_of=("SyntheticDataRegressor",),
        required=required,
    )


_PAIRS = [(one, other) for one in range(2) for other in range(2)]

CASES = (
    synthetic_case("synthetic_table", [_BIT] * 2, _PAIRS, 2, claim=ApproxDP(2), required=Required(10, 0.95)),
    synthetic_case(
        "synthetic_table_of_three_columns",
        [Categories(["a"]), _BIT, _BIT],
        [("a", *pair) for pair in _PAIRS],
        1,
        claim=ApproxDP("1.9"),
        degree=1,
        required=Required(4, 0.81),
    ),
    synthetic_case(
        "synthetic_table_with_target",
        [_BIT] * 2,
        _PAIRS,
        2,
        claim=ApproxDP(2),
        target=1,
        required=Required(10, 0.9999),
    ),
    synthetic_case(
        "synthetic_table_with_public_rows",
        [_BIT] * 2,
        _PAIRS,
        2,
        claim=ApproxDP(2),
        public=np.array([[0, 0]] * 9 + [[1, 1]] * 5 + [[0, 1]]),
        required=Required(10, 0.95),
    ),
    _learned_case("synthetic_table_with_learned_schema", 3, required=Required(4, 0.62)),
    _fit_case("synthetic_data", 2, required=Required(10, 0.9999)),
)

_FAR = (1 << 62) + (1 << 30)  # noisy counts are clipped to the numbers below 1 << 62


def _far_noise(dice: Dice, sigma2: Fraction, size: int | None = None) -> Any:
    """Draw noise so large that all noisy counts are at their end."""
    return np.full_like(dice.discrete_gaussian(sigma2, size=size), _FAR)


def _best(dice: Dice, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> int:
    """Select the group of the best candidate; on the replayed records it is one candidate, by far."""
    dice.power_weighted(ratio, exponents, multiplicities)
    return min(range(len(exponents)), key=exponents.__getitem__)


def same_tables(fit: Fit) -> Fit:
    """Return a release with Gaussian noise that is the same for nearly all records."""
    return with_draws(fit, discrete_gaussian=_far_noise, power_weighted=_best)


_MIXED = (IntegerRange(0, 99, missing=True), Categories(["a", "b", "c"]), Grid(0, 1, 101), _BIT, _BIT)
_PRIME = 8191
_RECORDS = tuple(
    (
        None if seed % 9 == 0 else seed % 100,
        "abc"[seed % 7 % 3],
        (seed // 100) % 11 / 10,
        int(seed % 100 > 40),
        seed // 1000 % 2,
    )
    for seed in (pow(17, 5 * place, _PRIME) for place in range(1, 241))
)


def _replay(name: str, target: int | None, degree: int) -> AuditCase:
    case = synthetic_case(
        name,
        _MIXED,
        _RECORDS,
        len(_RECORDS),
        claim=ApproxDP(40, "1e-6"),  # little noise, or no dependence would be worth it
        target=target,
        degree=degree,
        required=NOTHING_REQUIRED,
    )
    return replace(case.with_fit(same_tables(case.fit)), rules=RULES)


#: Releases with Gaussian noise, which are replayed on neighbours.
REPLAYS = (
    _replay("synthetic_table_gaussian", None, 2),
    _replay("synthetic_table_gaussian_with_target", 3, 2),
)
