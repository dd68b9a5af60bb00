"""What all commands share: options as tables, and the exception whose message the command line shows."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NEEDED: Mapping[str, Any] = {"required": True}
PATH: Mapping[str, Any] = {"type": Path}
FLAG: Mapping[str, Any] = {"action": "store_true"}
LIST = "A,B,..."
#: What messages of the library advise, as patterns, and the option that does the same.
_OPTIONS = {
    r"domain=(Schema\(\.\.\.\)|(?=[,;]|$))": "--schema FILE",
    r"as 'dates'": "by --dates",
}

#: The name, the metavar, the help, and further arguments of argparse.
Option = tuple[str, str | None, str] | tuple[str, str | None, str, Mapping[str, Any]]


class Refusal(Exception):  # noqa: N818 - not an error of the program
    """Raised for an invalid request of the user; the message contains nothing private."""


def in_options(text: str) -> str:
    """Return a text of the library with options of the command line for parameters."""
    for advised, option in _OPTIONS.items():
        text = re.sub(advised, option, text)
    return text


def warn(text: str) -> None:
    """Write a warning of the library, or of a command, as one line."""
    sys.stderr.write(f"python -m dplearn: warning: {in_options(text)}\n")


@contextmanager
def public() -> Iterator[None]:
    """Convert a ValueError or TypeError into a `Refusal`; the code inside must read public values only."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise Refusal(" ".join(str(error).split())) from None


def add_options(parser: Any, *options: Option) -> None:
    for name, metavar, text, *more in options:
        named = {} if metavar is None else {"metavar": metavar}
        parser.add_argument(name, help=text, **named, **dict(*more))
