"""Private naive Bayes by histograms of class and bin, queried in a single round."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import AUTO, check_count, check_count_or_auto, check_number
from dplearn._writing import brief
from dplearn.domains import Floats
from dplearn.estimator import RuleClassifier
from dplearn.estimator.base import available_where, refuse_parameters
from dplearn.estimator.incremental import Calls, Incremental, joined_deviations, joined_means, next_calls
from dplearn.estimator.recipe import FitFacts, QueryFit, planned_table
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import TABLE
from dplearn.fit.support import REFUSALS, refused_pair
from dplearn.kernels import blocks, nearest_shares
from dplearn.kernels.rows import greatest_places
from dplearn.learners.bins import MOST_BINS, UNDECLARED, Bins, binned, declared_columns, stacked, summed
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import SizedPlan, hidden
from dplearn.privacy.shares import GAUSSIAN
from dplearn.queries import HistogramQuery, LabelledRows, Oracle
from dplearn.queries.noise import ShareNoise, central_noise, share_noise
from dplearn.queries.oracle import check_reports, cost_of
from dplearn.table import Columns
from dplearn.table.encodings import encoded
from dplearn.table.features import as_product, read_features
from dplearn.table.targets import labels_assumed, read_labels

_UNDECLARED = Floats()
_BINS = {"central": (32, 16, 8, 4), "local": (32, 16, 8, 4, 2)}  # the choices of n_bins="auto"
_CLEAR = 5  # the average count of a bin, at least, in standard deviations of the noise
_SHARED = 8  # "local": a column of categories or floats has at most _SHARED * n_bins bins
_BLOCK = 1 << 14  # records that are counted at once, few enough for the cache
_SUM_ERROR = 1e-8  # of priors; scikit-learn allows as much
_CAUTION = 4  # pseudo-count, in standard deviations of the noise: the best on synthetic tables, wine and iris

_BINS_OF_UNKNOWN = 8  # n_bins="auto" where the number of records is private
_NOISE_DOMINATED = (
    "{}: the noise in counts, of standard deviation {:.2g} times the number of records, is at least the"
    " average share of a class; use more records, a larger epsilon or fewer columns{}; plan(n_samples,"
    " n_features=..., n_labels=...) reports `deviation` without data"
)

Floats64 = NDArray[np.float64]


def _has_public_count(learner: Any) -> bool:
    """Whether `partial_fit` is there: it weights calls by their numbers of records."""
    if pair := refused_pair(("partial_fit", learner.neighbors)):
        raise AttributeError(REFUSALS[pair])
    return True


@documented_by()
@learns_schema()
@dataclass(eq=False, repr=False, kw_only=True)
class StatisticalQueryNaiveBayes(Incremental, RuleClassifier):
    """Naive Bayes by statistical queries for the distribution of each column in each class.

    Drop-in: any number of predictions costs no privacy. All queries are asked in one round.

    Parameters
    ----------
    delta
        ... A positive delta reduces the noise for many columns in the central model; where it would
        not, no delta is spent. 0: pure differential privacy.
    trust_model : {"central", "local"}, default="central"
        "central": noise is added to counts over all records. "local": each record reports the value of one
        column and its label by randomised response, so that no trusted curator is needed.
    domain
        ... None: all finite floats, in bins between powers of two; bounds give more informative bins.
    n_bins : int or "auto", default="auto"
        Number of bins of equal width of each numeric column, from 2 to 4,096. "auto": from 2 ("central": 4)
        to 32, the most for which the average bin holds at least five times as many records as the standard
        deviation of the noise; 8 for neighbors="add_remove".
    smoothing : float, default=1.0
        Number of pseudo-records added to each count, in addition to four standard deviations of the noise;
        positive.
    priors : array-like of shape (n_classes,), optional
        Public. The shares of the classes for predictions, in the order of `classes_`; nonnegative, with sum
        1: for a rare class, its share in the population, or equal ones. None: the noisy shares among the
        records.
    neighbors
        ... For `trust_model="central"`, tables in memory and no groups, and without `partial_fit`.

    Attributes
    ----------
    log_prior_ : ndarray of float64 of shape (n_classes,)
        Released. The logarithm of the share of each class. With `priors`: public, their logarithm.
    log_ratios_ : list of ndarray of float64 of shape (n_classes, bins)
        Released. For each column, the logarithm of P(bin | class) / P(bin), shrunk towards 0 where it is
        noise-dominated.
    feature_importances_ : ndarray of float64 of shape (n_features,)
        Released. For each column the root mean square of its `log_ratios_`.
    bins_ : tuple of Bins
        Public. The bins of each column.
    n_bins_ : int
        Public. The number of bins of a bounded numeric column.
    noisy_count_
    noise_ : str
        Public. The noise: "laplace" or "gaussian"; "local" for randomised response. Of the last call.
    calls_ : Calls
        Released. The noisy shares of class and bin among the records of all calls so far, which
        `partial_fit` continues.
    classes_
    guarantee_
        ... Of all calls together, if each has records of its own.
    schema_, domain_, n_features_in_, feature_names_in_

    See Also
    --------
    PrivateMultiOutputClassifier : One classifier for each of several labels of a record.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; "local" and "laplace" with
    delta 0, and "local" also towards the collector of the reports. Proof: each record is in one cell of a
    column's histogram of class and bin, so one replaced record changes at most two counts, each by 1, and an
    added one changes one; the queries have equal shares of the budget ("central") or of the records
    ("local"). A private number of records is estimated by the sum of the noisy counts. Calls of `partial_fit`
    compose in parallel, see `dplearn.estimator.incremental.in_parallel`; the ledger adds them up.

    **Accuracy.** With probability at least 1 - beta, the noise in every released share of a class and a bin
    is at most `plan(n_samples).tolerance`. A fit warns if the standard deviation of that noise is at least
    the average share of a class.

    **Source.** Blum, Dwork, McSherry and Nissim (2005) for naive Bayes by noisy sums; Kasiviswanathan, Lee,
    Nissim, Raskhodnikova and Smith (2011), Section 5, for the local model. The pseudo-counts proportional to
    the noise, and the class shares pooled over all columns, are ours.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dplearn import StatisticalQueryNaiveBayes
    >>> from dplearn.domains import Grid
    >>> X, y = load_iris(return_X_y=True)
    >>> given = {"epsilon": 3.0, "domain": Grid(0, 10), "classes": [0, 1, 2]}
    >>> learner = StatisticalQueryNaiveBayes(**given, random_state=0)
    >>> learner.fit(X, y).score(X, y) > 0.8, learner.noise_, learner.n_bins_
    (True, 'laplace', 4)
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    trust_model: str = "central"
    domain: Any = None
    n_bins: int | str = AUTO
    smoothing: float = 1.0
    priors: ArrayLike | None = None
    classes: Sequence[Any] | None = None
    neighbors: str = "replace_one"
    max_rows_per_group: int = 10
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    reads_parts = True

    def plan(
        self,
        n_samples: int,
        *,
        n_features: int | None = None,
        n_labels: int | None = None,
        beta: float = 0.05,
    ) -> "NaiveBayesPlan":
        """Return the plan of a fit: its guarantee and the noise of its tables. No data is read."""
        fit = self._recipe(self.random_state is not None)
        public = planned_table(fit, n_samples, n_features=n_features, n_labels=n_labels)
        return fit.replannable(public, beta=beta)

    @available_where(_has_public_count)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, groups: Any = None, **fit_parameters: Any
    ) -> Self:
        """Add new records to the fit, and release the model of the records of all calls so far.

        Each call is charged to the ledger. The noise of all calls adds up: one fit of all records is more
        accurate. `epsilon`, `delta`, `smoothing` and `priors` may be set anew between calls; `fit` forgets
        earlier calls.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Private. New records, as for `fit`, with the columns of the first call.
        y : array-like of shape (n_samples,)
            Private. Labels.
        classes : array-like of shape (n_classes,), optional
            Public. All labels of all calls. Required in the first call, unless the constructor or the schema
            declares them; may be left out in later calls.
        groups : array-like of shape (n_samples,), optional
            Private. As for `fit`; each call has groups of its own, and all calls have groups or none.

        Raises
        ------
        DomainError, TypeError, ValueError
            If a value is outside its declared domain, `domain` is to be learned, a parameter, `classes` or
            the columns differ from those of earlier calls, or an argument is not as described; nothing is
            spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent.
        """
        refuse_parameters(self, fit_parameters, "partial_fit")
        return self._fit_more(X, y, classes=classes, groups=groups)

    def _recipe(self, reproducible: bool) -> "NaiveBayesFit":
        n_bins = check_count_or_auto("n_bins", self.n_bins, low=2)
        if n_bins is not None:
            check_count("n_bins", n_bins, low=2, high=MOST_BINS)
        cost = cost_of(self.trust_model, self.epsilon, self.delta, reproducible=reproducible)
        return NaiveBayesFit(
            self,
            cost,
            trust_model=self.trust_model,
            domain=self.domain,
            n_bins=n_bins,
            smoothing=float(check_number("smoothing", self.smoothing, above=0)),
            priors=_checked_priors(self.priors),
        )

    def _publish(self, outcome: "NaiveBayesTables", plan: "NaiveBayesPlan") -> None:
        if plan.earlier is None:
            self.classes_ = plan.public.classes
        self.domain_ = plan.domain
        if outcome.count is None:
            self.calls_ = next_calls(
                plan.earlier,
                plan.guarantee,
                n_samples=plan.public.n_samples,
                shared=plan.shared,
                means=outcome.shares,
                deviations=(*plan.deviations, plan.class_deviation),
            )
            self.guarantee_ = self.calls_.guarantee
        self.bins_, self.n_bins_, self.noise_ = plan.bins, plan.n_bins, plan.noise
        self.log_prior_, self.log_ratios_ = outcome.log_prior, list(outcome.log_ratios)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities, with columns assumed independent given the class; costs no privacy."""
        return np.asarray(np.exp(self.predict_log_proba(X)), dtype=np.float64)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities of `predict_proba`."""
        return np.asarray(log_softmax(self._scores(self._columns(X)), axis=1), dtype=np.float64)

    has_margins = True

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Released. For each column the root mean square of its `log_ratios_`."""
        check_is_fitted(self)
        return np.array([np.sqrt(np.square(ratios).mean()) for ratios in self.log_ratios_])

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        return np.asarray(greatest_places(self._scores(columns)), dtype=np.intp)

    def _scores(self, columns: Any) -> NDArray[np.float64]:
        tables = NaiveBayesTables(self.log_prior_, tuple(self.log_ratios_))
        return tables.log_joint(stacked(self.bins_, Columns(columns)).T)

    def _declared(self) -> Any:
        return declared_columns(self.domain, _UNDECLARED)


class NaiveBayesFit(QueryFit):
    """The fit of `StatisticalQueryNaiveBayes`."""

    def shared(self) -> dict[str, Any]:
        return {"domain": self.declared, "n_bins": self.n_bins, "trust_model": self.trust_model}

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = self.stream()
        declared = None if self.domain is None else self.declared
        X = read_features(reader, X, domain=declared, reset=self.earlier is None)
        classes, codes = read_labels(y, len(X), self.classes)
        public = FitFacts.of_rows(X, reader, classes=classes, stream=stream)
        domain = as_product(self.declared, X.shape[1], public.names)
        return public, LabelledRows(encoded(X, domain), codes)

    def plan(self, facts: FitFacts, *, beta: float = 0.05) -> "NaiveBayesPlan":
        failure = check_number("beta", beta, above=0, below=1)
        domain = as_product(self.declared, facts.n_features, facts.names)
        n, k, d = facts.n_samples, facts.n_labels, len(domain)
        _check_number_of_priors(self.priors, k)
        check_reports(self.trust_model, n, d, "queries")
        kind = "local"
        if self.trust_model == "central":
            cost = self.cost
            kind = central_noise(d, epsilon=cost.epsilon, delta=cost.delta, neighbors=cost.neighbors)
        # Of a private number of records nothing is known: the noise is that in numbers of records.
        noise = partial(_noise_of, self.cost, kind, 1 if self.uncounted else n, k)
        earlier = self.earlier
        n_bins = self.n_bins if earlier is None else earlier.shared["n_bins"]
        if n_bins is None and self.uncounted:
            n_bins = _BINS_OF_UNKNOWN
        elif n_bins is None:
            n_bins = _clear_bins(self.trust_model, k, partial(noise, d))
        most = MOST_BINS if self.trust_model == "central" else min(MOST_BINS, _SHARED * n_bins)
        bins = tuple(binned(each, n_bins, most) for each in domain.domains)
        n_queries = d + asks_classes(bins)
        check_reports(self.trust_model, n, n_queries, "queries")
        noises = {size: noise(n_queries, size) for size in {1, *(each.size for each in bins)}}
        own = [noises[size].deviation for size in (*(each.size for each in bins), 1)]
        *deviations, class_deviation = joined_deviations(earlier, own, n)
        delta = self.cost.delta if kind == "gaussian" else Fraction(0)
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        records = (n or 1) if self.uncounted else 1
        return NaiveBayesPlan(
            guarantee=replace(self.cost, delta=delta, assumes=assumes),
            noise=kind,
            n_bins=n_bins,
            n_queries=n_queries,
            deviation=max(deviations) / records,
            tolerance=max(noises[size].bound.at(failure / d) for size in {each.size for each in bins})
            / records,
            beta=float(failure),
            domain=domain,
            public=facts if earlier is None else replace(facts, n_samples=earlier.n_samples + n),
            bins=bins,
            deviations=tuple(deviations),
            class_deviation=class_deviation,
            smoothing=self.smoothing,
            priors=self.priors,
            has_delta=bool(self.cost.delta),
            earlier=earlier,
            shared=self.shared() | {"n_bins": n_bins},
            undeclared=self.domain is None,
        )

    def summarize(self, rows: Any, plan: "NaiveBayesPlan") -> LabelledRows:
        # One replaced record replaces one row of bins and one label.
        return LabelledRows(stacked(plan.bins, rows.X), rows.y)

    def learn(self, oracle: Oracle, plan: "NaiveBayesPlan") -> "NaiveBayesTables":
        return learn_naive_bayes(oracle, plan)

    def late_warnings(self, learner: Any, plan: "NaiveBayesPlan") -> tuple[str, ...]:
        if plan.public.n_samples is not None:
            return ()
        n, k = learner.noisy_count_, plan.public.n_labels
        if k == 1 or plan.deviation * k < n:
            return ()
        return (_NOISE_DOMINATED.format(f"the noisy number of records is {n}", plan.deviation / n, ""),)


@dataclass(frozen=True)
class NaiveBayesPlan(SizedPlan):
    """The plan of a fit of `StatisticalQueryNaiveBayes`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    noise : str
        The noise, as for `StatisticalQueryNaiveBayes.noise_`.
    n_bins : int
        The number of bins of a bounded numeric column.
    n_queries : int
        The number of queries: one for each column, and one for the class shares alone where the columns have
        so many bins that their pooled estimates of the class shares are noisy.
    deviation : float
        The standard deviation of the noise in the share of an empty pair of class and bin, in the noisiest
        column. From 1 / n_classes on, the answers are noise-dominated, and a fit warns.
    tolerance : float
        With probability at least 1 - beta, every released share of a class and a bin differs by at most this
        from the share among the records; with "local", from the probability under the records' distribution.
    beta : float
        The arguments of `plan`.

    Notes
    -----
    For neighbors="add_remove" `deviation` and `tolerance` are those of noisy counts divided by `n_samples`;
    the division by a noisy number of records adds to them.
    """

    guarantee: ApproxDP
    noise: str
    n_bins: int
    n_queries: int
    deviation: float
    tolerance: float
    beta: float
    domain: Any = hidden()
    public: Any = hidden()
    bins: tuple[Bins, ...] = hidden()  # of each column
    deviations: tuple[float, ...] = hidden()  # standard deviation of the noise in each column's shares
    class_deviation: float = hidden()  # the same for the class shares, if they are queried
    priors: tuple[float, ...] | None = hidden()  # in place of the released shares of the classes
    smoothing: float = hidden()  # pseudo-records added to each count, besides _CAUTION deviations
    has_delta: bool = hidden()
    earlier: Calls | None = hidden()  # the calls that this one continues; `public` counts their records too
    shared: Any = hidden()  # the parameters that later calls may not change
    undeclared: bool = hidden(False)  # whether no domain is declared

    error_name = "tolerance"
    _accounting = GAUSSIAN

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if no column is declared, or the answers are noise-dominated; of public numbers."""
        n, k, undeclared = self.public.n_samples, self.public.n_labels, (UNDECLARED,) * self.undeclared
        # A private number of records is estimated: a fit warns afterwards. With one label, or fewer records
        # than labels, there is no relation to learn, and no warning.
        if n is None or not 1 < k < n or self.deviation * k < 1:
            return undeclared
        delta = ", or a delta such as 1e-6" if self.noise == "laplace" and not self.has_delta else ""
        return (*undeclared, _NOISE_DOMINATED.format(f"n_samples is {n}", self.deviation, delta))


