"""Deliberate mistakes in fits whose concepts are determined by public features or rows: each is noticed."""

import math
from functools import partial

import numpy as np
import pytest

from dplearn import ExponentialMechanismClassifier
from dplearn.audit import Mutant, how_caught
from dplearn.audit.cases import CASES
from dplearn.audit.fits import WholeFit
from dplearn.learners.rules import generic
from tests.changed import with_recipe
from tests.laws.conftest import OnePair

LABELS, ROWS = CASES["small_label_classifier"], CASES["small_public_cuts_classifier"]


def pair_of(case, *rows):
    pair = OnePair.of(case, rows)
    assert pair.is_kept()
    assert pair.own_digest  # of the unchanged code, before a mistake is put into it
    return pair


def by_rows(chosen):
    """The dichotomies of the records that a function of all labels chooses."""

    def dichotomies(concepts, records):
        keep = chosen(records.y)
        return concepts.dichotomies([column[keep] for column in records.X.columns])

    return dichotomies


def where_labels_change(concepts, records):
    """Only cuts between neighbours of different labels can be best: the others are left out."""
    order = np.argsort(records.X.columns[0], kind="stable")
    labels = records.y[order]
    last = order[np.append(labels[1:] != labels[:-1], True)]
    return concepts.dichotomies([column[last] for column in records.X.columns])


#: Each mistake, with the neighbours that it shows on: labels of rows 0, 2 and 2.
ALIKE, FIRST, TWO = ("no", "no", "no"), ("yes", "no", "no"), ("yes", "yes", "no")
LABEL_MISTAKES = {
    "cuts at records of one label": (by_rows(lambda y: y == 1), (FIRST, TWO)),
    "cuts where labels change": (where_labels_change, (ALIKE, FIRST)),
    "cuts of the more frequent label": (
        by_rows(lambda y: y == np.bincount(y, minlength=2).argmax()),
        (ALIKE, FIRST),
    ),
}


@pytest.mark.parametrize("mistake", LABEL_MISTAKES)
def test_cuts_that_are_placed_by_labels_are_caught(mistake, monkeypatch):
    wrong, rows = LABEL_MISTAKES[mistake]
    pair = pair_of(LABELS, *rows)
    monkeypatch.setattr(generic, "_dichotomies", wrong)
    ways = how_caught(Mutant(mistake, pair, LABELS.fit))
    assert any(way.startswith("exceeds the claim") for way in ways), ways


def with_rows(rows_of):
    """Return a class whose public rows are a function of private and of public ones."""

    def known(own):
        def changed(self, facts, table):
            mine, public = (
                np.array([*zip(*table.blocks.rows.X.columns, strict=True)]),
                self.fit_arguments["X_public"],
            )
            X_public = type(public)(rows_of(mine, public.X))
            return own(self.given(fit_arguments={"X_public": X_public}), facts, table)

        return changed

    return with_recipe(ExponentialMechanismClassifier, known=known)


def useful(mine, public):
    return np.array([row for row in public.tolist() if (mine[:, 0] <= row[0]).any()] or [[0]])


KINDS = {
    "the values of the private rows": with_rows(lambda mine, public: mine),
    "those of public and of private rows": with_rows(lambda mine, public: np.vstack((public, mine))),
    "public ones that divide the private rows": with_rows(useful),
}


def with_class(kind, **parameters):
    """The computation of the case with another class of learners, or other parameters."""
    whole = ROWS.fit
    given = whole.make().get_params(deep=False) | parameters
    public = {} if parameters else whole.public
    return WholeFit(partial(kind, **given), whole.table, whole.shown, public)


@pytest.mark.parametrize("cuts", KINDS)
def test_cuts_that_private_rows_determine_are_caught(cuts):
    pair = pair_of(ROWS, ((3, "no"), (3, "no")), ((1, "no"), (3, "no")))
    ways = how_caught(Mutant(cuts, pair, with_class(KINDS[cuts])))
    assert any(way.startswith("exceeds the claim") for way in ways), ways


def test_a_class_without_a_mistake_is_not_caught():
    pair = pair_of(ROWS, ((3, "no"), (3, "no")), ((1, "no"), (3, "no")))
    assert how_caught(Mutant("none", pair, with_class(ExponentialMechanismClassifier))) == []


def test_a_fit_that_protects_labels_does_not_protect_examples():
    """Its cuts are values of records, and its guarantee does not claim more."""
    pair = pair_of(ROWS, ((3, "no"), (3, "no")), ((1, "no"), (3, "no")))
    fit = with_class(ExponentialMechanismClassifier, protects="labels")
    assert pair.with_fit(fit).run().epsilon == math.inf
    assert fit.make().plan(2, n_features=1).guarantee.protects == "labels"
