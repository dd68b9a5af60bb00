"""dplearn: differentially private learners for scikit-learn, their guarantees executed."""

from dplearn._lazy import exports_of_stub
from dplearn._version import __version__ as __version__

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
