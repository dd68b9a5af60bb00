"""diffprivlib: bounds and classes are declared, delta is 0, and neighbours add or remove a record.

In logistic regression, by objective perturbation, they replace one.

Logistic and linear regression get numbers scaled to [0, 1] and categories one-hot, naive Bayes and the forest
the places of categories, with which they were the more accurate on Adult.
"""

import checking
import numpy as np
from diffprivlib import models

LINEAR = ("LogisticRegression", "LinearRegression")


def rows(task, learner):
    if learner == "LinearRegression":  # without the first of each list, lest columns be dependent
        sizes = (task.ends[task.n_numbers :, 1] + 1).astype(int)
        return np.delete(task.X, task.n_numbers + np.cumsum(sizes) - sizes, axis=1)
    return task.X if learner in LINEAR else task.codes


def fitted(task, learner, epsilon, rows, y):
    if learner == "LogisticRegression":
        how = {"data_norm": float(task.codes.shape[1]) ** 0.5}  # each column has a norm of at most 1
    elif learner == "LinearRegression":
        how = {"bounds_X": (0.0, 1.0), "bounds_y": task.target}
    else:
        how = {"bounds": (task.ends[:, 0], task.ends[:, 1])}
        if learner == "RandomForestClassifier":
            how["classes"] = np.arange(task.n_labels)
    return getattr(models, learner)(epsilon=epsilon, **how).fit(rows, y)


class Checks:
    """How checks ask diffprivlib; its logistic regression gets numbers of at most 1."""

    ENDS = np.array([15.0, 15.0, 2.0])

    def fitted(self, learner, frame, y, epsilon, texts):
        if learner == "LogisticRegression":
            model = Scaled(models.LogisticRegression(epsilon=epsilon, data_norm=3**0.5), self.ENDS)
            return model.fit(frame, y)
        how = {"bounds": (np.zeros(3), self.ENDS)}
        if learner == "RandomForestClassifier":
            how["classes"] = np.arange(2)
        return Shown(getattr(models, learner)(epsilon=epsilon, **how)).fit(frame, y)

    def undeclared(self, learner, frame, y, epsilon):
        return Shown(getattr(models, learner)(epsilon=epsilon)).fit(frame, y)

    def noise(self, learner, size):
        from diffprivlib import mechanisms

        if learner == "LogisticRegression":
            how = {"epsilon": 1.0, "function_sensitivity": 1.0, "data_sensitivity": 1.0, "dimension": 2}
            vector = mechanisms.Vector(**how)

            def drawn():  # a loss of 0 everywhere: what is added to its gradient is the noise
                return vector.randomise(lambda *_: (0.0, np.zeros(2)))(np.zeros(2))[1]

            return np.ravel([drawn() for _ in range(size // 2)])
        if learner == "RandomForestClassifier":
            return []  # it selects labels, and adds no noise to numbers
        laplace = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
        return [laplace.randomise(0.0) for _ in range(size)]


class Shown:
    """A model, and the labels that it publishes."""

    def __init__(self, model):
        self.model = model

    def fit(self, frame, y):
        self.model.fit(frame, y)
        return self

    def predict(self, frame):
        return self.model.predict(frame)

    def predict_proba(self, frame):
        return self.model.predict_proba(frame)

    def labels(self):
        return list(self.model.classes_)

    def published(self):
        return self.labels()


class Scaled(Shown):
    def __init__(self, model, ends):
        super().__init__(model)
        self.ends = ends

    def scaled(self, frame):
        numbers = [name for name in frame if frame[name].dtype.kind in "if"]
        ends = dict(zip(frame, self.ends, strict=True))
        return frame.assign(**{name: frame[name] / ends[name] for name in numbers})

    def fit(self, frame, y):
        self.model.fit(self.scaled(frame), y)
        return self

    def predict(self, frame):
        return self.model.predict(self.scaled(frame))

    def predict_proba(self, frame):
        return self.model.predict_proba(self.scaled(frame))


def checked(cell):
    return checking.checked(Checks(), cell)
