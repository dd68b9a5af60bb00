"""Draw how an ensemble's agreement, budget and accuracy go on as it is asked more and more.

    python benchmarks/plot_answers.py [--svg docs/pictures/answers.svg]

20,000 made-up records, epsilon 1, delta 1e-6, 2,000 queries. Agreement is the distance to instability: how
many teachers could change their votes before another label won. It is private, and can be shown here because
the records are made up. Needs matplotlib: pip install '.[plot]'.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import peer, public_generator
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from dplearn import ApproxDP
from dplearn.aggregation.aggregators import AGGREGATIONS
from dplearn.aggregation.shards import shards
from dplearn.aggregation.sizes import settled
from dplearn.aggregation.teachers import train_and_vote
from dplearn.chance import PublicStream, SeededDice
from dplearn.core.votes import Votes, tally
from dplearn.theory import stable_answers_noise

RECORDS, QUERIES, CLASSES = 20_000, 2000, np.array([0, 1])
PRIVACY = ApproxDP(1, 1e-6)
EVERY = 5  # query that a line is drawn at
COLOURS = {"sparse_vector": "#1b6ca8", "confident_gnmax": "#2e8b57", "gnmax": "#c0392b"}
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "answers.svg"


def made_up() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = make_classification(
        RECORDS + QUERIES, n_features=15, n_informative=8, class_sep=1.2, flip_y=0.02, random_state=0
    )
    return X[:RECORDS], y[:RECORDS], X[RECORDS:], y[RECORDS:]


def ballot_for(aggregation: str) -> Any:
    return settled(aggregation, PRIVACY, n_samples=RECORDS, n_labels=2, max_queries=QUERIES)


def votes_on(X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> Votes:
    stream, k = PublicStream(0), ballot_for("gnmax").n_teachers
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    cast = train_and_vote(
        pipeline, X, y, shards(len(X), k, stream), queries=queries, classes=CLASSES, seeds=stream.seeds(k)
    )
    return tally(cast, 2)


def draw(plt: Any, votes: Votes, truth: np.ndarray) -> Any:
    figure, (agreement, budget, accuracy) = plt.subplots(3, 1, figsize=(7, 8), sharex=True)
    draw_agreement(agreement, votes)
    stop = {}
    for aggregation, colour in COLOURS.items():
        codes = AGGREGATIONS[aggregation](ballot_for(aggregation)).attach(SeededDice(0)).answer(votes).codes
        asked, spoken = np.arange(1, len(codes) + 1), codes >= 0
        budget.plot(asked[::EVERY], np.cumsum(~spoken)[::EVERY], color=colour, label=aggregation)
        right = np.cumsum(spoken & (codes == truth[: len(codes)])) / np.maximum(np.cumsum(spoken), 1)
        accuracy.plot(asked[20::EVERY], 100 * right[20::EVERY], color=colour, label=aggregation)
        stop[aggregation] = len(codes)
    most = ballot_for("sparse_vector").max_unstable
    budget.axhline(most, color=COLOURS["sparse_vector"], linestyle=":", label=f"max_unstable, {most}")
    budget.axvline(stop["sparse_vector"], color=COLOURS["sparse_vector"], linewidth=0.7)
    budget.set(ylabel="declined so far", yscale="symlog", ylim=(-0.3, QUERIES))
    accuracy.set(ylabel="right, % of answered", xlabel="queries asked")
    for axes in (agreement, budget, accuracy):
        axes.legend(fontsize=8, loc="lower right")
        axes.grid(alpha=0.3)
    figure.tight_layout()
    return figure


def draw_agreement(axes: Any, votes: Votes) -> None:
    noise = stable_answers_noise(PRIVACY, ballot_for("sparse_vector").max_unstable, n_queries=QUERIES)
    some = public_generator().choice(QUERIES, QUERIES // 4, replace=False)
    axes.plot(some, votes.distance[some], ".", markersize=3, color="#555555", label="one query")
    axes.axhline(noise.bar, color="#e67e22", label="the bar, before noise")
    axes.axhline(noise.least_distance(QUERIES, 0.05), color="#8e44ad", label="all answered, probability .95")
    axes.set(ylabel="distance to instability", title=f"{ballot_for('gnmax').n_teachers} teachers, epsilon 1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", type=Path, default=PICTURE, help="where the picture is written")
    options = parser.parse_args()
    pyplot = peer("matplotlib.pyplot")
    if pyplot is None:
        raise SystemExit("matplotlib is not installed: pip install '.[plot]'")
    X, y, queries, truth = made_up()
    with threadpool_limits(1):
        votes = votes_on(X, y, queries)
    options.svg.parent.mkdir(parents=True, exist_ok=True)
    pyplot.switch_backend("svg")
    pyplot.rcParams.update({"svg.hashsalt": "dplearn", "svg.fonttype": "none"})
    draw(pyplot, votes, truth).savefig(options.svg, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
