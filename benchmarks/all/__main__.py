"""All comparisons with peers in one record: accuracy, speed, memory, bad input and leaks.

    python benchmarks/all [--data FOLDER] [--environments FOLDER] [--mechanisms FOLDER] [--peers NAME,...]
        [--parts accuracy,checks,speed] [--tables NAME,...] [--epsilons .1,1,3] [--repetitions 5]
        [--jobs 2] [--patience 900] [--again NAME,...] [--json PATH]

The record is written after each fit. Run again, it goes on where it stopped; `--again` asks peers, or parts,
anew. A fit of a synthesizer takes most of a minute; `--peers sklearn,dplearn,diffprivlib,interpret` leaves
them out.

Accuracy: on the tables of `tables.py`, on which no default of ours was chosen (Adult aside), each repetition
on a split of its own; accuracy and area under the ROC curve of labels, R^2 of numbers. All get the same rows,
and are told the same ends of columns, categories, labels and ends of the target, where they have a way to be
told; the files in `peers` say what each gets. All else is the default. delta is 1e-6, or 0 where a learner
takes none. Neighbours of ours replace a record; those of peers add or remove one, which is up to twice as
weak (but diffprivlib's logistic regression replaces one, too). Synthesizers get 16 public bins a column, and
fit each table and epsilon once.

Checks: what learners do with bad input, and what they publish beside what they claim: see `checks.py`.

Speed: CPU seconds of a fit of Adult (without `--data` of Fertility) at epsilon 1, and the memory above that
before, each in a process of its own, in rounds in which all take turns. Synthesizers are left out.

Peers run in environments of their own in `--environments`, made by pip where absent. MST of private-pgm is
not on PyPI: `--mechanisms` names the folder `mechanisms` of its repository (commit 4d2b3c5).
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE)]

from checks import cells_of  # noqa: E402
from environments import answers, python_of, versions_of  # noqa: E402
from record import Record  # noqa: E402
from side_by_side import RESULTS  # noqa: E402
from tables import TABLES, table_of  # noqa: E402
from tasks import DELTA, saved  # noqa: E402

PARTS = ("accuracy", "checks", "speed")
EPSILONS, REPETITIONS, ROUNDS = (1.0, 0.1, 3.0), 5, 2
#: Learners of labels, and of numbers.
LEARNERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sklearn": (
        ("DummyClassifier", "LogisticRegression", "HistGradientBoostingClassifier"),
        ("DummyRegressor", "Ridge", "HistGradientBoostingRegressor"),
    ),
    "dplearn": (
        (
            "AdditiveClassifier",
            "StatisticalQueryLogisticRegression",
            "StatisticalQueryNaiveBayes",
            "ExponentialMechanismClassifier",
        ),
        ("AdditiveRegressor", "LinearRegressor"),
    ),
    "diffprivlib": (("LogisticRegression", "GaussianNB", "RandomForestClassifier"), ("LinearRegression",)),
    "interpret": (("DPExplainableBoostingClassifier",), ("DPExplainableBoostingRegressor",)),
    "opendp": (("MST, linear", "MST, boosting"),) * 2,
    "private_pgm": (("MST, linear", "MST, boosting"),) * 2,
    "smartnoise": (("MST, linear", "MST, boosting"),) * 2,
}
SYNTHESIZERS = ("opendp", "private_pgm", "smartnoise")
TWO_LABELS = ("DPExplainableBoostingClassifier",)

Cell = dict[str, Any]


def accuracy_cells(peer: str, name: str, n_labels: int, options: argparse.Namespace) -> Iterator[Cell]:
    """Yield what a peer is asked about a table: a synthesizer once, all others for each repetition."""
    learners = LEARNERS[peer][0 if n_labels else 1]
    repetitions = 1 if peer in SYNTHESIZERS else options.repetitions
    for repetition in range(repetitions):
        for epsilon in (None,) if peer == "sklearn" else options.epsilons:
            for learner in learners:
                if learner not in TWO_LABELS or n_labels == 2:
                    yield {
                        "part": "accuracy",
                        "peer": peer,
                        "learner": learner,
                        "table": name,
                        "epsilon": epsilon,
                        "repetition": repetition,
                    }


def speed_cells(peer: str, name: str) -> Iterator[Cell]:
    """Yield what a peer is asked for its time, round after round."""
    for repetition in range(ROUNDS):
        for learner in LEARNERS[peer][0]:
            if not learner.startswith("Dummy"):
                yield {
                    "part": "speed",
                    "peer": peer,
                    "learner": learner,
                    "table": name,
                    "epsilon": None if peer == "sklearn" else 1.0,
                    "repetition": repetition,
                }


def ask(record: Record, peer: str, cells: list[Cell], options: argparse.Namespace, **request: Any) -> None:
    """Ask a peer for what the record lacks, and add each answer as it comes."""
    left = record.missing(cells)
    if not left:
        return
    program = [str(HERE / "worker.py"), str(HERE / "peers" / f"of_{peer}.py")]
    request = {"cells": left, **request}
    found = answers(options.pythons[peer], program, request, options.patience, **options.variables)
    for cell, answer in zip(left, found, strict=True):
        record.add(cell, answer)
        shown = {name: value for name, value in answer.items() if name not in ("wall", "above")}
        print(*(str(value) for value in cell.values()), shown, flush=True)


def tasks(options: argparse.Namespace, folder: Path, record: Record) -> dict[str, tuple[Path, int]]:
    """Write the tables where workers find them; return the file and the number of labels of each."""
    found, notes, about = {}, {}, {}
    for name in options.tables:
        try:
            problem = table_of(name, options.data, options.repetitions)
        except (OSError, ValueError) as error:
            notes[name] = f"{type(error).__name__}: {error}"
            continue
        path = folder / f"{name}.npz"
        saved(problem, options.repetitions, options.data, path)
        private, _, tested = problem.splits[0]
        n_labels = 0 if problem.target else len(problem.labels)
        columns = len(problem.numbers) + len(problem.categories)
        about[name] = {"private": len(private), "tested": len(tested), "columns": columns, "labels": n_labels}
        found[name] = path, n_labels
    record.about["tables"] = record.about.get("tables", {}) | about
    record.about["not_run"] = notes
    return found


def run(record: Record, options: argparse.Namespace, folder: Path) -> None:
    """Fill the record, what is fast first."""
    known = tasks(options, folder, record)
    fast = [peer for peer in options.peers if peer not in SYNTHESIZERS]
    slow = [peer for peer in options.peers if peer in SYNTHESIZERS]
    if "accuracy" in options.parts:
        for repetition in range(options.repetitions):
            ask_about(product(known, fast), "repetition", repetition, known, record, options)
    if "checks" in options.parts:
        at_once(lambda peer: ask(record, peer, cells_of(peer), options), options.peers, options)
    if "speed" in options.parts and known:
        time_all(fast, known, record, options)
    if "accuracy" in options.parts:
        small_first = sorted(known, key=lambda name: record.about["tables"][name]["private"])
        for epsilon in options.epsilons:
            ask_about(product(small_first, slow), "epsilon", epsilon, known, record, options)


def at_once(act: Callable[[Any], None], things: Iterable[Any], options: argparse.Namespace) -> None:
    """Act on things, as many at a time as there may be jobs."""
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(act, things))


def ask_about(
    pairs: Iterable[tuple[str, str]],
    entry: str,
    value: Any,
    known: dict[str, tuple[Path, int]],
    record: Record,
    options: argparse.Namespace,
) -> None:
    """Ask peers about tables, given in pairs: the cells of which an entry has a value."""

    def ask_one(pair: tuple[str, str]) -> None:
        name, peer = pair
        path, n_labels = known[name]
        cells = accuracy_cells(peer, name, n_labels, options)
        ask(record, peer, [cell for cell in cells if cell[entry] == value], options, task=str(path))

    at_once(ask_one, pairs, options)


def time_all(
    peers: list[str],
    known: dict[str, tuple[Path, int]],
    record: Record,
    options: argparse.Namespace,
) -> None:
    """Ask for times on the first table, a process for each fit, all in turn."""
    name, (path, _) = next(iter(known.items()))
    for repetition in range(ROUNDS):
        for peer in peers:
            for cell in speed_cells(peer, name):
                if cell["repetition"] == repetition:
                    ask(record, peer, [cell], options, task=str(path))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/all", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--environments", type=Path, default=RESULTS / "environments", help="made if absent")
    parser.add_argument("--mechanisms", type=Path, help="the folder `mechanisms` of private-pgm")
    parser.add_argument("--peers", default=",".join(LEARNERS), help="comma-separated")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated")
    parser.add_argument("--tables", default=",".join(TABLES), help="comma-separated")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)), help="comma-separated")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="synthesizers: one")
    parser.add_argument("--jobs", type=int, default=1, help="peers that are asked at a time, a core each")
    parser.add_argument("--patience", type=float, default=900.0, help="seconds that one fit may take")
    parser.add_argument("--again", default="", help="peers or parts that are asked anew, comma-separated")
    parser.add_argument("--json", type=Path, default=RESULTS / "compare.json", help="the record")
    options = parser.parse_args()
    for name, known in (("peers", LEARNERS), ("parts", PARTS), ("tables", TABLES)):
        values = getattr(options, name).split(",")
        if unknown := set(values) - set(known):
            parser.error(f"--{name} are of {', '.join(known)}, got {', '.join(sorted(unknown))}")
        setattr(options, name, values)
    options.epsilons = [float(each) for each in options.epsilons.split(",")]
    options.again = set(filter(None, options.again.split(",")))
    return options


def main() -> int:
    options = parsed()
    if options.mechanisms is None and "private_pgm" in options.peers:
        print("private_pgm: not run; name its folder with --mechanisms", file=sys.stderr)
        options.peers.remove("private_pgm")
    options.variables = {"PRIVATE_PGM_MECHANISMS": str(options.mechanisms), "JAX_PLATFORMS": "cpu"}
    pythons = {peer: python_of(peer, options.environments) for peer in options.peers}
    options.pythons = {peer: python for peer, python in pythons.items() if python is not None}
    options.peers = list(options.pythons)
    record = Record(options.json)
    record.forget(lambda cell: {cell["part"], cell["peer"]} & options.again)
    machine = {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()}
    record.about["machine"] = machine | {"python": platform.python_version(), "delta": DELTA}
    known = record.about.get("environments", {})
    record.about["environments"] = known | {
        peer: versions_of(python) for peer, python in options.pythons.items()
    }
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        run(record, options, Path(folder))
    record.write()
    print(f"{len(record.cells)} cells in {options.json}; {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
