"""Differentially private mechanisms on integers with exact noise: counts, selection, tests, histograms."""

from dplearn._documented import Mechanism
from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__, Mechanism)
