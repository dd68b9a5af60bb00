"""
2. Predict a number, and explain the prediction
===============================================

For a table with a number to predict, where people want to see why. Read next:
`additive models <../additive.html>`_, and `how to choose epsilon
<../choosing_epsilon.html>`_.

The table is scikit-learn's diabetes table: 442 patients, and how far the
disease went within a year. An additive model is a sum of one effect of each
column. The effects are released and can be drawn, and they say how much of
them may be noise.
"""

# %%
# The table
# ---------
import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

from dplearn import AdditiveRegressor, PrivacyLedger
from dplearn.display import ShapesDisplay, privacy_card
from dplearn.domains import Categories, Grid, Schema
from dplearn.model_selection import private_score

raw = load_diabetes(as_frame=True, scaled=False).frame
export = pd.DataFrame(
    {
        "sex": np.where(raw["sex"] == 2, "m", "f"),
        "body mass index": raw["bmi"],
        "blood pressure": raw["bp"],
        "hdl": raw["s3"],
        "log triglycerides": raw["s5"],
        "progression": raw["target"],
    }
)
file = io.StringIO(export.to_csv(index=False))
table = pd.read_csv(
    file, dtype=dict.fromkeys(export.columns, "float64") | {"sex": "str"}
)
table.head(3)

# %%
# What is public
# --------------
# Bounds come from medicine, and not from the table. The target needs bounds,
# too. A narrow range means little noise.
schema = Schema(
    {
        "sex": Categories(["f", "m"]),
        "body mass index": Grid(15, 50),
        "blood pressure": Grid(50, 150),
        "hdl": Grid(10, 110),
        "log triglycerides": Grid(3, 7),
    }
)
declared = {"domain": schema, "target_range": (0, 400)}
train, held_out = train_test_split(table, random_state=0)

# %%
# Plan, then fit
# --------------
# ``interactions=False`` makes the effects the whole model.
ledger = PrivacyLedger(epsilon=5, delta=1e-5)
model = AdditiveRegressor(
    epsilon=3.0, interactions=False, ledger=ledger, **declared
)
model.plan(len(train))

# %%
model.fit(train, train["progression"])
pd.DataFrame(
    {
        "importance": [shape.importance for shape in model.shapes_],
        "greatest effect": [
            np.abs(shape.effects).max() for shape in model.shapes_
        ],
        "typical noise": [
            np.average(shape.deviations, weights=shape.masses)
            for shape in model.shapes_
        ],
    },
    index=[shape.name for shape in model.shapes_],
).round(1)

# %%
# All numbers have the unit of the target. An importance far above the typical
# noise of its row is a finding; one near it may be noise alone.
ShapesDisplay.from_estimator(model, most=5)
plt.show()

# %%
# Explain one prediction
# ----------------------
# A prediction is the intercept, which is the mean prediction, plus the effect
# of each column for this record.
patient = pd.DataFrame(
    {
        "sex": ["f"],
        "body mass index": [34.0],
        "blood pressure": [100.0],
        "hdl": [40.0],
        "log triglycerides": [5.0],
    }
)
effects = pd.Series(
    model.effects(patient)[0], index=schema.names, name="effect"
)
print("predicted:", round(float(model.predict(patient)[0])))
print("intercept:", round(float(model.intercept_[0])))
effects.to_frame().round(1)

# %%
# The interval for a new patient contains the spread of patients and the noise
# of the model.
low, high = model.predict_interval(patient, beta=0.1)[0]
print(f"between {low:.0f} and {high:.0f} with probability of about .9")

# %%
# What the noise does
# -------------------
# The same fit three times, at two epsilons. On private rows each fit is
# charged; this table is public, so we may look. Where the three lines agree,
# the shape is that of the patients; where they differ, it is noise.
figure, panels = plt.subplots(
    1, 2, figsize=(9, 3.6), sharey=True, layout="constrained"
)
for panel, epsilon in zip(panels, (1.0, 10.0), strict=True):
    for _ in range(3):
        again = AdditiveRegressor(
            epsilon=epsilon, interactions=False, **declared
        )
        shape = again.fit(train, train["progression"]).shapes_[1]
        panel.step(shape.values, shape.effects, where="post")
        panel.fill_between(
            shape.values,
            shape.effects - 2 * shape.deviations,
            shape.effects + 2 * shape.deviations,
            step="post",
            alpha=0.1,
        )
    panel.set(
        title=f"epsilon {epsilon:g}", xlabel=shape.name, ylim=(-150, 200)
    )
    panel.grid(alpha=0.3)
panels[0].set_ylabel("effect on the progression")
plt.show()

# %%
# Score in private
# ----------------
# The mean absolute error of held-out patients, within the public range of the
# target:
private_score(
    model,
    held_out,
    held_out["progression"],
    scoring="neg_mean_absolute_error",
    epsilon=2.0,
    ledger=ledger,
)

# %%
# The price of privacy, which only a public table can show: the same error
# without noise, beside that of a linear regression of the four numbers
# without privacy, and of a model that predicts the mean.
target = held_out["progression"]
columns = ["body mass index", "blood pressure", "hdl", "log triglycerides"]
plain = LinearRegression().fit(train[columns], train["progression"])
print(
    "this model      ",
    round(mean_absolute_error(target, model.predict(held_out)), 1),
)
print(
    "without privacy ",
    round(mean_absolute_error(target, plain.predict(held_out[columns])), 1),
)
print(
    "the mean        ",
    round(np.abs(target - train["progression"].mean()).mean(), 1),
)

# %%
# The guarantee
# -------------
# What the fit and the score cost. The fits of the last picture and the price
# of privacy are not in this account: on a private table there are none.
ledger

# %%
model.guarantee_

# %%
# ``shapes=True`` adds the released effects to the card, for those who have to
# explain the model.
privacy_card(model, title="Progression of diabetes", shapes=True)
