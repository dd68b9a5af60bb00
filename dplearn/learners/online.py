"""What the classifiers share that keep teachers and answer queries as long as the budget lasts."""

import os
import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn.aggregation.aggregators import Aggregator, Ballot
from dplearn.aggregation.answers import QueriesExhaustedError
from dplearn.aggregation.ensemble import Ensemble
from dplearn.aggregation.rehearsal import (
    MANY_ROWS,
    column_taken_for_numbers,
    made_up_cells,
    made_up_frame,
    made_up_rows,
    rehearse,
)
from dplearn.aggregation.rows import check_values, rows_of, sliceable
from dplearn.aggregation.seclusion import secluded
from dplearn.aggregation.sizes import MANY_QUERIES, settled
from dplearn.aggregation.teachers import train_teachers
from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.domains.cells import is_frame
from dplearn.learners.ensembles import (
    EnsembleClassifier,
    Records,
    Terms,
    promise,
    warn_of_gaps,
    warn_of_noise,
)
from dplearn.privacy import PrivateHolder

__all__ = ["OnlineEnsembleClassifier"]

Tried = Callable[[Any, Any, NDArray[Any]], Any]

_COLUMNS = ("n_features_in_", "feature_names_in_")
_COLUMNS_TRIED = 32  # one by one, as texts beside numbers
_QUERIES = "the rows that are asked about depend on the records only through released answers"


