"""What synthesizers share: they get public bins, and a model without privacy is trained on what they return.

A learner is called "METHOD, boosting" or "METHOD, linear". Both are trained on the same synthetic records, so
that each table is synthesized once for both.
"""

import time

import numpy as np
from checking import TEXTS
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

LAST = {}


def rows(task, learner):
    return task.cells


def one_hot(cells, sizes):
    return np.column_stack([cells[:, [j]] == np.arange(size) for j, size in enumerate(sizes)]).astype(float)


class Trained:
    """A model of scikit-learn that was trained on synthetic cells, the last of which is the target."""

    def __init__(self, task, cells, model, times):
        self.sizes, self.linear, self.times = task.sizes[:-1].tolist(), model == "linear", times
        cells = np.asarray(cells)
        if task.target:
            made = Ridge() if self.linear else HistGradientBoostingRegressor()
            y = task.middles[cells[:, -1]]
        else:
            made = LogisticRegression(max_iter=1000) if self.linear else HistGradientBoostingClassifier()
            y = cells[:, -1]
        if not self.linear:
            made.set_params(categorical_features=np.arange(len(self.sizes)) >= task.n_numbers)
        self.constant = int(y[0]) if not task.target and len(np.unique(y)) == 1 else None
        self.classes_ = np.unique(y).astype(int)
        self.model = None if self.constant is not None else made.fit(self.features(cells), y)

    def features(self, cells):
        X = np.asarray(cells)[:, : len(self.sizes)]
        return one_hot(X, self.sizes) if self.linear else X

    def predict(self, cells):
        return self.model.predict(self.features(cells))

    def predict_proba(self, cells):
        if self.model is None:
            return np.ones((len(cells), 1))
        return self.model.predict_proba(self.features(cells))


def trained(synthesize, task, learner, epsilon, rows):
    """Return the model of a learner; synthetic records of the last call with the same rows are used again."""
    method, model = learner.split(", ")
    asked = (method, epsilon, rows.tobytes())
    if LAST.get("asked") != asked:
        cpu, wall = time.process_time(), time.perf_counter()
        cells = np.asarray(synthesize(method, rows, task.sizes.tolist(), epsilon, task.delta), int)
        times = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        LAST.update(asked=asked, cells=cells, times=times)
    return Trained(task, LAST["cells"], model, LAST["times"])


class Checks:
    """How checks ask a synthesizer: raw frames with the label as a column, and a model of what returns.

    `synthesize(frame, keys, epsilon)` returns a frame; keys are lists of declared values, or None.
    """

    def __init__(self, synthesize, drawn):
        self.synthesize, self.drawn = synthesize, drawn

    def fitted(self, learner, frame, y, epsilon, texts):
        keys = {"a": list(range(16)), "b": list(range(16)), "c": list(TEXTS) if texts else [0, 1, 2]}
        return Learned(self.synthesize(frame.assign(label=y), keys | {"label": [0, 1]}, epsilon))

    def undeclared(self, learner, frame, y, epsilon):
        return Learned(self.synthesize(frame.assign(label=y), None, epsilon))

    def noise(self, learner, size):
        return self.drawn(size)


class Learned:
    """A tree of depth 4 on synthetic records; all values in these are published."""

    def __init__(self, frame):
        self.frame = frame
        self.columns = [name for name in frame if name != "label"]
        self.encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        X = self.numbers(frame, fit=True)
        self.tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, frame["label"].astype(float))

    def numbers(self, frame, fit=False):
        texts = frame[["c"]].astype(str)
        codes = self.encoder.fit_transform(texts) if fit else self.encoder.transform(texts)
        numbers = np.clip(frame[["a", "b"]].to_numpy(float), -1e9, 1e9)  # an infinite cell may come back
        return np.column_stack([numbers, codes])

    def predict(self, frame):
        return self.tree.predict(self.numbers(frame))

    def labels(self):
        return self.frame.attrs.get("labels", [0, 1])  # declared, but where a synthesizer reads them

    def published(self):
        return [value for name in self.frame for value in self.frame[name].unique()]
