"""How good are private probabilities: an ensemble's released scores, and what students learn from them?

    python benchmarks/bench_soft_labels.py [--data FOLDER] [--fits 3] [--quick] [--json PATH]

Adult, as bench_aggregate.py splits it (one-hot by the public code book, 8,000 public rows without labels,
UCI's test rows to measure on; ensembles are asked about the first 1,000 of them). Measured are the Brier
score, the log loss (after probabilities are clipped to [0.001, 0.999]), the area under the ROC curve, and a
reliability table of 10 equal bins, pooled over all runs. Ensembles are trained once a split, their noise is
drawn 20 times. A declined score, and one after it stopped, counts as 1/2, the default, or as the share of
positives in the column "guessed"; "answered" tells the share of the others, and "there" the Brier scores of
both aggregations, and of that share, on the rows that "sparse_vector" answered.

Apart: 200,000 made-up records in two clusters 16 standard deviations apart, a tenth of the labels flipped, so
that all true probabilities are .1 or .9. Up to 100,000 queries, epsilon 1: the regime in which nearly free
stable answers should beat a mean, whose budget is divided. Shards have 100 records; 20, which is the default,
suit a mean better: it is measured with these too, on 1,000 of the rows, with noise as for all. The students
of the last lines get the queries as public rows.

Delta 1e-6, noise from the operating system; all sizes are the defaults unless a line tells them. Native
libraries get one thread.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from bench_aggregate import PUBLIC_ROWS, Split, adult_splits
from bench_generic import figure
from side_by_side import lined_up, options_of, peer, public_generator, write
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from dplearn import (
    KnowledgeTransferClassifier,
    PublicData,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
)
from dplearn.chance import PublicStream, SystemDice
from dplearn.kernels import FIXED_POINT_ONE
from dplearn.kernels.votes import SoftVotes, soft_tally
from dplearn.learners.votes.aggregators import SOFT_AGGREGATIONS, Ballot
from dplearn.learners.votes.asked import Scores
from dplearn.learners.votes.online import probabilities_of
from dplearn.learners.votes.recipe import AggregationPlan, shards
from dplearn.learners.votes.standard import standard_estimator, standard_scorer
from dplearn.learners.votes.teachers import train_and_ask

DELTA, QUERIES, DRAWS, CLIP = 1e-6, 1000, 20, 0.001
EPSILONS = (0.5, 1.0, 3.0)
BINS = (2, 4, 8)
APART_RECORDS, APART_QUERIES, SAMPLE, FLIPPED = 200_000, (1000, 10_000, 100_000), 1000, 0.1
APART_TEACHERS, APART_BINS = 2000, (2, 3, 4, 5)

Row = dict[str, Any]
#: Predicted probabilities of the second label, and the truth as 0 or 1.
Run = tuple[np.ndarray, np.ndarray]
MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "brier": lambda p, truth: float(np.mean((p - truth) ** 2)),
    "log_loss": lambda p, truth: log_loss(p.clip(CLIP, 1 - CLIP), truth),
    "auc": lambda p, truth: float(roc_auc_score(truth, p)),
}


def log_loss(p: np.ndarray, truth: np.ndarray) -> float:
    return -float(np.mean(np.log(np.where(truth == 1, p, 1 - p))))


def row(data: str, what: str, runs: Sequence[Run], **more: Any) -> Row:
    """Return means and standard deviations over runs, and what was true where something was predicted."""
    found: Row = {"data": data, "what": what, "runs": len(runs)} | more
    for name, measure in MEASURES.items():
        values = [measure(*run) for run in runs]
        found[name] = float(np.mean(values))
        found[f"{name}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    p, truth = (np.concatenate(part) for part in zip(*runs, strict=True))
    return found | {"reliability": reliability(p, truth)}


def reliability(p: np.ndarray, truth: np.ndarray) -> list[Row]:
    """Return a line for each tenth that anything was predicted in."""
    tenth, lines = (10 * p).astype(int).clip(0, 9), []
    for place in np.unique(tenth).tolist():
        here = tenth == place
        means = {"predicted": float(p[here].mean()), "positives": float(truth[here].mean())}
        lines.append({"bin": [place / 10, (place + 1) / 10], "count": int(here.sum())} | means)
    return lines


def ensemble(aggregation: str, epsilon: float, **how: Any) -> SoftLabelAggregateClassifier:
    return SoftLabelAggregateClassifier(
        aggregation=aggregation, epsilon=epsilon, delta=DELTA, classes=[0, 1], **how
    )


def fixed_scores(X: np.ndarray, y: np.ndarray, n_teachers: int, queries: np.ndarray) -> np.ndarray:
    """Return the teachers' scores, which depend on no epsilon."""
    stream = PublicStream.of(None, "ensemble")
    return train_and_ask(
        standard_scorer(X),
        X,
        y,
        shards(len(y), n_teachers, stream),
        queries=queries,
        asked=Scores(np.array([0, 1])),
        seeds=stream.seeds(n_teachers),
    )


