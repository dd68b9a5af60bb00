"""Base classes of private estimators, the recipe of a fit, its parameters and its HTML diagram."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
