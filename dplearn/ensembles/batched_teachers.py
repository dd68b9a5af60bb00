"""Train a batch of teachers as one array program, if the estimator and the table permit it.

This is for logistic regression by L-BFGS, Gaussian naive Bayes and the ridge classifier, each with or without
an imputer of means and a standard scaler before it, on arrays of numbers. All other parameters must have
their default values. The choice depends on the estimator, the types of the table and the labels alone, all of
which are public, and so do the shards of a batch. The fits are arrays; from them an estimator of scikit-learn
is made for a shard, with the attributes that its own fit to the shard would set, to rounding.

>>> from sklearn.naive_bayes import GaussianNB
>>> rows = np.array([[[0.0], [1.0], [4.0], [5.0]], [[0.0], [2.0], [5.0], [6.0]]])
>>> labels = np.array([["no", "no", "yes", "yes"]] * 2)
>>> training = batched_training(GaussianNB(), rows[0], np.array(["no", "yes"]), n_shards=8)
>>> fits = training.fits(rows, labels)
>>> [fits.teacher(i).theta_.tolist() for i in range(len(fits))]
[[[0.5], [4.5]], [[1.0], [5.5]]]
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dplearn.core.float_errors import float_errors_ignored
from dplearn.ensembles.asking import places_of
from dplearn.ensembles.batched_fits import (
    NO_LABEL,
    Fitted,
    Stack,
    fit_logistic,
    fit_naive_bayes,
    fit_ridge,
    impute,
    scale,
)
from dplearn.ensembles.isolation import attempt, isolated_turn, muted_output

_NUMBER = (bool, int, float, np.bool_, np.integer, np.floating, type(None))
_FEWEST_SHARDS = 8  # of a table; with fewer, the fits to public rows take too long


@dataclass(frozen=True)
class _Kind:
    """A class of scikit-learn, and the parameters that may differ from their defaults."""

    module: str
    name: str
    free: frozenset[str]
    fit: Callable[..., Any]


_TRANSFORMERS = (
    _Kind("sklearn.impute", "SimpleImputer", frozenset({"keep_empty_features", "copy"}), impute),
    _Kind("sklearn.preprocessing", "StandardScaler", frozenset({"with_mean", "with_std", "copy"}), scale),
)
_MODELS = (
    _Kind(
        "sklearn.linear_model",
        "LogisticRegression",
        frozenset({"C", "tol", "max_iter", "fit_intercept", "random_state", "n_jobs", "verbose"}),
        fit_logistic,
    ),
    _Kind("sklearn.naive_bayes", "GaussianNB", frozenset({"var_smoothing"}), fit_naive_bayes),
    _Kind(
        "sklearn.linear_model",
        "RidgeClassifier",
        frozenset({"alpha", "fit_intercept", "random_state", "copy_X"}),
        fit_ridge,
    ),
)


def is_kind(thing: Any, module: str, name: str) -> bool:
    """Return True for an object of exactly this class, which is not imported for the comparison."""
    return type(thing) is getattr(sys.modules.get(module), name, None)


def batched_training(
    estimator: Any, table: Any, classes: NDArray[Any] | None, n_shards: int
) -> "BatchedTraining | None":
    """Return the training of batches of teachers, or None if each teacher is trained by itself.

    Parameters
    ----------
    estimator : classifier
        Public. The unfitted base estimator.
    table : ndarray, sparse matrix or data frame of shape (n, d)
        Its kind and the type of its cells are read.
    classes : ndarray of shape (n_labels,) or None
        Public. The sorted labels; None if they are not known.
    n_shards : int
        Public. The number of shards.
    """
    steps = _steps(estimator) if _is_plain_pipeline(estimator) else [estimator]
    kinds = [_kind_of(step, _TRANSFORMERS) for step in steps[:-1]] + [_kind_of(steps[-1], _MODELS)]
    if n_shards < _FEWEST_SHARDS or None in kinds or not _has_numbers(table) or not _are_labels(classes):
        return None
    assert classes is not None

    def fitted(labels: NDArray[Any]) -> Any:
        rows = np.zeros((2 * len(labels), table.shape[1]), dtype=table.dtype)
        rows[:, 0] = np.arange(len(rows)) % 2
        return clone(estimator).fit(rows, np.repeat(labels, 2))

    with muted_output(), isolated_turn():
        # Of private attributes, which differ between versions, a teacher has those of a fit to public rows.
        numbers = sorted({2, len(classes)})
        patterns = attempt(lambda: [fitted(classes[:n]) for n in numbers], lambda _: None)
    return None if patterns is None else BatchedTraining(patterns, tuple(kinds), classes)


@dataclass(frozen=True)
class BatchedTraining:
    """The training of teachers on shards with equally many rows.

    Parameters
    ----------
    patterns : list of classifier
        Public. Estimators fitted to public rows, with two labels, and with all labels if there are more.
    kinds : tuple of _Kind
        The steps of the estimator.
    classes : ndarray of shape (n_labels,)
        Public. The labels.
    """

    patterns: list[Any]
    kinds: tuple[Any, ...]
    classes: NDArray[Any]

    def fits(
        self, rows: NDArray[Any], labels: NDArray[Any], own: NDArray[np.float64] | None = None
    ) -> "BatchedFits":
        """Fit the estimator to each shard.

        Parameters
        ----------
        rows : ndarray of shape (k, m, d)
            Private.
        labels : ndarray of shape (k, m)
            Private.
        own : ndarray of shape (k, m), optional
            Private. 1 for the rows of a shard, and 0 for copies of its first row that fill it up. None: there
            are no such copies.
        """
        codes = places_of(labels.ravel(), self.classes).reshape(labels.shape)
        if own is not None:
            codes = np.where(own > 0, codes, NO_LABEL)
        with float_errors_ignored():
            stack = Stack(np.ascontiguousarray(rows, dtype=np.float64), codes, len(self.classes), own)
            fitted = self._fitted(stack)
        valid = stack.labelled & np.all([each.valid for each in fitted], axis=0)
        return BatchedFits(self, fitted, valid, stack.present)

    @property
    def steps(self) -> list[Any]:
        """The steps of the estimator, the model last."""
        return _steps(self.patterns[-1])

    def _fitted(self, stack: Stack) -> list[Fitted]:
        """Return the fitted attributes of each step."""
        steps, results = _steps(self.patterns[0]), []
        for step, kind in zip(steps[:-1], self.kinds[:-1], strict=True):
            stack, fitted = kind.fit(step.get_params(), stack)
            results.append(fitted)
        return [*results, self.kinds[-1].fit(steps[-1].get_params(), stack)]


@dataclass(frozen=True)
class BatchedFits:
    """The fits to a batch of shards, as arrays; an estimator is made of one where somebody asks for it.

    Attributes
    ----------
    training : BatchedTraining
        Public.
    fitted : list of Fitted
        Private. The fitted attributes of each step.
    valid : ndarray of bool of shape (k,)
        Private. Whether the attributes of a shard are those of scikit-learn, to rounding.
    present : ndarray of bool of shape (k, n_labels)
        Private. Whether a label occurs in a shard.
    """

    training: BatchedTraining
    fitted: list[Fitted]
    valid: NDArray[np.bool_]
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.valid)

    def teacher(self, i: int) -> Any:
        """Return the estimator fitted to the i-th shard, or None if it must be fitted by itself."""
        if not self.valid[i]:
            return None
        pattern = self.training.patterns[0 if self.present[i].sum() == 2 else -1]
        steps = [_with_attributes(*each, i) for each in zip(_steps(pattern), self.fitted, strict=True)]
        _set_classes(steps[-1], self.training.classes[self.present[i]])
        if len(steps) == 1 and not hasattr(pattern, "steps"):
            return steps[0]
        teacher = _shallow(pattern)
        teacher.steps = [(name, own) for (name, _), own in zip(pattern.steps, steps, strict=True)]
        return teacher


def _with_attributes(pattern: Any, fitted: Fitted, i: int) -> Any:
    """Return a copy of a step of the pattern with one shard's attributes, where the pattern has any."""
    own, before = _shallow(pattern), vars(pattern)
    for name, entries in fitted.by_teacher.items():
        if before.get(name) is not None:
            setattr(own, name, _like(before[name], entries[i]))
    for name, entries in fitted.by_label.items():
        setattr(own, name, _like(before[name], entries[i][fitted.rows[i]]))
    return own


