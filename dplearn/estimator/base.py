"""The door through which every private estimator goes.

`fit` chooses the dice and hands over to `_fit(X, y, dice)`, in which a learner takes five steps, in this
order: check what is public; fix the guarantee and charge it to the ledger; summarise the data into integers;
release; publish. An auditor calls `_fit` with dice of their own, so that the code that users run is the code
that is verified.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import Tags

from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import IgnoresFloatErrors
from dplearn.estimator.fit_parameters import ROUTED, refuse_parameters
from dplearn.estimator.shown import promise_html
from dplearn.privacy import Guarantee, PrivacyLedger, open_account
from dplearn.privacy.unrepeatable import UnrepeatablePickles

__all__ = ["PrivateClassifier", "PrivateEstimator", "PrivateTransformer"]

# What makes the stream of a seeded fit no other: the seed has it, or it draws nothing.
_NOT_OF_THE_STREAM = {"classes", "ledger", "random_state"}


class PrivateEstimator(IgnoresFloatErrors, UnrepeatablePickles, BaseEstimator):
    """Base of all private estimators.

    A subclass has the parameters `epsilon`, `ledger` and `random_state`, and a method `_fit(X, y, dice)` that
    sets `guarantee_`. Its `_fit` reads all parameters before it looks at the data, which may be objects that
    change them. It calls `_open_account` before it looks, and what that returns before it summarises.
    """

    _read_private_rows = frozenset(
        {
            "decision_function",
            "inverse_transform",
            "predict",
            "predict_log_proba",
            "predict_proba",
            "score",
            "transform",
        }
    )
    ledger: PrivacyLedger | None

    __metadata_request__fit = ROUTED

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Show the usual diagram, and under it what was promised, or what a fit will cost."""
        diagram: Callable[[], str] = super()._repr_html_  # no attribute, where a user wants texts
        return lambda: diagram() + promise_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | {
            kind: told + promise_html(self) for kind, told in bundle.items() if kind == "text/html"
        }

    def _fit_privately(self, X: Any, y: Any) -> Self:
        dice, reproducible = self._dice()
        with np.errstate(all="ignore"):
            self._fit(X, y, dice, reproducible=reproducible)
        return self

    def _dice(self) -> tuple[Dice, bool]:
        """Return the dice of one fit, and whether they can be thrown again."""
        random_state = self.random_state
        return dice_for(random_state, type(self).__name__, *self._context()), random_state is not None

    def _open_account(self, price: Guarantee) -> Callable[[Guarantee], None]:
        """Refuse a fit that the ledger would refuse, and return what charges it; see `open_account`."""
        return open_account(self.ledger, price, name=type(self).__name__)

    def _context(self) -> tuple[object, ...]:
        """Return what, besides seed and class, the stream of a seeded fit depends on: all that is chosen."""
        parameters = self.get_params(deep=False)
        return tuple(
            (name, repr(parameters[name])) for name in sorted(parameters.keys() - _NOT_OF_THE_STREAM)
        )

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        """Fit with these dice; `reproducible` says whether they can be thrown again."""
        raise NotImplementedError


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """Base of all private classifiers; their `_fit` sets `classes_` too."""

    def fit(self, X: Any, y: Any, **fit_parameters: Any) -> Self:
        """Fit privately; the data are used for this one release and not kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Within the declared domain. A sparse matrix is refused, unless the class takes one.
        y : array-like of shape (n_samples,)
            Labels; where the class learns several at once, also of shape (n_samples, n_outputs).
        **fit_parameters : None
            There are none: a `sample_weight` other than None is refused.

        Returns
        -------
        self : object

        Raises
        ------
        DomainError
            If a value is outside its declared domain; nothing is spent.
        TypeError
            If there are weights; nothing is spent.
        BudgetExceededError
            If the ledger's budget does not hold this fit; nothing is spent. No `except Exception` catches it.
        """
        refuse_parameters(type(self).__name__, fit_parameters)
        return self._fit_privately(X, y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # private noise: accuracy is tested apart, at large epsilon
        return tags


class PrivateTransformer(TransformerMixin, PrivateEstimator):
    """Base of all private transformers."""

    def fit(self, X: Any, y: Any = None, **fit_parameters: Any) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Fit privately; the data are used for this one release and not kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Within the declared domain. A sparse matrix is refused.
        y : ignored
        **fit_parameters : None
            As for classifiers.

        Returns
        -------
        self : object

        Raises
        ------
        DomainError
            If a value is outside its declared domain; nothing is spent.
        TypeError
            If there are weights; nothing is spent.
        BudgetExceededError
            If the ledger's budget does not hold this fit; nothing is spent. No `except Exception` catches it.
        """
        refuse_parameters(type(self).__name__, fit_parameters)
        return self._fit_privately(X, None)
