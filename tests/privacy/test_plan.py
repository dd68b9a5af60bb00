"""Whatever plans is printed a number to a line, with nothing left out."""

import importlib
import inspect
import pkgutil
from dataclasses import fields

import pytest

import dplearn
from dplearn import (
    ExponentialMechanismClassifier,
    PointClassifier,
    SecretSampleClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.domains import IntegerRange
from dplearn.model_selection import PrivateSearchCV
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.privacy.plan import Plan
from dplearn.releases import cdf_plan, interior_point_plan, learned_schema_plan, stable_counts_plan

LEARNER = PointClassifier(epsilon=0.5)
PLANS = [
    LEARNER.plan(1000),
    ExponentialMechanismClassifier().plan(1000, n_features=2, n_labels=2),
    SubsampleAggregateClassifier().plan(1000, n_labels=2),
    SecretSampleClassifier(LEARNER, sample_size=10).plan(10_000),
    PrivateQuantileTransformer().plan(10_000, n_features=2),
    PrivateSearchCV(LEARNER, {"n_buckets": [16, 64]}).plan(1000),
    cdf_plan(1000, domain=IntegerRange(0, 9)),
    cdf_plan(100_000, domain=IntegerRange(0, 9), method="blocks"),
    interior_point_plan(1000),
    stable_counts_plan(1000, delta=1e-6),
    learned_schema_plan(1000, ["numbers", "categories"]),
    ExponentialMechanismClassifier(domain="learn").plan(1000, n_features=2, n_labels=2),
]


def modules():
    found = pkgutil.walk_packages(dplearn.__path__, "dplearn.")
    return [importlib.import_module(module.name) for module in found if "__main__" not in module.name]


def test_all_plans_are_printed_alike():
    named = {
        thing
        for module in modules()
        for name, thing in vars(module).items()
        if inspect.isclass(thing) and name.endswith("Plan") and not name.startswith("_")
    }
    assert len(named) >= 16
    assert {plan for plan in named if not issubclass(plan, Plan)} == set()


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
def test_each_number_has_its_line(plan):
    first, *lines = str(plan).splitlines()
    names = [line.split()[0] for line in lines]
    assert first == type(plan).__name__
    assert len(set(names)) == len(names)
    for field in fields(plan):
        shown = [name for name in names if name.split("[")[0].split(".")[0] == field.name]
        assert bool(shown) == field.repr, field.name
    assert names[names.index("guarantee") + 1] == "advantage"
    assert "epsilon" in lines[[name.split(".")[-1] for name in names].index("guarantee")]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
def test_a_notebook_shows_the_same_as_a_table(plan):
    html = plan._repr_html_()
    assert html.count("<tr>") == len(str(plan).splitlines()) - 1
    assert f"<caption>{type(plan).__name__}</caption>" in html


def test_plans_within_plans_are_shown_under_their_names():
    text = str(SecretSampleClassifier(LEARNER, sample_size=10).plan(10_000))
    assert "  estimator_plan.guarantee   epsilon 0.5, delta 0" in text
    assert "columns['x0'].n_samples" in str(PrivateQuantileTransformer().plan(10, n_features=2))
