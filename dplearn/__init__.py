"""dplearn: differentially private learners for scikit-learn, their guarantees executed."""

import sys as _sys

from dplearn._lazy import exports_of_stub
from dplearn._version import __version__ as __version__

if _sys.maxsize < 2**63 - 1:  # numpy's integers have 32 bits there, and a sum that overflows costs privacy
    raise ImportError("dplearn needs a Python of 64 bits: its sums are integers of 64 bits")

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
