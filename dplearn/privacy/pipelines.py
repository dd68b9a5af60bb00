"""The guarantee of a fitted pipeline: the composition of the guarantees of its steps."""

from collections.abc import Collection, Iterator
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dplearn.privacy.guarantees import PROTECTS, ApproxDP, Guarantee, ZeroConcentratedDP
from dplearn.privacy.held import held_by

Kind = TypeVar("Kind", bound=type)

#: Attributes that hold the parts of pipelines, feature unions and column transformers. Each part is a tuple
#: that begins with a name and a step.
PARTS = ("steps", "transformer_list", "transformers_")
_NO_STEP = ("drop", None)
_MARK = "fitted_together_"
_NO_PREDICTION = (
    "take a learner of dplearn in its place, or compute the guarantee of the steps before it,"
    " pipeline_guarantee(pipeline[:-1])"
)
_ONCE = "the pipeline was fitted once: each further fit, such as those of a search, costs as much again"
_ONE = "each step transforms each record into one record"
_ALONE = f"{_ONE}, independently of the other records"
_OF_VALUES = ("in ", "values ")  # the first words of the assumptions of domains
_DENSE = "columns that are passed through are dense"
#: scikit-learn's transformers that learn nothing and transform each record independently. (The tag
#: `requires_fit=False` is no proof of this: GaussianProcessRegressor has it and stores its data.)
_ALONE_BY_NATURE = ("Binarizer", "FeatureHasher", "HashingVectorizer", "Normalizer")
#: Classes of this package with the same property. Their subclasses are excluded: they may override `fit`.
_ALONE_BY_PROOF: set[type] = set()
_LEARNERS = ("estimator", "estimators")  # parameters of meta-estimators that hold the estimators to fit
_PLAIN = (str, bytes, int, float, complex, type, set, frozenset, np.generic, np.dtype)  # compared by repr
_SELECTORS = ("make_column_selector",)  # they read names and types of columns, and no values


