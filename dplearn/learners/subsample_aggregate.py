"""Sub-sample and aggregate: any classifier, trained on disjoint shards, answers queries privately.

>>> from sklearn.datasets import make_classification
>>> from sklearn.tree import DecisionTreeClassifier
>>> X, y = make_classification(5100, random_state=0)
>>> model = SubsampleAggregateClassifier(
...     DecisionTreeClassifier(max_depth=3), epsilon=3.0, classes=[0, 1], random_state=0
... ).fit(X[:5000], y[:5000])
>>> model.predict(X[5000:5005]).tolist()
[0, 1, 1, 1, 0]
>>> model.remaining_queries_
995
"""

import os
import warnings
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn.aggregation.aggregators import AGGREGATIONS, Aggregator, Ballot
from dplearn.aggregation.answers import QueriesExhaustedError
from dplearn.aggregation.ensemble import Ensemble
from dplearn.aggregation.rehearsal import MANY_ROWS, made_up_frame, made_up_rows, rehearse
from dplearn.aggregation.rows import check_values, rows_of, sliceable
from dplearn.aggregation.sizes import settled
from dplearn.aggregation.teachers import train_teachers
from dplearn.chance import PublicStream, dice_for
from dplearn.chance.dice import Dice
from dplearn.domains.cells import is_frame
from dplearn.learners.ensembles import (
    AggregationPlan,
    EnsembleClassifier,
    Records,
    Terms,
    promise,
    warn_of_noise,
)
from dplearn.privacy import PrivacyLedger, PrivateHolder

__all__ = ["SubsampleAggregateClassifier"]

_MANY_QUERIES = 1000
_COLUMNS = ("n_features_in_", "feature_names_in_")
_QUERIES = "the rows that are asked about depend on the records only through released answers"