def _shallow(thing: Any) -> Any:
    """Return a shallow copy; `copy` takes ten times as long for estimators, since it checks versions."""
    own = object.__new__(type(thing))
    vars(own).update(vars(thing))
    return own


def _like(before: Any, value: NDArray[Any]) -> Any:
    """Return a value as a scalar of the same type, or as an array with as many axes."""
    if np.ndim(before) == 0:
        return type(before)(value.ravel()[0])
    # Of two labels, some versions drop the axis of the labels.
    return np.array(value) if value.ndim == np.ndim(before) else np.reshape(value, np.shape(before))


def _set_classes(model: Any, classes: NDArray[Any]) -> None:
    if hasattr(model, "_label_binarizer"):
        model._label_binarizer = _shallow(model._label_binarizer)
        model._label_binarizer.classes_ = classes
    if "classes_" in vars(model):
        model.classes_ = classes


def _steps(estimator: Any) -> list[Any]:
    return [step for _, step in estimator.steps] if hasattr(estimator, "steps") else [estimator]


def _kind_of(step: Any, kinds: Sequence[_Kind]) -> _Kind | None:
    """Return the kind of a step, None if there is none or a parameter is not plain."""
    for kind in kinds:
        if is_kind(step, kind.module, kind.name):
            parameters, defaults = step.get_params(deep=False), type(step)().get_params(deep=False)
            plain = all(
                isinstance(value, _NUMBER) if name in kind.free else _same(value, defaults[name])
                for name, value in parameters.items()
            )
            return kind if plain else None
    return None


def _is_plain_pipeline(estimator: Any) -> bool:
    if not is_kind(estimator, "sklearn.pipeline", "Pipeline") or not estimator.steps:
        return False
    parameters = estimator.get_params(deep=False)
    return all(not value for name, value in parameters.items() if name != "steps")


def _same(one: Any, other: Any) -> bool:
    """Return True for equal plain values; NaN, the mark of missing values, equals itself."""
    return type(one) is type(other) and (one == other or (one != one and other != other))


def _has_numbers(table: Any) -> bool:
    """Return True for arrays of float64, integers or booleans, which all fits convert to float64."""
    if type(table) is not np.ndarray or table.ndim != 2 or not table.shape[1]:
        return False
    return table.dtype == np.float64 or table.dtype.kind in "iub"


def _are_labels(classes: NDArray[Any] | None) -> bool:
    """Return True for sorted labels that every fit of scikit-learn takes for labels."""
    if classes is None or len(classes) < 2:
        return False
    if classes.dtype == object:
        return set(map(type, classes.tolist())) == {str} and classes.tolist() == sorted(set(classes.tolist()))
    whole = classes.dtype.kind in "biuU" or (
        classes.dtype.kind == "f" and (classes == np.rint(classes)).all()
    )
    return bool(whole) and np.array_equal(np.unique(classes), classes)
