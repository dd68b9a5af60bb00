"""Statistical queries for means of private records, and the oracles that answer them."""

from dplearn.queries.factories import central, local, population
from dplearn.queries.oracle import Answer, Oracle, Round
from dplearn.queries.population_oracle import PopulationOracle
from dplearn.queries.private_oracles import CentralOracle, LocalOracle
from dplearn.queries.query import HistogramQuery, MeanQuery, StatisticalQuery, VectorQuery, on_grid
from dplearn.queries.randomizers import (
    BitRandomizer,
    CategoryRandomizer,
    LaplaceRandomizer,
    LocalRandomizer,
    VectorRandomizer,
)
from dplearn.queries.simulation import Request, run_locally, simulate_by_queries, simulate_locally
from dplearn.records.rows import Examples, Records

__all__ = [
    "Answer",
    "BitRandomizer",
    "CategoryRandomizer",
    "CentralOracle",
    "Examples",
    "HistogramQuery",
    "LaplaceRandomizer",
    "LocalOracle",
    "LocalRandomizer",
    "MeanQuery",
    "Oracle",
    "PopulationOracle",
    "Records",
    "Request",
    "Round",
    "StatisticalQuery",
    "VectorQuery",
    "VectorRandomizer",
    "central",
    "local",
    "on_grid",
    "population",
    "run_locally",
    "simulate_by_queries",
    "simulate_locally",
]