class SubsampleAggregateClassifier(EnsembleClassifier):
    """Train teachers on disjoint shards, and answer queries with what they agree on.

    The whole privacy budget is paid by `fit`, for up to `max_queries` answers; each `predict` uses some of
    them up. Train a student on the answers (`KnowledgeTransferClassifier`) for a model that predicts for
    ever.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; it is cloned. All preprocessing that learns from data belongs
        into it. None takes a logistic regression that fills gaps, scales, and one-hot encodes the columns of
        a data frame that hold no numbers.
    n_teachers : int or "auto", default="auto"
        Number of shards. "auto" settles it from the numbers of records, labels and queries and the budget.
    epsilon : float, default=1.0
        Privacy budget of all answers together; positive. The decimal that is written is meant.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; positive except for "lnmax".
    aggregation : {"sparse_vector", "gnmax", "confident_gnmax", "lnmax"}, default="sparse_vector"
        "sparse_vector" answers with the plurality where few votes could not have changed it; such answers
        are nearly free, and a declined query costs. "gnmax" and "lnmax" answer every query with the leader of
        noisy counts, Gaussian or Laplace. "confident_gnmax" asks first whether there is agreement.
    max_queries : int, default=1000
        How many rows can be asked about; with "confident_gnmax" at least so many.
    max_unstable : int or "auto", default="auto"
        With "sparse_vector", after how many declined queries it stops. "auto" takes the most that the number
        of teachers affords, or `max_queries` where it affords none.
    abstain_label : object, optional
        What stands for a declined answer. None draws a label at random from the public stream.
    classes : sequence, optional
        All labels that can occur. None takes those in `y`, and the guarantee then says that it assumes the
        set of labels public.
    n_jobs : int, optional
        Workers that train teachers, as joblib has it.
    verbose : bool, default=False
        Whether to show how many teachers are trained; the times that this shows are not protected.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted: declared, or assumed public.
    guarantee_ : ApproxDP
        Public. What all answers together promise, and on what assumptions.
    n_teachers_ : int
        Public. The number of shards.
    max_unstable_ : int or None
        Public. After how many declined queries it stops.
    public_seed_ : int
        Public. Settles which records make a shard, the teachers' seeds, and the labels of declined queries.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.
    remaining_queries_ : int
        Public. How many more rows can be asked about at once.
    remaining_unstable_ : int or None
        Public. How many more queries can be declined.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, of all answers together.
    Shards are cut by position, so that one record changes one teacher and one vote on each query. Teachers
    are kept in a `PrivateHolder`: copies of the estimator share it, and a pickle holds none of them.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** With probability at least .95, `max_queries` rows on which a label leads by at least
    `plan(n).least_lead` votes are all answered with that label.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 3 and 4; Papernot and others (2017, 2018) for
    noisy maxima.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_teachers: int | str = "auto",
        epsilon: float = 1.0,
        delta: float = 1e-6,
        aggregation: str = "sparse_vector",
        max_queries: int = 1000,
        max_unstable: int | str = "auto",
        abstain_label: Any = None,
        classes: Sequence[Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_teachers = n_teachers
        self.epsilon = epsilon
        self.delta = delta
        self.aggregation = aggregation
        self.max_queries = max_queries
        self.max_unstable = max_unstable
        self.abstain_label = abstain_label
        self.classes = classes
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, *, n_labels: int | None = None) -> AggregationPlan:
        """Return what a fit would promise and how much noise it would draw, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_labels : int, optional
            Number of labels; needed unless `classes` tells.
        """
        return self._plan(n_samples, n_labels, _MANY_QUERIES)

    def predict(self, X: Any) -> NDArray[Any]:
        """Answer queries, which uses them up.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_queries, n_features)
            Public rows.

        Returns
        -------
        ndarray of shape (n_queries,)
            Entries of `classes_`, and `abstain_label` if it is given.

        Raises
        ------
        QueriesExhaustedError
            If there are more rows than queries left: nothing is drawn. Or if so many queries are declined on
            the way that it stops: then its `released` holds the answers before.
        """
        self._check_teachers()
        read = self._rows(X)
        # A copy: an object that changes between being counted and being answered would be answered unpaid.
        queries = check_values(rows_of(sliceable(read), np.arange(read.shape[0])))
        with self._holder.use() as ensemble:
            first = ensemble.asked
            answers = ensemble.answer(queries)
            asked = ensemble.asked - first
            labels = self._labels(ensemble.published, answers.codes, first)
        if len(labels) < asked:
            raise QueriesExhaustedError(
                f"all max_unstable={self.max_unstable_} queries that may be declined were, the last of them"
                f" row {len(labels)} of this batch; this model answers no more. .released of this error holds"
                " the answers so far",
                labels,
            )
        return labels

    def export_teachers(self, path: str | os.PathLike[str]) -> None:
        """Move the teachers, and what may still be asked of them, to a new file; this object then has none.

        Parameters
        ----------
        path : str or path-like
            A file that does not exist. It holds private data, and can be loaded once.
        """
        self._check_teachers()
        self._holder.export(path)

    def load_teachers(self, path: str | os.PathLike[str]) -> Self:
        """Take over the teachers in a file that `export_teachers` wrote, which consumes the file.

        All fitted attributes are those of the estimator that wrote it, its guarantee among them; this one
        need not be fitted.

        Parameters
        ----------
        path : str or path-like
            It is a pickle: load only what comes from those you trust.

        Raises
        ------
        ValueError
            If the file holds something else; then it stays.
        """
        holder: PrivateHolder[Ensemble] = PrivateHolder.load(path)
        with holder.use() as ensemble:
            found = isinstance(ensemble, Ensemble)
            if found:
                ensemble.aggregator.attach(dice_for(None))
                published = dict(ensemble.published)
        if not found:
            holder.export(path)
            raise ValueError(f"{os.fspath(path)}: not the teachers of a {type(self).__name__}")
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.__dict__.update(published, _holder=holder)
        return self

    @property
    def remaining_queries_(self) -> int:
        """How many more rows can be asked about at once."""
        left: int = self._left("remaining_queries", 0)
        return left

    @property
    def remaining_unstable_(self) -> int | None:
        """How many more queries can be declined."""
        left: int | None = self._left("remaining_unstable", None)
        return left

    def _left(self, what: str, without: Any) -> Any:
        check_is_fitted(self)
        try:
            with self._holder.use() as ensemble:
                return getattr(ensemble.aggregator, what)
        except (AttributeError, RuntimeError):  # no teachers here: nothing can be asked
            return without

    def _check_teachers(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "_holder"):
            raise RuntimeError(
                "this copy has no teachers: they are not pickled; use export_teachers and load_teachers"
            )

    def _labels(self, public: dict[str, Any], codes: NDArray[np.int64], first: int) -> NDArray[Any]:
        """Return the labels of answers; `first` queries were asked before these."""
        declined, classes = codes < 0, public["classes_"]
        if self.abstain_label is None:
            stream = PublicStream(public["public_seed_"], "declined", first)
            drawn = stream.labels(len(classes), codes.size)
            labels: NDArray[Any] = classes[np.where(declined, drawn, codes)]
            return labels
        labels = classes[codes].astype(_common_type(classes, self.abstain_label))
        labels[declined] = self.abstain_label
        return labels

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public; the data are read, and settle nothing but their number and types.
        terms = self._terms(reproducible)
        if np.ndim(self.abstain_label):
            raise ValueError(f"abstain_label must be a single label, got {self.abstain_label!r}")
        charge = self._open_account(terms.price)
        records = self._read(terms, X, y)
        ballot = self._ballot(terms, len(records.y), len(records.classes), _MANY_QUERIES)
        aggregator = AGGREGATIONS[terms.aggregation](ballot).attach(dice)
        _rehearse(terms, records)
        _warn_if_hopeless(ballot, aggregator)

        # 2. Fix the guarantee, and charge it to the ledger.
        guarantee = promise(terms, _QUERIES)
        charge(guarantee)

        # 3. Summarise the data into teachers: one replaced record changes one of them.
        teachers = train_teachers(**records.lessons(terms, ballot.n_teachers))

        # 4. Release: nothing yet; answers are released when they are asked for.

        # 5. Publish.
        published = {
            "classes_": records.classes,
            "guarantee_": guarantee,
            "n_teachers_": ballot.n_teachers,
            "max_unstable_": ballot.max_unstable,
            "public_seed_": terms.stream.seed,
        }
        columns = {name: vars(self)[name] for name in _COLUMNS if name in vars(self)}
        holder = PrivateHolder(Ensemble(teachers, aggregator, published | columns))
        # All at once: at no moment do teachers stand under the promise of others.
        self.__dict__.update(published, _holder=holder)

    def _settle(self, terms: Terms, n_samples: int, n_labels: int, n_rows: int) -> Ballot:
        return settled(
            terms.aggregation,
            terms.price,
            n_samples=n_samples,
            n_labels=n_labels,
            max_queries=terms.max_queries or n_rows,
            n_teachers=terms.n_teachers,
            max_unstable=terms.max_unstable,
        )

    def _context(self) -> tuple[object, ...]:
        return str(self.epsilon), str(self.delta), self.aggregation, self.max_queries, self.max_unstable

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_holder"}

    def __copy__(self) -> Self:
        return self._twin(dict(vars(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._twin({name: deepcopy(value, memo) for name, value in vars(self).items()})

    def _twin(self, attributes: dict[str, Any]) -> Self:
        """Return a copy, which answers from the same holder; a pickle holds none."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(attributes)
        return twin

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # predict draws noise
        return tags


