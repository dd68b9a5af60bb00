"""Models that learn from private rows: the code that they run, silent and seeded clones, and a dry run.

Refused are models whose methods have been replaced, by autologging for example: such code may log, count or
send what it sees. Each function that a method consists of, also inside decorators, must be code of the
package that defines its class, of one that the class's module imports, of scikit-learn, dplearn, `functools`
or `contextlib`. This holds for all base classes, models inside a model, and methods that are set on one
object. A replacement by code of the class's own package, or by compiled code, is not noticed.

An error on private rows is never shown. So `dry_run` first fits a model to public or made-up rows, with
random labels, and finds invalid parameters before a fit is charged.

>>> from sklearn.linear_model import LogisticRegression
>>> from sklearn.neural_network import MLPClassifier
>>> models = Seeded(quiet(MLPClassifier(verbose=True)))
>>> one, other = models.clone(1), models.clone(2)
>>> one.random_state == other.random_state, one.verbose
(False, False)
>>> rows, stream = np.arange(60.0).reshape(30, 2), PublicStream(0)
>>> dry_run(LogisticRegression(), rows, np.array(["no", "yes"]), stream)
''
>>> dry_run(LogisticRegression(C=-1), rows, np.array(["no", "yes"]), stream).split(":")[0]
'InvalidParameterError'
"""

import re
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor

from dplearn.chance.public import PublicStream
from dplearn.estimator.isolation import attempt, isolated, muted_output, native_threads, turn
from dplearn.privacy.held import held_by
from dplearn.table import plain, rows_of

Fit = Callable[[Any, Any, NDArray[Any]], Any]

#: Rows of a dry run.
MANY_ROWS = 64

_METHOD = re.compile("_*(fit|partial_fit|predict|decision_function|score|transform|inverse_transform)")
#: What functions, methods, properties, partial objects and scikit-learn's descriptors hold.
_INNER = ("__wrapped__", "__func__", "fget", "func", "fn")
_DEEPEST = 50  # some objects, such as mocks, hold others without end
_EVERYWHERE = {"builtins", "contextlib", "dplearn", "functools", "sklearn"}
_NUMBER = (bool, int, float, np.bool_, np.integer)


def check_own_code(name: str, estimator: Any, seen: set[type] | None = None) -> None:
    """Raise an error if a method of a model is not that of its class; those in `seen` have just passed."""
    left: list[type] = []
    for held in held_by(estimator):
        kind = type(held)
        if _is_model(kind):
            left.append(kind)
            for each, value in (vars(held) if hasattr(held, "__dict__") else {}).items():
                if callable(getattr(kind, each, None)):
                    _check(name, kind, each, _layers(value))
    seen = set() if seen is None else seen
    while left:
        kind = left.pop()
        if kind not in seen and _is_model(kind):
            for base in kind.__mro__:
                if base not in seen:
                    seen.add(base)
                    left += _check_class(name, base)


def _check_class(name: str, kind: type) -> list[type]:
    """Raise an error if a method of a class consists of foreign code; return the classes in its code."""
    named: list[type] = []
    for attribute, value in list(vars(kind).items()):
        layers = _layers(value)
        if kind.__module__ != "abc":  # a class made by a call of `type`, which names no module
            _check(name, kind, attribute, layers)
        for layer in layers:
            if type(layer) is FunctionType:
                values = map(layer.__globals__.get, layer.__code__.co_names)
                named += [each for each in values if isinstance(each, type)]
    return named


def _is_model(kind: type) -> bool:
    return hasattr(kind, "fit") or hasattr(kind, "predict") or hasattr(kind, "transform")


def _check(name: str, kind: type, attribute: str, layers: Sequence[Any]) -> None:
    """Raise an error if an attribute of a class, or of an object of it, is a method of foreign code."""
    if not _METHOD.match(attribute) or isinstance(layers[0], type):
        return
    for layer in layers:
        home = _home(layer)
        if home not in _EVERYWHERE | {_package(kind.__module__)} and home not in _imported(kind):
            raise ValueError(
                f"{name} must run the code of its own classes on private rows, but"
                f" {kind.__name__}.{attribute} has been replaced by code of {home}; undo this, such as by"
                " mlflow.sklearn.autolog(disable=True), or start a new process without it"
            )


def _layers(value: Any) -> Sequence[Any]:
    """Return an attribute of a class, what it wraps, and what a context manager as a decorator holds."""
    if type(value) is FunctionType and not vars(value) and _home(value) != "contextlib":  # holds nothing
        return (value,)
    left, seen = [value], list[Any]()
    while left and len(seen) < _DEEPEST:
        layer = left.pop()
        if any(layer is each for each in seen):
            continue
        seen.append(layer)
        if callable(layer) or hasattr(layer, "__get__"):
            left += [getattr(layer, each) for each in _INNER if getattr(layer, each, None) is not None]
        if type(layer) is FunctionType and _home(layer) == "contextlib":
            left += [cell.cell_contents for cell in layer.__closure__ or ()]
    return seen


