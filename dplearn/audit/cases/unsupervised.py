"""Audit cases of sums over numbers in a box: scaler, principal components, k-means; and of grouped counts.

On a coarse grid with Laplace noise, all outcomes are enumerated. The means of the scaler, grouped sums and
one round of k-means attain the claim; clipping hides outcomes of variances and of a whole fit of k-means. One
row of one column moves principal components' moments by less than claimed: a square moves by S^2 of 2 S^2.
With Gaussian noise fits are replayed; the case of `gaussian_counts` enumerates the noise.
"""

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required, fit_case
from dplearn.audit.fits import ReleaseFit, Rows
from dplearn.audit.replay import RULES, moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import Grid
from dplearn.preprocessing import PrivateKMeans, PrivatePCA, PrivateStandardScaler
from dplearn.preprocessing.k_means import ClusterRound, cluster_query
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle
from dplearn.releases.grouped import _Grouped

__all__ = ["CASES", "REPLAYS", "boxed_case", "coarse", "grouped_case"]

_BOX = Grid(-1, 1, size=5)
_ATTRIBUTES = {
    "PrivateStandardScaler": ("mean_", "var_", "scale_"),
    "PrivatePCA": ("mean_", "components_", "explained_variance_", "explained_variance_ratio_"),
    "PrivateKMeans": ("cluster_centers_", "cluster_counts_"),
}


def boxed_case(
    name: str,
    model: Any,
    n: int,
    universe: Any,
    bits: int = 1,
    moves: int = 16,
    *,
    staged: bool = True,
    required: Required = NOTHING_REQUIRED,
) -> AuditCase:
    """Return a case of a fit of a learner of sums in a box."""
    kind = type(model).__name__

    def shown(fitted: Any) -> tuple[str, Any]:
        released = [np.round(np.asarray(getattr(fitted, each), float), 9) for each in _ATTRIBUTES[kind]]
        return str([part.tolist() for part in released]), fitted

    rounds = {"_rounds": 1} if kind == "PrivateKMeans" else {}
    claim, rules = ApproxDP(model.epsilon, model.delta), {**RULES, "discrete_laplace": moved_by(moves)}
    how: dict[str, Any] = {"ordered": False, "rules": rules, "required": required, "staged": staged}
    constants = {"_finest": bits, **rounds}
    return fit_case(name, model, _table, shown, universe, n, claim=claim, constants=constants, **how)


def _table(rows: Rows) -> tuple[Any, None]:
    return np.array(rows), None


def grouped_case(
    name: str, n: int, universe: Any, release: _Grouped, *, required: Required = NOTHING_REQUIRED
) -> AuditCase:
    """Return a case of the whole release of counts, sums and means by category."""

    def values(rows: Rows) -> tuple[Any, Any]:
        keys, numbers = zip(*rows, strict=True)
        if isinstance(release.bounds, dict):
            frame: Any = import_module("pandas").DataFrame  # which is an optional package
            return list(keys), frame(list(numbers), columns=list(release.bounds))
        return list(keys), None if release.bounds is None else np.array(numbers)

    return AuditCase(
        name,
        ReleaseFit(lambda: release, values, lambda found: (str((found.counts, found.sums)), found)),
        universe,
        n,
        release.cost,
        ordered=False,
        rules=None,
        verifies=("Grouped",),
        required=required,
    )


def coarse(
    categories: Any, epsilon: Any, delta: Any = 0, values: bool = True, columns: Any = (), **options: Any
) -> _Grouped:
    """Return a release by category whose values are on a grid of one step."""
    bounds = dict.fromkeys(columns, (-1, 1)) or ((-1, 1) if values else None)
    release = _Grouped(values, bounds, categories, epsilon, delta, **options)
    release.bits = 0
    return release


def _round(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Release one round of k-means with two centres, of rows of at most two steps."""
    asked = ClusterRound(np.array([[-1.0], [1.0]]), np.zeros(1), radius=2, order=1)
    oracle = CentralOracle(np.array(rows) * 2, privacy=ApproxDP(1), dice=dice)
    means = oracle.ask(cluster_query(asked))[0].means
    return str(means.tolist()), means


_COARSE: dict[str, Any] = {"epsilon": 1.0, "delta": 0, "domain": _BOX}
_PLACES = tuple((place,) for place in (-1.0, -0.5, 0.0, 0.5, 1.0))
_KEYED = (("a", -1.0), ("a", 1.0), ("b", 1.0), ("c", 1.0))

CASES = (
    boxed_case("scaler", PrivateStandardScaler(**_COARSE), 1, _PLACES, moves=9, required=Required(5, 0.88)),
    boxed_case(
        "small_scaler",
        PrivateStandardScaler(**_COARSE, with_std=False),
        1,
        _PLACES[::2],
        moves=8,
        staged=False,
        required=Required(3, 0.9),
    ),
    boxed_case(
        "pca", PrivatePCA(**_COARSE), 1, _PLACES[::2], bits=0, staged=False, required=Required(3, 0.2)
    ),
    boxed_case(
        "k_means",
        PrivateKMeans(1, epsilon=2.0, delta=0, domain=_BOX, random_state=0),
        1,
        _PLACES[::2],
        bits=0,
        staged=False,
        required=Required(3, 0.05),
    ),
    AuditCase(
        "k_means_round",
        _round,
        _PLACES,
        1,
        ApproxDP(1),
        ordered=False,
        rules={**RULES, "discrete_laplace": moved_by(8)},
        part_of=("PrivateKMeans",),
        required=Required(5, 0.99),
    ),
    grouped_case("grouped", 2, _KEYED, coarse(["a", "b"], 2), required=Required(8, 0.9)),
    grouped_case(
        "grouped_counts", 3, _KEYED[1:], coarse(["a", "b"], 1, values=False), required=Required(10, 0.9)
    ),
    grouped_case(
        "grouped_columns",
        1,
        [(key, place) for key in "ab" for place in ((-1.0, -1.0), (1.0, 1.0), (1.0, -1.0))],
        coarse(["a", "b"], 2, columns="xy"),
        required=Required(6, 0.9),
    ),
    grouped_case("grouped_learned", 3, _KEYED[:3], coarse(None, 4, 0.125), required=Required(8, 0.4)),
)

#: Rows of many columns, for which Gaussian noise is smaller.
_WIDE = tuple(tuple((place * column) % 5 / 2 - 1 for column in range(1, 13)) for place in range(4))
_LARGE: dict[str, Any] = {"epsilon": 1.0, "delta": 0.01, "domain": _BOX}

#: Fits that are too large to enumerate; they are replayed on neighbours.
REPLAYS = (
    *(
        replace(boxed_case(f"{name}_gaussian", kind(**_LARGE), 4, _WIDE, bits=6), ordered=True)
        for name, kind in (("scaler", PrivateStandardScaler), ("pca", PrivatePCA))
    ),
    boxed_case("k_means_laplace", PrivateKMeans(1, **_COARSE), 4, _PLACES, moves=64),
)
