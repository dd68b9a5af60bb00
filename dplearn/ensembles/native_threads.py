"""Limit the number of threads that native libraries use while teachers are trained.

A shard is small, so a second thread for linear algebra gains nothing. On a busy machine, threads that wait
for each other take many times as long as the computation itself. The number of threads also changes how sums
of floats are rounded: with one thread, a teacher is the same on every machine and in every process.

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
    """Limit linear algebra to one thread, and OpenMP to a given number of threads.

    Parameters
    ----------
    openmp : int or None
        The limit for OpenMP. None sets none, for use without worker processes.
    """
    limits: AbstractContextManager[Any] = (
        _linear_algebra().limit(limits=1)
        if openmp is None
        else threadpool_limits({"blas": 1, "openmp": openmp})
    )
    return limits


@lru_cache(maxsize=1)
def _linear_algebra() -> Any:
    """Return the libraries for linear algebra that scikit-learn has loaded; the search for them is slow."""
    return ThreadpoolController().select(user_api="blas")
