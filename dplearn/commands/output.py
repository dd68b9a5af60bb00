"""Writing what a command makes: never over what it reads, and all of it or nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dplearn.commands.refusal import Refusal

__all__ = ["check_out", "replacing"]

_SQLITE = b"SQLite format 3\0"  # how a ledger begins


def check_out(out: Path, *inputs: Path | None) -> None:
    """Refuse to write where there is no folder, over one of the inputs, or over any ledger."""
    if not out.resolve().parent.is_dir() or (out.exists() and not out.is_file()):
        raise Refusal(f"--out must be a file in a folder that exists, got {out}")
    for path in inputs:
        if path is not None and _same(out, path):
            raise Refusal(f"--out must not be a file that this command reads, got {out}")
    if out.exists():
        with out.open("rb") as file:
            if file.read(len(_SQLITE)) == _SQLITE:
                raise Refusal(f"--out must not be a ledger, got {out}")


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)  # links and other spellings too
    return one.resolve() == other.resolve()


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Give a file to write beside `out`, and put it in the place of `out` once it is whole."""
    target = out.resolve()
    draft = target.with_name(f".out-{os.urandom(8).hex()}")
    try:
        yield draft
        os.replace(draft, target)
    finally:
        with suppress(OSError):
            draft.unlink()
