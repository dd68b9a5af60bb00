"""
A pipeline that is private from end to end
==========================================

A ``StandardScaler`` or ``QuantileTransformer`` in front of a private learner publishes what it learned
from every record, and the learner's promise then covers only half of the model.
``PrivateQuantileTransformer`` learns private quantiles instead, and ``pipeline_guarantee`` adds up what
all steps promise, or names the step because of which nothing is promised.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

from dplearn import StatisticalQueryNaiveBayes
from dplearn.domains import Grid
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.privacy import pipeline_guarantee

X, y = make_classification(
    20_000, n_features=2, n_informative=2, n_redundant=0, n_clusters_per_class=1, random_state=1
)
X = np.exp(X).clip(0, 100).round(1)  # skewed, as amounts are; limits and tenths are public
amounts = Grid(0, 100, 1001)

learner = StatisticalQueryNaiveBayes(epsilon=1.0, classes=[0, 1], random_state=0)
model = make_pipeline(
    PrivateQuantileTransformer(n_quantiles=7, epsilon=1.0, domain=amounts, random_state=0), learner
).fit(X[:15_000], y[:15_000])
print("accuracy:", model.score(X[15_000:], y[15_000:]))
print("promised by all steps together: epsilon", pipeline_guarantee(model).epsilon)

# %%
# With scikit-learn's own transformer nothing is promised, and one is told which step it is.
leaky = make_pipeline(QuantileTransformer(), learner).fit(X[:15_000], y[:15_000])
try:
    pipeline_guarantee(leaky)
except ValueError as error:
    print(error)

# %%
# What the private transformer learned is close to what the other did.
private = model[0].transform(X[15_000:])
plain = leaky[0].transform(X[15_000:])
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
left.hist(X[15_000:, 0], bins=60)
left.set(title="first column, as it is", xlabel="value", ylabel="records")
right.plot(plain[:, 0], private[:, 0], ".", markersize=2)
right.plot([0, 1], [0, 1], color="#333333", linestyle=":")
right.set(title="its ranks", xlabel="QuantileTransformer", ylabel="PrivateQuantileTransformer")
plt.show()
