"""Learners from one round of noisy counts: naive Bayes, and conjunctions.

How data flow: domains turn columns into codes, and public bins (`dplearn.learners.bins`) turn codes into
bins. One histogram of label and bin is asked of each column, all in one round; the answers give the tables of
naive Bayes, or the bins that a conjunction allows.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
