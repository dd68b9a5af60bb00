"""How many records are enough, learner by learner: what `plan` tells without data, for any data.

Single rules: an error of at most 0.1 (of stumps, beyond that of the best one). Learners that ask for
averages: all within 0.05. Ensembles with teachers of 20 records, and students of 500 public rows: an answer
to each query on which 80 % of the teachers agree. Each with probability .95.
"""

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

COLUMNS, LABELS = {"n_features": 10}, {"n_labels": 2}
AVERAGES = COLUMNS | LABELS


def by_n_needed(plan):
    """Return whether the plan has as many records as it asks for."""
    return plan.n_samples >= plan.n_needed


def for_any_labels(plan):
    """Return whether the plan has as many records as it asks for with any labels."""
    return plan.n_samples >= plan.n_needed_agnostic


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


ROWS = [  # learner, its terms, what is public, what is enough
    (PointClassifier, central, {}, by_n_needed),
    (ParityClassifier, central, COLUMNS, by_n_needed),
    (MaskedParityClassifier, either, {"n_features": 20}, by_n_needed),
    (ThresholdClassifier, central, COLUMNS, by_n_needed),
    (ExponentialMechanismClassifier, central, AVERAGES, for_any_labels),
    (ConjunctionClassifier, either, COLUMNS, by_n_needed),
    (StatisticalQueryLogisticRegression, central, AVERAGES, by_tolerance),
    (LinearRegressor, ranged, COLUMNS, by_tolerance),
    (StatisticalQueryNaiveBayes, either, AVERAGES, by_tolerance),
    (SubsampleAggregateClassifier, online, LABELS, by_lead),
    (SoftLabelAggregateClassifier, online, LABELS, by_lead),
    (KnowledgeTransferClassifier, student, LABELS, by_lead),
    (SoftLabelTransferClassifier, student, LABELS, by_lead),
]


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
