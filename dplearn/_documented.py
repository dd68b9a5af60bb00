"""What public functions or classes describe in the same words stands once, and is added to the others:
entries that many estimators share in `Shared`, those of a few in a base class or in one of them.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from inspect import Parameter, cleandoc, isclass, isfunction, signature
from textwrap import fill, indent
from typing import Any, TypeVar

_Thing = TypeVar("_Thing", bound=Callable[..., Any])
_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)
_FIRST = ("Parameters", "Attributes", "Returns", "Raises")  # headings, in the order of numpydoc
_STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
_SEEDED = "`random_state` makes this example repeatable; leave it out on private data."
_WIDTH = 106  # of the text of an entry, as it is in the source of a class


class Shared:
    """Entries of estimators, and of their methods.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples.
    domain : Domain, sequence of Domain, Product, Schema, "learn" or Learn, optional
        The possible values, known without looking at the data: one domain for all columns, or one for each.
        "learn": a fit releases a schema first, `schema_`, from a tenth of its budget; see `Learn` and
        `dplearn.releases.learned_schema`.
    classes : sequence, optional
        All labels that can occur, known without looking at the data. None: the labels of the schema, or else
        the labels that occur in `y`; the guarantee then assumes that the set of labels is public.
    target_range : pair of numbers or "learn", default="learn"
        Public bounds (low, high) on the target, known without looking at the data. "learn": a fit releases a
        range first, together with the domain if that is learned, from one share of its budget, by default a
        tenth; targets beyond it are moved to its ends. It needs the records that `plan(n).schema.n_needed`
        states, and a trusted curator.
    clip_target : bool, default=False
        Whether a target outside the declared range is moved to the nearest bound. False: it is refused.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        The tables between which the guarantee holds. "add_remove": one has one record more, and the number of
        records is private.
    max_rows_per_group : int, default=10
        The number of rows of a group that take part, if `fit` has `groups`; from 1 to 1,000; of a group with
        fewer rows, each is repeated. A group counts as one record, whose values are the means over these
        rows.
    max_cells : int, default=20_000
        The most cells of a measured table, at least 4.
    n_jobs : int, optional
        Number of worker processes that train teachers, as in joblib; with one worker, the teachers are
        trained one after the other, or in batches.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.
    n_samples : int
        Number of records; a guess if it is private.
    n_features : int, optional
        Number of columns; required unless `domain` determines it.
    n_labels : int, optional
        Number of labels; required unless `classes` or the schema determines it.
    n_outputs : int, default=1
        Number of labels of a record.
    beta : float, default=0.05
        Allowed probability of failure, in (0, 1).
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows of the kinds that `fit` takes.
    groups : array-like of shape (n_samples,), optional
        Private. The group of each row, such as the person that it belongs to: texts or integers. The
        guarantee then protects all rows of a group together, and the set of groups is public.
    input_features : sequence of str, optional
        Names of the input's columns.
    **fit_parameters : None
        Not supported: a `sample_weight` other than None is refused.

    Returns
    -------
    predict : ndarray of shape (n_samples,)
        Entries of `classes_`; of a regressor, targets of float64.
    predict_proba : ndarray of float64 of shape (n_samples, n_classes)
        Probabilities, in the order of `classes_`.
    predict_log_proba : ndarray of float64 of shape (n_samples, n_classes)
        In the order of `classes_`.
    decision_function : ndarray of float64 of shape (n_samples,), or (n_samples, n_classes) of more than two
        Margins, in the order of `classes_`.
    transform : ndarray of float64 of shape (n_samples, n_features)
        Finite: overflows are replaced with the largest finite float.
    inverse_transform : ndarray of float64 of shape (n_samples, n_features)
        Rows in the space of the input.

    Attributes
    ----------
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    domain_ : Product
        Public. The domain of each column.
    schema_ : Product
        Released. The learned domain of a record, if `domain` is "learn".
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted; declared, or assumed to be public.
    target_range_ : tuple of float
        Released. The range of the target: the learned one; or the declared one, which is public.
    noise_ : str
        Public. The noise: "laplace" or "gaussian".
    noisy_count_ : int
        Released. The estimated number of records; only for neighbors="add_remove".
    feature_importances_ : ndarray of float64 of shape (n_features,)
        Released. Equal shares of the columns that the rule uses. With a model in place of a rule: its own, or
        the norms of its `coef_`; absent if it has neither.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.
    """


class Unspent:
    """Entries of estimators that spend no delta.

    Parameters
    ----------
    delta : float, default=0.0
        In [0, 1); it buys nothing here and is not spent, so that one grid over epsilon and delta serves all
        learners. The guarantee has delta 0.
    """


class TwoLabels:
    """Entries of classifiers of two labels, which a schema may declare.

    Parameters
    ----------
    classes : sequence, optional
        The two labels that can occur, known without looking at the data. None: the labels of the schema, or
        else the labels that occur in `y`; the guarantee then assumes that the set of labels is public.
    """


class Mechanism:
    """Entries of mechanisms.

    Parameters
    ----------
    dice : Dice
        Source of chance: `dplearn.chance.SystemDice()` for private data. Seeded dice, as in the example, make
        a release repeatable.
    size : int
        Number of codes in the domain; an integer of any size.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    sensitivity : int, default=1
        The most by which one quality, cost, or value of a question differs between neighbours.
    squared_sensitivity : int, default=1
        As for `gaussian_counts`.
    low, high : int, optional
        Public ends, at most 2**62 - 1 in magnitude; None means -(2**62 - 1) or 2**62 - 1. Counts are clipped
        to the ends before noise is added, and noisy counts afterwards.
    """


class Calculator:
    """Entries of calculators.

    Parameters
    ----------
    epsilon : number
        Privacy parameter, positive.
    delta : number
        Privacy parameter, at least 0 and below 1; positive where it has no default.
    privacy : ApproxDP
        The guarantee, with epsilon and delta positive.
    alpha : number
        Target error, in (0, 1).
    beta : number
        Allowed probability of failure, in (0, 1).
    n_queries : int
        m, the number of queries, at least 1.
    n_records : int
        n', the number of examples of one teacher, at least 1.
    n_unknowns : int
        d: number of columns, and one more for an intercept; at least 1.
    constants : LossConstants
        The constants of a convex loss.
    concepts : array-like of shape (n_concepts, n_points), or ConceptClass
        0 or 1 for each concept and point. Of a class, its members on all points of its domain are listed: at
        most 2**24 labels.
    """


def documented_by(*others: Any) -> Callable[[_Thing], _Thing]:
    """Return a decorator that adds to a docstring the entries of others, and of `Shared`, that it leaves out.

    These are parameters of its own signature, in that order; from others that are classes also attributes,
    for a class, and errors, for a function that is charged. An own entry may leave out its type, or its text,
    or begin its text with ... for the words of the others; names alone, such as `noise_, domain_`, stand for
    their entries. Public methods of a class get parameters in the same way, if all of them are described, and
    predictions their results; what else a function returns is of its annotated class. Examples with a seed
    say so. A function of epsilon names unknown parameters.
    """

    def completed(thing: _Thing) -> _Thing:
        if Shared.__doc__ is None:  # python -OO, where a dataclass has a docstring, too, but no entries
            return _naming(thing)
        if not isclass(thing) or "__init__" in vars(thing):  # a base leaves parameters to its subclasses
            _complete(thing, others)
        for name, member in list(vars(thing).items()) if isclass(thing) else ():
            method = getattr(member, "fn", member)  # of `available_if`
            if isfunction(method) and method.__doc__ and not name.startswith("_"):
                with suppress(KeyError):
                    _complete(method, ())
        return _naming(thing)

    return completed


def _naming(function: Any) -> Any:
    """Return a function of epsilon that refuses other parameters as constructors do."""
    if not isfunction(function) or "epsilon" not in signature(function).parameters:
        return function
    from dplearn._validation import check_names  # imports numpy

    @wraps(function)
    def named(*args: Any, **given: Any) -> Any:
        check_names(function, args, given)
        return function(*args, **given)

    return named


def _complete(thing: Any, others: tuple[Any, ...]) -> None:
    """Rewrite a docstring; raise KeyError if one of the parameters is described nowhere."""
    intro, own = _sections(thing)
    takes = [_STARS.get(each.kind, "") + each.name for each in signature(thing).parameters.values()]
    takes = [name for name in takes if name != "self"]
    heading = "Attributes" if isclass(thing) else "Raises" if "ledger" in takes else None
    for name in ("Parameters", heading) if heading else ("Parameters",):
        known: dict[str, str] = _shared(name)
        told: dict[str, str] = {}
        for other in others:
            if name == "Parameters" or isclass(other):
                told |= _filled(_entries(_sections(other)[1].get(name, "")), known) | told
        known = known | told
        mine = _filled(_entries(own.get(name, "")), known if name != "Raises" else {})  # errors have no types
        found = mine | told | mine
        if name == "Parameters":
            found = {each: (known | mine)[each] for each in takes}
        own[name] = _joined(found)
    if isfunction(thing) and "Returns" not in own:
        kind = signature(thing).return_annotation
        returned = _shared("Returns").get(thing.__name__, "").partition(" : ")[2]
        own["Returns"] = returned or (kind.__name__ if isclass(kind) and kind is not Parameter.empty else "")
    if "random_state=" in (example := own.get("Examples", "")) and _SEEDED not in example:
        own["Examples"] = f"{_SEEDED}\n\n{example}"
    ordered = {heading: own[heading] for heading in (*_FIRST, *own) if own.get(heading)}
    texts = [f"{heading}\n{'-' * len(heading)}\n{text.strip()}" for heading, text in ordered.items()]
    thing.__doc__ = "\n\n".join([intro.strip(), *texts]) + "\n"


def _sections(thing: Any) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring before its first heading, and the text after each."""
    intro, *parts = _HEADING.split(cleandoc(thing.__doc__ or ""))
    return intro, dict(zip(parts[::2], parts[1::2], strict=True))


def _entries(text: str) -> dict[str, str]:
    """Return the entry of each name; one entry may be that of several names."""
    found = [each.strip() for each in _ENTRY.split(text) if each.strip()]
    return {name: each for each in found for name in each.partition(" : ")[0].split("\n")[0].split(", ")}


def _filled(entries: dict[str, str], known: dict[str, str]) -> dict[str, str]:
    """Return entries with the type, or the text, or the first words of others where they leave them out."""
    for name in entries.keys() & known.keys():
        (first, _, text), (its_first, _, words) = entries[name].partition("\n"), known[name].partition("\n")
        own = text.strip()
        if not own:
            text = words
        elif own.startswith("..."):
            both = f"{words} {own.removeprefix('...')}".split()
            text = indent(fill(" ".join(both), _WIDTH - 4), " " * 4)
        entries[name] = f"{first if ' : ' in first else its_first}\n{text}".rstrip()
    return entries


@cache
def _shared(heading: str) -> dict[str, str]:
    return _entries(_sections(Shared)[1].get(heading, ""))


def _joined(entries: dict[str, str]) -> str:
    return "\n".join(dict.fromkeys(entries.values()))
