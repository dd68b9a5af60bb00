"""The two tasks of `fit`: to predict labels, or numbers. Each has its learners, and reads the target.

`Classification` and `Regression` have the same methods; the rest of the command is the same for both.
"""

import argparse
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.utils import get_tags

from dplearn.commands.csv_table import Table, listed
from dplearn.commands.learners import CLASSIFIERS, REGRESSORS, Learner
from dplearn.commands.refusal import Refusal, public
from dplearn.domains import DomainError, Schema
from dplearn.records.targets import TargetRange

__all__ = ["TASKS", "Task"]

_MANY_LABELS, _FEW_LABELS, _PER_LABEL = 200, 20, 5  # see `_most_labels`
_FEW = 8  # the greatest number of labels that are listed


class Task(ABC):
    """What is predicted, and what follows from it.

    Attributes
    ----------
    name : str
        The value of --task.
    learners : mapping of str to class
        The learners, by their names for --learner.
    """

    name: ClassVar[str]
    learners: ClassVar[Mapping[str, type[Learner]]]
    _advice: ClassVar[str]  # for records with an empty target

    @abstractmethod
    def parameters(self, options: argparse.Namespace, schema: Schema | None) -> dict[str, Any]:
        """Return the parameters of a learner that the options of this task set; refuse those of the other."""

    @abstractmethod
    def read(self, table: Table, options: argparse.Namespace, source: Any) -> NDArray[Any]:
        """Return the target of each record of the table, which was read from the file `source`."""

    @abstractmethod
    def check(self, y: NDArray[Any], learner: Any, options: argparse.Namespace) -> dict[str, int]:
        """Refuse targets that the learner does not support; return the arguments of its plan about them."""

    @abstractmethod
    def notes(self, learner: Any) -> list[str]:
        """Return the lines about the targets of a fitted learner."""

    @abstractmethod
    def score(self, y: NDArray[Any], predicted: NDArray[Any]) -> tuple[str, float]:
        """Return the name and the value of the score on a public test file."""

    def check_test(self, y: NDArray[Any], source: Any) -> None:  # noqa: B027 - of use to subclasses
        """Refuse targets of a public test file on which no score is defined."""

    def _cells(self, table: Table, target: str, source: Any) -> list[str]:
        """Return the cells of the target, none of them empty."""
        if target not in table.names:
            raise Refusal(f"{source}: must have the target column {target!r}{table.missing(target)}")
        cells = table.column(target)
        if "" in cells:
            raise Refusal(f"{source}: column {target!r} must have no empty cell: {self._advice}")
        return cells


class Classification(Task):
    """The target is a label."""

    name = "classification"
    learners = CLASSIFIERS
    _advice = (
        "leave records without a label out, if how many remain may be public, or give them a label of their"
        " own, such as unknown"
    )

    def parameters(self, options: argparse.Namespace, schema: Schema | None) -> dict[str, Any]:
        """Return `classes`, if they are declared."""
        for option, given in (
            ("--target-range", options.target_range),
            ("--clip-target", options.clip_target),
        ):
            if given:
                raise Refusal(f"{option} goes with --task regression, which predicts numbers")
        described = None if schema is None or schema.labels is None else list(map(str, schema.labels))
        if options.labels is None:
            return {} if described is None else {"classes": described}
        labels = listed(options.labels)
        if "" in labels:
            raise Refusal(f"--labels must list labels that are not empty, got {options.labels!r}")
        if described is not None and set(labels) != set(described):
            raise Refusal(
                f"--labels must list the labels that {options.schema} lists ({_some(described)}), or be left"
                f" out, got {options.labels!r}"
            )
        return {"classes": labels}

    def read(self, table: Table, options: argparse.Namespace, source: Any) -> NDArray[Any]:
        """Return the labels, as texts."""
        return np.array(self._cells(table, options.target, source))

    def check(self, y: NDArray[Any], learner: Any, options: argparse.Namespace) -> dict[str, int]:
        """Refuse labels that are not declared, too many labels, and fewer or more than the learner takes."""
        found, declared = set(y.tolist()), learner.classes
        if declared is None and len(found) >= (most := _most_labels(len(y))):
            raise Refusal(
                f"--target must be a column of few labels, got {most} or more in {options.target!r}, and none"
                " is declared: if it is a number to predict, --task regression --target-range LOW,HIGH"
                " predicts it; if they are labels, --labels A,B,... declares them: those taken from the table"
                " are published"
            )
        if declared is not None and not found <= set(declared):
            where = "--labels" if options.labels is not None else str(options.schema)
            raise Refusal(
                f"{options.table}: column {options.target!r} must hold only the labels that {where} lists"
                f" ({_some(declared)}), and holds another"
            )
        n_labels = len(found if declared is None else declared)
        if n_labels < 2:
            raise Refusal(
                "--target must be a column of two labels or more, got one"
                + ("; --labels A,B,... declares all that can occur" if declared is None else "")
            )
        if n_labels > 2 and not get_tags(learner).classifier_tags.multi_class:
            raise Refusal(f"--learner: {type(learner).__name__} takes two labels, got {n_labels}")
        return {"n_labels": n_labels}

    def notes(self, learner: Any) -> list[str]:
        """Return a line about labels that are published, unless they are declared."""
        if learner.classes is not None:
            return []
        return [
            f"Labels taken from the table, and so published: {_some(learner.classes_)}; --labels A,B,..."
            " declares them."
        ]

    def score(self, y: NDArray[Any], predicted: NDArray[Any]) -> tuple[str, float]:
        """Return the accuracy."""
        return "Accuracy", float(np.mean(predicted == y))


