"""Base class of transformers of columns of numbers, and the check of their domains.

>>> finite(np.array([np.inf, 1.5])).tolist()
[1.7976931348623157e+308, 1.5]
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_array, check_is_fitted

from dplearn._validation import check_count
from dplearn._writing import brief
from dplearn.domains import DomainError, Floats, NumberDomain, Product, Schema
from dplearn.domains.cells import as_numbers, frame_column, is_frame
from dplearn.domains.product import is_pair
from dplearn.estimator import PrivateTransformer
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.kernels import row_blocks
from dplearn.releases.release import as_number_domain
from dplearn.table import Columns
from dplearn.table.features import as_product, read_features

Numbers = NDArray[np.float64]

_LARGEST = sys.float_info.max

#: The advice of error messages about missing values, which these transformers do not support.
_INSTEAD = "drop missing ones before if their number may be public, or fill in a constant that is public"


class NumberColumns(PrivateTransformer):
    """Base of transformers of columns of numbers, each of a declared domain.

    Attributes
    ----------
    guarantee_, n_features_in_, feature_names_in_
    """

    reads_parts = True

    def _planned(self, fit: FitRecipe, n_samples: Any, n_features: Any) -> FitFacts:
        """Return the public sizes for `plan`: of the domain, as given, of the fit, or 1 column."""
        n_samples = check_count("n_samples", n_samples, low=1)
        if isinstance(fit.declared, Product):
            n_features = len(fit.declared)
        elif n_features is None:
            n_features = getattr(self, "n_features_in_", 1)
        return FitFacts(n_samples, check_count("n_features", n_features, low=1))

    def _context(self) -> tuple[object, ...]:
        others = self.get_params(deep=False)
        del others["ledger"], others["random_state"]
        return tuple(repr(item) for item in sorted(others.items()))

    @property
    def _n_columns(self) -> int:
        """Number of transformed columns; a schema may have fewer columns than a data frame."""
        return len(self.domain) if isinstance(self.domain, Product) else self.n_features_in_

    def _numbers(self, X: Any) -> Numbers:
        """Return new records as an array of floats."""
        check_is_fitted(self)
        X = read_features(self, X, domain=declared_numbers(self.domain), reset=False)
        if not is_frame(X):
            return as_numbers(X, Floats()).astype(np.float64)
        columns = [_column_numbers(X, place) for place in range(X.shape[1])]
        return np.column_stack(columns).astype(np.float64)

    def _transformed(self, X: Any, width: int) -> Numbers:
        """Return the argument of `inverse_transform` as an array of `width` columns."""
        check_is_fitted(self)
        rows: Numbers = check_array(X, dtype=np.float64)
        if rows.shape[1] != width:
            raise ValueError(f"X must have {width} columns, as transform returns, got {rows.shape[1]}")
        return rows


class NumberColumnsFit(FitRecipe):
    """The fit of `NumberColumns`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:  # noqa: ARG002
        X = read_features(reader, X, domain=self.declared, reset=self.earlier is None)
        facts = FitFacts.of_rows(X, reader)
        product = as_product(self.declared, X.shape[1], facts.names)
        return facts, Columns(product.encode(X, takes_missing=False))


class NamesOfColumns(OneToOneFeatureMixin):
    """Mixin, before `NumberColumns`, of transformers with one column for each column of the input."""

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the transformed columns: those of a schema, else those of the input.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the input's columns.
        """
        names: NDArray[Any] = super().get_feature_names_out(input_features)
        framed = isinstance(self.domain, Schema) and hasattr(self, "feature_names_in_")
        return np.array(self.domain.names, dtype=object) if framed else names


def _column_numbers(X: Any, place: int) -> NDArray[Any]:
    """Return a column of a data frame as numbers; errors show its name."""
    floats = Floats()
    with suppress(DomainError):
        return as_numbers(frame_column(X, place), floats)
    raise DomainError(f"in column {list(X.columns)[place]!r}, {floats.refuse(takes_missing=False)}")


def declared_numbers(domain: Any) -> Any:
    """Return the declared domain, if all columns have numbers without missing values; else raise an error."""
    if isinstance(domain, (list, tuple)) and not is_pair(domain):
        domain = Product([as_number_domain(each) for each in domain])
    declared = domain if isinstance(domain, Product) else as_number_domain(domain)
    domains = declared.domains if isinstance(declared, Product) else (declared,)
    unfit = [place for place, each in enumerate(domains) if not _fits(each)]
    if unfit and isinstance(domain, Schema):
        names = ", ".join(repr(domain.names[place]) for place in unfit)
        raise ValueError(
            "domain must be of numbers that are not missing, at most 2**64 of them, for every column, and"
            f" that of {names} is not: leave such columns to other parts of a ColumnTransformer, and out of"
            f" this schema; where numbers are missing, {_INSTEAD}"
        )
    if unfit:
        raise ValueError(
            "domain must be 'float64', or of numbers that are not missing, at most 2**64 of them, for"
            f" every column, got {brief(domains[unfit[0]])}; where numbers are missing, {_INSTEAD}"
        )
    return declared


def _fits(domain: Any) -> bool:
    numeric = isinstance(domain, NumberDomain) and domain.numeric
    return numeric and not domain.accepts_missing and domain.size <= 1 << 64


def in_blocks(function: Callable[[Numbers], Numbers], rows: Numbers, width: int) -> Numbers:
    """Return a function of rows, which has so many numbers for each, computed in blocks."""
    found = np.empty((len(rows), width))
    for block in row_blocks(len(rows), max(width, rows.shape[1])):
        found[block] = function(rows[block])
    return found


def scaled(numbers: Numbers, center: Numbers | None, scale: Numbers | None) -> Numbers:
    """Return (numbers - center) / scale without overflow: infinities become the largest finite float."""

    def of(rows: Numbers) -> Numbers:
        centred = rows if center is None else finite(rows - center)
        return centred if scale is None else finite(centred / scale)

    return in_blocks(of, numbers, numbers.shape[1])


def unscaled(numbers: Numbers, center: Numbers | None, scale: Numbers | None) -> Numbers:
    """Return numbers times a scale, plus a centre: the inverse of `scaled`."""
    wide = numbers if scale is None else finite(numbers * scale)
    return wide if center is None else finite(wide + center)


def finite(x: Numbers) -> Numbers:
    """Return numbers, with infinities replaced with the largest finite floats of the same sign."""
    return np.clip(x, -_LARGEST, _LARGEST)
