"""The public settings of a model, as text: no seed, no ledger, and nothing that was fitted.

>>> from sklearn.linear_model import LogisticRegression
>>> settings_of(LogisticRegression(C=2.0, random_state=7))["C"]
'2.0'
>>> settings_of(LogisticRegression(random_state=7))["random_state"]
'set (not shown)'
"""

import inspect
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from dplearn.privacy import PrivacyLedger

__all__ = ["settings_of"]

_LONGEST = 2000  # lists of categories and labels are what is assumed public
_SEED, _ACCOUNT = "random_state", "ledger"
_PARTS = ("steps", "transformers", "transformer_list")  # whose parts are listed by their own names
_HIDDEN = "set (not shown)"
_SET = re.compile(rf"\b({_SEED})=(?!None\b)[^,)]+")  # of a splitter, say


def settings_of(estimator: Any) -> dict[str, str]:
    """Return the names and values of the parameters that `estimator` was made with, and of those within it.

    Parameters
    ----------
    estimator : object
        With `get_params`, or with a `fit` and attributes named as the parameters of its class; anything else
        has no settings.

    Returns
    -------
    dict of str to str
        Estimators among the values by the name of their class: their own parameters are listed too.
    """
    if hasattr(estimator, "get_params"):
        found = estimator.get_params(deep=True)
    elif hasattr(estimator, "fit"):
        names = inspect.signature(type(estimator)).parameters
        found = {name: vars(estimator)[name] for name in names if name in vars(estimator)}
    else:
        found = {}
    shown = {}
    for name in sorted(found, key=lambda name: (name.count("__"), name)):
        last = name.rpartition("__")[2]
        if last not in _PARTS:
            shown[name] = _kept_back(found[name]) if last in (_SEED, _ACCOUNT) else _shown(found[name])
    return shown


def _kept_back(value: Any) -> str:
    """Return whether a seed or a ledger is set: who knows the seed can subtract the noise."""
    return "None" if value is None else _HIDDEN


def _shown(value: Any) -> str:
    """Return a value as text, none of whose parts tells a seed, an account or a place in memory."""
    text = _text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _entry(key: Any, value: Any) -> str:
    """Return a value of a mapping as text, or, of a seed or an account, whether it is set."""
    name = key.rpartition("__")[2] if isinstance(key, str) else ""
    return _kept_back(value) if name in (_SEED, _ACCOUNT) else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, type) or inspect.isroutine(value):
        return str(value.__qualname__)
    if isinstance(value, PrivacyLedger | np.random.RandomState | np.random.Generator):  # noqa: TID251 - not drawn from
        return _HIDDEN
    if hasattr(value, "get_params"):
        return type(value).__name__
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_text(key)}: {_entry(key, each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple | set | frozenset):
        return f"[{', '.join(map(_text, value))}]"
    if hasattr(value, "shape") and hasattr(value, "dtype") and np.ndim(value):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    text = _SET.sub(rf"\1={_HIDDEN}", repr(value))
    return type(value).__name__ if " at 0x" in text or PrivacyLedger.__name__ in text else text
