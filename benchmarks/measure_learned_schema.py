"""Measure the accuracy with `domain="learn"` and with all domains declared, on the Adult table.

    python benchmarks/measure_learned_schema.py adult_train.csv adult_test.csv

The files have a header, and the columns of the UCI repository with underscores in their names; the column
fnlwgt is left out. The declared schema lists the categories of both files.
"""

import sys

import numpy as np
import pandas as pd

from dplearn import StatisticalQueryLogisticRegression, StatisticalQueryNaiveBayes
from dplearn.domains import Categories, IntegerRange, Schema

FITS = 8
RANGES = {
    "age": IntegerRange(17, 90),
    "education_num": IntegerRange(1, 16),
    "capital_gain": IntegerRange(0, 99999),
    "capital_loss": IntegerRange(0, 4356),
    "hours_per_week": IntegerRange(1, 99),
}


def read(path):
    """Return the features and the labels of a file."""
    table = pd.read_csv(path).drop(columns="fnlwgt")
    return table, table.pop("income").str.strip(".")


def declared(*tables):
    """Return a schema of public ranges, and of the categories of all tables."""
    both = pd.concat(tables)
    return Schema(
        {name: RANGES.get(name) or Categories(sorted(set(both[name]))) for name in tables[0].columns}
    )


def main(train, test):
    """Print the mean and the least accuracy of each learner with each domain."""
    (X, y), (X_test, y_test) = read(train), read(test)
    for learner in (StatisticalQueryLogisticRegression, StatisticalQueryNaiveBayes):
        for name, domain in (("declared", declared(X, X_test)), ("learn", "learn")):
            found = [
                learner(epsilon=1.0, delta=1e-6, domain=domain, classes=["<=50K", ">50K"])
                .fit(X, y)
                .score(X_test, y_test)
                for _ in range(FITS)
            ]
            sys.stdout.write(f"{learner.__name__:36} {name:9} {np.mean(found):.4f} {min(found):.4f}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
