"""private-pgm: MST and AIM of its folder `mechanisms`, which PRIVATE_PGM_MECHANISMS names.

Its package on PyPI, mbi, has no mechanisms. It gets public bins and their numbers; neighbours add or remove a
record.
"""

import os
import sys
from itertools import combinations

import checking
import numpy as np
import pandas

sys.path.insert(0, os.environ["PRIVATE_PGM_MECHANISMS"])

from mbi import Dataset, Domain
from synthetic import Checks, rows, trained

__all__ = ["checked", "fitted", "rows"]


def synthesized(method, cells, sizes, epsilon, delta):
    names = [f"x{place}" for place in range(len(sizes))]
    frame = pandas.DataFrame(cells, columns=names)
    data = Dataset(frame, Domain(names, sizes))
    if method == "MST":
        from mst import MST

        return MST(data, epsilon, delta).df[names].to_numpy()
    from aim import AIM

    work = [(pair, 1.0) for pair in combinations(names, 2)]
    return AIM(epsilon, delta, max_model_size=8).run(data, work)[1].df[names].to_numpy()


def fitted(task, learner, epsilon, rows, y):
    return trained(synthesized, task, learner, epsilon, rows)


def of_frame(frame, keys, epsilon):
    """Return synthetic records; numbers of values are declared, or what a user would count in the frame."""
    from mst import MST

    sizes = [len(values) for values in keys.values()] if keys else [int(frame[c].max()) + 1 for c in frame]
    return MST(Dataset(frame, Domain(list(frame), sizes)), epsilon, 1e-6).df


def drawn(size):
    """Return what `measure` adds to counts of 0."""
    from mst import measure

    data = Dataset(pandas.DataFrame({"a": np.zeros(0, dtype=int)}), Domain(["a"], [size]))
    return measure(data, [("a",)], 1.0)[0].noisy_measurement


def checked(cell):
    return checking.checked(Checks(of_frame, drawn), cell)
