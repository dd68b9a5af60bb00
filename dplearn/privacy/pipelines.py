"""What a whole pipeline promises: the sum of what its fitted steps do.

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
from typing import Any

from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP

__all__ = ["pipeline_guarantee"]

#: Where pipelines, feature unions and column transformers keep their parts, each a tuple that begins with the
#: part's name and the part.
_PARTS = ("steps", "transformer_list", "transformers_")
_NO_STEP = ("passthrough", "drop", None)


def pipeline_guarantee(pipeline: Any, *, stateless: Collection[str] = ()) -> Guarantee:
    """Return what all steps of a fitted pipeline promise together.

    Parameters
    ----------
    pipeline : object
        Fitted. scikit-learn's Pipeline, FeatureUnion or ColumnTransformer, or one within another.
    stateless : collection of str, default=()
        Names of steps that you know to learn nothing from any value and to turn each record into another by
        itself, such as a CellEncoder or PolynomialFeatures; the guarantee lists them among its assumptions.
        Of a step within a step, both names with a dot between. Steps whose tag `requires_fit` is false say so
        themselves, as Normalizer does; so does FunctionTransformer, of whose function nobody knows.

    Returns
    -------
    Guarantee
        ApproxDP or ZeroConcentratedDP, as the steps have it. Numbers add up; of neighbours and what is
        protected it promises what all steps do.

    Raises
    ------
    TypeError
        If `pipeline` has no steps, or their guarantees are of two kinds.
    ValueError
        If a step is fitted on the data without a guarantee, or is not fitted: the message names each. If
        `stateless` names a step that is not there, or one that has a guarantee. If deltas add up to 1.

    Notes
    -----
    **Privacy.** Basic composition: each step sees the data through steps that are fixed once released and
    turn each record into one. A step that is fitted on the data without a guarantee publishes what it
    learned, so nothing can be promised: there is no sum to return.

    **Assumes.** That no step mixes records when it transforms, and that the pipeline was fitted once.

    **Source.** Dwork, McSherry, Nissim and Smith (2006), on composition.
    """
    steps = dict(_steps(pipeline))
    if not steps:
        raise TypeError(f"pipeline must have steps, got {type(pipeline).__name__}")
    declared = {stateless} if isinstance(stateless, str) else set(stateless)
    if absent := sorted(declared - steps.keys()):
        raise ValueError(f"stateless must name steps, {', '.join(map(repr, steps))}, got {absent[0]!r}")
    promises = {name: step.guarantee_ for name, step in steps.items() if hasattr(step, "guarantee_")}
    if both := sorted(declared & promises.keys()):
        raise ValueError(f"stateless must name steps without a guarantee, got {both[0]!r}, which has one")
    known = promises.keys() | declared
    if unknown := [name for name, step in steps.items() if name not in known and _learns(step)]:
        named = " and ".join(f"{name!r} ({type(steps[name]).__name__})" for name in unknown)
        raise ValueError(
            f"nothing is promised of the pipeline: {named} is fitted on the data without a guarantee, or not"
            " fitted; name a step that learns nothing from the data in stateless="
        )
    assumed = [f"step {name!r} learns nothing from the data" for name in steps if name in declared]
    return _sum(list(promises.values()), assumed)


def _steps(whole: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and the steps that do something, those within others in place of these."""
    kept = next((place for place in _PARTS if isinstance(getattr(whole, place, None), list)), None)
    for name, step, *_ in getattr(whole, kept) if kept else ():
        if isinstance(step, str | None) and step in _NO_STEP:
            yield f"{prefix}{name}", None
            continue
        within = list(_steps(step, f"{prefix}{name}."))
        yield from within or [(f"{prefix}{name}", step)]


def _learns(step: Any) -> bool:
    """Return whether a step may keep something of the data, as far as it tells itself."""
    tags = getattr(step, "__sklearn_tags__", None)
    return step is not None and (tags is None or bool(tags().requires_fit))


def _sum(promises: list[Any], assumed: list[str]) -> Guarantee:
    """Return the sum of guarantees, in terms that all of them hold in."""
    kinds = {type(promise) for promise in promises} or {ApproxDP}
    if len(kinds) > 1 or not kinds <= {ApproxDP, ZeroConcentratedDP}:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"guarantees of the steps must all be ApproxDP, or all ZeroConcentratedDP, got {names}: convert"
            " them with to_zcdp or to_approx and add them up yourself"
        )
    neighbors = {promise.neighbors for promise in promises} or {"replace_one"}
    if len(neighbors) > 1:  # a record replaced is one removed and one added
        promises = [each if each.neighbors == "replace_one" else each.for_group(2) for each in promises]
    [kind] = kinds
    numbers = [sum((getattr(promise, name) for promise in promises), Fraction(0)) for name in kind._numbers]
    protects = {promise.protects for promise in promises}
    total: Guarantee = kind(
        *numbers,
        neighbors=neighbors.pop() if len(neighbors) == 1 else "replace_one",
        protects="labels" if "labels" in protects else "examples",
        assumes=[*(entry for promise in promises for entry in promise.assumes), *assumed],
        reproducible=any(promise.reproducible for promise in promises),
    )
    return total
