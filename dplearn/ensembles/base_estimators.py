"""Base estimators of teachers: the default ones, those refused, and seeded clones that print nothing.

Refused are models whose methods have been replaced, by autologging for example: code that was put in its
place later may log, count or send what it sees. Python does not record which is which, so the rule goes by
packages. Each function that a method consists of, down to the innermost that a decorator wraps, must be code
of the package in which the class that holds the method is defined, of scikit-learn or dplearn, of Python's
`functools` or `contextlib`, or of a package that the class's own module imports. This holds for all classes
from which a model and the models inside it inherit, for classes of models that their code names, and for
methods that are set on one object alone. A replacement by code of the class's own package is not noticed, and
neither is one by compiled code.

>>> from sklearn.neural_network import MLPClassifier
>>> base_estimators = Seeded(quiet(MLPClassifier(verbose=True)))
>>> one, other = base_estimators.clone(1), base_estimators.clone(2)
>>> one.random_state == other.random_state, one.verbose
(False, False)
>>> standard_estimator(np.zeros((3, 2)), C=10).steps[-1]
('logisticregression', LogisticRegression(C=10, max_iter=200))
"""

import math
import re
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from dplearn._writing import brief
from dplearn.chance.public import PublicStream
from dplearn.domains.cells import is_frame
from dplearn.privacy.held import held_by
from dplearn.privacy.ledger import PrivacyLedger
from dplearn.privacy.one_time_state import OneTimeState

_METHOD = re.compile("_*(fit|partial_fit|predict|decision_function|score|transform|inverse_transform)")
#: What functions, methods, properties, partial objects and scikit-learn's descriptors hold.
_INNER = ("__wrapped__", "__func__", "fget", "func", "fn")
_DEEPEST = 50  # some objects, such as mocks, hold others without end
_EVERYWHERE = {"builtins", "contextlib", "dplearn", "functools", "sklearn"}
_NUMBER_KINDS = "iufb"
_MISSING = ("NAType", "NaTType")  # of pandas
_NUMBER = (bool, int, float, np.bool_, np.integer)


# The parts of scikit-learn that default estimators consist of are imported inside functions: they would be a
# fifth of the time that `import dplearn` takes beyond scikit-learn's own base.
def standard_estimator(X: Any, C: float) -> Pipeline:
    """Return an unfitted logistic regression for tables of the same kind as X, with preprocessing.

    Non-numeric columns of a frame are one-hot encoded; the code of an unknown value is all zeros. An array of
    objects or strings has no column types: each teacher encodes the columns in which its own shard has a text
    that is not a number.
    """
    from sklearn.linear_model import LogisticRegression

    return _prepared(X, LogisticRegression(C=C, max_iter=200))


def standard_scorer(X: Any) -> Pipeline:
    """Return an unfitted logistic regression by stochastic gradient descent, for tables like X."""
    from sklearn.linear_model import SGDClassifier

    return _prepared(X, SGDClassifier(loss="log_loss", alpha=0.01, average=True))


def _prepared(X: Any, model: Any) -> Pipeline:
    """Return a pipeline that imputes, scales and encodes before the model."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    numbers = [SimpleImputer(keep_empty_features=True), StandardScaler(with_mean=False)]
    if not is_frame(X) and X.dtype.kind in _NUMBER_KINDS:
        return make_pipeline(*numbers, model)
    if not is_frame(X):
        named = make_pipeline(FunctionTransformer(_as_texts), OneHotEncoder(handle_unknown="ignore"))
        counted = make_pipeline(FunctionTransformer(_as_numbers), *numbers)
        # The text columns are determined in `fit`, from the fitted rows alone.
        return make_pipeline(make_column_transformer((named, _texts_of), remainder=counted), model)
    # Columns are given by index: a column transformer takes integer names for indices.
    numeric = [_is_numeric(kind) for kind in X.dtypes]
    texts = [place for place, yes in enumerate(numeric) if not yes]
    rest = [place for place, yes in enumerate(numeric) if yes]
    one_hot = make_pipeline(FunctionTransformer(_without_na), OneHotEncoder(handle_unknown="ignore"))
    encoded = make_column_transformer((one_hot, texts), (make_pipeline(*numbers), rest))
    return make_pipeline(encoded, model)


def _without_na(texts: Any) -> Any:
    """Return text columns with pandas' NA, which the encoder cannot sort, replaced with None."""
    if any(str(kind).startswith("string") for kind in texts.dtypes):
        return texts.astype(object).where(texts.notna(), None)
    return texts


def _texts_of(cells: Any) -> list[int]:
    """Return the indices of the columns in which some cell is neither a number nor missing."""
    if cells.dtype.kind in _NUMBER_KINDS:
        return []
    return [place for place, column in enumerate(cells.T) if None in map(_number, column.tolist())]


def _as_numbers(cells: Any) -> Any:
    """Return cells as float64, with NaN for every cell that is not a number."""
    if cells.dtype.kind in _NUMBER_KINDS:
        return cells
    found = [_number(cell) for cell in cells.ravel().tolist()]
    return np.array([np.nan if number is None else number for number in found]).reshape(cells.shape)


def _as_texts(cells: Any) -> Any:
    """Return cells as texts, which the encoder can sort."""
    texts = [repr(cell) if isinstance(cell, bytes) else str(cell) for cell in cells.ravel().tolist()]
    return np.array(texts, dtype=object).reshape(cells.shape)


