"""Audit cases of learned schemas: the lists of frequent keys, the whole release, and a fit that learns first.

Ranges are found among four codes: missing, -1, 0 and 1. With so few records a range or a list needs a large
epsilon, and no case attains its claim. A regression's target is one more column.
"""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.cases.search import OneNumber
from dplearn.audit.fits import ReleaseFit, Rows, StagedFit, WholeFit
from dplearn.chance.dice import Dice
from dplearn.domains import Floats, Learn
from dplearn.domains.cells import object_array
from dplearn.estimator.schema_learning import learns_schema
from dplearn.learners.rules.generic import ExponentialMechanismClassifier
from dplearn.mechanisms.stable_histogram import frequent_keys
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.composition import Composition
from dplearn.privacy.events import ZeroConcentrated
from dplearn.releases.learned_schema import SchemaRelease

__all__ = ["CASES", "SMALL", "keys_case", "schema_case"]

#: The numbers among which ranges are found in audits.
SMALL = Floats(significand_bits=0, smallest=1, largest=1, missing=True, outside="accept")
_TAIL_BITS = 30
_PAIR = [(0, "no"), (1, "yes")]


def keys_case(
    name: str,
    universe: Sequence[tuple[Hashable, ...]],
    n: int,
    *,
    rho: int,
    delta: Fraction,
    required: Required,
) -> AuditCase:

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        found = frequent_keys(
            list(zip(*rows, strict=True)), privacy=ZeroConcentratedDP(rho), delta=delta, dice=dice
        )
        return str(found), found

    epsilon = Composition([ZeroConcentrated(rho)]).total(delta=delta).epsilon
    return AuditCase(
        name,
        fit,
        universe,
        n,
        ApproxDP(epsilon, 2 * delta),
        ordered=False,
        tail_bits=_TAIL_BITS,
        rules=None,  # the noise of the keys that occur
        verifies=("frequent_keys",),
        part_of=("LearnedSchema",),
        required=required,
    )


def schema_case(
    name: str,
    kinds: Sequence[str],
    universe: Sequence[tuple[Any, ...]],
    n: int,
    *,
    claim: ApproxDP,
    required: Required,
) -> AuditCase:
    return AuditCase(
        name,
        ReleaseFit(
            lambda: SchemaRelease(kinds, claim, numbers=SMALL),
            lambda rows: [list(row) for row in rows],
            lambda found: (repr(found.schema.domains), found.schema),
        ),
        universe,
        n,
        claim,
        ordered=False,
        tail_bits=_TAIL_BITS,
        rules=None,
        verifies=("LearnedSchema",),
        required=required,
    )


def _fit_case(
    name: str, values: Sequence[tuple[Any, str]], n: int, *, staged: bool, required: Required
) -> AuditCase:
    """Return a case of a fit that learns the range of one column first."""
    model = ExponentialMechanismClassifier(
        "thresholds", epsilon=44, domain=Learn(["integers"], share="1/2"), classes=["no", "yes"]
    )

    def table(rows: Rows) -> tuple[Any, Any]:
        X = object_array([value for value, _ in rows]).reshape(-1, 1)
        return X, np.array([label for _, label in rows])

    def shown(fitted: Any) -> tuple[str, Any]:
        return f"{fitted.schema_.domains!r} {fitted.concept_}", (fitted.schema_.domains, str(fitted.concept_))

    part_of = ("ExponentialMechanismClassifier", "LearnedSchema")
    how: dict[str, Any] = {"ordered": False, "rules": None, "required": required, "staged": staged}
    how |= {"verifies": (), "part_of": part_of, "constants": {"_schema_numbers": SMALL}}
    return fit_case(name, model, table, shown, values, n, claim=ApproxDP(44), **how)


@learns_schema()
class SmallTarget(OneNumber):
    """A regressor whose range is found among few numbers; it reads no column."""

    _schema_numbers = SMALL
    place = 0

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        target_range: Any = "learn",
        clip_target: bool = True,
        domain: Any = None,
        ledger: Any = None,
        random_state: Any = None,
    ):
        self.epsilon, self.target_range, self.clip_target = epsilon, target_range, clip_target
        self.domain, self.ledger, self.random_state = domain, ledger, random_state

    def _recipe(self, reproducible: bool) -> Any:
        return super()._recipe(reproducible).given(declared=self.domain)

    def _publish(self, outcome: tuple[int, Any], plan: Any) -> None:
        super()._publish(outcome, plan)
        self.target_range_ = outcome[1]


def _target_case(name: str, n: int, epsilon: int, domain: Any, required: Required) -> AuditCase:
    """Return a case of a fit that learns the range of its target, and with `domain` of an equal column."""

    def table(rows: Rows) -> tuple[Any, Any]:
        return np.array(rows)[:, None], np.array(rows, dtype=float)

    def shown(fitted: Any) -> tuple[str, Any]:
        found = fitted.target_range_, getattr(fitted, "schema_", None)
        return f"{found} {fitted.concept_}", (*found, fitted.concept_)

    whole = WholeFit(lambda: SmallTarget(epsilon=epsilon, domain=domain), table, shown)
    kept: dict[str, Any] = {"ordered": False, "rules": None, "part_of": ("LearnedSchema", "LinearRegressor")}
    return AuditCase(name, StagedFit(whole), (-1, 1), n, ApproxDP(epsilon), required=required, **kept)


CASES = (
    keys_case("frequent_keys", [("a",), ("b",)], 3, rho=2, delta=Fraction(1, 50), required=Required(4, 0.48)),
    keys_case(
        "frequent_keys_of_two_columns",
        [("a", 1), (None, 1)],
        4,
        rho=2,
        delta=Fraction(1, 50),
        required=Required(5, 0.24),
    ),
    schema_case(
        "learned_range",
        ["integers"],
        [(0,), (1,), (None,)],
        4,
        claim=ApproxDP(21),
        required=Required(15, 0.46),
    ),
    schema_case(
        "learned_schema",
        ["numbers", "categories"],
        [(0, "a"), (1, "b")],
        8,
        claim=ApproxDP(26, Fraction(1, 10)),
        required=Required(9, 0.28),
    ),
    _fit_case("fit_with_learned_schema", [*_PAIR, (None, "no")], 4, staged=True, required=Required(15, 0.52)),
    _target_case("learned_target", 12, 88, None, Required(13, 0.94)),
    _target_case("learned_target_and_column", 8, 66, Learn(["integers"], share="2/3"), Required(9, 0.66)),
    _fit_case("small_fit_with_learned_schema", _PAIR, 4, staged=False, required=Required(5, 0.52)),
)
