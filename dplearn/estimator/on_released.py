"""Estimators of scikit-learn that are trained on released and public values, at no privacy cost; the values
are kept if the training fails or is interrupted.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import shown
from dplearn.estimator.base import PrivateEstimator
from dplearn.estimator.base_models import Seeded
from dplearn.estimator.importances import HasImportances
from dplearn.privacy.held import held_by

_INTERRUPTED = "KeyboardInterrupt"


class TrainedOnReleased(HasImportances):
    """Mixin of private estimators whose parameter `estimator` is trained on what they release."""

    estimator: Any
    estimator_: Any
    estimator_error_: str | None
    #: What is released, and where it is kept.
    _kept: ClassVar[tuple[str, str]]

    def _ranks_columns(self, X: Any) -> bool:
        """Whether a fit to a table may have importances; of default models only that of sparse rows has."""
        return self.estimator is not None or hasattr(X, "tocsr")

    def _failure(self) -> str:
        released, place = self._kept
        return (
            f"estimator could not be fitted to {released}, which are kept: {self.estimator_error_}; fit"
            f" another one to {place}, at no further cost"
        )

    def _left_by_interrupt(self) -> str | None:
        return self._failure() if self.estimator_error_ == _INTERRUPTED else None

    def _trained(self) -> Any:
        """Return the fitted estimator, or raise an error if it could not be fitted."""
        check_is_fitted(self)
        if self.estimator_error_ is not None:
            raise ValueError(self._failure())
        return self.estimator_


def trained(estimator: Any, rows: Any, y: NDArray[Any], seed: int) -> tuple[Any, str | None]:
    """Return a fitted clone of an estimator and None, or None and why it could not be fitted."""
    try:
        return Seeded(estimator).clone(seed).fit(rows, y), None
    except KeyboardInterrupt:
        return None, _INTERRUPTED
    except Exception as error:  # of the caller's estimator, about released values
        return None, f"{type(error).__name__}: {error}"


def offers(name: str) -> Callable[[Any], bool]:
    """Return the condition that an estimator, or the default one, has a method."""

    def offered(model: Any) -> bool:
        return model.estimator is None or hasattr(model.estimator, name)

    return offered


def check_not_private(
    estimator: Any, is_kind: Callable[[Any], bool], kind: str, released: str = "synthetic records"
) -> None:
    """Refuse what is no estimator of a kind, and private ones, which learn less from what is released."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_kind(estimator):
        raise TypeError(f"estimator must be a {kind}, or None, got {shown(estimator)}")
    if private := next((each for each in held_by(estimator) if isinstance(each, PrivateEstimator)), None):
        raise TypeError(
            f"estimator must not be private, got {type(private).__name__}: {released} are released,"
            f" and a {kind} without noise learns more from them"
        )
