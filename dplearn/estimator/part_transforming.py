"""Transform a table in parts, each part whenever a later step of a pipeline reads it."""

from copy import copy
from functools import partial
from typing import Any

from dplearn.records.groups import with_ids
from dplearn.records.part_sources import table_in_parts
from dplearn.records.rows import count_of
from dplearn.records.table import Given

__all__ = ["TransformsParts"]


class TransformsParts:
    """Mixin of transformers, before scikit-learn's, whose `fit_transform` takes a table in parts.

    It is no subclass of scikit-learn's mixin, which would make a data frame of the returned parts if
    `set_output` asks for data frames; each part becomes one when it is transformed.
    """

    def fit_transform(self, X: Any, y: Any = None, **fit_parameters: Any) -> Any:
        """Fit privately, and transform the same table.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or parts of one
            Private. As for `fit`.
        y : object, optional
            Ignored by the fit. Of a table in parts: as for the learners of tables in parts, for a later step.
        **fit_parameters : None
            As for `fit`.

        Returns
        -------
        ndarray or data frame of shape (n_samples, n_transformed), or parts
            The transformed table. Of a table in parts: an object that a learner of tables in parts fits, with
            the labels and the groups in it; it reads and transforms the parts in each pass.
        """
        table = table_in_parts(X, y)
        if table is None:
            return super().fit_transform(X, y, **fit_parameters)  # type: ignore[misc]
        self.fit(table, **fit_parameters)  # type: ignore[attr-defined]
        fitted: Any = copy(self)
        fitted.ledger = None  # it has a lock and a history
        groups = fit_parameters.get("groups")
        rows = table if groups is None else with_ids(table, groups)
        return rows.map(partial(_transformed, fitted))


def _transformed(fitted: Any, given: Given) -> Given:
    return given._replace(X=fitted.transform(given.X)) if count_of(given.X) else given
