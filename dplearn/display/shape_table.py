"""A table of the released effects of an additive model, for the privacy card.

>>> import numpy as np
>>> from dplearn.domains import IntegerRange
>>> from dplearn.learners import ColumnShape
>>> from dplearn.learners.additive_columns import column_of
>>> effects, third = np.array([-0.5, 0.0, 0.5]), np.full(3, 1 / 3)
>>> dose = ColumnShape("dose", column_of(IntegerRange(1, 3)), effects, 0.1 + 0 * effects, third)
>>> row_of(dose, None)
('dose', '0.408', '-0.5 ± 0.2 at 1', '0.5 ± 0.2 at 3')
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dplearn._writing import cut
from dplearn.display.shape_cells import LONGEST_NAME, ShownCells, named
from dplearn.display.template import Table
from dplearn.learners import AdditiveClassifier, ColumnShape

__all__ = ["row_of", "shapes_of"]

_MOST = 10  # columns in the table


def shapes_of(parts: Iterable[Any]) -> list[Table]:
    """Return a table for each additive model among the parts of a release.

    Parameters
    ----------
    parts : iterable of object
        Fitted estimators. Only `shapes_`, `classes_` and `interactions_` of additive models are read, and of
        one of several outputs its `estimators_`.
    """
    tables = []
    for part, output in _models(parts):
        shapes = getattr(part, "shapes_", [])
        if not shapes or not all(isinstance(shape, ColumnShape) for shape in shapes):
            continue
        classes = getattr(part, "classes_", None)
        ranked = sorted(shapes, key=lambda shape: -shape.importance)[:_MOST]
        rows = [row_of(shape, classes) for shape in ranked]
        if classes is None:
            of = "the prediction"
        else:
            of = f"the logit of {cut(str(classes[-1]))}" if len(classes) == 2 else "the margin of each label"
        caption = (
            f"{output}Effects on {of}, with two standard deviations: the {len(rows)} most important of"
            f" {len(shapes)} columns. The importance is the root mean square effect. Values that few records"
            f" have are left out. {_about_interactions(part)}"
        )
        tables.append(Table(caption, ("column", "importance", "least effect", "greatest effect"), rows))
    return tables


def _models(parts: Iterable[Any]) -> Iterator[tuple[Any, str]]:
    """Yield each model of one output, and the start of its caption."""
    for part in parts:
        if isinstance(part, AdditiveClassifier) and isinstance(getattr(part, "classes_", None), list):
            yield from ((each, f"Output {place}. ") for place, each in enumerate(part.estimators_))
        else:
            yield part, ""


def _about_interactions(part: Any) -> str:
    """Return a sentence on the released interactions of an additive model."""
    interactions = getattr(part, "interactions_", None)
    if interactions is None:
        return "The model is the sum of these effects: it has no interactions of columns."
    strengths = interactions.strengths
    if not strengths.any():
        return "Besides these effects, the model has interactions of columns."
    places = np.unravel_index(int(strengths.argmax()), strengths.shape)
    names = " and ".join(cut(part.shapes_[place].name, LONGEST_NAME) for place in sorted(places))
    return (
        f"Besides these effects, the model has interactions of columns; {names} have the strongest sign of"
        f" one, {strengths.max():.1f} standard deviations of the noise."
    )


def row_of(shape: ColumnShape, classes: Any) -> tuple[str, str, str, str]:
    """Return the name of a column, its importance, and its least and greatest effect.

    Parameters
    ----------
    shape : ColumnShape
        Released.
    classes : sequence or None
        Public. The labels, or None for a regression.
    """
    cells = ShownCells.of(shape)
    shown = np.array([*cells.places, *([] if cells.missing is None else [cells.missing])])
    effects = shape.effects.reshape(len(shape.masses), -1)
    deviations = shape.deviations.reshape(effects.shape)
    ends = []
    for best in (np.argmin, np.argmax):
        row, output = np.unravel_index(int(best(effects[shown])), effects[shown].shape)
        place = shown[row]
        label = f" for {cut(str(classes[output]), LONGEST_NAME)}" if effects.shape[1] > 1 else ""
        spread = 2 * deviations[place, output]
        ends.append(f"{effects[place, output]:.2g} ± {spread:.1g} at {_cell(shape, place)}{label}")
    return cut(shape.name, 2 * LONGEST_NAME), f"{shape.importance:.3g}", ends[0], ends[1]


def _cell(shape: ColumnShape, place: int) -> str:
    values = shape.values
    return named(shape.cells[place]) if values is None or np.isnan(values[place]) else f"{values[place]:.4g}"
