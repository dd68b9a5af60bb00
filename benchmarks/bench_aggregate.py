"""What do an ensemble's private answers, and a student that learned from them, cost in accuracy and in time?

    python benchmarks/bench_aggregate.py [--data FOLDER] [--diffprivlib-python PATH] [--fits 3]
        [--only adult small made cost] [--json PATH]

Adult (FOLDER as in bench_generic.py). Each repetition draws 8,000 of UCI's training rows, whose labels it
forgets, as the public ones; the other 24,561 are private, and UCI's test rows are tested on. "one-hot" is the
public code book's encoding with numbers scaled by declared bounds, and everybody gets it, diffprivlib too;
"frame" is the data frame with its texts as they are, for the default teachers and student. Ensembles: share
of queries answered and accuracy of those, over 20 draws of noise for each of the ensembles (which are trained
once: votes do not depend on epsilon). Bar: students at epsilon 1 reach 82%.
diffprivlib's models need an older scikit-learn: name the python of an environment that has both.
Digits and breast cancer (bundled): a quarter of the rows is public, a quarter is tested on.
Made: the table of the guide, with 1,000 teachers and 1,000 queries for each aggregation, 20 draws of noise.
Cost: 250 teachers beside one model on all of 50,000 made-up records, best time of each.

Accuracies in percent, delta 1e-6, noise from the operating system. How many teachers there are and how many
rows are asked is the default, chosen on synthetic data (make_classification) and not on these sets, except
that the number of rows asked was halved after Adult was seen. The boosted student's settings are no default:
they were compared with others on Adult's test rows too, and show what a stronger student can do. Native
libraries get one thread, for all: on a busy machine more make small fits many times slower.
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
from bench_generic import CATEGORIES, NUMBERS, adult_from_folder, adult_from_openml, figure
from side_by_side import asked_of, compared, lined_up, options_of, peer, public_generator, shown, write
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from dplearn import ApproxDP, KnowledgeTransferClassifier, PublicData, SubsampleAggregateClassifier
from dplearn.chance import PublicStream, SystemDice
from dplearn.kernels.votes import Votes, tally
from dplearn.learners.votes.aggregators import AGGREGATIONS, planned_ballot
from dplearn.learners.votes.asked import Labels
from dplearn.learners.votes.recipe import shards
from dplearn.learners.votes.standard import standard_estimator
from dplearn.learners.votes.teachers import train_and_ask

pandas = peer("pandas")

DELTA, PUBLIC_ROWS, DRAWS = 1e-6, 8000, 20
EPSILONS, SMALL_EPSILONS = (0.5, 1.0, 3.0), (1.0, 3.0, 10.0)
BAR_EPSILON, BAR = 1.0, 82.0
QUERIES = (100, 1000)
PRIVATELY = ("sparse_vector", "gnmax")
TEACHERS, RECORDS = 250, 50_000
MADE = 1000  # teachers and queries of the made table
PARTS = ("adult", "small", "made", "cost")
PEERS = ("LogisticRegression", "GaussianNB", "RandomForestClassifier", "DecisionTreeClassifier")
# Runs in the other environment. Bounds are those that the code book declares: all columns are in [0, 1].
THEIR_PROGRAM = """
import json, sys, warnings
import numpy as np
import diffprivlib.models as models
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
name, epsilon, norm = sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
how = {"data_norm": norm} if name == "LogisticRegression" else {"bounds": (0.0, 1.0)}
if "Tree" in name or "Forest" in name:
    how["classes"] = np.unique(data["y"])
model, found = getattr(models, name), []
for _ in range(int(sys.argv[5])):
    fit = model(epsilon=epsilon, **how).fit(data["X"], data["y"])
    found.append(100 * float(fit.score(data["X_test"], data["y_test"])))
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Split:
    """Private rows with labels, public rows without, and what is tested on."""

    X: Any
    y: np.ndarray
    public: Any
    X_test: Any
    y_test: np.ndarray


Row = dict[str, Any]
Table = Sequence[Row]


def row(data: str, learner: str, values: Sequence[float], **more: Any) -> Row:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    mean = float(np.mean(values)) if len(values) else None
    return {"data": data, "learner": learner, "mean": mean, "sd": spread, "values": list(values)} | more


