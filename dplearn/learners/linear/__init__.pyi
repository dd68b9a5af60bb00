"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.learners.linear.columns import kept_columns as kept_columns
from dplearn.learners.linear.columns import mass_query as mass_query
from dplearn.learners.linear.columns import sparse_rows as sparse_rows
from dplearn.learners.linear.logistic import MOST_COLUMNS as MOST_COLUMNS
from dplearn.learners.linear.logistic import (
    StatisticalQueryLogisticRegression as StatisticalQueryLogisticRegression,
)
from dplearn.learners.linear.logistic import can_be_drawn as can_be_drawn
from dplearn.learners.linear.logistic import logistic_plan as logistic_plan
from dplearn.learners.linear.logistic_queries import FINEST as FINEST
from dplearn.learners.linear.logistic_queries import WEIGHT_UNITS as WEIGHT_UNITS
from dplearn.learners.linear.logistic_queries import LogisticPlan as LogisticPlan
from dplearn.learners.linear.logistic_queries import Mapped as Mapped
from dplearn.learners.linear.logistic_queries import label_parts as label_parts
from dplearn.learners.linear.logistic_queries import moment_weights as moment_weights
from dplearn.learners.linear.logistic_queries import products_query as products_query
from dplearn.learners.linear.logistic_queries import score_queries as score_queries
from dplearn.learners.linear.logistic_queries import upper_weights as upper_weights
from dplearn.learners.linear.logistic_steps import BALANCED as BALANCED
from dplearn.learners.linear.logistic_steps import check_class_weight as check_class_weight
from dplearn.learners.linear.logistic_steps import check_weighted_classes as check_weighted_classes
from dplearn.learners.linear.logistic_steps import learn_logistic as learn_logistic
from dplearn.learners.linear.logistic_steps import released_weights as released_weights
from dplearn.learners.linear.logistic_steps import take_steps as take_steps
from dplearn.learners.linear.regression import LinearPlan as LinearPlan
from dplearn.learners.linear.regression import LinearRegressor as LinearRegressor
from dplearn.learners.linear.regression import target_moments_query as target_moments_query
