"""The examples of docs/queries.md run in order, with the outputs that the page states."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.queries import central

PAGE = Path(__file__).parents[2] / "docs" / "queries.md"


@pytest.fixture(scope="module")
def shown():
    """Return the printed objects of each block, and the final namespace."""
    blocks, scope = [], {"print": lambda *values: blocks[-1].append(values)}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        blocks.append([])
        exec(compile(block, PAGE.name, "exec"), scope)
    return blocks, scope


def test_three_oracles_answer_as_precisely_as_the_page_says(shown):
    (exact, none, trusted, trusted_within, reported, reported_within), *_ = shown[0]
    assert (exact, none) == ((42.0, 0.109), (0, 0))
    assert "# {} {}".format(*none) in PAGE.read_text().splitlines()
    assert (trusted_within, reported_within) == ((0.82, 0.0068), (2.23, 0.0186))
    # Three times the bound at probability .95 fails with probability below 1e-13: tails are Gaussian.
    for answers, within in ((trusted, trusted_within), (reported, reported_within)):
        assert (np.abs(np.subtract(answers, exact)) <= 3 * np.array(within) + 0.05).all()


def test_the_noise_of_a_central_answer_is_as_the_page_says(shown):
    scope = shown[1]
    _, share = central(scope["ages"], epsilon=1).ask([scope["age"], scope["over_60"]])
    assert round(share.noise.at(0.05), 5) == 0.00015


def test_shares_are_spent_as_the_page_says(shown):
    (central_left,), (local_left,), (share_error,), (tolerance_error,) = shown[0][2]
    assert (central_left, local_left) == (0.47, 0.81)
    assert str(share_error).startswith("share must be at most the oracle's remaining budget, 0.80")
    assert str(tolerance_error).startswith("tolerance must be at least 1.755, which takes all of the")


def test_decimals_and_categories_are_answered_as_the_page_says(shown):
    (weeks,), (decades,) = shown[0][1]
    assert weeks == 4.0
    assert decades.tolist() == [0.016, 0.05, 0.137]


def test_the_algorithm_runs_with_each_oracle(shown):
    (exact,), (trusted,), (reported,) = shown[0][3]
    assert (exact, trusted) == (42, 42)
    assert abs(reported - 42) <= 4
    assert shown[0][4] == [(41, True)]


def test_sample_sizes_are_as_the_page_says(shown):
    assert shown[0][5] == [(22779, 86370), (30035, 7390059), (40009, 923510), (100758, 79018569)]
    assert round(7390059 / 86370) == 86


def test_learners_are_about_as_accurate_as_the_page_says(shown):
    (regression,), (bayes,), (local_bayes,) = shown[0][6]
    (found,), (left,) = shown[0][8]
    # The first three had means of .865, .815 and .311 over 40 fits each, the fourth of .815 over 30 fits;
    # standard deviations were .01 to .07.
    np.testing.assert_allclose([regression, bayes, found], [0.86, 0.81, 0.82], atol=0.12)
    np.testing.assert_allclose(local_bayes, 0.3, atol=0.25)
    assert left == 0


def test_linear_regression_is_about_as_accurate_as_the_page_says(shown):
    (noise_to_signal,), (score,), (predictions,), (coefficients,) = shown[0][7]
    assert round(noise_to_signal, 2) == 0.26
    np.testing.assert_allclose(score, 0.3, atol=0.15)  # five standard deviations
    assert predictions.shape == coefficients.shape == (2, 2)
    assert (np.diff(predictions) > 100).all()


def test_plans_are_as_the_page_says(shown):
    assert shown[0][9] == [("gaussian", 64, 4, 0.013), ("local", 64, 2, 0.071)]
    scope = shown[1]
    plan = scope["plan"]
    n_cells = 10 * plan.n_bins
    assert (len(scope["y_train"]), len(scope["y_train"]) // plan.n_queries, 1 / n_cells) == (1347, 21, 0.05)


def test_every_block_and_every_link_is_there(shown):
    assert len(shown[0]) == 14
    for link in re.findall(r"\]\(([^)]+)\)", PAGE.read_text()):
        assert link.startswith("#") or (PAGE.parent / link).exists()


def test_reports_and_queries_simulate_each_other_as_the_page_says(shown):
    [(estimate,)] = shown[0][10]
    assert abs(estimate[0] - 42) < 4
    [(middle, needed, adaptive)] = shown[0][11]
    assert abs(middle - 42) <= 4
    assert (needed, adaptive) == (9240, True)
    assert shown[0][12] == [(16,), (9, 100)]
    [(hidden,)] = shown[0][13]
    rule = "if x11: 1 if x8..x10 is 1 or 5, else 0; otherwise: 1 if x1 + x5 is even, else 0"
    assert str(hidden) == rule  # wrong less than once in a million
    assert rule in PAGE.read_text()


def test_records_that_are_elsewhere_can_report_as_the_page_says(shown):
    age, ages = shown[1]["age"], shown[1]["ages"]
    randomizer = age.randomizer(Fraction(1), "bit")
    reports = np.concatenate(
        [randomizer.draw(part, SeededDice(i)) for i, part in enumerate(ages.reshape(5, -1))]
    )
    assert set(reports.tolist()) == {0, 1}
    assert abs(randomizer.estimate(reports)[0] - ages.mean()) < 6 * randomizer.reach / np.sqrt(len(ages))
