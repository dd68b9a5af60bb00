"""Learners that fit another private classifier, one name a line; `__init__.py` imports them."""

from dplearn.learners.several.multi_output import PrivateMultiOutputClassifier as PrivateMultiOutputClassifier
from dplearn.learners.several.secret_sample import SecretSampleClassifier as SecretSampleClassifier
