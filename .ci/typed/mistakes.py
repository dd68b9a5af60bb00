"""A program with one mistake in each marked line: type checkers must find these, and no others."""

import dplearn
from dplearn import AdditiveClassifier, ApproxDP, PrivacyLedger
from dplearn.releases import medain  # a mistake

model = AdditiveClassifier(epsilon=1.0).fit([[1.0]], [0])
guarantee: str = model.guarantee_  # a mistake
plan = model.plan("many")  # a mistake
group = ApproxDP(1).for_group()  # a mistake
other = dplearn.Threshold()  # a mistake
middle = medain([1.0])
ledger = PrivacyLedger(epsilon=2, budget=3)  # a mistake
