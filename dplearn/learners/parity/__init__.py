"""Parities of bits, and masked parities.

How data flow: records become rows of bits, 64 to a word, and labels the right-hand sides of linear equations
over GF(2). `ParityClassifier` (`parity.py`) divides the equations into parts, solves each part, and selects a
solution or releases it if it is stable; or it counts the errors of all parities. `MaskedParityClassifier`
(`masked.py`) asks one or two rounds of statistical queries for signs. Numbers of parts and records are those
of `sizes.py`, and of the end of `masked.py`.
"""

from dplearn.learners.parity.masked import (
    Asking,
    MaskedParityClassifier,
    MaskedRecords,
    learn_masked_parity,
    masked_parity_sizes,
)
from dplearn.learners.parity.parity import ParityClassifier

__all__ = [
    "Asking",
    "MaskedParityClassifier",
    "MaskedRecords",
    "ParityClassifier",
    "learn_masked_parity",
    "masked_parity_sizes",
]
