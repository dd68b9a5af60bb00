"""The two kinds of private search, of classifiers and of regressors: what they do differently.

>>> from dplearn.learners.linear import LinearRegressor
>>> task = task_of(LinearRegressor())
>>> task.default, task.read([3, 70], 2, None)[1].tolist()
('r2', [3.0, 70.0])
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils import get_tags

from dplearn._writing import brief
from dplearn.estimator.fit_recipe import FitRecipe
from dplearn.model_selection.candidates import last_step
from dplearn.model_selection.metrics import METRICS, PrivateScorer, measure_of
from dplearn.records.reading import check_classes, declared_classes, labels_assumed, read_labels
from dplearn.records.targets import TargetRange, read_numbers

__all__ = ["Task", "task_of"]


class Task(ABC):
    """What is predicted: its public values, how it is read, and which metrics suit it.

    Attributes
    ----------
    kinds : str
        Which estimators predict it, as a plural.
    default : str
        Name of the metric that `scoring=None` stands for.
    regression : bool
        Whether its metrics are those of regressors.
    """

    kinds: ClassVar[str]
    default: ClassVar[str]
    regression: ClassVar[bool]

    def scorer(self, scoring: Any) -> PrivateScorer:
        """Return the metric that a search compares candidates by.

        Parameters
        ----------
        scoring : None, str or PrivateScorer
            The parameter of the search.

        Raises
        ------
        ValueError
            If the metric is not one of these estimators.
        """
        scorer = PrivateScorer.of(self.default if scoring is None else scoring)
        if scorer.regression != self.regression:
            fitting = [repr(name) for name, each in METRICS.items() if each.regression == self.regression]
            raise ValueError(
                f"scoring must be a metric of {self.kinds}, which the search compares, got {scorer.name!r};"
                f" choose one of {', '.join(fitting)}"
            )
        return scorer

    @abstractmethod
    def values(self, scorer: PrivateScorer, candidates: Sequence[Any], last: Any) -> Mapping[str, Any]:
        """Return the parameters of a search that depend on the task, after a check of the public values.

        Parameters
        ----------
        scorer : PrivateScorer
            From `scorer`.
        candidates : sequence
            Unfitted.
        last : object
            The last step of the searched estimator.

        Returns
        -------
        dict
            Of `scorer`; of `classes`, which is None for regressors; of `given`, parameters of the last step
            that the search replaced; and for regressors of `target`, on which errors are counted.
        """

    @abstractmethod
    def read(self, y: Any, n: int, params: FitRecipe) -> tuple[Any, NDArray[Any]]:
        """Return the public labels, None for regressors, and what each record has.

        Parameters
        ----------
        y : array-like of shape (n,)
            Private.
        n : int
            Number of records.
        params : Params
            Of the search.
        """

    @abstractmethod
    def assumes(self, params: FitRecipe) -> str:
        """Return the assumption about labels or targets."""


class _Labels(Task):
    """The task of classifiers."""

    kinds = "classifiers"
    default = "accuracy"
    regression = False

    def values(self, scorer: PrivateScorer, candidates: Sequence[Any], last: Any) -> Mapping[str, Any]:
        if scorer.labels is not None:
            raise ValueError(
                "scoring must have labels=None in a search, where they are the classes of the estimator,"
                f" got {brief(scorer.labels)}"
            )
        steps = [last_step(candidate) for candidate in candidates]
        given = [declared_classes(each.classes, getattr(each, "domain", None)) for each in steps]
        sets = [None if each is None else tuple(check_classes(each).tolist()) for each in given]
        if len(set(sets)) > 1:
            raise ValueError("param_grid must give all candidates the same classes")
        return {"scorer": scorer, "classes": given[0], "restored": {"classes": last.classes}}

    def read(self, y: Any, n: int, params: FitRecipe) -> tuple[Any, NDArray[Any]]:
        classes, codes = read_labels(y, n, params.classes)
        for candidate in params.candidates:
            last_step(candidate).set_params(classes=list(classes))  # independent of the training labels
        return classes, classes[codes]

    def assumes(self, params: FitRecipe) -> str:
        return labels_assumed(params.classes)


class _Targets(Task):
    """The task of regressors: the range on which errors are counted is the metric's, or the candidates'."""

    kinds = "regressors"
    default = "r2"
    regression = True

    def values(
        self,
        scorer: PrivateScorer,
        candidates: Sequence[Any],
        last: Any,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        if scorer.target_range is None:
            ranges = [TargetRange.of(last_step(each).target_range) for each in candidates]
            if len(set(ranges)) > 1:
                raise ValueError(
                    "param_grid must give all candidates the same target_range, or scoring must have the one"
                    f" on which all are compared: PrivateScorer({scorer.name!r}, target_range=(low, high))"
                )
            scorer = replace(scorer, target_range=(ranges[0].low, ranges[0].high))
        target = TargetRange.of(scorer.target_range, clip=True)
        return {"scorer": scorer, "classes": None, "target": target, "restored": {}}

    def read(self, y: Any, n: int, params: FitRecipe) -> tuple[Any, NDArray[Any]]:  # noqa: ARG002
        return None, read_numbers(y, n)  # each candidate compares them with its own range

    def assumes(self, params: FitRecipe) -> str:
        (clipped,) = measure_of(params.scorer, ()).statistic.assumes
        return clipped


_TASKS: dict[str | None, Task] = {"classifier": _Labels(), "regressor": _Targets()}


def task_of(estimator: Any) -> Task:
    """Return the task of an estimator that `check_candidate` accepts."""
    return _TASKS[get_tags(estimator).estimator_type]
