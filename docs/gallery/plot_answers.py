"""
As an ensemble is asked more and more
=====================================

2,000 queries to 500 teachers of 20 made-up records each, epsilon 2. Each way of aggregating votes uses up
its budget in its own way.
"""

# %%
# Teachers' votes are private. These are of teachers trained here on the same records, which are nobody's:
# how far the first label leads decides whether a query is easy.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from dplearn import QueriesExhaustedError, SubsampleAggregateClassifier

X, y = make_classification(12_000, n_features=15, n_informative=8, class_sep=1.5, flip_y=0.02, random_state=0)
X_private, y_private, queries, truth = X[:10_000], y[:10_000], X[10_000:], y[10_000:]
shards = np.random.default_rng(0).permutation(10_000).reshape(500, 20)
votes = [
    GaussianNB().fit(X_private[rows], y_private[rows]).predict(queries)
    if len(set(y_private[rows])) == 2
    else np.full(2_000, y_private[rows[0]])
    for rows in shards
]

# %%
# An ensemble that has declined as often as it may stops; the error carries what it released before.
figure, panels = plt.subplots(3, 1, figsize=(4.6, 8), sharex=True, layout="constrained")
agreement, budget, accuracy = panels


def ask(aggregation):
    """Return the plan of an ensemble and its answers, -1 where it declined, until it stops."""
    ensemble = SubsampleAggregateClassifier(
        GaussianNB(),
        aggregation=aggregation,
        epsilon=2.0,
        n_teachers=500,
        max_queries=2_000,
        classes=[0, 1],
        abstain_label=-1,
        random_state=0,
    ).fit(X_private, y_private)
    try:
        return ensemble.plan(10_000), ensemble.predict(queries)
    except QueriesExhaustedError as stopped:
        return ensemble.plan(10_000), stopped.released


for aggregation in ("sparse_vector", "confident_gnmax", "gnmax"):
    plan, answers = ask(aggregation)
    spoken, asked = answers != -1, np.arange(1, len(answers) + 1)
    budget.step(asked, np.cumsum(~spoken), where="post", label=f"{aggregation}: {len(answers):,} queries")
    right = np.cumsum(spoken & (answers == truth[: len(answers)])) / np.maximum(np.cumsum(spoken), 1)
    accuracy.plot(asked[20:], right[20:], label=aggregation)
    if aggregation == "sparse_vector":
        leads = abs(2 * np.sum(votes, axis=0) - 500)
        agreement.plot(np.arange(1, 2_001), leads, ".", markersize=2, color="#777777", label="one query")
        agreement.axhline(plan.least_lead, color="#333333", linestyle="--", label="from here on all answered")
        budget.axhline(plan.max_abstentions, color="#333333", linestyle=":", label="max_abstentions")
budget.set(yscale="symlog", ylabel="declined so far", ylim=(-0.3, 2_000))
agreement.set(ylabel="lead of the first label, in votes")
accuracy.set(ylabel="right, of those answered", xlabel="queries asked")
for axes in panels:
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
plt.show()
