"""What do a thousand releases cost together, and how long does it take to say?

    python benchmarks/bench_accounting.py [--json PATH] [--rounds N]

Each contender is given the same public list of releases and asked for epsilon at delta = 10**-6, from a cold
start; the best round counts. dp-accounting's privacy loss distributions (PLD) are nearly exact, so they show
how much is left to gain; diffprivlib's budget accountant knows (epsilon, delta) pairs only. Bars: a thousand
different Gaussians in at most 50 ms, a thousand exponential mechanisms at .01 for at most .844.
"""

import math
import time
from collections.abc import Callable
from fractions import Fraction

from side_by_side import lined_up, options_of, peer, write

from dplearn.privacy import BoundedRange, Gaussian, PureDP, ZeroConcentratedDP, compose
from dplearn.privacy.conversion import concentrated_epsilon
from dplearn.privacy.gaussian_dp import least_epsilon_of_mu2

accounting, accountants = peer("dp_accounting"), peer("diffprivlib.accountant")
pld, rdp = peer("dp_accounting.pld"), peer("dp_accounting.rdp")

BAR_SECONDS, BAR_EPSILON = 0.05, 0.844
DELTA = 1e-6
MANY = 1000
PATIENCE = 1.0  # seconds after which a contender is not asked again
OURS, RDP, PLD, BUDGET = (
    "dplearn",
    "dp-accounting, Renyi",
    "dp-accounting, PLD",
    "diffprivlib's budget accountant",
)
GAUSSIANS = "1000 different Gaussians"
DIFFERENT = "1000 different epsilons"
EQUAL = "1000 times epsilon .01"
SELECTIONS = "1000 exponential mechanisms at .01"

Contenders = dict[str, Callable[[], float] | None]


def questions() -> dict[str, Contenders]:
    """Return, for each list of releases, who is asked and how; None where a peer is absent."""
    sigma2s = [10_000 + 37 * i for i in range(MANY)]
    epsilons = [Fraction(100 + 7 * i, 10**6) for i in range(MANY)]
    same = [Fraction(1, 100)] * MANY
    return {
        GAUSSIANS: gaussians(sigma2s),
        DIFFERENT: pure(epsilons, PureDP),
        EQUAL: pure(same, PureDP),
        SELECTIONS: pure(same, BoundedRange),
    }


def ours(kind: Callable[[Fraction], object], parameters: list) -> Callable[[], float]:
    def total() -> float:
        concentrated_epsilon.cache_clear()
        least_epsilon_of_mu2.cache_clear()
        return float(compose([kind(parameter) for parameter in parameters]).total(DELTA).epsilon)

    return total


def gaussians(sigma2s: list[int]) -> Contenders:
    share = DELTA / 2 / MANY
    spent = [(float(ZeroConcentratedDP(Fraction(1, 2 * s)).to_approx(share).epsilon), share) for s in sigma2s]
    return {
        OURS: ours(Gaussian, sigma2s),
        **peers([("GaussianDpEvent", math.sqrt(s)) for s in sigma2s]),
        BUDGET: budget(spent, DELTA / 2),
    }


def pure(epsilons: list[Fraction], kind: Callable[[Fraction], object]) -> Contenders:
    """Return contenders for epsilon private releases: to the peers all are randomised responses."""
    responses = [("RandomizedResponseDpEvent", 2 / (1 + math.exp(e)), 2) for e in epsilons]
    return {
        OURS: ours(kind, epsilons),
        **peers(responses),
        BUDGET: budget([(float(e), 0.0) for e in epsilons], DELTA),
    }


def peers(releases: list[tuple]) -> Contenders:
    if accounting is None:
        return {RDP: None, PLD: None}
    relation = {"GaussianDpEvent": "ADD_OR_REMOVE_ONE"}.get(releases[0][0], "REPLACE_ONE")

    def ask(accountant: type) -> Callable[[], float]:
        def total() -> float:
            neighbors = getattr(accounting.NeighboringRelation, relation)
            book = accountant(neighboring_relation=neighbors)
            for name, *parameters in releases:
                book.compose(getattr(accounting.dp_event, name)(*parameters))
            return float(book.get_epsilon(DELTA))

        return total

    return {RDP: ask(rdp.RdpAccountant), PLD: ask(pld.PLDAccountant)}


def budget(spent: list[tuple[float, float]], slack: float) -> Callable[[], float] | None:
    if accountants is None:
        return None
    return lambda: float(accountants.BudgetAccountant(slack=slack, spent_budget=spent).total()[0])


def asked(contender: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Return the answer and the best time."""
    best, answer = math.inf, math.nan
    for _ in range(rounds):
        start = time.perf_counter()
        answer = contender()
        best = min(best, time.perf_counter() - start)
        if best > PATIENCE:
            break
    return answer, best


def rows(rounds: int) -> list[dict]:
    table = []
    for question, contenders in questions().items():
        for name, contender in contenders.items():
            epsilon, seconds = (None, None) if contender is None else asked(contender, rounds)
            table.append({"releases": question, "by": name, "epsilon": epsilon, "seconds": seconds})
    return table


def shown(table: list[dict]) -> str:
    lines = [["releases", "by", "epsilon", "seconds"]]
    for row in table:
        absent = row["seconds"] is None
        figures = ["absent", ""] if absent else [f"{row['epsilon']:.6f}", f"{row['seconds']:.4f}"]
        lines.append([row["releases"], row["by"], *figures])
    return lined_up(lines, left=2)


def bars(table: list[dict]) -> dict[str, dict]:
    mine = {row["releases"]: row for row in table if row["by"] == OURS}
    seconds, epsilon = mine[GAUSSIANS]["seconds"], mine[SELECTIONS]["epsilon"]
    return {
        "seconds": {"bar": BAR_SECONDS, "ours": seconds, "met": seconds <= BAR_SECONDS},
        "epsilon": {"bar": BAR_EPSILON, "ours": epsilon, "met": epsilon <= BAR_EPSILON},
    }


def main() -> None:
    parser = options_of("accounting", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = rows(options.rounds)
    print(shown(table))
    for name, bar in bars(table).items():
        print(f"\nbar: {name} at most {bar['bar']}: {bar['ours']:.4f}, {'met' if bar['met'] else 'MISSED'}")
    packages = ("numpy", "dp-accounting", "diffprivlib")
    write(options.json, packages, rounds=options.rounds, bars=bars(table), rows=table)


if __name__ == "__main__":
    main()
