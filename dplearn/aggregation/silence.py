"""Let no warning of a teacher out: whether it warns, and of what, depends on its shard.

>>> import warnings
>>> with silence:
...     warnings.warn("nobody hears this")
"""

import threading
import warnings
from typing import Any

__all__ = ["silence"]


class _Silence:
    """Holds while anybody is inside.

    Python's means of catching warnings save and restore what all threads share. Were every thread to enter
    them for itself, one that leaves last would restore the silence that it found, and no warning of anybody
    would ever be shown again. So the first enters and the last leaves.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._caught: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                # Recorded and thrown away: not even code that asks for its warnings to be shown shows them.
                self._caught = warnings.catch_warnings(record=True)
                self._caught.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._caught.__exit__(*error)


silence = _Silence()
