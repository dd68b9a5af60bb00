"""Preprocessing transformers for pipelines of private learners: private, or without a fit to the data."""

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
