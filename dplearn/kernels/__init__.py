"""Kernels with no privacy in them: exact numbers, distributions, counting."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
