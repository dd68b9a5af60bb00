"""Concept classes that a learner can build from a domain and a number of labels, by their public names."""

from dplearn.concepts.base import ConceptClass
from dplearn.concepts.conjunctions import Conjunctions
from dplearn.concepts.corners import Corners
from dplearn.concepts.parities import Parities
from dplearn.concepts.stumps import DecisionStumps, Thresholds

CONCEPT_CLASSES: dict[str, type[ConceptClass]] = {
    "conjunctions": Conjunctions,
    "corners": Corners,
    "parities": Parities,
    "stumps": DecisionStumps,
    "thresholds": Thresholds,
}