class OnlineEnsembleClassifier(EnsembleClassifier):
    """Base of classifiers that keep teachers in a holder, and answer queries until what was paid is used up.

    Attributes
    ----------
    remaining_queries_ : int
        Public. How many more rows can be asked about at once.
    remaining_unstable_ : int or None
        Public. How many more queries can be declined.
    """

    #: What is kept in the holder.
    _kind: ClassVar[type[Ensemble]] = Ensemble

    def export_teachers(self, path: str | os.PathLike[str]) -> None:
        """Move the teachers, and what may still be asked of them, to a new file; this object then has none.

        Parameters
        ----------
        path : str or path-like
            A file that does not exist. It holds private data, and can be loaded once.
        """
        self._check_teachers()
        with secluded():
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
            found = type(ensemble) is self._kind
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

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public; the data are read, and settle nothing but their number and types.
        terms = self._terms(reproducible)
        charge = self._open_account(terms.price)
        records = self._read(terms, X, y)
        ballot = self._ballot(terms, len(records.y), len(records.classes), MANY_QUERIES)
        aggregator = self._aggregator(terms, ballot).attach(dice)
        _rehearse(terms, records, self._tried, listed=not isinstance(X, np.ndarray))
        self._warn_if_hopeless(ballot, aggregator)

        # 2. Fix the guarantee, and charge it to the ledger.
        guarantee = promise(terms, _QUERIES)
        charge(guarantee)

        # 3. Summarise the data into teachers: one replaced record changes one of them.
        lessons = records.lessons(terms, ballot.n_teachers)
        teachers = self._watched(terms, lessons, lambda more: train_teachers(**lessons, **more))

        # 4. Release: nothing yet; answers are released when they are asked for.

        # 5. Publish.
        published = {
            "classes_": records.classes,
            "guarantee_": guarantee,
            "n_teachers_": ballot.n_teachers,
            "max_unstable_": ballot.max_unstable,
            "public_seed_": terms.stream.seed,
        } | self._settings(terms, len(records.y) // ballot.n_teachers)
        columns = {name: vars(self)[name] for name in _COLUMNS if name in vars(self)}
        holder = PrivateHolder(self._kind(teachers, aggregator, published | columns))
        # All at once: at no moment do teachers stand under the promise of others.
        self.__dict__.update(published, _holder=holder)

    def _settings(self, terms: Terms, shard_size: int) -> dict[str, Any]:  # noqa: ARG002 - of use to subclasses
        """Return what else is published of how queries are answered."""
        return {}

    def _warn_if_hopeless(self, ballot: Ballot, aggregator: Aggregator) -> None:
        """Warn if the noise drowns even a unanimous ensemble."""
        if ballot.max_unstable is None:
            what = "so that answers are little better than random"
            warn_of_noise(ballot, aggregator.noise_scale > ballot.n_teachers, what)
        else:
            what = "so that hardly any row will be answered"
            warn_of_noise(ballot, aggregator.least_lead > ballot.n_teachers, what)

    def _answered(self, X: Any, *how: Callable[[int], Any]) -> tuple[Any, dict[str, Any], int, int]:
        """Return released answers, what is public of the ensemble, and how many were asked before and now.

        `how` tells, of so many rows, what else the ensemble wants to know of them.
        """
        self._check_teachers()
        read = self._rows(X)
        # A copy: an object that changes between being counted and being answered would be answered unpaid.
        queries = check_values(rows_of(sliceable(read), np.arange(read.shape[0])))
        more = [tell(queries.shape[0]) for tell in how]
        # Always in this order: a teacher that is trained may ask another ensemble.
        with secluded(), self._holder.use() as ensemble:
            first = ensemble.asked
            answers = ensemble.answer(queries, *more)
            return answers, ensemble.published, first, ensemble.asked - first

    def _check_complete(self, released: NDArray[Any], asked: int) -> None:
        """Tell who asked that it stopped on the way, and what was released before."""
        if len(released) < asked:
            raise QueriesExhaustedError(
                f"max_unstable={self.max_unstable_} is used up, by row {len(released)} of this batch;"
                " this model answers no more. .released of this error holds the answers so far."
                " plan(n).least_decided tells how many must be decided; the default aggregation never stops",
                released,
            )

    def _settle(self, terms: Terms, n_samples: int, n_labels: int, n_rows: int) -> Ballot:  # noqa: ARG002
        return settled(
            self._aggregations[terms.aggregation],
            terms.price,
            n_samples=n_samples,
            n_labels=n_labels,
            max_queries=terms.max_queries,
            n_teachers=terms.n_teachers,
            max_unstable=terms.max_unstable,
            make=self._ballots,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled, which is not the teachers; warn where they are left behind."""
        state: dict[str, Any] = super().__getstate__()
        if "_holder" in state and not state["_holder"].closed:
            warnings.warn(
                f"a pickle of {type(self).__name__} holds no teachers, for they are private, and cannot"
                " predict when it is loaded: export_teachers(path) moves them to a file, from which"
                " load_teachers(path) takes them; of what predicts without teachers, such as"
                " KnowledgeTransferClassifier, the pickle is whole",
                stacklevel=2,
            )
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


def _rehearse(terms: Terms, records: Records, tried: Tried, *, listed: bool) -> None:
    """Warn if the estimator fails on made-up rows; what it does on private rows nobody is told.

    No more than warn, for it may be made for private rows that made-up ones are unlike: for their categories,
    or because they are more. But what takes words for numbers is refused. What columns of rarer types may
    hold is not known here.
    """
    X, stream, rows = records.X, terms.apart("made up"), None
    if is_frame(X):
        rows = made_up_frame(X, MANY_ROWS, stream)
    elif X.dtype.kind in "iufb":
        rows = made_up_rows(MANY_ROWS, X.shape[1], stream)
    else:
        _rehearse_cells(terms, records, tried, listed=listed)
    if rows is None:
        return
    failure = rehearse(records.estimator, rows, records.classes, terms.apart("rehearsal"), tried)
    if not failure:
        warn_of_gaps(terms, records, rows, tried, stacklevel=4)
        return
    column = column_taken_for_numbers(X, failure) if is_frame(X) else None
    if column is not None:
        raise ValueError(
            f"estimator must be able to learn from text, which X has in column {column!r}, but takes it"
            " for numbers: encode it, in a pipeline of the estimator, or turn it into numbers first;"
            " estimator=None encodes it"
        )
    warnings.warn(
        f"estimator fails on {MANY_ROWS} made-up rows with random labels ({failure}); where it fails on a"
        " shard, that teacher only knows its shard's most frequent label",
        stacklevel=4,
    )


def _rehearse_cells(terms: Terms, records: Records, tried: Tried, *, listed: bool) -> None:
    """Warn if the estimator learns neither from cells that are numbers nor from such as are texts.

    Which columns of an array of objects hold texts is not public, but that it may hold them is: then an
    estimator is warned of too that learns from numbers alone. Not so with lists, which most often hold
    numbers.
    """
    d = records.X.shape[1]

    def failure(*texts: int) -> str:
        rows = made_up_cells(MANY_ROWS, d, texts, terms.apart("made up"))
        return rehearse(records.estimator, rows, records.classes, terms.apart("rehearsal"), tried)

    with_numbers = failure()
    if listed and not with_numbers:
        return
    # Columns by place may be encoded apart: one that takes texts is enough.
    with_texts = failure(*range(d))
    if not with_texts or not all(failure(place) for place in range(min(d, _COLUMNS_TRIED))):
        return
    of_numbers = f" of numbers ({_first_line(with_numbers)}) and" if with_numbers else ""
    warnings.warn(
        f"estimator fails on {MANY_ROWS} made-up rows with random labels,{of_numbers} of texts"
        f" ({_first_line(with_texts)}); where it fails on a shard, that teacher only knows its shard's most"
        f" frequent label. X is {'lists' if listed else 'an array'} of objects, which tells no types:"
        " give a data frame, whose columns have types and names, or X.astype(float) if all cells are"
        " numbers; estimator=None takes cells of both kinds",
        stacklevel=5,
    )


def _first_line(failure: str) -> str:
    return failure.splitlines()[0]
