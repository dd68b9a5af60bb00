"""Ask a stack of teachers that are linear in features of the queries, as one product of arrays.

These are logistic regression and the ridge classifier, which are linear in the columns, and Gaussian naive
Bayes, which is linear in the columns and their squares; each perhaps behind a standard scaler. Every
teacher's scores are a product of its own weights with the features. Where rounding could change an answer,
the teacher itself is asked. So the answers are those of the teachers one by one, however the products are
rounded.

>>> from sklearn.linear_model import LogisticRegression
>>> from dplearn.ensembles.asking import Labels
>>> teachers = [LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"]), None]
>>> asked = BatchedAsking(np.array([[-1.0], [0.2], [2.0]]), Labels(np.array(["no", "yes"])))
>>> stacked = asked.answers(teachers)
>>> stacked.known.tolist(), stacked.answers[0].ravel().tolist(), stacked.doubtful[0].tolist()
([True, False], [0, 0, 1], [False, False, False])
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.float_errors import ignores_float_errors
from dplearn.core.soft_votes import FIXED_POINT_ONE
from dplearn.ensembles.asking import NO_VOTE, Asked, Scores, places_of
from dplearn.ensembles.batched_teachers import BatchedFits, is_kind

__all__ = ["BatchedAsking", "StackedAnswers", "can_be_stacked"]

Floats = NDArray[np.float64]

_PIPELINE = ("sklearn.pipeline", "Pipeline")
_ROUNDING = 1e-12  # more than the relative error of a sum of some thousand products
_SCORES = 1 << 19  # of all teachers of a stack for a block of queries: four megabytes


@dataclass(frozen=True)
class StackedAnswers:
    """The answers of a stack of teachers to a block of queries.

    Attributes
    ----------
    answers : ndarray of int of shape (k, n_queries, width)
        Each teacher's answers; meaningless for unknown teachers.
    known : ndarray of bool of shape (k,)
        Whether a teacher is of one of the classes above.
    doubtful : ndarray of bool of shape (k, n_queries)
        Whether rounding could change an answer of a known teacher.
    """

    answers: NDArray[Any]
    known: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]

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

    Parameters
    ----------
    k, d, n_labels : int
        The numbers of teachers of the stack, of columns and of labels.

    Attributes
    ----------
    own : ndarray of bool of shape (k,)
        The teachers that are in here; the entries of all others are placeholders.
    slopes, spreads : ndarray of shape (k, d, n_labels)
        Of linear models the coefficients, and ones. Of naive Bayes the means, and the variances.
    offsets : ndarray of shape (k, n_labels)
        Intercepts, or prior probabilities; minus infinity, or 0, for a label that a teacher does not know.
    shifts, scales : ndarray of shape (k, d)
        Of the scalers; 0 and 1 where there is none.
    """

    def __init__(self, k: int, d: int, n_labels: int, unknown: float):
        self.own = np.zeros(k, dtype=bool)
        self.slopes, self.spreads = np.zeros((k, d, n_labels)), np.ones((k, d, n_labels))
        self.offsets = np.full((k, n_labels), unknown, dtype=np.float64)
        self.shifts, self.scales = np.zeros((k, d)), np.ones((k, d))


class BatchedAsking:
    """Queries, centred and in units of their greatest distances from the centre.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, d)
        Public. Finite numbers.
    asked : Asked
        The kind of answer.
    """

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
        """Return the answers of a stack of teachers.

        Parameters
        ----------
        teachers : sequence of k object
            Private.
        """
        linear, bayes = self._forms(len(teachers))
        for i, teacher in enumerate(teachers):
            self._place(teacher, i, linear, bayes)
        return self._answered(linear, bayes)

    @ignores_float_errors
    def answers_of_fits(self, fits: BatchedFits) -> StackedAnswers:
        """Return the answers of teachers that are arrays of fitted attributes; invalid ones are unknown.

        Parameters
        ----------
        fits : BatchedFits
            Private.
        """
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
        *steps, model = [step for _, step in teacher.steps] if is_kind(teacher, *_PIPELINE) else [teacher]
        forms = linear if _is_linear(model, self._asked) else bayes
        if forms is bayes and not is_kind(model, "sklearn.naive_bayes", "GaussianNB"):
            return
        d = len(self._columns)
        scalers = [step for step in steps if is_kind(step, "sklearn.preprocessing", "StandardScaler")]
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
        if forms is bayes and not is_kind(model, "sklearn.naive_bayes", "GaussianNB"):
            return
        forms.own[:] = fits.valid
        for step, fitted in zip(steps, fits.fitted, strict=False):
            if is_kind(step, "sklearn.preprocessing", "StandardScaler"):  # an imputer keeps finite numbers
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
    if not is_kind(step, "sklearn.impute", "SimpleImputer"):
        return False
    plain = not step.add_indicator and step.statistics_.dtype == np.float64
    missing = step.missing_values
    return plain and missing != missing and not np.isnan(step.statistics_).any()


def _is_linear(model: Any, asked: Asked) -> bool:
    """Return True for a model whose answers follow from its decision functions alone."""
    if is_kind(model, "sklearn.linear_model", "RidgeClassifier"):
        return not isinstance(asked, Scores)
    if not is_kind(model, "sklearn.linear_model", "LogisticRegression"):
        return False
    softmax = model.solver == "lbfgs" and getattr(model, "multi_class", "auto") in ("auto", "deprecated")
    return softmax or not isinstance(asked, Scores)
