"""Sub-sample and aggregate: disjoint shards, a teacher for each, and answers on which they agree."""

from dplearn.ensembles.answers import QueriesExhaustedError
from dplearn.ensembles.public_data import PublicData

__all__ = ["PublicData", "QueriesExhaustedError"]
