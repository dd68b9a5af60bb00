"""Do the same work for many parcels, one after the other or on processes, whichever is faster.

Which it is changes times and no result. These rules keep the parcels apart:

- Two are never worked on at once in one process. Threads share Python's filters of warnings, and libraries
  turn warnings into errors for a while to learn of a failure: a thread that does so at the wrong moment
  makes another one's work fail. What one parcel holds would then change what comes of another.
- A parcel travels alone, and one that cannot travel is worked on here. No error in sending tells of it.
- Where processes may work, what is worked on here is packed and unpacked just as if it travelled. Something
  may be lost in a pickle, and times would settle of which parcels.
- All processes, this one too, give native libraries equally many threads. Floats add up differently on more;
  who works on a parcel is settled by times, which other parcels changed.

No warning leaves, whoever gave it.
"""

import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from math import ceil, inf
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs, wrap_non_picklable_objects
from joblib.parallel import get_active_backend

from dplearn.aggregation.native_threads import native_threads
from dplearn.aggregation.seclusion import attempt, secluded, untold
from dplearn.aggregation.silence import silence

__all__ = ["carried_out"]

Work = Callable[[Any], Any]

_ATTEMPTS = 2
_DIED_AGAIN = (
    "worker processes died while training teachers, and again when their work was repeated: memory may be"
    " short, or estimator may end its process or be of a module that they cannot import; try n_jobs=1"
)
_COLD, _WARM = 2.0, 0.2  # seconds until new processes, and processes that were used before, take up work
_IDLE = 240.0  # seconds after which processes may have been ended
_MARGIN = 1.15  # processes must be so many times faster by our estimate: it is one
_BATCH_SECONDS = 0.1
_WHILE, _PAUSE = 0.05, 1e-4  # seconds at a time in the context for work here, and out of it
_TRIED = 3  # batches a worker, until it is known whether processes keep their promise
_BATCHES_A_WORKER = 16  # at least: workers end at about the same time, and few parcels travel at once

_one_batch_at_a_time = threading.Lock()
_last_spread = -inf