class Regression(Task):
    """The target is a number in a public range."""

    name = "regression"
    learners = REGRESSORS
    _advice = "leave records without a target out, if how many remain may be public"

    def parameters(self, options: argparse.Namespace, schema: Schema | None) -> dict[str, Any]:  # noqa: ARG002 - as for labels
        """Return `target_range` and `clip_target`."""
        if options.labels is not None:
            raise Refusal("--labels goes with --task classification; numbers have --target-range LOW,HIGH")
        if options.target_range is None:
            raise Refusal(
                "--task regression needs --target-range LOW,HIGH: public bounds on the target, known without"
                " looking at the table"
            )
        given = _bounds(options.target_range)
        if not given[0] < given[1]:
            raise Refusal(f"--target-range must be LOW,HIGH with LOW < HIGH, got {options.target_range!r}")
        with public():
            TargetRange.of(given)
        return {"target_range": given, "clip_target": options.clip_target}

    def read(self, table: Table, options: argparse.Namespace, source: Any) -> NDArray[Any]:
        """Return the numbers."""
        numbers = np.array([_finite(cell) for cell in self._cells(table, options.target, source)])
        if np.isnan(numbers).any():
            raise Refusal(
                f"{source}: column {options.target!r} must hold finite numbers with --task regression, and"
                " holds another cell; decimals have a point, and no separators of thousands"
            )
        return numbers

    def check(self, y: NDArray[Any], learner: Any, options: argparse.Namespace) -> dict[str, int]:
        """Refuse numbers outside the declared range, unless they are clipped."""
        try:
            TargetRange.of(learner.target_range, clip=learner.clip_target).encode(y)
        except DomainError:
            raise Refusal(
                f"{options.table}: column {options.target!r} must lie in --target-range"
                f" {options.target_range}, and holds a number outside it; --clip-target moves such numbers to"
                " the nearest bound"
            ) from None
        return {}

    def notes(self, learner: Any) -> list[str]:
        """Return the released spread of residuals."""
        return [f"Standard deviation of residuals, released: {learner.residual_std_:.4g}"]

    def score(self, y: NDArray[Any], predicted: NDArray[Any]) -> tuple[str, float]:
        """Return R^2."""
        return "R^2", float(r2_score(y, predicted))

    def check_test(self, y: NDArray[Any], source: Any) -> None:
        """Refuse numbers that are all equal, for which R^2 is not defined."""
        if len(set(y.tolist())) < 2:
            raise Refusal(f"{source}: --test must hold two different numbers of the target, for R^2")


TASKS: dict[str, Task] = {task.name: task for task in (Classification(), Regression())}


def _bounds(text: str) -> tuple[float, float]:
    """Return the two numbers of --target-range."""
    parts = [_finite(part) for part in listed(text)]
    if len(parts) != 2 or any(math.isnan(part) for part in parts):
        raise Refusal(f"--target-range must be two numbers, LOW,HIGH, got {text!r}")
    low, high = parts
    return low, high


def _finite(cell: str) -> float:
    """Return a text as a finite number, or NaN if it is not one."""
    try:
        value = math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _most_labels(n: int) -> int:
    """Return the number of labels from which on labels that are not declared are refused.

    So many labels are probably numbers, or names with a few records each.
    """
    return min(_MANY_LABELS, max(_FEW_LABELS, n // _PER_LABEL))


def _some(classes: Iterable[Any]) -> str:
    labels = [repr(str(label)) for label in classes]
    return ", ".join(labels[:_FEW]) + (f" and {len(labels) - _FEW} more" if len(labels) > _FEW else "")
