"""The methods of `ParityClassifier`, by name: each has a plan and a release.

>>> from types import SimpleNamespace
>>> from dplearn.privacy import ApproxDP
>>> wanted = {"alpha": 0.1, "beta": 0.05, "fit_intercept": False, "n_parts": None, "test_size": None}
>>> params = SimpleNamespace(cost=ApproxDP(1), method="auto", **wanted)
>>> table = PublicOutputs(n_samples=4000, n_features=16)
>>> [PARITY_METHODS[name].plan(params, table).n_parts for name in ("agnostic", "elimination")]
[1, 4]
>>> chosen_plan(params, table).method
'agnostic'
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.concepts.parities import MOST_FEATURES, Parities
from dplearn.estimator.recipe import FitRecipe, PublicOutputs
from dplearn.kernels.gf2 import BitMatrix, solve
from dplearn.learners.multi_label_limit import Task, least_of_outputs
from dplearn.learners.parity_sizes import (
    agnostic_failure,
    elimination_failure,
    elimination_sizes,
    elimination_split,
    parity_sample_size,
)
from dplearn.learners.stable_parity_sizes import (
    stable_parity_failure,
    stable_parity_sizes,
    stable_parity_split,
)
from dplearn.mechanisms import consistent_parity, most_frequent_if_stable
from dplearn.mechanisms.selection import select_exponential, select_permute_and_flip
from dplearn.privacy import ApproxDP, BoundedRange, Event
from dplearn.privacy.plan import Plan, hidden
from dplearn.table.rows import Records

__all__ = ["PARITY_METHODS", "Equations", "ParityMethod", "ParityPlan", "Wanted", "chosen_plan"]

Parity = NDArray[np.uint8]  # of shape (n_outputs, n_unknowns)


@dataclass(frozen=True)
class ParityPlan(Plan):
    """The plan of a fit of `ParityClassifier`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    method : str
        The method, a key of `PARITY_METHODS`.
    n_samples : int
        Number of records.
    n_needed : int
        The least number of records from which on `failure` is at most `beta`.
    n_parts, test_size : int
        The numbers of parts, and of test records, into which the records are divided.
    failure : float
        A bound on the probability that the error exceeds `alpha`, if labels are a parity of the columns; with
        "stable", if also the columns are independent fair coins.
    alpha, beta : float
        The parameters of the estimator.
    """

    guarantee: ApproxDP
    method: str
    n_samples: int
    n_needed: int
    n_parts: int
    test_size: int
    failure: float
    alpha: float
    beta: float
    domain: Any = hidden()
    public: Any = hidden()
    fit_intercept: bool = hidden(False)
    _computed = ("n_least",)
    _notes: ClassVar[Mapping[str, str]] = {"n_least": "no private learner with fewer"}

    @property
    def n_least(self) -> int | None:
        """A number such that no learner with this guarantee is as accurate with fewer records.

        Accurate: with probability at least 1 - beta, the errors of all outputs are at most alpha if parities
        decide the labels; with "stable", if also the columns are independent fair coins. See
        `theory.multi_label_lower_bound`.
        """
        outputs = self.public.n_outputs
        return least_of_outputs(self.guarantee, [self.task] * outputs, alpha=self.alpha, beta=self.beta)

    @property
    def task(self) -> Task:
        """Parities. Without an intercept all agree at 0."""
        if self.method == "stable":
            return Task("parities", rooted=False, size=self.n_unknowns)
        return Task("parities", rooted=True, size=int(self.public.n_features))

    @property
    def known_event(self) -> Event | None:
        """Of "agnostic", which is of bounded range."""
        return BoundedRange(self.guarantee.epsilon) if self.method == "agnostic" else None

    @property
    def n_unknowns(self) -> int:
        """Number of bits of a solution for one output."""
        return int(self.public.n_features) + self.fit_intercept

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if there are fewer than `n_needed` records."""
        if self.n_samples >= self.n_needed:
            return ()
        return (
            f"n_samples is {self.n_samples}: alpha={self.alpha} and beta={self.beta} with {self.method!r}"
            f" require {self.n_needed} records of {self.public.n_features} columns; plan(n_samples,"
            " n_features=...) reports `failure` without data",
        )


@dataclass(frozen=True, repr=False)  # a traceback may show it
class Equations(Records):
    """Linear equations over GF(2): one row a record, with a right-hand side for each output."""

    matrix: BitMatrix
    bits: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, places: NDArray[np.int64]) -> "Equations":
        return Equations(self.matrix[places], self.bits[places])


@dataclass(frozen=True)
class Wanted:
    """The public values that determine the sizes of a plan."""

    n_samples: int
    n_features: int
    epsilon: Fraction
    delta: Fraction
    alpha: float
    beta: float
    fit_intercept: bool
    n_parts: int | None
    test_size: int | None


