"""Displays for planning: accuracy against epsilon, sample sizes, agreement of teachers, abstentions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from dplearn import theory
from dplearn._validation import check_count, check_number
from dplearn.chance import PublicStream
from dplearn.display.axes import axes_or_new, dry_run
from dplearn.estimator.base import PrivateEstimator
from dplearn.estimator.recipe import cost_of_fit
from dplearn.learners.votes import QueriesExhaustedError
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

    See Also
    --------
    from_estimator : Fit, score and draw.
    from_predictions : Score and draw.

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
        BudgetExceededError
            If the budget of a ledger does not suffice for all fits; nothing was fitted.
        ImportError
            If matplotlib is not installed; nothing was fitted.
        TypeError
            If `plot` does not know a keyword; nothing was fitted.
        ValueError
            If `estimator` has a seed and `random_state` is None (all fits would draw the same noise), if it
            has no parameter `param_name`, or if test rows and labels do not match. Nothing was fitted.
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


_SUFFIX = "_sample_size"


class SampleSizeDisplay:
    """Sample size against epsilon, alpha, a dimension or another parameter.

    Parameters
    ----------
    values : array-like of float of shape (k,)
        Values of the parameter that varies.
    sizes : array-like of float of shape (k,)
        The sample size that the theory requires at each value, in records.
    simulated : iterable of (float, float), default=()
        Values, each with a sample size that was enough in simulations on made-up or public data.
    vary : str, default="epsilon"
        The name of the parameter that varies.

    Attributes
    ----------
    values, sizes : ndarray of float64 of shape (k,)
        The line, in the order of rising values.
    simulated : ndarray of float64 of shape (m, 2)
        The points.
    vary : str
        As given.
    line_, points_ : matplotlib artists
        After `plot`; `points_` is None if there are no points.
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> from dplearn.display import SampleSizeDisplay
    >>> fixed = {"class_size": 1000, "alpha": 0.1, "beta": 0.05}
    >>> display = SampleSizeDisplay.of("generic_sample_size", [0.01, 1], **fixed)
    >>> display.values.tolist(), (display.sizes[0] > display.sizes[1]).item()
    ([0.01, 1.0], True)
    """

    def __init__(
        self,
        values: Any,
        sizes: Any,
        *,
        simulated: Iterable[tuple[float, float]] = (),
        vary: str = "epsilon",
    ):
        at, needed = np.asarray(values, float), np.asarray(sizes, float)
        if at.ndim != 1 or at.shape != needed.shape or not at.size:
            raise ValueError(
                "values and sizes must be of one length, at least 1, got shapes"
                f" {at.shape} and {needed.shape}"
            )
        order = np.argsort(at, kind="stable")
        self.values: NDArray[np.float64] = at[order]
        self.sizes: NDArray[np.float64] = needed[order]
        self.simulated: NDArray[np.float64] = np.array(list(simulated), float).reshape(-1, 2)
        self.vary = vary

    @classmethod
    def of(
        cls,
        calculator: str | Callable[..., Any],
        values: Sequence[Any],
        *,
        vary: str = "epsilon",
        simulated: Iterable[tuple[float, float]] = (),
        **fixed: Any,
    ) -> Self:
        """Return the display of a calculator's results without drawing it.

        Parameters
        ----------
        calculator : str or callable
            The name of a sample size of `dplearn.theory`, such as "generic_sample_size"; or a function that
            takes `vary` and all of `fixed` by name and returns a number of records.
        values : sequence
            Values of the parameter that varies.
        vary : str, default="epsilon"
            The name of this parameter.
        simulated : iterable of (float, float), default=()
            As for the class.
        **fixed
            The calculator's other parameters.
        """
        count = _calculator(calculator)
        sizes = [count(**{vary: value}, **fixed) for value in values]
        return cls(values, sizes, simulated=simulated, vary=vary)

    @classmethod
    def from_theory(
        cls,
        calculator: str | Callable[..., Any],
        values: Sequence[Any],
        *,
        vary: str = "epsilon",
        simulated: Iterable[tuple[float, float]] = (),
        ax: Any = None,
        **fixed: Any,
    ) -> Self:
        """Draw a calculator's results.

        Parameters
        ----------
        calculator, values, vary, simulated, **fixed
            As for `of`.
        ax : matplotlib Axes, optional
            As for `plot`.
        """
        return cls.of(calculator, values, vary=vary, simulated=simulated, **fixed).plot(ax)

    def plot(self, ax: Any = None, *, label: str = "sufficient by theory", **line_kw: Any) -> Self:
        """Draw the line and the points; the axis of values is logarithmic if all values are positive.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; None takes a new figure.
        label : str, default="sufficient by theory"
            The line's name in the legend.
        **line_kw
            Arguments for matplotlib's `plot`.
        """
        axes = axes_or_new(ax)
        (self.line_,) = axes.plot(self.values, self.sizes, **{"marker": ".", "label": label} | line_kw)
        self.points_ = None
        if self.simulated.size:
            style = {"marker": "x", "linestyle": "none", "color": "0.25", "label": "sufficient in simulation"}
            (self.points_,) = axes.plot(*self.simulated.T, **style)
        axes.set(xlabel=self.vary, ylabel="records", yscale="log")
        if self.values.min() > 0:
            axes.set_xscale("log")
        axes.legend()
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _calculator(calculator: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of that name, or the function itself."""
    if callable(calculator):
        return calculator
    known = sorted(name for name in theory.__all__ if name.endswith(_SUFFIX))
    if calculator not in known:
        raise ValueError(f"calculator must be callable or among {', '.join(known)}, got {calculator!r}")
    found: Callable[..., Any] = getattr(theory, calculator)
    return found


