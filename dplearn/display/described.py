"""What the card and the registry entry say of a release: its guarantee in words, how far it can change a
belief about one record, its settings, and the audit cases of each class with their frozen results, from
files. All of it is public.
"""

import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from dplearn import model_selection, releases
from dplearn._writing import cut, listed
from dplearn.kernels import exp_bounds
from dplearn.preprocessing import CellEncoder
from dplearn.privacy import (
    ApproxDP,
    Guarantee,
    PrivacyLedger,
    ZeroConcentratedDP,
    attack_risk,
    pipeline_guarantee,
)
from dplearn.privacy.conversion import as_decimal
from dplearn.privacy.guarantees import decimal
from dplearn.privacy.pipelines import PARTS, of_meta_estimators
from dplearn.privacy.plan import Plan
from dplearn.releases.release import Released

_NAMES_OF_COLUMNS = "the names of the columns are public"
_DELTA = Fraction(1, 10**6)  # the delta of the approximate guarantee that explains a zero-concentrated one
_BELIEFS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
_GROUPS = (1, 2, 5, 10)
_WEAK = 10
_NO_LIMIT = 20  # factors of exp(20) and more are not written out
_RULE_OF_THUMB = "As a rule of thumb, an epsilon of 0.1 is strict, 1 is usual and 10 is weak."
_PROTECTED = {
    ("replace_one", "examples"): "all values in any one record, its label included",
    (
        "replace_one",
        "labels",
    ): "the label of any one record; the other values of the record are taken as public",
    ("add_remove", "examples"): "the presence of any one record in the table, and all its values",
    ("replace_one", "groups"): "the number and all values of the rows of any one group, such as one person",
    ("add_remove", "groups"): "the presence of any one group, such as one person, and all values of its rows",
}
_PARTS = {"groups": "all records of a group", "examples": "whole records", "labels": "labels"}
_NEIGHBORS = {"replace_one": "one {} replaced", "add_remove": "one {} added or removed"}
_NEIGHBORING = {
    "replace_one": "any two tables with the same number of {0}s that differ in one {0}",
    "add_remove": "any two tables of which one has one {0} more than the other",
}


class Table(NamedTuple):
    """A table; the first cell of a row is the heading of the row."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def guaranteed(estimator: Any, stateless: Collection[str]) -> tuple[Guarantee | None, str]:
    """Return the guarantee, or None and the reason why there is none."""
    if isinstance(estimator, Plan):
        raise TypeError(f"estimator must be fitted, got a {estimator._title}: nothing is released yet")
    if any(hasattr(estimator, name) for name in PARTS):
        try:
            return pipeline_guarantee(estimator, stateless=stateless), ""
        except (TypeError, ValueError) as error:  # their texts name steps and settings, no values
            return None, str(error)
    for name in ("guarantee_", "guarantee"):
        found = getattr(estimator, name, None)
        if isinstance(found, Guarantee):
            return found, ""
    if isinstance(estimator, CellEncoder) and hasattr(estimator, "n_features_in_"):
        return ApproxDP(0, assumes=(_NAMES_OF_COLUMNS,)), ""
    if type(estimator).__module__.partition(".")[0] == "dplearn" and hasattr(estimator, "fit"):
        raise NotFittedError(f"estimator must be fitted, got an unfitted {type(estimator).__name__}")
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV) or hasattr(estimator, "cv_results_"):
        raise TypeError(
            f"estimator must be private as a whole, got {type(estimator).__name__}, which chooses by raw"
            " scores on held-out rows: no guarantee covers this choice, whatever the fits cost; take"
            " dplearn.model_selection.PrivateSearchCV"
        )
    raise TypeError(
        "estimator must be fitted and have a guarantee, or be a pipeline of such steps, got"
        f" {type(estimator).__name__}{of_meta_estimators(estimator)}"
    )


def parts_of(estimator: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return the estimator and all steps within it, each with its name."""
    found = [(prefix, estimator)]
    kept = next((getattr(estimator, name) for name in PARTS if hasattr(estimator, name)), ())
    for name, step, *_ in kept:
        if step is not None and not isinstance(step, str):
            found += parts_of(step, f"{prefix}.{name}" if prefix else name)
    return found


