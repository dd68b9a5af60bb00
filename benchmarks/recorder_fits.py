"""Fits of ours with instrumented draws, which dp-recorder records on a table and replays on a neighbour.

Each primitive of the dice becomes a mechanism of the tool. Its private input is what the draw takes from the
data: the ends of noise, or the costs of candidates. The tool's distance of two inputs is here in units of
privacy loss: the moves times ln(1 / ratio), or the greatest move of a cost times 2 ln(1 / ratio). The
declared sensitivity of each draw is the epsilon of the whole claim, and the sum of the distances of all draws
of a fit is compared with the claim, too. Everything else that a draw takes is a parameter, in which the tool
allows no difference. Noise is returned relative to its ends, so that a replay releases the same number; what
is published must then be equal, except after a selection, whose candidates are numbered by their costs.

The tables are of scikit-learn's breast cancer data, and neighbours replace one record by the tool's own
`generate_neighbors`. Noise is discrete Laplace (delta 0): Gaussian noise is added to sums outside the dice,
where this instrumentation does not see what it is added to.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from audit_targets import ThirdOfTheNoise
from dp_recorder.auditing import Auditor, audit_spec, ensure_equality
from dp_recorder.auditing.dataset_util import generate_neighbors, neighbor_replace
from sklearn.datasets import load_breast_cancer

from dplearn import (
    AdditiveClassifier,
    ExponentialMechanismClassifier,
    LinearRegressor,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
)
from dplearn.chance import SystemDice
from dplearn.domains import IntegerRange
from dplearn.preprocessing import PrivateKMeans, PrivatePCA, PrivateStandardScaler

__all__ = ["FITS", "replayed"]

ROWS, COLUMNS, NEIGHBOURS, EPSILON = 200, 3, 5, 1.0
LARGEST = 255  # of the columns, which are cut there and rounded
ROUNDING = 1e-9
_DICE: Any = SystemDice()


def loss_of_noise(mine: Any, theirs: Any) -> float:
    """Return the privacy loss of noise whose ends move; infinite if they do not move alike."""
    if mine.shape != theirs.shape or mine[0] != theirs[0]:
        return math.inf
    moves = [theirs[end] - mine[end] for end in (1, 2) if mine[end] is not None]
    if len(moves) == 2 and not np.array_equal(moves[0], moves[1]):
        return math.inf
    return float(mine[0]) * float(np.abs(moves[0]).sum()) if moves else 0.0


def loss_of_selection(mine: Any, theirs: Any) -> float:
    """Return the privacy loss of a selection whose costs move, in the best matching of the candidates."""
    if mine[0] != theirs[0] or sum(mine[2]) != sum(theirs[2]):
        return math.inf
    first, second = (sorted(zip(each[1], each[2], strict=True)) for each in (mine, theirs))
    greatest, i, j, left, right = 0, 0, 0, first[0][1], second[0][1]
    while i < len(first) and j < len(second):
        if left and right:
            greatest = max(greatest, abs(first[i][0] - second[j][0]))
            taken = min(left, right)
            left, right = left - taken, right - taken
        if not left:
            i += 1
            left = first[i][1] if i < len(first) else 0
        elif not right:
            j += 1
            right = second[j][1] if j < len(second) else 0
    return 2 * float(mine[0]) * greatest


def no_loss(*_: Any) -> float:
    """Return the privacy loss of a draw that takes nothing from the data."""
    return 0.0


def _input(*parts: Any) -> Any:
    """Return an array of objects, which the tool copies as it is."""
    array = np.empty(len(parts), dtype=object)
    array[:] = parts
    return array


@audit_spec("noise", input_arg="ends", sensitivity_arg="sensitivity", metric_fn=loss_of_noise)
def noise(ends: Any, primitive: str, ratio: Fraction, size: int | None, sensitivity: float) -> Any:  # noqa: ARG001 - the tool reads `sensitivity`
    """Draw noise and return it relative to its lower end, or to its upper end if there is no lower one."""
    drawn = getattr(_DICE, primitive)(ratio, ends[1], ends[2], size=size)
    return drawn - _reference(ends)


@audit_spec("selection", input_arg="costs", sensitivity_arg="sensitivity", metric_fn=loss_of_selection)
def selection(costs: Any, primitive: str, ratio: Fraction, sensitivity: float) -> int:  # noqa: ARG001 - the tool reads `sensitivity`
    """Draw the group of a selected candidate."""
    return int(getattr(_DICE, primitive)(ratio, costs[1], costs[2]))


@audit_spec("coin", input_arg="nothing", sensitivity_arg="sensitivity", metric_fn=no_loss)
def coin(nothing: int, primitive: str, parameter: Any, size: int | None, sensitivity: float) -> Any:  # noqa: ARG001 - the tool reads `sensitivity`
    """Draw what depends on public parameters only."""
    return getattr(_DICE, primitive)(parameter, size=size)


def _reference(ends: Any) -> Any:
    return ends[1] if ends[1] is not None else ends[2] if ends[2] is not None else 0


class InstrumentedDice:
    """Dice whose draws are mechanisms of dp-recorder.

    Attributes
    ----------
    n_open : int
        Noise without ends, of which nothing is seen of what it is added to.
    selects : bool
        Whether a candidate was selected.
    """

    def __init__(self, epsilon: float):
        self.epsilon, self.n_open, self.selects = epsilon, 0, False
        self._group: int | None = None

    def below(self, n: int, size: int | None = None) -> Any:
        """Draw uniformly; unseen within a group that was just selected, whose size may differ."""
        group, self._group = self._group, None
        if size is None and n == group:
            return _DICE.below(n)
        return coin(0, "below", n, size, self.epsilon)

    def bernoulli(self, p: Fraction, size: int | None = None) -> Any:
        """Draw a coin."""
        return coin(0, "bernoulli", p, size, self.epsilon)

    def discrete_gaussian(self, sigma2: Fraction, size: int | None = None) -> Any:
        """Draw Gaussian noise."""
        self.n_open += 1
        return coin(0, "discrete_gaussian", sigma2, size, self.epsilon)

    def discrete_laplace(self, ratio: Fraction, low: Any = None, high: Any = None, size: Any = None) -> Any:
        """Draw Laplace noise."""
        return self._noise("discrete_laplace", ratio, low, high, size)

    def geometric(self, ratio: Fraction, low: Any = 0, high: Any = None, size: Any = None) -> Any:
        """Draw one-sided noise."""
        return self._noise("geometric", ratio, low, high, size)

    def _noise(self, primitive: str, ratio: Fraction, low: Any, high: Any, size: Any) -> Any:
        self.n_open += low is None and high is None
        ends = _input(-math.log(ratio), low, high)
        drawn = noise(ends, primitive, ratio, size, self.epsilon)
        return drawn + _reference(ends)

    def power_weighted(self, ratio: Fraction, exponents: Any, multiplicities: Any) -> int:
        """Draw a candidate's group by the exponential mechanism."""
        return self._selection("power_weighted", ratio, exponents, multiplicities)

    def permute_and_flip(self, ratio: Fraction, exponents: Any, multiplicities: Any) -> int:
        """Draw a candidate's group by permute-and-flip."""
        return self._selection("permute_and_flip", ratio, exponents, multiplicities)

    def _selection(self, primitive: str, ratio: Fraction, exponents: Any, multiplicities: Any) -> int:
        costs = _input(-math.log(ratio), tuple(map(int, exponents)), tuple(map(int, multiplicities)))
        chosen = selection(costs, primitive, ratio, self.epsilon)
        nonempty = [i for i, number in enumerate(costs[2]) if number]
        chosen = min(nonempty, key=lambda i: abs(i - chosen))  # a group may be empty on the neighbour
        self.selects, self._group = True, costs[2][chosen]
        return chosen


