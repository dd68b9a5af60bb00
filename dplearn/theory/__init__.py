"""How many examples are needed: sample sizes that follow from proofs."""

from dplearn.theory.generic import generic_failure_bound, generic_sample_size

__all__ = ["generic_failure_bound", "generic_sample_size"]
