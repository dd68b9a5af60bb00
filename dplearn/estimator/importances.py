"""The importances of columns in released rules and models, which scikit-learn's feature selectors rank."""

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

#: Attributes with a rule or a model, or with a list of these, one for each of several outputs.
_RELEASED = ("concept_", "estimator_", "estimators_", "best_estimator_", "student_")


class HasImportances:
    """Mixin of learners whose fit releases rules or models."""

    n_features_in_: int

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Released. Equal shares of the columns that the rule uses, or the importances of the model."""
        check_is_fitted(self)
        released = next((vars(self)[name] for name in _RELEASED if name in vars(self)), self)
        parts = released if isinstance(released, list) else getattr(released, "models", [released])
        found = [_importances(each, self) for each in parts]
        return np.asarray(np.sum(found, axis=0) / len(found) if found else np.zeros(self.n_features_in_))


def _importances(part: Any, learner: Any) -> NDArray[np.float64]:
    """Return those of a rule, or those of a model, or else the norms of its coefficients."""
    if (used := getattr(part, "used", None)) is not None:
        shares = np.zeros(learner.n_features_in_)
        shares[list(used)] = 1 / max(len(used), 1)
        return shares
    model = _model(part)
    found = None if model is learner else getattr(model, "feature_importances_", None)
    if found is None and hasattr(model, "coef_"):
        found = np.linalg.norm(np.atleast_2d(model.coef_), axis=0)
    if found is None or np.shape(found) != (learner.n_features_in_,):
        raise AttributeError(
            f"{type(learner).__name__} has no feature_importances_: {type(model).__name__} has neither"
            " feature_importances_ nor coef_ with a number for each column"
        )
    return np.asarray(found, dtype=np.float64)


def _model(part: Any) -> Any:
    """Return a model, or the last step of a pipeline whose other steps leave each column in its place."""
    if hasattr(part, "named_steps"):  # a Pipeline, whose module takes long to import
        with suppress(AttributeError, ValueError):  # of a step that does not tell
            names = getattr(part, "feature_names_in_", [f"x{place}" for place in range(part.n_features_in_)])
            if list(names) == list(part[:-1].get_feature_names_out()):
                return part.steps[-1][1]
    return part
