"""The audit sees tables in parts: enumerated, replayed and interrupted like the same tables in memory."""

from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from dplearn import learners, preprocessing, releases
from dplearn.audit import FaultyDice, exact_distribution
from dplearn.audit.cases import CASES
from dplearn.audit.cases.learned_schema import SMALL
from dplearn.audit.cases.search import score_recipe
from dplearn.audit.fits import ready, run_on, two_parts
from dplearn.chance import SeededDice
from dplearn.domains import IntegerRange
from dplearn.domains.cells import object_array
from dplearn.learners import StatisticalQueryNaiveBayes
from dplearn.model_selection.tables import ConfusionCounts, ErrorCount
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.releases.cdf import _CDF
from dplearn.releases.grouped import _Grouped
from dplearn.releases.interior_point import _InteriorPoint
from dplearn.releases.learned_schema import SchemaRelease
from dplearn.releases.mean import _Mean
from dplearn.releases.quantiles import _Quantiles
from dplearn.releases.release import ColumnRelease, Release
from dplearn.releases.stable_counts import _StableCounts
from dplearn.releases.synthetic_table import LearnedTableRelease, TableRelease
from tests.laws.conftest import OnePair
from tests.laws.test_enumeration import ONE_PAIR

#: A case of each learner of tables in parts. Those with a witness in `ONE_PAIR` run on it with every change.
PARTED = {
    "additive": "AdditiveClassifier",
    "conjunction": "ConjunctionClassifier",
    "local_conjunction": "ConjunctionClassifier",
    "small_classifier": "ExponentialMechanismClassifier",
    "small_transfer": "KnowledgeTransferClassifier",
    "linear": "LinearRegressor",
    "small_soft_labels": "SoftLabelAggregateClassifier",
    "logistic": "StatisticalQueryLogisticRegression",
    "naive_bayes": "StatisticalQueryNaiveBayes",
    "local_naive_bayes": "StatisticalQueryNaiveBayes",
    "small_ensemble_gnmax": "SubsampleAggregateClassifier",
    "small_min_max_clipper": "PrivateMinMaxClipper",
    "small_scaler": "PrivateStandardScaler",
    "pca": "PrivatePCA",
    "k_means": "PrivateKMeans",
    "synthetic_data": "SyntheticDataClassifier",
    "small_fit_with_learned_schema": "ExponentialMechanismClassifier",
}
#: Classes that share their stages with one of these: all transformers learn quantiles, a transfer of soft
#: labels trains the teachers of an aggregation, and a regressor fits the additive model of a classifier, or
#: releases its tables.
ALIKE = {
    "PrivateKBinsDiscretizer",
    "PrivateQuantileTransformer",
    "PrivateRobustScaler",
    "SoftLabelTransferClassifier",
    "AdditiveRegressor",
    "SyntheticDataRegressor",
}
SHORT = ("naive_bayes", "conjunction", "small_classifier", "small_soft_labels", "small_ensemble_gnmax")
AGES = IntegerRange(0, 3)


def coarse_mean():
    release = object.__new__(_Mean)
    release.reach = 3  # steps between the bounds
    release.__init__((0, 3), 2)
    return release


RELEASES = {
    "mean": (coarse_mean(), 3, lambda found: found.value),
    "quantiles": (_Quantiles("quantiles", [0.25, 0.5], 2, AGES), 3, lambda found: found.values),
    "cdf": (_CDF(20, 0, "tree", AGES), 2, lambda found: found.cdf(np.arange(4))),
    "interior_point": (
        _InteriorPoint(AGES, "exponential", 2, 0, Fraction(1, 20), "tight"),
        3,
        lambda found: found.value,
    ),
    "grouped": (_Grouped(False, None, [0, 1, 3], 2, 0), 3, lambda found: found.counts),
    "stable_counts": (_StableCounts(4, Fraction(1, 10)), 3, lambda found: found.counts),
}


def in_two_parts(name):
    return replace(CASES[name], fit=CASES[name].fit.in_two_parts())


def on_its_witness(case, name):
    pair = (tuple(case.universe[place] for place in places) for places in ONE_PAIR[name][:2])
    return OnePair.of(case, tuple(pair))


def test_every_learner_of_parts_has_a_case():
    found = {name: getattr(room, name) for room in (learners, preprocessing) for name in room.__all__}
    parted = {name for name, each in found.items() if getattr(each, "reads_parts", False)}
    assert parted == {*PARTED.values()} | ALIKE


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", SHORT)
def test_two_parts_have_the_distributions_of_the_table_on_the_worst_neighbours(name):
    case = on_its_witness(in_two_parts(name), name)
    assert case.digest() == on_its_witness(CASES[name], name).digest()
    assert case.run().keeps(case.claim)
    assert case.replay(1) == []


#: Cases of groups, whose rows lie in both parts, and neighbours.
OF_GROUPS = {
    "classifier_of_groups": ((((0, 1), (2, 0)), ((2, 1),)), (((0, 0),), ((2, 1),))),
    "naive_bayes_of_groups": ((((0, 0), (1, 1)),), (((1, 1),) * 5,)),
    "transfer_of_groups": tuple(
        (first, ((2, "b"),), ((2, "b"),)) for first in (((0, "b"), (2, "a"), (2, "a")), ((0, "a"),))
    ),
}


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", OF_GROUPS)
def test_groups_in_two_parts_have_the_distributions_of_those_of_the_table(name):
    case, of_table = (OnePair.of(each, OF_GROUPS[name]) for each in (in_two_parts(name), CASES[name]))
    for rows in case.pair:  # published guarantees have other assumptions
        parted, whole = (each.distributions[rows].masses.values() for each in (case, of_table))
        assert sorted(parted) == sorted(whole)
    assert case.run().keeps(case.claim)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PARTED)
