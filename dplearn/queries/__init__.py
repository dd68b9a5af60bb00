"""Statistical queries for means of private records, and the oracles that answer them."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
