"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.table.groups import grouping_of as grouping_of
from dplearn.table.passes import InTurn as InTurn
from dplearn.table.passes import PartsChangedError as PartsChangedError
from dplearn.table.passes import PartsUnreadableError as PartsUnreadableError
from dplearn.table.passes import Task as Task
from dplearn.table.ranks import parted_ranks as parted_ranks
from dplearn.table.rows import plain as plain
from dplearn.table.rows import rows_of as rows_of
from dplearn.table.sources import check_index as check_index
from dplearn.table.sources import column_in_parts as column_in_parts
from dplearn.table.sources import in_parts as in_parts
from dplearn.table.sources import table_in_memory as table_in_memory
from dplearn.table.sources import table_in_parts as table_in_parts
from dplearn.table.sources import table_of as table_of
from dplearn.table.table import Columns as Columns
from dplearn.table.table import Given as Given
from dplearn.table.table import InMemory as InMemory
from dplearn.table.table import LabelledRows as LabelledRows
from dplearn.table.table import Table as Table
from dplearn.table.table import as_table as as_table
from dplearn.table.table import count_of as count_of
from dplearn.table.table import taken as taken