def _noise_of(budget: ApproxDP, kind: str, n: int, n_classes: int, n_queries: int, size: int) -> ShareNoise:
    """Return the noise in the answer for a column of `size` bins."""
    return share_noise(
        max(2, n_classes * size),
        n_queries=n_queries,
        n=n,
        epsilon=budget.epsilon,
        delta=budget.delta,
        noise=kind,
        neighbors=budget.neighbors,
    )


def _clear_bins(trust_model: str, n_classes: int, noise: Callable[[int], ShareNoise]) -> int:
    """Return the greatest n_bins whose average count is at least _CLEAR deviations, else the least choice."""
    choices = _BINS[trust_model]
    clear = (b for b in choices if 1 / (n_classes * b) >= _CLEAR * noise(b).deviation)
    return next(clear, choices[-1])


@dataclass(frozen=True)
class NaiveBayesTables:
    """The released tables of class shares and bin ratios."""

    log_prior: Floats64
    log_ratios: tuple[Floats64, ...]
    shares: tuple[Floats64, ...] = ()
    count: int | None = None

    def log_joint(self, places: Any) -> Floats64:
        """Return the log-probability of each class for each record, up to an additive term of the record."""
        return summed(self.log_prior, [ratios.T for ratios in self.log_ratios], places)


def asks_classes(bins: Sequence[Bins]) -> bool:
    """Return whether the class shares have a query of their own: if its variance is less than half of that
    with which the columns' answers estimate them, the variance of one over the sum of 1 / size.
    """
    return sum(1 / each.size for each in bins) < 1 / 2


