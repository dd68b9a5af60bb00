"""The types that a file of a learner, or of a synthetic table, may contain, for formats that run no code.

`skops.io.load` and MLflow's default format load only types that the reader trusts. A law holds the list equal
to what fitted learners, transformers and synthetic tables consist of, types of scikit-learn aside.

>>> TRUSTED_TYPES[:2]
['dplearn.concepts.base.ChosenConcept', 'dplearn.concepts.corners.Corner']
"""

from importlib import resources

#: The names of the types, with those of their modules.
TRUSTED_TYPES: list[str] = resources.files("dplearn").joinpath("trusted_types.txt").read_text("utf-8").split()
