"""Runs the checks of `checks.py`; nothing here is said of a peer that was not executed.

A peer gives a class with `fitted(learner, frame, y, epsilon, texts)`, which declares all that it can,
`undeclared(learner, frame, y, epsilon)`, which declares nothing, and `noise(learner, size)`, which draws
noise as the learner adds it. Models have `predict`, `labels()`, which labels they know, and `published()`:
the values that whoever has the model can read.

Outcomes of input: "refused" with an error, "warned", "accepted", and "wrong": a model without an error that
does not predict a declared label everywhere, or whose accuracy on clean records is .2 or more below that
without the bad input. "published" is an odd value, or a label, that the model shows.
"""

import math
import warnings

import numpy as np
import pandas
from worker import sentence

ROWS, EPSILON, SMALL, LEAST_FALL = 2000, 10.0, 0.05, 0.2
TEXTS = ("blue", "green", "red")
ODD_ROW = 5
CLEAN = {}  # accuracies without bad input, by learner; that check comes first
ODD = {"outside": 1_000_000, "unlisted": 77, "labels": 22, "open labels": 22}  # found nowhere else


def clean(seed):
    """Return records: the label is 1 where `a` is large and `c` is not 0, but for a tenth of them."""
    generator = np.random.default_rng(seed)
    a, b, c = (generator.integers(0, size, ROWS) for size in (16, 16, 3))
    y = ((a > 7) & (c > 0)) ^ (generator.random(ROWS) < 0.1)
    return pandas.DataFrame({"a": a, "b": b, "c": c}), y.astype(int)


def spoilt(check):
    """Return records with one thing wrong; clean ones for all other checks."""
    frame, y = clean(0)
    if check in CHANGED:
        frame = CHANGED[check](frame)
    elif check == "rare":
        y = (np.arange(ROWS) == ODD_ROW).astype(int)
    elif check == "absent":
        y = np.zeros(ROWS, dtype=int)
    elif check == "one":
        frame, y = frame.iloc[:1], np.zeros(1, dtype=int)
    elif "labels" in check:
        y[ODD_ROW] = ODD[check]
    return frame, y


def with_cell(frame, name, value):
    """Return records of which one has another value in a column."""
    column = frame[name].astype(type(value))
    column[ODD_ROW] = value
    return frame.assign(**{name: column})


CHANGED = {
    "text": lambda frame: frame.assign(c=np.array(TEXTS, dtype=object)[frame["c"]]),
    "gaps": lambda frame: frame.assign(a=frame["a"].astype(float).mask(np.arange(len(frame)) % 20 == 0)),
    "infinite": lambda frame: with_cell(frame, "a", math.inf),
    "outside": lambda frame: with_cell(frame, "a", ODD["outside"]),
    "unlisted": lambda frame: with_cell(frame, "c", ODD["unlisted"]),
    "constant": lambda frame: frame.assign(b=7),
}


def checked(peer, cell):
    """Return the outcome of one check."""
    check, learner = cell["check"], cell["learner"]
    if check == "grid":
        return {"outcome": grid_of(peer.noise(learner, 1000))}
    if check == "seed":
        return {"outcome": "repeated" if repeated(peer, learner) else "fresh"}
    if check == "neighbours":
        return {"outcome": compared(peer, learner)}
    frame, y = spoilt(check)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if check in ("bounds", "open labels"):
                model = peer.undeclared(learner, frame, y, EPSILON)
            else:
                model = peer.fitted(learner, frame, y, EPSILON, check == "text")
        except Exception as error:
            return {"outcome": "refused", "says": sentence(error)}
    found = {"outcome": "accepted"}
    odd = [each for each in caught if "eprecat" not in str(each.message) + each.category.__name__]
    if odd:
        found = {"outcome": "warned", "says": sentence(odd[0].message)}
    return found | judged(peer, model, check, learner, found["outcome"])


def judged(peer, model, check, learner, outcome):
    """Return the accuracy of a model on clean records, and its outcome where that is not the given one."""
    tested, truth = clean(1)
    tested = CHANGED[check](tested) if check in ("text", "constant") else tested
    try:
        predicted = np.asarray(model.predict(tested)).astype(float)
    except Exception as error:
        return {"outcome": "wrong", "says": f"predict: {sentence(error)}"}
    accuracy = float(np.mean(predicted == truth))
    if check == "clean":
        CLEAN[learner] = accuracy
    valid = np.isin(predicted, (0, 1, ODD["labels"]) if "labels" in check else (0, 1)).all()
    fell = check in CHANGED and accuracy < CLEAN.get(learner, 0.0) - LEAST_FALL
    if not valid or fell:
        outcome = "wrong"
    elif check in ODD and any(shows(each, ODD[check]) for each in model.published()):
        outcome = "published"
    elif check == "bounds" and moved(peer, learner, accuracy):
        outcome += ", one record moves it"
    return {"outcome": outcome, "accuracy": accuracy}


def moved(peer, learner, accuracy):
    """Return whether one record of a huge number makes a fit worse for which nothing is declared."""
    frame, y = spoilt("outside")
    tested, truth = clean(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = peer.undeclared(learner, frame, y, EPSILON)
    return float(np.mean(np.asarray(model.predict(tested)) == truth)) < accuracy - LEAST_FALL


def compared(peer, learner):
    """Return how two fits differ for whoever has the models; the tables differ in one label of one record."""
    found = []
    for check in ("rare", "absent"):
        frame, y = spoilt(check)
        try:
            model = peer.fitted(learner, frame, y, EPSILON, False)
            found.append({float(each) for each in model.labels()})
        except Exception as error:
            found.append(sentence(error))
    if found[0] == found[1]:
        return "same"
    return "error differs" if any(isinstance(each, str) for each in found) else "published"


def shows(value, odd):
    try:
        return float(value) == odd
    except (TypeError, ValueError):
        return False


def repeated(peer, learner):
    """Return whether two fits with little budget give the same predictions after the same public seed."""
    import random

    frame, y = clean(0)
    tested, _ = clean(1)
    found = []
    for _ in range(2):
        np.random.seed(0)
        random.seed(0)
        model = peer.fitted(learner, frame, y, SMALL, False)
        scores = getattr(model, "predict_proba", model.predict)
        found.append(np.asarray(scores(tested), float))
    return bool(np.array_equal(*found, equal_nan=True))


def grid_of(values):
    """Return whether all draws lie on one grid: small ones have no finer digits than large ones.

    Noise that is computed with floats has 53 significant bits whatever its size, so that small draws lie on a
    finer grid than large ones. Which values are possible then depends on what the noise is added to.
    """
    values = np.asarray(values, dtype=float)
    if not len(values):
        return "no numbers"
    if (values == np.round(values)).all():
        return "integers"
    large = np.abs(values) >= np.median(np.abs(values))
    unit = min(finest(each) for each in values[large])
    return "one grid" if all(finest(each) >= unit for each in values[~large] if each) else "floats"


def finest(value):
    """Return the exponent of the last significant bit of a float."""
    mantissa, exponent = math.frexp(value)
    whole = int(mantissa * 2**53)
    return exponent - 53 + (whole & -whole).bit_length() - 1