def tallied(scores: np.ndarray, n_bins: int) -> SoftVotes:
    return soft_tally(scores, n_bins)


def released(plan: AggregationPlan, votes: SoftVotes) -> np.ndarray:
    """Return what one draw of noise releases; nan where declined, and where it had stopped."""
    ballot = Ballot(plan.guarantee, 2, plan.n_teachers, plan.max_queries, plan.max_abstentions)
    scores = SOFT_AGGREGATIONS[plan.aggregation](ballot).attach(SystemDice()).answer(votes)[:, 0]
    return np.append(scores, np.full(len(votes) - len(scores), np.nan))


def likely(scores: np.ndarray) -> np.ndarray:
    return probabilities_of(scores[:, None], 2, None)[:, 1]


class Adult:
    """The splits, labels as 0 and 1, and the teachers' scores, computed when they are first needed."""

    def __init__(self, splits: Sequence[Split]):
        rich = ">50K"
        self.splits = [
            Split(s.X, (s.y == rich).astype(int), s.public, s.X_test, (s.y_test == rich).astype(int))
            for s in splits
        ]
        self.n = len(self.splits[0].y)
        self.prior = float(self.splits[0].y.mean())
        self.fixed_scores = cache(self._grains)

    def _grains(self, place: int, n_teachers: int) -> np.ndarray:
        s = self.splits[place]
        return fixed_scores(s.X, s.y, n_teachers, s.X_test[:QUERIES])

    def students(self, model: Any) -> list[Run]:
        """Return what students of a model predict, one fit for each split."""
        return [
            (
                clone(model).fit(s.X, s.y, X_public=PublicData(s.public)).predict_proba(s.X_test)[:, 1],
                s.y_test,
            )
            for s in self.splits
        ]

    def draws(self, plan: AggregationPlan, n_bins: int, number: int) -> list[np.ndarray]:
        """Return released scores, split after split."""
        found = []
        for place in range(len(self.splits)):
            votes = tallied(self.fixed_scores(place, plan.n_teachers), n_bins)
            found += [released(plan, votes) for _ in range(number)]
        return found


def references(adult: Adult) -> Iterator[Row]:
    """Yield what needs no privacy."""
    prior = [(np.full(len(s.y_test), s.y.mean()), s.y_test) for s in adult.splits]
    yield row("Adult", "share of positives, for all", prior)
    asked = [(p[:QUERIES], truth[:QUERIES]) for p, truth in prior]
    yield row("Adult", "share of positives, on the rows asked", asked)
    model = standard_estimator(adult.splits[0].X, C=10)
    alone = [(clone(model).fit(s.X, s.y).predict_proba(s.X_test)[:, 1], s.y_test) for s in adult.splits]
    yield row("Adult", "logistic regression, not private", alone)
    yield row(
        "Adult", "logistic regression, on the rows asked", [(p[:QUERIES], t[:QUERIES]) for p, t in alone]
    )
    n_teachers = ensemble("mean", 1.0).plan(adult.n).n_teachers
    plain = [
        ((adult.fixed_scores(place, n_teachers) + 0.5).mean(axis=0) / FIXED_POINT_ONE, s.y_test[:QUERIES])
        for place, s in enumerate(adult.splits)
    ]
    sure = certainty(np.hstack([adult.fixed_scores(place, n_teachers) for place in range(len(adult.splits))]))
    more = {"teachers": n_teachers, "asked": QUERIES} | sure
    yield row("Adult", "mean without noise, not private", plain, **more)


