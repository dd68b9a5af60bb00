"""Privacy guarantees, accounting of their composition, calibration of noise, and the privacy ledger."""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
