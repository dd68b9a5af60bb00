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
from dplearn.domains import IntegerRange
from dplearn.model_selection import private_score
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.privacy import Plan, cell_text
from dplearn.releases import grouped, interior_point_plan, quantiles, stable_counts


def modules():
    found = pkgutil.walk_packages(dplearn.__path__, "dplearn.")
    return [importlib.import_module(module.name) for module in found if "__main__" not in module.name]


def test_all_plans_are_printed_alike_and_a_notebook_shows_the_same_as_a_table():
    named = {
        thing
        for module in modules()
        for name, thing in vars(module).items()
        if inspect.isclass(thing) and name.endswith("Plan") and not name.startswith("_")
    }
    assert len(named) >= 16
    assert {plan for plan in named if not issubclass(plan, Plan)} == set()
    for plan in (interior_point_plan(1000), PrivateQuantileTransformer().plan(10, n_features=2)):
        first, *lines = str(plan).splitlines()
        shown = {line.split()[0].split("[")[0].split(".")[0] for line in lines}
        assert {field.name for field in fields(plan) if field.repr} <= shown
        html = plan._repr_html_()
        assert html.count("<tr>") == len(lines)
        assert f"<caption>{first}</caption>" in html
    assert "columns['x0'].n_samples" in str(plan)


KEYS = ["<north>"] * 900 + ["south"] * 600
VALUES = np.arange(1500) % 50


def score():
    X, y = VALUES[:, None], VALUES > 9
    return private_score(DummyClassifier(strategy="constant", constant=True).fit(X, y), X, y, random_state=0)


CITIES = {"categories": ["<north>", "south"], "random_state": 0}
FOUND = {
    "grouped": lambda: grouped(KEYS, VALUES, bounds=(0, 50), **CITIES),
    "counted": lambda: grouped(KEYS, neighbors="add_remove", **CITIES),
    "of persons": lambda: stable_counts(KEYS, delta=1e-6, groups=np.arange(1500) // 2, random_state=0),
    "quantiles": lambda: quantiles(VALUES, [0.25, 0.75], domain=IntegerRange(0, 50), random_state=0),
    "score": score,
}
#: How the first line ends, if not with one record replaced.
ENDS = {"counted": "one record added or removed", "of persons": "all records of one group replaced"}


@pytest.mark.parametrize("name", FOUND)
def test_a_result_is_a_table_in_text_and_in_a_notebook(name):
    found = FOUND[name]()
    lines, html = str(found).splitlines(), found._repr_html_()
    assert len(lines) == (5 if name == "score" else 4)
    assert lines[0].startswith(f"{type(found).__name__}: epsilon 1, delta ")
    assert lines[0].endswith(ENDS.get(name, "one record replaced"))
    assert html.count("<tr>") == len(lines) - 1
    assert "<north>" not in html
    assert max(map(len, lines)) < 100


def test_the_table_has_the_released_values():
    found, tenths = FOUND["grouped"](), FOUND["quantiles"]()
    row = [text for text in str(found).splitlines()[2].split("  ") if text]
    assert [text.strip() for text in row] == [
        "<north>",
        *(
            cell_text(each["<north>"])
            for each in (found.counts, found.count_intervals(), found.sums, found.means)
        ),
        cell_text(found.mean_intervals()["<north>"]),
    ]
    assert str(tenths).splitlines()[2].split() == ["0.25", str(tenths.values[0])]
    assert cell_text(score().interval) in str(score())


def test_a_long_result_is_cut_and_a_text_cannot_command_a_terminal():
    found = stable_counts(np.repeat(np.arange(30), 200), delta=1e-6, random_state=0)
    assert len(found.counts) == 30
    assert str(found).splitlines()[-1] == "  ... and 10 more"
    assert len(str(found).splitlines()) == 1 + 1 + 20 + 1
    assert found._repr_html_().endswith("<p>... and 10 more</p>")
    with pytest.warns(UserWarning, match="no key can be released"):
        none = stable_counts(["a"], delta=1e-6)
    assert len(str(none).splitlines()) == 2
    assert cell_text("a\n\x1b[31mb é") == "a\\n\\x1b[31mb é"