def adult_splits(folder: Path | None, fits: int) -> tuple[list[Split], list[Split]]:
    """Return the splits as one-hot arrays, and the same as data frames."""
    train, test = adult_from_openml() if folder is None else adult_from_folder(folder)
    columns, generator = [*NUMBERS, *CATEGORIES], public_generator()
    encoded, encoded_test = (one_hot(part) for part in (train, test))
    labels, test_labels = (part["income"].to_numpy().astype(str) for part in (train, test))
    frames, arrays = [], []
    for _ in range(fits):
        order = generator.permutation(len(train))
        public, private = order[:PUBLIC_ROWS], order[PUBLIC_ROWS:]
        arrays.append(Split(encoded[private], labels[private], encoded[public], encoded_test, test_labels))
        rows = train[columns].iloc
        frames.append(Split(rows[private], labels[private], rows[public], test[columns], test_labels))
    return arrays, frames


def one_hot(frame: Any) -> np.ndarray:
    """Return numbers scaled by their declared bounds, and categories of the public code book one-hot."""
    scaled = [(frame[name].to_numpy(float) - d.low) / (d.high - d.low) for name, d in NUMBERS.items()]
    encoder = OneHotEncoder(categories=list(CATEGORIES.values()), sparse_output=False)
    return np.column_stack([*scaled, encoder.fit_transform(frame[list(CATEGORIES)])])


def small_splits(load: Callable[..., Any], fits: int) -> list[Split]:
    X, y = load(return_X_y=True)
    generator, quarter, splits = public_generator(), len(y) // 4, []
    for _ in range(fits):
        order = generator.permutation(len(y))
        public, tested, private = np.split(order, [quarter, 2 * quarter])
        splits.append(Split(X[private], y[private], X[public], X[tested], y[tested]))
    return splits


