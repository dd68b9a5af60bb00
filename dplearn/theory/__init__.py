"""What follows from proofs: sample sizes, bars, probabilities and estimates, from public numbers alone."""

from dplearn.theory.bars import choosing_bar, speaking_probabilities, stable_histogram_bar
from dplearn.theory.generic import generic_failure_bound, generic_sample_size
from dplearn.theory.randomized_response import estimated_frequencies, truth_probability

__all__ = [
    "choosing_bar",
    "estimated_frequencies",
    "generic_failure_bound",
    "generic_sample_size",
    "speaking_probabilities",
    "stable_histogram_bar",
    "truth_probability",
]
