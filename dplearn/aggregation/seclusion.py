"""Let a teacher work as if it were alone: what Python shares, no teacher reads from another or leaves behind.

Numpy and the standard library each have a generator that all code may draw from. How far a teacher has
drawn depends on its shard, and whoever draws next would know. So each begins from its own public seed, and
afterwards both generators are where they were. Each turn begins with the default handling of floating-point
errors in numpy and scipy; changes to it, to warning filters and to scikit-learn's settings end with the turn.
What a teacher prints goes nowhere. Its own parallel
work is done in turn: worker processes of it would have generators too, and would serve the next teacher with
them.

Not held apart are what a teacher logs, what native code prints without Python, and what code keeps in places
of its own, such as attributes of a class.

>>> with secluded():
...     with turn(1):
...         print(sum(range(10)))
"""

import logging
import os
import random  # noqa: TID251 - not to draw from: to keep teachers from drawing from it together
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TypeVar

import numpy as np
import scipy.special
import sklearn
from joblib import parallel_config
from numpy.random import MT19937, mtrand  # noqa: TID251 - as above

__all__ = ["attempt", "secluded", "turn", "untold"]

Outcome = TypeVar("Outcome")

#: How numpy and scipy handle floating-point errors unless told otherwise; the stubs know no call of None.
_DEFAULTS: Any = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn", "call": None}
_DEFAULTS_OF_SCIPY: Any = {"all": "ignore"}

_SEEDS = 1 << 32  # numpy's seeds are smaller

# Code may have given numpy a global generator of another kind, which cannot be seeded.
_teachers_own = MT19937(0)
_one_at_a_time = threading.RLock()
_kept = False  # whether the thread that holds the lock has kept the generators for the caller


def _renew_lock() -> None:
    """Forget, in a forked child, that a thread which is not there holds the lock."""
    global _one_at_a_time, _kept
    _one_at_a_time, _kept = threading.RLock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def attempt(work: Callable[[], Outcome], otherwise: Callable[[BaseException], Outcome]) -> Outcome:
    """Return what comes of work, or what stands for its failure, whatever kind of failure it is.

    Only the user's interrupt is none. Compiled libraries raise what is no `Exception`; and a teacher that
    wants to end the program has failed: that it does depends on its shard.

    Parameters
    ----------
    work : callable
        Takes nothing.
    otherwise : callable
        Takes what was raised.
    """
    try:
        return work()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return otherwise(error)


@contextmanager
def secluded() -> Iterator[None]:
    """Keep the global generators for the caller, while teachers take turns with them.

    Another thread that would do the same waits. One that draws from a global generator meanwhile draws from
    a teacher's. Where it is entered within itself, the outermost does all: keeping costs as much as a small
    fit.
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
    """Return a function that makes what teachers share what it is now."""
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
    """Let one teacher work; only to be used inside `secluded`.

    Parameters
    ----------
    seed : int
        Public. Where the global generators begin.
    """
    mtrand.set_bit_generator(_teachers_own)
    mtrand.seed(seed % _SEEDS)
    random.seed(seed)
    with (
        warnings.catch_warnings(),
        np.errstate(**_DEFAULTS),
        scipy.special.errstate(**_DEFAULTS_OF_SCIPY),
        sklearn.config_context(),
        parallel_config(backend="sequential"),
        open(os.devnull, "w", encoding="utf-8", errors="backslashreplace") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        _handlers_kept(),
    ):
        yield


@contextmanager
def untold() -> Iterator[None]:
    """Handle something of a teacher, such as its pickle, in a turn of its own."""
    with secluded(), turn(0):
        yield


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Forget the handler that a first message makes: it would tell that there was one, and write nowhere."""
    root = logging.root
    handlers, level, disabled = root.handlers[:], root.level, root.manager.disable
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
        root.manager.disable = disabled
