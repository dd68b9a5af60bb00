"""What a whole pipeline guarantees: the sum of what its fitted steps do.

>>> class Scaler:
...     guarantee_ = ApproxDP(0.5)
>>> class Learner:
...     guarantee_ = ApproxDP(1, 1e-6)
>>> class Chain:
...     steps = [("scale", Scaler()), ("nothing", "passthrough"), ("learn", Learner())]
>>> pipeline_guarantee(Chain()).epsilon
Fraction(3, 2)
"""

from collections.abc import Collection, Iterator
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP
from dplearn.privacy.held import held_by

__all__ = [
    "PARTS",
    "check_steps_leak_nothing",
    "fitted_together",
    "learns_nothing",
    "may_learn",
    "pipeline_guarantee",
]

Kind = TypeVar("Kind", bound=type)

#: Where pipelines, feature unions and column transformers keep their parts, each a tuple that begins with the
#: part's name and the part.
PARTS = ("steps", "transformer_list", "transformers_")
_NO_STEP = ("drop", None)
_MARK = "fitted_together_"
_NO_PREDICTION = (
    "take a learner of dplearn in its place, or ask of what stands before it,"
    " pipeline_guarantee(pipeline[:-1])"
)
_ONCE = "the pipeline was fitted once: each further fit, such as those of a search, costs as much again"
_ALONE = "each step turns each record into one record, by itself"
_OF_VALUES = ("in ", "values ")  # as domains begin what they assume
_DENSE = "columns that are passed through are dense"
#: scikit-learn's transformers that learn nothing and treat each record by itself. (That a class needs no fit,
#: as some say of themselves, does not make it one: GaussianProcessRegressor keeps its data.)
_ALONE_BY_NATURE = ("Binarizer", "FeatureHasher", "HashingVectorizer", "Normalizer")
#: Classes of this package of which the same is proved. A subclass is none of them: it may do what it likes.
_ALONE_BY_PROOF: set[type] = set()
_LEARNERS = ("estimator", "estimators")  # where meta-estimators have what they fit clones of
_PLAIN = (str, bytes, int, float, complex, type, set, frozenset, np.generic, np.dtype)  # shown in full
_SELECTORS = ("make_column_selector",)  # look at names and types of columns, and at no value


def pipeline_guarantee(pipeline: Any, *, stateless: Collection[str] = ()) -> Guarantee:
    """Return what all steps of a fitted pipeline guarantee together.

    Parameters
    ----------
    pipeline : object
        Fitted. scikit-learn's Pipeline, FeatureUnion or ColumnTransformer, or one within another.
    stateless : collection of str, default=()
        Names of steps that you know to learn nothing from any value and to turn each record into another by
        itself, such as PolynomialFeatures; the guarantee lists them among its assumptions. Of a step within a
        step, both names with a dot between. Of CellEncoder, Normalizer, Binarizer, FeatureHasher and
        HashingVectorizer it is known; of what a FunctionTransformer is given, you know.

    Returns
    -------
    Guarantee
        ApproxDP or ZeroConcentratedDP, as the steps have it. Numbers add up; of neighbours and what is
        protected it guarantees what all steps do.

    Raises
    ------
    TypeError
        If `pipeline` has no steps, or their guarantees are of two kinds.
    ValueError
        If a step is fitted on the data without a guarantee, or is not fitted: the message names each. If
        `stateless` names a step that is not there, one that has a guarantee or holds a private estimator, or
        one that predicts, which it cannot without having learned. If deltas add up to 1. If two steps have
        one name, with dots between. If values decide what is published besides: a column transformer that
        chooses columns by a function of them, or how to store its output by how many are 0; a function whose
        inverse is checked on them; a cache, which tells whether data are those of an earlier fit, and keeps
        them.

    Notes
    -----
    **Privacy.** Basic composition: each step sees the data through steps that are fixed once released and
    turn each record into one. A step that is fitted on the data without a guarantee publishes what it
    learned, so nothing can be guaranteed: there is no sum to return.

    **Assumes.** What the guarantee lists: that no step mixes records when it transforms; that the pipeline
    was fitted once: what a search keeps is one of many fits, and what they all cost a ledger tells.

    **Source.** Dwork, McSherry, Nissim and Smith (2006), on composition.
    """
    pairs = list(_steps(pipeline))
    steps = dict(pairs)
    if not steps:
        raise TypeError(f"pipeline must have steps, got {type(pipeline).__name__}{_ask_instead(pipeline)}")
    if len(steps) < len(pairs):
        twice = next(name for name, _ in pairs if [each for each, _ in pairs].count(name) > 1)
        raise ValueError(f"steps must have names of their own, got two {twice!r}: rename one")
    guarantees = {name: step.guarantee_ for name, step in steps.items() if hasattr(step, "guarantee_")}
    if waiting := [name for name, step in steps.items() if _will_guarantee(step)]:
        raise ValueError(
            f"nothing is guaranteed of the pipeline yet: {', '.join(map(repr, waiting))} must be fitted first"
        )
    declared = _declared(stateless, steps)
    declared |= {name for name, step in steps.items() if _mark_of(step) is not None} - guarantees.keys()
    known = guarantees.keys() | declared
    if unknown := {name: step for name, step in steps.items() if name not in known and may_learn(step)}:
        raise ValueError(f"nothing is guaranteed of the pipeline: {_named(unknown)}")
    check_steps_leak_nothing(pipeline, "the pipeline")
    assumed = [f"step {name!r} learns nothing from the data" for name in steps if name in declared]
    if any(isinstance(step, _Passed) for step in steps.values()):
        assumed.append(_DENSE)
    marks = {id(mark): mark.guarantee for name in guarantees if (mark := _mark_of(steps[name])) is not None}
    alone = [each for name, each in guarantees.items() if _mark_of(steps[name]) is None]
    if len(marks) == 1 and not alone:
        return next(iter(marks.values()))
    first = next(iter(guarantees), "")
    theirs = [entry for name, each in guarantees.items() for entry in _of_step(name, each, name == first)]
    return _sum([*alone, *marks.values()], [*dict.fromkeys(theirs), *assumed, _ALONE, _ONCE])


