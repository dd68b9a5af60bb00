"""
3. Tune a model for a rare label, in private
============================================

For a label that one record in ten has, with settings and a threshold to
choose. Read next: `classify <../classify.html>`_ for rare labels, and
`score <../scoring.html>`_ for all metrics.

A search, a threshold and a curve all read the private rows, so each of them is
a release. The table is scikit-learn's digits: 1,797 drawings by many writers.
The label is whether a drawing is a six.
"""

# %%
# The table
# ---------
# A function of one record costs nothing: 64 pixels become 16 sums of
# neighbours, each from 0 to 64. Fewer columns mean less noise.
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dplearn import (
    BudgetExceededError,
    PrivacyLedger,
    StatisticalQueryNaiveBayes,
)
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
blocks = digits.images.astype(int).reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4))
names = [f"row {place // 4} column {place % 4}" for place in range(16)]
X = pd.DataFrame(blocks.reshape(-1, 16), columns=names)
y = np.where(digits.target == 6, "six", "other")
X_fit, X_score, y_fit, y_score = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X.head(3)

# %%
# Two parts, two accounts
# -----------------------
# One half of the records is for fits, the other for scores. The halves are
# cut by position, and not by values, so each record is in one of them for
# certain, and only the releases from that half cost it anything. Therefore
# each half has a ledger of its own.
of_fits = PrivacyLedger(epsilon=3, delta=1e-5)
of_scores = PrivacyLedger(epsilon=3, delta=1e-5)

# %%
# Tune
# ----
# The plan of a search says what is left for each fit, and how far a released
# score may be off (``score_error``, as a share of the range of the score: 6.9
# for a log loss). Candidates that differ by less are told apart by chance
# only, as here: with so few records the defaults are the better choice, since
# a search divides its budget. ``refit=False`` keeps the winner as it was
# fitted.
bayes = StatisticalQueryNaiveBayes(
    domain=IntegerRange(0, 64), classes=["other", "six"]
)
search = PrivateSearchCV(
    bayes,
    {"n_bins": [2, 4, 8]},
    scoring="neg_log_loss",
    epsilon=1.5,
    delta=1e-6,
    refit=False,
    ledger=of_fits,
)
search.plan(len(y_fit), n_features=16)

# %%
# The log loss judges the probabilities and needs no threshold. Only what was
# released is in ``cv_results_``: where the method publishes the winner alone,
# the other scores are NaN.
search.fit(X_fit, y_fit)
pd.DataFrame(search.cv_results_)[["param_n_bins", "mean_test_score"]]

# %%
# Choose a threshold
# ------------------
# A model that always says "other" is right for most records:
print("share of other:", round((y == "other").mean(), 3))

# %%
# So the threshold is chosen for the balanced accuracy, by noisy counts of a
# fifth of the records, which the fit does not see.
chosen = StatisticalQueryNaiveBayes(
    domain=IntegerRange(0, 64), classes=["other", "six"], **search.best_params_
)
model = PrivateTunedThresholdClassifier(
    chosen,
    scoring="balanced_accuracy",
    pos_label="six",
    epsilon=1.5,
    delta=1e-6,
    ledger=of_fits,
)
model.plan(len(y_fit))

# %%
model.fit(X_fit, y_fit)
print(
    "predict six from a probability of", round(float(model.best_threshold_), 3)
)

# %%
# Score, with bands
# -----------------
# One noisy table of held-out records serves all metrics that are functions of
# it.
balanced = private_score(
    model,
    X_score,
    y_score,
    scoring=PrivateScorer("balanced_accuracy", pos_label="six"),
    epsilon=1.0,
    ledger=of_scores,
)
metrics = [
    balanced.also(name)
    for name in ("balanced_accuracy", "recall", "precision", "f1")
]
pd.DataFrame(
    [
        [found.value, *found.records_interval, *found.interval]
        for found in metrics
    ],
    index=[found.scoring for found in metrics],
    columns=["released", "records, from", "to", "population, from", "to"],
).round(2)

# %%
# Curves need counts of the scores in bins. More bins show more, and have more
# noise.
area = private_score(
    model,
    X_score,
    y_score,
    scoring=PrivateScorer("roc_auc", pos_label="six", bins=8),
    epsilon=2.0,
    ledger=of_scores,
)
figure, (above, middle, below) = plt.subplots(
    3, 1, figsize=(4.6, 11), layout="constrained"
)
PrivateConfusionMatrixDisplay.of_score(balanced).plot(ax=above, colorbar=False)
PrivateRocCurveDisplay.of_score(area).plot(ax=middle)
PrivatePrecisionRecallDisplay.of_score(area).plot(ax=below)
plt.show()

# %%
# The entries of the noisy matrix may be negative. The bands contain the whole
# curve of the population at once, with probability .95, noise included. Both
# curves are functions of ``area``, so the third picture costs no more than
# the second. The bands are wide mostly because few records are sixes.

# %%
# The guarantee
# -------------
# The next release would exceed the budget, and is refused before it reads a
# row.
try:
    private_score(model, X_score, y_score, epsilon=1.0, ledger=of_scores)
except BudgetExceededError as error:
    print(textwrap.fill(str(error), 78))

# %%
of_fits

# %%
of_scores

# %%
# Each record is in one of the halves. So the whole work has the weaker one of
# their guarantees:
of_fits.spent()

# %%
privacy_card(model, title="Drawings of a six")
