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


def draw(ylabel):
    """Return the axes of a new figure."""
    axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")[1]
    axes.grid(alpha=0.3)
    axes.set(ylabel=ylabel, xlabel="queries asked")
    return axes


asked = {each: ask(each) for each in ("sparse_vector", "confident_gnmax", "gnmax")}
plan = asked["sparse_vector"][0]
axes = draw("declined so far")
for aggregation, (_, answers) in asked.items():
    declined = np.cumsum(answers == -1)
    axes.step(range(len(answers)), declined, where="post", label=f"{aggregation}: {len(answers):,} queries")
axes.axhline(plan.max_abstentions, color="#333333", linestyle=":", label="max_abstentions")
axes.set(yscale="symlog", ylim=(-0.3, 2_000))
axes.legend(loc="lower right")
plt.show()

# %%
# How far the first label leads, of each query: easy ones are answered by "sparse_vector" at no cost.
axes = draw("lead of the first label, in votes")
leads = abs(2 * np.sum(votes, axis=0) - 500)
axes.plot(range(2_000), leads, ".", markersize=2, color="#777777", label="one query")
axes.axhline(plan.least_lead, color="#333333", linestyle="--", label="from here on all answered")
axes.legend(loc="lower right")
plt.show()

# %%
# How often the answers are right:
axes = draw("right, of those answered")
for aggregation, (_, answers) in asked.items():
    spoken = answers != -1
    right = np.cumsum(spoken & (answers == truth[: len(answers)])) / np.maximum(np.cumsum(spoken), 1)
    axes.plot(range(20, len(answers)), right[20:], label=aggregation)
axes.legend(loc="lower right")
plt.show()
