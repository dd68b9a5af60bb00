"""Results are printed, and shown by a notebook, as a short table with the guarantee."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from dplearn.domains import IntegerRange
from dplearn.model_selection import private_score
from dplearn.privacy.plan import cell_text
from dplearn.releases import grouped, quantiles, stable_counts

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
