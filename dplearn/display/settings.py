"""The public settings of a model as text, without seeds, ledgers and fitted values.

>>> from sklearn.linear_model import LogisticRegression
>>> settings_of(LogisticRegression(C=2.0, random_state=7))["C"]
'2.0'
>>> settings_of(LogisticRegression(random_state=7))["random_state"]
'set (not shown)'
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from dplearn._writing import cut, listed
from dplearn.privacy import PrivacyLedger
from dplearn.privacy.base import Guarantee
from dplearn.privacy.plan import Plan
from dplearn.releases.release import Released

_SEED, _LEDGER = "random_state", "ledger"
_PARTS = ("steps", "transformers", "transformer_list")  # their entries are listed by name
_HIDDEN = "set (not shown)"
_SET = re.compile(rf"\b({_SEED})=(?!None\b)[^,)]+")  # in the repr of a splitter, for example


def settings_of(estimator: Any) -> dict[str, str]:
    """Return the constructor parameters of an estimator and of the estimators within it, as text.

    Those of an estimator within follow as `name__parameter`; those of a release are its plan's.
    """
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
        if last not in _PARTS:
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