def test_two_parts_have_the_distributions_of_the_table(name):
    case = in_two_parts(name)
    assert case.digest() == CASES[name].frozen()["digest"]
    assert case.run().keeps(case.claim)
    assert case.replay(1) == []


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", RELEASES)
def test_a_release_of_two_parts_has_the_distribution_of_the_values(name):
    release, n, shown = RELEASES[name]

    def distribution(values):
        run = ready(release, values).run
        return exact_distribution(lambda dice: str(shown(run(dice))), tail_bits=16)

    for values in (np.arange(n), np.zeros(n, dtype=int), np.array([3, *[0] * (n - 1)])):
        parts = lambda values=values: two_parts(values, None)[0]  # noqa: E731
        of_memory = distribution(values)
        assert distribution(parts).masses == of_memory.masses
        assert len(of_memory.masses) > 1


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("learned_range", ((0,), (1,), (None,), (1,))),
        pytest.param("learned_schema", ((0, "a"),) * 5 + ((1, "b"),) * 3, marks=pytest.mark.nightly),
    ],
)
def test_a_schema_of_two_parts_has_the_distribution_of_that_of_the_table(name, rows):
    claim = CASES[name].claim
    kinds = ["integers"] if name == "learned_range" else ["numbers", "categories"]
    table = object_array([cell for row in rows for cell in row]).reshape(len(rows), -1)

    def distribution(given):
        run = ready(SchemaRelease(kinds, claim, numbers=SMALL), given).run
        return exact_distribution(lambda dice: repr(run(dice).schema.domains), tail_bits=30)

    expected = distribution(table).masses
    assert distribution(two_parts(table, None)[0]).masses == expected
    assert len(expected) > 1


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", ["synthetic_table_with_target", "synthetic_table"])
def test_a_synthetic_table_of_two_parts_has_the_distribution_of_the_table(name):
    assert in_two_parts(name).digest() == CASES[name].frozen()["digest"]


@pytest.mark.nightly
def test_a_synthetic_table_with_a_learned_schema_of_two_parts_has_the_distribution_of_the_table():
    """Of one table: all of them take minutes."""
    case, rows = CASES["synthetic_table_with_learned_schema"], ((False, False),) + ((True, True),) * 3
    laws = [exact_distribution(run_on(fit, rows)) for fit in (case.fit, case.fit.in_two_parts())]
    assert laws[0].masses == laws[1].masses
    assert len(laws[0].masses) > 100


def test_every_release_has_a_case():
    kinds = {type(release) for release, _, _ in RELEASES.values()} | {SchemaRelease}
    kinds |= {TableRelease, LearnedTableRelease}
    found = {
        each
        for module in iter_modules(releases.__path__)
        for each in vars(import_module(f"dplearn.releases.{module.name}")).values()
        if isinstance(each, type) and issubclass(each, Release) and each not in (Release, ColumnRelease)
    }
    assert found == kinds


def test_a_score_of_two_parts_counts_the_errors_of_the_table():
    X, y = load_iris(return_X_y=True)
    model = StatisticalQueryNaiveBayes(epsilon=1, random_state=0).fit(X, y)
    for statistic in (ErrorCount(), ConfusionCounts(tuple(model.classes_.tolist()))):
        score = score_recipe(model, statistic, ApproxDP(1))
        parted, whole = (ready(score, *given).summary for given in (two_parts(X, y), (X, y)))
        assert len(parted) == len(whole) == 150
        of_parts, of_table = (each.sums(lambda rows: [rows.counts])[0].tolist() for each in (parted, whole))
        assert of_parts == of_table


def test_a_score_of_groups_in_two_parts_has_the_distributions_of_that_of_the_table():
    """A person's rows may lie in both parts, and their number moves those of others between the parts."""
    case = CASES["score_of_groups"]

    def in_parts(persons):
        X, y = case.fit.values(persons)
        rows = pd.DataFrame({"said": X[:, 0], "right": y, "person": case.fit.groups(persons)})
        return [rows[:2], rows[2:]], "right"

    parted = case.with_fit(replace(case.fit, values=in_parts, groups=lambda _: "person"))
    assert parted.digest() == case.frozen()["digest"]
    assert parted.run().keeps(case.claim)


def test_a_failure_at_any_draw_of_a_fit_on_parts_leaves_it_paid_for_and_unpublished():
    X, y = load_iris(return_X_y=True)
    model = StatisticalQueryNaiveBayes(epsilon=1, classes=[0, 1, 2], random_state=0)
    dice = FaultyDice(SeededDice(0))
    clone(model)._fit(*two_parts(X, y), dice)
    assert dice.n_draws > 0
    for at in range(dice.n_draws):
        ledger = PrivacyLedger(1, 1e-5)
        learner = clone(model).set_params(ledger=ledger, random_state=None)
        with pytest.raises(OSError, match="no entropy"):
            learner._fit(*two_parts(X, y), FaultyDice(SeededDice(0), at, OSError("no entropy")))
        assert len(ledger.history()) == 1
        assert not hasattr(learner, "guarantee_")
