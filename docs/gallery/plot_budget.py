"""
One budget for a search
=======================

A ledger is charged by every fit, whoever calls it: here ``GridSearchCV``, with two candidates on three
folds and the refit. The fit that no longer fits into the budget is refused before its noise is drawn,
and no ``except Exception`` swallows that.
"""

# %%
# Folds by position (``KFold``), never by label. The scores that a search chooses by are not private:
# these rows are public.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, KFold

from dplearn import BudgetExceededError, ExponentialMechanismClassifier, PrivacyLedger

warnings.filterwarnings("ignore", "n_samples is")  # so small an epsilon learns little; the account is shown
X, y = load_breast_cancer(return_X_y=True)
ledger = PrivacyLedger(epsilon=1)
model = ExponentialMechanismClassifier(epsilon=0.1, classes=[0, 1], ledger=ledger)
search = GridSearchCV(model, {"method": ["exponential", "permute_and_flip"]}, cv=KFold(3))
search.fit(X, y)
print(ledger)

# %%
# Fit on, until it is refused.
try:
    while True:
        model.fit(X, y)
except BudgetExceededError as error:
    print(error)

# %%
# ``history`` has one record for each release.
records = ledger.history()
spent = np.cumsum([float(record.guarantee.epsilon) for record in records])
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.step(range(len(spent) + 1), [0, *spent], where="post")
axes.axvspan(0, 7, alpha=0.12, label="the search: 2 candidates x 3 folds, and the refit")
axes.axhline(float(ledger.budget.epsilon), color="#c0392b", linestyle=":", label="budget")
axes.set(xlabel="fits", ylabel="epsilon spent", ylim=(0, 1.1))
axes.legend(loc="lower right")
plt.show()
