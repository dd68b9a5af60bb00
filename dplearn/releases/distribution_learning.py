"""Distribution learning from released query answers, by a linear program."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

__all__ = ["LearnedDistribution", "learned_distribution"]

_NO_ANSWER = "queries and answers must be finite numbers, and queries lie between 0 and 1"


@dataclass(frozen=True)
class LearnedDistribution:
    """A distribution over finitely many values.

    Attributes
    ----------
    weights : ndarray of float64 of shape (n_values,)
        The probability of each value.
    discrepancy : float
        The greatest absolute difference between a released answer and that of the distribution.
    """

    weights: NDArray[np.float64]
    discrepancy: float


def learned_distribution(queries: Any, answers: Any) -> LearnedDistribution:
    """Return the distribution whose query answers are nearest to the released ones; costs no privacy.

    Parameters
    ----------
    queries : array-like or sparse matrix of float of shape (n_queries, n_values)
        Public. Value of each query on each value of the domain, from 0 to 1; the answer to a query is its
        mean over the records.
    answers : array-like of float of shape (n_queries,)
        Released. Answers of any mechanism; they may be inconsistent.

    Returns
    -------
    LearnedDistribution

    Raises
    ------
    ValueError
        If the shapes do not match, or a number is not as described.

    Notes
    -----
    **Accuracy.** If each answer is within alpha of the records' mean, the discrepancy is at most alpha, since
    the empirical distribution of the records attains this; so each answer of the learned distribution is
    within 2 alpha of the records' mean. For independent records, the records' means are within some a of the
    means of the population, which `generalisation_failure` or, for all thresholds, `dkw_bound` bounds; the
    total error is at most 2 alpha + a.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 4.8; Dwork, Naor, Reingold, Rothblum and
    Vadhan (2009). Here the discrepancy is minimised, so that alpha need not be known.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.releases import learned_distribution
    >>> at_most = np.tri(4)  # query i: the fraction of records that are at most i
    >>> learned = learned_distribution(at_most, [0.1, 0.4, 0.38, 1.0])  # noisy answers, not monotone
    >>> round(learned.discrepancy, 4), bool(learned.weights[2] < 1e-9)
    (0.01, True)
    """
    rows, wanted = csr_array(queries, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if wanted.shape != rows.shape[:1] or not rows.shape[1] or not wanted.size:
        raise ValueError(
            f"answers must have shape (n_queries,) where queries have shape (n_queries, n_values), got"
            f" {wanted.shape} and {rows.shape}"
        )
    inside = np.isfinite(rows.data).all() and (rows.data >= 0).all() and (rows.data <= 1).all()
    if not inside or not np.isfinite(wanted).all():
        raise ValueError(_NO_ANSWER)
    # Minimise t over weights w >= 0 of sum 1, where -t <= Q w - answers <= t.
    apart = csr_array(np.full((wanted.size, 1), -1.0))
    bounds: Any = vstack([hstack([rows, apart]), hstack([-rows, apart])])  # the type stubs lack sparse arrays
    n_values = rows.shape[1]
    found = linprog(
        np.append(np.zeros(n_values), 1.0),
        A_ub=bounds,
        b_ub=np.concatenate((wanted, -wanted)),
        A_eq=np.append(np.ones(n_values), 0.0)[None],
        b_eq=[1.0],
        method="highs",
    )
    if found.x is None:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    weights = np.maximum(found.x[:-1], 0.0)
    weights /= weights.sum()
    return LearnedDistribution(weights, float(np.abs(rows @ weights - wanted).max()))
