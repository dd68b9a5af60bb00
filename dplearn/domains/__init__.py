"""Domains: public sets of the values that columns and labels can have, declared before data are read."""

from dplearn.domains.base import Domain, DomainError, NumberDomain
from dplearn.domains.categories import Bits, Categories, Hashed
from dplearn.domains.column_kinds import Learn
from dplearn.domains.dates import Dates
from dplearn.domains.numbers import Floats, Grid, IntegerRange, LargeIntegerRange
from dplearn.domains.product import Product
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