def learn_naive_bayes(oracle: Oracle, plan: NaiveBayesPlan) -> NaiveBayesTables:
    """Query the joint shares of class and bin of each column, in one round, and return the tables."""
    k, sizes, deviations = plan.public.n_labels, [each.size for each in plan.bins], list(plan.deviations)
    queries = [_joint(column, size, k) for column, size in enumerate(sizes)]
    if asks_classes(plan.bins):
        queries.append(HistogramQuery(_label, categories=max(2, k)))
        sizes, deviations = [*sizes, 1], [*deviations, plan.class_deviation]
    asked = [answer.means for answer in oracle.ask(queries)]
    n, count = plan.public.n_samples, None
    means = (
        tuple(asked)
        if plan.earlier is None
        else joined_means(plan.earlier, asked, n - plan.earlier.n_samples)
    )
    shares = [each[: k * size].reshape(k, size) for each, size in zip(means, sizes, strict=True)]
    pooled, deviation = _class_shares(shares, deviations)
    if n is None:  # the answers are counts, whose sum is about the number of records
        n = count = max(1, round(float(pooled.sum())))
        pooled, deviation, shares = pooled / n, deviation / n, [each / n for each in shares]
        deviations = [each / n for each in deviations]
    classes = nearest_shares(pooled)
    pseudo = plan.smoothing / n
    prior = classes + pseudo + deviation if plan.priors is None else np.array(plan.priors)
    ratios = [
        _log_ratios(share, classes, pseudo + _CAUTION * noise)
        for share, noise in zip(shares[: len(plan.bins)], deviations[: len(plan.bins)], strict=True)
    ]
    with np.errstate(divide="ignore"):  # a prior of 0: the class is never predicted
        return NaiveBayesTables(np.log(prior / prior.sum()), tuple(ratios), means, count)


