"""What do exact mechanisms cost on a million records? Ours, the peers, unsafe floats, and the noise alone.

    python benchmarks/bench_mechanisms.py [--size 1000000] [--rounds 5] [--json PATH]

All contenders of a question work in turn on the same public data; the best round counts. "the noise alone"
is what a mechanism draws from our dice, so that the rest of its time is its own. Bars: noisy counts within
1.5 times their noise; a sparse vector within 1.3 times a noise of its own for each question, as one draw.

Peers. OpenDP is given arrays where it takes them. It randomises one value at a time, and diffprivlib all
noise: these are timed on 10**4 values and extrapolated. Neither has a sparse vector, a choosing mechanism
(OpenDP's noisy max with Gumbel noise selects alike) or a release of stable answers. OpenDP's histogram of
unknown keys adds the same noise; its bar is set to ours. numpy's floats are what users write, and are not
private to the letter. The limit is a step that nobody can do without: for noise, two bytes of the operating
system's entropy for each record and one look-up; for unknown keys, counting them.
"""

import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from side_by_side import Contenders, compared, options_of, peer, public_generator, shown, write

from dplearn.chance import SystemDice
from dplearn.kernels.exact import decay_ratio
from dplearn.mechanisms import (
    SparseVector,
    choosing_mechanism,
    exponential_mechanism,
    gaussian_counts,
    laplace_counts,
    randomized_response,
    release_if_stable,
    sparse_vector,
    stability,
    stable_histogram,
)
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.shares import _equal_epsilon, equal_epsilon
from dplearn.theory import (
    choosing_threshold,
    release_probabilities,
    stable_histogram_threshold,
    truth_probability,
)

opendp, float_mechanisms = peer("opendp.prelude"), peer("diffprivlib.mechanisms")
if opendp is not None:
    opendp.enable_features("contrib")

EPSILON, DELTA, RHO = 1, Fraction(1, 10**6), Fraction(1, 2)
PURE, APPROX = ApproxDP(EPSILON), ApproxDP(EPSILON, DELTA)
SAMPLE = 10**4  # values that a peer which takes one at a time is timed on
OURS, COLD, NOISE, LIMIT = "dplearn", "dplearn, nothing prepared", "the noise alone", "limit"
OPENDP, FLOATS = "OpenDP", "numpy (unsafe float)"
ONE_BY_ONE = ", extrapolated"
OPENDP_EACH, DIFFPRIVLIB_EACH = OPENDP + ONE_BY_ONE, "diffprivlib" + ONE_BY_ONE
LAPLACE, GAUSSIAN = "laplace_counts", "gaussian_counts"
QUESTIONS = (
    100_000  # of a sparse vector; FEW, SOME or MANY of them, evenly spread, are far above its threshold
)
FEW, SOME, MANY = 5, 20, 49
FAR, POSITIVES = 10**5, 50
KEPT, RENEWED = "SparseVector, 5 positives", "SparseVector, 5 positives, renewed"
MANY_KEPT = "SparseVector, 49 positives"
SOME_RENEWED, MANY_RENEWED = "SparseVector, 20 positives, renewed", "SparseVector, 49 positives, renewed"
BARS = {LAPLACE: 1.5, GAUSSIAN: 1.5}  # times the noise alone
BARS |= dict.fromkeys((KEPT, RENEWED, MANY_KEPT, SOME_RENEWED, MANY_RENEWED), 1.3)

dice = SystemDice()


def questions(size: int) -> dict[str, Contenders]:
    """Return who answers each question, and how; None where a peer is absent."""
    counts = public_generator().integers(0, 1000, size)
    return {
        LAPLACE: laplace(counts),
        GAUSSIAN: gaussian(counts),
        "randomized_response": response(counts % 10),
        "stable_histogram": histogram(size),
        KEPT: sparse(FEW, renew=False),
        RENEWED: sparse(FEW, renew=True),
        MANY_KEPT: sparse(MANY, renew=False),
        SOME_RENEWED: sparse(SOME, renew=True),
        MANY_RENEWED: sparse(MANY, renew=True),
        "release_if_stable, epsilon 0.1": stable("0.1"),
        "release_if_stable, epsilon 0.001": stable("0.001"),
        "choosing_mechanism": choosing(counts),
    }