def carried_out(
    work: Work,
    parcel_of: Callable[[int], Any],
    count: int,
    *,
    here: Callable[[], AbstractContextManager[None]] = nullcontext,
    n_jobs: int | None = None,
    progress: Callable[[], None] | None = None,
) -> list[Any]:
    """Return what `work` makes of each parcel.

    Parameters
    ----------
    work : callable
        Takes a parcel. Raises nothing that depends on it.
    parcel_of : callable
        Makes the parcel of a place 0..count-1, when it is needed.
    count : int
        How many there are.
    here : callable
        Gives a context for work on many parcels in this process, which `work` alone would enter for each.
    n_jobs : int or None
        joblib's. A joblib context's choice is followed: its backend is used if it has processes. Where it
        has threads, parcels are worked on in turn; see above why. Without one, work begins in this process,
        and goes on in others as soon as the measured pace says that they would be clearly faster.
    progress : callable, optional
        Called once for each parcel that is done, soon after; never while what parcels share is set for one.

    Raises
    ------
    RuntimeError
        If processes die, and die again when what was lost is repeated. Whether they do may depend on the
        parcels; the message does not.
    """
    workers, backend = effective_n_jobs(n_jobs), get_active_backend()[0]
    threads = None
    if workers > 1 and not _has_threads(backend):
        threads = getattr(backend, "inner_max_num_threads", None) or max(1, cpu_count() // workers)
    crew = _Crew(work, parcel_of, count, here, threads, progress)
    with silence(), native_threads(threads):
        if threads is None:
            crew.work_here()
        elif not _has_threads(
            get_active_backend(prefer="threads")[0]
        ):  # the hint gives way to a user's choice
            crew.spread(n_jobs, ceil(count / (workers * _BATCHES_A_WORKER)))
        else:
            crew.work_here(workers)
            crew.spread(n_jobs, crew.batch_size(workers), workers)  # which starts processes and fills caches
            if crew.scales(n_jobs, workers):
                crew.spread(n_jobs, crew.batch_size(workers))
            crew.work_here()
    return [crew.done[i] for i in range(count)]


def _has_threads(backend: Any) -> bool:
    """Return True if a backend of joblib works in this process."""
    return bool(getattr(backend, "supports_sharedmem", False))


class _Crew:
    """What is to be done, what is done, and how fast it went."""

    def __init__(
        self,
        work: Work,
        parcel_of: Callable[[int], Any],
        count: int,
        here: Callable[[], AbstractContextManager[None]],
        threads: int | None,
        progress: Callable[[], None] | None,
    ):
        self._work, self._parcel_of, self._count = work, parcel_of, count
        self._here, self._threads, self._progress = here, threads, progress
        self.done: dict[int, Any] = {}
        self._told = 0
        self._first = self._later = self._alone = (
            0.0  # seconds: first fits import and allocate, and say little
        )

    def work_here(self, workers: int = 1) -> None:
        """Work on one parcel after the other, until all are done or that many workers would be faster."""
        left = self._left()
        while left and not (workers > 1 and self._pays(workers)):
            with self._here():
                left = self._work_a_while(left, workers)
            self._tell()
            sleep(_PAUSE)  # whoever waits for the context may have it now

    def _work_a_while(self, left: list[int], workers: int) -> list[int]:
        """Work on some parcels, and return those that are left."""
        begun = perf_counter()
        for place, i in enumerate(left):
            start = perf_counter()
            if place and (start - begun > _WHILE or (workers > 1 and self._pays(workers))):
                return left[place:]
            self._keep(i, self._made_here(i))
            seconds = perf_counter() - start
            self._first, self._later = self._first or seconds, self._later + (seconds if i else 0.0)
        return []

    def scales(self, n_jobs: int | None, workers: int) -> bool:
        """Return True if some batches in processes took less time than they would have here."""
        before, start = len(self.done), perf_counter()
        self.spread(n_jobs, self.batch_size(workers), _TRIED * workers)
        return perf_counter() - start < (len(self.done) - before) * self._alone

    def spread(self, n_jobs: int | None, size: int, most: int | None = None) -> None:
        """Let processes work on what is left, or `most` batches; once more on what was lost if one dies."""
        given = self._left()[: None if most is None else most * size]
        for _ in range(_ATTEMPTS):
            left = [i for i in given if i not in self.done]
            batches = [left[start : start + size] for start in range(0, len(left), size)]
            try:
                self._dispatch(batches, n_jobs)
            except BrokenExecutor:
                continue
            return
        raise RuntimeError(_DIED_AGAIN)

    def batch_size(self, workers: int) -> int:
        """Return how many parcels are sent at once: some time's work, but not all to the same worker."""
        left = self._count - len(self.done)
        enough = ceil(_BATCH_SECONDS / max(self._alone, 1e-6))
        return max(1, min(enough, ceil(left / (workers * _BATCHES_A_WORKER))))

    def _left(self) -> list[int]:
        return [i for i in range(self._count) if i not in self.done]

    @property
    def _pace(self) -> float:
        """Return the seconds that a parcel takes; 0.0 while only a short first one is known."""
        if len(self.done) > 1:
            return self._later / (len(self.done) - 1)
        return self._first if self._first > _COLD else 0.0

    def _pays(self, workers: int) -> bool:
        """Return True if the parcels left would be done clearly faster by processes."""
        left, pace = self._count - len(self.done), self._pace
        if not pace:
            return False
        self._alone = pace  # what processes are measured by
        alone = left * pace
        together = alone / workers + (_WARM if monotonic() < _last_spread + _IDLE else _COLD)
        if together * _MARGIN > alone:
            return False
        return (together + left * (self._carriage + self._frame / self.batch_size(workers))) * _MARGIN < alone

    def _made_here(self, i: int) -> Any:
        """Return what a process would send back, if it could."""
        if self._threads is None:
            return self._work(self._parcel_of(i))
        return _arrived(self._work_as_sent(_arrived(self._parcel_of(i))))

    @cached_property
    def _work_as_sent(self) -> Work:
        work: Work = _arrived(self._work)
        return work

    @cached_property
    def _carriage(self) -> float:
        """Return the seconds that a parcel and what is made of it take to travel."""
        return _travel_seconds(self._parcel_of(0)) + _travel_seconds(self.done[0])

    @cached_property
    def _frame(self) -> float:
        """Return the seconds that the work itself takes to travel; infinite if it cannot."""
        return _travel_seconds(self._work)

    def _dispatch(self, batches: Sequence[Sequence[int]], n_jobs: int | None) -> None:
        global _last_spread
        tasks = (
            delayed(_batch)(self._work, [_packed(self._parcel_of(i)) for i in batch], self._threads)
            for batch in batches
        )
        for batch, outcomes in zip(batches, _parallel(n_jobs)(tasks), strict=True):
            with secluded():
                for i, outcome in zip(batch, outcomes, strict=True):
                    self._unpack(i, outcome)
            self._tell()
            _last_spread = monotonic()

    def _unpack(self, i: int, packed: bytes | None) -> None:
        sent = b"" if packed is None else packed  # which is no pickle
        self._keep(i, attempt(partial(_unpacked, sent), lambda _: self._made_here(i)))

    def _keep(self, i: int, outcome: Any) -> None:
        self.done[i] = outcome

    def _tell(self) -> None:
        """Tell what is done since, outside what parcels share: nobody may draw on where one left off."""
        if self._progress is not None:
            for _ in range(self._told, len(self.done)):
                self._progress()
        self._told = len(self.done)


def _batch(work: Work, parcels: Sequence[bytes | None], threads: int | None) -> list[bytes | None]:
    """Work on some parcels, in a worker."""
    with _one_batch_at_a_time, silence(), native_threads(threads), secluded():
        return [_outcome(work, parcel) for parcel in parcels]


def _outcome(work: Work, packed: bytes | None) -> bytes | None:
    """Return what is made of a parcel, or None if it, or what is made of it, cannot travel."""
    if packed is None:
        return None
    return attempt(lambda: _packed(work(_unpacked(packed))), lambda _: None)


def _packed(thing: Any) -> bytes | None:
    """Return something as bytes, which no backend writes to a disk, or None if it cannot travel."""
    # Cells and models may be anything, and raise, print and draw anything.
    return attempt(partial(_dumped, thing), lambda _: None)


def _dumped(thing: Any) -> bytes:
    with _apart(thing):
        return pickle.dumps(wrap_non_picklable_objects(thing, keep_wrapper=False))


def _apart(thing: Any) -> AbstractContextManager[None]:
    """Return the context for pickling something: arrays of numbers and texts bring no code of their own."""
    parts = thing if type(thing) is tuple else (thing,)
    return nullcontext() if all(map(_is_plain, parts)) else untold()


def _is_plain(part: Any) -> bool:
    if type(part) is not np.ndarray:
        return type(part) is int
    return part.dtype.kind in "biufcSU" and part.dtype.metadata is None


def _unpacked(packed: bytes) -> Any:
    with untold():
        return pickle.loads(packed)  # noqa: S301 - packed here, or by our own workers


def _arrived(thing: Any) -> Any:
    """Return something as it would be after it has travelled, or as it is if it cannot."""
    return attempt(partial(_there_and_back, thing), lambda _: thing)


def _there_and_back(thing: Any) -> Any:
    with _apart(thing):
        return pickle.loads(_dumped(thing))  # noqa: S301 - packed here


def _travel_seconds(thing: Any) -> float:
    """Return about how long something takes to be packed, sent and unpacked; infinite if it cannot be."""
    start = perf_counter()
    packed = _packed(thing)
    return inf if packed is None else 3 * (perf_counter() - start)


def _parallel(n_jobs: int | None) -> Any:
    """Return joblib's means of spreading tasks, which gives what is done as it is done where it can."""
    how = {"n_jobs": n_jobs, "batch_size": 1}
    try:
        return Parallel(return_as="generator", **how)
    except ValueError:  # a backend of others may have to wait for all
        return Parallel(**how)
