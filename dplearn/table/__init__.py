"""Private tables, from what a user gives to blocks of encoded rows.

`sources` recognises a table in memory or in parts; `passes` reads parts, each as the input of a task; `table`
holds rows as weighted blocks, with sums over them; `rows` cuts rows out. `features` and `targets` validate X
and y, `groups` finds the rows of each person, `encodings` and `ranks` are codes and their order.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