class ParityMethod(ABC):
    """A method of learning a parity, without state."""

    name: ClassVar[str]
    spends_delta: ClassVar[bool] = False
    many_outputs: ClassVar[bool] = False

    def objection(self, params: FitRecipe, public: PublicOutputs) -> str | None:
        """Return the reason why the method does not support the table or the budget; None if it does."""
        if public.n_outputs > 1 and not self.many_outputs:
            return f"takes one label a record, got {public.n_outputs}"
        if self.spends_delta and not params.cost.delta:
            return "needs delta above 0, got 0"
        return None

    def plan(self, params: FitRecipe, public: PublicOutputs) -> ParityPlan:
        """Return the plan of a fit; its guarantee has no assumptions yet."""
        if (params.n_parts or 0) > public.n_samples:
            raise ValueError(
                f"n_parts must be at most the number of records, {public.n_samples}, got {params.n_parts}"
            )
        wanted = Wanted(
            n_samples=public.n_samples,
            n_features=public.n_features,
            epsilon=params.cost.epsilon,
            delta=params.cost.delta,
            alpha=params.alpha,
            beta=params.beta,
            fit_intercept=params.fit_intercept,
            n_parts=params.n_parts,
            test_size=params.test_size,
        )
        n_parts, test_size, n_needed, failure = _sizes(self, wanted)
        return ParityPlan(
            guarantee=params.cost if self.spends_delta else replace(params.cost, delta=Fraction(0)),
            method=self.name,
            n_samples=public.n_samples,
            n_needed=n_needed,
            n_parts=n_parts,
            test_size=test_size,
            failure=failure,
            alpha=params.alpha,
            beta=params.beta,
            public=public,
            fit_intercept=params.fit_intercept,
        )

    @abstractmethod
    def sizes(self, wanted: Wanted) -> tuple[int, int, int, float]:
        """Return `n_parts`, `test_size`, `n_needed` and `failure` of the plan."""

    @abstractmethod
    def release(self, equations: Equations, plan: ParityPlan, dice: Dice) -> Parity | None:
        """Return a parity for each output, or None for an abstention."""


@lru_cache(maxsize=256)  # a fit plans before it reads, and again afterwards
def _sizes(method: ParityMethod, wanted: Wanted) -> tuple[int, int, int, float]:
    return method.sizes(wanted)


class Elimination(ParityMethod):
    """Solve a random sample of the equations of each part, and select a solution on further records.

    Privacy: a record is either in one part, whose candidate costs epsilon, or among the test records, on
    which the selection costs epsilon, since one replaced record changes the errors of each candidate by at
    most 1.
    """

    name = "elimination"

    def sizes(self, wanted: Wanted) -> tuple[int, int, int, float]:
        """Return the sizes with the fewest records for `alpha` and `beta`, scaled to the table."""
        n, d = wanted.n_samples, wanted.n_features + wanted.fit_intercept
        goal: dict[str, Any] = {"epsilon": wanted.epsilon, "alpha": wanted.alpha, "beta": wanted.beta}
        if wanted.test_size is not None and wanted.test_size >= n:
            raise ValueError(f"test_size must be below the number of records, {n}, got {wanted.test_size}")
        split = elimination_split(n, d, **goal)
        parts = split.n_parts if wanted.n_parts is None else wanted.n_parts
        tested = split.test_size if wanted.test_size is None else wanted.test_size
        failure = elimination_failure(
            d,
            n_parts=parts,
            part_size=max(n - tested, 0) // parts,
            test_size=tested,
            epsilon=wanted.epsilon,
            alpha=wanted.alpha,
        )
        return parts, tested, elimination_sizes(d, **goal).n_samples, failure

    def release(self, equations: Equations, plan: ParityPlan, dice: Dice) -> Parity | None:
        """Return the selected candidate; None if all parts abstained."""
        privacy, places = plan.guarantee, plan.public.stream.permutation(plan.n_samples)
        tested, rest = places[: plan.test_size], places[plan.test_size :]
        matrix, bits = equations.matrix, equations.bits[:, 0]
        found = [
            consistent_parity(matrix[part], bits[part], privacy=privacy, dice=dice)
            for part in np.array_split(rest, plan.n_parts)
        ]
        candidates = np.array([candidate for candidate in found if candidate is not None])
        if not len(candidates):
            return None
        wrong = matrix[tested].dot(candidates.T) != bits[tested, None]
        errors = wrong.sum(axis=0).tolist()
        chosen, _ = select_permute_and_flip(errors, [1] * len(errors), privacy=privacy, dice=dice)
        return candidates[chosen : chosen + 1]


