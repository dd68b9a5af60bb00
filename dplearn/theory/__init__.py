"""Calculators for theory: sample sizes, dimensions, lower bounds, and the settings published in papers.

No code that runs on private data imports this package. Calculators that a mechanism or a learner uses are
defined in its module, and exported here too.
"""

from dplearn.learners.conjunction import conjunction_error, conjunction_query_sample_size
from dplearn.learners.generic import generic_failure_bound, generic_sample_size
from dplearn.learners.line_sizes import (
    line_failure,
    line_sample_size,
    published_line_sample_size,
    pure_line_failure,
    pure_line_lower_bound,
    pure_line_sample_size,
)
from dplearn.learners.masked_parity_sizes import masked_parity_sample_size
from dplearn.learners.multi_label_limit import multi_label_lower_bound
from dplearn.learners.parity_sizes import (
    EliminationSizes,
    agnostic_failure,
    elimination_failure,
    elimination_sizes,
    elimination_split,
    nonprivate_parity_sample_size,
    parity_sample_size,
)
from dplearn.learners.point_sizes import (
    HashedPointSizes,
    hashed_class_size,
    hashed_point_failure,
    hashed_point_sizes,
    proper_point_lower_bound,
    stable_point_failure,
    stable_point_sample_size,
)
from dplearn.learners.representation_sizes import (
    dichotomy_sample_size,
    public_cut_sample_size,
    representation_failure,
    representation_sample_size,
    sauer_bound,
)
from dplearn.learners.stable_parity_sizes import (
    StableSizes,
    full_rank_probability,
    stable_parity_failure,
    stable_parity_sizes,
    stable_parity_split,
)
from dplearn.learners.threshold_sizes import (
    interior_point_examples,
    threshold_excess_errors,
    threshold_sample_size,
)
from dplearn.mechanisms.choosing import choosing_threshold
from dplearn.mechanisms.interior_point import RecursiveSizes
from dplearn.mechanisms.parity import parity_probabilities
from dplearn.mechanisms.randomized_response import truth_probability
from dplearn.mechanisms.stability import release_probabilities
from dplearn.mechanisms.stable_histogram import frequent_keys_threshold, stable_histogram_threshold
from dplearn.privacy.stable_answers import StableAnswersNoise, stable_answers_noise
from dplearn.queries.answer import TailBound, sampling_bound
from dplearn.queries.randomizers import estimated_frequencies
from dplearn.releases.cdf_errors import BlockPlan, TreePlan, block_guarantee, block_plan, dkw_bound, tree_plan
from dplearn.releases.interior_point import (
    interior_point_method,
    interior_point_sample_size,
    recursive_sizes,
)
from dplearn.releases.quantiles import quantile_errors, quantile_range_sample_size, quantile_sample_size
from dplearn.theory.aggregation import (
    agreement_bound,
    classification_queries_sample_size,
    knowledge_transfer_sample_size,
    published_max_abstentions,
    published_setting,
    teachers_needed,
    teachers_table,
)
from dplearn.theory.littlestone import (
    LittlestoneDimension,
    MistakeTree,
    ball_mistake_tree,
    box_mistake_tree,
    halfspace_mistake_tree,
    least_sample_size,
    littlestone_dimension,
    mistake_tree,
    pure_private_lower_bound,
)
from dplearn.theory.lower_bounds import empirical_lower_bound, interior_point_lower_bound
from dplearn.theory.representations import (
    ProvedValue,
    deterministic_representation,
    one_way_error,
    representation_value,
)
from dplearn.theory.sample_sizes import (
    SmallDatabaseSizes,
    generalisation_failure,
    generalisation_sample_size,
    noisy_counts_sample_size,
    small_database_sizes,
)
from dplearn.theory.simulation import (
    Request,
    query_sample_size,
    run_locally,
    simulate_by_queries,
    simulate_locally,
)
from dplearn.theory.soft_labels import (
    PublishedSoftLabelSetting,
    SoftLabelPrecision,
    any_order_radius,
    published_soft_label_precision,
    published_soft_label_setting,
    published_strong_quality_teachers,
    score_radius,
    soft_label_precision,
    soft_label_teachers,
    soft_label_teachers_agreeing,
)
from dplearn.theory.stability import (
    ORDERS,
    LossConstants,
    MeasuredStability,
    SGDStability,
    decaying_steps,
    example_order,
    largest_step,
    logistic_constants,
    logistic_score_stability,
    logistic_sgd,
    measure_stability,
    published_decaying_bound,
    published_weight_bound,
    sgd_stability,
)

