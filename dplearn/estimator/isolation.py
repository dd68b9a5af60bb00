"""Isolate models on private rows from the program and from each other: teachers, scored models, candidates.

Each model starts numpy's and Python's global random generators from its own public seed, and both are
restored: the next draw would reveal the number of a model's draws. Changes to floating-point errors, warning
filters and scikit-learn's configuration end with the turn. Printed output and records of `logging` are
discarded, those of other threads too, and parallel code runs sequentially. An exception counts as a failure;
only `KeyboardInterrupt` stops the program, as a new object without the model's text.

Not isolated are output of native code, packages for logs other than `logging`, and state such as class
attributes.
"""

import logging
import os
import random  # noqa: TID251 - nothing is drawn from it; its state is saved and restored
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

import numpy as np
import sklearn
from joblib import parallel_config
from numpy.random import MT19937, mtrand  # noqa: TID251 - as above
from threadpoolctl import ThreadpoolController, threadpool_limits  # type: ignore[import-untyped]

from dplearn.kernels.float_errors import scipy_errors_ignored
from dplearn.privacy.privacy_filter import LedgerError

Outcome = TypeVar("Outcome")

#: The default handling of floating-point errors in numpy; the stubs do not allow call=None.
_DEFAULTS: Any = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn", "call": None}

_HIDDEN = "a model failed with an error that is hidden because it might quote records"
_SEEDS = 1 << 32  # numpy takes seeds below this

# The global generator of numpy may have been replaced by one that cannot be seeded.
_teachers_own = MT19937(0)
_one_at_a_time = threading.RLock()
_kept = False  # whether the thread that holds the lock has saved the generators

# `warnings.catch_warnings` saves and restores state that all threads share. If each thread entered its own,
# the last thread to exit could restore the filters of another thread's context, and warnings would stay
# suppressed for ever. So the first thread enters one shared context, and the last thread exits it.
warnings_lock = threading.RLock()
_inside: set[object] = set()
_caught: Any = None


def _renew_lock() -> None:
    """Make a new lock in a forked child: a thread that exists in the parent only may hold the old one."""
    global _one_at_a_time, _kept
    _one_at_a_time, _kept = threading.RLock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def attempt(work: Callable[[], Outcome], otherwise: Callable[[BaseException], Outcome]) -> Outcome:
    """Return the result of `work`, or `otherwise` for any error, also of a compiled library, but
    `KeyboardInterrupt`, which is replaced by a new one: errors depend on the shard.
    """
    failure = None
    try:
        return work()
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        failure = error
    try:  # outside of the handlers, so that no exception has this one as its context
        if failure is None:
            raise KeyboardInterrupt
        return otherwise(failure)
    finally:
        failure = None  # it refers to this frame


def alone(work: Callable[[], Any], otherwise: Callable[[BaseException], Any] = lambda _: None) -> Any:
    """Return what a model makes of private rows; never around a pass over parts, whose threads would wait."""

    def taken() -> Any:
        with isolated_turn():
            return work()

    with muted_output():
        return attempt(taken, otherwise)


def reraised(error: BaseException) -> NoReturn:
    """Raise the exception of a private learner, whose text is public; an exit is raised without its text."""
    if isinstance(error, (Exception, LedgerError)):
        raise error
    raise SystemExit(1) if isinstance(error, SystemExit) else RuntimeError(_HIDDEN)


def learner_alone(
    learner: Any, work: Callable[[], Any], otherwise: Callable[[BaseException], Any] = reraised
) -> Any:
    """Return what a private learner makes of private rows; the classes of dplearn need no isolation."""
    ours = type(learner).__module__.partition(".")[0] == "dplearn"
    return work() if ours else alone(work, otherwise)


@contextmanager
def isolated() -> Iterator[None]:
    """Save the global generators and output streams, and restore them after the teachers' turns.

    One thread at a time is inside; others wait. A thread outside of the context that draws from a global
    generator draws from the same generator as the teacher. Only the outermost of nested contexts saves and
    restores, which takes as long as a small fit.
    """
    global _kept
    with _one_at_a_time:
        if _kept:
            yield
            return
        restore = _restoring()
        try:
            _kept = True
            yield
        finally:
            try:
                restore()
            except BaseException:  # an interrupt
                restore()
                raise
            finally:
                _kept = False


