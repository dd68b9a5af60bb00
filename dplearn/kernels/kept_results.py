"""A function that keeps its results, for several sums over the same records."""

from collections.abc import Callable
from typing import Any
from weakref import ref


class KeptResults:
    """A function of one object that keeps each result as long as the object exists; a pickle has none."""

    # The parts of a table are read in turn, so at most one of their results is kept. Threads may call it
    # together.

    def __init__(self, function: Callable[[Any], Any]):
        self._function = function
        self.results: dict[int, tuple[ref[Any], Any]] = {}

    def __call__(self, argument: Any) -> Any:
        """Return the result, the kept one if the argument is the same object as before."""
        key = id(argument)
        found = self.results.get(key)
        if found is None or found[0]() is not argument:
            found = ref(argument, self._forgetting(key)), self._function(argument)
            self.results[key] = found
        return found[1]

    def _forgetting(self, key: int) -> Callable[[object], None]:
        """Return what is done when the argument is gone; it keeps neither this object nor its results."""
        this = ref(self)

        def forget(_: object) -> None:
            kept = this()
            if kept is not None:
                kept.results.pop(key, None)

        return forget

    def __getstate__(self) -> dict[str, Any]:
        return {"_function": self._function, "results": {}}
