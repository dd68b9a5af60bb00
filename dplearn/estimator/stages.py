"""The values that the stages of a fit hand on: parameters, public values, private tables.

>>> params = Params(ApproxDP(1), method="exponential")
>>> params.cost.epsilon, params.method
(Fraction(1, 1), 'exponential')
>>> import numpy as np
>>> Public(n_samples=3, n_features=2, classes=np.array(["no", "yes"])).n_labels
2
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from dplearn._validation import check_count
from dplearn.chance import PublicStream
from dplearn.domains import Product
from dplearn.privacy import ApproxDP
from dplearn.records.reading import check_given
from dplearn.records.rows import count_of

__all__ = ["Params", "Public", "Table", "cost_of_fit", "planned_table"]


class Params:
    """The checked parameters of one fit: read once, before the data are looked at, and never changed.

    Parameters
    ----------
    cost : ApproxDP
        Public. The most that a fit may spend.
    **values : object
        Public. The learner's parameters, which become attributes.
    """

    cost: ApproxDP

    def __init__(self, cost: ApproxDP, **values: Any):
        vars(self).update(values, cost=cost)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no parameter {name!r}")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"the parameters of a fit do not change, got {name!r}")


@dataclass(frozen=True)
class Public:
    """The public values of a table.

    Attributes
    ----------
    n_samples, n_features, n_labels : int
        Numbers of records, of columns and of labels. `n_labels` is that of `classes` where these are given.
    names : sequence of str or None
        The names of the columns.
    classes : ndarray of shape (n_labels,) or None
        The labels, sorted; None in a plan that is told their number only.
    stream : PublicStream or None
        The source of public choices in a fit, such as which shard a record is in; None in a plan.
    """

    n_samples: int
    n_features: int = 0
    n_labels: int = 0
    names: Sequence[str] | None = None
    classes: Any = None
    stream: PublicStream | None = None

    def __post_init__(self) -> None:
        if self.classes is not None:
            object.__setattr__(self, "n_labels", len(self.classes))


@dataclass(frozen=True, repr=False)  # a traceback may show it
class Table:
    """A private table as it was read.

    Attributes
    ----------
    public : Public
        Public.
    rows : Records, ndarray, sparse matrix or data frame of n_samples rows
        Private. Encoded rows, with label codes where there are labels; usually `Examples`.
    """

    public: Public
    rows: Any

    def __post_init__(self) -> None:
        assert count_of(self.rows) == self.public.n_samples


def planned_table(params: Params, n_samples: Any, *, n_features: Any, n_labels: Any) -> Public:
    """Return the public values of a table that is only planned: its sizes.

    Parameters
    ----------
    params : Params
        Has `declared`, the domain of the columns, and `classes`; where these tell a number, it counts.
    n_samples, n_features, n_labels : int or None
        As given to `plan`.

    Raises
    ------
    TypeError, ValueError
        If a number is neither given nor declared, or is no count.
    """
    features = len(params.declared) if isinstance(params.declared, Product) else n_features
    labels = n_labels if params.classes is None else len(params.classes)
    return Public(
        check_count("n_samples", n_samples, low=1),
        check_given("n_features", features, source="domain"),
        check_given("n_labels", labels, source="classes"),
    )


def cost_of_fit(estimator: Any, X: Any = None, y: Any = None) -> ApproxDP | None:
    """Return the most that a fit may spend, or None where the parameters do not tell, or are refused.

    Parameters
    ----------
    estimator : PrivateEstimator
        Is not changed.
    X, y : object, optional
        The table that would be fitted. Shapes are looked at, and no value.
    """
    with suppress(Exception):  # what is wrong is for the fit to refuse
        cost: ApproxDP | None = estimator._cost(estimator._params(estimator.random_state is not None), X, y)
        return cost
    return None
