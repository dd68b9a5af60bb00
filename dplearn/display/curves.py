"""Curves of released scores and distributions, with bands that hold them, and confusion matrices.

Displays of private scores are scikit-learn's displays of noisy counts.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, RocCurveDisplay

from dplearn._validation import check_count
from dplearn.display.axes import axes_or_new, dry_run
from dplearn.model_selection import PrivateScore, PrivateScorer, private_score
from dplearn.model_selection.metrics import binned_counts, curve_band, share_bounds
from dplearn.model_selection.tables import within
from dplearn.releases import CDFRelease

Floats64 = NDArray[np.float64]
_ALPHA = 0.2


def _released(
    estimator: Any, X: Any, y: Any, scorer: PrivateScorer, made_up: Any, ax: Any, options: dict[str, Any]
) -> PrivateScore:
    """Release a score after a dry run of the drawing; `options` holds those of `plot` afterwards."""
    names = ("groups", "epsilon", "delta", "beta", "ledger", "random_state")
    spent = {name: options.pop(name) for name in names if name in options}
    dry_run(made_up, ax, **options)
    return private_score(estimator, X, y, scoring=scorer, **spent)


def _check_table(score: PrivateScore, kind: str, wanted: Callable[[tuple[int, ...]], bool]) -> None:
    """Raise an error unless a score has the counts that are drawn."""
    if not isinstance(score, PrivateScore):
        raise TypeError(f"score must be the result of private_score, got {type(score).__name__}")
    if not wanted(score.table.statistic.shape):
        raise ValueError(f"score must be released with scoring={kind}, got {score.scoring!r}")


def _of_one_curve(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and shape[0] == 1


class PrivateConfusionMatrixDisplay(ConfusionMatrixDisplay):
    """The noisy confusion matrix of a private score, drawn by scikit-learn's ConfusionMatrixDisplay.

    Parameters
    ----------
    confusion_matrix : ndarray of int of shape (n_labels, n_labels)
        Released. Rows are true labels, columns predictions. Entries may be negative.
    display_labels : sequence, optional
        Public. The labels.

    Attributes
    ----------
    score_ : PrivateScore
        Released. After `of_score` or `from_estimator`.
    confusion_matrix, display_labels, im_, text_, ax_, figure_
        As scikit-learn's.
    """

    @classmethod
    def of_score(cls, score: PrivateScore) -> Self:
        """Return the display of a score, not yet drawn.

        Parameters
        ----------
        score : PrivateScore
            With a `confusion_matrix`.
        """
        _check_table(score, "'balanced_accuracy', 'f1_macro', ...", lambda shape: len(shape) == 2)
        display = cls(score.confusion_matrix, display_labels=list(score.labels))
        display.score_ = score
        return display

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, labels: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Release the confusion matrix of a fitted classifier on private records, and draw it.

        Parameters
        ----------
        estimator, X, y : object
            As for `private_score`.
        labels : sequence, optional
            As for `PrivateScorer`.
        ax : matplotlib Axes, optional
            The axes to draw on.
        **options
            `groups`, `epsilon`, `delta`, `beta`, `ledger`, `random_state` as for `private_score`; others as
            for scikit-learn's `plot`.
        """
        scorer = PrivateScorer("balanced_accuracy", labels=labels)
        made_up = cls(np.array([[1, 0], [0, 1]]), display_labels=[0, 1])
        score = _released(estimator, X, y, scorer, made_up, ax, options)
        return cls.of_score(score).plot(ax=ax, **options)


