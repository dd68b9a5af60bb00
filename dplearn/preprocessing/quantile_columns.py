"""What transformers share that learn some quantiles of each column, and how they place numbers among them.

>>> interpolate(np.array([0.5, 2.0, 9.0]), np.array([0.0, 1.0, 2.0]), np.array([10.0, 20.0, 30.0])).tolist()
[15.0, 30.0, 30.0]
"""

import sys
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.core.ranks import SortedCodes
from dplearn.domains import Floats, NumberDomain, Product
from dplearn.domains.cells import frame_column, is_frame
from dplearn.domains.numbers import as_numbers
from dplearn.estimator import PrivateTransformer
from dplearn.estimator.intake import COLUMNS, as_product, read_features
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.releases.quantiles import release_quantiles
from dplearn.releases.reading import as_number_domain

__all__ = ["Numbers", "QuantilesOfColumns", "check_range", "finite", "interpolate", "placed"]

Numbers = NDArray[np.float64]

_LARGEST = sys.float_info.max


class QuantilesOfColumns(PrivateTransformer):
    """Base of transformers that learn some quantiles of each column and nothing else.

    A subclass says which, and makes its fitted attributes of them. Epsilon is divided evenly over columns: a
    record stands in every one.
    """

    epsilon: Any
    domain: Any
    ledger: PrivacyLedger | None
    random_state: Any
    guarantee_: ApproxDP
    n_features_in_: int

    @abstractmethod
    def _fractions(self) -> list[Fraction]:
        """Check the parameters and return which quantiles are learned, rising; none at no price."""

    @abstractmethod
    def _publish(self, released: Numbers) -> None:
        """Set fitted attributes from the quantiles, an array of shape (k, n_features)."""

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:  # noqa: ARG002
        # 1. Check what is public, and that the data are where they were declared to be.
        fractions = self._fractions()
        epsilon = check_number("epsilon", self.epsilon, low=Fraction(1, 10**9))
        price = ApproxDP(epsilon if fractions else 0, reproducible=reproducible)
        charge = self._open_account(price)
        declared = _declared(self.domain)
        X = read_features(self, X, domain=declared, reset=True)
        product = as_product(declared, X.shape[1], getattr(self, "feature_names_in_", None))
        columns = product.encode(X)

        # 2. Fix the guarantee, and charge it to the ledger.
        guarantee = replace(price, assumes=(COLUMNS, *product.assumes))
        charge(guarantee)

        # 3. Summarise the data into integers: a replaced record replaces one code of each column.
        ranks = [SortedCodes(codes) for codes in columns]

        # 4. Release, each column with its share.
        released = np.empty((len(fractions), len(ranks)))
        if fractions:
            share = ApproxDP(epsilon / len(ranks))
            for place, (each, domain) in enumerate(zip(ranks, product.domains, strict=True)):
                assert isinstance(domain, NumberDomain)  # `_declared` saw to it
                released[:, place] = release_quantiles(each, domain, fractions, privacy=share, dice=dice)

        # 5. Publish.
        self.guarantee_ = guarantee
        self._publish(released)

    def _context(self) -> tuple[object, ...]:
        others = self.get_params(deep=False)
        del others["ledger"], others["random_state"]
        return tuple(repr(item) for item in sorted(others.items()))

    def _numbers(self, X: Any) -> Numbers:
        """Return new records as floats."""
        check_is_fitted(self)
        X = read_features(self, X, domain=_declared(self.domain), reset=False)
        if not is_frame(X):
            return as_numbers(X, Floats()).astype(np.float64)
        columns = [as_numbers(frame_column(X, place), Floats()) for place in range(X.shape[1])]
        return np.column_stack(columns).astype(np.float64)

    def _transformed(self, X: Any, width: int) -> Numbers:
        """Return what `transform` gave, to be turned back."""
        check_is_fitted(self)
        rows: Numbers = check_array(X, dtype=np.float64)
        if rows.shape[1] != width:
            raise ValueError(f"X must have {width} columns, as transform gives, got {rows.shape[1]}")
        return rows


def _declared(domain: Any) -> Any:
    """Return what was declared of the columns; each must be a domain of numbers that floats can hold."""
    if isinstance(domain, (list, tuple)):
        domain = Product([as_number_domain(part) for part in domain])
    declared = domain if isinstance(domain, Product) else as_number_domain(domain)
    for part in getattr(declared, "domains", (declared,)):
        if not isinstance(part, NumberDomain) or part.accepts_missing or part.size > 1 << 64:
            raise ValueError(
                "domain must be 'float64', or of numbers that are not missing, at most 2**64 of them, for"
                f" every column, got {part!r}"
            )
    return declared


def check_range(name: str, value: Any, high: int | None = None) -> tuple[Fraction, Fraction]:
    """Return two rising numbers; from 0 to `high`, if that is given."""
    if not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"{name} must be a pair of rising numbers, got {value!r}")
    least = None if high is None else 0
    first, last = (check_number(name, end, low=least, high=high) for end in value)
    check_number(f"the second of {name}", last, above=first)
    return first, last


def placed(x: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Return how far each number is from `low` to `high`: 0 at and below the one, 1 at and above the other.

    All arrays broadcast together. Where the ends are equal, a number at them is at 0.
    """
    # No difference of quarters overflows; of small numbers, quarters would lose digits.
    unit = np.where(np.maximum(abs(low), abs(high)) > 1, 0.25, 1.0)
    inside = np.clip(x, low, high)
    width = high * unit - low * unit
    share: Numbers = (inside * unit - low * unit) / np.where(width > 0, width, 1)
    return np.where((width == 0) & (x > high), 1.0, np.minimum(share, 1.0))


def interpolate(x: Numbers, points: Numbers, heights: Numbers, side: str = "right") -> Numbers:
    """Return the heights between points that rise, level beyond both ends.

    Parameters
    ----------
    x : ndarray of any shape
        Numbers.
    points, heights : ndarray of shape (k,)
        Rising; points may be equal.
    side : {"left", "right"}, default="right"
        Whether a number at equal points has the first one's height or the last one's.
    """
    if len(points) == 1:
        return np.full(x.shape, heights[0])
    found = np.searchsorted(points, x, side="left" if side == "left" else "right")
    first = np.clip(found - 1, 0, len(points) - 2)
    share = placed(x, points[first], points[first + 1])
    # At equal points, where a number is at both ends, the side decides which counts.
    equal = (points[first] == points[first + 1]) & (x == points[first])
    share = np.where(equal, float(side == "right"), share)
    between: Numbers = (1 - share) * heights[first] + share * heights[first + 1]
    return between


def finite(x: Numbers) -> Numbers:
    """Return numbers with infinities moved to the largest finite ones."""
    return np.clip(x, -_LARGEST, _LARGEST)
