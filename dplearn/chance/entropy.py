"""Dice that draw from the operating system: the default, and the only ones a guarantee may rest on.

Small requests are served from a buffer, since a system call costs more than a few bytes. The buffer is
locked against threads, thrown away when the process forks (two processes must never draw the same noise),
whoever forked it,
and wiped as it is used, so that memory read later shows no noise already drawn. Dice hold no bytes
themselves and refuse to be pickled.
"""

import os
import threading

from dplearn.chance.sampling import ByteDice

__all__ = ["SystemDice"]

_CHUNK = 1 << 16


class _Entropy:
    """Uniform bytes from the operating system."""

    def __init__(self) -> None:
        self.discard()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.discard)

    def discard(self) -> None:
        """Forget the buffer; a forked child's lock may be held by a thread that it does not have."""
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._buffer = bytearray()
        self._used = 0

    def take(self, count: int) -> bytes:
        """Return fresh bytes, each given out once."""
        if count < 0 or count > _CHUNK // 4:
            return os.urandom(count)  # which refuses a negative number
        if self._owner != os.getpid():  # forked by code that does not tell Python
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
    """Dice whose every draw is fresh entropy of the operating system."""

    def _bytes(self, count: int) -> bytes:
        return _entropy.take(count)
