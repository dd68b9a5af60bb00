"""What does a charge cost, how does that grow with the ledger, and what is it beside a fit?

    python benchmarks/bench_ledger.py [--entries 10000] [--charges 200] [--rounds 5] [--folder F] [--json F]

Three tables. One charge, by one thread, by several and by processes, in turn with what a durable charge
cannot do without: a write to a file and its fsync, and a commit of SQLite (the same row, journal and
settings), once on a connection that stays open and once on one opened for it, as the ledger does. A charge
and what else is asked of a ledger that already has 0, 10, ... entries: what a charge takes must not grow. A
fit of the generic learner on breast cancer, without a ledger and charged. The files are made in `--folder`,
which should be on a disk: in memory nothing is ever synced. Bars: a charge at the most entries takes at most
twice what it takes at none; a charge to a file at most twice a SQLite commit on a connection of its own.
"""

import multiprocessing
import os
import sqlite3
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

from side_by_side import Contenders, compared, in_turn, lined_up, options_of, shown, write
from sklearn.datasets import load_breast_cancer

from dplearn.learners import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP, PrivacyLedger

BUDGET, COST = 10**9, ApproxDP(Fraction(1, 1000))
THREADS, PROCESSES = (1, 2, 8), 4
MEMORY, FILE = "memory", "SQLite file"
OURS, OPENED, KEPT, FSYNC = (
    f"{FILE}, 1 thread",
    "limit: SQLite, opened and committed",
    "limit: SQLite, committed",
    "limit: write and fsync",
)
ROW = "x" * 600  # about what the ledger writes for a charge
BAR_GROWTH, BAR_COMMIT = 2.0, 2.0


def ledger(path: Path | None = None) -> PrivacyLedger:
    return PrivacyLedger(BUDGET, path=path)


def charge(book: PrivacyLedger, times: int) -> None:
    for _ in range(times):
        book.charge(COST, estimator="a benchmark")


def charging(folder: Path, charges: int) -> Contenders:
    """Return who makes `charges` charges, each to a ledger of its own, and the limits."""
    calls: dict[str, Callable[[], object]] = {}
    for where in (MEMORY, FILE):
        for threads in THREADS:
            book = ledger(None if where == MEMORY else folder / f"{threads}-threads")
            name = f"{where}, {threads} thread{'s' if threads > 1 else ''}"
            calls[name] = lambda book=book, threads=threads: by_threads(book, threads, charges)
    calls[f"{FILE}, {PROCESSES} processes"] = by_processes(folder / "processes", charges)
    file = made(folder / "opened.db")
    return calls | {
        OPENED: lambda: [opened_and_committed(file) for _ in range(charges)],
        KEPT: committed(made(folder / "kept.db"), charges),
        FSYNC: written(folder / "plain", charges),
    }