class _OfBinnedCounts:
    """Mixin of the displays of one curve, which are drawn from the counts of a released area under it."""

    of_score: Callable[[PrivateScore], Any]
    _made_up: Callable[[], Any]  # scikit-learn's display of a made-up curve, on which `plot` is tried first

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        bins: Any = 30,
        score_range: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Release the curve of a fitted classifier on private records, and draw it.

        Parameters
        ----------
        estimator, X, y, ax, **options : object
            As for `PrivateConfusionMatrixDisplay`.
        pos_label, bins, score_range : object
            As for `PrivateScorer`.
        """
        scorer = PrivateScorer("roc_auc", pos_label=pos_label, bins=bins, score_range=score_range)
        score = _released(estimator, X, y, scorer, cls._made_up(), ax, options)
        return cls.of_score(score).plot(ax=ax, **options)


class PrivateRocCurveDisplay(_OfBinnedCounts, RocCurveDisplay):
    """The ROC curve of noisy binned counts, with a band that contains all of its points at once.

    Attributes
    ----------
    fpr, tpr : ndarray of float64 of shape (n_bins + 1,)
        Released. The rates at the edges of the bins, rising.
    fpr_low, fpr_high, tpr_low, tpr_high : ndarray of float64 of shape (n_bins + 1,)
        Released. Bounds on these rates of the population, all right together with probability at least
        1 - beta, over the noise and the records, as for `PrivateScore.interval`.
    roc_auc : float
        Released. The noisy area.
    score_ : PrivateScore
        Released.
    band_ : matplotlib artist
        Released. After `plot`.
    line_, ax_, figure_
        As scikit-learn's, after `plot`.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from dplearn.display import PrivateRocCurveDisplay
    >>> from dplearn.model_selection import private_score
    >>> X = np.arange(1000.0)[:, None] % 100
    >>> y = (X[:, 0] > 40).astype(int)
    >>> score = private_score(LogisticRegression().fit(X, y), X, y, scoring="roc_auc", random_state=0)
    >>> display = PrivateRocCurveDisplay.of_score(score)
    >>> float(display.fpr[0]), float(display.fpr[-1]), bool((display.tpr_low <= display.tpr_high).all())
    (0.0, 1.0, True)
    """

    @classmethod
    def of_score(cls, score: PrivateScore) -> Self:
        """Return the display of a score, not yet drawn.

        Parameters
        ----------
        score : PrivateScore
            With `scoring="roc_auc"`.
        """
        _check_table(score, "'roc_auc'", _of_one_curve)
        below, _ = _cumulated(score)
        rates = [_risen(each) for each in below]
        display = cls(fpr=rates[0], tpr=rates[1], roc_auc=score.value, pos_label=_positive_label(score))
        band = curve_band(score.table, Fraction(repr(score.beta)))
        display.score_ = score
        display.fpr_low, display.fpr_high = band.fpr[0][::-1], band.fpr[1][::-1]
        display.tpr_low, display.tpr_high = band.tpr[0][::-1], band.tpr[1][::-1]
        return display

    @staticmethod
    def _made_up() -> RocCurveDisplay:
        corners = np.array([0.0, 1.0])
        return RocCurveDisplay(fpr=corners, tpr=corners, roc_auc=0.5)

    def plot(self, ax: Any = None, **how: Any) -> Self:
        """Draw the curve and its band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on.
        **how
            As for scikit-learn's RocCurveDisplay.
        """
        super().plot(ax=ax, **how)
        x = np.unique(np.concatenate([self.fpr_low, self.fpr_high]))
        # The curve rises: at x it is above all points that are surely before x, and below those after it.
        low = np.array([self.tpr_low[self.fpr_high <= each].max(initial=0.0) for each in x])
        high = np.array([self.tpr_high[self.fpr_low >= each].min(initial=1.0) for each in x])
        self.band_ = _fill(self.ax_, self.line_, x, low, high)
        return self


class PrivatePrecisionRecallDisplay(_OfBinnedCounts, PrecisionRecallDisplay):
    """Precision and recall of noisy binned counts, with a band that contains all of their points at once.

    Attributes
    ----------
    precision, recall : ndarray of float64 of shape (n_bins + 1,)
        Released. At the edges of the bins, recall falling; the last point is (0, 1), as scikit-learn's.
    precision_low, precision_high, recall_low, recall_high : ndarray of float64 of shape (n_bins + 1,)
        Released. Bounds on these of the population, all right together with probability at least 1 - beta.
    score_ : PrivateScore
        Released.
    band_ : matplotlib artist
        Released. After `plot`.
    line_, ax_, figure_
        As scikit-learn's, after `plot`.
    """

    @classmethod
    def of_score(cls, score: PrivateScore) -> Self:
        """Return the display of a score, not yet drawn.

        Parameters
        ----------
        score : PrivateScore
            With `scoring="roc_auc"`, from whose counts this curve is computed, too.
        """
        _check_table(score, "'roc_auc'", _of_one_curve)
        (negative, positive), total = _cumulated(score)
        called = negative + positive
        precision = np.where(called > 0, positive / np.where(called > 0, called, 1), 1.0)
        recall = positive / positive[0] if positive[0] else np.zeros(len(positive))
        display = cls(
            precision,
            recall,
            pos_label=_positive_label(score),
            prevalence_pos_label=float(positive[0] / total) if total else None,
        )
        display.score_ = score
        beta = Fraction(repr(score.beta)) / 2
        band = curve_band(score.table, beta)
        display.recall_low, display.recall_high = band.tpr
        display.precision_low, display.precision_high = _precision_band(score, beta)
        return display

    @staticmethod
    def _made_up() -> PrecisionRecallDisplay:
        return PrecisionRecallDisplay(np.array([0.5, 1.0]), np.array([1.0, 0.0]), prevalence_pos_label=0.5)

    def plot(self, ax: Any = None, **how: Any) -> Self:
        """Draw the curve and its band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on.
        **how
            As for scikit-learn's PrecisionRecallDisplay.
        """
        super().plot(ax=ax, **how)
        x = np.unique(np.concatenate([self.recall_low, self.recall_high]))
        middles = (x[1:] + x[:-1]) / 2
        # Where a point may be, for each stretch of recall; the ends of a stretch belong to it.
        covers = (self.recall_low[:, None] <= middles) & (middles <= self.recall_high[:, None])
        low = np.where(covers, self.precision_low[:, None], np.inf).min(axis=0)
        high = np.where(covers, self.precision_high[:, None], -np.inf).max(axis=0)
        nowhere = ~covers.any(axis=0)
        low[nowhere] = high[nowhere] = np.nan
        self.band_ = _fill(self.ax_, self.line_, x, np.append(low, np.nan), np.append(np.nan, high))
        return self


class PrivateCalibrationDisplay(CalibrationDisplay):
    """The calibration curve of noisy binned counts, with bars that contain all of its points at once.

    Attributes
    ----------
    prob_true : ndarray of float64 of shape (k,)
        Released. The noisy fraction of positive records in each bin whose noisy count is positive.
    prob_pred : ndarray of float64 of shape (k,)
        Public. The middles of these bins. (scikit-learn: mean probabilities, which would need further sums.)
    prob_low, prob_high : ndarray of float64 of shape (k,)
        Released. Bounds on the fractions of the population, right in all bins together with probability at
        least 1 - beta.
    y_prob : None
        The probabilities of the records are private.
    score_ : PrivateScore
        Released.
    bars_ : matplotlib artist
        Released. After `plot`.
    line_, ax_, figure_
        As scikit-learn's, after `plot`.
    """

    @classmethod
    def of_score(cls, score: PrivateScore) -> Self:
        """Return the display of a score, not yet drawn.

        Parameters
        ----------
        score : PrivateScore
            With `scoring="roc_auc"`, of a classifier with `predict_proba`; its bins are drawn.
        """
        _check_table(score, "'roc_auc'", _of_one_curve)
        statistic = score.table.statistic
        if statistic.method != "predict_proba":
            raise ValueError("score must be one of a classifier with a method predict_proba")
        edges = np.array([0.0, *statistic.edges, 1.0])
        negative, positive = score.table.counts.reshape(2, -1)
        seen = np.maximum(negative, 0) + np.maximum(positive, 0)
        kept = np.flatnonzero(seen)
        share = Fraction(repr(score.beta)) / (2 * len(seen))
        ends = [
            share_bounds(
                score.table.count_ends(positive[k], 1, share / 4),
                score.table.count_ends(negative[k], 1, share / 4),
                score.n_samples,
                share / 2,
            )
            for k in kept
        ]
        display = cls(
            np.maximum(positive, 0)[kept] / seen[kept],
            ((edges[1:] + edges[:-1]) / 2)[kept],
            None,
            pos_label=_positive_label(score),
        )
        display.score_ = score
        display.prob_low, display.prob_high = np.array(ends).reshape(-1, 2).T
        return display

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 5,
        pos_label: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Release the curve of a fitted classifier on private records, and draw it.

        Parameters
        ----------
        estimator, X, y, ax, **options : object
            As for `PrivateConfusionMatrixDisplay`.
        n_bins : int, default=5
            Public. Number of equally wide bins of the probability, as scikit-learn's strategy="uniform".
        pos_label : label, optional
            As for `PrivateScorer`.
        """
        edges = np.linspace(0, 1, check_count("n_bins", n_bins, low=2, high=1000) + 1)[1:-1]
        scorer = PrivateScorer("roc_auc", pos_label=pos_label, bins=edges.tolist())
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"estimator must have a method predict_proba, got {type(estimator).__name__}")
        made_up = CalibrationDisplay(np.array([0.5]), np.array([0.5]), None)
        score = _released(estimator, X, y, scorer, made_up, ax, options)
        return cls.of_score(score).plot(ax=ax, **options)

    def plot(self, *, ax: Any = None, **how: Any) -> Self:
        """Draw the curve and its bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on.
        **how
            As for scikit-learn's CalibrationDisplay.
        """
        super().plot(ax=ax, **how)
        self.bars_ = self.ax_.vlines(
            self.prob_pred, self.prob_low, self.prob_high, color=self.line_.get_color(), alpha=0.5
        )
        return self


