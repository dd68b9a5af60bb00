"""Dice that raise an error at a chosen draw, to test crashes, interrupts and exhausted entropy sources."""

from typing import Any

from dplearn._validation import check_count
from dplearn.chance.dice import Dice


class FaultyDice:
    """Dice that delegate draws to other dice, and raise an error at one of them.

    Parameters
    ----------
    dice : Dice or None
        Source of the outcomes; None if every draw fails.
    at : int, optional
        Index of the draw that fails, from 0; by default no draw fails.
    error : BaseException, default=KeyboardInterrupt()
        The error that is raised instead of returning the outcome.
    drawn : bool, default=False
        Whether the outcome is drawn, and discarded, before the error is raised.

    Attributes
    ----------
    n_draws : int
        Number of outcomes drawn so far.

    Examples
    --------
    >>> from dplearn.audit import FaultyDice
    >>> from dplearn.chance import EnumeratingDice
    >>> dice = FaultyDice(EnumeratingDice(), at=1, error=OSError("no entropy"))
    >>> dice.below(6)
    0
    >>> dice.below(6)
    Traceback (most recent call last):
        ...
    OSError: no entropy
    >>> dice.n_draws
    1
    """

    def __init__(
        self,
        dice: Dice | None,
        at: int | None = None,
        error: BaseException | None = None,
        *,
        drawn: bool = False,
    ):
        self._dice = dice
        self._at = None if at is None else check_count("at", at)
        self._error = KeyboardInterrupt() if error is None else error
        self._drawn = drawn
        self.n_draws = 0

    def __getattr__(self, primitive: str) -> Any:
        if primitive.startswith("_"):
            raise AttributeError(primitive)

        def draw(*arguments: Any, **named: Any) -> Any:
            failing = self.n_draws == self._at
            if failing and not self._drawn:
                raise self._error
            outcome = getattr(self._dice, primitive)(*arguments, **named)
            self.n_draws += 1
            if failing:
                raise self._error
            return outcome

        return draw
