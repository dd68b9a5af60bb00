"""The exception whose message the command line shows to the user."""

from collections.abc import Iterator
from contextlib import contextmanager


class Refusal(Exception):  # noqa: N818 - not an error of the program
    """Raised for an invalid request of the user; the message contains nothing private."""


@contextmanager
def public() -> Iterator[None]:
    """Convert a ValueError or TypeError into a `Refusal`; the code inside must read public values only."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise Refusal(" ".join(str(error).split())) from None
