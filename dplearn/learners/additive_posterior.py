"""The posterior of the weights of features, and the released model: computed from released values alone."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from dplearn.learners.additive_copula import Copula
from dplearn.learners.additive_losses import Base
from dplearn.learners.additive_model import AdditiveModel, Interactions
from dplearn.learners.additive_queries import Rows

__all__ = ["covariance_of_weights", "model_of", "posterior_weights"]

Floats64 = NDArray[np.float64]

_SPLIT = 1e-5  # the ridge of the split of joint features, as a share of the mean square of other features
_PRIORS = (0.03, 0.1, 0.3, 1.0, 3.0)  # factors of the prior variances of weights
# The same for joint features; 0: no interactions.
_JOINT_PRIORS = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_PENALTY = 0.1  # the log-likelihood falls by this times the log-variance
_SAMPLED = 0.2  # of the sampling error: the priors are narrower than some effects
_TINY = 1e-9


def posterior_weights(
    measured: Floats64,
    curvature: Floats64,
    start: Floats64,
    variance: float,
    joint: slice,
    usual: Floats64,
    sampling: float,
    most_joint: float = math.inf,
    least: float = 0.1,
    common: Floats64 | float = 0.0,
) -> tuple[Floats64, Floats64]:
    """Return the posterior mean of the weights of one margin, and their prior variances.

    `measured` is curvature times weights, plus noise of the given variance, plus the sampling error, whose
    covariance is near `sampling` times the curvature. The prior variances are the usual ones times one factor
    for joint features, at most `most_joint`, and another for all others, at least `least`; both are those of
    greatest marginal likelihood. The weights have in common a multiple of `common`, of prior variance 1.
    """
    beyond, squared = measured - curvature @ start, (curvature * usual) @ curvature
    of_joint = (curvature[:, joint] * usual[joint]) @ curvature[joint]
    noise = (
        max(variance, _TINY * float(squared.trace())) * np.eye(len(start)) + _SAMPLED * sampling * curvature
    )
    along = curvature @ np.broadcast_to(common, start.shape)
    noise += np.outer(along, along)

    def fitted(prior: float, joint_prior: float) -> tuple[float, Floats64, Floats64]:
        total = noise + prior * (squared - of_joint) + joint_prior * of_joint
        root = np.asarray(np.linalg.cholesky(total), dtype=np.float64)
        scaled = solve_triangular(root, beyond, lower=True)
        likely = -0.5 * float(scaled @ scaled) - float(np.log(np.diag(root)).sum())
        for each in (prior, max(joint_prior, _JOINT_PRIORS[1])):
            likely -= _PENALTY * abs(math.log(each))
        return likely, root, scaled

    joint_priors = (
        [each for each in _JOINT_PRIORS if each <= most_joint] if joint.stop > joint.start else [1.0]
    )
    joint_prior = max(joint_priors, key=lambda each: fitted(1.0, each)[0])
    prior = max([each for each in _PRIORS if each >= least], key=lambda each: fitted(each, joint_prior)[0])
    variances = prior * usual
    variances[joint] = joint_prior * usual[joint]
    _, root, scaled = fitted(prior, joint_prior)
    response = solve_triangular(root, _images(curvature, variances, common), lower=True)
    return start + response.T @ scaled, variances


def covariance_of_weights(
    curvature: Floats64, priors: Floats64, variance: float, common: Floats64 | float = 0.0
) -> Floats64:
    """Return the posterior covariance of weights of given prior variances, measured as for their mean."""
    images = _images(curvature, priors, common)
    squared = images @ curvature
    noise = max(variance, _TINY * float(squared.trace()), _TINY)
    root = np.linalg.cholesky(squared + noise * np.eye(len(priors)))
    response = solve_triangular(root, images, lower=True)
    return np.asarray(np.diag(priors) + np.outer(common, common) - response.T @ response)


def _images(curvature: Floats64, priors: Floats64, common: Floats64 | float) -> Floats64:
    """Return the curvature times the prior covariance of the weights."""
    common = np.broadcast_to(common, priors.shape)
    return curvature * priors + np.outer(curvature @ common, common)


def model_of(
    rows: Rows,
    base: Base,
    copula: Copula,
    posterior: Sequence[tuple[Floats64, Floats64]],
    omitted: Sequence[Floats64],
    synthetic: Floats64,
) -> AdditiveModel:
    """Return the effects of all cells and the interactions, given the weights; what is omitted has no effect.

    Joint features are split into the sum of effects of columns that is nearest over synthetic records, and
    the rest; so that effects are those of a column alone, and interactions have none.
    """
    joint = rows.joint_slice
    weights = np.stack([mean for mean, _ in posterior], axis=1)
    covariances = [covariance for _, covariance in posterior]
    moved = np.zeros_like(weights)
    if rows.joint:
        split = _split(rows, synthetic)
        both = np.eye(rows.size) + split
        moved = split @ weights
        weights = weights + moved
        covariances = [both @ covariance @ both.T for covariance in covariances]

    intercept = weights[-1] * rows.constant * rows.unit
    effects, deviations, beyond = [], [], []
    columns = zip(rows.tables, copula.masses, rows.slices, omitted, strict=True)
    for table, mass, here, missed in columns:
        features = table * rows.unit
        centred = features - mass @ features
        intercept = intercept + mass @ features @ weights[here]
        effects.append(centred @ weights[here])
        beyond.append(features @ moved[here])
        squares = [np.einsum("ij,jk,ik->i", centred, cov[here, here], centred) for cov in covariances]
        deviations.append(np.sqrt(np.maximum(np.stack(squares, axis=1), 0.0) + missed[:, None]))
    model = AdditiveModel(intercept, effects, deviations, copula.masses, base)
    if not rows.joint or not weights[joint].any():
        return model
    features = synthetic[:, joint]
    squares = [
        np.einsum("ij,jk,ik->", features, cov[joint, joint], features, optimize=True) for _, cov in posterior
    ]
    joint_part = Interactions(
        features=rows.joint,
        effects=beyond,
        constant=moved[-1] * rows.constant * rows.unit,
        weights=rows.unit * weights[joint],
        roots=rows.unit * np.stack([_root(covariance[joint, joint]) for _, covariance in posterior]),
        usual_deviation=np.sqrt(np.maximum(squares, 0.0) / len(synthetic)),
        strengths=copula.strengths,
    )
    return replace(model, joint=joint_part)


def _split(rows: Rows, synthetic: Floats64) -> Floats64:
    """Return the matrix from weights of joint features to those of the nearest sum of other features."""
    joint, single = rows.joint_slice, np.r_[: rows.joint_slice.start, rows.size - 1]
    moments = synthetic[:, single].T @ synthetic
    ridge = _SPLIT * float(moments[:, single].trace()) / len(single) * np.eye(len(single))
    split = np.zeros((rows.size, rows.size))
    split[single, joint] = np.linalg.solve(moments[:, single] + ridge, moments[:, joint])
    return split


def _root(covariance: Floats64) -> Floats64:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(values.clip(0))) @ vectors.T)
