"""Where the steps start: the masses of cells, the first shapes, and the released joint distribution of cells.

The masses of the cells of a column are shares of records, fitted to noisy sums of the smooth rows of the
cells. With them the rows are centred, which makes them short. Noisy sums of centred rows times targets are
linear in the effects of the cells, which therefore have a Gaussian posterior, given the column's kernel and
the known noise. Amplitudes, also 0, and kernels of the prior are weighed by their marginal likelihood.

Cells have normal scores under the released masses. The means of products of two scores are the correlations
of columns, from which synthetic records are drawn; those of residual times product show interactions. A
column with large effects or strong interactions has a large weight in joint features.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, softmax

from dplearn.chance import PublicStream
from dplearn.kernels import nearest_shares
from dplearn.kernels.rows import symmetric
from dplearn.kernels.simplex import fitted_shares
from dplearn.learners.additive.cells import Column, kernel, smooth_rows
from dplearn.learners.additive.losses import RESIDUAL_BITS, Base
from dplearn.learners.additive.plan import AdditivePlan
from dplearn.learners.additive.queries import (
    Margins,
    RecordFeatures,
    Rows,
    margins_of,
    mass_query,
    moment_query,
    pair_query,
    residual_query,
    residuals_at,
    slices_of,
)
from dplearn.learners.linear import moment_weights, upper_weights
from dplearn.queries import HistogramQuery, LabelledRows, Oracle

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
_EXTREME = 2.5  # the greatest normal score
_LEAST_WEIGHT = 1 / 4  # of a column, as a share of the greatest
_LEAST_PAIRED = 0.1  # the same where interactions were found, for columns without any
_LEAST_VARIANCE = 0.05
_LEAST_EIGENVALUE = 0.02
_LEAST_KEPT = 0.3  # of the squares of scores, after shortening
_NEAR_0 = 1e-9
_UNCLEAR = 0.05  # noise in a share of records from which on the histogram is ignored

Integers = NDArray[np.int64]
Floats64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shape:
    """The released effects of the cells of one column."""

    effects: Floats64  # on each of the k margins, of shape (cells, k), with mean 0 over the masses
    covariance: Floats64  # the posterior one of the effects on one margin, the mean of those of all margins
    # The factor, at most 1, by which the prior weight of the shape in the whole model is reduced; the prior
    # variances of that weight and of what the shape has missed become smaller, too.
    share: float = 1.0

    @property
    def kept(self) -> float:
        """The prior weight in the whole model."""
        return _KEPT * self.share


@dataclass(frozen=True, eq=False)
class Copula:
    """The released distribution of cells: masses, correlations of normal scores, and their order."""

    masses: list[Floats64]
    orders: list[NDArray[np.intp]]
    correlations: Floats64
    scores: Sequence[Floats64]
    weights: Floats64
    strengths: Floats64

    def drawn(self, n: int) -> Integers:
        """Return the cells of n synthetic records."""
        return synthetic_cells(self.masses, self.orders, self.correlations, n)


def ask_masses(oracle: Oracle, plan: AdditivePlan) -> tuple[list[Floats64], float]:
    """Query the sums of smooth rows, and return the masses of the cells of each column, and the noise."""
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
    """Query the sums of centred rows times targets, and return the shapes of each output, one a column."""
    rows = _centred_rows(plan, masses)
    loss, k = base.loss, plan.loss.n_outputs
    query = residual_query(
        rows,
        lambda block: loss.targets(block.y),
        n_outputs=k,
        reach=loss.target_reach,
        bits=plan.bits.factors,
    )
    answer = oracle.ask(query, plan.shares.shapes)[0]
    sums, variance = answer.means.reshape(rows.size, k) * rows.width, answer.noise_variance * rows.width**2
    kept, variances = _usual_factors(rows, masses), (variance, mass_variance)
    places = slices_of([len(output.margins) for output in base.outputs])
    return [
        _shapes_of(plan, output, rows, masses, kept, sums[:, here], variances)
        for output, here in zip(base.outputs, places, strict=True)
    ]


def narrowed(
    oracle: Oracle, plan: AdditivePlan, base: Base, shapes: Sequence[Shape], masses: Sequence[Floats64]
) -> tuple[Base, list[Shape]]:
    """Return base and shapes in the unit that suits the residuals of the shapes: post-processing of released
    values.
    """
    explained = sum(
        float((mass @ shape.effects**2).sum()) for shape, mass in zip(shapes, masses, strict=True)
    )
    effects = [shape.kept * shape.effects for shape in shapes]
    spread = ask_spread(oracle, plan, base, margins_of(effects, base.margins))
    narrow, wider = base.loss.narrowed(base, spread, 2 * shapes[0].kept * explained)
    scaled = [
        replace(shape, effects=shape.effects * wider, covariance=shape.covariance * wider**2)
        for shape in shapes
    ]
    return narrow, scaled


def ask_spread(
    oracle: Oracle,
    plan: AdditivePlan,
    base: Base,
    margins: Margins,
    joint: RecordFeatures | None = None,
) -> float:
    """Return the root mean square of residuals, from a histogram of their magnitudes."""
    size = plan.n_bins
    edges = np.floor((1 << RESIDUAL_BITS) * 2.0 ** (-np.arange(size - 1)[::-1] / 2))
    middles = 2.0 ** (-np.arange(size)[::-1] / 2 + 0.25)
    rows, given = Rows([], 0, 1, 1.0, joint=joint), residuals_at(base.loss, margins)

    def magnitude(records: LabelledRows) -> Integers:
        slices = rows.block(records).slices()
        residuals = np.concatenate([given(each) for each in slices])
        return np.asarray(np.digitize(np.abs(residuals[:, 0]), edges, right=True))

    answer = oracle.ask(HistogramQuery(magnitude, categories=size), plan.shares.spread)[0]
    noise = math.sqrt(answer.noise_variance)
    seen = np.where(answer.means > 2 * noise, answer.means, 0.0)
    if noise > _UNCLEAR or not seen.any():
        return 1.0
    return math.sqrt(float(seen @ np.minimum(middles, 1.0) ** 2) / float(seen.sum()))


def ask_correlations(
    oracle: Oracle, plan: AdditivePlan, masses: list[Floats64], shapes: Sequence[Shape]
) -> Copula:
    """Query the correlations of normal scores: of labels, of columns weighted by the energy of their shapes;
    of numbers all columns have one weight, as one of small effect alone may have a large one among others.
    """
    orders = [
        np.arange(column.size)
        if column.ordered
        else np.argsort(_main_effects(plan, mass, shape), kind="stable")
        for column, mass, shape in zip(plan.columns, masses, shapes, strict=True)
    ]
    d = len(masses)
    if not plan.correlated:
        return Copula(masses, orders, np.eye(d), [], np.ones(d), np.zeros((d, d)))
    scores = [normal_scores(mass, order) for mass, order in zip(masses, orders, strict=True)]
    weights = np.ones(d) if plan.loss.shrinks else np.maximum(_sizes(masses, shapes), _LEAST_WEIGHT)
    tables = [weight * score[:, None] for weight, score in zip(weights, scores, strict=True)]
    rows = Rows.of(tables, constant=0.0, length=float(np.linalg.norm(weights)), bits=plan.bits.moments)
    answer = oracle.ask(moment_query(rows), plan.shares.correlations)[0]
    units = rows.width**2 / np.outer(weights, weights)
    variances = np.array([float(mass @ score**2) for mass, score in zip(masses, scores, strict=True)])
    units /= np.sqrt(np.outer(variances, variances)).clip(_LEAST_VARIANCE)
    found = units * symmetric(answer.means / upper_weights(2, d), d)
    noise = units * math.sqrt(answer.noise_variance) / moment_weights(2)[1]
    # Records that are far out in several columns are shortened, which makes all products smaller alike.
    kept = np.clip(np.average(np.diag(found), weights=weights**2), _LEAST_KEPT, 1.0)
    found, noise = found / kept, noise / kept
    if plan.loss.shrinks:
        found = _without_noise(found, np.sqrt(np.diag(noise))).clip(-0.99, 0.99)
    else:
        found = (found**3 / (found**2 + noise**2)).clip(-0.99, 0.99)  # shrunk where it is mostly noise
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)
    found = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(found))
    found = found / np.outer(scale, scale)
    return Copula(masses, orders, found, scores, weights, np.zeros((d, d)))


def ask_pairs(
    oracle: Oracle, plan: AdditivePlan, base: Base, shapes: Sequence[Sequence[Shape]], copula: Copula
) -> list[Copula]:
    """Query residuals times products of normal scores; interacting columns get larger weights."""
    d, k, n = len(copula.scores), plan.loss.n_outputs, plan.public.n_samples
    tables = [score[:, None] for score in copula.scores]
    rows = Rows.of(tables, constant=0.0, length=math.sqrt(d), bits=plan.bits.moments)
    effects = [
        np.concatenate([each.kept * each.effects for each in column], axis=1)
        for column in zip(*shapes, strict=True)
    ]
    margins = margins_of(effects, base.margins)
    query = pair_query(
        rows,
        residuals_at(base.loss, margins),
        n_outputs=k,
        reach=base.loss.reach,
        bits=plan.bits.pairs,
    )
    answer = oracle.ask(query, plan.shares.pairs)[0]
    found = answer.means.reshape(k, -1) * rows.width**2
    copulas, places = [], slices_of([len(output.margins) for output in base.outputs])
    for output, own, here in zip(base.outputs, shapes, places, strict=True):
        variances = answer.noise_variance * rows.width**4 + output.variance[:, None] / n
        copulas.append(_paired(of_output(copula, own), own, found[here], variances))
    return copulas


def of_output(copula: Copula, shapes: Sequence[Shape]) -> Copula:
    """Return the copula with the weights of columns that the shapes of one output give them."""
    return replace(copula, weights=np.maximum(_sizes(copula.masses, shapes), _LEAST_WEIGHT))


def across(outputs: Sequence[Sequence[Shape]]) -> list[Shape]:
    """Return the shape of each column with the effects on the margins of all outputs."""
    if len(outputs) == 1:
        return list(outputs[0])
    return [
        Shape(
            np.concatenate([each.effects for each in shapes], axis=1),
            np.mean([each.covariance for each in shapes], axis=0),
        )
        for shapes in zip(*outputs, strict=True)
    ]


def synthetic_cells(
    masses: Sequence[Floats64], orders: Sequence[NDArray[np.intp]], correlations: Floats64, n: int
) -> NDArray[np.int64]:
    """Return the cells of n synthetic records: public draws from a Gaussian copula of released values."""
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


def _shapes_of(
    plan: AdditivePlan,
    base: Base,
    rows: Rows,
    masses: Sequence[Floats64],
    factors: Sequence[Floats64],
    sums: Floats64,
    variances: tuple[float, float],
) -> list[Shape]:
    """Return the shape of each column for one output, given the usual factors, the sums and their noise. The
    mean squares of uncorrelated shapes sum to at most the variance of the target, but each of d equal columns
    explains all of it. So shapes have a share with which the sum is at most that variance; straight lines of
    labels have none, since too steep a start costs less than noise in the steps.
    """
    variance, mass_variance = variances
    shapes, energy, expected, explained, clear = [], 0.0, 0.0, 0.0, 0.0
    columns = zip(plan.columns, rows.tables, rows.slices, masses, factors, strict=True)
    for column, table, here, mass, kept in columns:
        rows_of_cells, seen = np.asarray(table * rows.unit, dtype=np.float64), mass * kept
        # Without effects the sums would be those of the mean target, but for the noise in the masses.
        beyond = sums[here] - np.outer(seen @ rows_of_cells, base.targets)
        noise = variance + mass_variance * (float(mass @ kept) * base.targets) ** 2
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
    of_target = float((base.variance / base.curvature**2).sum())  # the variance, in the unit of margins
    once = of_target / max(explained, of_target) if plan.level or base.loss.shrinks else 1.0
    if not (base.loss.shrinks and plan.order == 2):
        return [replace(shape, share=once) for shape in shapes]
    # Noise in many columns adds up: the sums of all together show more clearly whether there is any signal.
    # Few clear columns among many are seen one by one: their part of the mean squares of all is signal.
    ratio = energy / max(expected, _TINY) - 1
    share = min(max(ratio, clear / max(explained, _TINY), _LEAST_SHARE), 1.0)
    return [replace(shape, share=once * share) for shape in shapes]


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
    """Return the posterior mean and covariance of effects, given noisy sums that are linear in them."""
    weighted = seen[:, None] * rows
    # The noise is that of privacy in all directions, plus a share of the second moments of rows.
    levels, axes = np.linalg.eigh(rows.T @ weighted)
    # Outputs of equal shares, such as those of rare labels, have equal directions.
    numbers = np.stack([base.curvature, base.variance, variance])
    _, first, alike = np.unique(numbers, axis=1, return_index=True, return_inverse=True)
    noise = variance[first, None] + _TINY + (base.variance[first, None] / n) * levels.clip(0.0)
    whiteners = axes.T / np.sqrt(noise)[:, :, None]
    strengths = [amplitude * base.unit for amplitude in _AMPLITUDES]
    tried, likely = [], []
    for each in kernels:
        reach = weighted.T @ each
        signal = reach @ weighted
        spectrum = _Spectrum.of(sums.T, whiteners, base.curvature[first], alike.ravel(), signal)
        for amplitude, strength in zip(_AMPLITUDES, strengths, strict=True):
            distance = abs(math.log(max(amplitude, _LEAST_AMPLITUDE) / _USUAL))
            likely.append(spectrum.likelihood(strength) - _PENALTY * distance)
            tried.append((strength, each, reach, spectrum))
    shares = softmax(np.array(likely))
    shares = np.where(shares < _UNLIKELY, 0.0, shares)
    k, effects, covariance = sums.shape[1], np.zeros((len(seen), sums.shape[1])), np.zeros_like(kernels[0])
    for share, (strength, prior, reach, spectrum) in zip(shares / shares.sum(), tried, strict=True):
        if not share:
            continue
        whitener = spectrum.whitener(strength)
        shown = (whitener @ sums.T[:, :, None]).transpose(0, 2, 1) @ whitener  # whitened twice
        factors = base.curvature * strength
        mean = (factors[:, None] * (shown[:, 0] @ reach)).T
        response = (whitener * factors[:, None, None]).reshape(-1, len(reach)) @ reach
        effects += share * mean
        covariance += share * (strength * prior + (mean @ mean.T - response.T @ response) / k)
    return Shape(effects, covariance - effects @ effects.T / k)


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Sums of each output that are a signal, of a covariance up to its strength, plus noise."""

    directions: Floats64  # in these the noise has the covariance 1, and the signal a diagonal one
    variances: Floats64  # the diagonal, for the strength 1
    squares: Floats64  # of the sums in these directions

    @classmethod
    def of(
        cls, sums: Floats64, whiteners: Floats64, curvature: Floats64, alike: Integers, signal: Floats64
    ) -> "_Spectrum":
        """Return the directions of a signal, given its covariance and matrices that make that of noise 1;
        `alike` are the places of the outputs in the matrices and curvatures.
        """
        scaled = curvature[:, None, None] * whiteners
        variances, vectors = np.linalg.eigh(scaled @ signal @ scaled.transpose(0, 2, 1))
        directions, variances = (vectors.transpose(0, 2, 1) @ whiteners)[alike], variances[alike].clip(0.0)
        return cls(directions, variances, (directions @ sums[:, :, None])[:, :, 0] ** 2)

    def likelihood(self, strength: float) -> float:
        """Return the logarithm of the marginal likelihood of the sums, but for a constant."""
        total = 1 + strength * self.variances
        return -0.5 * float((self.squares / total + np.log(total)).sum())

    def whitener(self, strength: float) -> Floats64:
        """Return matrices that make the covariances of the sums 1."""
        return self.directions / np.sqrt(1 + strength * self.variances)[:, :, None]


