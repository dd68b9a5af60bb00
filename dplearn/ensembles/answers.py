"""Released answers of an ensemble, and the error that it raises when its queries are used up."""

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
        Released. Indices into the sorted labels; -1 for an abstention.
    counts : ndarray of int64 of shape (answered, n_labels)
        Released. Noisy counts of votes. If none are released: 1 for the answer, 0 for other labels, and a row
        of zeros for an abstention.
    """

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def without_counts(cls, codes: NDArray[np.int64], n_labels: int) -> Self:
        """Return answers without noisy counts."""
        return cls(codes, (codes[:, None] == np.arange(n_labels)).astype(np.int64))


class QueriesExhaustedError(RuntimeError):
    """Raised when an ensemble's budget does not cover the queries of a batch.

    Attributes
    ----------
    released : ndarray of shape (answered,)
        Released. The answers to the first queries of the batch; empty if the whole batch was refused.
    """

    def __init__(self, message: str, released: Any = ()):
        super().__init__(message)
        self.released = np.asarray(released)

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.released)
