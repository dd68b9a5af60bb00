"""What is published about data: interior points, quantiles, distributions, counts of unknown keys."""

from dplearn.releases.distribution import ConfidenceBand, ReleasedDistribution
from dplearn.releases.distribution_learning import LearnedDistribution, learned_distribution
from dplearn.releases.interior_point import InteriorPoint, interior_point
from dplearn.releases.quantile_plan import QuantilePlan, quantile_plan
from dplearn.releases.quantiles import Quantiles, median, quantiles
from dplearn.releases.reductions import (
    interior_point_from_counts,
    interior_point_from_threshold_learner,
    threshold_from_interior_point,
)
from dplearn.releases.stable_counts import StableCounts, stable_counts
from dplearn.releases.thresholds import CDFRelease

__all__ = [
    "CDFRelease",
    "ConfidenceBand",
    "InteriorPoint",
    "LearnedDistribution",
    "QuantilePlan",
    "Quantiles",
    "ReleasedDistribution",
    "StableCounts",
    "interior_point",
    "interior_point_from_counts",
    "interior_point_from_threshold_learner",
    "learned_distribution",
    "median",
    "quantile_plan",
    "quantiles",
    "stable_counts",
    "threshold_from_interior_point",
]
