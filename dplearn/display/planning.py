"""Accuracy against epsilon, for planning."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_consistent_length

from dplearn._validation import check_count, check_number
from dplearn.chance import PublicStream
from dplearn.display.axes import axes_or_new, dry_run
from dplearn.estimator.base import PrivateEstimator
from dplearn.estimator.recipe import cost_of_fit
from dplearn.privacy import Guarantee, PrivacyLedger
from dplearn.privacy.guarantees import amounts, with_amounts
from dplearn.privacy.privacy_filter import PrivacyFilter

_SHARE = 0.8


class EpsilonDisplay:
    """Accuracy against epsilon, with a band of several fits.

    Parameters
    ----------
    accuracies : mapping of float to sequence of float
        For each epsilon, the accuracies of one or more fits.
    baseline : float, optional
        The accuracy without privacy.

    Attributes
    ----------
    epsilons : ndarray of float64 of shape (k,)
        In rising order.
    accuracies : list of ndarray of float64
        For each epsilon, the accuracy of each fit.
    baseline : float or None
        The accuracy without privacy.
    line_, band_, baseline_ : matplotlib artists
        After `plot`; `baseline_` is None if there is no baseline.
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> from dplearn.display import EpsilonDisplay
    >>> display = EpsilonDisplay({0.1: [0.6, 0.5, 0.7], 1: [0.9, 0.8, 0.9]}, baseline=0.95)
    >>> display.epsilons.tolist(), display.middle.tolist()
    ([0.1, 1.0], [0.6, 0.9])
    """

    def __init__(self, accuracies: Mapping[Any, Sequence[float]], *, baseline: float | None = None):
        if not accuracies:
            raise ValueError("accuracies must hold an epsilon, got none")
        found = {_epsilon(epsilon): np.asarray(each, float) for epsilon, each in accuracies.items()}
        if any(each.ndim != 1 or not each.size for each in found.values()):
            raise ValueError("accuracies must hold one or more numbers for each epsilon")
        self.epsilons: NDArray[np.float64] = np.array(sorted(found))
        self.accuracies = [found[epsilon] for epsilon in sorted(found)]
        self.baseline = baseline

    @property
    def middle(self) -> NDArray[np.float64]:
        """The median accuracy at each epsilon."""
        return np.array([np.median(each) for each in self.accuracies])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any,
        y_test: Any,
        *,
        epsilons: Sequence[float] = (0.1, 0.3, 1, 3, 10),
        repeats: int = 10,
        param_name: str = "epsilon",
        baseline: Any = None,
        random_state: Any = None,
        ax: Any = None,
        **how: Any,
    ) -> Self:
        """Fit clones of an estimator at each epsilon, several times, and draw their accuracies.

        Parameters
        ----------
        estimator : classifier
            With an `epsilon`. Each of the `repeats` fits at each epsilon costs that epsilon. Use public or
            made-up data, or a ledger: all fits are charged to it, and its budget must suffice for all.
        X, y : array-like
            The data of the fits.
        X_test, y_test : array-like
            Public rows and labels: an accuracy on private rows would be a release without a guarantee.
        epsilons : sequence of float, default=(0.1, 0.3, 1, 3, 10)
            Positive.
        repeats : int, default=10
            The number of fits at each epsilon.
        param_name : str, default="epsilon"
            The parameter that varies, such as "learner__epsilon" of a pipeline; other steps keep theirs.
        baseline : classifier, optional
            A classifier without privacy. It is cloned and fitted once, and its fit has no guarantee.
        random_state : None, int or numpy random generator, default=None
            None uses the operating system's entropy, and the estimator must have no seed. Any other value
            gives each fit a seed of its own, which makes all fits repeatable: for public data only.
        ax, **how
            As for `plot`.

        Raises
        ------
        BudgetExceededError, ImportError, TypeError, ValueError
            Before any fit: if the budget of a ledger does not suffice for all fits, matplotlib is not
            installed, `plot` does not know a keyword, `estimator` has a seed and `random_state` is None (all
            fits would draw the same noise), it has no parameter `param_name`, or test rows and labels do not
            match.
        """
        values = [_epsilon(epsilon) for epsilon in epsilons]
        count = check_count("repeats", repeats, low=1)
        _check_varied(estimator, param_name)
        _check_test(X, X_test, y_test)
        dry_run(cls({1: [0.5]}), ax, **how)
        repeated = np.repeat(values, count).tolist()
        seeds = _seeds(estimator, param_name, random_state, len(repeated))
        models = [
            clone(estimator).set_params(**{param_name: epsilon}, **seed)
            for epsilon, seed in zip(repeated, seeds, strict=True)
        ]
        require_all(models, X, y)
        plain = None if baseline is None else _accuracy(y_test, clone(baseline).fit(X, y).predict(X_test))
        found: dict[float, list[float]] = {epsilon: [] for epsilon in values}
        for epsilon, model in zip(repeated, models, strict=True):
            found[epsilon].append(_accuracy(y_test, model.fit(X, y).predict(X_test)))
        return cls(found, baseline=plain).plot(ax, **how)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        predictions: Mapping[Any, Any],
        *,
        baseline: Any = None,
        ax: Any = None,
        **how: Any,
    ) -> Self:
        """Draw the accuracies of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Public labels.
        predictions : mapping of float to array-like of shape (n,) or (repeats, n)
            For each epsilon, the predictions of one or more fits.
        baseline : array-like of shape (n,), optional
            The predictions of a model without privacy.
        ax, **how
            As for `plot`.
        """
        found = {
            epsilon: [_accuracy(y_true, row) for row in np.atleast_2d(np.asarray(each))]
            for epsilon, each in predictions.items()
        }
        plain = None if baseline is None else _accuracy(y_true, baseline)
        return cls(found, baseline=plain).plot(ax, **how)

    def plot(self, ax: Any = None, *, share: float = _SHARE, label: str = "private", **line_kw: Any) -> Self:
        """Draw the median accuracy and a band that contains a share of the fits.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; None takes a new figure.
        share : float, default=0.8
            The share of the fits at each epsilon that lie in the band, from 0 to 1.
        label : str, default="private"
            The line's name in the legend.
        **line_kw
            Arguments for matplotlib's `plot`.
        """
        part = float(check_number("share", share, low=0, high=1))
        axes = axes_or_new(ax)
        low, high = (
            np.array([np.quantile(each, q) for each in self.accuracies])
            for q in ((1 - part) / 2, (1 + part) / 2)
        )
        (self.line_,) = axes.plot(self.epsilons, self.middle, **{"marker": "o", "label": label} | line_kw)
        shade = {"color": self.line_.get_color(), "alpha": 0.25}
        self.band_ = axes.fill_between(self.epsilons, low, high, label=f"{part:.0%} of the fits", **shade)
        self.baseline_ = None
        if self.baseline is not None:
            style = {"linestyle": "--", "color": "0.4", "label": "without privacy"}
            self.baseline_ = axes.axhline(self.baseline, **style)
        axes.set(xscale="log", xlabel="epsilon", ylabel="accuracy")
        axes.legend()
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _epsilon(epsilon: Any) -> float:
    return float(check_number("epsilon", epsilon, above=0))


def _accuracy(y_true: Any, predicted: Any) -> float:
    """Return the share of predictions that equal the true labels; an abstention counts as wrong."""
    truth, answers = np.asarray(y_true), np.asarray(predicted)
    if truth.shape != answers.shape or truth.ndim != 1 or not truth.size:
        raise ValueError(
            f"predictions must be labels, one for each true label, got shapes {answers.shape} and"
            f" {truth.shape}"
        )
    return float(np.mean(truth == answers))


def _check_varied(estimator: Any, param_name: str) -> None:
    """Refuse a parameter that the estimator does not have."""
    known = estimator.get_params()
    if param_name not in known:
        own = sorted(name for name in known if name.endswith("__epsilon"))
        given = f": say param_name={own[0]!r}" if own else ", which has no epsilon"
        raise ValueError(
            f"param_name must be a parameter of estimator, got {param_name!r} for a"
            f" {type(estimator).__name__}{given}"
        )


def _check_test(X: Any, X_test: Any, y_test: Any) -> None:
    """Refuse test rows that cannot be scored, before anything is spent on a model."""
    if np.ndim(y_test) != 1 or not len(y_test):
        raise ValueError(f"y_test must be labels, at least one, got shape {np.shape(y_test)}")
    check_consistent_length(X_test, y_test)
    if isinstance(X, np.ndarray) and isinstance(X_test, np.ndarray) and X.shape[1:] != X_test.shape[1:]:
        raise ValueError(f"X_test must have the columns of X, got shapes {X_test.shape} and {X.shape}")


def _seeds(estimator: Any, param_name: str, random_state: Any, count: int) -> list[dict[str, int]]:
    """Return the seed of each fit as a parameter, or no parameter if fits use the system's entropy."""
    name = param_name.rpartition("epsilon")[0] + "random_state"
    if random_state is not None:
        return [{name: int(seed)} for seed in PublicStream.of(random_state, "EpsilonDisplay").seeds(count)]
    if estimator.get_params().get(name) is not None:
        raise ValueError(
            f"{name} of estimator must be None unless random_state is given: all fits would draw the same"
            " noise"
        )
    return [{} for _ in range(count)]


