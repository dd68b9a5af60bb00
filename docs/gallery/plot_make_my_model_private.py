"""
Make my model private
=====================

Any classifier, wrapped. Teachers are trained on disjoint shards of the private records and vote on
public rows; a student learns from noisy votes and predicts for ever. How close it comes to the same
model without privacy, for more and more private records:
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from dplearn import KnowledgeTransferClassifier, PublicData

X, y = make_classification(12_000, n_features=10, n_informative=6, class_sep=1.2, flip_y=0.02, random_state=0)
X_private, y_private = X[:8_000], y[:8_000]
X_public = PublicData(X[8_000:10_000])  # without labels
X_test, y_test = X[10_000:], y[10_000:]

# %%
# The whole epsilon is spent by ``fit``, however often the student is asked afterwards.
sizes = [500, 2_000, 8_000]


def students(epsilon):
    """Return the accuracies of students of teachers of more and more records."""
    model = KnowledgeTransferClassifier(GaussianNB(), epsilon=epsilon, classes=[0, 1], random_state=0)
    fits = (model.fit(X_private[:n], y_private[:n], X_public=X_public) for n in sizes)
    return [fit.score(X_test, y_test) for fit in fits]


figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
plain = [GaussianNB().fit(X[:n], y[:n]).score(X_test, y_test) for n in sizes]
axes.plot(sizes, plain, color="#333333", linestyle=":", label="naive Bayes, not private")
for epsilon in (3.0, 1.0):
    axes.plot(sizes, students(epsilon), marker="o", label=f"student, epsilon {epsilon:g}")
axes.set(xscale="log", xlabel="private records", ylabel="accuracy on test rows", ylim=(0.45, 1))
axes.set_xticks(sizes, [f"{n:,}" for n in sizes], minor=False)
axes.minorticks_off()
axes.grid(alpha=0.3)
axes.legend()
plt.show()
