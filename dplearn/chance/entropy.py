"""Dice that draw from the operating system's entropy: the default, and the only dice for published releases.

Small requests are served from a buffer, to save system calls. A lock protects the buffer from concurrent
threads. A forked child discards it, also after a fork outside Python, so that two processes never draw the
same noise. Used bytes are overwritten, so that the memory does not contain noise that was already drawn. The
dice themselves hold no bytes and cannot be pickled.
"""

import os
import threading

from dplearn.chance.sampling import ByteDice

_CHUNK = 1 << 16


class _Entropy:
    """Uniform bytes from the operating system."""

    def __init__(self) -> None:
        self.discard()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.discard)

    def discard(self) -> None:
        """Replace the buffer and the lock, which in a forked child may be held by a thread of the parent."""
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._buffer = bytearray()
        self._used = 0

    def take(self, count: int) -> bytes:
        """Return `count` fresh bytes; no byte is returned twice."""
        if count < 0 or count > _CHUNK // 4:
            return os.urandom(count)  # raises ValueError for a negative number
        if self._owner != os.getpid():  # a fork outside Python does not call `discard`
            self.discard()
        with self._lock:
            if self._used + count > len(self._buffer):
                self._buffer[:] = os.urandom(_CHUNK)
                self._used = 0
            start, self._used = self._used, self._used + count
            taken = bytes(self._buffer[start : self._used])
            self._buffer[start : self._used] = bytes(count)
            return taken


_entropy = _Entropy()


class SystemDice(ByteDice):
    """Dice that draw fresh entropy from the operating system."""

    def _bytes(self, count: int) -> bytes:
        return _entropy.take(count)
