"""Transformers, one name a line; `__init__.py` imports them when they are asked for."""

from dplearn.preprocessing.cells import CellEncoder as CellEncoder
from dplearn.preprocessing.k_means import PrivateKMeans as PrivateKMeans
from dplearn.preprocessing.pca import PrivatePCA as PrivatePCA
from dplearn.preprocessing.quantile_columns import PrivateKBinsDiscretizer as PrivateKBinsDiscretizer
from dplearn.preprocessing.quantile_columns import PrivateMinMaxClipper as PrivateMinMaxClipper
from dplearn.preprocessing.quantile_columns import PrivateQuantileTransformer as PrivateQuantileTransformer
from dplearn.preprocessing.quantile_columns import PrivateRobustScaler as PrivateRobustScaler
from dplearn.preprocessing.standard_scaler import PrivateStandardScaler as PrivateStandardScaler
