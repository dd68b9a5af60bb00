"""Private principal components, from noisy second moments of rows of bounded norm."""

from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from dplearn._documented import documented_by
from dplearn._validation import check_count, check_number
from dplearn.estimator.recipe import FitFacts
from dplearn.kernels import float_blocks
from dplearn.kernels.rows import symmetric
from dplearn.preprocessing.boxed_columns import (
    Asked,
    Box,
    BoxedColumns,
    BoxedColumnsFit,
    BoxPlan,
    reach_of,
    released_spread,
    shortened,
    spread_query,
)
from dplearn.preprocessing.number_columns import NumberColumns, Numbers, finite, in_blocks
from dplearn.privacy import PrivacyLedger
from dplearn.queries import Answer, Oracle, VectorQuery

# Chosen on the tables that `dplearn.preprocessing.boxed_columns` names.
_SPREAD_SHARE = Fraction(1, 5)  # of the budget, for the means and variances of columns
# Rows are shortened to so many root mean squared distances from the mean: to more where noise is small, as
# long as its eigenvalues stay below a part of the total variance.
_RADII, _NOISE_PART = (1.25, 3.0), 0.004
_MOST_COLUMNS = 1 << 11


@documented_by(BoxedColumns, NumberColumns)
@dataclass(eq=False, repr=False)
class PrivatePCA(ClassNamePrefixFeaturesOutMixin, BoxedColumns):
    """Principal components from the noisy second moments of rows, released once.

    Means and variances of columns are released first. Rows are measured from these means, and shortened to a
    multiple of the released spread. Scale columns first where units differ.

    Parameters
    ----------
    n_components : int or float, optional
        The number of components, at most that of the columns; a float in (0, 1): the least number that
        explains this share of the released variance; None: all.
    domain
        ... The noise is proportional to the square of the diagonal of the columns' ranges.

    Attributes
    ----------
    components_ : ndarray of float64 of shape (n_components, n_features)
        Released. Orthonormal directions of falling variance; of each, the number of greatest magnitude is
        positive.
    explained_variance_ : ndarray of float64 of shape (n_components,)
        Released. The variance along each component, without that of the noise: a component within the noise
        has an equal part of the remaining variance.
    explained_variance_ratio_ : ndarray of float64 of shape (n_components,)
        Released. These variances as shares of the total.
    singular_values_ : ndarray of float64 of shape (n_components,)
        Released. The roots of n_samples - 1 times the explained variances.
    noise_variance_ : float
        Released. The mean of the variances along all other directions, as scikit-learn's.
    mean_ : ndarray of float64 of shape (n_features,)
        Released. The mean of the shortened rows.
    n_components_ : int
        Released. The number of components.
    n_clear_ : int
        Released. The number of leading components, kept or not, whose variance exceeds the noise.
    noise_
    n_samples_ : int
        Public. The number of records.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; the number of records is
    public. Proof: quantiles, if any, take a fifth of epsilon; two queries (`spread_query`, then
    `moments_query`) have noise for shares of the rest. All else is post-processing.

    **Accuracy.** `plan(n_samples, n_features=...)`: deviations are those of a mean product of two columns, in
    units of the square of the greatest norm to which rows are shortened, which is released. Noise of
    deviation s in d columns moves eigenvalues up to about 2 s sqrt(d), and above them an eigenvalue v by s^2
    d / v.

    **Source.** Dwork, Talwar, Thakurta and Zhang (2014), with exact discrete noise; the weights, and the
    means released together, are ours. Eigenvalues without noise: Baik, Ben Arous and Peche (2005); Peche
    (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.domains import Grid
    >>> from dplearn.preprocessing import PrivatePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2)) @ [[3.0, 3.0, 0.0], [0.1, -0.1, 1.0]]
    >>> pca = PrivatePCA(2, domain=Grid(-10, 10, outside="clip"), random_state=0).fit(X)
    >>> np.abs(pca.components_[0]).round(1).tolist(), pca.explained_variance_ratio_[0].round(2) > 0.9
    ([0.7, 0.7, 0.0], np.True_)
    """

    n_components: Any = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = "float64"
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def _recipe(self, reproducible: bool) -> "PCAFit":
        return PCAFit.like(super()._recipe(reproducible))

    def _checked(self) -> dict[str, Any]:
        return {"wanted": _checked_components(self.n_components)}

    def _publish(self, outcome: "_Spectrum", plan: BoxPlan) -> None:
        wanted, n = self._checked()["wanted"], plan.n_samples
        total = float(outcome.variances.sum())
        ratios = outcome.variances / (total or 1.0)
        if isinstance(wanted, float):
            # Float errors may leave the sum of all shares below 1.
            count = min(1 + int((np.cumsum(ratios) < wanted).sum()), len(ratios))
        else:
            count = len(ratios) if wanted is None else wanted
        self.n_components_ = self._n_features_out = count
        self.components_ = outcome.directions[:count]
        self.explained_variance_ = outcome.variances[:count]
        self.explained_variance_ratio_ = ratios[:count]
        self.singular_values_ = np.sqrt(max(n - 1, 0)) * np.sqrt(self.explained_variance_)
        others = outcome.variances[count:]
        self.noise_variance_ = float(others.mean()) if len(others) else 0.0
        self.mean_, self.n_clear_ = outcome.mean, outcome.n_clear
        self.noise_, self.n_samples_ = plan.noise, n

    def transform(self, X: Any) -> Numbers:
        """Return the coordinates of rows along the components, measured from the mean.

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_components)
            Finite: overflows are replaced with the largest finite float.
        """
        return in_blocks(self._projected, self._numbers(X), len(self.components_))

    def _projected(self, rows: Numbers) -> Numbers:
        centred = finite(rows - self.mean_)
        largest = np.abs(centred).max(axis=1, keepdims=True, initial=1.0)  # no sum overflows
        return finite((centred / largest) @ self.components_.T * largest)

    def inverse_transform(self, X: Any) -> Numbers:
        """Return the rows with the given coordinates."""
        rows = self._transformed(X, getattr(self, "n_components_", 0))
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=1.0)
        return finite(finite((rows / largest) @ self.components_ * largest) + self.mean_)


