"""Public bins of columns: the bin of a value is a function of the value and its domain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import shown
from dplearn.concepts.base import denied, literal
from dplearn.domains import Bits, Domain, Floats, Product
from dplearn.kernels import CodePlaces, blocks
from dplearn.kernels.intervals import first_codes
from dplearn.table import Columns

Floats64 = NDArray[np.float64]

#: The most bins of a column; unordered values share bins if there are more.
MOST_BINS = 1 << 12

#: The warning of learners that read undeclared numbers as they are; it depends on parameters only.
UNDECLARED = (
    "domain is None: numbers are read as they are, and columns of magnitudes far from 1 can make the fit"
    " useless; declare bounds, such as domain=Grid(0, 100, outside='clip') or a Schema, or"
    " take domain='learn'"
)
_LEAST_EXPONENT = 8  # float magnitudes below 2**-8 become 0, and those above 2**16 become 2**16
_BLOCK = 1 << 14  # records at once
_FINE = 16  # from this n_bins on, each power of two has two bins, from twice this four


@dataclass(frozen=True)
class Bins:
    """The bins of one column: runs of `width` codes of `kept`, or, for width 0, codes equal modulo `size`;
    and one for a missing value.
    """

    domain: Domain
    kept: Domain
    width: int
    size: int

    @property
    def ordered(self) -> bool:
        """Whether adjacent bins contain adjacent values."""
        return self.domain.ordered

    @property
    def first(self) -> int:
        """The first bin in the order: 1 if bin 0 is the bin of missing values, else 0."""
        return int(self.kept.ordered and self.kept.accepts_missing)

    def of(self, codes: NDArray[Any]) -> NDArray[np.int32]:
        """Return the bin of each value; `size` for a code outside the domain."""
        if isinstance(self.domain, Floats) and isinstance(self.kept, Floats) and self.kept != self.domain:
            codes = _kept_codes(self.domain, self.kept)(codes)
        if self.width and self.first:
            return np.where(codes == 0, 0, (codes - 1) // self.width + 1).astype(np.int32)
        if self.width:
            return np.asarray(codes // self.width, dtype=np.int32)
        return np.where(codes == self.domain.size, self.size, codes % self.size).astype(np.int32)

    def describe(self, name: str, allowed: Sequence[bool]) -> str:
        """Return the condition that a value is in an allowed bin, as text."""
        if isinstance(self.domain, Bits):
            return literal(name, 0, Product([self.domain]), positive=bool(allowed[1]))
        if self.ordered:
            return self._range(name, allowed)
        places = [place for place, each in enumerate(allowed) if each]
        if not self.width:
            return f"{name} is in group {' or '.join(map(str, places))} of {self.size}"
        if 2 * len(places) > self.size:
            others = sorted(set(range(self.size)) - set(places))
            return " and ".join(denied(name, self.kept.describe_test(place)) for place in others)
        words = " or ".join(f"{name} {self.kept.describe_test(place)}" for place in places)
        return words if len(places) == 1 else f"({words})"

    def _range(self, name: str, allowed: Sequence[bool]) -> str:
        """Return the condition for an ordered domain: a range, and whether the value may be missing."""
        numbers = [place for place in range(self.first, self.size) if allowed[place]]
        if not numbers:
            return f"{name} is missing"
        words = []
        if numbers[0] > self.first:
            words.append(denied(name, self._at_most(numbers[0] - 1)))
        if numbers[-1] < self.size - 1:
            words.append(f"{name} {self._at_most(numbers[-1])}")
        if self.first and not allowed[0]:
            words.append(f"{name} is not missing")
        text = " and ".join(words)
        return f"({name} is missing or {text})" if self.first and allowed[0] else text

    def _at_most(self, place: int) -> str:
        last = (place + 1 - self.first) * self.width - 1 + self.first
        return self.kept.describe_test(last).removesuffix(" (or missing)")


def binned(domain: Domain, n_bins: int, most: int = MOST_BINS) -> Bins:
    """Return the bins of a column: of equal width, at most `n_bins`; of unbounded floats between powers of
    two; or one of each value, at most `most`, which are shared if there are too many.
    """
    if isinstance(domain, Floats):
        kept = _coarser(domain, n_bins, most)
        return Bins(domain, kept, 1, kept.size)
    if not domain.ordered:
        return Bins(domain, domain, int(domain.size <= most), min(domain.size, most))
    gap = int(domain.accepts_missing)
    numbers = domain.size - gap
    width = -(-numbers // min(n_bins, most - gap))
    return Bins(domain, domain, width, -(-numbers // width) + gap)


def declared_columns(domain: Any, default: Domain) -> Domain | Product:
    """Return the domain of all columns, or the product of their domains; `default` if `domain` is None."""
    if isinstance(domain, (list, tuple)):
        return Product(domain)
    if domain is not None and not isinstance(domain, (Domain, Product)):
        raise TypeError(
            f"domain must be a Domain, a sequence of them, a Product or a Schema, got {shown(domain)}"
        )
    return default if domain is None else domain


def stacked(bins: Sequence[Any], columns: Columns) -> NDArray[np.int16]:
    """Return the bins of a table, of shape (n, d) and column by column in memory, from its codes."""
    found = np.empty((len(columns), len(bins)), dtype=np.int16, order="F")
    for here, block in columns.blocks(_BLOCK):
        for place, (each, codes) in enumerate(zip(bins, block, strict=True)):
            found[here, place] = each.of(codes)
    return found


def with_unknown(effects: Floats64) -> Floats64:
    """Return the effects of bins, and after them that of a value in no bin, which is 0."""
    return np.concatenate([effects, np.zeros_like(effects[:1])])


def summed(first: Floats64, tables: Sequence[Floats64], columns: Any) -> Floats64:
    """Return `first` plus the effects of each row's bins, of shape (n, k); 0 for a value in no bin."""
    total = np.empty((len(columns[0]), len(first)))
    each = [with_unknown(table.reshape(len(table), -1)) for table in tables]
    for here in blocks(len(total), _BLOCK):
        total[here] = first
        for table, places in zip(each, columns, strict=True):
            total[here] += table.take(places[here], axis=0, mode="clip")
    return total


@lru_cache(maxsize=256)
def _kept_codes(domain: Floats, kept: Floats) -> CodePlaces:
    """Return the function from codes of floats to codes of the same floats in a coarser domain."""

    def kept_codes(codes: NDArray[np.uint64]) -> NDArray[Any]:
        return kept.encode(domain.decode(codes))

    return CodePlaces(first_codes(kept_codes, kept.size, domain.size), domain.size)


@lru_cache(maxsize=256)
def _coarser(domain: Floats, n_bins: int, most: int) -> Floats:
    """Return a domain of at most `most` of these floats, on a nonuniform grid of powers of two about 1."""
    digits = (n_bins >= _FINE) + (n_bins >= 2 * _FINE)
    # Exponents from -r to 2 r, 2**digits bins each, on both sides of 0: at most 2 (3 r 2**digits + 1) + 2.
    reach = min(_LEAST_EXPONENT, max(0, most - 4) // (6 << digits))
    smallest = min(max(2.0**-reach, domain.smallest), domain.largest)
    largest = max(min(4.0**reach, domain.largest), smallest)
    bits = min(digits, domain.significand_bits)
    return replace(domain, significand_bits=bits, smallest=smallest, largest=largest)