def _without_noise(found: Floats64, units: Floats64) -> Floats64:
    """Return correlations off the diagonal without noise of deviation units[i] * units[j]: eigenvalues within
    2 sqrt(d) of 0, as those of noise, become 0, and the others what has the least expected squared error.
    """
    scaled = found / np.outer(units, units)
    np.fill_diagonal(scaled, 0.0)
    values, vectors = np.linalg.eigh(scaled)
    sizes = np.sign(values) * np.sqrt(np.maximum(values**2 - 4 * len(values), 0.0))
    return np.asarray((vectors * sizes) @ vectors.T * np.outer(units, units))


def _paired(copula: Copula, shapes: Sequence[Shape], found: Floats64, variances: Floats64) -> Copula:
    """Return the copula with weights for the pairs of columns that the residuals of one output show."""
    d = len(copula.scores)
    far = found**2 > 2 * math.log(found.size + 1) * variances  # more than the greatest of as many noises
    squares, strengths = np.zeros((d, d)), np.zeros((d, d))
    upper = np.triu_indices(d, 1)
    squares[upper] = np.where(far, found**2 - variances, 0.0).sum(axis=0)
    strengths[upper] = np.sqrt((found**2 / variances).mean(axis=0))
    shares = (squares + squares.T).sum(axis=1)
    weights = copula.weights
    if far.any():
        effects = _sizes(copula.masses, shapes)
        weights = np.maximum(np.maximum(effects, np.sqrt(shares / shares.max())), _LEAST_PAIRED)
    return replace(copula, weights=weights, strengths=strengths + strengths.T)