def boosted(rows_asked: int) -> HistGradientBoostingClassifier:
    """Return a student that is strong on many rows and careful with noisy answers."""
    return HistGradientBoostingClassifier(
        max_iter=100,
        max_leaf_nodes=8,
        min_samples_leaf=max(20, rows_asked // 40),
        learning_rate=0.05,
        l2_regularization=1,
    )


def references(data: str, splits: Sequence[Split]) -> Iterator[Row]:
    """Yield what needs no privacy: the majority class, and the default teacher trained on all records."""
    majority = [np.unique(s.y, return_counts=True) for s in splits]
    guesses = [names[counts.argmax()] for names, counts in majority]
    yield row(data, "majority class", [hit(guess, s) for guess, s in zip(guesses, splits, strict=True)][:1])
    model = standard_estimator(splits[0].X, C=10)
    values = [hit(clone(model).fit(s.X, s.y).predict(s.X_test), s) for s in splits]
    yield row(data, "logistic regression, not private", values)


def hit(predicted: Any, split: Split) -> float:
    return 100 * float(np.mean(predicted == split.y_test))


def student_row(data: str, splits: Sequence[Split], epsilon: float, student: str = "default") -> Row:
    values, took = [], []
    for split in splits:
        model = KnowledgeTransferClassifier(epsilon=epsilon, delta=DELTA, classes=np.unique(split.y).tolist())
        plan = model.plan(len(split.y), n_rows=len(split.public))
        model.set_params(student=boosted(plan.max_queries) if student == "boosted" else None)
        start = time.perf_counter()
        model.fit(split.X, split.y, X_public=PublicData(split.public))
        values.append(hit(model.predict(split.X_test), split))
        took.append(time.perf_counter() - start)
    more = {"teachers": model.n_teachers_, "asked": model.n_asked_}
    return row(data, f"{student} student", values, epsilon=epsilon, seconds=min(took), **more)


def adult_students(arrays: Sequence[Split], frames: Sequence[Split]) -> Iterator[Row]:
    for epsilon in EPSILONS:
        for student in ("default", "boosted"):
            yield judged(student_row("Adult, one-hot", arrays, epsilon, student))
        if epsilon == BAR_EPSILON:
            yield judged(student_row("Adult, frame", frames, epsilon))


def judged(found: Row) -> Row:
    if found["epsilon"] != BAR_EPSILON:
        return found
    return found | {"bar": BAR, "passed": found["mean"] >= BAR}


def ensemble_rows(data: str, splits: Sequence[Split], epsilons: Sequence[float], most: int) -> Iterator[Row]:
    """Yield how many of the first test rows ensembles answer, and how well."""
    cast: dict[tuple[int, int], np.ndarray] = {}
    for aggregation in PRIVATELY:
        for epsilon in epsilons:
            for n_queries in (q for q in QUERIES if q <= most):
                outcomes = []
                for place, split in enumerate(splits):
                    ballot = planned_ballot(
                        AGGREGATIONS[aggregation],
                        ApproxDP(epsilon, DELTA),
                        n_samples=len(split.y),
                        n_labels=len(np.unique(split.y)),
                        max_queries=n_queries,
                    )
                    key = place, ballot.n_teachers
                    cast[key] = cast[key] if key in cast else votes_on(split, ballot.n_teachers, most)
                    votes = tally(cast[key][:, :n_queries], ballot.n_labels)
                    make = partial(AGGREGATIONS[aggregation], ballot)
                    outcomes += [outcome(make, votes, split) for _ in range(DRAWS)]
                answered, right = zip(*outcomes, strict=True)
                yield row(
                    data,
                    f"ensemble, {aggregation}",
                    [value for value in right if not math.isnan(value)],
                    epsilon=epsilon,
                    teachers=ballot.n_teachers,
                    asked=n_queries,
                    unstable=ballot.max_abstentions,
                    answered=float(np.mean(answered)),
                )
    plain = [tally(votes, len(np.unique(splits[p].y))).winner for (p, _), votes in cast.items()]
    right = [
        100 * float(np.mean(np.unique(splits[p].y)[w] == splits[p].y_test[:most]))
        for (p, _), w in zip(cast, plain, strict=True)
    ]
    yield row(data, "ensemble's plurality, not private", right, asked=most)


def votes_on(split: Split, n_teachers: int, most: int) -> np.ndarray:
    stream = PublicStream.of(None, "ensemble")
    return train_and_ask(
        standard_estimator(split.X, C=10),
        split.X,
        split.y,
        shards(len(split.y), n_teachers, stream),
        queries=split.X_test[:most],
        asked=Labels(np.unique(split.y)),
        seeds=stream.seeds(n_teachers),
    )


def outcome(make: Callable[[], Any], votes: Votes, split: Split) -> tuple[float, float]:
    """Return the percentages of queries answered, and of right answers among them."""
    codes = make().attach(SystemDice()).answer(votes).codes
    spoken = codes >= 0
    asked = len(votes.winner)
    if not spoken.any():
        return 0.0, math.nan
    right = np.unique(split.y)[codes[spoken]] == split.y_test[: len(codes)][spoken]
    return 100 * float(spoken.sum()) / asked, 100 * float(right.mean())


def their_rows(python: str | None, splits: Sequence[Split], fits: int) -> Iterator[Row]:
    """Yield the accuracies of diffprivlib's models, in their own environment; none where there is none."""
    norm = math.sqrt(len(NUMBERS) + len(CATEGORIES))  # no row is longer: numbers and one 1 a category
    with TemporaryDirectory() as folder:
        path = Path(folder) / "adult.npz"
        s = splits[0]
        np.savez(path, X=s.X.clip(0, 1), y=s.y, X_test=s.X_test.clip(0, 1), y_test=s.y_test)
        for name in PEERS:
            for epsilon in EPSILONS:
                values = None
                if python is not None:
                    values = asked_of(python, THEIR_PROGRAM, path, name, epsilon, norm, fits)
                yield row("Adult, one-hot", f"diffprivlib {name}", values or [], epsilon=epsilon)


def small_rows(fits: int) -> Iterator[Row]:
    for name, load in (("digits", load_digits), ("breast cancer", load_breast_cancer)):
        splits = small_splits(load, fits)
        yield from references(name, splits)
        for epsilon in SMALL_EPSILONS:
            yield student_row(name, splits, epsilon)
        yield from ensemble_rows(name, splits, SMALL_EPSILONS, 100)


def made_rows() -> Iterator[Row]:
    """Yield the answers of each aggregation on the table of the guide, by the default teachers."""
    how = {"n_features": 15, "n_informative": 8, "class_sep": 1.2, "flip_y": 0.02, "random_state": 0}
    X, y = make_classification(24_000, **how)
    split = Split(X[:20_000], y[:20_000], X[20_000:22_000], X[22_000:], y[22_000:])
    yield from references("made", [split])
    votes = tally(votes_on(split, MADE, MADE), 2)
    for name, aggregation in AGGREGATIONS.items():
        for epsilon in (1.0, 3.0):
            sizes = {"n_samples": 20_000, "n_labels": 2, "n_teachers": MADE, "max_queries": MADE}
            ballot = planned_ballot(aggregation, ApproxDP(epsilon, DELTA), **sizes)
            answered, right = zip(
                *(outcome(partial(aggregation, ballot), votes, split) for _ in range(DRAWS)), strict=True
            )
            more = {"epsilon": epsilon, "teachers": MADE, "asked": MADE}
            found = row("made", f"ensemble, {name}", [r for r in right if not math.isnan(r)], **more)
            yield found | {"answered": float(np.mean(answered)), "answered_sd": float(np.std(answered))}


def cost_rows(rounds: int) -> list[Row]:
    X, y = make_classification(RECORDS, random_state=0)
    forest = RandomForestClassifier(20, max_depth=8, random_state=0)
    rows = []
    for name, model in (("logistic regression", standard_estimator(X, C=10)), ("random forest", forest)):
        ensemble = SubsampleAggregateClassifier(model, n_teachers=TEACHERS, classes=[0, 1])
        contenders = {
            "one model, all records": partial(clone(model).fit, X, y),
            f"{TEACHERS} teachers, one worker": partial(clone(ensemble).fit, X, y),
            f"{TEACHERS} teachers, two workers": partial(clone(ensemble).set_params(n_jobs=2).fit, X, y),
        }
        found = compared(contenders, "one model, all records", rounds)
        rows += [{"model": name} | each for each in found]
    return rows


def accuracies_shown(rows: Table) -> str:
    lines = [["data", "learner", "epsilon", "teachers", "asked", "answered", "mean", "sd", "bar"]]
    for r in rows:
        bar = f"{r['bar']:g}: {'pass' if r['passed'] else 'FAIL'}" if "bar" in r else ""
        nothing = "none" if "answered" in r else "absent"
        mean = figure(r["mean"], ".1f") or nothing
        numbers = [figure(r.get(name), form) for name, form in SHOWN.items()]
        lines.append([r["data"], r["learner"], *numbers, mean, figure(r["sd"], ".1f"), bar])
    return lined_up(lines, left=2)


SHOWN = {"epsilon": "g", "teachers": "d", "asked": "d", "answered": ".0f"}


def adult_rows(options: argparse.Namespace) -> Iterator[Row | str]:
    """Yield the rows of Adult, or a sentence where it cannot be had."""
    if pandas is None:
        yield "Adult: not run, since pandas is not installed"
        return
    try:
        arrays, frames = adult_splits(options.data, options.fits)
    except (OSError, ValueError) as error:
        yield f"Adult: not run; no data ({type(error).__name__}: {error}); name a folder with --data"
        return
    yield from references("Adult, one-hot", arrays)
    yield from their_rows(options.diffprivlib_python, arrays, options.fits)
    yield from adult_students(arrays, frames)
    yield from ensemble_rows("Adult, one-hot", arrays, EPSILONS, max(QUERIES))


def parts(options: argparse.Namespace) -> tuple[list[Row], list[str], list[Row]]:
    rows, notes = [], []
    run = {
        "adult": lambda: adult_rows(options),
        "small": lambda: small_rows(options.fits),
        "made": made_rows,
    }
    for part in (name for name in options.only if name in run):
        for each in run[part]():
            if isinstance(each, str):
                notes.append(each)
                continue
            rows.append(each)
            print(accuracies_shown([each]).splitlines()[1], file=sys.stderr, flush=True)
    return rows, notes, cost_rows(options.rounds) if "cost" in options.only else []


def main() -> int:
    parser = options_of("aggregate", __doc__)
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--fits", type=int, default=3, help="repetitions a figure is the mean of")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=2, help="times that each is timed")
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib's models")
    options = parser.parse_args()
    start = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, notes, cost = parts(options)
    failed = [r for r in rows if r.get("passed") is False]
    judged_rows = [r for r in rows if "bar" in r]
    verdict = "FAILED" if failed else "passed" if judged_rows else "not run"
    print("\n".join([accuracies_shown(rows), "", shown(cost, "model"), "", *notes]))
    print(f"bar of {BAR:g} at epsilon {BAR_EPSILON:g}: {verdict}; {time.perf_counter() - start:.0f} s")
    packages = ("numpy", "scikit-learn", "pandas", "joblib")
    write(options.json, packages, notes=notes, fits=options.fits, passed=not failed, rows=rows, cost=cost)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
