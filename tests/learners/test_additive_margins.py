"""The margins of records, in integers."""

import numpy as np
import pytest

from dplearn.learners.additive_losses import MARGIN_BITS
from dplearn.learners.additive_margins import margins_of
from dplearn.learners.additive_queries import Rows
from dplearn.queries import LabelledRows


def block_of(records):
    return Rows([], 0, 1, 1.0).block(records)


def test_margins_are_sums_of_whole_numbers_of_one_record():
    margins = margins_of([np.array([[0.5], [np.inf]]), np.array([[-1e300], [0.25]])], np.array([1.0]))
    records = LabelledRows(np.array([[0, 1], [1, 1], [0, 0]], dtype=np.int16), np.zeros(3, dtype=np.int64))
    found = margins(block_of(records))
    assert found.dtype == np.int64
    assert found[0, 0] == 1.75 * 2**MARGIN_BITS
    assert np.abs(found[1:]).max() == pytest.approx(1e6 * 2**MARGIN_BITS, rel=1e-3)
    assert (margins(block_of(records[np.array([2])])) == found[2:]).all()
