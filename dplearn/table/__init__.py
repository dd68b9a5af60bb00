"""Private tables, from what a user gives to blocks of encoded rows.

`sources` recognises a table in memory or in parts; `passes` reads the parts of one, each as the input of a
task; `table` holds the rows of both kinds as weighted blocks, with sums over them; `rows` cuts rows out of a
table. `features` and `targets` validate X and y; `groups` finds the rows of each person; `encodings` and
`ranks` are codes of columns, and their order.
"""

from dplearn.table.groups import grouping_of
from dplearn.table.passes import InTurn, PartsChangedError, PartsUnreadableError, Task
from dplearn.table.ranks import parted_ranks
from dplearn.table.rows import plain, rows_of
from dplearn.table.sources import (
    check_index,
    column_in_parts,
    in_parts,
    table_in_memory,
    table_in_parts,
    table_of,
)
from dplearn.table.table import Columns, Given, InMemory, LabelledRows, Table, as_table, count_of, taken

__all__ = [
    "Columns",
    "Given",
    "InMemory",
    "InTurn",
    "LabelledRows",
    "PartsChangedError",
    "PartsUnreadableError",
    "Table",
    "Task",
    "as_table",
    "check_index",
    "column_in_parts",
    "count_of",
    "grouping_of",
    "in_parts",
    "parted_ranks",
    "plain",
    "rows_of",
    "table_in_memory",
    "table_in_parts",
    "table_of",
    "taken",
]