def pipeline_guarantee(pipeline: Any, *, stateless: Collection[str] = ()) -> Guarantee:
    """Return the guarantee of all steps of a fitted pipeline together.

    Parameters
    ----------
    pipeline : object
        A fitted Pipeline, FeatureUnion or ColumnTransformer of scikit-learn, possibly nested.
    stateless : collection of str, default=()
        Names of the steps that, as the caller knows, learn nothing from any value and transform each record
        independently, such as PolynomialFeatures; the guarantee lists them among its assumptions. The name of
        a nested step is both names with a dot between. CellEncoder, Normalizer, Binarizer, FeatureHasher and
        HashingVectorizer need not be listed. Where all guarantees protect labels alone, such steps only need
        to learn nothing from the labels, as StandardScaler.

    Returns
    -------
    Guarantee
        ApproxDP or ZeroConcentratedDP, as the steps' guarantees. The numbers are the sums over the steps; the
        neighbours and the protected part are those for which all steps' guarantees hold.

    Raises
    ------
    TypeError
        If `pipeline` has no steps, or the steps have guarantees of different kinds.
    ValueError
        If a step is fitted on the data without a guarantee, or is not fitted; the message names all such
        steps. If `stateless` names an absent step, one with a guarantee, or one that predicts. If the deltas
        add up to 1 or more. If two steps have the same dotted name. If something else that is published
        depends on values: a column transformer's choice of columns by a function, or between sparse and dense
        output; a check of an inverse function; a cache.

    Notes
    -----
    **Privacy.** Basic composition (Dwork, McSherry, Nissim and Smith 2006): once the preceding steps are
    released, they are fixed functions that transform each record into one record. A step that is fitted on
    the data without a guarantee publishes what it learned without any bound.

    **Assumes.** The assumptions that the guarantee lists: no step mixes records when it transforms, and the
    pipeline was fitted once. (A search fits many pipelines and keeps one; a ledger has the cost of all.)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from dplearn import StatisticalQueryLogisticRegression
    >>> from dplearn.preprocessing import PrivateMinMaxClipper
    >>> from dplearn.privacy import pipeline_guarantee
    >>> X, y = np.arange(4000.0)[:, None], np.arange(4000) > 1000
    >>> learner = StatisticalQueryLogisticRegression(epsilon=1.0)
    >>> chain = make_pipeline(PrivateMinMaxClipper(epsilon=0.5), learner)
    >>> pipeline_guarantee(chain.fit(X, y)).epsilon
    Fraction(3, 2)
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
    labels_only = {each.protects for each in guarantees.values()} == {"labels"}
    private = "labels" if labels_only else "data"  # all features are public where labels alone are protected
    declared = _declared(stateless, steps, private)
    declared |= {name for name, step in steps.items() if _mark_of(step) is not None} - guarantees.keys()
    known = guarantees.keys() | declared
    if unknown := {name: step for name, step in steps.items() if name not in known and may_learn(step)}:
        raise ValueError(f"nothing is guaranteed of the pipeline: {_named(unknown, private)}")
    check_steps_leak_nothing(pipeline, "the pipeline", features=not labels_only)
    assumed = [f"step {name!r} learns nothing from the {private}" for name in steps if name in declared]
    if any(isinstance(step, _Passed) for step in steps.values()):
        assumed.append(_DENSE)
    marks = {id(mark): mark for name in guarantees if (mark := _mark_of(steps[name])) is not None}
    alone = [each for name, each in guarantees.items() if _mark_of(steps[name]) is None]
    if len(marks) == 1 and not alone:
        return next(iter(marks.values()))
    first = next(iter(guarantees), "")
    theirs = [entry for name, each in guarantees.items() for entry in _of_step(name, each, name == first)]
    return _sum(
        [*alone, *marks.values()], [*dict.fromkeys(theirs), *assumed, _ONE if labels_only else _ALONE, _ONCE]
    )


def _declared(stateless: Collection[str], steps: dict[str, Any], private: str) -> set[str]:
    """Return the names in `stateless` as a set; raise ValueError if one cannot be stateless."""
    declared = {stateless} if isinstance(stateless, str) else set(stateless)
    if absent := sorted(declared - steps.keys()):
        raise ValueError(f"stateless must name steps, {', '.join(map(repr, steps))}, got {absent[0]!r}")
    if both := sorted(name for name in declared if hasattr(steps[name], "guarantee_")):
        raise ValueError(f"stateless must name steps without a guarantee, got {both[0]!r}, which has one")
    if predicting := sorted(name for name in declared if _predicts(steps[name])):
        raise ValueError(
            f"stateless must name steps that learn nothing from the {private}, got {predicting[0]!r}, which"
            f" predicts: {_NO_PREDICTION}"
        )
    if private == "labels" and (learning := sorted(name for name in declared if _takes_labels(steps[name]))):
        raise ValueError(
            f"stateless must name steps that learn nothing from the labels, got {learning[0]!r}, which may:"
            " put it inside the `estimator` of a learner of private labels, where it costs nothing"
        )
    if holding := sorted(name for name in declared if any(map(_guarantees, held_by(steps[name])))):
        raise ValueError(
            f"stateless must name steps that learn nothing from the {private}, got {holding[0]!r}, which"
            f" holds a private estimator, whose fits have a cost{of_meta_estimators(steps[holding[0]])}"
        )
    return declared


def _of_step(name: str, each: Guarantee, first: bool) -> list[str]:
    """Return a step's assumptions; those of a later step on values concern the preceding steps' output."""
    return [
        f"of the input of step {name!r}: {entry}" if not first and entry.startswith(_OF_VALUES) else entry
        for entry in each.assumes
    ]


class _Mark:
    """The guarantee of all steps that were fitted and selected together, a shared object that is counted
    once, and is that of a step while the step's settings are unchanged.
    """

    def __init__(self, guarantee: Guarantee, step: Any):
        self.guarantee = guarantee
        self._settings = None if hasattr(step, "guarantee_") else _copied(_settings_of(step))

    def holds_of(self, step: Any) -> bool:
        """Return True if the step was neither fitted again nor changed since it was marked."""
        # A new fit of a private step sets a new guarantee object. A step without a guarantee must have its
        # old settings: with new ones it could learn from the data.
        if self._settings is None:
            return vars(step).get("guarantee_") is self.guarantee
        return not hasattr(step, "guarantee_") and _alike(_settings_of(step), self._settings)


def fitted_together(model: Any, guarantee: Guarantee) -> Any:
    """Mark and return a fitted model: `guarantee` is the guarantee of all its steps together."""
    # The caller must have checked that the other steps learn nothing with their current settings.
    for step in dict(_steps(model)).values() if _parts(model) else [model]:
        if step is not None and not isinstance(step, _Passed):
            setattr(step, _MARK, _Mark(guarantee, step))
            if hasattr(step, "guarantee_"):
                step.guarantee_ = guarantee
    return model


def _mark_of(step: Any) -> Guarantee | None:
    """Return the joint guarantee that a step is marked with, or None if it was changed or fitted since."""
    mark = getattr(step, _MARK, None)
    return mark.guarantee if isinstance(mark, _Mark) and mark.holds_of(step) else None


def _settings_of(step: Any) -> Any:
    """Return a step's parameters, with those of nested estimators."""
    if hasattr(step, "get_params"):
        return step.get_params()
    return {name: value for name, value in vars(step).items() if name != _MARK}