class TeacherAgreementDisplay:
    """Histogram over queries of the lead of the label with most votes over the second.

    Parameters
    ----------
    votes : array-like of shape (n_teachers, n_queries)
        Public. The label that each teacher predicts for each query. The votes of a fitted ensemble are
        private, and it does not disclose them: train other teachers on public or made-up records.
    least_lead : int, optional
        The smallest lead at which a query is answered with high probability, such as
        `plan(n).least_lead`.

    Attributes
    ----------
    gaps : ndarray of int64 of shape (n_queries,)
        Votes for the first label minus votes for the second.
    n_teachers : int
        Number of teachers.
    least_lead : int or None
        As given.
    bars_ : matplotlib BarContainer
        Public. After `plot`.
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> from dplearn.display import TeacherAgreementDisplay
    >>> display = TeacherAgreementDisplay([["a", "b"], ["a", "a"], ["a", "b"], ["a", "a"]])
    >>> display.gaps.tolist(), display.n_teachers
    ([4, 0], 4)
    """

    def __init__(self, votes: Any, *, least_lead: int | None = None):
        cast = np.asarray(votes)
        if cast.ndim != 2 or not cast.size:
            raise ValueError(
                f"votes must be of shape (n_teachers, n_queries), neither of them 0, got {cast.shape}"
            )
        labels, codes = np.unique(cast, return_inverse=True)
        kinds = max(len(labels), 2)  # where all teachers agree, the second label has no votes
        places = codes.reshape(cast.shape) + kinds * np.arange(cast.shape[1])
        counts = np.bincount(places.ravel(), minlength=kinds * cast.shape[1]).reshape(-1, kinds)
        counts.sort(axis=1)
        self.gaps: NDArray[np.int64] = counts[:, -1] - counts[:, -2]
        self.n_teachers = len(cast)
        self.least_lead = least_lead

    @classmethod
    def from_predictions(
        cls, votes: Any, *, least_lead: int | None = None, ax: Any = None, **bar_kw: Any
    ) -> Self:
        """Draw the agreement of public votes.

        Parameters
        ----------
        votes, least_lead
            As for the class.
        ax, **bar_kw
            As for `plot`.
        """
        return cls(votes, least_lead=least_lead).plot(ax, **bar_kw)

    def plot(self, ax: Any = None, *, bins: int = 30, **bar_kw: Any) -> Self:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; None takes a new figure.
        bins : int, default=30
            The number of bars; at most one for each possible gap.
        **bar_kw
            Arguments for matplotlib's `hist`.
        """
        axes = axes_or_new(ax)
        edges = np.linspace(-0.5, self.n_teachers + 0.5, min(bins, self.n_teachers + 1) + 1)
        _, _, self.bars_ = axes.hist(self.gaps, edges, **{"label": "queries"} | bar_kw)
        if self.least_lead is not None:
            style = {
                "color": "0.25",
                "linestyle": "--",
                "label": "answered with high probability from here on",
            }
            axes.axvline(self.least_lead, **style)
        axes.set(xlabel=f"lead of the first label, in votes of {self.n_teachers}", ylabel="queries")
        axes.legend()
        self.ax_, self.figure_ = axes, axes.figure
        return self


class QueryBudgetDisplay:
    """Running count of the abstentions among released answers, with the number at which an ensemble stops.

    Parameters
    ----------
    answers : array-like of shape (n_queries,)
        Released. The results of an ensemble's `predict`, in order.
    abstain_label : object
        The value that marks an abstention; it may be nan.
    max_abstentions : int, optional
        Public. The number of abstentions after which the ensemble stops.

    Attributes
    ----------
    abstentions : ndarray of int64 of shape (n_queries,)
        Released. Running count of abstentions.
    max_abstentions : int or None
        As given.
    line_ : matplotlib Line2D
        Released. After `plot`.
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> from dplearn.display import QueryBudgetDisplay
    >>> display = QueryBudgetDisplay(["yes", "?", "no", "?"], abstain_label="?", max_abstentions=3)
    >>> display.abstentions.tolist()
    [0, 1, 1, 2]
    """

    def __init__(self, answers: Any, *, abstain_label: Any, max_abstentions: int | None = None):
        given = np.asarray(answers)
        if given.ndim != 1:
            raise ValueError(f"answers must be of shape (n_queries,), got {given.shape}")
        abstaining = given != given if abstain_label != abstain_label else given == abstain_label
        self.abstentions: NDArray[np.int64] = np.cumsum(abstaining, dtype=np.int64)
        self.max_abstentions = max_abstentions

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None, **line_kw: Any) -> Self:
        """Query a fitted ensemble, which uses up its queries, and draw its abstentions.

        Parameters
        ----------
        estimator : SubsampleAggregateClassifier
            Fitted, with an `abstain_label`: without one, abstentions cannot be counted.
        X : array-like of shape (n_queries, n_features)
            Public rows. If the ensemble stops before the last row, the answers until then are drawn.
        ax, **line_kw
            As for `plot`.

        Raises
        ------
        ImportError
            If matplotlib is not installed; no query was made.
        QueriesExhaustedError
            If there are more rows than queries left, and no answer was released.
        TypeError
            If `plot` does not know a keyword; no query was made.
        ValueError
            If `estimator` has no `abstain_label`; no query was made.
        """
        label = getattr(estimator, "abstain_label", None)
        if label is None:
            raise ValueError(
                "abstain_label of estimator must be set: without it, abstentions look like answers"
            )
        check_is_fitted(estimator)
        most = estimator.max_abstentions_
        dry_run(cls([label], abstain_label=label, max_abstentions=most), ax, **line_kw)
        try:
            answers = estimator.predict(X)
        except QueriesExhaustedError as error:
            if not error.released.size:
                raise
            answers = error.released
        return cls(answers, abstain_label=label, max_abstentions=most).plot(ax, **line_kw)

    @classmethod
    def from_predictions(
        cls,
        answers: Any,
        *,
        abstain_label: Any,
        max_abstentions: int | None = None,
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the abstentions among released answers.

        Parameters
        ----------
        answers, abstain_label, max_abstentions
            As for the class.
        ax, **line_kw
            As for `plot`.
        """
        return cls(answers, abstain_label=abstain_label, max_abstentions=max_abstentions).plot(ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the line.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; None takes a new figure.
        **line_kw
            Arguments for matplotlib's `step`.
        """
        axes = axes_or_new(ax)
        asked = np.arange(1, self.abstentions.size + 1)
        (self.line_,) = axes.step(asked, self.abstentions, where="post", **{"label": "abstentions"} | line_kw)
        if self.max_abstentions is not None:
            axes.axhline(self.max_abstentions, color="0.4", linestyle="--", label="the ensemble stops here")
        axes.set(xlabel="queries", ylabel="abstentions so far")
        axes.legend()
        self.ax_, self.figure_ = axes, axes.figure
        return self