def _restoring() -> Callable[[], None]:
    """Return a function that restores the shared state to what it is now."""
    kind, state = mtrand.get_bit_generator(), mtrand.get_state(legacy=False)
    others, out, err = random.getstate(), sys.stdout, sys.stderr
    loggers = [each for each in [*logging.root.manager.loggerDict.values()] if hasattr(each, "handlers")]
    kept = [vars(each) | {"handlers": each.handlers[:], "_cache": {}} for each in loggers]

    def restore() -> None:
        mtrand.set_bit_generator(kind)
        mtrand.set_state(state)
        random.setstate(others)
        sys.stdout, sys.stderr = out, err
        for logger, known in zip(loggers, kept, strict=True):
            vars(logger).update(known)

    return restore


@contextmanager
def turn(seed: int) -> Iterator[None]:
    """Give the shared state to one teacher, with generators from a public seed; only inside `isolated`."""
    mtrand.set_bit_generator(_teachers_own)
    mtrand.seed(seed % _SEEDS)
    random.seed(seed)
    with (
        warnings.catch_warnings(),
        np.errstate(**_DEFAULTS),
        scipy_errors_ignored(),  # scipy's default
        sklearn.config_context(),
        parallel_config(backend="sequential"),
        open(os.devnull, "w", encoding="utf-8", errors="backslashreplace") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        _no_records(),
    ):
        yield


@contextmanager
def isolated_turn() -> Iterator[None]:
    """Give a turn to code that handles an object of a teacher, such as its pickle."""
    with isolated(), turn(0):
        yield


@contextmanager
def _no_records() -> Iterator[None]:
    """Discard the records of all loggers, and restore the root logger: a first message adds a handler."""
    root, logger = logging.root, logging.Logger
    asked, handled = logger.isEnabledFor, logger.handle
    handlers, level, disabled = root.handlers[:], root.level, root.manager.disable
    # Levels are not used: a model may change them. No record is made, which filters and factories would see.
    logger.isEnabledFor = lambda *_: False  # type: ignore[method-assign]
    logger.handle = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        logger.isEnabledFor, logger.handle = asked, handled  # type: ignore[method-assign]
        root.handlers = handlers
        root.setLevel(level)
        logging.disable(disabled)


@contextmanager
def muted_output() -> Iterator[None]:
    """Suppress warnings while any thread is inside; an interrupt at any time restores the filters too."""
    visit = object()
    try:
        with warnings_lock:
            _inside.add(visit)
            _begin()
        yield
    finally:
        try:
            _leave(visit)
        except BaseException:  # an interrupt; leaving twice is harmless
            _leave(visit)
            raise


def _begin() -> None:
    global _caught
    if _caught is None:
        # Warnings are recorded and dropped: so filters that would show them have no effect.
        _caught = warnings.catch_warnings(record=True)
        _caught.__enter__()
        warnings.simplefilter("ignore")


def _leave(visit: object) -> None:
    global _caught
    with warnings_lock:
        _inside.discard(visit)
        if not _inside and _caught is not None:
            _end()
            _caught = None


def _end() -> None:
    # `catch_warnings` saves everything before it changes anything: if it cannot exit, it has changed nothing.
    with suppress(RuntimeError, AttributeError):
        _caught.__exit__(None, None, None)


def native_threads(openmp: int | None) -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread, and OpenMP to a number of threads (None: here, to none): shards are
    small, and with one thread a teacher's sums are rounded the same in every process.
    """
    return (
        _linear_algebra().limit(limits=1)
        if openmp is None
        else threadpool_limits({"blas": 1, "openmp": openmp})
    )


@lru_cache(maxsize=1)
def _linear_algebra() -> Any:
    """Return the libraries for linear algebra that scikit-learn has loaded; the search for them is slow."""
    return ThreadpoolController().select(user_api="blas")
