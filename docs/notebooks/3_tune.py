"""
3. Tune a model for a rare label, in private
============================================

For a label that one record in ten has, with settings and a threshold to choose. Read next: :doc:`/imbalance`,
and :doc:`/scoring` for all metrics.

A search, a threshold and a curve all read the private rows, so each of them is a release. The table is
scikit-learn's digits: 1,797 drawings by many writers. The label is whether a drawing is a six.
"""

# %%
# The table
# ---------
# A function of one record costs nothing: 64 pixels become 16 sums of neighbours, each from 0 to 64. Fewer
# columns mean less noise.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dplearn import PrivacyLedger, StatisticalQueryNaiveBayes
from dplearn.display import (
    PrivateConfusionMatrixDisplay,
    PrivatePrecisionRecallDisplay,
    PrivateRocCurveDisplay,
    privacy_card,
)
from dplearn.domains import IntegerRange
from dplearn.model_selection import (
    PrivateScorer,
    PrivateSearchCV,
    PrivateTunedThresholdClassifier,
    private_score,
)

digits = load_digits()
blocks = digits.images.astype(int).reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4)).reshape(-1, 16)
X = pd.DataFrame(blocks, columns=[f"row {place // 4} column {place % 4}" for place in range(16)])
y = np.where(digits.target == 6, "six", "other")
X_train, X_held_out, y_train, y_held_out = train_test_split(X, y, test_size=0.4, random_state=0)
X.head(3)

# %%
# One budget for everything
# -------------------------
# Rows for the fit and rows for the score are different records. The ledger adds all costs up nevertheless;
# it does not know that.
ledger = PrivacyLedger(epsilon=6, delta=1e-5)
bayes = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 64), classes=["other", "six"])

# %%
# Tune
# ----
# The plan of a search says what is left for each fit. With few records or a small epsilon, the defaults are
# the better choice: a search divides its budget.
search = PrivateSearchCV(
    bayes, {"n_bins": [2, 4, 8]}, scoring="neg_log_loss", epsilon=2.0, delta=1e-6, refit=False, ledger=ledger
)
search.plan(len(y_train), n_features=16)

# %%
# The log loss judges the probabilities and needs no threshold. Only what was released is in
# ``cv_results_``: where the method publishes the winner alone, the other scores are NaN.
search.fit(X_train, y_train)
pd.DataFrame(search.cv_results_)[["param_n_bins", "mean_test_score"]]

# %%
# Choose a threshold
# ------------------
# Nine of ten drawings are no six, so a model that says "other" is right for nine of ten. The threshold is
# chosen for the balanced accuracy instead, by noisy counts of a fifth of the records, which the fit does
# not see.
chosen = StatisticalQueryNaiveBayes(
    domain=IntegerRange(0, 64), classes=["other", "six"], n_bins=search.best_params_["n_bins"]
)
model = PrivateTunedThresholdClassifier(
    chosen, scoring="balanced_accuracy", pos_label="six", epsilon=2.0, delta=1e-6, ledger=ledger
)
print(model.plan(len(y_train)))
model.fit(X_train, y_train)
print("predict six from a probability of", round(float(model.best_threshold_), 3))

# %%
# Score, with bands
# -----------------
# One noisy table of held-out records serves all metrics that are functions of it.
balanced = private_score(
    model,
    X_held_out,
    y_held_out,
    scoring=PrivateScorer("balanced_accuracy", pos_label="six"),
    epsilon=1.0,
    ledger=ledger,
)
pd.DataFrame(
    {
        name: [found.value, *found.records_interval, *found.interval]
        for name in ("balanced_accuracy", "recall", "precision", "f1")
        for found in [balanced.also(name)]
    },
    index=["released", "records, from", "to", "population, from", "to "],
).T.round(2)

# %%
# The entries of the noisy matrix are released; they may be negative. An interval of the recall is wide
# because few records are sixes, and no number of other records helps.
area = private_score(
    model,
    X_held_out,
    y_held_out,
    scoring=PrivateScorer("roc_auc", pos_label="six"),
    epsilon=1.0,
    ledger=ledger,
)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
PrivateConfusionMatrixDisplay.of_score(balanced).plot(ax=left, colorbar=False)
PrivateRocCurveDisplay.of_score(area).plot(ax=middle)
PrivatePrecisionRecallDisplay.of_score(area).plot(ax=right)
plt.show()

# %%
# The bands contain the whole curve of the population at once, with probability .95, noise included. All of
# these are functions of ``area``, so the third picture costs no more than the second.

# %%
# The guarantee
# -------------
# Four releases, one account. The next one would exceed the budget, and is refused before it reads a row.
ledger

# %%
from dplearn import BudgetExceededError

try:
    private_score(model, X_held_out, y_held_out, epsilon=1.0, ledger=ledger)
except BudgetExceededError as error:
    print(error)

# %%
# The model's own guarantee covers its fit and its threshold. That of the whole work is the one of the
# ledger:
print(ledger.spent().sentence())

# %%
privacy_card(model, title="Drawings of a six")