Fit = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Fitted:
    """A fit of an estimator on a table whose last column is the label."""

    make: Callable[[], Any]
    shown: tuple[str, ...]
    y_as: type | None = int

    def __call__(self, table: Any, dice: Any) -> Any:
        model = self.make().set_params(random_state=0)  # of public choices only: the dice are given
        y = None if self.y_as is None else table[:, -1].astype(self.y_as)
        model._fit(table[:, :-1], y, dice)
        return [np.round(np.asarray(getattr(model, name), dtype=float), 9).tolist() for name in self.shown]


_DOMAIN = [IntegerRange(0, LARGEST)] * COLUMNS
_SPENT = {"epsilon": EPSILON, "delta": 0, "domain": _DOMAIN}
_TWO = {**_SPENT, "classes": [0, 1]}

#: Fits by family. What they publish is compared by the names of attributes; none after a selection.
FITS: dict[str, Fit] = {
    "exponential mechanism over rules": Fitted(
        lambda: ExponentialMechanismClassifier(epsilon=EPSILON, domain=_DOMAIN, classes=[0, 1]), ()
    ),
    "threshold": Fitted(lambda: ThresholdClassifier(epsilon=EPSILON, domain=_DOMAIN, classes=[0, 1]), ()),
    "naive Bayes": Fitted(lambda: StatisticalQueryNaiveBayes(**_TWO), ("log_prior_",)),
    "logistic regression": Fitted(
        lambda: StatisticalQueryLogisticRegression(**_TWO), ("coef_", "intercept_")
    ),
    "linear regression": Fitted(
        lambda: LinearRegressor(**_SPENT, target_range=(0, 1)), ("coef_", "intercept_"), float
    ),
    "additive model": Fitted(lambda: AdditiveClassifier(**_TWO), ("intercept_",)),
    "scaler": Fitted(lambda: PrivateStandardScaler(**_SPENT), ("mean_", "var_"), None),
    "principal components": Fitted(lambda: PrivatePCA(**_SPENT), ("mean_", "components_"), None),
    "k-means": Fitted(lambda: PrivateKMeans(2, **_SPENT), ("cluster_centers_",), None),
}


