"""What is public about the table of a fit, and the same of a planned table; public rows beside the table.

>>> import numpy as np
>>> Public(n_samples=3, n_features=2, classes=np.array(["no", "yes"])).n_labels
2
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from dplearn._validation import check_count
from dplearn.chance import PublicStream
from dplearn.domains import Product
from dplearn.privacy import ApproxDP
from dplearn.records.outputs import sets_of_outputs
from dplearn.records.reading import check_given

#: The assumption of a guarantee for labels.
PUBLIC_FEATURES = "all features are public: only labels are protected"
#: The assumption of a guarantee for examples with public rows.
PUBLIC_ROWS = "the rows in X_public are public"

_WHY = (
    "X_public must be PublicData(rows): a search silently cuts every array that has as many rows as X down to"
    " a fold"
)


@dataclass(frozen=True)
class Public:
    """The public values of a table.

    In a fit for neighbors="add_remove" `n_samples` is None, with which no method can calculate.
    """

    n_samples: int
    n_features: int = 0
    n_labels: int = 0  # the length of `classes`, if that is given
    names: Sequence[str] | None = None
    classes: Any = None  # sorted; None in a plan for which only their number is given
    #: Of public choices in a fit, such as the shard of each record; None in a plan.
    stream: PublicStream | None = None
    sparse: bool = False
    #: `n_features_in_` and `feature_names_in_` of an estimator fitted to it.
    columns: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.classes is not None:
            object.__setattr__(self, "n_labels", len(self.classes))


@dataclass(frozen=True)
class PublicOutputs(Public):
    """The public values of a table with one or several labels a record.

    `classes` are the labels of each output. `many`: whether `y` has two dimensions, with more than one
    output.
    """

    n_outputs: int = 1
    many: bool = False

    def __post_init__(self) -> None:
        """Leave `n_labels` unchanged: here `classes` is a list over outputs, not over labels."""


def planned_columns(fit: Any, n_samples: Any, *, n_features: Any) -> Public:
    """Return the sizes of a planned table without labels; the size of a declared domain counts."""
    features = len(fit.declared) if isinstance(fit.declared, Product) else n_features
    return Public(
        check_count("n_samples", n_samples, low=1), check_given("n_features", features, source="domain")
    )


def planned_table(fit: Any, n_samples: Any, *, n_features: Any, n_labels: Any) -> Public:
    """Return the sizes of a planned table of labelled records; the number of declared classes counts."""
    columns = planned_columns(fit, n_samples, n_features=n_features)
    labels = n_labels if fit.classes is None else len(fit.classes)
    return replace(columns, n_labels=check_given("n_labels", labels, source="classes"))


def planned_outputs(fit: Any, n_samples: Any, *, n_features: Any, n_labels: Any, n_outputs: Any) -> Public:
    """Return the sizes of a planned table with one or several labels a record; declared ones count."""
    count = check_count("n_outputs", n_outputs, low=1)
    sets = None if fit.classes is None else sets_of_outputs(fit.classes, count)
    if count == 1:
        known = fit if sets is None else fit.given(classes=sets[0])
        return planned_table(known, n_samples, n_features=n_features, n_labels=n_labels)
    columns = planned_columns(fit, n_samples, n_features=n_features)
    labels = check_given("n_labels", n_labels if sets is None else max(map(len, sets)), source="classes")
    return PublicOutputs(
        columns.n_samples, columns.n_features, labels, classes=sets, n_outputs=count, many=True
    )


def cost_of_fit(estimator: Any, X: Any = None, y: Any = None) -> ApproxDP | None:
    """Return the greatest cost of a fit, or None if the parameters are invalid or do not determine it.

    Of X and y only shapes are read.
    """
    with suppress(Exception):  # `fit` reports invalid parameters
        cost: ApproxDP | None = estimator._recipe(estimator.random_state is not None).cost_of(X, y)
        return cost
    return None


class PublicData(tuple[Any]):
    """A table of public rows without labels, for `fit(X, y, X_public=PublicData(rows))`.

    scikit-learn slices every argument of `fit` that has as many entries as `X` has rows. So an array of as
    many public rows would silently be cut to the rows of a fold. This tuple of one array has one entry, and a
    Pipeline with `transform_input` transforms the entries of a tuple.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.

    Examples
    --------
    >>> from dplearn import PublicData
    >>> PublicData([[31, 0], [57, 1]]).X
    [[31, 0], [57, 1]]
    """

    __slots__ = ()

    def __new__(cls, X: Any) -> Self:
        return super().__new__(cls, (X,))

    def __getnewargs__(self) -> tuple[Any]:
        return (self[0],)

    @property
    def X(self) -> Any:  # noqa: N802 - scikit-learn's name for rows
        """The public rows."""
        return self[0]

    def __repr__(self) -> str:
        return f"PublicData(<{type(self[0]).__name__}>)"


def public_rows(X_public: Any) -> Any:
    """Return the wrapped rows; a Pipeline with `transform_input` passes a tuple of one table."""
    if not isinstance(X_public, tuple):
        raise TypeError(f"{_WHY}; got {type(X_public).__name__}")
    if len(X_public) != 1:
        raise ValueError(f"{_WHY}; got a tuple of {len(X_public)}")
    return X_public[0]
