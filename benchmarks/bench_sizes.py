"""How often do learners and releases miss their goal at the number of records that their plan asks for?

    python benchmarks/bench_sizes.py [--json PATH] [--times N]

Each runs on made-up records of a distribution that is hard for it: what must be found has a probability just
above alpha. A run fails if the error on the distribution is above alpha. Epsilon 1, alpha .1 and beta .05
unless said. A promise is kept if the share of failures at `n_needed` is at most beta; the share at a quarter
of that shows how loose the bound is. `--times` are the runs of each.

Bar: no failures at `n_needed` that beta excludes with probability 1 - 1e-4.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom
from side_by_side import lined_up, options_of, public_generator, write

from dplearn import (
    ConjunctionClassifier,
    CornerClassifier,
    ExponentialMechanismClassifier,
    ParityClassifier,
    PointClassifier,
    ThresholdClassifier,
)
from dplearn.domains import Bits, Floats, IntegerRange
from dplearn.releases import cdf, cdf_plan, interior_point, interior_point_plan, median, median_plan

ALPHA, BETA, CHANCE = 0.1, 0.05, 1e-4
JUST_ABOVE = ALPHA * 1.02
AGES = IntegerRange(0, 255)
Rows = tuple[Any, Any]


class Task(NamedTuple):
    """What is run: the number of records that is asked for, and whether a run on n records fails."""

    name: str
    needed: int
    fails: Callable[[int, np.random.Generator], bool]


def learner(
    name: str, model: Any, draw: Callable[..., Rows], error: Callable[[Any], float], **plan: Any
) -> Task:
    """Return a task of a classifier; `error` is that of a fitted one on the distribution."""
    stated = model.plan(1000, **{key: value for key, value in plan.items() if key != "asks"})

    def fails(n: int, generator: np.random.Generator) -> bool:
        return error(model.fit(*draw(n, generator))) > ALPHA

    return Task(name, getattr(stated, plan.get("asks", "n_needed")), fails)


def atoms(places: Any, labels: Any, masses: Any) -> tuple[Callable[..., Rows], Callable[[Any], float]]:
    """Return draws from a few labelled points, and the error of a fitted classifier on them."""
    X, y = np.array(places), np.array(labels)

    def draw(n: int, generator: np.random.Generator) -> Rows:
        chosen = generator.choice(len(X), n, p=masses)
        return X[chosen], y[chosen]

    def error(model: Any) -> float:
        return float(np.dot(masses, np.reshape(model.predict(X) != y, (len(y), -1)).max(axis=1)))

    return draw, error


def tasks() -> list[Task]:
    """Return all tasks."""
    few = (1 - JUST_ABOVE, JUST_ABOVE)
    cut = atoms([[100], [101]], [0, 1], few)
    floats = atoms([[1.0], [np.nextafter(1, 2)]], [0, 1], few)
    corner = atoms([[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]], [1] * 4, (1 - 3 * 0.034, *[0.034] * 3))
    plane = atoms([[0.0, 0], [3, 0], [0, 3], [255, 255]], [1, 1, 1, 0], (0.598, 0.051, 0.051, 0.3))
    keys = [["a"], ["b"]]
    key = atoms(keys, [0, 1], few)
    outputs = atoms(
        [*([f"k{i}"] for i in range(8)), ["rest"]],
        [*np.eye(8, dtype=int), np.zeros(8, int)],
        [*[JUST_ABOVE] * 8, 1 - 8 * JUST_ABOVE],
    )

    def mixed(n: int, generator: np.random.Generator) -> Rows:
        X = generator.choice([100, 101], (n, 1))
        return X, (generator.random(n) < np.where(X[:, 0] == 100, 0.5 - JUST_ABOVE, 0.5 + JUST_ABOVE)) * 1

    def excess(model: Any) -> float:
        return float((model.predict([[100], [101]]) != [0, 1]).mean() * 2 * JUST_ABOVE)

    def bits(n: int, generator: np.random.Generator) -> Rows:
        X = generator.integers(0, 2, (n, 10))
        return X, X[:, :3].sum(axis=1) % 2

    def half(model: Any) -> float:
        X, y = bits(1000, np.random.default_rng(0))
        return float((model.predict(X) != y).mean())

    found = [
        learner(
            "thresholds of 256 values", ThresholdClassifier(domain=AGES, classes=[0, 1]), *cut, n_features=1
        ),
        learner("thresholds of all floats", ThresholdClassifier(classes=[0, 1]), *floats, n_features=1),
        learner(
            "thresholds by interior points",
            ThresholdClassifier(domain=AGES, classes=[0, 1], method="interior_point"),
            *cut,
            n_features=1,
        ),
        learner(
            "thresholds of 256 values, any labels",
            ThresholdClassifier(domain=AGES, classes=[0, 1]),
            mixed,
            excess,
            n_features=1,
            asks="n_needed_agnostic",
        ),
        learner(
            "corners of three columns of 4 values",
            CornerClassifier(domain=IntegerRange(0, 3), classes=[0, 1]),
            *corner,
            n_features=3,
        ),
        learner("corners of two columns of floats", CornerClassifier(classes=[0, 1]), *plane, n_features=2),
        learner(
            "corners of three columns of floats, delta 1e-6",
            CornerClassifier(classes=[0, 1]),
            *corner,
            n_features=3,
        ),
        learner(
            "conjunctions of 3 bits",
            ConjunctionClassifier(domain=Bits(), classes=[0, 1]),
            *atoms([[1, 1, 1], [0, 1, 1]], [1, 0], few),
            n_features=3,
        ),
        learner(
            "stumps of 256 values",
            ExponentialMechanismClassifier(domain=AGES, classes=[0, 1]),
            *cut,
            n_features=1,
            alpha=ALPHA,
            beta=BETA,
        ),
        learner("keys by stability, delta 1e-6", PointClassifier(delta=1e-6, classes=[0, 1]), *key),
        learner("keys by hashing", PointClassifier(classes=[0, 1]), *key),
        learner(
            "keys of 8 outputs by the sanitizer, delta 1e-6",
            PointClassifier(delta=1e-6, method="sanitizer", classes=[0, 1]),
            *outputs,
            n_outputs=8,
        ),
        learner(
            "parities of 10 bits",
            ParityClassifier(classes=[0, 1]),
            bits,
            half,
            n_features=10,
        ),
    ]

    def outside(n: int, generator: np.random.Generator) -> bool:
        values = generator.normal(50, 1e-3, n)
        return not values.min() <= interior_point(values, domain=Floats()).value <= values.max()

    def off_median(n: int, generator: np.random.Generator) -> bool:
        values = np.sort(generator.uniform(0, 1, n))
        found = median(values, domain=Floats(), epsilon=1).values[0]
        return abs(np.searchsorted(values, found) - n / 2) > 0.05 * n

    def off_cdf(n: int, generator: np.random.Generator) -> bool:
        values = np.sort(generator.integers(0, 256, n))
        places = np.arange(256)
        true = np.searchsorted(values, places, side="right") / n
        return bool(np.abs(cdf(values, domain=AGES).cdf(places) - true).max() > 0.05)

    return [
        *found,
        Task("interior points of floats", interior_point_plan(1000, domain=Floats()).n_needed, outside),
        Task("the median of floats, error .05", median_plan(1000, domain=Floats()).n_needed, off_median),
        Task("a distribution of 256 values, error .05", cdf_plan(1000, domain=AGES).n_needed, off_cdf),
    ]


def main() -> int:
    """Measure, print and record."""
    parser = options_of("sizes", __doc__)
    parser.add_argument("--times", type=int, default=200)
    options = parser.parse_args()
    generator, rows, missed = public_generator(), [], []
    for task in tasks():
        row: dict[str, Any] = {"task": task.name, "needed": task.needed}
        for part in (1, 4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                failed = sum(task.fails(task.needed // part, generator) for _ in range(options.times))
            row[f"failed_at_1/{part}"] = failed / options.times
        allowed = binom.ppf(1 - CHANCE, options.times, BETA)
        missed += [task.name] * int(row["failed_at_1/1"] * options.times > allowed)
        rows.append(row)
        print(*row.values(), flush=True)
    print(lined_up([list(rows[0]), *([str(each) for each in row.values()] for row in rows)]))
    write(options.json, ["dplearn", "numpy"], rows=rows, times=options.times)
    print("missed:", missed or "nothing")
    return len(missed)


if __name__ == "__main__":
    raise SystemExit(main())
