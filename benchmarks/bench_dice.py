"""What does exactness cost? A million draws: ours, OpenDP's, numpy's unsafe floats, and the physical limit.

    python benchmarks/bench_dice.py [--json PATH] [--draws N] [--rounds N]

The limit is what no sampler by table can beat: two bytes of the operating system's entropy for each draw,
and one look-up. All contenders draw in turn, round after round; the best round counts. OpenDP is asked by
its Python interface, which takes and gives lists. Bar: 10**6 discrete Laplace draws at scale 10 in at most
0.5 s.
"""

import argparse
import json
import os
import platform
import secrets
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from dplearn.chance import SystemDice, sampling
from dplearn.core.exact import decay_ratio

try:
    import opendp.prelude as opendp
except ImportError:
    opendp = None

BAR_SECONDS = 0.5  # for a million discrete Laplace draws at scale 10
OURS, COLD = "dplearn", "dplearn, tables not yet made"
OPENDP, NUMPY, LIMIT = "OpenDP", "numpy (unsafe float)", "limit: urandom and one gather"
WIDE = 10**9  # public ends that clamp nothing

Contenders = dict[str, Callable[[], object] | None]


def questions(draws: int) -> dict[str, Contenders]:
    """Return, for each distribution, who draws it and how; None where a peer is absent."""
    return {
        "discrete Laplace, scale 10": laplace(10, draws),
        "discrete Gaussian, sigma 10": gaussian(10, draws),
        "discrete Gaussian, sigma 1000": gaussian(1000, draws),
        "Bernoulli, p = 1/3": bernoulli(draws),
        "below 1000": below(1000, draws),
    }


def laplace(scale: int, draws: int) -> Contenders:
    dice, ratio, generator = SystemDice(), decay_ratio(Fraction(1, scale)), public_generator()

    def ours() -> object:
        return dice.discrete_laplace(ratio, -WIDE, WIDE, size=draws)

    return {
        OURS: ours,
        COLD: cold(ours),
        OPENDP: vector_noise("make_laplace", "l1_distance", scale, draws),
        NUMPY: lambda: generator.laplace(scale=scale, size=draws),
        LIMIT: limit(draws),
    }


def gaussian(sigma: int, draws: int) -> Contenders:
    dice, sigma2, generator = SystemDice(), Fraction(sigma**2), public_generator()

    def ours() -> object:
        return dice.discrete_gaussian(sigma2, size=draws)

    return {
        OURS: ours,
        COLD: cold(ours),
        OPENDP: vector_noise("make_gaussian", "l2_distance", sigma, draws),
        NUMPY: lambda: generator.normal(scale=sigma, size=draws),
        LIMIT: limit(draws),
    }


def bernoulli(draws: int) -> Contenders:
    dice, p, generator = SystemDice(), Fraction(1, 3), public_generator()
    return {
        OURS: lambda: dice.bernoulli(p, size=draws),
        f"{OPENDP} (randomised response on bits)": random_bits(2 * p, draws),
        NUMPY: lambda: generator.random(draws) < float(p),
        LIMIT: limit(draws),
    }


def below(n: int, draws: int) -> Contenders:
    dice, generator = SystemDice(), public_generator()
    return {
        OURS: lambda: dice.below(n, size=draws),
        "secrets.randbelow, one by one": lambda: [secrets.randbelow(n) for _ in range(draws)],
        NUMPY.replace("float", "generator"): lambda: generator.integers(n, size=draws),
        LIMIT: limit(draws),
    }


def public_generator() -> np.random.Generator:
    return np.random.default_rng(0)


def cold(draw: Callable[[], object]) -> Callable[[], object]:
    """Return the same draw from tables that have yet to be made."""

    def first() -> object:
        for cache in (sampling._geometric_tables, sampling._gaussian_table, sampling._survival_cuts):
            cache.cache_clear()
        return draw()

    return first


def limit(draws: int) -> Callable[[], object]:
    table = (np.arange(1 << 16) % 251).astype(np.int64)
    return lambda: table[np.frombuffer(os.urandom(2 * draws), dtype=np.uint16)]


def vector_noise(maker: str, distance: str, scale: int, draws: int) -> Callable[[], object] | None:
    """Return OpenDP's integer noise on a vector of zeros."""
    if opendp is None:
        return None
    opendp.enable_features("contrib")
    kind = int if distance == "l1_distance" else float
    space = opendp.vector_domain(opendp.atom_domain(T=int)), getattr(opendp, distance)(T=kind)
    measurement, zeros = getattr(opendp.m, maker)(*space, scale=float(scale)), [0] * draws
    return lambda: measurement(zeros)


def random_bits(f: Fraction, draws: int) -> Callable[[], object] | None:
    """Return OpenDP's randomised response on zero bits: each comes out 1 with probability f / 2."""
    if opendp is None:
        return None
    opendp.enable_features("contrib")
    domain = opendp.bitvector_domain(max_weight=1)
    measurement = opendp.m.make_randomized_response_bitvec(domain, opendp.discrete_distance(), f=float(f))
    zeros = bytes(-(-draws // 8))
    return lambda: measurement(zeros)


def timed(contenders: Contenders, rounds: int) -> dict[str, float | None]:
    """Return each contender's best time; all draw in turn, so that a busy moment meets them all."""
    best = {name: None if draw is None else float("inf") for name, draw in contenders.items()}
    for _ in range(rounds):
        for name, draw in contenders.items():
            if draw is not None:
                start = time.perf_counter()
                draw()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def rows(draws: int, rounds: int) -> list[dict]:
    table = []
    for question, contenders in questions(draws).items():
        best = timed(contenders, rounds)
        for name, seconds in best.items():
            ratio = None if seconds is None else seconds / best[OURS]
            table.append({"draw": question, "by": name, "seconds": seconds, "times_ours": ratio})
    return table


def shown(table: list[dict]) -> str:
    lines = [f"{'draw':30} {'by':40} {'seconds':>8} {'times ours':>11}"]
    for row in table:
        absent = row["seconds"] is None
        figures = "  not installed" if absent else f"{row['seconds']:8.4f} {row['times_ours']:11.2f}"
        lines.append(f"{row['draw']:30} {row['by']:40} {figures}")
    return "\n".join(lines)


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results" / "dice.json")
    parser.add_argument("--draws", type=int, default=10**6)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = rows(options.draws, options.rounds)
    laplace_seconds = table[0]["seconds"] * 10**6 / options.draws
    print(shown(table))
    met = "met" if laplace_seconds <= BAR_SECONDS else "MISSED"
    print(f"\nbar: 10**6 discrete Laplace at scale 10 in {BAR_SECONDS} s: {laplace_seconds:.3f} s, {met}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "draws": options.draws,
        "rounds": options.rounds,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {name: installed(name) for name in ("numpy", "opendp")},
        "bar": {"seconds": BAR_SECONDS, "ours": laplace_seconds, "met": laplace_seconds <= BAR_SECONDS},
        "rows": table,
    }
    options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
