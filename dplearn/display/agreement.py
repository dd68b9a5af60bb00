"""Agreement of teachers on public votes, and the abstentions among released answers."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplearn.display.axes import axes_or_new, dry_run
from dplearn.learners.votes import QueriesExhaustedError


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

        Returns
        -------
        TeacherAgreementDisplay
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

        Returns
        -------
        self : TeacherAgreementDisplay
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

        Returns
        -------
        QueryBudgetDisplay

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

        Returns
        -------
        QueryBudgetDisplay
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

        Returns
        -------
        self : QueryBudgetDisplay
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
