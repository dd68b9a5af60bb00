"""Private tables, from what a user gives to blocks of encoded rows.

`sources` recognises a table in memory or in parts; `passes` reads the parts of one, each as the input of a
task; `table` holds the rows of both kinds as weighted blocks, with sums over them; `rows` cuts rows out of a
table. `features` and `targets` validate X and y; `groups` finds the rows of each person; `encodings` and
`ranks` are codes of columns, and their order.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