def account_of(parts: list[tuple[str, Any]]) -> PrivacyLedger | None:
    ledgers = {id(each): each for _, part in parts if (each := getattr(part, "ledger", None)) is not None}
    # Two objects with the same file are one ledger.
    accounts = {each.path or place: each for place, each in ledgers.items()}
    if len(accounts) > 1:
        raise ValueError(f"ledger must be given: the steps are charged to {len(accounts)} ledgers")
    return next(iter(accounts.values()), None)


def figures(guarantee: Guarantee) -> list[tuple[str, str]]:
    """Return the numbers and terms of a guarantee, each with its name."""
    numbers = [(name, decimal(getattr(guarantee, name))) for name in guarantee._numbers]
    terms = [
        ("neighbours", _NEIGHBORS[guarantee.neighbors].format(guarantee._unit)),
        ("protected", _PARTS[guarantee.protects]),
    ]
    return numbers + terms


def in_short(guarantee: Guarantee) -> str:
    *numbers, neighbors, kept = figures(guarantee)
    return ", ".join([*(f"{name} {value}" for name, value in numbers), neighbors[1], kept[1]])


def protected(guarantee: Guarantee) -> str:
    """Return the protected values of a record in words."""
    return _PROTECTED[guarantee.neighbors, guarantee.protects]


def neighboring(guarantee: Guarantee) -> str:
    """Return the pairs of neighbouring tables in words."""
    return _NEIGHBORING[guarantee.neighbors].format(guarantee._unit)


def warnings_of(guarantee: Guarantee) -> list[tuple[str, str]]:
    """Return warnings about a weak guarantee or a seed, each with its heading."""
    found = []
    if guarantee.reproducible:
        text = (
            "A seed was set. Anybody who knows or guesses the seed can draw the noise again and subtract it."
            " Such a fit is for tests. Before you publish anything, fit again without a seed"
            " (random_state=None)."
        )
        found.append(("Not for release.", text))
    if _approximate(guarantee).epsilon > _WEAK:
        text = (
            f"Epsilon is above {_WEAK}: one {guarantee._unit} can change the output distribution almost"
            f" arbitrarily. {_RULE_OF_THUMB}"
        )
        found.append(("This guarantee is worth very little.", text))
    return found


def in_words(guarantee: Guarantee) -> list[str]:
    """Return paragraphs on the protected values, the neighbours and the bound on the odds."""
    approx = _approximate(guarantee)
    but = ", with a small exception" if approx.delta else ""
    texts = [f"Protected: {protected(guarantee)}. Neighbours: {neighboring(guarantee)}."]
    if isinstance(guarantee, ZeroConcentratedDP):
        texts.append(_of_rho(guarantee, approx))
    texts.append(
        "In the worst case, an adversary sees the whole release, has unlimited computing power and knows"
        f" every other {guarantee._unit}. The release changes the adversary's odds about any one"
        f" {guarantee._unit} by at most a factor of {greatest_factor(approx)}{but}. {_RULE_OF_THUMB}"
    )
    return [*texts, _of_delta(approx)] if approx.delta else texts


def beliefs(guarantee: Guarantee) -> Table:
    """Return the largest belief in a statement about one record after the release, by the belief before."""
    approx = _approximate(guarantee)
    caption = f"Belief of this adversary in a statement about one {guarantee._unit}"
    if approx.delta:
        caption += f", except with probability {decimal(2 * approx.delta)}"
    rows = [(f"{int(100 * prior)} %", greatest_belief(approx, prior)) for prior in _BELIEFS]
    return Table(caption, ("before the release", "after the release, at most"), rows)


def attacks(guarantee: Guarantee) -> list[str]:
    """Return sentences on the rates of an attacker who decides about one record."""
    advantage, rates, *_ = attack_risk(guarantee).sentences()  # `beliefs` has the rest
    return [f"{advantage} {rates}"]