def _declared(stateless: Collection[str], steps: dict[str, Any]) -> set[str]:
    """Return the names of the steps that the caller says learn nothing, if they may."""
    declared = {stateless} if isinstance(stateless, str) else set(stateless)
    if absent := sorted(declared - steps.keys()):
        raise ValueError(f"stateless must name steps, {', '.join(map(repr, steps))}, got {absent[0]!r}")
    if both := sorted(name for name in declared if hasattr(steps[name], "guarantee_")):
        raise ValueError(f"stateless must name steps without a guarantee, got {both[0]!r}, which has one")
    if predicting := sorted(name for name in declared if _predicts(steps[name])):
        raise ValueError(
            f"stateless must name steps that learn nothing from the data, got {predicting[0]!r}, which"
            f" predicts what it learned: {_NO_PREDICTION}"
        )
    if holding := sorted(name for name in declared if any(map(_guarantees, held_by(steps[name])))):
        raise ValueError(
            f"stateless must name steps that learn nothing from the data, got {holding[0]!r}, which holds a"
            f" private estimator, whose fits cost something{of_meta_estimators(steps[holding[0]])}"
        )
    return declared


def _of_step(name: str, each: Guarantee, first: bool) -> list[str]:
    """Return what a step assumes; what a later one is given is what those before it make of the data."""
    return [
        f"of what step {name!r} is given: {entry}" if not first and entry.startswith(_OF_VALUES) else entry
        for entry in each.assumes
    ]


class _FittedTogether:
    """Marks the steps that were fitted and chosen together: what that guarantees, once for all of them."""

    def __init__(self, guarantee: Guarantee):
        self.guarantee = guarantee


class _Mark:
    """Ties a step to those that it was fitted with, for as long as its settings are what they were then."""

    def __init__(self, together: _FittedTogether, step: Any):
        self.together = together
        self._settings = None if hasattr(step, "guarantee_") else _copied(_settings_of(step))

    def holds_of(self, step: Any) -> bool:
        """Return whether the step is still as it was, so far as that matters to its guarantee.

        A private step says by its guarantee whether it was fitted since. A step that learned nothing with
        other settings may learn something with these.
        """
        if self._settings is None:
            return getattr(step, "guarantee_", None) is self.together.guarantee
        return not hasattr(step, "guarantee_") and _alike(_settings_of(step), self._settings)


