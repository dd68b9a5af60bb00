"""Preprocessing transformers for pipelines of private learners: private, or without a fit to the data."""

from dplearn.preprocessing.cells import CellEncoder
from dplearn.preprocessing.k_bins_discretizer import PrivateKBinsDiscretizer
from dplearn.preprocessing.k_means import PrivateKMeans
from dplearn.preprocessing.min_max_clipper import PrivateMinMaxClipper
from dplearn.preprocessing.pca import PrivatePCA
from dplearn.preprocessing.quantile_transformer import PrivateQuantileTransformer
from dplearn.preprocessing.robust_scaler import PrivateRobustScaler
from dplearn.preprocessing.standard_scaler import PrivateStandardScaler

__all__ = [
    "CellEncoder",
    "PrivateKBinsDiscretizer",
    "PrivateKMeans",
    "PrivateMinMaxClipper",
    "PrivatePCA",
    "PrivateQuantileTransformer",
    "PrivateRobustScaler",
    "PrivateStandardScaler",
]
