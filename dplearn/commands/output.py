"""Safe writing of output files: never over an input, and atomically."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dplearn.commands.refusal import Refusal

__all__ = ["check_out", "replacing"]

_SQLITE = b"SQLite format 3\0"  # the first bytes of a ledger


def check_out(out: Path, *inputs: Path | None) -> None:
    """Raise an error if the folder of `out` does not exist, or if `out` is an input or a ledger."""
    if not out.resolve().parent.is_dir() or (out.exists() and not out.is_file()):
        raise Refusal(f"--out must be a file in a folder that exists, got {out}")
    for path in inputs:
        if path is not None and same_file(out, path):
            raise Refusal(f"--out must not be a file that this command reads, got {out}")
    if out.exists():
        with out.open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                raise Refusal(f"--out must not be a ledger, got {out}")


def same_file(one: Path, other: Path) -> bool:
    """Return True if both paths lead to one file."""
    with suppress(OSError):
        return one.samefile(other)  # resolves links and other spellings
    return one.resolve() == other.resolve()


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Yield the path of a draft beside `out`, which replaces `out` once it is complete."""
    target = out.resolve()
    draft = target.with_name(f".out-{os.urandom(8).hex()}")
    try:
        yield draft
        os.replace(draft, target)
    finally:
        with suppress(OSError):
            draft.unlink()
