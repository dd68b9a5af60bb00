"""Which combinations of features are supported: the table, and the one place that refuses the others.

The class of an estimator, or the function of a release, shows which features it supports: see `supported`.
`REFUSALS` lists the pairs of features that nothing supports, and the error that says why. It is raised before
a value of the table is read, and before a charge.

>>> refusal_of(("add_remove", "groups")).features
('add_remove', 'groups')
>>> refusal_of(("add_remove", "outputs", "class_weight")).error.__name__
'ValueError'
>>> refusal_of(("parts", "groups")) is None
True
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from inspect import isfunction, signature
from types import MappingProxyType
from typing import Any

from dplearn.privacy.base import ADDED_LABELS
from dplearn.privacy.unknown_count import TAKING_ADDED

__all__ = [
    "FEATURES",
    "REFUSALS",
    "Refusal",
    "refusal_of",
    "refuse",
    "refuse_unsupported",
    "refuse_wrapped",
    "supported",
    "supports",
    "used_by",
]

#: From a feature to how it is asked for; most are values of parameters.
FEATURES = MappingProxyType(
    {
        "parts": "a table in parts",
        "groups": "groups",
        "add_remove": "neighbors='add_remove'",
        "local": "trust_model='local'",
        "labels": "protects='labels'",
        "outputs": "several outputs",
        "sparse": "a sparse matrix",
        "partial_fit": "partial_fit",
        "learn": "domain='learn'",
    }
)


@dataclass(frozen=True)
class Refusal:
    """Two features that nothing supports together.

    Attributes
    ----------
    features : tuple of str
        Those of `FEATURES`, and others: "memory", which a recipe has that reads no parts; "wrapped", an
        estimator within one that divides the table; "learned target", of target_range='learn'; and
        "class_weight".
    error : type
        That of the error.
    text : str
        The message: what must be changed, and why. Fields in braces are filled in.
    of : str
        The only release that refuses them; empty for all.
    """

    features: tuple[str, str]
    error: type[Exception]
    text: str
    of: str = ""

    def told(self, **values: Any) -> Exception:
        """Return the error, whose message shows some public values."""
        return self.error(self.text.format(**values))


_COUNTED = (
    "neighbors must be 'replace_one' for {}, which needs the number of records, got 'add_remove'; "
    + TAKING_ADDED
)
REFUSALS = (
    Refusal(
        ("memory", "parts"),
        TypeError,
        "{recipe.takes} must be a table in memory for {recipe.name}, got one in parts; the guide on"
        " tables of any size lists the learners of tables in parts",
    ),
    Refusal(
        ("add_remove", "groups"),
        TypeError,
        "groups must be None for neighbors='add_remove': the set of groups is public",
    ),
    Refusal(
        ("add_remove", "parts"),
        TypeError,
        "{recipe.takes} must be in memory for neighbors='add_remove': the lengths of parts are public",
    ),
    Refusal(
        ("add_remove", "local"),
        ValueError,
        "trust_model must be 'central' for neighbors='add_remove', got 'local', which shows the number of"
        " records",
    ),
    Refusal(("add_remove", "labels"), ValueError, ADDED_LABELS),
    Refusal(("add_remove", "learn"), ValueError, _COUNTED.format("domain='learn'")),
    Refusal(("add_remove", "learned target"), ValueError, _COUNTED.format("target_range='learn'")),
    Refusal(("add_remove", "partial_fit"), ValueError, _COUNTED.format("partial_fit")),
    Refusal(("add_remove", "wrapped"), ValueError, _COUNTED.format("{name}")),
    Refusal(
        ("add_remove", "outputs"),
        ValueError,
        "neighbors must be 'replace_one' for several outputs, got 'add_remove' and {n_outputs} outputs;"
        " {recipe.name} takes one output with neighbors='add_remove': fit a classifier to each, with a share"
        " of the budget",
    ),
    Refusal(
        ("local", "outputs"),
        ValueError,
        "trust_model must be 'central' for several outputs, got 'local' and {n_outputs} outputs",
    ),
    Refusal(
        ("class_weight", "outputs"),
        ValueError,
        "class_weight must be None for several outputs, got {recipe.class_weight!r} and {n_outputs} outputs;"
        " from a table in memory, PrivateMultiOutputClassifier({recipe.name}(class_weight=...)) fits a model"
        " with weights to each",
    ),
    Refusal(
        ("local", "learned target"),
        ValueError,
        "target_range must be a pair (low, high) of public bounds on y where trust_model='local', which has"
        " no curator who could learn them, got 'learn'",
    ),
    Refusal(
        ("labels", "groups"),
        ValueError,
        "groups must be None where protects='labels', since groups are whole rows",
    ),
    Refusal(
        ("labels", "learn"),
        ValueError,
        "domain must not be 'learn' where protects='labels': all features are public then, so declare what X"
        " shows, or leave domain=None for numbers",
    ),
    Refusal(
        ("learn", "partial_fit"),
        ValueError,
        "domain must be declared for partial_fit, got 'learn': a schema that is learned from the first call"
        " would be a different one in the next; declare domain=Schema(...), or release a schema once, and"
        " pass it: dplearn.releases.learned_schema",
    ),
    Refusal(
        ("parts", "groups"),
        TypeError,
        "groups must be None for a table in parts; pass a table in memory",
        of="private_score",
    ),
)


def used_by(recipe: Any) -> tuple[Any, ...]:
    """Return the features that the parameters of a recipe use, among other values.

    Parameters
    ----------
    recipe : Recipe
        Public.
    """
    named = {
        "memory": not recipe.reads_parts,
        "learn": getattr(recipe, "learns_domain", False),
        "learned target": getattr(recipe, "ranged", False),
        "class_weight": getattr(recipe, "class_weight", None) is not None,
    }
    values = recipe.cost.neighbors, recipe.cost.protects, getattr(recipe, "trust_model", "central")
    return *values, *(feature for feature, used in named.items() if used)


def refusal_of(used: Collection[Any], name: str = "") -> Refusal | None:
    """Return the first pair among used features that is refused, or None.

    Parameters
    ----------
    used : collection of str
        Features, and other values of parameters, which are ignored.
    name : str, default=""
        Of the estimator or the release.
    """
    refused = (each for each in REFUSALS if each.of in ("", name))
    return next((each for each in refused if all(feature in used for feature in each.features)), None)


def refuse(used: Collection[Any], name: str = "", **values: Any) -> None:
    """Raise the error of a pair among used features that is refused.

    Parameters
    ----------
    used, name
        As for `refusal_of`.
    **values : object
        Public. For the message.
    """
    if found := refusal_of(used, name):
        raise found.told(**values)


def refuse_unsupported(recipe: Any, *more: str, **values: Any) -> None:
    """Raise an error if a recipe, and how it is given its table, use features that are refused.

    Parameters
    ----------
    recipe : Recipe
        Public.
    *more : str
        Features of the table.
    **values : object
        Public. For the message.
    """
    refuse((*used_by(recipe), *more), recipe.name, recipe=recipe, **values)


def refuse_wrapped(name: str, estimators: Iterable[Any]) -> None:
    """Raise an error if one of several estimators is for added records, and another divides the table.

    Parameters
    ----------
    name : str
        Of the other, for the message.
    estimators : iterable of PrivateEstimator
        Those within it.
    """
    for each in estimators:
        refuse(("wrapped", getattr(each, "neighbors", None)), name=name)


def supported(thing: Any) -> tuple[str, ...]:
    """Return the features that an estimator or a release supports, as its class or its function shows.

    Parameters
    ----------
    thing : object
        An unfitted estimator, or a function.
    """
    function = isfunction(thing)
    takes = signature(thing if function else type(thing)).parameters
    tags = getattr(thing, "__sklearn_tags__", None)
    found = {
        "parts": _reads_parts(thing) if function else getattr(thing, "reads_parts", False),
        "groups": "groups" in signature(thing if function else thing.fit).parameters,
        "add_remove": "neighbors" in takes,
        "local": "trust_model" in takes,
        "labels": "protects" in takes,
        "outputs": getattr(thing, "reads_outputs", False),
        "sparse": bool(tags and tags().input_tags.sparse),
        "partial_fit": hasattr(thing, "partial_fit"),
        "learn": getattr(thing, "can_learn_schema", False),
    }
    return tuple(feature for feature in FEATURES if found[feature])


def supports(thing: Any, *features: str) -> bool:
    """Return whether an estimator or a release supports several features at once.

    Parameters
    ----------
    thing : object
        As for `supported`.
    *features : str
        Some of `FEATURES`.
    """
    name = getattr(thing, "__name__", type(thing).__name__)
    return {*features} <= {*supported(thing)} and refusal_of(features, name) is None


def _reads_parts(function: Callable[..., Any]) -> bool:
    """Return whether the code of a release uses a recipe that reads parts, or reads them itself."""
    uses: Any = function
    names = uses.__code__.co_names
    return "table_in_parts" in names or any(
        getattr(uses.__globals__.get(name), "reads_parts", False) for name in names
    )
