"""Domains: public sets of the values that columns and labels can have, declared before data are read."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
