"""Train a batch of teachers, and ask a stack of them, as array programs, if estimator and table permit it.

This is for logistic regression by L-BFGS, Gaussian naive Bayes and the ridge classifier, each with or without
an imputer of means and a standard scaler before it, on arrays of numbers. All other parameters must have
their default values. The choice depends on the estimator, the types of the table and the labels alone, all of
which are public, and so do the shards of a batch. The fits are arrays; from them an estimator of scikit-learn
is made for a shard, with the attributes that its own fit to the shard would set: of logistic regression
within its `tol`, else to rounding.

All these teachers are linear in the columns of the queries, naive Bayes also in their squares. So the scores
of a stack are one product of arrays. Where rounding could change an answer, the teacher itself is asked: the
answers are those of the teachers one by one, however the products are rounded.

>>> from sklearn.naive_bayes import GaussianNB
>>> rows = np.array([[[0.0], [1.0], [4.0], [5.0]], [[0.0], [2.0], [5.0], [6.0]]])
>>> labels = np.array([["no", "no", "yes", "yes"]] * 2)
>>> training = batched_training(GaussianNB(), rows[0], np.array(["no", "yes"]), n_shards=8)
>>> fits = training.fits(rows, labels)
>>> [fits.teacher(i).theta_.tolist() for i in range(len(fits))]
[[[0.5], [4.5]], [[1.0], [5.5]]]
>>> asked = BatchedAsking(np.array([[-1.0], [2.7], [9.0]]), Labels(np.array(["no", "yes"])))
>>> asked.answers_of_fits(fits).answers[:, :, 0].tolist()
[[0, 1, 1], [0, 0, 1]]
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dplearn.ensembles.asking import NO_VOTE, Asked, Labels, Scores, places_of  # noqa: F401 - the doctest's
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
from dplearn.kernels.float_errors import float_errors_ignored, ignores_float_errors
from dplearn.kernels.soft_votes import FIXED_POINT_ONE

Floats = NDArray[np.float64]

_NUMBER = (bool, int, float, np.bool_, np.integer, np.floating, type(None))
_ROUNDING = 1e-12  # more than the relative error of a sum of some thousand products
_SCORES = 1 << 19  # of all teachers of a stack for a block of queries: four megabytes
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


def _is_kind(thing: Any, module: str, name: str) -> bool:
    """Return True for an object of exactly this class, which is not imported for the comparison."""
    return type(thing) is getattr(sys.modules.get(module), name, None)


def batched_training(
    estimator: Any, table: Any, classes: NDArray[Any] | None, n_shards: int
) -> "BatchedTraining | None":
    """Return the training of batches of teachers, or None if each teacher is trained by itself."""
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
    """The training of teachers on shards with equally many rows."""

    patterns: list[Any]  # fitted to public rows, with two labels, and with all labels if there are more
    kinds: tuple[Any, ...]
    classes: NDArray[Any]

    def fits(
        self, rows: NDArray[Any], labels: NDArray[Any], own: NDArray[np.float64] | None = None
    ) -> "BatchedFits":
        """Fit the estimator to each shard; `own` is 0 for copies of a first row that fill up a shard."""
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
    """The fits to a batch of shards, as arrays; an estimator is made of one where somebody asks for it."""

    training: BatchedTraining
    fitted: list[Fitted]
    valid: NDArray[np.bool_]  # of others, scikit-learn might compute other attributes
    present: NDArray[np.bool_]  # of shape (k, n_labels)

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
        if _is_kind(step, kind.module, kind.name):
            parameters, defaults = step.get_params(deep=False), type(step)().get_params(deep=False)
            plain = all(
                isinstance(value, _NUMBER) if name in kind.free else _same(value, defaults[name])
                for name, value in parameters.items()
            )
            return kind if plain else None
    return None


def _is_plain_pipeline(estimator: Any) -> bool:
    if not _is_kind(estimator, "sklearn.pipeline", "Pipeline") or not estimator.steps:
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


@dataclass(frozen=True)
class StackedAnswers:
    """The answers of a stack of teachers to a block of queries."""

    answers: NDArray[Any]  # of shape (k, n_queries, width); meaningless for unknown teachers
    known: NDArray[np.bool_]  # whether a teacher is of one of the classes above
    doubtful: NDArray[np.bool_]  # of shape (k, n_queries): whether rounding could change an answer

    def at(self, places: Sequence[int]) -> "StackedAnswers":
        """Return the answers of some teachers of the stack."""
        chosen = list(places)
        return StackedAnswers(self.answers[chosen], self.known[chosen], self.doubtful[chosen])


def can_be_stacked(queries: Any) -> bool:
    """Return True for an array of finite numbers, which every teacher of the classes above accepts."""
    if type(queries) is not np.ndarray or queries.ndim != 2 or not queries.size:
        return False
    return (queries.dtype == np.float64 or queries.dtype.kind in "iub") and bool(np.isfinite(queries).all())


class _Forms:
    """The fitted attributes of some teachers of a stack, from which their scores follow.

    Slopes and spreads are coefficients and ones of linear models, means and variances of naive Bayes. Offsets
    are intercepts, or prior probabilities; `unknown` for a label that a teacher does not know.
    """

    def __init__(self, k: int, d: int, n_labels: int, unknown: float):
        self.own = np.zeros(k, dtype=bool)  # the entries of all other teachers are placeholders
        self.slopes, self.spreads = np.zeros((k, d, n_labels)), np.ones((k, d, n_labels))
        self.offsets = np.full((k, n_labels), unknown, dtype=np.float64)
        self.shifts, self.scales = np.zeros((k, d)), np.ones((k, d))


class BatchedAsking:
    """Queries, centred and in units of their greatest distances from the centre."""

    @ignores_float_errors
    def __init__(self, queries: NDArray[Any], asked: Asked):
        self._asked, self._all_places = asked, np.arange(len(asked.classes))
        rows = np.asarray(queries, dtype=np.float64)
        self._centre = rows.mean(axis=0)
        self._reach = abs(rows - self._centre).max(axis=0)
        self._units = np.where(self._reach > 0, self._reach, 1)
        self._columns = np.ascontiguousarray(((rows - self._centre) / self._units).T)

    @ignores_float_errors
    def answers(self, teachers: Sequence[Any]) -> StackedAnswers:
        """Return the answers of a stack of teachers."""
        linear, bayes = self._forms(len(teachers))
        for i, teacher in enumerate(teachers):
            self._place(teacher, i, linear, bayes)
        return self._answered(linear, bayes)

    @ignores_float_errors
    def answers_of_fits(self, fits: BatchedFits) -> StackedAnswers:
        """Return the answers of teachers that are arrays of fitted attributes; invalid ones are unknown."""
        linear, bayes = self._forms(len(fits))
        known = [step.get("n_features_in_") for step in map(vars, fits.training.steps)]
        if all(n == len(self._columns) for n in known):
            self._place_fits(fits, linear, bayes)
        return self._answered(linear, bayes)

    def _forms(self, k: int) -> tuple[_Forms, _Forms]:
        """Return places for the attributes of k linear models, and of k naive Bayes models."""
        shape = k, len(self._columns), len(self._asked.classes)
        return _Forms(*shape, -np.inf), _Forms(*shape, 0)

    def _answered(self, linear: _Forms, bayes: _Forms) -> StackedAnswers:
        (k, n_labels), (d, n) = linear.offsets.shape, self._columns.shape
        answers = np.full((k, n, self._asked.width), NO_VOTE, dtype=self._asked.dtype)
        doubtful = np.zeros((k, n), dtype=bool)
        for forms, scorer in [(linear, self._linear), (bayes, self._bayes)]:
            if not forms.own.any():
                continue
            weights, offsets, sizes = scorer(forms)
            # One product for all teachers is ten times as fast. Its rounding may differ from that of separate
            # products, but it decides no answer: where it could, the answer is doubtful.
            joined = weights.transpose(0, 2, 1).reshape(k * n_labels, -1)
            for block in self._blocks(k * n_labels):
                features = self._features(block, weights.shape[1] > d)
                scores = (joined @ features).reshape(k, n_labels, -1) + offsets[:, :, None]
                given, unsure = self._encoded(scores, _ROUNDING * sizes)
                answers[forms.own, block], doubtful[forms.own, block] = given[forms.own], unsure[forms.own]
        return StackedAnswers(answers, linear.own | bayes.own, doubtful)

    def _blocks(self, width: int) -> Iterator[slice]:
        step = max(1, _SCORES // width)
        return (slice(start, start + step) for start in range(0, self._columns.shape[1], step))

    def _features(self, block: slice, squares: bool) -> Floats:
        columns = self._columns[:, block]
        return np.concatenate([columns**2, columns]) if squares else columns

    def _encoded(self, scores: Floats, bounds: Floats) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the encoded answers, and whether an error of the scores up to a bound could change them."""
        if isinstance(self._asked, Scores):
            likely = np.exp(scores - scores.max(axis=1, keepdims=True))
            likely /= likely.sum(axis=1, keepdims=True)
            units = FIXED_POINT_ONE * likely
            nearest = np.rint(units)
            inside = (nearest > 0) & (nearest < FIXED_POINT_ONE)
            far = abs(units - nearest) > FIXED_POINT_ONE * bounds[:, None, None]
            return self._asked.encoded(np.moveaxis(likely, 1, 2)), ~(far | ~inside).all(axis=1)
        if scores.shape[1] == 2:
            leads = scores[:, 1] - scores[:, 0]
            return (leads > 0)[:, :, None], ~(abs(leads) > bounds[:, None])
        second, top = np.moveaxis(np.partition(scores, -2, axis=1)[:, -2:], 1, 0)
        return scores.argmax(axis=1)[:, :, None], ~(top - second > bounds[:, None])

    def _place(self, teacher: Any, i: int, linear: _Forms, bayes: _Forms) -> None:
        """Write a teacher's attributes into the forms of its kind, if there are any."""
        pipeline = _is_kind(teacher, "sklearn.pipeline", "Pipeline")
        *steps, model = [step for _, step in teacher.steps] if pipeline else [teacher]
        forms = linear if _is_linear(model, self._asked) else bayes
        if forms is bayes and not _is_kind(model, "sklearn.naive_bayes", "GaussianNB"):
            return
        d = len(self._columns)
        scalers = [step for step in steps if _is_kind(step, "sklearn.preprocessing", "StandardScaler")]
        imputers = [step for step in steps if _keeps_rows(step)]
        fitted = all(getattr(step, "n_features_in_", None) == d for step in (*steps, model))
        places = self._places(model.classes_) if fitted else np.zeros(0, dtype=np.int64)
        if (
            len(scalers) > 1
            or len(scalers) + len(imputers) < len(steps)
            or places.size < 2
            or places.min() < 0
        ):
            return
        forms.own[i] = True
        for scaler in scalers:
            forms.shifts[i] = scaler.mean_ if scaler.with_mean else 0
            forms.scales[i] = scaler.scale_ if scaler.with_std else 1
        if forms is bayes:
            forms.slopes[i, :, places], forms.spreads[i, :, places] = model.theta_, model.var_
            forms.offsets[i, places] = model.class_prior_
            return
        coefficients = np.atleast_2d(model.coef_)
        own = places[-len(coefficients) :]
        forms.offsets[i, places] = 0  # of the first of two labels, which has no decision function
        forms.slopes[i, :, own], forms.offsets[i, own] = coefficients, model.intercept_

    def _place_fits(self, fits: BatchedFits, linear: _Forms, bayes: _Forms) -> None:
        """Write the fitted attributes of all valid teachers into the forms of their kind."""
        *steps, model = fits.training.steps
        forms = linear if _is_linear(model, self._asked) else bayes
        if forms is bayes and not _is_kind(model, "sklearn.naive_bayes", "GaussianNB"):
            return
        forms.own[:] = fits.valid
        for step, fitted in zip(steps, fits.fitted, strict=False):
            if _is_kind(step, "sklearn.preprocessing", "StandardScaler"):  # an imputer keeps finite numbers
                if step.with_mean:
                    forms.shifts[:] = fitted.by_teacher["mean_"]
                if step.with_std:
                    forms.scales[:] = fitted.by_teacher["scale_"]
        found, present = fits.fitted[-1], fits.present
        if forms is bayes:
            forms.slopes[:] = found.by_label["theta_"].transpose(0, 2, 1)
            variances = np.where(present[:, :, None], found.by_label["var_"], 1)
            forms.spreads[:] = variances.transpose(0, 2, 1)
            forms.offsets[:] = np.where(present, found.by_label["class_prior_"], 0)
            return
        functions = found.rows.shape[1]
        forms.offsets[present] = 0  # of the first of two labels, which has no decision function
        own = np.where(found.rows, found.by_label["intercept_"], forms.offsets[:, -functions:])
        forms.offsets[:, -functions:] = own
        slopes = np.where(found.rows[:, :, None], found.by_label["coef_"], 0)
        forms.slopes[:, :, -functions:] = slopes.transpose(0, 2, 1)

    def _places(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each label of a teacher; negative for an unknown one."""
        classes = self._asked.classes
        if labels.shape == classes.shape and labels.dtype == classes.dtype and (labels == classes).all():
            return self._all_places
        return places_of(labels, classes)

    def _linear(self, forms: _Forms) -> tuple[Floats, Floats, Floats]:
        """Return weights, scores where all features are 0, and bounds of the sums of absolute terms."""
        weights = forms.slopes / forms.scales[:, :, None]
        offsets = forms.offsets + ((self._centre - forms.shifts)[:, None] @ weights)[:, 0]
        reach = self._reach + abs(self._centre) + abs(forms.shifts)
        known = np.where(forms.offsets == -np.inf, 0, abs(offsets))
        sizes = ((reach[:, None] @ abs(weights))[:, 0] + known).max(axis=1)
        return weights * self._units[:, None], offsets, sizes

    def _bayes(self, forms: _Forms) -> tuple[Floats, Floats, Floats]:
        """Return the same for the logarithms of joint densities, in the units of the models."""
        means = forms.shifts[:, :, None] + forms.slopes * forms.scales[:, :, None] - self._centre[:, None]
        inverses = 1 / (forms.spreads * forms.scales[:, :, None] ** 2)
        priors = np.log(forms.offsets) - np.log(2 * np.pi * forms.spreads).sum(axis=1) / 2
        offsets = priors - (inverses * means**2).sum(axis=1) / 2
        units = self._units[:, None]
        weights = np.concatenate([-inverses * units**2 / 2, inverses * means * units], axis=1)
        reach = self._reach[:, None] + abs(means)
        terms = (inverses * reach * (reach + abs(self._centre)[:, None])).sum(axis=1)
        return weights, offsets, np.where(forms.offsets > 0, terms + abs(priors), 0).max(axis=1)


def _keeps_rows(step: Any) -> bool:
    """Return True for an imputer that returns rows without missing values as they are."""
    if not _is_kind(step, "sklearn.impute", "SimpleImputer"):
        return False
    plain = not step.add_indicator and step.statistics_.dtype == np.float64
    missing = step.missing_values
    return plain and missing != missing and not np.isnan(step.statistics_).any()


def _is_linear(model: Any, asked: Asked) -> bool:
    """Return True for a model whose answers follow from its decision functions alone."""
    if _is_kind(model, "sklearn.linear_model", "RidgeClassifier"):
        return not isinstance(asked, Scores)
    if not _is_kind(model, "sklearn.linear_model", "LogisticRegression"):
        return False
    softmax = model.solver == "lbfgs" and getattr(model, "multi_class", "auto") in ("auto", "deprecated")
    return softmax or not isinstance(asked, Scores)
