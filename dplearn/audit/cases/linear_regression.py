"""Audit cases of linear regression: a whole fit on the coarsest grid, where the numbers of a row are 1, 0 or
-1.

The moments of two rows that share no number move most, by 5 of the claimed 6: no row has a target but not a
constant. With Gaussian noise fits are replayed; the case of `gaussian_counts` enumerates the noise.
"""

from typing import Any

import numpy as np

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, moved_by
from dplearn.learners.linear import LinearRegressor
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "REPLAYS", "UNIVERSE", "linear_case"]

_FAR = 1e17  # so far that nothing of a row's constant is left
#: One column's value and a target within -1..1.
UNIVERSE = ((-_FAR, 0), (0.0, -1), (0.0, 0), (0.0, 1), (_FAR, 0))
_PLAIN = ((-2.0, 0.5), (0.0, -1.0), (1.0, 0.25), (3.0, 1.0))


def linear_case(
    name: str,
    n: int,
    universe: Any = UNIVERSE,
    bits: int = 0,
    moves: int = 6,
    *,
    staged: bool = True,
    required: Required = NOTHING_REQUIRED,
    **parameters: Any,
) -> AuditCase:
    """Return a case of a fit for targets within -1..1, of rows on a grid, whose totals may move."""
    chosen: dict[str, Any] = {"target_range": (-1, 1), "delta": 0, "random_state": 0} | parameters
    model = LinearRegressor(**chosen)
    claim, rules = ApproxDP(model.epsilon, model.delta), {**RULES, "discrete_laplace": moved_by(moves)}
    how: dict[str, Any] = {"ordered": False, "rules": rules, "required": required, "staged": staged}
    return fit_case(name, model, _split, _shown, universe, n, claim=claim, constants={"_finest": bits}, **how)


def _split(rows: Rows) -> tuple[Any, Any]:
    table = np.array(rows)
    return table[:, :-1], table[:, -1]


def _shown(fitted: LinearRegressor) -> tuple[str, Any]:
    released = (fitted.coef_, fitted.intercept_, fitted.covariance_, fitted.residual_std_)
    return str([(np.round(part, 6) + 0.0).tolist() for part in released]), fitted


def _of_targets(name: str, X: Any, targets: Any, bits: int, moves: int, **how: Any) -> AuditCase:
    """Return a case of a fit that protects targets: records are targets of fixed rows."""
    model = LinearRegressor(target_range=(-1, 1), protects="labels", random_state=0)
    model.set_params(delta=how.pop("delta", 0))
    claim = ApproxDP(model.epsilon, model.delta, protects="labels")
    rules, constants = {**RULES, "discrete_laplace": moved_by(moves)}, {"_finest": bits}

    def table(rows: Rows) -> tuple[Any, Any]:
        return np.array(X, dtype=float), np.array(rows, dtype=float)

    how |= {"ordered": False, "rules": rules, "claim": claim, "constants": constants}
    return fit_case(name, model, table, _shown, targets, len(X), **how)


CASES = (
    linear_case("linear", 1, UNIVERSE[3:], staged=False, required=Required(2, 0.833)),
    _of_targets("linear_of_targets", [[0]], (-1, 1), 0, 4, staged=False, required=Required(2, 0.999)),
)

#: Fits that are too large to enumerate; they are replayed on neighbours.
REPLAYS = (
    linear_case("linear_laplace", 4, _PLAIN, bits=8, moves=1 << 22),
    linear_case("linear_gaussian", 4, _PLAIN, bits=12, delta=1e-6),
    _of_targets("gaussian_of_targets", [[-2], [0], [1], [3]], (0.5, -1.0, 0.25), 12, 0, delta=1e-6),
)