def _home(layer: Any) -> str:
    """Return the package of the code of a function; of another object, that of its class."""
    of_function = type(layer) is FunctionType or type(layer).__name__ == "cython_function_or_method"
    module = layer.__globals__.get("__name__") if of_function else type(layer).__module__
    return _package(module)


def _package(module: Any) -> str:
    return str(module).partition(".")[0]


def _imported(kind: type) -> set[str]:
    """Return the packages that the module of a class imports, or of which it imports functions or classes
    under their own names; autologging may have put functions of other names there.
    """
    module = vars(sys.modules.get(kind.__module__, ModuleType("")))
    return {
        _package(each.__name__ if isinstance(each, ModuleType) else each.__module__)
        for name, each in list(module.items())
        if isinstance(each, ModuleType) or (isinstance(each, (FunctionType, type)) and each.__name__ == name)
    }


def quiet(estimator: Any) -> Any:
    """Return a clone without messages, cache and callbacks, all of which would depend on a shard."""
    clone_ = clone(estimator)
    own = {id(each) for each in held_by(estimator)}
    for each in held_by(clone_):
        if id(each) not in own and hasattr(each, "set_callbacks"):
            each.set_callbacks()
    parameters = clone_.get_params()
    silenced = {name: type(value)(0) for name, value in parameters.items() if _is_loud(name, value)}
    kept = {name: None for name, value in parameters.items() if _is_kept(name, value)}
    return clone_.set_params(**silenced, **kept) if silenced or kept else clone_


class Seeded:
    """A base estimator whose clones share no random generator: a seed sets each open `random_state`."""

    def __init__(self, estimator: Any):
        self.pattern = clone(estimator)
        parameters = self.pattern.get_params()
        self._open = sorted(name for name, value in parameters.items() if value is None and _is_seed(name))
        self._objects = sorted(name for name, value in parameters.items() if _draws_by_itself(value))

    def clone(self, seed: int) -> Any:
        """Return a clone whose seeds are all derived from one seed."""
        clone_ = clone(self.pattern)
        if not self._open and not self._objects:
            return clone_
        seeds = PublicStream(seed, "teacher").seeds(len(self._open) + len(self._objects))
        if self._objects:
            parameters = clone_.get_params()
            for name, own in zip(self._objects, seeds[len(self._open) :], strict=True):
                parameters[name].random_state = own
        return clone_.set_params(**dict(zip(self._open, seeds, strict=False)))


def _is_seed(name: str) -> bool:
    return name.rpartition("__")[2] == "random_state"


def _is_loud(name: str, value: Any) -> bool:
    """Return True for a positive `verbose`; a negative one prints even less than 0."""
    return name.rpartition("__")[2] == "verbose" and isinstance(value, _NUMBER) and bool(value > 0)


def _is_kept(name: str, value: Any) -> bool:
    """Return True for a `memory`, the folder where a pipeline caches transformed shards."""
    return name.rpartition("__")[2] == "memory" and value is not None


def _draws_by_itself(value: Any) -> bool:
    """Return True for an object that is no estimator and draws from numpy's global generator."""
    open_ = getattr(value, "random_state", 0) is None
    return open_ and not isinstance(value, type) and not hasattr(value, "get_params")


def dry_run(
    estimator: Any,
    rows: Any,
    classes: NDArray[Any],
    stream: PublicStream,
    fit: Fit = lambda estimator, X, y: estimator.fit(X, y),
    most: int = MANY_ROWS,
) -> str:
    """Return the error of an estimator on the first `most` rows with random labels (of a regressor, targets),
    or an empty text; `fit` returns the fitted estimator.
    """
    few = np.arange(min(most, rows.shape[0]))
    X = plain(rows_of(rows, few))
    # Every label occurs, if there are enough rows: some estimators need two rows of each.
    y = np.asarray(classes)[few % len(classes)][stream.permutation(few.size)]
    seed = stream.seeds(1)[0]
    with native_threads(None), muted_output(), isolated():
        return attempt(
            lambda: _prediction_error(fit, estimator, seed, X, y), lambda e: f"{type(e).__name__}: {e}"
        )


def _prediction_error(fit: Fit, estimator: Any, seed: int, X: Any, y: NDArray[Any]) -> str:
    with turn(seed):
        predicted = fit(Seeded(quiet(estimator)).clone(seed), X, y).predict(X)
    if np.shape(predicted) != y.shape or not (is_regressor(estimator) or np.isin(predicted, y).all()):
        return "it does not predict one of the labels for each row"
    return ""
