"""Private selection and release: one mechanism a file, integers in, exact noise from the dice."""

from dplearn.mechanisms.exponential import exponential_mechanism, select_exponential
from dplearn.mechanisms.permute_and_flip import permute_and_flip, select_permute_and_flip

__all__ = [
    "exponential_mechanism",
    "permute_and_flip",
    "select_exponential",
    "select_permute_and_flip",
]
