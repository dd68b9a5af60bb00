"""Private learners: one family of estimators in each module."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
