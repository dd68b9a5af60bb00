"""What does the best of a random number of runs cost, by a run's profile and by its epsilon and delta alone?

    python benchmarks/bench_stopping.py [--json PATH]

Part "gaussian": the total epsilon at delta 1e-6 of Gaussian-DP runs. "alone": min(N, 2 + c) times the epsilon
of a run at delta / mean. "profile": the bound of `gaussian_runs_delta`, which holds for every distribution of
the number of runs: epsilon = eps_run(delta / mean) + ln R. "missed" is the probability that one of ten
candidates is never tried.

Part "pure": for runs with a pure epsilon the same bound has R over u <= e^epsilon u' and 1 - u' <= e^epsilon
(1 - u); "factor" is the total epsilon over that of a run. "best factor" is the least for any distribution on
1 to 4 N with at most the same mean and at most the same "missed", by a linear program.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import brentq, linprog
from scipy.special import gammaln, log_ndtr, ndtr
from side_by_side import lined_up, options_of, write

from dplearn.privacy.random_stopping import RandomStopping

DELTA, SHARE, MEAN = 1e-6, 0.1, 20.5
MUS, EPSILONS = (0.05, 0.1, 0.2, 0.5), (0.1, 0.5, 1.0)
Law = tuple[np.ndarray, np.ndarray]  # numbers of runs and their probabilities


def ours(most: int, concentration: int) -> Law:
    stopping = RandomStopping(most, concentration)
    whole = sum(stopping.weights)
    return np.arange(1, most + 1), np.array([w / whole for w in stopping.weights])


def unbounded(log_weights: np.ndarray, numbers: np.ndarray) -> Law:
    weights = np.exp(log_weights - log_weights.max())
    return numbers, weights / weights.sum()


def laws() -> dict[str, Law]:
    k = np.arange(0, 1500)
    n, p = 41, 0.5
    few = np.arange(n + 1)
    choose = gammaln(n + 1) - gammaln(few + 1) - gammaln(n - few + 1)
    return {
        "ours, c = 0, N = 40": ours(40, 0),
        "ours, c = 1, N = 40": ours(40, 1),
        "ours, c = 2, N = 40": ours(40, 2),
        "geometric": unbounded(k[1:] * math.log1p(-1 / MEAN), k[1:]),
        "Poisson": unbounded(k * math.log(MEAN) - gammaln(k + 1), k),
        "binomial, 41 trials": unbounded(choose + few * math.log(p) + (n - few) * math.log1p(-p), few),
    }


def slope(law: Law, tail: np.ndarray) -> np.ndarray:
    """Return f'(1 - tail)."""
    k, p = (each[law[0] > 0] for each in law)
    logs = np.log1p(-np.minimum(tail, 1 - 1e-16))
    return np.exp((k - 1) * logs[:, None]) @ (k * p)


def delta_of(mu: float, epsilon: float) -> float:
    return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2))


def epsilon_of(mu: float, delta: float) -> float:
    return brentq(lambda e: math.log(max(delta_of(mu, e), 1e-300)) - math.log(delta), 0, 100)


def gaussian_rows() -> Iterator[dict[str, Any]]:
    z = np.linspace(-9, 9, 4000)
    for mu in MUS:
        for name, law in laws().items():
            mean, missed = float(law[0] @ law[1]), float((1 - SHARE) ** law[0] @ law[1])
            growth = float((slope(law, ndtr(-z)) / slope(law, ndtr(mu - z))).max())
            profile = epsilon_of(mu, DELTA / mean) + math.log(growth)
            known = name.startswith("ours") or name == "geometric"
            factor = 2 + int(name.split("c = ")[1][0]) if name.startswith("ours") else 3
            alone = factor * epsilon_of(mu, DELTA / mean) if known else None
            yield {
                "part": "gaussian", "mu": mu, "law": name, "mean": mean, "missed": missed,
                "one run": epsilon_of(mu, DELTA), "alone": alone, "profile": profile,
            }  # fmt: skip


def edge(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 - u and 1 - u' on the edge of the trade-off of an epsilon."""
    a = math.exp(epsilon)
    below = np.unique(
        np.concatenate([np.linspace(0, 1, 400), np.geomspace(1e-6, 1, 400), 1 - np.geomspace(1e-6, 1, 400)])
    )
    below = np.append(below, 1 / (1 + a))
    return 1 - np.minimum(a * below, 1 - (1 - below) / a), 1 - below


def least(law: Law, epsilon: float, growth: float) -> bool:
    """Return whether some distribution with a growth has at most the mean and the missed share of a law."""
    k = np.arange(1, 4 * law[0].max() + 1)
    tails = edge(epsilon)
    one, other = (np.exp((k - 1) * np.log1p(-np.minimum(t, 1 - 1e-16))[:, None]) * k for t in tails)
    rows, ends = np.vstack([one - growth * other, k[None, :]]), np.zeros(len(one) + 1)
    ends[-1] = law[0] @ law[1]
    found = linprog(
        (1 - SHARE) ** k, A_ub=rows, b_ub=ends, A_eq=np.ones((1, len(k))), b_eq=[1], method="highs"
    )
    return found.status == 0 and found.fun <= (1 - SHARE) ** law[0] @ law[1] * (1 + 1e-9)


def pure_rows() -> Iterator[dict[str, Any]]:
    for epsilon in EPSILONS:
        for name, law in laws().items():
            one, other = edge(epsilon)
            growth = math.log(float((slope(law, one) / slope(law, other)).max()))
            low, high = 0.0, growth
            for _ in range(10 if name.startswith("ours") else 0):
                middle = (low + high) / 2
                low, high = (low, middle) if least(law, epsilon, math.exp(middle)) else (middle, high)
            mean, missed = float(law[0] @ law[1]), float((1 - SHARE) ** law[0] @ law[1])
            best = 1 + high / epsilon if name.startswith("ours") else None
            yield {
                "part": "pure", "epsilon": epsilon, "law": name, "mean": mean, "missed": missed,
                "factor": 1 + growth / epsilon, "best factor": best,
            }  # fmt: skip


def shown(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0])[1:]
    cells = [
        ["-" if r[n] is None else r[n] if isinstance(r[n], str) else f"{r[n]:.3g}" for n in names]
        for r in rows
    ]
    return lined_up([names, *cells])


def main() -> None:
    options = options_of("bench_stopping", __doc__).parse_args()
    parts = [list(gaussian_rows()), list(pure_rows())]
    print("\n\n".join(shown(rows) for rows in parts))
    write(options.json, ("numpy", "scipy"), rows=[row for rows in parts for row in rows])


if __name__ == "__main__":
    main()
