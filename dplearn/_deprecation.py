"""Deprecations: a name or parameter that will be removed warns for two minor versions.

A parameter of an estimator stays in its constructor, with `DEPRECATED` as default, and `_params` reads it:

>>> from types import SimpleNamespace
>>> learner = SimpleNamespace(scale=DEPRECATED, width=3)
>>> renamed_parameter(learner, "scale", "width", since="0.3")
3

A name of a module stays in the module's `__getattr__`, which calls `warn_deprecated` and returns the new
object. A test fails once a version has been reached in which one must be removed.
"""

import warnings
from typing import Any

__all__ = ["DEPRECATED", "removed_in", "renamed_parameter", "warn_deprecated"]

#: The default of a parameter that is deprecated, as in scikit-learn.
DEPRECATED = "deprecated"

_MINOR_VERSIONS = 2  # as many warn


def removed_in(since: str) -> str:
    """Return the first version without a thing that is deprecated since a version.

    >>> removed_in("0.3")
    '0.5'
    """
    major, minor = since.split(".")
    return f"{major}.{int(minor) + _MINOR_VERSIONS}"


def warn_deprecated(old: str, *, since: str, instead: str, stacklevel: int = 2) -> None:
    """Warn that a name or parameter will be removed.

    Parameters
    ----------
    old : str
        Its name, as users write it.
    since : str
        The first version that warns, MAJOR.MINOR.
    instead : str
        Its replacement, as users write it.
    stacklevel : int, default=2
        As for `warnings.warn`: 2 is the caller of the function that calls this one.
    """
    warnings.warn(
        f"{old} is deprecated since {since} and will be removed in {removed_in(since)}; use {instead}",
        FutureWarning,
        stacklevel=stacklevel + 1,
    )


def renamed_parameter(learner: Any, old: str, new: str, *, since: str, stacklevel: int = 2) -> Any:
    """Return the value of a constructor's parameter that is given under its new or its old name.

    Parameters
    ----------
    learner : object
        It has both as attributes.
    old, new : str
        The names. A value of `old` other than `DEPRECATED` counts, and warns.
    since, stacklevel
        As for `warn_deprecated`.
    """
    given = getattr(learner, old)
    if isinstance(given, str) and given == DEPRECATED:
        return getattr(learner, new)
    warn_deprecated(f"the parameter {old}", since=since, instead=new, stacklevel=stacklevel + 1)
    return given