def _number(cell: Any) -> float | None:
    """Return a cell as a number: NaN if it is missing or infinite, None if it is not a number."""
    if cell is None or type(cell).__name__ in _MISSING:
        return math.nan
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else math.nan


def _is_numeric(kind: Any) -> bool:
    """Return True for the numeric types of numpy, pandas and polars."""
    return bool(getattr(kind, "kind", "") in tuple(_NUMBER_KINDS) or getattr(kind, "is_numeric", bool)())


def check_teachable(estimator: Any) -> None:
    """Refuse an estimator that cannot be cloned, that would charge a ledger, or that runs foreign code.

    A private estimator inside an ensemble would charge its own ledger once for each shard on which its fit
    succeeds. The number of these shards depends on records.
    """
    check_own_code("estimator", estimator)
    if clone(estimator) is clone(estimator) and type(estimator).__name__ != "FrozenEstimator":
        raise ValueError(f"estimator must be one that sklearn.base.clone copies, got {brief(estimator)}")
    held = list(held_by(clone(estimator)))  # as for each teacher
    if any(isinstance(each, OneTimeState) for each in held):
        raise ValueError(
            f"estimator must hold no fitted ensemble, which teachers would query; got {brief(estimator)}"
        )
    if any(isinstance(each, PrivacyLedger) for each in held):
        raise ValueError(
            "estimator must have no ledger, and no estimator inside it either, since the number of charges"
            f" would depend on the data: give the ledger to the ensemble; got {brief(estimator)}"
        )


def quiet(estimator: Any) -> Any:
    """Return a clone that is not verbose and has neither a cache nor callbacks.

    Progress messages and cached files depend on a shard. scikit-learn passes the rows of a shard, and scores
    on them, to callbacks.
    """
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
    """A base estimator whose clones share no random generator.

    A clone's seed sets every `random_state` that is None: of the estimator, of estimators inside it, and of
    parameters that are no estimators, such as a splitter for cross-validation. These parameters are found
    once, for all clones.
    """

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


def check_own_code(name: str, estimator: Any) -> None:
    """Raise an error if a method of a model, or of one inside it, is not the one of its class.

    It depends on classes only, and runs none of their methods.
    """
    left: list[Any] = []
    for held in held_by(estimator):
        kind = type(held)
        left.append(kind)
        if _is_model(kind):
            own = vars(held) if hasattr(held, "__dict__") else {}
            _check(name, kind, {each: own[each] for each in own if callable(getattr(kind, each, None))})
    seen: set[type] = set()
    while left:
        kind = left.pop()
        if not _is_model(kind) or kind in seen:
            continue
        for base in [each for each in kind.__mro__ if each not in seen]:
            seen.add(base)
            if base.__module__ != "abc":  # a class made by a call of `type`, which names no module
                _check(name, base, vars(base))
            left += _named_by(base)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and any(hasattr(kind, each) for each in ("fit", "predict", "transform"))


def _check(name: str, kind: type, attributes: Any) -> None:
    """Raise an error if one of some attributes is a method that consists of foreign code."""
    for method, value in attributes.items():
        if not _METHOD.match(method) or isinstance(value, type):
            continue
        for layer in _layers(value):
            home = _home(layer)
            if home not in _EVERYWHERE | {_package(kind.__module__)} and home not in _imported(kind):
                raise ValueError(
                    f"{name} must run the code of its own classes on private rows, but"
                    f" {kind.__name__}.{method} has been replaced by code of {home}; undo this, such as by"
                    " mlflow.sklearn.autolog(disable=True), or start a new process without it"
                )


def _layers(value: Any) -> Iterator[Any]:
    """Yield an attribute of a class, what it wraps, and what a context manager as a decorator holds."""
    if type(value) is FunctionType and not vars(value) and _home(value) != "contextlib":  # holds nothing
        yield value
        return
    left, seen = [value], list[Any]()
    while left and len(seen) < _DEEPEST:
        layer = left.pop()
        if any(layer is each for each in seen):
            continue
        seen.append(layer)
        yield layer
        if callable(layer) or hasattr(layer, "__get__"):
            left += [getattr(layer, each) for each in _INNER if getattr(layer, each, None) is not None]
        if type(layer) is FunctionType and _home(layer) == "contextlib":
            left += [cell.cell_contents for cell in layer.__closure__ or ()]


def _home(layer: Any) -> str:
    """Return the package of the code of a function; of another object, that of its class."""
    of_function = type(layer) is FunctionType or type(layer).__name__ == "cython_function_or_method"
    module = layer.__globals__.get("__name__") if of_function else type(layer).__module__
    return _package(module)


def _package(module: Any) -> str:
    return str(module).partition(".")[0]


def _imported(kind: type) -> set[str]:
    """Return the packages that the module of a class imports, or of which it imports functions or classes.

    Other values do not count, and neither do functions of other names: autologging may have put them there.
    """
    module = vars(sys.modules.get(kind.__module__, ModuleType("")))
    return {
        _package(each.__name__ if isinstance(each, ModuleType) else each.__module__)
        for name, each in list(module.items())
        if isinstance(each, ModuleType) or (isinstance(each, (FunctionType, type)) and each.__name__ == name)
    }


def _named_by(kind: type) -> list[Any]:
    """Return the values of the global names in the code of a class."""
    functions = [
        layer
        for value in list(vars(kind).values())
        for layer in _layers(value)
        if type(layer) is FunctionType
    ]
    return [each.__globals__.get(name) for each in functions for name in each.__code__.co_names]