def require_all(models: Iterable[Any], X: Any, y: Any) -> None:
    """Raise the error that fitting all of these models, or their steps, would raise in a ledger."""
    accounts: dict[Any, tuple[PrivacyLedger, list[Guarantee]]] = {}
    for part in (part for model in models for part in _charged(model)):
        ledger, cost = part.ledger, cost_of_fit(part, X, y)
        if cost is not None:  # two objects with the same file are one ledger
            accounts.setdefault(ledger.path or id(ledger), (ledger, []))[1].append(cost)
    for ledger, costs in accounts.values():
        for each in dict.fromkeys(costs):
            ledger.require(each)
        ledger.require(_total(ledger, costs))


def _charged(model: Any) -> list[Any]:
    """Return those among the model and its parts that have a ledger."""
    parts = [model, *model.get_params().values()]
    return [
        part
        for part in parts
        if isinstance(part, PrivateEstimator) and isinstance(part.ledger, PrivacyLedger)
    ]


def _total(ledger: PrivacyLedger, costs: list[Guarantee]) -> Guarantee:
    """Return the sum of all costs by the ledger's rule of composition."""
    rule = PrivacyFilter(ledger.budget, allow_reproducible=True)  # `require_all` has checked each cost
    parts = [amounts(rule.cost(cost)) for cost in costs]
    return with_amounts(
        ledger.budget, {name: sum((part[name] for part in parts), Fraction(0)) for name in parts[0]}
    )
