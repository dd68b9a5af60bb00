"""Releases, one name a line; `__init__.py` imports them."""

from dplearn.releases.cdf import CDFRelease as CDFRelease
from dplearn.releases.cdf import ConfidenceBand as ConfidenceBand
from dplearn.releases.cdf import cdf as cdf
from dplearn.releases.cdf import cdf_plan as cdf_plan
from dplearn.releases.counting_queries import ReleasedShares as ReleasedShares
from dplearn.releases.counting_queries import multiplicative_weights as multiplicative_weights
from dplearn.releases.counting_queries import multiplicative_weights_plan as multiplicative_weights_plan
from dplearn.releases.counting_queries import small_database as small_database
from dplearn.releases.counting_queries import small_database_plan as small_database_plan
from dplearn.releases.describe import describe as describe
from dplearn.releases.describe import describe_plan as describe_plan
from dplearn.releases.described import Described as Described
from dplearn.releases.described import Statistic as Statistic
from dplearn.releases.grouped import Grouped as Grouped
from dplearn.releases.grouped import grouped as grouped
from dplearn.releases.grouped import grouped_plan as grouped_plan
from dplearn.releases.interior_point import InteriorPoint as InteriorPoint
from dplearn.releases.interior_point import interior_point as interior_point
from dplearn.releases.interior_point import interior_point_plan as interior_point_plan
from dplearn.releases.learned_schema import LearnedSchema as LearnedSchema
from dplearn.releases.learned_schema import LearnedSchemaPlan as LearnedSchemaPlan
from dplearn.releases.learned_schema import learned_schema as learned_schema
from dplearn.releases.learned_schema import learned_schema_plan as learned_schema_plan
from dplearn.releases.mean import Mean as Mean
from dplearn.releases.mean import Std as Std
from dplearn.releases.mean import mean as mean
from dplearn.releases.mean import mean_plan as mean_plan
from dplearn.releases.mean import proportion as proportion
from dplearn.releases.mean import proportion_plan as proportion_plan
from dplearn.releases.mean import std as std
from dplearn.releases.mean import std_plan as std_plan
from dplearn.releases.quantiles import Quantiles as Quantiles
from dplearn.releases.quantiles import median as median
from dplearn.releases.quantiles import median_plan as median_plan
from dplearn.releases.quantiles import quantiles as quantiles
from dplearn.releases.quantiles import quantiles_plan as quantiles_plan
from dplearn.releases.reductions import LearnedDistribution as LearnedDistribution
from dplearn.releases.reductions import interior_point_from_counts as interior_point_from_counts
from dplearn.releases.reductions import (
    interior_point_from_threshold_learner as interior_point_from_threshold_learner,
)
from dplearn.releases.reductions import learned_distribution as learned_distribution
from dplearn.releases.reductions import learner_from_release as learner_from_release
from dplearn.releases.reductions import threshold_from_corner_learner as threshold_from_corner_learner
from dplearn.releases.reductions import threshold_from_interior_point as threshold_from_interior_point
from dplearn.releases.release import ReleasePlan as ReleasePlan
from dplearn.releases.stable_counts import StableCounts as StableCounts
from dplearn.releases.stable_counts import stable_counts as stable_counts
from dplearn.releases.stable_counts import stable_counts_plan as stable_counts_plan
from dplearn.releases.synthetic_table import SyntheticTable as SyntheticTable
from dplearn.releases.table_fidelity import TableFidelity as TableFidelity
from dplearn.releases.table_network import SyntheticTablePlan as SyntheticTablePlan
