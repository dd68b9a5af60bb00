"""What does an exact draw from millions of candidates cost? Against inexact ones, and reading them once.

    python benchmarks/bench_selection.py [--repeats 7] [--peers-up-to 1000000] [--json PATH]

Qualities are shaped like minus the errors that candidates make on 10**4 or 10**5 records: each candidate has
its own rate of errors between 20% and 50%. All selections are at epsilon 1, and all contenders draw in turn;
the median counts, and who has used up the patience of two seconds is not asked again. Bars for the
exponential mechanism: a million candidates within 10 ms, ten million within 100 ms.

Peers. numpy's Gumbel-max, the argmax of float qualities and float noise, is what users write; it is not
private to the letter. OpenDP's noisy max is exact: with Gumbel noise it is the exponential mechanism, with
exponential noise permute-and-flip; its time varies, and it reads no uint16, so it gets int64. diffprivlib's
Exponential is float, and takes a list, which is made beforehand; where the package fails to import because of
its models, its mechanisms, which import before them, are used as they are. OpenDP and diffprivlib are asked
about at most `--peers-up-to` candidates, since they take long. The limit is one pass over the qualities, for
their greatest.
"""

import statistics
from collections.abc import Callable
from itertools import product

import numpy as np
from side_by_side import Contenders, in_turn, installed, lined_up, options_of, peer, public_generator, write

from dplearn.chance import SystemDice
from dplearn.mechanisms import exponential_mechanism, permute_and_flip
from dplearn.privacy import ApproxDP

opendp, diffprivlib = peer("opendp.prelude"), peer("diffprivlib")
float_mechanisms = peer("diffprivlib.mechanisms")

EPSILON = 1
CANDIDATES, RECORDS, DTYPES = (10**6, 10**7), (10**4, 10**5), (np.uint16, np.int32, np.int64)
BARS = {10**6: 0.010, 10**7: 0.100}  # candidates: seconds
PATIENCE = 2.0  # seconds after which a contender is not asked again
OURS, FLIP, LIMIT = "ours", "ours p&f", "limit"
GUMBEL, OPENDP, OPENDP_FLIP, DIFFPRIVLIB = "Gumbel", "OpenDP", "OpenDP p&f", "diffprivlib"
NAMES = (OURS, FLIP, LIMIT, GUMBEL, OPENDP, OPENDP_FLIP, DIFFPRIVLIB)


def rights(candidates: int, records: int) -> np.ndarray:
    """Return how many records each candidate gets right."""
    generator = public_generator()
    return generator.binomial(records, generator.uniform(0.5, 0.8, candidates))


def contenders(qualities: np.ndarray, ask_peers: bool) -> Contenders:
    privacy, dice, generator = ApproxDP(EPSILON), SystemDice(), public_generator()
    ours = {
        OURS: lambda: exponential_mechanism(qualities, privacy=privacy, dice=dice),
        FLIP: lambda: permute_and_flip(qualities, privacy=privacy, dice=dice),
        LIMIT: qualities.max,
    }
    ours[GUMBEL] = lambda: np.argmax(EPSILON / 2 * qualities + generator.gumbel(size=qualities.size))
    if not ask_peers:
        return ours
    return ours | {
        OPENDP: noisy_max(qualities, "zero_concentrated_divergence"),
        OPENDP_FLIP: noisy_max(qualities, "max_divergence"),
        DIFFPRIVLIB: float_exponential(qualities),
    }


def noisy_max(qualities: np.ndarray, measure: str) -> Callable[[], int] | None:
    """Return OpenDP's selection: Gumbel noise under the one measure, exponential noise under the other."""
    if opendp is None:
        return None
    opendp.enable_features("contrib")
    numbers = qualities if qualities.dtype.kind == "i" else qualities.astype(np.int64)
    kind = f"i{8 * numbers.itemsize}"
    space = opendp.vector_domain(opendp.atom_domain(T=kind)), opendp.linf_distance(T=kind)
    select = opendp.m.make_noisy_max(*space, getattr(opendp, measure)(), scale=2 / EPSILON)
    return lambda: select(numbers)


def float_exponential(qualities: np.ndarray) -> Callable[[], int] | None:
    """Return diffprivlib's selection, with the making of its probabilities, which depend on the qualities."""
    if float_mechanisms is None:
        return None
    utility = qualities.tolist()
    return lambda: float_mechanisms.Exponential(epsilon=EPSILON, sensitivity=1, utility=utility).randomise()


def diffprivlib_note() -> str:
    if float_mechanisms is None:
        return "diffprivlib: not installed"
    how = "imports" if diffprivlib else "does not import, but its mechanisms do"
    return f"diffprivlib {installed('diffprivlib')} on scikit-learn {installed('scikit-learn')}: {how}"


def rows(repeats: int, peers_up_to: int) -> list[dict]:
    table = []
    for candidates, records in product(CANDIDATES, RECORDS):
        right = rights(candidates, records)
        for dtype in DTYPES:
            if records > np.iinfo(dtype).max:
                continue
            calls = contenders(right.astype(dtype), ask_peers=candidates <= peers_up_to)
            present = {name: call for name, call in calls.items() if call is not None}
            times = in_turn(present, repeats, PATIENCE)
            seconds = {name: statistics.median(spent) for name, spent in times.items()}
            table.append(
                {
                    "candidates": candidates,
                    "records": records,
                    "dtype": np.dtype(dtype).name,
                    "seconds": seconds,
                    "all_seconds": times,
                    "times_ours": {name: value / seconds[OURS] for name, value in seconds.items()},
                    "ours_over_limit": seconds[OURS] / seconds[LIMIT],
                    "not_installed": [name for name, call in calls.items() if call is None],
                    "bar_seconds": BARS[candidates],
                    "passed": seconds[OURS] <= BARS[candidates],
                }
            )
    return table


def shown(table: list[dict]) -> str:
    lines = [["candidates", "records", "dtype", *NAMES, "ours/limit", "bar"]]
    for row in table:
        lines.append(
            [
                str(row["candidates"]),
                str(row["records"]),
                row["dtype"],
                *(cell(row, name) for name in NAMES),
                f"{row['ours_over_limit']:.0f}",
                f"{1000 * row['bar_seconds']:.0f}: {'pass' if row['passed'] else 'FAIL'}",
            ]
        )
    return f"median milliseconds; in brackets, times ours\n{lined_up(lines)}"


def cell(row: dict, name: str) -> str:
    if name in row["not_installed"]:
        return "not installed"
    if name not in row["seconds"]:
        return "not asked"
    milliseconds, ratio = 1000 * row["seconds"][name], row["times_ours"][name]
    if name in (OURS, LIMIT):
        return f"{milliseconds:.2f}"
    return f"{milliseconds:.1f} ({ratio:.{0 if ratio >= 10 else 1}f})"


def main() -> None:
    parser = options_of("selection", __doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--peers-up-to", type=int, default=10**6, metavar="CANDIDATES")
    options = parser.parse_args()
    table = rows(options.repeats, options.peers_up_to)
    note = diffprivlib_note()
    print(f"{shown(table)}\n\n{note}")
    failed = sum(not row["passed"] for row in table)
    print(f"bars: {f'FAILED in {failed} of {len(table)} rows' if failed else 'passed'}")
    write(
        options.json,
        ("numpy", "opendp", "diffprivlib", "scikit-learn"),
        repeats=options.repeats,
        diffprivlib=note,
        passed=not failed,
        rows=table,
    )


if __name__ == "__main__":
    main()
