"""A function that keeps its last result, for several sums over the same records.

>>> rows = LastResult(lambda records: [2 * record for record in records])
>>> records = [1, 2]
>>> rows(records) is rows(records)
True
"""

from collections.abc import Callable
from typing import Any

__all__ = ["LastResult"]


class LastResult:
    """A function of one object that keeps the result for the last object.

    Threads may call it at the same time. A pickle has no result.

    Parameters
    ----------
    function : callable
        A function of one object, whose result depends on nothing else.
    """

    def __init__(self, function: Callable[[Any], Any]):
        self._function = function
        self._kept: tuple[Any, Any] | None = None

    def __call__(self, argument: Any) -> Any:
        """Return the result, the kept one if the argument is the same object as the last one."""
        kept = self._kept  # one reference: another thread may replace it
        if kept is None or kept[0] is not argument:
            kept = argument, self._function(argument)
            self._kept = kept
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"_function": self._function, "_kept": None}
