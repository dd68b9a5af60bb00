"""Statistical queries for means of private records, and the oracles that answer them."""

from dplearn.queries.answer import Answer
from dplearn.queries.oracle import (
    CentralOracle,
    LocalOracle,
    Oracle,
    PopulationOracle,
    Round,
    central,
    local,
    population,
)
from dplearn.queries.query import HistogramQuery, MeanQuery, StatisticalQuery, VectorQuery, on_grid
from dplearn.queries.randomizers import (
    BitRandomizer,
    CategoryRandomizer,
    LaplaceRandomizer,
    LocalRandomizer,
    VectorRandomizer,
)
from dplearn.table.table import LabelledRows, Records

__all__ = [
    "Answer",
    "BitRandomizer",
    "CategoryRandomizer",
    "CentralOracle",
    "HistogramQuery",
    "LabelledRows",
    "LaplaceRandomizer",
    "LocalOracle",
    "LocalRandomizer",
    "MeanQuery",
    "Oracle",
    "PopulationOracle",
    "Records",
    "Round",
    "StatisticalQuery",
    "VectorQuery",
    "VectorRandomizer",
    "central",
    "local",
    "on_grid",
    "population",
]
