"""The examples of docs/queries.md run in order, with the outputs that the page states."""

import re
from pathlib import Path

import numpy as np

from dplearn.queries import central

PAGE = Path(__file__).parents[2] / "docs" / "queries.md"


def test_the_page_runs_and_says_what_comes():
    text = PAGE.read_text()
    blocks, scope = [], {"print": lambda *values: blocks[-1].append(values)}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        blocks.append([])
        exec(compile(block, PAGE.name, "exec"), scope)
    assert len(blocks) == 14
    exact, none, trusted, trusted_within, reported, reported_within = blocks[0]
    assert (exact, none) == ((42.0, 0.109), (0, 0))
    assert "# {} {}".format(*none) in text.splitlines()
    assert (trusted_within, reported_within) == ((0.82, 0.0068), (2.23, 0.0186))
    # Three times the bound at probability .95 fails with probability below 1e-13: tails are Gaussian.
    for answers, within in ((trusted, trusted_within), (reported, reported_within)):
        assert (np.abs(np.subtract(answers, exact)) <= 3 * np.array(within) + 0.05).all()
    _, share = central(scope["ages"], epsilon=1).ask([scope["age"], scope["over_60"]])
    assert round(share.noise.at(0.05), 5) == 0.00015

    (weeks,), (decades,) = blocks[1]
    assert (weeks, decades.tolist()) == (4.0, [0.016, 0.05, 0.137])
    (central_left,), (local_left,), (share_error,), (tolerance_error,) = blocks[2]
    assert (central_left, local_left) == (0.47, 0.81)
    assert str(share_error).startswith("share must be at most the oracle's remaining budget, 0.80")
    assert str(tolerance_error).startswith("tolerance must be at least 1.755, which takes all of the")
    (exact,), (trusted,), (reported,) = blocks[3]
    assert (exact, trusted) == (42, 42)
    assert abs(reported - 42) <= 4
    assert blocks[4] == [(41, True)]
    assert blocks[5] == [(22779, 86370), (30035, 7390059), (40009, 923510), (100758, 79018569)]

    (regression,), (bayes,), (local_bayes,) = blocks[6]
    (found,), (left,) = blocks[8]
    # The first three had means of .865, .815 and .311 over 40 fits each, the fourth of .815 over 30 fits;
    # standard deviations were .01 to .07.
    np.testing.assert_allclose([regression, bayes, found], [0.86, 0.81, 0.82], atol=0.12)
    np.testing.assert_allclose(local_bayes, 0.3, atol=0.25)
    assert left == 0
    (noise_to_signal,), (score,), (predictions,), (coefficients,) = blocks[7]
    assert round(noise_to_signal, 2) == 0.26
    np.testing.assert_allclose(score, 0.3, atol=0.15)  # five standard deviations
    assert predictions.shape == coefficients.shape == (2, 2)
    assert (np.diff(predictions) > 100).all()
    assert blocks[9] == [("gaussian", 64, 4, 0.013), ("local", 64, 2, 0.071)]
    plan, n = scope["plan"], len(scope["y_train"])
    assert (n, n // plan.n_queries, 1 / (10 * plan.n_bins)) == (1347, 21, 0.05)

    [(estimate,)] = blocks[10]
    [(middle, needed, adaptive)] = blocks[11]
    assert abs(estimate[0] - 42) < 4
    assert abs(middle - 42) <= 4
    assert (needed, adaptive) == (9240, True)
    assert blocks[12] == [(16,), (9, 100)]
    [(hidden,)] = blocks[13]
    rule = "if x11: 1 if x8..x10 is 1 or 5, else 0; otherwise: 1 if x1 + x5 is even, else 0"
    assert str(hidden) == rule  # wrong less than once in a million
    assert rule in text
