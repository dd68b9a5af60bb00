"""Learners from noisy counts, one name a line; `__init__.py` imports them."""

from dplearn.learners.counts.conjunction import ConjunctionClassifier as ConjunctionClassifier
from dplearn.learners.counts.naive_bayes import NaiveBayesPlan as NaiveBayesPlan
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes as StatisticalQueryNaiveBayes