def certainty(scores: np.ndarray) -> Row:
    """Return which percentages of the scores that there are lie near 0 or 1."""
    known = (scores[scores >= 0] + 0.5) / FIXED_POINT_ONE
    far = np.minimum(known, 1 - known)
    return {f"within_{near:g}": 100 * float(np.mean(far < near)) for near in (1 / 8, 1 / 100)}


def ensemble_rows(adult: Adult, epsilon: float, draws: int) -> Iterator[Row]:
    """Yield scores released for the first test rows: the mean's, and by bins of several widths."""
    truths = [s.y_test[:QUERIES] for s in adult.splits for _ in range(draws)]
    plan = ensemble("mean", epsilon, max_queries=QUERIES).plan(adult.n)
    means = [likely(scores) for scores in adult.draws(plan, 2, draws)]
    public = {"epsilon": epsilon, "asked": QUERIES}
    more = public | {"teachers": plan.n_teachers, "answered": 100.0}
    yield row("Adult", "ensemble, mean", list(zip(means, truths, strict=True)), **more)
    plan = ensemble("sparse_vector", epsilon, max_queries=QUERIES).plan(adult.n)
    for n_bins in BINS:
        scores = adult.draws(plan, n_bins, draws)
        auto = ", auto" if plan.bin_width == 1 / n_bins else ""
        runs = [(likely(each), truth) for each, truth in zip(scores, truths, strict=True)]
        yield row(
            "Adult",
            f"ensemble, bins of 1/{n_bins}{auto}",
            runs,
            **public,
            teachers=plan.n_teachers,
            unstable=plan.max_abstentions,
            **on_answered(scores, means, truths, adult.prior),
        )


def on_answered(
    scores: Sequence[np.ndarray], means: Sequence[np.ndarray], truths: Sequence[np.ndarray], prior: float
) -> Row:
    """Return the percentage answered, and Brier scores there of both aggregations and of the constant.

    And, of all rows, with the constant instead of 1/2 for what was declined.
    """
    bins, mean, truth = (np.concatenate(part) for part in (scores, means, truths))
    spoken, brier = ~np.isnan(bins), MEASURES["brier"]
    guessed = brier(np.where(spoken, likely(bins), prior), truth)
    found = {"answered": 100 * float(spoken.mean()), "guessed": guessed}
    if not spoken.any():
        return found
    three = {"there": likely(bins), "mean_there": mean, "prior_there": np.full(len(truth), prior)}
    return found | {name: brier(p[spoken], truth[spoken]) for name, p in three.items()}


def student_rows(adult: Adult, epsilon: float) -> Iterator[Row]:
    common = {"epsilon": epsilon, "delta": DELTA, "classes": [0, 1]}
    models = {
        "student of labels": KnowledgeTransferClassifier(**common),
        "student of means": SoftLabelTransferClassifier(**common),
        "student of bins": SoftLabelTransferClassifier(aggregation="sparse_vector", **common),
    }
    for name, model in models.items():
        plan = model.plan(adult.n, n_rows=PUBLIC_ROWS)
        more = {"teachers": plan.n_teachers, "asked": plan.max_queries}
        yield row("Adult", name, adult.students(model), epsilon=epsilon, **more)


def adult_rows(options: argparse.Namespace) -> Iterator[Row | str]:
    """Yield the rows of Adult, or a sentence where it cannot be had."""
    if peer("pandas") is None:
        yield "Adult: not run, since pandas is not installed"
        return
    try:
        adult = Adult(adult_splits(options.data, options.fits)[0])
    except (OSError, ValueError) as error:
        yield f"Adult: not run; no data ({type(error).__name__}: {error}); name a folder with --data"
        return
    yield from references(adult)
    for epsilon in EPSILONS[1:2] if options.quick else EPSILONS:
        yield from ensemble_rows(adult, epsilon, DRAWS)
        yield from student_rows(adult, epsilon)


