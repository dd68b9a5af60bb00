"""What follows from proofs: sample sizes, bars, probabilities and estimates, from public numbers alone."""

from dplearn.theory.aggregation import (
    agreement_bound,
    classification_queries_sample_size,
    knowledge_transfer_sample_size,
    published_setting,
    published_unstable_queries,
    teachers_needed,
    teachers_table,
)
from dplearn.theory.bars import choosing_bar, speaking_probabilities, stable_histogram_bar
from dplearn.theory.generic import generic_failure_bound, generic_sample_size
from dplearn.theory.randomized_response import estimated_frequencies, truth_probability
from dplearn.theory.stable_answers import StableAnswersNoise, stable_answers_noise

__all__ = [
    "StableAnswersNoise",
    "agreement_bound",
    "choosing_bar",
    "classification_queries_sample_size",
    "estimated_frequencies",
    "generic_failure_bound",
    "generic_sample_size",
    "knowledge_transfer_sample_size",
    "published_setting",
    "published_unstable_queries",
    "speaking_probabilities",
    "stable_answers_noise",
    "stable_histogram_bar",
    "teachers_needed",
    "teachers_table",
    "truth_probability",
]
