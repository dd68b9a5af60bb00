"""What tests of the command line share: commands run in this process, in a folder with some tables."""

import csv
import shlex
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dplearn.commands import main

#: A cell that no message and no file may hold.
SECRET = "Xq7-secret"


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Return what runs a command, as text or as its parts, in a folder, and returns what it did."""
    monkeypatch.chdir(tmp_path)

    def run(command, *more):
        given = shlex.split(command) if isinstance(command, str) else command
        try:
            status = main([str(each) for each in [*given, *more]])
        except SystemExit as stop:
            status = stop.code
        return SimpleNamespace(status=status, **capsys.readouterr()._asdict())

    return run


def is_refused(found, holds):
    """Check that a command was refused in one line that quotes no cell; raise AssertionError otherwise."""
    assert holds in found.err
    assert (found.status, found.out, found.err.count("\n")) == (2, "", 1)
    assert not any(word in found.err for word in ("Traceback", "warning", "withheld", SECRET))


@pytest.fixture
def refused(run):
    return lambda command, holds: is_refused(run(command), holds)


@pytest.fixture
def mixed(tmp_path):
    """Mixed cells in t.csv: numbers, text, gaps; the label follows the job."""
    jobs = ["farmer", "clerk", "", "miner"] * 100
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "job", "label"])
        writer.writerows(
            [20 + i % 50 if i % 7 else "", job, "yes" if job == "farmer" else "no"]
            for i, job in enumerate(jobs)
        )
    return tmp_path / "t.csv"


@pytest.fixture
def bits(tmp_path):
    """Bits in bits.csv, and public.csv, whose first column is the label: all learners support them."""
    columns = np.random.default_rng(0).integers(0, 2, (500, 5))
    frame = pd.DataFrame(columns, columns=list("abcde")).assign(label=np.where(columns[:, 0], "yes", "no"))
    for name in ("bits.csv", "public.csv"):
        frame.to_csv(tmp_path / name, index=False)
    return frame


def wages(n=1000):
    """Return numbers, words, gaps and a constant column; the wage follows age and job."""
    random = np.random.default_rng(0)
    age, job = random.integers(18, 80, n), random.choice(["clerk", "farmer", "miner", None], n)
    wage = 10 + age / 2 + 15 * (job == "farmer") + random.normal(0, 2, n)
    gaps = pd.Series(age, dtype=object).where(random.random(n) > 0.1)
    member = np.where(wage > 45, "yes", "no")
    return pd.DataFrame({"age": gaps, "job": job, "same": "x", "wage": wage.round(2), "member": member})
