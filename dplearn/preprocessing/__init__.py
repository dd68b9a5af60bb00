"""Preprocessing transformers for pipelines of private learners: private, or without a fit to the data."""

from dplearn.preprocessing.cells import CellEncoder
from dplearn.preprocessing.k_means import PrivateKMeans
from dplearn.preprocessing.pca import PrivatePCA
from dplearn.preprocessing.quantile_columns import (
    PrivateKBinsDiscretizer,
    PrivateMinMaxClipper,
    PrivateQuantileTransformer,
    PrivateRobustScaler,
)
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
