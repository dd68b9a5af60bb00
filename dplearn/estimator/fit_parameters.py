"""Checks on the arguments of `fit` besides the data: sample weights are refused.

A guarantee holds for one replaced record, whatever its weight; with weights it would not hold.

>>> refuse_parameters("ThresholdClassifier", {"sample_weight": None})
>>> refuse_parameters("ThresholdClassifier", {"sample_weight": [1, 2]})
Traceback (most recent call last):
TypeError: ThresholdClassifier.fit takes no sample_weight: a weight changes how much one record counts, so \
that the guarantee would not hold. Leave it out; or repeat each row as often as it counts, and \
guarantee_.for_group(k) is the guarantee of k rows together. Where metadata are routed, \
set_fit_request(sample_weight=False) keeps weights from this fit
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["ROUTED", "ROUTED_WITHOUT_GROUPS", "refuse_parameters"]

#: The requests for metadata routing: weights are passed to `fit`, which refuses them with an explanation, and
#: groups, which a guarantee can protect.
ROUTED = {"sample_weight": True, "groups": True}
#: The same for what learns nothing of any row.
ROUTED_WITHOUT_GROUPS = {**ROUTED, "groups": False}


def refuse_parameters(name: str, parameters: Mapping[str, Any], method: str = "fit") -> None:
    """Refuse all arguments of `fit`, or another method, besides the data, except a `sample_weight` of None.

    `sample_weight` is not in the signature of `fit`, because scikit-learn takes an estimator with this
    argument for one that supports weights.

    Parameters
    ----------
    name : str
        The name of the class.
    parameters : mapping
        The keyword arguments of the method.
    method : str, default="fit"
        The name of the method.

    Raises
    ------
    TypeError
        If an argument is given. The message shows names and no values, since weights are private.
    """
    given = [key for key, value in parameters.items() if key != "sample_weight" or value is not None]
    if "sample_weight" in given:
        raise TypeError(
            f"{name}.{method} takes no sample_weight: a weight changes how much one record counts, so that"
            " the guarantee would not hold. Leave it out; or repeat each row as often as it counts, and"
            " guarantee_.for_group(k) is the guarantee of k rows together. Where metadata are routed,"
            f" set_{method}_request(sample_weight=False) keeps weights from this fit"
        )
    if given:
        raise TypeError(f"{name}.{method}() got an unexpected keyword argument {given[0]!r}")
