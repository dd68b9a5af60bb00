"""Transformers that fit in front of a private learner."""

from dplearn.preprocessing.cells import CellEncoder
from dplearn.preprocessing.k_bins_discretizer import PrivateKBinsDiscretizer
from dplearn.preprocessing.min_max_clipper import PrivateMinMaxClipper
from dplearn.preprocessing.quantile_transformer import PrivateQuantileTransformer
from dplearn.preprocessing.robust_scaler import PrivateRobustScaler

__all__ = [
    "CellEncoder",
    "PrivateKBinsDiscretizer",
    "PrivateMinMaxClipper",
    "PrivateQuantileTransformer",
    "PrivateRobustScaler",
]
