"""Discretise each column into bins between private quantiles."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_choice, check_count
from dplearn.preprocessing.number_columns import Numbers
from dplearn.preprocessing.quantile_columns import QuantilesOfColumns, check_percents
from dplearn.privacy import PrivacyLedger

__all__ = ["PrivateKBinsDiscretizer"]


class PrivateKBinsDiscretizer(QuantilesOfColumns):
    """Replace each number with its bin between private quantiles, or between equidistant cuts.

    Parameters
    ----------
    n_bins : int, default=4
        Number of bins of each column, at least 2. The first and the last bin are unbounded.
    encode : {"onehot", "onehot-dense", "ordinal"}, default="onehot"
        A column of zeros and ones for each bin, in a sparse matrix or in an array; or the bin's number.
        `set_output` requires one of the latter two.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins with equal numbers of records, or bins of equal width between the two quantiles of
        `quantile_range`.
    quantile_range : pair of float, default=(1.0, 99.0)
        The two quantiles for "uniform", in percent.
    epsilon : float, default=1.0
        Privacy budget of one fit, divided evenly over the columns; at least 1e-9. A float stands for its
        shortest decimal: 0.1 is 1/10.
    domain : "float64", NumberDomain, sequence of them, Product or Schema, default="float64"
        The possible values, known without looking at the data: one domain for all columns, or one for each.
        "float64": all finite floats. Columns of a data frame that a Schema does not name are dropped.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

    Attributes
    ----------
    cuts_ : ndarray of float64 of shape (n_bins - 1, n_features)
        Released. The boundaries between bins, ascending; a number at a cut is in the bin above it. A bin
        between equal cuts is empty.
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.theory.quantile_errors : Bounds on the rank errors of quantiles.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** The rank errors are `quantile_errors` at epsilon / n_features; see the result of
    `plan(n_samples, n_features=...)`.

    **Source.** As for `dplearn.releases.quantiles`.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.preprocessing import PrivateKBinsDiscretizer
    >>> X = np.arange(4000.0)[:, None]
    >>> binned = PrivateKBinsDiscretizer(n_bins=4, encode="ordinal", random_state=0).fit(X)
    >>> binned.transform([[-1e9], [1500.0], [2500.0], [1e9]]).ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        n_bins: int = 4,
        *,
        encode: str = "onehot",
        strategy: str = "quantile",
        quantile_range: Any = (1.0, 99.0),
        epsilon: float = 1.0,
        domain: Any = "float64",
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.n_bins = n_bins
        self.encode = encode
        self.strategy = strategy
        self.quantile_range = quantile_range
        self.epsilon = epsilon
        self.domain = domain
        self.ledger = ledger
        self.random_state = random_state

    def _fractions(self) -> list[Fraction]:
        check_choice("encode", self.encode, ("onehot", "onehot-dense", "ordinal"))
        check_choice("strategy", self.strategy, ("quantile", "uniform"))
        bins = check_count("n_bins", self.n_bins, low=2)
        ends = list(check_percents("quantile_range", self.quantile_range))
        return ends if self.strategy == "uniform" else [Fraction(i, bins) for i in range(1, bins)]

    def _publish_quantiles(self, released: Numbers) -> None:
        if self.strategy == "uniform":
            share = np.arange(1, self.n_bins)[:, None] / self.n_bins
            released = np.sort((1 - share) * released[0] + share * released[1], axis=0)
        self.cuts_ = released

    def transform(self, X: Any) -> Any:
        """Return the bin of each number.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, or CSR matrix
            Of shape (n_samples, n_features) with encode="ordinal"; else (n_samples, n_features * n_bins).
        """
        numbers = self._numbers(X)
        pairs = zip(self.cuts_.T, numbers.T, strict=True)
        bins = np.column_stack([np.searchsorted(cuts, column, side="right") for cuts, column in pairs])
        if self.encode == "ordinal":
            return bins.astype(np.float64)
        n, d = bins.shape
        columns = (bins + self.n_bins * np.arange(d)).ravel()
        shape = (n, d * self.n_bins)
        marked = csr_matrix((np.ones(n * d), columns, np.arange(0, n * d + 1, d)), shape=shape)
        return marked if self.encode == "onehot" else marked.toarray()

    def inverse_transform(self, X: Any) -> Numbers:
        """Return the middle of each bin; for the first and the last bin, their cut.

        Parameters
        ----------
        X : array-like or sparse matrix
            The result of `transform`.

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        d = self._n_columns
        dense: Any = X  # issparse narrows to a type without its methods
        dense = dense.toarray() if issparse(X) else dense
        rows = self._transformed(dense, len(self.get_feature_names_out()))
        if self.encode == "ordinal":
            bins = np.clip(rows, 0, self.n_bins - 1).astype(np.intp)
        else:
            bins = rows.reshape(len(rows), d, self.n_bins).argmax(axis=2)
        middles = np.vstack([self.cuts_[:1], self.cuts_[:-1] / 2 + self.cuts_[1:] / 2, self.cuts_[-1:]])
        inverse: Numbers = middles[bins, np.arange(d)]
        return inverse

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns; for one-hot encodings followed by `_` and the bin's number.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the input's columns.
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        if self.encode == "ordinal":
            return names
        return np.array([f"{name}_{i}" for name in names for i in range(self.n_bins)], dtype=object)
