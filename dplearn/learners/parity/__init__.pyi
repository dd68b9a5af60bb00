"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.learners.parity.masked import Asking as Asking
from dplearn.learners.parity.masked import MaskedParityClassifier as MaskedParityClassifier
from dplearn.learners.parity.masked import MaskedRecords as MaskedRecords
from dplearn.learners.parity.masked import learn_masked_parity as learn_masked_parity
from dplearn.learners.parity.masked import masked_parity_sizes as masked_parity_sizes
from dplearn.learners.parity.parity import ParityClassifier as ParityClassifier
