"""
How much accuracy privacy costs
===============================

Three private learners, and logistic regression without privacy, on the same 12,000 records. Epsilon says
how much one record may change what is published: 0.1 is strict, 10 is weak. A line is the mean of five fits,
a band their range. One rule releases little, so that even a small epsilon is enough for it; learners that
release more pass it as soon as epsilon allows. Which is best depends on the data: compare on public rows.
"""

# %%
# The data are made up. What is known of every column beforehand is said by ``domain``: here only that it
# holds numbers.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from dplearn import (
    ExponentialMechanismClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.domains import Floats

X, y = make_classification(16_000, n_features=8, n_informative=5, class_sep=1.2, random_state=0)
X_train, y_train, X_test, y_test = X[:12_000], y[:12_000], X[12_000:], y[12_000:]

learners = {
    "one rule (exponential mechanism)": ExponentialMechanismClassifier(classes=[0, 1]),
    "naive Bayes by noisy averages": StatisticalQueryNaiveBayes(classes=[0, 1], domain=Floats()),
    "logistic regression by noisy averages": StatisticalQueryLogisticRegression(
        classes=[0, 1], domain=Floats()
    ),
}

# %%
# Every fit below would be charged in full; a test set must be public.
epsilons = [0.03, 0.1, 0.3, 1.0, 3.0]


def accuracies(learner, epsilon):
    """Return the test accuracies of five fits."""
    fits = (learner.set_params(epsilon=epsilon, random_state=seed).fit(X_train, y_train) for seed in range(5))
    return [fit.score(X_test, y_test) for fit in fits]


figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
for name, learner in learners.items():
    scores = np.array([accuracies(learner, epsilon) for epsilon in epsilons])
    (line,) = axes.plot(epsilons, scores.mean(axis=1), marker="o", label=name)
    axes.fill_between(epsilons, scores.min(axis=1), scores.max(axis=1), color=line.get_color(), alpha=0.15)
plain = LogisticRegression().fit(X_train, y_train).score(X_test, y_test)
axes.axhline(plain, color="#333333", linestyle=":", label="logistic regression, not private")
axes.set(xscale="log", xlabel="epsilon", ylabel="accuracy on public test rows", ylim=(0.45, 1))
axes.grid(alpha=0.3)
axes.legend()
plt.show()
