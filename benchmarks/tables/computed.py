"""Write the tables of what calculators and plans return.

    python benchmarks/tables/computed.py

The calculators are those of `dplearn.theory`, `dplearn.privacy` and the registry of audit cases.
"""

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from files import Table, write

from dplearn import learners, model_selection, preprocessing, queries, releases, theory
from dplearn.audit import cases
from dplearn.audit.case import AuditCase
from dplearn.fit.support import FEATURES, refused_pair, supported
from dplearn.privacy import ApproxDP, Approximate, BoundedRange, Composition, Event, Gaussian, PureDP
from dplearn.privacy.composition import least_epsilon
from dplearn.privacy.shares import equal_shares

ASKED = {"epsilon": 1.0, "alpha": 0.1, "beta": 0.1}
BITS = (16, 32, 64)  # a domain has 2**bits values
PRIMES = {16: 2**16 + 1, 32: 2**32 + 15, 64: 2**64 + 13}
POINTS = np.eye(3, dtype=int)

#: The records that learners of classes over 2**bits values need, and the number that none can do with.
RECORDS: list[tuple[str, Callable[[int], int]]] = [
    (
        "thresholds: *no* pure learner with fewer",
        lambda bits: theory.pure_private_lower_bound(bits + 1, **ASKED),
    ),
    (
        "thresholds: `ThresholdClassifier`",
        lambda bits: theory.threshold_sample_size("exponential", (1 << bits) + 1, realizable=True, **ASKED),
    ),
    ("points: *no* pure learner with fewer", lambda _: theory.pure_private_lower_bound(POINTS, **ASKED)),
    ("points: `PointClassifier`, hashing", lambda _: theory.hashed_point_sizes(**ASKED).n_samples),
    ("points: `PointClassifier`, stability, delta 1e-6", lambda _: _stable_points()),
    (
        "places in a hierarchy, a level for each bit: `PointClassifier(prefixes=True)`",
        lambda bits: theory.hashed_point_sizes(n_columns=bits, **ASKED).n_samples,
    ),
    (
        "sets of 10 keys: `PointClassifier(n_keys=10)`",
        lambda _: theory.hashed_point_sizes(n_keys=10, **ASKED).n_samples,
    ),
    (
        "lines modulo p, about 2^bits: *no* pure learner with fewer",
        lambda bits: theory.pure_line_lower_bound(PRIMES[bits], **ASKED),
    ),
    ("lines: the pure `LineClassifier`", lambda bits: theory.pure_line_sample_size(PRIMES[bits], **ASKED)),
    ("lines: `LineClassifier`, delta 1e-6", lambda _: theory.line_sample_size(delta=1e-6, **ASKED)),
]


THEOREMS = {
    "basic": "basic",
    "advanced": "advanced",
    "optimal_homogeneous": "optimal",
    "zero_concentrated": "concentrated",
    "renyi": "Renyi",
    "gaussian": "Gaussian",
}
AUDITED = ["case", "runs", "differs", "records", "claimed", "exact", "pairs", "distributions"]
AUDIT_EXAMPLES = (
    "exponential_mechanism",
    "laplace_counts",
    "stable_histogram",
    "exponential_classifier",
    "naive_bayes",
    "additive",
    "ensemble_gnmax",
    "synthetic_table_with_target",
    "search_by_permute_and_flip",
)
#: From a feature to how it is asked for.
ASKED_BY = {
    "parts": "tables in parts",
    "groups": "`groups`",
    "add_remove": '`neighbors="add_remove"`',
    "local": '`trust_model="local"`',
    "labels": '`protects="labels"`',
    "outputs": "several outputs",
    "sparse": "sparse `X`",
    "partial_fit": "`partial_fit`",
    "learn": '`domain="learn"`',
}
#: The first arguments of estimators that have no defaults for them.
GIVEN: dict[str, tuple[Any, ...]] = {
    "LineClassifier": (11,),
    "PrivateMultiOutputClassifier": (learners.StatisticalQueryLogisticRegression(),),
    "PrivateSearchCV": (learners.StatisticalQueryLogisticRegression(), {}),
    "PrivateTunedThresholdClassifier": (learners.StatisticalQueryLogisticRegression(),),
}


def records() -> Table:
    """Return the table of numbers of records."""
    body = [[name, *(f"{count(bits):,}" for bits in BITS)] for name, count in RECORDS]
    return [["records", *(f"2^{bits} values" for bits in BITS)], *body]


def bounds() -> Table:
    """Return the bound for pure learners by dimension."""
    depths = (2, 16, 32, 64, 128, 256, 1024)
    body = [
        [f"epsilon {epsilon:g}, alpha {alpha:g}", *(f"{_bound(d, epsilon, alpha):,}" for d in depths)]
        for epsilon, alpha in ((1.0, 0.1), (0.1, 0.1), (1.0, 0.01))
    ]
    return [["Littlestone dimension", *map(str, depths)], *body]


