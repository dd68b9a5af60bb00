"""The audit sees tables in parts: enumerated, replayed and interrupted like the same tables in memory."""

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from dplearn import learners, preprocessing, releases
from dplearn.audit import AuditCase, FaultyDice, exact_distribution, run_on
from dplearn.audit.cases import CASES
from dplearn.audit.fits import ReleaseFit, two_parts
from dplearn.chance import SeededDice
from dplearn.domains import IntegerRange
from dplearn.learners import StatisticalQueryNaiveBayes
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.releases.cdf import CDF
from dplearn.releases.describe import LearnedDescribe
from dplearn.releases.mean import Proportion
from dplearn.releases.release import ColumnRelease, Release
from dplearn.releases.synthetic_table import LearnedTableRelease
from tests.audit.changed import fit_with
from tests.laws.conftest import OnePair
from tests.laws.mutants import in_places
from tests.laws.test_enumeration import ONE_PAIR

#: A case of each learner of tables in parts. Those with a witness in `ONE_PAIR` run on it with every change.
PARTED = {
    "additive": "AdditiveClassifier",
    "conjunction": "ConjunctionClassifier",
    "local_conjunction": "ConjunctionClassifier",
    "small_classifier": "ExponentialMechanismClassifier",
    "small_transfer": "KnowledgeTransferClassifier",
    "linear": "LinearRegressor",
    "labels_of_two_clusters": "PrivateLabelsClassifier",
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
A_CDF = ReleaseFit(
    lambda: CDF(20, 0, "tree", IntegerRange(0, 3)),
    values=lambda rows: np.array(rows),
    shown=lambda found: (str(found.cdf(np.arange(4))), None),
)
#: Cases of releases of values and tables; the last of them run at night.
NAMES = (
    "mean",
    "std",
    "describe",
    "learned_range",
    "stable_counts",
    "synthetic_table_with_target",
    "small_database_of_thresholds",
    "weights_of_one_round",
)
AT_NIGHT = (
    "interior_point_exponential",
    "grouped",
    "two_quantiles",
    "median_by_category",
    "learned_schema",
    "synthetic_table",
)
RELEASED = {name: CASES[name] for name in NAMES + AT_NIGHT}
RELEASED["cdf"] = AuditCase("cdf", A_CDF, range(4), 2, ApproxDP(20), tail_bits=16)


def in_two_parts(name):
    return replace(CASES[name], fit=CASES[name].fit.in_two_parts())


def as_parts(values):
    """A function that returns an array's first element, or row, and all others."""
    array = np.asarray(values)
    parts, _ = two_parts(array if array.dtype.kind in "if" else np.array(values, dtype=object), None)
    return lambda: parts


def on_its_witness(case, name):
    return OnePair.of(case, in_places(case, *ONE_PAIR[name][:2]))


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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in AT_NIGHT else ()) for name in RELEASED]
)
def test_a_release_of_two_parts_has_the_distribution_of_the_values(name):
    case = RELEASED[name]

    def parted(rows):
        values = case.fit.values(rows)
        if isinstance(values, tuple):
            return tuple(each if each is None else as_parts(each) for each in values)
        return as_parts(values)

    places = ONE_PAIR.get(name, [[0] * case.n, [len(case.universe) - 1] + [0] * (case.n - 1)])
    pair = in_places(case, *places[:2])
    of_parts = OnePair.of(case.with_fit(replace(case.fit, values=parted)), pair)
    of_memory = OnePair.of(case, pair)
    assert of_parts.digest() == of_memory.digest()
    assert min(len(law.masses) for law in of_memory.distributions.values()) > 1


@pytest.mark.nightly
def test_a_synthetic_table_with_a_learned_schema_of_two_parts_has_the_distribution_of_the_table():
    """Of one table: all of them take minutes."""
    case, rows = CASES["synthetic_table_with_learned_schema"], ((False, False),) + ((True, True),) * 2
    laws = [exact_distribution(run_on(fit, rows)) for fit in (case.fit, case.fit.in_two_parts())]
    assert laws[0].masses == laws[1].masses
    assert len(laws[0].masses) > 100


def test_every_release_has_a_case():
    alike = {LearnedTableRelease, LearnedDescribe, Proportion}
    kinds = {type(case.fit.make()) for case in RELEASED.values()} | alike
    found = {
        each
        for module in iter_modules(releases.__path__)
        for each in vars(import_module(f"dplearn.releases.{module.name}")).values()
        if isinstance(each, type) and issubclass(each, Release) and each not in (Release, ColumnRelease)
    }
    assert found <= {base for kind in kinds for base in kind.__mro__}


@pytest.mark.parametrize("name", ["private_score", "score_confusion_matrix"])
def test_a_score_of_two_parts_has_the_distributions_of_that_of_the_table(name):
    assert in_two_parts(name).digest() == CASES[name].frozen()["digest"]


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
    fit_with(dice, clone(model), *two_parts(X, y))
    assert dice.n_draws > 0
    for at in range(dice.n_draws):
        ledger = PrivacyLedger(1, 1e-5)
        learner = clone(model).set_params(ledger=ledger, random_state=None)
        with pytest.raises(OSError, match="no entropy"):
            fit_with(FaultyDice(SeededDice(0), at, OSError("no entropy")), learner, *two_parts(X, y))
        assert len(ledger.history()) == 1
        assert not hasattr(learner, "guarantee_")
