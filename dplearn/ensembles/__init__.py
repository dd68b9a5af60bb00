"""Sub-sample and aggregate: teachers trained on disjoint shards, and the private release of their votes."""

from dplearn.ensembles.asking import QueriesExhaustedError
from dplearn.ensembles.public_data import PublicData

__all__ = ["PublicData", "QueriesExhaustedError"]
