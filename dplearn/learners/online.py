"""Base class of ensembles that answer queries from stored teachers until the budget is spent."""

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
from dplearn.ensembles.asking import QueriesExhaustedError
from dplearn.ensembles.base_estimators import check_own_code
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
from dplearn.estimator.recipe import FitRecipe
from dplearn.learners.ensembles import (
    AggregationPlan,
    EnsembleClassifier,
    EnsembleFit,
    EnsembleTable,
    notes_on_gaps,
    notes_on_noise,
)
from dplearn.privacy import OneTimeState
from dplearn.table.rows import LabelledRows, check_values, rows_of, sliceable
from dplearn.table.table import Table

__all__ = ["OnlineEnsembleClassifier"]

Tried = Callable[[Any, Any, NDArray[Any]], Any]

_COLUMNS_TRIED = 32  # columns tried one by one as texts, with numbers in the others
_QUERIES = "the queried rows depend on the records only through released answers"


class OnlineEnsembleClassifier(EnsembleClassifier):
    """Base class of classifiers that hold teachers in a one-time state and answer a limited number of
    queries.
    """

    #: The class of the object in the one-time state.
    _kind: ClassVar[type[Ensemble]] = Ensemble

    def export_teachers(self, path: str | os.PathLike[str]) -> None:
        """Move the teachers and their remaining queries to a new file; this object then has no teachers.

        Parameters
        ----------
        path : str or path-like
            A path where no file exists. The file contains private data, and can be loaded once.
        """
        self._check_teachers()
        with isolated():
            self._one_time_state.export(path)

    def load_teachers(self, path: str | os.PathLike[str]) -> Self:
        """Load the teachers from a file that `export_teachers` wrote; this consumes the file.

        All fitted attributes, the guarantee included, are set to those of the exporting estimator. This
        estimator need not be fitted.

        Parameters
        ----------
        path : str or path-like
            The file. It is a pickle: load it only from a trusted source.

        Raises
        ------
        ValueError
            If the file does not contain teachers of this class; the file is not consumed.
        """
        state: OneTimeState[Ensemble] = OneTimeState.load(path)
        with state.use() as ensemble:
            found = type(ensemble) is self._kind
            if found:
                ensemble.aggregator.attach(dice_for(None))
                published = dict(ensemble.published)
        if not found:
            state.export(path)
            raise ValueError(f"{os.fspath(path)}: not the teachers of a {type(self).__name__}")
        self._delete_fitted_attributes()
        self.__dict__.update(published, _one_time_state=state)
        return self

    @property
    def remaining_queries_(self) -> int:
        """Number of further rows that can be queried in one call."""
        left: int = self._left("remaining_queries", 0)
        return left

    @property
    def remaining_abstentions_(self) -> int | None:
        """Number of further abstentions after which the ensemble stops; None if it never stops."""
        left: int | None = self._left("remaining_abstentions", None)
        return left

    def _left(self, what: str, without: Any) -> Any:
        check_is_fitted(self)
        try:
            with self._one_time_state.use() as ensemble:
                return getattr(ensemble.aggregator, what)
        except (AttributeError, RuntimeError):  # no teachers in this object
            return without

    def _check_teachers(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "_one_time_state"):
            raise RuntimeError(
                "this copy has no teachers: they are not pickled; use export_teachers and load_teachers"
            )

    def _recipe(self, reproducible: bool) -> "OnlineFit":
        return OnlineFit.like(super()._recipe(reproducible))

    def _publish(self, outcome: OneTimeState[Ensemble], plan: AggregationPlan) -> None:  # noqa: ARG002
        with outcome.use() as ensemble:
            published = ensemble.published
        # In one update, so that teachers are never combined with the guarantee of other teachers.
        self.__dict__.update(published, _one_time_state=outcome)

    def _published(self, plan: AggregationPlan) -> dict[str, Any]:
        """Return the public attributes of a fit."""
        return {
            "classes_": plan.public.classes,
            "guarantee_": plan.guarantee,
            "n_teachers_": plan.n_teachers,
            "max_abstentions_": plan.max_abstentions,
            "public_seed_": plan.public.stream.seed,
            **self._counted_attributes(plan),
        }

    def _assumed(self, params: FitRecipe) -> tuple[str, ...]:  # noqa: ARG002
        return (_QUERIES,)

    def _noise_notes(self, ballot: Ballot, aggregator: Aggregator) -> tuple[str, ...]:
        """Return a warning if even the votes of a unanimous ensemble are noise-dominated."""
        if ballot.max_abstentions is None:
            consequence = "so that answers are nearly random"
            return notes_on_noise(ballot, aggregator.noise_scale > ballot.n_teachers, consequence)
        consequence = "so that nearly all answers are abstentions"
        return notes_on_noise(ballot, aggregator.least_lead > ballot.n_teachers, consequence)

    def _answered(self, X: Any, *how: Callable[[int], Any]) -> tuple[Any, dict[str, Any], int, int]:
        """Return released answers, public attributes, and the numbers of earlier and of new queries.

        Each function in `how` maps the number of rows to a further argument of `Ensemble.answer`.
        """
        self._check_teachers()
        read = self._rows(X)
        check_own_code("estimator", self._standard(read) if self.estimator is None else self.estimator)
        # A copy: an object that grew between the count and the answer would get answers beyond the budget.
        queries = check_values(rows_of(sliceable(read), np.arange(read.shape[0])))
        more = [tell(queries.shape[0]) for tell in how]
        # The order of the locks is fixed: a teacher in training may query another ensemble.
        with isolated(), self._one_time_state.use() as ensemble:
            first = ensemble.asked
            answers = ensemble.answer(queries, *more)
            return answers, ensemble.published, first, ensemble.asked - first

    def _check_complete(self, released: NDArray[Any], asked: int) -> None:
        """Raise if the ensemble stopped before the last row; the error contains the released answers."""
        if len(released) < asked:
            raise QueriesExhaustedError(
                f"max_abstentions={self.max_abstentions_} is used up at row {len(released)} of this batch;"
                " this model answers no further queries. The answers are in .released of this error."
                " At least plan(n).least_decided must be decided; the default aggregation never stops",
                released,
            )

    def _sizes(self, params: FitRecipe, public: EnsembleTable) -> Ballot:
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
        """Return the state without the teachers; warn if there are teachers."""
        state: dict[str, Any] = super().__getstate__()
        if "_one_time_state" in state and not state["_one_time_state"].closed:
            warnings.warn(
                f"a pickle of {type(self).__name__} contains no teachers, since they are private, and cannot"
                " predict when it is loaded: export_teachers(path) moves them to a file, and"
                " load_teachers(path) loads them; a pickle of a model that predicts without teachers, such as"
                " KnowledgeTransferClassifier, is complete",
                stacklevel=2,
            )
        return {name: value for name, value in state.items() if name != "_one_time_state"}

    def __copy__(self) -> Self:
        return self._twin(dict(vars(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._twin({name: deepcopy(value, memo) for name, value in vars(self).items()})

    def _twin(self, attributes: dict[str, Any]) -> Self:
        """Return a copy that shares the one-time state."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(attributes)
        return twin

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # predict draws noise
        return tags


class OnlineFit(EnsembleFit):
    """The fit of `OnlineEnsembleClassifier`."""

    def known(self, facts: Any, table: Table) -> Any:  # noqa: ARG002
        assert isinstance(facts, EnsembleTable)
        known = replace(facts, n_rows=MANY_QUERIES)
        self.shell._ballot(self, known)  # raises on incompatible parameters, before any dry run
        return replace(known, notes=_dry_run_notes(known, self.shell._tried))

    def run(self, summary: LabelledRows, plan: AggregationPlan, dice: Dice) -> OneTimeState[Ensemble]:
        # One changed record changes one teacher. Answers are released later, by `predict`.
        shell = self.shell
        plan, lessons = shell._drawn_lessons(summary, plan, dice)
        teachers = shell._watched(
            plan, lambda more: train_teachers(**lessons, classes=plan.public.classes, **more)
        )
        aggregator = shell._aggregator(plan.params, plan.ballot).attach(dice)
        published = shell._published(plan) | (plan.public.columns or {})
        return OneTimeState(shell._kind(teachers, aggregator, published))


def _dry_run_notes(public: EnsembleTable, tried: Tried) -> tuple[str, ...]:
    """Return warnings if a dry run on made-up rows fails; a failure on private rows must not be shown.

    The result is a warning, not an error, since the estimator may be valid for private rows, whose categories
    and number are different. But an estimator that reads a column of text as numbers is an error. Columns of
    rarer dtypes are not tried.
    """
    stream, X = public.apart("made up"), public.like
    if is_frame(X):
        rows = made_up_frame(X, MANY_ROWS, stream)
    elif X.dtype.kind in "iufb":
        rows = made_up_rows(MANY_ROWS, X.shape[1], stream)
    else:
        return _dry_run_notes_on_cells(public, tried)
    if rows is None:
        return ()
    failure = dry_run(public.estimator, rows, public.classes, public.apart("rehearsal"), tried)
    if not failure:
        return notes_on_gaps(public, rows, tried)
    column = column_taken_for_numbers(X, failure) if is_frame(X) else None
    if column is not None:
        raise ValueError(
            f"estimator must be able to learn from text, which X has in column {column!r}, but reads it"
            " as numbers: encode it, in a pipeline of the estimator, or convert it to numbers first;"
            " estimator=None encodes it"
        )
    return (
        f"estimator fails on {MANY_ROWS} made-up rows with random labels ({failure}); where it fails on a"
        " shard, its teacher predicts the most frequent label of the shard",
    )


def _dry_run_notes_on_cells(public: EnsembleTable, tried: Tried) -> tuple[str, ...]:
    """Return a warning if dry runs on cells of numbers and on cells of text fail.

    It is not public which columns of an object array contain text, but it is public that some may. There is
    therefore also a warning if only numbers are accepted; not for lists, which usually contain numbers only.
    """
    d = public.n_features

    def failure(*texts: int) -> str:
        rows = made_up_cells(MANY_ROWS, d, texts, public.apart("made up"))
        return dry_run(public.estimator, rows, public.classes, public.apart("rehearsal"), tried)

    with_numbers = failure()
    if public.listed and not with_numbers:
        return ()
    # A pipeline may encode columns by position: one column that accepts text is enough.
    with_texts = failure(*range(d))
    if not with_texts or not all(failure(place) for place in range(min(d, _COLUMNS_TRIED))):
        return ()
    of_numbers = f" of numbers ({_first_line(with_numbers)}) and" if with_numbers else ""
    return (
        f"estimator fails on {MANY_ROWS} made-up rows with random labels,{of_numbers} of texts"
        f" ({_first_line(with_texts)}); where it fails on a shard, its teacher predicts the shard's most"
        f" frequent label. X is {'lists' if public.listed else 'an array'} of objects, without column types:"
        " pass a data frame, whose columns have types and names, or X.astype(float) if all cells are"
        " numbers; estimator=None accepts cells of both kinds",
    )


def _first_line(failure: str) -> str:
    return failure.splitlines()[0]
