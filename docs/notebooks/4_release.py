"""
4. Release statistics of a table, on one budget
===============================================

For counts, quantiles, sums and synthetic rows that may be published. Read
next: `releases <../releases.html>`_, and `the ledger <../ledger.html>`_ for
budgets of many days and people.

The tables are those of a study, made of scikit-learn's diabetes table: one row
for each of 442 patients, and a second table with six rows for each of them,
one for each blood test.
"""

# %%
# The tables
# ----------
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from dplearn import BudgetExceededError, PrivacyLedger
from dplearn.display import (
    DistributionDisplay,
    SyntheticTableDisplay,
    privacy_card,
)
from dplearn.domains import Categories, Grid, IntegerRange, Schema
from dplearn.releases import (
    SyntheticTable,
    cdf,
    cdf_plan,
    grouped,
    quantiles,
    stable_counts,
)

raw = load_diabetes(as_frame=True, scaled=False).frame
place = np.arange(len(raw))
patients = pd.DataFrame(
    {
        "patient": 1 + place,
        "age": raw["age"].astype("int64"),
        "sex": pd.Series(np.where(raw["sex"] == 2, "m", "f"), dtype="str"),
        "bmi": raw["bmi"].where(place % 10 != 3),  # not always measured
        "progression": raw["target"],
    }
)
tests = raw[["s1", "s2", "s3", "s4", "s5", "s6"]].assign(
    patient=patients["patient"]
)
results = tests.melt("patient", var_name="test", value_name="result")
patients.head(4)

# %%
results[results["patient"] == 1]  # six rows of each patient

# %%
# One account
# -----------
# Each release below is charged to this ledger before it draws its noise.
ledger = PrivacyLedger(epsilon=6, delta=1e-5)

# %%
# A distribution
# --------------
# ``cdf`` answers all questions about a column at once. Its plan says how
# large an error is likely, before there are data.
ages = IntegerRange(18, 90)
cdf_plan(len(patients), epsilon=1.0, domain=ages)

# %%
found = cdf(patients["age"], epsilon=1.0, domain=ages, ledger=ledger)
print(
    "share of patients of at most 50 years, released:",
    round(float(found.cdf(50)), 3),
)
print(
    "in the table, which is public here:",
    round((patients["age"] <= 50).mean(), 3),
)
DistributionDisplay.from_release(found, name="age")
plt.show()

# %%
# Quantiles
# ---------
# A few quantiles alone are more accurate. Missing values are declared, and
# count as less than every number: with a tenth of them, the quantile .55 is
# the middle of the measured ones.
quantiles(
    patients["bmi"],
    [0.325, 0.55, 0.775],
    epsilon=1.0,
    domain=Grid(15, 50, 71, missing=True),
    ledger=ledger,
)

# %%
# Counts, sums and means of groups
# --------------------------------
# The groups are public, and so are the bounds of the values.
older = np.where(patients["age"] > 50, "over 50", "up to 50")
summary = grouped(
    patients["sex"] + ", " + older,
    patients["progression"],
    categories=[
        f"{sex}, {age}"
        for sex in ("f", "m")
        for age in ("up to 50", "over 50")
    ],
    bounds=(0, 400),
    epsilon=1.0,
    ledger=ledger,
)
summary

# %%
# Each mean has an interval for the patients of whom these are a sample; those
# of the means of these patients alone contain the noise, and nothing else.
pd.DataFrame(
    summary.mean_intervals(of="table"), index=["from", "to"]
).T.round()

# %%
# Without a list of groups, only those of enough records are released, which
# needs a delta.
stable_counts(
    patients["age"] // 10 * 10, epsilon=0.5, delta=1e-6, ledger=ledger
)

# %%
# Several rows of a person
# ------------------------
# A patient has six rows in the second table, so a guarantee for one row would
# say little. ``groups=``, of releases and of learners, protects all rows of a
# patient together. Up to ten rows of each take part, or as many as
# ``max_rows_per_group`` says. So the counts are of rows.
grouped(
    results["test"],
    results["result"],
    categories=["s1", "s2", "s6"],
    bounds=(0, 300),
    groups=results["patient"],
    epsilon=0.5,
    ledger=ledger,
)

# %%
# If even the number of patients is secret
# ----------------------------------------
# With ``neighbors="add_remove"`` a release does not depend on the number of
# records, except through noise. On this ledger, whose neighbours have one
# record replaced, it costs twice its epsilon: one record out, one in.
grouped(
    patients["sex"],
    categories=["f", "m"],
    neighbors="add_remove",
    epsilon=0.25,
    ledger=ledger,
)

# %%
# Synthetic rows
# --------------
# A synthetic table is a model of the private one. The tables of ``target``
# and each other column are measured. Few bins of a column mean less noise in
# each cell of them.
columns = Schema(
    {
        "age": ages,
        "sex": Categories(["f", "m"]),
        "bmi": Grid(15, 50, 351, missing=True),
        "progression": Grid(20, 400, 381),
    }
)
synthetic = SyntheticTable(
    epsilon=1.0,
    delta=1e-6,
    domain=columns,
    n_bins=4,
    degree=1,
    target="progression",
    ledger=ledger,
)
synthetic.fit(patients)
rows = synthetic.sample(500)
rows.head(4)

# %%
# Any number of rows and any analysis of them cost nothing more. What was not
# measured is not promised: the picture shows which columns were measured
# together, and how large the noise is in each.
SyntheticTableDisplay.from_table(synthetic)
plt.show()

# %%
pd.DataFrame(
    {
        name: frame.groupby(frame["bmi"] > 28)["progression"].mean()
        for name, frame in {
            "synthetic rows": rows,
            "the table, which is public here": patients,
        }.items()
    }
).rename_axis("body mass index above 28").round(0)

# %%
# The budget is spent
# -------------------
# Another release does not fit. It is refused before it reads a value, and
# what remains is still there.
try:
    quantiles(
        patients["progression"],
        [0.5],
        epsilon=1.0,
        domain=Grid(0, 400, 401),
        ledger=ledger,
    )
except BudgetExceededError as error:
    print(textwrap.fill(str(error), 78))

# %%
# The guarantee
# -------------
# All of the above together, for one patient:
ledger

# %%
ledger.spent()

# %%
# The card of one release has the whole account of its ledger.
privacy_card(synthetic, title="Synthetic patients")
