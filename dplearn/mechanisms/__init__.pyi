"""What this room exports; `__init__.py` imports all."""

from dplearn.mechanisms.choosing import choosing_mechanism
from dplearn.mechanisms.interior_point import PrefixLevel as PrefixLevel
from dplearn.mechanisms.interior_point import interior_point_code, recursive_interior_point
from dplearn.mechanisms.interior_point import interior_point_of as interior_point_of
from dplearn.mechanisms.noisy_counts import gaussian_counts, gaussian_sums, laplace_counts, tree_counts
from dplearn.mechanisms.parity import consistent_parity
from dplearn.mechanisms.quantile_windows import WindowTerms as WindowTerms
from dplearn.mechanisms.quantile_windows import codes_in_windows
from dplearn.mechanisms.randomized_response import randomized_response
from dplearn.mechanisms.rank_selection import code_near_rank, codes_at_fractions
from dplearn.mechanisms.selection import best_of_runs as best_of_runs
from dplearn.mechanisms.selection import (
    exponential_mechanism,
    permute_and_flip,
    select_exponential,
    select_permute_and_flip,
)
from dplearn.mechanisms.sparse_vector import AboveThreshold, SparseVector, first_reaching
from dplearn.mechanisms.sparse_vector import Questions as Questions
from dplearn.mechanisms.sparse_vector import reaching_ratios as reaching_ratios
from dplearn.mechanisms.stability import most_frequent_if_stable, release_if_stable
from dplearn.mechanisms.stable_answers import StableAnswers
from dplearn.mechanisms.stable_histogram import frequent_keys, stable_histogram

__all__ = [
    "AboveThreshold",
    "SparseVector",
    "StableAnswers",
    "choosing_mechanism",
    "code_near_rank",
    "codes_at_fractions",
    "codes_in_windows",
    "consistent_parity",
    "exponential_mechanism",
    "first_reaching",
    "frequent_keys",
    "gaussian_counts",
    "gaussian_sums",
    "interior_point_code",
    "laplace_counts",
    "most_frequent_if_stable",
    "permute_and_flip",
    "randomized_response",
    "recursive_interior_point",
    "release_if_stable",
    "select_exponential",
    "select_permute_and_flip",
    "stable_histogram",
    "tree_counts",
]
