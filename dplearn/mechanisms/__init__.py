"""Differentially private mechanisms on integers with exact noise: counts, selection, tests, histograms."""

from dplearn.mechanisms.choosing import choosing_mechanism
from dplearn.mechanisms.exponential import exponential_mechanism, select_exponential
from dplearn.mechanisms.first_reaching import first_reaching
from dplearn.mechanisms.frequent_keys import frequent_keys
from dplearn.mechanisms.halving import codes_at_fractions
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.mechanisms.noisy_counts import gaussian_counts, gaussian_sums, laplace_counts
from dplearn.mechanisms.parity import consistent_parity
from dplearn.mechanisms.permute_and_flip import permute_and_flip, select_permute_and_flip
from dplearn.mechanisms.quantile_windows import codes_in_windows
from dplearn.mechanisms.randomized_response import randomized_response
from dplearn.mechanisms.rank_selection import code_near_rank
from dplearn.mechanisms.rec_prefix import recursive_interior_point
from dplearn.mechanisms.report_noisy_max import report_noisy_max
from dplearn.mechanisms.sanitized_epsilon import sanitized_noisy_max_epsilon
from dplearn.mechanisms.sparse_vector import AboveThreshold, SparseVector
from dplearn.mechanisms.stability import most_frequent_if_stable, release_if_stable
from dplearn.mechanisms.stable_answers import StableAnswers
from dplearn.mechanisms.stable_histogram import stable_histogram
from dplearn.mechanisms.tree_counts import tree_counts

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
    "report_noisy_max",
    "sanitized_noisy_max_epsilon",
    "select_exponential",
    "select_permute_and_flip",
    "stable_histogram",
    "tree_counts",
]
