"""Displays of released and public values, in the manner of scikit-learn, and the privacy card.

Displays need matplotlib (the extra `plot`); the card has no further requirement. A display draws released
values, and values that its caller declares public; `from_estimator` of the displays of private scores
releases them first, at a stated cost.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
