"""`partial_fit` of learners whose released means add up, call by call, over new records each time.

Each call spends its own epsilon; its noisy means join those of earlier calls, weighted by their records.

>>> first = Calls(1, 300, ApproxDP(1), {}, (np.array([0.5]),), (0.01,))
>>> joined_means(first, [np.array([0.1])], 100)[0].tolist()
[0.4]
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.estimator.base import ROUTED
from dplearn.estimator.recipe import FitRecipe
from dplearn.fit import refuse_unsupported
from dplearn.kernels import float_errors_ignored
from dplearn.privacy import ApproxDP
from dplearn.table.targets import check_classes

_EACH_CALL = "each call of fit and partial_fit has {} of its own, and the number of {} in each call is public"
#: The assumptions of guarantees of several calls together.
NEW_RECORDS = _EACH_CALL.format("records", "records")
NEW_GROUPS = _EACH_CALL.format("groups", "groups")

Means = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Calls:
    """The released means of all calls so far, and the public values that the next call shares."""

    n_calls: int
    n_samples: int  # of all calls
    guarantee: ApproxDP  # of all calls together
    shared: Mapping[str, Any]  # the parameters that no later call may change, by name
    means: tuple[Means, ...] = field(default=())  # released: over the records of all calls, for each query
    deviations: tuple[float, ...] = ()  # public: of the noise in a number of each mean
    box: Any = None  # public, or released by the first call: the bounds of each column

    def __repr__(self) -> str:
        return f"Calls({self.n_calls} of {self.n_samples} records in all)"


def joined_means(earlier: Calls | None, means: Sequence[Means], n: int) -> tuple[Means, ...]:
    """Return the means over the records of all calls, from those of the last call, which had n records."""
    if earlier is None:
        return tuple(means)
    share = n / (earlier.n_samples + n)
    return tuple((1 - share) * old + share * new for old, new in zip(earlier.means, means, strict=True))


def joined_deviations(earlier: Calls | None, deviations: Sequence[float], n: int) -> tuple[float, ...]:
    """Return the standard deviations of the noise in the joined means; the calls' noises are independent."""
    if earlier is None:
        return tuple(deviations)
    share = n / (earlier.n_samples + n)
    pairs = zip(earlier.deviations, deviations, strict=True)
    return tuple(math.hypot((1 - share) * old, share * new) for old, new in pairs)


def in_parallel(earlier: Calls | None, guarantee: ApproxDP) -> ApproxDP:
    """Return the guarantee of all calls together, from that of the last one.

    **Privacy.** Let two sequences of tables differ in one record, of call i alone. The calls before i have
    the same distribution; given these, call i is (epsilon_i, delta_i)-private, and later calls are
    post-processing. So the whole is private for the greatest epsilon and delta of all calls: parallel
    composition, McSherry (2009), Theorem 4, here for calls that are chosen adaptively.

    **Assumes.** `NEW_RECORDS`, or `NEW_GROUPS`. If epsilon of a call is chosen from earlier outcomes, the
    guarantee that holds beforehand is that for the greatest epsilon that could have been chosen.
    """
    if earlier is None:
        return guarantee
    before = earlier.guarantee
    new = NEW_GROUPS if guarantee.protects == "groups" else NEW_RECORDS
    return replace(
        guarantee,
        epsilon=max(before.epsilon, guarantee.epsilon),
        delta=max(before.delta, guarantee.delta),
        assumes=tuple(dict.fromkeys((*before.assumes, *guarantee.assumes, new))),
        reproducible=before.reproducible or guarantee.reproducible,
    )


def next_calls(
    earlier: Calls | None,
    guarantee: ApproxDP,
    *,
    n_samples: int,
    shared: Mapping[str, Any],
    means: tuple[Means, ...] = (),
    deviations: tuple[float, ...] = (),
    box: Any = None,
) -> Calls:
    """Return the calls so far, from the earlier ones and the guarantee of the last one alone."""
    n_calls = 1 if earlier is None else earlier.n_calls + 1
    together = in_parallel(earlier, guarantee)
    return Calls(n_calls, n_samples, together, shared, means, deviations, box)


class Incremental:
    """Mixin of estimators with `partial_fit`, whose recipes know `earlier` and have `shared()` parameters."""

    __metadata_request__partial_fit = ROUTED

    calls_: Calls
    domain: Any
    random_state: Any
    _recipe: Any
    _fit: Any
    _dice: Any

    def _fit_more(
        self, X: Any, y: Any, dice: Dice | None = None, *, classes: Any = None, groups: Any = None
    ) -> Any:
        """Add a table to the fit, with given dice, or those of this call by `random_state`."""
        earlier: Calls | None = getattr(self, "calls_", None)
        # With one stream for all calls, differences of answers would show differences of tables.
        dice = dice or self._dice(*(("call", earlier.n_calls) if earlier else ()))[0]
        reproducible = self.random_state is not None
        with float_errors_ignored():
            recipe = self._continued(earlier, classes, groups, reproducible)
            self._fit(X, y, dice, groups=groups, recipe=recipe)
        return self

    def _continued(self, earlier: Calls | None, classes: Any, groups: Any, reproducible: bool) -> FitRecipe:
        recipe: FitRecipe = self._recipe(reproducible)
        refuse_unsupported(recipe, "partial_fit")
        if is_classifier(self):
            recipe = recipe.given(classes=self._all_classes(earlier, recipe.classes, classes))
        if earlier is None:
            if "guarantee_" in vars(self):
                raise ValueError(
                    "partial_fit cannot continue a fit whose number of records is private; fit again with"
                    " neighbors='replace_one', or call partial_fit of a clone"
                )
            return recipe
        if (groups is None) == (earlier.guarantee.protects == "groups"):
            raise ValueError("groups must be given in all calls of fit and partial_fit, or in none")
        for name, value in recipe.shared().items():
            if value is not None and value != earlier.shared[name]:
                raise ValueError(
                    f"{name} must be the same in all calls of partial_fit, got {brief(value)} after"
                    f" {brief(earlier.shared[name])}; fit forgets earlier calls"
                )
        columns = {name: value for name, value in vars(self).items() if name.endswith("_in_")}
        return recipe.given(earlier=earlier, columns=columns)

    def _all_classes(self, earlier: Calls | None, declared: Any, classes: Any) -> list[Any]:
        """Return the labels of all calls: of the constructor, the argument, or earlier calls."""
        sets: list[list[Any]] = [
            check_classes(each).tolist() for each in (classes, declared) if each is not None
        ]
        if earlier is not None:
            known: Any = vars(self)["classes_"]
            for each in sets:
                if each != known.tolist():
                    raise ValueError(
                        f"`classes={brief(each)}` is not the same as on last call to partial_fit, was:"
                        f" {brief(known.tolist())}"
                    )
            return known.tolist()
        if not sets:
            raise ValueError(
                "classes must be passed on the first call to partial_fit. The parameter `classes` of the"
                " constructor declares them too"
            )
        if sets[0] != sets[-1]:
            raise ValueError(
                f"classes must be those of the constructor, {brief(sets[-1])}, got {brief(sets[0])}"
            )
        return sets[0]