def _rehearse(terms: Terms, records: Records) -> None:
    """Warn if the estimator fails on made-up rows; what it does on private rows nobody is told.

    What the cells of a list may hold, or columns of rarer types, is not known here.
    """
    X, stream, rows = records.X, terms.apart("made up"), None
    if is_frame(X):
        rows = made_up_frame(X, MANY_ROWS, stream)
    elif X.dtype.kind in "iufb":
        rows = made_up_rows(MANY_ROWS, X.shape[1], stream)
    if rows is None:
        return
    if failure := rehearse(records.estimator, rows, records.classes, terms.apart("rehearsal")):
        warnings.warn(
            f"estimator fails on {MANY_ROWS} made-up rows with random labels ({failure}); where it fails on a"
            " shard, that teacher casts no vote",
            stacklevel=4,
        )


def _warn_if_hopeless(ballot: Ballot, aggregator: Aggregator) -> None:
    """Warn if the noise drowns even a unanimous ensemble."""
    if ballot.max_unstable is None:
        what = "so that answers are little better than random"
        warn_of_noise(ballot, aggregator.noise_scale > ballot.n_teachers, what)
    else:
        what = "so that hardly any row will be answered, and the others get abstain_label or a random label"
        warn_of_noise(ballot, aggregator.least_lead > ballot.n_teachers, what)


def _common_type(classes: NDArray[Any], label: Any) -> np.dtype[Any]:
    """Return a type that holds all labels and one more: numpy's where all are texts or all numbers."""
    more = np.asarray(label)
    kinds = {"text" if part.dtype.kind == "U" else part.dtype.kind in "iuf" for part in (classes, more)}
    return np.result_type(classes, more) if kinds in ({"text"}, {True}) else np.dtype(object)
