"""How many threads native libraries may use while teachers are trained.

A shard is small: a second thread of the linear algebra gains nothing on it, and where other programs keep the
machine busy, threads that wait for each other cost many times the work itself. And floats add up differently
on another number of threads: one thread makes teachers the same wherever they are trained.

>>> with native_threads(None):
...     sum(range(10))
45
"""

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController, threadpool_limits  # type: ignore[import-untyped]

__all__ = ["native_threads"]


def native_threads(openmp: int | None) -> AbstractContextManager[Any]:
    """Let linear algebra use one thread, and OpenMP so many.

    Parameters
    ----------
    openmp : int or None
        None leaves them as they are, where nobody else works beside them.
    """
    limits: AbstractContextManager[Any] = (
        _linear_algebra().limit(limits=1)
        if openmp is None
        else threadpool_limits({"blas": 1, "openmp": openmp})
    )
    return limits


@lru_cache(maxsize=1)
def _linear_algebra() -> Any:
    """Return the libraries of linear algebra, which scikit-learn has loaded; looking for them takes time."""
    return ThreadpoolController().select(user_api="blas")
