"""What all benchmarks do: time contenders in turn, line up what came out, and write it down.

Other programs keep a machine busy now and then. Contenders called in turn, round after round, all meet that:
ratios in one run can be trusted where seconds of different runs, or machines, say little.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

__all__ = [
    "Contenders",
    "asked_of",
    "by_learner",
    "compared",
    "in_turn",
    "installed",
    "lined_up",
    "options_of",
    "peer",
    "public_generator",
    "shown",
    "write",
]

RESULTS = Path(__file__).parent / "results"

#: Who takes part, and what is timed; None where a peer is not installed.
Contenders = Mapping[str, Callable[[], object] | None]


def in_turn(
    calls: Contenders, rounds: int, patience: float = math.inf, warm: bool = False
) -> dict[str, list[float]]:
    """Return everybody's seconds, none for the absent; who has used up its patience is not called again.

    Warm is each after a call of its own that is not timed. Of a call of a millisecond, a third is spent on
    what others have left in the caches.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            if call is not None and sum(times[name]) < patience:
                if warm:
                    call()
                start = perf_counter()
                result = call()
                times[name].append(perf_counter() - start)
                del result  # its memory goes back: nobody is timed beside what others have left
    return times


def compared(
    calls: Contenders, ours: str, rounds: int, patience: float = math.inf, warm: bool = False
) -> list[dict[str, Any]]:
    """Return a row for each contender: its best time, and how many times the best of `ours` that is."""
    best = {name: min(times, default=None) for name, times in in_turn(calls, rounds, patience, warm).items()}
    return [
        {"by": name, "seconds": seconds, "times_ours": None if seconds is None else seconds / best[ours]}
        for name, seconds in best.items()
    ]


def shown(rows: Sequence[dict[str, Any]], question: str) -> str:
    """Return rows of `compared` as a table, whose first column is what each row has under `question`."""
    lines = [[question, "by", "seconds", "times ours"]]
    for row in rows:
        absent = row["seconds"] is None
        figures = ["absent", ""] if absent else [f"{row['seconds']:.6f}", f"{row['times_ours']:.2f}"]
        lines.append([row[question], row["by"], *figures])
    return lined_up(lines, left=2)


def lined_up(lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return lines of cells as a table, the first `left` columns flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def peer(module: str) -> Any:
    """Return a peer's module, or None where it is not installed.

    The models of diffprivlib 0.6.6 need an older scikit-learn, so that its import fails; its mechanisms and
    its accountant, which it imports first, are in place by then.
    """
    try:
        return import_module(module)
    except ImportError:
        return sys.modules.get(module)


def installed(package: str) -> str | None:
    """Return the version of a package, or None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def asked_of(python: str, program: str, *arguments: Any, **variables: str) -> list[float] | None:
    """Return what a program printed as JSON that another environment ran, or None if it failed."""
    command = [python, "-c", program, *map(str, arguments)]
    environ = {**os.environ, **variables}
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, env=environ)
    if run.returncode:
        print(run.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    return json.loads(run.stdout)


def public_generator() -> np.random.Generator:
    """Return numpy's generator, always the same: for public data, and as a peer."""
    return np.random.default_rng(0)


def options_of(name: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of the command line that knows `--json`; `description` is a benchmark's docstring."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument(
        "--json", type=Path, default=RESULTS / f"{name}.json", help="where results are written"
    )
    return parser


def by_learner(
    name: str,
    description: str,
    packages: Sequence[str],
    rows_of: Callable[..., list[dict[str, Any]]],
    shown: Callable[[list[dict[str, Any]]], str],
    rounds: int,
    **lists: Sequence[Any],
) -> int:
    """Measure each combination of numbers of rows and of other lists, which options can shorten; show and
    write the rows; return 1 if a bar is missed.
    """
    parser = options_of(name, description)
    parser.add_argument("--rounds", type=int, default=rounds)
    for option, values in lists.items():
        parser.add_argument(f"--{option}", default=",".join(map(str, values)), help="comma-separated")
    options = parser.parse_args()
    given = [getattr(options, option).split(",") for option in lists]
    rows: list[dict[str, Any]] = []
    for n, *others in product(*given):
        rows += rows_of(int(n), *others, options.rounds)
        print(json.dumps(rows[-1:]), file=sys.stderr, flush=True)
    print(shown(rows))
    write(options.json, packages, rows=rows)
    return int(any(row.get("passed") is False for row in rows))


def write(path: Path, packages: Sequence[str], **findings: Any) -> None:
    """Write what was found, and with which versions of `packages`, to a JSON file."""
    about = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {name: installed(name) for name in packages},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(about | findings, indent=2) + "\n")
