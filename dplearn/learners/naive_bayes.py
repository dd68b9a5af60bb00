"""Private naive Bayes: how common each value is in each class, asked for in a single round.

>>> from sklearn.datasets import load_iris
>>> from dplearn.domains import Grid
>>> X, y = load_iris(return_X_y=True)
>>> learner = StatisticalQueryNaiveBayes(
...     epsilon=3.0, domain=Grid(0, 10), classes=[0, 1, 2], random_state=0
... ).fit(X, y)
>>> learner.score(X, y) > 0.8
True
>>> learner.guarantee_.epsilon, learner.noise_, learner.n_bins_
(Fraction(3, 1), 'laplace', 4)
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import AUTO, check_count, check_count_or_auto, check_number
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.domains import Floats, Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.intake import (
    as_product,
    check_classes,
    check_told,
    known_classes,
    read_features,
    read_labels,
)
from dplearn.learners.bins import MOST_BINS, declared_columns, stacked
from dplearn.learners.naive_bayes_tables import NaiveBayesTables, learn_naive_bayes
from dplearn.learners.naive_bayes_terms import NaiveBayesLayout, NaiveBayesPlan, NaiveBayesTerms
from dplearn.privacy import PrivacyLedger
from dplearn.queries import Examples
from dplearn.queries.opening import opened, price_of

__all__ = ["NaiveBayesPlan", "StatisticalQueryNaiveBayes"]

_UNDECLARED = Floats()


class StatisticalQueryNaiveBayes(RuleClassifier):
    """Learn each column's distribution in each class by statistical queries, and combine them as independent.

    All queries are asked together, before any is answered: so in the local model each record reports once,
    whatever others report.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. The decimal that is written is meant: 0.1 is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; keep it far below one over the number of records. It
        makes many columns less noisy in the central model; where it would not, none is spent. 0: pure
        differential privacy.
    model : {"central", "local"}, default="central"
        "central": noise is added to counts of all records. "local": each record reports the value of one
        column and its label, through randomised response, so that nobody need be trusted with it.
    domain : Domain, sequence of Domain, Product or Schema, optional
        What values can occur: one domain for all columns or one for each. None: all finite floats, cut at
        powers of two; bounds, such as those of `Grid(0, 100)`, tell more.
    n_bins : int or "auto", default="auto"
        Into how many bins of equal width the range of a column of numbers is cut, at least 2. "auto": 2
        ("central": 4) to 32, as many as leave an average bin five times as many records as the noise's
        standard deviation.
    smoothing : float, default=1.0
        How many records are added to each count, beside four times the noise's standard deviation; positive.
    classes : sequence, optional
        All labels that can occur. None takes those of the schema, or else those in `y`, and the guarantee
        then says that it assumes the set of labels public.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it: clones, searches and workers too.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    log_prior_ : ndarray of float64 of shape (n_classes,)
        Released. The logarithm of each class's share.
    log_ratios_ : list of ndarray of float64 of shape (n_classes, bins)
        Released. For each column the logarithm of how many times as common a bin is in a class as it would
        be if the column told nothing; towards 0 where the noise hides that.
    bins_ : tuple of Bins
        Public. How each column's values are told apart.
    n_bins_ : int
        Public. Into how many bins a range of numbers was cut.
    noise_ : str
        Public. "laplace" or "gaussian"; "local" for randomised response.
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted: declared, or assumed public.
    guarantee_ : ApproxDP
        Public. What the fit promises, and on what assumptions.
    domain_ : Product
        Public. The domain of a record.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.queries.ShareQuery : What is asked for each column.
    dplearn.theory.share_queries.share_noise : How noisy an answer is.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; "local" and "laplace" with
    delta 0, "local" even towards whoever collects the reports. Proof: a column's counts of class and bin
    sort each record into one cell, so that replacing one moves two counts by 1; the columns' queries have
    equal parts of the budget ("central") or of the records ("local"). What is made of the answers is public.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** With probability at least 1 - beta no share of a class and a bin is released with more noise
    than `plan(n_samples).tolerance`. A fit warns where the standard deviation of that noise is as great as an
    average class: public numbers say so, whatever the records.

    **Source.** Blum, Dwork, McSherry and Nissim (2005) for naive Bayes by noisy sums; Kasiviswanathan, Lee,
    Nissim, Raskhodnikova and Smith (2011), Section 5, for its local form. Pseudo-counts that grow
    with the noise, and classes that all columns agree on, are ours.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        model: str = "central",
        domain: Any = None,
        n_bins: int | str = AUTO,
        smoothing: float = 1.0,
        classes: Sequence[Any] | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.model = model
        self.domain = domain
        self.n_bins = n_bins
        self.smoothing = smoothing
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def plan(
        self,
        n_samples: int,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        beta: float = 0.05,
    ) -> NaiveBayesPlan:
        """Return what a fit would promise and how noisy its tables would be, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int, optional
            Number of columns; needed unless the domain tells.
        n_labels : int, optional
            Number of labels; needed unless `classes` or the schema tells.
        beta : float, default=0.05
            Probability of failure that is allowed, in (0, 1).
        """
        terms = self._terms(self.random_state is not None)
        failure = check_number("beta", beta, above=0, below=1)
        features = len(terms.declared) if isinstance(terms.declared, Product) else n_features
        labels = n_labels if terms.classes is None else len(terms.classes)
        features = check_told("n_features", features, source="domain")
        labels = check_told("n_labels", labels, source="classes")
        domain = as_product(terms.declared, features, None)
        layout = terms.layout(check_count("n_samples", n_samples, low=1), domain, labels)
        noises = [layout.noise(each.size) for each in layout.bins]
        return NaiveBayesPlan(
            guarantee=terms.guarantee(layout, domain),
            noise=layout.kind,
            n_bins=layout.n_bins,
            n_queries=layout.n_queries,
            deviation=max(noise.deviation for noise in noises),
            tolerance=max(noise.bound.at(failure / len(noises)) for noise in noises),
            beta=float(failure),
        )

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public, and that the data are where they were declared to be.
        terms = self._terms(reproducible)
        stream = PublicStream.of(self.random_state, type(self).__name__)
        charge = self._open_account(terms.price)
        X = read_features(self, X, domain=None if self.domain is None else terms.declared, reset=True)
        classes, y = read_labels(y, len(X), terms.classes)
        domain = as_product(terms.declared, X.shape[1], getattr(self, "feature_names_in_", None))
        layout = terms.layout(len(X), domain, len(classes))
        codes = domain.encode(X)
        _warn_if_lost(layout)

        # 2. Fix the guarantee, and charge it to the ledger.
        guarantee = terms.guarantee(layout, domain)
        charge(guarantee)

        # 3. Summarise the data into integers: one replaced record replaces one bin a column, and one label.
        records = Examples(stacked(layout.bins, codes), y)
        oracle = opened(layout.kind, records, privacy=guarantee, dice=dice, stream=stream)

        # 4. Release.
        tables = learn_naive_bayes(oracle, layout.task(terms.smoothing))

        # 5. Publish.
        self.classes_ = classes
        self.domain_ = domain
        self.guarantee_ = guarantee
        self.bins_, self.n_bins_, self.noise_ = layout.bins, layout.n_bins, layout.kind
        self.log_prior_, self.log_ratios_ = tables.log_prior, list(tables.log_ratios)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, as if columns were independent in each; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(np.exp(self.predict_log_proba(X)), dtype=np.float64)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return logarithms of what `predict_proba` returns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = read_features(self, X, domain=self.domain_, reset=False)
        return np.asarray(log_softmax(self._log_joint(self.domain_.nearest(X)), axis=1), dtype=np.float64)

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        return np.asarray(self._log_joint(columns).argmax(axis=1), dtype=np.intp)

    def _log_joint(self, columns: Any) -> NDArray[np.float64]:
        tables = NaiveBayesTables(self.log_prior_, tuple(self.log_ratios_))
        return tables.log_joint([each.of(column) for each, column in zip(self.bins_, columns, strict=True)])

    def _terms(self, reproducible: bool) -> NaiveBayesTerms:
        """Read and check all parameters."""
        classes = known_classes(self.classes, self.domain)
        if classes is not None:
            check_classes(classes)
        n_bins = check_count_or_auto("n_bins", self.n_bins, low=2)
        if n_bins is not None:
            check_count("n_bins", n_bins, low=2, high=MOST_BINS)
        price = price_of(self.model, self.epsilon, self.delta, reproducible=reproducible)
        return NaiveBayesTerms(
            price=price,
            model=self.model,
            declared=declared_columns(self.domain, _UNDECLARED),
            n_bins=n_bins,
            smoothing=float(check_number("smoothing", self.smoothing, above=0)),
            classes=classes,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        domain = declared_columns(self.domain, _UNDECLARED)
        tags.input_tags.allow_nan = domain.accepts_missing
        tags.input_tags.categorical = tags.input_tags.string = not domain.numeric
        return tags


def _warn_if_lost(layout: NaiveBayesLayout) -> None:
    """Warn if public numbers say that noise hides what columns tell of labels."""
    deviation = max(layout.noise(each.size).deviation for each in layout.bins)
    told = 1 < layout.n_classes < layout.n_samples  # else there is nothing to hide: a record a class at most
    if told and deviation * layout.n_classes >= 1:
        delta = ", or a delta such as 1e-6," if layout.kind == "laplace" and not layout.price.delta else ""
        warnings.warn(
            f"n_samples is {layout.n_samples}: the noise in counts, of standard deviation {deviation:.2g} as"
            " shares of the records, is as great as an average class and hides nearly all of it; more records"
            f" or epsilon, fewer columns{delta} show more; plan(n_samples, n_features=..., n_labels=...)"
            " tells more, without any data",
            stacklevel=5,
        )
