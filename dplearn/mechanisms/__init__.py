"""Differentially private mechanisms on integers with exact noise: counts, selection, tests, histograms."""

from dplearn._documented import Mechanism
from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__, Mechanism)
for _name in __all__:  # at once, since some modules have the name of their function
    __getattr__(_name)