def laplace(counts: np.ndarray) -> Contenders:
    ratio, generator = decay_ratio(Fraction(EPSILON)), public_generator()
    return {
        OURS: lambda: laplace_counts(counts, privacy=PURE, dice=dice),
        NOISE: lambda: dice.discrete_laplace(ratio, size=counts.size),
        OPENDP: noisy_vector("make_laplace", "l1_distance", 1 / EPSILON, counts),
        DIFFPRIVLIB_EACH: each(counts, "Geometric", epsilon=EPSILON, sensitivity=1),
        FLOATS: lambda: counts + generator.laplace(scale=1 / EPSILON, size=counts.size),
        LIMIT: one_gather(counts),
    }


def gaussian(counts: np.ndarray) -> Contenders:
    sigma2, generator = 1 / (2 * RHO), public_generator()
    return {
        OURS: lambda: gaussian_counts(counts, privacy=ZeroConcentratedDP(RHO), dice=dice),
        NOISE: lambda: dice.discrete_gaussian(sigma2, size=counts.size),
        OPENDP: noisy_vector("make_gaussian", "l2_distance", float(sigma2) ** 0.5, counts),
        DIFFPRIVLIB_EACH: each(counts, "GaussianDiscrete", epsilon=EPSILON, delta=float(DELTA)),
        FLOATS: lambda: counts + generator.normal(scale=float(sigma2) ** 0.5, size=counts.size),
        LIMIT: one_gather(counts),
    }


def response(values: np.ndarray) -> Contenders:
    p, generator, size = truth_probability(10, EPSILON), public_generator(), values.size

    def floats() -> np.ndarray:
        lies = (values + generator.integers(1, 10, size)) % 10
        return np.where(generator.random(size) < float(p), values, lies)

    randomise = opendp and opendp.m.make_randomized_response(categories=list(range(10)), prob=float(p))
    some = values[:SAMPLE].tolist()
    return {
        OURS: lambda: randomized_response(values, 10, privacy=PURE, dice=dice),
        NOISE: lambda: (dice.bernoulli(p, size=size), dice.below(9, size=size)),
        OPENDP_EACH: randomise and (lambda: [randomise(value) for value in some]),
        FLOATS: floats,
        LIMIT: one_gather(values),
    }


def histogram(size: int) -> Contenders:
    """A key for each record, of a tenth as many words: each comes once, and some of them far more often."""
    generator, n_words = public_generator(), size // 10
    codes = np.r_[np.arange(n_words), generator.zipf(1.1, size - n_words) % n_words]
    words = [f"word {code}" for code in generator.permutation(codes).tolist()]
    array, bar, ratio = np.array(words), stable_histogram_threshold(APPROX), decay_ratio(Fraction(EPSILON, 2))

    def floats() -> dict[str, float]:
        present, counts = np.unique(array, return_counts=True)
        noisy = counts + generator.laplace(scale=2 / EPSILON, size=counts.size)
        return dict(zip(present[noisy >= bar].tolist(), noisy[noisy >= bar].tolist(), strict=True))

    return {
        OURS: lambda: stable_histogram(words, privacy=APPROX, dice=dice),
        NOISE: lambda: dice.discrete_laplace(ratio, size=n_words),
        OPENDP: noisy_keys(words, bar),
        FLOATS: floats,
        LIMIT: lambda: Counter(words),
    }


def sparse(positives: int, renew: bool) -> Contenders:
    values, generator = np.full(QUESTIONS, -FAR), public_generator()
    values[np.linspace(0, QUESTIONS - 1, positives + 2).astype(int)[1:-1]] = FAR
    epsilon = equal_epsilon(APPROX, POSITIVES) if renew else APPROX.epsilon
    ratio = sparse_vector._ratios(epsilon, 1 if renew else POSITIVES)[1]

    def ours() -> np.ndarray:
        return SparseVector(
            0, max_positives=POSITIVES, privacy=APPROX, dice=dice, renew_threshold=renew
        ).ask_all(values)

    def cold() -> np.ndarray:
        _equal_epsilon.cache_clear()
        return ours()

    return {
        OURS: ours,
        COLD: cold,
        NOISE: lambda: dice.geometric(ratio, size=QUESTIONS),
        FLOATS: lambda: values + generator.exponential(2 * POSITIVES, QUESTIONS) > 0,
    }


def stable(epsilon: str) -> Contenders:
    privacy, generator = ApproxDP(epsilon, DELTA), public_generator()
    table = release_probabilities(privacy)
    distance, p = len(table) // 2, table[len(table) // 2]

    def ours() -> str | None:
        return release_if_stable("yes", distance, privacy=privacy, dice=dice)

    def cold() -> str | None:
        stability._speaking_table.cache_clear()
        return ours()

    def float_table() -> list[float]:
        grow, delta, probabilities = np.exp(float(epsilon)), float(DELTA), [float(DELTA)]
        while (p := probabilities[-1]) < 1:
            probabilities.append(min(grow * p + delta, 1 - (1 - p - delta) / grow, 1.0))
        return probabilities

    return {
        OURS: ours,
        COLD: cold,
        NOISE: lambda: dice.bernoulli(p),
        FLOATS: lambda: distance + generator.laplace(scale=1 / float(epsilon)) > distance,
        "the table in Python's floats": float_table,
    }


