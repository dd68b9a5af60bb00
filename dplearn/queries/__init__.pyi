"""Queries and oracles, one name a line; `__init__.py` imports them when they are asked for."""

from dplearn.queries.answer import Answer as Answer
from dplearn.queries.oracle import CentralOracle as CentralOracle
from dplearn.queries.oracle import LocalOracle as LocalOracle
from dplearn.queries.oracle import Oracle as Oracle
from dplearn.queries.oracle import PopulationOracle as PopulationOracle
from dplearn.queries.oracle import Round as Round
from dplearn.queries.oracle import central as central
from dplearn.queries.oracle import local as local
from dplearn.queries.oracle import population as population
from dplearn.queries.query import HistogramQuery as HistogramQuery
from dplearn.queries.query import MeanQuery as MeanQuery
from dplearn.queries.query import StatisticalQuery as StatisticalQuery
from dplearn.queries.query import VectorQuery as VectorQuery
from dplearn.queries.query import on_grid as on_grid
from dplearn.queries.randomizers import BitRandomizer as BitRandomizer
from dplearn.queries.randomizers import CategoryRandomizer as CategoryRandomizer
from dplearn.queries.randomizers import LaplaceRandomizer as LaplaceRandomizer
from dplearn.queries.randomizers import LocalRandomizer as LocalRandomizer
from dplearn.queries.randomizers import VectorRandomizer as VectorRandomizer
from dplearn.table.table import LabelledRows as LabelledRows
from dplearn.table.table import Records as Records
