"""What the classifiers share that keep teachers and answer queries as long as the budget lasts."""

import os
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.domains.cells import is_frame
from dplearn.ensembles.aggregators import Aggregator, Ballot
from dplearn.ensembles.answers import QueriesExhaustedError
from dplearn.ensembles.dry_run import (
    MANY_ROWS,
    column_taken_for_numbers,
    dry_run,
    made_up_cells,
    made_up_frame,
    made_up_rows,
)
from dplearn.ensembles.ensemble import Ensemble
from dplearn.ensembles.isolation import isolated
from dplearn.ensembles.sizes import MANY_QUERIES, planned_ballot
from dplearn.ensembles.teachers import train_teachers
from dplearn.estimator.stages import Params, Table
from dplearn.learners.ensembles import (
    AggregationPlan,
    EnsembleClassifier,
    EnsembleTable,
    notes_on_gaps,
    notes_on_noise,
)
from dplearn.privacy import OneTimeState
from dplearn.records.rows import Examples
from dplearn.records.tables import check_values, rows_of, sliceable

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
        Released. How many more rows can be asked about at once; it depends on which queries were declined,
        where any can be.
    remaining_abstentions_ : int or None
        Released. How many more queries can be declined.
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
        with isolated():
            self._one_time_state.export(path)

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
        holder: OneTimeState[Ensemble] = OneTimeState.load(path)
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
        self.__dict__.update(published, _one_time_state=holder)
        return self

    @property
    def remaining_queries_(self) -> int:
        """How many more rows can be asked about at once."""
        left: int = self._left("remaining_queries", 0)
        return left

    @property
    def remaining_abstentions_(self) -> int | None:
        """How many more queries can be declined."""
        left: int | None = self._left("remaining_abstentions", None)
        return left

    def _left(self, what: str, without: Any) -> Any:
        check_is_fitted(self)
        try:
            with self._one_time_state.use() as ensemble:
                return getattr(ensemble.aggregator, what)
        except (AttributeError, RuntimeError):  # no teachers here: nothing can be asked
            return without

    def _check_teachers(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "_one_time_state"):
            raise RuntimeError(
                "this copy has no teachers: they are not pickled; use export_teachers and load_teachers"
            )

    def _read(self, X: Any, y: Any, params: Params) -> Table:
        table = super()._read(X, y, params)
        assert isinstance(table.public, EnsembleTable)
        public = replace(table.public, n_rows=MANY_QUERIES)
        self._ballot(params, public)  # refuses what does not fit together, before any dry run
        notes = _dry_run_notes(public, table.rows.X, self._tried, listed=not isinstance(X, np.ndarray))
        return Table(replace(public, notes=notes), table.rows)

    def _release(self, summary: Examples, plan: AggregationPlan, dice: Dice) -> OneTimeState[Ensemble]:
        # One replaced record changes one teacher. Answers are released when they are asked for.
        lessons = self._lessons(summary, plan)
        teachers = self._watched(plan, lambda more: train_teachers(**lessons, **more))
        aggregator = self._aggregator(plan.params, plan.ballot).attach(dice)
        columns = {name: vars(self)[name] for name in _COLUMNS if name in vars(self)}
        return OneTimeState(self._kind(teachers, aggregator, self._published(plan) | columns))

    def _publish(self, outcome: OneTimeState[Ensemble], plan: AggregationPlan) -> None:
        # All at once: at no moment do teachers stand under the guarantee of others.
        self.__dict__.update(self._published(plan), _one_time_state=outcome)

    def _published(self, plan: AggregationPlan) -> dict[str, Any]:
        """Return the public attributes of a fit."""
        return {
            "classes_": plan.public.classes,
            "guarantee_": plan.guarantee,
            "n_teachers_": plan.n_teachers,
            "max_abstentions_": plan.max_abstentions,
            "public_seed_": plan.public.stream.seed,
        }

    def _assumed(self, params: Params) -> str:  # noqa: ARG002
        return _QUERIES

    def _noise_notes(self, ballot: Ballot, aggregator: Aggregator) -> tuple[str, ...]:
        """Return a warning if the noise dominates even the votes of a unanimous ensemble."""
        if ballot.max_abstentions is None:
            consequence = "so that answers are little better than random"
            return notes_on_noise(ballot, aggregator.noise_scale > ballot.n_teachers, consequence)
        consequence = "so that hardly any row will be answered"
        return notes_on_noise(ballot, aggregator.least_lead > ballot.n_teachers, consequence)

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
        with isolated(), self._one_time_state.use() as ensemble:
            first = ensemble.asked
            answers = ensemble.answer(queries, *more)
            return answers, ensemble.published, first, ensemble.asked - first

    def _check_complete(self, released: NDArray[Any], asked: int) -> None:
        """Tell who asked that it stopped on the way, and what was released before."""
        if len(released) < asked:
            raise QueriesExhaustedError(
                f"max_abstentions={self.max_abstentions_} is used up, by row {len(released)} of this batch;"
                " this model answers no more. .released of this error holds the answers so far."
                " plan(n).least_decided tells how many must be decided; the default aggregation never stops",
                released,
            )

    def _sizes(self, params: Params, public: EnsembleTable) -> Ballot:
        return planned_ballot(
            self._aggregations[params.aggregation],
            params.cost,
            n_samples=public.n_samples,
            n_labels=public.n_labels,
            max_queries=params.max_queries,
            n_teachers=params.n_teachers,
            max_abstentions=params.max_abstentions,
            make=self._ballots,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled, which is not the teachers; warn where they are left behind."""
        state: dict[str, Any] = super().__getstate__()
        if "_one_time_state" in state and not state["_one_time_state"].closed:
            warnings.warn(
                f"a pickle of {type(self).__name__} holds no teachers, for they are private, and cannot"
                " predict when it is loaded: export_teachers(path) moves them to a file, from which"
                " load_teachers(path) takes them; of what predicts without teachers, such as"
                " KnowledgeTransferClassifier, the pickle is whole",
                stacklevel=2,
            )
        return {name: value for name, value in state.items() if name != "_one_time_state"}

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


def _dry_run_notes(public: EnsembleTable, X: Any, tried: Tried, *, listed: bool) -> tuple[str, ...]:
    """Return warnings if the estimator fails on made-up rows; what it does on private rows nobody is told.

    No more than warnings, for it may be made for private rows that made-up ones are unlike: for their
    categories, or because they are more. But what takes words for numbers is refused. What columns of rarer
    types may hold is not known here.
    """
    stream = public.apart("made up")
    if is_frame(X):
        rows = made_up_frame(X, MANY_ROWS, stream)
    elif X.dtype.kind in "iufb":
        rows = made_up_rows(MANY_ROWS, X.shape[1], stream)
    else:
        return _dry_run_notes_on_cells(public, tried, listed=listed)
    if rows is None:
        return ()
    failure = dry_run(public.estimator, rows, public.classes, public.apart("rehearsal"), tried)
    if not failure:
        return notes_on_gaps(public, rows, tried)
    column = column_taken_for_numbers(X, failure) if is_frame(X) else None
    if column is not None:
        raise ValueError(
            f"estimator must be able to learn from text, which X has in column {column!r}, but takes it"
            " for numbers: encode it, in a pipeline of the estimator, or turn it into numbers first;"
            " estimator=None encodes it"
        )
    return (
        f"estimator fails on {MANY_ROWS} made-up rows with random labels ({failure}); where it fails on a"
        " shard, that teacher only knows its shard's most frequent label",
    )


def _dry_run_notes_on_cells(public: EnsembleTable, tried: Tried, *, listed: bool) -> tuple[str, ...]:
    """Return a warning if the estimator learns neither from cells that are numbers nor from texts.

    Which columns of an array of objects hold texts is not public, but that it may hold them is: then an
    estimator is warned of too that learns from numbers alone. Not so with lists, which most often hold
    numbers.
    """
    d = public.n_features

    def failure(*texts: int) -> str:
        rows = made_up_cells(MANY_ROWS, d, texts, public.apart("made up"))
        return dry_run(public.estimator, rows, public.classes, public.apart("rehearsal"), tried)

    with_numbers = failure()
    if listed and not with_numbers:
        return ()
    # Columns by place may be encoded apart: one that takes texts is enough.
    with_texts = failure(*range(d))
    if not with_texts or not all(failure(place) for place in range(min(d, _COLUMNS_TRIED))):
        return ()
    of_numbers = f" of numbers ({_first_line(with_numbers)}) and" if with_numbers else ""
    return (
        f"estimator fails on {MANY_ROWS} made-up rows with random labels,{of_numbers} of texts"
        f" ({_first_line(with_texts)}); where it fails on a shard, that teacher only knows its shard's most"
        f" frequent label. X is {'lists' if listed else 'an array'} of objects, which tells no types:"
        " give a data frame, whose columns have types and names, or X.astype(float) if all cells are"
        " numbers; estimator=None takes cells of both kinds",
    )


def _first_line(failure: str) -> str:
    return failure.splitlines()[0]