def dimensions() -> Table:
    """Return the exact dimensions of small classes."""
    body = []
    for name, concepts, sizes in (
        ("thresholds on N values", thresholds, (4, 8, 16, 32, 64)),
        ("points, N of them", lambda size: np.eye(size, dtype=int), (4, 8, 16, 32, 64)),
        ("intervals on N values", intervals, (4, 8, 16, 32, 64)),
        ("boxes on an N by N grid", boxes, (2, 3, 4, 6, 8)),
        ("lines modulo N", lines, (2, 3, 5, 7, 11)),
    ):
        found = (theory.littlestone_dimension(concepts(size)).lower for size in sizes)
        body.append([name, *(f"{size}: {value}" for size, value in zip(sizes, found, strict=True))])
    return [["class", *["N: dimension"] * 5], *body]


def features() -> Table:
    """Return the features that each estimator, and each release, supports."""
    body = []
    for name, thing in supporting().items():
        found = supported(thing)
        if found:
            body.append([f"`{name}`", *("yes" if feature in found else "" for feature in ASKED_BY)])
    return [["supports", *ASKED_BY.values()], *body]


def supporting() -> dict[str, Any]:
    """Return all estimators and the functions of all releases, by name."""
    found: dict[str, Any] = {}
    for module in (learners, model_selection, preprocessing, releases, queries):
        for name in module.__all__:
            thing = getattr(module, name)
            if hasattr(thing, "fit"):
                more = {"sample_size": 2} if name == "SecretSampleClassifier" else {}
                first = GIVEN.get(name, (learners.LinearRegressor(),) if more else ())
                found[name] = thing(*first, **more)
            elif inspect.isfunction(thing) and "ledger" in inspect.signature(thing).parameters:
                found[f"queries.{name}" if module is queries else name] = thing
    return found


def combinations() -> Table:
    """Return which features nothing supports together."""
    names = [name for name in ASKED_BY if any(refused_pair((name, other)) for other in FEATURES)]
    body = [
        [ASKED_BY[name], *("no" if refused_pair((name, other)) else "" for other in names[:-1])]
        for name in names[1:]
    ]
    for place, row in enumerate(body):
        row[place + 2 :] = [""] * (len(names) - place - 2)
    return [["not together", *(ASKED_BY[name] for name in names[:-1])], *body]


def small_classes() -> Table:
    """Return errors of two messages, smallest representations and values of small classes."""
    body = []
    for name, concepts in (
        *((f"{size} points", np.eye(size, dtype=int)) for size in (3, 4, 5)),
        *((f"{size} thresholds", thresholds(size)) for size in (4, 5)),
        ("intervals on 4 values", intervals(4)),
    ):
        error = theory.one_way_error(concepts, 2).upper if len(concepts) <= 10 else "-"
        smallest = len(theory.deterministic_representation(concepts, 0.25))
        body.append([name, str(error), str(smallest), str(theory.representation_value(concepts, 0.25).upper)])
    head = ["class", "error of two messages", "hypotheses at error 1/4", "value at error 1/4"]
    return [head, *body]


def many_labels() -> Table:
    """Return the records for k thresholds by direct sum, and those for sanitising the records once."""
    domain, alpha, beta, total = 1 << 64, 0.1, 0.05, ApproxDP(1, 1e-6)
    body = []
    for k in (1, 10, 1000):
        share = next(
            each.epsilon
            for each in equal_shares(total, k)
            if least_epsilon(Composition([BoundedRange(each.epsilon)] * k), total.delta) <= 1
        )
        n = math.ceil(2 * (math.log(domain + 1) + math.log(k / beta)) / (float(share) * alpha))
        body.append([f"direct sum, $k = {k:,}$: $k$ exponential mechanisms", f"{n:,}"])
    # Between two neighbouring quantiles lie at most 1/(m + 1) of the records and two errors of a quantile.
    quantiles = min(
        theory.quantile_sample_size(
            [Fraction(i, m + 1) for i in range(1, m + 1)],
            domain,
            epsilon=total.epsilon / 2,
            alpha=(alpha - 1 / (m + 1)) / 2,
            beta=beta,
        )
        for m in range(12, 64)
    )
    half = ApproxDP(total.epsilon / 2, total.delta / 2)
    tree = theory.tree_plan(domain, half).sample_size(alpha / 2, beta)
    body.append([r"sanitiser by quantiles, at half of $\varepsilon$", f"{quantiles:,}"])
    body.append([r"sanitiser by a tree of counts, at half of $\varepsilon$ and $\delta$", f"{tree:,}"])
    return [["thresholds over $2^{64}$ values", "records"], *body]


def thresholds(size: int) -> list[list[int]]:
    """Return as many thresholds on as many values."""
    return [[int(x >= cut) for x in range(size)] for cut in range(size)]


def intervals(size: int) -> list[list[int]]:
    """Return all intervals with a value."""
    return [[int(a <= x <= b) for x in range(size)] for a in range(size) for b in range(a, size)]


