"""A learner of distributions made one of data sets: fitted on a secret sample of the records it is given.

What learns well from records of any distribution learns well from the uniform distribution on given records,
and so has few errors on them. Which records were drawn is secret, and that makes up for drawing some twice.

>>> import numpy as np
>>> from dplearn.domains import IntegerRange
>>> from dplearn.learners.generic import ExponentialMechanismClassifier
>>> X = np.arange(2000)[:, None] % 100
>>> learner = ExponentialMechanismClassifier("thresholds", domain=IntegerRange(0, 99), epsilon=1.0)
>>> sampled = SecretSampleClassifier(learner, sample_size=400, random_state=0).fit(X, X[:, 0] > 40)
>>> bool(sampled.score(X, X[:, 0] > 40) > 0.9), float(sampled.guarantee_.epsilon) < 0.35
(True, True)
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_count
from dplearn.aggregation.rows import rows_of
from dplearn.chance import public_seed
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateClassifier
from dplearn.estimator.intake import labels_assumed, read_labels, read_rows
from dplearn.learners.ensembles import EnsembleClassifier
from dplearn.privacy import ApproxDP, Guarantee, PrivacyLedger
from dplearn.privacy.subsampled import subsampled

__all__ = ["SecretSampleClassifier"]


class SecretSampleClassifier(PrivateClassifier):
    """Fit a private classifier on rows that are drawn in secret, with replacement, from the records.

    Parameters
    ----------
    estimator : PrivateClassifier
        What is fitted; one whose fit releases all that it predicts by, and that promises an `ApproxDP` for
        examples. It has no ledger of its own.
    sample_size : int
        How many rows are drawn, at least 1; with an epsilon of at most 1, at most half as many as there are
        records.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it: clones, searches and workers too.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so. That of `estimator` is not used.

    Attributes
    ----------
    estimator_ : PrivateClassifier
        Released. The fitted classifier; its `guarantee_` is this one's.
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted: declared for `estimator`, or assumed public.
    guarantee_ : ApproxDP
        Public. What the fit promises, and on what assumptions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.privacy.subsampled.subsampled : What becomes of a promise.
    dplearn.theory.generalisation : The other way round.

    Notes
    -----
    **Privacy.** What `subsampled` makes of the promise of `estimator`, with the number of records.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** If `estimator` is wrong with probability at most alpha on a new record, with probability
    1 - beta over `sample_size` records of any distribution, then this gets at most the share alpha of its
    records wrong with probability 1 - beta.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.9, with n = 9 m; here n is any for which the
    promise holds.
    """

    estimator_: Any

    def __init__(
        self,
        estimator: Any,
        *,
        sample_size: int,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.sample_size = sample_size
        self.ledger = ledger
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public, and that the data are where they were declared to be.
        inner, m = self._inner(), check_count("sample_size", self.sample_size, low=1)
        declared = inner.classes
        if (length := _length(X)) is not None:
            self._open_account(_promised(ApproxDP(inner.epsilon), m, length, declared))
        rows = read_rows(self, X, reset=True, sparse=False)
        n = rows.shape[0]
        classes, codes = read_labels(y, n, declared)
        inner.set_params(classes=classes.tolist())  # a sample need not hold all labels, and must not tell
        _read_all(inner, rows, classes[codes], dice)

        # 2 to 4. Draw in secret; then the learner takes its own steps, but for what it charges.
        places = np.asarray(dice.below(n, size=m), dtype=np.int64)

        def open_account(price: Any) -> Callable[[Any], None]:
            charge = self._open_account(_promised(price, m, n, declared))
            return lambda guarantee: charge(_promised(guarantee, m, n, declared))

        vars(inner)["_open_account"] = open_account
        inner._fit(rows_of(rows, places), classes[codes[places]], dice, reproducible=reproducible)
        del vars(inner)["_open_account"]

        # 5. Publish.
        inner.guarantee_ = self.guarantee_ = _promised(inner.guarantee_, m, n, declared)
        self.estimator_ = inner.set_params(classes=declared)
        self.classes_ = classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `estimator`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of `classes_`.
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.estimator_.predict(X)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return what the fitted classifier gives for probabilities.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `estimator`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        likely: NDArray[np.float64] = self.estimator_.predict_proba(X)
        return likely

    def _inner(self) -> Any:
        """Return an unfitted copy of the estimator, with public choices of its own."""
        if not isinstance(self.estimator, PrivateClassifier) or isinstance(
            self.estimator, EnsembleClassifier
        ):
            raise TypeError(
                "estimator must be a private classifier that releases all it predicts by when it is fitted,"
                f" got {type(self.estimator).__name__}"
            )
        if self.estimator.ledger is not None:
            raise ValueError("estimator must have no ledger: this one's is charged, with less")
        seed = None if self.random_state is None else public_seed(self.random_state, type(self).__name__)
        inner: Any = clone(self.estimator)
        return inner.set_params(random_state=seed)

    def _context(self) -> tuple[object, ...]:
        context = self.estimator._context() if isinstance(self.estimator, PrivateClassifier) else ()
        return type(self.estimator).__name__, *context, repr(self.sample_size)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = replace(inner.input_tags, sparse=False)
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


class _AllReadError(Exception):
    """Raised in place of a charge: all records have been read."""


def _read_all(inner: Any, rows: Any, y: NDArray[Any], dice: Dice) -> None:
    """Let the learner read all records, as far as its charge: what it refuses must not depend on the draw."""

    def stop(_: Guarantee) -> None:
        raise _AllReadError

    reader = clone(inner)
    vars(reader)["_open_account"] = lambda _: stop
    with suppress(_AllReadError):
        reader._fit(rows, y, dice)


def _promised(guarantee: ApproxDP, m: int, n: int, classes: Any) -> ApproxDP:
    """Return what is promised to the records; what the learner was told of labels may be read from them."""
    try:
        promised = subsampled(guarantee, m=m, n=n)
    except ValueError as error:
        raise ValueError(f"sample_size={m} does not go with n_samples={n}: {error}") from None
    told, known = labels_assumed(()), labels_assumed(classes)
    return replace(promised, assumes=tuple(known if words == told else words for words in promised.assumes))


def _length(X: Any) -> int | None:
    """Return the number of records if it can be told before anything is read."""
    shape = getattr(X, "shape", None)
    length = shape[0] if shape else len(X) if isinstance(X, (list, tuple)) else 0
    return int(length) or None  # what is wrong with none, reading tells
