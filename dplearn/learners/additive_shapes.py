"""The first shapes of an additive model: masses of cells and, column by column, smooth effects of cells.

The masses of the cells of a column are shares of records, fitted to noisy sums of the smooth rows of the
cells; a mass may be 0, and the noise of the masses is part of the noise below. With them the rows are
centred, which makes them short: usual values say almost nothing. Noisy sums of centred rows times targets are
linear in the effects of the cells, so the effects have a Gaussian posterior, given the kernel of the column
and the known noise. Amplitudes and kernels of the prior are weighed by their marginal likelihood; among them
is an amplitude of 0, for a column without effect.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, softmax

from dplearn.chance import PublicStream
from dplearn.kernels.simplex import fitted_shares, nearest_shares
from dplearn.learners.additive_columns import Column, kernel, smooth_rows
from dplearn.learners.additive_losses import Base
from dplearn.learners.additive_plan import AdditivePlan
from dplearn.learners.additive_queries import Block, Rows, mass_query, residual_query
from dplearn.queries import Oracle

__all__ = ["Shape", "across", "ask_masses", "ask_residuals", "ask_shapes", "synthetic_cells"]

Floats64 = NDArray[np.float64]

# The greatest prior weight of a first shape in the whole model: correlated columns count an effect twice.
_KEPT = 0.6
# Of a regression, the share is the ratio of signal and noise in the sums, but at least:
_LEAST_SHARE = 0.2
_MASS_LEVEL = 2  # the least level of the rows of which masses are sums: a line shows nothing but the mean
_CONSTANT = 0.1  # the square of the constant, as a share of the mean square of centred rows
_LENGTH = 0.85  # the norm to which rows are shortened, in root mean squares
_LEAST_SQUARE = 1e-3  # of centred rows
_AMPLITUDES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # prior variances of an effect
_USUAL, _PENALTY = 0.1, 0.1  # the log-likelihood falls by the penalty times the log-distance from the usual
_LEAST_AMPLITUDE = 0.003  # for that distance
_UNLIKELY = 1e-3  # priors with a smaller posterior probability are left out
_TINY = 1e-10  # keeps covariances regular without noise
_DRAWN, _PARTS = 2000, 25  # synthetic records, and quantiles of their norms


@dataclass(frozen=True, eq=False)
class Shape:
    """The effects of the cells of one column.

    Attributes
    ----------
    effects : ndarray of shape (cells, k)
        Released. On each of the k margins, with mean 0 over the masses.
    covariance : ndarray of shape (cells, cells)
        Released. The posterior covariance of the effects on one margin, the mean of those of all margins.
    share : float
        Released. The factor, at most 1, by which the prior weight of the shape in the whole model and the
        prior variance of that weight are reduced.
    """

    effects: Floats64
    covariance: Floats64
    share: float = 1.0

    @property
    def kept(self) -> float:
        """The prior weight in the whole model."""
        return _KEPT * self.share


def ask_masses(oracle: Oracle, plan: AdditivePlan) -> tuple[list[Floats64], float]:
    """Query the sums of smooth rows, and return the masses of the cells of each column, and the noise.

    Parameters
    ----------
    oracle : Oracle
        For `LabelledRows` with cells in X.
    plan : AdditivePlan
        The plan of the fit.

    Returns
    -------
    masses : list of ndarray of shape (cells,)
        Nonnegative, with sum 1.
    variance : float
        The variance of the noise in each number of the mean row.
    """
    tables = _tables(plan, max(plan.level, _MASS_LEVEL))
    rows = Rows.of(tables, constant=0.0, length=1.0, bits=plan.bits.masses if plan.order == 2 else 0)
    answer = oracle.ask(mass_query(rows), plan.shares.masses)[0]
    images = [answer.means[here] for here in rows.slices]
    alike: dict[int, list[int]] = {}  # columns with the same table, which is one object for equal columns
    for place, table in enumerate(tables):
        alike.setdefault(id(table), []).append(place)
    masses: dict[int, Floats64] = {}
    for places in alike.values():
        table, several = tables[places[0]], np.stack([images[place] for place in places])
        alone = np.array_equal(table, np.eye(len(table)))
        found = nearest_shares(several) if alone else fitted_shares(table, several)
        masses.update(zip(places, found, strict=True))
    return [masses[place] for place in range(len(tables))], answer.noise_variance


def ask_shapes(
    oracle: Oracle, plan: AdditivePlan, base: Base, masses: Sequence[Floats64], mass_variance: float
) -> list[list[Shape]]:
    """Query the sums of centred rows times targets, and return the shapes of each output, one a column.

    Parameters
    ----------
    oracle, plan
        As for `ask_masses`.
    base : Base
        The distribution of the targets.
    masses : sequence of ndarray
        From `ask_masses`.
    mass_variance : float
        From `ask_masses`.
    """
    rows = _centred_rows(plan, masses)
    loss = base.loss
    sums, variance = ask_residuals(
        oracle, plan, rows, lambda block: loss.targets(block.y), loss.target_reach, plan.shares.shapes
    )
    kept, shapes, start = _usual_factors(rows, masses), [], 0
    for output in base.outputs:
        stop = start + len(output.margins)
        shapes.append(
            _shapes_of(plan, output, rows, masses, kept, sums[:, start:stop], (variance, mass_variance))
        )
        start = stop
    return shapes


def _shapes_of(
    plan: AdditivePlan,
    base: Base,
    rows: Rows,
    masses: Sequence[Floats64],
    factors: Sequence[Floats64],
    sums: Floats64,
    variances: tuple[float, float],
) -> list[Shape]:
    """Return the shape of each column for one output, given the usual factors, the sums and their noise."""
    variance, mass_variance = variances
    shapes, start, energy, expected, explained, clear = [], 0, 0.0, 0.0, 0.0, 0.0
    for column, table, mass, kept in zip(plan.columns, rows.tables, masses, factors, strict=True):
        rows_of_cells, seen = np.asarray(table * rows.unit, dtype=np.float64), mass * kept
        stop = start + table.shape[1]
        # Without effects the sums would be those of the mean target, but for the noise in the masses.
        beyond = sums[start:stop] - np.outer(seen @ rows_of_cells, base.targets)
        noise = variance + mass_variance * (float(mass @ kept) * base.targets) ** 2
        start = stop
        energy += float((beyond**2).sum())
        expected += len(beyond) * float(noise.sum())
        shape = _posterior(
            rows_of_cells, seen, beyond, _kernels(column, plan.level), base, noise, plan.public.n_samples
        )
        shapes.append(replace(shape, effects=shape.effects - mass @ shape.effects))
        size = float((mass @ shapes[-1].effects ** 2).sum())
        explained += size
        greatest = 2 * math.log(rows.size + 1) * noise  # square of as many numbers of noise
        if (beyond**2 > greatest).any():
            clear += size
    if not (base.loss.narrows and plan.order == 2):
        return shapes
    # Noise in many columns adds up: the sums of all together show more clearly whether there is any signal.
    # Few clear columns among many are seen one by one: their part of the mean squares of all is signal.
    ratio = energy / max(expected, _TINY) - 1
    share = min(max(ratio, clear / max(explained, _TINY), _LEAST_SHARE), 1.0)
    return [replace(shape, share=share) for shape in shapes]


def across(outputs: Sequence[Sequence[Shape]]) -> list[Shape]:
    """Return the shape of each column with the effects on the margins of all outputs.

    Parameters
    ----------
    outputs : sequence of sequences of Shape
        Released. The shapes of each output, one a column.
    """
    if len(outputs) == 1:
        return list(outputs[0])
    return [
        Shape(
            np.concatenate([each.effects for each in shapes], axis=1),
            np.mean([each.covariance for each in shapes], axis=0),
        )
        for shapes in zip(*outputs, strict=True)
    ]


def ask_residuals(
    oracle: Oracle,
    plan: AdditivePlan,
    rows: Rows,
    residuals: Callable[[Block], NDArray[np.int64]],
    reach: int,
    share: Fraction,
) -> tuple[Floats64, float]:
    """Return the noisy mean of residual times shortened row, of shape (size, k), and the noise's variance.

    Parameters
    ----------
    oracle, plan
        As for `ask_masses`.
    rows, residuals, reach
        As for `residual_query`.
    share : Fraction
        The share of the budget.
    """
    k = plan.loss.n_outputs
    query = residual_query(rows, residuals, n_outputs=k, reach=reach, bits=plan.bits.factors)
    answer = oracle.ask(query, share)[0]
    return answer.means.reshape(rows.size, k) * rows.width, answer.noise_variance * rows.width**2


def synthetic_cells(
    masses: Sequence[Floats64], orders: Sequence[NDArray[np.intp]], correlations: Floats64, n: int
) -> NDArray[np.int64]:
    """Return the cells of n synthetic records, from a Gaussian copula: public draws, given released values.

    Parameters
    ----------
    masses : sequence of ndarray of shape (cells,)
        Released.
    orders : sequence of ndarray of int of shape (cells,)
        Released. The cells of each column in the order in which correlations count them.
    correlations : ndarray of shape (d, d)
        Released. Positive definite, with ones on the diagonal.
    n : int
        Number of records.

    Returns
    -------
    ndarray of int64 of shape (n, d)
    """
    d = len(masses)
    uniform = (PublicStream(0, "synthetic").labels(1 << 32, n * d).reshape(n, d) + 0.5) / 2.0**32
    places = ndtr(ndtri(uniform) @ np.linalg.cholesky(correlations).T)
    cells = np.empty((n, d), dtype=np.int64)
    for column, (order, mass) in enumerate(zip(orders, masses, strict=True)):
        ends = np.cumsum(mass[order])[:-1]
        cells[:, column] = order[np.searchsorted(ends, places[:, column])]
    return cells


def _tables(plan: AdditivePlan, level: int) -> list[Floats64]:
    """Return a row for each cell: smooth, or with L1 norms one number for each cell."""
    if plan.order == 1:
        return [np.eye(column.size) for column in plan.columns]
    return [smooth_rows(column, level) for column in plan.columns]


def _centred_rows(plan: AdditivePlan, masses: Sequence[Floats64]) -> Rows:
    tables = _tables(plan, plan.level)
    if plan.order == 1:  # centring would make sparse rows long; each has the norm d
        d = len(tables)
        return Rows([table.astype(np.int64) for table in tables], 0, d, 1.0, order=1)
    tables = [table - mass @ table for table, mass in zip(tables, masses, strict=True)]
    squares = [float(mass @ (table**2).sum(axis=1)) for table, mass in zip(tables, masses, strict=True)]
    mean = max(sum(squares), _LEAST_SQUARE)
    constant, length = math.sqrt(_CONSTANT * mean), _LENGTH * math.sqrt((1 + _CONSTANT) * mean)
    return Rows.of(tables, constant=constant, length=length, bits=plan.bits.rows)


def _usual_factors(rows: Rows, masses: Sequence[Floats64]) -> list[Floats64]:
    """Return the mean shortening factor given each cell of each column, for independent columns."""
    lengths = [length.astype(np.float64) for length in rows.lengths()]
    orders = [np.arange(len(mass)) for mass in masses]
    cells = synthetic_cells(masses, orders, np.eye(len(masses)), _DRAWN)
    drawn = np.stack([length[cells[:, place]] for place, length in enumerate(lengths)], axis=1)
    total = drawn.sum(axis=1) + rows.constant**rows.order
    factors = []
    for place, length in enumerate(lengths):
        others = np.quantile(total - drawn[:, place], (np.arange(_PARTS) + 0.5) / _PARTS)
        norms = np.maximum(others[None, :] + length[:, None], 1.0) ** (1 / rows.order)
        factors.append(np.minimum(1.0, rows.reach / norms).mean(axis=1))
    return factors


def _kernels(column: Column, level: int) -> list[Floats64]:
    """Return the kernels up to a level; a column without smoothness has one."""
    rough = not column.ordered or column.size - column.gap <= 2
    return [kernel(column, each) for each in range(1 if rough else level + 1)]


def _posterior(
    rows: Floats64,
    seen: Floats64,
    sums: Floats64,
    kernels: Sequence[Floats64],
    base: Base,
    variance: Floats64,
    n: int,
) -> Shape:
    """Return the posterior mean and covariance of effects, given noisy sums that are linear in them.

    Parameters
    ----------
    rows : ndarray of shape (cells, r)
        Released. Centred rows.
    seen : ndarray of shape (cells,)
        Released. Masses times shortening factors.
    sums : ndarray of shape (r, k)
        Released. The mean of row times target, beyond that of the mean target.
    kernels : sequence of ndarray of shape (cells, cells)
        The possible prior covariances, times an amplitude.
    base : Base
        The distribution of the targets.
    variance : ndarray of shape (k,)
        The variance of the noise in each number of a column of `sums`.
    n : int
        Number of records; their sampling error is part of the noise.
    """
    weighted = seen[:, None] * rows
    # The noise is that of privacy in all directions, plus a share of the second moments of rows.
    levels, axes = np.linalg.eigh(rows.T @ weighted)
    whiteners = [
        axes.T / np.sqrt(noise + _TINY + (each / n) * levels.clip(0.0))[:, None]
        for noise, each in zip(variance, base.variance, strict=True)
    ]
    strengths = [amplitude * base.unit for amplitude in _AMPLITUDES]
    tried, likely = [], []
    for each in kernels:
        reach = weighted.T @ each
        signal = reach @ weighted
        spectra = [
            _Spectrum.of(column, whitener, curvature**2 * signal)
            for column, whitener, curvature in zip(sums.T, whiteners, base.curvature, strict=True)
        ]
        for amplitude, strength in zip(_AMPLITUDES, strengths, strict=True):
            distance = abs(math.log(max(amplitude, _LEAST_AMPLITUDE) / _USUAL))
            likely.append(sum(each.likelihood(strength) for each in spectra) - _PENALTY * distance)
            tried.append((strength, each, reach, spectra))
    shares = softmax(np.array(likely))
    shares = np.where(shares < _UNLIKELY, 0.0, shares)
    k, effects, covariance = sums.shape[1], np.zeros((len(seen), sums.shape[1])), np.zeros_like(kernels[0])
    for share, (strength, prior, reach, spectra) in zip(shares / shares.sum(), tried, strict=True):
        if not share:
            continue
        for out, spectrum in enumerate(spectra):
            whitener = spectrum.whitener(strength)
            response = whitener @ ((base.curvature[out] * strength) * reach)
            mean = response.T @ (whitener @ sums[:, out])
            effects[:, out] += share * mean
            covariance += share / k * (strength * prior - response.T @ response + np.outer(mean, mean))
    return Shape(effects, covariance - effects @ effects.T / k)


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Sums that are a signal, of a covariance up to its strength, plus noise, in directions of both.

    Attributes
    ----------
    directions : ndarray of shape (r, r)
        In these the noise has the covariance 1, and the signal a diagonal one.
    variances : ndarray of shape (r,)
        The diagonal, for the strength 1.
    squares : ndarray of shape (r,)
        The squares of the sums in these directions.
    """

    directions: Floats64
    variances: Floats64
    squares: Floats64

    @classmethod
    def of(cls, sums: Floats64, whitener: Floats64, signal: Floats64) -> "_Spectrum":
        """Return the directions of a signal, given its covariance and a matrix that makes that of noise 1."""
        variances, vectors = np.linalg.eigh(whitener @ signal @ whitener.T)
        directions = vectors.T @ whitener
        return cls(directions, variances.clip(0.0), (directions @ sums) ** 2)

    def likelihood(self, strength: float) -> float:
        """Return the logarithm of the marginal likelihood of the sums, but for a constant."""
        total = 1 + strength * self.variances
        return -0.5 * float((self.squares / total).sum() + np.log(total).sum())

    def whitener(self, strength: float) -> Floats64:
        """Return a matrix that makes the covariance of the sums 1."""
        return self.directions / np.sqrt(1 + strength * self.variances)[:, None]
