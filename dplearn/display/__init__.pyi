"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.display.card import PrivacyCard as PrivacyCard
from dplearn.display.card import privacy_card as privacy_card
from dplearn.display.curves import DistributionDisplay as DistributionDisplay
from dplearn.display.curves import PrivateCalibrationDisplay as PrivateCalibrationDisplay
from dplearn.display.curves import PrivateConfusionMatrixDisplay as PrivateConfusionMatrixDisplay
from dplearn.display.curves import PrivatePrecisionRecallDisplay as PrivatePrecisionRecallDisplay
from dplearn.display.curves import PrivateRocCurveDisplay as PrivateRocCurveDisplay
from dplearn.display.planning import EpsilonDisplay as EpsilonDisplay
from dplearn.display.registry import RegistryEntry as RegistryEntry
from dplearn.display.registry import registry_entry as registry_entry
from dplearn.display.registry import registry_schema as registry_schema
from dplearn.display.shapes import ShapesDisplay as ShapesDisplay
from dplearn.display.shapes import SyntheticTableDisplay as SyntheticTableDisplay
from dplearn.display.statistics import StatisticsDisplay as StatisticsDisplay
