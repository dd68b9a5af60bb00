"""
What a private search costs
===========================

A search publishes which candidate was best on held-out records. Here four numbers of bins are tried for a
naive Bayes classifier of handwritten digits, for one budget in all, beside fits of each candidate alone that
spend the same. With a small budget the search is not worth its price; with a large one it is nearly free.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dplearn import StatisticalQueryNaiveBayes
from dplearn.domains import IntegerRange
from dplearn.model_selection import PrivateSearchCV, private_score

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 16), classes=range(10), delta=1e-6)
bins = [2, 3, 4, 8]
epsilons = [1.0, 3.0, 10.0]

# %%
# Two searches at each epsilon, and a fit of each candidate with all of that epsilon. Where the shares of a
# search are so small that little is learned from so few records, it warns.
warnings.filterwarnings("ignore", message="n_samples is")
searched, alone = [], {n_bins: [] for n_bins in bins}
for epsilon in epsilons:
    search = PrivateSearchCV(model, {"n_bins": bins}, epsilon=epsilon, delta=1e-6)
    searched.append([clone(search).fit(X_train, y_train).score(X_test, y_test) for _ in range(2)])
    for n_bins in bins:
        fitted = clone(model).set_params(epsilon=epsilon, n_bins=n_bins).fit(X_train, y_train)
        alone[n_bins].append(fitted.score(X_test, y_test))

_, ax = plt.subplots()
for n_bins, scores in alone.items():
    ax.plot(
        epsilons, scores, "o--", color="0.6", label="one candidate, no search" if n_bins == bins[0] else None
    )
ax.plot(epsilons, np.mean(searched, axis=1), "o-", label="private search over four")
ax.fill_between(epsilons, np.min(searched, axis=1), np.max(searched, axis=1), alpha=0.2)
ax.set(xscale="log", xlabel="epsilon, all in all", ylabel="accuracy on public test records", ylim=(0, 1))
ax.legend()
plt.show()

# %%
# What one search spends on what, and the score of its winner on private records, with an interval.
plan = search.plan(len(y_train))
print(f"{plan.method}: {float(plan.fit.epsilon):.2f} a fit, {float(plan.refit.epsilon):.2f} the last one")
best = search.fit(X_train, y_train)
score = private_score(best, X_test, y_test, epsilon=1.0)
print(best.best_params_, f"{score.value:.3f}", [round(end, 3) for end in score.interval])
