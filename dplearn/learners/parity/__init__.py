"""Parities of bits, and masked parities.

How data flow: records become rows of bits, 64 to a word, and labels the right-hand sides of linear equations
over GF(2). `ParityClassifier` (`parity.py`) solves parts of the equations, and selects a solution or releases
it if it is stable; or it counts the errors of all parities. `MaskedParityClassifier` (`masked.py`) asks one
or two rounds of statistical queries for signs. Numbers of records are in `sizes.py`, and at the end of
`masked.py`.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
