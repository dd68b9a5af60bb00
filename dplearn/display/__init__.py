"""Displays of released and public values, in the manner of scikit-learn, and the privacy card.

Displays need matplotlib (the extra `plot`). Those of private scores release them first, at a stated cost.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