def boxes(size: int) -> list[list[int]]:
    """Return all boxes of a square grid with a point."""
    sides = intervals(size)
    return [[p * q for p in a for q in b] for a, b in product(sides, repeat=2)]


def lines(p: int) -> list[list[int]]:
    """Return the lines y = a x + b modulo p."""
    pairs = list(product(range(p), repeat=2))
    return [[int((a * x + b - y) % p == 0) for x, y in pairs] for a, b in pairs]


def _bound(dimension: int, epsilon: float, alpha: float) -> int:
    return theory.pure_private_lower_bound(dimension, epsilon=epsilon, alpha=alpha, beta=ASKED["beta"])


def _stable_points() -> int:
    return theory.stable_point_sample_size(delta=1e-6, **ASKED)


def labels() -> Table:
    """Return the bounds for several labels, without and with a point where the concepts agree."""
    asked = {"epsilon": 1.0, "alpha": 0.05, "beta": 0.05}
    rows = [
        ("labels that concepts decide, delta 0", {"task": "realizable"}),
        ("the same, delta 1e-6", {"task": "realizable", "delta": 1e-6}),
        ("agnostic, delta 1e-6", {"task": "agnostic", "delta": 1e-6}),
        ("thresholds, delta 1e-6", {"task": "thresholds", "delta": 1e-6}),
        ("parities of 20 bits, delta 0", {"task": "parities", "size": 20}),
    ]
    counts = (100, 10_000, 1_000_000)
    body = [
        [
            name,
            *(
                f"{theory.multi_label_lower_bound(k, **task, **asked, rooted=rooted):,}"
                for rooted in (False, True)
                for k in counts
            ),
        ]
        for name, task in rows
    ]
    heads = [f"k = {k:,}{also}" for also in ("", ", agreeing elsewhere") for k in counts]
    return [["no private learner with fewer records", *heads], *body]


def theorems() -> Table:
    """Return the epsilon of several compositions by each theorem, the least in bold."""
    compositions: dict[str, dict[Event, int]] = {
        "10 x `PureDP(0.1)`": {PureDP(0.1): 10},
        "1000 x `PureDP(0.01)`": {PureDP(0.01): 1000},
        "1000 x `BoundedRange(0.01)`": {BoundedRange(0.01): 1000},
        "500 x `PureDP(0.01)`, 30 x `PureDP(0.1)`": {PureDP(0.01): 500, PureDP(0.1): 30},
        "100 x `Approximate(0.1, 1e-9)`": {Approximate(0.1, 1e-9): 100},
        "20 x `Gaussian(400)`": {Gaussian(400): 20},
    }
    body = []
    for name, events in compositions.items():
        found = {by: float(epsilon) for by, epsilon in Composition(events).bounds(delta=1e-6).items()}
        least = min(found, key=lambda by: found[by])
        cells = {by: f"{epsilon:.4f}" for by, epsilon in found.items() if math.isfinite(epsilon)}
        cells[least] = f"**{cells[least]}**"
        body.append([name, *(cells.get(by, "none") for by in THEOREMS)])
    return [["releases", *THEOREMS.values()], *body]


def audit_examples() -> Table:
    """Return the rows of a few audit cases: mechanisms, and whole fits of the learners that guides name."""
    return [AUDITED, *[_audited(cases.CASES[name]) for name in AUDIT_EXAMPLES]]


def audit_cases() -> Table:
    """Return the audit cases of each module of the registry."""
    body = []
    for found in pkgutil.iter_modules(cases.__path__, f"{cases.__name__}."):
        name = found.name.rpartition(".")[2]
        if name != "__main__":  # it freezes cases, and has none
            body += [_audited(case) for case in importlib.import_module(found.name).CASES]
    return [AUDITED, *body]


def _audited(case: AuditCase) -> list[str]:
    """Return the row of an audit case."""
    frozen, claim = case.frozen(), case.claim
    runs = (
        ", ".join(f"`{name}`" for name in case.verifies)
        or f"part of {', '.join(f'`{n}`' for n in case.part_of)}"
    )
    changed = {"examples": "record", "labels": "label", "groups": "group"}[claim.protects]
    if claim.neighbors == "add_remove":
        changed = f"added {changed}"
    claimed = f"{float(claim.epsilon):.5g}" + (f", {float(claim.delta):.2g}" if claim.delta else "")
    return [
        f"`{case.name}`",
        runs,
        changed,
        f"{case.n} of {len(case.universe)} kinds",
        claimed,
        f"{float(frozen['epsilon']):.4f}",
        f"{frozen['n_pairs']:,}",
        f"{frozen['n_distributions']:,}",
    ]


TABLES = (
    audit_cases,
    audit_examples,
    bounds,
    combinations,
    dimensions,
    features,
    labels,
    many_labels,
    records,
    small_classes,
    theorems,
)

if __name__ == "__main__":
    write(TABLES)