def _check_number_of_priors(priors: tuple[float, ...] | None, k: int) -> None:
    """Raise ValueError unless each of k classes has a prior, if there are any."""
    if priors is not None and len(priors) != k:
        raise ValueError(
            f"priors must be one for each of the {k} classes, in sorted order, got {len(priors)}"
        )


def _checked_priors(priors: Any) -> tuple[float, ...] | None:
    """Return public priors as floats; raise an error unless they are nonnegative, with sum 1."""
    if priors is None:
        return None
    arrays = hasattr(priors, "__array__") and np.ndim(priors) > 0  # such as a Series
    listed = np.asarray(priors).tolist() if arrays else priors
    if isinstance(listed, str | bytes | bytearray) or not isinstance(listed, Sequence):
        raise TypeError(f"priors must be None or a sequence of numbers, got {brief(priors)}")
    if texts := [share for share in listed if isinstance(share, str)]:
        raise TypeError(f"priors must be None or a sequence of numbers, got a text in it: {brief(texts[0])}")
    shares = tuple(float(check_number("priors", share, low=0, high=1)) for share in listed)
    if abs(math.fsum(shares) - 1) > _SUM_ERROR:
        raise ValueError(f"priors must have the sum 1, got {math.fsum(shares):g}")
    return shares


def _joint(column: int, size: int, n_classes: int) -> HistogramQuery:
    categories = max(2, n_classes * size)
    return HistogramQuery(
        partial(_class_and_bin, column, size),
        categories=categories,
        total=partial(_joint_counts, column, size, categories),
    )


