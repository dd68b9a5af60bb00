"""
1. Classify a raw table, from file to card
==========================================

For a table of numbers, texts and gaps, and a label to predict with a guarantee
for each record. Read next: `additive models <../additive.html>`_, and notebook
`2 <2_regress.html>`_ for a number in place of a label.

A clinic wants to publish a model that tells benign from malignant tumours, and
no patient may be traced in it. The table is scikit-learn's breast cancer
table, written to a file as a clinic would export it: a number for each
patient, a word that was typed by hand, and cells that nobody filled in.
"""

# %%
# The table
# ---------
import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplearn import AdditiveClassifier, PrivacyLedger
from dplearn.display import ShapesDisplay, privacy_card
from dplearn.domains import Categories, Grid, Schema
from dplearn.model_selection import private_score
from dplearn.privacy import pipeline_guarantee

measured = load_breast_cancer(as_frame=True)
cells = measured.data
place = np.arange(len(cells))
word = np.select(
    [cells["mean area"] < 450, cells["mean area"] < 800],
    ["small", "Medium"],
    "large ",
)
export = pd.DataFrame(
    {
        "patient": 10_000 + place,
        "radius": cells["worst radius"],
        "texture": cells["worst texture"].where(place % 9 != 4),
        "smoothness": cells["worst smoothness"],
        "concavity": cells["worst concavity"],
        "concave points": cells["worst concave points"],
        "size": pd.Series(word).where(place % 13 != 6),
        "diagnosis": measured.target_names[measured.target],
    }
)
file = io.StringIO(export.to_csv(index=False))  # the file that arrives

# %%
# A reader that infers the types of columns from cells lets single records
# decide them. So declare them. (This table is public. Of a private one, show
# no row to anybody.)
numbers = ["radius", "texture", "smoothness", "concavity", "concave points"]
types = dict.fromkeys(numbers, "float64") | {"size": "str", "diagnosis": "str"}
table = pd.read_csv(file, dtype=types)
table.iloc[[0, 4, 6, 19, 20]]

# %%
# What is public
# --------------
# The schema declares the possible values of each column. It comes from
# knowledge about the measurements, not from the rows. Columns that it does
# not name, such as the patient's number, are no features. ``missing=True``
# allows gaps in numbers, ``other=True`` gaps and unknown words.
schema = Schema(
    {
        "radius": Grid(0, 40),
        "texture": Grid(0, 60, missing=True),
        "smoothness": Grid(0, 0.3),
        "concavity": Grid(0, 1.3),
        "concave points": Grid(0, 0.3),
        "size": Categories(["small", "medium", "large"], other=True),
    },
    labels=["benign", "malignant"],
)

# %%
# Without bounds, ``domain="learn"`` (the default) learns the schema in
# private, from a tenth of the budget. That needs more records than this table
# has. Plans read no data and cost nothing.
train, held_out = train_test_split(table, test_size=0.3, random_state=0)
learned = AdditiveClassifier(epsilon=1.0).plan(
    len(train), n_features=len(schema.columns), n_labels=2
)
print("records for a fit:", len(train))
print("records that a learned schema asks for:", learned.n_needed)

# %%
# Plan the fit
# ------------
# The resolution is the ratio of signal to noise. Below ``least_resolution``
# the effects are mostly noise. The last lines say what a smaller or larger
# epsilon would change.
model = AdditiveClassifier(epsilon=1.0, domain=schema)
plan = model.plan(len(train))
print("least resolution:", plan.least_resolution)
for epsilon in (0.1, 0.3, 1.0, 3.0):
    other = AdditiveClassifier(epsilon=epsilon, domain=schema).plan(len(train))
    print(f"epsilon {epsilon}: resolution {other.resolution:.1f}")

# %%
# Fit
# ---
# Words are brought to one spelling record by record. Such a step learns
# nothing from the table, so it costs nothing. The ledger is the budget of the
# table; each release from it is charged there.


def tidy(frame):
    """Return the table with lower case words, without blanks around them."""
    return frame.assign(size=frame["size"].str.strip().str.lower())


ledger = PrivacyLedger(epsilon=2, delta=1e-5)
model.set_params(ledger=ledger)
pipeline = make_pipeline(FunctionTransformer(tidy), model)
pipeline.fit(train, train["diagnosis"])

# %%
# Predictions cost nothing. A gap and an unknown word are accepted.
values = [24, np.nan, 0.13, 0.4, 0.2, "?"]
newcomer = pd.DataFrame([values], columns=schema.names)
pd.DataFrame(
    pipeline.predict_proba(newcomer), columns=pipeline.classes_
).round(3)

# %%
# Look at the model
# -----------------
# Each panel is the released effect of a column, with a band of two standard
# deviations of the noise.
ShapesDisplay.from_estimator(pipeline[-1], most=6)
plt.show()

# %%
# Score in private
# ----------------
# ``pipeline.score`` on private rows would publish a number without a
# guarantee. ``private_score`` adds noise to the number of errors. The second
# interval is for all future patients of this kind, not just for these rows.
private_score(
    pipeline, held_out, held_out["diagnosis"], epsilon=1.0, ledger=ledger
)

# %%
# The guarantee
# -------------
# Everything that was released, in one table:
ledger

# %%
# What the model guarantees, all of its steps together, and what was assumed
# to be public:
pipeline_guarantee(pipeline, stateless=["functiontransformer"])

# %%
# The card is the page for those who answer for the release.
# ``card.save("card.html")`` writes it.
privacy_card(
    pipeline, title="Tumours, spring table", stateless=["functiontransformer"]
)