def _cumulated(score: PrivateScore) -> tuple[Floats64, float]:
    """Return the counts of negatives and positives from each edge on, falling to 0, and their total."""
    counts = binned_counts(score.table)
    after = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([after, np.zeros((2, 1))], axis=1), float(counts.sum())


def _risen(after: Floats64) -> Floats64:
    """Return falling counts as rates, rising from 0 to 1."""
    rates = after[::-1] / after[0] if after[0] else np.linspace(0, 1, len(after))
    return np.asarray(rates)


def _positive_label(score: PrivateScore) -> Any:
    return score.labels[score.table.statistic.places[0]]


def _precision_band(score: PrivateScore, beta: Fraction) -> tuple[Floats64, Floats64]:
    """Return bounds on the precision from each edge on, all right together; at the end it may be any."""
    table, n_bins = score.table, score.table.statistic.shape[2]
    counts = table.counts.reshape(2, n_bins)
    reach = table.reach(n_bins, beta / 16)  # four bounds on partial sums, each of probability 2 beta / 16
    after = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    n, low, high = score.n_samples, np.zeros(n_bins + 1), np.ones(n_bins + 1)
    for k in range(n_bins):
        ends = [within(each, reach, n) for each in after[:, k]]
        low[k], high[k] = share_bounds(ends[1], ends[0], n, beta / (4 * n_bins))
    return low, high


