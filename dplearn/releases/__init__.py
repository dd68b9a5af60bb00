"""Private releases about one column, such as quantiles and counts of keys, and about the columns of a table.

A release is a function `x` of private values that returns a frozen result. Each release has a function
`x_plan` that returns the plan of the release from public parameters.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
