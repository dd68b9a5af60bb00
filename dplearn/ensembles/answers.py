"""What an ensemble releases, and the error that says that it will release no more."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Answers", "QueriesExhaustedError"]


@dataclass(frozen=True)
class Answers:
    """Released answers to queries, in order.

    Attributes
    ----------
    codes : ndarray of int64 of shape (answered,)
        Released. Places in the sorted set of labels; -1 where a query was declined.
    counts : ndarray of int64 of shape (answered, n_labels)
        Released. Noisy counts of votes; a single vote for the answer where no counts are released, and
        none for a declined query.
    """

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def without_counts(cls, codes: NDArray[np.int64], n_labels: int) -> Self:
        """Return answers of which no counts are released."""
        return cls(codes, (codes[:, None] == np.arange(n_labels)).astype(np.int64))


class QueriesExhaustedError(RuntimeError):
    """No more queries can be answered for the privacy that was paid.

    Attributes
    ----------
    released : ndarray of shape (answered,)
        Released. Labels that were answered before, of the first queries of the batch; empty if the batch
        was refused as a whole.
    """

    def __init__(self, message: str, released: Any = ()):
        super().__init__(message)
        self.released = np.asarray(released)

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.released)
