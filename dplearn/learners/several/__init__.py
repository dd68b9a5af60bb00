"""Learners that fit another private classifier: one for each output, or one on a secret sample.

`PrivateMultiOutputClassifier` fits a clone for each column of labels, each within an equal share of the
budget. `SecretSampleClassifier` draws rows with replacement, and fits a clone on them. The plans contain the
plan of the inner fit.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
