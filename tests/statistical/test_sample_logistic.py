"""Whole fits of logistic regression, through the operating system's entropy: what a weight's sign tells.

As in `test_sample_privacy`, the control has an epsilon so much greater that the claim must be refuted.
"""

import numpy as np
import pytest

from dplearn.audit import fitted_with, sample_privacy
from dplearn.learners.linear.logistic import StatisticalQueryLogisticRegression
from dplearn.privacy import ApproxDP

ROWS = ((0.0, 0), (1.0, 1))
NEIGHBOUR = ((0.0, 0), (-1.0, 1))
CLAIM = ApproxDP(1, "0.01")
KINDS = {
    "laplace": {"n_steps": 2},
    "gaussian": {"n_steps": 2, "delta": "0.01"},
}

#: With Laplace noise at night: enumeration runs it over all outcomes with every change.
each_kind = pytest.mark.parametrize("kind", ["gaussian", pytest.param("laplace", marks=pytest.mark.nightly)])

samples = pytest.mark.parametrize("n_samples", [100, pytest.param(200, marks=pytest.mark.nightly)])


def sampled(epsilon, parameters, n_samples):
    model = StatisticalQueryLogisticRegression(epsilon=epsilon, classes=[0, 1], **parameters)

    def fit(rows, dice):
        table = np.array(rows)
        found = fitted_with(model, table[:, :-1], table[:, -1].astype(int), dice=dice)
        return bool(found.coef_[0, 0] > 0)

    return sample_privacy(fit, ROWS, NEIGHBOUR, claim=CLAIM, n_samples=n_samples)


@pytest.mark.nightly
@each_kind
@samples
def test_the_claim_is_not_refuted(kind, n_samples):
    report = sampled(1, KINDS[kind], n_samples)
    assert not report.refutes, report


@pytest.mark.nightly
@each_kind
@samples
def test_a_looser_fit_with_the_same_claim_is_refuted(kind, n_samples):
    report = sampled(200, KINDS[kind], n_samples)
    assert report.refutes, report