def _copied(value: Any) -> Any:
    """Return a copy of a setting that later changes of its entries do not affect."""
    if type(value) is dict:
        return {name: _copied(each) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return value.copy() if type(value) in (set, np.ndarray) else value


def _alike(value: Any, kept: Any) -> bool:
    """Return True if a setting is known to be unchanged; False if the values cannot be compared."""
    if value is kept:
        return True
    if type(value) is not type(kept):
        return False
    if hasattr(value, "get_params"):  # its own parameters are compared as settings of their own
        return True
    if isinstance(value, dict):
        return value.keys() == kept.keys() and all(_alike(value[name], kept[name]) for name in value)
    if isinstance(value, list | tuple):
        return len(value) == len(kept) and all(map(_alike, value, kept))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype == kept.dtype and np.array_equal(value, kept)
    return isinstance(value, _PLAIN) and repr(value) == repr(kept)


def learns_nothing(kind: Kind) -> Kind:
    """Register a class of ours whose fit stores no value and whose transform takes records one by one."""
    _ALONE_BY_PROOF.add(kind)
    return kind


def _guarantees(held: Any) -> bool:
    """Return True if an object has a guarantee, or will have one when it is fitted."""
    return isinstance(getattr(held, "guarantee_", None), Guarantee) or _will_guarantee(held)


def _will_guarantee(step: Any) -> bool:
    """Return True if a step is a private estimator that is not fitted yet."""
    return not hasattr(step, "guarantee_") and hasattr(step, "epsilon") and hasattr(step, "ledger")


class _Passed:
    """Columns that a column transformer passes through."""


def check_steps_leak_nothing(whole: Any, name: str, *, features: bool = True) -> None:
    """Raise ValueError if a pipeline would publish a function of values outside its steps' releases; without
    `features`, where labels alone are protected, only caches do.
    """
    if getattr(whole, "memory", None) is not None:
        raise ValueError(
            f"{name} must have memory=None: a cache reveals whether the data equal those of an earlier fit,"
            " and stores them"
        )
    chosen = getattr(whole, "transformers", None)
    parts = _parts(whole) or list(chosen or ())
    for part, step, *_ in parts:
        if step is not None and not isinstance(step, str):
            check_steps_leak_nothing(step, repr(part), features=features)
    if not features:
        return
    if getattr(whole, "check_inverse", False) and getattr(whole, "inverse_func", None) is not None:
        raise ValueError(f"{name} must have check_inverse=False: its warning depends on the values")
    for part, _, columns, *_ in chosen or ():
        if callable(columns) and type(columns).__name__ not in _SELECTORS:
            raise ValueError(f"{name} must list the columns of {part!r}, got a function of their values")
    if chosen is not None and getattr(whole, "sparse_threshold", False) and not all(map(_known_size, parts)):
        raise ValueError(
            f"{name} must have sparse_threshold=0: otherwise the number of zeros decides how output is stored"
        )


def _known_size(part: tuple[Any, ...]) -> bool:
    """Return True if the number of values that a part stores is the same for all data of one shape."""
    step = part[1]
    dense = type(step) in _ALONE_BY_PROOF or hasattr(step, "guarantee_")
    return step is None or isinstance(step, str) or _passes(step) or dense


def _parts(whole: Any) -> list[tuple[Any, ...]]:
    """Return the parts of a pipeline, each a tuple that begins with a name and a step; else an empty list."""
    kept = next((place for place in PARTS if isinstance(getattr(whole, place, None), list)), None)
    return list(getattr(whole, kept)) if kept else []


def _ask_instead(other: Any) -> str:
    """Return advice for an object without steps: where its guarantee can be read."""
    if hasattr(other, "guarantee_"):
        return ", whose guarantee is its attribute guarantee_"
    if hasattr(other, "best_estimator_"):
        return (
            ": the pipeline that a search keeps is its best_estimator_; the cost of all its fits together is"
            " ledger.spent()"
        )
    return of_meta_estimators(other)


def of_meta_estimators(other: Any) -> str:
    """Return advice on where the cost of a meta-estimator of scikit-learn is documented, or an empty text."""
    if type(other).__module__.partition(".")[0] != "sklearn" or not any(map(other.__dict__.get, _LEARNERS)):
        return ""
    return (
        ": docs/scikit_learn.md has a table of scikit-learn's meta-estimators, what each costs and which are"
        " not private"
    )


def _named(unknown: dict[str, Any], private: str) -> str:
    """Return a text that names the steps without a guarantee, with advice."""
    parts = [f"{name!r} ({type(step).__name__})" for name, step in unknown.items()]
    verb = "is" if len(parts) == 1 else "are"
    advice = []
    if transforming := [name for name, step in unknown.items() if not _predicts(step)]:
        whether = f"{transforming[0]!r} learns" if len(transforming) == 1 else "they learn"
        advice.append(
            f"; only if you know that {whether} nothing from the {private}, pass stateless={transforming}"
        )
    if predicting := [name for name, step in unknown.items() if _predicts(step)]:
        advice.append(f"; for {predicting[0]!r}, {_NO_PREDICTION}")
    return (
        f"{' and '.join(parts)} {verb} fitted on the data without a guarantee, or not fitted{''.join(advice)}"
        f"{next(filter(None, map(of_meta_estimators, unknown.values())), '')}"
    )


def _steps(whole: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, step) of all innermost steps; a step that drops or passes on its input is None."""
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
    """Return True if a step returns its input; scikit-learn fits a FunctionTransformer for "passthrough"."""
    if isinstance(step, str):
        return step == "passthrough"
    return type(step).__name__ == "FunctionTransformer" and step.func is None


def may_learn(step: Any) -> bool:
    """Return False if a step is known to learn nothing from the data, else True."""
    if step is None or isinstance(step, _Passed):
        return False
    kind = type(step)
    if kind in _ALONE_BY_PROOF:
        return False
    return kind.__module__.partition(".")[0] != "sklearn" or kind.__name__ not in _ALONE_BY_NATURE


def _takes_labels(step: Any) -> bool:
    """Return True if a transformer needs labels, or holds what predicts them."""
    if hasattr(step, "__sklearn_tags__") and step.__sklearn_tags__().target_tags.required:
        return True
    return hasattr(step, "score_func") or any(_predicts(each) for each in held_by(step) if each is not step)


def _predicts(step: Any) -> bool:
    """Return True if a step predicts, and therefore learns from the data."""
    if hasattr(step, "predict") or hasattr(step, "fit_predict"):
        return True
    return hasattr(step, "score_samples") and not hasattr(step, "transform")


def _sum(guarantees: list[Any], assumed: list[str]) -> Guarantee:
    """Return the sum of guarantees, for the neighbours and the protected part for which all of them hold."""
    kinds = {type(each) for each in guarantees} or {ApproxDP}
    if len(kinds) > 1 or not kinds <= {ApproxDP, ZeroConcentratedDP}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"guarantees of the steps must all be ApproxDP, or all ZeroConcentratedDP, got {names}: convert"
            " them with to_zcdp or to_approx and add the numbers yourself"
        )
    neighbors = {each.neighbors for each in guarantees} or {"replace_one"}
    if len(neighbors) > 1:  # a replacement is a removal and an addition
        guarantees = [each if each.neighbors == "replace_one" else each.for_group(2) for each in guarantees]
    [kind] = kinds
    numbers = [sum((getattr(each, name) for each in guarantees), Fraction(0)) for name in kind._numbers]
    weakest = max((PROTECTS.index(each.protects) for each in guarantees), default=PROTECTS.index("examples"))
    return kind(
        *numbers,
        neighbors=neighbors.pop() if len(neighbors) == 1 else "replace_one",
        protects=PROTECTS[weakest],
        assumes=assumed,
        reproducible=any(each.reproducible for each in guarantees),
    )
