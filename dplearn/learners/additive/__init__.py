"""Additive models: one smooth effect of each column, and interactions, for labels and for numbers.

How data flow through a fit (`estimators.py`): each record becomes a row of public cells (`cells.py`), and a
code of its target, of which a loss makes residuals (`losses.py`). All that a fit learns of records are noisy
sums of rows, of residuals times rows, and of such products (`queries.py`), with the budget of `plan.py`.
First sums give masses of the cells, first shapes, and a joint distribution from which synthetic records are
drawn (`start.py`). Shapes and interactions become the features of one model (`model.py`), whose weights are
learned by noisy gradient steps (`steps.py`), for all outputs in one answer.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
