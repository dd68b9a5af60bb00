"""The command line, `python -m dplearn`: a demonstration, fits and releases, ledgers and audits.

Only the module of the given command is imported. An error is one line on standard error, with exit status 2;
it quotes parameters and public descriptions, never a cell of a table.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from dplearn._version import __version__
from dplearn.commands.options import Refusal, in_options

_DESCRIPTION = (
    "Differentially private learners: a demonstration (the default), fit, predict, describe, synthetic,"
    " ledger, audit."
)
#: The module of each command, whose `add_NAME` adds the options, and its help.
_COMMANDS = {
    "demo": ("demo", "private against non-private accuracy on bundled data (default)"),
    "fit": ("table", "fit on a table in a file"),
    "predict": ("table", "predict with a fitted model"),
    "describe": ("releases", "release statistics of a table in a file"),
    "synthetic": ("releases", "write synthetic records of a table in a file"),
    "ledger": ("ledger", "show or make a privacy ledger"),
    "audit": ("audit", "verify guarantees by running every outcome"),
}


#: A list that begins with a negative number, such as -1,1, which argparse takes for the name of an option.
_NEGATIVE = re.compile(r"-\.?\d[^,]*,")


class _Parser(argparse.ArgumentParser):
    """A parser that reports an error as one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    given: list[str] = []
    for each in sys.argv[1:] if arguments is None else arguments:
        of_option = given and given[-1].startswith("--") and _NEGATIVE.match(each)
        given.append(f"{given.pop()}={each}" if of_option else each)
    parser = _Parser(prog="python -m dplearn", description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"dplearn {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    chosen = next((each for each in given if not each.startswith("-")), None)
    for name, (module, help_text) in _COMMANDS.items():
        command = commands.add_parser(name, help=help_text)
        if name == chosen:
            getattr(import_module(f"{__name__}.{module}"), f"add_{name}")(command)
    options = parser.parse_args(given)
    from dplearn.domains import DomainError  # more than a second of imports, which help does without
    from dplearn.privacy import LedgerError

    run = getattr(options, "run", None) or import_module(f"{__name__}.demo").run
    try:
        return int(run(options) or 0)
    except (Refusal, DomainError, LedgerError) as error:
        message = str(error).replace("missing=True) ", 'missing=True), "missing": true in JSON, ')
    except OSError as error:
        message = f"{error.filename or 'file'}: {error.strerror or type(error).__name__}"
    except KeyboardInterrupt:
        message = "interrupted"
    except Exception as error:
        message = (
            f"failed with {type(error).__name__}; the details are withheld, since they may quote the data"
        )
    sys.stderr.write(f"{parser.prog}: {in_options(message)}\n".replace("\r", " "))
    return 2
