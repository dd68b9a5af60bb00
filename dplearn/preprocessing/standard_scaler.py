"""Centre each column at its private mean, and scale it by its private standard deviation."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_bool
from dplearn.estimator.base import refuse_parameters
from dplearn.estimator.incremental import Incremental, joined_deviations, joined_means, next_calls
from dplearn.estimator.recipe import FitFacts
from dplearn.kernels.rows import sums_and_squares
from dplearn.preprocessing.boxed_columns import Asked, Box, BoxedColumns, BoxedColumnsFit, BoxPlan
from dplearn.preprocessing.number_columns import (
    NamesOfColumns,
    NumberColumns,
    Numbers,
    finite,
    scaled,
    unscaled,
)
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.queries import Oracle, VectorQuery

_ALL = Fraction(1)
# The means and variances of the columns, if asked for, and what a next call continues.
_Scales = tuple[Numbers | None, Numbers | None, dict[str, Any]]


@documented_by(BoxedColumns, NumberColumns)
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateStandardScaler(Incremental, NamesOfColumns, BoxedColumns):
    """Subtract each column's private mean, and divide by its private standard deviation.

    The means of all columns and of their squares are released together, with noise.

    Parameters
    ----------
    with_mean, with_std : bool, default=True
        Whether the mean is subtracted, and whether columns are divided by the standard deviation. If both are
        False, a fit costs nothing.

    Attributes
    ----------
    mean_ : ndarray of float64 of shape (n_features,), or None
        Released. The means of the clipped numbers; None if neither centring nor scaling is on.
    var_ : ndarray of float64 of shape (n_features,), or None
        Released. The variances of the clipped numbers, at least the standard deviation of their noise; None
        without scaling.
    scale_ : ndarray of float64 of shape (n_features,), or None
        Released. The square roots of `var_`, with 1 in place of 0; None without scaling.
    noise_
        ... Of the last call.
    n_samples_seen_ : int
        Public. The number of records, of all calls.
    calls_ : Calls
        Released. The noisy means of numbers and of squares among the records of all calls so far, which
        `partial_fit` continues.
    guarantee_
        ... Of all calls together, if each has records of its own.

    See Also
    --------
    PrivateRobustScaler : Medians and quartiles, which need no bounds.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; the number of records is
    public. Proof: quantiles, if any, take a fifth of epsilon, and one query (`scaler_query`) has noise for
    the rest. Calls of `partial_fit` compose in parallel, see `dplearn.estimator.incremental.in_parallel`; the
    ledger adds them up.

    **Accuracy.** `plan(n_samples, n_features=...)`: deviations are in units of half of the width of a
    column's range. With probability at least 1 - beta the noise of no mean, and of no mean of squares, is
    greater than `tolerance`. The grid rounds numbers by at most 1/8192 of the width, if columns are few.

    **Source.** Noisy sums: Blum, Dwork, McSherry and Nissim (2005). The weights of squares are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.domains import Grid
    >>> from dplearn.preprocessing import PrivateStandardScaler
    >>> X = np.random.default_rng(0).normal([50, 3], [10, 1], (4000, 2))
    >>> columns = [Grid(0, 100, outside="clip"), Grid(-2, 8, outside="clip")]
    >>> scaler = PrivateStandardScaler(domain=columns, random_state=0).fit(X)
    >>> scaler.mean_.round().tolist(), scaler.scale_.round().tolist()
    ([50.0, 3.0], [10.0, 1.0])
    """

    with_mean: bool = True
    with_std: bool = True
    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = "float64"
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    _coarsest = 1  # the query of squares needs even steps

    def partial_fit(self, X: Any, y: Any = None, *, groups: Any = None, **fit_parameters: Any) -> Self:
        """Add new records to the fit, and release the means and variances of the records of all calls so far.

        Each call is charged to the ledger. The noise of all calls adds up: one fit of all records is more
        accurate. Of columns without bounds, the first call releases ranges, which later calls use. `epsilon`
        and `delta` may be set anew between calls; `fit` forgets earlier calls.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Private. New records, as for `fit`, with the columns of the first call.
        y : ignored
            As for `fit`.
        groups : array-like of shape (n_samples,), optional
            Private. As for `fit`; each call has groups of its own, and all calls have groups or none.

        Returns
        -------
        self : object

        Raises
        ------
        DomainError, TypeError, ValueError
            If a value is outside its declared domain, a parameter or the columns differ from those of earlier
            calls, or an argument is not as described; nothing is spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent.
        """
        refuse_parameters(self, fit_parameters, "partial_fit")
        return self._fit_more(X, y if isinstance(y, str) else None, groups=groups)

    def _checked(self) -> dict[str, Any]:
        with_mean, with_std = (check_bool(name, getattr(self, name)) for name in ("with_mean", "with_std"))
        return {"squares": with_std, "with_mean": with_mean, "asks": with_mean or with_std}

    def _recipe(self, reproducible: bool) -> "ScalerFit":
        fit = ScalerFit.like(super()._recipe(reproducible))
        return fit if fit.asks else fit.given(cost=ApproxDP(0, reproducible=reproducible))

    def _publish(self, outcome: _Scales, plan: BoxPlan) -> None:
        self.mean_: Any
        self.var_: Any
        self.mean_, self.var_, released = outcome
        self.scale_ = None
        if self.var_ is not None:
            deviations = np.sqrt(self.var_)
            self.scale_ = np.where(deviations > 0, deviations, 1.0)
        self.noise_, self.n_samples_seen_ = plan.noise, plan.n_samples
        self.calls_ = next_calls(
            plan.earlier, plan.guarantee, n_samples=plan.n_samples, shared=plan.public, **released
        )
        self.guarantee_ = self.calls_.guarantee

    def transform(self, X: Any) -> Numbers:
        """Subtract the mean and divide by the standard deviation."""
        return scaled(self._numbers(X), self.mean_ if self.with_mean else None, self.scale_)

    def inverse_transform(self, X: Any) -> Numbers:
        """Multiply by the standard deviation and add the mean."""
        numbers = self._transformed(X, self._n_columns)
        return unscaled(numbers, self.mean_ if self.with_mean else None, self.scale_)


class ScalerFit(BoxedColumnsFit):
    """The fit of `PrivateStandardScaler`."""

    def queries(self, n_columns: int, noise: str, steps: int) -> list[Asked]:
        return [(scaler_query(n_columns, noise, steps, squares=self.squares), _ALL)]

    def units(self, box: Box, plan: BoxPlan) -> tuple[Numbers, Numbers, int | None]:  # noqa: ARG002
        return box.middle, box.half, None

    def asked(self, oracle: Oracle, plan: BoxPlan, box: Box) -> _Scales:
        squares, d = self.squares, len(plan.product)
        answer = oracle.ask(scaler_query(d, plan.noise, plan.steps, squares=squares))[0]
        on, off = _weights(plan.noise, squares)
        deviation = math.sqrt(answer.noise_variance)
        asked, noise = [answer.means[:d]], [deviation]
        if squares:
            asked, noise = [*asked, on / off * answer.means[d:]], [*noise, on / off * deviation]
        n = plan.n_samples - (0 if plan.earlier is None else plan.earlier.n_samples)
        means, deviations = joined_means(plan.earlier, asked, n), joined_deviations(plan.earlier, noise, n)
        released = {"means": means, "deviations": deviations, "box": box}
        centres = box.middle + box.half * means[0].clip(-1, 1)
        if not squares:
            return centres, None, released
        # The square of a noisy mean is too large by the variance of its noise, in expectation.
        variances = means[1] - means[0] ** 2 + deviations[0] ** 2
        inside = variances.clip(min(deviations[1], 1.0), 1.0)
        return centres, finite(box.half * box.half * inside), released

    def shared(self) -> dict[str, Any]:
        return {"domain": self.declared, "with_mean": self.with_mean, "with_std": self.squares}

    def plan(self, facts: FitFacts, *, beta: Any = 0.05) -> BoxPlan:
        if self.asks:
            return replace(super().plan(facts, beta=beta), public=self.shared())
        free = super(ScalerFit, self.given(cost=ApproxDP(1))).plan(facts, beta=beta)
        guarantee = replace(self.cost, assumes=free.guarantee.assumes)
        free = replace(free, guarantee=guarantee, deviation=0.0, tolerance=0.0, unbounded=(), rest=None)
        return replace(free, public=self.shared())

    def run(self, summary: Any, plan: BoxPlan, dice: Any) -> Any:
        return (None, None, {}) if plan.rest is None else super().run(summary, plan, dice)


def scaler_query(n_columns: int, noise: str, steps: int, *, squares: bool) -> VectorQuery:
    """Return the query for the sums of numbers from -1 to 1, and of their squares.

    **Privacy.** Between neighbours the totals move by at most `l1`, or `squared_l2`. Let x and y be the
    numbers of one column of two records, from -1 to 1, at the distance e = abs(x - y), so that abs(x + y) <=
    2 - e. With the weights 1 and 1 the totals of the column move by at most e + e (2 - e) = e (3 - e) <= 9/4.
    With the weights 5 and 8 the square of the distance is at most e^2 (25 + 64 (2 - e)^2) <= 100: with u = 2
    - e in [0, 2], 100 minus the left side is u (100 - 281 u + 256 u^2 - 64 u^3). The second factor is above
    6: it is 100 and 50 at the ends, and 6.2 and 51 at the roots 0.773 and 1.894 of its derivative -281 + 512
    u - 192 u^2. Without squares, e <= 2.
    """
    on, off = _weights(noise, squares)

    def each(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        whole = rows.astype(np.int64)
        return np.hstack([on * steps * whole, off * whole**2] if squares else [on * steps * whole])

    def total(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        sums, of_squares = sums_and_squares(rows)
        return np.concatenate([on * steps * sums, off * of_squares] if squares else [on * steps * sums])

    square = steps**2
    longest = on**2 + off**2 if squares else on**2
    return VectorQuery(
        each,
        size=n_columns * (1 + squares),
        norm=int(np.ceil(square * np.sqrt(float(longest * n_columns)))) + 1,
        unit=Fraction(1, on * square),
        total=total,
        l1=n_columns * (9 * square // 4 if squares else 2 * square),
        squared_l2=n_columns * square**2 * (100 if squares else 4),
        ends=(-on * square, max(on, off if squares else 0) * square),
    )


def _weights(noise: str, squares: bool) -> tuple[int, int]:
    """Return the weights of numbers and of squares; without squares, that of numbers is 1."""
    return (5, 8) if squares and noise == "gaussian" else (1, 1)
