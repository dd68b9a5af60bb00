"""Private releases about one column, such as quantiles and counts of keys, and about the columns of a table.

A release is a function `x` of private values that returns a frozen result. Each release has a function
`x_plan` that returns the plan of the release from public parameters.
"""

from dplearn.releases.cdf import CDFRelease, ConfidenceBand, cdf, cdf_plan
from dplearn.releases.counting_queries import (
    ReleasedShares,
    multiplicative_weights,
    multiplicative_weights_plan,
    small_database,
    small_database_plan,
)
from dplearn.releases.describe import describe, describe_plan
from dplearn.releases.described import Described, Statistic
from dplearn.releases.grouped import Grouped, grouped, grouped_plan
from dplearn.releases.interior_point import (
    InteriorPoint,
    interior_point,
    interior_point_plan,
)
from dplearn.releases.learned_schema import (
    LearnedSchema,
    LearnedSchemaPlan,
    learned_schema,
    learned_schema_plan,
)
from dplearn.releases.mean import Mean, Std, mean, mean_plan, proportion, proportion_plan, std, std_plan
from dplearn.releases.quantiles import (
    Quantiles,
    median,
    median_plan,
    quantiles,
    quantiles_plan,
)
from dplearn.releases.reductions import (
    LearnedDistribution,
    interior_point_from_counts,
    interior_point_from_threshold_learner,
    learned_distribution,
    learner_from_release,
    threshold_from_corner_learner,
    threshold_from_interior_point,
)
from dplearn.releases.release import ReleasePlan
from dplearn.releases.stable_counts import (
    StableCounts,
    stable_counts,
    stable_counts_plan,
)
from dplearn.releases.synthetic_table import SyntheticTable
from dplearn.releases.table_fidelity import TableFidelity
from dplearn.releases.table_network import SyntheticTablePlan

__all__ = [
    "CDFRelease",
    "ConfidenceBand",
    "Described",
    "Grouped",
    "InteriorPoint",
    "LearnedDistribution",
    "LearnedSchema",
    "LearnedSchemaPlan",
    "Mean",
    "Quantiles",
    "ReleasePlan",
    "ReleasedShares",
    "StableCounts",
    "Statistic",
    "Std",
    "SyntheticTable",
    "SyntheticTablePlan",
    "TableFidelity",
    "cdf",
    "cdf_plan",
    "describe",
    "describe_plan",
    "grouped",
    "grouped_plan",
    "interior_point",
    "interior_point_from_counts",
    "interior_point_from_threshold_learner",
    "interior_point_plan",
    "learned_distribution",
    "learned_schema",
    "learned_schema_plan",
    "learner_from_release",
    "mean",
    "mean_plan",
    "median",
    "median_plan",
    "multiplicative_weights",
    "multiplicative_weights_plan",
    "proportion",
    "proportion_plan",
    "quantiles",
    "quantiles_plan",
    "small_database",
    "small_database_plan",
    "stable_counts",
    "stable_counts_plan",
    "std",
    "std_plan",
    "threshold_from_corner_learner",
    "threshold_from_interior_point",
]
