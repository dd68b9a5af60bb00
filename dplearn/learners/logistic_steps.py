"""Logistic regression by statistical queries: accelerated steps, against any oracle.

The gradient of the logistic loss is split: the part of the labels does not depend on the weights, and is
asked for once; the part of the predictions is asked for at each step. Before that, the rows' second moments
tell how to make rows alike in all directions, so that few steps are enough. After that, a histogram of scores
and labels tells the scale and the offset of the margins; with more than two classes, two histograms of score
differences tell the scale.

>>> from dplearn.queries import Examples, population
>>> X = np.array([[2.0, 1.0], [1.0, 2.0], [-1.0, 1.0], [-2.0, 3.0]])
>>> from dplearn.estimator.stages import Public
>>> from dplearn.privacy import ApproxDP
>>> public = Public(n_samples=4, n_features=2, n_labels=2)
>>> plan = LogisticPlan(ApproxDP(1, "1e-6"), "gaussian", n_steps=24, second_moments=True, public=public)
>>> oracle = population(Examples(plan.rows(X), np.array([1, 1, 0, 0])))
>>> learn_logistic(oracle, plan).probabilities(X).round(1).tolist()
[[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array, issparse
from scipy.special import softmax

from dplearn.learners.logistic_calibration import calibrate
from dplearn.learners.logistic_plan import LogisticPlan
from dplearn.learners.logistic_queries import (
    Mapped,
    label_parts,
    mean_row_query,
    moment_weights,
    moments_query,
    predicted_parts,
    products_query,
    score_edges,
    score_queries,
)
from dplearn.queries import Answer, Oracle

__all__ = ["LogisticModel", "Steps", "learn_logistic", "take_steps"]

_MOMENTUM = 0.8
_NOISE_KEPT = 0.3  # of the largest eigenvalue that noise alone has: what is added to second moments
_CURVATURE = 0.5  # the largest second derivative of the logistic loss in a margin
# As a share of the largest bend of the directions other than the longest: steps along short ones, mostly
# noise, are no longer.
_LEAST_BEND = 0.5
_LEAST = 2.0**-20  # of a row's squared length: where there is no noise, this keeps quotients finite
# The share of a row's squared length that its longest direction gets, which is about the mean row's. It holds
# the offset: less, and noise hides how common labels are; more, and it hides the rest.
_OFFSET_SHARE = 0.1
_FREE = 100.0  # how many times the prior variance of the offset is that of each other direction


@dataclass(frozen=True)
class LogisticModel:
    """A released model: margins are offsets + rows @ weights / lengths.

    Attributes
    ----------
    order : {1, 2}
        How the length of a row is measured.
    metric : ndarray of float64 of shape (d, d)
        Released. The length of a row is that of the row, with a 1 added, times this matrix: about 1.
    weights : ndarray of float64 of shape (d, n_classes)
        Released. The last row is the weight of the 1 that is added.
    offsets : ndarray of float64 of shape (n_classes,)
        Released.
    covariance : ndarray of float64 of shape (d, d), optional
        Released. Of the noise in the weights of one class.
    slope_deviation : float, default=0.0
        Released. Of the noise in the scale of all weights, relative to that scale.
    """

    order: int
    metric: NDArray[np.float64]
    weights: NDArray[np.float64]
    offsets: NDArray[np.float64]
    covariance: NDArray[np.float64] | None = None
    slope_deviation: float = 0.0

    def margins(self, X: Any) -> NDArray[np.float64]:
        """Return each row's margins, of shape (n, n_classes).

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d - 1)
            Any numbers.
        """
        X, one = _at_most_one(X)
        lengths = np.linalg.norm(
            X @ self.metric[:-1] + one * self.metric[-1], ord=self.order, axis=1, keepdims=True
        )
        margins = X @ self.weights[:-1] + one * self.weights[-1]
        scaled = margins / np.where(lengths > 0, lengths, 1.0)
        return np.asarray(self.offsets + scaled, dtype=np.float64)

    def probabilities(self, X: Any) -> NDArray[np.float64]:
        """Return each row's probability of each class.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d - 1)
            Any numbers.
        """
        return np.asarray(softmax(self.margins(X), axis=1), dtype=np.float64)


def learn_logistic(oracle: Oracle, plan: LogisticPlan) -> LogisticModel:
    """Return what statistical queries tell of how labels depend on rows.

    Parameters
    ----------
    oracle : Oracle
        Of records `Examples(plan.rows(X), codes)`.
    plan : LogisticPlan
        The plan of the fit.

    Returns
    -------
    LogisticModel

    Notes
    -----
    **Accuracy.** Weights get the ridge that is best, given the noise, for their prior variance: 2 / k for k
    classes, or the variance that labels show beyond the noise, if that is more. The average of all steps is
    released, in which noise averages out. With two classes, a histogram of scores and labels gives the scale
    of the margins and their offset: so that, whatever the steps have come to, the more common label is
    predicted where nothing else is seen through the noise. With more classes, two histograms of score
    differences give the scale alone, and no offset is added.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 5, for learning by
    statistical queries; Nesterov (1983) for accelerated steps; Platt (1999) for the calibration. Rows of one
    length in a released metric, the gradient that is split, and the histograms are ours.
    """
    steps = take_steps(oracle, plan)
    directions, mapped = steps.directions, steps.mapped
    slope, offsets, deviation, curvature = _calibrated(oracle, plan, steps)
    # Scaled such that a typical row, with a 1 added, is as long as 1 in the metric.
    metric = mapped.metric * (mapped.unit / directions.typical_length)
    back = slope * metric @ directions.vectors
    covariance = (back * steps.variances(curvature)) @ back.T
    return LogisticModel(plan.order, metric, back @ steps.weights, offsets, covariance, deviation)


@dataclass(frozen=True)
class Steps:
    """What all queries but the last lead to.

    Attributes
    ----------
    mapped : Mapped
        From records to rows.
    directions : _Directions
        How these rows are spread.
    weights : ndarray of shape (r, n_classes)
        Released. The average of all steps, by directions. Their scale is not yet that of margins.
    ridges : ndarray of shape (r, 1)
        Released. What was added to the bends of the loss.
    n_steps : int
        Public.
    label_variance, step_variance : float
        Public. Of the noise in the gradients' two parts, in each number of a class.
    """

    mapped: Mapped
    directions: "_Directions"
    weights: NDArray[np.float64]
    ridges: NDArray[np.float64]
    n_steps: int
    label_variance: float
    step_variance: float

    def variances(self, curvature: float) -> NDArray[np.float64]:
        """Return the variance, in each direction, of the noise in a class's weights.

        Steps are linear in the noise, but for the loss's curvature, which is taken to be the same throughout.
        The response to the noise of one step is followed through the steps after it; all steps share that of
        the labels.

        Parameters
        ----------
        curvature : float
            Of the loss, as a part of the most there is.
        """
        bends, ridges = self.directions.bends[:, 0], self.ridges[:, 0]
        weights = ahead = total = np.zeros_like(bends)
        responses = []  # of the average to the noise of the step that is so many steps before the last
        for step in range(self.n_steps):
            moved = ((1 - curvature) * bends * ahead + (step == 0)) / (bends + ridges)
            weights, ahead = moved, moved + _MOMENTUM * (moved - weights)
            total = total + weights
            responses.append(total / self.n_steps)
        variances = np.sum(responses, axis=0) ** 2 * self.label_variance
        variances = variances + np.square(responses[:-1]).sum(axis=0) * self.step_variance
        # Bends that are off move a first step in proportion; later steps undo all but a part of that.
        rest = 1 - curvature
        kept = (1 - rest**self.n_steps) / max(self.n_steps * curvature, _LEAST)
        moved = kept * self.directions.disturbances * _CURVATURE / (bends + ridges)
        weighted = self.directions.disturbances[:, None] * self.weights
        return np.asarray(variances + moved**2 * float((weighted**2).sum(axis=0).mean()))


def take_steps(oracle: Oracle, plan: LogisticPlan) -> Steps:
    """Ask for directions and labels, and take all steps.

    Parameters
    ----------
    oracle : Oracle
        Of records `Examples(plan.rows(X), codes)`.
    plan : LogisticPlan
        The plan of the fit.
    """
    directions = _directions(oracle, plan)
    mapped = Mapped(plan, directions.metric)
    _, label_share, step_share = plan.shares
    answer = oracle.ask(products_query(plan, mapped, label_parts(plan)), label_share)[0]
    labels = directions.vectors.T @ _per_class(plan, answer)
    label_variance, step_variance = _class_variance(plan, answer), 0.0
    bends, ridges = directions.bends, directions.ridges(label_variance, labels)
    weights = ahead = total = np.zeros_like(labels)
    for step in range(plan.n_steps):
        gradient = labels
        if step:
            predicted = predicted_parts(plan, mapped, directions.vectors @ ahead)
            answer = oracle.ask(products_query(plan, mapped, predicted), step_share)[0]
            step_variance = _class_variance(plan, answer)
            gradient = labels - directions.vectors.T @ _per_class(plan, answer)
        moved = (bends * ahead + gradient) / (bends + ridges)
        weights, ahead = moved, moved + _MOMENTUM * (moved - weights)
        total = total + weights
    return Steps(
        mapped, directions, total / plan.n_steps, ridges, plan.n_steps, label_variance, step_variance
    )


def _calibrated(
    oracle: Oracle, plan: LogisticPlan, steps: Steps
) -> tuple[float, NDArray[np.float64], float, float]:
    """Return the scale and the offsets of margins, the scale's relative deviation, and the curvature."""
    two = plan.n_classes == 2
    usual = steps.directions.mean_of_longest * steps.weights[-1]
    shift = float(usual[1] - usual[0]) if two else 0.0
    weights = steps.directions.vectors @ steps.weights
    lengths = np.linalg.norm(weights, axis=0)
    reach = float(2 * lengths.max()) + abs(shift) + _LEAST  # rows are no longer than 1
    queries = score_queries(plan, steps.mapped, weights, shift=shift, reach=reach)
    answers = oracle.ask(queries, plan.calibration_share)
    edges = np.concatenate([[-1.0], score_edges(plan.levels), [1.0]])
    # Among records of two labels, the odds of one are exp(slope * score), and of the other, at the negative
    # score, the same: so each record counts as one of its label, and its mirror image as one of the other.
    means = np.sum([answer.means for answer in answers], axis=0)
    counts = means.reshape(-1, 2) if two else np.column_stack([means[::-1], means])
    found = calibrate(counts, edges, slope=reach, noise=math.sqrt(sum(map(_variance, answers))))
    slope, relative = found.slope / reach, found.deviation / found.slope
    half = (found.offset - slope * shift) / 2
    offsets = np.array([-half, half]) if two else np.zeros(plan.n_classes)
    return slope, offsets, relative, found.curvature


