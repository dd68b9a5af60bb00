"""By day, dice of tests draw from a stream that the test's name determines: what passed once passes again.

Many tests look at draws, and some have outcomes that fail them with a small probability. Among sixteen
thousand tests such a failure comes with every other run, on changes that have nothing to do with it. So each
test, each setup of a fixture and each module's import has a stream of its own, in any order and any process.
A test fails when code or test changes, and then repeats. At night, and with `--entropy system`, dice draw
from the operating system as users' do; so they do in forked processes, and in tests marked `system_entropy`.
"""

import os
import random
from contextlib import contextmanager

import numpy as np

from dplearn.chance import sources

__all__ = ["draws_of", "system_draws"]


class _Stream:
    """Bytes that a name determines, in the process that opened the stream."""

    def __init__(self, name: str):
        self.owner = os.getpid()
        self.random = random.Random(name)

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if os.getpid() != self.owner:
            return os.urandom(count)
        return self.random.randbytes(count)


def _put(take):
    """Let the entropy of all dice come from `take`, or from the operating system; return what was there."""
    before = vars(sources.system_entropy).pop("take", None)
    if take is not None:
        sources.system_entropy.take = take
    return before


@contextmanager
def draws_of(name: str):
    """Let dice, and the generators of `random` and numpy, draw what this name determines."""
    before = _put(_Stream(name).take)
    random.seed(name)
    np.random.seed(random.getrandbits(32))
    try:
        yield
    finally:
        _put(before)


@contextmanager
def system_draws():
    """Let dice draw from the operating system."""
    before = _put(None)
    try:
        yield
    finally:
        _put(before)