def _class_and_bin(column: int, size: int, records: LabelledRows) -> NDArray[np.int64]:
    return np.asarray(_label(records) * size + records.X[:, column], dtype=np.int64)


def _joint_counts(column: int, size: int, categories: int, records: LabelledRows) -> NDArray[np.int64]:
    """Count classes and bins, for records in memory order, block by block."""
    counts = np.zeros(categories, dtype=np.int64)
    for here in blocks(len(records), _BLOCK):
        places = np.asarray(records.y[here], dtype=np.int64) * size
        places += records.X[here, column]
        counts += np.bincount(places, minlength=categories)
    return counts


def _label(records: LabelledRows) -> NDArray[np.int64]:
    return np.asarray(records.y, dtype=np.int64)


def _class_shares(shares: Sequence[Floats64], deviations: Sequence[float]) -> tuple[Floats64, float]:
    """Return the pooled estimate of the class shares, and its standard deviation: each column's shares of a
    class sum to an estimate, weighted by its inverse variance.
    """
    off = np.array([noise * s.shape[1] ** 0.5 for s, noise in zip(shares, deviations, strict=True)])
    precise = (off.min() / off) ** 2 if off.min() else (off == 0).astype(np.float64)
    weights = precise / precise.sum()
    found = np.einsum("j,jk->k", weights, np.array([share.sum(axis=1) for share in shares]))
    return found, float(np.linalg.norm(weights * off))


def _log_ratios(shares: Floats64, classes: Floats64, pseudo: float) -> Floats64:
    """Return the logarithms of P(bin | class) / P(bin), shrunk towards 0 where noise dominates the counts, by
    pseudo-records on both the observed share and that of an independent column.
    """
    size = shares.shape[1]
    agreed = shares + (classes - shares.sum(axis=1))[:, None] / size  # sums to the pooled class shares
    expected = np.outer(classes, nearest_shares(agreed.sum(axis=0)))
    return np.asarray(np.log((agreed.clip(0) + pseudo) / (expected + pseudo)), dtype=np.float64)