def by_threads(book: PrivacyLedger, threads: int, charges: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(charge, [book] * threads, [charges // threads] * threads))


def by_processes(path: Path, charges: int) -> Callable[[], object]:
    """Return charges by processes that are started and warm beforehand."""
    book = ledger(path)
    pool = multiprocessing.get_context("spawn").Pool(PROCESSES)
    work = [(book, charges // PROCESSES)] * PROCESSES
    pool.starmap(charge, [(book, 1)] * PROCESSES, chunksize=1)
    return lambda: pool.starmap(charge, work, chunksize=1)


def connected(path: Path) -> sqlite3.Connection:
    """Return a connection with the ledger's settings."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")
    return db


def made(path: Path) -> Path:
    """Make a file with the ledger's journal and a table like its own."""
    with closing(connected(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT)")
    return path


def commit(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO entries (text) VALUES (?)", (ROW,))
    db.execute("COMMIT")


def opened_and_committed(path: Path) -> None:
    with closing(connected(path)) as db:
        commit(db)


def committed(path: Path, charges: int) -> Callable[[], object]:
    db = connected(path)
    return lambda: [commit(db) for _ in range(charges)]


def written(path: Path, charges: int) -> Callable[[], object]:
    file = path.open("ab", buffering=0)

    def run() -> None:
        for _ in range(charges):
            file.write(ROW.encode())
            os.fsync(file.fileno())

    return run


def rates(folder: Path, charges: int, rounds: int) -> list[dict[str, Any]]:
    """Return a row for each way to charge: seconds of one charge, and charges per second."""
    rows = []
    for row in compared(charging(folder, charges), OURS, rounds):
        seconds = row["seconds"] / charges
        rows.append(row | {"seconds": seconds, "per_second": 1 / seconds})
    return rows


def growth(folder: Path, most: int, rounds: int) -> list[dict[str, Any]]:
    """Return best seconds of what is asked of ledgers that have 0, 10, ... entries."""
    sizes = [0, *(10**k for k in range(1, 9) if 10**k < most), most]
    books = {MEMORY: ledger(), FILE: ledger(folder / "growing")}
    rows = []
    for size in sizes:
        for where, book in books.items():
            have = len(book.history())
            start = perf_counter()
            charge(book, size - have)
            added = perf_counter() - start
            times = in_turn(
                {
                    "charge": lambda book=book: charge(book, 1),
                    "remaining": book.remaining,
                    "spent": book.spent,
                    "history": book.history,
                    "open": None if book.path is None else lambda book=book: PrivacyLedger.open(book.path),
                },
                rounds,
            )
            best = {name: min(seconds, default=None) for name, seconds in times.items()}
            mean = {"mean_charge_since": added / (size - have) if size > have else None}
            rows.append({"ledger": where, "entries": size} | best | mean)
    return rows


def fits(folder: Path, rounds: int) -> list[dict[str, Any]]:
    X, y = load_breast_cancer(return_X_y=True)
    books = {
        "a fit, no ledger": None,
        "a fit, ledger in memory": ledger(),
        "a fit, ledger in a file": ledger(folder / "fits"),
    }

    def fit(book: PrivacyLedger | None) -> Callable[[], object]:
        return lambda: ExponentialMechanismClassifier(epsilon=1, classes=[0, 1], ledger=book).fit(X, y)

    calls = {name: fit(book) for name, book in books.items()}
    alone = ledger(folder / "alone")
    return compared(calls | {"a charge to a file": lambda: charge(alone, 1)}, "a fit, no ledger", rounds)


def growth_shown(rows: list[dict[str, Any]]) -> str:
    asked = ("charge", "remaining", "spent", "history", "open", "mean_charge_since")
    lines = [["ledger", "entries", *(name.replace("_", " ") for name in asked)]]
    for row in rows:
        cells = ["" if row[name] is None else f"{1000 * row[name]:.3f}" for name in asked]
        lines.append([row["ledger"], str(row["entries"]), *cells])
    return f"milliseconds\n{lined_up(lines)}"


def rates_shown(rows: list[dict[str, Any]]) -> str:
    lines = [["charges by", "milliseconds each", "per second", f"times {OURS}"]]
    for row in rows:
        figures = f"{1000 * row['seconds']:.3f}", f"{row['per_second']:.0f}", f"{row['times_ours']:.3f}"
        lines.append([row["by"], *figures])
    return lined_up(lines)


def bars(charges: list[dict[str, Any]], grown: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return each bar: what is wanted, what was found, and whether it is met."""
    found: dict[str, tuple[float, float]] = {}
    for where in (MEMORY, FILE):
        times = [row["charge"] for row in grown if row["ledger"] == where]
        found[f"{where}: a charge at the most entries, times one at none"] = times[-1] / times[0], BAR_GROWTH
    opened = next(row["times_ours"] for row in charges if row["by"] == OPENED)
    found["a charge to a file, times a SQLite commit on a connection of its own"] = 1 / opened, BAR_COMMIT
    return {words: {"bar": bar, "ours": x, "met": x <= bar} for words, (x, bar) in found.items()}


def main() -> None:
    parser = options_of("ledger", __doc__)
    parser.add_argument("--entries", type=int, default=10**4, help="of the longest ledger")
    parser.add_argument("--charges", type=int, default=200, help="timed together")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where files are made; a temporary one by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        charges = rates(folder, options.charges, options.rounds)
        grown = growth(folder, options.entries, options.rounds)
        beside = [{"what": ""} | row for row in fits(folder, options.rounds)]
    met = bars(charges, grown)
    print(f"{rates_shown(charges)}\n\n{growth_shown(grown)}\n\n{shown(beside, 'what')}\n")
    for words, bar in met.items():
        verdict = "met" if bar["met"] else "MISSED"
        print(f"bar: {words}: {bar['ours']:.2f}, at most {bar['bar']:g}, {verdict}")
    write(
        options.json,
        ("numpy", "scikit-learn"),
        sqlite=sqlite3.sqlite_version,
        rounds=options.rounds,
        charges=charges,
        growth=grown,
        fits=beside,
        bars=met,
    )


if __name__ == "__main__":
    main()
