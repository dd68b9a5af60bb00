"""Deliberate mistakes in additive models that no generic one makes, and the shares of their plans. How far a
record moves each sum is searched over all pairs in `tests/learners/test_additive_queries.py`."""

from dataclasses import replace

import numpy as np

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.audit.cases import CASES, additive
from dplearn.chance import SeededDice
from dplearn.domains import Categories, IntegerRange
from dplearn.queries import oracle
from tests.audit.changed import fit_with
from tests.laws.mutants import assert_caught, edit, edits, mistakes

JOINT = {"joint": replace(CASES["additive_joint"], n=3)}
MISTAKES = """
# Joint features less their mean over records: a record moves the mean, and so the features of others.
joint in learners.additive.model:JointFeatures.of
    return features -> return np.rint(features - features.mean(axis=0)).astype(np.int16)
# Weights from the labels.
additive_balanced in learners.additive.losses:Loss.ask_base
    return self.base(oracle.ask(self.base_queries(), share))
    -> base = self.base(oracle.ask(self.base_queries(), share))
    | with oracle._account.use() as account: codes = account.tables[0].at_once(lambda rows: rows.y)
    | base.loss.shares = (np.bincount(codes, minlength=2) + 1) / (len(codes) + 2)
    | return base
"""


@mistakes(edits(MISTAKES, JOINT))
def test_a_mistake_is_caught(mistake, monkeypatch):
    assert_caught(mistake, monkeypatch)


def test_the_shares_of_enumerated_queries_are_those_of_the_plan():
    how, rest = {"delta": 0, "domain": [Categories(["a", "b"])]}, 1 - oracle.COUNT_SHARE
    numbers = AdditiveRegressor(target_range=(-1, 1), interactions=True, **how).plan(1).shares
    labels = AdditiveClassifier(classes=[0, 1], **how).plan(1).shares
    outputs = AdditiveClassifier(classes=[0, 1], **how).plan(1, n_outputs=2).shares
    for prefix, shares, factor, first, others in [
        ("additive_numbers", numbers, 1, {"target": numbers.target}, ("masses", "shapes", "step")),
        ("added_additive_numbers", numbers, rest, {}, ("shapes", "step")),
        (
            "added_additive_fit",
            labels,
            rest,
            {"count": oracle.COUNT_SHARE / rest},
            ("labels", "masses", "step"),
        ),
        ("additive_outputs", outputs, 1, {"labels": outputs.target}, ("masses", "shapes", "step")),
    ]:
        known = {"labels": shares.target, "step": shares.steps} | shares._asdict()
        asked = first | {name: known[name] for name in others}
        claimed = {
            case.name: case.claim.epsilon / 8 for case in CASES.values() if case.name.startswith(f"{prefix}_")
        }
        assert claimed == {f"{prefix}_{name}": factor * share for name, share in asked.items()}
    assert sum((numbers.target, numbers.masses, numbers.shapes, numbers.steps, 2 * numbers.spread)) == 1
    assert sum((outputs.target, outputs.masses, outputs.shapes, outputs.steps)) == 1


def table(first="a"):
    X = np.array(
        [[first, 1.0], ["b", 5.0], ["a", 3.0], ["b", 9.0], *[["a", 1.0], ["b", 9.0]] * 6], dtype=object
    )
    return X, np.arange(16) % 2


def classifier(**parameters):
    domain = [Categories(["a", "b", "c"]), IntegerRange(0, 9)]
    return AdditiveClassifier(domain=domain, classes=[0, 1], random_state=0, **parameters)


def released(first):
    """Return what a fit of a table with a first cell releases, given answers that depend on no record."""
    learner = classifier(interactions=True, epsilon=1000)
    fit = additive.with_far_noise(lambda rows, dice: fit_with(dice, learner, *rows, steps=1))
    fit(table(first), SeededDice(10))
    joint = learner.interactions_
    features, kernels = joint.features, joint.features.kernels
    assert features.size > 2
    found = [learner.shapes_[0].masses, joint.weights, joint.constant, joint.roots, *joint.effects]
    found += [features.weights, features.means, np.array(features.step)]
    return [part.tolist() for part in (*found, kernels.turn, kernels.landmarks, *kernels.scores)]


def test_landmarks_that_are_records_are_published(monkeypatch):
    assert released("a") == released("c")
    edit(
        "learners.additive.steps:_refined",
        "plans =",
        "with oracle._account.use() as account: own = account.tables[0].blocks.rows.X.astype(np.int64)\n"
        "cells = np.concatenate([own, cells])[: len(cells)]\n"
        "plans =",
    )(monkeypatch)
    assert released("a") != released("c")
