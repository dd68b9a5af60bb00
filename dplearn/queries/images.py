"""Queries about images of records: about the records that a released or public map makes from each record.

>>> import numpy as np
>>> from dplearn.queries.population_oracle import PopulationOracle
>>> from dplearn.queries.query import MeanQuery
>>> oracle = ImageOracle(PopulationOracle(np.array([3, 4])), lambda numbers: numbers**2)
>>> oracle.ask(MeanQuery(lambda squares: squares, low=0, high=16))[0].mean
12.5
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.queries.oracle import Answer, Oracle, Round, as_queries
from dplearn.queries.query import StatisticalQuery
from dplearn.queries.randomizers import LocalRandomizer

__all__ = ["ImageOracle", "ImageQuery"]

Image = Callable[[Any], Any]  # from records to as many records


class ImageQuery(StatisticalQuery):
    """A query about the images of records; its bounds and sensitivities are those of the query.

    Parameters
    ----------
    query : StatisticalQuery
        The query about images.
    image : callable
        Public or released. From records to as many records, each a function of its own record alone.
    """

    def __init__(self, query: StatisticalQuery, image: Image):
        super().__init__(lambda records: query.values(image(records)))
        self.size, self.unit = query.size, query.unit
        self.l1, self.squared_l2 = query.l1, query.squared_l2
        self.added_l1, self.added_squared_l2 = query.added_l1, query.added_squared_l2
        self.low, self.high = query.low, query.high
        self._query, self._image = query, image

    def __repr__(self) -> str:
        return f"ImageQuery({self._query!r})"

    def bounded(self, values: Any) -> NDArray[np.int64]:
        """Return values as integers within the bounds of the query."""
        return self._query.bounded(values)

    def total(self, records: Any) -> NDArray[np.int64]:
        """Return the exact totals over the images of all records."""
        return self._query.total(self._image(records))

    def randomizer(self, epsilon: Any, kind: str = "bit", n_reports: int = 1) -> LocalRandomizer:
        """Return the randomiser of the query."""
        return self._query.randomizer(epsilon, kind, n_reports)


class ImageOracle(Oracle):
    """Asks another oracle about images of its records.

    Parameters
    ----------
    oracle : Oracle
        The oracle, whose budget is used.
    image : callable
        As for `ImageQuery`.
    part : Fraction, default=1
        The part of the other oracle's budget that all shares of this one are shares of; in (0, 1].
    """

    def __init__(self, oracle: Oracle, image: Image, *, part: Fraction = Fraction(1)):
        self._oracle, self._image, self._part = oracle, image, part

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of the other oracle so far."""
        return self._oracle.rounds

    @property
    def left(self) -> Fraction:
        """The remaining part of the other oracle's budget, in the unit of the shares of this one."""
        return self._oracle.left / self._part

    def ask(
        self,
        queries: StatisticalQuery | Sequence[StatisticalQuery],
        share: Any = None,
        *,
        tolerance: Any = None,
        beta: Any = 0.05,
    ) -> list[Answer]:
        """Answer some queries about images together, in one round."""
        asked = [ImageQuery(query, self._image) for query in as_queries(queries)]
        given = share if share is None else Fraction(share) * self._part
        return self._oracle.ask(asked, given, tolerance=tolerance, beta=beta)
