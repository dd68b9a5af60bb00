"""DP-EBM of interpret: ends and kinds of columns and the ends of the target are declared.

Neighbours add or remove a record. It takes two labels only. Categories are texts, which it reads from the
records.
"""

import checking
import numpy as np
import pandas
from interpret import privacy


def rows(task, learner):
    places = range(task.n_numbers, task.codes.shape[1])
    frame = pandas.DataFrame(task.codes).astype(dict.fromkeys(places, int))
    return frame.astype(dict.fromkeys(places, str))


def fitted(task, learner, epsilon, rows, y):
    kinds = np.where(np.arange(task.codes.shape[1]) < task.n_numbers, "continuous", "nominal").tolist()
    how = {"privacy_bounds": task.ends, "feature_types": kinds, "delta": task.delta, "n_jobs": 1}
    if task.target:
        how |= {"privacy_target_min": task.target[0], "privacy_target_max": task.target[1]}
    return getattr(privacy, learner)(epsilon=epsilon, **how).fit(rows, y)


class Checks:
    """How checks ask DP-EBM."""

    def fitted(self, learner, frame, y, epsilon, texts):
        how = {"privacy_bounds": {"a": (0, 15), "b": (0, 15)}, "delta": 1e-6, "n_jobs": 1}
        how["feature_types"] = ["continuous", "continuous", "nominal"]
        return Shown(getattr(privacy, learner)(epsilon=epsilon, **how).fit(frame, y))

    def undeclared(self, learner, frame, y, epsilon):
        return Shown(getattr(privacy, learner)(epsilon=epsilon, delta=1e-6, n_jobs=1).fit(frame, y))

    def noise(self, learner, size):
        """Return draws of the function that adds noise to counts and to sums of residuals."""
        from interpret.utils._native import Native

        return Native.get_native_singleton().generate_gaussian_random(None, 1.0, size)


class Shown:
    """A model, the labels that it publishes and its categories."""

    def __init__(self, model):
        self.model = model

    def predict(self, frame):
        return self.model.predict(frame)

    def predict_proba(self, frame):
        return self.model.predict_proba(frame)

    def labels(self):
        return list(self.model.classes_)

    def published(self):
        levels = [level for bins in self.model.bins_ for level in bins]
        named = [name for level in levels if isinstance(level, dict) for name in level]
        ends = [end for level in levels if not isinstance(level, dict) for end in np.ravel(level)]
        return [*self.labels(), *named, *ends]


def checked(cell):
    return checking.checked(Checks(), cell)