def _fill(ax: Any, line: Any, x: Floats64, low: Floats64, high: Floats64) -> Any:
    """Fill between curves that are constant between the points x: `low` from a point on, `high` up to it."""
    return ax.fill_between(
        np.repeat(x, 2)[1:-1],
        np.repeat(low[:-1], 2),
        np.repeat(high[1:], 2),
        color=line.get_color(),
        alpha=_ALPHA,
        linewidth=0,
    )


class DistributionDisplay:
    """A released cumulative distribution function, with its confidence band for the population.

    Parameters
    ----------
    distribution : CDFRelease
        The released distribution.
    beta : float or None, default=0.05
        The probability that the band does not contain the whole function of the population; None for no
        band.
    reference : array-like of number, optional
        A public sample to compare with. It is drawn without noise, so never give private records.

    Attributes
    ----------
    distribution, beta, reference
        As given.
    ax_, figure_ : matplotlib Axes and Figure
        After `plot`.

    Examples
    --------
    >>> from dplearn.display import DistributionDisplay
    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.releases import cdf
    >>> found = cdf([20] * 300 + [40] * 500, epsilon=1, domain=IntegerRange(0, 120))
    >>> DistributionDisplay(found).beta
    0.05
    """

    def __init__(self, distribution: CDFRelease, *, beta: float | None = 0.05, reference: Any = None):
        if not isinstance(distribution, CDFRelease):
            raise TypeError(f"distribution must be a CDFRelease, got {type(distribution).__name__}")
        self.distribution = distribution
        self.beta = beta
        self.reference = reference

    @classmethod
    def from_release(
        cls,
        release: Any,
        *,
        beta: float | None = 0.05,
        reference: Any = None,
        ax: Any = None,
        name: str = "x",
    ) -> Self:
        """Draw a distribution that `cdf` has released.

        Parameters
        ----------
        release : CDFRelease
            What it returned.
        beta, reference
            As for the class.
        ax, name
            As for `plot`.
        """
        return cls(release, beta=beta, reference=reference).plot(ax, name=name)

    def plot(self, ax: Any = None, *, name: str = "x") -> Self:
        """Draw the function, its band and the public sample.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; None takes a new figure.
        name : str, default="x"
            The name of the measured quantity, for the labels of the axes.
        """
        axes, found = axes_or_new(ax), self.distribution
        x = np.unique(found.ppf(np.linspace(0.001, 0.999, 512)))
        axes.step(x, found.cdf(x), where="post", label="released")
        if self.beta is not None:
            low, high = found.band(beta=self.beta).at(x)
            label = f"population, {1 - self.beta:g}"
            axes.fill_between(x, low, high, step="post", alpha=0.25, label=label)
        if self.reference is not None:
            values = np.sort(np.asarray(self.reference).ravel())
            shares = np.arange(1, values.size + 1) / values.size
            axes.step(values, shares, where="post", linestyle="--", color="0.4", label="public sample")
        axes.legend()
        axes.set(xlabel=name, ylabel=f"share at or below {name}")
        self.ax_, self.figure_ = axes, axes.figure
        return self
