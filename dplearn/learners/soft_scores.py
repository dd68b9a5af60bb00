"""Checks on scorers, numbers of score bins, and conversion of released scores to probabilities.

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

# The standard deviation of the scores of teachers on independent shards of n' records is of order 1 /
# sqrt(n'), as in Theorem 5.14. With the proved constant for the standard teacher, nearly every shard has two
# bins only (docs/theory/soft_label_stability.md). This constant is from synthetic data: most scores vary by
# at most 3 / sqrt(n').
_SPREAD = 3
# Tolerance for widths such as the float of 1/3, which is below 1/3 but must give three bins.
_ROUNDED = Fraction(1, 1000)


def check_scorer(estimator: Any) -> None:
    """Raise if an estimator has no `predict_proba`."""
    if estimator is not None and not hasattr(estimator, "predict_proba"):
        raise TypeError(f"estimator must be None or a classifier with predict_proba, got {brief(estimator)}")


def tried_scorer(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
    """Return an estimator fitted to public rows; raise if its probabilities are malformed."""
    fitted = estimator.fit(X, y)
    classes = np.unique(y)
    answers = Scores(classes).answers(fitted, X) if len(classes) > 1 else np.zeros(1)
    if (answers == NO_VOTE).any():
        raise ValueError("predict_proba must return a probability for each label, with sum 1")
    return fitted


def probabilities_of(
    scores: NDArray[np.float64], n_labels: int, abstain_score: float | None
) -> NDArray[np.float64]:
    """Return released scores as probabilities of all labels, which is post-processing."""
    missing = 1 / n_labels if abstain_score is None else float(abstain_score)
    known = np.where(np.isnan(scores), missing, scores).clip(0, 1)
    if n_labels == 2:
        return np.hstack([1 - known, known])
    total = known.sum(axis=1, keepdims=True)
    return np.where(total == 0, 1 / n_labels, known / np.where(total == 0, 1, total))


def n_bins_of(bin_width: Any, shard_size: int) -> int:
    """Return the number of bins of a given width, or with "auto" for a shard size."""
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
    if not 2 <= number <= FIXED_POINT_ONE // 2:  # a custom number type can pass the check above
        raise ValueError(
            f"bin_width must be a number from 1/{FIXED_POINT_ONE // 2} to 1/2, got {bin_width!r}"
        )
    return number


def bins_of_rows(widths: Any, n_rows: int) -> NDArray[np.int64]:
    """Return the number of bins for each row."""
    given = np.asarray(widths)
    if given.ndim and given.shape != (n_rows,):
        raise ValueError(
            f"bin_width must be a number, or one for each of {n_rows} rows, got shape {given.shape}"
        )
    known: dict[Any, int] = {}
    for width in given.flat:  # numpy scalars: each is read by the shortest decimal of its type
        if isinstance(width, str):
            raise TypeError(f"bin_width must be a number, or one for each row, got {width!r}")
        if width not in known:
            known[width] = _n_bins(width)
    numbers = np.array([known[width] for width in given.flat], dtype=np.int64)
    return np.broadcast_to(numbers.reshape(given.shape), (n_rows,)).copy()


def check_abstain_score(score: Any) -> None:
    """Raise if the score is not None, nan or a number from 0 to 1."""
    if isinstance(score, str):
        raise TypeError(f"abstain_score must be None, nan or a number from 0 to 1, got {score!r}")
    if score is not None and not (isinstance(score, (float, np.floating)) and isnan(score)):
        check_number("abstain_score", score, low=0, high=1)
