"""
How many records, learner by learner
====================================

What ``plan`` tells without data: how many records make a fit good *for certain*, whatever the data are, or,
for single rules other than stumps, whatever the records are that such a rule labels without exception. On
real data far fewer do. The figure belongs to the page "Choose a learner". Dots are for the central model,
diamonds for the local one, where nobody is trusted.
"""

# %%
# What counts as good differs: an error of at most 0.1 (single rules; of stumps, beyond that of the best one),
# all averages within 0.05 (the three that ask for averages only), an answer to each query on which 80 % of
# the teachers agree (ensembles, with teachers of 20 records, and students of 500 public rows). Each with
# probability .95.
import warnings

import matplotlib.pyplot as plt

from dplearn import (
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    LinearRegressor,
    MaskedParityClassifier,
    ParityClassifier,
    PointClassifier,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    ThresholdClassifier,
)

columns, labels = {"n_features": 10}, {"n_labels": 2}
averages = columns | labels


def by_n_needed(plan):
    """Return whether the plan has as many records as it asks for."""
    return plan.n_samples >= plan.n_needed


def by_tolerance(plan):
    """Return whether all averages are precise enough."""
    return plan.tolerance <= 0.05


def by_lead(plan):
    """Return whether rows on which 80 % of the teachers agree are answered."""
    return plan.least_lead <= 0.6 * plan.n_teachers


def central(_n, _model):
    """Return no terms: a learner that is central only."""
    return {}


def either(_n, model):
    """Return the terms of a learner of either model."""
    return {"trust_model": model}


def ranged(_n, _model):
    """Return the terms of a regressor."""
    return {"target_range": (-1, 1)}


def online(n, _model):
    """Return the terms of an ensemble that answers queries, and may decline ten of them."""
    return {
        "n_teachers": n // 20,
        "aggregation": "sparse_vector",
        "max_queries": 1000,
        "max_abstentions": 10,
    }


def student(n, _model):
    """Return the terms of an ensemble that teaches a student."""
    return {"n_teachers": n // 20, "max_queries": 500}


rows = [  # learner, its terms, what is public, what is enough
    (PointClassifier, central, {}, by_n_needed),
    (ParityClassifier, central, columns, by_n_needed),
    (MaskedParityClassifier, either, {"n_features": 20}, by_n_needed),
    (ThresholdClassifier, central, columns, by_n_needed),
    (ExponentialMechanismClassifier, central, averages, by_n_needed),
    (ConjunctionClassifier, either, columns, by_n_needed),
    (StatisticalQueryLogisticRegression, central, averages, by_tolerance),
    (LinearRegressor, ranged, columns, by_tolerance),
    (StatisticalQueryNaiveBayes, either, averages, by_tolerance),
    (SubsampleAggregateClassifier, online, labels, by_lead),
    (SoftLabelAggregateClassifier, online, labels, by_lead),
    (KnowledgeTransferClassifier, student, labels, by_lead),
    (SoftLabelTransferClassifier, student, labels, by_lead),
]

# %%
# Records are doubled until the plan is satisfied, then halved in between.


def records_needed(row, epsilon, model):
    """Return the fewest records, up to about 1 %, with which a plan is good enough, or None beyond 10**10."""
    cls, terms, public, is_enough = row

    def is_good(n):
        return is_enough(cls(epsilon=epsilon, **terms(n, model)).plan(n, **public))

    high = 64
    while not is_good(high):
        high *= 2
        if high > 10**10:
            return None
    low = high // 2
    while high > 1.01 * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_good(middle) else (middle, high)
    return high


warnings.filterwarnings("ignore", "n_samples is")  # too few records are what is looked for
colours = {0.3: "#c0392b", 1.0: "#1b6ca8", 3.0: "#7f8c8d"}
marks = {"central": ("o", 7), "local": ("D", 5)}
figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
for place, row in enumerate(reversed(rows)):
    for model in marks if row[1] is either else ["central"]:
        mark, size = marks[model]
        for epsilon, colour in colours.items():
            needed = records_needed(row, epsilon, model)
            if needed is not None:
                axes.plot(needed, place, mark, color=colour, markersize=size)
for epsilon, colour in colours.items():
    axes.plot([], [], "o", color=colour, label=f"epsilon {epsilon:g}")
axes.plot([], [], "D", color="#333333", label="local")
axes.set_yticks(range(len(rows)), [cls.__name__ for cls, *_ in reversed(rows)])
axes.set(xscale="log", xlabel="records for which plan promises a good fit, 10 columns (masked parity: 20)")
axes.grid(alpha=0.3)
axes.legend(loc="lower right")
plt.show()