def _main_effects(plan: AdditivePlan, mass: Floats64, shape: Shape) -> Floats64:
    """Return an effect of each category: on the last margin, or of several outputs their main direction."""
    if plan.n_outputs == 1:
        return shape.effects[:, -1]
    _, _, directions = np.linalg.svd(np.sqrt(mass)[:, None] * shape.effects, full_matrices=False)
    return np.asarray(shape.effects @ directions[0])


def _sizes(masses: Sequence[Floats64], shapes: Sequence[Shape]) -> Floats64:
    """Return the root mean square of the effects of each column, as a share of the greatest."""
    squares = [float((mass @ shape.effects**2).sum()) for mass, shape in zip(masses, shapes, strict=True)]
    return np.asarray(np.sqrt(np.array(squares) / max(*squares, _NEAR_0)))


def normal_scores(mass: Floats64, order: NDArray[np.intp]) -> Floats64:
    """Return a normal score for each cell, standardised."""
    ordered, scores = mass[order], np.empty(len(mass))
    middles = (np.cumsum(ordered) - ordered / 2).clip(_NEAR_0, 1 - _NEAR_0)
    scores[order] = ndtri(middles).clip(-_EXTREME, _EXTREME)
    scores -= mass @ scores
    return np.asarray(scores / max(math.sqrt(float(mass @ scores**2)), 0.3))