class PCAFit(BoxedColumnsFit):
    """The fit of `PrivatePCA`."""

    def queries(self, n_columns: int, noise: str, steps: int) -> list[Asked]:
        return [
            (moments_query(n_columns, noise, steps), 1 - _SPREAD_SHARE),
            (spread_query(n_columns, steps), _SPREAD_SHARE),
        ]

    def asked(self, oracle: Oracle, plan: BoxPlan, box: Box) -> "_Spectrum":
        d = len(plan.product)
        spread = released_spread(oracle, d, plan.steps, _SPREAD_SHARE)
        times = np.sqrt(_NOISE_PART / (2 * plan.deviation * np.sqrt(d))).clip(*_RADII)
        radius = spread.radius(float(times), plan.steps, plan.order)
        near = Nearby(np.rint(spread.mean), radius, plan.order)
        answer = oracle.ask(moments_query(d, plan.noise, radius, near))[0]
        step = reach_of(box, plan) / plan.steps
        middle = box.middle + step * near.middle
        found: _Spectrum = _Spectrum.of(answer, plan, middle, radius, step * radius)
        return replace(found, mean=found.mean.clip(box.low, box.high))

    def plan(self, facts: FitFacts, *, beta: Any = 0.05) -> BoxPlan:
        d = facts.n_features if not hasattr(self.declared, "domains") else len(self.declared)
        if d > _MOST_COLUMNS:
            raise ValueError(f"X must have at most {_MOST_COLUMNS} columns, got {d}")
        if isinstance(self.wanted, int) and self.wanted > d:
            raise ValueError(f"n_components must be at most the number of columns, {d}, got {self.wanted}")
        return super().plan(facts, beta=beta)

    def late_warnings(self, learner: Any, plan: BoxPlan) -> tuple[str, ...]:
        if learner.n_clear_ >= min(learner.n_components_, 1) or plan.warnings:
            return ()
        return (
            f"n_samples is {plan.n_samples}: no component is clearer than the noise; use more records, a"
            " larger epsilon, fewer columns, or narrower bounds of the domain",
        )


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Directions of falling variance, and their variances without that of the noise; in units of columns."""

    directions: Numbers
    variances: Numbers
    mean: Numbers
    n_clear: int

    @classmethod
    def of(cls, answer: Answer, plan: BoxPlan, middle: Numbers, steps: int, unit: float) -> Any:
        """Return the spectrum of released means of products and of numbers, in units of `unit`."""
        d, means, noise_variance = len(middle), answer.means, answer.noise_variance
        on, off, linear = _weights(plan.noise, steps)
        first, second = np.triu_indices(d)
        scale = np.where(first == second, on, off) / off
        moments = symmetric(means[: len(first)] / scale, d)
        ratio = off * steps / linear
        mean = means[len(first) :] * ratio
        # The squares of noisy means are too large by the variance of their noise, in expectation.
        covariance = moments - np.outer(mean, mean) + noise_variance * ratio**2 * np.eye(d)
        n = plan.n_samples
        covariance *= n / max(n - 1, 1)
        found, vectors = np.linalg.eigh(covariance)
        values, directions = found[::-1], vectors[:, ::-1].T
        strongest = np.abs(directions).argmax(axis=1)
        directions = directions * np.where(directions[np.arange(d), strongest] < 0, -1.0, 1.0)[:, None]
        variances, clear = without_noise(values, float(np.sqrt(noise_variance)))
        return cls(directions, variances * unit**2, middle + unit * mean.clip(-1, 1), clear)


def without_noise(values: Numbers, deviation: float) -> tuple[Numbers, int]:
    """Return falling eigenvalues of a covariance matrix without noise, and how many exceed the noise.

    Symmetric noise of a deviation s has eigenvalues up to about e = 2 s sqrt(d), and moves one of v > e / 2
    to w = v + (e / 2)^2 / v. The trace has little noise: all other eigenvalues have equal parts of the rest.
    """
    d = len(values)
    edge = 2 * deviation * np.sqrt(d)
    clear = int((values > edge).sum())
    kept = values[:clear]
    kept = (kept + np.sqrt(np.maximum(kept**2 - edge**2, 0.0))) / 2
    rest = max(float(values.sum() - kept.sum()), 0.0)
    # No other eigenvalue exceeds a clear one, nor is there a rest if all are clear.
    level = rest / max(d - clear, 1)
    if clear:
        level = min(level, float(kept[-1]))
    return np.concatenate([kept, np.full(d - clear, level)]), clear


@dataclass(frozen=True, eq=False)
class Nearby:
    """Rows measured from a released middle and shortened."""

    middle: Numbers
    radius: int
    order: int

    def of(self, rows: Numbers) -> Numbers:
        """Return the shortened rows; each depends on its row alone."""
        return shortened(rows - self.middle, self.radius, self.order)


def moments_query(n_columns: int, noise: str, steps: int, near: Nearby | None = None) -> VectorQuery:
    """Return the query for the sums of products of two numbers of a row, and of the numbers.

    **Privacy.** Totals move by at most `squared_l2`, or `l1`. For rows v, w of norm at most S and c = S / 2,
    the released numbers are 5 v_i^2, 7 v_i v_j for i < j, and 7 c v_i, of squared norm at most 25 |v|^4 + 49
    c^2 |v|^2. Inner products are, with t = v w, at least 49 / 2 t^2 + 49 c^2 t >= -49 c^4 / 2: the squared
    distance is at most 2 (25 S^4 + 49 c^2 S^2) + 49 c^4. In the L1 norm, v_i^2, 2 v_i v_j and 2 c v_i move by
    2 S^2 and 2 S^2.
    """
    on, off, linear = _weights(noise, steps)
    first, second = np.triu_indices(n_columns)
    weights = np.where(first == second, on, off).astype(np.int64)

    def each(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        whole = (rows if near is None else near.of(rows.astype(np.float64))).astype(np.int64)
        return np.hstack([whole[:, first] * whole[:, second] * weights, linear * whole])

    def total(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        products, sums = np.zeros((n_columns, n_columns), dtype=np.int64), np.zeros(n_columns, dtype=np.int64)
        for _, block in float_blocks(rows):  # at most 2**13 rows of products below 2**24: exact in floats
            short = block if near is None else near.of(block)
            products += (short.T @ short).astype(np.int64)
            sums += short.sum(axis=0).astype(np.int64)
        return np.concatenate([products[first, second] * weights, linear * sums])

    half = steps // 2
    squared = 25 * steps**4 + 49 * half**2 * steps**2
    # Of two numbers of a row the product is at most S^2 / 2, or S^2 / 4 in the L1 norm.
    largest = on * steps**2
    return VectorQuery(
        each,
        size=len(first) + n_columns,
        norm=isqrt(squared if noise == "gaussian" else 2 * steps**4) + 1,
        unit=Fraction(1, off * steps**2),
        total=total,
        l1=4 * steps**2 if noise == "laplace" else None,
        squared_l2=2 * squared + 49 * half**4 if noise == "gaussian" else None,
        ends=(-largest, largest),
    )


def _weights(noise: str, steps: int) -> tuple[int, int, int]:
    """Return the weights of squares, of products and of numbers."""
    return (5, 7, 7 * (steps // 2)) if noise == "gaussian" else (1, 2, 2 * (steps // 2))


def _checked_components(value: Any) -> int | float | None:
    if value is None:
        return None
    if isinstance(value, (float, np.floating)):
        return float(check_number("n_components", value, above=0, below=1))
    if isinstance(value, str):
        raise ValueError(f"n_components must be an integer, a share in (0, 1) or None, got {value!r}")
    return check_count("n_components", value, low=1)
