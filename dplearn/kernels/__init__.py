"""Kernels with no privacy in them: exact numbers, distributions, counting."""

from dplearn.kernels.confidence_bounds import success_bounds
from dplearn.kernels.distributions import (
    gaussian_probabilities,
    geometric_probabilities,
    laplace_probabilities,
    laplace_quantile,
    laplace_tail,
    partial_sum_bound,
    permute_and_flip_probabilities,
    power_at_most,
    power_probabilities,
)
from dplearn.kernels.exact import (
    at_most_exp,
    decay_rate,
    decay_ratio,
    exp_bounds,
    float_above,
    log_bounds,
    root_above,
    selection_ratio,
    short_above,
)
from dplearn.kernels.float_errors import IgnoresFloatErrors, float_errors_ignored, ignores_float_errors
from dplearn.kernels.gf2 import BitMatrix, pack
from dplearn.kernels.grouping import check_integers, group_counts, near_integers, nth_equal
from dplearn.kernels.hadamard import (
    hadamard_coordinate,
    walsh_hadamard,
)
from dplearn.kernels.intervals import CodePlaces, Level, depth_of, prefix_counts
from dplearn.kernels.ranks import Cell, Ranks, SortedCodes, ranks_of_codes
from dplearn.kernels.rows import blocks, dense, float_blocks, norm_powers, row_blocks, unit_rows
from dplearn.kernels.search import between, first, least, lowest
from dplearn.kernels.simplex import nearest_shares
from dplearn.kernels.votes import FIXED_POINT_ONE, plurality, scores_per_row

__all__ = [
    "FIXED_POINT_ONE",
    "BitMatrix",
    "Cell",
    "CodePlaces",
    "IgnoresFloatErrors",
    "Level",
    "Ranks",
    "SortedCodes",
    "at_most_exp",
    "between",
    "blocks",
    "check_integers",
    "decay_rate",
    "decay_ratio",
    "dense",
    "depth_of",
    "exp_bounds",
    "first",
    "float_above",
    "float_blocks",
    "float_errors_ignored",
    "gaussian_probabilities",
    "geometric_probabilities",
    "group_counts",
    "hadamard_coordinate",
    "ignores_float_errors",
    "laplace_probabilities",
    "laplace_quantile",
    "laplace_tail",
    "least",
    "log_bounds",
    "lowest",
    "near_integers",
    "nearest_shares",
    "norm_powers",
    "nth_equal",
    "pack",
    "partial_sum_bound",
    "permute_and_flip_probabilities",
    "plurality",
    "power_at_most",
    "power_probabilities",
    "prefix_counts",
    "ranks_of_codes",
    "root_above",
    "row_blocks",
    "scores_per_row",
    "selection_ratio",
    "short_above",
    "success_bounds",
    "unit_rows",
    "walsh_hadamard",
]
