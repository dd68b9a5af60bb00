"""Which process this is; its number does not tell, for numbers are used again and containers repeat them.

>>> process_identity() == process_identity()
True
"""

import os

__all__ = ["process_identity"]


class _Process:
    """Compared by identity alone."""


_this = _Process()


def process_identity() -> object:
    """Return what is the same, and equal, all through one process, and not equal in a forked child."""
    return os.getpid(), _this  # the number, for a fork that Python does not know of


def _renew() -> None:
    global _this
    _this = _Process()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
