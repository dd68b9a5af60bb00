"""Isolate teachers from each other: no global state of the interpreter passes from one to the next.

numpy and the standard library each have a global random generator. The number of a teacher's draws from it
depends on its shard, and the next draw from the same generator would reveal that number. So each teacher
starts both generators from its own public seed, and afterwards both are restored. Each turn starts with the
default handling of floating-point errors in numpy and scipy. Changes to this handling, to warning filters and
to scikit-learn's configuration end with the turn. Printed output is discarded. Parallel code inside a teacher
runs sequentially: its worker processes would have generators of their own, and would serve the next teacher
too.

Not isolated are log messages, output that native code writes without Python, and state that code keeps
elsewhere, such as class attributes.

>>> with isolated():
...     with turn(1):
...         print(sum(range(10)))
"""

import logging
import os
import random  # noqa: TID251 - nothing is drawn from it; its state is saved and restored
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TypeVar

import numpy as np
import sklearn
from joblib import parallel_config
from numpy.random import MT19937, mtrand  # noqa: TID251 - as above

from dplearn.core.float_errors import scipy_errors_ignored

__all__ = ["attempt", "isolated", "isolated_turn", "turn"]

Outcome = TypeVar("Outcome")

#: The default handling of floating-point errors in numpy; the stubs do not allow call=None.
_DEFAULTS: Any = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn", "call": None}

_SEEDS = 1 << 32  # numpy takes seeds below this

# The global generator of numpy may have been replaced by one that cannot be seeded.
_teachers_own = MT19937(0)
_one_at_a_time = threading.RLock()
_kept = False  # whether the thread that holds the lock has saved the generators


def _renew_lock() -> None:
    """Make a new lock in a forked child: a thread that exists in the parent only may hold the old one."""
    global _one_at_a_time, _kept
    _one_at_a_time, _kept = threading.RLock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def attempt(work: Callable[[], Outcome], otherwise: Callable[[BaseException], Outcome]) -> Outcome:
    """Return the result of `work`, or of `otherwise` if it raises anything but `KeyboardInterrupt`.

    Compiled libraries raise exceptions that are not an `Exception`, and a teacher may raise `SystemExit`.
    Both depend on its shard, so both count as failures.

    Parameters
    ----------
    work : callable
        Takes no argument.
    otherwise : callable
        Takes the exception.
    """
    try:
        return work()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return otherwise(error)


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

    def restore() -> None:
        mtrand.set_bit_generator(kind)
        mtrand.set_state(state)
        random.setstate(others)
        sys.stdout, sys.stderr = out, err

    return restore


@contextmanager
def turn(seed: int) -> Iterator[None]:
    """Give the shared state to one teacher; only to be used inside `isolated`.

    Parameters
    ----------
    seed : int
        Public. Seeds the global generators.
    """
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
        _handlers_kept(),
    ):
        yield


@contextmanager
def isolated_turn() -> Iterator[None]:
    """Give a turn to code that handles an object of a teacher, such as its pickle."""
    with isolated(), turn(0):
        yield


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Restore the root logger: the first message adds a handler, which would reveal the message."""
    root = logging.root
    handlers, level, disabled = root.handlers[:], root.level, root.manager.disable
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
        root.manager.disable = disabled