def _at_most_one(X: Any) -> tuple[Any, NDArray[np.float64]]:
    """Return rows with a 1 added, that last column apart, divided by what is greatest in them.

    Margins do not depend on a row's length, and no product then leaves the range of floats.
    """
    rows: Any = X  # issparse narrows to a type without its methods
    greatest = abs(rows).max(axis=1)
    greatest = greatest.toarray() if issparse(X) else greatest
    one = 1.0 / np.maximum(greatest.reshape(-1, 1), 1.0)
    return (diags_array(one.ravel()) @ rows if issparse(X) else rows * one), one


@dataclass(frozen=True)
class _Directions:
    """What makes rows alike in all directions, and how rows are spread then.

    Attributes
    ----------
    metric : ndarray of shape (d, d)
        Released. What rows are multiplied by before they are scaled to one length again.
    vectors : ndarray of shape (d, r)
        Released. Orthogonal directions of mapped rows, in columns; the last one is the longest.
    energies : ndarray of shape (r,)
        Released. The mean square of mapped rows in each direction, about.
    typical_length : float
        Released. About how long a raw row, with a 1 added, is once it is multiplied by the metric.
    mean_of_longest : float
        Released. About the mean of mapped rows in the longest direction.
    disturbances : ndarray of shape (r,)
        Released. Each direction's part of the square root of how far noise moves the products of two
        directions, next to `energies`: a product of two of these numbers.
    """

    metric: NDArray[np.float64]
    vectors: NDArray[np.float64]
    energies: NDArray[np.float64]
    typical_length: float
    mean_of_longest: float
    disturbances: NDArray[np.float64]

    @property
    def bends(self) -> NDArray[np.float64]:
        """The most that the loss is taken to bend in each direction, of shape (r, 1)."""
        least = _LEAST_BEND * float(self.energies[:-1].max(initial=0.0))
        return np.asarray(_CURVATURE * np.maximum(self.energies, least))[:, None]

    def ridges(self, variance: float, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what to add to `bends`, of shape (r, 1), where gradients have noise of this variance.

        With a bend b, noise of variance v and weights of prior variance p, the best ridge is v / (b p). Here
        p is 2 / k for k classes, or what the labels' gradients show beyond the noise, if that is more. The
        longest direction holds the offset, which is next to free.

        Parameters
        ----------
        variance : float
            In each number of a class.
        labels : ndarray of shape (r, k)
            Released. The gradients at weights of 0.
        """
        bends, shown = self.bends, labels[:-1]
        beyond = float((shown**2).sum()) - shown.size * variance
        prior = max(2.0, beyond / max(float((bends[:-1] ** 2).sum()), _LEAST**2)) / labels.shape[1]
        ridges = variance / np.maximum(bends * prior, _LEAST**2)
        ridges[-1] /= _FREE
        return np.asarray(ridges)


def _directions(oracle: Oracle, plan: LogisticPlan) -> _Directions:
    """Ask in which directions rows are long, and return what evens that out."""
    if not plan.second_moments:
        return _by_mean_row(oracle, plan)
    moments, ridge = _moments(oracle, plan)
    d = plan.n_columns
    # Rows whose magnitudes sum to 1 have squares that sum to less, and to 1 / active at least.
    energy = 1.0 if plan.order == 2 else float(np.clip(np.trace(moments), 1 / plan.active, 1.0))
    basis = plan.basis()  # where rows never are, there is noise alone
    values, inner = np.linalg.eigh(basis.T @ moments @ basis)
    vectors = basis @ inner
    values, ridge = np.maximum(values, 0.0), ridge + energy * _LEAST
    scales = (values + ridge) ** -0.5
    rest = float((values[:-1] * scales[:-1] ** 2).sum())
    scales[-1] = math.sqrt(_OFFSET_SHARE / (1 - _OFFSET_SHARE) * max(rest, _LEAST) / max(values[-1], ridge))
    left = values * scales**2
    return _spread(
        plan,
        (vectors * scales) @ vectors.T,
        vectors,
        left,
        scales,
        noise=ridge / (_NOISE_KEPT * 2 * math.sqrt(d)),
        energy=energy,
        last=math.sqrt(max(float(moments[-1, -1]), ridge / d)),
        towards=float(moments[-1] @ vectors[:, -1]),
    )


def _by_mean_row(oracle: Oracle, plan: LogisticPlan) -> _Directions:
    """Ask for the mean row alone, and take rows to be spread evenly in all other directions."""
    d = plan.n_columns
    answer = oracle.ask(mean_row_query(plan), plan.shares[0])[0]
    mean, noise = answer.means, d * _variance(answer)
    energy = 1.0 if plan.order == 2 else min(1.0, 2 / plan.active)
    length = float(np.linalg.norm(mean))
    along = mean / length if length > _LEAST else np.eye(d)[-1]
    longest = min(max(length**2 - noise, energy * _LEAST), energy * (1 - _LEAST))
    rest = energy - longest
    kept = min(1.0, math.sqrt(_OFFSET_SHARE / (1 - _OFFSET_SHARE) * rest / longest))
    mirror = np.eye(d)[-1] - along  # the reflection that takes the last unit vector there
    square = float(mirror @ mirror)
    vectors = np.eye(d) - (2 / square) * np.outer(mirror, mirror) if square > _LEAST else np.eye(d)
    left = np.full(d, rest / max(d - 1, 1))
    left[-1] = longest * kept**2
    return _spread(
        plan,
        np.eye(d) - (1 - kept) * np.outer(along, along),
        vectors,
        left,
        np.ones(d),
        noise=0.0,
        energy=energy,
        last=max(float(mean[-1]), math.sqrt(noise / d), _LEAST),
        towards=1.0,
    )


def _spread(
    plan: LogisticPlan,
    metric: NDArray[np.float64],
    vectors: NDArray[np.float64],
    left: NDArray[np.float64],
    scales: NDArray[np.float64],
    *,
    noise: float,
    energy: float,
    last: float,
    towards: float,
) -> _Directions:
    """Return the directions, given the mean squares that are left of rows in each.

    Parameters
    ----------
    last : float
        About the mean of the 1 that was added to a row, once it was scaled: the inverse of the row's length.
    scales : ndarray of shape (r,)
        What rows were multiplied by in each direction.
    noise : float
        Standard deviation of the noise in second moments of raw rows.
    towards : float
        Of the sign that mapped rows have in the longest direction.
    """
    total = max(float(left.sum()), _LEAST)
    energies = energy * np.maximum(left / total, _LEAST)
    # A row of magnitudes m_i, all alike, is sqrt(active) times as long in order 1 as in order 2.
    length = math.sqrt(total * (plan.active if plan.order == 1 else 1))
    return _Directions(
        metric,
        vectors,
        energies,
        length / last,
        math.copysign(math.sqrt(float(energies[-1])), towards),
        scales * math.sqrt(noise * energy / total),
    )


def _moments(oracle: Oracle, plan: LogisticPlan) -> tuple[NDArray[np.float64], float]:
    """Return second moments, and what to add to each direction's: a part of what noise alone shows."""
    answer = oracle.ask(moments_query(plan), plan.shares[0])[0]
    d = plan.n_columns
    on, off = moment_weights(plan.order)
    moments = np.zeros((d, d))
    moments[np.triu_indices(d)] = answer.means / off
    moments = moments + np.triu(moments, 1).T
    moments[np.diag_indices(d)] *= off / on
    # No eigenvalue of a symmetric matrix of independent noise is much beyond 2 sqrt(d) deviations.
    return moments, _NOISE_KEPT * 2 * math.sqrt(d * _variance(answer)) / off


def _per_class(plan: LogisticPlan, answer: Answer) -> NDArray[np.float64]:
    """Return an answer as a matrix with a column for each class, in which rows sum to 0."""
    columns = answer.means.reshape(plan.n_columns, plan.asked)
    if plan.asked == 1:
        return np.hstack([-columns, columns])
    return np.asarray(columns - columns.mean(axis=1, keepdims=True))


def _class_variance(plan: LogisticPlan, answer: Answer) -> float:
    """Return the variance of the noise in one class's column of `_per_class`."""
    return _variance(answer) * (1.0 if plan.asked == 1 else 1 - 1 / plan.n_classes)


def _variance(answer: Answer) -> float:
    """Return that of the noise in each number, as its bound tells it."""
    return 2 * answer.noise.linear**2 + answer.noise.root**2 / 2
