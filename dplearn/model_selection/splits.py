"""Splits into training and test records by position, independent of the records' values.

>>> [(train.tolist(), test.tolist()) for train, test in splits_by_position(2, 4)]
[([2, 3], [0, 1]), ([0, 1], [2, 3])]
>>> Exposure.of(splits_by_position(3, 6), 6)
Exposure(trains=2, tests=1, apart=False)
>>> Exposure.of(splits_by_position(None, 10), 10)
Exposure(trains=1, tests=1, apart=True)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from dplearn._validation import check_count
from dplearn._writing import brief

__all__ = ["Exposure", "Split", "splits_by_position"]

Split = tuple[NDArray[np.int64], NDArray[np.int64]]
_BY_POSITION = (KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit)
_HELD_OUT = 0.2


def splits_by_position(cv: Any, n: int) -> list[Split]:
    """Return the positions of the training records and of the test records of each split.

    Parameters
    ----------
    cv : None, int or splitter
        Public. None: one split with a fifth of the positions, publicly drawn, as test records. An int: the
        number of folds of consecutive records. Or scikit-learn's KFold, PredefinedSplit, RepeatedKFold,
        ShuffleSplit or TimeSeriesSplit.
    n : int
        Number of records.

    Returns
    -------
    list of (ndarray of int64, ndarray of int64)

    Raises
    ------
    TypeError
        If `cv` is anything else: the splits of a splitter that uses labels or groups depend on private
        values.
    ValueError
        If there are too few records.
    """
    if cv is None:
        cv = ShuffleSplit(1, test_size=_HELD_OUT, random_state=0)
    elif isinstance(cv, int) and not isinstance(cv, bool):
        cv = KFold(check_count("cv", cv, low=2))
    if type(cv) not in _BY_POSITION:
        kinds = ", ".join(kind.__name__ for kind in _BY_POSITION)
        raise TypeError(
            f"cv must be None, an int or a splitter that uses positions only ({kinds}), got {brief(cv)}:"
            " folds made by labels or groups depend on private values"
        )
    if n < 2:
        raise ValueError(f"n_samples must be at least 2, for training and test records, got n_samples = {n}")
    if isinstance(cv, PredefinedSplit) and len(cv.test_fold) != n:
        raise ValueError(f"cv must assign all {n} records, got a PredefinedSplit of {len(cv.test_fold)}")
    splits = [(np.asarray(train), np.asarray(test)) for train, test in cv.split(np.empty((n, 0)))]
    if not splits or not all(len(train) and len(test) for train, test in splits):
        raise ValueError(
            f"cv must give training and test records in each split, got {brief(cv)} for {n} records"
        )
    return splits


@dataclass(frozen=True)
class Exposure:
    """The use of one record in all splits together.

    Attributes
    ----------
    trains, tests : int
        Greatest number of splits in which one record trains, and in which one record tests.
    apart : bool
        Whether no record both trains in some split and tests in some split.
    """

    trains: int
    tests: int
    apart: bool

    @classmethod
    def of(cls, splits: Sequence[Split], n: int) -> "Exposure":
        """Return the exposure of splits of n records."""
        trains, tests = (
            np.bincount(np.concatenate([split[part] for split in splits]), minlength=n) for part in (0, 1)
        )
        return cls(int(trains.max()), int(tests.max()), not (trains.astype(bool) & tests.astype(bool)).any())