def in_groups(guarantee: Guarantee) -> Table:
    """Return the guarantee for a person with several records."""
    rows = []
    for k in _GROUPS:
        try:
            approx = guarantee.for_group(k)
        except ValueError:  # delta would reach 1
            rows.append((str(k), *("no limit" for _ in guarantee._numbers), "no limit"))
            continue
        numbers = (decimal(getattr(approx, name)) for name in approx._numbers)
        rows.append((str(k), *numbers, greatest_belief(approx, Fraction(1, 10))))
    caption = "The guarantee is about one record. A person with several records is protected less."
    head = ("records of the person", *guarantee._numbers, "a belief of 10 % becomes at most")
    return Table(caption, head, rows)


def greatest_factor(approx: ApproxDP) -> str:
    """Return exp(epsilon), rounded up, as text."""
    shown = f"exp({decimal(approx.epsilon)})"
    if approx.epsilon >= _NO_LIMIT:
        return f"{shown}, which is no limit at all"
    return f"{shown} = {_up(exp_bounds(approx.epsilon)[1], 3)}"


def greatest_belief(guarantee: Guarantee, prior: Fraction) -> str:
    """Return the largest belief after the release, rounded up; it may fail with probability 2 delta."""
    tenths = -(-1000 * attack_risk(guarantee).posterior(prior) // 1)
    return f"{Decimal(int(tenths)) / 10} %" if tenths < 1000 else "no limit"


def _approximate(guarantee: Guarantee) -> ApproxDP:
    if isinstance(guarantee, ZeroConcentratedDP):
        return guarantee.to_approx(_DELTA)
    if isinstance(guarantee, ApproxDP):
        return guarantee
    raise TypeError(f"guarantee must be ApproxDP or ZeroConcentratedDP, got {type(guarantee).__name__}")


def _of_delta(approx: ApproxDP) -> str:
    once = as_decimal(1 / (2 * approx.delta), 3, ROUND_FLOOR)
    return (
        f"The guarantee has a small exception, delta = {decimal(approx.delta)}: the odds rise by more than"
        f" twice that factor with probability at most 2 delta, one in {int(once):,}. The table below uses"
        " twice the factor. Delta should be far below one divided by the number of people."
    )


def _of_rho(guarantee: ZeroConcentratedDP, approx: ApproxDP) -> str:
    return (
        f"The guarantee is zero-concentrated differential privacy with rho = {decimal(guarantee.rho)}. It"
        f" implies epsilon = {decimal(approx.epsilon)} with delta = {decimal(approx.delta)}, which the"
        " following explains."
    )


def _up(x: Fraction, digits: int) -> str:
    rounded = as_decimal(x, digits)
    return f"{int(rounded):,}" if rounded >= 10 ** (digits - 1) else f"{rounded}"


_SEED, _LEDGER = "random_state", "ledger"
_LISTED = ("steps", "transformers", "transformer_list")  # their entries are listed by name
_HIDDEN = "set (not shown)"
_SET = re.compile(rf"\b({_SEED})=(?!None\b)[^,)]+")  # in the repr of a splitter, for example


def settings_of(estimator: Any) -> dict[str, str]:
    """Return as text the parameters of an estimator, and of those within it, or of a release's plan."""
    if hasattr(estimator, "get_params"):
        found = estimator.get_params(deep=True)
    elif isinstance(estimator, Released):
        plan = estimator.plan
        found = {each.name: getattr(plan, each.name) for each in fields(plan) if each.repr} | plan.states
        found = {name: value for name, value in found.items() if not isinstance(value, Guarantee | Plan)}
    else:
        found = {}
    shown = {}
    for name in sorted(found, key=lambda name: (name.count("__"), name)):
        last = name.rpartition("__")[2]
        if last not in _LISTED:
            shown[name] = _kept_back(found[name]) if last in (_SEED, _LEDGER) else _text(found[name])
    return shown


def _kept_back(value: Any) -> str:
    """Return whether a seed or a ledger is set. A seed is secret: with it, the noise can be subtracted."""
    return "None" if value is None else _HIDDEN


def _entry(key: Any, value: Any) -> str:
    """Return a value of a mapping as text; of a seed or a ledger, only whether it is set."""
    name = key.rpartition("__")[2] if isinstance(key, str) else ""
    return _kept_back(value) if name in (_SEED, _LEDGER) else _text(value)


def _text(value: Any) -> str:
    """Return a value as a short text without seeds, ledgers and addresses in memory."""
    if isinstance(value, type) or inspect.isroutine(value):
        return str(value.__qualname__)
    if isinstance(value, PrivacyLedger | np.random.RandomState | np.random.Generator):  # noqa: TID251 - not drawn from
        return _HIDDEN
    if hasattr(value, "get_params"):
        return type(value).__name__
    if isinstance(value, Mapping):
        return listed([f"{_text(key)}: {_entry(key, each)}" for key, each in value.items()], "{}")
    if isinstance(value, list | tuple | set | frozenset):
        return listed([_text(each) for each in value], "[]")
    if hasattr(value, "shape") and hasattr(value, "dtype") and np.ndim(value):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    text = _SET.sub(rf"\1={_HIDDEN}", repr(value))  # before it is cut
    return type(value).__name__ if " at 0x" in text or PrivacyLedger.__name__ in text else cut(text)


class Evidence(NamedTuple):
    """The audit cases of a class, and whether some of them enumerate a whole fit, not its mechanisms only."""

    cases: tuple[str, ...]
    whole: bool = True
    note: str = ""


class Check(NamedTuple):
    """The claim of a case and its frozen result; `exact` is the largest epsilon at that delta."""

    name: str
    claimed: float
    delta: float
    exact: str
    n_datasets: int
    n_pairs: int


#: What is to be said of some classes besides what their cases say, by their names.
_NOTES: Mapping[str, str] = {
    "CellEncoder": "It learns nothing from any value, so there is nothing to enumerate.",
    "PrivateSearchCV": "The searches that are enumerated fit a tiny learner of their own, and best_of_runs is"
    " what one way of searching is made of.",
    "SoftLabelTransferClassifier": "The student sees public rows and released scores only, and adds nothing"
    " to what is spent.",
}


@cache
def _read(name: str) -> Any:
    # Of the whole package: `resources.files("dplearn.audit")` would import it.
    return json.loads(resources.files("dplearn").joinpath("audit", name).read_text(encoding="utf-8"))


def names_of_cases() -> list[str]:
    """Return the names of all cases, as in `python -m dplearn audit NAME`."""
    return list(_read("verified.json")["cases"])


@cache
def recorded_evidence() -> Mapping[str, Evidence]:
    """Return the evidence of all classes and functions that have some, by name."""
    verified = _read("verified.json")["verified"]
    nothing: dict[str, Any] = {"cases": (), "whole": True}
    found = {name: verified.get(name, nothing) for name in sorted({*verified, *_NOTES})}
    return {
        name: Evidence(tuple(each["cases"]), each["whole"], _NOTES.get(name, ""))
        for name, each in found.items()
    }


def evidence_of(name: str) -> Evidence | None:
    """Return the evidence for the class of this name; None if none is recorded."""
    return recorded_evidence().get(name)


def class_of_result(name: str) -> str:
    """Return the name of the class of what a release function returns; other names as they are."""
    function = next((vars(room)[name] for room in (releases, model_selection) if name in vars(room)), None)
    return inspect.signature(function).return_annotation.__name__ if inspect.isfunction(function) else name


def checks_of(evidence: Evidence) -> list[Check]:
    """Return the claims and the frozen results of the cases."""
    cases, frozen = _read("verified.json")["cases"], _read("frozen.json")
    return [
        Check(name=name, exact=frozen[name]["epsilon"], n_pairs=frozen[name]["n_pairs"], **cases[name])
        for name in evidence.cases
    ]
