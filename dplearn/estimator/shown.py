"""The lines below an estimator's HTML diagram: its guarantee, or the cost of a fit.

>>> from dplearn import ThresholdClassifier
>>> guarantee_html(ThresholdClassifier(epsilon=0.5)).partition("</div>")[2]
'<div class="dplearn-guarantee">Not fitted. A fit will spend epsilon 0.5, delta 0.</div>'
"""

from html import escape
from typing import Any

from dplearn.estimator.public import cost_of_fit
from dplearn.privacy import Guarantee
from dplearn.privacy.base import in_words

__all__ = ["guarantee_html"]

_SCOPE = (
    "For a whole pipeline ask dplearn.privacy.pipeline_guarantee(pipeline): a step that is fitted on private"
    " rows without a guarantee, such as StandardScaler, is not private."
)


def guarantee_html(estimator: Any) -> str:
    """Return the guarantee of a fitted private estimator, or the cost of a fit, as HTML.

    Parameters
    ----------
    estimator : PrivateEstimator
        Not changed.

    Returns
    -------
    str
        Advice on pipelines, then the guarantee. For an unfitted estimator, "Not fitted." and the
        cost of a fit, if the parameters determine it.
    """
    return (
        f'<div class="dplearn-scope">{_SCOPE}</div>'
        f'<div class="dplearn-guarantee">{_guarantee(estimator)}</div>'
    )


def _guarantee(estimator: Any) -> str:
    guarantee = getattr(estimator, "guarantee_", None)
    if isinstance(guarantee, Guarantee):
        return guarantee._repr_html_()
    cost = cost_of_fit(estimator)
    return "Not fitted." if cost is None else f"Not fitted. A fit will spend {escape(in_words(cost))}."
