"""Base estimators of teachers: clones with separate seeds that print nothing.

>>> from sklearn.neural_network import MLPClassifier
>>> base_estimators = Seeded(quiet(MLPClassifier(verbose=True)))
>>> one, other = base_estimators.clone(1), base_estimators.clone(2)
>>> one.random_state == other.random_state, one.verbose
(False, False)
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from dplearn._writing import brief
from dplearn.chance.public import PublicStream
from dplearn.ensembles.own_code import check_own_code
from dplearn.privacy.held import held_by
from dplearn.privacy.ledger import PrivacyLedger
from dplearn.privacy.one_time_state import OneTimeState

__all__ = ["Seeded", "check_teachable", "quiet"]

_NUMBER = (bool, int, float, np.bool_, np.integer)


def check_teachable(estimator: Any) -> None:
    """Refuse an estimator that cannot be cloned, that would charge a ledger, or that runs foreign code.

    A private estimator inside an ensemble would charge its own ledger once for each shard on which its fit
    succeeds. The number of these shards depends on records.

    Parameters
    ----------
    estimator : classifier
        The base estimator, which is cloned for each teacher.

    Raises
    ------
    TypeError
        If it cannot be cloned.
    ValueError
        If it, or an estimator or a grid of parameters inside it, has a ledger, or is a fitted ensemble, or a
        method has been replaced (see `check_own_code`).
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

    Parameters
    ----------
    estimator : estimator
        Is cloned at once; later changes to it do not change the clones.

    Attributes
    ----------
    pattern : estimator
        The estimator that is cloned.
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
