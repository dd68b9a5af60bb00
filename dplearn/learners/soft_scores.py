"""What goes into soft labels and what comes out: checks on scorers, widths of bins, scores as probabilities.

>>> n_bins_of(0.25, shard_size=20), n_bins_of("auto", shard_size=200)
(4, 4)
>>> probabilities_of(np.array([[0.75], [np.nan], [1.5]]), 2, None).tolist()
[[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]]
"""

from fractions import Fraction
from math import ceil, isnan, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn._writing import brief
from dplearn.core.score_bins import FIXED_POINT_ONE
from dplearn.ensembles.asking import NO_VOTE, Scores

__all__ = [
    "bins_of_rows",
    "check_abstain_score",
    "check_scorer",
    "n_bins_of",
    "probabilities_of",
    "tried_scorer",
]

# Scores of teachers on fresh shards of n' records spread like 1 / sqrt(n'), as in Theorem 5.14. What can be
# proved of the standard teacher's constant allows hardly any shard more than two bins
# (docs/theory/soft_label_stability.md). This one is of synthetic data: 3 / sqrt(n') fits most scores.
_SPREAD = 3
_ROUNDED = Fraction(1, 1000)  # a float of one third may be a little less than that: it makes three bins


def check_scorer(estimator: Any) -> None:
    """Refuse an estimator that has no probabilities.

    Parameters
    ----------
    estimator : object
        None is the standard teacher, which has.
    """
    if estimator is not None and not hasattr(estimator, "predict_proba"):
        raise TypeError(f"estimator must be None or a classifier with predict_proba, got {brief(estimator)}")


def tried_scorer(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
    """Return an estimator fitted to public rows whose probabilities can be read, or raise what is wrong.

    Parameters
    ----------
    estimator : classifier
        Is fitted.
    X : table of shape (n, n_features)
        Rows.
    y : ndarray of shape (n,)
        Labels.
    """
    fitted = estimator.fit(X, y)
    classes = np.unique(y)
    answers = Scores(classes).answers(fitted, X) if len(classes) > 1 else np.zeros(1)
    if (answers == NO_VOTE).any():
        raise ValueError("predict_proba does not give a probability for each label, which add up to 1")
    return fitted


def probabilities_of(
    scores: NDArray[np.float64], n_labels: int, abstain_score: float | None
) -> NDArray[np.float64]:
    """Return released scores as probabilities of all labels, which is post-processing.

    Parameters
    ----------
    scores : ndarray of float64 of shape (n_rows, 1) or (n_rows, n_labels)
        As from `SOFT_AGGREGATIONS`; nan where declined.
    n_labels : int
        With two labels there is one column, of the second.
    abstain_score : float or None
        What stands for nan; None takes 1 / n_labels.
    """
    missing = 1 / n_labels if abstain_score is None else float(abstain_score)
    known = np.where(np.isnan(scores), missing, scores).clip(0, 1)
    if n_labels == 2:
        return np.hstack([1 - known, known])
    total = known.sum(axis=1, keepdims=True)
    return np.where(total == 0, 1 / n_labels, known / np.where(total == 0, 1, total))


def n_bins_of(bin_width: Any, shard_size: int) -> int:
    """Return how many bins there are of a width, or of one that suits shards of this size.

    Parameters
    ----------
    bin_width : number or "auto"
        From 2 / FIXED_POINT_ONE to 1 / 2.
    shard_size : int
        Records in a shard.
    """
    if isinstance(bin_width, str):
        if bin_width != "auto":
            raise ValueError(
                f"bin_width must be 'auto' or a number from 1/{FIXED_POINT_ONE // 2} to 1/2,"
                f" got {bin_width!r}"
            )
        return min(max(2, isqrt(shard_size) // _SPREAD), FIXED_POINT_ONE // 2)
    return _n_bins(bin_width)


def _n_bins(bin_width: Any) -> int:
    width = check_number("bin_width", bin_width, low=Fraction(2, FIXED_POINT_ONE), high=Fraction(1, 2))
    number = ceil(1 / width - _ROUNDED)
    if not 2 <= number <= FIXED_POINT_ONE // 2:  # a number of a kind of its own
        raise ValueError(
            f"bin_width must be a number from 1/{FIXED_POINT_ONE // 2} to 1/2, got {bin_width!r}"
        )
    return number


def bins_of_rows(widths: Any, n_rows: int) -> NDArray[np.int64]:
    """Return the number of bins for each row.

    Parameters
    ----------
    widths : float or array-like of shape (n_rows,)
        As for `n_bins_of`, but "auto".
    n_rows : int
        How many rows there are.
    """
    given = np.asarray(widths)
    if given.ndim and given.shape != (n_rows,):
        raise ValueError(
            f"bin_width must be a number, or one for each of {n_rows} rows, got shape {given.shape}"
        )
    known: dict[Any, int] = {}
    for width in given.flat:  # numpy's scalars: each is written with the digits of its own type
        if isinstance(width, str):
            raise TypeError(f"bin_width must be a number, or one for each row, got {width!r}")
        if width not in known:
            known[width] = _n_bins(width)
    numbers = np.array([known[width] for width in given.flat], dtype=np.int64)
    return np.broadcast_to(numbers.reshape(given.shape), (n_rows,)).copy()


def check_abstain_score(score: Any) -> None:
    """Refuse what is neither None, nor nan, nor a number from 0 to 1.

    Parameters
    ----------
    score : object
        As the user gave it.
    """
    if isinstance(score, str):
        raise TypeError(f"abstain_score must be None, nan or a number from 0 to 1, got {score!r}")
    if score is not None and not (isinstance(score, (float, np.floating)) and isnan(score)):
        check_number("abstain_score", score, low=0, high=1)
