"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.learners.additive.estimators import AdditiveClassifier as AdditiveClassifier
from dplearn.learners.additive.estimators import AdditiveRegressor as AdditiveRegressor
from dplearn.learners.additive.estimators import ColumnShape as ColumnShape
from dplearn.learners.additive.label_sums import PublicRows as PublicRows
from dplearn.learners.additive.losses import LogisticLoss as LogisticLoss
from dplearn.learners.additive.plan import AdditivePlan as AdditivePlan
from dplearn.learners.additive.queries import Rows as Rows