def choosing(qualities: np.ndarray) -> Contenders:
    generator, half = public_generator(), ApproxDP(Fraction(EPSILON, 2))
    bar = choosing_threshold(1, APPROX)

    def floats() -> int | None:
        if qualities.max() + generator.laplace(scale=4 / EPSILON) < bar:
            return None
        noise = generator.gumbel(size=qualities.size)
        return int(np.argmax(np.where(qualities > 0, EPSILON / 4 * qualities + noise, -np.inf)))

    return {
        OURS: lambda: choosing_mechanism(qualities, privacy=APPROX, dice=dice),
        "the exponential mechanism alone": lambda: exponential_mechanism(qualities, privacy=half, dice=dice),
        OPENDP: selection(qualities, "zero_concentrated_divergence", 4 / EPSILON),
        FLOATS: floats,
        LIMIT: qualities.max,
    }


def one_gather(counts: np.ndarray) -> Callable[[], object]:
    table = (np.arange(1 << 16) % 251).astype(np.int64)
    return lambda: counts + table[np.frombuffer(os.urandom(2 * counts.size), dtype=np.uint16)]


def noisy_vector(maker: str, distance: str, scale: float, counts: np.ndarray) -> Callable[[], object] | None:
    """Return OpenDP's integer noise on a vector."""
    if opendp is None:
        return None
    kind = "i64" if distance == "l1_distance" else float
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), getattr(opendp, distance)(T=kind)
    measurement = getattr(opendp.m, maker)(*space, scale=scale)
    return lambda: measurement(counts)


def selection(qualities: np.ndarray, measure: str, scale: float) -> Callable[[], object] | None:
    """Return OpenDP's noisy max."""
    if opendp is None:
        return None
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.linf_distance(T="i64")
    select = opendp.m.make_noisy_max(*space, getattr(opendp, measure)(), scale=scale)
    return lambda: select(qualities)


def noisy_keys(words: list[str], bar: int) -> Callable[[], object] | None:
    """Return OpenDP's noisy counts of the words whose noisy counts reach the bar."""
    if opendp is None:
        return None
    space = opendp.vector_domain(opendp.atom_domain(T=str)), opendp.symmetric_distance()
    count = opendp.t.make_count_by(*space)
    measurement = count >> opendp.m.then_laplace_threshold(scale=2 / EPSILON, threshold=bar)
    return lambda: measurement(words)


def each(counts: np.ndarray, mechanism: str, **parameters: float) -> Callable[[], object] | None:
    """Return diffprivlib's noise on the first counts, one after the other."""
    if float_mechanisms is None:
        return None
    randomise, some = getattr(float_mechanisms, mechanism)(**parameters).randomise, counts[:SAMPLE].tolist()
    return lambda: [randomise(count) for count in some]


def rows(size: int, rounds: int) -> list[dict[str, Any]]:
    table = []
    for mechanism, contenders in questions(size).items():
        for row in compared(contenders, OURS, rounds):
            if row["by"].endswith(ONE_BY_ONE) and row["seconds"] is not None:
                factor = size / SAMPLE
                row |= {name: factor * row[name] for name in ("seconds", "times_ours")}
            table.append({"mechanism": mechanism} | row)
    return table


def bars(table: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by mechanism how many times its noise it takes, and whether the bar is met."""
    noise = {row["mechanism"]: row["times_ours"] for row in table if row["by"] == NOISE}
    return {
        name: {"bar": bar, "ours": 1 / noise[name], "met": 1 / noise[name] <= bar}
        for name, bar in BARS.items()
    }


def main() -> None:
    parser = options_of("mechanisms", __doc__)
    parser.add_argument("--size", type=int, default=10**6)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = rows(options.size, options.rounds)
    met = bars(table)
    print(f"{shown(table, 'mechanism')}\n")
    for name, bar in met.items():
        verdict = "met" if bar["met"] else "MISSED"
        print(f"bar: {name} within {bar['bar']} times its noise: {bar['ours']:.2f}, {verdict}")
    write(
        options.json,
        ("numpy", "opendp", "diffprivlib"),
        size=options.size,
        rounds=options.rounds,
        bars=met,
        rows=table,
    )


if __name__ == "__main__":
    main()