def fitted_together(model: Any, guarantee: Guarantee) -> Any:
    """Return a fitted model, marked: all its private steps together guarantee this, and none of them less.

    Parameters
    ----------
    model : object
        A fitted pipeline, or a private estimator by itself. Whatever else does something in the pipeline is
        taken to learn nothing with the settings that it has: who calls this has checked that.
    guarantee : Guarantee
        Becomes the `guarantee_` of each private step.
    """
    together = _FittedTogether(guarantee)
    for step in dict(_steps(model)).values() if _parts(model) else [model]:
        if step is not None and not isinstance(step, _Passed):
            setattr(step, _MARK, _Mark(together, step))
            if hasattr(step, "guarantee_"):
                step.guarantee_ = guarantee
    return model


def _mark_of(step: Any) -> _FittedTogether | None:
    """Return what a step was fitted together with others as, unless it was changed or fitted since."""
    mark = getattr(step, _MARK, None)
    return mark.together if isinstance(mark, _Mark) and mark.holds_of(step) else None


def _settings_of(step: Any) -> Any:
    """Return a step's parameters, and those of what is within it."""
    if hasattr(step, "get_params"):
        return step.get_params()
    return {name: value for name, value in vars(step).items() if name != _MARK}


def _copied(value: Any) -> Any:
    """Return a setting such that later changes of its entries do not change it."""
    if type(value) is dict:
        return {name: _copied(each) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return value.copy() if type(value) in (set, np.ndarray) else value


def _alike(value: Any, kept: Any) -> bool:
    """Return whether a setting is known to be what it was; what cannot be compared is not."""
    if value is kept:
        return True
    if type(value) is not type(kept):
        return False
    if hasattr(value, "get_params"):  # whose own parameters are settings too
        return True
    if isinstance(value, dict):
        return value.keys() == kept.keys() and all(_alike(value[name], kept[name]) for name in value)
    if isinstance(value, list | tuple):
        return len(value) == len(kept) and all(map(_alike, value, kept))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype == kept.dtype and np.array_equal(value, kept)
    return isinstance(value, _PLAIN) and repr(value) == repr(kept)


def learns_nothing(kind: Kind) -> Kind:
    """Say of a class of this package that its fit keeps no value, and that it takes each record by itself.

    Parameters
    ----------
    kind : type
        With a test that says so.
    """
    _ALONE_BY_PROOF.add(kind)
    return kind


def _guarantees(held: Any) -> bool:
    """Return whether an object has a guarantee, or gets one when it is fitted."""
    return isinstance(getattr(held, "guarantee_", None), Guarantee) or _will_guarantee(held)


def _will_guarantee(step: Any) -> bool:
    """Return whether a step is of those that guarantee something, and is not fitted yet."""
    return not hasattr(step, "guarantee_") and hasattr(step, "epsilon") and hasattr(step, "ledger")


class _Passed:
    """Columns that a column transformer passes through."""


def check_steps_leak_nothing(whole: Any, name: str) -> None:
    """Refuse what publishes something of values beside what its steps release."""
    if getattr(whole, "memory", None) is not None:
        raise ValueError(
            f"{name} must have memory=None: a cache tells whether data are those of an earlier fit, and keeps"
            " them"
        )
    if getattr(whole, "check_inverse", False) and getattr(whole, "inverse_func", None) is not None:
        raise ValueError(f"{name} must have check_inverse=False: whether it warns depends on the values")
    chosen = getattr(whole, "transformers", None)
    for part, _, columns, *_ in chosen or ():
        if callable(columns) and type(columns).__name__ not in _SELECTORS:
            raise ValueError(f"{name} must list the columns of {part!r}, got a function of their values")
    parts = _parts(whole) or list(chosen or ())
    if chosen is not None and getattr(whole, "sparse_threshold", False) and not all(map(_known_size, parts)):
        raise ValueError(
            f"{name} must have sparse_threshold=0: else how many values are 0 decides how output is stored"
        )
    for part, step, *_ in parts:
        if step is not None and not isinstance(step, str):
            check_steps_leak_nothing(step, repr(part))


def _known_size(part: tuple[Any, ...]) -> bool:
    """Return whether how many values a part stores is the same for all data of a shape."""
    step = part[1]
    dense = type(step) in _ALONE_BY_PROOF or hasattr(step, "guarantee_")
    return step is None or isinstance(step, str) or _passes(step) or dense


def _parts(whole: Any) -> list[tuple[Any, ...]]:
    """Return the parts of what has some, each a tuple that begins with its name and itself."""
    kept = next((place for place in PARTS if isinstance(getattr(whole, place, None), list)), None)
    return list(getattr(whole, kept)) if kept else []


def _ask_instead(other: Any) -> str:
    """Return where what is no pipeline tells what it guarantees."""
    if hasattr(other, "guarantee_"):
        return ", which tells by itself what it guarantees: guarantee_"
    if hasattr(other, "best_estimator_"):
        return (
            ": the pipeline that a search keeps is its best_estimator_; all its fits together cost what a"
            " ledger says, ledger.spent()"
        )
    return of_meta_estimators(other)


def of_meta_estimators(other: Any) -> str:
    """Return where to read what a meta-estimator of scikit-learn costs, or nothing if it is none.

    Parameters
    ----------
    other : object
        What no guarantee is known of.
    """
    if type(other).__module__.partition(".")[0] != "sklearn" or not any(map(other.__dict__.get, _LEARNERS)):
        return ""
    return (
        ": docs/scikit_learn.md has a table of scikit-learn's meta-estimators, what each costs and which are"
        " not private"
    )


def _named(unknown: dict[str, Any]) -> str:
    """Return which steps guarantee nothing, and what to do about them."""
    parts = [f"{name!r} ({type(step).__name__})" for name, step in unknown.items()]
    verb = "is" if len(parts) == 1 else "are"
    advice = []
    if transforming := [name for name, step in unknown.items() if not _predicts(step)]:
        whether = f"{transforming[0]!r} learns" if len(transforming) == 1 else "they learn"
        advice.append(
            f"; only if you know that {whether} nothing from the data, say stateless={transforming}"
        )
    if predicting := [name for name, step in unknown.items() if _predicts(step)]:
        advice.append(f"; of {predicting[0]!r}, {_NO_PREDICTION}")
    return (
        f"{' and '.join(parts)} {verb} fitted on the data without a guarantee, or not fitted{''.join(advice)}"
        f"{next(filter(None, map(of_meta_estimators, unknown.values())), '')}"
    )


def _steps(whole: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and the steps that do something, those within others in place of these."""
    for name, step, *_ in _parts(whole):
        if _passes(step) and hasattr(whole, "transformers_"):
            yield f"{prefix}{name}", _Passed()
            continue
        if _passes(step) or (isinstance(step, str | None) and step in _NO_STEP):
            yield f"{prefix}{name}", None
            continue
        within = list(_steps(step, f"{prefix}{name}."))
        yield from within or [(f"{prefix}{name}", step)]


def _passes(step: Any) -> bool:
    """Return whether a step returns what it is given; fitted, scikit-learn's have a function in its place."""
    if isinstance(step, str):
        return step == "passthrough"
    return type(step).__name__ == "FunctionTransformer" and step.func is None


def may_learn(step: Any) -> bool:
    """Return whether a step may keep something of the data, so far as is known."""
    if step is None or isinstance(step, _Passed):
        return False
    kind = type(step)
    if kind in _ALONE_BY_PROOF:
        return False
    return kind.__module__.partition(".")[0] != "sklearn" or kind.__name__ not in _ALONE_BY_NATURE


def _predicts(step: Any) -> bool:
    """Return whether a step predicts: then it has learned, whatever anybody says."""
    if hasattr(step, "predict") or hasattr(step, "fit_predict"):
        return True
    return hasattr(step, "score_samples") and not hasattr(step, "transform")


def _sum(guarantees: list[Any], assumed: list[str]) -> Guarantee:
    """Return the sum of guarantees, in terms that all of them hold in."""
    kinds = {type(each) for each in guarantees} or {ApproxDP}
    if len(kinds) > 1 or not kinds <= {ApproxDP, ZeroConcentratedDP}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"guarantees of the steps must all be ApproxDP, or all ZeroConcentratedDP, got {names}: convert"
            " them with to_zcdp or to_approx and add them up yourself"
        )
    neighbors = {each.neighbors for each in guarantees} or {"replace_one"}
    if len(neighbors) > 1:  # a record replaced is one removed and one added
        guarantees = [each if each.neighbors == "replace_one" else each.for_group(2) for each in guarantees]
    [kind] = kinds
    numbers = [sum((getattr(each, name) for each in guarantees), Fraction(0)) for name in kind._numbers]
    protects = {each.protects for each in guarantees}
    total: Guarantee = kind(
        *numbers,
        neighbors=neighbors.pop() if len(neighbors) == 1 else "replace_one",
        protects="labels" if "labels" in protects else "examples",
        assumes=assumed,
        reproducible=any(each.reproducible for each in guarantees),
    )
    return total
