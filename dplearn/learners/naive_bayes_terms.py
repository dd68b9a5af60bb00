"""What a fit of naive Bayes is settled by before any data: its bins, its queries and their noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dplearn.domains import Product
from dplearn.estimator.intake import TABLE, labels_assumed
from dplearn.learners.bins import MOST_BINS, Bins, binned
from dplearn.learners.naive_bayes_tables import NaiveBayesTask, asks_classes
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan
from dplearn.theory.share_queries import ShareNoise, central_noise, share_noise

__all__ = ["NaiveBayesLayout", "NaiveBayesPlan", "NaiveBayesTerms"]

_BINS = {"central": (32, 16, 8, 4), "local": (32, 16, 8, 4, 2)}  # what "auto" has to choose from
_CLEAR = 5  # deviations of the noise that an average count should have
_SHARED = 8  # "local": a column of categories or floats has at most so many times n_bins


@dataclass(frozen=True)
class NaiveBayesPlan(Plan):
    """What a fit of `StatisticalQueryNaiveBayes` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would promise.
    noise : str
        Which noise it would add.
    n_bins : int
        Into how many bins a range of numbers would be cut.
    n_queries : int
        How many queries would be asked: one for each column, and one for the classes by themselves where
        columns have so many bins that these tell little of them.
    deviation : float
        The standard deviation of the noise in the share of a class and a bin that no record is in; the
        greatest of any column. From 1 / n_classes on next to nothing is learned, and a fit warns.
    tolerance : float
        With probability at least 1 - beta no share of a class and a bin is off by more: off the records' own
        share, and with "local" off that of their distribution.
    beta : float
        As asked for.
    """

    guarantee: ApproxDP
    noise: str
    n_bins: int
    n_queries: int
    deviation: float
    tolerance: float
    beta: float


@dataclass(frozen=True)
class NaiveBayesLayout:
    """How the columns of one fit are cut and asked for."""

    price: ApproxDP
    kind: str
    n_samples: int
    n_classes: int
    n_bins: int
    bins: tuple[Bins, ...]
    n_queries: int

    def check(self) -> None:
        """Refuse to ask more queries than there are records to answer them."""
        if self.kind == "local" and self.n_samples < self.n_queries:
            raise ValueError(
                f"model='local' needs a record for each of {self.n_queries} queries,"
                f" got n_samples={self.n_samples}"
            )

    def noise(self, size: int) -> ShareNoise:
        """Return the noise in the answer about a column of so many bins."""
        return share_noise(
            max(2, self.n_classes * size),
            n_queries=self.n_queries,
            n=self.n_samples,
            epsilon=self.price.epsilon,
            delta=self.price.delta,
            model=self.kind,
        )

    def task(self, smoothing: float) -> NaiveBayesTask:
        """Return what is public about the fit."""
        noises = {size: self.noise(size).deviation for size in {1, *(each.size for each in self.bins)}}
        deviations = tuple(noises[each.size] for each in self.bins)
        return NaiveBayesTask(self.n_samples, self.n_classes, self.bins, deviations, noises[1], smoothing)


@dataclass(frozen=True)
class NaiveBayesTerms:
    """All parameters of one fit, read and checked before the data."""

    price: ApproxDP
    model: str
    declared: Any
    n_bins: int | None
    smoothing: float
    classes: Sequence[Any] | None

    def layout(self, n_samples: int, domain: Product, n_classes: int) -> NaiveBayesLayout:
        """Return how a table of this shape is cut and asked for."""
        price = self.price
        kind = "local"
        if self.model == "central":
            kind = central_noise(len(domain), epsilon=price.epsilon, delta=price.delta)
        plain = NaiveBayesLayout(price, kind, n_samples, n_classes, 0, (), len(domain))
        plain.check()
        n_bins = self._bins(plain) if self.n_bins is None else self.n_bins
        most = MOST_BINS if self.model == "central" else min(MOST_BINS, _SHARED * n_bins)
        bins = tuple(binned(each, n_bins, most) for each in domain.domains)
        layout = replace(plain, n_bins=n_bins, bins=bins, n_queries=len(bins) + asks_classes(bins))
        layout.check()
        return layout

    def guarantee(self, layout: NaiveBayesLayout, domain: Product) -> ApproxDP:
        """Return what a fit promises."""
        delta = self.price.delta if layout.kind == "gaussian" else Fraction(0)
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        return replace(self.price, delta=delta, assumes=assumes)

    def _bins(self, layout: NaiveBayesLayout) -> int:
        """Return the most bins whose average count is clear of the noise, or the fewest there are."""
        choices = _BINS[self.model]
        clear = (b for b in choices if 1 / (layout.n_classes * b) >= _CLEAR * layout.noise(b).deviation)
        return next(clear, choices[-1])
