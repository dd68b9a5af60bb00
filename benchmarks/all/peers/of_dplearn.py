"""This package: columns, labels and the ends of the target are declared, all else is the default.

Neighbours replace a record, which hides up to twice as much as to add or remove one.
"""

import sys
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parents[1]), str(HERE.parent)]

import checking  # noqa: E402
import tables  # noqa: E402

import dplearn  # noqa: E402
from dplearn.chance import SystemDice  # noqa: E402
from dplearn.domains import Categories, IntegerRange, Schema  # noqa: E402

KNOWN = {}
PURE = ("ExponentialMechanismClassifier",)


def problem(task):
    """Return the table itself, since these learners take frames and schemas."""
    about = task.about
    if about["name"] not in KNOWN:
        folder = about["folder"] and Path(about["folder"])
        KNOWN[about["name"]] = tables.table_of(about["name"], folder, about["fits"])
    return KNOWN[about["name"]]


def rows(task, learner):
    return problem(task).frame


def fitted(task, learner, epsilon, rows, y):
    table = problem(task)
    listed = {name: Categories(values) for name, values in table.categories.items()}
    how = {"epsilon": epsilon, "domain": Schema(table.numbers | listed)}
    how |= {"target_range": table.target} if table.target else {"classes": list(range(task.n_labels))}
    if learner not in PURE:
        how["delta"] = task.delta
    return getattr(dplearn, learner)(**how).fit(rows, y)


class Checks:
    """How checks ask this package."""

    def fitted(self, learner, frame, y, epsilon, texts):
        categories = Categories(list(checking.TEXTS) if texts else [0, 1, 2])
        schema = Schema({"a": IntegerRange(0, 15), "b": IntegerRange(0, 15), "c": categories})
        return Shown(getattr(dplearn, learner)(epsilon=epsilon, domain=schema, classes=[0, 1]).fit(frame, y))

    def undeclared(self, learner, frame, y, epsilon):
        return Shown(getattr(dplearn, learner)(epsilon=epsilon).fit(frame, y))

    def noise(self, learner, size):
        return SystemDice().discrete_laplace(Fraction(9, 10), -1000, 1000, size=size)


class Shown:
    """A model, and the labels that it publishes."""

    def __init__(self, model):
        self.predict, self.predict_proba, self.model = model.predict, model.predict_proba, model

    def labels(self):
        return list(self.model.classes_)

    def published(self):
        return self.labels()


def checked(cell):
    return checking.checked(Checks(), cell)