def one_third_of_the_noise(fit: Fit) -> Fit:
    """Return a fit with a third of the noise."""
    return lambda table, dice: fit(table, ThirdOfTheNoise(dice))


def draws_once_more(fit: Fit, mean: float) -> Fit:
    """Return a fit that makes one more draw on the table with a given mean."""

    def broken(table: Any, dice: Any) -> Any:
        published = fit(table, dice)
        if table.mean() == mean:
            dice.below(2)
        return published

    return broken


def publishes_the_mean(fit: Fit) -> Fit:
    """Return a fit that publishes the mean of the table, too."""
    return lambda table, dice: (fit(table, dice), float(table.mean()))


def tables() -> tuple[Any, list[Any]]:
    """Return a table, and neighbours of the tool's generator; the first record has the least values.

    The first neighbour has the largest values in its place, the others what the tool draws.
    """
    X, y = load_breast_cancer(return_X_y=True)
    columns = np.minimum(np.round(X[:ROWS, :COLUMNS]), LARGEST)
    table = np.column_stack([columns, y[:ROWS]]).astype(float)
    table[0] = 0
    farthest = neighbor_replace(table, idx=0, sample=[LARGEST] * COLUMNS + [1])
    neighbours = [farthest] + [
        neighbour
        for strategy in ("uniform_supported", "modify_one_attr", "uniform_domain")
        for neighbour in generate_neighbors(
            table,
            NEIGHBOURS,
            mode="bounded:replace",
            domain=[LARGEST + 1] * COLUMNS + [2],
            rng=0,
            strategy=strategy,
        )
    ]
    return table, [each for each in neighbours if not np.array_equal(each, table)]


def audited(fit: Fit, table: Any, neighbour: Any, compared: bool) -> dict[str, Any]:
    """Record a fit on a table, replay it on a neighbour and return the tool's verdict.

    Parameters
    ----------
    fit : callable
        `fit(table, dice)` returns what is published.
    table, neighbour : ndarray
        Two neighbouring tables.
    compared : bool
        Whether what is published must be equal; it always is for a fit that selects no candidate.
    """
    auditor, found = Auditor(), {"violation": None, "loss": math.inf, "draws": 0, "open": 0}
    try:
        for turn, rows in enumerate((table, neighbour)):
            if turn:
                auditor.set_replay()
            with auditor, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                dice = InstrumentedDice(EPSILON)
                published = fit(rows, dice)
                if compared or not dice.selects:
                    ensure_equality(published=repr(published))
                ensure_equality(end=True)  # a replay with fewer draws gets here too early
            found |= {"draws": sum(each.kind != "EQ" for each in auditor.log), "open": dice.n_open}
        auditor.validate_records()
    except (AssertionError, RuntimeError) as error:
        found["violation"] = str(error).splitlines()[0][:100]
    else:
        draws = [each for each in auditor.log if each.kind != "EQ"]
        found["loss"] = sum(
            each.metric_fn(*each.inputs_d.values(), *each.inputs_dp.values()) for each in draws
        )
        if found["loss"] > EPSILON + ROUNDING:
            found["violation"] = f"the draws cost {found['loss']:.4g} together, and {EPSILON:g} is claimed"
    return found


def replayed(families: tuple[str, ...] = tuple(FITS)) -> dict[str, Any]:
    """Return, for each family, what the tool finds in the correct fit and in three broken ones."""
    table, neighbours = tables()
    broken = {
        "a third of the noise": one_third_of_the_noise,
        "one more draw on one of the two tables": lambda fit: draws_once_more(fit, float(table.mean())),
        "publishes the mean": publishes_the_mean,
    }
    found = {}
    for family in families:
        fit = FITS[family]
        runs = [audited(fit, table, neighbour, False) for neighbour in neighbours]
        mistakes = {
            mistake: [
                audited(change(fit), table, neighbour, mistake == "publishes the mean")["violation"]
                for neighbour in neighbours
            ]
            for mistake, change in broken.items()
        }
        found[family] = {
            "epsilon": EPSILON,
            "neighbours": len(neighbours),
            "draws": max(run["draws"] for run in runs),
            "open": max(run["open"] for run in runs),
            "violations": [run["violation"] for run in runs if run["violation"]],
            "greatest_loss": max((run["loss"] for run in runs if not run["violation"]), default=None),
            "mistakes": {
                mistake: {
                    "caught": sum(bool(each) for each in violations),
                    "how": next(filter(None, violations), None),
                }
                for mistake, violations in mistakes.items()
            },
        }
    return found
