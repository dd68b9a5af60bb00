"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.estimator.base import (
    PrivateClassifier,
    PrivateEstimator,
    PrivateRegressor,
    PrivateTransformer,
    RuleClassifier,
)
from dplearn.estimator.base import SeveralOutputsClassifier as SeveralOutputsClassifier
from dplearn.estimator.base import refuse_parameters as refuse_parameters
from dplearn.estimator.base_models import MANY_ROWS as MANY_ROWS
from dplearn.estimator.base_models import Seeded as Seeded
from dplearn.estimator.base_models import check_own_code as check_own_code
from dplearn.estimator.base_models import quiet as quiet
from dplearn.estimator.incremental import Incremental as Incremental
from dplearn.estimator.isolation import isolated as isolated
from dplearn.estimator.isolation import muted_output as muted_output
from dplearn.estimator.isolation import reraised as reraised
from dplearn.estimator.isolation import turn as turn
from dplearn.estimator.public_data import public_rows as public_rows
from dplearn.estimator.recipe import FitFacts as FitFacts
from dplearn.estimator.recipe import FitRecipe as FitRecipe
from dplearn.estimator.recipe import OutputsFacts as OutputsFacts
from dplearn.estimator.recipe import cost_of_fit as cost_of_fit
from dplearn.estimator.recipe import planned_columns as planned_columns
from dplearn.estimator.recipe import planned_table as planned_table
from dplearn.estimator.schema_learning import learns_schema
from dplearn.releases.schema_fits import SchemaFitPlan

__all__ = [
    "PrivateClassifier",
    "PrivateEstimator",
    "PrivateRegressor",
    "PrivateTransformer",
    "RuleClassifier",
    "SchemaFitPlan",
    "learns_schema",
]
