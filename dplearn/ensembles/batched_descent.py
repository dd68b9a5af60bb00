"""L-BFGS for a stack of independent functions, in lock step, with the steps that scipy's L-BFGS-B would take.

Every array has one row, or one slice, for each function, and every operation is elementwise, a sum along an
axis within a slice, or a product of each slice's own matrices. So no row depends on another row. The shapes
never change: a finished row stays in the arrays, and `where` keeps its values. The number of evaluations is
that of the slowest function, which affects time only.

The rules are those of L-BFGS-B without bounds, so that a function of a stack reaches the same minimum to
rounding, and stops after the same iteration: a memory of ten pairs, the line search of Moré and Thuente with
the tolerances 0.001, 0.9 and 0.1, and the same two conditions to stop. Rare cases that L-BFGS-B treats
specially end here without convergence: a direction of ascent, and a line search that fails.

>>> targets = np.array([[1.0, 2.0], [3.0, -1.0]])
>>> def loss(points):
...     return ((points - targets) ** 2).sum(axis=1), 2 * (points - targets)
>>> least = minimise(loss, np.zeros((2, 2)), tol=1e-8, max_iter=50)
>>> least.points.round(6).tolist(), least.converged.tolist()
([[1.0, 2.0], [3.0, -1.0]], [True, True])
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplearn.core.float_errors import ignores_float_errors

__all__ = ["Minima", "minimise"]

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Loss = Callable[[Floats], tuple[Floats, Floats]]

_EPS = float(np.finfo(np.float64).eps)
_MEMORY = 10  # pairs of steps and changes of the gradient
_LEAST_PROGRESS = 64 * _EPS  # scikit-learn's; relative to the loss
_DECREASE, _CURVATURE, _BRACKET = 1e-3, 0.9, 0.1
_LONGEST = 1e10  # step of a line search
_TRIALS = 50  # of a line search


@dataclass(frozen=True)
class Minima:
    """The results of a stack of minimisations.

    Attributes
    ----------
    points : ndarray of shape (k, p)
        The last points.
    n_iter : ndarray of int of shape (k,)
        The numbers of iterations.
    converged : ndarray of bool of shape (k,)
        Whether a condition to stop was met; points of other rows are meaningless.
    """

    points: Floats
    n_iter: NDArray[np.int64]
    converged: Booleans


@ignores_float_errors
def minimise(loss: Loss, start: Floats, *, tol: float, max_iter: int) -> Minima:
    """Return the minimum of each function of a stack.

    Parameters
    ----------
    loss : callable
        From points of shape (k, p) to values of shape (k,) and gradients of shape (k, p); row by row.
    start : ndarray of shape (k, p)
        The first points.
    tol : float
        The greatest absolute entry of a gradient at which a row stops.
    max_iter : int
        The greatest number of iterations of a row.
    """
    points = start
    values, slopes = loss(points)
    memory = _Memory(points)
    n_iter = np.zeros(len(points), dtype=np.int64)
    converged = _flat(slopes, tol)
    active = ~converged
    directions = -slopes
    steps = np.minimum(1 / np.sqrt(np.vecdot(directions, directions)), _LONGEST)
    search = _LineSearch(values, np.vecdot(slopes, directions), steps)
    active &= search.first_slopes < 0
    while active.any():
        trials = points + search.steps[:, None] * directions
        there, their_slopes = loss(trials)
        search.proceed(there, np.vecdot(their_slopes, directions), active)
        found = active & search.found
        active &= ~search.failed
        if not found.any():
            continue
        n_iter += found
        memory.remember(found, search, directions, their_slopes - slopes)
        before, row = values, found[:, None]
        points, slopes = np.where(row, trials, points), np.where(row, their_slopes, slopes)
        values = np.where(found, there, values)
        least = _LEAST_PROGRESS * np.maximum(np.maximum(abs(before), abs(values)), 1)
        stopped = found & (_flat(slopes, tol) | (before - values <= least))
        converged |= stopped
        active &= ~stopped & (n_iter < max_iter)
        directions = np.where(row, memory.directions(slopes), directions)
        search.begin(found, values, np.vecdot(slopes, directions))
        active &= search.first_slopes < 0
    return Minima(points, n_iter, converged)


class _Memory:
    """The last pairs of steps and changes of the gradient of each row.

    The places that are empty in a row are zeros, which add nothing to its direction.

    Parameters
    ----------
    points : ndarray of shape (k, p)
        Only its shape is read.
    """

    def __init__(self, points: Floats):
        k, p = points.shape
        self._moves, self._changes = np.zeros((_MEMORY, k, p)), np.zeros((_MEMORY, k, p))
        self._inverses = np.zeros((_MEMORY, k))  # of the products of moves and changes
        self._scale = np.ones(k)
        self._empty = _MEMORY  # places that are empty in every row

    def remember(self, found: Booleans, search: "_LineSearch", directions: Floats, changes: Floats) -> None:
        """Add a pair to the rows whose line search has ended, unless the curvature is too small."""
        curvature = (search.slopes - search.first_slopes) * search.steps
        enough = found & (curvature > -_EPS * search.first_slopes * search.steps)
        moves = search.steps[:, None] * directions
        for kept, new in [(self._moves, moves), (self._changes, changes), (self._inverses, 1 / curvature)]:
            kept[:-1, enough] = kept[1:, enough]
            kept[-1, enough] = new[enough]
        self._scale = np.where(enough, curvature / np.vecdot(changes, changes), self._scale)
        self._empty = max(self._empty - 1, 0)

    def directions(self, slopes: Floats) -> Floats:
        """Return the quasi-Newton direction of each row, by the two-loop recursion."""
        directions, weights = -slopes, np.zeros_like(self._inverses)
        places = range(self._empty, _MEMORY)
        for place in reversed(places):
            weights[place] = self._inverses[place] * np.vecdot(self._moves[place], directions)
            directions -= weights[place, :, None] * self._changes[place]
        directions *= self._scale[:, None]
        for place in places:
            back = self._inverses[place] * np.vecdot(self._changes[place], directions)
            directions += (weights[place] - back)[:, None] * self._moves[place]
        return directions


class _LineSearch:
    """The state of each row's line search (Moré and Thuente, 1994).

    Parameters
    ----------
    values, slopes : ndarray of shape (k,)
        The loss, and its derivative along the direction, at the step 0.
    steps : ndarray of shape (k,)
        The first steps to be tried.

    Attributes
    ----------
    steps : ndarray of shape (k,)
        The steps to be tried next.
    slopes, first_slopes : ndarray of shape (k,)
        The derivatives at the last steps tried, and at the step 0.
    found, failed : ndarray of bool of shape (k,)
        Whether the search has ended at the last step tried.
    """

    def __init__(self, values: Floats, slopes: Floats, steps: Floats):
        k = len(values)
        self.steps, self.slopes, self.first_slopes = steps, slopes, slopes
        self.found, self.failed = np.zeros(k, dtype=bool), np.zeros(k, dtype=bool)
        nothing = np.zeros(k)
        self._values = self._value_best = self._value_end = values
        self._best = self._end = nothing
        self._slope_best = self._slope_end = slopes
        self._low, self._high = nothing, 5 * steps
        self._width = np.full(k, _LONGEST)
        self._width_before = 2 * self._width
        self._bracketed = self._second_stage = self.found
        self._n_trials = np.zeros(k, dtype=np.int64)

    def begin(self, rows: Booleans, values: Floats, slopes: Floats) -> None:
        """Begin a new search in some rows, with the step 1."""
        fresh = _LineSearch(values, slopes, np.ones(len(values)))
        for name, value in vars(fresh).items():
            setattr(self, name, np.where(rows, value, getattr(self, name)))

    def proceed(self, values: Floats, slopes: Floats, active: Booleans) -> None:
        """Take the loss and its derivative at `steps`: end the searches there, or set the next steps."""
        self.slopes = np.where(active, slopes, self.slopes)
        self._n_trials = self._n_trials + active
        bound = self._values + self.steps * _DECREASE * self.first_slopes
        lower = values <= bound
        at_end = (self.steps <= self._low) | (self.steps >= self._high)
        short = self._high - self._low <= _BRACKET * self._high
        longest = (self.steps == _LONGEST) & lower & (slopes <= _DECREASE * self.first_slopes)
        stuck = self._bracketed & (at_end | short) | longest  # the best step so far is good enough
        good = lower & (abs(slopes) <= -_CURVATURE * self.first_slopes)
        finite = np.isfinite(values) & np.isfinite(slopes)
        self.found = finite & (good | stuck)
        self.failed = ~self.found & (~finite | (self._n_trials >= _TRIALS))
        others = active & ~self.found & ~self.failed
        if others.any():
            self._second_stage = self._second_stage | (others & lower & (slopes >= 0))
            self._choose(others, values, slopes, lower)

    def _choose(self, rows: Booleans, values: Floats, slopes: Floats, lower: Booleans) -> None:
        """Set the next steps of some rows, and the intervals that contain a minimum."""
        modified = ~self._second_stage & (values <= self._value_best) & ~lower
        tilt = np.where(modified, _DECREASE * self.first_slopes, 0)
        best = _Trial(self._best, self._value_best - self._best * tilt, self._slope_best - tilt)
        end = _Trial(self._end, self._value_end - self._end * tilt, self._slope_end - tilt)
        here = _Trial(self.steps, values - self.steps * tilt, slopes - tilt)
        steps, bracketed = _next_steps(best, end, here, self._bracketed, self._low, self._high)
        higher = here.value > best.value
        turned = ~higher & (here.slope * np.sign(best.slope) < 0)
        end = end.replaced(here, higher).replaced(best, turned)
        best = best.replaced(here, ~higher)

        new = np.where(bracketed, abs(end.step - best.step), self._width)
        slow = bracketed & (new >= 0.66 * self._width_before)
        steps = np.where(slow, best.step + 0.5 * (end.step - best.step), steps)
        low = np.where(bracketed, np.minimum(best.step, end.step), steps + 1.1 * (steps - best.step))
        high = np.where(bracketed, np.maximum(best.step, end.step), steps + 4 * (steps - best.step))
        steps = steps.clip(0, _LONGEST)
        no_room = bracketed & ((steps <= low) | (steps >= high) | (high - low <= _BRACKET * high))
        chosen = {
            "steps": np.where(no_room, best.step, steps),
            "_best": best.step,
            "_value_best": best.value + best.step * tilt,
            "_slope_best": best.slope + tilt,
            "_end": end.step,
            "_value_end": end.value + end.step * tilt,
            "_slope_end": end.slope + tilt,
            "_low": low,
            "_high": high,
            "_width_before": np.where(bracketed, self._width, self._width_before),
            "_width": new,
            "_bracketed": bracketed,
        }
        for name, value in chosen.items():
            setattr(self, name, np.where(rows, value, getattr(self, name)))


@dataclass(frozen=True)
class _Trial:
    """A step of each row's line search, with the loss and its derivative there."""

    step: Floats
    value: Floats
    slope: Floats

    def replaced(self, other: "_Trial", rows: Booleans) -> "_Trial":
        """Return these trials, with another's in some rows."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Trial(*(np.where(rows, theirs, own) for own, theirs in pairs))


def _next_steps(
    best: _Trial, end: _Trial, here: _Trial, bracketed: Booleans, low: Floats, high: Floats
) -> tuple[Floats, Booleans]:
    """Return the next steps, by cubic or quadratic interpolation, and whether a minimum is bracketed."""
    higher = here.value > best.value
    opposite = here.slope * np.sign(best.slope) < 0
    flatter = abs(here.slope) < abs(best.slope)
    away = here.step > best.step
    secant = here.step + here.slope / (here.slope - best.slope) * (best.step - here.step)

    # The loss is higher: the minimum is between the two steps.
    cubic = _cubic(best, here)
    fall = (best.value - here.value) / (here.step - best.step) + best.slope
    quadratic = best.step + best.slope / fall / 2 * (here.step - best.step)
    nearer = abs(cubic - best.step) <= abs(quadratic - best.step)
    up = np.where(nearer, cubic, cubic + (quadratic - cubic) / 2)

    # The derivative has changed its sign: it is between the two steps as well.
    back = _cubic(here, best)
    farther = abs(back - here.step) > abs(secant - here.step)
    across = np.where(farther, back, secant)

    # The derivative is smaller: the minimum is beyond, if the cubic has one.
    beyond = _cubic_beyond(best, here, np.where(away, high, low))
    closer = abs(beyond - here.step) < abs(secant - here.step)
    reach = here.step + 0.66 * (end.step - here.step)
    inside = np.where(closer, beyond, secant)
    inside = np.where(away, np.minimum(reach, inside), np.maximum(reach, inside))
    farther = abs(beyond - here.step) > abs(secant - here.step)
    outside = np.where(farther, beyond, secant).clip(low, high)
    along = np.where(bracketed, inside, outside)

    # The derivative is as large as before.
    steeper = np.where(bracketed, _cubic(here, end), np.where(away, high, low))
    steps = np.select([higher, opposite, flatter], [up, across, along], steeper)
    return steps, bracketed | higher | opposite


def _cubic(one: _Trial, other: _Trial) -> Floats:
    """Return the minimum of the cubic through two trials."""
    theta, gamma = _theta_gamma(one, other)
    gamma = np.where(other.step < one.step, -gamma, gamma)
    ratio = (gamma - one.slope + theta) / (gamma - one.slope + gamma + other.slope)
    return one.step + ratio * (other.step - one.step)


def _cubic_beyond(best: _Trial, here: _Trial, otherwise: Floats) -> Floats:
    """Return the minimum of the cubic beyond a trial, or `otherwise` if there is none."""
    theta, gamma = _theta_gamma(best, here)
    gamma = np.where(here.step > best.step, -gamma, gamma)
    ratio = (gamma - here.slope + theta) / (gamma + (best.slope - here.slope) + gamma)
    beyond = here.step + ratio * (best.step - here.step)
    return np.where((ratio < 0) & (gamma != 0), beyond, otherwise)


def _theta_gamma(one: _Trial, other: _Trial) -> tuple[Floats, Floats]:
    theta = 3 * (one.value - other.value) / (other.step - one.step) + one.slope + other.slope
    size = np.maximum(abs(theta), np.maximum(abs(one.slope), abs(other.slope)))
    inner = (theta / size) ** 2 - one.slope / size * (other.slope / size)
    return theta, size * np.sqrt(np.maximum(inner, 0))


def _flat(slopes: Floats, tol: float) -> Booleans:
    """Return whether no entry of a gradient exceeds the tolerance."""
    return np.asarray(abs(slopes).max(axis=1) <= tol)
