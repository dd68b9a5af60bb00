"""Private releases about one column, such as quantiles and counts of keys, and about the columns of a table.

Each is a function `x` that returns a frozen result, with `x_plan`, which plans it from public parameters.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
