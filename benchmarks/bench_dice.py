"""What does exactness cost? A million draws: ours, OpenDP's, numpy's unsafe floats, and the physical limit.

    python benchmarks/bench_dice.py [--json PATH] [--draws N] [--rounds N]

The limit is what no sampler by table can beat: two bytes of the operating system's entropy for each draw,
and one look-up. All contenders draw in turn, round after round; the best round counts. OpenDP is asked by
its Python interface, which takes and gives lists. Bar: 10**6 discrete Laplace draws at scale 10 in at most
0.5 s.
"""

import os
import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from side_by_side import Contenders, compared, options_of, peer, public_generator, shown, write

from dplearn.chance import SystemDice, sampling
from dplearn.kernels import decay_ratio

opendp = peer("opendp.prelude")

BAR_SECONDS = 0.5  # for a million discrete Laplace draws at scale 10
OURS, COLD = "dplearn", "dplearn, tables not yet made"
OPENDP, NUMPY, LIMIT = "OpenDP", "numpy (unsafe float)", "limit: urandom and one gather"
WIDE = 10**9  # public ends that clamp nothing


def questions(draws: int) -> dict[str, Contenders]:
    """Return, for each distribution, who draws it and how; None where a peer is absent."""
    return {
        "discrete Laplace, scale 10": laplace(10, draws),
        "discrete Gaussian, sigma 10": gaussian(10, draws),
        "discrete Gaussian, sigma 1000": gaussian(1000, draws),
        "discrete Gaussian, sigma 1000, 300 draws": gaussian(1000, 300),
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


def cold(draw: Callable[[], object]) -> Callable[[], object]:
    """Return the same draw from tables that have yet to be made."""

    def first() -> object:
        for cache in (sampling.geometric_tables, sampling.gaussian_table, sampling.survival_cuts):
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


def main() -> None:
    parser = options_of("dice", __doc__)
    parser.add_argument("--draws", type=int, default=10**6)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = [
        {"draw": draw} | row
        for draw, contenders in questions(options.draws).items()
        for row in compared(contenders, OURS, options.rounds)
    ]
    laplace_seconds = table[0]["seconds"] * 10**6 / options.draws
    print(shown(table, "draw"))
    met = "met" if laplace_seconds <= BAR_SECONDS else "MISSED"
    print(f"\nbar: 10**6 discrete Laplace at scale 10 in {BAR_SECONDS} s: {laplace_seconds:.3f} s, {met}")
    write(
        options.json,
        ("numpy", "opendp"),
        draws=options.draws,
        rounds=options.rounds,
        bar={"seconds": BAR_SECONDS, "ours": laplace_seconds, "met": laplace_seconds <= BAR_SECONDS},
        rows=table,
    )


if __name__ == "__main__":
    main()
