"""What a fit may be given besides the data: no weights, for a guarantee counts records and not their weights.

>>> refuse_parameters("ThresholdClassifier", {"sample_weight": None})
>>> refuse_parameters("ThresholdClassifier", {"sample_weight": [1, 2]})
Traceback (most recent call last):
TypeError: ThresholdClassifier.fit takes no sample_weight: a weight changes how much one record counts, so \
that the guarantee would not hold. Leave it out; or repeat each row as often as it counts, and \
guarantee_.for_group(k) tells what k rows are guaranteed together. Where metadata are routed, \
set_fit_request(sample_weight=False) keeps weights from this fit
"""

from collections.abc import Mapping
from typing import Any

__all__ = ["ROUTED", "refuse_parameters"]

#: What metadata routing is told: to hand weights over, so that the fit refuses them and says why.
ROUTED = {"sample_weight": True}


def refuse_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse what a fit was given besides the data; a `sample_weight` of None is nothing.

    It is not named in the signature of `fit`: there scikit-learn looks for estimators that weigh.

    Parameters
    ----------
    name : str
        Of the class.
    parameters : mapping
        What `fit` was given by name.

    Raises
    ------
    TypeError
        If there is anything. The message shows names only: weights are of records.
    """
    given = [key for key, value in parameters.items() if key != "sample_weight" or value is not None]
    if "sample_weight" in given:
        raise TypeError(
            f"{name}.fit takes no sample_weight: a weight changes how much one record counts, so that the"
            " guarantee would not hold. Leave it out; or repeat each row as often as it counts, and"
            " guarantee_.for_group(k) tells what k rows are guaranteed together. Where metadata are routed,"
            " set_fit_request(sample_weight=False) keeps weights from this fit"
        )
    if given:
        raise TypeError(f"{name}.fit() got an unexpected keyword argument {given[0]!r}")
