"""Ways to learn a parity privately, by name: each settles its sizes without data, and releases once.

>>> task = ParityTask(n_samples=4000, n_features=16, epsilon=Fraction(1))
>>> [PARITY_METHODS[name](task).sizes.n_parts for name in ("agnostic", "elimination")]
[1, 4]
>>> chosen_method("auto", task).name
'agnostic'
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.chance.public import PublicStream
from dplearn.concepts.parities import MOST_FEATURES, Parities
from dplearn.core.gf2 import BitMatrix, solve
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
from dplearn.mechanisms.exponential import select_exponential
from dplearn.mechanisms.permute_and_flip import select_permute_and_flip
from dplearn.privacy import ApproxDP
from dplearn.records.rows import Records

__all__ = ["PARITY_METHODS", "Equations", "ParityMethod", "ParitySizes", "ParityTask", "chosen_method"]

Parity = NDArray[np.uint8]  # of shape (n_outputs, n_unknowns)


@dataclass(frozen=True)
class ParityTask:
    """All that is public of a fit, and that sizes are computed from.

    Attributes
    ----------
    n_samples, n_features, n_outputs : int
        Of the table.
    epsilon, delta : Fraction
        The budget.
    fit_intercept : bool
        Whether the complements of parities are learned too.
    alpha, beta : float
        The error that is wanted, and the probability of failure that is allowed.
    n_parts, test_size : int or None
        None where they are chosen here.
    """

    n_samples: int
    n_features: int
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    n_outputs: int = 1
    fit_intercept: bool = False
    alpha: float = 0.1
    beta: float = 0.05
    n_parts: int | None = None
    test_size: int | None = None

    @property
    def n_unknowns(self) -> int:
        """Bits of a solution for one output."""
        return self.n_features + self.fit_intercept


@dataclass(frozen=True)
class ParitySizes:
    """How the records are cut, and what comes of it.

    Attributes
    ----------
    n_parts : int
        Into how many parts records are cut that solutions are sought from.
    test_size : int
        How many other records the candidates are compared on.
    n_needed : int
        From how many records on the method keeps `alpha` and `beta`, if it may choose its sizes.
    failure : float
        A bound on the probability that it fails, with these sizes.
    """

    n_parts: int
    test_size: int
    n_needed: int
    failure: float


@dataclass(frozen=True, repr=False)  # a traceback may show it
class Equations(Records):
    """What a table says of the parities: one equation a record, and for each output its right-hand side.

    Attributes
    ----------
    matrix : BitMatrix of shape (n_samples, n_unknowns)
        Private. The records; with an intercept, a last column of ones.
    bits : ndarray of uint8 of shape (n_samples, n_outputs)
        Private. The labels.
    """

    matrix: BitMatrix
    bits: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, places: NDArray[np.int64]) -> "Equations":
        return Equations(self.matrix[places], self.bits[places])


class ParityMethod(ABC):
    """A way to learn a parity.

    Parameters
    ----------
    task : ParityTask
        What it is for.
    """

    name: ClassVar[str]
    spends_delta: ClassVar[bool] = False
    many_outputs: ClassVar[bool] = False

    def __init__(self, task: ParityTask):
        self.task = task

    def objection(self) -> str | None:
        """Return why the method does not fit its task, if it does not."""
        if self.task.n_outputs > 1 and not self.many_outputs:
            return f"takes one label a record, got {self.task.n_outputs}"
        if self.spends_delta and not self.task.delta:
            return "needs delta above 0, got 0"
        return None

    @property
    def sizes(self) -> ParitySizes:
        """How the records will be cut, from public numbers alone."""
        return _sizes(type(self), self.task)

    @classmethod
    @abstractmethod
    def sizes_for(cls, task: ParityTask) -> ParitySizes:
        """Return the sizes for a task."""

    @abstractmethod
    def release(
        self, equations: Equations, *, privacy: ApproxDP, dice: Dice, stream: PublicStream
    ) -> Parity | None:
        """Return a parity for each output, or None for no answer.

        Parameters
        ----------
        equations : Equations
            Private.
        privacy : ApproxDP
            Is spent.
        dice : Dice
            Source of chance.
        stream : PublicStream
            Decides which part a record falls in.
        """


class Elimination(ParityMethod):
    """Solve a random sample of each part's equations, and select one solution on records in no part.

    Private, since a record is in one part, whose candidate costs epsilon, or among those that candidates are
    compared on, which costs epsilon: one replaced record moves each candidate's errors by at most 1.
    """

    name = "elimination"

    @classmethod
    def sizes_for(cls, task: ParityTask) -> ParitySizes:
        """Return the parts that keep `alpha` and `beta` with the fewest records, to scale."""
        wanted: dict[str, Any] = {"epsilon": task.epsilon, "alpha": task.alpha, "beta": task.beta}
        if task.test_size is not None and task.test_size >= task.n_samples:
            raise ValueError(
                f"test_size must be below the number of records, {task.n_samples}, got {task.test_size}"
            )
        split = elimination_split(task.n_samples, task.n_unknowns, **wanted)
        parts = split.n_parts if task.n_parts is None else task.n_parts
        tested = split.test_size if task.test_size is None else task.test_size
        failure = elimination_failure(
            task.n_unknowns,
            n_parts=parts,
            part_size=max(task.n_samples - tested, 0) // parts,
            test_size=tested,
            epsilon=task.epsilon,
            alpha=task.alpha,
        )
        return ParitySizes(parts, tested, elimination_sizes(task.n_unknowns, **wanted).n_samples, failure)

    def release(
        self, equations: Equations, *, privacy: ApproxDP, dice: Dice, stream: PublicStream
    ) -> Parity | None:
        """Return the selected candidate; None if no part has one."""
        sizes = self.sizes
        places = stream.permutation(self.task.n_samples)
        tested, rest = places[: sizes.test_size], places[sizes.test_size :]
        matrix, bits = equations.matrix, equations.bits[:, 0]
        found = [
            consistent_parity(matrix[part], bits[part], privacy=privacy, dice=dice)
            for part in np.array_split(rest, sizes.n_parts)
        ]
        candidates = np.array([candidate for candidate in found if candidate is not None])
        if not len(candidates):
            return None
        wrong = matrix[tested].dot(candidates.T) != bits[tested, None]
        errors = wrong.sum(axis=0).tolist()
        chosen, _ = select_permute_and_flip(errors, [1] * len(errors), privacy=privacy, dice=dice)
        return candidates[chosen : chosen + 1]


class Stable(ParityMethod):
    """Let each part vote for its solution, if it has one, and release a vote that is far from losing.

    Of many solutions a part takes that without a column that the others explain: parts that span the same
    rows vote alike, whatever columns are constant or the same.

    Private, since one replaced record moves, casts or withdraws one vote, and the winner is released by its
    distance to instability.
    """

    name = "stable"
    spends_delta = True
    many_outputs = True

    @classmethod
    def sizes_for(cls, task: ParityTask) -> ParitySizes:
        """Return the fewest parts that keep `beta` where rows are uniformly random, or else the best."""
        wanted: dict[str, Any] = {"epsilon": task.epsilon, "delta": task.delta}
        wanted |= {"fit_intercept": task.fit_intercept}
        needed = stable_parity_sizes(task.n_features, beta=task.beta, **wanted).n_samples
        split = stable_parity_split(task.n_samples, task.n_features, beta=task.beta, **wanted)
        parts = split.n_parts if task.n_parts is None else task.n_parts
        failure = stable_parity_failure(
            task.n_features, n_parts=parts, part_size=task.n_samples // parts, **wanted
        )
        return ParitySizes(parts, 0, needed, failure)

    def release(
        self, equations: Equations, *, privacy: ApproxDP, dice: Dice, stream: PublicStream
    ) -> Parity | None:
        """Return the vector of parities that most parts vote for; None if that is None or may not be."""
        parts = np.array_split(stream.permutation(self.task.n_samples), self.sizes.n_parts)
        solutions = [solve(equations.matrix[part], equations.bits[part]) for part in parts]
        votes = [None if solution is None else solution.T.tobytes() for solution in solutions]
        # Of all labels without a vote the first needs the fewest votes moved to win: None, which is nobody's
        # vote and so the winner where nobody votes, stands for them all.
        labels = [None, *sorted({vote for vote in votes if vote is not None})]
        places = {label: place for place, label in enumerate(labels)} | {None: -1}
        codes = [places[vote] for vote in votes]
        winner = most_frequent_if_stable(codes, max(2, len(labels)), privacy=privacy, dice=dice)
        released = labels[winner] if winner else None
        if released is None:
            return None
        shape = self.task.n_outputs, self.task.n_unknowns
        return np.frombuffer(released, dtype=np.uint8).reshape(shape)


class Agnostic(ParityMethod):
    """Select one of all parities by the number of records that it gets wrong: labels may be noisy."""

    name = "agnostic"

    def objection(self) -> str | None:
        """Return why the method does not fit its task, if it does not."""
        if self.task.n_features > MOST_FEATURES:
            most, d = MOST_FEATURES, self.task.n_features
            return f"counts the errors of all parities, of at most {most} columns, got {d}"
        return super().objection()

    @classmethod
    def sizes_for(cls, task: ParityTask) -> ParitySizes:
        """Return one part, which is all records."""
        wanted: dict[str, Any] = {"epsilon": task.epsilon, "alpha": task.alpha}
        needed = parity_sample_size(task.n_unknowns, beta=task.beta, method="agnostic", **wanted)
        return ParitySizes(1, 0, needed, agnostic_failure(task.n_unknowns, task.n_samples, **wanted))

    def release(
        self,
        equations: Equations,
        *,
        privacy: ApproxDP,
        dice: Dice,
        stream: PublicStream,  # noqa: ARG002 - there is nothing to cut
    ) -> Parity:
        """Return a parity with few errors, exponentially more probable than one with more."""
        concepts = Parities(self.task.n_features, fit_intercept=self.task.fit_intercept)
        profile = concepts.profile_of(equations.matrix.words[:, 0], equations.bits[:, 0])
        errors, members = profile.groups()
        group, member = select_exponential(errors, members, privacy=privacy, dice=dice)
        chosen: Any = profile.member(errors[group], member)
        intercept = [chosen.intercept] if self.task.fit_intercept else []
        return np.append(chosen.coefficients(self.task.n_features), intercept).astype(np.uint8)[None]


@lru_cache(maxsize=128)
def _sizes(kind: type[ParityMethod], task: ParityTask) -> ParitySizes:
    if (task.n_parts or 0) > task.n_samples:
        raise ValueError(
            f"n_parts must be at most the number of records, {task.n_samples}, got {task.n_parts}"
        )
    return kind.sizes_for(task)


#: Ways to learn, by the names that users give, the one that `"auto"` prefers first.
PARITY_METHODS: dict[str, type[ParityMethod]] = {kind.name: kind for kind in (Agnostic, Elimination, Stable)}


def chosen_method(name: str, task: ParityTask) -> ParityMethod:
    """Return a way to learn; "auto" takes the first that has enough records, or else the first.

    Parameters
    ----------
    name : str
        One of `PARITY_METHODS`, or "auto".
    task : ParityTask
        What it is for.

    Raises
    ------
    ValueError
        If no way fits the task, or the one that is named does not.
    """
    named = PARITY_METHODS if name == "auto" else {name: PARITY_METHODS[name]}
    methods = {each: kind(task) for each, kind in named.items()}
    objections = {each: method.objection() for each, method in methods.items()}
    fitting = [method for each, method in methods.items() if not objections[each]]
    if not fitting:
        given = "; ".join(f"{each!r} {objection}" for each, objection in objections.items())
        raise ValueError(f"method must fit the table and the budget: {given}")
    enough = (method for method in fitting if method.sizes.n_needed <= task.n_samples)
    return next(enough, fitting[0])