class Stable(ParityMethod):
    """Let each part vote for its solution, if it has one, and release the winner if it is stable.

    If a part has several solutions, it votes for the one without the dependent columns. Parts with the same
    row space therefore have the same vote, also if columns are constant or equal.

    Privacy: one replaced record changes, adds or removes one vote, and the winner is released by its distance
    to instability.
    """

    name = "stable"
    spends_delta = True
    many_outputs = True

    def sizes(self, wanted: Wanted) -> tuple[int, int, int, float]:
        """Return the least number of parts that reaches `beta` on uniform rows, or else the best number."""
        n, d = wanted.n_samples, wanted.n_features
        budget: dict[str, Any] = {"epsilon": wanted.epsilon, "delta": wanted.delta}
        budget |= {"fit_intercept": wanted.fit_intercept}
        needed = stable_parity_sizes(d, beta=wanted.beta, **budget).n_samples
        split = stable_parity_split(n, d, beta=wanted.beta, **budget)
        parts = split.n_parts if wanted.n_parts is None else wanted.n_parts
        failure = stable_parity_failure(d, n_parts=parts, part_size=n // parts, **budget)
        return parts, 0, needed, failure

    def release(self, equations: Equations, plan: ParityPlan, dice: Dice) -> Parity | None:
        """Return the parities with the most votes; None for an abstention."""
        parts = np.array_split(plan.public.stream.permutation(plan.n_samples), plan.n_parts)
        solutions = [solve(equations.matrix[part], equations.bits[part]) for part in parts]
        votes = [None if solution is None else solution.T.tobytes() for solution in solutions]
        # Of all candidates without a vote, the first in order needs the fewest changed votes to win. None
        # represents them all: it has no votes, and it is the winner if no part votes.
        labels = [None, *sorted({vote for vote in votes if vote is not None})]
        places = {label: place for place, label in enumerate(labels)} | {None: -1}
        codes = [places[vote] for vote in votes]
        winner = most_frequent_if_stable(codes, max(2, len(labels)), privacy=plan.guarantee, dice=dice)
        released = labels[winner] if winner else None
        if released is None:
            return None
        shape = plan.public.n_outputs, plan.n_unknowns
        return np.frombuffer(released, dtype=np.uint8).reshape(shape)


class Agnostic(ParityMethod):
    """The exponential mechanism over all parities, scored by training errors; labels may be noisy."""

    name = "agnostic"

    def objection(self, params: FitRecipe, public: PublicOutputs) -> str | None:
        """Return the reason why the method does not support the table or the budget; None if it does."""
        if public.n_features > MOST_FEATURES:
            most, d = MOST_FEATURES, public.n_features
            return f"compares all parities of at most {most} columns, got {d}"
        return super().objection(params, public)

    def sizes(self, wanted: Wanted) -> tuple[int, int, int, float]:
        """Return one part of all records."""
        d = wanted.n_features + wanted.fit_intercept
        goal: dict[str, Any] = {"epsilon": wanted.epsilon, "alpha": wanted.alpha}
        needed = parity_sample_size(d, beta=wanted.beta, method="agnostic", **goal)
        return 1, 0, needed, agnostic_failure(d, wanted.n_samples, **goal)

    def release(self, equations: Equations, plan: ParityPlan, dice: Dice) -> Parity:
        """Return a parity selected by the exponential mechanism."""
        concepts = Parities(plan.public.n_features, fit_intercept=plan.fit_intercept)
        profile = concepts.profile_of(equations.matrix.words[:, 0], equations.bits[:, 0])
        errors, members = profile.groups()
        level, member = select_exponential(errors, members, privacy=plan.guarantee, dice=dice)
        chosen: Any = profile.member(errors[level], member)
        intercept = [chosen.intercept] if plan.fit_intercept else []
        return np.append(chosen.coefficients(plan.public.n_features), intercept).astype(np.uint8)[None]


#: The methods by name, in the order of preference of "auto".
PARITY_METHODS: dict[str, ParityMethod] = {way.name: way for way in (Agnostic(), Elimination(), Stable())}


def chosen_plan(params: FitRecipe, public: PublicOutputs) -> ParityPlan:
    """Return the plan of the method; "auto" is the first with enough records, or else the first."""
    named = PARITY_METHODS if params.method == "auto" else {params.method: PARITY_METHODS[params.method]}
    objections = {name: method.objection(params, public) for name, method in named.items()}
    fitting = [method for name, method in named.items() if not objections[name]]
    if not fitting:
        given = "; ".join(f"{name!r} {objection}" for name, objection in objections.items())
        raise ValueError(f"method must fit the table and the budget: {given}")
    first = fitting[0].plan(params, public)
    plans = chain([first], (method.plan(params, public) for method in fitting[1:]))  # evaluated lazily
    return next((plan for plan in plans if plan.n_needed <= plan.n_samples), first)
