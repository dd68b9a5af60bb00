"""The rows of records, and the sums over records that a fit asks for.

A record's row is the concatenation of a row for the cell of each column, of joint features of all columns, if
there are any, and of a constant. Long rows are multiplied by an integer factor that shortens them to a public
norm. A query asks for a sum over all records: of rows, of residual times row, of products of two numbers of a
row, or of residual times such products. All numbers are integers, and the norm bounds hold for them as they
are, after rounding.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels import blocks, norm_powers
from dplearn.kernels.kept_results import KeptResults
from dplearn.learners.additive.losses import MARGIN_BITS, RESIDUAL_BITS, Loss
from dplearn.learners.linear import moment_weights, upper_weights
from dplearn.queries import LabelledRows, Oracle, StatisticalQuery, VectorQuery

WEIGHT_BITS = 10  # bits of the factor that shortens a row

BLOCK = 1 << 14  # records that are summed at once, few enough for the cache
_FEW = 1 << 10  # the same, with many joint features each
_FAR = 1 << 20  # the greatest number in a table: squares of the norms of rows of 2**22 numbers fit 64 bits
_MOST_CODES = 1 << 13  # codes of several columns: a table of as many numbers fits the cache
_GREATEST = 1e6  # margins beyond are clipped
_SMALL = 1 << 30  # below it, sums and their differences fit 32 bits
_FINER = 8  # bits of the weight of a joint feature beyond those of a margin
_HEAVIEST = 1 << 28  # the greatest such weight: sums over at most 2**9 features are exact in floats

Integers = NDArray[np.int64]
Floats64 = NDArray[np.float64]


class RecordFeatures(Protocol):
    """Released joint features of all columns."""

    @property
    def size(self) -> int:
        """The number of features."""

    def of(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the features of records, each a function of its own record alone."""

    def margins(self, cells: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the features of records, not rounded, times weights of shape (size, k)."""


@dataclass(frozen=True)
class ColumnBundles:
    """Bundles of adjacent columns with few cells, the digits of a code, whose entries one lookup sums."""

    bundles: tuple[tuple[int, ...], ...]  # the numbers of cells of the columns of each bundle

    @cached_property
    def sizes(self) -> list[int]:
        return [int(np.prod(sizes)) for sizes in self.bundles]

    @cached_property
    def _slices(self) -> list[slice]:
        return slices_of([len(sizes) for sizes in self.bundles])

    def codes(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the code of each record in each bundle, narrow, so that more of them fit the cache."""
        found = []
        for sizes, columns in zip(self.bundles, self._slices, strict=True):
            codes = cells[:, columns.start]
            for place, size in zip(range(columns.start + 1, columns.stop), sizes[1:], strict=True):
                codes = codes.astype(np.int16) * np.int16(size)
                codes += cells[:, place].astype(np.int16, copy=False)
            found.append(codes)
        return found

    def added(self, tables: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return a table for each bundle, whose rows are sums of rows of the tables of its columns."""
        sums = []
        for columns in self._slices:
            total, *others = tables[columns]
            for table in others:
                total = (total[:, None] + table[None, :]).reshape(-1, *table.shape[1:])
            sums.append(total)
        return sums

    def split(self, sums: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        found: list[NDArray[Any]] = []
        for total, sizes in zip(sums, self.bundles, strict=True):
            by_cells, places = total.reshape(sizes), range(len(sizes))
            found += [by_cells.sum(axis=tuple(place for place in places if place != kept)) for kept in places]
        return found


def grouped(sizes: Sequence[int]) -> ColumnBundles:
    """Return adjacent columns in bundles with few codes, a column with more cells alone."""
    bundles: list[tuple[int, ...]] = []
    codes = 0
    for size in sizes:
        if bundles and codes * size <= _MOST_CODES:
            bundles[-1] = (*bundles[-1], size)
            codes *= size
        else:
            bundles.append((size,))
            codes = size
    return ColumnBundles(tuple(bundles))


@dataclass(frozen=True, eq=False)
class Block:
    """Private: consecutive records, and what their rows are computed from."""

    X: NDArray[Any]  # cells, of shape (n, d)
    y: NDArray[Any]  # codes of labels, or of targets
    joint: NDArray[np.int16]  # joint features, of shape (n, their number)
    weights: NDArray[np.int32]  # the factors that shorten rows, in units of 2**-WEIGHT_BITS
    _codes: dict[ColumnBundles, list[NDArray[Any]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.X)

    def slices(self, length: int = BLOCK) -> "Iterator[Block]":
        """Yield slices of the block that are small enough for the cache, with the codes that are known."""
        for here in blocks(len(self), length):
            # Lookups and counts take them as intp: converted once for both.
            known = {
                bundles: [each[here].astype(np.intp, copy=False) for each in codes]
                for bundles, codes in self._codes.items()
            }
            yield Block(self.X[here], self.y[here], self.joint[here], self.weights[here], known)

    def codes(self, bundles: ColumnBundles) -> list[NDArray[Any]]:
        """Return the codes of the cells of bundles, of shape (n,); kept for the next lookups."""
        if bundles not in self._codes:
            self._codes[bundles] = bundles.codes(self.X)
        return self._codes[bundles]

    def joint_floats(self) -> Iterator[tuple[slice, Floats64]]:
        """Yield places of records, and their joint features as floats, in memory that the next ones take."""
        floats = np.empty((min(_FEW, len(self)), self.joint.shape[1]))
        for here in blocks(len(self), _FEW):
            found = self.joint[here]
            floats[: len(found)] = found
            yield here, floats[: len(found)]


Margins = Callable[[Block], Integers]
Residuals = Callable[[Block], Integers]


@dataclass(frozen=True, eq=False)
class Rows:
    """The released tables from which rows are looked up, and the public norm to which rows are shortened."""

    tables: Sequence[Integers]  # for each column, of shape (cells, r)
    constant: int  # the last number of each row
    reach: int  # the greatest norm of a shortened row
    unit: float  # the value of one step of the integers
    order: int = 2  # of the norm
    joint: RecordFeatures | None = None
    _blocks: KeptResults = field(init=False)

    def __post_init__(self) -> None:
        # Of a copy: with a cycle, blocks would stay in memory until garbage is collected.
        object.__setattr__(self, "_blocks", KeptResults(copy(self)._block))

    @classmethod
    def of(
        cls,
        tables: Sequence[Floats64],
        *,
        constant: float,
        length: float,
        bits: int,
        order: int = 2,
    ) -> "Rows":
        """Return tables of floats as integers, in the unit in which `length` is 2**bits."""
        unit = length * 2.0**-bits
        # A positive constant stays positive.
        fixed = max(1, int(_whole(np.array(constant / unit)))) if constant else 0
        return cls([_whole(table / unit) for table in tables], fixed, 1 << bits, unit, order)

    @cached_property
    def bundles(self) -> ColumnBundles:
        """The columns that are looked up together."""
        return grouped([len(table) for table in self.tables])

    @cached_property
    def slices(self) -> list[slice]:
        """The places in a row of the numbers from each table."""
        return slices_of([table.shape[1] for table in self.tables])

    @cached_property
    def joint_slice(self) -> slice:
        """The places in a row of the joint features: after those from tables, and before the constant."""
        start = sum(int(table.shape[1]) for table in self.tables)
        return slice(start, start + (self.joint.size if self.joint else 0))

    @property
    def size(self) -> int:
        """The number of numbers in a row."""
        return int(self.joint_slice.stop) + 1

    @property
    def width(self) -> float:
        """The greatest norm of a shortened row, in units of 1."""
        return self.reach * self.unit

    def lengths(self, order: int | None = None) -> list[Integers]:
        """Return the norm, to the power of its order, by default `order`, of each row of each table."""
        return [norm_powers(table, order or self.order) for table in self.tables]

    def block(self, records: LabelledRows) -> Block:
        """Return the records with their joint features and factors; cached for the same object."""
        return self._blocks(records)

    def _block(self, records: LabelledRows) -> Block:
        n, lengths = len(records), self.bundles.added(self.lengths())
        joint = np.zeros((n, 0), dtype=np.int16) if self.joint is None else self.joint.of(records.X)
        block = Block(records.X, records.y, joint, np.empty(n, dtype=np.int32))
        block.codes(self.bundles)  # kept for all slices
        for few in block.slices():
            total = np.full(len(few), self.constant**self.order, dtype=np.int64)
            for here, floats in few.joint_floats() if self.joint else ():
                total[here] += norm_powers(floats, self.order).astype(np.int64)
            for each, codes in zip(lengths, few.codes(self.bundles), strict=True):
                total += each.take(codes, mode="clip")  # in range; this mode is faster
            few.weights[:] = self.shortened(total)  # a view of those of the block
        return block

    def shortened(self, lengths: Integers) -> NDArray[np.int32]:
        """Return the greatest factors k <= 2**WEIGHT_BITS for which k * norm <= reach * 2**WEIGHT_BITS."""
        # Of whole numbers a < 2**48 and b, neither a / b nor its root is so near below a whole number that
        # floats round it up to this number. Of larger b than floats represent, the factor is 0.
        quotients = (self.reach**self.order << (self.order * WEIGHT_BITS)) / np.maximum(lengths, 1)
        if self.order == 2:
            quotients = np.sqrt(quotients)
        return np.asarray(np.minimum(quotients, 1 << WEIGHT_BITS), dtype=np.int32)

    def of_records(self, records: LabelledRows) -> Integers:
        """Return the rows of records, not shortened, of shape (n, size)."""
        return self.of_block(self.block(records))

    def of_block(self, block: Block) -> Integers:
        """Return the rows of the records of a block, not shortened, of shape (n, size)."""
        rows = [table[cells] for table, cells in zip(self.tables, block.X.T, strict=True)]
        constant = np.full((len(block), 1), self.constant, dtype=np.int64)
        return np.concatenate([*rows, block.joint, constant], axis=1)

    def short(self, block: Block) -> Floats64:
        """Return the shortened rows of the records of a block, in integers, without the constant."""
        rows = np.empty((self.size - 1, len(block)), dtype=np.int32)
        for table, here, cells in zip(self.tables, self.slices, block.X.T, strict=True):
            rows[here] = table.astype(np.int32).T.take(cells, axis=1)
        rows[self.joint_slice] = block.joint.T
        rows *= block.weights  # numbers are at most _FAR before, and at most the reach after it
        near = rows + np.int32(1 << (WEIGHT_BITS - 1))
        near >>= WEIGHT_BITS
        short = near.astype(np.float64)
        longer = np.einsum("ij,ij->j", short, short) > self.reach**2
        if longer.any():
            far = rows[:, longer]
            short[:, longer] = np.sign(far) * (np.abs(far) >> WEIGHT_BITS)
        return short.T


def margins_of(effects: Sequence[Floats64], intercept: Floats64, joint: Floats64 | None = None) -> Margins:
    """Return the margins of records under released effects, as sums of integers."""
    first, bundles = _in_steps(intercept), grouped([len(each) for each in effects])
    tables = bundles.added([_in_steps(each) for each in effects])
    if sum(int(np.abs(each).max()) for each in [first, *tables]) < _SMALL:
        first, tables = first.astype(np.int32), [each.astype(np.int32) for each in tables]
    finer = 2.0 ** (MARGIN_BITS + _FINER)
    heavy = None if joint is None else np.rint(joint * finer).clip(-_HEAVIEST, _HEAVIEST)

    def margins(block: Block) -> Integers:
        total = np.full((len(block), len(first)), first, dtype=first.dtype)
        for table, codes in zip(tables, block.codes(bundles), strict=True):
            total += table.take(codes, axis=0, mode="clip")  # codes are in range; this mode is faster
        if heavy is not None and len(heavy):
            more = np.empty(total.shape, dtype=np.int64)
            for here, floats in block.joint_floats():
                more[here] = (floats @ heavy).astype(np.int64) >> _FINER
            total = total + more
        return total

    return margins


def mass_query(rows: Rows) -> StatisticalQuery:
    """Return the query for the sum of all rows, not shortened; the constant is left out.

    **Privacy.** A replaced record moves each column's part by at most the greatest distance of two rows of
    its table, and an added one by at most the greatest norm of a row, `norm`, rounded up.
    """
    norm = math.isqrt(max(0, sum(int(norm_powers(table, 2).max()) for table in rows.tables) - 1)) + 1

    def total(records: LabelledRows) -> Integers:
        each = zip(rows.bundles.codes(records.X), rows.bundles.sizes, strict=True)
        counts = rows.bundles.split([np.bincount(codes, minlength=size) for codes, size in each])
        return np.concatenate([table.T @ count for table, count in zip(rows.tables, counts, strict=True)])

    return VectorQuery(
        lambda records: rows.of_records(records)[:, :-1],
        size=rows.size - 1,
        norm=norm,
        unit=Fraction(1, rows.reach),
        total=total,
        squared_l2=max(1, _moves(rows.tables, 2)),
        l1=max(1, _moves(rows.tables, 1)),
        added_l1=max(1, sum(int(norm_powers(table, 1).max()) for table in rows.tables)),
    )


def residual_norm(reach: int, row_reach: int, bits: int) -> int:
    """Return the bound on the norm of residual times row in `residual_query`."""
    return -((-reach * row_reach) >> (RESIDUAL_BITS - bits))


def residual_query(
    rows: Rows, residuals: Residuals, *, n_outputs: int, reach: int, bits: int
) -> StatisticalQuery:
    """Return the query for the sum of residual times shortened row; their product has so many `bits`.

    **Privacy.** With the residual |r| <= reach and the factor f |row| <= rows.reach, f r is rounded towards 0
    where the nearest integers are longer than f reach. So a product has norm at most reach * rows.reach, and
    two are at most twice that apart.
    """
    shift = RESIDUAL_BITS + WEIGHT_BITS - bits

    def factors(block: Block) -> Integers:
        products, longest = residuals(block) * block.weights[:, None], (reach * block.weights) >> shift
        return _rounded(products, shift, longest, rows.order)

    def total(records: LabelledRows) -> Integers:
        return _total(records, [rows], lambda blocks: [factors(blocks[0])], [n_outputs])

    def each(records: LabelledRows) -> Integers:
        given = factors(rows.block(records))
        products = rows.of_records(records)[:, :, None] * given[:, None, :]
        return products.reshape(len(records), -1)

    norm = residual_norm(reach, rows.reach, bits)
    return VectorQuery(
        each,
        size=rows.size * n_outputs,
        norm=norm,
        unit=Fraction(1, rows.reach << bits),
        total=total,
        l1=2 * norm if rows.order == 1 else None,
        added_l1=norm if rows.order == 1 else None,
    )


def outputs_query(
    rows: Sequence[Rows],
    residuals: Callable[[Sequence[Block]], Integers],
    sizes: Sequence[int],
    *,
    reach: int,
    bits: int,
) -> StatisticalQuery:
    """Return the query for the sums of residual times shortened row, of labels with rows of their own.

    **Privacy.** With residuals r_j, rows a_j and factors f_j |a_j| <= R, the numbers p_j next to f_j r_j
    towards 0 have |p_j| |a_j| <= |r_j| R. Their squares sum to at most R^2 sum_j |r_j|^2 <= (reach R)^2; in
    norms of order 1 they sum to at most reach R.
    """
    first = rows[0]
    assert all((each.reach, each.order) == (first.reach, first.order) for each in rows)
    shift, ends = RESIDUAL_BITS + WEIGHT_BITS - bits, slices_of(sizes)

    def factors(blocks: Sequence[Block]) -> list[Integers]:
        given = residuals(blocks)
        products = [given[:, here] * block.weights[:, None] for here, block in zip(ends, blocks, strict=True)]
        return [_towards_zero(product, shift) for product in products]

    def total(records: LabelledRows) -> Integers:
        return _total(records, rows, factors, sizes)

    def each(records: LabelledRows) -> Integers:
        blocks = [one.block(records) for one in rows]
        products = [
            (one.of_block(block)[:, :, None] * given[:, None, :]).reshape(len(records), -1)
            for one, block, given in zip(rows, blocks, factors(blocks), strict=True)
        ]
        return np.concatenate(products, axis=1)

    norm = residual_norm(reach, first.reach, bits)
    return VectorQuery(
        each,
        size=sum(one.size * size for one, size in zip(rows, sizes, strict=True)),
        norm=norm,
        unit=Fraction(1, first.reach << bits),
        total=total,
        l1=2 * norm if first.order == 1 else None,
    )


def moment_query(rows: Rows) -> StatisticalQuery:
    """Return the query for second moments: the products of numbers i <= j of a shortened row.

    **Privacy.** For rows v, w of norm at most R, |vv' - ww'|^2 = |v|^4 + |w|^4 - 2 (v w)^2 <= 2 R^4. With the
    weights 5 and 7 of `moment_weights` the triangle's norm is at most 5 times that of the matrix, and the
    inner product, half of 49 (v w)^2 + sum v_i^2 w_i^2, is still nonnegative. An added record moves the sums
    by at most 5 R^2.
    """
    d = rows.size - 1
    upper = np.triu_indices(d)
    weights = upper_weights(2, d)
    norm = moment_weights(2)[0] * rows.reach**2

    def total(records: LabelledRows) -> Integers:
        moments = np.zeros((d, d), dtype=np.int64)
        for block in rows.block(records).slices():
            short = rows.short(block)
            moments += (short.T @ short).astype(np.int64)
        return moments[upper] * weights

    def each(records: LabelledRows) -> Integers:
        return _products(rows.short(rows.block(records)), upper).astype(np.int64) * weights

    return VectorQuery(
        each,
        size=len(weights),
        norm=norm,
        unit=Fraction(1, rows.reach**2),
        total=total,
        squared_l2=2 * norm**2,
    )


def pair_norm(reach: int, row_reach: int, bits: int, d: int) -> int:
    """Return the bound on the norm of residual times products in `pair_query`, for rows of d numbers."""
    square = reach**2 * row_reach**4 * (d - 1)  # times 2 d, in units of the rounded residuals
    return math.isqrt((square - 1) // (2 * d << (2 * (RESIDUAL_BITS - bits)))) + 1


def pair_query(
    rows: Rows, residuals: Residuals, *, n_outputs: int, reach: int, bits: int
) -> StatisticalQuery:
    """Return the query for residual times the products of numbers i < j of a shortened row.

    **Privacy.** The squares of v_i v_j for i < j sum to (|v|^4 - sum v_i^4) / 2 <= R^4 (1 - 1 / d) / 2, for a
    row v of d numbers and norm at most R, since sum v_i^4 >= |v|^4 / d. Residuals are rounded towards 0, and
    not longer than reach.
    """
    d, shift = rows.size - 1, RESIDUAL_BITS - bits
    upper = np.triu_indices(d, 1)
    norm = pair_norm(reach, rows.reach, bits, d)

    def rounded(block: Block) -> Integers:
        return _towards_zero(residuals(block), shift)

    def total(records: LabelledRows) -> Integers:
        sums = np.zeros((n_outputs, d, d), dtype=np.int64)
        for block in rows.block(records).slices():
            short = rows.short(block)
            for place, factors in enumerate(rounded(block).T):
                sums[place] += ((short * factors[:, None]).T @ short).astype(np.int64)
        return sums[:, *upper].ravel()

    def each(records: LabelledRows) -> Integers:
        block = rows.block(records)
        products = _products(rows.short(block), upper).astype(np.int64)
        return (rounded(block)[:, :, None] * products[:, None, :]).reshape(len(block), -1)

    unit = Fraction(1, rows.reach**2 << bits)
    return VectorQuery(each, size=n_outputs * len(upper[0]), norm=norm, unit=unit, total=total)


def residuals_at(loss: Loss, margins: Margins) -> Residuals:
    return lambda block: loss.residuals(margins(block), block.y)


def ask_gradients(
    oracle: Oracle,
    loss: Loss,
    points: Sequence[tuple[Rows, Floats64]],
    *,
    bits: int,
    share: Fraction,
) -> list[tuple[Floats64, float]]:
    """Return the noisy mean gradient of each output at (rows, weights), and the variance of its noise."""
    margins = []
    for rows, weights in points:
        tables = zip(rows.tables, rows.slices, strict=True)
        effects = [(table * rows.unit) @ weights[here] for table, here in tables]
        constant, joint = weights[-1] * rows.constant * rows.unit, weights[rows.joint_slice] * rows.unit
        margins.append(margins_of(effects, constant, joint))
    rows_of, sizes = [rows for rows, _ in points], [weights.shape[1] for _, weights in points]
    if len(points) == 1:
        given = residuals_at(loss, margins[0])
        query = residual_query(rows_of[0], given, n_outputs=sizes[0], reach=loss.reach, bits=bits)
    else:

        def residuals(blocks: Sequence[Block]) -> Integers:
            found = [each(block) for each, block in zip(margins, blocks, strict=True)]
            return loss.residuals(np.concatenate(found, axis=1), blocks[0].y)

        query = outputs_query(rows_of, residuals, sizes, reach=loss.reach, bits=bits)
    answer = oracle.ask(query, share)[0]
    ends = slices_of([rows.size * size for rows, size in zip(rows_of, sizes, strict=True)])
    return [
        (answer.means[here].reshape(rows.size, size) * rows.width, answer.noise_variance * rows.width**2)
        for here, rows, size in zip(ends, rows_of, sizes, strict=True)
    ]


class _Sums:
    """Sums over blocks of records of row times factor, below 2**20: those of a block are exact in floats."""

    def __init__(self, rows: Rows, n_outputs: int):
        self._rows, self._n_outputs = rows, n_outputs
        self._by_code = [np.zeros((n_outputs, size)) for size in rows.bundles.sizes]
        self._joint = np.zeros((rows.joint_slice.stop - rows.joint_slice.start, n_outputs), dtype=np.int64)
        self._constant = np.zeros(n_outputs)

    def add(self, block: Block, factors: Integers) -> None:
        columns = np.ascontiguousarray(factors.T, dtype=np.float64)
        self._constant += columns.sum(axis=1)
        if self._rows.joint:
            for here, floats in block.joint_floats():
                self._joint += (floats.T @ columns[:, here].T).astype(np.int64)
        for sums, codes in zip(self._by_code, block.codes(self._rows.bundles), strict=True):
            for each, column in zip(sums, columns, strict=True):
                each += np.bincount(codes, weights=column, minlength=len(each))

    def total(self) -> Integers:
        """Return the sums, of shape (size, n_outputs)."""
        rows = self._rows
        by_cell = [
            rows.bundles.split([sums[out] for sums in self._by_code]) for out in range(self._n_outputs)
        ]
        columns = [
            table.T @ np.stack(sums, axis=1).astype(np.int64)
            for table, *sums in zip(rows.tables, *by_cell, strict=True)
        ]
        constant = rows.constant * self._constant.astype(np.int64)[None, :]
        return np.concatenate([*columns, self._joint, constant])


def _products(rows: Floats64, pairs: tuple[NDArray[np.intp], ...]) -> Floats64:
    """Return the products of two numbers of each row, for each pair of places."""
    return rows[:, pairs[0]] * rows[:, pairs[1]]


def _whole(values: Floats64) -> Integers:
    """Return the nearest integers within -_FAR.._FAR, 0 for NaN: no norm overflows, whatever was released."""
    near = np.rint(np.nan_to_num(values, nan=0.0).clip(-_FAR, _FAR))
    return np.asarray(near, dtype=np.int64)


def _moves(tables: Sequence[Integers], order: int) -> int:
    """Return the sum over tables of the greatest distance of two rows, computed once for equal tables."""
    widest: dict[Any, int] = {}
    total = 0
    for table in tables:
        key = table.shape, table.tobytes()
        if key not in widest:
            widest[key] = _widest(table, order)
        total += widest[key]
    return total


def _widest(table: Integers, order: int) -> int:
    """Return the greatest distance of two rows of a table: L1, or squared Euclidean."""
    if order == 2:
        floats = table.astype(np.float64)
        products = (floats @ floats.T).astype(np.int64)  # exact: below 2**53
        squares = np.diag(products)
        return int((squares[:, None] + squares[None, :] - 2 * products).max())
    return max(int(np.abs(table - row).sum(axis=1).max()) for row in table)


def _rounded(products: Integers, shift: int, longest: Integers | int, order: int) -> Integers:
    """Return products / 2**shift, rounded to nearest, or towards 0 in rows else longer than `longest`."""
    near = (products + (1 << (shift - 1))) >> shift
    if near.shape[1] == 1:
        longer = np.abs(near[:, 0]) > longest
    else:
        longer = norm_powers(near, order) > longest**order
    if longer.any():
        far = products[longer]
        near[longer] = _towards_zero(far, shift)
    return near


def _towards_zero(products: Integers, shift: int) -> Integers:
    return np.asarray(np.sign(products) * (np.abs(products) >> shift))


def _total(
    records: LabelledRows,
    rows: Sequence[Rows],
    factors: Callable[[Sequence[Block]], Sequence[Integers]],
    sizes: Sequence[int],
) -> Integers:
    """Return the sums of row times factor, for rows of several outputs that have so many factors each."""
    sums = [_Sums(each, size) for each, size in zip(rows, sizes, strict=True)]
    few = max(_FEW, BLOCK // sum(sizes))  # factors of many outputs fit the cache, too
    for together in zip(*(each.block(records).slices() for each in rows), strict=True):
        parts = [factors(each) for each in zip(*(block.slices(few) for block in together), strict=True)]
        for found, block, given in zip(sums, together, zip(*parts, strict=True), strict=True):
            found.add(block, np.concatenate(given))
    return np.concatenate([found.total().ravel() for found in sums])


def _in_steps(values: Floats64) -> Integers:
    return np.rint(values.clip(-_GREATEST, _GREATEST) * 2.0**MARGIN_BITS).astype(np.int64)


def slices_of(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]