__all__ = [
    "ORDERS",
    "BlockPlan",
    "EliminationSizes",
    "HashedPointSizes",
    "LittlestoneDimension",
    "LossConstants",
    "MeasuredStability",
    "MistakeTree",
    "ProvedValue",
    "PublishedSoftLabelSetting",
    "RecursiveSizes",
    "Request",
    "SGDStability",
    "SmallDatabaseSizes",
    "SoftLabelPrecision",
    "StableAnswersNoise",
    "StableSizes",
    "TailBound",
    "TreePlan",
    "agnostic_failure",
    "agreement_bound",
    "any_order_radius",
    "ball_mistake_tree",
    "block_guarantee",
    "block_plan",
    "box_mistake_tree",
    "choosing_threshold",
    "classification_queries_sample_size",
    "conjunction_error",
    "conjunction_query_sample_size",
    "decaying_steps",
    "deterministic_representation",
    "dichotomy_sample_size",
    "dkw_bound",
    "elimination_failure",
    "elimination_sizes",
    "elimination_split",
    "empirical_lower_bound",
    "estimated_frequencies",
    "example_order",
    "frequent_keys_threshold",
    "full_rank_probability",
    "generalisation_failure",
    "generalisation_sample_size",
    "generic_failure_bound",
    "generic_sample_size",
    "halfspace_mistake_tree",
    "hashed_class_size",
    "hashed_point_failure",
    "hashed_point_sizes",
    "interior_point_examples",
    "interior_point_lower_bound",
    "interior_point_method",
    "interior_point_sample_size",
    "knowledge_transfer_sample_size",
    "largest_step",
    "least_sample_size",
    "line_failure",
    "line_sample_size",
    "littlestone_dimension",
    "logistic_constants",
    "logistic_score_stability",
    "logistic_sgd",
    "masked_parity_sample_size",
    "measure_stability",
    "mistake_tree",
    "multi_label_lower_bound",
    "noisy_counts_sample_size",
    "nonprivate_parity_sample_size",
    "one_way_error",
    "parity_probabilities",
    "parity_sample_size",
    "proper_point_lower_bound",
    "public_cut_sample_size",
    "published_decaying_bound",
    "published_line_sample_size",
    "published_max_abstentions",
    "published_setting",
    "published_soft_label_precision",
    "published_soft_label_setting",
    "published_strong_quality_teachers",
    "published_weight_bound",
    "pure_line_failure",
    "pure_line_lower_bound",
    "pure_line_sample_size",
    "pure_private_lower_bound",
    "quantile_errors",
    "quantile_range_sample_size",
    "quantile_sample_size",
    "query_sample_size",
    "recursive_sizes",
    "release_probabilities",
    "representation_failure",
    "representation_sample_size",
    "representation_value",
    "run_locally",
    "sampling_bound",
    "sauer_bound",
    "score_radius",
    "sgd_stability",
    "simulate_by_queries",
    "simulate_locally",
    "small_database_sizes",
    "soft_label_precision",
    "soft_label_teachers",
    "soft_label_teachers_agreeing",
    "stable_answers_noise",
    "stable_histogram_threshold",
    "stable_parity_failure",
    "stable_parity_sizes",
    "stable_parity_split",
    "stable_point_failure",
    "stable_point_sample_size",
    "teachers_needed",
    "teachers_table",
    "threshold_excess_errors",
    "threshold_sample_size",
    "tree_plan",
    "truth_probability",
]
