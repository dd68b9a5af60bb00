"""Concept classes: public sets of concepts, with the number of errors of each member."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
