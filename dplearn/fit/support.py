"""Which combinations of features are supported: one table, and the one place that refuses the others.

The class of an estimator, or the function of a release, shows which features it supports: see `supported`.
`REFUSALS` lists the pairs that nothing supports, with an error that comes before a value is read.

>>> REFUSALS["add_remove", "groups"]
"groups must be None for neighbors='add_remove': the set of groups is public"
"""

from collections.abc import Collection, Iterable
from inspect import signature, unwrap
from typing import Any

from dplearn.privacy.unknown_count import TAKING_ADDED

#: From a feature to the parameter that asks for it, of which most features are values.
_PARAMETERS = {"groups": "groups", "add_remove": "neighbors", "local": "trust_model", "labels": "protects"}
#: From a feature to the attribute of a class that has it.
_ATTRIBUTES = {
    "parts": "reads_parts",
    "outputs": "reads_outputs",
    "learn": "can_learn_schema",
    "partial_fit": "partial_fit",
}
FEATURES = (*_PARAMETERS, *_ATTRIBUTES, "sparse")

_COUNTED = "neighbors must be 'replace_one' for {}, which needs the number of records, got 'add_remove'; {}"
_OF_TABLES: dict[tuple[str, ...], str] = {
    ("memory", "parts"): "{recipe.takes} must be a table in memory for {recipe.name}, got one in parts; the"
    " guide on tables of any size lists the learners of tables in parts",
    ("add_remove", "groups"): "groups must be None for neighbors='add_remove': the set of groups is public",
    ("add_remove", "parts"): "{recipe.takes} must be in memory for neighbors='add_remove': the lengths of"
    " parts are public",
}
#: From features that nothing supports together to the message: what must be changed, and why. Besides those
#: of `FEATURES` there are "memory", of a recipe that reads no parts; "wrapped", of an estimator within one
#: that divides the table; "learned target", of target_range="learn"; and the names of parameters.
REFUSALS = _OF_TABLES | {
    ("add_remove", "local"): "trust_model must be 'central' for neighbors='add_remove', got 'local', which"
    " shows the number of records",
    ("add_remove", "learn"): _COUNTED.format("domain='learn'", "declare domain=Schema(...)"),
    ("add_remove", "learned target"): _COUNTED.format(
        "target_range='learn'", "declare target_range=(low, high)"
    ),
    ("add_remove", "partial_fit"): _COUNTED.format("partial_fit", "fit all records at once"),
    ("add_remove", "wrapped"): _COUNTED.format("{name}", TAKING_ADDED),
    ("class_weight", "outputs"): "class_weight must be None for several outputs, got {recipe.class_weight!r}"
    " and {n_outputs} outputs; from a table in memory,"
    " PrivateMultiOutputClassifier({recipe.name}(class_weight=...)) fits a model with weights to each",
    ("add_remove", "outputs"): "neighbors must be 'replace_one' for several outputs, got 'add_remove' and"
    " {n_outputs} outputs; {recipe.name} takes one output with neighbors='add_remove': fit a classifier to"
    " each, with a share of the budget",
    (
        "labels",
        "groups",
    ): "groups must be None where protects='labels', which protects one label; for a"
    " person with at most k of them, give epsilon / k and quote guarantee_.for_group(k)",
    ("labels", "learn"): "domain must not be 'learn' where protects='labels': all features are public then,"
    " so declare what X shows, or leave domain=None for numbers",
    ("learn", "partial_fit"): "domain must be declared for partial_fit, got 'learn': a schema that is learned"
    " from the first call would be a different one in the next; declare domain=Schema(...), or release a"
    " schema once, and pass it: dplearn.releases.learned_schema",
}
for _rows in ("X_public", "n_rows"):
    REFUSALS["labels", _rows] = f"{_rows} must be None where protects='labels': all features are public then"
    REFUSALS["learn", _rows] = (
        f"{_rows} must be None where domain='learn': declare the columns, by the public rows for example"
    )


def refused_pair(used: Collection[Any]) -> tuple[str, ...] | None:
    """Return the first features among used ones that nothing supports together, or None."""
    known = set(used)
    for pair in REFUSALS:
        if known.issuperset(pair):
            return pair
    return None


def refuse(used: Collection[Any], **values: Any) -> None:
    """Raise an error if nothing supports used features together."""
    if pair := refused_pair(used):
        raise (TypeError if pair in _OF_TABLES else ValueError)(REFUSALS[pair].format(**values))


def refuse_unsupported(recipe: Any, *more: str, **values: Any) -> None:
    """Raise an error if nothing supports what a recipe uses, and more features, together."""
    used = [recipe.cost.neighbors, recipe.cost.protects, getattr(recipe, "trust_model", "central"), *more]
    used += ["memory"] * (not recipe.reads_parts)
    used += ["learn"] * getattr(recipe, "learns_domain", False)
    used += ["learned target"] * getattr(recipe, "ranged", False)
    used += ["class_weight"] * (getattr(recipe, "class_weight", None) is not None)
    for name, value in getattr(recipe, "fit_arguments", {}).items():
        used += [name] * (value is not None)
    refuse(used, recipe=recipe, **values)


def refuse_wrapped(name: str, estimators: Iterable[Any]) -> None:
    """Raise an error if an estimator within one that divides the table is for added records."""
    for each in estimators:
        refuse(("wrapped", getattr(each, "neighbors", None)), name=name)


def supported(thing: Any) -> frozenset[str]:
    """Return the features that an estimator or a release supports, as its class or its function shows."""
    calls = (type(thing), thing.fit) if hasattr(thing, "fit") else (thing,)
    takes = {name for call in calls for name in signature(call).parameters}
    found = {feature for feature, name in _PARAMETERS.items() if name in takes}
    found |= {feature for feature, name in _ATTRIBUTES.items() if getattr(thing, name, False)}
    if "labels" not in found and getattr(thing, "protects", "") == "labels":  # it always does
        found = {"labels", *(each for each in found if refused_pair(("labels", each)) is None)}
    if hasattr(thing, "__sklearn_tags__") and thing.__sklearn_tags__().input_tags.sparse:
        found.add("sparse")
    if hasattr(thing, "__code__"):  # a release reads parts if a recipe that it makes does
        function = unwrap(thing)
        made = (function.__globals__.get(name) for name in function.__code__.co_names)
        if any(getattr(each, "reads_parts", False) for each in made):
            found.add("parts")
    return frozenset(found)


def supports(thing: Any, *features: str) -> bool:
    """Return whether an estimator or a release supports several features at once."""
    return supported(thing).issuperset(features) and refused_pair(features) is None
