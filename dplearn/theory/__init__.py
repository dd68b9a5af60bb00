"""Calculators for theory: sample sizes, dimensions, lower bounds, and the settings published in papers.

No code that runs on private data imports this package.
"""

from dplearn._documented import Calculator
from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__, Calculator)
