"""Additive models of several labels of a record: their losses, and the sums for all of them in one query.

Each label has a loss, features and margins of its own. The residuals of all labels of a record form one
vector. Its norm varies less between records than a single residual does, and is much below the worst case.
The vector is shortened to a multiple of its root mean square norm, between .5 and 1.3, and the noise is for
this length: what shortening loses is less than what the smaller noise gains.

>>> import numpy as np
>>> from dplearn.learners.additive_losses import LogisticLoss
>>> loss = OutputsLoss([LogisticLoss(Fraction(1, 2))] * 4)
>>> loss.n_outputs, loss.reach  # of residuals of norm at most 1/2
(4, 4096)
>>> margins, y = np.zeros((1, 4), int), np.array([[0, 1, 1, 0]])
>>> (loss.residuals(margins, y) / 2**RESIDUAL_BITS).tolist()
[[-0.5, 0.5, 0.5, -0.5]]
>>> shorter = OutputsLoss(loss.outputs, reach=2048)
>>> (shorter.residuals(margins, y) / 2**RESIDUAL_BITS).tolist()
[[-0.25, 0.25, 0.25, -0.25]]
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.additive_losses import RESIDUAL_BITS, Base, Loss, shortened
from dplearn.learners.additive_queries import WEIGHT_BITS, Block, Rows, RowSums, residual_norm
from dplearn.queries import Answer, HistogramQuery, LabelledRows, Oracle, StatisticalQuery, VectorQuery

__all__ = ["OutputsLoss", "outputs_query", "slices_of"]

Integers = NDArray[np.int64]

# The squared norm to which the residuals of all labels are shortened: for the steps, and for the targets of
# the first sums. It is so many times the sum of the released variances of the labels, times 1 plus so many
# times one over the root of the number of labels: of few labels, norms vary more.
_OF_STEPS, _OF_TARGETS = 0.3, 0.8
_VARIED = 1.0


class OutputsLoss(Loss):
    """The losses of several labels of a record, whose residuals are shortened together.

    Parameters
    ----------
    losses : sequence of LogisticLoss or SoftmaxLoss
        Public, or released. The loss of each label.
    order : {1, 2}, default=2
        Public. The order of the norm of residuals. Of order 1, residuals are not shortened together.
    reach, target_reach : int, optional
        Public, or released. The greatest norms of the residuals of all labels, and of the targets. None, or
        more than the norm of the greatest ones of each: that norm.
    """

    def __init__(
        self,
        losses: Sequence[Loss],
        order: int = 2,
        reach: int | None = None,
        target_reach: int | None = None,
    ):
        self._losses, self._order = tuple(losses), order
        self.n_outputs = sum(each.n_outputs for each in losses)
        self.slices = slices_of([each.n_outputs for each in losses])
        self._whole = _norm([each.reach for each in losses], order)
        self._whole_target = _norm([each.target_reach for each in losses], order)
        self.reach = min(self._whole, reach or self._whole)
        self.target_reach = min(self._whole_target, target_reach or self._whole_target)
        self.most_target_reach = _norm([each.most_target_reach for each in losses], order)

    @property
    def outputs(self) -> tuple[Loss, ...]:
        """The loss of each label."""
        return self._losses

    @property
    def base_move(self) -> int:
        """The squared Euclidean distance by which a replaced record moves the first answers."""
        return sum(each.base_move for each in self.outputs)

    def ask_base(self, oracle: Oracle, share: Fraction) -> Base:
        """Ask for the histograms of all labels, in equal shares, and return the base of all."""
        asked = [_histogram(place, loss) for place, loss in enumerate(self.outputs)]
        answers = oracle.ask(asked, share)
        return self.joined([loss.base(answer) for loss, answer in zip(self.outputs, answers, strict=True)])

    def joined(self, bases: Sequence[Base]) -> Base:
        """Return the base of all labels, given that of each."""
        reaches: list[int | None] = [None, None]
        if self._order == 2:
            variance = float(sum(base.variance.sum() for base in bases))
            varied = variance * (1 + _VARIED / math.sqrt(len(bases)))
            reaches = [
                max(1, math.ceil(math.sqrt(times * varied) * (1 << RESIDUAL_BITS)))
                for times in (_OF_STEPS, _OF_TARGETS)
            ]
        loss = OutputsLoss([base.loss for base in bases], self._order, *reaches)
        return Base(
            loss,
            targets=np.concatenate([base.targets for base in bases]),
            curvature=np.concatenate([base.curvature for base in bases]),
            variance=np.concatenate([base.variance for base in bases]),
            step_curvature=np.concatenate([base.step_curvature for base in bases]),
            margins=np.concatenate([base.margins for base in bases]),
            bases=tuple(bases),
        )

    def base_query(self) -> StatisticalQuery:
        """Refuse: each label has a query of its own."""
        raise NotImplementedError

    def base(self, answer: Answer) -> Base:
        """Refuse: each label has an answer of its own."""
        raise NotImplementedError

    def targets(self, y: NDArray[Any]) -> Integers:
        """Return the targets of all labels, shortened together.

        Parameters
        ----------
        y : ndarray of int of shape (n, n_labels)
            Private. The code of each label.
        """
        found = [loss.targets(codes) for loss, codes in zip(self.outputs, y.T, strict=True)]
        return self._kept(np.concatenate(found, axis=1), self.target_reach, self._whole_target)

    def residuals(self, margins: Integers, y: NDArray[Any]) -> Integers:
        """Return the residuals of all labels, shortened together.

        Parameters
        ----------
        margins : ndarray of int64 of shape (n, n_outputs)
            Private. In units of 2**-MARGIN_BITS.
        y : ndarray of int of shape (n, n_labels)
            Private. The code of each label.
        """
        each = zip(self.outputs, self.slices, y.T, strict=True)
        found = [loss.residuals(margins[:, here], codes) for loss, here, codes in each]
        return self._kept(np.concatenate(found, axis=1), self.reach, self._whole)

    @staticmethod
    def _kept(residuals: Integers, reach: int, whole: int) -> Integers:
        return residuals if reach == whole else shortened(residuals, reach)


def outputs_query(
    rows: Sequence[Rows],
    residuals: Callable[[Sequence[Block]], Integers],
    sizes: Sequence[int],
    *,
    reach: int,
    bits: int,
) -> StatisticalQuery:
    """Return the query for the sums of residual times shortened row, of labels with rows of their own.

    Parameters
    ----------
    rows : sequence of Rows
        Released. The rows of each label, all shortened to the same integer norm, of the same order.
    residuals : callable
        From blocks of the same records, one for the rows of each label, to integers of shape (n, sum of
        sizes), in units of 2**-RESIDUAL_BITS, with norm at most `reach`.
    sizes : sequence of int
        Public. The number of residuals of each label.
    reach : int
        Public, or released.
    bits : int
        Public. The product of residual and shortening factor is rounded towards 0 to multiples of 2**-bits.

    Notes
    -----
    Let r_j be the residuals of label j, a_j its row and f_j <= 1 the shortening factor, so that f_j |a_j| is
    at most the norm R of shortened rows. The numbers p_j nearest to f_j r_j towards 0 are no longer than it:
    |p_j| |a_j| <= |r_j| R. The squares of these over all labels sum to at most R^2 sum_j |r_j|^2 <= (reach
    R)^2, and in norms of order 1 the numbers themselves to at most reach R.
    """
    first = rows[0]
    assert all((each.reach, each.order) == (first.reach, first.order) for each in rows)
    shift, ends = RESIDUAL_BITS + WEIGHT_BITS - bits, slices_of(sizes)

    def factors(blocks: Sequence[Block]) -> list[Integers]:
        given = residuals(blocks)
        products = [given[:, here] * block.weights[:, None] for here, block in zip(ends, blocks, strict=True)]
        return [_towards_zero(product, shift) for product in products]

    def total(records: LabelledRows) -> Integers:
        sums = [RowSums(each, size) for each, size in zip(rows, sizes, strict=True)]
        for blocks in zip(*(each.block(records).slices() for each in rows), strict=True):
            for found, block, given in zip(sums, blocks, factors(blocks), strict=True):
                found.add(block, given)
        return np.concatenate([found.total().ravel() for found in sums])

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


def slices_of(sizes: Sequence[int]) -> list[slice]:
    """Return consecutive places of the given numbers."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def _towards_zero(products: Integers, shift: int) -> Integers:
    """Return products / 2**shift, rounded towards 0."""
    return np.asarray(np.sign(products) * (np.abs(products) >> shift))


def _histogram(place: int, loss: Loss) -> StatisticalQuery:
    return HistogramQuery(lambda records: records.y[:, place], categories=max(2, loss.n_outputs))


def _norm(reaches: Sequence[int], order: int) -> int:
    """Return a bound on the norm of numbers of the given magnitudes."""
    return sum(reaches) if order == 1 else math.isqrt(sum(each**2 for each in reaches) - 1) + 1
