"""Dice that record the draws of a run and replay their outcomes on a neighbouring data set, where the
arguments of each draw may differ only as the privacy proof allows, and the rest of the run not at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn.chance.dice import Dice, End, as_array, moved_into, one_or_many


@dataclass(frozen=True)
class Draw:
    """One recorded draw: the primitive, its arguments and its outcome."""

    primitive: str
    arguments: tuple[Any, ...]
    outcome: Any


class ReplayDice:
    """Dice that draw from other dice, as `Dice` describes, and record all draws.

    Parameters
    ----------
    dice : Dice
        The source of the outcomes.

    Attributes
    ----------
    trace : list of Draw
        All draws so far, in order.
    refused : bool
        True if a run requested a draw that is not in the replayed trace.

    Examples
    --------
    >>> from dplearn.chance import EnumeratingDice, ReplayDice
    >>> first = ReplayDice(EnumeratingDice())
    >>> first.below(6), first.below(2)
    (0, 0)
    >>> again = ReplayDice.replaying(first.trace)
    >>> again.below(6), again.below(3)
    (0, 0)
    >>> [draw.arguments for draw in again.trace]
    [(6,), (3,)]
    """

    def __init__(self, dice: Dice):
        self._dice: Any = dice
        self.trace: list[Draw] = []

    @classmethod
    def replaying(cls, trace: Sequence[Draw]) -> "ReplayDice":
        """Return dice that replay the outcomes of `trace`.

        Noise between ends is shifted by the difference of the ends, so that the same count is released. An
        outcome that the arguments exclude (such as a group that is empty for the neighbour) is replaced by
        the nearest possible one. A draw that does not match `trace` raises IndexError.
        """
        return cls(_Recorded(trace))

    @property
    def refused(self) -> bool:
        """True if a run requested a draw that is not in the replayed trace."""
        return getattr(self._dice, "refused", False)

    def below(self, n: int, size: int | None = None) -> Any:
        return self._record("below", n, size=size)

    def bernoulli(self, p: Fraction, size: int | None = None) -> Any:
        return self._record("bernoulli", p, size=size)

    def power_weighted(self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]) -> int:
        return self._group("power_weighted", ratio, exponents, multiplicities)

    def permute_and_flip(
        self, ratio: Fraction, exponents: Sequence[int], multiplicities: Sequence[int]
    ) -> int:
        return self._group("permute_and_flip", ratio, exponents, multiplicities)

    def discrete_laplace(
        self, ratio: Fraction, low: End = None, high: End = None, size: int | None = None
    ) -> Any:
        return self._record("discrete_laplace", ratio, low, high, size=size)

    def geometric(self, ratio: Fraction, low: End = 0, high: End = None, size: int | None = None) -> Any:
        return self._record("geometric", ratio, low, high, size=size)

    def discrete_gaussian(self, sigma2: Fraction, size: int | None = None) -> Any:
        return self._record("discrete_gaussian", sigma2, size=size)

    def _group(self, primitive: str, ratio: Fraction, *groups: Sequence[int]) -> int:
        return int(self._record(primitive, ratio, *(tuple(map(int, each)) for each in groups)))

    def _record(self, primitive: str, *arguments: Any, **size: Any) -> Any:
        sized = size.get("size") is not None
        outcome = getattr(self._dice, primitive)(*arguments, **(size if sized else {}))
        kept = outcome.copy() if isinstance(outcome, np.ndarray) else outcome  # callers may modify theirs
        given = tuple(tuple(a.tolist()) if isinstance(a, np.ndarray) else a for a in arguments)
        self.trace.append(Draw(primitive, given + ((size["size"],) if sized else ()), kept))
        return outcome

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("dice are never pickled or copied")


class _Recorded:
    """Dice that return the outcomes of a trace."""

    def __init__(self, trace: Sequence[Draw]):
        self._outcomes = iter(list(trace))
        self.refused = False

    def __getattr__(self, primitive: str) -> Any:
        if primitive.startswith("_"):
            raise AttributeError(primitive)

        def draw(*arguments: Any, size: int | None = None) -> Any:
            recorded = next(self._outcomes, None)
            if recorded is None:
                self.refused = True
                raise IndexError("the neighbour's run makes more draws than the recorded run")
            recorded_size = len(recorded.outcome) if isinstance(recorded.outcome, np.ndarray) else None
            if recorded.primitive != primitive or recorded_size != size:
                self.refused = True
                raise IndexError("the neighbour's run makes other draws than the recorded run")
            if primitive in ("power_weighted", "permute_and_flip"):
                groups = [i for i, number in enumerate(arguments[2]) if number]
                return min(groups, key=lambda i: abs(i - recorded.outcome))
            outcomes = recorded.outcome if size is not None else as_array([recorded.outcome])
            outcomes = outcomes + _moved(recorded, arguments)
            return one_or_many(moved_into(outcomes, *_possible(primitive, arguments)), size)

        return draw


def _moved(recorded: Draw, arguments: tuple[Any, ...]) -> Any:
    """Return the difference of the ends of noise; noise shifted by it releases the same count."""
    if recorded.primitive not in ("discrete_laplace", "geometric"):
        return 0
    for mine, theirs in zip(recorded.arguments[1:3], arguments[1:3], strict=True):
        if mine is not None and theirs is not None:
            return theirs - as_array(mine) if isinstance(mine, tuple) else theirs - mine
    return 0


def _possible(primitive: str, arguments: tuple[Any, ...]) -> tuple[End, End]:
    """Return the least and the greatest outcome that the arguments allow; None for an open end."""
    match primitive:
        case "below":
            return 0, arguments[0] - 1
        case "bernoulli":
            return int(arguments[0] == 1), int(arguments[0] > 0)
        case "discrete_laplace" | "geometric":
            return arguments[1], arguments[2]
        case _:
            return None, None
