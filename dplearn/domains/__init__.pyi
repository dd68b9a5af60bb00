"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.domains.base import Domain, DomainError, NumberDomain
from dplearn.domains.categories import Bits, Categories, Hashed
from dplearn.domains.cells import as_factor as as_factor
from dplearn.domains.cells import frame_column as frame_column
from dplearn.domains.cells import mapped as mapped
from dplearn.domains.cells import object_array as object_array
from dplearn.domains.cells import read_column as read_column
from dplearn.domains.column_kinds import ColumnKinds as ColumnKinds
from dplearn.domains.column_kinds import Learn
from dplearn.domains.column_kinds import kinds_of as kinds_of
from dplearn.domains.dates import Dates
from dplearn.domains.keys import KeyCounts as KeyCounts
from dplearn.domains.keys import read_keys as read_keys
from dplearn.domains.keys import spelled as spelled
from dplearn.domains.numbers import Floats, Grid, IntegerRange, LargeIntegerRange
from dplearn.domains.product import Product
from dplearn.domains.product import refuse_text as refuse_text
from dplearn.domains.schema import Schema

__all__ = [
    "Bits",
    "Categories",
    "Dates",
    "Domain",
    "DomainError",
    "Floats",
    "Grid",
    "Hashed",
    "IntegerRange",
    "LargeIntegerRange",
    "Learn",
    "NumberDomain",
    "Product",
    "Schema",
]
