"""Preprocessing transformers for pipelines of private learners: private, or without a fit to the data."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
