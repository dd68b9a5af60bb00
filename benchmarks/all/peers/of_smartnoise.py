"""smartnoise-synth: its synthesizers get public bins as categories, and need no budget to prepare them.

For accuracy it reads from the records which of these have any; in checks, all values are declared. Neighbours
add or remove a record. Synthetic records are drawn one by one, for which it has no option, because mbi 1.1.0
rounds badly (see `of_opendp.py`).
"""

from functools import partialmethod

import checking
import numpy as np
import pandas
from mbi import MarkovRandomField
from snsynth import Synthesizer
from snsynth.transform import BinTransformer, LabelTransformer, TableTransformer
from synthetic import Checks, rows, trained

MOST_LISTED = 3  # longer lists of integers are told by their ends
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


def declared(keys):
    """Return a transformer that is told the values of columns, in their order; ends of integers as bins."""
    parts = []
    for values in keys.values():
        if isinstance(values[0], int) and len(values) > MOST_LISTED:
            parts.append(BinTransformer(bins=len(values), lower=-0.5, upper=values[-1] + 0.5))
        else:
            parts.append(LabelTransformer(nullable=False))
            parts[-1].fit(values)
    return TableTransformer(parts)


def of_frame(frame, keys, epsilon):
    """Return synthetic records."""
    synthesizer = Synthesizer.create("mst", epsilon=epsilon, delta=1e-6)
    how = {"transformer": declared(keys)} if keys else {"categorical_columns": list(frame)}
    found = synthesizer.fit_sample(frame, preprocessor_eps=0.0, **how)
    known = keys["label"] if keys else synthesizer._transformer.transformers[-1].labels
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
