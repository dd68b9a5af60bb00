"""The one exception whose text the command line shows as it is."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Refusal", "public"]


class Refusal(Exception):  # noqa: N818 - it is no error of the program
    """Something the user asked for is refused; the text holds nothing private."""


@contextmanager
def public() -> Iterator[None]:
    """Show the text of a ValueError or TypeError: within, only public things are looked at."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise Refusal(" ".join(str(error).split())) from None