def apart(n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of two clusters, noisy labels, and the true probabilities."""
    side = generator.integers(0, 2, n)
    X = generator.normal(size=(n, 5))
    X[:, 0] += 16 * (side - 0.5)
    return X, side ^ (generator.random(n) < FLIPPED), np.where(side, 1 - FLIPPED, FLIPPED)


def apart_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the regime in which stable answers should beat the mean."""
    generator = public_generator()
    X, y, _ = apart(APART_RECORDS, generator)
    asked = APART_QUERIES[: 2 if options.quick else 3]
    queries, truth, known = apart(asked[-1], generator)
    yield row("apart", "true probabilities", [(known, truth)])
    scores = fixed_scores(X, y, APART_TEACHERS, queries)
    for number in asked:
        for aggregation, n_bins in (("mean", 2), *(("sparse_vector", bins) for bins in APART_BINS)):
            plan = ensemble(aggregation, 1.0, n_teachers=APART_TEACHERS, max_queries=number).plan(len(y))
            yield apart_row(plan, scores[:, :number], truth[:number], n_bins)
    del scores
    plan = ensemble("mean", 1.0, max_queries=asked[-1]).plan(len(y))
    few = fixed_scores(X, y, plan.n_teachers, queries[:SAMPLE])
    for number in asked[1:]:
        plan = ensemble("mean", 1.0, max_queries=number).plan(len(y))
        yield apart_row(plan, few, truth[:SAMPLE], 2)
    models = {
        "student of labels": KnowledgeTransferClassifier,
        "student of means": SoftLabelTransferClassifier,
    }
    for name, kind in models.items():
        model = kind(epsilon=1.0, delta=DELTA, classes=[0, 1]).fit(X, y, X_public=PublicData(queries))
        more = {"epsilon": 1.0, "teachers": model.n_teachers_, "asked": model.n_asked_}
        yield row("apart", name, [(model.predict_proba(queries)[:, 1], truth)], **more)


def apart_row(plan: AggregationPlan, scores: np.ndarray, truth: np.ndarray, n_bins: int) -> Row:
    votes = tallied(scores, n_bins)
    draws = [released(plan, votes) for _ in range(3)]
    auto = ", auto" if plan.bin_width == 1 / n_bins else ""
    return row(
        "apart",
        "ensemble, mean" if plan.aggregation == "mean" else f"ensemble, bins of 1/{n_bins}{auto}",
        [(likely(each), truth) for each in draws],
        epsilon=1.0,
        asked=plan.max_queries,
        teachers=plan.n_teachers,
        unstable=plan.max_abstentions,
        answered=100 * float(np.mean(~np.isnan(draws))),
    )


SHOWN = {
    "epsilon": "g",
    "teachers": "d",
    "asked": "d",
    "unstable": "d",
    "answered": ".1f",
    "brier": ".4f",
    "brier_sd": ".4f",
    "log_loss": ".4f",
    "log_loss_sd": ".4f",
    "auc": ".4f",
    "there": ".4f",
    "mean_there": ".4f",
    "prior_there": ".4f",
    "guessed": ".4f",
}


def results_shown(rows: Sequence[Row]) -> str:
    lines = [["data", "what", *SHOWN]]
    for r in rows:
        lines.append([r["data"], r["what"], *(figure(r.get(name), form) for name, form in SHOWN.items())])
    return lined_up(lines, left=2)


def tables_shown(rows: Sequence[Row]) -> str:
    """Return reliability tables: mean prediction, share of positives and count for each tenth."""
    lines = []
    for r in rows:
        lines.append(f"{r['data']}, {r['what']}, epsilon {r.get('epsilon')}, {r.get('asked')} asked")
        lines += [f"  {e['predicted']:.3f}  {e['positives']:.3f}  {e['count']}" for e in r["reliability"]]
    return "\n".join(lines)


def main() -> None:
    parser = options_of("soft_labels", __doc__)
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--fits", type=int, default=3, help="splits of Adult a figure is the mean of")
    parser.add_argument("--quick", action="store_true", help="one split, epsilon 1 only, and 10,000 queries")
    options = parser.parse_args()
    if options.quick:
        options.fits = 1
    start, rows, notes = time.perf_counter(), [], []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (adult_rows(options), apart_rows(options)):
            for each in part:
                if isinstance(each, str):
                    notes.append(each)
                    continue
                rows.append(each)
                seconds = f"{time.perf_counter() - start:.0f} s"
                print(results_shown([each]).splitlines()[1], seconds, file=sys.stderr, flush=True)
    took = time.perf_counter() - start
    print("\n\n".join([tables_shown(rows), results_shown(rows), *notes, f"{took:.0f} s"]))
    packages = ("numpy", "scikit-learn", "pandas", "joblib")
    write(options.json, packages, notes=notes, fits=options.fits, seconds=took, rows=rows)


if __name__ == "__main__":
    main()
