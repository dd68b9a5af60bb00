"""Dice that draw from the operating system's entropy, the default, and reproducible dice, for tests only.

Only the former make releases that may be published. They serve small requests from a buffer, under a lock. A
forked child discards it, so that two processes never draw the same noise, and used bytes are overwritten. The
dice cannot be pickled.
"""

import hashlib
import os
import threading
import warnings
from functools import cache
from typing import Any

from dplearn.chance.dice import Dice
from dplearn.chance.sampling import ByteDice

CHUNK = 1 << 16


class Entropy:
    """Uniform bytes from the operating system."""

    def __init__(self) -> None:
        self.discard()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.discard)

    def discard(self) -> None:
        """Replace the buffer and the lock, which in a forked child may be held by a thread of the parent."""
        self.lock = threading.Lock()
        self._owner = os.getpid()
        self.buffer = bytearray()
        self.used = 0

    def take(self, count: int) -> bytes:
        """Return `count` fresh bytes; no byte is returned twice."""
        if count < 0 or count > CHUNK // 4:
            return os.urandom(count)  # raises ValueError for a negative number
        if self._owner != os.getpid():  # a fork outside Python does not call `discard`
            self.discard()
        with self.lock:
            if self.used + count > len(self.buffer):
                self.buffer[:] = os.urandom(CHUNK)
                self.used = 0
            start, self.used = self.used, self.used + count
            taken = bytes(self.buffer[start : self.used])
            self.buffer[start : self.used] = bytes(count)
            return taken


system_entropy = Entropy()


class SystemDice(ByteDice):
    """Dice that draw fresh entropy from the operating system."""

    def _bytes(self, count: int) -> bytes:
        return system_entropy.take(count)


_BLOCK = 1 << 13
_SEEDED = (
    "random_state is set: the result is reproducible and not private, since a person who knows or guesses"
    " the seed can subtract the noise; leave random_state=None for private data"
)


class SeededDice(ByteDice):
    """Dice with a stream that is determined by a seed and a context.

    Parameters
    ----------
    seed : int
        Any integer.
    *context : object
        The purpose of the draws. The stream depends on the `repr` of the context, so that two learners, or
        one learner at two budgets, have independent noise for the same seed.

    Notes
    -----
    The stream is SHAKE-128 in counter mode, the same on every machine and for every version of numpy.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> one, other = SeededDice(0, "an example"), SeededDice(0, "an example")
    >>> [one.below(6) for _ in range(9)] == [other.below(6) for _ in range(9)]
    True
    """

    def __init__(self, seed: int, *context: object):
        self._key = hashlib.sha256(repr((int(seed), context)).encode()).digest()
        self._counter = 0
        self._buffer = b""

    def _bytes(self, count: int) -> bytes:
        while len(self._buffer) < count:
            block = self._key + self._counter.to_bytes(16, "big")
            self._buffer += hashlib.shake_128(block).digest(max(_BLOCK, count))
            self._counter += 1
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def dice_for(random_state: Any, *context: object, warns: bool = True) -> Dice:
    """Return the dice for a `random_state`.

    Parameters
    ----------
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        None: `SystemDice`. Otherwise reproducible `SeededDice`, for tests only.
    *context : object
        The purpose of the draws.
    warns : bool, default=True
        Whether a seed gives a warning, once a process; False for choices that are public.

    Examples
    --------
    >>> from dplearn.chance import dice_for
    >>> type(dice_for(None)).__name__, type(dice_for(0)).__name__
    ('SystemDice', 'SeededDice')
    """
    if random_state is None:
        return SystemDice()
    if warns:
        warn_once()
    if not isinstance(random_state, bool):
        if hasattr(random_state, "__index__"):
            return SeededDice(int(random_state), *context)
        if hasattr(random_state, "bytes"):
            return SeededDice(int.from_bytes(random_state.bytes(32), "big"), *context)
    raise TypeError(
        "random_state must be None, an integer or a numpy random generator,"
        f" got {type(random_state).__name__}"
    )


@cache  # every `catch_warnings` resets Python's own registry of warnings that are shown once
def warn_once() -> None:
    warnings.warn(_SEEDED, UserWarning, stacklevel=3)
