"""
Displays, and the privacy card
==============================

What `dplearn.display` draws of a learner: how accurate it is at which epsilon, and how many records theory
asks for beside how many were enough in simulations. Last, the card for those who answer for a release.
"""

# %%
# Each band holds eight fits of twelve. The table is public; on a private one every fit would be charged.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from dplearn import ExponentialMechanismClassifier, ThresholdClassifier
from dplearn.display import EpsilonDisplay, SampleSizeDisplay, privacy_card
from dplearn.domains import IntegerRange

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = ExponentialMechanismClassifier(classes=[0, 1])
stump = DecisionTreeClassifier(max_depth=1)
display = EpsilonDisplay.from_estimator(
    model, X_train, y_train, X_test, y_test, repeats=12, baseline=stump, random_state=0
)
display.ax_.set_title("One rule on the breast cancer data")

# %%
# Theory promises an excess error of 0.1 for any data; the smallest number of made-up records on which nine
# fits of ten stayed within it is drawn beside. With so few records a learner warns.
warnings.filterwarnings("ignore", message="n_samples is")
domain = IntegerRange(0, 1023)


def enough(epsilon):
    """Return the smallest of some numbers of records with which nine of ten fits err by at most 0.1."""
    learner = ThresholdClassifier(epsilon=epsilon, domain=domain, feature=0, classes=[0, 1])
    for n in np.geomspace(10, 10_000, 25).astype(int):
        good = 0
        for seed in range(10):
            values = np.random.default_rng(seed).integers(0, 1024, n)[:, None]
            fitted = learner.set_params(random_state=seed).fit(values, values[:, 0] > 400)
            everything = np.arange(1024)[:, None]
            good += fitted.score(everything, everything[:, 0] > 400) >= 0.9
        if good >= 9:
            return n
    return np.nan


epsilons = [0.1, 0.3, 1.0, 3.0]
sizes = SampleSizeDisplay.from_theory(
    "generic_sample_size",
    np.geomspace(0.05, 5, 30),
    vary="epsilon",
    simulated=[(epsilon, enough(epsilon)) for epsilon in epsilons],
    class_size=2 * 1025,
    alpha=0.1,
    beta=0.1,
)
sizes.ax_.set_title("Thresholds among 1,024 numbers")
plt.show()

# %%
# The card is a page of HTML; this is its beginning as text.
card = privacy_card(model.fit(X_train, y_train), title="Tumours, spring study")
print("\n".join(str(card).splitlines()[:24]))
