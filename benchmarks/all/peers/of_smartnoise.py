"""smartnoise-synth: its synthesizers get public bins as categories, and need no budget to prepare them.

Which categories there are it reads from the records; neighbours add or remove a record. Synthetic records are
drawn one by one, for which it has no option, because mbi 1.1.0 rounds badly (see `of_opendp.py`).
"""

from functools import partialmethod

import checking
import numpy as np
import pandas
from mbi import MarkovRandomField
from snsynth import Synthesizer
from synthetic import Checks, rows, trained

MarkovRandomField.synthetic_data = partialmethod(MarkovRandomField.synthetic_data, method="sample")

__all__ = ["checked", "fitted", "rows"]


def synthesized(method, cells, sizes, epsilon, delta):
    names = [f"x{place}" for place in range(len(sizes))]
    frame = pandas.DataFrame(cells, columns=names)
    synthesizer = Synthesizer.create(method.lower(), epsilon=epsilon, delta=delta)
    found = synthesizer.fit_sample(frame, categorical_columns=names, preprocessor_eps=0.0)
    return found[names].astype(int).to_numpy()


def fitted(task, learner, epsilon, rows, y):
    return trained(synthesized, task, learner, epsilon, rows)


def of_frame(frame, keys, epsilon):
    """Return synthetic records; it has no way to be told which values there are."""
    synthesizer = Synthesizer.create("mst", epsilon=epsilon, delta=1e-6)
    found = synthesizer.fit_sample(frame, categorical_columns=list(frame), preprocessor_eps=0.0)
    known = synthesizer._transformer.transformers[-1].labels
    found.attrs["labels"] = [label for label in known if label is not None]
    return found


def drawn(size):
    """Return what `measure` of its MST adds to counts of 0."""
    from mbi import Dataset, Domain

    synthesizer = Synthesizer.create("mst", epsilon=1.0, delta=1e-6)
    data = Dataset(pandas.DataFrame({"a": np.zeros(0, dtype=int)}), Domain(["a"], [size]))
    return synthesizer.measure(data, [("a",)], 1.0)[0].noisy_measurement


def checked(cell):
    return checking.checked(Checks(of_frame, drawn), cell)
