"""Whatever plans is printed a number to a line, with nothing left out.

Results are printed, and shown by a notebook, as a short table with the guarantee.
"""

import importlib
import inspect
import pkgutil
from dataclasses import fields

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import dplearn
from dplearn import (
    ExponentialMechanismClassifier,
    PointClassifier,
    SecretSampleClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.domains import IntegerRange
from dplearn.model_selection import PrivateSearchCV, private_score
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.privacy.plan import Plan, StatedPlan, cell_text
from dplearn.releases import (
    cdf_plan,
    grouped,
    interior_point_plan,
    learned_schema_plan,
    quantiles,
    stable_counts,
    stable_counts_plan,
)

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


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan._title)
def test_each_number_has_its_line(plan):
    first, *lines = str(plan).splitlines()
    names = [line.split()[0] for line in lines]
    assert first == plan._title
    assert len(set(names)) == len(names)
    for field in fields(plan):
        shown = [name for name in names if name.split("[")[0].split(".")[0] == field.name]
        assert bool(shown) == field.repr, field.name
    stated = [*plan.states, *plan.later, *plan.least] if isinstance(plan, StatedPlan) else []
    assert all(any(name.split("[")[0].split(".")[0] == each for name in names) for each in stated)
    assert names[names.index("guarantee") + 1] == "advantage"
    assert "epsilon" in lines[[name.split(".")[-1] for name in names].index("guarantee")]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan._title)
def test_a_notebook_shows_the_same_as_a_table(plan):
    html = plan._repr_html_()
    assert html.count("<tr>") == len(str(plan).splitlines()) - 1
    assert f"<caption>{plan._title}</caption>" in html


def test_plans_within_plans_are_shown_under_their_names():
    text = str(SecretSampleClassifier(LEARNER, sample_size=10).plan(10_000))
    assert "  estimator_plan.guarantee   epsilon 0.5, delta 0" in text
    assert "columns['x0'].n_samples" in str(PrivateQuantileTransformer().plan(10, n_features=2))


KEYS = ["<north>"] * 900 + ["south"] * 600
VALUES = np.arange(1500) % 50


def score():
    X, y = VALUES[:, None], VALUES > 9
    return private_score(DummyClassifier(strategy="constant", constant=True).fit(X, y), X, y, random_state=0)


FOUND = {
    "grouped": lambda: grouped(KEYS, VALUES, bounds=(0, 50), categories=["<north>", "south"], random_state=0),
    "counted": lambda: grouped(KEYS, categories=["<north>", "south"], neighbors="add_remove", random_state=0),
    "of persons": lambda: stable_counts(KEYS, delta=1e-6, groups=np.arange(1500) // 2, random_state=0),
    "quantiles": lambda: quantiles(VALUES, [0.25, 0.75], domain=IntegerRange(0, 50), random_state=0),
    "score": score,
}
LINES = {"grouped": 4, "counted": 4, "of persons": 4, "quantiles": 4, "score": 5}


@pytest.mark.parametrize("name", FOUND)
def test_a_result_is_a_table_in_text_and_in_a_notebook(name):
    found = FOUND[name]()
    lines, html = str(found).splitlines(), found._repr_html_()
    assert len(lines) == LINES[name]
    assert lines[0].startswith(f"{type(found).__name__}: epsilon 1, delta ")
    assert html.count("<tr>") == len(lines) - 1
    assert "<north>" not in html
    assert max(map(len, lines)) < 100


def test_the_caption_names_the_protected_unit_and_the_neighbours():
    captions = {name: str(make()).splitlines()[0] for name, make in FOUND.items()}
    assert captions["grouped"].endswith("one record replaced")
    assert captions["counted"].endswith("one record added or removed")
    assert captions["of persons"].endswith("all records of one group replaced")


def test_the_table_has_the_released_values():
    found = FOUND["grouped"]()
    row = str(found).splitlines()[2].split()
    assert row == [
        "<north>",
        str(found.counts["<north>"]),
        cell_text(found.sums["<north>"]),
        cell_text(found.means["<north>"]),
    ]
    assert str(FOUND["quantiles"]()).splitlines()[2].split() == ["0.25", str(FOUND["quantiles"]().values[0])]
    assert cell_text(score().interval) in str(score())


def test_a_long_result_is_cut():
    found = stable_counts(np.repeat(np.arange(30), 200), delta=1e-6, random_state=0)
    assert len(found.counts) == 30
    assert str(found).splitlines()[-1] == "  ... and 10 more"
    assert len(str(found).splitlines()) == 1 + 1 + 20 + 1
    assert found._repr_html_().endswith("<p>... and 10 more</p>")


def test_no_result_is_an_empty_table():
    with pytest.warns(UserWarning, match="no key can be released"):
        found = stable_counts(["a"], delta=1e-6)
    assert len(str(found).splitlines()) == 2


def test_a_text_cannot_command_a_terminal():
    assert cell_text("a\n\x1b[31mb é") == "a\\n\\x1b[31mb é"
