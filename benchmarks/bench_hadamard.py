"""How fast are all 2**d parities compared with n labelled records?

    python benchmarks/bench_hadamard.py [--rounds 15] [--json PATH]

First the transform alone, of a histogram of n records. Ours chooses its integers by n, of 16 bits below 2**15
and else of 32, makes a new array, and checks the sum of absolute values on the way. pyfwht, where it is
installed, is compiled: it has 32 bits only and transforms, in place, what it left in the round before; on one
thread and, as a row of its own, on all with OpenMP. The loop over bits is what a user would write in numpy.
The limit is to copy the histogram. Our products of matrices are so small that the library for linear algebra
starts no thread for them; to be sure, set OPENBLAS_NUM_THREADS=1.

Then a whole comparison: from packed records to the errors of all parities, how many make how many, and one
that makes the least.

Bars, with 16 bits: within 1.3 times pyfwht's time on one thread at d = 20, within 1.6 times at d = 24, and 8
times as fast as the loop at both; a comparison of 30,000 records at d = 24 in half a second.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from side_by_side import Contenders, compared, options_of, peer, public_generator, shown, write

from dplearn.concepts import Parities
from dplearn.kernels.hadamard import walsh_hadamard

pyfwht = peer("pyfwht")

OURS, THREAD, THREADS, LOOP, LIMIT = "dplearn", "pyfwht", "pyfwht, OpenMP", "numpy, bit by bit", "limit"
FEW, MANY = 30_000, 1_000_000  # records
OF_THREAD = {20: 1.3, 24: 1.6}  # times pyfwht's time
FASTER = 8  # times as fast as the loop
SECONDS = 0.5


def asked(d: int, n: int) -> str:
    return f"d = {d}, n = {n:,}"


def public_records(d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points, and labels of a parity, every tenth of them wrong."""
    generator = public_generator()
    points = generator.integers(0, 1 << d, n, dtype=np.uint32)
    return points, np.bitwise_count(points & 0b1011) & 1 ^ (generator.random(n) < 0.1)


def contenders(d: int, n: int) -> Contenders:
    points, bits = public_records(d, n)
    values = np.zeros(1 << d, dtype=np.int16 if n < 1 << 15 else np.int32)
    np.add.at(values, points.astype(np.intp), 1 - 2 * bits.astype(values.dtype))
    ours = walsh_hadamard(values, bound=n)
    assert np.array_equal(ours, bit_by_bit(values))
    return {
        OURS: lambda: walsh_hadamard(values, bound=n),
        THREAD: compiled(values, "CPU", ours),
        THREADS: compiled(values, "OPENMP", ours),
        LOOP: lambda: bit_by_bit(values),
        LIMIT: values.copy,
    }


def bit_by_bit(values: np.ndarray) -> np.ndarray:
    for bit in range(values.size.bit_length() - 1):
        pairs = values.reshape(-1, 2, 1 << bit)
        values = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1)
    return values.ravel()


def compiled(values: np.ndarray, backend: str, wanted: np.ndarray) -> Callable[[], object] | None:
    """Return pyfwht's transform in place; its numbers overflow after some rounds, in the same time."""
    if pyfwht is None or (backend == "OPENMP" and not pyfwht.has_openmp()):
        return None
    work, where = values.astype(np.int32), getattr(pyfwht.Backend, backend)
    pyfwht.transform(work, where)
    assert np.array_equal(work, wanted)
    return lambda: pyfwht.transform(work, where)


def comparison(d: int, n: int) -> Callable[[], object]:
    concepts, (points, bits) = Parities(d), public_records(d, n)

    def run() -> object:
        profile = concepts.profile_of(points, bits.astype(np.intp))
        errors, _ = profile.groups()
        return profile.member(errors[0], 0)

    assert run() == concepts.member_at(0b1011)
    return run


def rows(rounds: int) -> list[dict[str, Any]]:
    cases = [(16, FEW), (20, FEW), (24, FEW), (20, MANY), (24, MANY)]
    return [
        {"transform": asked(d, n)} | row
        for d, n in cases
        for row in compared(contenders(d, n), OURS, rounds if d > 20 else 5 * rounds, 10, warm=d <= 20)
    ]


def wholes(rounds: int) -> list[dict[str, Any]]:
    return [
        {"comparison": asked(d, n)} | row
        for d, n in [(16, FEW), (20, FEW), (24, FEW), (24, MANY)]
        for row in compared({OURS: comparison(d, n)}, OURS, rounds, 10)
    ]


def bars(table: list[dict[str, Any]], whole: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what is asked, and whether it is met; nothing of a peer that is absent."""
    times = {(row["transform"], row["by"]): row["times_ours"] for row in table}
    met = {}
    for d, bar in OF_THREAD.items():
        if times[asked(d, FEW), THREAD] is not None:
            ours = 1 / times[asked(d, FEW), THREAD]
            met[f"d = {d}: within {bar} times {THREAD}"] = {"bar": bar, "ours": ours, "met": ours <= bar}
        ours = times[asked(d, FEW), LOOP]
        met[f"d = {d}: {FASTER} times as fast as {LOOP}"] = {
            "bar": FASTER,
            "ours": ours,
            "met": ours >= FASTER,
        }
    seconds = next(row["seconds"] for row in whole if row["comparison"] == asked(24, FEW))
    met["d = 24: compared within half a second"] = {
        "bar": SECONDS,
        "ours": seconds,
        "met": seconds <= SECONDS,
    }
    return met


def main() -> None:
    parser = options_of("hadamard", __doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    table, whole = rows(options.rounds), wholes(options.rounds)
    met = bars(table, whole)
    print(f"{shown(table, 'transform')}\n\n{shown(whole, 'comparison')}\n")
    for name, bar in met.items():
        print(f"bar: {name}: {bar['ours']:.2f}, {'met' if bar['met'] else 'MISSED'}")
    write(
        options.json,
        ("numpy", "pyfwht"),
        rounds=options.rounds,
        bars=met,
        rows=table,
        comparisons=whole,
    )


if __name__ == "__main__":
    main()
