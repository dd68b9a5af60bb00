"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.learners.rules.corner import CornerClassifier as CornerClassifier
from dplearn.learners.rules.generic import ExponentialMechanismClassifier as ExponentialMechanismClassifier
from dplearn.learners.rules.line import LineClassifier as LineClassifier
from dplearn.learners.rules.point import ChosenKeys as ChosenKeys
from dplearn.learners.rules.point import ChosenPrefix as ChosenPrefix
from dplearn.learners.rules.point import PointClassifier as PointClassifier
from dplearn.learners.rules.threshold import ThresholdClassifier as ThresholdClassifier
