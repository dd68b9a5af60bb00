"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.concepts.base import Concept, ConceptClass, CountedClass, CountedErrors, ErrorProfile
from dplearn.concepts.conjunctions import Conjunctions
from dplearn.concepts.corners import Corner, Corners
from dplearn.concepts.finite import FiniteClass
from dplearn.concepts.finite import VersionSpaces as VersionSpaces
from dplearn.concepts.lines import Line, LinePoint, Lines
from dplearn.concepts.named import CONCEPT_CLASSES
from dplearn.concepts.parities import MaskedParity as MaskedParity
from dplearn.concepts.parities import Parities, Parity
from dplearn.concepts.parities import index_of as index_of
from dplearn.concepts.parities import masked_layout as masked_layout
from dplearn.concepts.parities import masked_rows as masked_rows
from dplearn.concepts.stumps import DecisionStumps, Thresholds
from dplearn.concepts.stumps import Stump as Stump

__all__ = [
    "CONCEPT_CLASSES",
    "Concept",
    "ConceptClass",
    "Conjunctions",
    "Corner",
    "Corners",
    "CountedClass",
    "CountedErrors",
    "DecisionStumps",
    "ErrorProfile",
    "FiniteClass",
    "Line",
    "LinePoint",
    "Lines",
    "Parities",
    "Parity",
    "Thresholds",
]
