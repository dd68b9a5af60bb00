"""Private accuracy of a classifier on private records, with confidence intervals that include the noise.

>>> import numpy as np
>>> from sklearn.dummy import DummyClassifier
>>> X, y = np.zeros((1000, 1)), np.arange(1000) % 4 == 0
>>> model = DummyClassifier(strategy="constant", constant=False).fit(X[:4], y[:4])
>>> score = private_score(model, X, y, epsilon=1.0, random_state=0)
>>> score.value, score.interval[0] < 0.75 < score.interval[1]
(0.75, True)
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_number
from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.core.binomial import success_bounds
from dplearn.core.distributions import laplace_quantile
from dplearn.core.exact import decay_ratio
from dplearn.core.float_errors import ignores_float_errors
from dplearn.domains.cells import cells_of
from dplearn.mechanisms import laplace_counts
from dplearn.model_selection.held import answers_from_a_budget
from dplearn.model_selection.trial import errors_of
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.privacy.guarantees import epsilon_of
from dplearn.records.part_sources import source_of
from dplearn.records.part_types import PartTypes
from dplearn.records.parts import PARTS, Source
from dplearn.records.reading import ROWS, label_cells
from dplearn.records.rows import count_of

__all__ = ["PrivateScore", "private_score"]

_ASSUMES = (
    "the number of records is public",
    ROWS,
    "the classifier predicts for each record by itself, and one label for every record",
    "the classifier was made without these records, or has a guarantee of its own, which adds to this one",
)


@dataclass(frozen=True)
class PrivateScore:
    """The result of `private_score`.

    Attributes
    ----------
    value : float
        Released. Noisy fraction of correct predictions, from 0 to 1.
    records_interval : tuple of float
        Released. Contains the accuracy on these records with probability at least 1 - beta over the noise.
    interval : tuple of float
        Released. Contains the accuracy on the population with probability at least 1 - beta over the noise
        and the records, if the records are independent draws from the population and the classifier was made
        without them.
    n_samples : int
        Public. Number of records.
    beta : float
        Public. Probability of failure of each interval, as given.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    """

    value: float
    records_interval: tuple[float, float]
    interval: tuple[float, float]
    n_samples: int
    beta: float
    guarantee: ApproxDP


def private_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    epsilon: Any = 1.0,
    beta: Any = 0.05,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> PrivateScore:
    """Release the accuracy of a fitted classifier on private records.

    Parameters
    ----------
    estimator : object
        Fitted classifier whose `predict` treats each record separately. Estimators whose predictions spend a
        budget are refused.
    X : array-like or data frame of shape (n_samples, n_features), or parts of one
        Private. Records in the form that `estimator` accepts. Parts: as for learners of tables in parts; the
        classifier then predicts where the parts are, in one pass.
    y : array-like of shape (n_samples,), or parts of one; or the name of a column of parts
        Private. The true labels.
    epsilon : float, default=1.0
        Privacy cost of the release.
    beta : float, default=0.05
        Probability of failure of each interval.
    ledger : PrivacyLedger, optional
        The account that is charged, before any draw.
    random_state : None, int or numpy random generator, optional
        None: the operating system's entropy. Any other value makes the release reproducible, for tests only;
        the guarantee records this.

    Returns
    -------
    PrivateScore

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described, the classifier is not fitted, or it cannot predict the records;
        nothing is spent.
    BudgetExceededError
        If the guarantee does not fit the ledger's remaining budget; nothing is spent.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record: it changes at most one prediction and its label, so the
    number of errors by at most 1, and the noise is discrete Laplace for sensitivity 1.

    **Assumes.** The entries of `guarantee.assumes`.

    **Accuracy.** The noise moves the score by more than about ln(1 / beta) / (epsilon n_samples) with
    probability beta.

    **Source.** Dwork, McSherry, Nissim and Smith (2006) for the noise; Clopper and Pearson (1934) for the
    sampling error of the records.
    """
    guarantee = ApproxDP(
        check_number("epsilon", epsilon, above=0), assumes=_ASSUMES, reproducible=random_state is not None
    )
    beta = check_number("beta", beta, above=0, below=1)
    charge = open_account(ledger, guarantee, name="private_score")
    dice = dice_for(random_state, "private_score", str(guarantee.epsilon))
    _check_predicts(estimator)
    source = source_of(X, y)
    if source is None:
        errors, n = _errors(estimator, X, y)
    else:
        guarantee = replace(guarantee, assumes=(*_ASSUMES, PARTS))
        errors, n = _errors_of_parts(estimator, source)
    charge(guarantee)
    return _release(errors, n, beta, guarantee, dice)


def _check_predicts(estimator: Any) -> None:
    """Raise an error unless the classifier is fitted and predicts each record by itself."""
    if not hasattr(estimator, "predict"):
        raise TypeError(f"estimator must have a method predict, got {type(estimator).__name__}")
    if is_regressor(estimator):
        raise TypeError(
            f"estimator must be a classifier, got the regressor {type(estimator).__name__}: the score is the"
            " accuracy of labels"
        )
    if answers_from_a_budget(estimator):
        raise TypeError(
            f"estimator must predict without noise, got {type(estimator).__name__}, whose predictions spend a"
            " budget: its answer for one record depends on other records"
        )
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)


def _errors_of_parts(estimator: Any, source: Source) -> tuple[int, int]:
    """Return the number of wrong predictions and of records of a table in parts, in one pass."""

    def count(X: Any, y: Any) -> tuple[int, int, PartTypes] | None:
        return (*_errors(estimator, X, y), PartTypes.of(X)) if count_of(X) else None

    found = [each for each in source.values(lambda _: count) if each is not None]
    if not found:
        raise ValueError("X must hold at least one record, and all parts are empty")
    for _, _, types in found:
        found[0][2].check_same(types, categories=True)
    return sum(each[0] for each in found), sum(each[1] for each in found)


@ignores_float_errors
def _errors(estimator: Any, X: Any, y: Any) -> tuple[int, int]:
    """Return the number of wrong predictions and of records; error messages do not show records."""
    X, labels = _each_by_itself(X), label_cells(y)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n != len(labels):
        raise ValueError(f"X and y must have equal numbers of records, got {n} and {len(labels)}")
    if not n:
        raise ValueError("X must hold at least one record")
    expected, columns = getattr(estimator, "n_features_in_", None), getattr(X, "shape", (n,))[1:]
    if expected is not None and columns and columns[0] != expected:
        raise ValueError(
            f"X must have the {expected} columns that the classifier was fitted on, got {columns[0]}"
        )
    return errors_of(estimator, X, labels), n


def _each_by_itself(X: Any) -> Any:
    """Return a list of rows as an array of objects, because a common type would depend on all records.

    Lists of strings, arrays and frames are returned unchanged.
    """
    if hasattr(X, "shape") or all(isinstance(each, str) for each in X):
        return X
    return cells_of(X)


@ignores_float_errors
def _release(errors: int, n: int, beta: Fraction, guarantee: ApproxDP, dice: Dice) -> PrivateScore:
    """Release the score and its intervals from the number of errors."""
    noisy = laplace_counts(errors, privacy=guarantee, dice=dice, low=0, high=n)
    ratio = decay_ratio(epsilon_of(guarantee))
    low, high = (_ends(noisy, n, laplace_quantile(ratio, share)) for share in (beta / 2, beta / 4))
    surest = (
        success_bounds(n - high[1], n, beta / 4)[0],
        success_bounds(n - high[0], n, beta / 4)[1],
    )
    return PrivateScore(1 - noisy / n, (1 - low[1] / n, 1 - low[0] / n), surest, n, float(beta), guarantee)


def _ends(noisy: int, n: int, threshold: int) -> tuple[int, int]:
    """Return the least and greatest number of errors that noise of magnitude < threshold moves to `noisy`."""
    return max(0, noisy - threshold + 1), min(n, noisy + threshold - 1)
